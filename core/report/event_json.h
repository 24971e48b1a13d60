/*
 * event_json: renders an event for webhooks of the JSON API.
 */
#ifndef POSTERN_REPORT_EVENT_JSON_H
#define POSTERN_REPORT_EVENT_JSON_H

#include <jansson.h>

#include "core/store/event/store_event.h"

/* Returns the type, such as `email.delivered`; NULL if webhooks do not get the event. `sent` is
 * reported once per email, `delivery_delayed` once per recipient. */
const char *event_json_type(const struct email_event *event);

/* Renders an event that has a type, read by store_event_get(), as an object with exactly the
 * members type, created_at and data. Returns a new reference. */
json_t *event_json_render(const struct email_event *event);

/* Returns a time as `2026-11-23T00:00:00.126Z`; null for 0. A new reference. */
json_t *event_json_time(int64_t time_us);

#endif
