/*
 * postfix_setup: queries postconf(1) and postmap(1), and compares.
 *
 * Threads: any.
 */
#include "core/postfix/postfix_setup.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/cidr.h"
#include "core/base/str.h"
#include "core/postfix/postconf.h"

enum {
	FOLDER,
	HOST,
	QUEUE,
	SMTPD,
	LOCAL,
	ACTION,
	OVERRIDES,
	MAPS,
	TRANSPORT,
	NETWORKS,
	SIZE,
	BCC,
	SENDER_BCC,
	RCPT_BCC,
	HEADER,
	BODY,
	CANONICAL,
	SENDER_CANONICAL,
	N
};

static const char *const names[N] = {
	[FOLDER] = "config_directory",
	[HOST] = "myhostname",
	[QUEUE] = "queue_directory",
	[SMTPD] = "smtpd_milters",
	[LOCAL] = "non_smtpd_milters",
	[ACTION] = "milter_default_action",
	[OVERRIDES] = "receive_override_options",
	[MAPS] = "smtpd_milter_maps",
	[TRANSPORT] = "transport_maps",
	[NETWORKS] = "mynetworks",
	[SIZE] = "message_size_limit",
	[BCC] = "always_bcc",
	[SENDER_BCC] = "sender_bcc_maps",
	[RCPT_BCC] = "recipient_bcc_maps",
	[HEADER] = "header_checks",
	[BODY] = "body_checks",
	[CANONICAL] = "canonical_maps",
	[SENDER_CANONICAL] = "sender_canonical_maps",
};

/* Postfix may name the socket by its absolute path or relative to the queue directory. Both end
 * with the same two components. */
static const char *tail_of(const char *socket)
{
	const char *tail = strrchr(socket, '/');

	while (tail && tail > socket && tail[-1] != '/')
		tail--;
	return tail ? tail : socket;
}

/* Only the first fault of a kind is reported. */
static void keep_first(char **words, char *text)
{
	if (*words == NULL)
		*words = text;
	else
		free(text);
}

static void look_at_lists(
	char *const values[static N], const char *socket, struct postfix_setup *setup)
{
	for (size_t i = SMTPD; i <= LOCAL; i++) {
		_cleanup_free_ char *item = NULL;
		const char *list = values[i];
		bool excepted = false, behind = false;

		for (; (item = postconf_item(&list, &excepted)); behind = true) {
			if (strstr(item, tail_of(socket)))
				break;
			free(item);
		}
		*(i == SMTPD ? &setup->lacks_smtpd : &setup->lacks_local) = item == NULL;
		if (item == NULL) {
			keep_first(&setup->unchecked,
				mem_printf("%s in main.cf lacks postern-milter", names[i]));
			continue;
		}
		if (!str_starts(postconf_milter_action(item, values[ACTION]), "tempfail"))
			keep_first(&setup->unguarded,
				mem_printf("%s in main.cf has postern-milter without "
					   "default_action=tempfail: while it is away, mail "
					   "passes unchecked",
					names[i]));
		if (behind && setup->order == NULL)
			setup->order = mem_strdup(names[i]);
	}
	if (strstr(values[OVERRIDES], "no_milters"))
		keep_first(&setup->unchecked,
			mem_strdup("receive_override_options in main.cf has no_milters"));
}

/* Checks the services that all local mail passes. A single smtpd(8) may be without milters,
 * like one that takes mail back from a content filter. */
static void look_at_services(const struct postfix_setup_ours *ours, struct postfix_setup *setup)
{
	static const char *const patterns[] = {
		"pickup/*/receive_override_options", "cleanup/*/non_smtpd_milters"};
	_cleanup_strv_ struct strv lines = STRV_INIT;

	if (postconf_services(ours->config_dir, patterns, ARRAY_SIZE(patterns), &lines, NULL) < 0)
		return;
	for (size_t i = 0; i < lines.n; i++) {
		char *line = lines.items[i];

		if (str_starts(line, "pickup/") ? strstr(line, "no_milters") != NULL
						: *line && !strstr(line, tail_of(ours->socket)))
			keep_first(&setup->unchecked,
				mem_printf("master.cf keeps mail from postern-milter: %s", line));
	}
}

/* For the addresses of this host, from which programs send. */
static void look_at_maps(
	const struct postfix_setup_ours *ours, const char *maps, struct postfix_setup *setup)
{
	static const char *const addresses[] = {"127.0.0.1", "::1"};

	for (size_t i = 0; i < ARRAY_SIZE(addresses) && !str_empty(maps); i++) {
		_cleanup_free_ char *answer = NULL;

		if (postconf_look_up(ours->config_dir, maps, addresses[i], &answer, NULL) == 1 &&
			!strstr(answer, tail_of(ours->socket)))
			keep_first(&setup->unchecked,
				mem_printf("smtpd_milter_maps turns postern-milter off for %s: %s",
					addresses[i], answer));
	}
}

/* Looks up in the order of trivial-rewrite(8): the address, its domain, then `*`. */
static void look_at_transport(
	const struct postfix_setup_ours *ours, const char *tables, struct postfix_setup *setup)
{
	const char *const keys[] = {ours->ticket, strchr(ours->ticket, '@') + 1, "*"};
	_cleanup_free_ char *answer = NULL;
	int found = 0;

	for (size_t i = 0; found == 0 && i < ARRAY_SIZE(keys); i++)
		found = postconf_look_up(ours->config_dir, tables, keys[i], &answer, NULL);
	setup->tickets_leave = found == 0 || (found > 0 && !str_starts(answer, "retry:"));
	if (setup->tickets_leave)
		keep_first(&setup->unguarded,
			mem_printf(
				"transport_maps in main.cf does not have mail to %s wait%s%s: when "
				"postern-milter is not asked, emails bounce or leave",
				keys[1], found > 0 ? ", but says " : "", found > 0 ? answer : ""));
}

/* Checks that networks whose mail Postfix accepts as its own are internal. Networks that
 * internal_hosts excludes explicitly are skipped. */
static void look_at_networks(
	const char *internal, const char *networks, struct postfix_setup *setup)
{
	_cleanup_cidr_list_ struct cidr_list list = CIDR_LIST_INIT;
	bool excepted = false;
	char *item;

	if (cidr_list_parse_excepting(internal, &list, NULL) < 0)
		return;
	for (; (item = postconf_item(&networks, &excepted)) != NULL; excepted = false) {
		_cleanup_cidr_list_ struct cidr_list network = CIDR_LIST_INIT;
		char text[CIDR_TEXT_SIZE];

		if (!excepted && cidr_list_parse(item, &network, NULL) == 0 && network.n == 1) {
			cidr_format(&network.items[0], text);
			text[strcspn(text, "/")] = '\0';
			if (!cidr_list_has_text(&list, text) &&
				!cidr_list_names(&list, &network.items[0]))
				keep_first(&setup->unchecked,
					mem_printf("mynetworks in main.cf has %s, which "
						   "milter.internal_hosts lacks",
						item));
		}
		free(item);
	}
}

int postfix_setup_read(
	const struct postfix_setup_ours *ours, struct postfix_setup *setup_r, struct err *err)
{
	struct postfix_setup setup = {0};
	char *values[N];

	if (postconf_read(ours->config_dir, names, N, values, err) < 0)
		return -1;
	look_at_lists(values, ours->socket, &setup);
	look_at_services(ours, &setup);
	look_at_maps(ours, values[MAPS], &setup);
	look_at_transport(ours, values[TRANSPORT], &setup);
	look_at_networks(ours->internal_hosts, values[NETWORKS], &setup);
	str_int(values[SIZE], 1, INT64_MAX, &setup.message_bytes);
	for (size_t i = BCC; i <= BODY; i++)
		setup.changes |= *values[i] != '\0';
	setup.rewrites = *values[CANONICAL] || *values[SENDER_CANONICAL];
	setup.folder = TAKE_PTR(values[FOLDER]);
	setup.host = TAKE_PTR(values[HOST]);
	setup.queue = TAKE_PTR(values[QUEUE]);
	for (size_t i = 0; i < N; i++)
		free(values[i]);
	*setup_r = setup;
	return 0;
}

void postfix_setup_clear(struct postfix_setup *setup)
{
	free(setup->folder);
	free(setup->host);
	free(setup->queue);
	free(setup->unchecked);
	free(setup->unguarded);
	free(setup->order);
	*setup = (struct postfix_setup){0};
}
