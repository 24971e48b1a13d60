/*
 * op_user: users of the admin listener, and their credentials. Invariant: a token, a link or a
 * secret is wiped once it is in the answer.
 */
#include "core/ops/op_user.h"

#include <ctype.h>
#include <string.h>

#include "core/address/addr.h"
#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/secret.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/store/company/store_company.h"
#include "core/store/company/store_domain.h"
#include "core/store/user/store_login.h"
#include "core/store/user/store_session.h"
#include "core/store/user/store_user.h"

enum { LINK_VALID_S = 3600 };

static const struct op_field add_fields[] = {
	{OP_FIELD(op_user, login, OP_TEXT), .required = true},
	{OP_FIELD(op_user, role, OP_TEXT)},
	{OP_FIELD(op_user, company_id, OP_ID)},
	{0},
};
static const struct op_field update_fields[] = {
	{OP_FIELD(op_user, role, OP_TEXT), .required = true},
	{0},
};
static const struct op_field list_fields[] = {
	{OP_FIELD(op_user, company_id, OP_ID)},
	{0},
};
static const struct op_field password_fields[] = {
	{OP_FIELD(op_password, password, OP_TEXT)},
	{OP_FIELD(op_password, code, OP_TEXT)},
	{OP_FIELD(op_password, new_password, OP_TEXT), .required = true},
	{0},
};
static const struct op_field start_fields[] = {
	{OP_FIELD(op_password, password, OP_TEXT), .required = true},
	{0},
};
static const struct op_field off_fields[] = {
	{OP_FIELD(op_password, password, OP_TEXT), .required = true},
	{OP_FIELD(op_password, code, OP_TEXT)},
	{0},
};
static const struct op_field code_fields[] = {
	{OP_FIELD(op_password, code, OP_TEXT), .required = true},
	{0},
};
static const struct op_field token_fields[] = {
	{OP_FIELD(op_password, name, OP_TEXT), .required = true},
	{OP_FIELD(op_password, days, OP_NUMBER), .max = OP_TOKEN_DAYS_MAX},
	{OP_FIELD(op_password, password, OP_TEXT)},
	{OP_FIELD(op_password, code, OP_TEXT)},
	{0},
};

/* Gives the user of the operation, or the user who asks, and points *user_r to it. Returns 1, 0 if
 * none is visible, -1 on error. */
static int give_user(struct op *op, const char *word, struct user **user_r, struct err *err)
{
	struct user user;
	int found = store_user_find(op->db, op->company_id, word, &user, err);

	if (found <= 0)
		return found;
	op_give(op, &store_user_type, &user);
	*user_r = op->result.rows.items;
	return 1;
}

/* Returns the user that the command names, or the one who asks. */
static const char *whom(const struct op *op)
{
	return op->actor == OP_COMMAND ? op->object : op->session->user_id;
}

static int read_role(const struct op *op, const char *word, enum user_role *role_r, struct err *err)
{
	if (word == NULL || store_user_role_parse(word, role_r))
		return 0;
	return op_refuse(op, err, "role", "is one of owner, viewer, not \"%s\"", word);
}

/* Logins are unique across all companies, so an error for a taken login reveals something about
 * others. Members can only add logins that nobody else could have chosen. */
static int check_own_login(const struct op *op, const char *login, struct err *err)
{
	const char *at = strrchr(login, '@');
	_cleanup_free_ char *name = NULL;
	struct domain domain;
	int found = 0;

	/* The store reports what is wrong with a login. */
	if (op->company_id == NULL || strpbrk(login, " \t\r\n"))
		return 0;
	if (at && at > login && addr_domain_normalize(at + 1, &name, NULL) == 0)
		found = store_domain_find_of(op->db, op->company_id, name, &domain, err);
	if (found < 0)
		return -1;
	if (found == 0)
		return err_set(err, ERR_INVALID,
			"the `login` must be an address in a domain of your company; an operator "
			"of this server adds users with other logins");
	found = domain.active;
	store_domain_clear(&domain);
	return found ? 0 : err_set(err, ERR_INVALID, "the domain of the `login` is not active");
}

/* Creates a session of the user. The caller wipes its token. */
static int make_session(const struct op *op, const char *user_id, const struct session_spec *spec,
	struct session *session_r, char token[static SECRET_TOKEN_SIZE], struct err *err)
{
	uint8_t hash[SECRET_HASH_LEN];

	secret_user_token(token);
	secret_hash(token, strlen(token), hash);
	return store_session_create(op->db, user_id, spec, hash, op->now_us, session_r, err);
}

/* Adds a link for the user to the answer. of_change: it is part of a change of the user, which has
 * the audit entry. */
static int add_link(struct op *op, const struct user *user, bool of_change, struct err *err)
{
	const struct session_spec spec = {
		.kind = SESSION_LINK,
		.origin = op->client,
		.expires_us = op->now_us + LINK_VALID_S * SECOND_US,
		.of_change = of_change,
	};
	char token[SECRET_TOKEN_SIZE];
	struct session link;
	char *path;
	int result = make_session(op, user->id, &spec, &link, token, err);

	if (result == 0) {
		path = mem_printf("/#/login?token=%s", token);
		json_object_set_new(op_more(op), "login_path", json_string(path));
		json_object_set_new(
			op_more(op), "login_path_expires_at", row_json_time(link.expires_us));
		secret_text_free(path);
		store_session_clear(&link);
	}
	secret_wipe(token, sizeof(token));
	return result < 0 ? -1 : 1;
}

/* Refuses what is invalid whatever the password, before somebody types one. */
static int add_check(struct op *op, const void *arg, struct err *err)
{
	const struct op_user *input = arg;
	enum user_role role;
	struct company company;
	struct user user;
	int taken = 1;

	if (read_role(op, input->role, &role, err) < 0 ||
		check_own_login(op, input->login, err) < 0)
		return -1;
	if (input->company_id) {
		taken = store_company_get(op->db, input->company_id, &company, err);
		if (taken > 0)
			store_company_clear(&company);
	}
	if (taken == 0)
		return err_set(err, ERR_NOT_FOUND, "there is no company %s", input->company_id);
	if (taken < 0)
		return -1;
	taken = store_user_find(op->db, NULL, input->login, &user, err);
	if (taken <= 0)
		return taken;
	store_user_clear(&user);
	return err_set(err, ERR_EXISTS, "there is a user %s already", input->login);
}

static int add_user(struct op *op, const void *arg, struct err *err)
{
	const struct op_user *input = arg;
	struct user_spec spec = {
		.company_id = op_company_of(op, input->company_id),
		.login = input->login,
		.role = USER_VIEWER,
		.stored = input->stored,
	};
	struct user user;

	if (read_role(op, input->role, &spec.role, err) < 0 ||
		check_own_login(op, input->login, err) < 0 ||
		store_user_add(op->db, &spec, op->now_us, &user, err) < 0)
		return -1;
	op_give(op, &store_user_type, &user);
	if (spec.company_id && op_check_limit(op, LIMIT_USERS, spec.company_id, err) < 0)
		return -1;
	return op->actor == OP_COMMAND ? 1 : add_link(op, &user, true, err);
}

static int list_users(struct op *op, const void *arg, struct err *err)
{
	const struct op_user *input = arg;
	struct user_list users = {0};
	struct page_end end;
	int found = store_user_list(
		op->db, op_company_of(op, input->company_id), &op->page, &users, &end, err);

	if (found > 0)
		op_give_page(op, &store_user_type, users.items, users.n, &end);
	return found;
}

static int update_user(struct op *op, const void *arg, struct err *err)
{
	const struct op_user *input = arg;
	struct user *user;
	int found = give_user(op, op->object, &user, err);

	if (found <= 0)
		return found;
	if (read_role(op, input->role, &user->role, err) < 0)
		return -1;
	return store_user_set_role(op->db, op->company_id, user->id, user->role, err);
}

static int remove_one(struct op *op, const void *arg, struct err *err)
{
	struct user *user;
	int found = give_user(op, op->object, &user, err);

	(void)arg;
	return found > 0 ? store_user_remove(op->db, op->company_id, user->id, err) : found;
}

static int make_link(struct op *op, const void *arg, struct err *err)
{
	const struct session *session = op->session;
	struct user *user;
	int found;

	(void)arg;
	if (str_empty(op->conf->admin.listen))
		return err_set(
			err, ERR_INVALID, "there is nobody to open a link: admin.listen is empty");
	found = give_user(op, op->object, &user, err);
	if (found <= 0)
		return found;
	/* Otherwise the session could renew itself without end: a session by a link lasts as long
	 * as one by a password. */
	if (session && session->kind == SESSION_BROWSER && str_eq(user->id, session->user_id))
		return err_set(err, ERR_INVALID,
			"nobody makes a link for themselves, with which a session would go on "
			"without an end: log in, or have another owner or `postern user link` make "
			"one");
	return add_link(op, user, false, err);
}

static int reset_user_login(struct op *op, const void *arg, struct err *err)
{
	struct user *user;
	int64_t tokens;
	int found = give_user(op, op->object, &user, err);

	(void)arg;
	if (found <= 0)
		return found;
	/* Otherwise it would do without the password what requires it. */
	if (op->session && str_eq(user->id, op->session->user_id))
		return err_set(err, ERR_INVALID,
			"nobody resets their own login: another owner does, or `postern user "
			"passwd`");
	found = store_login_reset(op->db, op->company_id, user->id, op->now_us, &tokens, err);
	if (found <= 0)
		return found;
	user->password_us = user->totp_us = user->recovery_codes = 0;
	json_object_set_new(op_more(op), "tokens_revoked", json_integer(tokens));
	return add_link(op, user, true, err);
}

static int password_set(struct op *op, const void *arg, struct err *err)
{
	const struct op_password *input = arg;
	const char *keep = op->session ? op->session->id : NULL;
	struct user *user;
	int64_t tokens;
	int found = give_user(op, whom(op), &user, err);

	if (found <= 0)
		return found;
	if (store_session_count_tokens(op->db, user->id, op->now_us, &tokens, err) < 0)
		return -1;
	json_object_set_new(op_more(op), "tokens", json_integer(tokens));
	user->password_us = op->now_us;
	return store_login_set_password(op->db, user->id, input->stored, keep, op->now_us, err);
}

static int totp_off(struct op *op, const void *arg, struct err *err)
{
	struct user *user;
	int found = give_user(op, whom(op), &user, err);

	(void)arg;
	if (found <= 0)
		return found;
	found = store_user_totp_off(op->db, op->company_id, user->id, err);
	user->totp_us = user->recovery_codes = 0;
	/* For the command it is no error if codes are off already; a page that asks for it is out
	 * of date. */
	return found == 0 && op->actor == OP_COMMAND ? 1 : found;
}

static int account_get(struct op *op, const void *arg, struct err *err)
{
	struct user *user;

	(void)arg;
	return give_user(op, op->session->user_id, &user, err);
}

/* The URI that authenticator apps read, by
 * github.com/google/google-authenticator/wiki/Key-Uri-Format. */
static char *totp_uri(const char *login, const char *secret)
{
	struct buf uri = BUF_INIT;

	buf_add_str(&uri, "otpauth://totp/Postern:");
	for (; *login; login++)
		if (isalnum((unsigned char)*login) || strchr("-._~@", *login))
			buf_add_char(&uri, *login);
		else
			buf_printf(&uri, "%%%02X", (unsigned char)*login);
	buf_printf(&uri, "?secret=%s&issuer=Postern", secret);
	return uri.data;
}

static int totp_start(struct op *op, const void *arg, struct err *err)
{
	char text[TOTP_SECRET_TEXT_SIZE], *uri;
	uint8_t secret[TOTP_SECRET_LEN];
	int found = store_user_totp_start(op->db, op->session->user_id, secret, err);

	(void)arg;
	if (found <= 0)
		return found;
	totp_secret_text(secret, text);
	uri = totp_uri(op->session->login, text);
	json_object_update_new(op_more(op),
		json_pack("{s:s, s:s, s:s}", "object", "totp", "secret", text, "uri", uri));
	secret_text_free(uri);
	secret_wipe(text, sizeof(text));
	secret_wipe(secret, sizeof(secret));
	return 1;
}

static int totp_confirm(struct op *op, const void *arg, struct err *err)
{
	const struct op_password *input = arg;
	char codes[USER_RECOVERY_CODES][TOTP_RECOVERY_SIZE];
	int result = store_user_totp_confirm(
		op->db, op->session->user_id, input->code, op->now_us, codes, err);
	json_t *array;

	if (result <= 0)
		return result;
	array = json_array();
	for (size_t i = 0; i < USER_RECOVERY_CODES; i++)
		json_array_append_new(array, json_string(codes[i]));
	json_object_update_new(
		op_more(op), json_pack("{s:s, s:o}", "object", "recovery_codes", "codes", array));
	secret_wipe(codes, sizeof(codes));
	return 1;
}

static int session_list(struct op *op, const void *arg, struct err *err)
{
	const struct session *own = op->session;
	int64_t idle_us = op->now_us - op->conf->admin.session_idle_ms * 1000;
	struct session_list sessions = {0};
	struct page_end end;
	int found = store_session_list_browsers(
		op->db, own->user_id, op->now_us, idle_us, &op->page, &sessions, &end, err);

	(void)arg;
	if (found <= 0)
		return found;
	for (size_t i = 0; i < sessions.n; i++)
		sessions.items[i].current = str_eq(sessions.items[i].id, own->id);
	op_give_page(op, &store_browser_type, sessions.items, sessions.n, &end);
	return 1;
}

static int session_end(struct op *op, const void *arg, struct err *err)
{
	(void)arg;
	return store_session_end_browser(op->db, op->session->user_id, op->object, err);
}

static int session_end_others(struct op *op, const void *arg, struct err *err)
{
	(void)arg;
	return store_session_end_all(op->db, op->session->user_id, op->session->id, err) < 0 ? -1
											     : 1;
}

/* A token is revoked by its id; that way it may also end itself. */
static int session_logout(struct op *op, const void *arg, struct err *err)
{
	(void)arg;
	if (op->session->kind == SESSION_TOKEN)
		return store_session_revoke_token(op->db, NULL, op->session->id, err);
	return store_session_end(op->db, op->session->id, err);
}

static int token_create(struct op *op, const void *arg, struct err *err)
{
	const struct op_password *input = arg;
	const struct session *maker = op->session;
	struct session_spec spec = {
		.kind = SESSION_TOKEN,
		.name = input->name,
		.origin = op->client,
		.expires_us = input->days ? op->now_us + input->days * 86400 * SECOND_US : 0,
	};
	char token[SECRET_TOKEN_SIZE];
	struct session session;
	struct user user;
	int result = store_user_find(op->db, op->company_id, whom(op), &user, err);

	if (result <= 0)
		return result;
	/* A token that was created with a token does not outlive it, and is revoked with it. */
	if (maker && maker->kind == SESSION_TOKEN) {
		spec.made_by = maker->id;
		if (maker->expires_us && (input->days == 0 || spec.expires_us > maker->expires_us))
			spec.expires_us = maker->expires_us;
	}
	result = make_session(op, user.id, &spec, &session, token, err);
	if (result == 0) {
		op_give(op, &store_token_type, &session);
		json_object_set_new(op_more(op), "token", json_string(token));
		result = op_check_limit(op, LIMIT_TOKENS, user.id, err);
	}
	secret_wipe(token, sizeof(token));
	store_user_clear(&user);
	return result < 0 ? -1 : 1;
}

static int token_list(struct op *op, const void *arg, struct err *err)
{
	struct session_list tokens = {0};
	struct page_end end;
	int found = store_session_list_tokens(
		op->db, op->company_id, &op->page, &tokens, &end, err);

	(void)arg;
	if (found > 0)
		op_give_page(op, &store_token_type, tokens.items, tokens.n, &end);
	return found;
}

static int token_revoke(struct op *op, const void *arg, struct err *err)
{
	(void)arg;
	json_object_set_new(op_more(op), "id", json_string(op->object));
	json_object_set_new(op_more(op), "revoked", json_true());
	return store_session_revoke_token(op->db, op->company_id, op->object, err);
}

#define USER     sizeof(struct op_user)
#define PASSWORD sizeof(struct op_password)

const struct operation op_user_add = {add_fields, USER, .check = add_check, .run = add_user};
const struct operation op_user_list = {list_fields, USER, .list = OP_SEARCH, .run = list_users};
const struct operation op_user_update = {update_fields, USER, .run = update_user};
const struct operation op_user_remove = {.run = remove_one};
const struct operation op_user_link = {.run = make_link};
const struct operation op_user_reset = {.run = reset_user_login};
const struct operation op_user_totp_off = {.run = totp_off};
const struct operation op_password_set = {password_fields, PASSWORD, .run = password_set};
const struct operation op_account_get = {.run = account_get};
const struct operation op_totp_start = {start_fields, PASSWORD, .run = totp_start};
const struct operation op_totp_confirm = {code_fields, PASSWORD, .run = totp_confirm};
const struct operation op_totp_off = {off_fields, PASSWORD, .run = totp_off};
const struct operation op_session_list = {.list = OP_SEARCH, .run = session_list};
const struct operation op_session_end = {.run = session_end};
const struct operation op_session_end_others = {.run = session_end_others};
const struct operation op_session_logout = {.run = session_logout};
const struct operation op_token_create = {token_fields, PASSWORD, .run = token_create};
const struct operation op_token_list = {.list = OP_SEARCH, .run = token_list};
const struct operation op_token_revoke = {.run = token_revoke};
