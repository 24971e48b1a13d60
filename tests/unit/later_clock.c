/*
 * later_clock: clock_monotonic_us() of the whole program; the linker sends its calls here (--wrap).
 */
#include "tests/unit/later_clock.h"

#include <stdatomic.h>

#include "core/base/clock.h"

static _Atomic int64_t ahead_us;

void later_clock_set(int64_t us)
{
	ahead_us = us;
}

int64_t __real_clock_monotonic_us(void);
int64_t __wrap_clock_monotonic_us(void);

int64_t __wrap_clock_monotonic_us(void)
{
	return __real_clock_monotonic_us() + ahead_us;
}
