/*
 * admin: the routes of the admin listener.
 *
 * A row of the table says who may call it (a viewer or only an owner; only an
 * operator or also members of a company), and which operation of core/ops it
 * runs. The operation knows what a member may see and do. No handler checks
 * either.
 */
#ifndef POSTERN_HTTPD_ADMIN_ADMIN_H
#define POSTERN_HTTPD_ADMIN_ADMIN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/secret.h"
#include "core/base/span.h"
#include "core/conf/conf.h"
#include "core/store/row.h"
#include "core/store/user/store_user.h"
#include "httpd/admission/request.h"
#include "httpd/admission/route.h"
#include "httpd/json/json_query.h"
#include "httpd/json/operate.h"

struct log;

extern const struct route admin_routes[];

/* httpd/admin.json, an OpenAPI document like httpd/openapi.json. */
extern const char admin_openapi[];

/* The caller's password, verified for a change. */
struct admin_verified {
	char *stored; /* the stored hash it was verified against; NULL if they have no password */
	char new_stored[SECRET_PASSWORD_SIZE]; /* hash of a new password; "" for none */
};
/* NULL is fine. */
void admin_verified_free(struct admin_verified *verified);
/* Frees the body of a request, and wipes what must not stay in memory. NULL is fine. */
void admin_body_free(json_t *body);

/* A change that a request makes. */
struct admin_job {
	struct operate operate; /* first */
	/* The change is made only if this is still the caller's password. NULL
	 * if the operation does not ask for the password. */
	struct admin_verified *verified;
	/* With asks_code the body must also have a valid code, if the user has
	 * two-factor codes. code_is is the result of the check. */
	bool asks_code;
	enum user_code code_is;
	/* Called with the result before the answer is sent, unless NULL. */
	void (*settled)(const struct admin_job *job);
};

/* Runs the operation of the route and answers. */
void admin_operate(struct request *request);
/* The same in two steps, for an operation that changes something. The caller
 * sets body and verified of the job; admin_job_submit() takes ownership of it. */
struct admin_job *admin_job_new(struct request *request);
void admin_job_submit(struct admin_job *job);
/* Runs before the operation, on the committer's thread. */
int admin_job_before(struct operate *operate, struct db *db, struct err *err);

/* Answers with the result of a look-up: found is 1 with the object, 0 for a
 * 404, or -1 with err, which is logged as the event. Takes ownership of the
 * object, which is NULL unless found. */
void admin_reply_found(struct request *request, int found, json_t *object, const char *event,
	const struct err *err);
/* Answers with a whole list, which is short. result is 0, or -1 with err. */
void admin_reply_list(struct request *request, int result, json_t *data, const char *event,
	const struct err *err);

/* The company that an answer is about: the caller's; for an operator the one of
 * the parameter company_id. NULL means all. */
const char *admin_query_company(const struct request *request, const struct json_query *query);

/* Handlers, see httpd/admin.json. A route that runs one operation of core/ops
 * needs none. */
typedef void admin_handler(struct request *request);

/* admin_session.c: login, logout, links and the current session. */
admin_handler admin_session_login, admin_session_link, admin_session_get, admin_session_logout;
/* Operations that require the caller's password. */
admin_handler admin_session_new_password, admin_session_change_codes, admin_session_make_token;
/* An operation that checks a code, within the limits of the throttle. */
admin_handler admin_session_confirm_codes;

/* admin_mail.c: emails and refused messages. */
admin_handler admin_email_get, admin_email_html, admin_email_raw, admin_email_resend,
	admin_email_test;

/* admin_attention.c: what needs attention. */
admin_handler admin_attention_list;

/* admin_host.c: this host, the settings, and the health of the parts. */
admin_handler admin_host_get, admin_setting_list, admin_health_get, admin_doctor_get, admin_healthz,
	admin_readyz;
/* An email needs the parts before PART_EVENTS to go out. PART_SUBMISSION is all
 * of them together, as the last probe found them. */
enum {
	PART_STORE,
	PART_POSTFIX,
	PART_MILTER,
	PART_SUBMISSION,
	PART_OUTBOX,
	PART_SETTINGS,
	PART_EVENTS,
	PARTS
};
struct admin_part {
	const char *name;
	bool ok;
	bool told; /* its fault is another part's, which is shown there */
	/* What the fault means for mail, and what to do; NULL if it is ok. */
	const char *effect, *cure;
	char words[2 * ERR_TEXT_MAX];
};
/* Checks all parts. gone: the database file was replaced or removed since the
 * start. */
void admin_parts_look(
	const struct request *request, bool gone, struct admin_part parts[static PARTS]);

/* admin_metrics.c: metrics for Prometheus. */
admin_handler admin_metrics_get;

/* admin.c: suppressed addresses as CSV. */
admin_handler admin_suppression_csv;

/* admin_web.c: the files of the dashboard, which need no session. */
admin_handler admin_web_index, admin_web_file, admin_web_version;

/* The files of httpd/web, and those of Debian's packages below the folder. The
 * log says which of these are missing. */
#define WEB_PACKAGED "/usr/share/javascript"
struct web;
struct web *web_new(const char *packaged, struct log *log);
void web_free(struct web *web);
/* Finds a file by its name, such as `pages/keys.js`. True if there is one. */
bool web_find(struct web *web, const char *name, struct span *content_r);

/* admin_live.c: server-sent events about changes. */
admin_handler admin_live;
/* All event streams. Freeing it ends them; NULL is fine. */
struct live *live_new(void);
void live_free(struct live *live);
/* Call it often: checks the store once a second, sends events, and ends streams
 * that are over. */
void live_look(struct worker *worker, int64_t monotonic_us);

#endif
