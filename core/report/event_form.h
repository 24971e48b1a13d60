/*
 * event_form: an event as the form API tells it, to who asks and to webhooks.
 */
#ifndef POSTERN_REPORT_EVENT_FORM_H
#define POSTERN_REPORT_EVENT_FORM_H

#include <jansson.h>

#include "core/store/store_event.h"

/* An event of a kind that the form API has a word for, with what store_event_page() reads of its
 * email. A new reference. */
json_t *event_form_render(const struct email_event *event);
/* The name of the webhooks that are told of it; NULL: none are. */
const char *event_form_type(const struct email_event *event);

#endif
