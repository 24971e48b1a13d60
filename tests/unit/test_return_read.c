/* return_read: the messages of tests/fuzz/corpus/return_read, as programs write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/read/return_read.h"

static void read_sample(const char *name, struct buf *out)
{
	_cleanup_free_ char *path = mem_printf("tests/fuzz/corpus/return_read/%s", name);
	FILE *file = fopen(path, "rb");
	size_t n;

	assert_non_null(file);
	do {
		n = fread(buf_reserve(out, 4096), 1, 4096, file);
		buf_wrote(out, n);
	} while (n > 0);
	fclose(file);
}

static const char *or_dash(const char *text)
{
	return text ? text : "-";
}

/* The kind, then ` original>final status "text" remote` for each recipient, and what else
 * there is. */
static char *show(const char *data, size_t len, bool has_sender)
{
	_cleanup_return_message_ struct return_message message;
	struct buf out = BUF_INIT;

	return_read(data, len, has_sender, &message);
	buf_add_str(&out, return_kind_name(message.kind));
	for (size_t i = 0; i < message.n; i++) {
		const struct return_recipient *one = &message.recipients[i];

		buf_printf(&out, " | %s>%s %s %.40s", or_dash(one->original), or_dash(one->final),
			or_dash(one->status), or_dash(one->text));
	}
	if (message.feedback)
		buf_printf(&out, " | type %s", message.feedback);
	if (message.queue_id)
		buf_printf(&out, " | queue id %s", message.queue_id);
	for (size_t i = 0; i < message.paths.n; i++)
		buf_printf(&out, " | path %s", message.paths.items[i]);
	return buf_take(&out);
}

static const struct {
	const char *name;
	const char *shown;
} samples[] = {
	{"arf", "complaint | ann@example.net>- - - | type abuse | path <b+TOKEN@bounces.example.com> | path <b+TOKEN@bounces.example.com> | path <mailto:u+TOKEN@bounces.example.com>, <https://mail.example.com/unsubscribe/TOKEN>"},
	{"arf_auth_failure", "unread | type auth-failure"},
	{"arf_not_spam", "notice | type not-spam"},
	{"arf_redacted", "complaint | type abuse | path <b+TOKEN@bounces.example.com>"},
	{"away", "notice"},
	{"away_null", "notice"},
	{"courier", "failure | ->ann@example.net 5.0.0 >>> RCPT TO:<ann@example.net> <<< 550 Us"},
	{"cut", "notice"},
	{"delivered", "notice"},
	{"domino", "failure | ->ann@example.net - User ann (ann@example.net) not listed in"},
	{"empty", "unread"},
	{"exchange_2007",
		"failure | ->ann@example.net 5.2.2 554 5.2.2 mailbox full;STOREDRV.Deliver; | path <b+TOKEN@bounces.example.com>"},
	{"exchange_online",
		"failure | ann@example.net>ann@example.net 5.1.10 550 5.1.10 RESOLVER.ADR.RecipientNotFoun | path <b+TOKEN@bounces.example.com>"},
	{"exchange_plain",
		"failure | ->ann@example.net 5.1.1 on 11/23/2026 10:00 AM The e-mail accoun"},
	{"exim",
		"failure | ->ann@example.net 5.1.1 550 5.1.1 no such user here | path <b+TOKEN@bounces.example.com>"},
	{"exim_old",
		"failure | ->ann@example.net 5.1.1 host mail.example.net [192.0.2.9]: 550 5 | path <b+TOKEN@bounces.example.com>"},
	{"exim_warning", "notice"},
	{"forwarded", "failure | ann@example.net>ann.new@example.org 5.2.2 452 4.2.2 over quota"},
	{"gmail",
		"failure | ->ann@example.net 5.1.1 550-5.1.1 The email account that you tri | path <b+TOKEN@bounces.example.com>"},
	{"gmail_old",
		"failure | ->ann@example.net 5.1.1 Google tried to deliver your message, bu | path <b+TOKEN@bounces.example.com>"},
	{"groupwise",
		"failure | ->ann@example.net - (user not found) | path <b+TOKEN@bounces.example.com>"},
	{"hmailserver",
		"failure | ->ann@example.net 5.1.1 Error Type: SMTP Remote server (192.0.2."},
	{"imail", "failure | ->ann@example.net - - | path <b+TOKEN@bounces.example.com>"},
	{"james", "failure | ->ann@example.net 5.1.1 550 5.1.1 User unknown"},
	{"many_at", "failure | ->x@y.z - - | ->p@q.r - -"},
	{"mdaemon", "failure | ->ann@example.net 5.1.1 --- Session Transcript --- Mon 2026-11-2"},
	{"microsoft_smtp", "failure | ->ann@example.net - -"},
	{"no_message_block", "failure | ->ann@example.net 5.1.1 -"},
	{"opensmtpd",
		"failure | ->ann@example.net 5.1.1 550 5.1.1 Mailbox unavailable, no such u | path <b+TOKEN@bounces.example.com>"},
	{"opensmtpd_warning", "notice"},
	{"person", "unread"},
	{"postfix",
		"failure | ann@example.net>ann@example.net 5.1.1 550 5.1.1 <ann@example.net>: Recipient a | queue id 4cF1Kx2b3Mz9 | path <b+TOKEN@bounces.example.com>"},
	{"postfix_delay", "notice | path <b+TOKEN@bounces.example.com>"},
	{"qmail",
		"failure | ->ann@example.net 5.1.1 Sorry, no mailbox here by that name. (#5 | ->bob@example.net 5.0.0 192.0.2.9 failed after I sent the messag | path <b+TOKEN@bounces.example.com>"},
	{"sendmail",
		"failure | ->ann@example.net 5.7.1 550 5.7.1 Access denied | path <b+TOKEN@bounces.example.com>"},
	{"sendmail_old",
		"failure | ->ann@example.net 5.1.1 ----- Transcript of session follows ---- | path <b+TOKEN@bounces.example.com>"},
	{"two_recipients",
		"failure | ->ann@example.net 5.2.1 mailbox disabled | ->\"odd one\"@example.net 5.1.1 -"},
	{"web_de",
		"failure | ->ann@example.net 5.1.1 SMTP error from remote server for RCPT T | path <b+TOKEN@bounces.example.com>"},
	{"yahoo",
		"failure | ->ann@example.net 5.0.0 554: delivery error: dd This user doesn' | path <b+TOKEN@bounces.example.com>"},
};

static void says_what_programs_write(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		_cleanup_buf_ struct buf message = BUF_INIT;
		_cleanup_free_ char *shown = NULL;

		read_sample(samples[i].name, &message);
		shown = show(buf_str(&message), message.len, false);
		if (strcmp(shown, samples[i].shown) != 0)
			fail_msg("%s: %s", samples[i].name, shown);
	}
}

/* What a person writes is for a person, also when it has the words of a bounce. */
static void leaves_people_alone(void **state)
{
	static const char text[] =
		"From: Ann <ann@example.net>\nSubject: It failed\n\n"
		"My mail to bob@example.net could not be delivered!\n";
	_cleanup_free_ char *shown = show(text, strlen(text), true);

	(void)state;
	assert_string_equal(shown, "unread");
}

/* The letter case of a type does not matter (RFC 2045 5.1). */
static void reads_types_in_any_case(void **state)
{
	static const char text[] =
		"From: x@example.org\nContent-Type: Multipart/Report; boundary=b\n\n"
		"--b\nContent-Type: Message/Delivery-Status\n\n"
		"Final-Recipient: rfc822; ann@example.net\nAction: failed\nStatus: 5.1.1\n"
		"--b--\n";
	_cleanup_free_ char *shown = show(text, strlen(text), true);

	(void)state;
	assert_string_equal(shown, "failure | ->ann@example.net 5.1.1 -");
}

/* As many as fit, of any number. */
static void is_bounded(void **state)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	_cleanup_return_message_ struct return_message message;

	(void)state;
	buf_add_str(&text,
		"From: MAILER-DAEMON@x.org\nContent-Type: multipart/report; boundary=b\n"
		"\n--b\nContent-Type: message/delivery-status\n\n");
	for (int i = 0; i < 5000; i++)
		buf_printf(&text, "\nFinal-Recipient: rfc822; a%d@x.org\nAction: failed\n", i);
	return_read(buf_str(&text), text.len, false, &message);
	assert_int_equal(message.kind, RETURN_FAILURE);
	assert_int_equal(message.n, RETURN_RECIPIENTS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_what_programs_write),
		cmocka_unit_test(leaves_people_alone),
		cmocka_unit_test(reads_types_in_any_case),
		cmocka_unit_test(is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
