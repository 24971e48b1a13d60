/*
 * admin: the routes of the admin listener.
 *
 * A row of the table says who may call it: a viewer or an owner alone, an
 * operator alone or members of a company too. What a member sees is limited by
 * the statement of the store that reads or changes it, which gets
 * admission_company(); no handler checks either.
 *
 * The row of a change names the function that makes it, by the functions of the
 * store that the command uses; admin_submit_change() does the rest.
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
#include "httpd/gate/request.h"
#include "httpd/gate/route.h"
#include "httpd/json/json_query.h"

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
	struct change change; /* first */
	const struct request *request;
	const char *param;      /* of the path */
	const char *company_id; /* which the caller sees; NULL: all */
	json_t *body;           /* an object; NULL: the route takes none */
	/* The change is made only while this is the caller's password; NULL: it
	 * was not asked for. */
	struct admin_verified *verified;
	/* Beside the password, where it was asked for: whether the code in the
	 * body was good, if they have codes. */
	bool asks_code;
	enum user_code code_is;
	/* Told of the result, before the answer; NULL: nobody is. */
	void (*settled)(const struct admin_job *job);
	int64_t now_us;
	struct conf_limits limits;
	json_t *answer;                /* by the change; NULL stands for {} */
	char token[SECRET_TOKEN_SIZE]; /* for what it makes; wiped after */
};

/* Has the change of the route made, and answers. The job is given away, with
 * body and verified in it. */
void admin_submit_change(struct request *request, struct admin_job *job);
/* The same on the committer's thread. */
int admin_run_change(struct db *db, void *arg, struct err *err);

/* A field of a body: a text, or true and false, a number, or an array; what is
 * not given stays as it is. */
struct admin_field {
	const char *name;
	bool required;
	const char **text; /* one of the four */
	bool *flag;
	int64_t *number;
	json_t **array; /* the body's */
};
/* Reads the body of a job, or an object in it. ERR_INVALID names a field that
 * is missing, of another type, or none of these. */
int admin_fields(
	const struct admin_job *job, const struct admin_field *fields, size_t n, struct err *err);
int admin_fields_of(json_t *object, const struct admin_field *fields, size_t n, struct err *err);

/* Answers with what a look-up gave: found 1 and the object, 0: a 404, or -1: err
 * is logged as the event. The object is given away, and NULL unless found. */
void admin_reply_found(struct request *request, int found, json_t *object, const char *event,
	const struct err *err);
/* Answers with a whole list, which is short; result is 0, or -1 and err. */
void admin_reply_list(struct request *request, int result, json_t *data, const char *event,
	const struct err *err);

/* The query of a list in pages: besides `limit`, `after` and `search` it has
 * the parameters of names. 0, or -1, and the problem is answered. */
struct admin_list {
	struct json_query query;
	struct page page;
	struct page_end end; /* the store's answer */
};
int admin_list_read(struct request *request, const char *const *names, struct admin_list *list_r);
/* Answers with the page; found is 1, 0: the cursor is none of the list, -1. */
void admin_list_reply(struct request *request, int found, const struct admin_list *list,
	json_t *data, const char *event, const struct err *err);
/* The item, with the name of its company for operators. */
json_t *admin_name_company(const struct request *request, json_t *item);

/* Whose the answer is to be: the caller's company, for an operator the one of
 * the parameter company_id; NULL: all. */
const char *admin_query_company(const struct request *request, const struct json_query *query);

/* Parts of answers; new references. */
json_t *admin_text(const char *text); /* null for NULL and "" */
json_t *admin_render_user(const struct user *user);

/* Handlers, see httpd/admin.json, and the changes that some of them make: on
 * the committer's thread, in a transaction: 1 done, 0 what the path names is
 * not there, or -1. ERR_INVALID, ERR_EXISTS and ERR_NOT_FOUND are told to the
 * client in their words. */
typedef void admin_handler(struct request *request);
typedef int admin_changer(struct db *db, struct admin_job *job, struct err *err);
/* Reads the body, if the route takes one, and has its change made. */
admin_handler admin_make_change;

/* admin_session.c: who is there, and what they come in by. */
admin_handler admin_session_login, admin_session_link, admin_session_get, admin_session_logout;
admin_changer admin_session_end;
/* Changes that ask for the caller's password. */
admin_handler admin_session_new_password, admin_session_change_codes, admin_session_make_token;
/* One that takes a code, within what the throttle allows. */
admin_handler admin_session_confirm_codes;

/* admin_account.c: what users see and change of themselves. */
admin_handler admin_account_get, admin_account_session_list;
admin_changer admin_account_set_password, admin_account_totp_start, admin_account_totp_confirm,
	admin_account_totp_off, admin_account_session_end, admin_account_session_end_others;

/* admin_user.c: users, and the tokens of programs. */
admin_handler admin_user_list, admin_token_list;
admin_changer admin_user_add, admin_user_update, admin_user_remove, admin_user_link,
	admin_user_reset, admin_token_create, admin_token_revoke;

/* admin_tenant.c: companies, and what belongs to them. */
admin_handler admin_company_list, admin_domain_list, admin_domain_get, admin_domain_add,
	admin_domain_update, admin_key_list, admin_key_get, admin_exemption_list,
	admin_suggestion_list;
admin_changer admin_company_add, admin_company_remove, admin_domain_make, admin_domain_change,
	admin_domain_remove, admin_key_create, admin_key_update, admin_key_revoke,
	admin_exemption_add, admin_exemption_add_all, admin_exemption_remove;

/* admin_mail.c: what became of mail. */
admin_handler admin_email_list, admin_email_get, admin_email_html, admin_email_raw,
	admin_email_test, admin_refusal_list;

/* admin_overview.c: how much there was, what needs attention, who did what. */
admin_handler admin_stats_get, admin_attention_list, admin_audit_list;

/* admin_host.c: this host, its settings, and how the parts are. */
admin_handler admin_host_get, admin_setting_list, admin_health_get, admin_healthz, admin_readyz;
/* The parts up to the events are what an email needs to go out; the submission
 * is all of them together, as the last probe found it. */
enum { PART_STORE, PART_POSTFIX, PART_MILTER, PART_SUBMISSION, PART_EVENTS, PARTS };
struct admin_part {
	const char *name;
	bool ok;
	bool told; /* what is wrong is another part's fault, which is told */
	char words[2 * ERR_TEXT_MAX];
};
/* gone: the database is another file than at the start. */
void admin_parts_look(
	const struct request *request, bool gone, struct admin_part parts[static PARTS]);

/* admin_metrics.c: numbers for Prometheus. */
admin_handler admin_metrics_get;

/* admin_web.c: the files of the dashboard, of which no session is asked. */
admin_handler admin_web_index, admin_web_file;

/* Those of httpd/web, and those that Debian's packages have below the folder;
 * the log tells what is missing there. */
#define WEB_PACKAGED "/usr/share/javascript"
struct web;
struct web *web_new(const char *packaged, struct log *log);
void web_free(struct web *web);
/* The content of a file by its name, as `pages/keys.js`: whether there is one. */
bool web_find(const struct web *web, const char *name, struct span *content_r);

/* admin_live.c: tells those who listen what has changed. */
admin_handler admin_live;
/* All who listen. Freeing it ends their answers; NULL is fine. */
struct live *live_new(void);
void live_free(struct live *live);
/* To be called often: looks at the store once a second, and ends what must
 * end. */
void live_look(struct worker *worker, int64_t monotonic_us);

#endif
