/*
 * The engine's plans for the statements of the store: with a million emails
 * each must be a look-up in an index, or a walk along one that ends with its
 * limit.
 *
 * Every function of the store is called once; its statements then stand with
 * the handle, and the engine is asked how it would run each of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/db/db_private.h"
#include "core/store/company/store_company.h"
#include "core/store/company/store_claim.h"
#include "core/store/email/store_purge.h"
#include "core/store/company/store_exemption.h"
#include "core/store/host/store_held.h"
#include "core/store/email/store_idempotency.h"
#include "core/store/company/store_limit.h"
#include "core/store/user/store_session.h"
#include "core/store/user/store_user.h"
#include "core/store/event/store_event.h"
#include "core/store/event/store_event_count.h"
#include "core/store/host/store_log.h"
#include "core/store/event/store_outcome.h"
#include "core/store/outbox/store_backlog.h"
#include "core/store/company/store_suppression.h"
#include "core/store/webhook/store_webhook_event.h"
#include "core/store/host/store_later_refusal.h"
#include "core/store/host/store_refusal.h"
#include "core/store/store_watch.h"
#include "tests/unit/temp_db.h"

/* Tables that grow with the mail, not with the number of customers. */
static const char *const large_tables[] = {"email", "email_content", "email_recipient", "e", "c",
	"r", "g", "v", "event", "event_count", "event_day", "event_total", "event_domain",
	"outcome_count", "backlog_sample", "backlog_company", "superseded_ticket", "idempotency",
	"held"};

/* And those of which one company may make many. None of their lists is walked
 * but along an index in its order, from where the page begins. */
static const char *const tenant_tables[] = {"company", "domain", "d", "api_key", "k", "exemption",
	"x", "admin_user", "u", "admin_session", "s", "audit"};

static void call_small_stores(struct db *db, const struct temp_tenant *tenant)
{
	const struct domain_scope scope = {tenant->company_id, NULL};
	const struct key_range range = {tenant->company_id, NULL};
	const struct page page = {.limit = 1};
	struct company_list companies;
	struct domain_list domains;
	struct company company;
	struct key_list keys;
	struct key_login login;
	struct domain domain;
	struct key key;
	bool more;

	assert_int_equal(store_company_get(db, tenant->company_id, &company, NULL), 1);
	store_company_clear(&company);
	assert_int_equal(store_domain_find(db, tenant->domain, &domain, NULL), 1);
	store_domain_clear(&domain);
	assert_int_equal(store_key_find(db, tenant->hash, &key, NULL), 1);
	store_key_clear(&key);
	FOUND(store_key_login(db, tenant->key_id, tenant->domain, &login, &why));
	store_key_login_clear(&login);
	FOUND(store_company_list(db, WHOLE, &companies, NULL, &why));
	row_list_free(&store_company_type, companies.items, companies.n);
	FOUND(store_domain_list(db, tenant->company_id, false, WHOLE, &domains, NULL, &why));
	store_domain_list_free(&domains);
	FOUND(store_key_list(db, &(struct key_filter){.company_id = tenant->company_id}, WHOLE,
		&keys, NULL, &why));
	row_list_free(&store_key_type, keys.items, keys.n);
	OK(store_key_touch(db, tenant->key_id, 1, &why));
	assert_int_equal(
		store_domain_find_own(db, tenant->company_id, tenant->domain, &domain, NULL), 1);
	store_domain_clear(&domain);
	assert_int_equal(
		store_domain_get(db, tenant->company_id, tenant->domain_id, &domain, NULL), 1);
	assert_int_equal(store_domain_is_covered(db, &domain, NULL), 0);
	store_domain_clear(&domain);
	assert_int_equal(store_domain_page(db, &scope, &page, &domains, &more, NULL), 1);
	store_domain_list_free(&domains);
	temp_db_activate(db, tenant->domain_id, true, NULL);
	store_key_revoke(db, &range, "none", 1, NULL);
	store_key_rename(db, &range, "none", "x", NULL);
	store_key_revoke(db, &(const struct key_range){0}, "none", 1, NULL);
	store_domain_remove(db, "none", NULL);
	store_company_remove(db, "none", NULL);
}

/* The lists of what belongs to companies, in each of their forms. */
static void call_tenant_lists(struct db *db, const struct temp_tenant *tenant)
{
	const char *const companies[] = {NULL, tenant->company_id};
	struct exemption_list exemptions;
	struct session_list sessions;
	struct domain_list domains;
	struct key_idle idle;
	struct user_list users;
	struct key_list keys;
	int64_t count, keys_n;

	for (size_t i = 0; i < ARRAY_SIZE(companies); i++) {
		FOUND(store_domain_list(db, companies[i], false, WHOLE, &domains, NULL, &why));
		store_domain_list_free(&domains);
		FOUND(store_domain_list(db, companies[i], true, WHOLE, &domains, NULL, &why));
		store_domain_list_free(&domains);
		for (int mark = 0; mark < 2; mark++) {
			OK(store_domain_list_marked(
				db, companies[i], (enum domain_mark)mark, 10, &domains, &why));
			store_domain_list_free(&domains);
		}
		for (int valid = 0; valid < 2; valid++) {
			const struct key_filter filter = {companies[i], NULL, .valid_only = valid};
			const struct key_filter bound = {
				tenant->company_id, tenant->domain, .valid_only = true};

			FOUND(store_key_list(db, &filter, WHOLE, &keys, NULL, &why));
			row_list_free(&store_key_type, keys.items, keys.n);
			FOUND(store_key_list(db, &bound, WHOLE, &keys, NULL, &why));
			row_list_free(&store_key_type, keys.items, keys.n);
		}
		FOUND(store_key_list(db,
			&(struct key_filter){companies[i], .unused_us = 1, .forgotten_us = 1},
			WHOLE, &keys, NULL, &why));
		row_list_free(&store_key_type, keys.items, keys.n);
		OK(store_key_idle(db, companies[i], 1, 1, &idle, &why));
		FOUND(store_exemption_list(db, companies[i], NULL, WHOLE, &exemptions, NULL, &why));
		store_exemption_list_free(&exemptions);
		FOUND(store_user_list(db, companies[i], WHOLE, &users, NULL, &why));
		row_list_free(&store_user_type, users.items, users.n);
		FOUND(store_session_list_tokens(db, companies[i], WHOLE, &sessions, NULL, &why));
		row_list_free(&store_token_type, sessions.items, sessions.n);
	}
	FOUND(store_session_list_browsers(db, "none", 1, 0, WHOLE, &sessions, NULL, &why));
	row_list_free(&store_token_type, sessions.items, sessions.n);
	for (int limit = 0; limit < LIMITS; limit++)
		OK(store_limit_check(db, (enum store_limit)limit, tenant->company_id, 9, &why));
	OK(store_company_count(db, tenant->company_id, &count, &keys_n, &why));
	OK(store_key_forget_revoked(db, tenant->company_id, 1, &why));
}

/* Webhooks, in each of their lists, and what is counted of them. */
static void call_webhooks(struct db *db, const struct temp_tenant *tenant)
{
	const char *const companies[] = {NULL, tenant->company_id};
	struct webhook_trouble trouble;
	char words[ERR_TEXT_MAX];
	struct webhook_list list;
	int64_t waiting;

	for (size_t i = 0; i < 2 * ARRAY_SIZE(companies); i++) {
		const struct webhook_scope scope = {
			.company_id = companies[i % 2], .in_trouble = i > 1};

		FOUND(store_webhook_list(db, &scope, WHOLE, &list, NULL, &why));
		store_webhook_list_free(&list);
		OK(store_webhook_trouble(db, companies[i % 2], 1, &trouble, &why));
		free(trouble.endpoint);
	}
	OK(store_webhook_count_waiting(db, "none", &waiting, &why));
	assert_int_equal(store_webhook_stands_still(db, true, 1, words, NULL), 0);
	assert_int_equal(store_webhook_event_hurry(db, 1, 1, NULL), 0);
}

/* The lists of suppressed addresses, in each of their orders, and what mail asks. */
static void call_suppressions(struct db *db, const struct temp_tenant *tenant)
{
	const char *const origins[] = {NULL, "bounce"};
	struct suppression one = {.domain = (char *)tenant->domain,
		.address = (char *)"A@dst.test",
		.reason = SUPPRESSION_BOUNCE,
		.tags = (char *)"[\"*\"]",
		.created_us = 1};
	struct suppression got;
	char *name;
	int64_t full;
	struct suppression_scope scopes[] = {
		{tenant->company_id, NULL}, {tenant->company_id, tenant->domain}};
	struct suppression_walk walk = {
		.company_id = tenant->company_id, .domain = tenant->domain, .limit = 1};
	struct suppression_allowed_list allowed;
	struct suppression_list list;

	memcpy(one.company_id, tenant->company_id, ID_SIZE);
	assert_int_equal(store_suppression_put(db, &one, false, &got, NULL), 1);
	for (size_t i = 0; i < 4; i++) {
		struct page page = {.limit = 1};

		FOUND(store_suppression_page(
			db, &scopes[i / 2], origins[i % 2], &page, &list, NULL, &why));
		store_suppression_list_free(&list);
		memcpy(page.before, got.id, ID_SIZE);
		FOUND(store_suppression_page(
			db, &scopes[i / 2], origins[i % 2], &page, &list, NULL, &why));
		store_suppression_list_free(&list);
	}
	FOUND(store_suppression_page(
		db, &(struct suppression_scope){NULL, NULL}, NULL, WHOLE, &list, NULL, &why));
	store_suppression_list_free(&list);
	store_suppression_clear(&got);
	for (int back = 0; back < 2; back++) {
		walk.back = back;
		OK(store_suppression_walk(db, &walk, &list, &why));
		assert_int_equal(list.n, 1);
		store_suppression_list_free(&list);
		OK(store_suppression_allowed_walk(db, &walk, &allowed, &why));
		store_suppression_allowed_list_free(&allowed);
	}
	OK(store_suppression_entries(db, &scopes[0], "a@dst.test", &list, &why));
	store_suppression_list_free(&list);
	for (int all = 0; all < 2; all++) {
		OK(store_suppression_full(
			db, all ? NULL : tenant->company_id, 1, &full, &name, &why));
		free(name);
	}
	FOUND(store_suppression_find(
		db, &scopes[1], "a@DST.test", SUPPRESSION_REASONS, &got, &why));
	store_suppression_clear(&got);
	assert_int_equal(store_suppression_count(db, "a@dst.test", NULL), 1);
	for (int i = 0; i < 2; i++)
		assert_true(store_suppression_clear_some(db, tenant->company_id,
				    i ? NULL : tenant->domain, SUPPRESSION_BOUNCE, 9, NULL) >= 0);
	store_suppression_remove(db, &scopes[0], "none", SUPPRESSION_REASONS, false, NULL);
	store_suppression_remove_id(db, "none", NULL);
	store_suppression_disallow(db, tenant->company_id, tenant->domain, NULL, 1, NULL);
	store_suppression_disallow(db, tenant->company_id, tenant->domain, "none", 1, NULL);
}

static void call_rules(struct db *db, const struct temp_tenant *tenant)
{
	const struct exemption_spec spec = {tenant->domain, EXEMPT_LOGIN, "ann", false};
	const struct claim_sender sender = {"ann", "::1", "a@b.test", "a@b.test", false};
	struct exemption_list list;
	struct exemption exemption;
	struct claim claim;

	OK(store_exemption_add(db, &spec, 1, &exemption, &why));
	store_exemption_clear(&exemption);
	FOUND(store_exemption_list(db, NULL, tenant->domain, WHOLE, &list, NULL, &why));
	store_exemption_list_free(&list);
	store_exemption_remove(db, "none", NULL);
	temp_db_policy(db, tenant->domain, POLICY_LEARN, NULL);
	temp_db_subdomains(db, tenant->domain, true, NULL);
	assert_int_equal(store_claim_read(db, tenant->domain, &sender, &claim, NULL), 1);
}

static void call_watch(struct db *db)
{
	static const char *const companies[] = {NULL, "c"};

	for (size_t i = 0; i < ARRAY_SIZE(companies); i++) {
		struct store_watch watch = {0};
		unsigned changed;

		for (int look = 0; look < 2; look++)
			OK(store_watch_look(db, companies[i], 1, &watch, &changed, &why));
	}
}

static void call_purges(struct db *db)
{
	struct purge purges[] = {
		{.kind = PURGE_EMAILS, .before_us = 1},
		{.kind = PURGE_EMAILS, .domain = "a.test"},
		{.kind = PURGE_EMAILS, .to = "ann@a.test"},
		{.kind = PURGE_EMAILS, .to = "ann@a.test", .domain = "a.test"},
		{.kind = PURGE_CONTENT, .before_us = 1},
		{.kind = PURGE_EVENTS, .before_us = 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(purges); i++)
		assert_int_equal(
			store_purge_step(db, &purges[i], INT64_C(86400) * 1000000, 1000000, NULL),
			0);
}

static void call_refusals(struct db *db)
{
	static const struct refusal_scope scopes[] = {{0}, {.domain = "a.test"},
		{.company_id = "c"}, {.company_id = "c", .domain = "a.test"},
		{.company_id = "c", .domain = "a.test", .learnt_only = true}};
	const struct refusal_note note = {.reason = "none", .keep = 1};

	/* So many that the oldest go, which is left to chance. */
	for (int i = 0; i < 500; i++) {
		_cleanup_free_ char *sender = mem_printf("%d", i);
		struct refusal_note one = note;

		one.sender = sender;
		OK(store_refusal_note(db, &one, &why));
	}
	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++) {
		struct refusal_list list;

		OK(store_refusal_list(db, &scopes[i], 10, &list, &why));
		store_refusal_list_free(&list);
	}
}

static void call_held(struct db *db)
{
	struct held_note note = {.queue_id = "A", .reason = "no_ticket"};
	struct held_list list;
	struct page_end end;
	struct held held;

	for (int i = 0; i < 16; i++)
		OK(store_held_note(db, &note, &why));
	FOUND(store_held_page(db, NULL, WHOLE, &list, &end, &why));
	assert_int_equal(list.n, 1);
	store_held_list_free(&list);
	FOUND(store_held_page(db, "nobody", WHOLE, &list, &end, &why));
	assert_int_equal(list.n, 0);
	store_held_list_free(&list);
	assert_int_equal(store_held_get(db, "A", 0, &held, NULL), 1);
	store_held_clear(&held);
	OK(store_held_forget(db, "A", &why));
}

static void call_tickets(struct db *db)
{
	char id[ID_SIZE];

	assert_int_equal(store_email_find_ticket(db, "none", id, NULL), 0);
	assert_int_equal(store_email_reissue(db, "none", "other", NULL), 0);
}

static void call_lists(struct db *db, const struct temp_tenant *tenant)
{
	const struct email_scope scopes[] = {
		{NULL, NULL, false},
		{tenant->company_id, NULL, true},
		{NULL, tenant->domain, true},
		{tenant->company_id, tenant->domain, true},
	};

	struct email_queue queue;
	static const char *const names[] = {
		"<a@b.test>", "4QUEUE", "3c0d6a52-6c7b-4a0a-9b1c-2b5b7f5a8f11"};
	struct email_waiting waiting;
	struct email_list list;

	OK(store_email_waiting(db, tenant->company_id, 1, 1, &waiting, &why));
	OK(store_email_waiting(db, NULL, 1, 1, &waiting, &why));
	for (size_t i = 0; i < ARRAY_SIZE(names) * 2; i++) {
		OK(store_email_named(db, &scopes[i % 2], names[i / 2], 10, &list, &why));
		store_email_list_free(&list);
	}
	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++) {
		OK(store_email_list_refused(db, &scopes[i], 10, &list, &why));
		store_email_list_free(&list);
	}
	OK(store_email_queue(db, &queue, &why));
}

static void call_pages(struct db *db, const struct temp_tenant *tenant)
{
	const struct email_scope scopes[] = {
		{tenant->company_id, NULL, true},
		{tenant->company_id, tenant->domain, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(scopes); i++) {
		struct page page = {.limit = 1};
		struct email_list list;
		bool more;

		for (int k = 0; k < 2; k++) {
			assert_int_equal(
				store_email_page(db, &scopes[i], &page, &list, &more, NULL), 1);
			if (k == 0)
				strcpy(page.before, list.items[0].id);
			store_email_list_free(&list);
		}
	}
}

/* Its emails have the same values, so that an operator's search has several
 * companies to look at. */
static void add_other_company(struct db *db, const struct temp_tenant *tenant)
{
	static const char sql_same[] = "UPDATE email SET last_event = 'bounced', state = 'sent'";
	struct temp_tenant other = *tenant;

	memset(other.company_id, 'f', 8);
	for (int i = 0; i < 2; i++) {
		struct email email;

		temp_db_email(i ? &other : tenant, &email);
		email.tags = mem_strdup("[{\"name\":\"tag\",\"value\":\"x\"}]");
		OK(store_email_stage(db, &email, &why));
		store_email_clear(&email);
	}
	OK(db_exec(db, sql_same, &why));
}

static void call_searches(struct db *db, const struct temp_tenant *tenant)
{
	static const enum delivery_status bounced = DELIVERY_BOUNCED;
	const struct email_scope scopes[] = {
		{NULL, NULL, false},
		{tenant->company_id, NULL, true},
		{NULL, tenant->domain, true},
		{tenant->company_id, tenant->domain, true},
	};
	const struct email_filter filters[] = {
		{0},
		{.to = "a@dst.test"},
		{.status = "bounced"},
		{.status = "queued"},
		{.tag = "x"},
		{.from = "a@b.test"},
		{.since_us = 1, .until_us = INT64_C(1) << 60},
		{.text = "x", .key_id = "k"},
		{.recipient = &bounced},
	};
	struct page page = {.limit = 1};
	struct email_list list;
	struct email_found found;
	struct email newer;
	char id[ID_SIZE];

	temp_db_list(db, &scopes[0], 1, &list);
	memcpy(id, list.items[0].id, ID_SIZE);
	store_email_list_free(&list);
	add_other_company(db, tenant);
	temp_db_email(tenant, &newer);
	OK(store_email_stage(db, &newer, &why));
	store_email_clear(&newer);
	for (size_t i = 0; i < ARRAY_SIZE(scopes) * ARRAY_SIZE(filters) * 2; i++) {
		strcpy(page.before, i % 2 ? id : "");
		assert_int_equal(store_email_search(db, &scopes[i / 2 % 4], &filters[i / 8], &page,
					 &found, NULL),
			1);
		store_email_list_free(&found.list);
	}
}

static void call_events(struct db *db, const struct temp_tenant *tenant)
{
	const struct event_count_filter counted[] = {
		{.company_id = tenant->company_id, .end_us = 1, .step_us = 1},
		{.end_us = 1, .step_us = 1},
		{.end_us = 1, .by_domain = true, .limit = 1},
		{.company_id = tenant->company_id, .end_us = 1, .by_domain = true, .limit = 1},
		{.domain = tenant->domain, .end_us = 1, .step_us = 1},
		{.domain = tenant->domain, .end_us = 1, .by_domain = true},
		{.company_id = tenant->company_id,
			.domain = tenant->domain,
			.end_us = 1,
			.step_us = 1},
	};
	const struct outcome_filter outcomes[] = {
		{.end_us = 1},
		{.domain = tenant->domain, .end_us = 1},
		{.company_id = tenant->company_id, .domain = tenant->domain, .end_us = 1},
	};
	struct outcome_counts outcome_counts;
	struct backlog_samples samples;
	char company[ID_SIZE] = "";
	struct event_filter filter = {
		.domain = tenant->domain, .company_id = tenant->company_id, .limit = 1};
	struct recipients recipients;
	struct event_counts counts;
	struct event_list list;

	for (int ascending = 0; ascending < 2; ascending++) {
		filter.ascending = ascending;
		OK(store_event_page(db, &filter, &list, &why));
		store_event_list_free(&list);
		filter.recipients = "[\"a@dst.test\"]";
		OK(store_event_page(db, &filter, &list, &why));
		store_event_list_free(&list);
		filter.message_ids = "[\"a@dst.test\"]";
		OK(store_event_page(db, &filter, &list, &why));
		store_event_list_free(&list);
		filter.message_ids = filter.recipients = NULL;
		filter.tags = "[\"a\"]";
		OK(store_event_page(db, &filter, &list, &why));
		store_event_list_free(&list);
		filter.tags = NULL;
	}
	for (int ascending = 0; ascending < 2; ascending++) {
		const struct event_cursor place = {"00000000-0000-4000-8000-000000000000",
			"00000000-0000-4000-8000-000000000000", 1};

		filter.ascending = ascending;
		OK(store_event_seq(db, &filter, &place, &(int64_t){0}, &why));
		for (int own = 0; own < 2; own++) {
			filter.company_id = own ? tenant->company_id : NULL;
			OK(store_event_recent(db, &filter, &list, &why));
			store_event_list_free(&list);
		}
	}
	OK(store_event_of_email(db, 1, &list, &why));
	store_event_list_free(&list);
	for (int64_t email = 0; email < 2; email++) {
		OK(store_event_after(db, 0, email, 1, &list, &why));
		store_event_list_free(&list);
	}
	assert_int_equal(store_event_page_of_email(
				 db, 1, "00000000-0000-4000-8000-000000000000", 1, &list, NULL),
		0);
	OK(store_recipients_read(db, 1, true, &recipients, &why));
	recipients_free(&recipients);
	assert_int_equal(store_log_silence(db, 8, 9, &(int64_t){0}, NULL), 0);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(outcomes); i++) {
		OK(store_outcome_counts(
			db, &outcomes[i / 2], OUTCOME_REASON, i % 2, &outcome_counts, &why));
		store_outcome_counts_free(&outcome_counts);
	}
	OK(store_outcome_fill(db, 0, 9, &why));
	OK(store_outcome_missing(db, &(int64_t){0}, &why));
	OK(store_outcome_clean(db, 9, &why));
	OK(store_backlog_sample(db, 9, &why) < 0 ? -1 : 0);
	OK(store_backlog_sample_companies(db, company, 0, 9, &why) < 0 ? -1 : 0);
	for (int own = 0; own < 2; own++) {
		OK(store_backlog_samples(
			db, own ? tenant->company_id : NULL, 1, 9, 1, &samples, &why));
		store_backlog_samples_free(&samples);
	}
	for (size_t i = 0; i < ARRAY_SIZE(counted); i++) {
		OK(store_event_counts(db, &counted[i], &counts, &why));
		store_event_counts_free(&counts);
		OK(store_event_bounces(db, counted[i].company_id, 1, 1, &counts, &why));
		store_event_counts_free(&counts);
	}
}

static void call_email_store(struct db *db, const struct temp_tenant *tenant)
{
	const struct email_scope scope = {tenant->company_id, tenant->domain, true};
	struct email_ticket ticket;
	enum email_state state;
	struct email email, got;
	char *refusal;
	int64_t n;

	temp_db_email(tenant, &email);
	OK(store_email_stage(db, &email, &why));
	assert_int_equal(store_email_ticket(db, email.ticket, &ticket, NULL), 1);
	store_email_ticket_clear(&ticket);
	assert_int_equal(store_email_ticket(db, "none", &ticket, NULL), 0);
	assert_int_equal(store_email_ticket_staged(db, email.id, &ticket, NULL), 1);
	store_email_ticket_clear(&ticket);
	secret_ticket(email.ticket);
	assert_int_equal(store_email_supersede(db, &email, NULL), 1);
	store_email_record(db, email.ticket, "Q", 1, NULL);
	store_email_record(db, email.ticket, "Q", 1, NULL);
	store_email_refuse(db, email.ticket, "Q", "no", 1, NULL);
	assert_int_equal(store_email_answered(db, email.id, NULL), 1);
	store_later_refusal_add_email(db, email.ticket, "no", 1, NULL);
	store_later_refusal_count(db, 0, &n, &refusal, NULL);
	free(refusal);
	store_email_retract(db, "none", NULL);
	assert_int_equal(store_email_outcome(db, email.id, &state, &refusal, NULL), 1);
	FOUND(store_email_has_company(db, email.id, &why));
	free(refusal);
	assert_int_equal(store_email_get(db, email.id, &scope, &got, NULL), 1);
	store_email_clear(&got);
	store_email_clear(&email);
}

static void call_idempotency(struct db *db, const struct temp_tenant *tenant)
{
	struct idempotency_key key = {.hash = {1}};
	struct idempotency row = {.created_us = 1}, got;

	memcpy(key.company_id, tenant->company_id, ID_SIZE);
	strv_add(&row.results, "id");
	OK(store_idempotency_add(db, &key, &row, &why));
	assert_int_equal(store_idempotency_find(db, &key, 1, &got, NULL), 1);
	store_idempotency_clear(&got);
	assert_int_equal(store_idempotency_settle(db, &key, &row, NULL), 1);
	assert_int_equal(store_idempotency_remove(db, &key, NULL), 1);
	store_idempotency_clear(&row);
}

/* Walks a whole table that is large. */
static bool is_full_scan(const char *detail)
{
	char table[64];

	if (sscanf(detail, "SCAN %63s", table) != 1)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(large_tables); i++)
		if (str_eq(table, large_tables[i]))
			return true;
	return false;
}

/* The list of all emails is a walk along the table itself, newest first, that
 * of the refused ones along an index that has no others; both end with their
 * limit. Of held there are so many at most. No plan at all sorts emails. */
static bool is_bounded(const char *sql)
{
	return strstr(sql, "ORDER BY e.seq DESC LIMIT") != NULL ||
	       strstr(sql, "WHERE e.state = 'refused'") != NULL ||
	       str_starts(sql, "SELECT count(*) FROM (SELECT 1 FROM ") ||
	       str_eq(sql, "SELECT count(*) FROM held");
}

static bool names_one_of(const char *detail, const char *const *tables, size_t n)
{
	char table[64];

	if (sscanf(detail, "%*s %63s", table) != 1)
		return false;
	for (size_t i = 0; i < n; i++)
		if (str_eq(table, tables[i]))
			return true;
	return false;
}

/* Statements that walk along all rows and say so. */
static bool is_whole(const char *sql)
{
	return strstr(sql, "LIMIT $limit") != NULL || strstr(sql, "LIMIT $max") != NULL;
}

/* What a company makes by itself, it may make many of: no statement reads all
 * of them or sorts them. */
static void check_tenant_step(const char *sql, const char *detail)
{
	if (strstr(sql, "FROM email") || /* which has an s of its own */
		!names_one_of(detail, tenant_tables, ARRAY_SIZE(tenant_tables)))
		return;
	if (str_starts(detail, "SCAN") && !is_whole(sql))
		fail_msg("%s: %s", detail, sql);
	if (str_starts(detail, "SCAN") && strstr(detail, "INDEX") == NULL &&
		strstr(sql, "FROM audit") == NULL)
		fail_msg("%s: %s", detail, sql);
}

/* A page is found where it begins, and is in its order: `from` is how its
 * statement names the table. */
static const struct {
	const char *has;
	const char *uses;
} tenant_pages[] = {
	{"suppression s WHERE (s.created_us, s.id) <", "suppression_newest ((created_us,id)<(?,?)"},
	{"suppression s WHERE s.company_id = $company AND (s.created_us, s.id) <",
		"suppression_newest_of_company (company_id=? AND (created_us,id)<(?,?)"},
	{"suppression s WHERE s.company_id = $company AND s.origin = $origin AND"
	 " (s.created_us, s.id) <",
		"suppression_newest_of_origin (company_id=? AND origin=? AND"
		" (created_us,id)<(?,?)"},
	{"company WHERE (name, id) >", "sqlite_autoindex_company_2"},
	{"domain WHERE (name, id) >", "domain_by_name ((name,id)>(?,?)"},
	{"domain WHERE company_id = $company AND (name, id) >",
		"(company_id=? AND (name,id)>(?,?)"},
	{"domain WHERE pending = 1", "domain_pending"},
	{"policy = 'learn' AND pending = 0", "domain_learning"},
	{"WHERE company_id = $company AND ($domain IS NULL OR name = $domain) "
	 "AND (created_us, id) <",
		"domain_by_age (company_id=? AND (created_us,id)<(?,?)"},
	{"WHERE (k.created_us, k.id) <", "api_key_by_age ((created_us,id)<(?,?)"},
	{"WHERE k.revoked_us = 0 AND (k.created_us, k.id) <",
		"api_key_valid ((created_us,id)<(?,?)"},
	{"WHERE k.company_id = $company AND (k.created_us, k.id) <",
		"api_key_by_company (company_id=? AND (created_us,id)<(?,?)"},
	{"WHERE k.company_id = $company AND k.revoked_us = 0 AND "
	 "(k.created_us, k.id) <",
		"api_key_valid_of_company (company_id=? AND (created_us,id)<(?,?)"},
	{"AND o.name = $domain) AND (k.created_us, k.id) <",
		"api_key_valid_of_domain (company_id=? AND domain_id=? AND (created_us,id)<(?,?)"},
	{"WHERE (x.created_us, x.id) <", "exemption_by_age ((created_us,id)<(?,?)"},
	{"WHERE x.company_id = $company AND (x.created_us, x.id) <",
		"exemption_by_company (company_id=? AND (created_us,id)<(?,?)"},
	{"o.company_id = $company)) AND (x.created_us, x.id) <",
		"exemption_by_domain (domain_id=? AND (created_us,id)<(?,?)"},
	{"admin_user WHERE (login, id) >", "sqlite_autoindex_admin_user_2"},
	{"admin_user WHERE company_id = $company AND (login, id) >",
		"admin_user_by_company (company_id=? AND (login,id)>(?,?)"},
	{"s.kind = 'token' AND (s.created_us, s.id) <",
		"admin_token_by_age ((created_us,id)<(?,?)"},
	{"s.kind = 'token' AND s.company_id = $company AND (s.created_us, s.id) <",
		"admin_token_by_company (company_id=? AND (created_us,id)<(?,?)"},
	{"AND (s.kind = 'token' OR s.last_used_us <= $now + 3600000000) AND (s.created_us, s.id) <",
		"admin_session_by_user (user_id=? AND kind=? AND (created_us,id)<(?,?)"},
};

static void check_tenant_page(const char *sql, const char *plan, bool *met)
{
	for (size_t i = 0; i < ARRAY_SIZE(tenant_pages); i++) {
		if (strstr(sql, tenant_pages[i].has) == NULL)
			continue;
		met[i] = true;
		if (strstr(plan, tenant_pages[i].uses) == NULL ||
			strstr(plan, "TEMP B-TREE") != NULL)
			fail_msg("%s: not \"%s\" but %s", sql, tenant_pages[i].uses, plan);
	}
}

static void check_step(const char *sql, const char *detail)
{
	bool emails = strstr(sql, "email") != NULL;

	check_tenant_step(sql, detail);

	if (is_full_scan(detail) && !is_bounded(sql))
		fail_msg("%s: %s", detail, sql);
	/* The few entries of an address. */
	if (strstr(sql, "FROM suppression s") && strstr(sql, "s.address = $address"))
		return;
	/* Merged of parts that are pages themselves. */
	if (strstr(sql, "FROM suppression s") && strstr(sql, "UNION ALL")) {
		if (strstr(detail, " s USING INDEX ") &&
			!strstr(detail, "suppression_newest_of_domain") &&
			!strstr(detail, "suppression_by_address"))
			fail_msg("%s: %s", detail, sql);
		return;
	}
	/* Those of one email lie in the order of their keys. */
	if (emails && strstr(detail, "TEMP B-TREE") != NULL &&
		(strstr(sql, " WHERE v.email = $email ORDER BY v.seq") ||
			strstr(sql, "(SELECT seq FROM event WHERE email = $email")))
		return;
	/* Events of a hundred emails at most, or numbers of emails. */
	if (strstr(sql, "json_each($emails)") || strstr(sql, "json_each($texts)"))
		return;
	/* One value and no company, which has the emails in order. */
	if (!str_starts(sql, "WITH") && (strstr(detail, "email_recipient_by_address (address=?)") ||
						strstr(detail, "email_tag_by_tag (tag=?)") ||
						strstr(detail, "email_by_domain (domain=?)")))
		fail_msg("%s: %s", detail, sql);
	/* An operator's search, bounded before. */
	if (strstr(sql, "json_each($companies)") && strstr(sql, "LIMIT $limit"))
		return;
	/* A walk from company to company has a bound. */
	if (emails && strstr(detail, "TEMP B-TREE") != NULL && !strstr(sql, "walk.step < "))
		fail_msg("%s: %s", detail, sql);
	if (emails && strstr(detail, "AUTOMATIC") != NULL)
		fail_msg("%s: %s", detail, sql);
}

/* The plan, its steps joined with "; ". */
static char *plan_of(struct db *db, const char *sql)
{
	_cleanup_free_ char *explain = mem_printf("EXPLAIN QUERY PLAN %s", sql);
	struct buf plan = BUF_INIT;
	struct db_stmt *stmt;
	int result;

	OK(db->engine->prepare(db, explain, &stmt, &why));
	stmt->db = db;
	while ((result = db_step(stmt, NULL)) == 1) {
		check_step(sql, db_text(stmt, 3));
		buf_printf(&plan, "%s; ", db_text(stmt, 3));
	}
	assert_int_equal(result, 0);
	db->engine->finalize(stmt);
	return buf_take(&plan);
}

/* The statement with one blank where a clause is indented; a new string. */
static char *without_indents(const char *sql)
{
	struct buf text = BUF_INIT;

	for (; *sql; sql++)
		if (sql[0] != ' ' || sql[1] != ' ')
			buf_add(&text, sql, 1);
	return buf_take(&text);
}

static bool is_explained(const char *sql)
{
	return str_starts(sql, "SELECT") || str_starts(sql, "INSERT") ||
	       str_starts(sql, "UPDATE") || str_starts(sql, "DELETE") || str_starts(sql, "WITH");
}

/* Statements on email that the plans must name an index for. */
static const struct {
	const char *end;  /* how the statement ends */
	const char *uses; /* what its plan has */
} wanted[] = {
	{"AND e.ticket = $what", "(ticket=?)"},
	{"AND e.ticket = $what", "SEARCH d USING INDEX"},
	{"AND e.ticket = $what", "SEARCH k USING PRIMARY KEY (id=?)"},
	{"AND e.ticket = $what", "SEARCH r USING PRIMARY KEY (email=?)"},
	{"WHERE e.id = $what AND e.state = 'staged'", "(id=?)"},
	{"ticket = $ticket AND state = 'staged'", "(ticket=?)"},
	{"WHERE id = $id AND state = $state", "(id=?)"},
	{"SET ticket = $ticket WHERE id = $id", "(id=?)"},
	{"AND key_hash = $key", "(company_id=? AND key_hash=?)"},
	{"AND key_hash = $key AND created_us > $expired", "(company_id=? AND key_hash=?)"},
	{"FROM idempotency WHERE created_us <= $expired"
	 " ORDER BY created_us LIMIT $max)",
		"idempotency_by_age (created_us<?)"},
	{"FROM outbox o WHERE o.email = e.seq) LIMIT $max)",
		"SEARCH e USING INDEX email_staged (company_id=? AND last_event=? AND <expr><?)"},
	{"FROM superseded_ticket WHERE created_us <= $old"
	 " ORDER BY created_us LIMIT $max)",
		"SEARCH superseded_ticket USING COVERING INDEX superseded_ticket_by_age "
		"(created_us<?)"},
	{"FROM superseded_ticket WHERE ticket = $ticket", "(ticket=?)"},
	{"SELECT state, refusal FROM email WHERE id = $id", "(id=?)"},
	{"e.domain = $domain)", "(id=?)"},
	{"ORDER BY last_us DESC, seq DESC LIMIT $limit", "USING INDEX refusal_"},
	{"ORDER BY last_us LIMIT $max)", "SEARCH refusal USING COVERING INDEX refusal_by_time"},
	{"ORDER BY last_us LIMIT $max)", "SCAN refusal USING COVERING INDEX refusal_by_time"},
	{"ORDER BY length(d.name) DESC", "SEARCH d USING INDEX"},
	{"ORDER BY length(d.name) DESC", "SEARCH e USING PRIMARY KEY (id=?)"},
	{"ORDER BY length(d.name) DESC",
		"sqlite_autoindex_exemption_2 (domain_id=? AND kind=? AND value=?)"},
	{"AND e.company_id = $company AND e.seq < $seq"
	 " ORDER BY e.seq DESC LIMIT $limit",
		"USING INDEX email_by_company (company_id=? AND rowid<?)"},
	{"AND e.company_id = $company AND e.seq > $seq"
	 " ORDER BY e.seq LIMIT $limit",
		"USING INDEX email_by_company (company_id=? AND rowid>?)"},
	{"AND e.company_id = $company AND e.domain = $domain AND e.seq < $seq"
	 " ORDER BY e.seq DESC LIMIT $limit",
		"USING INDEX email_by_domain (domain=? AND company_id=? AND rowid<?)"},
	{"AND e.company_id = $company AND e.domain = $domain AND e.seq > $seq"
	 " ORDER BY e.seq LIMIT $limit",
		"USING INDEX email_by_domain (domain=? AND company_id=? AND rowid>?)"},
	{"($domain IS NULL OR e.domain = $domain)", "(id=?)"},
	{"ORDER BY r.email DESC LIMIT $limit",
		"SEARCH r USING COVERING INDEX email_recipient_by_address (address=? AND "
		"company_id=? AND email>? AND email<?)"},
	{"ORDER BY r.email LIMIT $limit",
		"SEARCH r USING COVERING INDEX email_recipient_by_address (address=? AND "
		"company_id=? AND email>? AND email<?)"},
	{"ORDER BY r.email LIMIT 1 OFFSET $max",
		"SEARCH r USING COVERING INDEX email_recipient_by_address"},
	{"ORDER BY g.email DESC LIMIT $limit",
		"SEARCH g USING COVERING INDEX email_tag_by_tag (tag=? AND company_id=? AND "
		"email>? AND email<?)"},
	{"ORDER BY g.email LIMIT 1 OFFSET $max",
		"SEARCH g USING COVERING INDEX email_tag_by_tag (tag=? AND company_id=? AND "
		"email>? AND email<?)"},
	{"ORDER BY v.recorded_us ASC, v.seq ASC LIMIT $limit",
		"SEARCH v USING INDEX event_by_domain (company_id=? AND domain=? AND recorded_us>?"},
	{"ORDER BY v.recorded_us DESC, v.seq DESC LIMIT $limit",
		"SEARCH v USING INDEX event_by_domain (company_id=? AND domain=? AND recorded_us>?"},
	{"AND r.company_id = $company LIMIT $max",
		"SEARCH r USING COVERING INDEX email_recipient_by_address (address=? AND "
		"company_id=?)"},
	{"AND g.company_id = $company LIMIT $max",
		"SEARCH g USING COVERING INDEX email_tag_by_tag (tag=? AND company_id=?)"},
	{"<> e.id LIMIT $max", "email_chosen (message_id=? AND company_id=?)"},
	{"<> e.id LIMIT $max", "SEARCH e USING INDEX sqlite_autoindex_email_1 (id=?)"},
	{"WHERE v.email = $email ORDER BY v.seq",
		"SEARCH v USING INDEX sqlite_autoindex_event_1 (email=?)"},
	{"LIMIT $limit) ORDER BY v.seq", "SEARCH v USING INTEGER PRIMARY KEY"},
	{"LIMIT $limit) ORDER BY v.seq",
		"SEARCH event USING COVERING INDEX sqlite_autoindex_event_1 (email=?)"},
	{"WHERE v.seq > $seq ORDER BY v.seq LIMIT $limit",
		"SEARCH v USING INTEGER PRIMARY KEY (rowid>?)"},
	{"WHERE key = $key AND email = $email", "sqlite_autoindex_event_1 (email=? AND key=?)"},
	{"k.hash = $hash AND k.revoked_us = 0", "(hash=?)"},
};

/* The same of the searches, by what they search along. */
static const struct {
	const char *along;
	const char *uses;
} searches[] = {
	{"json_each($emails)", "SEARCH v USING INDEX sqlite_autoindex_event_1 (email=?)"},
	{"last_event = 'complained' OR last_event = 'canceled')"
	 " AND e.company_id = $company AND e.seq BETWEEN",
		"SEARCH e USING INDEX email_by_trouble (last_event=? AND company_id=? AND "
		"rowid>?"},
	{"r.state = 'complained' OR r.state = 'suppressed') AND r.company_id = $company",
		"INDEX email_recipient_by_state (state=? AND company_id=? "
		"AND email>?"},
	{"INDEXED BY email_by_trouble_of_all",
		"SEARCH e USING INDEX email_by_trouble_of_all (last_event=? AND rowid>?"},
	{"FROM outbox x CROSS JOIN email e ON e.seq = x.email WHERE x.company_id = $company",
		"SEARCH x USING COVERING INDEX outbox_of_company (company_id=? AND rowid>?"},
	{"FROM outbox x CROSS JOIN email e ON e.seq = x.email WHERE TRUE",
		"SEARCH x USING INTEGER PRIMARY KEY (rowid>?"},
	{"e.domain = $walk AND",
		"SEARCH e USING INDEX email_by_domain (domain=? AND company_id=? AND "
		"rowid>?"},
	{"WHERE e.company_id = $company AND e.seq BETWEEN",
		"SEARCH e USING INDEX email_by_company (company_id=? AND rowid>?"},
	{"AND e.decided_us < $to AND e.host IN ('', $this_host) ORDER BY e.decided_us DESC LIMIT $max) s",
		"SEARCH e USING INDEX email_open (decided_us>?"},
	{"max(e.created_us, e.scheduled_us) < $before",
		"SEARCH e USING INDEX email_staged (company_id=? AND last_event=? AND <expr><?)"},
	{"max(e.created_us, e.scheduled_us) >= $after",
		"SEARCH e USING INDEX email_staged (company_id=? AND last_event=? AND <expr>>?)"},
	{"e.last_event IS DISTINCT FROM 'canceled' AND e.company_id = $company",
		"email_refused_by_company (company_id=?"},
	{"e.last_event IS DISTINCT FROM 'canceled' AND ($domain",
		"SCAN e USING INDEX email_refused"},
	{"e.last_event = 'delivery_delayed'", "SEARCH e USING INDEX email_by_trouble"},
	{"WHERE e.id = $name AND", "SEARCH e USING INDEX sqlite_autoindex_email_1 (id=?)"},
	{" WHERE message_id = $name AND",
		"SEARCH e USING INDEX email_chosen (message_id=? AND company_id=?"},
	{"FROM email WHERE queue_id = $name", "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)"},
	{"WHERE TRUE AND e.seq BETWEEN",
		"SEARCH e USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"},
};

static bool ends_with(const char *text, const char *end)
{
	size_t text_len = strlen(text), len = strlen(end);

	return text_len >= len && str_eq(text + text_len - len, end);
}

static void check_wanted(const char *sql, const char *plan, bool *met)
{
	/* Ends as the statement for all emails does. */
	if (strstr(sql, "json_each($emails)") != NULL ||
		strstr(sql, "json_each($companies)") != NULL ||
		strstr(sql, "r.state = $rstate") != NULL) /* one of the searches */
		return;
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		if (!ends_with(sql, wanted[i].end))
			continue;
		met[i] = true;
		if (strstr(plan, wanted[i].uses) == NULL)
			fail_msg("%s: not \"%s\" but %s", sql, wanted[i].uses, plan);
	}
}

static void check_searches(const char *sql, const char *plan, bool *met)
{
	for (size_t i = 0; i < ARRAY_SIZE(searches); i++) {
		if (strstr(sql, searches[i].along) == NULL || str_starts(sql, "WITH"))
			continue;
		met[i] = true;
		if (strstr(plan, searches[i].uses) == NULL && strstr(plan, "COVERING") == NULL)
			fail_msg("%s: not \"%s\" but %s", sql, searches[i].uses, plan);
	}
}

static void test_plans(void **state)
{
	struct temp_db *temp = *state;
	struct temp_tenant tenant;
	bool met[ARRAY_SIZE(wanted)] = {false};
	bool searched[ARRAY_SIZE(searches)] = {false};
	bool paged[ARRAY_SIZE(tenant_pages)] = {false};
	int n = 0;
	_cleanup_free_ const struct db_stmt **stmts = NULL;
	size_t stmts_n = 0, at = 0;

	temp_db_tenant(temp->db, "Acme", "example.com", &tenant);
	call_small_stores(temp->db, &tenant);
	call_email_store(temp->db, &tenant);
	call_tenant_lists(temp->db, &tenant);
	call_rules(temp->db, &tenant);
	call_refusals(temp->db);
	call_watch(temp->db);
	call_purges(temp->db);
	call_lists(temp->db, &tenant);
	call_held(temp->db);
	call_tickets(temp->db);
	call_pages(temp->db, &tenant);
	call_searches(temp->db, &tenant);
	call_suppressions(temp->db, &tenant);
	call_webhooks(temp->db, &tenant);
	call_events(temp->db, &tenant);
	call_idempotency(temp->db, &tenant);
	assert_int_equal(store_clean(temp->db, &(struct clean){0}, 1, 1, NULL), 0);
	/* Explaining a statement adds others. */
	stmts = mem_alloc(temp->db->stmts.n + 1, sizeof(*stmts));
	while ((stmts[stmts_n] = hash_table_next(&temp->db->stmts, &at)) != NULL)
		stmts_n++;
	for (size_t i = 0; i < stmts_n; i++) {
		const struct db_stmt *stmt = stmts[i];

		if (!is_explained(stmt->sql))
			continue;
		_cleanup_free_ char *sql = without_indents(stmt->sql);
		_cleanup_free_ char *plan = plan_of(temp->db, sql);

		check_wanted(sql, plan, met);
		check_searches(sql, plan, searched);
		check_tenant_page(sql, plan, paged);
		n++;
	}
	assert_true(n > 20);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (!met[i])
			fail_msg("no statement ends in: %s", wanted[i].end);
	for (size_t i = 0; i < ARRAY_SIZE(tenant_pages); i++)
		if (!paged[i])
			fail_msg("no page has: %s", tenant_pages[i].has);
	for (size_t i = 0; i < ARRAY_SIZE(searches); i++)
		if (!searched[i])
			fail_msg("no statement has: %s", searches[i].along);
}

/* Writing the rows of an email fills no table in memory, as an IN with more than two words would in
 * a CHECK or in the condition of an index. The CHECKs hold all the same. */
static void test_rows_are_checked_cheaply(void **state)
{
#define WITH_WORD(before, word, after)                                                             \
	{                                                                                          \
		before "'" word "'" after, before "'else'" after                                   \
	}
	static const struct {
		const char *good, *bad;
	} writes[] = {
		WITH_WORD("INSERT INTO email (id, ticket, company_id, key_id, domain, sender,"
			  " header_from, reply_to, subject, message_id, created_us, state)"
			  " VALUES ('i', 't', 'c', 'k', 'd', 's', 'f', '', '', 'm', 1, ",
			"staged", ")"),
		WITH_WORD(
			"UPDATE email SET last_event = 'sent', state = ", "sent", " WHERE seq = 1"),
		WITH_WORD("INSERT INTO email_recipient (email, n, address, state, kind)"
			  " VALUES (1, 0, 'a', 'queued', ",
			"to", ")"),
		WITH_WORD("UPDATE email_recipient SET state = 'bounced', kind = ", "cc",
			" WHERE email = 1 AND n = 0"),
		WITH_WORD("INSERT INTO outcome_count"
			  " (company_id, domain, step, time_us, name, kind, count, aspect)"
			  " VALUES ('c', 'd', 'day', 1, 'n', 'k', 1, ",
			"delay", ")"),
	};
#undef WITH_WORD
	struct temp_db *temp = *state;
	struct db *db = temp->db;

	for (size_t i = 0; i < ARRAY_SIZE(writes); i++) {
		_cleanup_free_ char *explain = mem_printf("EXPLAIN %s", writes[i].good);
		struct db_stmt *stmt;
		int tables = 0;

		OK(db->engine->prepare(db, explain, &stmt, &why));
		stmt->db = db;
		while (db_step(stmt, NULL) == 1)
			tables += str_eq(db_text(stmt, 1), "OpenEphemeral");
		db->engine->finalize(stmt);
		if (tables > 0)
			fail_msg("%s: %d tables", writes[i].good, tables);
		assert_int_equal(db_exec(db, writes[i].bad, NULL), -1);
		OK(db_exec(db, writes[i].good, &why));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_plans, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(
			test_rows_are_checked_cheaply, temp_db_setup, temp_db_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
