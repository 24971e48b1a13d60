/*
 * mime_words_payload: what stands in encoded words (RFC 2047 4), decoded.
 */
#ifndef POSTERN_MAIL_MIME_WORDS_PAYLOAD_H
#define POSTERN_MAIL_MIME_WORDS_PAYLOAD_H

#include "core/base/buf.h"
#include "core/mail/mime_scan.h"

/* What programs make of base64 that is wrong. */
enum mime_words_base64 {
	MIME_WORDS_BASE64_USUAL,
	MIME_WORDS_BASE64_PARTS, /* what is no base64 is skipped; some end at
				  * padding inside, others go on: a blank stands
				  * there */
	MIME_WORDS_BASE64_WHOLE, /* padding inside is skipped too */
};

/* Appends the bytes of text in the Q encoding. */
void mime_words_payload_q(struct mime_span text, struct buf *out);

/* The same of the B encoding. */
void mime_words_payload_b(
	struct mime_span text, enum mime_words_base64 way, struct buf *out);

#endif
