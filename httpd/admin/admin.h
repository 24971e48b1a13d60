/*
 * admin: the routes of the admin listener.
 *
 * A row of the table says who may call it: a viewer or an owner alone, an
 * operator alone or members of a company too; and the operation of core/ops that
 * it runs, which knows what a member sees and may. No handler checks either.
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
#include "core/store/store_user.h"
#include "httpd/admission/request.h"
#include "httpd/admission/route.h"
#include "httpd/json/json_query.h"
#include "httpd/json/operate.h"

struct log;

extern const struct route admin_routes[];

/* httpd/admin.json, an OpenAPI document as httpd/openapi.json is one. */
extern const char admin_openapi[];

/* A password of the caller's that was verified for a change. */
struct admin_verified {
	char *stored;                          /* what it was compared with; NULL: they have none */
	char new_stored[SECRET_PASSWORD_SIZE]; /* of a new one; "": none */
};
/* NULL is fine. */
void admin_verified_free(struct admin_verified *verified);
/* Frees a secret, or the body of a request, and wipes what must not be found in
 * memory. NULL is fine. */
void admin_secret_free(char *secret);
void admin_body_free(json_t *body);

/* A change that a request makes. */
struct admin_job {
	struct operate operate; /* first */
	/* The change is made only while this is the caller's password; NULL: it
	 * was not asked for. */
	struct admin_verified *verified;
	/* Beside the password, where it was asked for: whether the code in the
	 * body was good, if they have codes. */
	bool asks_code;
	enum user_code code_is;
	/* Told of the result, before the answer; NULL: nobody is. */
	void (*settled)(const struct admin_job *job);
};

/* Runs the operation of the route, and answers. */
void admin_operate(struct request *request);
/* The same of one that changes something, in parts: the job, whose body and verified are the
 * caller's to set; then it is given away. */
struct admin_job *admin_job_new(struct request *request);
void admin_job_submit(struct admin_job *job);
/* What runs before the operation, on the committer's thread. */
int admin_job_before(struct operate *operate, struct db *db, struct err *err);

/* Answers with what a look-up gave: found 1 and the object, 0: a 404, or -1: err
 * is logged as the event. The object is given away, and NULL unless found. */
void admin_reply_found(struct request *request, int found, json_t *object, const char *event,
	const struct err *err);
/* Answers with a whole list, which is short; result is 0, or -1 and err. */
void admin_reply_list(struct request *request, int result, json_t *data, const char *event,
	const struct err *err);

/* Whose the answer is to be: the caller's company, for an operator the one of
 * the parameter company_id; NULL: all. */
const char *admin_query_company(const struct request *request, const struct json_query *query);

/* Parts of answers; new references. */
json_t *admin_text(const char *text); /* null for NULL and "" */

/* Handlers, see httpd/admin.json. What is one operation of core/ops needs none. */
typedef void admin_handler(struct request *request);

/* admin_session.c: who is there, and what they come in by. */
admin_handler admin_session_login, admin_session_link, admin_session_get, admin_session_logout;
/* Operations that ask for the caller's password. */
admin_handler admin_session_new_password, admin_session_change_codes, admin_session_make_token;
/* One that takes a code, within what the throttle allows. */
admin_handler admin_session_confirm_codes;

/* admin_totp.c: what op_totp_start gives, with the URI as an image. */
json_t *admin_render_totp(const struct op *op);

/* admin_mail.c: what became of mail. */
admin_handler admin_email_list, admin_email_get, admin_email_html, admin_email_raw,
	admin_email_resend, admin_email_test, admin_refusal_list;

/* admin_overview.c: how much there was, what needs attention. */
admin_handler admin_stats_get, admin_attention_list;

/* admin_host.c: this host, its settings, and how the parts are. */
admin_handler admin_host_get, admin_setting_list, admin_health_get, admin_doctor_get, admin_healthz,
	admin_readyz;
/* The parts up to the events are what an email needs to go out; the submission
 * is all of them together, as the last probe found it. */
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
	bool told; /* what is wrong is another part's fault, which is told */
	/* What a fault means for mail, and what to do; NULL while it is ok. */
	const char *effect, *cure;
	char words[2 * ERR_TEXT_MAX];
};
/* gone: the database is another file than at the start. */
void admin_parts_look(
	const struct request *request, bool gone, struct admin_part parts[static PARTS]);

/* admin_metrics.c: numbers for Prometheus. */
admin_handler admin_metrics_get;

/* admin.c: suppressed addresses as lines of a file. */
admin_handler admin_suppression_csv;

/* admin_web.c: the files of the dashboard, of which no session is asked. */
admin_handler admin_web_index, admin_web_file;

/* Those of httpd/web, and those that Debian's packages have below the folder;
 * the log tells what is missing there. */
#define WEB_PACKAGED "/usr/share/javascript"
struct web;
struct web *web_new(const char *packaged, struct log *log);
void web_free(struct web *web);
/* The content of a file by its name, as `pages/keys.js`: whether there is one. */
bool web_find(struct web *web, const char *name, struct span *content_r);

/* admin_live.c: tells those who listen what has changed. */
admin_handler admin_live;
/* All who listen. Freeing it ends their answers; NULL is fine. */
struct live *live_new(void);
void live_free(struct live *live);
/* To be called often: looks at the store once a second, and ends what must
 * end. */
void live_look(struct worker *worker, int64_t monotonic_us);

#endif
