/*
 * store_user and store_session: who may come in, and for how long.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/base/str.h"
#include "core/db/migrate.h"
#include "core/store/company/store_company.h"
#include "core/store/user/store_login.h"
#include "core/store/user/store_session.h"
#include "core/store/user/store_user.h"
#include "tests/unit/temp_db.h"

enum { SECOND = 1000000 };
#define NOW INT64_C(1000000000000)

static void hash_of(const char *token, uint8_t hash[static SECRET_HASH_LEN])
{
	secret_hash(token, strlen(token), hash);
}

static void add_user(struct db *db, const char *company_id, const char *login, struct user *user_r)
{
	const struct user_spec spec = {company_id, login, USER_OWNER, "stored"};

	OK(store_user_add(db, &spec, NOW, user_r, &why));
}

static void make(struct db *db, const struct user *user, enum session_kind kind, const char *token,
	int64_t expires_us)
{
	const struct session_spec spec = {
		.kind = kind,
		.name = "name",
		.origin = "192.0.2.1",
		.expires_us = expires_us,
	};
	uint8_t hash[SECRET_HASH_LEN];
	struct session session;

	hash_of(token, hash);
	OK(store_session_create(db, user->id, &spec, hash, NOW, &session, &why));
	assert_string_equal(session.login, user->login);
	assert_string_equal(session.company_id, user->company_id);
	store_session_clear(&session);
}

/* Whether the token opens the door. */
static bool opens(struct db *db, const char *token, int64_t now_us)
{
	uint8_t hash[SECRET_HASH_LEN];
	struct session session;
	int found;

	hash_of(token, hash);
	found = store_session_find(db, hash, now_us, now_us - 10 * SECOND, &session, NULL);
	assert_int_not_equal(found, -1);
	if (found)
		store_session_clear(&session);
	return found;
}

static void test_add(void **state)
{
	static const struct {
		const char *login;
		enum err_code code;
	} cases[] = {
		{"ann@example.com", ERR_NONE},
		{"ann@example.com", ERR_EXISTS},
		{"Bärbel", ERR_NONE},
		{"BÄRBEL", ERR_EXISTS},
		{"Ann@Example.COM", ERR_EXISTS},
		{"", ERR_INVALID},
		{"a b", ERR_INVALID},
		{"a\nb", ERR_INVALID},
		{"3c0d6a52-6c7b-4a0a-9b1c-2b5b7f5a8f11", ERR_INVALID},
		{"a\x7f", ERR_INVALID},
		{"a\xff", ERR_INVALID},
		/* What nobody sees may not make two names look like one. */
		{"a\xc2\x85z", ERR_INVALID},
		{"a\u200bb", ERR_INVALID},
		{"a\u00adb", ERR_INVALID},
		{"a\u2061b", ERR_INVALID},
		{"a\u061cb", ERR_INVALID},
		{"a\u3164b", ERR_INVALID},
		{"a\u200fb", ERR_INVALID},
		{"a\u2028b", ERR_INVALID},
		{"a\u202eb", ERR_INVALID},
		{"a\u2060b", ERR_INVALID},
		{"a\u2066b", ERR_INVALID},
		{"a\ufeffb", ERR_INVALID},
		{"a\ufffbb", ERR_INVALID},
		{"a\U000e0061b", ERR_INVALID},
		/* A joiner, as names in Persian and emoji have one. */
		{"\u0645\u06cc\u200c\u062e", ERR_NONE},
		{"\U0001f469\u200d\U0001f4bb", ERR_NONE},
	};
	/* An empty one is none either, and no operator. */
	static const char *const nowhere[] = {"00000000-0000-4000-8000-000000000000", ""};
	struct temp_db *temp = *state;
	struct err err = ERR_INIT;
	struct user user;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct user_spec spec = {NULL, cases[i].login, USER_VIEWER, NULL};

		err = ERR_INIT;
		assert_int_equal(
			store_user_add(temp->db, &spec, 1, &user, &err), cases[i].code ? -1 : 0);
		assert_int_equal(err.code, cases[i].code);
		if (cases[i].code == ERR_NONE) {
			assert_string_equal(user.company_id, "");
			assert_true(user.password_us == 0);
			store_user_clear(&user);
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(nowhere); i++) {
		const struct user_spec spec = {nowhere[i], "x", USER_OWNER, NULL};

		err = ERR_INIT;
		assert_int_equal(store_user_add(temp->db, &spec, 1, &user, &err), -1);
		assert_int_equal(err.code, ERR_NOT_FOUND);
	}
}

static void test_passwords(void **state)
{
	char stored[SECRET_PASSWORD_SIZE], again[SECRET_PASSWORD_SIZE];
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(secret_password_hash("correct horse", stored), 0);
	assert_int_equal(secret_password_hash("correct horse", again), 0);
	assert_true(str_starts(stored, "$argon2id$"));
	assert_string_not_equal(stored, again); /* salted */
	assert_true(secret_password_is("correct horse", stored));
	assert_false(secret_password_is("correct hors", stored));
	assert_false(secret_password_is("", stored));
	assert_false(secret_password_is("correct horse", NULL));
	assert_false(secret_password_is("correct horse", "no hash"));
	OK(store_user_check_password("ann", "twelve chars", &why));
	assert_int_equal(store_user_check_password("ann", "eleven char", &err), -1);
	/* Characters, not bytes. */
	assert_int_equal(store_user_check_password("ann", "\u00e9l\u00e9phants!!", &err), -1);
	OK(store_user_check_password("ann", "douze \u00e9l\u00e9phants", &why));
	assert_int_equal(store_user_check_password("ann@example.com", "ANN@example.com", &err), -1);
}

/* What a member of another company names is not there. */
static void test_companies(void **state)
{
	struct temp_db *temp = *state;
	struct db *db = temp->db;
	struct temp_tenant a, b;
	struct user ann, bob, op, got;
	struct user_list list;
	char *stored = NULL;

	temp_db_tenant(db, "A", "a.example", &a);
	temp_db_tenant(db, "B", "b.example", &b);
	add_user(db, a.company_id, "ann", &ann);
	add_user(db, b.company_id, "bob", &bob);
	add_user(db, NULL, "op", &op);

	FOUND(store_user_list(db, a.company_id, WHOLE, &list, NULL, &why));
	assert_int_equal(list.n, 1);
	row_list_free(&store_user_type, list.items, list.n);
	FOUND(store_user_list(db, NULL, WHOLE, &list, NULL, &why));
	assert_int_equal(list.n, 3);
	row_list_free(&store_user_type, list.items, list.n);
	assert_int_equal(store_user_find(db, a.company_id, "bob", &got, NULL), 0);
	assert_int_equal(store_user_find(db, a.company_id, op.id, &got, NULL), 0);
	assert_int_equal(store_user_set_role(db, a.company_id, bob.id, USER_VIEWER, NULL), 0);
	assert_int_equal(store_user_reset(db, a.company_id, op.id, NULL), 0);
	assert_int_equal(store_user_remove(db, a.company_id, bob.id, NULL), 0);
	assert_int_equal(store_user_remove(db, a.company_id, op.id, NULL), 0);
	assert_int_equal(store_user_find(db, NULL, "bob", &got, NULL), 1);
	assert_int_equal(got.role, USER_OWNER);
	store_user_clear(&got);

	assert_int_equal(store_user_password(db, "bob", &got, &stored, NULL), 1);
	assert_string_equal(stored, "stored");
	free(stored);
	store_user_clear(&got);
	/* An id is no login. */
	assert_int_equal(store_user_password(db, bob.id, &got, &stored, NULL), 0);

	/* They go with their company, and that is written down. */
	assert_int_equal(store_company_remove(db, b.company_id, NULL), 1);
	assert_int_equal(store_user_find(db, NULL, "bob", &got, NULL), 0);
	assert_int_equal(temp_db_number(db,
				 "SELECT count(*) FROM audit"
				 " WHERE action = 'user.remove'"),
		1);
	assert_int_equal(temp_db_number(db,
				 "SELECT count(*) FROM audit"
				 " WHERE before LIKE '%stored%'"
				 " OR after LIKE '%stored%'"),
		0);
	store_user_clear(&ann);
	store_user_clear(&bob);
	store_user_clear(&op);
}

static void test_sessions(void **state)
{
	struct temp_db *temp = *state;
	struct db *db = temp->db;
	struct session_list list;
	struct session session;
	struct user ann;
	uint8_t hash[SECRET_HASH_LEN];

	add_user(db, NULL, "ann", &ann);
	make(db, &ann, SESSION_BROWSER, "browser", NOW + 60 * SECOND);
	make(db, &ann, SESSION_TOKEN, "token", 0);
	make(db, &ann, SESSION_TOKEN, "short token", NOW + 60 * SECOND);
	make(db, &ann, SESSION_LINK, "link", NOW + 60 * SECOND);
	assert_false(opens(db, "nothing", NOW));
	assert_true(opens(db, "browser", NOW));
	assert_true(opens(db, "token", NOW));
	/* Only what it becomes. */
	assert_false(opens(db, "link", NOW));

	/* Idle for longer than ten seconds, unless it is a token. */
	assert_true(opens(db, "browser", NOW + 10 * SECOND));
	assert_false(opens(db, "browser", NOW + 11 * SECOND));
	assert_true(opens(db, "token", NOW + 11 * SECOND));
	hash_of("browser", hash);
	assert_int_equal(store_session_find(db, hash, NOW, 0, &session, NULL), 1);
	OK(store_session_touch(db, session.id, NOW + 55 * SECOND, &why));
	assert_true(opens(db, "browser", NOW + 59 * SECOND));
	/* At its end, used or not. */
	assert_false(opens(db, "browser", NOW + 60 * SECOND));
	assert_false(opens(db, "short token", NOW + 60 * SECOND));
	assert_true(opens(db, "token", NOW + 600 * SECOND));
	store_session_clear(&session);

	FOUND(store_session_list_tokens(db, NULL, WHOLE, &list, NULL, &why));
	assert_int_equal(list.n, 2);
	assert_int_equal(store_session_revoke_token(db, NULL, list.items[0].id, NULL), 1);
	assert_int_equal(store_session_revoke_token(db, NULL, list.items[0].id, NULL), 0);
	row_list_free(&store_token_type, list.items, list.n);
	/* A browser session is no token. */
	hash_of("browser", hash);
	assert_int_equal(store_session_find(db, hash, NOW, 0, &session, NULL), 1);
	assert_int_equal(store_session_revoke_token(db, NULL, session.id, NULL), 0);
	store_session_clear(&session);

	/* With the user all of it ends. */
	assert_int_equal(store_user_remove(db, NULL, ann.id, NULL), 1);
	assert_false(opens(db, "browser", NOW));
	assert_false(opens(db, "token", NOW));
	assert_int_equal(temp_db_number(db, "SELECT count(*) FROM admin_session"), 0);
	store_user_clear(&ann);
}

static void test_link(void **state)
{
	struct temp_db *temp = *state;
	const struct session_spec spec = {
		.kind = SESSION_BROWSER, .origin = "192.0.2.1", .expires_us = NOW + 60 * SECOND};
	uint8_t link[SECRET_HASH_LEN], browser[SECRET_HASH_LEN];
	struct session session;
	struct user ann;

	add_user(temp->db, NULL, "ann", &ann);
	make(temp->db, &ann, SESSION_LINK, "link", NOW + 60 * SECOND);
	make(temp->db, &ann, SESSION_TOKEN, "token", 0);
	hash_of("link", link);
	hash_of("browser", browser);
	assert_int_equal(store_session_redeem(
				 temp->db, link, &spec, browser, NOW + 60 * SECOND, &session, NULL),
		0);
	assert_int_equal(
		store_session_redeem(temp->db, link, &spec, browser, NOW, &session, NULL), 1);
	assert_int_equal(session.kind, SESSION_BROWSER);
	assert_string_equal(session.login, "ann");
	store_session_clear(&session);
	assert_true(opens(temp->db, "browser", NOW));
	/* Once. A token is no link. */
	assert_int_equal(
		store_session_redeem(temp->db, link, &spec, browser, NOW, &session, NULL), 0);
	hash_of("token", link);
	assert_int_equal(
		store_session_redeem(temp->db, link, &spec, browser, NOW, &session, NULL), 0);
	store_user_clear(&ann);
}

/* What was made while the clock was ahead does not outlast its time by that. */
static void test_clock_put_back(void **state)
{
	struct temp_db *temp = *state;
	const int64_t minute = 60 * SECOND;
	uint8_t link[SECRET_HASH_LEN];
	struct user ann;

	add_user(temp->db, NULL, "ann", &ann);
	make(temp->db, &ann, SESSION_BROWSER, "browser", NOW + minute);
	make(temp->db, &ann, SESSION_LINK, "link", NOW + minute);
	make(temp->db, &ann, SESSION_TOKEN, "token", 0);
	hash_of("link", link);
	assert_true(opens(temp->db, "browser", NOW - 59 * minute));
	assert_int_equal(store_session_find_link(temp->db, link, NOW - 59 * minute, NULL), 1);
	assert_false(opens(temp->db, "browser", NOW - 61 * minute));
	assert_int_equal(store_session_find_link(temp->db, link, NOW - 61 * minute, NULL), 0);
	assert_true(opens(temp->db, "token", NOW - 61 * minute));
	store_user_clear(&ann);
}

/* Who may have stolen the old password is logged out; tokens stay. */
static void test_new_password(void **state)
{
	struct temp_db *temp = *state;
	struct db *db = temp->db;
	uint8_t hash[SECRET_HASH_LEN];
	struct session kept;
	struct user ann;

	add_user(db, NULL, "ann", &ann);
	make(db, &ann, SESSION_BROWSER, "here", NOW + 60 * SECOND);
	make(db, &ann, SESSION_BROWSER, "elsewhere", NOW + 60 * SECOND);
	make(db, &ann, SESSION_LINK, "link", NOW + 60 * SECOND);
	make(db, &ann, SESSION_TOKEN, "token", 0);
	hash_of("here", hash);
	assert_int_equal(store_session_find(db, hash, NOW, 0, &kept, NULL), 1);
	assert_int_equal(store_login_set_password(db, ann.id, "new", kept.id, NOW + 1, NULL), 1);
	assert_true(opens(db, "here", NOW));
	assert_false(opens(db, "elsewhere", NOW));
	assert_true(opens(db, "token", NOW));
	assert_int_equal(temp_db_number(db, "SELECT count(*) FROM admin_session"), 2);
	store_session_clear(&kept);
	store_user_clear(&ann);
}

/* What has expired is not kept. */
static void test_clean(void **state)
{
	struct temp_db *temp = *state;
	const struct session_spec spec = {
		.kind = SESSION_BROWSER, .origin = "", .expires_us = NOW + 1000 * SECOND};
	const uint8_t hash[SECRET_HASH_LEN] = {1};
	struct session session;
	struct user ann;

	add_user(temp->db, NULL, "ann", &ann);
	make(temp->db, &ann, SESSION_BROWSER, "a", NOW + 60 * SECOND);
	make(temp->db, &ann, SESSION_LINK, "b", NOW + 60 * SECOND);
	make(temp->db, &ann, SESSION_TOKEN, "c", 0);
	OK(store_session_create(temp->db, ann.id, &spec, hash, NOW + 60 * SECOND, &session, &why));
	assert_int_equal(temp_db_number(temp->db, "SELECT count(*) FROM admin_session"), 2);
	store_session_clear(&session);
	store_user_clear(&ann);
}

static void fails(int result, const struct err *err, enum err_code code)
{
	assert_int_equal(result, -1);
	assert_int_equal(err->code, code);
}

/* The code of the app that has the secret, some steps from NOW. */
static void code_at(const uint8_t *secret, int64_t steps, char code[static TOTP_CODE_SIZE])
{
	totp_code(secret, NOW / SECOND / TOTP_STEP_S + steps, code);
}

static void expect_code(
	struct db *db, const char *login, const char *code, int64_t now_us, enum user_code wanted)
{
	enum user_code is = USER_CODE_MISSING;
	struct user user;

	assert_int_equal(store_user_find(db, NULL, login, &user, NULL), 1);
	OK(store_user_use_code(db, &user, code, now_us, &is, &why));
	assert_int_equal(is, wanted);
	store_user_clear(&user);
}

/* Turns codes on for the user, by the code of the step before NOW. */
static void turn_on(struct db *db, const char *id, uint8_t *secret,
	char codes[static USER_RECOVERY_CODES][TOTP_RECOVERY_SIZE])
{
	char code[TOTP_CODE_SIZE];

	assert_int_equal(store_user_totp_start(db, id, secret, NULL), 1);
	code_at(secret, -1, code);
	assert_int_equal(store_user_totp_confirm(db, id, code, NOW, codes, NULL), 1);
}

static void test_codes(void **state)
{
	struct temp_db *temp = *state;
	struct db *db = temp->db;
	char codes[USER_RECOVERY_CODES][TOTP_RECOVERY_SIZE];
	uint8_t secret[TOTP_SECRET_LEN], other[TOTP_SECRET_LEN];
	char code[TOTP_CODE_SIZE], spaced[TOTP_CODE_SIZE + 1];
	struct err err = ERR_INIT;
	struct user ann;

	add_user(db, NULL, "ann", &ann);
	/* Without codes nobody asks for one; nor before one was confirmed. */
	expect_code(db, "ann", NULL, NOW, USER_CODE_GOOD);
	assert_int_equal(store_user_totp_start(db, ann.id, secret, NULL), 1);
	expect_code(db, "ann", NULL, NOW, USER_CODE_GOOD);
	code_at(secret, 2, code);
	fails(store_user_totp_confirm(db, ann.id, code, NOW, codes, &err), &err, ERR_INVALID);
	/* Only the secret that was shown last counts. */
	turn_on(db, ann.id, other, codes);
	code_at(secret, 0, code);
	expect_code(db, "ann", code, NOW, USER_CODE_WRONG);
	memcpy(secret, other, sizeof(secret));
	fails(store_user_totp_start(db, ann.id, other, &err), &err, ERR_EXISTS);
	code_at(secret, 1, code);
	fails(store_user_totp_confirm(db, ann.id, code, NOW, codes, &err), &err, ERR_NOT_FOUND);

	expect_code(db, "ann", NULL, NOW, USER_CODE_MISSING);
	expect_code(db, "ann", "", NOW, USER_CODE_WRONG);
	/* The one that confirmed was used. */
	code_at(secret, -1, code);
	expect_code(db, "ann", code, NOW, USER_CODE_WRONG);
	code_at(secret, 2, code);
	expect_code(db, "ann", code, NOW, USER_CODE_WRONG);
	code_at(secret, 0, code);
	snprintf(spaced, sizeof(spaced), "%.3s %.3s", code, code + 3);
	expect_code(db, "ann", spaced, NOW, USER_CODE_GOOD);
	expect_code(db, "ann", code, NOW, USER_CODE_WRONG);
	/* Clocks differ; but after a later code an earlier one is none. */
	code_at(secret, 1, code);
	expect_code(db, "ann", code, NOW, USER_CODE_GOOD);
	expect_code(db, "ann", code, NOW + 30 * SECOND, USER_CODE_WRONG);
	code_at(secret, 2, code);
	expect_code(db, "ann", code, NOW + 90 * SECOND, USER_CODE_GOOD);
	code_at(secret, 4, code);
	expect_code(db, "ann", code, NOW + 180 * SECOND, USER_CODE_WRONG);

	/* Off, they are forgotten. */
	assert_int_equal(store_user_totp_off(db, "nobody's", ann.id, NULL), 0);
	assert_int_equal(store_user_totp_off(db, NULL, ann.id, NULL), 1);
	expect_code(db, "ann", NULL, NOW, USER_CODE_GOOD);
	assert_int_equal(store_user_totp_off(db, NULL, ann.id, NULL), 0);
	store_user_clear(&ann);
}

static void test_recovery_codes(void **state)
{
	struct temp_db *temp = *state;
	struct db *db = temp->db;
	char codes[USER_RECOVERY_CODES][TOTP_RECOVERY_SIZE];
	uint8_t secret[TOTP_SECRET_LEN];
	struct user ann, bob;
	int64_t tokens = 0;

	add_user(db, NULL, "ann", &ann);
	add_user(db, NULL, "bob", &bob);
	turn_on(db, bob.id, secret, codes);
	turn_on(db, ann.id, secret, codes);
	expect_code(db, "ann", codes[0], NOW, USER_CODE_GOOD);
	expect_code(db, "ann", codes[0], NOW, USER_CODE_WRONG);
	expect_code(db, "bob", codes[1], NOW, USER_CODE_WRONG);
	/* As people type it. */
	for (char *at = codes[1]; *at; at++)
		*at = *at == '-' ? ' ' : (char)toupper(*at);
	expect_code(db, "ann", codes[1], NOW, USER_CODE_GOOD);
	store_user_clear(&ann);
	assert_int_equal(store_user_find(db, NULL, "ann", &ann, NULL), 1);
	assert_int_equal(ann.recovery_codes, USER_RECOVERY_CODES - 2);
	/* New ones with new codes. */
	assert_int_equal(store_user_totp_off(db, NULL, ann.id, NULL), 1);
	turn_on(db, ann.id, secret, codes + 0);
	store_user_clear(&ann);
	assert_int_equal(store_user_find(db, NULL, "ann", &ann, NULL), 1);
	assert_int_equal(ann.recovery_codes, USER_RECOVERY_CODES);
	/* Another's reset is not hers. */
	assert_int_equal(store_login_reset(db, NULL, bob.id, NOW, &tokens, NULL), 1);
	expect_code(db, "ann", codes[2], NOW, USER_CODE_GOOD);
	expect_code(db, "bob", NULL, NOW, USER_CODE_GOOD);
	store_user_clear(&ann);
	store_user_clear(&bob);
}

static void test_reset(void **state)
{
	struct temp_db *temp = *state;
	struct db *db = temp->db;
	char *stored = NULL;
	struct user ann, bob, got;
	int64_t tokens = 0;

	add_user(db, NULL, "ann", &ann);
	make(db, &ann, SESSION_BROWSER, "browser", NOW + 60 * SECOND);
	make(db, &ann, SESSION_TOKEN, "token", 0);
	make(db, &ann, SESSION_TOKEN, "other", 0);
	/* One that has ended is revoked too, but was good for nothing. */
	make(db, &ann, SESSION_TOKEN, "ended", NOW + SECOND);
	add_user(db, NULL, "bob", &bob);
	make(db, &bob, SESSION_TOKEN, "bob's", 0);
	assert_int_equal(store_login_reset(db, "nobody's", ann.id, NOW, &tokens, NULL), 0);
	assert_true(opens(db, "browser", NOW));
	assert_true(opens(db, "token", NOW));
	assert_int_equal(store_login_reset(db, NULL, ann.id, NOW + 2 * SECOND, &tokens, NULL), 1);
	assert_int_equal(tokens, 2);
	assert_false(opens(db, "browser", NOW));
	assert_false(opens(db, "token", NOW));
	assert_false(opens(db, "other", NOW));
	assert_true(opens(db, "bob's", NOW));
	assert_int_equal(temp_db_number(db,
				 "SELECT count(*) FROM audit"
				 " WHERE action = 'token.revoke'"),
		3);
	assert_int_equal(store_user_password(db, "ann", &got, &stored, NULL), 1);
	assert_null(stored);
	assert_true(got.password_us == 0);
	store_user_clear(&got);
	store_user_clear(&bob);
	store_user_clear(&ann);
}

/* Browser sessions of one user, and who may end them. */
static void test_own_sessions(void **state)
{
	struct temp_db *temp = *state;
	struct db *db = temp->db;
	struct session_list list;
	struct user ann, bob;

	add_user(db, NULL, "ann", &ann);
	add_user(db, NULL, "bob", &bob);
	make(db, &ann, SESSION_BROWSER, "here", NOW + 60 * SECOND);
	make(db, &ann, SESSION_BROWSER, "there", NOW + 60 * SECOND);
	make(db, &ann, SESSION_BROWSER, "over", NOW + SECOND);
	make(db, &ann, SESSION_TOKEN, "token", 0);
	make(db, &bob, SESSION_BROWSER, "bob's", NOW + 60 * SECOND);
	FOUND(store_session_list_browsers(
		db, ann.id, NOW + 2 * SECOND, NOW, WHOLE, &list, NULL, &why));
	assert_int_equal(list.n, 2);
	assert_int_equal(store_session_end_browser(db, bob.id, list.items[0].id, NULL), 0);
	assert_int_equal(store_session_end_browser(db, ann.id, list.items[0].id, NULL), 1);
	row_list_free(&store_token_type, list.items, list.n);
	assert_int_equal(opens(db, "here", NOW) + opens(db, "there", NOW), 1);
	/* Not used for long. */
	FOUND(store_session_list_browsers(
		db, ann.id, NOW + 2 * SECOND, NOW + SECOND, WHOLE, &list, NULL, &why));
	assert_int_equal(list.n, 0);
	row_list_free(&store_token_type, list.items, list.n);
	FOUND(store_session_list_tokens(db, NULL, WHOLE, &list, NULL, &why));
	assert_int_equal(store_session_end_browser(db, ann.id, list.items[0].id, NULL), 0);
	row_list_free(&store_token_type, list.items, list.n);
	store_user_clear(&ann);
	store_user_clear(&bob);
}

static void check_login(struct db *db, const char *login, const char *id)
{
	char *stored = NULL;
	struct user user;
	int found = store_user_password(db, login, &user, &stored, NULL);

	if (id == NULL) {
		assert_int_equal(found, 0);
		return;
	}
	assert_int_equal(found, 1);
	if (!str_eq(user.id, id))
		fail_msg("%s is %s", login, user.login);
	store_user_clear(&user);
	free(stored);
	assert_int_equal(store_user_find(db, NULL, login, &user, NULL), 1);
	assert_string_equal(user.id, id);
	store_user_clear(&user);
}

/* A login is found in any letter case, and added once. */
static void test_case(void **state)
{
	struct temp_db *temp = *state;
	struct user ann, strasse;

	add_user(temp->db, NULL, "Ann@Example.com", &ann);
	add_user(temp->db, NULL, "Straße", &strasse);
	check_login(temp->db, "ann@example.com", ann.id);
	check_login(temp->db, "ANN@EXAMPLE.COM", ann.id);
	check_login(temp->db, "STRASSE", strasse.id);
	check_login(temp->db, "ann@example.co", NULL);
	check_login(temp->db, ann.id, NULL);
	store_user_clear(&ann);
	store_user_clear(&strasse);
}

/* Users from before: of those whose logins are one now, the oldest has it in
 * any case, the others as they were given. */
static void test_case_of_old_users(void **state)
{
	static const char sql_rows[] =
		"INSERT INTO admin_user (id, login, role, created_us) VALUES"
		" ('young', 'Ann', 'owner', 3), ('old', 'ANN', 'owner', 1),"
		" ('middle', 'ann', 'owner', 2), ('other', 'ÄNN', 'owner', 4),"
		" ('same', 'änn', 'owner', 5), ('bob', 'bob', 'owner', 6)";
	const struct migrate_list before = {migrations, 13, NULL};
	const struct user_spec spec = {NULL, "aNN", USER_OWNER, NULL};
	struct temp_db *temp = *state;
	_cleanup_free_ char *path = temp_db_file(temp, "before.db");
	struct err err = ERR_INIT;
	struct db *db = NULL;
	struct user user;
	int applied;

	OK(db_open(path, DB_CREATE, &db, &why));
	OK(migrate_run_list(db, &before, 1, &applied, &why));
	OK(db_exec(db, sql_rows, &why));
	OK(temp_db_migrate(db, 2, &applied, &why));
	check_login(db, "ANN", "old");
	check_login(db, "Ann", "young");
	check_login(db, "ann", "middle");
	check_login(db, "aNN", "old");
	check_login(db, "ÄNN", "other");
	check_login(db, "änn", "same");
	check_login(db, "Änn", "other");
	check_login(db, "BOB", "bob");
	/* One more is not added, neither beside the others nor in the place of
	 * the oldest. */
	assert_int_equal(store_user_add(db, &spec, 7, &user, &err), -1);
	assert_int_equal(err.code, ERR_EXISTS);
	assert_int_equal(store_user_remove(db, NULL, "old", &err), 1);
	assert_int_equal(store_user_add(db, &spec, 7, &user, &err), -1);
	check_login(db, "Ann", "young");
	db_close(db);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, temp_db_setup, temp_db_teardown)
	const struct CMUnitTest tests[] = {
		TEST(add),
		TEST(passwords),
		TEST(companies),
		TEST(sessions),
		TEST(link),
		TEST(clock_put_back),
		TEST(new_password),
		TEST(clean),
		TEST(codes),
		TEST(recovery_codes),
		TEST(reset),
		TEST(own_sessions),
		TEST(case),
		TEST(case_of_old_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
