/*
 * event_form: renders an event for the form API and its webhooks.
 */
#ifndef POSTERN_REPORT_EVENT_FORM_H
#define POSTERN_REPORT_EVENT_FORM_H

#include <jansson.h>

#include "core/store/event/store_event.h"

/* Renders an event of a kind that the form API knows, with the columns of its email that
 * store_event_page() reads. Returns a new reference. */
json_t *event_form_render(const struct email_event *event);
/* Returns the webhook type for the event; NULL if webhooks do not get it. */
const char *event_form_type(const struct email_event *event);

#endif
