/*
 * cmd_domain_dns: the DNS records that a domain needs, and what the DNS contains.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "core/address/addr.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/ops/op_domain_dns.h"
#include "core/store/company/store_domain.h"

static const struct column columns[] = {
	{"record", NULL, .type = COLUMN_TEXT},
	{"type", NULL, .type = COLUMN_TEXT},
	{"name", NULL, .type = COLUMN_TEXT},
	{"value", NULL, .type = COLUMN_TEXT},
	{"status", NULL, .type = COLUMN_TEXT},
	{"text", NULL, .type = COLUMN_TEXT},
	{0},
};

enum { INDENT = 10 };

/* Of SPF, the one record of a domain that depends on this host. */
#define UNKNOWN_VALUE                                                                              \
	"(not known yet: set dns.addresses to the\n"                                               \
	"    addresses from which mail goes out, or give this host a name with a domain)"

/* Finds the domain in the database; an unregistered domain is checked as well. */
static int find_checked_domain(
	const struct call *call, const char *name, struct domain *domain_r, struct err *err)
{
	char company_id[ID_SIZE];
	int found;

	if (call_id_option(call, OPTION_COMPANY, company_id, err) < 0)
		return -1;
	found = store_domain_find_named(
		call->db, *company_id ? company_id : NULL, name, domain_r, err);
	if (found == 0 && *company_id)
		return err_set(err, ERR_NOT_FOUND, "the company has not asked for %s", name);
	if (found == 0)
		*domain_r = (struct domain){.name = mem_strdup(name)};
	return found < 0 ? -1 : 0;
}

static int look_up_records(
	const struct call *call, const struct domain *domain, json_t **records_r, struct err *err)
{
	_cleanup_dns_records_ struct dns_records of_host = {0};
	_cleanup_(dns) struct dns *dns = dns_view_resolver(call->conf);
	struct dns_view view;
	json_t *records, *record, *more;
	bool has_key = false;
	size_t i;

	dns_view_open(call->conf, &view);
	records = op_domain_dns_look(call->db, call->conf, &view, dns, domain, err);
	if (records) {
		json_array_foreach(records, i, record)
			has_key |= str_eq(row_json_text(record, "record"), "DKIM");
		/* It is unknown which key signs, so only the command shows this. */
		if (!has_key)
			json_array_append_new(records,
				json_pack("{s:s, s:s, s:s, s:n, s:s, s:s}", "record", "DKIM",
					"type", "TXT", "name", domain->name, "value", "status",
					dns_status_name(DNS_STATUS_UNKNOWN), "text",
					"no key by which its mail is signed is known here: postern "
					"dkim enable"));
		host_dns_check(dns, &view.host, &of_host);
		more = op_domain_dns_json(&of_host, true);
		json_array_extend(records, more);
		json_decref(more);
	}
	dns_view_close(&view);
	*records_r = records;
	return records ? 0 : -1;
}

static int run_check(const struct call *call, struct report *report, struct err *err)
{
	_cleanup_buf_ struct buf out = BUF_INIT;
	_cleanup_free_ char *name = NULL;
	json_t *records = NULL, *record;
	struct domain domain;
	size_t i;

	if (addr_domain_normalize(call_argument(call), &name, err) < 0 ||
		find_checked_domain(call, name, &domain, err) < 0)
		return -1;
	if (look_up_records(call, &domain, &records, err) < 0) {
		store_domain_clear(&domain);
		return -1;
	}
	store_domain_clear(&domain);
	report->status = 0;
	json_array_foreach(records, i, record) {
		const char *status = row_json_text(record, "status");
		const char *value = row_json_text(record, "value");

		report_json(report, record);
		buf_printf(&out, "%-*s%-6s %s\n", INDENT, status, row_json_text(record, "record"),
			row_json_text(record, "name"));
		visible_add_wrapped(&out, row_json_text(record, "text"), INDENT,
			isatty(STDOUT_FILENO) ? screen_width() : SIZE_MAX);
		/* A record to publish is never wrapped, because it is copied. */
		if (!str_eq(status, dns_status_name(DNS_STATUS_VERIFIED)) && *value)
			buf_printf(&out, "%*sto set: %s %s %s\n", INDENT, "",
				row_json_text(record, "name"), row_json_text(record, "type"),
				value);
		if (str_eq(status, dns_status_name(DNS_STATUS_MISSING)) ||
			str_eq(status, dns_status_name(DNS_STATUS_WRONG)))
			report->status = 1;
	}
	json_decref(records);
	out.data[out.len - 1] = '\0';
	report_note(report, "%s", buf_str(&out));
	return 0;
}

void domain_dns_report(const json_t *made, struct report *report, size_t column)
{
	const json_t *records = json_object_get(made, "records"), *record;
	_cleanup_buf_ struct buf out = BUF_INIT;
	struct report *rows = report_rows(report, column, columns);
	size_t i;

	if (json_array_size(records) == 0)
		return;
	buf_add_str(&out, "DNS records to publish (postern domain check tests them):\n");
	json_array_foreach(records, i, record) {
		const char *value = row_json_text(record, "value");

		report_json(rows, record);
		buf_printf(&out, "  %s %s %s\n", row_json_text(record, "name"),
			row_json_text(record, "type"), *value ? value : UNKNOWN_VALUE);
	}
	out.data[out.len - 1] = '\0';
	report_note(report, "%s", buf_str(&out));
}

const struct verb cmd_domain_check = {
	.noun = "domain",
	.name = "check",
	.argument = "NAME",
	.access = VERB_READS,
	.shape = VERB_LINES,
	.columns = columns,
	.options = {{OPTION_COMPANY, false,
		"Whose, of a domain that a company has only asked for: with the record that proves "
		"it, where that activates the domain (http.domain_activation)."}},
	.help = "Compares the DNS with what the domain needs: SPF, evaluated for the addresses from "
		"which mail goes out; DKIM, the keys that postern dkim has made, by their "
		"selectors; DMARC, also of a domain above; the MX of the return "
		"path, which is the domain itself; and of this host the name of its addresses (PTR) "
		"and the address of the name that Postfix says (HELO). Each is verified, "
		"missing, wrong or unknown, as when the DNS does not answer, with the record to "
		"set. Exits with 1 when something is missing or wrong. With --json: an array of "
		"record, type, name, value, status and text.",
	.run = run_check,
};
