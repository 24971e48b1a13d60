/*
 * doctor: the table of checks, and the list of findings.
 */
#include "cli/doctor.h"

#include <errno.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/process.h"
#include "core/base/mem.h"
#include "core/base/program.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/db/migrate.h"
#include "core/postfix/postconf.h"

enum { TIMEOUT_MS = 10000 };

#define ENABLE "postern setup"
#define RELOAD "postfix reload"

static const struct doctor_row table[] = {
	{"setup", "No program can send, and mail is neither checked nor recorded.", ENABLE,
		MEND_ASK},
	/* Findings of postfix-conf/check. */
	{"postfix", "No mail is sent or received.", "postfix start", MEND_ASK},
	{"postfix_log", "No mail is sent or received. Emails wait in the outbox.", NULL,
		MEND_BY_HAND},
	{"smtpd_milters", "Mail that arrives over SMTP is neither checked nor recorded.", ENABLE,
		MEND_ASK},
	{"non_smtpd_milters", "Mail from programs on this host is neither checked nor recorded.",
		ENABLE, MEND_ASK},
	{"default_action",
		"While the milter is not running, mail passes unchecked, and emails of "
		"postern-httpd lose their recipients.",
		ENABLE, MEND_ASK},
	{"tickets",
		"While Postfix does not use the milter, emails bounce or are sent elsewhere "
		"instead of waiting.",
		ENABLE, MEND_ASK},
	{"retry",
		"While Postfix does not use the milter, emails wait as \"mail transport "
		"unavailable\", which does not say why.",
		"postconf -M 'retry/unix=retry unix - - - - - error' && postfix reload", MEND_ASK},
	{"milter_protocol", "Postfix does not tell the milter what it needs to decide.",
		"postconf -X milter_protocol", MEND_ASK},
	{"milter", "Mail waits in Postfix until the milter answers.", NULL, MEND_SAFE},
	{"reach", "Postfix cannot reach the milter, and all mail waits.", NULL, MEND_BY_HAND},
	{"services", "Mail through this service bypasses the rules.", NULL, MEND_BY_HAND},
	{"no_milters", "Mail through this service is not checked.", NULL, MEND_BY_HAND},
	{"milter_maps", "Mail from these clients is not checked.", NULL, MEND_BY_HAND},
	{"other_milters", "Another program causes mail to be refused or to wait.", NULL,
		MEND_BY_HAND},
	{"header_checks", "A rule of Postfix stops emails, changes them or sends them elsewhere.",
		NULL, MEND_BY_HAND},
	{"recipients", "Some recipients get no email, or their delivery status is unknown.", NULL,
		MEND_BY_HAND},
	{"senders", "Emails from these senders are refused as forgeries.", NULL, MEND_BY_HAND},
	{"internal_mail", "Bounces and notices are refused, so nobody learns what failed.",
		"postconf -X internal_mail_filter_classes", MEND_ASK},
	{"learnt", "The milter takes programs or domains of this host for external ones.", ENABLE,
		MEND_ASK},
	{"settings", "The daemons do not start, or do not use these settings.", NULL, MEND_BY_HAND},
	{"message_size", "Postfix refuses large emails.", NULL, MEND_BY_HAND},
	{"header_limits", "Postfix truncates or returns emails.", NULL, MEND_BY_HAND},
	{"submit_users", "No program can send over HTTP.", NULL, MEND_BY_HAND},
	{"maildrop", "Programs on this host cannot submit mail to Postfix.",
		"postfix set-permissions", MEND_ASK},
	{"clock", "Lists by time, retention and Idempotency-Keys go wrong.", "timedatectl status",
		MEND_BY_HAND},
	{"httpd", "No program can send over HTTP.", NULL, MEND_SAFE},
	{"events", "The delivery status of emails is not updated.", NULL, MEND_SAFE},
	{"webhook", "Webhooks are not sent; they are sent later.", NULL, MEND_SAFE},
	{"submission", "No program can send over HTTP.", NULL, MEND_BY_HAND},
	{"returns", "Bounces and complaints are not read, or wait in Postfix.", NULL, MEND_BY_HAND},
	{"smtp_auth", "Programs cannot send over SMTP with an API key.", NULL, MEND_SAFE},
	{"probe", "Mail through this service is not checked, or is not sent.", NULL, MEND_BY_HAND},
	/* Postfix's settings and processes. */
	{"reload", "Old and new Postfix processes use different settings.", RELOAD, MEND_ASK},
	{"networks", "Hosts there may send as anybody.", NULL, MEND_BY_HAND},
	{"relay", "Anybody can send through this host (open relay).", NULL, MEND_BY_HAND},
	{"lifetime", "Mail that waits overnight is returned.", "postconf -X maximal_queue_lifetime",
		MEND_ASK},
	{"signer", "Mail may leave without a DKIM signature.", NULL, MEND_BY_HAND},
	{"signed_fields", "The DKIM signatures of these emails become invalid.", NULL,
		MEND_BY_HAND},
	{"instances", "Mail of this instance is neither checked nor recorded.", NULL, MEND_BY_HAND},
	{"minfree", "Postfix accepts no mail (452).", NULL, MEND_BY_HAND},
	{"sendmail", "Another mail system gets the emails.", NULL, MEND_BY_HAND},
	{"resolver", "Postfix processes in the chroot use outdated name servers.",
		"systemctl restart postfix", MEND_ASK},
	{"chroot_log", "Postfix processes in the chroot stop logging when syslog is restarted.",
		"systemctl restart postfix", MEND_ASK},
	/* This host. */
	{"folder", "Postfix cannot reach the milter, so mail waits.", NULL, MEND_SAFE},
	{"groups",
		"sendmail(1) refuses mail from postern-httpd, or postern-events cannot read the "
		"log.",
		NULL, MEND_SAFE},
	{"program", "The old version is still running.", NULL, MEND_ASK},
	{"rights", "A vulnerability in it would give an attacker the whole host.", NULL,
		MEND_BY_HAND},
	{"boot", "After the next boot mail waits, or its delivery status is not updated.", NULL,
		MEND_SAFE},
	{"boot_order", "After a boot mail waits for some seconds.", NULL, MEND_BY_HAND},
	{"sandbox", "The sandbox of the unit keeps the daemon out of it.", NULL, MEND_BY_HAND},
	{"restarts", "The daemon keeps exiting.", NULL, MEND_BY_HAND},
	{"health", "Programs get errors when they send.", NULL, MEND_BY_HAND},
	{"listen", "Keys and passwords cross the network unencrypted.", NULL, MEND_BY_HAND},
	{"disk", "When it is full, no mail is accepted.", NULL, MEND_BY_HAND},
	{"sync", "Each email waits for the disk.", NULL, MEND_BY_HAND},
	{"time", "Times of emails and signatures may be wrong.", "timedatectl set-ntp true",
		MEND_ASK},
	/* The store. */
	{"database", "The milter defers all mail, and no program can send.", NULL, MEND_BY_HAND},
	{"owner", "The daemons cannot write to it.", NULL, MEND_SAFE},
	{"secrets",
		"Every user of this host can read mail and hashes of keys, or log in to the "
		"database.",
		NULL, MEND_SAFE},
	{"schema", "The daemons do not start.", "postern db migrate", MEND_ASK},
	{"integrity", "Emails and keys may be lost.", "postern db restore FILE", MEND_BY_HAND},
	{"backup", "If the disk fails, emails and keys since the last backup are lost.", NULL,
		MEND_SAFE},
	{"wal", "The disk fills up, and reads become slow.", NULL, MEND_BY_HAND},
	{"staged", "Nobody has received these emails yet.", "postern held list", MEND_BY_HAND},
	{"outbox", "Emails wait in the outbox, and go out when the cause is gone.", NULL,
		MEND_BY_HAND},
	{"held", "They stay until somebody decides about them.", "postern held list", MEND_BY_HAND},
	{"decisions", "What admins decide on the dashboard about held mail is not carried out.",
		NULL, MEND_SAFE},
	{"refused", "These emails were not sent.", NULL, MEND_BY_HAND},
	{"messages", "They cannot be read or sent again for as long as configured.", NULL,
		MEND_BY_HAND},
	{"log_names", "The delivery status of mail through this service is not updated.", NULL,
		MEND_BY_HAND},
	{"log_lines", "The delivery status of some emails is not updated.", NULL, MEND_BY_HAND},
	{"log", "The delivery status of emails is not updated.", NULL, MEND_SAFE},
	{"endpoints", "These programs do not learn the delivery status of their emails.",
		"postern webhook list", MEND_BY_HAND},
	{"suppressions",
		"Addresses that bounce or complain are not added, so emails are still sent to "
		"them.",
		"set limits.suppressions, or postern suppression remove", MEND_BY_HAND},
	/* The DNS. */
	{"dns", "Receivers refuse such mail or treat it as spam.", NULL, MEND_BY_HAND},
	{"dkim", "Mail is sent unsigned, waits, or has invalid signatures.",
		"postern dkim enable DOMAIN", MEND_ASK},
	{"dns_host", "Large receivers refuse mail from this host.", NULL, MEND_BY_HAND},
	{0},
};

const char *doctor_result_name(enum doctor_result result)
{
	static const char *const names[] = {
		[DOCTOR_GOOD] = "good",
		[DOCTOR_UNKNOWN] = "unknown",
		[DOCTOR_WARNING] = "warning",
		[DOCTOR_WRONG] = "wrong",
	};

	return names[result];
}

static const struct doctor_row *find_row(const char *name)
{
	const struct doctor_row *row = table;

	while (row->name && !str_eq(row->name, name))
		row++;
	return row->name ? row : find_row("settings");
}

void doctor_say(
	struct doctor *doctor, const char *row, enum doctor_result result, const char *format, ...)
{
	struct doctor_finding *finding;
	va_list args;

	doctor->findings = mem_append(doctor->findings, doctor->n, sizeof(*doctor->findings));
	finding = &doctor->findings[doctor->n++];
	finding->row = find_row(row);
	finding->result = result;
	va_start(args, format);
	finding->text = mem_vprintf(format, args);
	va_end(args);
}

void doctor_mend(struct doctor *doctor, ...)
{
	struct strv *words = &doctor->findings[doctor->n - 1].mend;
	const char *word;
	va_list args;

	va_start(args, doctor);
	while ((word = va_arg(args, const char *)) != NULL)
		strv_add(words, word);
	va_end(args);
}

/* Commands that would change another instance of Postfix name the one that was checked. */
static char *for_instance(const struct doctor *doctor, const char *command)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	const char *next;

	if (str_eq(command, ENABLE))
		return mem_printf(
			"postern -c %s setup --postfix %s", doctor->conf_path, doctor->postfix);
	for (; command; command = next) {
		size_t name = strcspn(command, " ");
		const char *end = strstr(command, " && ");

		next = end ? end + strlen(" && ") : NULL;
		buf_add(&text, command, name);
		if (str_starts(command, "postfix ") || str_starts(command, "postconf "))
			buf_printf(&text, " -c %s", doctor->postfix);
		buf_add(&text, command + name,
			(next ? (size_t)(next - command) : strlen(command)) - name);
	}
	return buf_take(&text);
}

char *doctor_mend_words(const struct doctor *doctor, const struct doctor_finding *finding)
{
	_cleanup_free_ char *command = NULL;

	if (finding->result < DOCTOR_WARNING)
		return NULL;
	command = finding->mend.n ? strv_join(&finding->mend, " ") : mem_strdup(finding->row->mend);
	return command && *doctor->postfix ? for_instance(doctor, command) : TAKE_PTR(command);
}

bool doctor_mend_is_safe(const struct doctor_finding *finding)
{
	return finding->result >= DOCTOR_WARNING && finding->mend.n > 0 &&
	       finding->row->kind == MEND_SAFE;
}

char *doctor_output(const char *program, ...)
{
	_cleanup_strv_ struct strv argv = STRV_INIT;
	struct buf output = BUF_INIT;
	struct err err = ERR_INIT;
	const char *word;
	va_list args;

	strv_add(&argv, program);
	va_start(args, program);
	while ((word = va_arg(args, const char *)) != NULL)
		strv_add(&argv, word);
	va_end(args);
	if (program_output(argv.items, TIMEOUT_MS, &output, &err) < 0 && output.len == 0) {
		buf_free(&output);
		return NULL;
	}
	while (output.len > 0 && output.data[output.len - 1] == '\n')
		output.data[--output.len] = '\0';
	return buf_take(&output);
}

char *doctor_script(const char *name)
{
	static const char *const folders[] = {"../share/postern/postfix-conf", "../postfix-conf"};
	char program[4096];
	ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
	char *slash;

	program[len > 0 ? len : 0] = '\0';
	slash = strrchr(program, '/');
	for (size_t i = 0; slash && i < ARRAY_SIZE(folders); i++) {
		char *path = mem_printf(
			"%.*s/%s/%s", (int)(slash - program), program, folders[i], name);

		if (access(path, X_OK) == 0)
			return path;
		free(path);
	}
	return NULL;
}

void doctor_find_installation(struct doctor *doctor)
{
	doctor->is_installed = str_eq(doctor->conf_path, CONF_DEFAULT_PATH) && getpwnam("postern");
	doctor->has_units = doctor->is_installed && access("/run/systemd/system", F_OK) == 0;
}

static const char *const parameter_names[POSTFIX_PARAMETERS] = {
	[POSTFIX_CONFIG] = "config_directory",
	[POSTFIX_QUEUE] = "queue_directory",
	[POSTFIX_OWNER] = "mail_owner",
	[POSTFIX_GROUP] = "setgid_group",
	[POSTFIX_SIZE] = "message_size_limit",
	[POSTFIX_MINFREE] = "queue_minfree",
	[POSTFIX_NETWORKS] = "mynetworks",
	[POSTFIX_RELAY] = "smtpd_relay_restrictions",
	[POSTFIX_RECIPIENT] = "smtpd_recipient_restrictions",
	[POSTFIX_LIFETIME] = "maximal_queue_lifetime",
	[POSTFIX_SMTPD_MILTERS] = "smtpd_milters",
	[POSTFIX_LOCAL_MILTERS] = "non_smtpd_milters",
	[POSTFIX_ACTION] = "milter_default_action",
	[POSTFIX_GENERIC] = "smtp_generic_maps",
	[POSTFIX_SMTP_CHECKS] = "smtp_header_checks",
	[POSTFIX_INSTANCES] = "multi_instance_directories",
	[POSTFIX_OTHERS] = "alternate_config_directories",
	[POSTFIX_LOG] = "maillog_file",
	[POSTFIX_SENDMAIL] = "sendmail_path",
	[POSTFIX_LOG_NAME] = "syslog_name",
};

static bool runs(const struct doctor *doctor, const char *name)
{
	struct process process;

	return process_find(&doctor->processes, name, doctor->conf, &process);
}

/* False if nothing of Postern is in use: no daemon runs or is started at boot, and no setting of
 * Postfix names it. */
static bool is_set_up(const struct doctor *doctor)
{
	static const char *const names[] = {"smtpd_milters", "non_smtpd_milters", "transport_maps"};
	struct strv values[ARRAY_SIZE(names)] = {0};
	_cleanup_free_ char *boot = NULL;
	bool is_named = false;

	if (runs(doctor, "postern-milter") || runs(doctor, "postern-httpd"))
		return true;
	if (doctor->has_units)
		boot = doctor_output("systemctl", "is-enabled", "postern-milter", NULL);
	if (boot && str_starts(boot, "enabled"))
		return true;
	/* If Postfix cannot be asked, nothing says that it was not set up. */
	if (postconf_values(doctor->postfix, names, ARRAY_SIZE(names), values, NULL) < 0)
		is_named = true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		for (size_t j = 0; j < values[i].n; j++)
			is_named |= strstr(values[i].items[j], "postern") != NULL;
		strv_free(&values[i]);
	}
	return is_named;
}

void doctor_run(struct doctor *doctor)
{
	static const char *const options[] = {
		"*/unix/syslog_name", "*/inet/milter_macro_daemon_name"};
	struct err err = ERR_INIT;

	process_list_read(&doctor->processes);
	doctor->is_set_up = is_set_up(doctor);
	if (!doctor->is_set_up)
		doctor_say(doctor, "setup", DOCTOR_WRONG, "Postern is not set up yet");
	if (doctor->refused)
		doctor_say(doctor, "settings", DOCTOR_WRONG, "%s", doctor->refused);
	if (!doctor->is_root)
		doctor_say(doctor, "settings", DOCTOR_UNKNOWN,
			"run as root for a complete check: files and processes of other users "
			"were not checked, and no test message was sent");
	if (db_open(conf_store(doctor->conf), DB_READ, &doctor->db, &err) < 0) {
		/* This user may not read it; the daemons' user may. */
		bool unreadable = !doctor->is_root &&
				  access(doctor->conf->store.database, R_OK) < 0 && errno == EACCES;

		doctor_say(doctor, "database", unreadable ? DOCTOR_UNKNOWN : DOCTOR_WRONG, "%s",
			err.text);
	} else if (migrate_check(doctor->db, &err) < 0) {
		doctor_say(doctor, "schema", DOCTOR_WRONG, "%s", err.text);
		db_close(TAKE_PTR(doctor->db));
	}
	err = ERR_INIT;
	if (postconf_read(doctor->postfix, parameter_names, POSTFIX_PARAMETERS, doctor->parameters,
		    &err) < 0) {
		doctor_say(doctor, "postfix", DOCTOR_WRONG, "%s", err.text);
		doctor_mend(doctor, "postfix", "check", NULL);
	} else {
		postconf_services(
			doctor->postfix, options, ARRAY_SIZE(options), &doctor->services, NULL);
	}
	if (!doctor->briefly)
		doctor_look_at_postfix(doctor);
	doctor_look_at_host(doctor);
	doctor_look_at_store(doctor);
	if (!doctor->briefly && doctor->is_set_up)
		doctor_look_at_dns(doctor);
}

void doctor_clear(struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->n; i++) {
		free(doctor->findings[i].text);
		strv_free(&doctor->findings[i].mend);
	}
	free(TAKE_PTR(doctor->findings));
	doctor->n = 0;
	for (size_t i = 0; i < POSTFIX_PARAMETERS; i++)
		free(TAKE_PTR(doctor->parameters[i]));
	strv_free(&doctor->services);
	process_list_clear(&doctor->processes);
	db_close(TAKE_PTR(doctor->db));
}
