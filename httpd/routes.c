/*
 * routes: the table of routes of the API, and the document that describes them.
 *
 * Threads: any; both are constant.
 */
#include "httpd/routes.h"

#include <errno.h>

#include "core/base/mem.h"
#include "core/conf/conf.h"
#include "core/ops/op_domain.h"
#include "core/ops/op_email.h"
#include "core/ops/op_email_list.h"
#include "core/ops/op_key.h"
#include "core/ops/op_webhook.h"
#include "core/ops/op_suppression.h"
#include "core/policy/return_path.h"
#include "core/postfix/postfix_run.h"
#include "core/base/socket.h"
#include "core/store/company/store_key.h"
#include "httpd/form/api_form.h"
#include "httpd/admission/request.h"
#include "httpd/json/api_json.h"
#include "httpd/json/api_manage.h"
#include "httpd/send/probe_report.h"
#include "httpd/transport/reply.h"
#include "httpd/worker/worker.h"

/* Embeds the file unchanged. */
__asm__(".pushsection .rodata\n"
	".globl routes_openapi\n"
	"routes_openapi:\n"
	".incbin \"httpd/openapi.json\"\n"
	".byte 0\n"
	".popsection\n");

static void get_openapi(struct request *request)
{
	reply_printed(request, 200, mem_strdup(routes_openapi));
}

static void get_livez(struct request *request)
{
	reply_text(request, 200, mem_strdup("ok\n"));
}

/* True if an email that a client sends now goes out. Load balancers ask this
 * without a key, so the answer gives no reason. Trouble with the mail of others
 * is no reason to send clients elsewhere. */
static bool is_ready(const struct worker *worker)
{
	const struct worker_shared *shared = worker->shared;
	struct probe_outcome outcome;
	int milter;

	probe_report_get(shared->probe, &outcome);
	for (enum service_fault i = 0; i < SERVICE_FAULTS; i++)
		if (outcome.faults[i][0] && !service_fault_serves(i))
			return false;
	if (worker->draining || worker->database_watch.gone || !probe_serves(outcome.finding) ||
		postfix_run_is_over(shared->run))
		return false;
	milter = socket_look(worker->conf->milter.socket);
	return milter == 0 || milter == EACCES;
}

static void get_readyz(struct request *request)
{
	bool ready = is_ready(request->worker);

	if (!ready)
		reply_field(request, "Retry-After", "5");
	reply_text(request, ready ? 200 : 503, mem_strdup(ready ? "ready\n" : "not ready\n"));
}

/* A key with the scope sending may manage the lists of suppressed addresses. */
#define FORM_LIST(method_, path, scopes_, handle_, ...)                                            \
	{                                                                                          \
		method_, "/v3/{}/" path, .dialect = DIALECT_FORM, .auth = AUTH_BASIC,              \
					 .scopes = (scopes_), .names_domain = true,                \
					 .handle = (handle_), __VA_ARGS__                          \
	}
#define FORM_SUPPRESSIONS(list)                                                                    \
	FORM_LIST("GET", list, KEY_READING, api_form_suppression_list, .pooled = true),            \
		FORM_LIST("POST", list, KEY_SENDING, api_form_suppression_add, .body = BODY_FORM,  \
			.operation = &op_suppression_add_all),                                     \
		FORM_LIST("DELETE", list, KEY_SENDING, api_form_suppression_clear,                 \
			.operation = &op_suppression_clear),                                       \
		FORM_LIST("POST", list "/import", KEY_SENDING, api_form_suppression_import,        \
			.body = BODY_FORM, .operation = &op_suppression_import, .status = 202),    \
		FORM_LIST(                                                                         \
			"GET", list "/{}", KEY_READING, api_form_suppression_get, .pooled = true), \
		FORM_LIST("DELETE", list "/{}", KEY_SENDING, api_form_suppression_remove,          \
			.operation = &op_suppression_remove)

const struct route routes[] = {
	{"POST", "/emails", .auth = AUTH_BEARER, .scopes = KEY_SENDING, .idempotent = true,
		.body = BODY_JSON, .handle = api_email_send},
	{"GET", "/emails", .auth = AUTH_BEARER, .scopes = KEY_READING, .pooled = true,
		.handle = api_email_list, .operation = &op_email_list},
	{"POST", "/emails/batch", .auth = AUTH_BEARER, .scopes = KEY_SENDING, .idempotent = true,
		.body = BODY_JSON, .handle = api_batch_send},
	{"GET", "/emails/{}", .auth = AUTH_BEARER, .scopes = KEY_ALL, .read = api_email_read,
		.announce = api_email_announce, .row_free = api_email_row_free,
		.handle = api_email_get},
	{"GET", "/emails/{}/events", .auth = AUTH_BEARER, .scopes = KEY_READING, .pooled = true,
		.handle = api_email_events},
	{"GET", "/emails/{}/attachments", .auth = AUTH_BEARER, .scopes = KEY_READING,
		.pooled = true, .handle = api_attachment_list},
	{"GET", "/emails/{}/attachments/{}", .auth = AUTH_BEARER, .scopes = KEY_READING,
		.pooled = true, .handle = api_attachment_get},
	{"GET", "/attachments/{}", .auth = AUTH_NONE, .pooled = true,
		.handle = api_attachment_download},
	{"HEAD", "/attachments/{}", .auth = AUTH_NONE, .pooled = true,
		.handle = api_attachment_download},
	{"PATCH", "/emails/{}", .auth = AUTH_BEARER, .scopes = KEY_SENDING, .body = BODY_JSON_SMALL,
		.handle = manage_change, .operation = &op_email_schedule,
		.manage = &api_email_update},
	{"POST", "/emails/{}/cancel", .auth = AUTH_BEARER, .scopes = KEY_SENDING,
		.handle = manage_change, .operation = &op_email_cancel,
		.manage = &api_email_cancel},
	{"POST", "/domains", .auth = AUTH_BEARER, .scopes = KEY_MANAGING, .body = BODY_JSON_SMALL,
		.handle = manage_change, .operation = &op_domain_add, .manage = &api_domain_create,
		.status = 201},
	{"GET", "/domains", .auth = AUTH_BEARER, .scopes = KEY_MANAGING, .pooled = true,
		.handle = manage_list, .operation = &op_domain_list_newest,
		.manage = &api_domain_list},
	{"GET", "/domains/{}", .auth = AUTH_BEARER, .scopes = KEY_MANAGING, .pooled = true,
		.reads_conf = true, .handle = manage_read, .operation = &op_domain_show,
		.manage = &api_domain_get},
	{"PATCH", "/domains/{}", .auth = AUTH_BEARER, .scopes = KEY_MANAGING,
		.body = BODY_JSON_SMALL, .pooled = true, .handle = manage_read,
		.operation = &op_domain_get, .manage = &api_domain_update},
	{"DELETE", "/domains/{}", .auth = AUTH_BEARER, .scopes = KEY_MANAGING,
		.handle = manage_change, .operation = &op_domain_remove,
		.manage = &api_domain_remove},
	{"POST", "/domains/{}/verify", .auth = AUTH_BEARER, .scopes = KEY_MANAGING,
		.handle = manage_change, .operation = &op_domain_verify,
		.manage = &api_domain_verify},
	{"POST", "/api-keys", .auth = AUTH_BEARER, .scopes = KEY_MANAGING, .body = BODY_JSON_SMALL,
		.handle = manage_change, .operation = &op_key_create, .manage = &api_key_create,
		.status = 201},
	{"GET", "/api-keys", .auth = AUTH_BEARER, .scopes = KEY_MANAGING, .pooled = true,
		.handle = manage_list, .operation = &op_key_list, .manage = &api_key_list},
	{"PATCH", "/api-keys/{}", .auth = AUTH_BEARER, .scopes = KEY_MANAGING,
		.body = BODY_JSON_SMALL, .handle = manage_change, .operation = &op_key_rename,
		.manage = &api_key_update},
	{"DELETE", "/api-keys/{}", .auth = AUTH_BEARER, .scopes = KEY_MANAGING,
		.handle = manage_change, .operation = &op_key_revoke, .manage = &api_key_remove},
	{"POST", "/webhooks", .auth = AUTH_BEARER, .scopes = KEY_MANAGING, .body = BODY_JSON_SMALL,
		.handle = manage_change, .operation = &op_webhook_add,
		.manage = &api_webhook_create, .status = 201},
	{"GET", "/webhooks", .auth = AUTH_BEARER, .scopes = KEY_MANAGING, .pooled = true,
		.handle = manage_list, .operation = &op_webhook_list, .manage = &api_webhook_list,
		.list_limit = 1000},
	{"GET", "/webhooks/{}", .auth = AUTH_BEARER, .scopes = KEY_MANAGING, .pooled = true,
		.handle = manage_read, .operation = &op_webhook_get, .manage = &api_webhook_get},
	{"PATCH", "/webhooks/{}", .auth = AUTH_BEARER, .scopes = KEY_MANAGING,
		.body = BODY_JSON_SMALL, .handle = manage_change, .operation = &op_webhook_update,
		.manage = &api_webhook_update},
	{"DELETE", "/webhooks/{}", .auth = AUTH_BEARER, .scopes = KEY_MANAGING,
		.handle = manage_change, .operation = &op_webhook_remove,
		.manage = &api_webhook_remove},
	{"POST", "/webhooks/{}/signing-secret/rotate", .auth = AUTH_BEARER, .scopes = KEY_MANAGING,
		.handle = manage_change, .operation = &op_webhook_rotate,
		.manage = &api_webhook_rotate},
	{"GET", "/webhooks/{}/events", .auth = AUTH_BEARER, .scopes = KEY_MANAGING, .pooled = true,
		.handle = manage_list, .operation = &op_webhook_events,
		.manage = &api_webhook_events},
	{"GET", "/webhooks/{}/events/{}", .auth = AUTH_BEARER, .scopes = KEY_MANAGING,
		.pooled = true, .handle = manage_read, .operation = &op_webhook_event,
		.manage = &api_webhook_event},
	{"POST", "/webhooks/{}/events/{}/replay", .auth = AUTH_BEARER, .scopes = KEY_MANAGING,
		.handle = manage_change, .operation = &op_webhook_replay,
		.manage = &api_webhook_replay},
	{"GET", "/webhooks/{}/events/{}/attempts", .auth = AUTH_BEARER, .scopes = KEY_MANAGING,
		.pooled = true, .handle = manage_list, .operation = &op_webhook_attempts,
		.manage = &api_webhook_attempts},
	{"POST", "/suppressions", .auth = AUTH_BEARER, .scopes = KEY_MANAGING,
		.body = BODY_JSON_SMALL, .handle = manage_change, .operation = &op_suppression_add,
		.manage = &api_suppression_add, .status = 201},
	{"GET", "/suppressions", .auth = AUTH_BEARER, .scopes = KEY_READING, .pooled = true,
		.handle = api_suppression_list},
	{"POST", "/suppressions/batch/add", .auth = AUTH_BEARER, .scopes = KEY_MANAGING,
		.body = BODY_JSON_SMALL, .handle = manage_change,
		.operation = &op_suppression_add_all, .manage = &api_suppression_add_all,
		.status = 201},
	{"POST", "/suppressions/batch/remove", .auth = AUTH_BEARER, .scopes = KEY_MANAGING,
		.body = BODY_JSON_SMALL, .handle = manage_change,
		.operation = &op_suppression_remove_all, .manage = &api_suppression_remove_all},
	{"GET", "/suppressions/{}", .auth = AUTH_BEARER, .scopes = KEY_READING, .pooled = true,
		.handle = manage_read, .operation = &op_suppression_get,
		.manage = &api_suppression_get},
	{"DELETE", "/suppressions/{}", .auth = AUTH_BEARER, .scopes = KEY_MANAGING,
		.handle = manage_change, .operation = &op_suppression_remove,
		.manage = &api_suppression_remove},
	{"POST", "/v3/{}/messages", .dialect = DIALECT_FORM, .auth = AUTH_BASIC,
		.scopes = KEY_SENDING, .names_domain = true, .body = BODY_FORM,
		.handle = api_form_send},
	{"POST", "/v3/{}/messages.mime", .dialect = DIALECT_FORM, .auth = AUTH_BASIC,
		.scopes = KEY_SENDING, .names_domain = true, .body = BODY_FORM,
		.handle = api_form_send_mime},
	{"GET", "/v3/{}/events", .dialect = DIALECT_FORM, .auth = AUTH_BASIC, .scopes = KEY_READING,
		.names_domain = true, .handle = api_form_events},
	{"GET", "/v3/{}/events/{}", .dialect = DIALECT_FORM, .auth = AUTH_BASIC,
		.scopes = KEY_READING, .names_domain = true, .handle = api_form_events_page},
	{"GET", "/v3/domains", .dialect = DIALECT_FORM, .auth = AUTH_BASIC, .scopes = KEY_MANAGING,
		.pooled = true, .handle = api_form_domain_list},
	{"POST", "/v3/domains", .dialect = DIALECT_FORM, .auth = AUTH_BASIC, .scopes = KEY_MANAGING,
		.body = BODY_FORM_SMALL, .handle = api_form_domain_add},
	{"GET", "/v3/domains/{}", .dialect = DIALECT_FORM, .auth = AUTH_BASIC,
		.scopes = KEY_MANAGING, .pooled = true, .reads_conf = true,
		.handle = api_form_domain},
	{"PUT", "/v3/domains/{}/verify", .dialect = DIALECT_FORM, .auth = AUTH_BASIC,
		.scopes = KEY_MANAGING, .handle = api_form_domain_verify},
	{"DELETE", "/v3/domains/{}", .dialect = DIALECT_FORM, .auth = AUTH_BASIC,
		.scopes = KEY_MANAGING, .handle = api_form_domain_remove},
	{"GET", "/v4/domains", .dialect = DIALECT_FORM, .auth = AUTH_BASIC, .scopes = KEY_MANAGING,
		.pooled = true, .handle = api_form_domain_list},
	{"POST", "/v4/domains", .dialect = DIALECT_FORM, .auth = AUTH_BASIC, .scopes = KEY_MANAGING,
		.body = BODY_FORM_SMALL, .handle = api_form_domain_add},
	{"GET", "/v4/domains/{}", .dialect = DIALECT_FORM, .auth = AUTH_BASIC,
		.scopes = KEY_MANAGING, .pooled = true, .reads_conf = true,
		.handle = api_form_domain},
	{"PUT", "/v4/domains/{}/verify", .dialect = DIALECT_FORM, .auth = AUTH_BASIC,
		.scopes = KEY_MANAGING, .handle = api_form_domain_verify},
	{"DELETE", "/v3/{}/envelopes", .dialect = DIALECT_FORM, .auth = AUTH_BASIC,
		.scopes = KEY_SENDING, .names_domain = true, .handle = api_form_cancel},
	FORM_SUPPRESSIONS("bounces"),
	FORM_SUPPRESSIONS("complaints"),
	FORM_SUPPRESSIONS("unsubscribes"),
	FORM_SUPPRESSIONS("whitelists"),
	{"GET", "/v3/domains/{}/webhooks", .dialect = DIALECT_FORM, .auth = AUTH_BASIC,
		.scopes = KEY_MANAGING, .names_domain = true, .pooled = true, .reads_conf = true,
		.handle = api_form_webhooks, .operation = &op_webhook_urls_get},
	{"GET", "/v3/domains/{}/webhooks/{}", .dialect = DIALECT_FORM, .auth = AUTH_BASIC,
		.scopes = KEY_MANAGING, .names_domain = true, .pooled = true, .reads_conf = true,
		.handle = api_form_webhooks, .operation = &op_webhook_urls_get},
	{"POST", "/v3/domains/{}/webhooks", .dialect = DIALECT_FORM, .auth = AUTH_BASIC,
		.scopes = KEY_MANAGING, .names_domain = true, .body = BODY_FORM_SMALL,
		.handle = api_form_webhook_change, .operation = &op_webhook_urls_add},
	{"PUT", "/v3/domains/{}/webhooks/{}", .dialect = DIALECT_FORM, .auth = AUTH_BASIC,
		.scopes = KEY_MANAGING, .names_domain = true, .body = BODY_FORM_SMALL,
		.handle = api_form_webhook_change, .operation = &op_webhook_urls_set},
	{"DELETE", "/v3/domains/{}/webhooks/{}", .dialect = DIALECT_FORM, .auth = AUTH_BASIC,
		.scopes = KEY_MANAGING, .names_domain = true, .handle = api_form_webhook_change,
		.operation = &op_webhook_urls_remove},
	{"PUT", "/v3/domains/{}/webhooks/{}/test", .dialect = DIALECT_FORM, .auth = AUTH_BASIC,
		.scopes = KEY_MANAGING, .names_domain = true, .body = BODY_FORM_SMALL,
		.handle = api_form_webhook_change, .operation = &op_webhook_urls_test},
	{"GET", "/v3/stats/total", .dialect = DIALECT_FORM, .auth = AUTH_BASIC,
		.scopes = KEY_READING, .pooled = true, .handle = api_form_stats},
	{"GET", "/v3/{}/stats/total", .dialect = DIALECT_FORM, .auth = AUTH_BASIC,
		.scopes = KEY_READING, .names_domain = true, .pooled = true,
		.handle = api_form_stats},
	{"GET", UNSUBSCRIBE_PATH "{}", .auth = AUTH_NONE, .pooled = true,
		.handle = api_unsubscribe_ask},
	{"HEAD", UNSUBSCRIBE_PATH "{}", .auth = AUTH_NONE, .pooled = true,
		.handle = api_unsubscribe_ask},
	{"POST", UNSUBSCRIBE_PATH "{}", .auth = AUTH_NONE, .handle = api_unsubscribe},
	{"GET", "/livez", .auth = AUTH_NONE, .handle = get_livez},
	{"HEAD", "/livez", .auth = AUTH_NONE, .handle = get_livez},
	{"GET", "/readyz", .auth = AUTH_NONE, .handle = get_readyz},
	{"HEAD", "/readyz", .auth = AUTH_NONE, .handle = get_readyz},
	{"GET", "/openapi.json", .auth = AUTH_NONE, .handle = get_openapi},
	{"HEAD", "/openapi.json", .auth = AUTH_NONE, .handle = get_openapi},
	{.method = NULL},
};
