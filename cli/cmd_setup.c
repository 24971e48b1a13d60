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

/* Of the script, which are called as the command's but for these. */
static const struct {
	enum verb_option_id id;
	const char *name;
} passed[] = {
	{OPTION_YES, "--yes"},
	{OPTION_UNDO, "--undo"},
	{OPTION_DRY_RUN, "--dry-run"},
	{OPTION_POSTFIX, "-c"},
	{OPTION_SUBMISSION, "--submission"},
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
	.options = {{OPTION_YES, false, "Asks nothing, and takes what it would propose."},
		{OPTION_UNDO, false,
			"Takes Postern out of Postfix again and stops the daemons, once the milter "
			"has seen all emails that wait for it. main.cf and master.cf are then as "
			"before, to the byte, but for what others have changed since. The "
			"database stays."},
		{OPTION_DRY_RUN, false, "Shows what would change, and changes nothing."},
		{OPTION_POSTFIX, false,
			"The configuration folder of the Postfix that is meant. Without this "
			"Postfix's own."},
		{OPTION_SUBMISSION, false,
			"smtp: adds the service postern to master.cf, for submission.method smtp."},
		{OPTION_SMTP_AUTH, false,
			"Adds services to master.cf at which programs log in over SMTP with an API "
			"key, and starts postern-auth: ports, with commas between, as 587 "
			"(STARTTLS), 465 (TLS from the start), tls:2465, 192.0.2.1:587, "
			"127.0.0.1:2525 (no TLS needed). With service:NAME a service that is "
			"there, and at which nobody logs in, gets the options instead. Without "
			"this it is asked for; nothing is proposed."},
		{OPTION_DOMAIN, false, "The first domain. Without this it is asked for."},
		{OPTION_POLICY, false,
			"Its policy. Without this it is asked for; learn is proposed."},
		{OPTION_NAME, false, "The name of its company."},
		{OPTION_USER, false, "The first operator of the dashboard."},
		{OPTION_TO, false, "Where a test email goes."}},
	.help = "Takes Postern into use beside a Postfix that runs. It looks at this Postfix, shows "
		"what will change in main.cf and master.cf, asks, starts the milter, has Postfix "
		"ask it, tries that with messages that nobody gets, and starts the other daemons. "
		"Where a message does not reach the milter Postfix's files are as before. Then it "
		"makes the first company, domain, key and operator, sends a test email and tells "
		"what became of it. All mail goes on meanwhile. What is there already stays, so "
		"it can be run again.",
	.run = run_setup,
};
