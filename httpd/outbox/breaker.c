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

/*
 * A circuit, and the companies.
 */

static bool is_open(const struct breaker_circuit *circuit)
{
	return circuit->cause != BREAKER_CLOSED;
}

static bool pauses(const struct breaker_circuit *circuit, int64_t now_us)
{
	return is_open(circuit) && (circuit->probing || now_us < circuit->until_us);
}

/* Opens the circuit, or makes its pause longer. */
static void trip(struct breaker_circuit *circuit, enum breaker_cause cause, const char *reason,
	int64_t now_us)
{
	int64_t pause_us;

	if (!is_open(circuit))
		circuit->since_us = now_us;
	pause_us = (now_us - circuit->since_us) / 4;
	if (pause_us < BREAKER_FIRST_MS * 1000)
		pause_us = BREAKER_FIRST_MS * 1000;
	if (pause_us > BREAKER_MOST_MS * INT64_C(1000))
		pause_us = BREAKER_MOST_MS * INT64_C(1000);
	circuit->until_us = now_us + pause_us;
	circuit->probing = false;
	/* If no records come, only a record shows that this is over, even if Postfix goes away
	 * meanwhile: that cause stays. */
	if (!is_open(circuit) || cause == BREAKER_NO_RECORDS) {
		circuit->cause = cause;
		snprintf(circuit->reason, sizeof(circuit->reason), "%s", reason);
	}
}

static struct breaker_company *find_company(struct breaker *breaker, const char *company_id)
{
	for (size_t i = 0; i < breaker->n; i++)
		if (str_eq(breaker->companies[i].id, company_id))
			return &breaker->companies[i];
	return NULL;
}

static void remove_company(struct breaker *breaker, size_t i)
{
	breaker->n--;
	memmove(&breaker->companies[i], &breaker->companies[i + 1],
		(breaker->n - i) * sizeof(breaker->companies[i]));
}

/* A company that fails by its own fault gives way: it fails again, and comes back. The caller makes
 * sure that there is one. */
static struct breaker_company *add_company(struct breaker *breaker, const char *company_id)
{
	struct breaker_company *company;
	size_t i = 0;

	if (breaker->n == BREAKER_COMPANIES) {
		while (i < BREAKER_COMPANIES - 1 && !breaker->companies[i].own_fault)
			i++;
		remove_company(breaker, i);
	}
	company = &breaker->companies[breaker->n++];
	*company = (struct breaker_company){.is_news = false};
	snprintf(company->id, sizeof(company->id), "%s", company_id);
	return company;
}

/* Counts the companies whose emails may fail because Postfix or the milter is away. */
static unsigned count_suspects(const struct breaker *breaker)
{
	unsigned suspects = 0;

	for (size_t i = 0; i < breaker->n; i++)
		suspects += !breaker->companies[i].own_fault;
	return suspects;
}

static void forget_suspects(struct breaker *breaker)
{
	for (size_t i = breaker->n; i-- > 0;)
		if (!breaker->companies[i].own_fault)
			remove_company(breaker, i);
}

/* Returns the suspect that is put off for the longest time; NULL if there is none. */
static const struct breaker_circuit *suspected(const struct breaker *breaker)
{
	const struct breaker_circuit *first = NULL;

	for (size_t i = 0; i < breaker->n; i++) {
		const struct breaker_company *company = &breaker->companies[i];

		if (!company->own_fault && is_open(&company->circuit) &&
			(!first || company->circuit.since_us < first->since_us))
			first = &company->circuit;
	}
	return first;
}

/* Returns true if the breaker has opened. */
static bool show(struct breaker *breaker)
{
	const struct breaker_circuit *circuit = is_open(&breaker->all) ? &breaker->all
								       : suspected(breaker);
	struct breaker_state *state = &breaker->state;
	bool was_open = state->cause != BREAKER_CLOSED;

	pthread_mutex_lock(&breaker->mutex);
	state->cause = circuit ? circuit->cause : BREAKER_CLOSED;
	if (circuit)
		state->since_us = circuit->since_us;
	snprintf(state->reason, sizeof(state->reason), "%s", circuit ? circuit->reason : "");
	state->trips += circuit && !was_open;
	pthread_mutex_unlock(&breaker->mutex);
	return circuit && !was_open;
}

/*
 * Whose emails may be submitted.
 */

static struct breaker_circuit *own_circuit(struct breaker *breaker, const char *company_id)
{
	struct breaker_company *company = find_company(breaker, company_id);

	return company && is_open(&company->circuit) ? &company->circuit : NULL;
}

const struct breaker_circuit *breaker_circuit_of(struct breaker *breaker, const char *company_id)
{
	if (is_open(&breaker->all))
		return &breaker->all;
	return own_circuit(breaker, company_id);
}

/* True if those that are not known to have failed need not wait for the end of the pause of all. */
static bool spares_others(const struct breaker *breaker)
{
	return breaker->by_companies && !breaker->all.probing &&
	       count_suspects(breaker) < BREAKER_COMPANIES;
}

bool breaker_is_shut(const struct breaker *breaker, int64_t now_us)
{
	return pauses(&breaker->all, now_us) && !spares_others(breaker);
}

bool breaker_pauses(
	const struct breaker *breaker, const struct breaker_company *company, int64_t now_us)
{
	return pauses(&breaker->all, now_us) || pauses(&company->circuit, now_us);
}

/* True if the emails of this company that are waiting have to probe, not a new one. */
static bool keeps_turns(const struct breaker *breaker, const struct breaker_company *company)
{
	return is_open(&breaker->all) && breaker->by_companies &&
	       (company || !spares_others(breaker));
}

bool breaker_enter(struct breaker *breaker, const char *company_id, bool is_new, int64_t now_us,
	bool *probes_r)
{
	struct breaker_company *company = find_company(breaker, company_id);
	struct breaker_circuit *own = own_circuit(breaker, company_id);

	*probes_r = false;
	if (company ? breaker_pauses(breaker, company, now_us) : breaker_is_shut(breaker, now_us))
		return false;
	if (is_new && keeps_turns(breaker, company))
		return false;
	if (is_open(&breaker->all))
		breaker->all.probing = *probes_r = true;
	if (own)
		own->probing = *probes_r = true;
	return true;
}

void breaker_forget(struct breaker *breaker, const char *company_id)
{
	struct breaker_circuit *own = own_circuit(breaker, company_id);

	breaker->all.probing = false;
	if (own)
		own->probing = false;
}

/*
 * Failures.
 */

/* The companies that failed are remembered, without circuits of their own: the one of all counts.
 */
static void open_for_all(struct breaker *breaker, enum breaker_cause cause, const char *reason,
	bool by_companies, int64_t now_us)
{
	const struct breaker_circuit *first = suspected(breaker);

	if (first)
		breaker->all = *first;
	trip(&breaker->all, cause, reason, now_us);
	breaker->by_companies = by_companies;
	for (size_t i = 0; i < breaker->n; i++)
		if (!breaker->companies[i].own_fault)
			breaker->companies[i].circuit.cause = BREAKER_CLOSED;
}

/* A failure during a pause says nothing new: that attempt had started before. */
bool breaker_trip(struct breaker *breaker, enum breaker_cause cause, const char *reason,
	const char *company_id, int64_t now_us)
{
	struct breaker_company *company = company_id ? find_company(breaker, company_id) : NULL;
	bool probed = breaker->all.probing;

	if (company && is_open(&company->circuit)) {
		/* Another company's email may probe for all. */
		breaker->all.probing = false;
		if (company->circuit.probing)
			trip(&company->circuit, cause, reason, now_us);
	} else if (is_open(&breaker->all)) {
		if (probed)
			trip(&breaker->all, cause, reason, now_us);
		if (probed && company_id && !company && count_suspects(breaker) < BREAKER_COMPANIES)
			add_company(breaker, company_id);
	} else if (!company ||
		   (!company->own_fault && count_suspects(breaker) >= BREAKER_SEVERAL)) {
		open_for_all(breaker, cause, reason, company != NULL, now_us);
	} else {
		trip(&company->circuit, cause, reason, now_us);
	}
	if (!company_id) { /* a company's probe may have found that out */
		breaker->by_companies = false;
		forget_suspects(breaker);
		for (size_t i = 0; i < breaker->n; i++)
			breaker->companies[i].circuit.probing = false;
	}
	return show(breaker);
}

static bool count_failure(
	struct breaker *breaker, bool recorded, const char *company_id, bool probes)
{
	struct breaker_company *company = find_company(breaker, company_id);

	if (breaker_circuit_of(breaker, company_id))
		return probes;
	if (!company)
		company = add_company(breaker, company_id);
	if (recorded)
		company->put_offs++;
	else
		company->unrecorded++;
	return company->put_offs >= BREAKER_PUT_OFF || company->unrecorded >= BREAKER_UNRECORDED ||
	       (!company->own_fault && count_suspects(breaker) >= BREAKER_SEVERAL);
}

bool breaker_count_unrecorded(struct breaker *breaker, const char *company_id, bool probes)
{
	return count_failure(breaker, false, company_id, probes);
}

bool breaker_count_put_off(struct breaker *breaker, const char *company_id, bool probes)
{
	return count_failure(breaker, true, company_id, probes);
}

/*
 * Emails that went through.
 */

/* True if an email that went through shows that the fault of this circuit is over. An attempt that
 * does not probe may have started before the failures. */
static bool ends(const struct breaker_circuit *circuit, bool recorded, bool probes)
{
	return circuit->cause == BREAKER_AWAY ? probes : recorded;
}

/* An email of a company without fault went through: those that are put off are at fault, and the
 * failures of the others were not in a row. */
static bool blame_suspects(struct breaker *breaker, bool recorded)
{
	bool found = false;

	for (size_t i = breaker->n; i-- > 0;) {
		struct breaker_company *company = &breaker->companies[i];

		company->is_news = false;
		if (company->is_told)
			continue;
		if (!is_open(&company->circuit)) {
			if (recorded && company->own_fault)
				company->put_offs = company->unrecorded = 0;
			else if (recorded)
				remove_company(breaker, i);
		} else if (recorded || company->circuit.cause == BREAKER_AWAY) {
			company->own_fault = company->is_told = company->is_news = found = true;
		}
	}
	return found;
}

/* Emails go through again. Whether the companies that failed were at fault shows when they go on:
 * until then, their failures do not count against others. */
static void distrust_suspects(struct breaker *breaker)
{
	for (size_t i = 0; i < breaker->n; i++) {
		struct breaker_company *company = &breaker->companies[i];

		if (!company->own_fault)
			company->put_offs = company->unrecorded = 0;
		company->own_fault = true;
	}
}

enum breaker_change breaker_close(struct breaker *breaker, const char *company_id, bool recorded,
	bool probes, int64_t now_us, int64_t *open_us_r)
{
	struct breaker_company *company = find_company(breaker, company_id);
	bool is_put_off = company && is_open(&company->circuit);
	enum breaker_change change;

	if (is_open(&breaker->all)) {
		if (!ends(&breaker->all, recorded, probes))
			return BREAKER_NO_NEWS;
		*open_us_r = now_us - breaker->all.since_us;
		if (company && (!is_put_off || ends(&company->circuit, recorded, probes)))
			remove_company(breaker, (size_t)(company - breaker->companies));
		else if (company && probes)
			company->circuit.probing = false; /* it probed for both; another one may */
		distrust_suspects(breaker);
		breaker->all = (struct breaker_circuit){.cause = BREAKER_CLOSED};
		breaker->by_companies = false;
		change = BREAKER_WAS_OPEN;
	} else if (is_put_off) {
		if (!ends(&company->circuit, recorded, probes))
			return BREAKER_NO_NEWS;
		*open_us_r = now_us - company->circuit.since_us;
		change = company->own_fault ? BREAKER_ONE_IS_BACK : BREAKER_WAS_OPEN;
		remove_company(breaker, (size_t)(company - breaker->companies));
		/* If it was the fault of none of them, the others need not wait either. */
		if (change == BREAKER_WAS_OPEN)
			forget_suspects(breaker);
	} else {
		if (company && recorded)
			remove_company(breaker, (size_t)(company - breaker->companies));
		change = blame_suspects(breaker, recorded) ? BREAKER_OWN_FAULT : BREAKER_NO_NEWS;
	}
	show(breaker);
	return change;
}

void breaker_state_get(struct breaker *breaker, struct breaker_state *state_r)
{
	pthread_mutex_lock(&breaker->mutex);
	*state_r = breaker->state;
	pthread_mutex_unlock(&breaker->mutex);
}
