/*
 * doctor_dns: the DNS records of active domains and of this host, and the DKIM keys of the domains.
 */

#include "cli/dkim_signer.h"
#include "cli/doctor.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/ops/op_domain_dns.h"
#include "core/store/company/store_domain.h"

enum { DOMAINS_LOOKED_AT = 50 };

/* domain: of a domain; NULL: of this host. */
static void report_records(
	struct doctor *doctor, const char *row, const char *domain, const json_t *records)
{
	const json_t *record;
	size_t i;

	json_array_foreach(records, i, record) {
		const char *status = row_json_text(record, "status");

		doctor_say(doctor, row,
			str_eq(status, "verified")  ? DOCTOR_GOOD
			: str_eq(status, "unknown") ? DOCTOR_UNKNOWN
			: str_eq(status, "wrong")   ? DOCTOR_WRONG
						    : DOCTOR_WARNING,
			"%s of %s: %s", row_json_text(record, "record"),
			row_json_text(record, "name"), row_json_text(record, "text"));
		if (domain)
			doctor_mend(doctor, "postern", "domain", "check", domain, NULL);
	}
}

/* A new key signs once its DNS record is published, which somebody must do. */
#define PATIENCE_US (7 * DAY_US)

static void look_at_key(
	struct doctor *doctor, struct dkim_signer *signer, const struct dkim_key *key)
{
	_cleanup_free_ char *why = NULL;
	struct err err = ERR_INIT;
	int good;

	if (key->state == DKIM_NEW && key->created_us < doctor->now_us - PATIENCE_US) {
		doctor_say(doctor, "dkim", DOCTOR_WARNING,
			"the new key %s of %s has waited for its DNS record for more than a week",
			key->selector, key->domain);
		doctor_mend(doctor, "postern", "domain", "check", key->domain, NULL);
	}
	if (key->state != DKIM_SIGNING)
		return;
	good = dkim_signer_check_key(signer, key, &why, &err);
	if (good > 0) {
		doctor_say(doctor, "dkim", DOCTOR_GOOD, "%s signs for %s by the key %s",
			dkim_signer_name(signer), key->domain, key->selector);
		return;
	}
	doctor_say(doctor, "dkim", DOCTOR_WRONG, "the key %s of %s: %s", key->selector, key->domain,
		good < 0 ? err.text : why);
	doctor_mend(doctor, "postern", "dkim", "enable", key->domain, NULL);
}

/* Checks for key files of removed domains. */
static void look_at_leftovers(
	struct doctor *doctor, struct dkim_signer *signer, const struct dkim_key_list *keys)
{
	_cleanup_dkim_files_ struct dkim_file_list files = {0};

	if (dkim_signer_leftovers(signer, keys, NULL, &files, NULL) < 0)
		return;
	for (size_t i = 0; i < files.n; i++) {
		const struct dkim_file *file = &files.items[i];
		struct domain domain;
		int found = store_domain_find(doctor->db, file->domain, &domain, NULL);

		if (found > 0)
			store_domain_clear(&domain);
		if (found != 0)
			continue;
		doctor_say(doctor, "dkim", DOCTOR_WARNING,
			"%s is the key of a domain that is no longer registered", file->path);
		doctor_mend(doctor, "postern", "dkim", "disable", file->domain, NULL);
	}
}

/* Checks that the signer has exactly the keys of the store. */
static void look_at_keys(struct doctor *doctor)
{
	_cleanup_(dkim_signer) struct dkim_signer *signer = NULL;
	_cleanup_dkim_keys_ struct dkim_key_list keys = {0};
	_cleanup_free_ char *wiring = NULL;
	struct err err = ERR_INIT;
	bool signing = false;
	int same;

	if (store_dkim_list(doctor->db, NULL, &keys, &err) < 0)
		return;
	if (!doctor->is_root) {
		if (keys.n > 0)
			doctor_say(
				doctor, "dkim", DOCTOR_UNKNOWN, "only root can check private keys");
		return;
	}
	if (dkim_signer_open(doctor->conf, &signer, &err) < 0) {
		if (keys.n > 0)
			doctor_say(doctor, "dkim", DOCTOR_WRONG, "%s", err.text);
		return;
	}
	for (size_t i = 0; i < keys.n; i++) {
		look_at_key(doctor, signer, &keys.items[i]);
		signing |= keys.items[i].state == DKIM_SIGNING;
	}
	same = dkim_signer_check(signer, &keys, &err);
	if (same < 0)
		doctor_say(doctor, "dkim", DOCTOR_WRONG, "%s", err.text);
	else if (same == 0)
		doctor_say(doctor, "dkim", DOCTOR_WRONG,
			"the tables of %s lack keys that have to sign", dkim_signer_name(signer));
	/* Enabling one domain writes the tables of all. */
	if (same <= 0 && keys.n > 0)
		doctor_mend(doctor, "postern", "dkim", "enable", keys.items[0].domain, NULL);
	if (signing && dkim_signer_needs_address(signer) &&
		doctor->conf->submission.method == SUBMISSION_SMTP)
		doctor_say(doctor, "signer", DOCTOR_WRONG,
			"%s signs no mail of the service postern, because it gets no client "
			"address from it: set method = sendmail in [submission]",
			dkim_signer_name(signer));
	wiring = signing ? dkim_signer_wiring(signer, doctor->postfix) : NULL;
	if (wiring)
		doctor_say(doctor, "signer", DOCTOR_WRONG,
			"Postfix does not ask %s for all mail, so some is not signed; as root, "
			"run:\n%s",
			dkim_signer_name(signer), wiring);
	look_at_leftovers(doctor, signer, &keys);
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

	if (doctor->db == NULL)
		return;
	look_at_keys(doctor);
	if (store_domain_list(doctor->db, NULL, false, &page, &list, &end, NULL) <= 0)
		return;
	dns = dns_view_resolver(doctor->conf);
	dns_view_open(doctor->conf, &view);
	for (size_t i = 0; i < list.n; i++) {
		if (!list.items[i].active)
			continue;
		records = op_domain_dns_look(
			doctor->db, doctor->conf, &view, dns, &list.items[i], NULL);
		report_records(doctor, "dns", list.items[i].name, records);
		json_decref(records);
	}
	if (list.n > 0) {
		host_dns_check(dns, &view.host, &of_host);
		records = op_domain_dns_json(&of_host, true);
		report_records(doctor, "dns_host", NULL, records);
		json_decref(records);
	}
	dns_view_close(&view);
	store_domain_list_free(&list);
}
