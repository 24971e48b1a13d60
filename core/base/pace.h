/*
 * pace: what is to be done now and then only, as to log what is wrong with each
 * of many requests.
 */
#ifndef POSTERN_BASE_PACE_H
#define POSTERN_BASE_PACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Zeroed: it is time. */
struct pace {
	_Atomic int64_t next_us;
};

/* Whether it is time; then it is so again after every_us. Of several threads
 * one hears so. now_us: monotonic. */
bool pace_is_time(struct pace *pace, int64_t every_us, int64_t now_us);

#endif
