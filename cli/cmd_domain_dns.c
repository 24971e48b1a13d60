/*
 * cmd_domain_dns: what the DNS has to have for a domain, and has.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/dns_report.h"
#include "core/address/addr.h"
#include "core/base/mem.h"
#include "core/store/store_domain.h"

enum { KIND, TYPE, NAME, VALUE, STATUS, TEXT };

static const struct column columns[] = {
	[KIND] = {"record", NULL, .type = COLUMN_TEXT},
	[TYPE] = {"type", NULL, .type = COLUMN_TEXT},
	[NAME] = {"name", NULL, .type = COLUMN_TEXT},
	[VALUE] = {"value", NULL, .type = COLUMN_TEXT},
	[STATUS] = {"status", NULL, .type = COLUMN_TEXT},
	[TEXT] = {"text", NULL, .type = COLUMN_TEXT},
	{0},
};

enum { INDENT = 10 };

/* A record to be set is never broken into lines, since it is copied. */
static void show_record(const struct dns_record *record, struct report *report, struct buf *out)
{
	report_add_row(report);
	report_text(report, KIND, record->kind);
	report_text(report, TYPE, record->type);
	report_text(report, NAME, record->name);
	report_text(report, VALUE, record->value);
	report_text(report, STATUS, dns_status_name(record->status));
	report_text(report, TEXT, record->text);
	buf_printf(out, "%-*s%-6s %s\n", INDENT, dns_status_name(record->status), record->kind,
		record->name);
	visible_add_wrapped(out, record->text ? record->text : "", INDENT,
		isatty(STDOUT_FILENO) ? screen_width() : SIZE_MAX);
	if (record->status != DNS_STATUS_VERIFIED && record->value)
		buf_printf(out, "%*sto set: %s %s %s\n", INDENT, "", record->name, record->type,
			record->value);
}

static int run_check(const struct call *call, struct report *report, struct err *err)
{
	_cleanup_dns_records_ struct dns_records records = {0};
	_cleanup_buf_ struct buf out = BUF_INIT;
	_cleanup_free_ char *name = NULL;
	struct dns_view view;

	if (addr_domain_normalize(call_argument(call), &name, err) < 0)
		return -1;
	dns_view_open(call->conf, &view);
	domain_dns_check(view.dns, name, &view.host, &records);
	host_dns_check(view.dns, &view.host, &records);
	dns_view_close(&view);
	report->status = 0;
	for (size_t i = 0; i < records.n; i++) {
		show_record(&records.items[i], report, &out);
		if (records.items[i].status == DNS_STATUS_MISSING ||
			records.items[i].status == DNS_STATUS_WRONG)
			report->status = 1;
	}
	out.data[out.len - 1] = '\0';
	report_note(report, "%s", buf_str(&out));
	return 0;
}

const struct verb cmd_domain_check = {
	.noun = "domain",
	.name = "check",
	.argument = "NAME",
	.access = VERB_READS,
	.shape = VERB_LINES,
	.columns = columns,
	.help = "Compares the DNS with what the domain needs: SPF, evaluated for the addresses from "
		"which mail goes out; DMARC, also of a domain above; the MX of the return "
		"path, which is the domain itself; and of this host the name of its addresses (PTR) "
		"and the address of the name that Postfix says (HELO). Each is verified, "
		"missing, wrong or unknown, as when the DNS does not answer, with the record to "
		"set. Exits with 1 when something is missing or wrong. With --json: an array of "
		"record, type, name, value, status and text.",
	.run = run_check,
};
