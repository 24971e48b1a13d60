/*
 * admin_totp: the secret for an authenticator app as a QR code.
 *
 * Threads: the committer's.
 */
#include <qrencode.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/secret.h"
#include "httpd/admin/admin.h"

/* A QR code of the text (ISO/IEC 18004) as SVG. Black on white in any colour
 * scheme of the page, because phones need that. */
static char *qr_svg(const char *text)
{
	enum { QUIET = 4 }; /* modules around it */
	QRcode *code = QRcode_encodeString8bit(text, 0, QR_ECLEVEL_M);
	struct buf svg = BUF_INIT;
	int width = code ? code->width : 0;

	if (code == NULL)
		return NULL;
	buf_printf(&svg,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" "
		"viewBox=\"0 0 %d %d\" shape-rendering=\"crispEdges\">"
		"<path fill=\"#fff\" d=\"M0 0h%dv%dH0z\"/>"
		"<path d=\"",
		width + 2 * QUIET, width + 2 * QUIET, width + 2 * QUIET, width + 2 * QUIET);
	for (int y = 0; y < width; y++)
		for (int x = 0; x < width; x++)
			if (code->data[y * width + x] & 1)
				buf_printf(&svg, "M%d %dh1v1h-1z", x + QUIET, y + QUIET);
	buf_add_str(&svg, "\"/></svg>");
	QRcode_free(code);
	return svg.data;
}

json_t *admin_render_totp(const struct op *op)
{
	json_t *answer = op_json(op);
	char *svg = qr_svg(json_string_value(json_object_get(answer, "uri")));

	json_object_set_new(answer, "qr", row_json_given(svg));
	if (svg)
		secret_wipe(svg, strlen(svg));
	free(svg);
	return answer;
}
