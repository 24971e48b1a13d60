/*
 * addr_decoded: the texts that mail programs make of encoded words.
 */
#ifndef POSTERN_MAIL_ADDR_DECODED_H
#define POSTERN_MAIL_ADDR_DECODED_H

#include "core/base/strv.h"

/* Adds each text once, as UTF-8, that some program could show for the value. */
void addr_decoded_add(struct strv *texts, const char *value);

#endif
