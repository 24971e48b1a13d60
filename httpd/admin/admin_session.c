/*
 * admin_session: who is there: login and logout, links, users and their tokens.
 *
 * Invariants: a login makes a new session, whatever cookie came with it; an
 * unknown login takes as long to be refused as a wrong password; a password is
 * verified in the pool and wiped with the request.
 *
 * Threads: the worker's; functions run_*() are the committer's, verify() is the
 * pool's.
 */
#include "httpd/admin/admin.h"

#include <arpa/inet.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/store/store_session.h"
#include "core/store/store_user.h"
#include "httpd/http/uri.h"
#include "httpd/json/json_field.h"
#include "httpd/transport/reply.h"
#include "httpd/worker/work_pool.h"
#include "httpd/worker/worker.h"

/*
 * login_throttle: after FREE_TRIES in a row each further one has to wait, twice
 * as long as the one before: of one address up to a quarter of an hour, for one
 * login up to a minute, so that nobody is locked out by others for long. Who
 * tries is a hash in a table of fixed size; in a full set the one with the
 * fewest tries gives way.
 */
enum { SETS = 256, PLACES = 8, FREE_TRIES = 5, FORGET_S = 3600 };
enum { ADDRESS_WAIT_S = 900, LOGIN_WAIT_S = 60 };

struct tries {
	uint8_t who[SECRET_HASH_LEN];
	int n;
	int64_t last_us;
	int64_t free_us;
};

struct login_throttle {
	struct tries sets[SETS][PLACES];
};

struct login_throttle *login_throttle_new(void)
{
	return mem_new(struct login_throttle);
}

void login_throttle_free(struct login_throttle *throttle)
{
	free(throttle);
}

static struct tries *tries_of(
	struct login_throttle *throttle, char kind, const char *who)
{
	_cleanup_free_ char *name = mem_printf("%c%s", kind, who);
	uint8_t hash[SECRET_HASH_LEN];
	struct tries *set, *least;

	secret_hash(name, strlen(name), hash);
	least = set = throttle->sets[hash[0]];
	for (size_t i = 0; i < PLACES; i++) {
		if (memcmp(set[i].who, hash, sizeof(hash)) == 0)
			return &set[i];
		if (set[i].n < least->n)
			least = &set[i];
	}
	*least = (struct tries){0};
	memcpy(least->who, hash, sizeof(hash));
	return least;
}

/* Of an IPv6 client its network, which has addresses without number. */
static struct tries *tries_of_address(
	struct login_throttle *throttle, const char *address)
{
	char network[INET6_ADDRSTRLEN];
	struct in6_addr in6;

	if (inet_pton(AF_INET6, address, &in6) != 1)
		return tries_of(throttle, 'a', address);
	memset(in6.s6_addr + 8, 0, 8);
	inet_ntop(AF_INET6, &in6, network, sizeof(network));
	return tries_of(throttle, 'a', network);
}

static void count_try(struct tries *tries, int64_t now_us, int64_t most_s)
{
	int64_t wait_s = 0;

	if (now_us - tries->last_us > FORGET_S * INT64_C(1000000))
		tries->n = 0;
	tries->last_us = now_us;
	if (++tries->n > FREE_TRIES)
		wait_s = tries->n - FREE_TRIES < 20
				 ? INT64_C(1) << (tries->n - FREE_TRIES)
				 : most_s;
	tries->free_us = now_us +
			 (wait_s < most_s ? wait_s : most_s) * INT64_C(1000000);
}

int login_throttle_try(struct login_throttle *throttle, const char *address,
	const char *login, int64_t now_us)
{
	struct tries *by_address = tries_of_address(throttle, address);
	struct tries *by_login = tries_of(throttle, 'l', login);
	int64_t free_us = by_address->free_us > by_login->free_us
				  ? by_address->free_us
				  : by_login->free_us;

	if (free_us > now_us)
		return (int)((free_us - now_us + 999999) / 1000000);
	count_try(by_address, now_us, ADDRESS_WAIT_S);
	count_try(by_login, now_us, LOGIN_WAIT_S);
	return 0;
}

/* Whoever has one login may not go on guessing others from the same address. */
void login_throttle_good(
	struct login_throttle *throttle, const char *address, const char *login)
{
	struct tries *by_address = tries_of_address(throttle, address);
	struct tries *by_login = tries_of(throttle, 'l', login);

	if (by_address->n > 0)
		by_address->n--;
	by_address->free_us = 0;
	by_login->n = 0;
	by_login->free_us = 0;
}

/* Answers about a session. */

static json_t *render_session(const struct session *session)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:o}", "object",
		"session", "kind",
		session->kind == SESSION_TOKEN ? "token" : "browser", "user_id",
		session->user_id, "login", session->login, "company_id",
		admin_text(session->company_id), "role",
		store_user_role_name(session->role), "expires_at",
		admin_time(session->expires_us));
}

void admin_session_get(struct request *request)
{
	reply_json(request, 200, render_session(&request->admission.session));
}

/* A new browser session, after a login or by a link. */
struct session_change {
	struct change change; /* first */
	char *login; /* with its password, as it was verified; or NULL */
	char *stored;
	uint8_t link[SECRET_HASH_LEN];
	int64_t now_us;
	int64_t max_us;
	char token[SECRET_TOKEN_SIZE];
	struct session session;
};

static void session_change_free(struct session_change *job)
{
	secret_wipe(job->token, sizeof(job->token));
	if (job->stored)
		secret_wipe(job->stored, strlen(job->stored));
	free(job->stored);
	free(job->login);
	store_session_clear(&job->session);
	free(job);
}

/* 1; 0 when the user is gone, or has another password by now. */
static int make_of_login(struct db *db, struct session_change *job,
	const struct session_spec *spec, const uint8_t *hash, struct err *err)
{
	_cleanup_free_ char *stored = NULL;
	struct user user;
	int found = store_user_password(db, job->login, &user, &stored, err);

	if (found <= 0)
		return found;
	if (stored && str_eq(stored, job->stored))
		found = store_session_create(db, user.id, spec, hash,
				job->now_us, &job->session, err) < 0
				? -1
				: 1;
	else
		found = 0;
	store_user_clear(&user);
	return found;
}

static int run_session(struct db *db, void *arg, struct err *err)
{
	struct session_change *job = arg;
	const struct session_spec spec = {
		.kind = SESSION_BROWSER,
		.origin = job->change.request->client,
		.expires_us = job->now_us + job->max_us,
	};
	uint8_t hash[SECRET_HASH_LEN];

	secret_hash(job->token, strlen(job->token), hash);
	if (job->login)
		return make_of_login(db, job, &spec, hash, err);
	return store_session_redeem(
		db, job->link, &spec, hash, job->now_us, &job->session, err);
}

static void on_session_made(struct change *change)
{
	struct session_change *job = (struct session_change *)change;
	struct request *request = change->request;
	struct problem problem = PROBLEM_INIT;

	if (change->result < 0)
		change_failed(change, "login_failed", &problem);
	else if (change->result == 0 && job->login)
		problem_set(&problem, PROBLEM_LOGIN, "Wrong login or password.");
	else if (change->result == 0)
		problem_set(&problem, PROBLEM_LOGIN,
			"The link was used already, or has expired. `postern "
			"user link` makes another one.");
	if (problem.kind != PROBLEM_NONE) {
		reply_problem(request, &problem);
		session_change_free(job);
		return;
	}
	log_info(request->worker->log, "login", "request", request->id, "user",
		job->session.login, "client", request->client, "by",
		job->login ? "password" : "link");
	reply_cookie(request, job->token, job->max_us / 1000000);
	if (job->login)
		reply_json(request, 200, render_session(&job->session));
	else
		reply_redirect(request, "/");
	session_change_free(job);
}

static struct session_change *session_change_new(struct request *request)
{
	struct session_change *job = mem_new(struct session_change);

	job->now_us = clock_now_us(request->worker->shared->clock);
	job->max_us = request->worker->conf->admin.session_max_ms * 1000;
	secret_user_token(job->token);
	return job;
}

/* GET /login?token=...: the browser has followed the link from elsewhere, so
 * that its cookie does not come along, and gets one here. */
void admin_session_link(struct request *request)
{
	char text[QUERY_VALUE_MAX];
	struct problem problem = PROBLEM_INIT;
	int given = query_get(request_query(request), "token", text, &problem);
	struct session_change *job;

	if (given == 0)
		problem_set(&problem, PROBLEM_PARAMETER,
			"The `token` parameter is missing.");
	if (given <= 0) {
		reply_problem(request, &problem);
		return;
	}
	job = session_change_new(request);
	secret_hash(text, strlen(text), job->link);
	secret_wipe(text, sizeof(text));
	change_submit(request, &job->change, run_session, on_session_made);
}

/* A password, to be verified; and a new one, to be hashed. */
struct verifying {
	struct work work; /* first */
	struct request *request;
	json_t *body; /* has the passwords */
	const char *login;
	const char *password;
	const char *new; /* NULL: at a login */
	char *stored;    /* of the login; NULL: nobody's */
	bool known;      /* there is such a user */
	bool good;
	bool hashed;
	char new_stored[SECRET_PASSWORD_SIZE];
};

/* Wipes a text of the body, which is the request's alone. */
static void wipe_field(json_t *body, const char *name)
{
	const char *text = json_string_value(json_object_get(body, name));

	if (text)
		secret_wipe((char *)text, strlen(text));
}

static void verifying_free(struct verifying *verifying)
{
	wipe_field(verifying->body, "password");
	wipe_field(verifying->body, "new_password");
	json_decref(verifying->body);
	if (verifying->stored)
		secret_wipe(verifying->stored, strlen(verifying->stored));
	free(verifying->stored);
	free(verifying);
}

static bool verify(struct work *work)
{
	struct verifying *verifying = (struct verifying *)work;

	verifying->good = secret_password_is(
		verifying->password, verifying->stored);
	if (verifying->good && verifying->new)
		verifying->hashed = secret_password_hash(verifying->new,
					    verifying->new_stored) == 0;
	return true;
}

/* Reads the body and the stored password of the login, within what the throttle
 * allows, and has them compared. done is run on the worker's thread. */
static void verify_password(struct request *request, const char *login,
	bool with_new, void (*done)(struct task *task))
{
	struct worker *worker = request->worker;
	struct verifying *verifying = mem_new(struct verifying);
	struct problem problem = PROBLEM_INIT;
	struct err err = ERR_INIT;
	struct user user = {0};
	int wait_s = 0, found = 0;

	verifying->request = request;
	verifying->login = login;
	if (json_field_parse_request(request, &verifying->body, &problem) == 0) {
		json_t *body = verifying->body;

		if (login == NULL)
			verifying->login = json_string_value(
				json_object_get(body, "login"));
		verifying->password = json_string_value(
			json_object_get(body, "password"));
		verifying->new = json_string_value(
			json_object_get(body, "new_password"));
		if (verifying->login == NULL || verifying->password == NULL ||
			(verifying->new != NULL) != with_new ||
			json_object_size(body) != 2)
			problem_set(&problem, PROBLEM_VALIDATION,
				"The body must have the texts `%s` and `%s`.",
				with_new ? "password" : "login",
				with_new ? "new_password" : "password");
		else if (strlen(verifying->password) > USER_PASSWORD_MAX)
			problem_set(&problem, PROBLEM_VALIDATION,
				"The `password` field is too long.");
		else if (with_new && store_user_check_password(verifying->login,
					     verifying->new, &err) < 0)
			problem_from_err(&problem, &err);
	}
	if (problem.kind == PROBLEM_NONE)
		wait_s = login_throttle_try(worker->shared->logins,
			request->client, verifying->login, clock_monotonic_us());
	if (wait_s > 0) {
		problem_set(&problem, PROBLEM_RATE,
			"Too many wrong passwords. Try again in %d seconds.",
			wait_s);
		problem.retry_after_s = wait_s;
	}
	if (problem.kind == PROBLEM_NONE)
		found = store_user_password(worker->db, verifying->login, &user,
			&verifying->stored, &err);
	if (found < 0) {
		log_error(worker->log, "user_lookup_failed", "request",
			request->id, "error", err.text);
		problem_from_err(&problem, &err);
	}
	verifying->known = found > 0;
	store_user_clear(&user);
	if (problem.kind != PROBLEM_NONE) {
		reply_problem(request, &problem);
		verifying_free(verifying);
		return;
	}
	verifying->work.done.run = done;
	verifying->work.tasks = worker->tasks;
	verifying->work.company_id = "logins";
	verifying->work.run = verify;
	work_pool_submit(worker->shared->pool, &verifying->work);
}

static void refuse(struct verifying *verifying)
{
	struct request *request = verifying->request;
	struct problem problem = PROBLEM_INIT;

	/* An unknown login may be a password in the wrong field. */
	log_warn(request->worker->log, "login_refused", "request", request->id,
		"user", verifying->known ? verifying->login : NULL, "client",
		request->client);
	problem_set(&problem, PROBLEM_LOGIN, "Wrong login or password.");
	reply_problem(request, &problem);
}

static void on_login_verified(struct task *task)
{
	struct verifying *verifying = (struct verifying *)task;
	struct request *request = verifying->request;
	struct session_change *job;

	if (!verifying->good) {
		refuse(verifying);
		verifying_free(verifying);
		return;
	}
	login_throttle_good(request->worker->shared->logins, request->client,
		verifying->login);
	job = session_change_new(request);
	job->login = mem_strdup(verifying->login);
	job->stored = TAKE_PTR(verifying->stored);
	verifying_free(verifying);
	change_submit(request, &job->change, run_session, on_session_made);
}

void admin_session_login(struct request *request)
{
	verify_password(request, NULL, false, on_login_verified);
}

/* The user's own password. */

struct password_change {
	struct change change; /* first */
	const struct session *session;
	char stored[SECRET_PASSWORD_SIZE];
	int64_t now_us;
};

static int run_password(struct db *db, void *arg, struct err *err)
{
	const struct password_change *job = arg;

	return store_user_set_password(db, NULL, job->session->user_id,
		job->stored, job->session->id, job->now_us, err);
}

static void on_password_changed(struct change *change)
{
	struct password_change *job = (struct password_change *)change;
	struct problem problem = PROBLEM_INIT;

	if (change->result < 0)
		change_failed(change, "password_change_failed", &problem);
	else if (change->result == 0)
		problem_fixed(&problem, PROBLEM_LOGIN);
	reply_either(change->request, &problem, 200, json_object());
	free(job);
}

static void on_password_verified(struct task *task)
{
	struct verifying *verifying = (struct verifying *)task;
	struct request *request = verifying->request;
	struct problem problem = PROBLEM_INIT;
	struct password_change *job;

	if (!verifying->good || !verifying->hashed) {
		if (!verifying->good) {
			refuse(verifying);
		} else {
			problem_fixed(&problem, PROBLEM_UNAVAILABLE);
			reply_problem(request, &problem);
		}
		verifying_free(verifying);
		return;
	}
	login_throttle_good(request->worker->shared->logins, request->client,
		verifying->login);
	job = mem_new(struct password_change);
	job->session = &request->admission.session;
	job->now_us = clock_now_us(request->worker->shared->clock);
	memcpy(job->stored, verifying->new_stored, sizeof(job->stored));
	verifying_free(verifying);
	change_submit(request, &job->change, run_password, on_password_changed);
}

void admin_session_password(struct request *request)
{
	verify_password(request, request->admission.session.login, true,
		on_password_verified);
}

/* A token is revoked by its id, and so may it end itself. */
static int run_logout(struct db *db, struct admin_job *job, struct err *err)
{
	const struct session *session = &job->request->admission.session;

	if (session->kind == SESSION_TOKEN)
		return store_session_revoke_token(db, NULL, session->id, err);
	return store_session_end(db, session->id, err);
}

void admin_session_logout(struct request *request)
{
	reply_cookie(request, "", 0);
	admin_change(request, 200, run_logout);
}

/* Users. */

static json_t *render_user(const struct user *user)
{
	return json_pack("{s:s, s:s, s:s, s:o, s:s, s:o, s:o, s:o}", "object",
		"user", "id", user->id, "login", user->login, "company_id",
		admin_text(user->company_id), "role",
		store_user_role_name(user->role), "created_at",
		admin_time(user->created_us), "password_at",
		admin_time(user->password_us), "last_login_at",
		admin_time(user->last_login_us));
}

void admin_user_list(struct request *request)
{
	struct user_list list = {0};
	struct err err = ERR_INIT;
	json_t *data = json_array();
	int result = store_user_list(request->worker->db,
		admission_company(&request->admission), &list, &err);

	for (size_t i = 0; i < list.n; i++)
		json_array_append_new(data, render_user(&list.items[i]));
	if (result == 0)
		store_user_list_free(&list);
	admin_reply_list(request, result, data, "user_list_failed", &err);
}

static int read_role(const char *word, enum user_role *role_r, struct err *err)
{
	if (word == NULL || store_user_role_parse(word, role_r))
		return 0;
	return err_set(err, ERR_INVALID,
		"the `role` is one of owner and viewer, not \"%s\"", word);
}

enum { LINK_VALID_S = 3600 };

/* A link for the user, into the answer. */
static int add_link(struct db *db, struct admin_job *job, const char *user_id,
	struct err *err)
{
	const struct session_spec spec = {
		.kind = SESSION_LINK,
		.origin = job->request->client,
		.expires_us = job->now_us + LINK_VALID_S * INT64_C(1000000),
	};
	_cleanup_free_ char *path = NULL;
	uint8_t hash[SECRET_HASH_LEN];
	struct session link;

	secret_hash(job->token, strlen(job->token), hash);
	if (store_session_create(
		    db, user_id, &spec, hash, job->now_us, &link, err) < 0)
		return -1;
	path = mem_printf("/login?token=%s", job->token);
	json_object_set_new(job->answer, "login_path", json_string(path));
	json_object_set_new(job->answer, "login_path_expires_at",
		admin_time(link.expires_us));
	secret_wipe(path, strlen(path));
	store_session_clear(&link);
	return 0;
}

/* Without a password: the answer has a link by which the user comes in. */
static int run_user_add(struct db *db, struct admin_job *job, struct err *err)
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
	if (store_user_add(db, &spec, job->now_us, &user, err) < 0)
		return -1;
	job->answer = render_user(&user);
	store_user_clear(&user);
	return add_link(db, job,
		       json_string_value(json_object_get(job->answer, "id")),
		       err) < 0
		       ? -1
		       : 1;
}

void admin_user_add(struct request *request)
{
	admin_change(request, 201, run_user_add);
}

static int run_user_update(struct db *db, struct admin_job *job, struct err *err)
{
	const char *word = NULL;
	const struct admin_field fields[] = {{"role", true, .text = &word}};
	enum user_role role = USER_VIEWER;

	if (admin_fields(job, fields, ARRAY_SIZE(fields), err) < 0 ||
		read_role(word, &role, err) < 0)
		return -1;
	return store_user_set_role(db, job->company_id, job->param, role, err);
}

void admin_user_update(struct request *request)
{
	admin_change(request, 200, run_user_update);
}

static int run_user_remove(struct db *db, struct admin_job *job, struct err *err)
{
	return store_user_remove(db, job->company_id, job->param, err);
}

void admin_user_remove(struct request *request)
{
	admin_change(request, 200, run_user_remove);
}

static int run_user_link(struct db *db, struct admin_job *job, struct err *err)
{
	struct user user;
	int found = store_user_find(db, job->company_id, job->param, &user, err);

	if (found <= 0)
		return found;
	job->answer = json_object();
	found = add_link(db, job, user.id, err) < 0 ? -1 : 1;
	store_user_clear(&user);
	return found;
}

void admin_user_link(struct request *request)
{
	admin_change(request, 201, run_user_link);
}

/* Tokens: everybody makes their own; those who see them revoke them. */

static json_t *render_token(const struct session *token)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "object",
		"token", "id", token->id, "name", token->name, "user_id",
		token->user_id, "login", token->login, "created_at",
		admin_time(token->created_us), "expires_at",
		admin_time(token->expires_us), "last_used_at",
		admin_time(token->last_used_us == token->created_us
				   ? 0
				   : token->last_used_us));
}

void admin_token_list(struct request *request)
{
	struct session_list list = {0};
	struct err err = ERR_INIT;
	json_t *data = json_array();
	int result = store_session_list_tokens(request->worker->db,
		admission_company(&request->admission), &list, &err);

	for (size_t i = 0; i < list.n; i++)
		json_array_append_new(data, render_token(&list.items[i]));
	if (result == 0)
		store_session_list_free(&list);
	admin_reply_list(request, result, data, "token_list_failed", &err);
}

static int run_token_create(struct db *db, struct admin_job *job, struct err *err)
{
	enum { DAYS_MAX = 3650 };
	struct session_spec spec = {
		.kind = SESSION_TOKEN, .origin = job->request->client};
	int64_t days = 0;
	const struct admin_field fields[] = {
		{"name", true, .text = &spec.name},
		{"days", false, .number = &days},
	};
	uint8_t hash[SECRET_HASH_LEN];
	struct session token;

	if (admin_fields(job, fields, ARRAY_SIZE(fields), err) < 0)
		return -1;
	if (days < 0 || days > DAYS_MAX)
		return err_set(err, ERR_INVALID,
			"the `days` are a number from 1 to %d", DAYS_MAX);
	if (days > 0)
		spec.expires_us = job->now_us + days * INT64_C(86400000000);
	secret_hash(job->token, strlen(job->token), hash);
	if (store_session_create(db, job->request->admission.session.user_id,
		    &spec, hash, job->now_us, &token, err) < 0)
		return -1;
	job->answer = render_token(&token);
	json_object_set_new(job->answer, "token", json_string(job->token));
	store_session_clear(&token);
	return 1;
}

void admin_token_create(struct request *request)
{
	admin_change(request, 201, run_token_create);
}

static int run_token_revoke(struct db *db, struct admin_job *job, struct err *err)
{
	return store_session_revoke_token(db, job->company_id, job->param, err);
}

void admin_token_revoke(struct request *request)
{
	admin_change(request, 200, run_token_revoke);
}
