/*
 * cmd_setup: `postern setup`, whose work postfix-conf/setup does.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/cmd.h"
#include "cli/doctor.h"
#include "core/base/mem.h"
#include "core/base/strv.h"

static const struct column columns[] = {{0}};

/* Options of the script with another name than the command's. */
static const struct {
	enum verb_option_id id;
	const char *name;
} passed[] = {
	{OPTION_YES, "--yes"},
	{OPTION_UNDO, "--undo"},
	{OPTION_DRY_RUN, "--dry-run"},
	{OPTION_POSTFIX, "-c"},
	{OPTION_SUBMISSION, "--submission"},
	{OPTION_SERVICE, "--service"},
	{OPTION_SMTP_AUTH, "--smtp-auth"},
	{OPTION_DOMAIN, "--domain"},
	{OPTION_POLICY, "--policy"},
	{OPTION_NAME, "--name"},
	{OPTION_USER, "--user"},
	{OPTION_TO, "--to"},
};

static int run_setup(const struct call *call, struct report *report, struct err *err)
{
	_cleanup_free_ char *script = doctor_script("setup");
	_cleanup_strv_ struct strv argv = STRV_INIT;

	(void)report;
	if (script == NULL)
		return err_set(err, ERR_CONFIG, "postfix-conf/setup is missing");
	strv_add(&argv, script);
	strv_add(&argv, "-p");
	strv_add(&argv, call->arguments->conf_path);
	for (size_t i = 0; i < ARRAY_SIZE(passed); i++) {
		const char *value = call_option(call, passed[i].id);

		if (value == NULL)
			continue;
		strv_add(&argv, passed[i].name);
		if (*value)
			strv_add(&argv, value);
	}
	execv(script, argv.items);
	return err_set(err, ERR_CONFIG, "cannot run %s: %s", script, strerror(errno));
}

const struct verb cmd_setup = {
	.noun = "setup",
	.access = VERB_DIAGNOSES,
	.shape = VERB_NOTE,
	.columns = columns,
	.options = {{OPTION_YES, false, "Does not ask, and takes what it would propose."},
		{OPTION_UNDO, false,
			"Removes Postern from Postfix and stops the daemons, once the milter has "
			"seen all emails that wait for it. main.cf and master.cf are then as they "
			"were, to the byte, except for changes by others since. The database is "
			"kept."},
		{OPTION_DRY_RUN, false, "Shows the changes, and makes none."},
		{OPTION_POSTFIX, false,
			"The configuration directory of the Postfix instance. The default is "
			"Postfix's own."},
		{OPTION_SUBMISSION, false,
			"smtp: adds the service postern to master.cf, for submission.method smtp."},
		{OPTION_SERVICE, false,
			"Also puts the milter into the smtpd_milters of this service in master.cf. "
			"setup does so for every service with milters of its own; name one here "
			"that was told to ask none (an empty smtpd_milters)."},
		{OPTION_SMTP_AUTH, false,
			"Adds services to master.cf where programs log in over SMTP with an API "
			"key, and starts postern-auth. PLACES are ports, separated by commas: 587 "
			"(STARTTLS), 465 (implicit TLS), tls:2465, 192.0.2.1:587, 127.0.0.1:2525 "
			"(TLS optional). service:NAME changes an existing service instead, if "
			"nobody logs in there yet. Without this option setup asks, and proposes "
			"none."},
		{OPTION_DOMAIN, false, "The first domain. Without this option setup asks."},
		{OPTION_POLICY, false,
			"Its policy. Without this option setup asks, and proposes learn."},
		{OPTION_NAME, false, "The name of its company."},
		{OPTION_USER, false, "The login of the first operator of the dashboard."},
		{OPTION_TO, false, "The recipient of a test email."}},
	.help = "Sets Postern up beside a running Postfix. It checks this Postfix, shows the changes "
		"to main.cf and master.cf, asks, starts the milter, has Postfix use it, tests that "
		"with messages that nobody receives, and starts the other daemons. If a test message "
		"does not reach the milter, main.cf and master.cf are put back. Then it creates the "
		"first company, domain, key and operator, sends a test email and shows its delivery "
		"status. No mail is deferred meanwhile. It keeps what exists already, so it can be "
		"run again, for example after an upgrade.",
	.run = run_setup,
};
