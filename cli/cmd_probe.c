/*
 * cmd_probe: probes, by which postfix-conf/check shows that Postfix asks the milter. check submits
 * the message itself, because it also knows where to look for it.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "core/base/clock.h"
#include "core/policy/ticket.h"
#include "core/store/outbox/store_probe.h"

enum {
	TIMEOUT_MAX_S = 60,
	LOOK_EVERY_MS = 20,
};

static void fill_address(struct report *report, size_t column, const void *item)
{
	const struct probe *probe = item;
	_cleanup_free_ char *address = ticket_address(probe->ticket);

	report_text(report, column, address);
}

static void fill_nonce(struct report *report, size_t column, const void *item)
{
	const struct probe *probe = item;

	report_text(report, column, probe->nonce);
}

static void fill_seen(struct report *report, size_t column, const void *item)
{
	const struct probe *probe = item;

	report_number(report, column, probe->seen_us != 0);
}

static const struct column columns[] = {
	{"address", "ADDRESS", COLUMN_TEXT, .fill = fill_address},
	{"nonce", "NONCE", COLUMN_TEXT, .fill = fill_nonce},
	{"seen", "SEEN", COLUMN_FLAG, .fill = fill_seen},
	{"seen_at", "SEEN AT", COLUMN_TIME, COLUMN_OF(probe, seen_us)},
	{"queue_id", "QUEUE ID", COLUMN_TEXT, COLUMN_OF(probe, queue_id)},
	{0},
};

/* Reports the probe, once the milter was asked about its message or the time is up. */
static int show_probe(const struct call *call, const char *ticket, int64_t timeout_s,
	struct report *report, struct err *err)
{
	int64_t end_us = clock_monotonic_us() + timeout_s * 1000000;
	struct probe probe;
	int found;

	while ((found = store_probe_get(call->db, ticket, &probe, err)) > 0 && probe.seen_us == 0 &&
		clock_monotonic_us() < end_us) {
		store_probe_clear(&probe);
		usleep(LOOK_EVERY_MS * 1000);
	}
	if (found < 0)
		return -1;
	if (found == 0)
		return err_set(err, ERR_NOT_FOUND, "there is no such probe");
	report_add(report, &probe);
	store_probe_clear(&probe);
	return 0;
}

static int run_add(const struct call *call, struct report *report, struct err *err)
{
	const char *method = call_option(call, OPTION_SUBMISSION);
	size_t way = row_word(&store_email_ways, method);
	struct probe_secrets secrets;

	if (way != EMAIL_WAY_SENDMAIL && way != EMAIL_WAY_SMTP && way != EMAIL_WAY_ANY)
		return err_set(err, ERR_INVALID,
			"--submission is sendmail, smtp or any, not \"%s\"", method);
	if (store_probe_add(call->db, call->now_us, (enum email_way)way,
		    call_option(call, OPTION_THROUGH) != NULL, &secrets, err) < 0)
		return -1;
	return show_probe(call, secrets.ticket, 0, report, err);
}

/* Not as an argument, because every user of the host can read the arguments of others. */
static int run_show(const struct call *call, struct report *report, struct err *err)
{
	char ticket[SECRET_TICKET_SIZE], line[256];
	int64_t timeout_s = 0;

	if (call_number_option(call, OPTION_TIMEOUT, TIMEOUT_MAX_S, &timeout_s, err) < 0)
		return -1;
	if (fgets(line, sizeof(line), stdin) == NULL)
		return err_set(err, ERR_INVALID,
			"the address of the probe is read from standard input, as one line");
	line[strcspn(line, "\r\n")] = '\0';
	if (ticket_read(line, ticket) != TICKET_READ)
		return err_set(err, ERR_INVALID, "\"%s\" is not the address of a probe", line);
	return show_probe(call, ticket, timeout_s, report, err);
}

const struct verb cmd_probe_add = {
	.noun = "probe",
	.name = "add",
	.access = VERB_WRITES,
	.shape = VERB_RECORD,
	.columns = columns,
	.help = "Makes an address to which a message can be sent that shows whether "
		"Postfix asks the milter: the milter notes that it was asked, and throws "
		"the message away. The message must have the nonce in a field "
		"Postern-Nonce. postfix-conf/check does that. An address counts for a day.",
	.options = {{OPTION_SUBMISSION, true,
			    "The way into Postfix that the message takes: sendmail or smtp. By "
			    "another one it is refused. any: it is for a session with a port, in which "
			    "it is the sender."},
		{OPTION_THROUGH, false,
			"The milters behind postern-milter get the message, too, and then it has no "
			"recipient."}},
	.run = run_add,
};

const struct verb cmd_probe_show = {
	.noun = "probe",
	.name = "show",
	.access = VERB_READS,
	.shape = VERB_RECORD,
	.columns = columns,
	.help = "Reads the address from standard input, and shows whether the milter was asked "
		"about the message to it, when, and with which queue id.",
	.options = {{OPTION_TIMEOUT, false,
		"Waits up to so many seconds, 60 at most, until the milter was asked."}},
	.run = run_show,
};
