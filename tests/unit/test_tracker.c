/* tracker: what becomes of recipients by the lines of the corpus, whatever
 * order they come in and however often. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/str.h"
#include "events/repair.h"
#include "events/tracker.h"
#include "tests/unit/log_corpus.h"
#include "tests/unit/temp_db.h"

/* Lines of the corpus were written on 21 November 2026. */
static const int64_t anchor_us = INT64_C(1795309200000000);

/* An email that the milter recorded under the queue id, and what the section
 * makes of it. */
static const struct story {
	const char *section;
	const char *queue_id;
	const char *message_id;
	const char *recipients;
	const char *statuses;
	const char *last_event;
	int events; /* besides `accepted` */
} stories[] = {
	{"01", "34230ABA654", "<e01@sender.test>", "ok@remote.test", "delivered", "delivered", 1},
	{"02", "86F3DABA532", "<e02@sender.test>",
		"ok@remote.test rcpt550@remote.test rcpt450@remote.test",
		"delivered bounced deferred", "delivery_delayed", 3},
	{"03", "C594EABA656", "<e03@sender.test>", "ok@remote.test ok2@remote.test ok@dsn.test",
		"delivered delivered delivered", "delivered", 3},
	{"04", "07C3DABA658", "", "multi550@remote.test", "bounced", "bounced", 1},
	{"05", "3E5C2ABA65D", "", "multi421@remote.test", "deferred", "delivery_delayed", 1},
	{"06", "7118FABA65D", "", "long550@remote.test", "bounced", "bounced", 1},
	{"07", "A582CABA711", "", "longline@remote.test", "bounced", "bounced", 1},
	/* its bounce is none of ours, though it is delivered */
	{"02", "8E699ABA5B2", "", "app@sender.test", "delivered", "delivered", 1},
	/* deferred twice, then */
	{"15", "D8D2FABA551", "", "droprcpt@remote.test", "deferred", "delivery_delayed", 3},
	{"15", "EC920ABA703", "", "x@nxhost.test", "bounced", "bounced", 1},
	{"15", "2B8A8ABA72E", "", "x@notrans.test", "deferred", "delivery_delayed", 1},
	{"16", "06E06ABA731", "", "hangdot@remote.test", "deferred", "delivery_delayed", 1},
	{"17", "96C02ABA524", "",
		"ok@lmtp.test dot554@lmtp.test dot451@lmtp.test rcpt550@lmtp.test",
		"delivered bounced deferred bounced", "delivery_delayed", 4},
	/* sent, but into nothing */
	{"18", "4C50CABA512", "", "x@discard.test x@discard2.test", "discarded discarded", "failed",
		2},
	{"18b", "7B4ABABA4D2", "", "x@discard.test x@error.test x@retry.test nobody@vmail.test",
		"discarded bounced deferred bounced", "delivery_delayed", 4},
	{"19", "ADCAEABA574", "", "x@pipeok.test x@pipe1.test x@pipe75.test",
		"delivered bounced deferred", "delivery_delayed", 3},
	/* local(8) forwarded one, and what became of it counts */
	{"20", "150EDABA613", "<e20@sender.test>",
		"loc@localhost.test badcmd@localhost.test nosuchuser@localhost.test "
		"tocmd@localhost.test tofile@localhost.test tempcmd@localhost.test",
		"delivered bounced bounced delivered delivered deferred", "delivery_delayed", 7},
	{"21", "65AAAABA613", "<e21a@sender.test>", "one@localhost.test", "delivered", "delivered",
		2},
	{"21", "9A229ABA613", "<e21b@sender.test>", "many@localhost.test", "bounced", "bounced", 4},
	/* a list with an owner: its lines name none of our recipients */
	{"21", "17099ABA701", "<e21c@sender.test>", "list@localhost.test", "bounced", "bounced", 3},
	{"21", "A1CC3ABA701", "<e21d@sender.test>", "incl@localhost.test", "deferred",
		"delivery_delayed", 3},
	{"22", "88E20ABA7A5", "", "box@vmail.test mbox@vmail.test", "delivered delivered",
		"delivered", 2},
	/* virtual aliases: the original recipient is named */
	{"23", "C243CABA7AA", "", "sales@v.test", "delivered", "delivered", 1},
	{"23", "03C62ABA7AB", "", "team@v.test", "bounced", "bounced", 3},
	{"23", "CF9F3ABA7AB", "", "team@v.test sales@v.test ok@remote.test",
		"bounced delivered delivered", "bounced", 5},
	{"23d", "E30E5ABA753", "<e23d@sender.test>", "loopy@v.test", "delivered", "delivered", 2},
	/* content filters: by SMTP, and by pipe, where the end of the first
	 * message comes last */
	{"24a", "B11B2ABA553", "<e24a@sender.test>", "ok@remote.test rcpt550@remote.test",
		"delivered bounced", "bounced", 4},
	{"24b", "48F11ABA4CA", "<e24b@sender.test>", "ok@remote.test rcpt550@remote.test",
		"delivered bounced", "bounced", 4},
	{"24c", "899F0ABA558", "", "amavis@remote.test", "delivered", "delivered", 1},
	{"24c", "C435EABA558", "", "exim@remote.test", "delivered", "delivered", 1},
	{"34", "1C647ABA641", "<e34@sender.test>", "ok@remote.test", "delivered", "delivered", 2},
	/* the next host's log, by chance in ours */
	{"25", "8050EABA577", "<e25@sender.test>", "ok@hop2.test rcpt550@hop2.test",
		"delivered bounced", "bounced", 4},
	{"26a", "D88C7ABA4E8", "", "rcpt450@remote.test", "removed", "failed", 2},
	{"26b", "93DE3ABA555", "", "grey+b@remote.test", "delivered", "delivered", 2},
	{"26c", "32369ABA5B3", "<e26c@sender.test>", "rcpt450@remote.test ok@remote.test",
		"deferred delivered", "delivery_delayed", 2},
	{"26d", "8DBCFABA656", "", "rcpt450@remote.test ok@remote.test", "expired delivered",
		"bounced", 3},
	{"27", "4jX74870hmz1fL5V", "", "rcpt450@remote.test dot451@remote.test ok@remote.test",
		"expired expired expired", "bounced", 12},
	{"28", "75193ACC3A4", "", "noenh550@remote.test rcpt550@remote.test gmail@remote.test",
		"deferred deferred delivered", "delivery_delayed", 3},
	{"29a", "7B877ABA4DB", "", "rcpt550@remote.test", "discarded", "failed", 1},
	/* a rule added a recipient: it is none of ours */
	{"29a", "1DAEEABA4DC", "", "ok@remote.test rcpt550@remote.test", "delivered bounced",
		"bounced", 2},
	{"29b", "87DB6ABA4E9", "", "ok@remote.test", "discarded", "failed", 1},
	{"29c", "2B990ABA4EA", "", "ok@remote.test", "bounced", "bounced", 1},
	{"30d", "A1946ABA528", "<e30d@sender.test>", "team@v.test many@localhost.test",
		"bounced bounced", "bounced", 7},
	{"31", "ECB97ABA51E", "", "slowdot@remote.test", "deferred", "delivery_delayed", 3},
	{"32", "D5664ABA51F", "",
		"rcpt550+tag@remote.test \"a>,_relay=evil[6.6.6.6]:25,_delay=0,"
		"_delays=0/0/0/0,_dsn=2.0.0,_status=sent_(x\"@remote.test",
		"bounced delivered", "bounced", 2},
	{"32", "8AD4FABA52B", "", "ok@remote.test", "delivered", "delivered", 1},
	{"32", "4CCFEABA52C", "", "jürgen@dsn.test", "delivered", "delivered", 1},
	{"32", "BF14DABA52C", "", "ok@remote.test", "delivered", "delivered", 1},
	/* probes deliver nothing; the lines of the others are missing */
	{"35", "246AAABA53D", "", "ok@remote.test rcpt550@remote.test", "queued queued", "sent", 0},
	{"36", "A6262ABE4B4", "<e36@sender.test>",
		"x@discard.test loc@localhost.test rcpt450@remote.test rcpt550@remote.test "
		"ok@remote.test",
		"discarded delivered deferred bounced delivered", "delivery_delayed", 6},
	{"36", "D2632ABE4B7", "", "ok@remote.test", "discarded", "failed", 1},
	{"36", "01E0BABE4B8", "", "ok@remote.test", "queued", "sent", 0},
	{"37", "207F6ABA547", "", "ok+trace@remote.test", "deferred", "delivery_delayed", 2},
	{"38", "245A6ABA54C", "", "ok@dsn.test rcpt550@remote.test", "delivered bounced", "bounced",
		2},
	/* a line that was cut tells nothing; neither does a kill of Postfix */
	{"40", "4jX7GV29skz1fL5V", "", "ok@remote.test", "queued", "sent", 0},
	{"41", "4jX7fx4mFhz1fNt0", "", "ok@remote.test", "queued", "sent", 0},
	{"42", "4jX7kH5gV8z1fdQH", "", "rcpt450@remote.test rcpt550@remote.test ok@remote.test",
		"deferred bounced delivered", "delivery_delayed", 3},
	{"43", "4jX7TL5f7Vz1fdQw", "", "bin550@remote.test long550@remote.test", "bounced bounced",
		"bounced", 2},
	/* of other mail nothing is kept */
	{"01", "AAAAAAAAAAA", "", "ok@remote.test", "queued", "sent", 0},
};

/* What the tests of one story need. */
struct world {
	struct temp_db *temp;
	struct next_hops *next_hops;
	struct tracker *tracker;
	struct strv lines;
	int64_t email; /* seq */
	uint64_t number;
	int64_t behind_us; /* so far the clock that stamped the lines is behind */
};

static int64_t time_of(const struct log_line *line)
{
	return log_stamp_time(&line->stamp, anchor_us);
}

/* When the message first shows. */
static int64_t begin_of(const struct world *world, const char *queue_id)
{
	for (size_t i = 0; i < world->lines.n; i++) {
		struct log_line line;

		log_parse(world->lines.items[i], strlen(world->lines.items[i]),
			LOG_CORPUS_INSTANCES, &line);
		if (strstr(world->lines.items[i], queue_id))
			return time_of(&line);
	}
	return anchor_us - INT64_C(3600) * 1000000;
}

/* The recipients of a story; _ stands for a blank. */
static void add_recipients(struct email *email, const char *text)
{
	_cleanup_strv_ struct strv all = STRV_INIT;

	recipients_free(&email->recipients);
	email->recipients = (struct recipients){0};
	strv_split(&all, text, ' ');
	for (size_t i = 0; i < all.n; i++) {
		for (char *at = all.items[i]; *at; at++)
			if (*at == '_')
				*at = ' ';
		recipients_add(
			&email->recipients, RECIPIENT_TO, mem_strdup(all.items[i]), NULL, true);
	}
}

static void begin(struct world *world, struct temp_db *temp, const struct story *story)
{
	static const char sql_seq[] = "SELECT max(seq) FROM email";
	static int tenants;
	_cleanup_free_ char *company = mem_printf("Acme %d", ++tenants);
	_cleanup_free_ char *domain = mem_printf("d%d.example", tenants);
	struct temp_tenant tenant;
	struct email email;

	*world = (struct world){.temp = temp, .next_hops = next_hops_new("", "postfix")};
	world->tracker = tracker_new(temp->db, world->next_hops);
	log_corpus_read(story->section, &world->lines);
	temp_db_tenant(temp->db, company, domain, &tenant);
	temp_db_email(&tenant, &email);
	add_recipients(&email, story->recipients);
	if (story->message_id[0]) {
		free(email.message_id);
		email.message_id = mem_strdup(story->message_id);
	}
	OK(store_email_stage(temp->db, &email, &why));
	assert_int_equal(store_email_record(temp->db, email.ticket, story->queue_id,
				 begin_of(world, story->queue_id), NULL),
		1);
	world->email = temp_db_number(temp->db, sql_seq);
	store_email_clear(&email);
}

static void end(struct world *world)
{
	static const char sql_forget[] = "DELETE FROM email";
	int64_t n;

	n = db_change(world->temp->db, sql_forget, NULL, NULL);
	assert_true(n >= 0);
	tracker_free(world->tracker);
	next_hops_free(world->next_hops);
	strv_free(&world->lines);
}

/* The line with that number in the log. */
static void read_line_at(struct world *world, const struct log_line *line, uint64_t number)
{
	int64_t time_us = time_of(line) - world->behind_us;

	OK(tracker_line(world->tracker, line,
		&(struct line_position){number, time_us, time_us + (int64_t)number % 100000,
			world->behind_us ? DAY_US : 0},
		anchor_us, &why));
}

static void read_line(struct world *world, const char *text)
{
	struct log_line line;

	log_parse(text, strlen(text), LOG_CORPUS_INSTANCES, &line);
	read_line_at(world, &line, world->number++);
}

static void read_lines(struct world *world, size_t from, size_t to)
{
	OK(db_begin(world->temp->db, &why));
	for (size_t i = from; i < to; i++)
		read_line(world, world->lines.items[i]);
	OK(tracker_settle(world->tracker, &why));
	OK(db_commit_lazy(world->temp->db, &why));
}

static char *statuses_of(struct world *world)
{
	struct recipients all;
	struct buf text = BUF_INIT;

	OK(store_recipients_read(world->temp->db, world->email, true, &all, &why));
	for (size_t i = 0; i < all.n; i++)
		buf_printf(&text, "%s%s", i ? " " : "", delivery_status_name(all.items[i].status));
	recipients_free(&all);
	return buf_take(&text);
}

static void check(struct world *world, const struct story *story)
{
	static const char sql_last[] = "SELECT last_event FROM email ORDER BY seq DESC LIMIT 1";
	static const char sql_events[] = "SELECT count(*) FROM event WHERE kind <> 'accepted'";
	_cleanup_free_ char *statuses = statuses_of(world);
	_cleanup_free_ char *last = temp_db_text(world->temp->db, sql_last);
	int64_t events = temp_db_number(world->temp->db, sql_events);

	if (!str_eq(statuses, story->statuses) || !str_eq(last, story->last_event) ||
		events != story->events)
		fail_msg("section %s, %s: %s, %s, %d events", story->section, story->queue_id,
			statuses, last, (int)events);
}

static void test_stories(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(stories); i++) {
		struct world world;

		begin(&world, *state, &stories[i]);
		read_lines(&world, 0, world.lines.n);
		check(&world, &stories[i]);
		/* Again, by the same reader and by one that starts anew. */
		read_lines(&world, 0, world.lines.n);
		tracker_reset(world.tracker);
		read_lines(&world, 0, world.lines.n);
		check(&world, &stories[i]);
		end(&world);
	}
}

/* A reader that ends at any line goes on at the first one that it kept. */
static void test_interrupted(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(stories); i++) {
		struct world world;
		size_t done = 0;

		begin(&world, *state, &stories[i]);
		while (done < world.lines.n) {
			uint64_t oldest;

			world.number = done;
			read_lines(&world, done, done + 1);
			oldest = tracker_oldest(world.tracker);
			tracker_reset(world.tracker);
			world.number = oldest < done + 1 ? oldest : done + 1;
			read_lines(&world, (size_t)world.number, done + 1);
			done++;
		}
		check(&world, &stories[i]);
		end(&world);
	}
}

/* The lines of the message that a filter gave back come before the line that
 * connects them, or after all of the first one. */
static void test_order(void **state)
{
	static const char *const names[] = {"20", "21", "23d", "24a", "24b", "36"};

	for (size_t i = 0; i < ARRAY_SIZE(stories); i++) {
		bool wanted = false;
		struct world world;

		for (size_t k = 0; k < ARRAY_SIZE(names); k++)
			wanted = wanted || str_eq(stories[i].section, names[k]);
		if (!wanted)
			continue;
		begin(&world, *state, &stories[i]);
		OK(db_begin(world.temp->db, &why));
		for (int mine = 0; mine < 2; mine++)
			for (size_t k = 0; k < world.lines.n; k++)
				if ((strstr(world.lines.items[k], stories[i].queue_id) != NULL) ==
					mine)
					read_line(&world, world.lines.items[k]);
		OK(tracker_settle(world.tracker, &why));
		OK(db_commit_lazy(world.temp->db, &why));
		{
			_cleanup_free_ char *statuses = statuses_of(&world);

			if (!str_eq(statuses, stories[i].statuses))
				fail_msg("section %s, %s: %s", stories[i].section,
					stories[i].queue_id, statuses);
		}
		end(&world);
	}
}

/* Lines in any order, each twice, by a reader that is killed between them and
 * reads them all again. */
static void test_any_order(void **state)
{
	static const char *const names[] = {"02", "03", "19", "20", "21", "23", "23d", "24a", "24b",
		"25", "26c", "26d", "30d", "34", "36"};
	enum { ROUNDS = 12 };
	unsigned seed = 1;

	for (size_t i = 0; i < ROUNDS * ARRAY_SIZE(stories); i++) {
		const struct story *story = &stories[i / ROUNDS];
		_cleanup_free_ size_t *order = NULL;
		_cleanup_free_ char *statuses = NULL;
		bool wanted = false;
		struct world world;
		size_t n;

		for (size_t k = 0; k < ARRAY_SIZE(names); k++)
			wanted = wanted || str_eq(story->section, names[k]);
		if (!wanted)
			continue;
		begin(&world, *state, story);
		n = 2 * world.lines.n;
		order = mem_alloc(n, sizeof(*order));
		for (size_t k = 0; k < n; k++)
			order[k] = k % world.lines.n;
		for (size_t k = n - 1; k > 0; k--) {
			size_t other = order[k], to;

			seed = seed * 1103515245u + 12345u;
			to = (seed >> 16) % (k + 1);
			order[k] = order[to];
			order[to] = other;
		}
		OK(db_begin(world.temp->db, &why));
		for (size_t k = 0; k < n; k++) {
			const char *text = world.lines.items[order[k]];
			struct log_line line;

			log_parse(text, strlen(text), LOG_CORPUS_INSTANCES, &line);
			read_line_at(&world, &line, order[k]);
			if (k % 5 != i % 5)
				continue;
			OK(tracker_settle(world.tracker, &why));
			OK(db_commit_lazy(world.temp->db, &why));
			OK(db_begin(world.temp->db, &why));
		}
		OK(tracker_settle(world.tracker, &why));
		OK(db_commit_lazy(world.temp->db, &why));
		statuses = statuses_of(&world);
		if (!str_eq(statuses, story->statuses))
			fail_msg("round %zu, section %s, %s: %s", i % ROUNDS, story->section,
				story->queue_id, statuses);
		end(&world);
	}
}

/* The clock that stamped the lines was put back by some hours since. */
static void test_clock_behind(void **state)
{
	static const char *const names[] = {"01", "21", "24a", "24b", "26c", "30d"};

	for (size_t i = 0; i < ARRAY_SIZE(stories); i++) {
		_cleanup_free_ char *statuses = NULL;
		bool wanted = false;
		struct world world;

		for (size_t k = 0; k < ARRAY_SIZE(names); k++)
			wanted = wanted || str_eq(stories[i].section, names[k]);
		if (!wanted)
			continue;
		begin(&world, *state, &stories[i]);
		world.behind_us = 5 * HOUR_US;
		read_lines(&world, 0, world.lines.n);
		statuses = statuses_of(&world);
		if (!str_eq(statuses, stories[i].statuses))
			fail_msg("section %s, %s: %s", stories[i].section, stories[i].queue_id,
				statuses);
		end(&world);
	}
}

static int no_queue(void *queue,
	int (*on_item)(void *arg, struct queue_item *item, struct err *err), void *arg,
	struct err *err)
{
	(void)queue, (void)on_item, (void)arg, (void)err;
	return 0;
}

/* A filter gives the email back with another Message-ID: whatever becomes of it
 * is not told of the email, which is unknown when the queue has not had it for
 * ten minutes. */
static void test_other_message_id(void **state)
{
#define LINE(time, payload) "2026-11-21T22:" time "Z mail postfix/" payload
#define OURS                "4jX7GV2C8nz1fL5Q: "
#define CHILD               "4jX7GV2C8nz1fL60: "
	static const struct story story = {"01", "4jX7GV2C8nz1fL5Q", "<chosen@sender.test>",
		"ok@remote.test other@remote.test", "", "", 0};
	static const char *const lines[] = {
		LINE("00:00", "cleanup[1]: " OURS "message-id=<chosen@sender.test>"),
		LINE("00:00", "qmgr[1]: " OURS "from=<a@s.test>, size=1, nrcpt=2 (queue active)"),
		LINE("00:01", "smtpd[1]: " CHILD "client=localhost[127.0.0.1]"),
		LINE("00:01", "cleanup[1]: " CHILD "message-id=<another@sender.test>"),
		LINE("00:01", "qmgr[1]: " CHILD "from=<a@s.test>, size=1, nrcpt=2 (queue active)"),
		LINE("00:01", "smtp[1]: " CHILD "to=<ok@remote.test>, relay=mx[192.0.2.1]:25,"
			      " delay=1, delays=0/0/0/1, dsn=2.0.0, status=sent (250 ok)"),
		LINE("00:01", "qmgr[1]: " CHILD "removed"),
		LINE("00:02", "pipe[1]: " OURS "to=<ok@remote.test>, relay=filter, delay=2,"
			      " delays=0/0/0/2, dsn=2.0.0, status=sent (delivered via filter)"),
		LINE("00:02", "pipe[1]: " OURS "to=<other@remote.test>, relay=filter, delay=2,"
			      " delays=0/0/0/2, dsn=2.0.0, status=sent (delivered via filter)"),
		LINE("00:02", "qmgr[1]: " OURS "removed"),
	};
	static const struct {
		int64_t after_s;
		const char *statuses;
	} looks[] = {
		{0, "handed_on handed_on"},
		{REPAIR_AFTER_S + 1, "handed_on handed_on"},
		{REPAIR_AFTER_S + REPAIR_MISSED_S, "handed_on handed_on"},
		{REPAIR_AFTER_S + REPAIR_MISSED_S + 1, "unknown unknown"},
	};
	_cleanup_(repair) struct repair *repair = NULL;
	struct world world;

	begin(&world, *state, &story);
	next_hops_set_filters(world.next_hops, "filter:dummy");
	strv_free(&world.lines);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		strv_add(&world.lines, lines[i]);
	OK(db_exec(world.temp->db, "UPDATE email SET decided_us = 1795298400000000", &why));
	read_lines(&world, 0, world.lines.n);
	repair = repair_new(world.temp->db, NULL, no_queue, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(looks); i++) {
		_cleanup_free_ char *statuses = NULL;

		OK(repair_round(
			repair, INT64_C(1795298400000000) + looks[i].after_s * SECOND_US, &why));
		statuses = statuses_of(&world);
		if (!str_eq(statuses, looks[i].statuses))
			fail_msg("after %d s: %s", (int)looks[i].after_s, statuses);
	}
	/* Read again, the lines say nothing new. */
	tracker_reset(world.tracker);
	read_lines(&world, 0, world.lines.n);
	{
		_cleanup_free_ char *statuses = statuses_of(&world);

		assert_string_equal(statuses, "unknown unknown");
	}
	end(&world);
#undef LINE
#undef OURS
#undef CHILD
}

/* A recipient that was given without a domain: Postfix completes it, and logs both forms. */
static void test_completed_recipient(void **state)
{
#define LINE(to)                                                                                   \
	"2026-11-22T00:00:12Z mail postfix/smtp[1]: 4jX7GV2C8nz1fL5Q: to=<" to                     \
	">, orig_to=<root>, relay=mx[192.0.2.1]:25, delay=1, delays=0/0/0/1, dsn=2.0.0, "          \
	"status=sent (250 ok)"
	static const struct story story = {
		"01", "4jX7GV2C8nz1fL5Q", "", "root@here.test", "delivered", "delivered", 1};
	static const char *const lines[] = {
		LINE("root@here.test"),
		/* An alias leads elsewhere, to the same name or another one. */
		LINE("root@remote.test"),
		LINE("admin@remote.test"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct world world;

		begin(&world, *state, &story);
		strv_free(&world.lines);
		strv_add(&world.lines, lines[i]);
		read_lines(&world, 0, world.lines.n);
		check(&world, &story);
		end(&world);
	}
#undef LINE
}

/* A message that is refused after it was recorded is not in Postfix's queue: nobody is told that
 * it was accepted. It comes again under another queue id, and what the log says of that is said of
 * the email. */
static void test_refused_after_record(void **state)
{
#define LINE(time, payload) "2026-11-21T22:" time "Z mail postfix/" payload
#define FIRST               "4jX7GV2C8nz1fL5Q: "
#define SECOND              "4jX7GV2C8nz1fL60: "
	static const char sql_accepted[] = "SELECT count(*) FROM event WHERE kind = 'accepted'";
	static const char sql_ticket[] = "SELECT ticket FROM email ORDER BY seq DESC LIMIT 1";
	static const char sql_decided[] = "SELECT decided_us FROM email ORDER BY seq DESC LIMIT 1";
	static const struct story story = {"01", "4jX7GV2C8nz1fL5Q", "<chosen@sender.test>",
		"ok@remote.test other@remote.test", "", "", 0};
	static const char *const lines[] = {
		LINE("00:00", "cleanup[1]: " FIRST "message-id=<chosen@sender.test>"),
		LINE("00:00", "cleanup[1]: " FIRST "milter-reject: END-OF-MESSAGE from "
			      "localhost[127.0.0.1]: 4.7.1 Service unavailable - try again later; "
			      "from=<a@s.test> to=<t@postern.invalid> proto=ESMTP helo=<x>"),
		LINE("00:10", "pickup[1]: " SECOND "uid=0 from=<a@s.test>"),
		LINE("00:10", "cleanup[1]: " SECOND "message-id=<chosen@sender.test>"),
		LINE("00:11", "qmgr[1]: " SECOND "from=<a@s.test>, size=1, nrcpt=2 (queue active)"),
		LINE("00:12", "smtp[1]: " SECOND "to=<ok@remote.test>, relay=mx[192.0.2.1]:25,"
			      " delay=1, delays=0/0/0/1, dsn=2.0.0, status=sent (250 ok)"),
	};
	enum { REFUSED = 2, COMES_AGAIN = 4 };
	_cleanup_free_ char *ticket = NULL, *statuses = NULL;
	struct world world;

	begin(&world, *state, &story);
	strv_free(&world.lines);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		strv_add(&world.lines, lines[i]);
	OK(db_exec(world.temp->db, "UPDATE email SET decided_us = 1795298400000000", &why));
	read_lines(&world, 0, REFUSED);
	assert_int_equal(temp_db_number(world.temp->db, sql_accepted), 0);
	read_lines(&world, REFUSED, COMES_AGAIN);
	ticket = temp_db_text(world.temp->db, sql_ticket);
	assert_int_equal(store_email_record(world.temp->db, ticket, "4jX7GV2C8nz1fL60",
				 INT64_C(1795298410000000), NULL),
		STORE_EMAIL_RECORDED);
	/* By which repair finds it in the queue. */
	assert_true(temp_db_number(world.temp->db, sql_decided) == INT64_C(1795298410000000));
	read_lines(&world, COMES_AGAIN, world.lines.n);
	assert_int_equal(temp_db_number(world.temp->db, sql_accepted), 2);
	statuses = statuses_of(&world);
	assert_string_equal(statuses, "delivered queued");
	end(&world);
#undef LINE
#undef FIRST
#undef SECOND
}

/* Somebody who has the email sends it back, as a list or a forwarding does,
 * while it is tried for another recipient: no filter gave that message back. */
static void test_message_id_of_others(void **state)
{
#define LINE(time, payload) "2026-11-22T" time "Z mail postfix/" payload
#define OURS                "4jX7GV2C8nz1fL5Q: "
#define THEIRS              "4jX7GV2C8nz1fL60: "
	static const struct story story = {"01", "4jX7GV2C8nz1fL5Q", "<chosen@sender.test>",
		"ok@remote.test later@remote.test", "delivered delivered", "delivered", 3};
	static const char *const lines[] = {
		LINE("00:00:00", "cleanup[1]: " OURS "message-id=<chosen@sender.test>"),
		LINE("00:00:00", "qmgr[1]: " OURS "from=<app@sender.test>, size=1, nrcpt=2 "
				 "(queue active)"),
		LINE("00:00:01",
			"smtp[1]: " OURS "to=<ok@remote.test>, relay=mx[192.0.2.1]:25, delay=1, "
			"delays=0/0/0.5/0.5, dsn=2.0.0, status=sent "
			"(250 ok)"),
		LINE("00:00:01", "smtp[1]: " OURS "to=<later@remote.test>, relay=mx[192.0.2.1]:25, "
				 "delay=1, delays=0/0/0.5/0.5, dsn=4.0.0, "
				 "status=deferred (450 later)"),
		LINE("00:00:20", "cleanup[1]: " THEIRS "message-id=<chosen@sender.test>"),
		LINE("00:00:20", "qmgr[1]: " THEIRS "from=<list@there.test>, size=1, nrcpt=1 "
				 "(queue active)"),
		LINE("00:00:21", "local[1]: " THEIRS "to=<carol@here.test>, relay=local,"
				 " delay=1, delays=0/0/0/1, dsn=4.2.2, status=deferred "
				 "(mailbox full)"),
		LINE("00:10:00", "smtp[1]: " OURS "to=<later@remote.test>, relay=mx[192.0.2.1]:25, "
				 "delay=600, delays=599/0/0.5/0.5, dsn=2.0.0, "
				 "status=sent (250 ok)"),
		LINE("00:10:00", "qmgr[1]: " OURS "removed"),
	};
#undef LINE
#undef OURS
#undef THEIRS
	struct world world;

	begin(&world, *state, &story);
	strv_free(&world.lines);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		strv_add(&world.lines, lines[i]);
	read_lines(&world, 0, world.lines.n);
	check(&world, &story);
	end(&world);
}

/* Somebody elsewhere who has the email sends a message with its Message-ID while
 * it is at a filter that names no queue id: what becomes of that message is not
 * told of the email. Sent by a program of this host it is what the filter gave
 * back. The lines come in both orders. */
static void test_message_id_from_elsewhere(void **state)
{
#define LINE(time, payload) "2026-11-22T" time "Z mail postfix/" payload
#define OURS                "4jX7GV2C8nz1fL5Q: "
#define THEIRS              "4jX7GV2C8nz1fL60: "
	static const char *const clients[] = {
		"smtpd[1]: " THEIRS "client=localhost[127.0.0.1]",
		"smtpd[1]: " THEIRS "client=mx.there.test[192.0.2.7]",
		"pickup[1]: " THEIRS "uid=65534 from=<app@sender.test>",
		NULL, /* the line is missing */
	};
	static const char *const lines[] = {
		LINE("00:00:00", "cleanup[1]: " OURS "message-id=<chosen@sender.test>"),
		LINE("00:00:00", "qmgr[1]: " OURS "from=<app@sender.test>, size=1, nrcpt=1 "
				 "(queue active)"),
		LINE("00:00:01", "pipe[1]: " OURS "to=<ok@remote.test>, relay=filter, delay=1, "
				 "delays=0/0/0.5/0.5, dsn=2.0.0, status=sent "
				 "(delivered via filter service)"),
		LINE("00:00:01", "qmgr[1]: " OURS "removed"),
	};
	static const char *const others[] = {
		LINE("00:00:20", "cleanup[1]: " THEIRS "message-id=<chosen@sender.test>"),
		LINE("00:00:20", "qmgr[1]: " THEIRS "from=<x@there.test>, size=1, nrcpt=1 "
				 "(queue active)"),
		LINE("00:00:21", "smtp[1]: " THEIRS "to=<ok@remote.test>, relay=mx[192.0.2.1]:25,"
				 " delay=1, delays=0/0/0/1, dsn=2.0.0, status=sent "
				 "(250 ok)"),
		LINE("00:00:21", "qmgr[1]: " THEIRS "removed"),
	};
	static const struct story story = {
		"01", "4jX7GV2C8nz1fL5Q", "<chosen@sender.test>", "ok@remote.test", "", "", 0};

	for (size_t i = 0; i < 4 * ARRAY_SIZE(clients); i++) {
		const char *client = clients[i / 4];
		bool local = i / 4 == 0 || i / 4 == 2;
		_cleanup_free_ char *said = client ? mem_printf(LINE("00:00:20", "%s"), client)
						   : NULL;
		_cleanup_free_ char *statuses = NULL;
		struct world world;

		begin(&world, *state, &story);
		next_hops_set_filters(world.next_hops, "filter:dummy");
		strv_free(&world.lines);
		for (size_t k = 0; i % 2 == 0 && k < ARRAY_SIZE(lines); k++)
			strv_add(&world.lines, lines[k]);
		if (client && i / 2 % 2 == 0)
			strv_add(&world.lines, said);
		for (size_t k = 0; k < ARRAY_SIZE(others); k++)
			strv_add(&world.lines, others[k]);
		if (client && i / 2 % 2)
			strv_add(&world.lines, said);
		for (size_t k = 0; i % 2 && k < ARRAY_SIZE(lines); k++)
			strv_add(&world.lines, lines[k]);
		read_lines(&world, 0, world.lines.n);
		statuses = statuses_of(&world);
		if (!str_eq(statuses, local ? "delivered" : "handed_on"))
			fail_msg("case %zu: %s", i, statuses);
		end(&world);
	}
#undef LINE
#undef OURS
#undef THEIRS
}

/* Another company sends with the Message-ID that the first one has chosen: what
 * a filter gives back without a name is told of neither, unless one of them was
 * given its queue id. */
static void test_message_id_of_two(void **state)
{
#define LINE(time, payload) "2026-11-22T" time "Z mail postfix/" payload
#define NEW(time, id)                                                                              \
	LINE(time, "cleanup[1]: " id ": message-id=<chosen@sender.test>"),                         \
		LINE(time, "qmgr[1]: " id                                                          \
			   ": from=<app@sender.test>, size=1, "                                    \
			   "nrcpt=1 (queue active)")
#define TAKEN(time, id, to, relay, text)                                                           \
	LINE(time, id ": to=<" to ">, relay=" relay                                                \
		      ", delay=1, delays=0/0/0.5/0.5, dsn=2.0.0, "                                 \
		      "status=sent (" text ")")
	static const struct story first = {
		"01", "4jX7GV2C8nz1fL5Q", "<chosen@sender.test>", "secret@remote.test", "", "", 0};
	static const struct story second = {
		"01", "4jX7GV2C8nz1fL60", "<chosen@sender.test>", "other@remote.test", "", "", 0};
	static const char sql_leak[] =
		"SELECT count(*) FROM event v JOIN email_recipient r"
		" ON r.email = v.email AND r.n = v.n"
		" WHERE v.address LIKE 'secret%' AND r.address LIKE 'other%'";
	static const struct {
		const char *lines[8];
		const char *first, *second;
	} cases[] = {
		/* A program: nothing names the message that it made. */
		{{NEW("00:00:00", "4jX7GV2C8nz1fL5Q"), NEW("00:00:00", "4jX7GV2C8nz1fL60"),
			 TAKEN("00:00:01", "pipe[1]: 4jX7GV2C8nz1fL5Q", "secret@remote.test",
				 "filter", "delivered via filter service"),
			 TAKEN("00:00:01", "pipe[1]: 4jX7GV2C8nz1fL60", "other@remote.test",
				 "filter", "delivered via filter service")},
			"handed_on", "handed_on"},
		/* A server that gives its queue id. */
		{{NEW("00:00:00", "4jX7GV2C8nz1fL5Q"), NEW("00:00:00", "4jX7GV2C8nz1fL60"),
			 TAKEN("00:00:01", "smtp[1]: 4jX7GV2C8nz1fL5Q", "secret@remote.test",
				 "127.0.0.1[127.0.0.1]:10024",
				 "250 2.0.0 Ok: queued as 4jX7GV2C8nz1fL71"),
			 TAKEN("00:00:01", "smtp[1]: 4jX7GV2C8nz1fL60", "other@remote.test",
				 "127.0.0.1[127.0.0.1]:10024",
				 "250 2.0.0 Ok: queued as 4jX7GV2C8nz1fL72")},
			"delivered", "handed_on"},
	};
	static const char *const given_back[] = {NEW("00:00:01", "4jX7GV2C8nz1fL71"),
		TAKEN("00:00:01", "smtp[1]: 4jX7GV2C8nz1fL71", "secret@remote.test",
			"mx[192.0.2.1]:25", "250 ok"),
		LINE("00:00:01", "qmgr[1]: 4jX7GV2C8nz1fL71: removed")};
#undef LINE
#undef NEW
#undef TAKEN

	/* What was given back comes last, or first. */
	for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		struct world world, other;
		_cleanup_free_ char *statuses = NULL, *others = NULL;

		begin(&world, *state, &first);
		begin(&other, *state, &second);
		next_hops_set_filters(world.next_hops, "filter:dummy smtp:[127.0.0.1]:10024");
		strv_free(&world.lines);
		for (size_t k = 0; i % 2 && k < ARRAY_SIZE(given_back); k++)
			strv_add(&world.lines, given_back[k]);
		for (size_t k = 0; cases[i / 2].lines[k]; k++)
			strv_add(&world.lines, cases[i / 2].lines[k]);
		for (size_t k = 0; i % 2 == 0 && k < ARRAY_SIZE(given_back); k++)
			strv_add(&world.lines, given_back[k]);
		read_lines(&world, 0, world.lines.n);
		statuses = statuses_of(&world);
		others = statuses_of(&other);
		if (!str_eq(statuses, cases[i / 2].first) || !str_eq(others, cases[i / 2].second))
			fail_msg("case %zu: %s, %s", i, statuses, others);
		assert_int_equal(temp_db_number(world.temp->db, sql_leak), 0);
		end(&other);
		end(&world);
	}
}

/* What cleanup says of a message with a ticket that never comes to the milter. */
static void test_stopped(void **state)
{
#define LINE(program, payload)                                                                     \
	"2026-11-22T00:00:00Z mail postfix/" program                                               \
	"[1]: "                                                                                    \
	"ABCDEF0123: " payload
#define TICKET "0123456789abcdef0123456789abcdef"
#define ID     LINE("cleanup", "message-id=<it@made.test>")
#define OTHERS LINE("pickup", "uid=65534 from=<a@d.example>")
#define BOUNCED                                                                                    \
	LINE("cleanup", "to=<" TICKET                                                              \
			"@postern.invalid>, relay=none, "                                          \
			"delay=0, delays=0/0/0/0, dsn=5.7.1, "                                     \
			"status=bounced (no such words)")
#define DROPPED                                                                                    \
	LINE("cleanup",                                                                            \
		"discard: header Subject: x; from=<y> to=<z> "                                     \
		"from local; from=<a@d.example> "                                                  \
		"to=<" TICKET "@postern.invalid>: gone")
	static const struct {
		const char *lines[3];
		bool superseded;
		const char *statuses;
		const char *text;
	} cases[] = {
		{{ID, BOUNCED}, false, "bounced bounced bounced", "no such words"},
		{{ID, DROPPED}, false, "discarded discarded discarded", "header Subject: x"},
		{{LINE("cleanup",
			  "redirect: header Subject: to=<u> from "
			  "local; from=<a@d.example> to=<" TICKET "@postern.invalid> proto=ESMTP "
			  "helo=<localhost>: eve@dst.test"),
			 LINE("smtp", "to=<eve@dst.test>, orig_to=<" TICKET
				      "@postern.invalid>, relay=mx[192.0.2.1]:25, delay=0, "
				      "delays=0/0/0/0, dsn=2.0.0, status=sent (250 Ok)")},
			false, "discarded discarded discarded",
			"Postfix redirected it to eve@dst.test by header_checks: header Subject: "
			"to=<u> from local"},
		/* nobody asked the milter, and a table took the ticket's address */
		{{ID, LINE("error", "to=<eve@dst.test>, orig_to=<" TICKET
				    "@postern.invalid>, relay=none, delay=0, delays=0/0/0/0, "
				    "dsn=5.1.1, status=bounced (no such user)")},
			false, "bounced bounced bounced", "no such user"},
		{{ID, LINE("smtp", "to=<eve@dst.test>, orig_to=<" TICKET
				   "@postern.invalid>, relay=mx[192.0.2.1]:25, delay=0, "
				   "delays=0/0/0/0, dsn=2.0.0, status=sent (250 Ok)")},
			false, "discarded discarded discarded", "250 Ok"},
		/* cleanup had not come to the Message-ID */
		{{DROPPED}, false, "discarded discarded discarded", "header Subject: x"},
		/* somebody else's, to a ticket that stood in the queue */
		{{LINE("cleanup", "message-id=<else@where>"), BOUNCED}, false,
			"queued queued queued", NULL},
		{{LINE("cleanup", "message-id=<else@where>"), DROPPED}, false,
			"queued queued queued", NULL},
		{{BOUNCED}, false, "queued queued queued", NULL},
		/* the same of another user of the host, who has copied the Message-ID */
		{{OTHERS, ID, BOUNCED}, false, "queued queued queued", NULL},
		{{OTHERS, DROPPED}, false, "queued queued queued", NULL},
		/* of postern-httpd, or of an admin */
		{{LINE("pickup", "uid=0 from=<a@d.example>"), ID, BOUNCED}, false,
			"bounced bounced bounced", "no such words"},
		/* another message has its position */
		{{ID, BOUNCED}, true, "queued queued queued", NULL},
		/* it waits, for `postern held release --waiting` */
		{{ID, LINE("retry", "to=<" TICKET "@postern.invalid>, relay=none, "
				    "delay=0, delays=0/0/0/0, dsn=4.3.5, "
				    "status=deferred (not in charge)")},
			false, "queued queued queued", NULL},
	};
	static const char sql_forget[] = "DELETE FROM superseded_ticket";

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		static const char sql_seq[] = "SELECT max(seq) FROM email",
				  sql_text[] =
					  "SELECT text FROM email_recipient"
					  " WHERE n = 0",
				  sql_state[] = "SELECT state FROM email";
		_cleanup_free_ char *company = mem_printf("Stop %zu", i);
		_cleanup_free_ char *domain = mem_printf("s%zu.example", i);
		struct world world = {.temp = *state};
		struct temp_tenant tenant;
		struct email email;

		world.next_hops = next_hops_new("", "postfix");
		world.tracker = tracker_new(world.temp->db, world.next_hops);
		temp_db_tenant(world.temp->db, company, domain, &tenant);
		temp_db_email(&tenant, &email);
		strcpy(email.ticket, TICKET);
		free(email.message_id);
		email.message_id = mem_strdup("<it@made.test>");
		OK(store_email_stage(world.temp->db, &email, &why));
		world.email = temp_db_number(world.temp->db, sql_seq);
		for (size_t k = 0; k < ARRAY_SIZE(cases[i].lines) && cases[i].lines[k]; k++)
			strv_add(&world.lines, cases[i].lines[k]);
		if (cases[i].superseded) {
			secret_ticket(email.ticket);
			assert_int_equal(store_email_supersede(world.temp->db, &email, NULL), 1);
		}
		/* Again, as after a kill. */
		for (int again = 0; again < 2; again++) {
			_cleanup_free_ char *statuses = NULL;
			_cleanup_free_ char *text = NULL;
			_cleanup_free_ char *stays = NULL;

			read_lines(&world, 0, world.lines.n);
			statuses = statuses_of(&world);
			text = temp_db_text(world.temp->db, sql_text);
			stays = temp_db_text(world.temp->db, sql_state);
			if (!str_eq(statuses, cases[i].statuses) ||
				(cases[i].text && !str_eq(text, cases[i].text)))
				fail_msg("case %zu: %s, %s", i, statuses, text);
			assert_string_equal(stays, "staged");
			tracker_reset(world.tracker);
		}
		/* The next message of it begins anew. */
		secret_ticket(email.ticket);
		assert_int_equal(store_email_supersede(world.temp->db, &email, NULL), 1);
		{
			_cleanup_free_ char *statuses = statuses_of(&world);

			assert_string_equal(statuses, "queued queued queued");
		}
		store_email_clear(&email);
		end(&world);
		assert_true(db_change(world.temp->db, sql_forget, NULL, NULL) >= 0);
	}
#undef LINE
#undef TICKET
#undef ID
#undef BOUNCED
#undef OTHERS
#undef DROPPED
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_stories, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(test_interrupted, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(test_order, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(test_any_order, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(test_clock_behind, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(
			test_other_message_id, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(
			test_completed_recipient, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(
			test_refused_after_record, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(
			test_message_id_of_two, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(
			test_message_id_of_others, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(
			test_message_id_from_elsewhere, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(test_stopped, temp_db_setup, temp_db_teardown),
	};

	setenv("TZ", "UTC", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
