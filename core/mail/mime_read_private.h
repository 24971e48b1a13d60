/*
 * mime_read_private: between the files of mime_read.
 */
#ifndef POSTERN_MAIL_MIME_READ_PRIVATE_H
#define POSTERN_MAIL_MIME_READ_PRIVATE_H

#include "core/mail/mime_read.h"
#include "core/mail/mime_scan.h"

/* Appends each mailbox of a field like To, also those in groups. */
void mime_read_addrs(const struct mime_scan_field *field, struct strv *list);

/* Finds the texts of the message, header included; html and text stay NULL
 * where there is none. */
void mime_read_body(struct mime_span message, struct mime_summary *summary);

#endif
