/*
 * admin_user: users, and the tokens of programs.
 *
 * Threads: the worker's, of lists the pool's; changes are the committer's.
 */
#include "httpd/admin/admin.h"

#include <string.h>

#include "core/address/addr.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/store/store_domain.h"
#include "core/store/store_limit.h"
#include "core/store/store_session.h"
#include "core/store/store_user.h"
#include "httpd/json/json_field.h"
#include "httpd/worker/worker.h"

/* Users. */

json_t *admin_render_user(const struct user *user)
{
	return json_pack("{s:s, s:s, s:s, s:o, s:s, s:o, s:o, s:o, s:o}", "object", "user", "id",
		user->id, "login", user->login, "company_id", admin_text(user->company_id), "role",
		store_user_role_name(user->role), "created_at", json_field_time(user->created_us),
		"password_at", json_field_time(user->password_us), "totp_at",
		json_field_time(user->totp_us), "last_login_at",
		json_field_time(user->last_login_us));
}

void admin_user_list(struct request *request)
{
	static const char *const names[] = {"company_id", NULL};
	struct user_list users = {0};
	struct err err = ERR_INIT;
	struct admin_list list;
	json_t *data;
	int found;

	if (admin_list_read(request, names, &list) < 0)
		return;
	data = json_array();
	found = store_user_list(request->db, admin_query_company(request, &list.query), &list.page,
		&users, &list.end, &err);
	for (size_t i = 0; i < users.n; i++)
		json_array_append_new(
			data, admin_name_company(request, admin_render_user(&users.items[i])));
	store_user_list_free(&users);
	admin_list_reply(request, found, &list, data, "user_list_failed", &err);
}

static int read_role(const char *word, enum user_role *role_r, struct err *err)
{
	if (word == NULL || store_user_role_parse(word, role_r))
		return 0;
	return err_set(err, ERR_INVALID, "the `role` is one of owner and viewer, not \"%s\"", word);
}

enum { LINK_VALID_S = 3600 };

/* A link for the user, into the answer; of_change: it comes with a change of
 * the user, which is one entry in the audit log. */
static int add_link(
	struct db *db, struct admin_job *job, const char *user_id, bool of_change, struct err *err)
{
	const struct session_spec spec = {
		.kind = SESSION_LINK,
		.origin = job->request->client,
		.expires_us = job->now_us + LINK_VALID_S * INT64_C(1000000),
		.of_change = of_change,
	};
	_cleanup_free_ char *path = NULL;
	uint8_t hash[SECRET_HASH_LEN];
	struct session link;

	secret_hash(job->token, strlen(job->token), hash);
	if (store_session_create(db, user_id, &spec, hash, job->now_us, &link, err) < 0)
		return -1;
	path = mem_printf("/login?token=%s", job->token);
	json_object_set_new(job->answer, "login_path", json_string(path));
	json_object_set_new(job->answer, "login_path_expires_at", json_field_time(link.expires_us));
	secret_wipe(path, strlen(path));
	store_session_clear(&link);
	return 0;
}

/* Every login is one person's in all companies, so whether one is taken tells
 * of others. Members give those alone that nobody else has a say in. */
static int check_own_login(
	struct db *db, const char *company_id, const char *login, struct err *err)
{
	const char *at = strrchr(login, '@');
	_cleanup_free_ char *name = NULL;
	struct domain domain;
	int found = 0;

	/* The store says what is wrong with any login. */
	if (strpbrk(login, " \t\r\n"))
		return 0;
	if (at && at > login && addr_domain_normalize(at + 1, &name, NULL) == 0)
		found = store_domain_find_of(db, company_id, name, &domain, err);
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

/* Without a password: the answer has a link by which the user comes in. */
int admin_user_add(struct db *db, struct admin_job *job, struct err *err)
{
	const char *role = NULL;
	struct user_spec spec = {.role = USER_VIEWER};
	const struct admin_field fields[] = {
		{"login", true, .text = &spec.login},
		{"role", false, .text = &role},
		{"company_id", false, .text = &spec.company_id},
	};
	struct user user;

	if (admin_fields(job, fields, ARRAY_SIZE(fields), err) < 0 ||
		read_role(role, &spec.role, err) < 0)
		return -1;
	/* Members add members of their own company. */
	if (job->company_id)
		spec.company_id = job->company_id;
	if (job->company_id && check_own_login(db, job->company_id, spec.login, err) < 0)
		return -1;
	if (store_user_add(db, &spec, job->now_us, &user, err) < 0)
		return -1;
	job->answer = admin_render_user(&user);
	store_user_clear(&user);
	if (spec.company_id &&
		store_limit_check(db, LIMIT_USERS, spec.company_id, job->limits.users, err) < 0)
		return -1;
	return add_link(db, job, json_string_value(json_object_get(job->answer, "id")), true, err) <
			       0
		       ? -1
		       : 1;
}

int admin_user_update(struct db *db, struct admin_job *job, struct err *err)
{
	const char *word = NULL;
	const struct admin_field fields[] = {{"role", true, .text = &word}};
	enum user_role role = USER_VIEWER;

	if (admin_fields(job, fields, ARRAY_SIZE(fields), err) < 0 ||
		read_role(word, &role, err) < 0)
		return -1;
	return store_user_set_role(db, job->company_id, job->param, role, err);
}

int admin_user_remove(struct db *db, struct admin_job *job, struct err *err)
{
	return store_user_remove(db, job->company_id, job->param, err);
}

/* For who has lost password or phone, or may no longer be the only one who has
 * them, or a token. */
int admin_user_reset(struct db *db, struct admin_job *job, struct err *err)
{
	int64_t tokens;
	int found;

	/* It would do without the password what needs it. */
	if (str_eq(job->param, job->request->admission.session.user_id))
		return err_set(err, ERR_INVALID,
			"nobody resets their own login: another owner does, or `postern user "
			"passwd`");
	found = store_user_reset(db, job->company_id, job->param, job->now_us, &tokens, err);
	if (found <= 0)
		return found;
	job->answer = json_pack("{s:I}", "tokens_revoked", (json_int_t)tokens);
	return add_link(db, job, job->param, true, err) < 0 ? -1 : 1;
}

int admin_user_link(struct db *db, struct admin_job *job, struct err *err)
{
	struct user user;
	int found = store_user_find(db, job->company_id, job->param, &user, err);

	if (found <= 0)
		return found;
	/* It would have no end: a session by a link lasts as long as one by a
	 * password. */
	if (job->request->admission.session.kind == SESSION_BROWSER &&
		str_eq(user.id, job->request->admission.session.user_id)) {
		store_user_clear(&user);
		return err_set(err, ERR_INVALID,
			"nobody makes a link for themselves, with which a session would go on "
			"without an end: log in, or have another owner or `postern user link` make "
			"one");
	}
	job->answer = json_object();
	found = add_link(db, job, user.id, false, err) < 0 ? -1 : 1;
	store_user_clear(&user);
	return found;
}

/* Tokens: owners make their own, and revoke those of all whom they see. */

static json_t *render_token(const struct session *token)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "object", "token", "id",
		token->id, "name", token->name, "user_id", token->user_id, "login", token->login,
		"created_at", json_field_time(token->created_us), "expires_at",
		json_field_time(token->expires_us), "last_used_at",
		json_field_time(
			token->last_used_us == token->created_us ? 0 : token->last_used_us));
}

void admin_token_list(struct request *request)
{
	static const char *const none[] = {NULL};
	struct session_list tokens = {0};
	struct err err = ERR_INIT;
	struct admin_list list;
	json_t *data;
	int found;

	if (admin_list_read(request, none, &list) < 0)
		return;
	data = json_array();
	found = store_session_list_tokens(request->db, admission_company(&request->admission),
		&list.page, &tokens, &list.end, &err);
	for (size_t i = 0; i < tokens.n; i++)
		json_array_append_new(data, render_token(&tokens.items[i]));
	store_session_list_free(&tokens);
	admin_list_reply(request, found, &list, data, "token_list_failed", &err);
}

int admin_token_create(struct db *db, struct admin_job *job, struct err *err)
{
	enum { DAYS_MAX = 3650 };
	struct session_spec spec = {.kind = SESSION_TOKEN, .origin = job->request->client};
	const struct session *maker = &job->request->admission.session;
	const char *ignored;
	int64_t days = 0;
	const struct admin_field fields[] = {
		{"name", true, .text = &spec.name},
		{"days", false, .number = &days},
		{"password", false, .text = &ignored},
		{"code", false, .text = &ignored},
	};
	uint8_t hash[SECRET_HASH_LEN];
	struct session token;

	if (admin_fields(job, fields, ARRAY_SIZE(fields), err) < 0)
		return -1;
	if (days < 0 || days > DAYS_MAX)
		return err_set(err, ERR_INVALID, "the `days` are a number from 1 to %d", DAYS_MAX);
	if (days > 0)
		spec.expires_us = job->now_us + days * INT64_C(86400000000);
	/* What a token makes does not outlast it, and is revoked with it. */
	if (maker->kind == SESSION_TOKEN)
		spec.made_by = maker->id;
	if (maker->kind == SESSION_TOKEN && maker->expires_us &&
		(days == 0 || spec.expires_us > maker->expires_us))
		spec.expires_us = maker->expires_us;
	secret_hash(job->token, strlen(job->token), hash);
	if (store_session_create(db, job->request->admission.session.user_id, &spec, hash,
		    job->now_us, &token, err) < 0)
		return -1;
	job->answer = render_token(&token);
	json_object_set_new(job->answer, "token", json_string(job->token));
	store_session_clear(&token);
	return store_limit_check(db, LIMIT_TOKENS, job->request->admission.session.user_id,
		       job->limits.tokens, err) < 0
		       ? -1
		       : 1;
}

int admin_token_revoke(struct db *db, struct admin_job *job, struct err *err)
{
	return store_session_revoke_token(db, job->company_id, job->param, err);
}
