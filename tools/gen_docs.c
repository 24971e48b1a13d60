/*
 * gen_docs: puts the tables of verbs and of settings into a manual page, or into
 * the completion for bash.
 *
 * Reads it from standard input and writes it to standard output; a line @VERBS@
 * or @SETTINGS@ becomes the text for scdoc that the table gives, @COMPLETION@ a
 * line for each verb. So help, manual and program cannot say different things.
 */
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "cli/verbs.h"
#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/setting.h"

/* Names have underscores, which mean something to scdoc. */
static void add_name(struct buf *out, const char *name)
{
	for (; *name; name++) {
		if (strchr("_*\\", *name))
			buf_add_char(out, '\\');
		buf_add_char(out, *name);
	}
}

static void add_option(const struct verb_option *taken, struct buf *out)
{
	const struct verbs_option *option = &verbs_options[taken->id];

	buf_printf(out, "*--%s*", option->name);
	if (option->argument)
		buf_printf(out, " _%s_", option->argument);
}

static void add_verb(const struct verb *verb, struct buf *out)
{
	buf_printf(out, "*postern %s", verb->noun);
	if (verb->name)
		buf_printf(out, " %s", verb->name);
	buf_add_char(out, '*');
	if (verb->argument)
		buf_printf(out, " _%s_", verb->argument);
	for (size_t i = 0; verb->options[i].help; i++) {
		const struct verb_option *taken = &verb->options[i];

		buf_add_str(out, taken->required ? " " : " [");
		add_option(taken, out);
		buf_add_str(out, taken->required ? "" : "]");
	}
	buf_printf(out, "\n\t%s\n\n", verb->help);
	for (size_t i = 0; verb->options[i].help; i++) {
		buf_add_char(out, '\t');
		add_option(&verb->options[i], out);
		buf_printf(out, "\n\t\t%s\n\n", verb->options[i].help);
	}
}

static void add_verbs(struct buf *out)
{
	for (size_t i = 0; verbs[i]; i++)
		add_verb(verbs[i], out);
}

/* NOUN VERB|ARGUMENT| --OPTION= --FLAG, as tools/install/postern.bash reads it. */
static void add_completion(struct buf *out)
{
	for (size_t i = 0; verbs[i]; i++) {
		const struct verb *verb = verbs[i];

		buf_printf(out, "%s%s%s|%s|", verb->noun, verb->name ? " " : "",
			verb->name ? verb->name : "", verb->argument ? verb->argument : "");
		for (size_t j = 0; verb->options[j].help; j++) {
			const struct verbs_option *option = &verbs_options[verb->options[j].id];

			buf_printf(out, " --%s%s", option->name, option->argument ? "=" : "");
		}
		buf_add_char(out, '\n');
	}
}

static void add_setting(const struct setting *setting, struct buf *out)
{
	buf_add_char(out, '*');
	add_name(out, setting->name);
	buf_add_str(out, "* =");
	if (*setting->fallback)
		buf_add_char(out, ' ');
	add_name(out, setting->fallback);
	buf_printf(out, "\n\t%s\n\n\tTakes ", setting->help);
	setting_describe(setting, out);
	buf_printf(out, ". %s\n\n",
		setting->reload ? "A reload changes it." : "Changing it takes a restart.");
}

static void add_settings(struct buf *out)
{
	const char *section = "";

	for (size_t i = 0; i < settings_n; i++) {
		if (!str_eq(section, settings[i].section)) {
			section = settings[i].section;
			buf_printf(out, "## [%s]\n\n", section);
		}
		add_setting(&settings[i], out);
	}
}

static void add_line(const char *line, struct buf *out)
{
	if (str_eq(line, "@VERBS@\n"))
		add_verbs(out);
	else if (str_eq(line, "@SETTINGS@\n"))
		add_settings(out);
	else if (str_eq(line, "@COMPLETION@\n"))
		add_completion(out);
	else
		buf_add_str(out, line);
}

int main(int argc, char **argv)
{
	_cleanup_buf_ struct buf out = BUF_INIT;
	char *line = NULL;
	size_t size = 0;

	if (argc > 1) {
		fprintf(stderr, "gen_docs: what is %s? It reads standard input\n", argv[1]);
		return EX_USAGE;
	}
	while (getline(&line, &size, stdin) >= 0)
		add_line(line, &out);
	free(line);
	if (ferror(stdin) || fwrite(buf_str(&out), 1, out.len, stdout) < out.len ||
		fflush(stdout) != 0) {
		perror("gen_docs");
		return 1;
	}
	return 0;
}
