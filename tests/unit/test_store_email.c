/*
 * store_email: staging and reading back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/base/buf.h"
#include "core/db/committer.h"
#include "core/store/company/store_domain.h"
#include "core/store/email/store_message.h"
#include "core/store/outbox/store_outbox.h"
#include "tests/unit/temp_db.h"

static const char sql_rows[] =
	"SELECT (SELECT count(*) FROM email)"
	" + (SELECT count(*) FROM email_content)";

static int setup(void **state)
{
	struct temp_db *temp;
	struct temp_tenant *tenants = mem_alloc(2, sizeof(*tenants));

	temp_db_setup(state);
	temp = *state;
	temp_db_tenant(temp->db, "One", "one.test", &tenants[0]);
	temp_db_tenant(temp->db, "Other", "other.test", &tenants[1]);
	temp->more = tenants;
	return 0;
}

static void assert_same_list(const struct strv *a, const struct strv *b)
{
	assert_int_equal(a->n, b->n);
	for (size_t i = 0; i < a->n; i++)
		assert_string_equal(a->items[i], b->items[i]);
}

static void assert_same_recipients(const struct recipients *a, const struct recipients *b)
{
	assert_int_equal(a->n, b->n);
	for (size_t i = 0; i < a->n; i++) {
		assert_int_equal(a->items[i].kind, b->items[i].kind);
		assert_string_equal(a->items[i].address, b->items[i].address);
		assert_string_equal(recipient_text(&a->items[i]), recipient_text(&b->items[i]));
		assert_int_equal(a->items[i].enveloped, b->items[i].enveloped);
	}
}

static void assert_same(const struct email *a, const struct email *b)
{
	assert_string_equal(a->id, b->id);
	assert_string_equal(a->company_id, b->company_id);
	assert_string_equal(a->key_id, b->key_id);
	assert_string_equal(a->ticket, b->ticket);
	assert_string_equal(a->domain, b->domain);
	assert_string_equal(a->sender, b->sender);
	assert_string_equal(a->from, b->from);
	assert_same_recipients(&a->recipients, &b->recipients);
	assert_same_list(&a->reply_to, &b->reply_to);
	assert_string_equal(a->subject, b->subject);
	assert_string_equal(a->message_id, b->message_id);
	assert_true(a->created_us == b->created_us);
}

static void stage(const struct temp_db *temp, int tenant, struct email *email)
{
	const struct temp_tenant *tenants = temp->more;

	temp_db_email(&tenants[tenant], email);
	OK(store_email_stage(temp->db, email, &why));
}

static void test_all_fields(void **state)
{
	struct temp_db *temp = *state;
	const struct temp_tenant *tenants = temp->more;
	const struct email_scope all = {0};
	struct email email, got;

	temp_db_email(&tenants[0], &email);
	temp_db_recipient(&email, RECIPIENT_CC, "d@dst.test", "Cc, the \"quoted\" <d@dst.test>");
	temp_db_recipient(&email, RECIPIENT_BCC, "a@dst.test", NULL);
	assert_false(email.recipients.items[4].enveloped);
	strv_add(&email.reply_to, "r1@dst.test");
	strv_add(&email.reply_to, "r2@dst.test");
	OK(store_email_stage(temp->db, &email, &why));
	assert_int_equal(store_email_get(temp->db, email.id, &all, &got, NULL), 1);
	assert_same(&email, &got);
	assert_string_equal(got.html, email.html);
	assert_string_equal(got.text, email.text);
	assert_int_equal(got.state, EMAIL_STAGED);
	assert_true(got.decided_us == 0);
	assert_null(got.queue_id);
	assert_null(got.last_event);
	assert_null(got.refusal);
	store_email_clear(&got);
	store_email_clear(&email);
}

static void test_large_content(void **state)
{
	enum { LARGE = 5 << 20 };
	struct temp_db *temp = *state;
	const struct temp_tenant *tenants = temp->more;
	const struct email_scope all = {0};
	struct email email, got;

	temp_db_email(&tenants[0], &email);
	free(email.html);
	email.html = mem_alloc(LARGE + 1, 1);
	for (int i = 0; i < LARGE; i++)
		email.html[i] = (char)('a' + i % 26);
	OK(store_email_stage(temp->db, &email, &why));
	assert_int_equal(store_email_get(temp->db, email.id, &all, &got, NULL), 1);
	assert_int_equal(strlen(got.html), LARGE);
	assert_memory_equal(got.html, email.html, LARGE);
	store_email_clear(&got);
	store_email_clear(&email);
}

static void test_mailboxes(void **state)
{
	static const char *const cases[] = {"", "a@x\nb@x", "\n"};
	struct temp_db *temp = *state;
	const struct temp_tenant *tenants = temp->more;

	for (size_t i = 0; i < ARRAY_SIZE(cases) * 3; i++) {
		const char *text = cases[i / 3];
		struct err err = ERR_INIT;
		struct email email;

		temp_db_email(&tenants[0], &email);
		if (i % 3 == 0)
			strv_add(&email.reply_to, text);
		else
			temp_db_recipient(&email, RECIPIENT_CC, i % 3 == 1 ? text : "x@x.test",
				i % 3 == 1 ? NULL : text);
		assert_int_equal(store_email_stage(temp->db, &email, &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
		store_email_clear(&email);
	}
	assert_int_equal(temp_db_number(temp->db, sql_rows), 0);
}

/* The milter would have nobody to put in the ticket's place. */
static void test_nobody(void **state)
{
	struct temp_db *temp = *state;
	struct err err = ERR_INIT;
	struct email email;

	temp_db_email(temp->more, &email);
	for (size_t i = 0; i < email.recipients.n; i++)
		email.recipients.items[i].enveloped = false;
	assert_int_equal(store_email_stage(temp->db, &email, &err), -1);
	assert_int_equal(err.code, ERR_INVALID);
	store_email_clear(&email);
}

static void test_no_doubles(void **state)
{
	struct temp_db *temp = *state;
	struct email email, other;
	struct err err = ERR_INIT;

	stage(temp, 0, &email);
	assert_int_equal(store_email_stage(temp->db, &email, &err), -1);
	assert_int_equal(err.code, ERR_EXISTS);
	assert_false(db_in_transaction(temp->db));

	temp_db_email(temp->more, &other);
	memcpy(other.ticket, email.ticket, sizeof(other.ticket));
	assert_int_equal(store_email_stage(temp->db, &other, &err), -1);
	assert_int_equal(err.code, ERR_EXISTS);
	assert_int_equal(temp_db_number(temp->db, sql_rows), 2);
	store_email_clear(&email);
	store_email_clear(&other);
}

static int stage_in_job(struct db *db, void *email, struct err *err)
{
	return store_email_stage(db, email, err);
}

/* Inside the committer's transaction it works the same. */
static void test_in_committer(void **state)
{
	struct temp_db *temp = *state;
	_cleanup_(committer) struct committer *committer = committer_new_inline(temp->db);
	struct err err = ERR_INIT;
	struct email email;

	temp_db_email(temp->more, &email);
	OK(committer_run(committer, stage_in_job, &email, &why));
	assert_int_equal(committer_run(committer, stage_in_job, &email, &err), -1);
	assert_int_equal(err.code, ERR_EXISTS);
	assert_int_equal(temp_db_number(temp->db, sql_rows), 2);
	store_email_clear(&email);
}

/* The second of the two statements fails: the first must not stay. */
static void test_both_or_none(void **state)
{
	struct temp_db *temp = *state;
	struct email email;

	temp_db_forbid(temp->db, "INSERT", "email_content");
	temp_db_email(temp->more, &email);
	assert_int_equal(store_email_stage(temp->db, &email, NULL), -1);
	assert_int_equal(temp_db_number(temp->db, sql_rows), 0);
	store_email_clear(&email);
}

/* All parts of an email go with it, and those of others stay. */
static void test_parts_go(void **state)
{
	static const char sql_event[] =
		"INSERT INTO event (seq, key, email, n, domain, kind, attempt, occurred_us, recorded_us,"
		" source, company_id)"
		" SELECT seq, $key, seq, 0, domain, 'delivered', 1, 1, 1, 'log', company_id FROM email";
	static const char sql_parts[] =
		"SELECT (SELECT count(*) FROM email_content) * 10000"
		" + (SELECT count(*) FROM email_recipient) * 1000"
		" + (SELECT count(*) FROM message) * 100"
		" + (SELECT count(*) FROM outbox) * 10"
		" + (SELECT count(*) FROM event)";
	struct buf message = BUF_INIT;
	struct temp_db *temp = *state;
	struct email emails[2];

	buf_add_str(&message, "Subject: hi\r\n\r\n");
	for (int i = 0; i < 2; i++) {
		stage(temp, 0, &emails[i]);
		OK(store_message_keep(temp->db, &emails[i], &message, &why));
		OK(store_outbox_add(temp->db, emails[i].seq, 18, 1, &why));
	}
	assert_int_equal(db_change(temp->db, sql_event,
				 DB_PARAMS(DB_BLOB("$key", "0123456789abcdef", 16)), NULL),
		2);
	assert_int_equal(temp_db_number(temp->db, sql_parts), 26222);
	assert_int_equal(store_email_retract(temp->db, emails[0].ticket, NULL), 1);
	assert_int_equal(temp_db_number(temp->db, sql_parts), 13111);
	assert_int_equal(store_email_retract(temp->db, emails[1].ticket, NULL), 1);
	assert_int_equal(temp_db_number(temp->db, sql_parts), 0);
	store_email_clear(&emails[0]);
	store_email_clear(&emails[1]);
	buf_free(&message);
}

static void test_retract(void **state)
{
	struct temp_db *temp = *state;
	struct email staged, sent, refused;

	stage(temp, 0, &staged);
	stage(temp, 0, &sent);
	stage(temp, 0, &refused);
	store_email_record(temp->db, sent.ticket, "Q", 1, NULL);
	store_email_refuse(temp->db, refused.ticket, "Q", "no", 1, NULL);
	assert_int_equal(store_email_retract(temp->db, staged.id, NULL), 0);
	assert_int_equal(store_email_retract(temp->db, staged.ticket, NULL), 1);
	assert_int_equal(store_email_retract(temp->db, sent.ticket, NULL), 1);
	assert_int_equal(store_email_retract(temp->db, refused.ticket, NULL), 0);
	assert_int_equal(temp_db_number(temp->db, sql_rows), 2);
	store_email_clear(&staged);
	store_email_clear(&sent);
	store_email_clear(&refused);
}

static void test_scope(void **state)
{
	struct temp_db *temp = *state;
	const struct temp_tenant *tenants = temp->more;
	const char *one = tenants[0].company_id, *other = tenants[1].company_id;
	const struct {
		struct email_scope scope;
		int staged, sent; /* whether it is seen */
	} cases[] = {
		{{NULL, NULL, false}, 1, 1},
		{{NULL, NULL, true}, 0, 1},
		{{one, NULL, false}, 1, 1},
		{{one, NULL, true}, 0, 1},
		{{one, "one.test", true}, 0, 1},
		{{NULL, "one.test", false}, 1, 1},
		{{one, "other.test", false}, 0, 0},
		{{NULL, "other.test", false}, 0, 0},
		{{other, NULL, false}, 0, 0},
		{{other, "one.test", false}, 0, 0},
		{{"", "", false}, 0, 0},
	};
	struct email staged, sent, got;

	stage(temp, 0, &staged);
	stage(temp, 0, &sent);
	assert_int_equal(store_email_record(temp->db, sent.ticket, "Q", 1, NULL), 1);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct email_scope *scope = &cases[i].scope;
		struct email_list list;

		assert_int_equal(
			store_email_get(temp->db, staged.id, scope, &got, NULL), cases[i].staged);
		if (cases[i].staged)
			store_email_clear(&got);
		assert_int_equal(
			store_email_get(temp->db, sent.id, scope, &got, NULL), cases[i].sent);
		if (cases[i].sent)
			store_email_clear(&got);
		temp_db_list(temp->db, scope, 10, &list);
		assert_int_equal(list.n, cases[i].staged + cases[i].sent);
		store_email_list_free(&list);
	}
	store_email_clear(&staged);
	store_email_clear(&sent);
}

/* The scope is that of the key, whether the call was announced or not. */
static void test_get_with_key(void **state)
{
	enum { OWN, OTHER, BOUND, ELSEWHERE, REVOKED, KEYS };
	struct temp_db *temp = *state;
	const struct temp_tenant *tenants = temp->more;
	const char *one = tenants[0].company_id;
	const struct key_spec of_company = {.scopes = KEY_ALL};
	const struct key_spec of_domain = {.scopes = KEY_ALL, .domain = "one.test"};
	const struct key_spec of_second = {.scopes = KEY_ALL, .domain = "second.test"};
	static const struct {
		int key;
		bool sent;
		int64_t longest, recipients;
		int key_found;
		bool found;
	} cases[] = {
		{OWN, true, 1000, 100, 1, true},
		{OWN, false, 1000, 100, 1, false},
		{OWN, true, 1, 100, 1, false},
		{OWN, true, 1000, 0, 1, false},
		{OTHER, true, 1000, 100, 1, false},
		{BOUND, true, 1000, 100, 1, true},
		{ELSEWHERE, true, 1000, 100, 1, false},
		{REVOKED, true, 1000, 100, 0, false},
	};
	static const char *const names[KEYS] = {"One", "Other", "bound", "elsewhere", "revoked"};
	uint8_t hashes[KEYS][SECRET_HASH_LEN];
	struct key bound, elsewhere, revoked;
	struct email staged, sent;
	struct email_with_key got;
	struct domain second;

	OK(store_domain_add(temp->db, one, "second.test", &(const struct domain){.active = true}, 2,
		&second, &why));
	temp_db_key(temp->db, &tenants[0], names[BOUND], &of_domain, &bound);
	temp_db_key(temp->db, &tenants[0], names[ELSEWHERE], &of_second, &elsewhere);
	temp_db_key(temp->db, &tenants[0], names[REVOKED], &of_company, &revoked);
	assert_int_equal(store_key_revoke(temp->db, &(const struct key_range){.company_id = one},
				 revoked.id, 1, NULL),
		1);
	for (int i = 0; i < KEYS; i++)
		secret_hash(names[i], strlen(names[i]), hashes[i]);
	stage(temp, 0, &staged);
	stage(temp, 0, &sent);
	assert_int_equal(store_email_record(temp->db, sent.ticket, "Q", 1, NULL), 1);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		size_t n = i / 2;
		const struct email_ask_with_key ask = {
			.hash = hashes[cases[n].key],
			.id = cases[n].sent ? sent.id : staged.id,
			.longest = cases[n].longest,
			.recipients = cases[n].recipients,
		};

		if (i % 2)
			store_email_with_key_ahead(temp->db, &ask);
		assert_int_equal(
			store_email_with_key(temp->db, &ask, &got, NULL), cases[n].key_found);
		db_end_ahead(temp->db);
		if (!cases[n].key_found)
			continue;
		assert_int_equal(got.found, cases[n].found);
		assert_string_equal(got.key.company_id, tenants[cases[n].key == OTHER].company_id);
		assert_int_equal(
			got.key.domain != NULL, cases[n].key == BOUND || cases[n].key == ELSEWHERE);
		store_key_clear(&got.key);
		if (got.found) {
			assert_same(&sent, &got.email);
			assert_string_equal(got.email.html, sent.html);
			store_email_clear(&got.email);
		}
	}
	store_email_clear(&staged);
	store_email_clear(&sent);
	store_domain_clear(&second);
	store_key_clear(&bound);
	store_key_clear(&elsewhere);
	store_key_clear(&revoked);
}

static void test_get_none(void **state)
{
	struct temp_db *temp = *state;
	const struct email_scope all = {0};
	struct email got = {0};
	enum email_state state_got = EMAIL_SENT;
	char *refusal = NULL;

	assert_int_equal(
		store_email_get(temp->db, "00000000-0000-4000-8000-000000000000", &all, &got, NULL),
		0);
	assert_null(got.domain);
	assert_int_equal(store_email_outcome(temp->db, "none", &state_got, &refusal, NULL), 0);
}

static void test_list(void **state)
{
	enum { EMAILS = 9 };
	static const int limits[] = {1, 3, 4, 5, 8, 9, 100};
	struct temp_db *temp = *state;
	const struct email_scope all = {0};
	struct email emails[EMAILS];

	for (int i = 0; i < EMAILS; i++)
		stage(temp, i % 2, &emails[i]);
	for (size_t l = 0; l < ARRAY_SIZE(limits); l++) {
		size_t wanted = (size_t)limits[l];
		struct email_list list;

		if (wanted > EMAILS)
			wanted = EMAILS;
		temp_db_list(temp->db, &all, limits[l], &list);
		assert_int_equal(list.n, wanted);
		for (size_t i = 0; i < wanted; i++) {
			assert_same(&list.items[i], &emails[EMAILS - 1 - i]);
			assert_null(list.items[i].html);
			assert_null(list.items[i].text);
		}
		store_email_list_free(&list);
	}
	for (int i = 0; i < EMAILS; i++)
		store_email_clear(&emails[i]);
}

/* A domain that changes hands does not take its emails along. */
static void test_domain_changes_hands(void **state)
{
	struct temp_db *temp = *state;
	const struct temp_tenant *tenants = temp->more;
	const struct email_scope scope = {tenants[1].company_id, "one.test", false};
	struct email_list list;
	struct domain domain;
	struct email email;

	stage(temp, 0, &email);
	assert_int_equal(store_domain_remove(temp->db, tenants[0].domain_id, NULL), 1);
	OK(store_domain_add(temp->db, tenants[1].company_id, "one.test",
		&(const struct domain){.active = true}, 1, &domain, &why));
	store_domain_clear(&domain);
	temp_db_list(temp->db, &scope, 10, &list);
	assert_int_equal(list.n, 0);
	store_email_list_free(&list);
	store_email_clear(&email);
}

static void test_states_shown(void **state)
{
	enum { NOW = 5 };
	static const struct {
		enum email_state state;
		const char *event, *queue_id;
		int64_t scheduled_us;
		const char *shown, *last_event;
	} cases[] = {
		{EMAIL_STAGED, NULL, NULL, 0, "queued", "queued"},
		{EMAIL_STAGED, NULL, NULL, NOW, "queued", "queued"},
		{EMAIL_STAGED, NULL, NULL, NOW + 1, "scheduled", "scheduled"},
		{EMAIL_STAGED, "bounced", NULL, 0, "stopped", "bounced"},
		{EMAIL_STAGED, "sent", NULL, 0, "stopped", "failed"},
		{EMAIL_SENT, "delivered", "Q", NOW + 1, "sent", "delivered"},
		{EMAIL_REFUSED, "failed", "Q", 0, "refused", "failed"},
		{EMAIL_REFUSED, "failed", NULL, 0, "failed", "failed"},
		{EMAIL_REFUSED, "canceled", NULL, NOW + 1, "canceled", "canceled"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct email email = {.state = cases[i].state,
			.last_event = (char *)cases[i].event,
			.queue_id = (char *)cases[i].queue_id,
			.scheduled_us = cases[i].scheduled_us};

		assert_string_equal(store_email_state_shown(&email, NOW), cases[i].shown);
		assert_string_equal(store_email_last_event(&email, NOW), cases[i].last_event);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, temp_db_teardown)
	const struct CMUnitTest tests[] = {
		TEST(all_fields),
		TEST(large_content),
		TEST(mailboxes),
		TEST(no_doubles),
		TEST(in_committer),
		TEST(both_or_none),
		TEST(parts_go),
		TEST(retract),
		TEST(nobody),
		TEST(scope),
		TEST(get_with_key),
		TEST(get_none),
		TEST(list),
		TEST(domain_changes_hands),
		TEST(states_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
