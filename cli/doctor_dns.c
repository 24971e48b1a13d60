/*
 * doctor_dns: the DNS of the domains that are active, and of this host.
 */
#include <stdio.h>

#include "cli/cmd.h"
#include "cli/doctor.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/ops/op_domain_dns.h"
#include "core/store/store_domain.h"

enum { DOMAINS_LOOKED_AT = 50 };

static void report_records(struct doctor *doctor, const char *row, const json_t *records)
{
	const json_t *record;
	size_t i;

	json_array_foreach(records, i, record) {
		const char *status = text_of(record, "status");

		doctor_say(doctor, row,
			str_eq(status, "verified")  ? DOCTOR_GOOD
			: str_eq(status, "unknown") ? DOCTOR_UNKNOWN
			: str_eq(status, "wrong")   ? DOCTOR_WRONG
						    : DOCTOR_WARNING,
			"%s of %s: %s", text_of(record, "record"), text_of(record, "name"),
			text_of(record, "text"));
	}
}

void doctor_look_at_dns(struct doctor *doctor)
{
	const struct page page = {.limit = DOMAINS_LOOKED_AT};
	_cleanup_dns_records_ struct dns_records of_host = {0};
	_cleanup_(dns) struct dns *dns = NULL;
	struct domain_list list;
	struct page_end end;
	struct dns_view view;
	json_t *records;

	if (doctor->db == NULL ||
		store_domain_list(doctor->db, NULL, &page, &list, &end, NULL) <= 0)
		return;
	dns = dns_view_resolver(doctor->conf);
	dns_view_open(doctor->conf, &view);
	for (size_t i = 0; i < list.n; i++) {
		if (!list.items[i].active)
			continue;
		records = op_domain_dns_look(
			doctor->db, doctor->conf, &view, dns, &list.items[i], NULL);
		report_records(doctor, "dns", records);
		json_decref(records);
	}
	if (list.n > 0) {
		host_dns_check(dns, &view.host, &of_host);
		records = op_domain_dns_json(&of_host, true);
		report_records(doctor, "dns_host", records);
		json_decref(records);
	}
	dns_view_close(&view);
	store_domain_list_free(&list);
}
