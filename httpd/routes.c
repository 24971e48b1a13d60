/*
 * routes: the table of all that httpd serves, and the document that describes
 * it.
 *
 * Threads: any; both are constant.
 */
#include "httpd/routes.h"

#include "core/base/mem.h"
#include "core/store/store_key.h"
#include "httpd/form/api_form.h"
#include "httpd/json/api_json.h"
#include "httpd/transport/reply.h"

/* The file goes into the program as it is. */
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

const struct route routes[] = {
	{"POST", "/emails", .auth = AUTH_BEARER, .scopes = KEY_SENDING,
		.idempotent = true, .body = BODY_JSON, .handle = api_email_send},
	{"GET", "/emails", .auth = AUTH_BEARER, .scopes = KEY_READING,
		.pooled = true, .handle = api_email_list},
	{"POST", "/emails/batch", .auth = AUTH_BEARER, .scopes = KEY_SENDING,
		.idempotent = true, .body = BODY_JSON, .handle = api_batch_send},
	{"GET", "/emails/{}", .auth = AUTH_BEARER, .scopes = KEY_ALL,
		.handle = api_email_get},
	{"GET", "/emails/{}/events", .auth = AUTH_BEARER, .scopes = KEY_READING,
		.handle = api_email_events},
	{"POST", "/domains", .auth = AUTH_BEARER, .scopes = KEY_MANAGING,
		.body = BODY_JSON_SMALL, .handle = api_domain_create,
		.status = 201},
	{"GET", "/domains", .auth = AUTH_BEARER, .scopes = KEY_MANAGING,
		.handle = api_domain_list},
	{"GET", "/domains/{}", .auth = AUTH_BEARER, .scopes = KEY_MANAGING,
		.handle = api_domain_get},
	{"PATCH", "/domains/{}", .auth = AUTH_BEARER, .scopes = KEY_MANAGING,
		.body = BODY_JSON_SMALL, .handle = api_domain_update},
	{"DELETE", "/domains/{}", .auth = AUTH_BEARER, .scopes = KEY_MANAGING,
		.handle = api_domain_remove},
	{"POST", "/domains/{}/verify", .auth = AUTH_BEARER,
		.scopes = KEY_MANAGING, .handle = api_domain_verify},
	{"POST", "/api-keys", .auth = AUTH_BEARER, .scopes = KEY_MANAGING,
		.body = BODY_JSON_SMALL, .handle = api_key_create, .status = 201},
	{"GET", "/api-keys", .auth = AUTH_BEARER, .scopes = KEY_MANAGING,
		.handle = api_key_list},
	{"PATCH", "/api-keys/{}", .auth = AUTH_BEARER, .scopes = KEY_MANAGING,
		.body = BODY_JSON_SMALL, .handle = api_key_update},
	{"DELETE", "/api-keys/{}", .auth = AUTH_BEARER, .scopes = KEY_MANAGING,
		.handle = api_key_remove},
	{"POST", "/v3/{}/messages", .dialect = DIALECT_FORM, .auth = AUTH_BASIC,
		.scopes = KEY_SENDING, .names_domain = true, .body = BODY_FORM,
		.handle = api_form_send},
	{"POST", "/v3/{}/messages.mime", .dialect = DIALECT_FORM,
		.auth = AUTH_BASIC, .scopes = KEY_SENDING, .names_domain = true,
		.body = BODY_FORM, .handle = api_form_send_mime},
	{"GET", "/v3/{}/events", .dialect = DIALECT_FORM, .auth = AUTH_BASIC,
		.scopes = KEY_READING, .names_domain = true,
		.handle = api_form_events},
	{"GET", "/v3/{}/events/{}", .dialect = DIALECT_FORM, .auth = AUTH_BASIC,
		.scopes = KEY_READING, .names_domain = true,
		.handle = api_form_events_page},
	{"GET", "/v3/stats/total", .dialect = DIALECT_FORM, .auth = AUTH_BASIC,
		.scopes = KEY_READING, .pooled = true, .handle = api_form_stats},
	{"GET", "/v3/{}/stats/total", .dialect = DIALECT_FORM,
		.auth = AUTH_BASIC, .scopes = KEY_READING, .names_domain = true,
		.pooled = true, .handle = api_form_stats},
	{"GET", "/openapi.json", .auth = AUTH_NONE, .handle = get_openapi},
	{.method = NULL},
};
