/*
 * dkim_signer: keys and tables of OpenDKIM and rspamd.
 *
 * Both look a domain up in two tables, which are files of lines: OpenDKIM in KeyTable and
 * SigningTable, rspamd in path_map and selector_map of its module dkim_signing. Where they have
 * none their settings get a block that names them.
 */
#include "cli/dkim_signer.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/process.h"
#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/folder.h"
#include "core/base/program.h"
#include "core/base/secret.h"
#include "core/base/str.h"
#include "core/conf/conf.h"

enum { OPENSSL_MS = 60000, TABLES = 2 };

#define BEGIN "# BEGIN postern dkim: these lines are written by it\n"
#define END   "# END postern dkim\n"

struct dkim_signer {
	const struct signer_kind *kind;
	char *settings; /* its file of settings, */
	char *block;    /* and what is to stand in there; NULL: nothing */
	char *tables[TABLES];
	bool by_pattern; /* the second one has patterns of addresses */
	char *keys;      /* the folder of the private keys */
	struct folder_rights key_rights;
	char *pid_file; /* NULL: it reads tables by itself */
};

/* What differs between them. */
struct signer_kind {
	const char *name;
	const char *process;
	const char *user; /* unless its settings name another */
	const char *keys; /* folder, unless ours name another */
	const char *key_suffix;
	int (*read_settings)(struct dkim_signer *signer, const char *text, struct err *err);
	void (*add_line)(const struct dkim_signer *signer, int table, const struct dkim_key *key,
		const char *path, struct buf *out);
};

/* The value of a setting in lines of `NAME VALUE`, the last one; NULL: there is none. */
static char *opendkim_setting(const char *text, const char *name)
{
	_cleanup_strv_ struct strv lines = STRV_INIT;
	char *value = NULL;

	strv_split(&lines, text, '\n');
	for (size_t i = 0; i < lines.n; i++) {
		_cleanup_free_ char *line = str_trim(lines.items[i], strlen(lines.items[i]));
		size_t len = strcspn(line, " \t");

		if (len != strlen(name) || !str_starts_nocase(line, name))
			continue;
		free(value);
		value = str_trim(line + len, strcspn(line + len, "#"));
	}
	return value;
}

static int set_owner(struct dkim_signer *signer, const char *user_and_group, struct err *err)
{
	size_t len = strcspn(user_and_group, ":");
	_cleanup_free_ char *name = mem_dup(user_and_group, len);
	const struct passwd *user = getpwnam(name);

	if (user == NULL)
		return err_set(err, ERR_CONFIG, "there is no user %s, as whom %s runs", name,
			signer->kind->name);
	signer->key_rights = (struct folder_rights){user->pw_uid, user->pw_gid, 0600};
	return 0;
}

/* The file of a table; without one its place beside the keys, which the settings are to name. */
static int set_table(struct dkim_signer *signer, int table, const char *value, struct err *err)
{
	static const char *const names[TABLES] = {"postern.keytable", "postern.signingtable"};
	const char *path;

	if (value == NULL) {
		signer->tables[table] = mem_printf("%s/%s", signer->keys, names[table]);
		return 0;
	}
	path = str_starts(value, "file:")     ? value + strlen("file:")
	       : str_starts(value, "refile:") ? value + strlen("refile:")
					      : value;
	if (*path != '/')
		return err_set(err, ERR_CONFIG,
			"%s is \"%s\" in %s, which is no file that lines can be put into",
			table ? "SigningTable" : "KeyTable", value, signer->settings);
	signer->tables[table] = mem_strdup(path);
	return 0;
}

static int opendkim_read(struct dkim_signer *signer, const char *text, struct err *err)
{
	_cleanup_free_ char *keys = opendkim_setting(text, "KeyTable");
	_cleanup_free_ char *signing = opendkim_setting(text, "SigningTable");
	_cleanup_free_ char *one = opendkim_setting(text, "KeyFile");
	_cleanup_free_ char *user = opendkim_setting(text, "UserID");

	if ((keys == NULL) != (signing == NULL))
		return err_set(err, ERR_CONFIG, "%s has KeyTable or SigningTable without the other",
			signer->settings);
	if (keys == NULL && one)
		return err_set(err, ERR_CONFIG,
			"%s signs by Domain, Selector and KeyFile, which tables would put out of "
			"use: set KeyTable and SigningTable there, with the key %s for the domains "
			"that have it",
			signer->settings, one);
	if (user && set_owner(signer, user, err) < 0)
		return -1;
	if (set_table(signer, 0, keys, err) < 0 || set_table(signer, 1, signing, err) < 0)
		return -1;
	signer->by_pattern = signing == NULL || str_starts(signing, "refile:");
	if (keys == NULL)
		signer->block = mem_printf("KeyTable file:%s\nSigningTable refile:%s\n",
			signer->tables[0], signer->tables[1]);
	signer->pid_file = opendkim_setting(text, "PidFile");
	/* Debian's link to the other. */
	if (signer->pid_file && str_starts(signer->pid_file, "/var/run/"))
		memmove(signer->pid_file, signer->pid_file + strlen("/var"),
			strlen(signer->pid_file) - strlen("/var") + 1);
	return 0;
}

static void opendkim_add(const struct dkim_signer *signer, int table, const struct dkim_key *key,
	const char *path, struct buf *out)
{
	if (table == 0)
		buf_printf(out, "%s._domainkey.%s %s:%s:%s\n", key->selector, key->domain,
			key->domain, key->selector, path);
	else
		buf_printf(out, "%s%s %s._domainkey.%s\n", signer->by_pattern ? "*@" : "",
			key->domain, key->selector, key->domain);
}

static int rspamd_read(struct dkim_signer *signer, const char *text, struct err *err)
{
	static const char *const names[] = {"path_map", "selector_map"};
	const char *slash = strstr(signer->settings, "/local.d/");
	int len = slash ? (int)(slash - signer->settings) : 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strstr(text, names[i]))
			return err_set(err, ERR_CONFIG,
				"%s has a %s of its own: put the domains in there by hand",
				signer->settings, names[i]);
	signer->tables[0] = mem_printf("%.*s/postern_dkim_paths.map", len, signer->settings);
	signer->tables[1] = mem_printf("%.*s/postern_dkim_selectors.map", len, signer->settings);
	signer->block = mem_printf(
		"path_map = \"%s\";\nselector_map = \"%s\";\nuse_esld = false;\n",
		signer->tables[0], signer->tables[1]);
	return 0;
}

static void rspamd_add(const struct dkim_signer *signer, int table, const struct dkim_key *key,
	const char *path, struct buf *out)
{
	(void)signer;
	buf_printf(out, "%s %s\n", key->domain, table == 0 ? path : key->selector);
}

static const struct signer_kind kinds[] = {
	[DKIM_SIGNER_OPENDKIM] = {"OpenDKIM", "opendkim", "opendkim", "/etc/dkimkeys", "private",
		opendkim_read, opendkim_add},
	[DKIM_SIGNER_RSPAMD] = {"rspamd", "rspamd", "_rspamd", "/var/lib/rspamd/dkim", "key",
		rspamd_read, rspamd_add},
};

/* The text without our block. */
static char *without_block(const char *text)
{
	const char *begin = strstr(text, BEGIN), *end = begin ? strstr(begin, END) : NULL;
	struct buf out = BUF_INIT;

	buf_add(&out, text, begin ? (size_t)(begin - text) : strlen(text));
	if (begin)
		buf_add_str(&out, end ? end + strlen(END) : "");
	buf_add_str(&out, "");
	return buf_take(&out);
}

/* Whether somebody has taken the end of our block out: nobody can tell what is ours. */
static bool has_open_block(const char *text)
{
	const char *begin = strstr(text, BEGIN);

	return begin && strstr(begin, END) == NULL;
}

/* Puts the lines into the file as our block, first or last, unless they are there: 1 it was
 * changed, or with dry would be, 0 as it was, -1. */
static int put_block(const char *path, const char *lines, bool first, bool dry, struct err *err)
{
	struct folder_rights rights = {0, 0, 0644};
	_cleanup_buf_ struct buf old = BUF_INIT, out = BUF_INIT;
	_cleanup_free_ char *rest = NULL;
	const char *name;
	int folder = folder_open_of(path, &name, err);
	int result = folder < 0 ? -1 : folder_read(folder, name, &old, &rights, err);

	if (result > 0 && has_open_block(buf_str(&old)))
		result = err_set(err, ERR_CONFIG, "behind \"%.*s\" the line \"%.*s\" is missing",
			(int)strlen(BEGIN) - 1, BEGIN, (int)strlen(END) - 1, END);
	if (result >= 0) {
		rest = without_block(buf_str(&old));
		if (!first) {
			buf_add_str(&out, rest);
			if (out.len && out.data[out.len - 1] != '\n')
				buf_add_char(&out, '\n');
		}
		if (*lines)
			buf_printf(&out, "%s%s%s", BEGIN, lines, END);
		if (first)
			buf_add_str(&out, rest);
		if (result == 1 && str_eq(buf_str(&out), buf_str(&old)))
			result = 0;
		else
			result = dry || folder_write(folder, name, &out, &rights, true, err) == 0
					 ? 1
					 : -1;
	}
	if (folder >= 0)
		close(folder);
	return result < 0 ? err_prefix(err, "%s", path) : result;
}

static bool path_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static const struct signer_kind *choose_signer(const struct conf *conf)
{
	if (conf->dkim.signer != DKIM_SIGNER_AUTO)
		return &kinds[conf->dkim.signer];
	if (path_exists(conf->dkim.opendkim))
		return &kinds[DKIM_SIGNER_OPENDKIM];
	return path_exists(conf->dkim.rspamd) ? &kinds[DKIM_SIGNER_RSPAMD] : NULL;
}

int dkim_signer_open(const struct conf *conf, struct dkim_signer **signer_r, struct err *err)
{
	const struct signer_kind *kind = choose_signer(conf);
	_cleanup_(dkim_signer) struct dkim_signer *signer = NULL;
	_cleanup_buf_ struct buf text = BUF_INIT;
	_cleanup_free_ char *rest = NULL;
	const char *name;
	int folder, found;

	if (kind == NULL)
		return err_set(err, ERR_CONFIG,
			"there is no program that signs: neither %s (OpenDKIM; apt-get install "
			"opendkim) nor %s (rspamd)",
			conf->dkim.opendkim, conf->dkim.rspamd);
	signer = mem_new(struct dkim_signer);
	signer->kind = kind;
	signer->keys = mem_strdup(*conf->dkim.keys ? conf->dkim.keys : kind->keys);
	signer->settings = kind == &kinds[DKIM_SIGNER_OPENDKIM]
				   ? mem_strdup(conf->dkim.opendkim)
				   : mem_printf("%s/local.d/dkim_signing.conf", conf->dkim.rspamd);
	folder = folder_open_of(signer->settings, &name, err);
	found = folder < 0 ? -1 : folder_read(folder, name, &text, NULL, err);
	if (folder >= 0)
		close(folder);
	if (found < 0)
		return err_prefix(err, "%s", kind->name);
	rest = without_block(buf_str(&text));
	if (kind->read_settings(signer, rest, err) < 0 ||
		(signer->key_rights.mode == 0 && set_owner(signer, kind->user, err) < 0))
		return -1;
	*signer_r = TAKE_PTR(signer);
	return 0;
}

void dkim_signer_close(struct dkim_signer *signer)
{
	if (signer == NULL)
		return;
	free(signer->settings);
	free(signer->block);
	for (int i = 0; i < TABLES; i++)
		free(signer->tables[i]);
	free(signer->keys);
	free(signer->pid_file);
	free(signer);
}

const char *dkim_signer_name(const struct dkim_signer *signer)
{
	return signer->kind->name;
}

/* openssl(1), which reads the input, if there is one. */
static int run_openssl(
	char *const *argv, const struct buf *input, struct buf *output, struct err *err)
{
	int in = input ? program_file("key", err) : -1, out = program_file("output", err);
	int complaints = program_complaints(err), status = 0, result = -1;
	char block[4096];
	ssize_t n;
	pid_t pid;

	if ((input && in < 0) || out < 0 || complaints < 0)
		goto end;
	if (input && (write(in, input->data, input->len) != (ssize_t)input->len ||
			     lseek(in, 0, SEEK_SET) < 0)) {
		err_set(err, ERR_TEMPORARY, "cannot write for openssl: %s", strerror(errno));
		goto end;
	}
	if (program_start(argv, (int[]){in, out, complaints}, &pid, err) < 0 ||
		program_end(pid, argv[0], OPENSSL_MS, &status, err) < 0)
		goto end;
	if (status != 0) {
		_cleanup_free_ char *line = program_last_line(complaints);

		err_set(err, ERR_CONFIG, "openssl(1) makes no key: %s", line);
		goto end;
	}
	lseek(out, 0, SEEK_SET);
	while ((n = read(out, block, sizeof(block))) > 0)
		buf_add(output, block, (size_t)n);
	secret_wipe(block, sizeof(block));
	result = 0;
end:
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	if (complaints >= 0)
		close(complaints);
	return result;
}

static char *key_file(const struct dkim_signer *signer, const char *domain, const char *selector)
{
	return mem_printf("%s.%s.%s", domain, selector, signer->kind->key_suffix);
}

int dkim_signer_make_key(struct dkim_signer *signer, const char *domain, const char *selector,
	bool replace, char **public_r, struct err *err)
{
	static char *const make[] = {(char *)"openssl", (char *)"genpkey", (char *)"-algorithm",
		(char *)"RSA", (char *)"-pkeyopt", (char *)"rsa_keygen_bits:2048", NULL};
	static char *const show[] = {(char *)"openssl", (char *)"pkey", (char *)"-pubout",
		(char *)"-outform", (char *)"DER", NULL};
	_cleanup_free_ char *name = key_file(signer, domain, selector);
	struct buf private = BUF_INIT;
	_cleanup_buf_ struct buf public = BUF_INIT, text = BUF_INIT;
	int folder = folder_open(signer->keys, err), result = -1;

	if (folder < 0)
		return -1;
	if (run_openssl(make, NULL, &private, err) == 0 &&
		run_openssl(show, &private, &public, err) == 0 &&
		folder_write(folder, name, &private, &signer->key_rights, replace, err) == 0) {
		base64_encode(public.data, public.len, 0, &text);
		*public_r = mem_strdup(buf_str(&text));
		result = 0;
	}
	close(folder);
	if (private.len)
		secret_wipe(private.data, private.len);
	buf_free(&private);
	return result;
}

int dkim_signer_remove_key(
	struct dkim_signer *signer, const char *domain, const char *selector, struct err *err)
{
	_cleanup_free_ char *name = key_file(signer, domain, selector);
	int folder = folder_open(signer->keys, err), result;

	if (folder < 0)
		return -1;
	result = folder_remove(folder, name, err);
	close(folder);
	return result;
}

int dkim_signer_check_key(
	struct dkim_signer *signer, const struct dkim_key *key, char **why_r, struct err *err)
{
	_cleanup_free_ char *name = key_file(signer, key->domain, key->selector);
	int folder = folder_open(signer->keys, err), found;
	struct folder_rights rights;
	struct buf text = BUF_INIT;

	if (folder < 0)
		return -1;
	found = folder_read(folder, name, &text, &rights, err);
	close(folder);
	if (text.len)
		secret_wipe(text.data, text.len);
	buf_free(&text);
	if (found < 0)
		return -1;
	if (found == 0)
		*why_r = mem_printf("%s/%s is missing", signer->keys, name);
	else if (rights.mode & 07)
		*why_r = mem_printf(
			"%s/%s can be read by every user of this host", signer->keys, name);
	else if (rights.user != signer->key_rights.user && rights.user != 0)
		*why_r = mem_printf("%s/%s is another user's than %s's", signer->keys, name,
			signer->kind->name);
	else
		return 1;
	return 0;
}

static int put_tables(
	struct dkim_signer *signer, const struct dkim_key_list *keys, bool dry, struct err *err)
{
	int changed = 0;

	for (int table = 0; table < TABLES; table++) {
		_cleanup_buf_ struct buf lines = BUF_INIT;
		int result;

		for (size_t i = 0; i < keys->n; i++) {
			const struct dkim_key *key = &keys->items[i];
			_cleanup_free_ char *name = key_file(signer, key->domain, key->selector);
			_cleanup_free_ char *path = mem_printf("%s/%s", signer->keys, name);

			if (key->state == DKIM_SIGNING)
				signer->kind->add_line(signer, table, key, path, &lines);
		}
		result = put_block(signer->tables[table], buf_str(&lines), true, dry, err);
		if (result < 0)
			return -1;
		changed |= result;
	}
	return changed;
}

int dkim_signer_check(struct dkim_signer *signer, const struct dkim_key_list *keys, struct err *err)
{
	int changed = put_tables(signer, keys, true, err);

	if (changed == 0 && signer->block)
		changed = put_block(signer->settings, signer->block, false, true, err);
	return changed < 0 ? -1 : changed == 0;
}

/* By the process id that it wrote down itself: it gets a signal only if it is the signer. */
static char *reload_signer(const struct dkim_signer *signer)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	_cleanup_free_ char *pid = NULL;
	struct process process;
	const char *name;
	int folder = folder_open_of(signer->pid_file, &name, NULL);
	int found = folder < 0 ? 0 : folder_read(folder, name, &text, NULL, NULL);

	if (folder >= 0)
		close(folder);
	pid = str_trim(buf_str(&text), text.len);
	if (found <= 0 || !process_read(pid, &process) ||
		!str_eq(process.name, signer->kind->process))
		return mem_printf(
			"%s does not run: start it, and postern doctor tells whether "
			"Postfix asks it",
			signer->kind->name);
	if (kill(process.pid, SIGUSR1) < 0)
		return mem_printf("%s could not be told to read its tables: %s", signer->kind->name,
			strerror(errno));
	return NULL;
}

int dkim_signer_use(struct dkim_signer *signer, const struct dkim_key_list *keys, char **note_r,
	struct err *err)
{
	int changed = put_tables(signer, keys, false, err), settings = 0;

	if (changed >= 0 && signer->block)
		settings = put_block(signer->settings, signer->block, false, false, err);
	if (changed < 0 || settings < 0)
		return -1;
	*note_r = NULL;
	if (signer->pid_file && (changed || settings))
		*note_r = reload_signer(signer);
	else if (settings)
		*note_r = mem_printf("%s has to read its new settings: systemctl reload %s",
			signer->kind->name, signer->kind->process);
	return 0;
}
