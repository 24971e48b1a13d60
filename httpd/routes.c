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
	{
		.method = "POST",
		.pattern = "/emails",
		.auth = AUTH_BEARER,
		.scopes = KEY_SENDING,
		.idempotent = true,
		.body = BODY_JSON,
		.handle = api_email_send,
	},
	{
		.method = "GET",
		.pattern = "/emails",
		.auth = AUTH_BEARER,
		.scopes = KEY_READING,
		.body = BODY_IGNORED,
		.handle = api_email_list,
	},
	{
		.method = "POST",
		.pattern = "/emails/batch",
		.auth = AUTH_BEARER,
		.scopes = KEY_SENDING,
		.idempotent = true,
		.body = BODY_JSON,
		.handle = api_batch_send,
	},
	{
		.method = "GET",
		.pattern = "/emails/{}",
		.auth = AUTH_BEARER,
		.scopes = KEY_ALL,
		.body = BODY_IGNORED,
		.handle = api_email_get,
	},
	{
		.method = "GET",
		.pattern = "/emails/{}/events",
		.auth = AUTH_BEARER,
		.scopes = KEY_READING,
		.body = BODY_IGNORED,
		.handle = api_email_events,
	},
	{
		.method = "POST",
		.pattern = "/domains",
		.auth = AUTH_BEARER,
		.scopes = KEY_MANAGING,
		.body = BODY_JSON_SMALL,
		.handle = api_domain_create,
	},
	{
		.method = "GET",
		.pattern = "/domains",
		.auth = AUTH_BEARER,
		.scopes = KEY_MANAGING,
		.body = BODY_IGNORED,
		.handle = api_domain_list,
	},
	{
		.method = "GET",
		.pattern = "/domains/{}",
		.auth = AUTH_BEARER,
		.scopes = KEY_MANAGING,
		.body = BODY_IGNORED,
		.handle = api_domain_get,
	},
	{
		.method = "PATCH",
		.pattern = "/domains/{}",
		.auth = AUTH_BEARER,
		.scopes = KEY_MANAGING,
		.body = BODY_JSON_SMALL,
		.handle = api_domain_update,
	},
	{
		.method = "DELETE",
		.pattern = "/domains/{}",
		.auth = AUTH_BEARER,
		.scopes = KEY_MANAGING,
		.body = BODY_IGNORED,
		.handle = api_domain_remove,
	},
	{
		.method = "POST",
		.pattern = "/domains/{}/verify",
		.auth = AUTH_BEARER,
		.scopes = KEY_MANAGING,
		.body = BODY_IGNORED,
		.handle = api_domain_verify,
	},
	{
		.method = "POST",
		.pattern = "/api-keys",
		.auth = AUTH_BEARER,
		.scopes = KEY_MANAGING,
		.body = BODY_JSON_SMALL,
		.handle = api_key_create,
	},
	{
		.method = "GET",
		.pattern = "/api-keys",
		.auth = AUTH_BEARER,
		.scopes = KEY_MANAGING,
		.body = BODY_IGNORED,
		.handle = api_key_list,
	},
	{
		.method = "PATCH",
		.pattern = "/api-keys/{}",
		.auth = AUTH_BEARER,
		.scopes = KEY_MANAGING,
		.body = BODY_JSON_SMALL,
		.handle = api_key_update,
	},
	{
		.method = "DELETE",
		.pattern = "/api-keys/{}",
		.auth = AUTH_BEARER,
		.scopes = KEY_MANAGING,
		.body = BODY_IGNORED,
		.handle = api_key_remove,
	},
	{
		.method = "POST",
		.pattern = "/v3/{}/messages",
		.dialect = DIALECT_FORM,
		.auth = AUTH_BASIC,
		.scopes = KEY_SENDING,
		.names_domain = true,
		.body = BODY_FORM,
		.handle = api_form_send,
	},
	{
		.method = "POST",
		.pattern = "/v3/{}/messages.mime",
		.dialect = DIALECT_FORM,
		.auth = AUTH_BASIC,
		.scopes = KEY_SENDING,
		.names_domain = true,
		.body = BODY_FORM,
		.handle = api_form_send_mime,
	},
	{
		.method = "GET",
		.pattern = "/v3/{}/events",
		.dialect = DIALECT_FORM,
		.auth = AUTH_BASIC,
		.scopes = KEY_READING,
		.names_domain = true,
		.body = BODY_IGNORED,
		.handle = api_form_events,
	},
	{
		.method = "GET",
		.pattern = "/v3/{}/events/{}",
		.dialect = DIALECT_FORM,
		.auth = AUTH_BASIC,
		.scopes = KEY_READING,
		.names_domain = true,
		.body = BODY_IGNORED,
		.handle = api_form_events_page,
	},
	{
		.method = "GET",
		.pattern = "/v3/stats/total",
		.dialect = DIALECT_FORM,
		.auth = AUTH_BASIC,
		.scopes = KEY_READING,
		.body = BODY_IGNORED,
		.handle = api_form_stats,
	},
	{
		.method = "GET",
		.pattern = "/v3/{}/stats/total",
		.dialect = DIALECT_FORM,
		.auth = AUTH_BASIC,
		.scopes = KEY_READING,
		.names_domain = true,
		.body = BODY_IGNORED,
		.handle = api_form_stats,
	},
	{
		.method = "GET",
		.pattern = "/openapi.json",
		.auth = AUTH_NONE,
		.body = BODY_IGNORED,
		.handle = get_openapi,
	},
	{.method = NULL},
};
