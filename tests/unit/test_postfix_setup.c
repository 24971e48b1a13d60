/*
 * postfix_setup: what main.cf and master.cf say about the milter.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/postfix/postfix_setup.h"
#include "tests/unit/temp_folder.h"

#define OURS "{ unix:postern/milter.sock, default_action=tempfail }"
#define BASE                                                                                       \
	"compatibility_level = 3.6\nqueue_directory = /var/spool/postfix\nmyhostname = mx.test\n"  \
	"mynetworks = 127.0.0.0/8 [::1]/128\nmessage_size_limit = 1000\n"                          \
	"smtpd_milters = " OURS "\nnon_smtpd_milters = " OURS                                      \
	"\n"                                                                                       \
	"transport_maps = inline:{postern.invalid=retry:x}\n"
#define SERVICES                                                                                   \
	"smtp inet n - y - - smtpd\npickup unix n - y 60 1 pickup\n"                               \
	"cleanup unix n - y - 0 cleanup\n"

/* What stands behind BASE and SERVICES; a later line counts. */
static const struct {
	const char *main_cf;
	const char *master_cf;
	const char *unchecked, *unguarded, *order; /* in it; NULL: none */
	bool lacks_smtpd, lacks_local, changes, rewrites, tickets_leave;
} cases[] = {
	{.main_cf = ""},
	{"smtpd_milters =", .unchecked = "smtpd_milters in main.cf lacks", .lacks_smtpd = true},
	{"non_smtpd_milters = inet:127.0.0.1:1", .unchecked = "non_smtpd_milters in main.cf lacks",
		.lacks_local = true},
	/* another instance's, another name */
	{"smtpd_milters = unix:/var/spool/postfix/postern/milter.sokc",
		.unchecked = "smtpd_milters", .lacks_smtpd = true},
	{.main_cf = "smtpd_milters = { unix:/var/spool/postfix/postern/milter.sock, default_action = tempfail}"},
	{.main_cf = "milter_default_action = accept"},
	{.main_cf = "smtpd_milters = unix:postern/milter.sock"},
	{"smtpd_milters = unix:postern/milter.sock\nmilter_default_action = accept",
		.unguarded = "smtpd_milters in main.cf has postern-milter without"},
	{"smtpd_milters = { unix:postern/milter.sock, default_action=accept }",
		.unguarded = "smtpd_milters in main.cf has postern-milter without"},
	{"non_smtpd_milters = { unix:postern/milter.sock, connect_timeout=3s }\n"
	 "milter_default_action = quarantine",
		.unguarded = "non_smtpd_milters in main.cf has postern-milter without"},
	{"smtpd_milters = inet:127.0.0.1:1, " OURS, .order = "smtpd_milters"},
	{.main_cf = "smtpd_milters = " OURS " inet:127.0.0.1:1"},
	{"receive_override_options = no_milters", .unchecked = "receive_override_options"},
	{.main_cf = "receive_override_options = no_address_mappings"},
	{"smtpd_milter_maps = inline:{127.0.0.1=DISABLE}",
		.unchecked = "smtpd_milter_maps turns postern-milter off for 127.0.0.1: DISABLE"},
	{.main_cf = "smtpd_milter_maps = inline:{192.0.2.1=DISABLE}"},
	{.main_cf = "smtpd_milter_maps = inline:{ {127.0.0.1 = unix:postern/milter.sock} }"},
	/* cannot be asked */
	{.main_cf = "smtpd_milter_maps = texthash:/nonexistent/table"},
	{.main_cf = "transport_maps = texthash:/nonexistent/table"},
	{"transport_maps =", .unguarded = "transport_maps in main.cf does not have mail",
		.tickets_leave = true},
	{"transport_maps = inline:{postern.invalid=smtp:[127.0.0.1]}",
		.unguarded = "but says smtp:[127.0.0.1]", .tickets_leave = true},
	{"transport_maps = regexp:{ {/./ smtp:x} }, inline:{postern.invalid=retry:x}",
		.unguarded = "but says smtp:x", .tickets_leave = true},
	{.main_cf = "transport_maps = inline:{ {*=smtp:x} }, proxy:inline:{postern.invalid=retry:x}"},
	{"mynetworks = 127.0.0.0/8, 10.0.0.0/8",
		.unchecked = "mynetworks in main.cf has 10.0.0.0/8"},
	{.main_cf = "mynetworks = !10.0.0.1, 192.168.1.0/24, [::ffff:127.0.0.0]/104"},
	{.main_cf = "mynetworks = 127.0.0.1 cidr:/nonexistent"},
	/* left out on purpose */
	{.main_cf = "mynetworks = 127.0.0.1 172.16.0.0/12 172.16.3.0/24"},
	{"mynetworks = 172.0.0.0/8", .unchecked = "mynetworks in main.cf has 172.0.0.0/8"},
	{"always_bcc = a@b.test", .changes = true},
	{"header_checks = regexp:{ {/x/ WARN} }", .changes = true},
	{"canonical_maps = inline:{a=b}", .rewrites = true},
	{"sender_canonical_maps = inline:{a=b}", .rewrites = true},
	{"", "pickup unix n - y 60 1 pickup\n  -o receive_override_options=no_milters\n",
		.unchecked = "pickup/unix/receive_override_options"},
	{"", "cleanup unix n - y - 0 cleanup\n  -o non_smtpd_milters=\n",
		.unchecked = "cleanup/unix/non_smtpd_milters"},
	/* one that takes mail back from a content filter */
	{.main_cf = "",
		.master_cf = "10025 inet n - y - - smtpd\n  -o smtpd_milters=\n"
			     "  -o receive_override_options=no_milters\n"},
};

static void same(size_t i, const char *found, const char *wanted)
{
	if (wanted ? !found || !strstr(found, wanted) : found != NULL)
		fail_msg("row %zu: %s instead of %s", i, found, wanted);
}

static void test_rows(void **state)
{
	char *folder = temp_folder_new();
	const struct postfix_setup_ours ours = {folder, "/var/spool/postfix/postern/milter.sock",
		"127.0.0.0/8 [::1]/128 192.168.1.0/24 !172.16.0.0/12",
		"0123456789abcdef0123456789abcdef@postern.invalid"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = ERR_INIT;
		struct postfix_setup setup;

		temp_folder_write(folder, "main.cf", BASE "%s\n", cases[i].main_cf);
		temp_folder_write(folder, "master.cf", SERVICES "%s\n",
			cases[i].master_cf ? cases[i].master_cf : "");
		if (postfix_setup_read(&ours, &setup, &err) < 0)
			fail_msg("row %zu: %s", i, err.text);
		same(i, setup.unchecked, cases[i].unchecked);
		same(i, setup.unguarded, cases[i].unguarded);
		same(i, setup.order, cases[i].order);
		assert_true(setup.lacks_smtpd == cases[i].lacks_smtpd &&
			    setup.lacks_local == cases[i].lacks_local &&
			    setup.changes == cases[i].changes &&
			    setup.rewrites == cases[i].rewrites &&
			    setup.tickets_leave == cases[i].tickets_leave);
		assert_string_equal(setup.host, "mx.test");
		assert_string_equal(setup.queue, "/var/spool/postfix");
		assert_string_equal(setup.folder, folder);
		assert_true(setup.message_bytes == 1000);
		postfix_setup_clear(&setup);
	}
	temp_folder_free(folder);
}

static void test_no_postfix(void **state)
{
	const struct postfix_setup_ours ours = {"/nonexistent", "/a/b", "", "t@postern.invalid"};
	struct err err = ERR_INIT;
	struct postfix_setup setup;

	(void)state;
	assert_int_equal(postfix_setup_read(&ours, &setup, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_no_postfix),
	};

	return cmocka_run_group_tests_name("postfix_setup", tests, NULL, NULL);
}
