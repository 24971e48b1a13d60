/*
 * admin_session: login and logout, login links, and the password that some
 * changes require.
 *
 * Invariants: a login makes a new session, whatever cookie came with it. An
 * unknown login takes as long to be refused as a wrong password, and only a
 * client with the right password learns whether the login needs a code. A
 * password is verified in the pool and wiped with the request.
 *
 * Threads: the worker's; run_session() is the committer's, verify() is the
 * pool's, and what reads the store is as in store_read.h.
 */
#include "httpd/admin/admin.h"

#include <qrencode.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/secret.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/ops/op_user.h"
#include "core/store/user/store_session.h"
#include "core/store/user/store_user.h"
#include "httpd/admin/login_throttle.h"
#include "httpd/admission/change.h"
#include "httpd/json/json_field.h"
#include "httpd/transport/reply.h"
#include "httpd/worker/store_read.h"
#include "httpd/worker/work_pool.h"
#include "httpd/worker/worker.h"

/* Answers with a session. */

static json_t *render_session(const struct session *session)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:o}", "object", "session", "kind",
		session->kind == SESSION_TOKEN ? "token" : "browser", "user_id", session->user_id,
		"login", session->login, "company_id", row_json_given(session->company_id), "role",
		store_user_role_name(session->role), "expires_at",
		row_json_time(session->expires_us));
}

void admin_session_get(struct request *request)
{
	reply_json(request, 200, render_session(&request->admission.session));
}

/* A new browser session, from a login or a link. */
struct session_change {
	struct change change;   /* first */
	struct store_read read; /* the read of a link's token */
	bool link_is_valid;
	char *login; /* with the stored hash that was verified; NULL for a link */
	char *stored;
	char *code; /* a code of the authenticator app, or a recovery code; NULL if none is given */
	enum user_code code_is;
	uint8_t link[SECRET_HASH_LEN];
	int64_t now_us;
	int64_t max_us;
	char token[SECRET_TOKEN_SIZE];
	struct session session;
};

static void session_change_free(struct session_change *job)
{
	secret_wipe(job->token, sizeof(job->token));
	secret_text_free(job->stored);
	secret_text_free(job->code);
	free(job->login);
	store_session_clear(&job->session);
	free(job);
}

/* Returns 1, 0 if the user was removed, has another password by now, or gave no
 * valid code, or -1. */
static int make_of_login(struct db *db, struct session_change *job, const struct session_spec *spec,
	const uint8_t *hash, struct err *err)
{
	const struct db_actor *before = db_actor(db);
	char *stored = NULL;
	struct user user;
	int found = store_user_password(db, job->login, &user, &stored, err);

	if (found <= 0)
		return found;
	if (stored == NULL || !str_eq(stored, job->stored)) {
		found = 0;
	} else {
		const struct db_actor actor = {"user", user.id, user.login,
			job->change.request->client, str_empty(user.company_id)};

		/* In the same commit as the session, so that of two logins with one code only one
		 * succeeds. */
		db_set_actor(db, &actor);
		if (store_user_use_code(db, &user, job->code, job->now_us, &job->code_is, err) < 0)
			found = -1;
		db_set_actor(db, before);
	}
	if (found > 0 && job->code_is != USER_CODE_GOOD)
		found = 0;
	if (found > 0 &&
		store_session_create(db, user.id, spec, hash, job->now_us, &job->session, err) < 0)
		found = -1;
	secret_text_free(stored);
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
	return store_session_redeem(db, job->link, &spec, hash, job->now_us, &job->session, err);
}

/* Tells the throttle whether the code was right, after the right password. */
static void tell_throttle(const struct request *request, const char *login, const char *company_id,
	enum user_code code_is)
{
	struct login_throttle *logins = request->worker->shared->logins;
	int64_t now_us = clock_monotonic_us();

	switch (code_is) {
	case USER_CODE_GOOD:
		login_throttle_good(logins, request->client, login, company_id, now_us);
		break;
	case USER_CODE_MISSING:
		login_throttle_half(logins, request->client, login);
		break;
	case USER_CODE_WRONG:
		login_throttle_wrong_code(logins, request->client, login, now_us);
	}
}

static void refuse_link(struct problem *problem)
{
	problem_set(problem, PROBLEM_LOGIN,
		"The link was used already, or has expired. `postern user link` makes another one.");
}

static void on_session_made(struct change *change)
{
	struct session_change *job = (struct session_change *)change;
	struct request *request = change->request;
	struct problem problem = PROBLEM_INIT;

	/* A login with a good code that has failed was removed meanwhile, or its password. */
	if (job->login &&
		(change->result > 0 || (change->result == 0 && job->code_is != USER_CODE_GOOD)))
		tell_throttle(request, job->login, job->session.company_id, job->code_is);
	if (change->result < 0) {
		change_failed(change, "login_failed", &problem);
	} else if (change->result == 0 && job->code_is == USER_CODE_MISSING) {
		problem_fixed(&problem, PROBLEM_CODE);
	} else if (change->result == 0 && job->code_is == USER_CODE_WRONG) {
		log_warn(request->worker->log, "login_code_refused", "request", request->id, "user",
			job->login, "client", request->client);
		problem_set(&problem, PROBLEM_CODE,
			"The code is wrong, or was used already: wait for the next one.");
	} else if (change->result == 0 && job->login) {
		problem_set(&problem, PROBLEM_LOGIN, "Wrong login or password.");
	} else if (change->result == 0) {
		refuse_link(&problem);
	}
	if (problem.kind != PROBLEM_NONE) {
		reply_problem(request, &problem);
		session_change_free(job);
		return;
	}
	log_info(request->worker->log, "login", "request", request->id, "user", job->session.login,
		"client", request->client, "by", job->login ? "password" : "link");
	reply_cookie(request, job->token, job->max_us / 1000000);
	reply_json(request, 200, render_session(&job->session));
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

/* An optional string of the body; n counts those that are given. One with NUL in it is none. */
static const char *given_text(const json_t *body, const char *name, size_t *n)
{
	const json_t *value = json_object_get(body, name);
	const char *text = json_string_value(value);

	if (text && strlen(text) != json_string_length(value))
		return NULL;
	*n += text != NULL;
	return text;
}

/* Reads the body: the hash of the link's token. Returns 0, or -1 with the
 * problem. */
static int read_login_link(
	struct request *request, uint8_t hash_r[static SECRET_HASH_LEN], struct problem *problem)
{
	json_t *body;
	const char *token;
	size_t n = 0;

	if (json_field_parse_request(request, &body, problem) < 0)
		return -1;
	token = given_text(body, "token", &n);
	if (token && json_object_size(body) == n)
		secret_hash(token, strlen(token), hash_r);
	else
		problem_set(problem, PROBLEM_VALIDATION, "The body must have the text `token`.");
	admin_body_free(body);
	return problem->kind == PROBLEM_NONE ? 0 : -1;
}

static int find_link(struct store_read *read, struct db *db, struct err *err)
{
	struct session_change *job = CONTAINER_OF(read, struct session_change, read);
	int found = store_session_find_link(db, job->link, job->now_us, err);

	job->link_is_valid = found > 0;
	return found < 0 ? -1 : 0;
}

static void on_link_found(struct store_read *read)
{
	struct session_change *job = CONTAINER_OF(read, struct session_change, read);
	struct request *request = job->change.request;
	struct problem problem = PROBLEM_INIT;

	if (read->result < 0)
		request_failed(request, "session_lookup_failed", &read->err, &problem);
	else if (!job->link_is_valid)
		refuse_link(&problem);
	if (problem.kind == PROBLEM_NONE) {
		change_submit(request, &job->change, run_session, on_session_made);
		return;
	}
	reply_problem(request, &problem);
	session_change_free(job);
}

/* The link is looked up first, so that made-up ones never reach the committer. */
void admin_session_link(struct request *request)
{
	struct session_change *job = session_change_new(request);
	struct problem problem = PROBLEM_INIT;

	if (read_login_link(request, job->link, &problem) < 0 ||
		admission_take_slots(request->worker, &request->admission, 1, &problem) < 0) {
		reply_problem(request, &problem);
		session_change_free(job);
		return;
	}
	job->change.request = request;
	job->read.read = find_link;
	job->read.done = on_link_found;
	store_read_start(request->worker, &job->read, "");
}

/* Why a password is verified: a login, or a change by a logged-in user. */
enum purpose {
	FOR_LOGIN,
	FOR_NEW_PASSWORD, /* also sets the first one, right after a link */
	FOR_CODES,
	FOR_TOKEN, /* also without a password: right after a link, or with a token */
};

/* A password to verify, and a new one to hash. */
struct verifying {
	struct work work;       /* first */
	struct store_read read; /* the read of the stored password */
	struct request *request;
	enum purpose purpose;
	json_t *body; /* owns the passwords and the code */
	const char *login;
	const char *password;     /* NULL if none is given */
	const char *new_password; /* NULL if none is set */
	const char *code;         /* NULL if none is given */
	struct admin_verified *verified;
	bool known; /* the user exists */
	bool good;
	bool hashed;
};

static void verifying_free(struct verifying *verifying)
{
	admin_body_free(verifying->body);
	admin_verified_free(verifying->verified);
	free(verifying);
}

static bool verify(struct work *work)
{
	struct verifying *verifying = (struct verifying *)work;
	struct admin_verified *verified = verifying->verified;

	verifying->good = verifying->password == NULL ||
			  secret_password_is(verifying->password, verified->stored);
	if (verifying->good && verifying->new_password)
		verifying->hashed = secret_password_hash(
					    verifying->new_password, verified->new_stored) == 0;
	return true;
}

/* Reads the body. Returns 0, or -1 with the problem. Other members are for the
 * change. */
static int read_passwords(struct verifying *verifying, struct problem *problem)
{
	const enum purpose purpose = verifying->purpose;
	json_t *body;
	struct err err = ERR_INIT;
	size_t n = 0;

	if (json_field_parse_request(verifying->request, &verifying->body, problem) < 0)
		return -1;
	body = verifying->body;
	verifying->password = given_text(body, "password", &n);
	verifying->code = given_text(body, "code", &n);
	if (purpose == FOR_LOGIN) {
		verifying->login = given_text(body, "login", &n);
		if (n != json_object_size(body) || verifying->login == NULL ||
			verifying->password == NULL)
			return problem_set(problem, PROBLEM_VALIDATION,
				"The body must have the texts `login` and `password`, and may have "
				"`code`.");
	}
	if (purpose == FOR_NEW_PASSWORD) {
		verifying->new_password = given_text(body, "new_password", &n);
		if (verifying->new_password == NULL)
			return problem_set(problem, PROBLEM_VALIDATION,
				"The body must have the texts `password` and `new_password`.");
	}
	if (verifying->password && strlen(verifying->password) > USER_PASSWORD_MAX)
		return problem_set(
			problem, PROBLEM_VALIDATION, "The `password` field is too long.");
	if (verifying->new_password &&
		store_user_check_password(verifying->login, verifying->new_password, &err) < 0)
		return problem_from_err(problem, &err);
	return 0;
}

/* A user without a password came by a link, which stands in for it this long.
 * So a session that is stolen later cannot make anything that outlasts it. */
enum { LINK_STANDS_S = 900 };

static int check_password_given(const struct verifying *verifying, struct problem *problem)
{
	const struct request *request = verifying->request;
	const struct session *session = &request->admission.session;
	bool has_none = verifying->verified->stored == NULL && session->kind == SESSION_BROWSER &&
			verifying->purpose != FOR_CODES;
	int64_t age_us = clock_now_us(request->worker->shared->clock) - session->created_us;

	if (verifying->password || (has_none && age_us < LINK_STANDS_S * INT64_C(1000000)) ||
		(session->kind == SESSION_TOKEN && verifying->purpose == FOR_TOKEN))
		return 0;
	if (has_none)
		return problem_set(problem, PROBLEM_VALIDATION,
			"You have no password, and logged in more than %d minutes ago: log in by a "
			"new link, and do this then.",
			LINK_STANDS_S / 60);
	return problem_set(
		problem, PROBLEM_VALIDATION, "The `password` field is missing: the present one.");
}

static int check_throttle(struct request *request, const char *login, struct problem *problem)
{
	int wait_s = login_throttle_try(
		request->worker->shared->logins, request->client, login, clock_monotonic_us());

	if (wait_s == 0)
		return 0;
	problem_set(problem, PROBLEM_RATE,
		"Too many wrong passwords or codes. Try again in %d seconds.", wait_s);
	problem->retry_after_s = wait_s;
	return -1;
}

static void on_password_settled(const struct admin_job *job)
{
	const struct request *request = job->operate.change.request;
	const struct session *session = &request->admission.session;

	tell_throttle(request, session->login, session->company_id, job->code_is);
}

/* A QR code of the text (ISO/IEC 18004) as SVG. Black on white in any colour
 * scheme of the page, because phones need that. */
static char *qr_svg(const char *text)
{
	enum { QUIET = 4 }; /* modules around it */
	QRcode *code = QRcode_encodeString8bit(text, 0, QR_ECLEVEL_M);
	struct buf svg = BUF_INIT;
	int width = code ? code->width : 0;

	if (code == NULL)
		return NULL;
	buf_printf(&svg,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" "
		"viewBox=\"0 0 %d %d\" shape-rendering=\"crispEdges\">"
		"<path fill=\"#fff\" d=\"M0 0h%dv%dH0z\"/>"
		"<path d=\"",
		width + 2 * QUIET, width + 2 * QUIET, width + 2 * QUIET, width + 2 * QUIET);
	for (int y = 0; y < width; y++)
		for (int x = 0; x < width; x++)
			if (code->data[y * width + x] & 1)
				buf_printf(&svg, "M%d %dh1v1h-1z", x + QUIET, y + QUIET);
	buf_add_str(&svg, "\"/></svg>");
	QRcode_free(code);
	return svg.data;
}

/* The secret for an authenticator app, also as a QR code. Runs on the committer's thread. */
static json_t *render_totp(const struct op *op)
{
	json_t *answer = op_json(op);
	char *svg = qr_svg(json_string_value(json_object_get(answer, "uri")));

	json_object_set_new(answer, "qr", row_json_given(svg));
	secret_text_free(svg);
	return answer;
}

static void submit_change(struct verifying *verifying)
{
	struct request *request = verifying->request;
	struct admin_job *job = admin_job_new(request);
	const struct operation *operation = job->operate.operation;

	if (verifying->password) {
		job->settled = on_password_settled;
		job->asks_code = operation != &op_totp_start;
	}
	if (operation == &op_totp_start)
		job->operate.render = render_totp;
	job->operate.body = TAKE_PTR(verifying->body);
	job->verified = TAKE_PTR(verifying->verified);
	((struct op_password *)job->operate.input)->stored = job->verified->new_stored;
	admin_job_submit(job);
}

static void on_verified(struct task *task)
{
	struct verifying *verifying = (struct verifying *)task;
	struct request *request = verifying->request;
	struct problem problem = PROBLEM_INIT;

	if (!verifying->good) {
		/* An unknown login is not logged: it may be a password in the wrong field. */
		log_warn(request->worker->log, "login_refused", "request", request->id, "user",
			verifying->known ? verifying->login : NULL, "client", request->client);
		/* Not 401: the dashboard would conclude that the session has ended. */
		if (verifying->purpose == FOR_LOGIN)
			problem_set(&problem, PROBLEM_LOGIN, "Wrong login or password.");
		else
			problem_set(&problem, PROBLEM_VALIDATION, "The `password` is wrong.");
	} else if (verifying->new_password && !verifying->hashed) {
		problem_fixed(&problem, PROBLEM_UNAVAILABLE);
	}
	if (problem.kind != PROBLEM_NONE) {
		reply_problem(request, &problem);
	} else if (verifying->purpose == FOR_LOGIN) {
		struct session_change *job = session_change_new(request);

		job->login = mem_strdup(verifying->login);
		job->code = mem_strdup(verifying->code);
		job->stored = TAKE_PTR(verifying->verified->stored);
		change_submit(request, &job->change, run_session, on_session_made);
	} else {
		submit_change(verifying);
	}
	verifying_free(verifying);
}

static int read_stored_password(struct store_read *read, struct db *db, struct err *err)
{
	struct verifying *verifying = CONTAINER_OF(read, struct verifying, read);
	struct user user = {0};
	int found = store_user_password(
		db, verifying->login, &user, &verifying->verified->stored, err);

	verifying->known = found > 0;
	store_user_clear(&user);
	return found < 0 ? -1 : 0;
}

static void on_stored_password_read(struct store_read *read)
{
	struct verifying *verifying = CONTAINER_OF(read, struct verifying, read);
	struct request *request = verifying->request;
	struct problem problem = PROBLEM_INIT;

	if (read->result < 0)
		request_failed(request, "user_lookup_failed", &read->err, &problem);
	else
		check_password_given(verifying, &problem);
	if (problem.kind != PROBLEM_NONE) {
		reply_problem(request, &problem);
		verifying_free(verifying);
		return;
	}
	verifying->work.done.run = on_verified;
	verifying->work.tasks = request->worker->tasks;
	verifying->work.company_id = "logins";
	verifying->work.run = verify;
	work_pool_submit(request->worker->shared->pool, &verifying->work);
}

/* Reads the body and the stored password of the login, within the limits of the
 * throttle, has them compared in the pool, and then makes the login or change. */
static void verify_password(struct request *request, enum purpose purpose)
{
	struct verifying *verifying = mem_new(struct verifying);
	struct problem problem = PROBLEM_INIT;

	verifying->request = request;
	verifying->purpose = purpose;
	verifying->verified = mem_new(struct admin_verified);
	if (purpose != FOR_LOGIN)
		verifying->login = request->admission.session.login;
	/* A logged-in user already has a slot. */
	if (read_passwords(verifying, &problem) == 0 && purpose == FOR_LOGIN)
		admission_take_slots(request->worker, &request->admission, 1, &problem);
	if (problem.kind == PROBLEM_NONE && verifying->password)
		check_throttle(request, verifying->login, &problem);
	if (problem.kind != PROBLEM_NONE) {
		reply_problem(request, &problem);
		verifying_free(verifying);
		return;
	}
	verifying->read.read = read_stored_password;
	verifying->read.done = on_stored_password_read;
	store_read_start(request->worker, &verifying->read, "");
}

void admin_session_login(struct request *request)
{
	verify_password(request, FOR_LOGIN);
}

void admin_session_new_password(struct request *request)
{
	verify_password(request, FOR_NEW_PASSWORD);
}

void admin_session_change_codes(struct request *request)
{
	verify_password(request, FOR_CODES);
}

void admin_session_make_token(struct request *request)
{
	verify_password(request, FOR_TOKEN);
}

static void on_confirm_settled(const struct admin_job *job)
{
	const struct request *request = job->operate.change.request;
	struct login_throttle *logins = request->worker->shared->logins;
	const char *login = request->admission.session.login;

	if (job->operate.change.result > 0)
		login_throttle_good(logins, request->client, login,
			request->admission.session.company_id, clock_monotonic_us());
	else if (job->operate.change.err.code == ERR_INVALID)
		login_throttle_wrong_code(logins, request->client, login, clock_monotonic_us());
	else
		login_throttle_half(logins, request->client, login);
}

void admin_session_confirm_codes(struct request *request)
{
	struct problem problem = PROBLEM_INIT;
	struct admin_job *job;
	json_t *body;
	size_t n = 0;

	if (json_field_parse_request(request, &body, &problem) < 0) {
		reply_problem(request, &problem);
		return;
	}
	/* A body without a code does not count as an attempt. */
	given_text(body, "code", &n);
	if (n != 1 || json_object_size(body) != 1)
		problem_set(
			&problem, PROBLEM_VALIDATION, "The body must have the text `code` alone.");
	if (problem.kind != PROBLEM_NONE ||
		check_throttle(request, request->admission.session.login, &problem) < 0) {
		admin_body_free(body);
		reply_problem(request, &problem);
		return;
	}
	job = admin_job_new(request);
	job->operate.body = body;
	job->settled = on_confirm_settled;
	admin_job_submit(job);
}

void admin_session_logout(struct request *request)
{
	reply_cookie(request, "", 0);
	admin_operate(request);
}
