/*
 * The verdict: every combination of facts (2 stores, too many fields or not, 4
 * origins, 5 claims, clear or not, 9 tickets, 1,024 states of a ticket
 * and its email)
 * against rules that are stated here anew, as properties, without looking at
 * how verdict.c decides.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/policy/verdict.h"

enum {
	EMAIL_STATES = 1 << 11,
	TICKETS = TICKET_PROBE + 1,
	COMBINATIONS = 2 * 2 * 4 * CLAIMS * TICKETS * EMAIL_STATES,
};

/* The facts with this number, each number another combination. */
static struct verdict_facts facts_of(int number)
{
	int bits = number % EMAIL_STATES, rest = number / EMAIL_STATES;

	return (struct verdict_facts){
		.ticket_alone = bits & 1,
		.sender_matches = bits & 2,
		.content_matches = bits & 4,
		.nonce_matches = bits & 4,
		.key_valid = bits & 8,
		.domain_owned = bits & 16,
		.domain_active = bits & 32,
		.other_claim = bits & 64,
		.ticket_submitted = bits & 128,
		.from_unclear = bits & 256,
		.other_way = bits & 512,
		.presented_again = bits & 1024,
		.ticket = (enum ticket_state)(rest % TICKETS),
		.claim = (enum domain_claim)(rest / TICKETS % CLAIMS),
		.origin = (enum mail_origin)(rest / TICKETS / CLAIMS % 4),
		.store_failed = rest / TICKETS / CLAIMS / 4 % 2,
		.too_many_fields = rest / TICKETS / CLAIMS / 8,
	};
}

static bool has_ticket(const struct verdict_facts *f)
{
	return f->ticket != TICKET_NONE;
}

static bool ours(const struct verdict_facts *f)
{
	return has_ticket(f) && f->ticket != TICKET_UNKNOWN && f->ticket != TICKET_LOST;
}

/* All that must hold for mail with a ticket, counted instead of ordered. */
static int holds(const struct verdict_facts *f)
{
	return f->ticket_alone + f->sender_matches + f->content_matches + !f->other_claim +
	       f->key_valid + f->domain_owned + f->domain_active;
}

static bool is_stopped(enum domain_claim claim)
{
	return claim == CLAIM_LEARN || claim == CLAIM_EXCLUSIVE;
}

static bool is_early(const struct verdict_facts *f)
{
	return f->ticket == TICKET_SENT && f->presented_again;
}

/* Each reason, and exactly when it is the one. */
static bool applies(const struct verdict_facts *f, enum verdict_reason reason)
{
	bool ours_to_tell = !has_ticket(f) || f->ticket_submitted;
	bool looked_at = ours_to_tell && !f->store_failed && !f->too_many_fields;
	bool external = !has_ticket(f) && f->origin == ORIGIN_EXTERNAL;
	bool judged = looked_at && !external;
	bool same = f->ticket_alone && f->sender_matches && f->content_matches;
	bool alone = same && !f->other_claim;
	bool without = judged && !has_ticket(f);
	bool stopped = without && is_stopped(f->claim);
	bool waits = f->ticket == TICKET_STAGED || f->ticket == TICKET_SENT;
	bool open = waits && !f->other_way, is_probe = f->ticket == TICKET_PROBE;

	switch (reason) {
	case REASON_STORE_FAILED:
		return ours_to_tell && f->store_failed;
	case REASON_TICKET_FROM_NETWORK:
		return !ours_to_tell;
	case REASON_EXTERNAL:
		return looked_at && external;
	case REASON_TOO_MANY_FIELDS:
		return ours_to_tell && !f->store_failed && f->too_many_fields;
	case REASON_NOT_CLAIMED:
		return without && f->claim == CLAIM_NONE;
	case REASON_SHARED:
		return without && f->claim == CLAIM_SHARED;
	case REASON_EXEMPT:
		return without && f->claim == CLAIM_EXEMPT;
	case REASON_FROM_UNCLEAR:
		return stopped && f->from_unclear;
	case REASON_NO_TICKET:
		return stopped && !f->from_unclear;
	case REASON_TICKET_UNKNOWN:
		return judged && f->ticket == TICKET_UNKNOWN;
	case REASON_TICKET_MISMATCH:
		return judged && ours(f) &&
		       (!f->ticket_alone || (open && !same) ||
			       (is_probe && !f->other_way && !f->content_matches));
	case REASON_TICKET_REFUSED:
		return judged && f->ticket_alone && !f->other_way && f->ticket == TICKET_REFUSED;
	case REASON_TICKET_OTHER_WAY:
		return judged && f->ticket_alone && f->other_way &&
		       (waits || f->ticket == TICKET_REFUSED || f->ticket == TICKET_PROBE);
	case REASON_TICKET_SPENT:
		return judged && f->ticket_alone && f->ticket == TICKET_SPENT;
	case REASON_TICKET_LOST:
		return judged && f->ticket == TICKET_LOST;
	case REASON_TICKET_SUPERSEDED:
		return judged && f->ticket_alone && f->ticket == TICKET_SUPERSEDED;
	case REASON_TICKET_PROBE:
		return judged && f->ticket_alone && !f->other_way && is_probe && f->content_matches;
	case REASON_OTHER_DOMAIN:
		return judged && open && same && f->other_claim;
	case REASON_KEY_INVALID:
		return judged && open && alone && !f->key_valid;
	case REASON_DOMAIN_NOT_OWNED:
		return judged && open && alone && f->key_valid && !f->domain_owned;
	case REASON_DOMAIN_INACTIVE:
		return judged && open && holds(f) == 6 && !f->domain_active;
	case REASON_TICKET_OPEN:
		return judged && open && holds(f) == 7 && is_early(f);
	case REASON_TICKET_VALID:
		return judged && open && holds(f) == 7 && !is_early(f);
	default:
		return false;
	}
}

static const enum verdict_action action_of[REASONS] = {
	[REASON_NONE] = VERDICT_TEMPFAIL,
	[REASON_NOT_CLAIMED] = VERDICT_PASS,
	[REASON_EXTERNAL] = VERDICT_PASS,
	[REASON_SHARED] = VERDICT_PASS,
	[REASON_EXEMPT] = VERDICT_PASS,
	[REASON_TICKET_VALID] = VERDICT_RECORD,
	[REASON_STORE_FAILED] = VERDICT_TEMPFAIL,
	[REASON_NO_TICKET] = VERDICT_REFUSE,
	[REASON_FROM_UNCLEAR] = VERDICT_REFUSE,
	[REASON_OTHER_DOMAIN] = VERDICT_REFUSE,
	[REASON_TICKET_UNKNOWN] = VERDICT_REFUSE,
	[REASON_TICKET_FROM_NETWORK] = VERDICT_REFUSE,
	[REASON_TICKET_MISMATCH] = VERDICT_REFUSE,
	[REASON_TICKET_REFUSED] = VERDICT_REFUSE,
	[REASON_TICKET_SUPERSEDED] = VERDICT_DISCARD,
	[REASON_TICKET_SPENT] = VERDICT_DISCARD,
	[REASON_TICKET_OPEN] = VERDICT_TEMPFAIL,
	[REASON_TICKET_OTHER_WAY] = VERDICT_REFUSE,
	[REASON_TICKET_LOST] = VERDICT_REFUSE,
	[REASON_TICKET_PROBE] = VERDICT_PROBE,
	[REASON_KEY_INVALID] = VERDICT_REFUSE,
	[REASON_DOMAIN_NOT_OWNED] = VERDICT_REFUSE,
	[REASON_DOMAIN_INACTIVE] = VERDICT_REFUSE,
	[REASON_TOO_MANY_FIELDS] = VERDICT_REFUSE,
};

/* Learning changes what is done about a message without ticket. */
static enum verdict_action expected(const struct verdict_facts *f, enum verdict_reason reason)
{
	bool learns = reason == REASON_NO_TICKET || reason == REASON_FROM_UNCLEAR;

	return learns && f->claim == CLAIM_LEARN ? VERDICT_LEARN : action_of[reason];
}

static void check_one(int number, int seen[REASONS])
{
	const struct verdict_facts facts = facts_of(number);
	const struct verdict got = verdict_decide(&facts);
	int fitting = 0;

	for (int reason = 0; reason < REASONS; reason++)
		fitting += applies(&facts, (enum verdict_reason)reason);
	if (fitting != 1)
		fail_msg("facts %d: %d rules fit, not one", number, fitting);
	if (!applies(&facts, got.reason))
		fail_msg("facts %d: wrong reason %s", number, verdict_reason_name(got.reason));
	if (got.action != expected(&facts, got.reason))
		fail_msg("facts %d: wrong action %s", number, verdict_action_name(got.action));
	seen[got.reason]++;
}

static void test_every_combination(void **state)
{
	int seen[REASONS] = {0};

	(void)state;
	for (int number = 0; number < COMBINATIONS; number++)
		check_one(number, seen);
	assert_int_equal(seen[REASON_NONE], 0);
	for (int reason = REASON_NONE + 1; reason < REASON_KEY_LOGIN; reason++)
		assert_true(seen[reason] > 0);
	/* 4 origins, any claim, clear or not, all eight facts; staged, presented again or not, or
	 * sent. */
	assert_int_equal(seen[REASON_TICKET_VALID], 4 * CLAIMS * 2 * 3);
	assert_int_equal(seen[REASON_TICKET_OPEN], 4 * CLAIMS * 2);
}

/* What else a message of a key may meet: the first that fits decides. */
static void test_key_message(void **state)
{
	static const struct {
		struct verdict_facts facts;
		struct verdict wanted;
	} cases[] = {
		{{.other_claim = true, .bad_field = true}, {VERDICT_REFUSE, REASON_OTHER_DOMAIN}},
		{{.bad_field = true, .no_room = true, .paused = true},
			{VERDICT_REFUSE, REASON_LOGIN_FIELD}},
		{{.no_room = true, .repeat = REPEAT_OTHER},
			{VERDICT_TEMPFAIL, REASON_LOGIN_NO_ROOM}},
		{{.repeat = REPEAT_OTHER, .paused = true, .rate_limited = true},
			{VERDICT_REFUSE, REASON_REPEAT_OTHER}},
		{{.repeat = REPEAT_ARRIVED, .paused = true, .rate_limited = true},
			{VERDICT_DISCARD, REASON_REPEAT_ARRIVED}},
		{{.repeat = REPEAT_OPEN, .paused = true, .rate_limited = true},
			{VERDICT_TEMPFAIL, REASON_LOGIN_RATE}},
		{{.repeat = REPEAT_OPEN, .paused = true}, {VERDICT_TEMPFAIL, REASON_LOGIN_PAUSED}},
		{{.repeat = REPEAT_OPEN}, {VERDICT_TEMPFAIL, REASON_REPEAT_OPEN}},
		{{.repeat = REPEAT_NONE}, {VERDICT_RECORD, REASON_KEY_LOGIN}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct verdict_facts facts = cases[i].facts;
		struct verdict got;

		facts.origin = ORIGIN_LOGIN;
		facts.key_login = facts.key_valid = facts.from_one = true;
		got = verdict_decide(&facts);
		assert_int_equal(got.action, cases[i].wanted.action);
		assert_int_equal(got.reason, cases[i].wanted.reason);
		facts.sender = RULES_INACTIVE;
		assert_int_equal(verdict_decide(&facts).reason, REASON_SENDER_INACTIVE);
	}
}

/* With the login of a key, whatever the message claims and by whatever ticket. */
static void test_key_login(void **state)
{
	static const enum verdict_reason senders[] = {
		[RULES_ALLOWED] = REASON_KEY_LOGIN,
		[RULES_NOT_OWN] = REASON_SENDER_NOT_OWN,
		[RULES_NO_SCOPE] = REASON_KEY_NO_SCOPE,
		[RULES_INACTIVE] = REASON_SENDER_INACTIVE,
		[RULES_KEY_RESTRICTED] = REASON_KEY_RESTRICTED,
	};

	(void)state;
	for (int number = 0; number < 5 * 64 * CLAIMS; number++) {
		int bits = number / 5 / CLAIMS;
		const struct verdict_facts facts = {
			.origin = ORIGIN_LOGIN,
			.key_login = true,
			.sender = (enum send_decision)(number % 5),
			.claim = (enum domain_claim)(number / 5 % CLAIMS),
			.key_valid = bits & 1,
			.from_one = bits & 2,
			.too_many_recipients = bits & 4,
			.store_failed = bits & 8,
			.too_many_fields = bits & 16,
			.ticket = bits & 32 ? TICKET_STAGED : TICKET_NONE,
		};
		const struct verdict got = verdict_decide(&facts);
		enum verdict_reason wanted = facts.ticket != TICKET_NONE
						     ? REASON_TICKET_FROM_NETWORK
					     : facts.store_failed        ? REASON_STORE_FAILED
					     : facts.too_many_fields     ? REASON_TOO_MANY_FIELDS
					     : !facts.key_valid          ? REASON_LOGIN_INVALID
					     : !facts.from_one           ? REASON_LOGIN_FROM
					     : facts.too_many_recipients ? REASON_LOGIN_RECIPIENTS
									 : senders[facts.sender];

		assert_int_equal(got.reason, wanted);
		assert_int_equal(got.action, wanted == REASON_KEY_LOGIN      ? VERDICT_RECORD
					     : wanted == REASON_STORE_FAILED ? VERDICT_TEMPFAIL
									     : VERDICT_REFUSE);
	}
}

/* While the store is away, mail of no registered domain passes; no ticket and no login of a key
 * does. */
static void test_unclaimed(void **state)
{
	(void)state;
	for (int bits = 0; bits < 64; bits++) {
		const struct verdict_facts facts = {
			.store_failed = bits & 1,
			.unclaimed = bits & 2,
			.key_login = bits & 4,
			.ticket = bits & 8 ? TICKET_UNKNOWN : TICKET_NONE,
			.ticket_submitted = true,
			.from_unclear = bits & 16,
			.claim = bits & 32 ? CLAIM_EXCLUSIVE : CLAIM_NONE,
			.origin = ORIGIN_LOCAL,
		};
		bool passes = facts.unclaimed && !facts.key_login && facts.ticket == TICKET_NONE;
		struct verdict got = verdict_decide(&facts);

		if (!facts.store_failed)
			continue;
		assert_int_equal(got.action, passes ? VERDICT_PASS : VERDICT_TEMPFAIL);
		assert_int_equal(got.reason, passes ? REASON_NOT_CLAIMED : REASON_STORE_FAILED);
	}
}

/* A few by hand, as a reader would tell them. */
static void test_stories(void **state)
{
	const struct verdict_facts sent_by_us = {
		.origin = ORIGIN_LOCAL,
		.claim = CLAIM_EXCLUSIVE,
		.ticket = TICKET_STAGED,
		.ticket_submitted = true,
		.ticket_alone = true,
		.sender_matches = true,
		.content_matches = true,
		.key_valid = true,
		.domain_owned = true,
		.domain_active = true,
	};
	struct verdict_facts facts = sent_by_us;

	(void)state;
	assert_int_equal(verdict_decide(&facts).action, VERDICT_RECORD);
	facts.ticket = TICKET_SENT; /* Postfix presents it again */
	assert_int_equal(verdict_decide(&facts).action, VERDICT_RECORD);
	facts.ticket = TICKET_REFUSED; /* its domain is active again */
	assert_int_equal(verdict_decide(&facts).action, VERDICT_REFUSE);
	facts.ticket = TICKET_SUPERSEDED; /* its email was submitted again */
	assert_int_equal(verdict_decide(&facts).action, VERDICT_DISCARD);
	facts.ticket = TICKET_SENT;
	facts.content_matches = false; /* a second From */
	assert_int_equal(verdict_decide(&facts).action, VERDICT_REFUSE);
	facts = sent_by_us;
	facts.ticket_alone = false; /* somebody else beside it */
	assert_int_equal(verdict_decide(&facts).action, VERDICT_REFUSE);
	facts = sent_by_us;
	facts.ticket_submitted = false; /* by port 25 */
	facts.store_failed = true;
	assert_int_equal(verdict_decide(&facts).action, VERDICT_REFUSE);
	facts = (struct verdict_facts){
		.origin = ORIGIN_EXTERNAL, .ticket = TICKET_UNKNOWN, .ticket_submitted = true};
	assert_int_equal(verdict_decide(&facts).action, VERDICT_REFUSE);
	facts = (struct verdict_facts){.origin = ORIGIN_LOCAL}; /* cron */
	assert_int_equal(verdict_decide(&facts).action, VERDICT_PASS);
	facts.claim = CLAIM_EXCLUSIVE; /* a local sendmail as a customer */
	assert_int_equal(verdict_decide(&facts).action, VERDICT_REFUSE);
	facts.origin = ORIGIN_EXTERNAL; /* the customer's own servers */
	assert_int_equal(verdict_decide(&facts).action, VERDICT_PASS);
}

/* Refusals end up in an SMTP reply (RFC 5321 4.2): one line of ASCII. */
static void test_reasons_have_words(void **state)
{
	(void)state;
	for (int i = 0; i < REASONS; i++) {
		const char *name = verdict_reason_name((enum verdict_reason)i);
		const char *text = verdict_reason_text((enum verdict_reason)i);

		assert_int_equal(name[strspn(name, "abcdefghijklmnopqrstuvwxyz_")], 0);
		assert_true(strlen(name) > 0);
		assert_true(strlen(text) > 10 && strlen(text) < 200);
		assert_int_equal(text[strlen(text) - 1], '.');
		assert_null(strpbrk(text, "\r\n%"));
		for (int k = 0; k < i; k++)
			assert_string_not_equal(name, verdict_reason_name((enum verdict_reason)k));
	}
}

static void test_actions_have_names(void **state)
{
	(void)state;
	assert_string_equal(verdict_action_name(VERDICT_PASS), "pass");
	assert_string_equal(verdict_action_name(VERDICT_LEARN), "learn");
	assert_string_equal(verdict_action_name(VERDICT_RECORD), "record");
	assert_string_equal(verdict_action_name(VERDICT_REFUSE), "refuse");
	assert_string_equal(verdict_action_name(VERDICT_TEMPFAIL), "tempfail");
	assert_string_equal(verdict_action_name(VERDICT_DISCARD), "discard");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_combination),
		cmocka_unit_test(test_key_login),
		cmocka_unit_test(test_unclaimed),
		cmocka_unit_test(test_key_message),
		cmocka_unit_test(test_stories),
		cmocka_unit_test(test_reasons_have_words),
		cmocka_unit_test(test_actions_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
