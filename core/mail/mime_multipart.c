/*
 * mime_multipart: a part made of parts.
 *
 * Boundaries begin with "=_", which neither base64 nor quoted-printable can
 * produce, and are random for the sake of content in 7bit.
 *
 * Threads: any; one multipart belongs to one thread at a time.
 */
#include "core/mail/mime_multipart.h"

#include <string.h>

void mime_multipart_begin(struct mime_multipart *multipart, struct buf *out,
	const char *subtype, const char *param)
{
	multipart->out = out;
	memcpy(multipart->boundary, "=_", 2);
	id_new(multipart->boundary + 2);
	buf_printf(out, "Content-Type: multipart/%s;\n boundary=\"%s\"%s\n",
		subtype, multipart->boundary, param);
}

void mime_multipart_next(struct mime_multipart *multipart)
{
	buf_printf(multipart->out, "\n--%s\n", multipart->boundary);
}

void mime_multipart_end(struct mime_multipart *multipart)
{
	buf_printf(multipart->out, "\n--%s--", multipart->boundary);
}
