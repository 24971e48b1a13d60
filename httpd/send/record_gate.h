/*
 * record_gate: refuses email while none of it gets recorded.
 *
 * An email that waits in Postfix without its record is safe, and its client has
 * an id, but nobody knows when it will go out. A few of them may happen; when
 * they come in a row, clients are better told to come back later. Now and then
 * one is let through, which finds out whether the milter decides again.
 */
#ifndef POSTERN_HTTPD_RECORD_GATE_H
#define POSTERN_HTTPD_RECORD_GATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/clock.h"

struct conf;
struct postfix_run;

enum {
	RECORD_GATE_LATE = 5, /* answers without a record that shut it */
	RECORD_GATE_TRY_MS = 10 * 1000,
};

/* Of all workers; zeroed: open. From any thread. */
struct record_gate {
	atomic_uint late; /* answers without a record since the last record */
	struct pace next;
};

/* Whether a request may pass. now_us: monotonic. */
bool record_gate_enter(struct record_gate *gate, int64_t now_us);

/* A request is answered without a record: whether that has shut the gate. */
bool record_gate_late(struct record_gate *gate, int64_t now_us);

/* An email was recorded: whether that has opened the gate. */
bool record_gate_recorded(struct record_gate *gate);

/* Why nothing is recorded, as far as can be told from here. Blocks only for the
 * moment in which a socket is looked at. */
const char *record_gate_cause(struct postfix_run *run, const struct conf *conf);

#endif
