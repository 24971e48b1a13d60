/*
 * conf: the settings in memory, all driven by the table of settings.c.
 *
 * Invariant: every member holds a value that its row allows.
 * Threads: any; a struct conf belongs to one thread at a time.
 */
#include "core/conf/conf.h"

#include <assert.h>
#include <string.h>

#include "core/base/str.h"
#include "core/base/strv.h"
#include "core/conf/setting.h"

/* Longer lists of networks are printed in several lines: a line of the file
 * has an end. */
enum { LIST_LINE = 100 };

struct conf *conf_default(void)
{
	struct conf *conf = mem_new(struct conf);

	for (size_t i = 0; i < settings_n; i++) {
		int done = setting_parse(
			&settings[i], settings[i].fallback, conf, NULL);

		assert(done == 0);
		(void)done;
	}
	return conf;
}

void conf_free(struct conf *conf)
{
	if (conf == NULL)
		return;
	for (size_t i = 0; i < settings_n; i++)
		setting_clear(&settings[i], conf);
	free(conf);
}

static void print_line(const char *name, const char *value, struct buf *out)
{
	buf_printf(out, "%s =%s%s\n", name, *value ? " " : "", value);
}

static void print_list(const char *name, const char *value, struct buf *out)
{
	_cleanup_strv_ struct strv items = STRV_INIT;

	strv_split(&items, value, ' ');
	for (size_t i = 0; i < items.n; i++)
		if (*items.items[i])
			print_line(name, items.items[i], out);
}

static void print_setting(
	const struct setting *setting, const struct conf *conf, struct buf *out)
{
	_cleanup_buf_ struct buf value = BUF_INIT;

	setting_format(setting, conf, &value);
	if (setting_adds_up(setting) && value.len > LIST_LINE)
		print_list(setting->name, buf_str(&value), out);
	else
		print_line(setting->name, buf_str(&value), out);
}

void conf_print(const struct conf *conf, struct buf *out)
{
	const char *section = "";

	for (size_t i = 0; i < settings_n; i++) {
		if (!str_eq(section, settings[i].section)) {
			buf_printf(out, "%s[%s]\n", *section ? "\n" : "",
				settings[i].section);
			section = settings[i].section;
		}
		print_setting(&settings[i], conf, out);
	}
}

struct conf *conf_copy(const struct conf *conf)
{
	struct conf *copy = conf_default();

	for (size_t i = 0; i < settings_n; i++)
		setting_copy(&settings[i], copy, conf);
	return copy;
}

void conf_reload(struct conf *live, const struct conf *fresh, struct buf *restart)
{
	for (size_t i = 0; i < settings_n; i++) {
		const struct setting *setting = &settings[i];

		if (setting_equal(setting, live, fresh))
			continue;
		if (setting->reload)
			setting_copy(setting, live, fresh);
		else
			buf_printf(restart, "%s%s.%s", restart->len ? " " : "",
				setting->section, setting->name);
	}
}
