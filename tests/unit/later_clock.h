/*
 * later_clock: moves the monotonic clock of the tested code forward, so that no test waits a
 * minute. Timers of the event loop keep the real time.
 */
#ifndef POSTERN_TESTS_LATER_CLOCK_H
#define POSTERN_TESTS_LATER_CLOCK_H

#include <stdint.h>

/* From now on clock_monotonic_us() is by us ahead of the real one; 0 ends that. Any thread. */
void later_clock_set(int64_t us);

#endif
