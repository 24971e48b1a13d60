/* log_parse: every line of the corpus, and what imitates one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <time.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "events/log_parse.h"
#include "tests/unit/log_corpus.h"

/* One letter for each line of a section. */
static char letter_of(const struct log_line *line)
{
	static const char deliveries[] = {
		[LOG_SENT] = 's',
		[LOG_DEFERRED] = 'd',
		[LOG_BOUNCED] = 'b',
		[LOG_PROBED] = 'p',
	};

	switch (line->kind) {
	case LOG_NOTHING:
		return '.';
	case LOG_BAD:
		return '!';
	case LOG_MESSAGE_ID:
		return 'm';
	case LOG_CLIENT:
		return 'f';
	case LOG_ACTIVE:
		return 'a';
	case LOG_PICKUP:
		return 'k';
	case LOG_DELIVERY:
		return deliveries[line->status];
	case LOG_EXPIRED:
		return 'x';
	case LOG_REMOVED:
		return line->by_admin ? 'R' : 'r';
	case LOG_DISCARDED:
		return 'c';
	case LOG_REFUSED:
		return 'h';
	case LOG_RELOADED:
		return 'l';
	case LOG_REQUEUED:
		return 'q';
	case LOG_DROPPED:
		return 'L';
	}
	return '?';
}

static const struct {
	const char *section;
	const char *lines;
} sections[] = {
	{"01", ".fma.sr"},
	{"02", ".fma.dbsm.asr"},
	{"03", ".fma.sssr"},
	{"04", ".fma.bma.rsr"},
	{"05", ".fma.d"},
	{"06", ".fma..bm.arsr"},
	{"07", ".fma..bma.r.sr"},
	{"08", ".fma.bm.arsr"},
	{"09", ".fma.bm.arsr"},
	{"10", ".fma.bm.arsr"},
	{"11", ".fma.dbsm.asr"},
	{"12", ".fma.bbma.rsr"},
	{"13", ".fma.d"},
	{"14", ".fma.sr.fma.sr.fma.srfma.sr"},
	{"15", ".fma.d.fma.d.fma.dadfmadfmadfma.dfmabm.arsrfma.dfmadaaaadaa."
	       "ddddd"},
	{"16", ".fma.d"},
	{"17", ".fma.bdbsm.asr"},
	{"18", "...fma.ssr"},
	{"18b", "fmasbdbma.sr"},
	{"19", ".fma..sdbdbm.asr"},
	{"20", ".fma.msabbsssrdma.sr"},
	{"21", ".fma.masrsr.fma.msarbssm.arsr.fma.msarbsm.arsrfmamsards"},
	{"22", ".f.m.assr"},
	{"23", ".fma.sr.fma.bssma.rsr.fma.bssssm.arsrfma.bm.arsr"},
	{"23d", ".fma.msarsr"},
	{"24a", ".fma..fm.ssarbsm.arsr"},
	{"24b", ".fma.fmabsm.arsrssr"},
	{"24c", ".fma.sr.fma.sr"},
	{"25", ".fma.ssr.fm.absm.arsr"},
	{"26a", ".fm.adR."},
	{"26b", ".fm.ad....asr"},
	{"26c", ".fma.dsq."},
	{"26c2", "kmadadad"},
	{"26d", ".fma.ds..axma.rsr"},
	{"27", ".l.fma.dddaddd......ma.sradddxma.rsr"},
	{"28", ".fm.addss.fma.dfmad"},
	{"29a", ".fmh..fmc..fmca.srfmh.fm.abssma.rsr"},
	{"29b", ".fmh..fmc..fmh.fmh."},
	{"29c", "fmhfmcfmhbm.asrfmh"},
	{"30a", ".fma.dbsma.ma.srsr"},
	{"30b", ".fma.bsma.rsr"},
	{"30c", ".fm.absmr"},
	{"30d", ".fma.bssmsambsmsa.rrmsr"},
	{"30e", "fmhfmafmhsbsm.am.arsrsr"},
	{"30f", "fmafmhfmhsbbm.am.arsrsr"},
	{"30g", ".fmams.assrssm.arsr"},
	{"31", "fma...adadd"},
	{"32", "fmabs.rfmasrfmasrfmasrfmasrfmasr"},
	{"33", ".fm.a.sr"},
	{"34", ".fm.a.fm.asrsr"},
	{"35", "fmafmapppm.arsm.arsrsr"},
	{"36", ".fm.a.smas.fmcc..fmh.fmh......dbs.masrsr.."},
	{"37", ".fm.a.d.fma...d.a.daa..d..d"},
	{"38", ".fm.absm.rafmasbma.rsrsr"},
	{"40", "m!.."},
	{"41", "fmaar"},
	{"42", "fm.adbsm.asr"},
	{"43", "..fmafma.b.b"},
	{"44", "s"},
	{"45", "L"},
};

static void test_corpus(void **state)
{
	_cleanup_strv_ struct strv names = STRV_INIT;

	(void)state;
	log_corpus_sections(&names);
	assert_int_equal(names.n, ARRAY_SIZE(sections));
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		_cleanup_strv_ struct strv lines = STRV_INIT;
		char letters[200];
		size_t n = 0;

		assert_string_equal(names.items[i], sections[i].section);
		log_corpus_read(sections[i].section, &lines);
		for (; n < lines.n; n++) {
			struct log_line line;

			log_parse(lines.items[n], strlen(lines.items[n]), LOG_CORPUS_INSTANCES,
				&line);
			letters[n] = letter_of(&line);
		}
		letters[n] = '\0';
		if (!str_eq(letters, sections[i].lines))
			fail_msg("section %s: %s instead of %s", sections[i].section, letters,
				sections[i].lines);
	}
}

#define HEAD "Nov 21 22:57:10 mail postfix/smtp[7071]: 34230ABA654: "
#define TAIL ", relay=mx.test[127.0.0.11]:25, delay=1, delays=0/0/0/1, "

/* What stands in a delivery. */
static const struct {
	const char *line;
	const char *to;
	const char *orig_to;
	const char *relay;
	const char *dsn;
	const char *text;
	enum log_status status;
} deliveries[] = {
	{HEAD "to=<a@b.test>" TAIL "dsn=2.0.0, status=sent (250 ok)", "a@b.test", NULL,
		"mx.test[127.0.0.11]:25", "2.0.0", "250 ok", LOG_SENT},
	{HEAD "to=<a@b.test>, orig_to=<c>, relay=local, delay=1, dsn=5.1.1, "
	      "status=bounced (unknown user: \"a\")",
		"a@b.test", "c", "local", "5.1.1", "unknown user: \"a\"", LOG_BOUNCED},
	/* keys that are not known */
	{HEAD "to=<a@b.test>" TAIL "conn_use=2, tls=may:none, new=1, "
	      "dsn=4.0.0, status=SOFTBOUNCE (x (y))",
		"a@b.test", NULL, "mx.test[127.0.0.11]:25", "4.0.0", "x (y)", LOG_DEFERRED},
	/* a text that was cut */
	{HEAD "to=<a@b.test>" TAIL "dsn=4.0.0, status=deferred (x", "a@b.test", NULL,
		"mx.test[127.0.0.11]:25", "4.0.0", "x", LOG_DEFERRED},
	/* an address that imitates the rest of a line */
	{HEAD "to=<\"a>, relay=evil, dsn=2.0.0, status=sent "
	      "(x\\\"\"@b.test>" TAIL "dsn=5.0.0, status=bounced (no)",
		"\"a>, relay=evil, dsn=2.0.0, status=sent (x\\\"\"@b.test", NULL,
		"mx.test[127.0.0.11]:25", "5.0.0", "no", LOG_BOUNCED},
	/* a reply that imitates one */
	{HEAD "to=<a@b.test>" TAIL "dsn=5.0.0, status=bounced (550 x, dsn=2.0.0, "
	      "status=sent (250 ok))",
		"a@b.test", NULL, "mx.test[127.0.0.11]:25", "5.0.0",
		"550 x, dsn=2.0.0, status=sent (250 ok)", LOG_BOUNCED},
	{HEAD "to=<>" TAIL "dsn=2.0.0, status=sent ()", "", NULL, "mx.test[127.0.0.11]:25", "2.0.0",
		"", LOG_SENT},
	/* addresses that are not quoted (info_log_address_format = internal) */
	{HEAD "to=<a>, relay=x@b.test>" TAIL "dsn=2.0.0, status=sent (250 \"ok\")",
		"a>, relay=x@b.test", NULL, "mx.test[127.0.0.11]:25", "2.0.0", "250 \"ok\"",
		LOG_SENT},
	{HEAD "to=<\"a@b.test>, orig_to=<c>, d@b.test>" TAIL "dsn=2.0.0, status=sent (250 \"ok\")",
		"\"a@b.test", "c>, d@b.test", "mx.test[127.0.0.11]:25", "2.0.0", "250 \"ok\"",
		LOG_SENT},
};

/* Deliveries by their beginning, and no further. */
static const char *const unreadable[] = {
	HEAD "to=<a@b.test>" TAIL "dsn=2.0.0, status=eaten (250 ok)",
	HEAD "to=<a@b.test>" TAIL "dsn=2.0, status=sent (250 ok)",
	HEAD "to=<a@b.test>" TAIL "status=sent (250 ok)",
	HEAD "to=<a@b.test>, delay=1, dsn=2.0.0, status=sent (250 ok)",
	HEAD "to=<a@b.test" TAIL "dsn=2.0.0, status=sent (250 ok)",
	HEAD "to=<a@b.test>" TAIL "x y=1, dsn=2.0.0, status=sent (250 ok)",
	HEAD "to=<a@b.test>" TAIL,
	HEAD "to=",
	"to=<a@b.test>" TAIL "dsn=2.0.0, status=sent (250 ok)",
};

static void check_span(struct span span, const char *text)
{
	if (text == NULL) {
		assert_null(span.data);
	} else {
		_cleanup_free_ char *copy = mem_dup(span.data, span.len);

		assert_string_equal(copy, text);
	}
}

static void test_deliveries(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(deliveries); i++) {
		const char *text = deliveries[i].line;
		struct log_line line;

		log_parse(text, strlen(text), "postfix", &line);
		assert_int_equal(line.kind, LOG_DELIVERY);
		assert_int_equal(line.status, deliveries[i].status);
		check_span(line.id, "34230ABA654");
		check_span(line.to, deliveries[i].to);
		check_span(line.orig_to, deliveries[i].orig_to);
		check_span(line.relay, deliveries[i].relay);
		check_span(line.dsn, deliveries[i].dsn);
		check_span(line.text, deliveries[i].text);
		assert_int_equal(line.cut, text[strlen(text) - 1] == ')' ? 0 : 1);
	}
}

static void test_unreadable(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(unreadable); i++) {
		struct log_line line;

		log_parse(unreadable[i], strlen(unreadable[i]), "postfix", &line);
		if (line.kind != LOG_BAD)
			fail_msg("%s", unreadable[i]);
	}
}

/* Lines that say nothing, whoever they imitate. */
static const char *const nothing[] = {
	"",
	/* other instances, other programs, other hosts' tags */
	"Nov 21 22:57:10 mail postfix-in/qmgr[1]: 34230ABA654: removed",
	"Nov 21 22:57:10 mail qmgr[1]: 34230ABA654: removed",
	"Nov 21 22:57:10 mail postfix/smtpd[1]: 34230ABA654: removed",
	"Nov 21 22:57:10 mail postfix/smtp[1]: 34230ABA654: removed",
	"Nov 21 22:57:10 mail dovecot: lda(x): 34230ABA654: removed",
	"Nov 21 22:57:10 mail x: postfix/qmgr[1]: 34230ABA654: removed",
	/* no queue id */
	"Nov 21 22:57:10 mail postfix/qmgr[1]: warning: removed",
	"Nov 21 22:57:10 mail postfix/qmgr[1]: removed",
	"Nov 21 22:57:10 mail postfix/qmgr[1]: NOQUEUE: removed",
	"Nov 21 22:57:10 mail postfix/qmgr[1]: 3423: removed",
};

static void test_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(nothing); i++) {
		struct log_line line;

		log_parse(nothing[i], strlen(nothing[i]), "postfix", &line);
		if (line.kind != LOG_NOTHING)
			fail_msg("%s", nothing[i]);
	}
}

/* Who sent a message: a client, or a user by sendmail(1). */
static const struct {
	const char *line;
	const char *client;
	int64_t uid;
} clients[] = {
	{"postfix/smtpd[1]: 34230ABA654: client=localhost[127.0.0.1]", "localhost[127.0.0.1]", -1},
	{"postfix/smtpd[1]: 34230ABA654: client=mx.test[2001:db8::1], sasl_method=PLAIN",
		"mx.test[2001:db8::1]", -1},
	{"postfix/smtpd[1]: 34230ABA654: client=unknown[unknown], orig_client=a[127.0.0.1]",
		"unknown[unknown]", -1},
	{"postfix/pickup[1]: 34230ABA654: uid=0 from=<x>", NULL, 0},
	{"postfix/pickup[1]: 34230ABA654: uid=65534 from=<uid=0>", NULL, 65534},
	{"postfix/pickup[1]: 34230ABA654: uid=4294967294 from=<x>", NULL, 4294967294},
	{"postfix/pickup[1]: 34230ABA654: uid=99999999999999999999 from=<x>", NULL, -1},
	{"postfix/pickup[1]: 34230ABA654: uid=x", NULL, -1},
	/* a sender that imitates a requeue */
	{"postfix/pickup[1]: 34230ABA654: uid=0 from=<x> orig_id=44230ABA654>", NULL, 0},
};

static void test_clients(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
		_cleanup_free_ char *text = mem_printf("Nov 21 22:57:10 mail %s", clients[i].line);
		struct log_line line;

		log_parse(text, strlen(text), "postfix", &line);
		if (line.kind != LOG_CLIENT || line.uid != clients[i].uid ||
			(clients[i].client ? !span_is(line.text, clients[i].client)
					   : line.text.data != NULL))
			fail_msg("%s", text);
	}
}

static const struct {
	const char *stamp;
	int64_t time_us; /* -1: it is none */
} stamps[] = {
	{"2026-11-21T23:31:03.800524+00:00", 1795303863800524},
	{"2026-11-21T23:31:03.800524+0000", 1795303863800524},
	{"2026-11-22T01:31:03.8+02:00", 1795303863800000},
	{"2026-11-21T18:01:03-05:30", 1795303863000000},
	{"2026-11-21T23:31:03Z", 1795303863000000},
	{"1970-01-01T00:00:00Z", 0},
	{"2024-02-29T12:00:00Z", 1709208000000000},
	{"2026-11-21T23:31:03", -1},
	{"2026-13-21T23:31:03Z", -1},
	{"2026-11-21 23:31:03Z", -1},
	/* the last one before the anchor */
	{"Nov 21 23:31:03", 1795303863000000},
	{"Nov  2 23:31:03", 1793662263000000},
	{"Nov 22 00:20:00", 1795306800000000},
	{"Nov 22 12:00:00", 1795348800000000},
	{"Nov 23 12:00:00", 1763899200000000},
	{"Dec 31 23:59:59", 1767225599000000},
	{"Feb 29 12:00:00", 1709208000000000},
	{"Nov 2 23:31:03", -1},
	{"Nox 21 23:31:03", -1},
	{"Nov 32 23:31:03", -1},
	{"Nov", -1},
};

static void test_stamps(void **state)
{
	const int64_t anchor_us = 1795303870000000;

	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	for (size_t i = 0; i < ARRAY_SIZE(stamps); i++) {
		_cleanup_free_ char *text = mem_printf(
			"%s mail postfix/qmgr[1]: 34230ABA654: removed", stamps[i].stamp);
		struct log_line line;

		log_parse(text, strlen(text), "postfix", &line);
		if (stamps[i].time_us < 0) {
			assert_int_equal(line.kind, LOG_BAD);
			continue;
		}
		assert_int_equal(line.kind, LOG_REMOVED);
		assert_true(log_stamp_time(&line.stamp, anchor_us) == stamps[i].time_us);
	}
}

/* The hour that comes twice in autumn: a line that is taken for one of the
 * first would be older than the record of its message, and nobody's. */
static void test_hour_that_comes_twice(void **state)
{
	static const char *const stamps_twice[] = {"Jul 21 02:30:00", "Oct 25 02:30:00",
		"Oct 25 01:59:59", "Oct 25 03:00:00", "Jul 21 02:30:00", "Oct 25 02:30:00"};
	/* date -u -d @... */
	static const int64_t times_s[] = {
		1784593800, 1792891800, 1792886399, 1792893600, 1784593800, 1792891800};
	const int64_t anchor_us = 1795303870000000;

	(void)state;
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	/* What mktime() takes depends on what it was asked before. */
	for (size_t i = 0; i < ARRAY_SIZE(times_s); i++) {
		_cleanup_free_ char *text = mem_printf(
			"%s mail postfix/qmgr[1]: 34230ABA654: removed", stamps_twice[i]);
		struct log_line line;

		log_parse(text, strlen(text), "postfix", &line);
		assert_int_equal(log_stamp_time(&line.stamp, anchor_us), times_s[i] * 1000000);
	}
	setenv("TZ", "UTC", 1);
	tzset();
}

static void test_glued(void **state)
{
	static const char cut[] = HEAD "to=<a@b.test>, relay=mx.test[127.0.0.11]:25, delay=0.";
	static const char next[] = "Nov 21 23:11:35 mail postfix/qmgr[1]: 44230ABA654: removed";
	_cleanup_free_ char *both = mem_printf("%s%s", cut, next);
	_cleanup_free_ char *foreign = mem_printf(
		"%sNov 21 23:11:35 mail other/qmgr[1]: 44230ABA654: removed", cut);
	_cleanup_free_ char *long_line = mem_printf("%s%02000d%s", cut, 0, next);
	struct log_line line;

	(void)state;
	log_parse(both, strlen(both), "postfix", &line);
	assert_int_equal(line.kind, LOG_BAD);
	assert_int_equal(log_parse_glued(both, strlen(both), "postfix"), strlen(cut));
	assert_int_equal(log_parse_glued(foreign, strlen(foreign), "postfix"), 0);
	/* Postfix may have cut this one: what is in it is an address. */
	assert_int_equal(log_parse_glued(long_line, strlen(long_line), "postfix"), 0);
	assert_int_equal(log_parse_glued(cut, strlen(cut), "postfix"), 0);
}

/* Wherever a line is cut between its addresses and its text, it does not take
 * what follows from the line that is glued to it, which counts. */
static void test_cut_anywhere(void **state)
{
	static const char delivery[] = HEAD
		"to=<a@b.test>, orig_to=<c@b.test>, "
		"relay=mx.test[127.0.0.11]:25,"
		" conn_use=2, delay=0.1, delays=0/0/0/0.1, dsn=4.0.0, "
		"status=deferred";
	static const char removed[] = "Nov 21 22:57:10 mail postfix/qmgr[1]: 34230ABA654: removed";
	static const char *const nexts[] = {
		"Nov 21 23:11:35 mail postfix/smtp[1]: 44230ABA654: to=<x@y.test>, "
		"relay=mx.test[127.0.0.11]:25, delay=2, delays=0/0/0/2, dsn=2.0.0, status=sent "
		"(250 ok)",
		"Nov 21 23:11:35 mail postfix/qmgr[1]: 44230ABA654: removed",
	};

	(void)state;
	for (size_t n = 0; n < ARRAY_SIZE(nexts); n++)
		for (size_t len = strlen(HEAD "to=<a@b.test>, orig_to=<c@b.test>,"
					      " ");
			len < strlen(delivery); len++) {
			_cleanup_free_ char *both = mem_printf(
				"%.*s%s", (int)len, delivery, nexts[n]);
			struct log_line line;

			log_parse(both, strlen(both), "postfix", &line);
			if (line.kind != LOG_BAD ||
				log_parse_glued(both, strlen(both), "postfix") != len)
				fail_msg("%s", both);
		}
	{
		_cleanup_free_ char *both = mem_printf("%s%s", removed, nexts[0]);
		struct log_line line;

		log_parse(both, strlen(both), "postfix", &line);
		assert_true(line.kind == LOG_REMOVED && line.cut);
		assert_int_equal(log_parse_glued(both, strlen(both), "postfix"), strlen(removed));
	}
}

static const struct {
	const char *text;
	const char *id;
	bool forwarded;
} answers[] = {
	{"250 2.0.0 Ok: queued as B940AABA613", "B940AABA613", false},
	{"250 2.0.0 from MTA(smtp:[127.0.0.1]:10025): 250 2.0.0 Ok: queued as "
	 "4jX6yzBBCDz1bBcD",
		"4jX6yzBBCDz1bBcD", false},
	{"forwarded as 6926FABA675", "6926FABA675", true},
	{"250 OK id=1vMxyz-00000001abC-1Q2w", NULL, false},
	{"250 Ok: queued as mail for you", NULL, false},
	{"250 Ok: queued as B940AABA613 and more", NULL, false},
	{"250 forwarded as 6926FABA675", NULL, false},
	{"", NULL, false},
};

static void test_queued_as(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		struct span text = {answers[i].text, strlen(answers[i].text)};
		bool forwarded;

		check_span(log_queued_as(text, &forwarded), answers[i].id);
		assert_int_equal(forwarded, answers[i].forwarded);
	}
}

/* The journal has tag and payload apart. */
static void test_payloads(void **state)
{
	static const char removed[] = "34230ABA654: removed";
	struct log_line line;

	(void)state;
	log_parse_payload("postfix/qmgr", removed, strlen(removed), "postfix", &line);
	assert_int_equal(line.kind, LOG_REMOVED);
	log_parse_payload("postfix/relay/qmgr", removed, strlen(removed), "postfix", &line);
	assert_int_equal(line.kind, LOG_REMOVED);
	log_parse_payload("other/qmgr", removed, strlen(removed), "postfix", &line);
	assert_int_equal(line.kind, LOG_NOTHING);
	log_parse_payload("", removed, strlen(removed), "postfix", &line);
	assert_int_equal(line.kind, LOG_NOTHING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_corpus),
		cmocka_unit_test(test_deliveries),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_clients),
		cmocka_unit_test(test_stamps),
		cmocka_unit_test(test_hour_that_comes_twice),
		cmocka_unit_test(test_glued),
		cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_queued_as),
		cmocka_unit_test(test_payloads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
