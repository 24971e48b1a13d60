/*
 * doctor: the table of rows, and findings.
 */
#include "cli/doctor.h"

#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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
	/* What postfix-conf/check finds. */
	{"postfix", "No mail goes out or comes in.", "postfix start", MEND_ASK},
	{"smtpd_milters", "Mail that comes by SMTP is neither checked nor recorded.", ENABLE,
		MEND_ASK},
	{"non_smtpd_milters", "Mail of programs of this host is neither checked nor recorded.",
		ENABLE, MEND_ASK},
	{"default_action",
		"While the milter is away mail passes unchecked, and emails of postern-httpd lose "
		"their recipients.",
		ENABLE, MEND_ASK},
	{"tickets", "While the milter is not asked, emails bounce or leave instead of waiting.",
		ENABLE, MEND_ASK},
	{"milter_protocol", "The milter is not told what it decides by.",
		"postconf -X milter_protocol", MEND_ASK},
	{"milter", "Mail waits in Postfix until the milter answers.", NULL, MEND_SAFE},
	{"reach", "Mail waits in Postfix for good.", NULL, MEND_BY_HAND},
	{"services", "Mail by this service passes the rules by.", NULL, MEND_BY_HAND},
	{"no_milters", "Mail by this way is not checked.", NULL, MEND_BY_HAND},
	{"milter_maps", "Mail of these clients is not checked.", NULL, MEND_BY_HAND},
	{"other_milters", "Mail is refused, or waits, because of another program.", NULL,
		MEND_BY_HAND},
	{"header_checks", "Emails are stopped, changed or sent elsewhere by a rule of Postfix.",
		NULL, MEND_BY_HAND},
	{"recipients", "Some recipients get no email, or their status is not known.", NULL,
		MEND_BY_HAND},
	{"senders", "Emails of these senders are refused as forgeries.", NULL, MEND_BY_HAND},
	{"internal_mail", "Bounces and notices are refused, and nobody learns what failed.",
		"postconf -X internal_mail_filter_classes", MEND_ASK},
	{"learnt", "The milter takes this host's own programs or domains for strangers.", ENABLE,
		MEND_ASK},
	{"settings", "The daemons do not start, or not with these settings.", NULL, MEND_BY_HAND},
	{"message_size", "Large emails are refused.", NULL, MEND_BY_HAND},
	{"header_limits", "Emails are cut or returned.", NULL, MEND_BY_HAND},
	{"submit_users", "No program can send by HTTP.", NULL, MEND_BY_HAND},
	{"maildrop", "Programs of this host cannot hand mail to Postfix.",
		"postfix set-permissions", MEND_ASK},
	{"clock", "Lists by time, retention and Idempotency-Keys go wrong.", "timedatectl status",
		MEND_BY_HAND},
	{"httpd", "No program can send by HTTP.", NULL, MEND_SAFE},
	{"events", "Nobody learns what becomes of emails.", NULL, MEND_SAFE},
	{"webhook", "Endpoints of companies learn nothing of their emails.", NULL, MEND_SAFE},
	{"submission", "No program can send by HTTP.", NULL, MEND_BY_HAND},
	{"returns", "Bounces and complaints are not read, or wait.", NULL, MEND_BY_HAND},
	{"smtp_auth", "Programs cannot send over SMTP with an API key.", NULL, MEND_SAFE},
	{"probe", "Mail by this way is not checked, or does not go out.", NULL, MEND_BY_HAND},
	/* Postfix's settings and processes. */
	{"reload", "Old and new processes of Postfix have different settings.", RELOAD, MEND_ASK},
	{"networks", "Strangers may send as anybody from there.", NULL, MEND_BY_HAND},
	{"relay", "Strangers send through this host.", NULL, MEND_BY_HAND},
	{"lifetime", "Mail that waits over a night is returned.",
		"postconf -X maximal_queue_lifetime", MEND_ASK},
	{"signer", "Mail may leave without a signature (DKIM).", NULL, MEND_BY_HAND},
	{"signed_fields", "Signatures (DKIM) of these emails become invalid.", NULL, MEND_BY_HAND},
	{"instances", "Mail of this instance is neither checked nor recorded.", NULL, MEND_BY_HAND},
	{"minfree", "Postfix takes no mail (452).", NULL, MEND_BY_HAND},
	{"sendmail", "Another mail system gets the emails.", NULL, MEND_BY_HAND},
	{"resolver", "Processes of Postfix in the chroot look up names as of before.",
		"systemctl restart postfix", MEND_ASK},
	{"chroot_log", "Processes of Postfix in the chroot go mute when syslog is restarted.",
		"systemctl restart postfix", MEND_ASK},
	/* This host. */
	{"folder", "Postfix cannot reach the milter, so mail waits.", NULL, MEND_SAFE},
	{"groups", "sendmail(1) does not take mail of postern-httpd, or the log cannot be read.",
		NULL, MEND_SAFE},
	{"program", "It works as the version of before.", NULL, MEND_ASK},
	{"rights", "Who finds a fault in it has the whole host.", NULL, MEND_BY_HAND},
	{"boot", "After the next boot mail waits, or is not followed.", NULL, MEND_SAFE},
	{"boot_order", "After a boot mail waits for some seconds.", NULL, MEND_BY_HAND},
	{"sandbox", "The unit's sandbox keeps the daemons out of it.", NULL, MEND_BY_HAND},
	{"restarts", "The daemon ends again and again.", NULL, MEND_BY_HAND},
	{"health", "Programs get errors when they send.", NULL, MEND_BY_HAND},
	{"listen", "Keys and passwords cross the network in the clear.", NULL, MEND_BY_HAND},
	{"disk", "When it is full nothing is accepted.", NULL, MEND_BY_HAND},
	{"sync", "Each email waits for the disk.", NULL, MEND_BY_HAND},
	{"time", "Times of emails and signatures may be wrong.", "timedatectl set-ntp true",
		MEND_ASK},
	/* The store. */
	{"database", "The milter puts all mail off, and no program can send.", NULL, MEND_BY_HAND},
	{"owner", "The daemons cannot write it.", NULL, MEND_SAFE},
	{"secrets", "Every user of this host can read mail and hashes of keys.", NULL, MEND_SAFE},
	{"schema", "The daemons do not start.", "postern db migrate", MEND_ASK},
	{"integrity", "Emails and keys may be lost.", "postern db restore FILE", MEND_BY_HAND},
	{"wal", "The disk fills, and reading becomes slow.", NULL, MEND_BY_HAND},
	{"staged", "Nobody has got these emails yet.", "postern held list", MEND_BY_HAND},
	{"held", "They stay until somebody decides.", "postern held list", MEND_BY_HAND},
	{"refused", "These emails were not sent.", NULL, MEND_BY_HAND},
	{"messages", "They cannot be read back, or sent again, for as long as was set.", NULL,
		MEND_BY_HAND},
	{"log_names", "Nobody learns what becomes of emails by this service.", NULL, MEND_BY_HAND},
	{"log", "Nobody learns what becomes of emails.", NULL, MEND_SAFE},
	{"endpoints", "These programs are not told what becomes of emails.", "postern webhook list",
		MEND_BY_HAND},
	{"suppressions", "Addresses that bounce or complain are not added, and are sent to again.",
		"set limits.suppressions, or postern suppression remove", MEND_BY_HAND},
	/* The DNS. */
	{"dns", "Receivers refuse such mail, or take it for spam.", "postern domain check NAME",
		MEND_BY_HAND},
	{"dkim", "Mail leaves unsigned or waits, or its signatures are not valid.",
		"postern dkim enable DOMAIN", MEND_ASK},
	{"dns_host", "Large receivers refuse mail of this host.", NULL, MEND_BY_HAND},
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
	if (vasprintf(&finding->text, format, args) < 0)
		finding->text = mem_strdup("");
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

char *doctor_mend_words(const struct doctor_finding *finding)
{
	if (finding->result < DOCTOR_WARNING)
		return NULL;
	return finding->mend.n ? strv_join(&finding->mend, " ") : mem_strdup(finding->row->mend);
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

/* What the link names; "" when it cannot be read. */
static void read_link(const char *path, char *target_r, size_t size)
{
	ssize_t len = readlink(path, target_r, size - 1);

	target_r[len > 0 ? len : 0] = '\0';
}

char *doctor_script(const char *name)
{
	static const char *const folders[] = {"../share/postern/postfix-conf", "../postfix-conf"};
	char program[4096];
	char *slash;

	read_link("/proc/self/exe", program, sizeof(program));
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

static void read_parameters(struct doctor *doctor)
{
	static const char *const names[POSTFIX_PARAMETERS] = {
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
	struct err err = ERR_INIT;

	if (postconf_read(doctor->postfix, names, POSTFIX_PARAMETERS, doctor->parameters, &err) < 0)
		doctor_say(doctor, "postfix", DOCTOR_WRONG, "%s", err.text);
}

static void open_store(struct doctor *doctor)
{
	struct err err = ERR_INIT;

	if (db_open(conf_store(doctor->conf), DB_READ, &doctor->db, &err) < 0)
		doctor_say(doctor, "database", DOCTOR_WRONG, "%s", err.text);
	else if (migrate_check(doctor->db, &err) < 0) {
		doctor_say(doctor, "schema", DOCTOR_WRONG, "%s", err.text);
		db_close(TAKE_PTR(doctor->db));
	}
}

void doctor_find_installation(struct doctor *doctor)
{
	doctor->is_installed = str_eq(doctor->conf_path, CONF_DEFAULT_PATH) && getpwnam("postern");
	doctor->has_units = doctor->is_installed && access("/run/systemd/system", F_OK) == 0;
}

void doctor_run(struct doctor *doctor)
{
	if (doctor->refused)
		doctor_say(doctor, "settings", DOCTOR_WRONG, "%s", doctor->refused);
	if (!doctor->is_root)
		doctor_say(doctor, "settings", DOCTOR_UNKNOWN,
			"not root: files and processes of others cannot be looked at, and no "
			"message is sent");
	open_store(doctor);
	read_parameters(doctor);
	if (!doctor->briefly)
		doctor_look_at_postfix(doctor);
	doctor_look_at_host(doctor);
	doctor_look_at_store(doctor);
	if (!doctor->briefly)
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
	db_close(TAKE_PTR(doctor->db));
}
