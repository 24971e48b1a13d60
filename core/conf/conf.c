/*
 * conf: the settings in memory, driven by the table of settings.c.
 *
 * Invariant: every member has a value that its row allows. Threads: any; a struct conf is used
 * by one thread at a time.
 */
#include "core/conf/conf.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <ini.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/base/str.h"
#include "core/base/strv.h"
#include "core/conf/setting.h"

/* Longer lists of networks are printed on several lines, because the length of a line in the
 * file is limited. */
enum { LIST_LINE = 100 };

struct conf *conf_default(void)
{
	struct conf *conf = mem_new(struct conf);

	for (size_t i = 0; i < settings_n; i++) {
		int done = setting_parse(&settings[i], settings[i].fallback, conf, NULL);

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
	free(conf->store.place);
	free(conf);
}

static void print_line(const char *name, const char *value, struct buf *out)
{
	buf_printf(out, "%s =%s%s\n", name, *value ? " " : "", value);
}

/* Prints a long list with one item on each line. */
static void print_setting(const struct setting *setting, const struct conf *conf, struct buf *out)
{
	_cleanup_buf_ struct buf value = BUF_INIT;
	_cleanup_strv_ struct strv items = STRV_INIT;

	setting_format(setting, conf, &value);
	if (!setting_adds_up(setting) || value.len <= LIST_LINE) {
		print_line(setting->name, buf_str(&value), out);
		return;
	}
	strv_split(&items, buf_str(&value), ' ');
	for (size_t i = 0; i < items.n; i++)
		if (*items.items[i])
			print_line(setting->name, items.items[i], out);
}

void conf_print(const struct conf *conf, struct buf *out)
{
	const char *section = "";

	for (size_t i = 0; i < settings_n; i++) {
		if (!str_eq(section, settings[i].section)) {
			buf_printf(out, "%s[%s]\n", *section ? "\n" : "", settings[i].section);
			section = settings[i].section;
		}
		print_setting(&settings[i], conf, out);
	}
}

const char *conf_store(const struct conf *conf)
{
	return conf->store.place ? conf->store.place : conf->store.database;
}

const char *conf_host(const struct conf *conf)
{
	return conf->store.place ? strrchr(conf->store.place, '#') + 1 : "";
}

char *conf_api_url(const struct conf *conf, const char **socket_r)
{
	static const char un[] = "unix:";
	const char *listen = conf->http.listen;

	*socket_r = NULL;
	if (!str_empty(conf->http.url))
		return mem_strdup(conf->http.url);
	if (!str_starts(listen, un))
		return mem_printf("http://%s", listen);
	*socket_r = listen + strlen(un);
	return mem_strdup("http://localhost");
}

static void set_place(struct conf *conf)
{
	char name[HOST_NAME_MAX + 1] = "";

	free(conf->store.place);
	conf->store.place = NULL;
	if (str_empty(conf->store.url))
		return;
	if (str_empty(conf->store.host) && gethostname(name, sizeof(name)) == 0)
		name[HOST_NAME_MAX] = '\0';
	conf->store.place = mem_printf("%s#%s", conf->store.url, *name ? name : conf->store.host);
}

struct conf *conf_copy(const struct conf *conf)
{
	struct conf *copy = conf_default();

	for (size_t i = 0; i < settings_n; i++)
		setting_copy(&settings[i], copy, conf);
	set_place(copy);
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
			buf_printf(restart, "%s%s.%s", restart->len ? " " : "", setting->section,
				setting->name);
	}
}

int conf_reread(struct conf *live, const char *path, struct log *log,
	const struct conf_reader *reader, struct err *err)
{
	_cleanup_(conf) struct conf *fresh = NULL;
	_cleanup_(conf) struct conf *next = conf_copy(live);
	_cleanup_buf_ struct buf restart = BUF_INIT;

	if (conf_load(path, &fresh, err) < 0 ||
		(reader->complete && reader->complete(reader->arg, fresh, err) < 0)) {
		log_error(log, "reload_failed", "error", err->text);
		return -1;
	}
	conf_reload(next, fresh, &restart);
	if (reader->apply && reader->apply(reader->arg, next, err) < 0) {
		log_error(log, "reload_failed", "error", err->text);
		return -1;
	}
	conf_reload(live, next, &restart);
	log_set_level(log, (enum log_level)live->log.level);
	log_info(log, "reloaded", "file", path);
	if (restart.len > 0)
		log_warn(log, "restart_needed", "needs_restart", buf_str(&restart));
	return 0;
}

/*
 * conf_load: reads the settings from an INI file and its directory.
 *
 * inih parses the file, but it cuts long lines, joins indented lines to the previous one and
 * ignores what it cannot parse. So every line is checked before inih gets it. A faulty line is
 * noted and replaced by an empty one. All faults are reported together at the end.
 */

/* Room for faults in struct err, less that for "and N more". */
enum { FAULTS_TEXT = ERR_TEXT_MAX - 40 };

struct file_position {
	const char *path;
	int line; /* 0 if none */
};

struct loading {
	struct file_position at;
	FILE *file;
	char *text; /* buffer of getline() */
	size_t text_size;
	struct conf *conf;
	struct file_position *set_in; /* the place where each setting was set */
	bool lost;         /* the line is in an unknown section, which inih does not report */
	struct strv paths; /* see conf_files() */
	struct strv faults;
};

__attribute__((format(printf, 2, 3))) static void add_fault(
	struct loading *loading, const char *format, ...)
{
	_cleanup_buf_ struct buf fault = BUF_INIT;
	char text[ERR_TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	buf_printf(&fault, "%s:%d: %s", loading->at.path, loading->at.line, text);
	strv_take(&loading->faults, buf_take(&fault));
}

static bool has_control(const char *text)
{
	for (; *text; text++)
		if (ascii_is_control(*text) && *text != '\t')
			return true;
	return false;
}

static bool is_comment(const char *text)
{
	return *text == ';' || *text == '#';
}

static void check_section(struct loading *loading, const char *text)
{
	const char *end = strchr(text, ']');
	_cleanup_free_ char *name = NULL;
	size_t faults = loading->faults.n;
	const char *rest;

	loading->lost = true;
	if (end == NULL) {
		add_fault(loading, "the ] behind [%s is missing", text + 1);
		return;
	}
	name = mem_dup(text + 1, (size_t)(end - text - 1));
	if (!setting_section_known(name))
		add_fault(loading, "there is no section [%s]", name);
	rest = str_skip_blanks(end + 1);
	if (*rest && !is_comment(rest))
		add_fault(loading, "unexpected text behind [%s]", name);
	loading->lost = loading->faults.n > faults;
}

/* max: bytes that inih accepts, including the end of line. */
static void check_line(struct loading *loading, size_t len, size_t max)
{
	static const char bom[] = "\xef\xbb\xbf";
	_cleanup_free_ char *copy = mem_dup(loading->text, len);
	char *text = copy;
	const char *start;

	if (len > 0 && text[len - 1] == '\n')
		text[--len] = '\0';
	if (len > 0 && text[len - 1] == '\r')
		text[--len] = '\0';
	if (loading->at.line == 1 && str_starts(text, bom))
		text += strlen(bom);
	start = str_skip_blanks(text);
	if (len > max - 2)
		add_fault(loading, "the line is longer than %zu bytes", max - 2);
	else if (strlen(copy) != len || has_control(text))
		add_fault(loading, "there is a control character");
	else if (!str_utf8_valid(text, strlen(text)))
		add_fault(loading, "the text is not UTF-8");
	else if (*start == '\0' || is_comment(start))
		return; /* nothing to check */
	else if (start != text)
		add_fault(loading, "a setting must not be indented");
	else if (*text == '[')
		check_section(loading, text);
	else if (strchr(text, '=') == NULL)
		add_fault(loading, "\"%s\" is neither [section] nor name = value", text);
}

static char *on_line_wanted(char *to, int size, void *arg)
{
	struct loading *loading = arg;
	size_t faults = loading->faults.n;
	ssize_t len = getline(&loading->text, &loading->text_size, loading->file);

	if (len < 0)
		return NULL;
	loading->at.line++;
	check_line(loading, (size_t)len, (size_t)size - 1);
	if (loading->faults.n > faults)
		return memcpy(to, "\n", sizeof("\n"));
	return memcpy(to, loading->text, (size_t)len + 1);
}

/* True for the file in which `postfix-conf/enable` writes what it learns from Postfix. */
static bool is_learnt(const struct file_position *at)
{
	const char *slash = strrchr(at->path, '/');

	return slash && str_eq(slash, "/learnt.conf");
}

/* A setting that an admin has set takes the place of a learnt one: enable does not learn it again,
 * but it may have been learnt before. */
static void change_setting(
	struct loading *loading, const struct setting *setting, const char *value)
{
	struct file_position *set_in = &loading->set_in[setting - settings];
	bool again = set_in->line && !setting_adds_up(setting);
	_cleanup_buf_ struct buf all = BUF_INIT;
	struct err err = ERR_INIT;

	if (again && is_learnt(&loading->at))
		return;
	if (again && !is_learnt(set_in)) {
		add_fault(loading, "%s.%s is already set in %s%s%d", setting->section,
			setting->name, set_in->path == loading->at.path ? "line" : set_in->path,
			set_in->path == loading->at.path ? " " : ":", set_in->line);
		return;
	}
	if (set_in->line && !again)
		buf_printf(&all, "%s ", setting_text(setting, loading->conf));
	buf_add_str(&all, value);
	*set_in = loading->at;
	if (setting_parse(setting, buf_str(&all), loading->conf, &err) < 0)
		add_fault(loading, "%s.%s: %s", setting->section, setting->name, err.text);
}

/* inih removes a comment that begins with ` ;`. Any other would silently become part of the value,
 * so what looks like one is a fault. */
static void on_named_setting(
	struct loading *loading, const char *section, const char *name, const char *value)
{
	const struct setting *setting = setting_find(section, name);

	if (setting == NULL)
		add_fault(loading, "there is no setting %s.%s", section, name);
	else if (is_comment(value) || strstr(value, " #") || strstr(value, "\t#"))
		add_fault(loading,
			"%s.%s: a comment behind a value begins with a blank and a semicolon",
			section, name);
	else
		change_setting(loading, setting, value);
}

/* A name with its section, such as log.level, may occur in any section. */
static int on_setting(void *arg, const char *section, const char *name, const char *value)
{
	struct loading *loading = arg;
	const char *dot = strchr(name, '.');
	_cleanup_free_ char *own = NULL;

	if (dot) {
		own = mem_dup(name, (size_t)(dot - name));
		on_named_setting(loading, own, dot + 1, value);
	} else if (loading->lost) {
		return 1; /* already reported for the section */
	} else if (*section == '\0') {
		add_fault(loading, "%s stands before the first [section]", name);
	} else {
		on_named_setting(loading, section, name, value);
	}
	return 1;
}

/* Parses the file. False, with errno set, if it cannot be opened. */
static bool read_lines(struct loading *loading, const char *path)
{
	int stopped_in;

	loading->file = fopen(path, "re");
	if (loading->file == NULL)
		return false;
	loading->at = (struct file_position){.path = path};
	loading->lost = false;
	stopped_in = ini_parse_stream(on_line_wanted, loading, on_setting, loading);
	if (ferror(loading->file)) {
		loading->at.line++;
		add_fault(loading, "cannot read: %s", strerror(errno));
	} else if (stopped_in != 0 && loading->faults.n == 0) {
		loading->at.line = stopped_in;
		add_fault(loading, "cannot understand the line");
	}
	fclose(loading->file);
	return true;
}

static int is_conf(const struct dirent *entry)
{
	const char *end = strrchr(entry->d_name, '.');

	return *entry->d_name != '.' && end && str_eq(end, ".conf");
}

int conf_files(const char *path, struct strv *files)
{
	_cleanup_free_ char *folder = mem_printf("%s.d", path);
	struct dirent **entries = NULL;
	int n;

	strv_add(files, path);
	n = scandir(folder, &entries, is_conf, alphasort);
	for (int i = 0; i < n; i++) {
		strv_take(files, mem_printf("%s/%s", folder, entries[i]->d_name));
		free(entries[i]);
	}
	free(entries);
	return n < 0 && errno != ENOENT ? -1 : 0;
}

/* Parses the files behind the first one. */
static void parse_folder(struct loading *loading, const char *path)
{
	if (conf_files(path, &loading->paths) < 0)
		strv_take(&loading->faults,
			mem_printf("cannot read %s.d: %s", path, strerror(errno)));
	for (size_t i = 1; i < loading->paths.n; i++)
		if (!read_lines(loading, loading->paths.items[i]))
			strv_take(&loading->faults,
				mem_printf("cannot read %s: %s", loading->paths.items[i],
					strerror(errno)));
}

/* Reports all faults on one line, as many as fit. */
static int report_faults(const struct strv *faults, struct err *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	size_t i = 0;

	for (; i < faults->n; i++) {
		size_t len = strlen(faults->items[i]) + 2;

		if (i > 0 && text.len + len > FAULTS_TEXT)
			break;
		buf_printf(&text, "%s%s", i ? "; " : "", faults->items[i]);
	}
	if (i < faults->n)
		buf_printf(&text, "; and %zu more", faults->n - i);
	return err_set(err, ERR_CONFIG, "%s", buf_str(&text));
}

int conf_load(const char *path, struct conf **conf_r, struct err *err)
{
	struct loading loading = {.conf = conf_default()};
	int result = 0;

	loading.set_in = mem_alloc(settings_n, sizeof(*loading.set_in));
	if (read_lines(&loading, path)) {
		parse_folder(&loading, path);
		if (loading.faults.n > 0)
			result = report_faults(&loading.faults, err);
		else {
			set_place(loading.conf);
			*conf_r = TAKE_PTR(loading.conf);
		}
	} else {
		result = err_set(err, ERR_CONFIG, "cannot read %s: %s", path, strerror(errno));
	}
	free(loading.text);
	free(loading.set_in);
	conf_free(loading.conf);
	strv_free(&loading.paths);
	strv_free(&loading.faults);
	return result;
}
