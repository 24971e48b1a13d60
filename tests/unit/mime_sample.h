/*
 * mime_sample: messages for tests, built by mime_build and read by GMime.
 */
#ifndef POSTERN_TESTS_MIME_SAMPLE_H
#define POSTERN_TESTS_MIME_SAMPLE_H

#include <gmime/gmime.h>

#include "core/base/buf.h"
#include "core/compose/mime_message.h"

/* Fills in From, To, Message-ID and the date. */
void mime_sample_fill(struct mime_message *message);

void mime_sample_addr(struct addr_list *list, const char *text);
void mime_sample_header(struct mime_message *message, const char *name, const char *value);
/* filename and type may be NULL: "x.bin", none. */
struct attachment *mime_sample_attach(struct mime_message *message, const char *filename,
	const char *type, const char *data, size_t len);

/* Builds the message, holds it to the rules that every message keeps, and has
 * GMime read it. Fails the test when something is wrong. */
GMimeMessage *mime_sample_build(const struct mime_message *message, struct buf *out);

/* The part at a path of child numbers: "" is the body, "0" its first part,
 * "01" the second part of that. */
GMimeObject *mime_sample_part(GMimeMessage *message, const char *path);

/* The decoded content of a leaf. */
void mime_sample_content(GMimeObject *part, struct buf *out);

/* The types of all parts as `mixed(alternative(plain html) pdf)`. */
void mime_sample_shape(GMimeObject *part, struct buf *out);

/* The value of a top-level field, unfolded but not decoded; NULL for none, a
 * failed test for several. */
char *mime_sample_field(const struct buf *message, const char *name);

/* Texts of so many bytes, and of so many Japanese characters. */
#define X10   "xxxxxxxxxx"
#define X100  X10 X10 X10 X10 X10 X10 X10 X10 X10 X10
#define X900  X100 X100 X100 X100 X100 X100 X100 X100 X100
#define JA10  "日本語日本語日本語日"
#define JA100 JA10 JA10 JA10 JA10 JA10 JA10 JA10 JA10 JA10 JA10

/* Texts that a header field may have. */
enum { MIME_SAMPLE_TEXTS = 30 };
extern const char *const mime_sample_texts[MIME_SAMPLE_TEXTS];

/* Fails unless encoded words have at most 75 characters and stand on lines of
 * at most 76. */
void mime_sample_check_words(const char *header);

#endif
