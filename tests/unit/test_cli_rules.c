/*
 * The verbs for what holds without a key: policies, exemptions, refusals.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/store/company/store_domain.h"
#include "core/store/host/store_refusal.h"
#include "tests/unit/cli_box.h"
#include "tests/unit/temp_db.h"

static void test_policies(void **state)
{
	_cleanup_free_ char *company = add_company("A");

	(void)state;
	run_ok("domain add a.example --company %s --json", company);
	assert_says(at.out, "\"policy\": \"exclusive\", \"subdomains\": \"own\"");
	run_ok("domain add b.example --company %s --json --policy learn --subdomains "
	       "covered",
		company);
	assert_says(at.out, "\"policy\": \"learn\", \"subdomains\": \"covered\"");
	run_ok("domain set a.example --policy shared");
	assert_string_equal(at.out,
		"domain a.example: policy shared, subdomains own, return path none, "
		"unsubscribe off\n");
	run_ok("domain set a.example --subdomains covered --json");
	assert_says(at.out, "\"policy\": \"shared\", \"subdomains\": \"covered\"");
	run_ok("domain set a.example --return-path bounces.a.example --json");
	assert_says(at.out, "\"return_path\": \"bounces.a.example\"");
	run_ok("domain list");
	assert_says(at.out, "POLICY");
	assert_says(at.out, " shared ");
	run_ok("domain deactivate a.example --json");
	assert_says(at.out, "\"policy\": \"shared\", \"subdomains\": \"covered\"");
}

static void test_exemptions(void **state)
{
	_cleanup_free_ char *company = add_company("A");
	_cleanup_free_ char *id = NULL;

	(void)state;
	run_ok("domain add a.example --company %s", company);
	run_ok("domain add b.example --company %s", company);
	run_ok("exempt add a.example --login ann");
	run_ok("exempt add A.Example. --client 10.0.0.0/8");
	run_ok("exempt add b.example --sender Root@B.Example --json");
	assert_says(at.out, "\"kind\": \"sender\", \"value\": \"Root@b.example\"");
	id = got("id");
	run_ok("exempt list --json");
	assert_int_equal(rows_printed(), 3);
	run_ok("exempt list --domain a.example --json");
	assert_int_equal(rows_printed(), 2);
	run_ok("exempt list A.example --json");
	assert_int_equal(rows_printed(), 2);
	run_ok("exempt list");
	assert_says(at.out, "10.0.0.0/8");
	run_ok("exempt remove %s", id);
	assert_says(at.out, "removed");
	run_ok("exempt list --json");
	assert_int_equal(rows_printed(), 2);
	run_ok("exempt remove a.Example --client ::ffff:10.0.0.0/104");
	run_ok("exempt add b.example --sender Root@B.Example");
	run_ok("exempt remove b.example --sender Root@b.exAmple");
	run_ok("exempt remove a.example --login ann --json");
	run_ok("exempt list --json");
	assert_int_equal(rows_printed(), 0);
}

static void test_faults(void **state)
{
	static const struct {
		const char *words;
		int status;
		const char *says;
	} cases[] = {
		{"domain set a.example", EX_DATAERR, "give --policy"},
		{"domain set none.example --policy learn", EX_NOINPUT, "none.example"},
		{"domain set a.example --policy open", EX_DATAERR,
			"one of exclusive, learn, shared"},
		{"domain set a.example --subdomains all", EX_DATAERR, "one of own, covered"},
		{"exempt add a.example", EX_DATAERR, "give one of"},
		{"exempt add a.example --login a --client ::1", EX_DATAERR, "give one of"},
		{"exempt add none.example --login a", EX_NOINPUT, "none.example"},
		{"exempt add a.example --client host", EX_DATAERR, "no IPv4"},
		{"exempt add a.example --sender x@b.example", EX_DATAERR,
			"no address of a.example"},
		{"exempt add a.example --sender root", EX_DATAERR, "--sender"},
		{"exempt add nodots --login a", EX_DATAERR, "nodots"},
		{"exempt list --domain nodots", EX_DATAERR, "nodots"},
		{"exempt list nodots", EX_DATAERR, "nodots"},
		{"exempt list b.example", EX_NOINPUT, "there is no domain b.example"},
		{"exempt list --domain b.example", EX_NOINPUT, "there is no domain b.example"},
		{"exempt list a.example --domain a.example", EX_DATAERR,
			"the domain is given twice"},
		{"exempt remove " NO_ID, EX_NOINPUT, "no exemption"},
		{"exempt remove x", EX_DATAERR, "\"x\" is no exempt id"},
		{"exempt remove a.example --login a", EX_NOINPUT,
			"the login a is not exempt for a.example"},
		{"exempt remove " NO_ID " --login a", EX_DATAERR, NO_ID},
		{"exempt remove a.example --login a --client ::1", EX_DATAERR, "give one of"},
		{"exempt suggest none.example", EX_NOINPUT, "none.example"},
	};
	_cleanup_free_ char *company = add_company("A");

	(void)state;
	run_ok("domain add a.example --company %s", company);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		run(cases[i].words);
		if (at.status != cases[i].status)
			fail_msg("%s: %d %s", cases[i].words, at.status, at.errors);
		assert_says(at.errors, cases[i].says);
	}
	run_ok("exempt list --json");
	assert_int_equal(rows_printed(), 0);
}

static struct db *open_database(void)
{
	struct db *db;

	OK(db_open("postern.db", DB_WRITE, &db, &why));
	return db;
}

static const char *origin = "internal";

static void note(struct db *db, enum refusal_outcome outcome, const char *reason,
	const char *const who[4], int64_t now_us)
{
	const struct refusal_note one = {
		.outcome = outcome,
		.reason = reason,
		.domain = "a.example",
		.origin = origin,
		.login = who[0],
		.client = who[1],
		.sender = who[2],
		.from = who[3],
		.queue_id = "4F2A",
		.now_us = now_us,
		.keep = 100,
	};

	OK(store_refusal_note(db, &one, &why));
}

static void test_suggest(void **state)
{
	static const struct {
		enum refusal_outcome outcome;
		const char *reason;
		const char *who[4]; /* login, client, sender, From */
	} notes[] = {
		{REFUSAL_LEARNT, "no_ticket", {"ann", "10.0.0.1", "x@a.example", "x@a.example"}},
		{REFUSAL_LEARNT, "no_ticket", {"o'neil", "", "x@a.example", "x@a.example"}},
		{REFUSAL_LEARNT, "no_ticket", {"", "10.0.0.1", "x@a.example", "x@a.example"}},
		{REFUSAL_LEARNT, "no_ticket", {"", "10.0.0.1", "y@a.example", "y@a.example"}},
		{REFUSAL_LEARNT, "no_ticket", {"", "10.0.0.1", "z@a.example", "y@a.example"}},
		{REFUSAL_LEARNT, "ticket_unknown", {"", "127.0.0.1", "x@b.example", "w@A.example"}},
		{REFUSAL_LEARNT, "no_ticket", {"", "", "w@a.example", "w@a.example"}},
		/* of no use */
		{REFUSAL_LEARNT, "no_ticket", {"", "", "x@b.example", "w@sub.a.example"}},
		{REFUSAL_LEARNT, "no_ticket", {"", "", "", "w@a.example"}},
		{REFUSAL_LEARNT, "too_many_fields", {"ann", "", "x@a.example", "x@a.example"}},
		{REFUSAL_HELD, "no_ticket", {"bob", "", "x@a.example", "x@a.example"}},
	};
	_cleanup_free_ char *company = add_company("A");
	struct db *db;

	(void)state;
	run_ok("domain add a.example --company %s --policy learn", company);
	run_ok("exempt suggest a.example --json");
	assert_int_equal(rows_printed(), 0);
	run_ok("exempt suggest a.example");
	assert_says(at.out, "nothing to suggest");
	assert_says(at.out, "--policy exclusive");
	db = open_database();
	for (size_t i = 0; i < ARRAY_SIZE(notes); i++)
		note(db, notes[i].outcome, notes[i].reason, notes[i].who, 1000000);
	db_close(db);
	run_ok("exempt suggest a.example --json");
	assert_int_equal(rows_printed(), 6);
	assert_says(at.out, "--login=bob\", \"count\": 1");
	assert_says(at.out, "--client=10.0.0.1\", \"count\": 3");
	assert_says(at.out, "--sender=w@a.example --local\", \"count\": 1");
	assert_says(at.out, "--sender=w@a.example\", \"count\": 1");
	assert_says(at.out, "postern exempt add a.example --login=ann\", \"count\": 1");
	assert_says(at.out, "--login='o'\\\\''neil'\", \"count\": 1");
	run_ok("exempt suggest a.example");
	assert_says(at.out, "3 more would be refused");
	assert_says(at.out, "--refused --domain a.example");
	run_ok("domain set a.example --subdomains covered");
	run_ok("exempt suggest a.example");
	assert_says(at.out, "--sender=w@sub.a.example");
	run_ok("exempt add a.example --client 10.0.0.0/24");
	run_ok("exempt add a.example --login o'neil");
	run_ok("exempt add a.example --sender w@a.example");
	run_ok("exempt suggest a.example --json");
	assert_int_equal(rows_printed(), 3);
	assert_says(at.out, "--login=ann");
	assert_says(at.out, "--login=bob");
	assert_says(at.out, "--sender=w@sub.a.example");
}

/* What is exempt for this host alone, and how that is suggested. */
static void test_local(void **state)
{
	static const char *const sendmail[] = {"", "", "w@a.example", "w@a.example"};
	static const char *const loopback[] = {"", "::1", "w@a.example", "w@a.example"};
	_cleanup_free_ char *company = add_company("A");
	struct db *db;

	(void)state;
	run_ok("domain add a.example --company %s", company);
	run_ok("exempt suggest a.example");
	assert_says(at.out, "nothing to suggest");
	assert_says(at.out, "postern exempt list a.example");
	db = open_database();
	origin = "local";
	note(db, REFUSAL_HELD, "no_ticket", sendmail, 1000000);
	origin = "internal";
	note(db, REFUSAL_REJECTED, "no_ticket", loopback, 1000000);
	db_close(db);
	run_ok("exempt suggest a.example --json");
	assert_int_equal(rows_printed(), 1);
	assert_says(at.out,
		"postern exempt add a.example --sender=w@a.example --local\", \"count\": 2");
	run_ok("exempt add a.example --sender=w@a.example --local");
	run_ok("exempt list a.example --json");
	assert_says(at.out, "\"local\": true");
	run_ok("exempt suggest a.example --json");
	assert_int_equal(rows_printed(), 0);
	run("exempt add a.example --sender=w@a.example");
	assert_int_not_equal(at.status, 0);
	assert_says(at.errors, "already");
	run_ok("exempt remove a.example --sender=w@a.example");
	run("exempt add a.example --login=ann --local");
	assert_int_not_equal(at.status, 0);
	assert_says(at.errors, "--local goes with --sender");
	run_ok("domain set a.example --policy shared");
	run_ok("exempt add a.example --sender=w@a.example");
	run_ok("exempt suggest a.example");
	assert_says(at.out, "--policy learn");
}

static void test_refused_list(void **state)
{
	static const char *const who[] = {"\x1b[2J", "10.0.0.1", "x@a.example", "x@a.example"};
	_cleanup_free_ char *company = add_company("A");
	struct db *db = open_database();

	(void)state;
	run_ok("domain add a.example --company %s", company);
	note(db, REFUSAL_REJECTED, "no_ticket", who, 1000000);
	note(db, REFUSAL_REJECTED, "no_ticket", who, 2000000);
	note(db, REFUSAL_HELD, "no_ticket", who, 3000000);
	OK(db_exec(db,
		"INSERT INTO email (id, ticket, company_id, key_id, domain,"
		" sender, header_from, reply_to,"
		" subject, message_id, created_us, state, decided_us, refusal)"
		" VALUES ('" NO_ID "', 't', '" NO_ID "', '" NO_ID
		"', 'b.example', 's@b.example', 's@b.example', '',"
		" '', '', 1, 'refused', 2500000, 'No.')",
		&why));
	OK(db_exec(db,
		"INSERT INTO email_content (seq, html, text)"
		" SELECT seq, '', '' FROM email;"
		"INSERT INTO email_recipient (email, n, kind, address)"
		" SELECT seq, 0, 'to', 'a@dst.test' FROM email",
		&why));
	db_close(db);
	run_ok("email list --refused");
	assert_says(at.out, "\\x1b[2J");
	assert_says(at.out, "held");
	assert_says(at.out, "Mail from this domain must be sent with an API key.");
	assert_null(strstr(at.out, "no_ticket"));
	assert_says(at.out, "No.");
	assert_true(strstr(at.out, "held") < strstr(at.out, "No."));
	assert_true(strstr(at.out, "No.") < strstr(at.out, "rejected"));
	run_ok("email list --refused --json");
	assert_int_equal(rows_printed(), 3);
	assert_says(at.out, "\"outcome\": \"rejected\", \"count\": 2");
	assert_says(at.out, "\"reason\": \"no_ticket\"");
	assert_says(at.out, "\"reason_text\": \"Mail from this domain must");
	assert_says(at.out, "\"email_id\": \"" NO_ID "\"");
	run_ok("email list --refused --json --limit 2");
	assert_int_equal(rows_printed(), 2);
	run_ok("email list --refused --json --domain A.example");
	assert_int_equal(rows_printed(), 2);
	run_ok("email list --refused --json --company " NO_ID);
	assert_int_equal(rows_printed(), 1);
	run_ok("email list --refused --json --company %s", company);
	assert_int_equal(rows_printed(), 2);
	run_ok("email list --refused --json --limit 1 --company %s", company);
	assert_int_equal(rows_printed(), 1);
	run_ok("email list --refused --json --company %s --domain b.example", company);
	assert_int_equal(rows_printed(), 0);
	run_ok("email show " NO_ID);
	assert_says(at.out, "No.");
	run_ok("email list --refused --help");
	assert_says(at.out, "usage: postern email list --refused [--company");
	run_ok("email list --help");
	assert_says(at.out, "usage: postern email list [--to ADDRESS]");
	run("email list --refused --policy learn");
	assert_int_equal(at.status, EX_USAGE);
	assert_says(at.errors, "usage: postern email list --refused");
}

__attribute__((format(printf, 3, 4))) static void write_file(
	const char *path, const char *mode, const char *format, ...)
{
	FILE *file = fopen(path, mode);
	va_list args;

	assert_non_null(file);
	va_start(args, format);
	vfprintf(file, format, args);
	va_end(args);
	assert_int_equal(fclose(file), 0);
}

/* postconf waits a second or two before it reads a file that is new. */
static void age_main_cf(void)
{
	const struct timeval old[2] = {{1, 0}, {1, 0}};

	assert_int_equal(utimes("postfix/main.cf", old), 0);
}

/* A Postfix that has some domains of its own. */
static void write_postfix(void)
{
	mkdir("postfix", 0755);
	write_file("postfix/names", "we", "# not comment.example\nfile.example, infile.example\n");
	write_file("postfix/virtual", "we", "alias.example x\n");
	write_file("postfix/main.cf", "we",
		"myhostname = mail.own.example\n"
		"mydestination = $myhostname, localhost, dest.example\n"
		"myorigin = origin.example\n"
		"virtual_alias_maps = texthash:%s/postfix/virtual\n"
		"virtual_mailbox_domains = mailbox.example,other.example\n"
		"relay_domains = !not.example relay.example not.example"
		" %s/postfix/names inline:{ { brace.example = x } }\n",
		at.folder, at.folder);
	age_main_cf();
	write_file("postern.conf", "ae", "[submission]\npostfix_config = %s/postfix\n", at.folder);
}

static void remove_postfix(void)
{
	unlink("postfix/main.cf");
	unlink("postfix/virtual");
	unlink("postfix/names");
	rmdir("postfix");
}

static void test_own_domains(void **state)
{
	static const char *const own[][2] = {
		{"mail.own.example", "mydestination"},
		{"Dest.example", "mydestination"},
		{"origin.example", "myorigin"},
		{"alias.example", "virtual_alias_domains"},
		{"mailbox.example", "virtual_mailbox_domains"},
		{"other.example", "virtual_mailbox_domains"},
		{"relay.example", "relay_domains"},
		{"file.example", "relay_domains"},
		{"infile.example", "relay_domains"},
		{"brace.example", "relay_domains"},
	};
	_cleanup_free_ char *company = add_company("A");

	(void)state;
	write_postfix();
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		_cleanup_free_ char *add = mem_printf(
			"domain add %s --company %s", own[i][0], company);

		run(add);
		assert_int_equal(at.status, EX_DATAERR);
		assert_says(at.errors, own[i][1]);
		assert_says(at.errors, "--policy");
	}
	run_ok("domain add foreign.example --company %s", company);
	run_ok("domain add not.example --company %s", company);
	run_ok("domain add comment.example --company %s", company);
	run_ok("domain add sub.dest.example --company %s", company);
	run_ok("domain add dest.example --company %s --policy learn", company);
	run_ok("domain list --json");
	assert_int_equal(rows_printed(), 5);
	remove_postfix();
}

/* What cannot be read may have any domain. */
static void test_unreadable_domains(void **state)
{
	static const char *const lists[][2] = {{"", "gone"}, {"texthash:", "gone"}, {"", "loop"}};
	_cleanup_free_ char *company = add_company("A");
	_cleanup_free_ char *add = mem_printf("domain add dest.example --company %s", company);

	(void)state;
	write_postfix();
	write_file("postfix/loop", "we", "%s/postfix/loop\n", at.folder);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		write_file("postfix/main.cf", "we", "mydestination = %s%s/postfix/%s\n",
			lists[i][0], at.folder, lists[i][1]);
		age_main_cf();
		run(add);
		assert_int_equal(at.status, EX_CONFIG);
		assert_says(at.errors, "mydestination");
		assert_says(at.errors, "say --policy");
	}
	unlink("postfix/loop");
	remove_postfix();
}

static void ask_for(const char *company, const char *name)
{
	struct domain domain;
	struct db *db = open_database();

	OK(store_domain_add(
		db, company, name, &(const struct domain){.pending = true}, 1, &domain, &why));
	store_domain_clear(&domain);
	db_close(db);
}

/* What a company asked for counts from its activation on. */
static void test_own_domain_asked_for(void **state)
{
	_cleanup_free_ char *company = add_company("A");
	_cleanup_free_ char *activate = mem_printf(
		"domain activate dest.example --company %s", company);

	(void)state;
	ask_for(company, "dest.example");
	write_postfix();
	run(activate);
	assert_int_equal(at.status, EX_DATAERR);
	assert_says(at.errors, "--policy");
	run_ok("%s --policy learn --json", activate);
	assert_says(at.out, "\"active\": true");
	assert_says(at.out, "\"policy\": \"learn\"");
	run_ok("domain deactivate dest.example");
	run_ok("%s", activate); /* it counts already */
	remove_postfix();
}

static void assert_refused(const char *words, const char *says)
{
	run(words);
	assert_int_not_equal(at.status, EX_OK);
	assert_says(at.errors, says);
}

/* What a company only asked for stays so, unless it is activated. */
static void test_asked_for(void **state)
{
	_cleanup_free_ char *company = add_company("A");
	_cleanup_free_ char *deactivate = mem_printf(
		"domain deactivate asked.example --company %s", company);

	(void)state;
	ask_for(company, "asked.example");
	assert_refused(deactivate, "only asked for");
	assert_refused("domain deactivate asked.example", "needs --company");
	assert_refused("domain set asked.example --policy learn", "has to be activated first");
	run_ok("domain list --json");
	assert_says(at.out, "\"pending\": true");
}

/* A socket that a table of Postfix may be asked through, at the port. */
static int listen_for_table(unsigned *port_r)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&in, len), 0);
	assert_int_equal(listen(fd, 5), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&in, &len), 0);
	*port_r = ntohs(in.sin_port);
	return fd;
}

/* While Postfix is asked, others write. */
static void test_slow_table(void **state)
{
	static const char none[] = "500 none\n";
	_cleanup_free_ char *company = add_company("A");
	unsigned port;
	int status, listening = listen_for_table(&port), peer;
	struct db *db;
	pid_t child;

	(void)state;
	ask_for(company, "asked.example");
	write_postfix();
	write_file("postfix/main.cf", "we", "mydestination = tcp:127.0.0.1:%u\nrelay_domains =\n",
		port);
	age_main_cf();
	child = fork();
	if (child == 0) {
		run_ok("domain activate asked.example --company %s", company);
		_exit(at.status);
	}
	peer = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
	db = open_database();
	OK(db_begin(db, &why));
	db_rollback(db);
	db_close(db);
	assert_int_equal(write(peer, none, strlen(none)), strlen(none));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	close(peer);
	close(listening);
	remove_postfix();
}

/* Without a Postfix nobody can be asked. */
static void test_no_postfix(void **state)
{
	_cleanup_free_ char *company = add_company("A");

	(void)state;
	write_postfix();
	remove_postfix();
	run_ok("domain add dest.example --company %s", company);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, cli_box_setup, cli_box_teardown)
	const struct CMUnitTest tests[] = {
		TEST(policies),
		TEST(exemptions),
		TEST(faults),
		TEST(suggest),
		TEST(local),
		TEST(refused_list),
		TEST(own_domains),
		TEST(unreadable_domains),
		TEST(own_domain_asked_for),
		TEST(asked_for),
		TEST(slow_table),
		TEST(no_postfix),
	};

	/* Nobody is there to be asked. */
	if (freopen("/dev/null", "r", stdin) == NULL)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
