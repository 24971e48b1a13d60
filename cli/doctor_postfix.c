/*
 * doctor_postfix: Postfix's settings and processes.
 *
 * postfix-conf/check examines what enable changes, and if messages of each way reach the milter;
 * its findings are included.
 */
#include <dirent.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "cli/process.h"
#include "core/base/buf.h"
#include "core/base/cidr.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/program.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/postfix/postconf.h"
#include "core/store/company/store_domain.h"

enum { CHECK_MS = 300 * 1000, DOMAINS_LOOKED_AT = 50, DAY_S = 24 * 3600 };

/* Sets a fix that a finding of check ends with, up to a comma, such as `usermod -aG adm postern`.
 */
static void mend_said(struct doctor *doctor, const char *text)
{
	static const char *const commands[] = {"usermod -aG ", "postconf -e "};

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		const char *at = strstr(text, commands[i]);
		_cleanup_strv_ struct strv words = STRV_INIT;
		_cleanup_free_ char *command = NULL;

		if (at == NULL || strpbrk(at, "'\"();"))
			continue;
		command = mem_dup(at, strcspn(at, ","));
		strv_split(&words, command, ' ');
		strv_add_all(&doctor->findings[doctor->n - 1].mend, &words);
		return;
	}
}

/* Adds a finding of check, and what fixes it. */
static void take_over(struct doctor *doctor, char *line)
{
	static const char stopped[] = "kill -CONT ";
	char *result = strchr(line, '\t');
	char *text = result ? strchr(result + 1, '\t') : NULL;
	const char *at;
	enum doctor_result level = DOCTOR_GOOD;

	if (text == NULL)
		return;
	*result++ = '\0';
	*text++ = '\0';
	if (str_eq(result, "warning"))
		level = DOCTOR_WARNING;
	else if (str_eq(result, "wrong"))
		level = DOCTOR_WRONG;
	else if (str_eq(result, "unknown"))
		level = DOCTOR_UNKNOWN;
	doctor_say(doctor, line, level, "%s", text);
	if (level < DOCTOR_WARNING)
		return;
	at = strstr(text, stopped);
	if (str_eq(line, "milter") && at) {
		_cleanup_free_ char *pid = mem_dup(
			at + strlen(stopped), strspn(at + strlen(stopped), "0123456789"));

		doctor_mend(doctor, "kill", "-CONT", pid, NULL);
	} else if (str_eq(line, "milter")) {
		if (doctor->has_units)
			doctor_mend(doctor, "systemctl", "restart", "postern-milter", NULL);
	} else if (doctor->has_units &&
		   (str_eq(line, "httpd") || strstr(text, "events is not running"))) {
		doctor_mend(doctor, "systemctl", "restart",
			str_eq(line, "httpd") ? "postern-httpd" : "postern-events", NULL);
	} else if (doctor->has_units && str_eq(line, "smtp_auth") &&
		   str_starts(text, "postern-auth does not answer")) {
		doctor_mend(doctor, "systemctl", "restart", "postern-auth", NULL);
	} else {
		mend_said(doctor, text);
	}
}

static void run_check(struct doctor *doctor)
{
	_cleanup_free_ char *script = doctor_script("check");
	_cleanup_strv_ struct strv argv = STRV_INIT, lines = STRV_INIT;
	_cleanup_buf_ struct buf output = BUF_INIT;
	struct err err = ERR_INIT;

	if (script == NULL) {
		doctor_say(doctor, "settings", DOCTOR_UNKNOWN,
			"postfix-conf/check is missing, which checks main.cf");
		return;
	}
	strv_add(&argv, script);
	strv_add(&argv, "--rows");
	if (*doctor->postfix) {
		strv_add(&argv, "-c");
		strv_add(&argv, doctor->postfix);
	}
	if (access(doctor->conf_path, F_OK) == 0) {
		strv_add(&argv, "-p");
		strv_add(&argv, doctor->conf_path);
	}
	if (program_output(argv.items, CHECK_MS, &output, &err) < 0 && output.len == 0) {
		doctor_say(doctor, "postfix", DOCTOR_WRONG, "%s", err.text);
		doctor_mend(doctor, "postfix", "check", NULL);
		return;
	}
	strv_split(&lines, buf_str(&output), '\n');
	for (size_t i = 0; i < lines.n; i++)
		take_over(doctor, lines.items[i]);
}

/* A reload ends processes that wait for mail, as pickup(8) and qmgr(8) always do. */
static void look_at_reload(struct doctor *doctor)
{
	static const char *const files[] = {"main.cf", "master.cf"};
	const char *config = doctor->parameters[POSTFIX_CONFIG];
	struct process master;
	bool runs = process_find_postfix(doctor->parameters[POSTFIX_QUEUE], &master);
	DIR *processes = runs ? opendir("/proc") : NULL;
	struct dirent *entry;

	while (processes && (entry = readdir(processes)) != NULL) {
		struct process process;

		if (!process_read(entry->d_name, &process) || process.parent != master.pid ||
			!(str_eq(process.name, "pickup") || str_eq(process.name, "qmgr") ||
				str_eq(process.name, "smtpd")))
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
			_cleanup_free_ char *path = mem_printf("%s/%s", config, files[i]);
			time_t changed = 0;
			struct stat info;

			/* The scripts date what they write two seconds back
			 * (postfix-conf/draft.sh). */
			if (stat(path, &info) == 0)
				changed = info.st_mtime;
			if (changed && info.st_ctime > changed && info.st_ctime <= changed + 3)
				changed = info.st_ctime;
			if (changed > process.start_us / SECOND_US + 1) {
				doctor_say(doctor, "reload", DOCTOR_WRONG,
					"%s was changed after %s (process %s) was started", path,
					process.name, entry->d_name);
				closedir(processes);
				return;
			}
		}
	}
	if (processes) {
		closedir(processes);
		doctor_say(doctor, "reload", DOCTOR_GOOD,
			"Postfix was reloaded after the last change to its files");
	}
}

/* True for networks without a particular owner, such as those of RFC 1918. */
static bool is_private(const struct cidr *net)
{
	static const char own[] =
		"127.0.0.0/8 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 "
		"100.64.0.0/10 169.254.0.0/16 [::1]/128 [fc00::]/7 [fe80::]/10";
	_cleanup_cidr_list_ struct cidr_list list = CIDR_LIST_INIT;
	struct cidr address = *net;
	char text[CIDR_TEXT_SIZE];

	address.bits = net->family == AF_INET ? 32 : 128;
	cidr_format(&address, text);
	if (cidr_list_parse(own, &list, NULL) < 0)
		return false;
	for (size_t i = 0; i < list.n; i++) {
		struct cidr_list one = {&list.items[i], 1};

		if (cidr_list_has_text(&one, text))
			return net->bits >= list.items[i].bits;
	}
	return false;
}

static void look_at_networks(struct doctor *doctor)
{
	const char *text = doctor->parameters[POSTFIX_NETWORKS];
	bool excepted = false, wide = false;
	char *item;

	for (; (item = postconf_item(&text, &excepted)) != NULL; excepted = false) {
		_cleanup_cidr_list_ struct cidr_list list = CIDR_LIST_INIT;

		if (!excepted && cidr_list_parse(item, &list, NULL) == 0 && list.n == 1 &&
			list.items[0].bits < (list.items[0].family == AF_INET ? 24U : 48U) &&
			!is_private(&list.items[0])) {
			doctor_say(doctor, "networks", DOCTOR_WRONG,
				"mynetworks contains %s, a public network", item);
			wide = true;
		}
		free(item);
	}
	if (!wide)
		doctor_say(doctor, "networks", DOCTOR_GOOD,
			"mynetworks contains no large public network");
}

/* True if the list permits anybody before anything is rejected. */
static bool lets_anybody(const char *list)
{
	bool excepted;
	char *item;
	int lets = -1;

	while (lets < 0 && (item = postconf_item(&list, &excepted)) != NULL) {
		if (str_eq(item, "permit"))
			lets = 1;
		else if (str_eq(item, "reject") || str_eq(item, "defer") ||
			 str_eq(item, "reject_unauth_destination") ||
			 str_eq(item, "defer_unauth_destination"))
			lets = 0;
		free(item);
	}
	return lets != 0;
}

static void look_at_relay(struct doctor *doctor)
{
	if (lets_anybody(doctor->parameters[POSTFIX_RELAY]) &&
		lets_anybody(doctor->parameters[POSTFIX_RECIPIENT]))
		doctor_say(doctor, "relay", DOCTOR_WRONG,
			"smtpd_relay_restrictions (%s) lets strangers send to other domains: put "
			"reject_unauth_destination before anything that permits",
			doctor->parameters[POSTFIX_RELAY]);
	else
		doctor_say(doctor, "relay", DOCTOR_GOOD, "strangers cannot relay");
}

static void look_at_lifetime(struct doctor *doctor)
{
	static const struct unit units[] = {
		{"s", 1}, {"m", 60}, {"h", 3600}, {"d", DAY_S}, {"w", 7 * DAY_S}, {"", DAY_S}, {0}};
	const char *text = doctor->parameters[POSTFIX_LIFETIME];
	int64_t seconds;

	if (str_amount(text, units, &seconds) == 0 && seconds > 0 && seconds < DAY_S)
		doctor_say(doctor, "lifetime", DOCTOR_WARNING,
			"maximal_queue_lifetime is %s: mail is returned after less than a day",
			text);
}

/* Returns the first milter of the list that signs, judging by its name, or NULL. The caller frees
 * it. */
static char *find_signer(const char *list)
{
	static const char *const names[] = {
		"dkim", "rspamd", ":8891", ":12301", ":11332", "amavis"};
	bool excepted;
	char *item;

	while ((item = postconf_item(&list, &excepted)) != NULL) {
		for (size_t i = 0; i < ARRAY_SIZE(names); i++)
			if (strstr(item, names[i]))
				return item;
		free(item);
	}
	return NULL;
}

static void look_at_signer(struct doctor *doctor)
{
	_cleanup_free_ char *smtpd = find_signer(doctor->parameters[POSTFIX_SMTPD_MILTERS]);
	_cleanup_free_ char *local = find_signer(doctor->parameters[POSTFIX_LOCAL_MILTERS]);
	const char *signer = smtpd ? smtpd : local;
	bool by_smtp = doctor->conf->submission.method == SUBMISSION_SMTP;

	if (signer == NULL) {
		doctor_say(doctor, "signer", DOCTOR_UNKNOWN,
			"no milter was recognized as a DKIM signer");
		return;
	}
	if ((by_smtp ? smtpd : local) == NULL)
		doctor_say(doctor, "signer", DOCTOR_WRONG,
			"%s signs, but %s lacks it, which applies to emails of postern-httpd",
			signer, by_smtp ? "smtpd_milters" : "non_smtpd_milters");
	if (str_starts(
		    postconf_milter_action(signer, doctor->parameters[POSTFIX_ACTION]), "accept"))
		doctor_say(doctor, "signer", DOCTOR_WARNING,
			"%s has default_action=accept: while it is not running, mail leaves "
			"unsigned, which only the log shows; with tempfail mail waits",
			signer);
	else
		doctor_say(doctor, "signer", DOCTOR_GOOD, "%s signs", signer);
}

/* Changes after the milters invalidate a signature. */
static void look_at_signed_fields(struct doctor *doctor)
{
	const struct page page = {.limit = DOMAINS_LOOKED_AT};
	const char *generic = doctor->parameters[POSTFIX_GENERIC];
	const char *checks = doctor->parameters[POSTFIX_SMTP_CHECKS];
	struct domain_list list;
	struct page_end end;

	if (doctor->db == NULL || (str_empty(generic) && str_empty(checks)) ||
		store_domain_list(doctor->db, NULL, false, &page, &list, &end, NULL) <= 0)
		return;
	for (size_t i = 0; i < list.n; i++) {
		_cleanup_free_ char *address = mem_printf("hello@%s", list.items[i].name);
		_cleanup_free_ char *field = mem_printf("From: <%s>", address);
		_cleanup_free_ char *generic_said = NULL, *whole_said = NULL, *checks_said = NULL;

		if (postconf_look_up(doctor->postfix, generic, address, &generic_said, NULL) > 0 ||
			postconf_look_up(doctor->postfix, generic, strchr(address, '@'),
				&whole_said, NULL) > 0)
			doctor_say(doctor, "signed_fields", DOCTOR_WRONG,
				"smtp_generic_maps changes %s into %s", address,
				generic_said ? generic_said : whole_said);
		if (postconf_look_up(doctor->postfix, checks, field, &checks_said, NULL) > 0)
			doctor_say(doctor, "signed_fields", DOCTOR_WRONG,
				"smtp_header_checks has %s for '%s'", checks_said, field);
	}
	store_domain_list_free(&list);
}

static void look_at_instances(struct doctor *doctor)
{
	_cleanup_free_ char *all = mem_printf(
		"%s %s", doctor->parameters[POSTFIX_INSTANCES], doctor->parameters[POSTFIX_OTHERS]);
	const char *text = all;
	bool excepted;
	char *folder;

	for (; (folder = postconf_item(&text, &excepted)) != NULL; free(folder)) {
		static const char *const name = "smtpd_milters";
		_cleanup_free_ char *file = mem_printf("%s/main.cf", folder);
		char *value = NULL;

		if (access(file, R_OK) < 0 || postconf_read(folder, &name, 1, &value, NULL) < 0)
			continue;
		if (strstr(value, "postern/milter") == NULL)
			doctor_say(doctor, "instances", DOCTOR_WARNING,
				"the instance of Postfix in %s has no postern-milter: postern "
				"setup --postfix %s, with settings of its own, or leave it out on "
				"purpose",
				folder, folder);
		free(value);
	}
}

static void look_at_sendmail(struct doctor *doctor)
{
	const char *path = doctor->conf->submission.sendmail;
	_cleanup_free_ char *real = realpath(path, NULL);
	_cleanup_free_ char *own = realpath(doctor->parameters[POSTFIX_SENDMAIL], NULL);

	if (real == NULL)
		doctor_say(doctor, "sendmail", DOCTOR_WRONG, "%s is missing", path);
	else if (own && !str_eq(real, own))
		doctor_say(doctor, "sendmail", DOCTOR_WRONG,
			"%s (submission.sendmail) is %s, but Postfix's is %s: set the path", path,
			real, own);
	else
		doctor_say(doctor, "sendmail", DOCTOR_GOOD, "%s is Postfix's", path);
}

static bool same_content(const char *a, const char *b)
{
	char text[2][8192];
	const char *const paths[] = {a, b};
	size_t len[2];

	for (size_t i = 0; i < 2; i++) {
		FILE *file = fopen(paths[i], "re");

		if (file == NULL)
			return true;
		len[i] = fread(text[i], 1, sizeof(text[i]), file);
		fclose(file);
	}
	return len[0] == len[1] && memcmp(text[0], text[1], len[0]) == 0;
}

/* Files are copied into the chroot when Postfix starts, not when it is reloaded. */
static void look_at_chroot(struct doctor *doctor)
{
	const char *queue = doctor->parameters[POSTFIX_QUEUE];
	_cleanup_free_ char *copy = mem_printf("%s/etc/resolv.conf", queue);
	_cleanup_free_ char *log = mem_printf("%s/dev/log", queue);

	if (!same_content("/etc/resolv.conf", copy))
		doctor_say(doctor, "resolver", DOCTOR_WRONG,
			"%s differs from /etc/resolv.conf, which Postfix copies when it starts",
			copy);
	if (str_empty(doctor->parameters[POSTFIX_LOG]) && access(copy, F_OK) == 0 &&
		access("/usr/sbin/rsyslogd", X_OK) == 0 && access(log, F_OK) < 0)
		doctor_say(doctor, "chroot_log", DOCTOR_WARNING,
			"%s is missing: rsyslog creates it (/etc/rsyslog.d/postfix.conf)", log);
}

/* postern-events reads log lines of programs with the name prefix of main.cf. The names of
 * smtpd(8), which receives mail, do not matter. */
static void look_at_log_names(struct doctor *doctor)
{
	static const char option[] = "/unix/syslog_name = ";
	const char *name = doctor->parameters[POSTFIX_LOG_NAME];

	for (size_t i = 0; !str_empty(name) && i < doctor->services.n; i++) {
		const char *line = doctor->services.items[i];
		const char *value = strstr(line, option);
		size_t len = strlen(name);

		if (value == NULL || str_empty(value + strlen(option)))
			continue;
		value += strlen(option);
		if (strncmp(value, name, len) == 0 && (value[len] == '/' || value[len] == '\0'))
			continue;
		doctor_say(doctor, "log_names", DOCTOR_WARNING,
			"master.cf: %.*s has -o syslog_name=%s, so postern-events does not "
			"recognize its log lines: use %s/%s",
			(int)(strcspn(line, "/")), line, value, name, value);
	}
}

void doctor_look_at_postfix(struct doctor *doctor)
{
	if (doctor->is_set_up)
		run_check(doctor);
	if (doctor->parameters[POSTFIX_CONFIG] == NULL)
		return;
	look_at_networks(doctor);
	look_at_relay(doctor);
	look_at_lifetime(doctor);
	if (doctor->is_set_up) {
		look_at_reload(doctor);
		look_at_signer(doctor);
		look_at_signed_fields(doctor);
		look_at_instances(doctor);
	} else if (doctor->is_root) {
		/* A part of what check does. Only root may read the pid. */
		struct process master;

		if (process_find_postfix(doctor->parameters[POSTFIX_QUEUE], &master))
			doctor_say(doctor, "postfix", DOCTOR_GOOD, "Postfix is running");
		else
			doctor_say(doctor, "postfix", DOCTOR_WRONG, "Postfix is not running");
	}
	look_at_sendmail(doctor);
	look_at_chroot(doctor);
	look_at_log_names(doctor);
}
