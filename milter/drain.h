/*
 * drain: lets a stopping milter finish the messages that it has begun.
 *
 * libmilter forgets its connections the moment it is told to stop, so whoever
 * stops it waits here first.
 */
#ifndef POSTERN_MILTER_DRAIN_H
#define POSTERN_MILTER_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/mem.h"

struct drain;

struct drain *drain_new(void);
/* After drain_close(). */
void drain_free(struct drain *drain);
DEFINE_CLEANUP(drain, drain_free)

/* A message begins. True when it is waited for: then drain_end() follows, when
 * its fate is decided or it is given up. */
bool drain_begin(struct drain *drain);
void drain_end(struct drain *drain);

/* A decision begins, which uses the store. False when the store is about to go
 * away; then there is nothing to end. */
bool drain_enter(struct drain *drain);
void drain_leave(struct drain *drain);

/* The answer to a message is libmilter's to write now. Between two calls of
 * the callbacks of one connection it writes what is to be written, so the next
 * one, whichever, tells that it is through. */
void drain_answer(struct drain *drain);
void drain_answered(struct drain *drain);

/* Waits until the messages that began before this call have ended, but not for
 * long: false when time was up. */
bool drain_wait(struct drain *drain, int64_t wait_ms);

/* Lets no decision begin any more, and waits until those that have begun are
 * made. */
void drain_close(struct drain *drain);

/* Waits until all answers are through, after hangup_all(), which makes
 * libmilter tell: false when time was up. */
bool drain_wait_answers(struct drain *drain, int64_t wait_ms);

#endif
