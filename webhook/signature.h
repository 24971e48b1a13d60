/*
 * signature: how receivers know that a delivery is Postern's. Each attempt has its own time.
 */
#ifndef POSTERN_WEBHOOK_SIGNATURE_H
#define POSTERN_WEBHOOK_SIGNATURE_H

#include "core/base/buf.h"
#include "core/store/store_webhook_event.h"

/* By Standard Webhooks 1.0: appends what the field webhook-signature says of a body: with the
 * secret, and for a day after it was rotated with the one before, too. */
void signature_standard(const struct webhook *webhook, const char *id, const char *body,
	size_t body_len, int64_t now_us, struct buf *out);

/* Appends the body of the form API: an object with the signature and the event. */
void signature_form(
	const struct webhook *webhook, const char *event, int64_t now_us, struct buf *out);

#endif
