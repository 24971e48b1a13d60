/*
 * api_attachment: the attachments of sent emails, read from their messages
 * while these are kept (retention.messages).
 *
 * A download link has the id of the email, the number of the file and its
 * expiry time, and is signed. It works without an API key, as clients expect,
 * until it expires or the company is removed.
 *
 * Threads: the pool's.
 */
#include "httpd/json/api_json.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/read/mime_read.h"
#include "core/store/email/store_email.h"
#include "core/store/email/store_message.h"
#include "httpd/admission/request.h"
#include "httpd/json/json_query.h"
#include "httpd/json/list_json.h"
#include "httpd/transport/reply.h"
#include "httpd/worker/worker.h"

enum { LINK_S = 3600 };

/* The message of an email, and its files. */
struct kept {
	char id[ID_SIZE];
	struct buf message;
	struct mime_files files;
};

static void kept_clear(struct kept *kept)
{
	mime_files_free(&kept->files);
	buf_free(&kept->message);
}
#define _cleanup_kept_ __attribute__((cleanup(kept_clear)))

/* Reads the message and its files. Returns 0, or -1 with the problem. The
 * memory is charged before the message is read. */
static int read_files(struct request *request, struct kept *kept, struct problem *problem)
{
	struct err err = ERR_INIT;
	int64_t size = 0;
	int found = store_message_size(request->db, kept->id, &size, &err);

	if (found > 0 && admission_reserve_answer(request->worker, &request->admission,
				 3 * (uint64_t)size, problem) < 0)
		return -1;
	if (found > 0)
		found = store_message_read(request->db, request->worker->shared->database_path,
			kept->id, &kept->message, &err);
	if (found < 0)
		return request_failed(request, "message_read_failed", &err, problem);
	if (found == 0)
		return problem_set(problem, PROBLEM_NOT_FOUND,
			"The message of this email is not kept any more.");
	mime_read_files(kept->message.data, kept->message.len, &kept->files);
	return 0;
}

/* Reads the files of the email of the path, which must be the caller's. */
static int find_kept(struct request *request, struct kept *kept, struct problem *problem)
{
	const struct key *key = &request->admission.key;
	const struct email_scope scope = {
		.company_id = key->company_id, .domain = key->domain, .sent_only = true};
	struct err err = ERR_INIT;
	const char *param = request->admission.param;
	int64_t seq;
	int found = 1;

	if (*param == '<')
		found = store_email_by_message_id(request->db, &scope, param, kept->id, &err);
	else if (!id_parse(param, kept->id))
		return problem_set(problem, PROBLEM_PARAMETER, "The `id` must be a valid UUID.");
	if (found > 0)
		found = store_email_seq(request->db, kept->id, NULL, &scope, &seq, &err);
	if (found < 0)
		return request_failed(request, "email_lookup_failed", &err, problem);
	if (found == 0)
		return problem_set(problem, PROBLEM_NOT_FOUND, "Email not found");
	return read_files(request, kept, problem);
}

/* The id of the n-th file: a UUID derived from the email's id (version 8, RFC
 * 9562). */
static void file_id(const char *email_id, size_t n, char id[static ID_SIZE])
{
	_cleanup_free_ char *text = mem_printf("%s %zu", email_id, n);
	uint8_t h[SECRET_HASH_LEN];

	secret_hash(text, strlen(text), h);
	snprintf(id, ID_SIZE,
		"%02x%02x%02x%02x-%02x%02x-8%01x%02x-8%01x%02x-%02x%02x%02x%02x%02x%02x", h[0],
		h[1], h[2], h[3], h[4], h[5], h[6] & 15, h[7], h[8] & 15, h[9], h[10], h[11], h[12],
		h[13], h[14], h[15]);
}

/* `EMAIL.N.EXPIRES.SIGNATURE`; a new string. */
static char *make_link(
	const struct worker_shared *shared, const char *email_id, size_t n, int64_t end_us)
{
	char *link = mem_printf("%s.%zu.%" PRId64, email_id, n, end_us);
	uint8_t hash[SECRET_HASH_LEN];
	struct buf out = BUF_INIT;

	secret_keyed_hash(shared->link_key, link, strlen(link), hash);
	buf_printf(&out, "%s.", link);
	buf_add_hex(&out, hash, sizeof(hash));
	free(link);
	return buf_take(&out);
}

static json_t *render_file(struct request *request, const struct kept *kept, size_t n)
{
	const struct mime_file *file = &kept->files.items[n];
	int64_t end_us = clock_now_us(request->worker->shared->clock) + LINK_S * SECOND_US;
	_cleanup_free_ char *link = make_link(request->worker->shared, kept->id, n, end_us);
	_cleanup_free_ char *base = request_own_url(request);
	_cleanup_free_ char *url = mem_printf("%s/attachments/%s", base, link);
	_cleanup_buf_ struct buf content = BUF_INIT;
	char id[ID_SIZE];

	file_id(kept->id, n, id);
	mime_file_content(file, &content);
	return json_pack("{s:s, s:s, s:s*, s:I, s:s, s:s, s:s?, s:s, s:o}", "object", "attachment",
		"id", id, "filename", file->name ? file->name : "attachment", "size",
		(json_int_t)content.len, "content_type",
		file->type && str_utf8_valid(file->type, strlen(file->type))
			? file->type
			: "application/octet-stream",
		"content_disposition", file->is_inline ? "inline" : "attachment", "content_id",
		file->content_id, "download_url", url, "expires_at", row_json_time(end_us));
}

/* GET /emails/{id}/attachments: in pages, like other lists, but without `limit`
 * all of them, as clients expect. */
void api_attachment_list(struct request *request)
{
	static const char *const names[] = {"limit", "after", "before", NULL};
	struct problem problem = PROBLEM_INIT;
	_cleanup_kept_ struct kept kept = {0};
	json_t *data = json_array();
	struct json_query query;
	struct page page = {0};
	size_t first = 0, end = 0;
	bool found = true;

	if (json_query_read(request, names, &query, &problem) == 0 &&
		json_query_page(&query, &page, &problem) == 0 &&
		find_kept(request, &kept, &problem) == 0) {
		const char *cursor = page_cursor(&page);
		size_t limit = json_query_get(&query, "limit") ? (size_t)page.limit : kept.files.n;
		size_t n = 0;
		char id[ID_SIZE];

		found = cursor == NULL;
		for (; !found && n < kept.files.n; n++) {
			file_id(kept.id, n, id);
			found = strcmp(id, cursor) == 0;
		}
		/* n is the index after the cursor. */
		first = page_backwards(&page) ? (n > limit + 1 ? n - 1 - limit : 0) : n;
		end = page_backwards(&page) && n > 0 ? n - 1 : kept.files.n;
		if (end > first + limit)
			end = first + limit;
		list_json_check(request, found, &page, NULL, NULL, &problem);
	}
	for (size_t i = first; problem.kind == PROBLEM_NONE && i < end; i++) {
		json_t *item = render_file(request, &kept, i);

		json_object_del(item, "object");
		json_array_append_new(data, item);
	}
	reply_either(request, &problem, 200,
		list_json_render(data, page_backwards(&page) ? first > 0 : end < kept.files.n));
}

/* GET /emails/{id}/attachments/{attachment_id} */
void api_attachment_get(struct request *request)
{
	const char *path = request_path(request);
	const char *name = strrchr(path, '/');
	struct problem problem = PROBLEM_INIT;
	_cleanup_kept_ struct kept kept = {0};
	char wanted[ID_SIZE], id[ID_SIZE];
	json_t *object = NULL;

	if (name == NULL || !id_parse(name + 1, wanted))
		problem_set(&problem, PROBLEM_PARAMETER, "The `id` must be a valid UUID.");
	else if (find_kept(request, &kept, &problem) == 0) {
		for (size_t n = 0; object == NULL && n < kept.files.n; n++) {
			file_id(kept.id, n, id);
			if (strcmp(id, wanted) == 0)
				object = render_file(request, &kept, n);
		}
		if (object == NULL)
			problem_set(&problem, PROBLEM_NOT_FOUND, "Attachment not found");
	}
	reply_either(request, &problem, 200, object);
}

/* True if the signature of the link is valid and it has not expired. Returns the
 * email and the number. */
static bool read_file_link(struct request *request, char id_r[static ID_SIZE], size_t *n_r)
{
	const struct worker_shared *shared = request->worker->shared;
	const char *param = request->admission.param;
	_cleanup_free_ char *own = NULL;
	char text[ID_SIZE];
	int64_t end_us;
	size_t n;

	if (sscanf(param, "%36[0-9a-f-].%zu.%" SCNd64 ".", text, &n, &end_us) != 3 ||
		!id_parse(text, id_r))
		return false;
	own = make_link(shared, id_r, n, end_us);
	*n_r = n;
	return strlen(own) == strlen(param) && secret_same(own, param, strlen(own)) &&
	       end_us > clock_now_us(shared->clock);
}

/* Has a browser save the file, with its name unless that is longer than file systems take
 * (RFC 6266). The caller frees it. */
static char *disposition(const char *name)
{
	struct buf value = BUF_INIT;

	buf_add_str(&value, "attachment");
	if (str_empty(name) || strlen(name) > NAME_MAX)
		return buf_take(&value);
	buf_add_str(&value, "; filename*=UTF-8''");
	for (; *name; name++)
		if (isalnum((unsigned char)*name) || strchr("!#$&+-.^_`|~", *name))
			buf_add_char(&value, *name);
		else
			buf_printf(&value, "%%%02X", (unsigned char)*name);
	return buf_take(&value);
}

/* GET /attachments/{link}. A browser must save it, not show it as a page of
 * this server. */
void api_attachment_download(struct request *request)
{
	static const struct reply_kind kind = {.type = "application/octet-stream",
		.fields = {{"X-Content-Type-Options", "nosniff"},
			{"Cache-Control", "private, no-store"}}};
	struct problem problem = PROBLEM_INIT;
	_cleanup_kept_ struct kept kept = {0};
	struct buf content = BUF_INIT;
	struct err err = ERR_INIT;
	size_t n = 0, len;
	int found = 0;

	if (read_file_link(request, kept.id, &n))
		found = store_email_has_company(request->db, kept.id, &err);
	if (found < 0)
		request_failed(request, "email_lookup_failed", &err, &problem);
	else if (found == 0)
		problem_set(&problem, PROBLEM_NOT_FOUND,
			"The link is not valid any more: ask for the attachment again.");
	else if (read_files(request, &kept, &problem) == 0 && n >= kept.files.n)
		problem_set(&problem, PROBLEM_NOT_FOUND, "Attachment not found");
	if (problem.kind != PROBLEM_NONE) {
		reply_problem(request, &problem);
		return;
	}
	mime_file_content(&kept.files.items[n], &content);
	len = content.len;
	reply_file(request, &kind, disposition(kept.files.items[n].name), buf_take(&content), len);
}
