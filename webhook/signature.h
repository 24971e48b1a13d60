/*
 * signature: signs attempts, so that a receiver can tell that they come from Postern. The time is
 * signed, too, so each attempt has a signature of its own.
 */
#ifndef POSTERN_WEBHOOK_SIGNATURE_H
#define POSTERN_WEBHOOK_SIGNATURE_H

#include "core/base/buf.h"
#include "core/store/webhook/store_webhook_event.h"

/* Appends the value of the header field webhook-signature (Standard Webhooks 1.0): the signature
 * with the secret, and for a day after a rotation also the one with the previous secret. */
void signature_standard(const struct webhook *webhook, const char *id, const char *body,
	size_t body_len, int64_t now_us, struct buf *out);

/* Appends the body of an attempt in the form dialect: an object with the signature and the event.
 */
void signature_form(
	const struct webhook *webhook, const char *event, int64_t now_us, struct buf *out);

#endif
