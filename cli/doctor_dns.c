/*
 * doctor_dns: the DNS of the domains that are active, and of this host.
 */
#include <stdio.h>

#include "cli/dns_report.h"
#include "cli/doctor.h"
#include "core/base/mem.h"
#include "core/store/store_domain.h"

enum { DOMAINS_LOOKED_AT = 50 };

static void report_records(
	struct doctor *doctor, const char *row, const struct dns_records *records)
{
	for (size_t i = 0; i < records->n; i++) {
		const struct dns_record *record = &records->items[i];

		if (record->status == DNS_STATUS_VERIFIED)
			doctor_say(doctor, row, DOCTOR_GOOD, "%s of %s: %s", record->kind,
				record->name, record->text);
		else
			doctor_say(doctor, row,
				record->status == DNS_STATUS_UNKNOWN ? DOCTOR_UNKNOWN
				: record->status == DNS_STATUS_WRONG ? DOCTOR_WRONG
								     : DOCTOR_WARNING,
				"%s of %s: %s", record->kind, record->name, record->text);
	}
}

void doctor_look_at_dns(struct doctor *doctor)
{
	const struct page page = {.limit = DOMAINS_LOOKED_AT};
	_cleanup_dns_records_ struct dns_records of_host = {0};
	struct domain_list list;
	struct page_end end;
	struct dns_view view;

	if (doctor->db == NULL ||
		store_domain_list(doctor->db, NULL, &page, &list, &end, NULL) <= 0)
		return;
	dns_view_open(doctor->conf, &view);
	for (size_t i = 0; i < list.n; i++) {
		_cleanup_dns_records_ struct dns_records records = {0};

		if (!list.items[i].active)
			continue;
		domain_dns_check(view.dns, list.items[i].name, &view.host, &records);
		report_records(doctor, "dns", &records);
	}
	if (list.n > 0) {
		host_dns_check(view.dns, &view.host, &of_host);
		report_records(doctor, "dns_host", &of_host);
	}
	dns_view_close(&view);
	store_domain_list_free(&list);
}
