/*
 * cmd_config: the settings in force.
 */
#include "cli/cmd.h"
#include "core/conf/conf.h"
#include "core/conf/setting.h"

enum { SECTION, NAME, VALUE, FALLBACK };

static const struct column columns[] = {
	[SECTION] = {"section", "SECTION", .type = COLUMN_TEXT},
	[NAME] = {"name", "NAME", .type = COLUMN_TEXT},
	[VALUE] = {"value", "VALUE", .type = COLUMN_TEXT},
	[FALLBACK] = {"default", "DEFAULT", .type = COLUMN_TEXT},
	{0},
};

static int run_config(const struct call *call, struct report *report, struct err *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT;

	(void)err;
	for (size_t i = 0; i < settings_n; i++) {
		_cleanup_buf_ struct buf value = BUF_INIT;

		setting_format(&settings[i], call->conf, &value);
		report_add_row(report);
		report_text(report, SECTION, settings[i].section);
		report_text(report, NAME, settings[i].name);
		report_text(report, VALUE, buf_str(&value));
		report_text(report, FALLBACK, settings[i].fallback);
	}
	conf_print(call->conf, &text);
	text.data[text.len - 1] = '\0'; /* the note adds the last newline */
	report_note(report, "%s", buf_str(&text));
	return 0;
}

const struct verb cmd_config = {
	.noun = "config",
	.access = VERB_NO_DATABASE,
	.shape = VERB_LINES,
	.columns = columns,
	.help = "Prints all settings with the values in force, as a file that could be "
		"given with -c. Sizes and durations come in the largest unit in which they "
		"are whole numbers: what was set as 60s or 1024K is printed as 1m or 1M. "
		"With --json: an array of section, name, value and default.",
	.run = run_config,
};
