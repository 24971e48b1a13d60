/*
 * admin_account: what users see and change of themselves: password, codes of an
 * app, sessions.
 *
 * Threads: the worker's, of lists the pool's; changes are the committer's.
 */
#include "httpd/admin/admin.h"

#include <ctype.h>
#include <qrencode.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/store/store_session.h"
#include "core/store/store_user.h"
#include "httpd/json/json_field.h"
#include "httpd/worker/worker.h"

void admin_account_get(struct request *request)
{
	struct err err = ERR_INIT;
	json_t *object = NULL;
	struct user user;
	int found = store_user_find(
		request->worker->db, NULL, request->admission.session.user_id, &user, &err);

	if (found > 0) {
		object = admin_render_user(&user);
		json_object_set_new(object, "recovery_codes", json_integer(user.recovery_codes));
		store_user_clear(&user);
	}
	admin_reply_found(request, found, object, "user_lookup_failed", &err);
}

int admin_account_set_password(struct db *db, struct admin_job *job, struct err *err)
{
	const struct session *session = &job->request->admission.session;
	const char *ignored;
	const struct admin_field fields[] = {
		{"password", false, .text = &ignored},
		{"code", false, .text = &ignored},
		{"new_password", true, .text = &ignored},
	};

	if (admin_fields(job, fields, ARRAY_SIZE(fields), err) < 0)
		return -1;
	return store_user_set_password(db, NULL, session->user_id, job->verified->new_stored,
		session->id, job->now_us, err);
}

/* Codes of an authenticator app. */

/* An image of the text (ISO/IEC 18004), black on white whatever the page's
 * colours are, as phones want it. */
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

/* What apps read from it, as they all do: a URI of
 * github.com/google/google-authenticator/wiki/Key-Uri-Format. */
static char *totp_uri(const char *login, const char *secret)
{
	struct buf uri = BUF_INIT;

	buf_add_str(&uri, "otpauth://totp/Postern:");
	for (; *login; login++)
		if (isalnum((unsigned char)*login) || strchr("-._~@", *login))
			buf_add_char(&uri, *login);
		else
			buf_printf(&uri, "%%%02X", (unsigned char)*login);
	buf_printf(&uri, "?secret=%s&issuer=Postern", secret);
	return uri.data;
}

static int check_password_alone(const struct admin_job *job, struct err *err)
{
	const char *ignored;
	const struct admin_field fields[] = {
		{"password", true, .text = &ignored},
		{"code", false, .text = &ignored},
	};

	return admin_fields(job, fields, job->asks_code ? 2 : 1, err);
}

int admin_account_totp_start(struct db *db, struct admin_job *job, struct err *err)
{
	const struct session *session = &job->request->admission.session;
	char text[TOTP_SECRET_TEXT_SIZE];
	uint8_t secret[TOTP_SECRET_LEN];
	char *uri, *svg;
	int found;

	if (check_password_alone(job, err) < 0)
		return -1;
	found = store_user_totp_start(db, session->user_id, secret, err);
	if (found <= 0)
		return found;
	totp_secret_text(secret, text);
	uri = totp_uri(session->login, text);
	svg = qr_svg(uri);
	job->answer = json_pack("{s:s, s:s, s:s, s:o}", "object", "totp", "secret", text, "uri",
		uri, "qr", admin_text(svg));
	secret_wipe(uri, strlen(uri));
	if (svg)
		secret_wipe(svg, strlen(svg));
	free(uri);
	free(svg);
	secret_wipe(text, sizeof(text));
	secret_wipe(secret, sizeof(secret));
	return 1;
}

int admin_account_totp_off(struct db *db, struct admin_job *job, struct err *err)
{
	if (check_password_alone(job, err) < 0)
		return -1;
	return store_user_totp_off(db, NULL, job->request->admission.session.user_id, err);
}

int admin_account_totp_confirm(struct db *db, struct admin_job *job, struct err *err)
{
	char codes[USER_RECOVERY_CODES][TOTP_RECOVERY_SIZE];
	const char *code = NULL;
	const struct admin_field fields[] = {{"code", true, .text = &code}};
	json_t *array;
	int result;

	if (admin_fields(job, fields, ARRAY_SIZE(fields), err) < 0)
		return -1;
	result = store_user_totp_confirm(
		db, job->request->admission.session.user_id, code, job->now_us, codes, err);
	if (result <= 0)
		return result;
	array = json_array();
	for (size_t i = 0; i < USER_RECOVERY_CODES; i++)
		json_array_append_new(array, json_string(codes[i]));
	job->answer = json_pack("{s:s, s:o}", "object", "recovery_codes", "codes", array);
	secret_wipe(codes, sizeof(codes));
	return 1;
}

/* The sessions of a user. */

void admin_account_session_list(struct request *request)
{
	const struct session *own = &request->admission.session;
	int64_t now_us = clock_now_us(request->worker->shared->clock);
	static const char *const none[] = {NULL};
	struct session_list sessions = {0};
	struct err err = ERR_INIT;
	struct admin_list list;
	json_t *data;
	int found;

	if (admin_list_read(request, none, &list) < 0)
		return;
	data = json_array();
	found = store_session_list_browsers(request->db, own->user_id, now_us,
		now_us - request->conf->admin.session_idle_ms * 1000, &list.page, &sessions,
		&list.end, &err);
	for (size_t i = 0; i < sessions.n; i++)
		json_array_append_new(
			data, json_pack("{s:s, s:s, s:b, s:s, s:o, s:o, s:o}", "object",
				      "browser_session", "id", sessions.items[i].id, "current",
				      str_eq(sessions.items[i].id, own->id), "origin",
				      sessions.items[i].origin, "created_at",
				      json_field_time(sessions.items[i].created_us), "last_used_at",
				      json_field_time(sessions.items[i].last_used_us), "expires_at",
				      json_field_time(sessions.items[i].expires_us)));
	store_session_list_free(&sessions);
	admin_list_reply(request, found, &list, data, "session_list_failed", &err);
}

int admin_account_session_end(struct db *db, struct admin_job *job, struct err *err)
{
	return store_session_end_browser(
		db, job->request->admission.session.user_id, job->param, err);
}

int admin_account_session_end_others(struct db *db, struct admin_job *job, struct err *err)
{
	const struct session *own = &job->request->admission.session;

	return store_user_end_sessions(db, own->user_id, own->id, err) < 0 ? -1 : 1;
}
