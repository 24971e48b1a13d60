/*
 * cmd_dkim: the keys that sign mail of a domain.
 *
 * A key passes through three states (store_dkim.h). Each run first changes the store, commits, and
 * then rewrites the signer's tables completely from the store. So the next run repairs an
 * interrupted one.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/arguments.h"
#include "cli/cmd.h"
#include "cli/dkim_signer.h"
#include "core/address/addr.h"
#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/folder.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/dns/dkim.h"
#include "core/ops/dns_view.h"
#include "core/store/company/store_domain.h"

/* Mail that was signed by a key may still be in transit for this long: Postfix gives up after 5
 * days. */
#define KEPT_US (7 * DAY_US)

static const struct column columns[] = {
	{"domain", "DOMAIN", .type = COLUMN_TEXT},
	{"selector", "SELECTOR", .type = COLUMN_TEXT},
	{"state", "STATE", .type = COLUMN_TEXT},
	{"created_at", "CREATED", COLUMN_TIME, .spare = 1},
	{"changed_at", "SINCE", .type = COLUMN_TIME},
	{"name", NULL, .type = COLUMN_TEXT},
	{"value", NULL, .type = COLUMN_TEXT},
	{0},
};

static void report_keys(struct report *report, const struct dkim_key_list *keys)
{
	for (size_t i = 0; i < keys->n; i++) {
		const struct dkim_key *key = &keys->items[i];
		json_t *row = row_json(&store_dkim_type, key, ROW_SHOWN);
		_cleanup_free_ char *name = dkim_record_name(key->domain, key->selector);
		_cleanup_free_ char *value = dkim_record_value(key->public_key);

		json_object_set_new(row, "name", json_string(name));
		json_object_set_new(row, "value", json_string(value));
		report_json(report, row);
		json_decref(row);
	}
}

static int find_signed_domain(const struct call *call, struct domain *domain_r, struct err *err)
{
	_cleanup_free_ char *name = NULL;
	int found;

	if (addr_domain_normalize(call_argument(call), &name, err) < 0)
		return -1;
	found = store_domain_find(call->db, name, domain_r, err);
	return found != 0 ? found
			  : err_set(err, ERR_NOT_FOUND,
				    "there is no domain %s (postern domain add)", name);
}

static const struct dkim_key *key_in(const struct dkim_key_list *keys, enum dkim_state state)
{
	for (size_t i = 0; i < keys->n; i++)
		if (keys->items[i].state == state)
			return &keys->items[i];
	return NULL;
}

static bool has_selector(const struct dkim_key_list *keys, const char *selector)
{
	for (size_t i = 0; i < keys->n; i++)
		if (str_eq(keys->items[i].selector, selector))
			return true;
	return false;
}

/* Chooses a selector such as `p20261123`, with a letter after it if the domain has that one. The
 * caller frees it. */
static char *choose_selector(const struct call *call, const struct dkim_key_list *keys)
{
	char today[CLOCK_TEXT_SIZE];

	clock_stamp(call->now_us, today);
	for (char letter = 'a';; letter++) {
		char *selector = mem_printf("p%.8s%.*s", today, letter > 'a', &letter);

		if (!has_selector(keys, selector) || letter == 'z')
			return selector;
		free(selector);
	}
}

struct addition {
	struct dkim_key key;
	int64_t now_us;
};

static int add_key_row(struct db *db, void *arg, struct err *err)
{
	struct addition *addition = arg;

	return store_dkim_add(db, &addition->key, addition->now_us, err);
}

static int make_key(const struct call *call, struct dkim_signer *signer,
	const struct domain *domain, const struct dkim_key_list *keys, struct err *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
	const char *given = call_option(call, OPTION_SELECTOR);
	const char *file = call_option(call, OPTION_KEY_FILE);
	struct addition addition = {.now_us = call->now_us};
	struct dkim_key *key = &addition.key;
	size_t len = given ? strlen(given) : 0;
	int result;

	if (given == NULL && file)
		return err_set(err, ERR_INVALID,
			"--key-file needs --selector, the name of the key's DNS record");
	if (given && (len == 0 || len > 63 || strspn(given, letters) != len || *given == '-' ||
			     given[len - 1] == '-'))
		return err_set(err, ERR_INVALID,
			"--selector is a name of lower-case letters, digits and hyphens, not "
			"\"%s\"",
			given);
	if (given && has_selector(keys, given))
		return err_set(err, ERR_EXISTS, "%s has a key %s already", domain->name, given);
	key->selector = given ? mem_strdup(given) : choose_selector(call, keys);
	memcpy(key->domain_id, domain->id, ID_SIZE);
	/* The file of a selector that Postern chose is from a run that was interrupted before it
	 * had a row; the file of an admin's selector may belong to another program. */
	result = file ? dkim_signer_import_key(
				signer, domain->name, key->selector, file, &key->public_key, err)
		      : dkim_signer_make_key(signer, domain->name, key->selector,
				given == NULL && !has_selector(keys, key->selector),
				&key->public_key, err);
	if (result == 0 && db_atomic(call->db, add_key_row, &addition, err) < 0) {
		/* The file may be the admin's only copy. */
		if (file == NULL)
			(void)dkim_signer_remove_key(signer, domain->name, key->selector, NULL);
		result = -1;
	}
	row_clear(&store_dkim_type, key);
	return result;
}

struct switching {
	const char *domain_id;
	int64_t now_us;
};

static int switch_rows(struct db *db, void *arg, struct err *err)
{
	const struct switching *switching = arg;

	return store_dkim_switch(db, switching->domain_id, switching->now_us, err);
}

static int stop_rows(struct db *db, void *arg, struct err *err)
{
	const struct switching *switching = arg;

	return store_dkim_stop(db, switching->domain_id, switching->now_us, err);
}

static int remove_row(struct db *db, void *arg, struct err *err)
{
	return store_dkim_remove(db, arg, err);
}

/* Removes keys that are no longer needed: first their files, then their rows. */
static int remove_old(const struct call *call, struct dkim_signer *signer,
	const struct domain *domain, struct err *err)
{
	_cleanup_dkim_keys_ struct dkim_key_list keys = {0};

	if (store_dkim_list(call->db, domain->id, &keys, err) < 0)
		return -1;
	for (size_t i = 0; i < keys.n; i++) {
		struct dkim_key *key = &keys.items[i];

		if (key->state != DKIM_OLD || key->changed_us > call->now_us - KEPT_US)
			continue;
		if (dkim_signer_remove_key(signer, key->domain, key->selector, err) < 0 ||
			db_atomic(call->db, remove_row, key->id, err) < 0)
			return -1;
	}
	return 0;
}

/* Reports the keys of the domain, and what remains to be done. */
static int report_domain(const struct call *call, const struct domain *domain,
	const struct dkim_signer *signer, const char *note, struct report *report, struct err *err)
{
	_cleanup_dkim_keys_ struct dkim_key_list keys = {0};
	_cleanup_buf_ struct buf out = BUF_INIT;
	const struct dkim_key *key;

	if (store_dkim_list(call->db, domain->id, &keys, err) < 0)
		return -1;
	report_keys(report, &keys);
	key = key_in(&keys, DKIM_SIGNING);
	if (key)
		buf_printf(&out, "%s signs mail of %s by the key %s.\n", dkim_signer_name(signer),
			domain->name, key->selector);
	else
		buf_printf(&out, "Mail of %s is not signed.\n", domain->name);
	key = key_in(&keys, DKIM_NEW);
	if (key) {
		_cleanup_free_ char *name = dkim_record_name(key->domain, key->selector);
		_cleanup_free_ char *value = dkim_record_value(key->public_key);

		buf_printf(&out,
			"The key %s signs once it is in the DNS. Set this record, then run\n"
			"postern dkim enable %s (--now does not look):\n  %s TXT %s\n",
			key->selector, domain->name, name, value);
	}
	for (size_t i = 0; i < keys.n; i++)
		if (keys.items[i].state == DKIM_OLD) {
			buf_printf(&out, "Leave the record of %s in the DNS until ",
				keys.items[i].selector);
			clock_add(&out, keys.items[i].changed_us + KEPT_US);
			buf_add_str(&out, ".\n");
		}
	if (note)
		buf_printf(&out, "%s.\n", note);
	if (keys.n > 0 && !str_eq(call->arguments->verb->name, "disable")) {
		_cleanup_free_ char *wiring = dkim_signer_wiring(
			signer, call->conf->submission.postfix_config);

		if (wiring)
			buf_printf(&out,
				"Postfix does not ask %s for all mail. Have it do so, as root:\n%s",
				dkim_signer_name(signer), wiring);
	}
	out.data[out.len - 1] = '\0';
	report_note(report, "%s", buf_str(&out));
	return 0;
}

static int change_keys(const struct call *call, const struct domain *domain, struct report *report,
	struct err *err)
{
	const bool rotate = str_eq(call->arguments->verb->name, "rotate");
	const bool stop = str_eq(call->arguments->verb->name, "disable");
	struct switching switching = {domain->id, call->now_us};
	_cleanup_(dkim_signer) struct dkim_signer *signer = NULL;
	_cleanup_dkim_keys_ struct dkim_key_list keys = {0}, all = {0};
	_cleanup_free_ char *note = NULL;
	const struct dkim_key *fresh;

	if (dkim_signer_open(call->conf, &signer, err) < 0 ||
		store_dkim_list(call->db, domain->id, &keys, err) < 0)
		return -1;
	if (stop) {
		if (db_atomic(call->db, stop_rows, &switching, err) < 0)
			return -1;
	} else if (key_in(&keys, DKIM_NEW) == NULL &&
		   (rotate || key_in(&keys, DKIM_SIGNING) == NULL)) {
		if (make_key(call, signer, domain, &keys, err) < 0)
			return -1;
		store_dkim_list_free(&keys);
		if (store_dkim_list(call->db, domain->id, &keys, err) < 0)
			return -1;
	} else if (!stop && call_option(call, OPTION_KEY_FILE)) {
		return err_set(err, ERR_EXISTS,
			"%s has a key already, see postern dkim list %s; the key of a file can take "
			"its place by postern dkim rotate, once no other key waits for its record",
			domain->name, domain->name);
	}
	/* The new key signs once its DNS record is published. */
	fresh = stop ? NULL : key_in(&keys, DKIM_NEW);
	if (fresh) {
		const struct dkim_key_public public = {fresh->selector, fresh->public_key, ""};
		bool now = call_option(call, OPTION_NOW) != NULL;
		_cleanup_(dns) struct dns *dns = now ? NULL : dns_view_resolver(call->conf);

		if ((now || dkim_check(dns, domain->name, &public) == DKIM_SAME) &&
			db_atomic(call->db, switch_rows, &switching, err) < 0)
			return -1;
	}
	if (store_dkim_list(call->db, NULL, &all, err) < 0 ||
		dkim_signer_use(signer, &all, &note, err) < 0 ||
		remove_old(call, signer, domain, err) < 0)
		return -1;
	return report_domain(call, domain, signer, note, report, err);
}

/* For a removed domain: removes its remains from the signer. Returns 1, 0 if there are none, -1 on
 * error. */
static int clear_away(
	const struct call *call, const char *name, struct report *report, struct err *err)
{
	_cleanup_(dkim_signer) struct dkim_signer *signer = NULL;
	_cleanup_dkim_files_ struct dkim_file_list files = {0};
	_cleanup_dkim_keys_ struct dkim_key_list keys = {0};
	_cleanup_free_ char *note = NULL;
	int same;

	if (dkim_signer_open(call->conf, &signer, err) < 0 ||
		store_dkim_list(call->db, NULL, &keys, err) < 0 ||
		dkim_signer_leftovers(signer, &keys, name, &files, err) < 0)
		return -1;
	same = dkim_signer_check(signer, &keys, err);
	if (same < 0 || (same > 0 && files.n == 0))
		return same < 0 ? -1 : 0;
	for (size_t i = 0; i < files.n; i++)
		if (folder_remove_file(files.items[i].path, err) < 0)
			return -1;
	same = dkim_signer_check(signer, &keys, err);
	if (same < 0 || (same == 0 && dkim_signer_use(signer, &keys, &note, err) < 0))
		return -1;
	report_note(report, "%s has nothing of %s any more; files of keys removed: %zu.%s%s%s",
		dkim_signer_name(signer), name, files.n, note ? "\n" : "", note ? note : "",
		note ? "." : "");
	return 1;
}

static int run_disable(const struct call *call, struct report *report, struct err *err)
{
	_cleanup_free_ char *name = NULL;
	struct domain domain;
	int found, result;

	if (addr_domain_normalize(call_argument(call), &name, err) < 0)
		return -1;
	found = store_domain_find(call->db, name, &domain, err);
	if (found == 0) {
		result = clear_away(call, name, report, err);
		return result != 0
			       ? result
			       : err_set(err, ERR_NOT_FOUND,
					 "there is no domain %s, and nothing of it is left", name);
	}
	if (found < 0)
		return -1;
	result = change_keys(call, &domain, report, err);
	store_domain_clear(&domain);
	return result;
}

static int run_change(const struct call *call, struct report *report, struct err *err)
{
	struct domain domain;
	int result;

	if (find_signed_domain(call, &domain, err) < 0)
		return -1;
	result = change_keys(call, &domain, report, err);
	store_domain_clear(&domain);
	return result;
}

static int list_keys(const struct call *call, struct report *report, struct err *err)
{
	_cleanup_dkim_keys_ struct dkim_key_list keys = {0};
	struct domain domain = {0};

	if (call_argument(call) && find_signed_domain(call, &domain, err) < 0)
		return -1;
	if (store_dkim_list(call->db, domain.name ? domain.id : NULL, &keys, err) < 0) {
		store_domain_clear(&domain);
		return -1;
	}
	report_keys(report, &keys);
	store_domain_clear(&domain);
	return 0;
}

#define KEY_OPTIONS                                                                                \
	{OPTION_SELECTOR, false, "The selector of the new key. The default is p and the date."},   \
		{OPTION_KEY_FILE, false,                                                           \
			"Uses the private RSA key in this file, which may be signing already, "    \
			"instead of a new one. --selector is the name of its DNS record. The "     \
			"signer gets a copy."},                                                    \
	{                                                                                          \
		OPTION_NOW, false, "The new key signs at once, without a look at the DNS."         \
	}

const struct verb cmd_dkim_enable = {
	.noun = "dkim",
	.name = "enable",
	.argument = "DOMAIN",
	.access = VERB_STEPS,
	.shape = VERB_LINES,
	.columns = columns,
	.options = {KEY_OPTIONS},
	.help = "Has mail of the domain signed (DKIM) by OpenDKIM or rspamd, whichever is there: "
		"makes a key and prints its DNS record. Run again once the record is there, it "
		"puts the key into the signer's tables, which then signs by it. The private key "
		"is a file that the signer alone can read; lines of others in its tables stay. "
		"Where Postfix does not ask the signer it says what has to be run. "
		"To be run as root.",
	.run = run_change,
};

const struct verb cmd_dkim_rotate = {
	.noun = "dkim",
	.name = "rotate",
	.argument = "DOMAIN",
	.access = VERB_STEPS,
	.shape = VERB_LINES,
	.columns = columns,
	.options = {KEY_OPTIONS},
	.help = "Makes a new key, with a selector of its own. The old one goes on signing until "
		"the record of the new one is in the DNS and this, or postern dkim enable, is run "
		"again. Its own record has to stay for seven days more, for mail that is under "
		"way; then the next run removes its file.",
	.run = run_change,
};

const struct verb cmd_dkim_disable = {
	.noun = "dkim",
	.name = "disable",
	.argument = "DOMAIN",
	.access = VERB_STEPS,
	.shape = VERB_LINES,
	.columns = columns,
	.help = "Takes the domain out of the signer's tables: its mail is not signed from then on. "
		"Of a domain that was removed, the files of its keys go, too.",
	.run = run_disable,
};

const struct verb cmd_dkim_list = {
	.noun = "dkim",
	.name = "list",
	.argument = "[DOMAIN]",
	.access = VERB_READS,
	.shape = VERB_ROWS,
	.columns = columns,
	.help = "Lists the keys, of all domains or of one: new, which do not sign yet; signing; and "
		"old, whose records stay for seven days. With --json the record to set is name and "
		"value.",
	.run = list_keys,
};
