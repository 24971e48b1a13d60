/*
 * The command as a whole, over a database in a folder of its own: what it
 * prints, what it exits with, and what it leaves behind.
 */
#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <jansson.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/cmd.h"
#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/secret.h"
#include "core/base/str.h"
#include "core/store/company/store_domain.h"
#include "core/store/email/store_email.h"
#include "core/store/outbox/store_outbox.h"
#include "core/store/company/store_key.h"
#include "tests/unit/cli_box.h"
#include "tests/unit/temp_db.h"

static void test_companies(void **state)
{
	_cleanup_free_ char *id = add_company("Größe~&~Co");
	_cleanup_free_ char *name = got("name");
	_cleanup_free_ char *created = got("created_at");

	(void)state;
	assert_string_equal(name, "Größe & Co");
	assert_int_equal(strlen(created), strlen("2026-11-21T02:43:18.123456"
						 "+00:00"));
	run_ok("company list");
	assert_true(str_starts(at.out, "ID "));
	assert_non_null(strstr(at.out, id));
	assert_non_null(strstr(at.out, "Größe & Co"));
	run_ok("company list --json");
	assert_int_equal(rows_printed(), 1);
	run_ok("company remove %s", id);
	assert_non_null(strstr(at.out, "removed"));
	run_ok("company list --json");
	assert_int_equal(rows_printed(), 0);
}

static void test_domains(void **state)
{
	_cleanup_free_ char *company = add_company("A");
	_cleanup_free_ char *name = NULL;
	_cleanup_free_ char *owner = NULL;

	(void)state;
	run_ok("domain add MÜNCHEN.Example. --company %s --json", company);
	name = got("name");
	owner = got("company_id");
	assert_string_equal(name, "xn--mnchen-3ya.example");
	assert_string_equal(owner, company);
	assert_non_null(strstr(at.out, "\"active\": true"));
	run_ok("domain deactivate münchen.example");
	assert_string_equal(at.out, "domain xn--mnchen-3ya.example is not active for sending\n");
	run_ok("domain list");
	assert_non_null(strstr(at.out, " no "));
	run_ok("domain activate xn--mnchen-3ya.example --json");
	assert_non_null(strstr(at.out, "\"active\": true"));
	run_ok("domain add --inactive b.example --company %s --json", company);
	assert_non_null(strstr(at.out, "\"active\": false"));
	run_ok("domain list --json --company %s", company);
	assert_int_equal(rows_printed(), 2);
	run_ok("domain remove b.example --json");
	assert_non_null(strstr(at.out, "\"removed\": true, \"keys\": 0"));
	run_ok("domain list --json");
	assert_int_equal(rows_printed(), 1);
}

/* The bytes of the files that the database consists of. */
static void read_database(struct buf *all)
{
	static const char *const files[] = {"postern.db", "postern.db-wal"};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		FILE *file = fopen(files[i], "re");
		size_t n;

		if (file == NULL)
			continue;
		while ((n = fread(buf_reserve(all, 65536), 1, 65536, file)) > 0)
			buf_wrote(all, n);
		fclose(file);
	}
}

static bool database_has(const void *bytes, size_t len)
{
	_cleanup_buf_ struct buf all = BUF_INIT;

	read_database(&all);
	assert_true(all.len > 0);
	return memmem(all.data, all.len, bytes, len) != NULL;
}

static void test_a_token_is_not_stored(void **state)
{
	_cleanup_free_ char *company = add_company("A");
	_cleanup_free_ char *token = NULL;
	uint8_t hash[SECRET_HASH_LEN];

	(void)state;
	run_ok("key create --company %s --name n --json", company);
	token = got("token");
	assert_int_equal(strlen(token), SECRET_TOKEN_SIZE - 1);
	secret_hash(token, strlen(token), hash);
	assert_true(database_has(hash, sizeof(hash)));
	assert_false(database_has(token, strlen(token)));
	assert_false(database_has(token + 3, 16));
	run_ok("key list --json");
	assert_null(strstr(at.out, token));
	assert_null(strstr(at.out, "token"));
}

static void test_keys(void **state)
{
	_cleanup_free_ char *company = add_company("A");
	_cleanup_free_ char *id = NULL;

	(void)state;
	run_ok("domain add a.example --company %s", company);
	run_ok("key create --company %s --name n", company);
	assert_non_null(strstr(at.out, "\ntoken "));
	assert_non_null(strstr(at.out, " ps_"));
	assert_non_null(strstr(at.out, "sending, reading\n"));
	assert_non_null(strstr(at.out, "is shown only once"));
	run_ok("key create --company %s --name n --scope sending,reading --domain "
	       "A.Example --json",
		company);
	id = got("id");
	assert_non_null(strstr(at.out, "\"scopes\": [\"sending\", \"reading\"]"));
	assert_non_null(strstr(at.out, "\"domain\": \"a.example\""));
	run_ok("key list --json --company %s", company);
	assert_int_equal(rows_printed(), 2);
	assert_non_null(strstr(at.out, "\"last_used_at\": null, \"revoked_at\": null"));
	run_ok("key revoke %s --json", id);
	assert_null(strstr(at.out, "\"revoked_at\": null"));
	run_ok("key revoke %s", id);
	assert_non_null(strstr(at.out, ") revoked"));
	run_ok("domain remove a.example");
	assert_string_equal(
		at.out, "domain a.example removed, with the keys restricted to it (1)\n");
	run_ok("key list --json");
	assert_int_equal(rows_printed(), 1);
	run_ok("company remove %s --json", company);
	assert_non_null(strstr(at.out, "\"domains\": 0, \"keys\": 1"));
}

/* Runs `key create`, and expects these texts in what it prints for people, or after NULL not. */
static void created(const char *company, const char *scope, const char *const *texts)
{
	bool wanted = true;

	run_ok("key create --company %s --name n --scope %s", company, scope);
	for (; *texts || wanted; texts++)
		if (*texts == NULL)
			wanted = false;
		else if ((strstr(at.out, *texts) != NULL) != wanted)
			fail_msg("%s: %s", *texts, at.out);
}

/* How to send with a new key: what it may do, as whom, and where. */
static void test_first_email(void **state)
{
	_cleanup_free_ char *company = add_company("A");
	_cleanup_free_ char *token = NULL, *line = NULL;
	FILE *settings;

	(void)state;
	created(company, "sending",
		(const char *const[]){
			"no active domain", "hello@your-domain.example", NULL, "SMTP:", NULL});
	created(company, "reading",
		(const char *const[]){"\n  curl http://127.0.0.1:8587/emails \\\n", NULL,
			"no active domain", "hello@", NULL});
	created(company, "managing", (const char *const[]){":8587/domains \\\n", NULL, NULL});
	run_ok("domain add b.example --company %s --inactive", company);
	run_ok("domain add c.example --company %s", company);
	settings = fopen("postern.conf", "a");
	fputs("[http]\nlisten = unix:/run/api.sock\n[auth]\nurl = smtp://mail.example.com\n",
		settings);
	assert_int_equal(fclose(settings), 0);
	created(company, "sending",
		(const char *const[]){"\n  curl --unix-socket /run/api.sock \\\n"
				      "    http://localhost/emails \\\n",
			"\"hello@c.example\"",
			"\n  Host      mail.example.com\n  Port      587\n"
			"  Security  STARTTLS\n  User      postern\n  Password  ps_",
			NULL, "no active domain", NULL});
	created(company, "reading", (const char *const[]){NULL, "SMTP:", NULL});
	run_ok("key create --company %s --name n --json", company);
	token = got("token");
	line = mem_printf("\"token\": \"%s\"", token);
	assert_non_null(strstr(at.out, line));
	assert_null(strstr(at.out, "curl"));
}

static void test_terminal_width(void **state)
{
	const struct winsize narrow = {.ws_row = 20, .ws_col = 60};
	int terminal = posix_openpt(O_RDWR | O_NOCTTY), null = open("/dev/null", O_RDWR);

	(void)state;
	assert_int_equal(terminal_width(null), 0);
	assert_int_equal(terminal_width(terminal), 80); /* it does not tell its size */
	assert_int_equal(ioctl(terminal, TIOCSWINSZ, &narrow), 0);
	assert_int_equal(terminal_width(terminal), 60);
	close(null);
	close(terminal);
}

static struct db *open_database(void)
{
	struct db *db = NULL;
	struct err err = ERR_INIT;

	if (db_open("postern.db", DB_WRITE, &db, &err) < 0)
		fail_msg("%s", err.text);
	return db;
}

static void ask_for(const char *company, const char *name)
{
	_cleanup_(db) struct db *db = open_database();
	struct err err = ERR_INIT;
	struct domain domain;

	if (store_domain_add(db, company, name, &(const struct domain){.pending = true}, 1, &domain,
		    &err) < 0)
		fail_msg("%s", err.text);
	store_domain_clear(&domain);
}

/* What several companies asked for, one of them gets. */
static void test_domains_asked_for(void **state)
{
	_cleanup_free_ char *one = add_company("One");
	_cleanup_free_ char *other = add_company("Other");

	(void)state;
	ask_for(one, "new.example");
	ask_for(other, "new.example");
	run_ok("domain list --json --company %s", one);
	assert_non_null(strstr(at.out, "\"pending\": true"));
	run("domain activate new.example");
	assert_int_equal(at.status, EX_NOINPUT);
	assert_non_null(strstr(at.errors, "--company"));
	run_ok("domain activate new.example --json --company %s", one);
	assert_non_null(strstr(at.out, "\"active\": true, \"pending\": false"));
	run_ok("domain deactivate new.example");
	run_ok("domain remove new.example --company %s", other);
	run_ok("domain list --json");
	assert_int_equal(rows_printed(), 1);
}

/* An email from a client that wishes the terminal ill. */
static void stage(const char *company, const char *key, const char *id, const char *message_id,
	int64_t created_us)
{
	_cleanup_(db) struct db *db = open_database();
	struct err err = ERR_INIT;
	struct email email = {
		.domain = (char *)"a.example",
		.sender = (char *)"me@a.example",
		.from = (char *)"Me <me@a.example>",
		.subject = (char *)"\x1b]0;owned\x07 Größe",
		.html = (char *)"<p>hi</p>",
		.text = (char *)"hi\n\x1b[2Jthere\n",
		.message_id = (char *)message_id,
		.created_us = created_us,
	};

	strcpy(email.id, id);
	strcpy(email.company_id, company);
	strcpy(email.key_id, key);
	snprintf(email.ticket, sizeof(email.ticket), "%.32s", id);
	temp_db_recipient(&email, RECIPIENT_TO, "you@b.example", "You <you@b.example>");
	temp_db_recipient(&email, RECIPIENT_TO, "x@b.example", NULL);
	if (store_email_stage(db, &email, &err) < 0 ||
		store_outbox_add(db, email.seq, 1, 1, &err) < 0)
		fail_msg("%s", err.text);
	recipients_free(&email.recipients);
}

static void record(const char *id, const char *refusal)
{
	_cleanup_(db) struct db *db = open_database();
	struct err err = ERR_INIT;
	char ticket[SECRET_TICKET_SIZE];
	int done;

	snprintf(ticket, sizeof(ticket), "%.32s", id);
	done = refusal ? store_email_refuse(db, ticket, "Q2", refusal, 1795228999000000, &err)
		       : store_email_record(db, ticket, "Q1", 1795228999000000, &err);
	if (done != 1 || store_outbox_remove(db, id, 1795228999000000, &err) != 1)
		fail_msg("%d %s", done, err.text);
}

static bool is_printable(const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

#define FIRST  "11111111-1111-4111-8111-111111111111"
#define SECOND "22222222-2222-4222-8222-222222222222"
#define THIRD  "33333333-3333-4333-8333-333333333333"

static char *stage_three(void)
{
	char *company = add_company("A");
	_cleanup_free_ char *key = NULL;

	run_ok("domain add a.example --company %s", company);
	run_ok("key create --company %s --name n --json", company);
	key = got("id");
	stage(company, key, FIRST, "<first@a.example>", 1795228998123456);
	stage(company, key, SECOND, "<1@a.example>", 1795228998123457);
	stage(company, key, THIRD, "<1@a.example>", 1795228998123458);
	record(SECOND, NULL);
	record(THIRD, "The domain is not active.");
	return company;
}

static void test_email_show(void **state)
{
	_cleanup_free_ char *company = stage_three();
	static const char *const wanted[] = {"\"object\": \"email\"", "\"id\": \"" SECOND "\"",
		"\"from\": \"Me <me@a.example>\"", "\"to\": [\"you@b.example\", \"x@b.example\"]",
		"\"cc\": []", "\"bcc\": []", "\"reply_to\": null",
		"\"subject\": \"\\u001B]0;owned\\u0007 Gr\\u00F6\\u00DFe\"",
		"\"html\": \"<p>hi</p>\"", "\"text\": \"hi\\n\\u001B[2Jthere\\n\"",
		"\"created_at\": \"2026-11-21T02:43:18.123457+00:00\"", "\"last_event\": \"sent\"",
		"\"state\": \"sent\"", "\"sent_at\": \"2026-11-21T02:43:19.000000+00:00\"",
		"\"decided_at\": \"2026-11-21T02:43:19.000000+00:00\"", "\"queue_id\": \"Q1\"",
		"\"refusal\": null", "\"domain\": \"a.example\"", "\"sender\": \"me@a.example\"",
		"\"message_id\": \"<1@a.example>\""};

	(void)state;
	run_ok("email show " SECOND " --json");
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (strstr(at.out, wanted[i]) == NULL)
			fail_msg("no %s in %s", wanted[i], at.out);
	assert_non_null(strstr(at.out, company));
	run_ok("email show <" SECOND "@a.example>");
	run_ok("email show " SECOND "@a.example");
	run_ok("email show <first@a.example> --json");
	assert_non_null(strstr(at.out, "\"id\": \"" FIRST));
	run_ok("email show first@a.example --json");
	assert_non_null(strstr(at.out, "\"id\": \"" FIRST));
	run("email show <1@a.example>");
	assert_int_equal(at.status, EX_DATAERR);
	assert_non_null(strstr(at.errors, "by its id: " THIRD ", " SECOND));
	run_ok("email show " SECOND);
	assert_true(is_printable(at.out));
	assert_true(str_starts(at.out, "Not yet, of 2 recipients: 2 not tried"));
	assert_non_null(strstr(at.out, "\\x1b]0;owned\\x07 Größe\n"));
	assert_null(strstr(at.out, "there\n"));
	run_ok("email show " SECOND " --content");
	assert_true(is_printable(at.out));
	assert_non_null(strstr(at.out, "\ntext:\nhi\n\\x1b[2Jthere\n"));
	run("email show Q1");
	assert_int_equal(at.status, EX_DATAERR);
	run("email show NONE1");
	assert_int_equal(at.status, EX_NOINPUT);

	run_ok("email show " FIRST " --json");
	assert_non_null(strstr(at.out, "\"state\": \"queued\""));
	assert_non_null(strstr(at.out, "\"last_event\": \"queued\""));
	assert_non_null(strstr(at.out, "\"sent_at\": null"));
	assert_non_null(strstr(at.out, "\"decided_at\": null"));
	run_ok("email show " THIRD " --json");
	assert_non_null(strstr(at.out, "\"state\": \"refused\""));
	assert_non_null(strstr(at.out, "\"sent_at\": null"));
	assert_non_null(strstr(at.out, "\"decided_at\": \"2026-"));
	assert_non_null(strstr(at.out, "The domain is not active."));
}

static void test_email_list(void **state)
{
	_cleanup_free_ char *company = stage_three();
	const char *first, *second;

	(void)state;
	run_ok("email list --json");
	assert_int_equal(rows_printed(), 3);
	assert_null(strstr(at.out, "\"html\""));
	assert_null(strstr(at.out, "\"text\""));
	first = strstr(at.out, FIRST);
	second = strstr(at.out, SECOND);
	assert_true(first && second && second < first); /* newest first */
	run_ok("email list --json --limit 2");
	assert_int_equal(rows_printed(), 2);
	run_ok("email list --json --company %s --domain A.example", company);
	assert_int_equal(rows_printed(), 3);
	run_ok("email list --json --company " NO_ID);
	assert_int_equal(rows_printed(), 0);
	run_ok("email list --json --domain b.example");
	assert_int_equal(rows_printed(), 0);
	run_ok("email list");
	assert_true(is_printable(at.out));
	assert_true(str_starts(at.out, "CREATED "));
}

static void test_email_list_filters(void **state)
{
	static const struct {
		const char *options;
		size_t rows;
	} cases[] = {
		{"--to X@B.example", 3},
		{"--to nobody@b.example", 0},
		{"--from Me@a.example", 3},
		{"--from x@b.example", 0},
		{"--subject grö", 3},
		{"--subject nothing", 0},
		{"--state queued", 1},
		{"--state scheduled", 0},
		{"--state stopped", 0},
		{"--state canceled", 0},
		{"--state refused", 1},
		{"--state sent --to x@b.example", 1},
		{"--state bounced", 0},
		{"--since 2026-11-21T02:43:18Z", 3},
		{"--since 2026-11-21T02:44", 0},
		{"--until 2026-11-21T02:44", 3},
		{"--until 2026-11-21T02:43", 0},
		{"--since 2026-11-21 --until 2026-11-22 --limit 2", 2},
	};
	_cleanup_free_ char *company = NULL;

	(void)state;
	company = stage_three();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		run_ok("email list --json %s", cases[i].options);
		if (rows_printed() != cases[i].rows)
			fail_msg("%s: %s", cases[i].options, at.out);
	}
	run("email list --state nonsense");
	assert_int_equal(at.status, EX_DATAERR);
	run("email list --since yesterday");
	assert_int_equal(at.status, EX_DATAERR);
}

static void test_email_purge(void **state)
{
	_cleanup_free_ char *company = NULL;

	(void)state;
	company = stage_three(); /* staged, in the queue, refused */
	run("email purge");
	assert_int_equal(at.status, EX_DATAERR);
	run("email purge --older-than 2m");
	assert_int_equal(at.status, EX_DATAERR);
	assert_non_null(strstr(at.errors, "minutes or months? Write 2min"));
	run("email purge --older-than soon");
	assert_int_equal(at.status, EX_DATAERR);
	run_ok("email purge --older-than 1970-01-01 --json");
	assert_non_null(strstr(at.out, "\"emails\": 0, \"recipients\": 0, \"left\": 0"));
	run_ok("email purge --to x@b.example --dry-run");
	assert_non_null(strstr(at.out, "0 emails would be removed"));
	run_ok("email purge --domain other.example --json");
	assert_string_equal(at.out,
		"{\"emails\": 0, \"recipients\": 0, \"left\": 0, \"dry_run\": false, "
		"\"log_emptied\": true, \"suppressions\": 0}\n");
	run_ok("email purge --domain A.example");
	assert_non_null(strstr(at.out, " left, of the last 24 hours or waiting"));
	run_ok("email list --json --state queued");
	assert_int_equal(rows_printed(), 1);
	run_ok("email list --json --state sent");
	assert_int_equal(rows_printed(), 1);
}

static void test_stats(void **state)
{
	_cleanup_(db) struct db *db = open_database();
	struct err err = ERR_INIT;

	(void)state;
	run_ok("stats --json");
	assert_int_equal(rows_printed(), 1); /* the sum */
	if (db_exec(db,
		    "INSERT INTO event_count"
		    " (company_id, hour_us, domain, kind, count) VALUES"
		    " ('" NO_ID "', 1795226400000000, 'a.example', 'accepted', 5),"
		    " ('" NO_ID "', 1795226400000000, 'a.example', 'bounced', 1),"
		    " ('" NO_ID "', 1795226400000000, 'a.example', 'expired', 2),"
		    " ('" NO_ID "', 1795230000000000, 'a.example', 'delivered', 3),"
		    " ('x', 1795230000000000, 'b.example', 'delivered', 4),"
		    " ('x', 1795312800000000, 'b.example', 'handed_on', 9)",
		    &err) < 0)
		fail_msg("%s", err.text);
	run_ok("stats --since 2026-11-01 --until 2026-12-01 --json");
	assert_non_null(strstr(at.out,
		"\"step\": \"2026-11-21\", \"accepted\": 5, \"delivered\": 7, "
		"\"deferred\": 0, \"bounced\": 3,"));
	run_ok("stats --since 2026-11-01 --until 2026-12-01");
	assert_non_null(strstr(at.out, "\n2026-11-21  5  "));
	run_ok("stats --hours --since 2026-11-01 --until 2026-12-01 --json");
	assert_int_equal(rows_printed(), 4);
	run_ok("stats --hours --since 2026-11-01 --until 2026-11-21T03:00");
	assert_non_null(strstr(at.out, "\n2026-11-21 02:00  5  "));
	assert_null(strstr(at.out, "2026-11-21 03:00"));
	run_ok("stats --since 2026-11-01 --until 2026-12-01 --domain B.example --json");
	assert_non_null(strstr(at.out, "\"all\", \"accepted\": 0, \"delivered\": 4,"));
	run_ok("stats --since 2026-11-01 --until 2026-12-01 --json"
	       " --company " NO_ID);
	assert_non_null(strstr(at.out, "\"all\", \"accepted\": 5, \"delivered\": 3,"));
}

static void test_database(void **state)
{
	struct stat file;

	(void)state;
	run_ok("db migrate --json");
	assert_non_null(strstr(at.out, "\"applied\": 0"));
	run_ok("db check");
	assert_string_equal(at.out, "ok\n");
	run_ok("db check --json");
	assert_non_null(strstr(at.out, "\"ok\": true"));
	run_ok("company add Kept");
	run_ok("db backup copy.db");
	assert_non_null(strstr(at.out, "copied to copy.db"));
	assert_int_equal(stat("copy.db", &file), 0);
	assert_true(file.st_size > 0);
	run("db backup copy.db");
	assert_int_equal(at.status, EX_DATAERR);
	assert_non_null(strstr(at.errors, "copy.db"));
}

/* The copy is a database that the command can work on. */
static void test_a_backup_can_be_used(void **state)
{
	(void)state;
	run_ok("company add Kept");
	run_ok("db backup copy.db");
	run_ok("company add Later");
	assert_int_equal(rename("copy.db", "postern.db"), 0);
	unlink("postern.db-wal");
	unlink("postern.db-shm");
	run_ok("db check");
	run_ok("company list");
	assert_non_null(strstr(at.out, "Kept"));
	assert_null(strstr(at.out, "Later"));
}

static void test_settings(void **state)
{
	_cleanup_free_ char *store = mem_printf("[store]\ndatabase = %s/postern.db\n", at.folder);

	(void)state;
	run_ok("config");
	assert_true(str_starts(at.out, store));
	assert_non_null(strstr(at.out, "\n[log]\ntarget = stderr\n"));
	run_ok("config --json");
	assert_true(rows_printed() > 20);
	assert_non_null(strstr(at.out,
		"{\"section\": \"http\", \"name\": \"max_recipients\", \"value\": \"0\", "
		"\"default\": \"0\"}"));
}

/* Each failure has its exit status, and says on standard error, and only
 * there, what is wrong. */
static void test_failures(void **state)
{
	static const struct {
		const char *line;
		int status;
		const char *says;
	} cases[] = {
		{"company remove " NO_ID, EX_NOINPUT, "no company with the id"},
		{"hosts remove mx9", EX_NOINPUT, "there is no host mx9"},
		{"suppression add nobody --company " NO_ID, EX_DATAERR,
			"ADDRESS is no address: \"nobody\": it has no @"},
		{"company remove x", EX_DATAERR, "\"x\" is no company id"},
		{"key revoke ps_x", EX_DATAERR, "this is the token of a key"},
		{"company add A", EX_DATAERR, "A"},
		{"company add ", EX_DATAERR, "name"},
		{"company add a\x1b[m", EX_DATAERR, "control"},
		{"domain add c.example --company " NO_ID, EX_NOINPUT, "company"},
		{"domain add c.example --company x", EX_DATAERR, "\"x\" is no company id"},
		{"domain add nodots --company " NO_ID, EX_DATAERR, "nodots"},
		{"domain add a..b --company " NO_ID, EX_DATAERR, "a..b"},
		{"domain activate c.example", EX_NOINPUT, "there is no domain c.example"},
		{"domain deactivate c.example", EX_NOINPUT, "c.example"},
		{"domain remove c.example", EX_NOINPUT, "c.example"},
		{"domain list --company " NO_ID, EX_NOINPUT, "no company with the id"},
		{"key list --company " NO_ID, EX_NOINPUT, "no company with the id"},
		{"domain list --company x", EX_DATAERR, "\"x\" is no company id"},
		{"key create --company " NO_ID " --name n", EX_NOINPUT, "company"},
		{"key create --company " NO_ID " --name n --scope all", EX_DATAERR, "all"},
		{"key create --company " NO_ID " --name n --domain x", EX_DATAERR, "x"},
		{"key list --company x", EX_DATAERR, "\"x\" is no company id"},
		{"key revoke " NO_ID, EX_NOINPUT, "no key with the id"},
		{"key revoke x", EX_DATAERR, "\"x\" is no key id"},
		{"email show " NO_ID, EX_NOINPUT, "no email with the id"},
		{"email show <x@a.example>", EX_NOINPUT,
			"no email with the Message-ID <x@a.example>"},
		{"email show " NO_ID "@a.example", EX_NOINPUT,
			"no email with the Message-ID <" NO_ID},
		{"email show x", EX_DATAERR, "\"x\" is no email id"},
		{"email list --limit 0", EX_DATAERR, "from 1 to 1000"},
		{"email list --limit 1001", EX_DATAERR, "from 1 to 1000"},
		{"email list --limit x", EX_DATAERR, "from 1 to 1000"},
		{"email list --domain x", EX_DATAERR, "x"},
		{"db backup /nowhere/copy.db", EX_CONFIG, "/nowhere/copy.db"},
		{"company", EX_USAGE, "company what?"},
		{"domain add c.example", EX_USAGE, "usage: postern domain add NAME --company ID"},
		{"domain add c.example --nonsense", EX_USAGE,
			"usage: postern domain add NAME --company ID"},
		{"--nonsense config", EX_USAGE, "usage: postern config"},
		{"company --nonsense", EX_USAGE, "usage: postern COMMAND"},
		{"-c /nowhere.conf company list", EX_CONFIG,
			"cannot read /nowhere.conf: No such file"},
	};

	(void)state;
	run_ok("company add A");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		run(cases[i].line);
		if (at.status != cases[i].status)
			fail_msg("%s: %d %s", cases[i].line, at.status, at.errors);
		if (!str_starts(at.errors, "postern: ") || !strstr(at.errors, cases[i].says) ||
			!is_printable(at.errors))
			fail_msg("%s: %s", cases[i].line, at.errors);
		assert_string_equal(at.out, "");
	}
	run_ok("company list --json");
	assert_int_equal(rows_printed(), 1);
}

static void test_without_database(void **state)
{
	static const char *const lines[] = {
		"company list", "company add A", "email list", "db check"};

	(void)state;
	unlink("postern.db");
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		run(lines[i]);
		assert_int_equal(at.status, EX_CONFIG);
		assert_non_null(strstr(at.errors, "postern.db"));
		assert_int_not_equal(access("postern.db", F_OK), 0);
	}
	run_ok("db migrate --json");
	assert_null(strstr(at.out, "\"applied\": 0"));
	run_ok("company list");
}

/* A database that lacks the schema is not touched, nor one of another program. */
static void test_old_schema(void **state)
{
	static const char *const lines[] = {"company add A", "db migrate"};
	_cleanup_(db) struct db *db = NULL;

	(void)state;
	unlink("postern.db");
	assert_int_equal(db_open("postern.db", DB_CREATE, &db, NULL), 0);
	run("company add A");
	assert_int_equal(at.status, EX_CONFIG);
	assert_non_null(strstr(at.errors, "migrate"));
	assert_int_equal(db_exec(db, "CREATE TABLE other (x)", NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		run(lines[i]);
		assert_int_equal(at.status, EX_CONFIG);
		assert_non_null(strstr(at.errors, "another program"));
	}
}

/* What a migration does is tried on a copy, which is gone afterwards. */
static void test_rehearsal(void **state)
{
	_cleanup_(db) struct db *db = NULL;
	glob_t left;

	(void)state;
	run_ok("db rehearse");
	assert_non_null(strstr(at.out, "nothing is to be migrated"));
	assert_int_equal(db_open("postern.db", DB_WRITE, &db, NULL), 0);
	assert_int_equal(db_exec(db, "DELETE FROM schema_migration WHERE version > 1", NULL), 0);
	run("db rehearse");
	assert_int_not_equal(at.status, EX_OK);
	assert_non_null(strstr(at.errors, "the database is as it was"));
	db_close(TAKE_PTR(db));
	unlink("postern.db");
	run_ok("db rehearse");
	assert_int_not_equal(access("postern.db", F_OK), 0);
	assert_int_equal(db_open("postern.db", DB_CREATE, &db, NULL), 0);
	run_ok("db rehearse --json");
	assert_non_null(strstr(at.out, "\"version\": 0"));
	assert_int_equal(glob("*.rehearsal*", 0, NULL, &left), GLOB_NOMATCH);
	run("company list");
	assert_int_equal(at.status, EX_CONFIG);
}

static void test_help_and_version(void **state)
{
	(void)state;
	run_ok("--version");
	assert_true(str_starts(at.out, "postern "));
	run_ok("--help");
	assert_non_null(strstr(at.out, "postern key create --company ID"));
	run_ok("key --help");
	assert_non_null(strstr(at.out, "postern key create --company ID"));
	assert_null(strstr(at.out, "postern company"));
	run_ok("key create --help");
	assert_non_null(strstr(at.out, "  --scope SCOPES\n"));
	run_ok("help key create");
	assert_non_null(strstr(at.out, "  --scope SCOPES\n"));
}

/* Output that cannot be written is an error, though the work is done. */
static void check_full(int argc, char **argv)
{
	FILE *full = fopen("/dev/full", "we");
	FILE *errors = tmpfile();
	char said[200] = "";

	assert_true(full && errors);
	assert_int_equal(cli_run(argc, argv, full, errors), EX_TEMPFAIL);
	rewind(errors);
	assert_non_null(fgets(said, sizeof(said), errors));
	assert_string_equal(said, "postern: done, but cannot print it: No space left on device\n");
	fclose(full);
	fclose(errors);
}

static void test_output_that_fails(void **state)
{
	char *line[] = {(char *)"postern", (char *)"-c", (char *)"postern.conf", (char *)"company",
		(char *)"add", (char *)"A", NULL};
	char *help[] = {(char *)"postern", (char *)"--help", NULL};

	(void)state;
	check_full(6, line);
	run_ok("company list --json");
	assert_int_equal(rows_printed(), 1);
	check_full(2, help);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, cli_box_setup, cli_box_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(test_companies),
		EACH(test_domains),
		EACH(test_domains_asked_for),
		EACH(test_a_token_is_not_stored),
		EACH(test_keys),
		EACH(test_first_email),
		cmocka_unit_test(test_terminal_width),
		EACH(test_email_show),
		EACH(test_email_list),
		EACH(test_email_list_filters),
		EACH(test_email_purge),
		EACH(test_stats),
		EACH(test_database),
		EACH(test_a_backup_can_be_used),
		EACH(test_settings),
		EACH(test_failures),
		EACH(test_without_database),
		EACH(test_old_schema),
		EACH(test_rehearsal),
		EACH(test_help_and_version),
		EACH(test_output_that_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
