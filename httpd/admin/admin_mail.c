/*
 * admin_mail: emails and their delivery, what the rules stopped, and an admin's
 * test email.
 *
 * An email's HTML is served as a document of its own, which may load and run
 * nothing and be shown only in a frame of our pages: a stranger may have
 * written it.
 *
 * Threads: the pool's for reads, the worker's for the rest; note_test() is the
 * committer's.
 */
#include "httpd/admission/change.h"
#include "httpd/admin/admin.h"

#include <string.h>

#include "core/address/addr.h"
#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/compose/mime_build.h"
#include "core/ops/op_email_read.h"
#include "core/store/delivery/store_queue_message.h"
#include "core/store/store_audit.h"
#include "core/store/email/store_email.h"
#include "core/store/email/store_message.h"
#include "core/store/company/store_suppression.h"
#include "core/report/delivery_report.h"
#include "core/report/email_render.h"
#include "httpd/json/email_json.h"
#include "httpd/json/json_field.h"
#include "httpd/json/json_query.h"
#include "httpd/send/send.h"
#include "httpd/send/send_request.h"
#include "httpd/transport/reply.h"
#include "httpd/worker/store_read.h"
#include "httpd/worker/worker.h"

/* GET /admin/emails/{id} */

/* Finds the email of the path, with its content, and charges the memory for the
 * answer. Returns 0, or -1 with the problem. */
static int find_shown_email(struct request *request, struct email *email_r, struct problem *problem)
{
	const struct email_scope scope = {.company_id = admission_company(&request->admission)};
	struct err err = ERR_INIT;
	char id[ID_SIZE];
	int found = 0;

	if (id_parse(request->admission.param, id))
		found = store_email_get(request->db, id, &scope, email_r, &err);
	if (found < 0)
		return request_failed(request, "email_lookup_failed", &err, problem);
	if (found == 0)
		return problem_set(problem, PROBLEM_NOT_FOUND, "Not found.");
	if (admission_reserve_answer(request->worker, &request->admission,
		    2 * (uint64_t)email_json_content_size(email_r), problem) == 0)
		return 0;
	store_email_clear(email_r);
	return -1;
}

static void add_shown_field(json_t *fields, const char *name, const char *value)
{
	if (!str_empty(value))
		json_array_append_new(
			fields, json_pack("{s:s, s:s}", "name", name, "value", value));
}

static void add_mailboxes(
	json_t *fields, const char *name, const struct email *email, enum recipient_kind kind)
{
	_cleanup_strv_ struct strv list = STRV_INIT;
	_cleanup_free_ char *text = NULL;

	for (size_t i = 0; i < email->recipients.n; i++)
		if (email->recipients.items[i].kind == kind)
			strv_add(&list, recipient_text(&email->recipients.items[i]));
	text = strv_join(&list, ", ");
	add_shown_field(fields, name, text);
}

/* The header fields that are kept, decoded, and Bcc, which no message has. */
static json_t *render_header(const struct email *email)
{
	_cleanup_free_ char *reply_to = strv_join(&email->reply_to, ", ");
	json_t *fields = json_array();
	char date[CLOCK_TEXT_SIZE];

	clock_iso8601(email->created_us, date);
	add_shown_field(fields, "Date", date);
	add_shown_field(fields, "From", email->from);
	add_mailboxes(fields, "To", email, RECIPIENT_TO);
	add_mailboxes(fields, "Cc", email, RECIPIENT_CC);
	add_mailboxes(fields, "Bcc", email, RECIPIENT_BCC);
	add_shown_field(fields, "Reply-To", reply_to);
	add_shown_field(fields, "Subject", email->subject);
	add_shown_field(fields, "Message-ID", email->message_id);
	return fields;
}

/* Adds what an admin sees of each recipient, in addition to what its company sees. The report was
 * read after the email, so recipients that were purged in between are missing in it. */
static void add_statuses(struct db *db, json_t *object, const struct email *email,
	const struct delivery_report *report)
{
	const struct suppression_scope scope = {email->company_id, email->domain};
	json_t *array = json_object_get(object, "recipients");
	size_t shown = 0, told = 0;

	for (size_t i = 0; i < email->recipients.n; i++) {
		const struct recipient *one = &email->recipients.items[i];
		_cleanup_free_ char *next = NULL;
		int64_t retry_us = 0, end_us = 0;
		enum delivery_status status;
		json_t *item;

		if (!one->enveloped)
			continue;
		item = json_array_get(array, shown++);
		if (told == report->recipients.n || report->recipients.items[told].n != one->n)
			continue;
		status = report->recipients.items[told].status;
		if (status == DELIVERY_SUPPRESSED) {
			struct suppression found;
			json_t *suppression = json_null();

			if (store_suppression_find(db, &scope, one->address, SUPPRESSION_REASONS,
				    &found, NULL) > 0) {
				suppression = row_json(&store_suppression_type, &found, ROW_SHOWN);
				store_suppression_clear(&found);
			}
			json_object_set_new(item, "suppression", suppression);
		}
		next = delivery_report_next(report, told);
		delivery_report_times(report, told, &retry_us, &end_us);
		json_object_update_new(item,
			json_pack("{s:s, s:s, s:s?, s:s?, s:o, s:o}", "status",
				delivery_status_name(status), "status_text",
				delivery_report_status_words(status), "next", next, "queue",
				report->entries[told].queue, "next_attempt_at",
				row_json_time(retry_us), "gives_up_at", row_json_time(end_us)));
		told++;
	}
}

/* The whole report: each recipient's status and what happens next, and the
 * events in order. kept is the size of the message, 0 if it is not kept. */
static json_t *render_email(struct db *db, const struct email *email,
	const struct delivery_report *report, int64_t kept)
{
	_cleanup_free_ char *answer = delivery_report_answer(report);
	json_t *object = email_render(email, true);
	json_t *events = json_array(), *messages = json_array();

	for (size_t i = 0; i < report->events.n; i++) {
		const struct email_event *event = &report->events.items[i];
		json_t *item = email_render_event(event);

		email_render_event_for_admins(item, event);
		json_object_set_new(item, "source", row_json_given(event->source));
		json_array_append_new(events, item);
	}
	for (size_t i = 0; i < report->messages.n; i++) {
		const struct queue_message *message = &report->messages.items[i];

		json_array_append_new(
			messages, json_pack("{s:s, s:s, s:s, s:o, s:o}", "queue_id",
					  message->queue_id, "how", message_how_name(message->how),
					  "how_text", delivery_report_message_words(message->how),
					  "since_at", row_json_time(message->since_us), "left_at",
					  row_json_time(message->closed_us)));
	}
	email_render_for_admins(object, email);
	add_statuses(db, object, email, report);
	json_object_set_new(object, "message_size", kept > 0 ? json_integer(kept) : json_null());
	json_object_update_new(
		object, json_pack("{s:s, s:b, s:b, s:o, s:o, s:o}", "answer", answer, "is_open",
				delivery_report_is_open(report), "is_test",
				delivery_report_is_test(report), "header", render_header(email),
				"events", events, "queue_messages", messages));
	return object;
}

void admin_email_get(struct request *request)
{
	int64_t now_us = clock_now_us(request->worker->shared->clock);
	_cleanup_(delivery_report) struct delivery_report *report = NULL;
	struct problem problem = PROBLEM_INIT;
	struct err err = ERR_INIT;
	struct email email;
	int64_t kept = 0;

	if (find_shown_email(request, &email, &problem) < 0) {
		reply_problem(request, &problem);
		return;
	}
	if (store_message_size(request->db, email.id, &kept, &err) < 0 ||
		delivery_report_new(request->db, request->conf, &email, now_us, &report, &err) < 0)
		admin_reply_found(request, -1, NULL, "email_lookup_failed", &err);
	else
		reply_printed(request, 200,
			email_json_print(render_email(request->db, &email, report, kept), &email));
	delivery_report_free(TAKE_PTR(report));
	store_email_clear(&email);
}

/* GET /admin/emails/{id}/html */

/* Disables all <link> elements: a browser connects to what <link
 * rel=preconnect> names, whatever the Content-Security-Policy says. No other
 * element can do that. */
static void disarm_links(char *html)
{
	static const char link[] = "<link";

	for (char *at = html; (at = strchr(at, '<')); at++)
		if (strncasecmp(at, link, sizeof(link) - 1) == 0)
			at[1] = 'x';
}

void admin_email_html(struct request *request)
{
	static const struct reply_kind kind = {.type = "text/html; charset=utf-8",
		.fields = {
			{"Content-Security-Policy",
				"default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
				"form-action 'none'; base-uri 'none'; frame-ancestors 'self'; "
				"sandbox"},
			{"X-Frame-Options", "SAMEORIGIN"},
			{"X-DNS-Prefetch-Control", "off"},
		}};
	struct problem problem = PROBLEM_INIT;
	char *html = NULL;
	struct email email;

	if (find_shown_email(request, &email, &problem) == 0) {
		html = TAKE_PTR(email.html);
		store_email_clear(&email);
		if (str_empty(html))
			problem_set(&problem, PROBLEM_NOT_FOUND, "Not found.");
	}
	if (problem.kind != PROBLEM_NONE) {
		free(html);
		reply_problem(request, &problem);
		return;
	}
	disarm_links(html);
	reply_document(request, &kind, html);
}

/* GET /admin/emails/{id}/raw */

/* Rebuilds the message from what is kept. Attachments and fields that the
 * client chose are missing, and a field says so. */
static int rebuild(const struct email *email, struct buf *out, struct err *err)
{
	_cleanup_mime_message_ struct mime_message message = {0};
	struct header *note = mime_message_add_header(&message);
	int result = addr_parse(email->from, &message.from, err);

	note->name = mem_strdup("Comments"); /* RFC 5322 3.6.5 */
	note->value = mem_strdup(
		"rebuilt from what Postern keeps, without attachments and fields of the "
		"client's own");
	for (size_t i = 0; result == 0 && i < email->recipients.n; i++) {
		const struct recipient *one = &email->recipients.items[i];

		if (one->kind != RECIPIENT_BCC)
			result = addr_parse(recipient_text(one),
				addr_list_add(
					one->kind == RECIPIENT_TO ? &message.to : &message.cc),
				err);
	}
	for (size_t i = 0; result == 0 && i < email->reply_to.n; i++)
		result = addr_parse(
			email->reply_to.items[i], addr_list_add(&message.reply_to), err);
	if (result < 0)
		return -1;
	message.subject = mem_strdup(email->subject);
	message.html = mem_strdup(email->html);
	message.text = mem_strdup(email->text);
	message.message_id = mem_strdup(email->message_id);
	message.date_us = email->scheduled_us > 0 ? email->scheduled_us : email->created_us;
	return mime_build(&message, out, err);
}

/* Reads the message as it was submitted to Postfix, without the fields for the
 * milter. Returns 1, 0 if it is not kept, or -1 with the problem. */
static int read_message(struct request *request, const struct email *email, struct buf *out,
	struct problem *problem)
{
	struct err err = ERR_INIT;
	int64_t size = 0;
	int found = store_message_size(request->db, email->id, &size, &err);

	if (found > 0 && admission_reserve_answer(request->worker, &request->admission,
				 2 * (uint64_t)size, problem) < 0)
		return -1;
	if (found > 0)
		found = op_email_message(
			request->db, request->worker->shared->database_path, email, out, &err);
	return found < 0 ? request_failed(request, "message_read_failed", &err, problem) : found;
}

void admin_email_raw(struct request *request)
{
	static const char *const names[] = {"download", NULL};
	static const struct reply_kind shown = {.type = "text/plain; charset=utf-8"};
	static const struct reply_kind saved = {.type = "message/rfc822"};
	static const char disposition[] = "attachment; filename=\"email.eml\"";
	struct problem problem = PROBLEM_INIT;
	_cleanup_buf_ struct buf message = BUF_INIT;
	struct json_query query;
	struct err err = ERR_INIT;
	struct email email;
	bool download;
	size_t len;

	if (json_query_read(request, names, &query, &problem) == 0 &&
		json_query_flag(&query, "download", &download, &problem) == 0 &&
		find_shown_email(request, &email, &problem) == 0) {
		if (read_message(request, &email, &message, &problem) == 0 &&
			rebuild(&email, &message, &err) < 0)
			request_failed(request, "email_rebuild_failed", &err, &problem);
		store_email_clear(&email);
	}
	if (problem.kind != PROBLEM_NONE) {
		reply_problem(request, &problem);
		return;
	}
	len = message.len;
	reply_file(request, download ? &saved : &shown, download ? mem_strdup(disposition) : NULL,
		buf_take(&message), len);
}

struct resending {
	struct store_read read; /* first */
	struct request *request;
	char id[ID_SIZE]; /* "": the path has none */
	int64_t size;     /* size of the stored message in bytes */
};

static int read_size(struct store_read *read, struct db *db, struct err *err)
{
	struct resending *resending = (struct resending *)read;

	if (*resending->id == '\0')
		return 0;
	return store_message_size(db, resending->id, &resending->size, err) < 0 ? -1 : 0;
}

static void on_size_read(struct store_read *read)
{
	struct resending *resending = (struct resending *)read;
	struct request *request = resending->request;
	struct problem problem = PROBLEM_INIT;
	json_t *body = NULL;
	struct admin_job *job;

	if (read->result < 0)
		request_failed(request, "email_lookup_failed", &read->err, &problem);
	else if (admission_reserve_answer(request->worker, &request->admission,
			 3 * (uint64_t)resending->size, &problem) == 0)
		json_field_parse_request(request, &body, &problem);
	free(resending);
	if (problem.kind != PROBLEM_NONE) {
		reply_problem(request, &problem);
		return;
	}
	job = admin_job_new(request);
	job->operate.body = body;
	admin_job_submit(job);
}

/* POST /admin/emails/{id}/resend. Charges memory, because the operation reads
 * the message, edits it, and keeps it until it is staged. */
void admin_email_resend(struct request *request)
{
	struct resending *resending = mem_new(struct resending);

	resending->request = request;
	if (!id_parse(request->admission.param, resending->id))
		resending->id[0] = '\0';
	resending->read.read = read_size;
	resending->read.done = on_size_read;
	store_read_start(request->worker, &resending->read, "");
}

/*
 * POST /admin/emails/test
 *
 * The test email takes the path of POST /emails, with a key of the company that
 * its owner chose, so the rules and the milter judge that key. The audit log
 * records who sent it before it goes out.
 */

struct test_email {
	struct change change; /* first */
	struct store_read read;
	json_t *body;
	const char *key_id; /* in body */
	bool key_is_valid;
	struct key key;
	struct draft draft;
};

static void on_test_sent(struct request *request, const struct send_outcome *outcome)
{
	const struct problem *problem = send_first_problem(outcome);

	if (problem)
		reply_problem(request, problem);
	else
		reply_json(request, 200,
			json_pack("{s:s, s:s}", "object", "email", "id", outcome->results[0].id));
}

static int note_test(struct db *db, void *arg, struct err *err)
{
	const struct test_email *test = arg;
	const json_t *body = test->body;

	return store_audit_add(db,
		&(struct audit_action){.company_id = test->key.company_id,
			.action = "email.test",
			.object_id = test->key.id,
			.object_name = test->key.name,
			.after = json_pack("{s:O, s:O, s:O}", "from", json_object_get(body, "from"),
				"to", json_object_get(body, "to"), "subject",
				json_object_get(body, "subject"))},
		err);
}

static void free_test(struct test_email *test)
{
	draft_clear(&test->draft);
	store_key_clear(&test->key);
	json_decref(test->body);
	free(test);
}

static void on_test_noted(struct change *change)
{
	struct test_email *test = (struct test_email *)change;
	struct request *request = change->request;
	struct problem problem = PROBLEM_INIT;

	if (change->result < 0) {
		change_failed(change, "audit_failed", &problem);
		reply_problem(request, &problem);
	} else {
		request->admission.key = test->key;
		test->key = (struct key){0};
		send_request_emails(request,
			&(const struct send_spec){.draft = &test->draft, .n = 1}, on_test_sent);
	}
	free_test(test);
}

/* Turns the body into one of POST /emails: adds a subject and a text if there
 * are none, and takes out key_id. Returns 0, or -1 with the problem. */
static int read_test(json_t *body, const char **key_id_r, struct problem *problem)
{
	static const char *const known[] = {"key_id", "from", "to", "subject", "text"};
	const char *name;
	json_t *value;
	size_t i;

	json_object_foreach(body, name, value) {
		for (i = 0; i < ARRAY_SIZE(known) && !str_eq(known[i], name); i++)
			;
		if (i == ARRAY_SIZE(known))
			return problem_set(problem, PROBLEM_VALIDATION,
				"there is no field `%.60s` here", name);
	}
	if (json_field_text(body, "key_id", "key_id", key_id_r, problem) < 0)
		return -1;
	if (*key_id_r == NULL)
		return problem_set(problem, PROBLEM_MISSING_FIELD, "Missing `key_id` field.");
	if (json_field_get(body, "subject") == NULL)
		json_object_set_new(body, "subject", json_string("A test of Postern"));
	if (json_field_get(body, "text") == NULL)
		json_object_set_new(body, "text",
			json_string("This email was sent to try whether mail gets through.\n"));
	return 0;
}

static int read_test_key(struct store_read *read, struct db *db, struct err *err)
{
	struct test_email *test = CONTAINER_OF(read, struct test_email, read);
	const struct admission *admission = &test->change.request->admission;
	int found = store_key_get(db, admission_company(admission), test->key_id, &test->key, err);

	test->key_is_valid = found > 0;
	return found < 0 ? -1 : 0;
}

static void on_test_key_read(struct store_read *read)
{
	/* An owner could make a key and send with it anyway: this only bounds accidents. */
	static const struct rate_limit limit = {.per_s = 1, .burst = 5};
	struct test_email *test = CONTAINER_OF(read, struct test_email, read);
	struct request *request = test->change.request;
	struct worker *worker = request->worker;
	struct admission *admission = &request->admission;
	struct problem problem = PROBLEM_INIT;

	if (read->result < 0)
		request_failed(request, "key_lookup_failed", &read->err, &problem);
	else if (!test->key_is_valid)
		problem_set(
			&problem, PROBLEM_NOT_FOUND, "There is no such key, or it was revoked.");
	else if (admission_take_rate_token(
			 worker, admission, admission->session.user_id, &limit, &problem) == 0)
		admission_take_company_token(worker, admission, test->key.company_id, &problem);
	if (problem.kind != PROBLEM_NONE) {
		reply_problem(request, &problem);
		free_test(test);
		return;
	}
	change_submit(request, &test->change, note_test, on_test_noted);
}

void admin_email_test(struct request *request)
{
	struct test_email *test = mem_new(struct test_email);
	struct problem problem = PROBLEM_INIT;

	if (json_field_parse_request(request, &test->body, &problem) < 0 ||
		read_test(test->body, &test->key_id, &problem) < 0 ||
		email_json_read(test->body, 1, &test->draft, &problem) < 0) {
		reply_problem(request, &problem);
		free_test(test);
		return;
	}
	test->change.request = request;
	test->read.read = read_test_key;
	test->read.done = on_test_key_read;
	store_read_start(request->worker, &test->read, "");
}
