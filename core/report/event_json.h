/*
 * event_json: an event as webhooks of the JSON API are told.
 */
#ifndef POSTERN_REPORT_EVENT_JSON_H
#define POSTERN_REPORT_EVENT_JSON_H

#include <jansson.h>

#include "core/store/store_event.h"

/* Its type, as `email.delivered`; NULL: webhooks are not told of it. An email is `sent` once,
 * whatever recipients it has, and a recipient `delivery_delayed` once. */
const char *event_json_type(const struct email_event *event);

/* An object with exactly the members type, created_at and data, of an event that has a type, with
 * all that store_event_get() reads. A new reference. */
json_t *event_json_render(const struct email_event *event);

/* A time as `2026-11-23T00:00:00.126Z`; null for 0. A new reference. */
json_t *event_json_time(int64_t time_us);

#endif
