/*
 * postconf: runs postconf(1) and postmap(1).
 *
 * The lists of domains are read into one array of items, with files replaced by their content;
 * tables are queried when a name is looked up. An item that cannot be read ends the array, so
 * that a name before it is still found, as in Postfix.
 */
#include "core/postfix/postconf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/address/addr.h"
#include "core/base/buf.h"
#include "core/base/program.h"
#include "core/base/str.h"
#include "core/base/strv.h"
#include "core/conf/conf.h"
#include "core/conf/setting.h"

enum {
	TIMEOUT_MS = 10000,
	FILES_MAX = 8, /* nesting of files that name files */
};

static const char separators[] = ", \t\r\n";

/* Starts a command line. Postfix's programs are usually in /usr/sbin, which may not be in a
 * user's PATH. */
static void start_argv(struct strv *argv, const char *program, const char *config_dir)
{
	_cleanup_free_ char *usual = mem_printf("/usr/sbin/%s", program);

	strv_add(argv, access(usual, X_OK) == 0 ? usual : program);
	if (str_empty(config_dir))
		return;
	strv_add(argv, "-c");
	strv_add(argv, config_dir);
}

/* Returns the value from lines of `name = value`; "" if it is missing. The caller frees it. */
static char *find_value(const struct strv *lines, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < lines->n; i++) {
		const char *line = lines->items[i];

		if (str_starts(line, name) && str_starts(line + len, " ="))
			return str_trim(line + len + 2, strlen(line + len + 2));
	}
	return mem_strdup("");
}

int postconf_read(const char *config_dir, const char *const *names, size_t n, char **values_r,
	struct err *err)
{
	_cleanup_strv_ struct strv argv = STRV_INIT, lines = STRV_INIT;
	_cleanup_buf_ struct buf output = BUF_INIT;

	start_argv(&argv, "postconf", config_dir);
	strv_add(&argv, "-x");
	for (size_t i = 0; i < n; i++)
		strv_add(&argv, names[i]);
	if (program_output(argv.items, TIMEOUT_MS, &output, err) < 0)
		return -1;
	strv_split(&lines, buf_str(&output), '\n');
	for (size_t i = 0; i < n; i++)
		values_r[i] = find_value(&lines, names[i]);
	return 0;
}

int postconf_find_milter_socket(struct conf *conf, struct err *err)
{
	static const char *const names[] = {"queue_directory"};
	char *queue = NULL;
	int result;

	if (!str_empty(conf->milter.socket))
		return 0;
	result = postconf_read(conf->submission.postfix_config, names, 1, &queue, err);
	if (result < 0)
		err_prefix(err, "cannot find Postfix's queue; mend that, or set milter.socket");
	free(conf->milter.socket);
	conf->milter.socket = mem_printf(
		"%s/postern/milter.sock", str_empty(queue) ? "/var/spool/postfix" : queue);
	if (strlen(conf->milter.socket) > SETTING_SOCKET_PATH)
		result = err_set(err, ERR_CONFIG,
			"%s is too long for a socket: set milter.socket, and give it to "
			"postfix-conf/enable with -s",
			conf->milter.socket);
	free(queue);
	return result;
}

int postconf_find_auth_socket(struct conf *conf, struct err *err)
{
	const char *end;

	if (!str_empty(conf->auth.socket))
		return 0;
	if (postconf_find_milter_socket(conf, err) < 0)
		return -1;
	end = strrchr(conf->milter.socket, '/');
	free(conf->auth.socket);
	conf->auth.socket = mem_printf("%.*s/auth.sock", end ? (int)(end - conf->milter.socket) : 1,
		end ? conf->milter.socket : ".");
	if (strlen(conf->auth.socket) > SETTING_SOCKET_PATH)
		return err_set(err, ERR_CONFIG, "%s is too long for a socket: set auth.socket",
			conf->auth.socket);
	return 0;
}

int postconf_services(const char *config_dir, const char *const *patterns, size_t n,
	struct strv *lines, struct err *err)
{
	_cleanup_strv_ struct strv argv = STRV_INIT;
	_cleanup_buf_ struct buf output = BUF_INIT;

	start_argv(&argv, "postconf", config_dir);
	strv_add(&argv, "-Px");
	for (size_t i = 0; i < n; i++)
		strv_add(&argv, patterns[i]);
	if (program_output(argv.items, TIMEOUT_MS, &output, err) < 0)
		return -1;
	strv_split(lines, buf_str(&output), '\n');
	return 0;
}

int postconf_values(const char *config_dir, const char *const *names, size_t n, struct strv *values,
	struct err *err)
{
	_cleanup_strv_ struct strv patterns = STRV_INIT, lines = STRV_INIT;
	char **main_cf = mem_alloc(n + 1, sizeof(*main_cf));
	int result = postconf_read(config_dir, names, n, main_cf, err);

	for (size_t i = 0; result == 0 && i < n; i++) {
		if (!str_empty(main_cf[i]))
			strv_add(&values[i], main_cf[i]);
		free(main_cf[i]);
		strv_take(&patterns, mem_printf("*/*/%s", names[i]));
	}
	free(main_cf);
	if (result < 0 || postconf_services(config_dir, (const char *const *)patterns.items, n,
				  &lines, err) < 0)
		return -1;
	for (size_t k = 0; k < lines.n; k++) {
		const char *equals = strstr(lines.items[k], " = ");
		const char *name = strrchr(lines.items[k], '/');

		while (equals && name && name > equals)
			name = memrchr(lines.items[k], '/', (size_t)(name - lines.items[k]));
		for (size_t i = 0; equals && name && equals[3] && i < n; i++)
			if (str_starts(name + 1, names[i]))
				strv_add(&values[i], equals + 3);
	}
	return 0;
}

/* Queries a table, such as `hash:/etc/postfix/virtual`. Returns 1 and a string that the caller
 * frees, 0 if the key is missing, -1 on error. */
static int look_up_table(const char *config_dir, const char *table, const char *key,
	char **answer_r, struct err *err)
{
	_cleanup_strv_ struct strv argv = STRV_INIT;
	_cleanup_buf_ struct buf output = BUF_INIT;
	struct err why = ERR_INIT;

	start_argv(&argv, "postmap", config_dir);
	strv_add(&argv, "-q");
	strv_add(&argv, key);
	strv_add(&argv, table);
	if (program_output(argv.items, TIMEOUT_MS, &output, &why) == 0) {
		*answer_r = str_trim(buf_str(&output), output.len);
		return 1;
	}
	/* Warnings about main.cf may come with any result; a table that cannot be queried is a
	 * fatal error. */
	if (why.code == ERR_NOT_FOUND || strstr(why.text, "postmap: warning: "))
		return 0;
	return err_set(err, why.code, "%s: %s", table, why.text);
}

int postconf_look_up(const char *config_dir, const char *tables, const char *key, char **answer_r,
	struct err *err)
{
	bool excepted;
	char *table;
	int found = 0;

	while (found == 0 && (table = postconf_item(&tables, &excepted)) != NULL) {
		/* Query the table directly: few users may access proxymap(8). */
		const char *plain = table + (str_starts(table, "proxy:") ? strlen("proxy:") : 0);

		found = look_up_table(config_dir, plain, key, answer_r, err);
		free(table);
	}
	return found;
}

static const char *const lists[] = {
	"mydestination",
	"myorigin",
	"virtual_alias_domains",
	"virtual_mailbox_domains",
	"relay_domains",
};

struct item {
	char *text;
	char *name; /* normalized; NULL for a table, or if it is not a domain name */
	size_t list;
	bool excepted;
};

struct postconf_domains {
	char *config_dir;
	struct item *items;
	size_t n;
	struct err why; /* why the array is incomplete; ERR_NONE: it is complete */
};

void postconf_domains_free(struct postconf_domains *domains)
{
	if (domains == NULL)
		return;
	for (size_t i = 0; i < domains->n; i++) {
		free(domains->items[i].text);
		free(domains->items[i].name);
	}
	free(domains->items);
	free(domains->config_dir);
	free(domains);
}

char *postconf_item(const char **text, bool *excepted)
{
	const char *start = *text + strspn(*text, separators), *end;
	int depth = 0;

	for (end = start; *end; end++) {
		if (depth == 0 && strchr(separators, *end))
			break;
		depth += (*end == '{') - (*end == '}');
	}
	*text = end;
	if (end == start)
		return NULL;
	for (; *start == '!'; start++)
		*excepted = !*excepted;
	return mem_dup(start, (size_t)(end - start));
}

const char *postconf_milter_action(const char *item, const char *main_cf_action)
{
	static const char option[] = "default_action";
	const char *own = strstr(item, option);

	return own ? own + strlen(option) + strspn(own + strlen(option), " \t=") : main_cf_action;
}

static bool is_table(const char *text)
{
	return strchr(text, ':') != NULL;
}

static int add_items(struct postconf_domains *domains, size_t list, const char *text,
	bool all_excepted, int depth);

static int add_file(
	struct postconf_domains *domains, size_t list, const char *path, bool excepted, int depth)
{
	_cleanup_free_ char *line = NULL;
	FILE *file = fopen(path, "re");
	size_t size = 0;
	int result = 0;

	if (file == NULL)
		return err_set(
			&domains->why, ERR_CONFIG, "cannot read %s: %s", path, strerror(errno));
	if (depth == FILES_MAX)
		result = err_set(
			&domains->why, ERR_CONFIG, "%s: too many files that name others", path);
	while (result == 0 && getline(&line, &size, file) >= 0)
		if (line[0] != '#')
			result = add_items(domains, list, line, excepted, depth + 1);
	fclose(file);
	return result;
}

static int add_items(struct postconf_domains *domains, size_t list, const char *text,
	bool all_excepted, int depth)
{
	bool excepted = false;
	char *word;

	for (; (word = postconf_item(&text, &excepted)); excepted = false) {
		struct item *item;

		excepted |= all_excepted;
		if (word[0] == '/') {
			int result = add_file(domains, list, word, excepted, depth);

			free(word);
			if (result < 0)
				return -1;
			continue;
		}
		domains->items = mem_append(domains->items, domains->n, sizeof(*domains->items));
		item = &domains->items[domains->n++];
		*item = (struct item){.text = word, .list = list, .excepted = excepted};
		if (!is_table(word))
			addr_domain_normalize(word, &item->name, NULL);
	}
	return 0;
}

int postconf_domains_read(
	const char *config_dir, struct postconf_domains **domains_r, struct err *err)
{
	char *values[ARRAY_SIZE(lists)];
	struct postconf_domains *domains;

	if (postconf_read(config_dir, lists, ARRAY_SIZE(lists), values, err) < 0)
		return -1;
	domains = mem_new(struct postconf_domains);
	domains->config_dir = mem_strdup(config_dir);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		if (domains->why.code == ERR_NONE && add_items(domains, i, values[i], false, 0) < 0)
			err_prefix(&domains->why, "%s", lists[i]);
		free(values[i]);
	}
	*domains_r = domains;
	return 0;
}

int postconf_domains_find(const struct postconf_domains *domains, const char *name,
	const char **parameter_r, struct err *err)
{
	size_t excepted = SIZE_MAX; /* the list that excludes the name */

	for (size_t i = 0; i < domains->n; i++) {
		const struct item *item = &domains->items[i];
		_cleanup_free_ char *answer = NULL;
		int fits;

		if (item->list == excepted)
			continue;
		if (is_table(item->text))
			fits = look_up_table(domains->config_dir, item->text, name, &answer, err);
		else
			fits = item->name && str_eq(item->name, name);
		if (fits < 0)
			return err_prefix(err, "%s", lists[item->list]);
		if (fits && item->excepted) {
			excepted = item->list;
		} else if (fits) {
			*parameter_r = lists[item->list];
			return 1;
		}
	}
	return domains->why.code == ERR_NONE ? 0 : err_copy(err, &domains->why);
}

int postconf_has_domain(
	const char *config_dir, const char *name, const char **parameter_r, struct err *err)
{
	_cleanup_(postconf_domains) struct postconf_domains *own = NULL;
	struct err why = ERR_INIT;

	if (postconf_domains_read(config_dir, &own, &why) == 0)
		return postconf_domains_find(own, name, parameter_r, err);
	return why.code == ERR_CONFIG ? 0 : err_copy(err, &why);
}

int postconf_domains_names(const struct postconf_domains *domains, char **names_r, struct err *err)
{
	_cleanup_strv_ struct strv excepted = STRV_INIT; /* names that the current list
							  * excludes */
	_cleanup_buf_ struct buf names = BUF_INIT;
	size_t list = 0;

	for (size_t i = 0; i < domains->n; i++) {
		const struct item *item = &domains->items[i];

		if (item->list != list)
			strv_free(&excepted);
		list = item->list;
		if (item->text[0] == '.' || strpbrk(item->text, ":/{}"))
			return err_set(err, ERR_CONFIG, "%s has %s, in which httpd does not look",
				lists[item->list], item->text);
		if (item->name == NULL || strv_has(&excepted, item->name))
			continue;
		if (item->excepted)
			strv_add(&excepted, item->name);
		else
			buf_printf(&names, "%s ", item->name);
	}
	if (domains->why.code != ERR_NONE)
		return err_copy(err, &domains->why);
	*names_r = buf_take(&names);
	return 0;
}

bool postconf_names_have(const char *names, const char *name)
{
	bool excepted = false, has = false;
	char *item;

	while (!has && (item = postconf_item(&names, &excepted)) != NULL) {
		_cleanup_free_ char *domain = NULL;

		has = str_eq_nocase(item, name) ||
		      (addr_domain_normalize(item, &domain, NULL) == 0 && str_eq(domain, name));
		free(item);
	}
	return has;
}
