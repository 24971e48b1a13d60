/*
 * breaker: the circuit breaker of the way into Postfix.
 */
#include "httpd/outbox/breaker.h"

#include <stdio.h>

const char *breaker_cause_name(enum breaker_cause cause)
{
	static const char *const names[] = {
		[BREAKER_CLOSED] = "closed",
		[BREAKER_AWAY] = "away",
		[BREAKER_NO_RECORDS] = "no_records",
	};

	return names[cause];
}

void breaker_init(struct breaker *breaker)
{
	*breaker = (struct breaker){0};
	pthread_mutex_init(&breaker->mutex, NULL);
}

void breaker_destroy(struct breaker *breaker)
{
	pthread_mutex_destroy(&breaker->mutex);
}

bool breaker_is_open(const struct breaker *breaker)
{
	return breaker->state.cause != BREAKER_CLOSED;
}

bool breaker_enter(struct breaker *breaker, int64_t now_us)
{
	if (!breaker_is_open(breaker))
		return true;
	if (breaker->probing || now_us < breaker->until_us)
		return false;
	breaker->probing = true;
	return true;
}

void breaker_forget(struct breaker *breaker)
{
	breaker->probing = false;
}

int64_t breaker_until_us(const struct breaker *breaker)
{
	return breaker_is_open(breaker) ? breaker->until_us : 0;
}

/* What fails while a pause lasts had begun before. */
bool breaker_trip(
	struct breaker *breaker, enum breaker_cause cause, const char *words, int64_t now_us)
{
	bool opened = !breaker_is_open(breaker);
	int64_t pause_us;

	if (!opened && !breaker->probing)
		return false;
	pause_us = opened ? 0 : (now_us - breaker->state.since_us) / 4;
	if (pause_us < BREAKER_FIRST_MS * 1000)
		pause_us = BREAKER_FIRST_MS * 1000;
	if (pause_us > BREAKER_MOST_MS * INT64_C(1000))
		pause_us = BREAKER_MOST_MS * INT64_C(1000);
	breaker->until_us = now_us + pause_us;
	breaker->probing = false;
	breaker->unrecorded = breaker->put_offs = 0;
	pthread_mutex_lock(&breaker->mutex);
	/* Where no records come, a record alone tells that it is over. */
	if (opened || cause == BREAKER_NO_RECORDS) {
		breaker->state.cause = cause;
		snprintf(breaker->state.words, sizeof(breaker->state.words), "%s", words);
	}
	if (opened) {
		breaker->state.since_us = now_us;
		breaker->state.trips++;
	}
	pthread_mutex_unlock(&breaker->mutex);
	return opened;
}

bool breaker_count_unrecorded(struct breaker *breaker)
{
	return ++breaker->unrecorded >= BREAKER_UNRECORDED || breaker->probing;
}

bool breaker_count_put_off(struct breaker *breaker)
{
	return ++breaker->put_offs >= BREAKER_PUT_OFF || breaker->probing;
}

bool breaker_close(struct breaker *breaker, int64_t now_us, int64_t *open_us_r)
{
	bool was_open = breaker_is_open(breaker);

	breaker->unrecorded = breaker->put_offs = 0;
	breaker->probing = false;
	if (!was_open)
		return false;
	*open_us_r = now_us - breaker->state.since_us;
	pthread_mutex_lock(&breaker->mutex);
	breaker->state.cause = BREAKER_CLOSED;
	breaker->state.words[0] = '\0';
	pthread_mutex_unlock(&breaker->mutex);
	return true;
}

void breaker_state_get(struct breaker *breaker, struct breaker_state *state_r)
{
	pthread_mutex_lock(&breaker->mutex);
	*state_r = breaker->state;
	pthread_mutex_unlock(&breaker->mutex);
}
