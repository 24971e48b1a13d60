/*
 * admin: the routes of the admin listener.
 *
 * A row of the table says who may call it: a viewer or an owner alone, an
 * operator alone or members of a company too. What a member sees is limited by
 * the statement of the store that reads or changes it, which gets
 * admission_company(); no handler checks either.
 *
 * A handler that changes something names a function that makes the change, by
 * the functions of the store that the command uses; admin_change() does the
 * rest.
 */
#ifndef POSTERN_HTTPD_ADMIN_ADMIN_H
#define POSTERN_HTTPD_ADMIN_ADMIN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/secret.h"
#include "core/base/span.h"
#include "core/store/row.h"
#include "core/store/store_user.h"
#include "httpd/gate/request.h"
#include "httpd/gate/route.h"
#include "httpd/http/uri.h"

struct log;

extern const struct route admin_routes[];

/* httpd/admin.json, an OpenAPI document as httpd/openapi.json is one. */
extern const char admin_openapi[];

/* A change that a request makes. */
struct admin_job {
	struct change change; /* first */
	const struct request *request;
	/* On the committer's thread, in a transaction: 1 done, 0 what the path
	 * names is not there, or -1. ERR_INVALID, ERR_EXISTS and ERR_NOT_FOUND
	 * are told to the client in their words. */
	int (*run)(struct db *db, struct admin_job *job, struct err *err);
	int status;             /* of the answer when it is done */
	const char *param;      /* of the path */
	const char *company_id; /* which the caller sees; NULL: all */
	json_t *body;           /* an object; NULL: the route takes none */
	int64_t now_us;
	json_t *answer;                /* by run; NULL stands for {} */
	char token[SECRET_TOKEN_SIZE]; /* for what run makes; wiped after */
};

/* Reads the body, if the route takes one, has run make the change, and
 * answers. */
void admin_change(struct request *request, int status,
	int (*run)(struct db *db, struct admin_job *job, struct err *err));

/* A field of a body: a text, or true and false, or a number; what is not given
 * stays as it is. */
struct admin_field {
	const char *name;
	bool required;
	const char **text; /* one of the three */
	bool *flag;
	int64_t *number;
};
/* Reads the body of a job. ERR_INVALID names a field that is missing, of
 * another type, or none of these. */
int admin_fields(const struct admin_job *job, const struct admin_field *fields,
	size_t n, struct err *err);

/* Answers with what a look-up gave: found 1 and the object, 0: a 404, or -1: err
 * is logged as the event. The object is given away, and NULL unless found. */
void admin_reply_found(struct request *request, int found, json_t *object,
	const char *event, const struct err *err);
/* Answers with a whole list; result is 0, or -1 and err. */
void admin_reply_list(struct request *request, int result, json_t *data,
	const char *event, const struct err *err);

/* The parameters of a query, decoded. Names are those that the route takes. */
struct admin_query {
	struct {
		const char *name; /* NULL behind the last one */
		char value[QUERY_VALUE_MAX];
		bool given;
	} params[15];
};
/* 0, or -1 with the problem. Names are ended by NULL. */
int admin_query_read(const struct request *request, const char *const *names,
	struct admin_query *query_r, struct problem *problem);
/* NULL when it is not given. */
const char *admin_query_get(const struct admin_query *query, const char *name);
/* A time, 0 when it is not given; a number in bounds, else fallback; `true` or
 * `false`, else false. */
int admin_query_time(const struct request *request,
	const struct admin_query *query, const char *name, int64_t *time_us_r,
	struct problem *problem);
int admin_query_number(const struct admin_query *query, const char *name,
	int64_t max, int64_t fallback, int64_t *number_r,
	struct problem *problem);
int admin_query_flag(const struct admin_query *query, const char *name,
	bool *flag_r, struct problem *problem);
/* Whose the answer is to be: the caller's company, for an operator the one of
 * the parameter company_id; NULL: all. */
const char *admin_query_company(
	const struct request *request, const struct admin_query *query);

/* Parts of answers; new references. */
json_t *admin_time(int64_t time_us);  /* null for 0 */
json_t *admin_text(const char *text); /* null for NULL and "" */
json_t *admin_render_user(const struct user *user);

/* Handlers, see httpd/admin.json. */

/* admin_session.c: who is there, and what they come in by. */
void admin_session_login(struct request *request);
void admin_session_link(struct request *request);
void admin_session_get(struct request *request);
void admin_session_logout(struct request *request);
void admin_session_list(struct request *request);
void admin_session_end(struct request *request);
void admin_session_end_others(struct request *request);
void admin_account_get(struct request *request);
void admin_account_password(struct request *request);
void admin_totp_start(struct request *request);
void admin_totp_confirm(struct request *request);
void admin_totp_off(struct request *request);

/* admin_user.c: users, and the tokens of programs. */
void admin_user_list(struct request *request);
void admin_user_add(struct request *request);
void admin_user_update(struct request *request);
void admin_user_remove(struct request *request);
void admin_user_link(struct request *request);
void admin_user_reset(struct request *request);
void admin_token_list(struct request *request);
void admin_token_create(struct request *request);
void admin_token_revoke(struct request *request);

/* admin_tenant.c: companies, and what belongs to them. */
void admin_company_list(struct request *request);
void admin_company_add(struct request *request);
void admin_company_remove(struct request *request);
void admin_domain_list(struct request *request);
void admin_domain_get(struct request *request);
void admin_domain_add(struct request *request);
void admin_domain_update(struct request *request);
void admin_domain_remove(struct request *request);
void admin_key_list(struct request *request);
void admin_key_create(struct request *request);
void admin_key_update(struct request *request);
void admin_key_revoke(struct request *request);
void admin_exemption_list(struct request *request);
void admin_exemption_add(struct request *request);
void admin_exemption_remove(struct request *request);
void admin_suggestion_list(struct request *request);
void admin_host_get(struct request *request);
void admin_audit_list(struct request *request);

/* admin_mail.c: what became of mail. */
void admin_email_list(struct request *request);
void admin_email_get(struct request *request);
void admin_email_html(struct request *request);
void admin_email_raw(struct request *request);
void admin_email_test(struct request *request);
void admin_refusal_list(struct request *request);

/* admin_overview.c: how much there was, and how the parts are. */
void admin_stats_get(struct request *request);
void admin_attention_list(struct request *request);
void admin_setting_list(struct request *request);
void admin_health_get(struct request *request);
/* Tells of each part of the health whether it works. */
void admin_parts_each(struct worker *worker,
	void (*on_part)(void *arg, const char *name, bool ok), void *arg);
void admin_healthz(struct request *request);
void admin_readyz(struct request *request);

/* admin_metrics.c: numbers for Prometheus. */
void admin_metrics_get(struct request *request);

/* admin_web.c: the files of the dashboard, of which no session is asked. */
void admin_web_index(struct request *request);
void admin_web_file(struct request *request);

/* Those of httpd/web, and those that Debian's packages have below the folder;
 * the log tells what is missing there. */
#define WEB_PACKAGED "/usr/share/javascript"
struct web;
struct web *web_new(const char *packaged, struct log *log);
void web_free(struct web *web);
/* The content of a file by its name, as `pages/keys.js`: whether there is one. */
bool web_find(const struct web *web, const char *name, struct span *content_r);

/* admin_live.c: tells those who listen what has changed. */
void admin_live(struct request *request);
/* All who listen. Freeing it ends their answers; NULL is fine. */
struct live *live_new(void);
void live_free(struct live *live);
/* To be called often: looks at the store once a second, and ends what must
 * end. */
void live_look(struct worker *worker, int64_t monotonic_us);

/* How often somebody may try to log in. */
struct login_throttle;
struct login_throttle *login_throttle_new(void);
void login_throttle_free(struct login_throttle *throttle);
/* A try from the address for the login: 0, or in how many seconds the next one
 * is heard. It counts as failed until it is told to be good. */
int login_throttle_try(struct login_throttle *throttle, const char *address,
	const char *login, int64_t now_us);
void login_throttle_good(struct login_throttle *throttle, const char *address,
	const char *login);
/* The password was good, the code is yet to come: the try does not count, but
 * those before it do. */
void login_throttle_half(struct login_throttle *throttle, const char *address,
	const char *login);
/* The password was good, and the code was not. */
void login_throttle_wrong_code(
	struct login_throttle *throttle, const char *login, int64_t now_us);

#endif
