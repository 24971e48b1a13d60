/*
 * breaker: the circuit breaker of the way into Postfix.
 */
#include "httpd/outbox/breaker.h"

#include <stdio.h>
#include <string.h>

#include "core/base/str.h"

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

const char *breaker_one_company(const struct breaker *breaker)
{
	return breaker->state.one_company ? breaker->state.company_id : NULL;
}

/* True if it is open only because of another company's emails. */
static bool is_of_another(const struct breaker *breaker, const char *company_id)
{
	const char *failing = breaker->state.company_id;

	return breaker_is_open(breaker) && *failing &&
	       (!company_id || !str_eq(failing, company_id));
}

bool breaker_enter(struct breaker *breaker, const char *company_id, int64_t now_us, bool *probes_r)
{
	*probes_r = false;
	if (!breaker_is_open(breaker) || is_of_another(breaker, company_id))
		return true;
	if (breaker->probing || now_us < breaker->until_us)
		return false;
	breaker->probing = *probes_r = true;
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

static void forget_failures(struct breaker *breaker)
{
	breaker->unrecorded = breaker->put_offs = 0;
	breaker->failing_company[0] = '\0';
}

/* A failure during a pause says nothing new: that attempt had started before. */
bool breaker_trip(struct breaker *breaker, enum breaker_cause cause, const char *reason,
	const char *company_id, int64_t now_us)
{
	bool widened = is_of_another(breaker, company_id);
	bool opened = !breaker_is_open(breaker) || widened;
	bool is_news = !breaker_is_open(breaker) || breaker->state.one_company;
	enum breaker_cause was = breaker->state.cause;
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
	pthread_mutex_lock(&breaker->mutex);
	/* If no records come, only a record shows that this is over, even if Postfix goes away
	 * meanwhile: that cause stays. */
	if ((opened && (is_news || was != BREAKER_NO_RECORDS)) || cause == BREAKER_NO_RECORDS) {
		breaker->state.cause = cause;
		snprintf(breaker->state.reason, sizeof(breaker->state.reason), "%s", reason);
	}
	if (opened) {
		if (is_news)
			breaker->state.since_us = now_us;
		breaker->state.trips += is_news;
		breaker->state.one_company = false;
		breaker->state.company_id[0] = '\0';
		if (company_id && !widened)
			memcpy(breaker->state.company_id, breaker->failing_company, ID_SIZE);
	}
	pthread_mutex_unlock(&breaker->mutex);
	forget_failures(breaker);
	return opened && is_news;
}

/* If it is open because of this company, more of its failures say nothing new. */
static void count_failure(struct breaker *breaker, unsigned *failures, const char *company_id)
{
	char *failing = breaker->failing_company;

	if (breaker_is_open(breaker) && str_eq(breaker->state.company_id, company_id))
		return;
	if (breaker->unrecorded + breaker->put_offs == 0)
		snprintf(failing, sizeof(breaker->failing_company), "%s", company_id);
	else if (!str_eq(failing, company_id))
		failing[0] = '\0';
	++*failures;
}

bool breaker_count_unrecorded(struct breaker *breaker, const char *company_id, bool probes)
{
	count_failure(breaker, &breaker->unrecorded, company_id);
	return breaker->unrecorded >= BREAKER_UNRECORDED || probes;
}

bool breaker_count_put_off(struct breaker *breaker, const char *company_id, bool probes)
{
	count_failure(breaker, &breaker->put_offs, company_id);
	return breaker->put_offs >= BREAKER_PUT_OFF || probes;
}

enum breaker_change breaker_close(struct breaker *breaker, const char *company_id, bool recorded,
	bool probes, int64_t now_us, int64_t *open_us_r)
{
	struct breaker_state *state = &breaker->state;
	bool is_another, was_one = state->one_company;

	if (state->cause != BREAKER_AWAY && !recorded)
		return BREAKER_NO_NEWS;
	is_another = is_of_another(breaker, company_id);
	/* Its attempt may have started before the others failed. */
	if (state->cause == BREAKER_AWAY && !probes && !is_another)
		return BREAKER_NO_NEWS;
	*open_us_r = now_us - state->since_us;
	forget_failures(breaker);
	if (is_another) {
		pthread_mutex_lock(&breaker->mutex);
		state->one_company = true;
		pthread_mutex_unlock(&breaker->mutex);
		return was_one ? BREAKER_NO_NEWS : BREAKER_FOR_ONE;
	}
	breaker->probing = false;
	if (!breaker_is_open(breaker))
		return BREAKER_NO_NEWS;
	pthread_mutex_lock(&breaker->mutex);
	state->cause = BREAKER_CLOSED;
	state->reason[0] = state->company_id[0] = '\0';
	state->one_company = false;
	pthread_mutex_unlock(&breaker->mutex);
	return was_one ? BREAKER_ONE_IS_BACK : BREAKER_WAS_OPEN;
}

void breaker_state_get(struct breaker *breaker, struct breaker_state *state_r)
{
	pthread_mutex_lock(&breaker->mutex);
	*state_r = breaker->state;
	pthread_mutex_unlock(&breaker->mutex);
	if (state_r->one_company)
		state_r->cause = BREAKER_CLOSED;
}
