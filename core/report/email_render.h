/*
 * email_render: emails and their events as JSON objects, for the JSON API, the admin API and the
 * command.
 *
 * All functions return a new reference.
 */
#ifndef POSTERN_REPORT_EMAIL_RENDER_H
#define POSTERN_REPORT_EMAIL_RENDER_H

#include <jansson.h>

#include "core/store/email/store_email.h"
#include "core/store/event/store_event.h"

/* Returns the email as an item of GET /emails: without content, tags and recipients. */
json_t *email_render_item(const struct email *email);
/* Returns the email as GET /emails/{id} shows it, without its content; NULL if it cannot be
 * rendered. with_state adds its state, for emails that wait or were refused. */
json_t *email_render(const struct email *email, bool with_state);
/* Adds what admins see in addition. */
void email_render_for_admins(json_t *object, const struct email *email);

/* Returns an event of an email, as GET /emails/{id}/events shows it. */
json_t *email_render_event(const struct email_event *event);
/* Adds what admins see in addition: its kind. */
void email_render_event_for_admins(json_t *object, const struct email_event *event);

#endif
