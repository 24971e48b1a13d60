/*
 * return_read: reads a message that came to a return path.
 *
 * A part message/delivery-status or message/feedback-report is used wherever it is, except in
 * an attached message. Without such a part, the text is searched for phrases of programs that
 * give up on an email (failures). Then each address in the text, up to the copy of the email,
 * counts as a failed one, and the lines after it as the reason. The caller compares the
 * addresses with the recipients of the email, so a wrong address does no harm.
 */
#include "core/read/return_read.h"

#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/span.h"
#include "core/base/str.h"
#include "core/mime/mime_gmime.h"
#include "core/mime/mime_scan.h"
#include "core/read/mime_read.h"

enum {
	ADDRESS_MAX = 320,
	VALUE_READ = 16 * 1024, /* of a field; longer ones are cut */
	BODY_READ = 64 * 1024,  /* of a text; the rest is not searched */
	LINES_READ = 2000,
};

static const char *const kinds[RETURN_KINDS] = {
	[RETURN_UNREAD] = "unread",
	[RETURN_FAILURE] = "failure",
	[RETURN_NOTICE] = "notice",
	[RETURN_COMPLAINT] = "complaint",
};

const char *return_kind_name(enum return_kind kind)
{
	return kinds[kind];
}

/* Phrases of programs that give up on an email, in lower case: Sendmail, qmail, Exim, Postfix,
 * Exchange, Gmail, Yahoo, Domino, GroupWise, Courier, MDaemon, IMail and others. */
static const char *const failures[] = {
	"address failed",
	"address not found",
	"addresses failed",
	"addresses had permanent",
	"could not be delivered",
	"couldn't be delivered",
	"delivery failed",
	"delivery failure",
	"delivery has failed",
	"did not reach",
	"failed address",
	"failed permanently",
	"failure notice",
	"has been rejected",
	"is undeliverable",
	"mailbox unavailable",
	"not listed in domino directory",
	"not listed in public name",
	"permanent error",
	"permanent fatal error",
	"qmail-send program",
	"returned mail",
	"returned to sender",
	"status notification (failure)",
	"unable to deliver",
	"undeliverable",
	"undelivered mail",
	"unknown user",
	"user unknown",
	"was not delivered",
	"wasn't delivered",
};
/* Phrases of programs that will try again. */
static const char *const delays[] = {
	"delivery will be retried",
	"do not need to resend",
	"has been delayed",
	"hasn't been delivered yet",
	"is delayed",
	"message delayed",
	"no action is required on your part",
	"not been delivered yet",
	"not yet been delivered",
	"status notification (delay)",
	"still being retried",
	"warning message only",
	"warning: could not send",
	"will continue to be attempted",
	"will keep trying",
	"will retry for",
};
/* Lines at which the copy of the email begins. */
static const char *const copies[] = {
	"--- below this line is a copy",
	"------ this is a copy",
	"------ this is the body",
	"----- original message",
	"-----original message",
	"----- unsent message",
	"----- message header follows",
	"----- message text follows",
	"--- the header of the original",
	"--- original message",
	"--- enclosed is",
	"--- returned message",
	"original message follows",
	"possibly truncated original message",
	"original message headers",
	"original message header",
	"the original message was received",
	"return-path:",
	"received:",
	"mime-version:",
};
/* Names of mail systems in From. */
static const char *const daemons[] = {"mailer-daemon", "mailerdaemon", "postmaster",
	"mail delivery", "mail-daemon", "mdaemon", "microsoftexchange"};
/* Subjects of automatic replies. */
static const char *const answers[] = {"automatic reply", "auto reply", "autoreply", "auto-reply",
	"auto:", "out of office", "out of the office", "abwesen", "automatische antwort",
	"vacation"};

static bool has_one_of(const char *lowered, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strstr(lowered, words[i]))
			return true;
	return false;
}
#define HAS_ONE_OF(lowered, words) has_one_of(lowered, words, ARRAY_SIZE(words))

/* Returns the text on one line, without control characters, cut to RETURN_TEXT_MAX. The caller
 * frees it. */
static char *one_line(const char *text, size_t len)
{
	struct span said = span_trim((struct span){text, len});
	char *line = mem_dup(
		said.data, said.len < RETURN_TEXT_MAX + 4 ? said.len : RETURN_TEXT_MAX + 4);
	size_t kept;

	for (char *p = line; *p; p++)
		if ((unsigned char)*p < ' ' || *p == '\x7f')
			*p = ' ';
	str_utf8_mend(line);
	kept = str_utf8_cut(line, RETURN_TEXT_MAX);
	while (kept > 0 && line[kept - 1] == ' ')
		kept--;
	line[kept] = '\0';
	return line;
}

/* Returns the line, or NULL if it is empty. */
static char *said_line(const char *text, size_t len)
{
	char *line = one_line(text, len);

	if (*line)
		return line;
	free(line);
	return NULL;
}

static void recipient_clear(struct return_recipient *recipient)
{
	free(recipient->original);
	free(recipient->final);
	free(recipient->status);
	free(recipient->text);
	free(recipient->remote);
	*recipient = (struct return_recipient){0};
}

static void drop_recipients(struct return_message *message)
{
	for (size_t i = 0; i < message->n; i++)
		recipient_clear(&message->recipients[i]);
	message->n = 0;
}

/* Returns NULL if there are too many. */
static struct return_recipient *add_recipient(struct return_message *message)
{
	if (message->n == RETURN_RECIPIENTS_MAX)
		return NULL;
	message->recipients = mem_append(
		message->recipients, message->n, sizeof(*message->recipients));
	message->recipients[message->n] = (struct return_recipient){0};
	return &message->recipients[message->n++];
}

/* Returns the first separate `d.d.d` of class 4 or 5, otherwise the first `ddd` as `d.0.0`,
 * otherwise NULL. The caller frees it. */
static char *status_in(const char *text)
{
	const char *coarse = NULL;

	for (const char *p = text; *p; p++) {
		size_t subject, detail;

		if ((*p != '4' && *p != '5') ||
			(p > text && (ascii_is_digit(p[-1]) || p[-1] == '.' || p[-1] == '-')))
			continue;
		subject = p[1] == '.' ? strspn(p + 2, "0123456789") : 0;
		if (subject >= 1 && subject <= 3 && p[2 + subject] == '.') {
			const char *rest = p + 3 + subject;

			detail = strspn(rest, "0123456789");
			if (detail >= 1 && detail <= 3 && rest[detail] != '.')
				return mem_dup(p, (size_t)(rest + detail - p));
		}
		if (coarse == NULL && ascii_is_digit(p[1]) && p[1] <= '5' && ascii_is_digit(p[2]) &&
			!ascii_is_digit(p[3]) && p[3] != '.' && p[3] != '-')
			coarse = p;
	}
	return coarse ? mem_printf("%c.0.0", *coarse) : NULL;
}

/* Replaces a missing status, or one without detail, by one found in the text. */
static void refine_status(struct return_recipient *recipient)
{
	char *better;

	if (recipient->text == NULL ||
		(recipient->status && !str_eq(recipient->status + 1, ".0.0")))
		return;
	better = status_in(recipient->text);
	if (better == NULL)
		return;
	free(recipient->status);
	recipient->status = better;
}

/*
 * message/delivery-status and message/feedback-report: blocks of fields.
 */

static char *value_of(const struct mime_scan_field *field)
{
	struct mime_scan_field bounded = *field;

	if (bounded.value.len > VALUE_READ)
		bounded.value.len = VALUE_READ;
	return mime_scan_value(&bounded);
}

/* Returns what follows `type;`, or the whole value. */
static const char *behind_type(const char *value)
{
	const char *end = strchr(value, ';');
	size_t len = end ? (size_t)(end - value) : 0;

	if (end == NULL || len > 20 || strcspn(value, " @<.") < len)
		return value;
	return end + 1 + strspn(end + 1, " \t");
}

/* Returns the address without <> and comments; NULL if there is none. The caller frees it. */
static char *address_of(const char *value)
{
	const char *begin = strchr(value, '<');
	size_t len;
	char *address;

	begin = begin ? begin + 1 : value;
	begin += strspn(begin, " \t");
	len = *begin == '"' ? strcspn(begin, ">") : strcspn(begin, "> \t");
	if (len == 0 || len > ADDRESS_MAX || memchr(begin, '@', len) == NULL)
		return NULL;
	address = one_line(begin, len);
	if (strchr(address, '@'))
		return address;
	free(address);
	return NULL;
}

static void set_once(char **text, char *value)
{
	if (*text == NULL)
		*text = value;
	else
		free(value);
}

enum action { ACTION_NONE, ACTION_FAILED, ACTION_OTHER };

/* Reads a field of a recipient's block. */
static void read_status_field(const struct mime_scan_field *field,
	struct return_recipient *recipient, enum action *action, bool *has_recipient)
{
	_cleanup_free_ char *value = value_of(field);
	const char *behind = behind_type(value);

	if (mime_scan_is(field, "Final-Recipient")) {
		*has_recipient = true;
		set_once(&recipient->final, address_of(behind));
	} else if (mime_scan_is(field, "Original-Recipient")) {
		*has_recipient = true;
		set_once(&recipient->original, address_of(behind));
	} else if (mime_scan_is(field, "Action")) {
		*action = str_starts_nocase(value, "fail") ? ACTION_FAILED : ACTION_OTHER;
	} else if (mime_scan_is(field, "Status")) {
		set_once(&recipient->status, status_in(value));
	} else if (mime_scan_is(field, "Diagnostic-Code")) {
		set_once(&recipient->text, said_line(behind, strlen(behind)));
	} else if (mime_scan_is(field, "Remote-MTA")) {
		set_once(&recipient->remote, said_line(behind, strlen(behind)));
	}
}

static bool is_failed(const struct return_recipient *recipient, enum action action)
{
	return action == ACTION_FAILED ||
	       (action == ACTION_NONE && recipient->status && recipient->status[0] == '5');
}

/* Blocks end with an empty line. Some programs omit it before the next Final-Recipient. */
static void read_delivery_status(struct span text, struct return_message *message)
{
	struct return_recipient recipient = {0};
	enum action action = ACTION_NONE;
	bool has_recipient = false;
	struct mime_scan_field field;
	struct span line;

	/* The part may report only delays. */
	if (message->kind == RETURN_UNREAD)
		message->kind = RETURN_NOTICE;
	while (text.len > 0) {
		bool has_field = mime_scan_field(&text, &field);
		bool is_next = has_field && has_recipient && recipient.final &&
			       mime_scan_is(&field, "Final-Recipient");

		if (!has_field || is_next) {
			refine_status(&recipient);
			if (has_recipient && is_failed(&recipient, action)) {
				struct return_recipient *added = add_recipient(message);

				if (added) {
					*added = recipient;
					recipient = (struct return_recipient){0};
					message->kind = RETURN_FAILURE;
				}
			}
			recipient_clear(&recipient);
			action = ACTION_NONE;
			has_recipient = false;
		}
		if (!has_field) {
			mime_scan_line(&text, &line, NULL);
			continue;
		}
		if (mime_scan_is(&field, "X-Postfix-Queue-ID") && message->queue_id == NULL) {
			_cleanup_free_ char *value = value_of(&field);

			message->queue_id = said_line(value, strlen(value));
		}
		read_status_field(&field, &recipient, &action, &has_recipient);
		if (text.len == 0) {
			/* Adds an empty line, so that the last block ends with the part. */
			text = (struct span){"\n", 1};
		}
	}
	recipient_clear(&recipient);
}

static void add_path(struct return_message *message, const struct mime_scan_field *field)
{
	_cleanup_free_ char *value = value_of(field);
	char *line = said_line(value, strlen(value));

	if (line && message->paths.n < RETURN_PATHS_MAX)
		strv_take(&message->paths, line);
	else
		free(line);
}

static void read_feedback(struct span text, struct return_message *message)
{
	struct mime_scan_field field;

	message->kind = RETURN_COMPLAINT;
	while (mime_scan_field(&text, &field)) {
		if (mime_scan_is(&field, "Feedback-Type")) {
			_cleanup_free_ char *value = value_of(&field);

			if (message->feedback == NULL)
				message->feedback = said_line(value, strlen(value));
		} else if (mime_scan_is(&field, "Original-Rcpt-To")) {
			_cleanup_free_ char *value = value_of(&field);
			char *address = address_of(value);
			struct return_recipient *added = address ? add_recipient(message) : NULL;

			if (added)
				added->original = address;
			else
				free(address);
		} else if (mime_scan_is(&field, "Original-Mail-From")) {
			add_path(message, &field);
		}
	}
	if (message->feedback == NULL)
		return;
	str_lower(message->feedback);
	if (str_eq(message->feedback, "not-spam"))
		message->kind = RETURN_NOTICE;
	/* These report a failed authentication check, not a recipient's complaint. */
	if (str_starts(message->feedback, "auth-failure") || str_starts(message->feedback, "dmarc"))
		message->kind = RETURN_UNREAD;
}

/* Reads the header of the email, in its own part or after other lines of a text. */
static void read_original(struct span text, struct return_message *message)
{
	struct mime_scan_field field;
	struct span line;
	bool in_header = false;

	while (text.len > 0) {
		if (!mime_scan_field(&text, &field)) {
			if (in_header)
				break;
			mime_scan_line(&text, &line, NULL);
			continue;
		}
		in_header = true;
		if (mime_scan_is(&field, "Return-Path") || mime_scan_is(&field, "List-Unsubscribe"))
			add_path(message, &field);
	}
}

static void read_report_parts(const struct mime_files *files, struct return_message *message)
{
	static const struct {
		const char *type;
		void (*read)(struct span text, struct return_message *message);
	} parts[] = {
		{"message/delivery-status", read_delivery_status},
		{"message/global-delivery-status", read_delivery_status},
		{"message/feedback-report", read_feedback},
		{"message/rfc822", read_original},
		{"message/global", read_original},
		{"text/rfc822-headers", read_original},
		{"message/rfc822-headers", read_original},
		{"message/global-headers", read_original},
	};

	for (size_t i = 0; i < files->n; i++)
		for (size_t k = 0; k < ARRAY_SIZE(parts); k++) {
			const struct mime_file *file = &files->items[i];
			_cleanup_buf_ struct buf content = BUF_INIT;

			if (file->type == NULL || !str_eq_nocase(file->type, parts[k].type))
				continue;
			mime_file_content(file, &content);
			parts[k].read((struct span){buf_str(&content), content.len}, message);
		}
}

/*
 * Texts of programs that do not follow RFC 3464.
 */

static bool in_address(char c)
{
	return ((unsigned char)c >= 0x80) || ascii_is_digit(c) || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z') || (c != '\0' && strchr("!#$%&'*+-/=?^_`{|}~.", c));
}

/* Returns the first address in the line at or after *at, and moves *at past it; NULL if
 * there is none. The caller frees it. */
static char *next_address(const char *line, size_t *at)
{
	for (const char *sign; (sign = strchr(line + *at, '@')) != NULL;) {
		const char *begin = sign, *end = sign + 1;

		while (begin > line + *at && in_address(begin[-1]))
			begin--;
		while (in_address(*end) && !strchr("!#$%&'*+/=?^`{|}~", *end))
			end++;
		*at = (size_t)(end - line);
		while (end > sign + 1 && (end[-1] == '.' || end[-1] == '-'))
			end--;
		while (begin < sign && strchr("'`.", *begin))
			begin++;
		if (begin < sign && end > sign + 1 && memchr(sign, '.', (size_t)(end - sign)) &&
			end - begin <= ADDRESS_MAX)
			return one_line(begin, (size_t)(end - begin));
	}
	return NULL;
}

static bool is_copy_line(const char *lowered)
{
	const char *text = lowered + strspn(lowered, " \t>");

	for (size_t i = 0; i < ARRAY_SIZE(copies); i++)
		if (str_starts(text, copies[i]))
			return true;
	return false;
}

static struct return_recipient *find_said_recipient(
	struct return_message *message, const char *address)
{
	for (size_t i = 0; i < message->n && i < 50; i++)
		if (str_eq_nocase(message->recipients[i].final, address))
			return &message->recipients[i];
	return NULL;
}

/* Makes the paragraph the reason of the recipients from `first` on that have none. */
static void end_paragraph(struct return_message *message, size_t first, struct buf *said)
{
	for (size_t i = first; i < message->n; i++) {
		struct return_recipient *one = &message->recipients[i];

		if (one->text == NULL)
			one->text = said_line(buf_str(said), said->len);
		refine_status(one);
	}
	buf_clear(said);
}

/* True if the line only announces the reason. */
static bool is_heading(const char *line)
{
	size_t len = strlen(line);

	while (len > 0 && ascii_is_space(line[len - 1]))
		len--;
	return len > 0 && line[len - 1] == ':';
}

/* Adds the new addresses of a line. Returns the rest of the line after the last of them; NULL if it
 * has none. */
static const char *add_addresses(struct return_message *message, const char *line)
{
	const char *behind = NULL;
	size_t at = 0;
	char *address;

	while ((address = next_address(line, &at)) != NULL) {
		struct return_recipient *added = NULL;

		if (find_said_recipient(message, address) == NULL)
			added = add_recipient(message);
		if (added == NULL) {
			free(address);
			continue;
		}
		added->final = address;
		behind = line + at + strspn(line + at, ">:)]., \t");
	}
	return behind;
}

/* The text after an address is its reason, up to the next address or the end of the paragraph. */
static void read_bounce_text(const char *text, struct return_message *message)
{
	struct span rest = {text, strlen(text)}, line;
	_cleanup_buf_ struct buf said = BUF_INIT;
	size_t first = message->n;

	if (rest.len > BODY_READ)
		rest.len = BODY_READ;
	for (int i = 0; i < LINES_READ && mime_scan_line(&rest, &line, NULL); i++) {
		_cleanup_free_ char *one = mem_dup(line.data, line.len);
		_cleanup_free_ char *lowered = mem_strdup(one);
		size_t before = message->n;
		const char *behind;

		str_lower(lowered);
		if (is_copy_line(lowered)) {
			rest = (struct span){line.data, (size_t)(rest.data + rest.len - line.data)};
			read_original(rest, message);
			break;
		}
		behind = add_addresses(message, one);
		if ((behind || one[strspn(one, " \t")] == '\0') && said.len > 0) {
			struct return_message told = *message;

			told.n = before;
			end_paragraph(&told, first, &said);
			first = before;
		}
		if (behind == NULL)
			behind = one;
		if (first == message->n || behind[strspn(behind, " \t")] == '\0' ||
			(said.len == 0 && is_heading(behind)) || said.len > RETURN_TEXT_MAX)
			continue;
		if (said.len > 0)
			buf_add_char(&said, ' ');
		buf_add_str(&said, behind + strspn(behind, " \t"));
	}
	end_paragraph(message, first, &said);
	if (message->n == 1 && message->recipients[0].status == NULL) {
		_cleanup_free_ char *all = mem_dup(text, (size_t)(rest.data - text));

		message->recipients[0].status = status_in(all);
	}
}

/* What the message's own header says. */
struct head {
	bool is_program;   /* From is a mail system */
	bool is_automatic; /* it is an automatic reply */
	bool has_failed;   /* it has X-Failed-Recipients */
	char *subject;
};

static void read_return_head(struct span text, struct head *head, struct return_message *message)
{
	struct mime_scan_field field;

	while (mime_scan_field(&text, &field)) {
		_cleanup_free_ char *value = value_of(&field);

		if (mime_scan_is(&field, "X-Failed-Recipients")) {
			/* Exim and Gmail list the recipients in this field. */
			head->has_failed = true;
			add_addresses(message, value);
		} else if (mime_scan_is(&field, "Date") && message->date_us == 0) {
			if (mime_date_parse(value, &message->date_us) < 0)
				message->date_us = 0;
		}
		str_lower(value);
		if (mime_scan_is(&field, "From"))
			head->is_program |= HAS_ONE_OF(value, daemons);
		else if (mime_scan_is(&field, "Auto-Submitted"))
			head->is_automatic |= str_starts(value, "auto-replied") ||
					      str_starts(value, "auto-notified");
		else if (mime_scan_is(&field, "X-Autoreply") ||
			 mime_scan_is(&field, "X-Autorespond") ||
			 mime_scan_is(&field, "X-Autoreply-From"))
			head->is_automatic = true;
		else if (mime_scan_is(&field, "X-Auto-Response-Suppress"))
			head->is_automatic |= strstr(value, "autoreply") != NULL;
		else if (mime_scan_is(&field, "Precedence"))
			head->is_automatic |= str_starts(value, "auto_reply");
		else if (mime_scan_is(&field, "Subject") && head->subject == NULL)
			head->subject = TAKE_PTR(value);
	}
}

/* Takes reasons from the text for recipients that are already known. */
static void add_texts(const char *text, struct return_message *message)
{
	struct return_message body = {0};

	read_bounce_text(text, &body);
	for (size_t i = 0; i < message->n; i++) {
		struct return_recipient *one = &message->recipients[i], *same = NULL;

		if (one->text == NULL && one->final)
			same = find_said_recipient(&body, one->final);
		if (same) {
			one->text = TAKE_PTR(same->text);
			set_once(&one->status, TAKE_PTR(same->status));
			refine_status(one);
		}
	}
	for (size_t i = 0; i < body.paths.n && message->paths.n < RETURN_PATHS_MAX; i++)
		strv_add(&message->paths, body.paths.items[i]);
	return_message_clear(&body);
}

/* Classifies a message without structured parts by its phrases. */
static void read_words(
	const struct head *head, const char *text, bool has_sender, struct return_message *message)
{
	const char *subject = head->subject ? head->subject : "";
	_cleanup_free_ char *lowered = mem_dup(
		text, strlen(text) < BODY_READ ? strlen(text) : BODY_READ);
	bool fails;

	str_lower(lowered);
	fails = head->has_failed || HAS_ONE_OF(subject, failures) || HAS_ONE_OF(lowered, failures);
	if (HAS_ONE_OF(subject, delays) || HAS_ONE_OF(lowered, delays)) {
		message->kind = RETURN_NOTICE;
	} else if (fails &&
		   (head->is_program || head->has_failed || (!has_sender && !head->is_automatic))) {
		if (message->n > 0)
			add_texts(text, message);
		else
			read_bounce_text(text, message);
		if (message->n > 0)
			message->kind = RETURN_FAILURE;
	} else if (head->is_automatic || HAS_ONE_OF(subject, answers)) {
		message->kind = RETURN_NOTICE;
	}
	if (message->kind != RETURN_FAILURE)
		drop_recipients(message);
}

void return_read(const char *data, size_t len, bool has_sender, struct return_message *message_r)
{
	_cleanup_mime_summary_ struct mime_summary summary;
	_cleanup_mime_files_ struct mime_files files;
	struct span message = {data, len};
	struct head head = {0};

	*message_r = (struct return_message){0};
	mime_scan_drop_from_line(&message);
	mime_read(message.data, message.len, &summary);
	mime_read_files(message.data, message.len, &files);
	read_report_parts(&files, message_r);
	if (message_r->kind == RETURN_UNREAD && message_r->feedback == NULL) {
		read_return_head(message, &head, message_r);
		read_words(&head, summary.text, has_sender, message_r);
	} else {
		struct return_message fields = {0};

		read_return_head(message, &head, &fields);
		message_r->date_us = fields.date_us;
		return_message_clear(&fields);
		if (message_r->kind == RETURN_FAILURE)
			add_texts(summary.text, message_r);
	}
	free(head.subject);
}

void return_message_clear(struct return_message *message)
{
	drop_recipients(message);
	free(message->recipients);
	free(message->queue_id);
	free(message->feedback);
	strv_free(&message->paths);
	*message = (struct return_message){0};
}
