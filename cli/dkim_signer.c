/*
 * dkim_signer: keys and tables of OpenDKIM and rspamd.
 *
 * Both look up a domain in two tables, which are text files: OpenDKIM in KeyTable and SigningTable,
 * rspamd in path_map and selector_map of its module dkim_signing. If they are not configured, the
 * signer's settings get a block that names them.
 */
#include "cli/dkim_signer.h"

#include <dirent.h>
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
#include "core/postfix/postconf.h"

/* RSA_1024_DER: the size of a 1024-bit public key in bytes. */
enum { OPENSSL_MS = 60000, TABLES = 2, RSA_1024_DER = 162 };

#define BEGIN "# BEGIN postern dkim: these lines are written by it\n"
#define END   "# END postern dkim\n"

struct dkim_signer {
	const struct signer_kind *kind;
	char *settings; /* its file of settings, */
	char *block;    /* and the block to write into it; NULL: none */
	char *tables[TABLES];
	bool by_pattern; /* the second table has address patterns */
	char *keys;      /* the folder of the private keys */
	struct folder_rights key_rights;
	char *pid_file; /* NULL: it rereads tables by itself */
	char *socket;   /* where it listens, in its own syntax; NULL: unknown */
};

/* The differences between the signers. */
struct signer_kind {
	const char *name;
	const char *process;
	const char *user; /* unless its settings name another one */
	const char *keys; /* folder, unless our settings name another one */
	const char *key_suffix;
	int (*read_settings)(struct dkim_signer *signer, const char *text, struct err *err);
	void (*add_line)(const struct dkim_signer *signer, int table, const struct dkim_key *key,
		const char *path, struct buf *out);
};

/* Returns the last value of a setting in lines of `NAME VALUE`; NULL if there is none. */
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

/* Sets the file of a table; by default it is beside the keys, and the settings must name it. */
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
	_cleanup_free_ char *fields = opendkim_setting(text, "SignHeaders");

	if ((keys == NULL) != (signing == NULL))
		return err_set(err, ERR_CONFIG, "%s has KeyTable or SigningTable without the other",
			signer->settings);
	if (keys == NULL && one)
		return err_set(err, ERR_CONFIG,
			"%s signs with one key (Domain, Selector, KeyFile), and tables would take "
			"its place: remove these three settings, then run postern dkim enable "
			"DOMAIN --selector SELECTOR --key-file %s for each domain",
			signer->settings, one);
	if (user && set_owner(signer, user, err) < 0)
		return -1;
	if (set_table(signer, 0, keys, err) < 0 || set_table(signer, 1, signing, err) < 0)
		return -1;
	signer->by_pattern = signing == NULL || str_starts(signing, "refile:");
	/* RFC 8058 requires that both fields are signed; by default OpenDKIM signs only one of
	 * them. */
	if (keys == NULL)
		signer->block = mem_printf("KeyTable file:%s\nSigningTable refile:%s\n%s",
			signer->tables[0], signer->tables[1],
			fields ? "" : "SignHeaders *,+List-Unsubscribe-Post\n");
	signer->socket = opendkim_setting(text, "Socket");
	signer->pid_file = opendkim_setting(text, "PidFile");
	/* Debian links /var/run to /run. */
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
	_cleanup_free_ char *proxy = mem_printf(
		"%.*s/local.d/worker-proxy.inc", len, signer->settings);
	_cleanup_buf_ struct buf proxy_text = BUF_INIT;
	const char *bound = NULL;

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
	/* The first bind_socket of the worker that speaks to Postfix, or Debian's default. */
	if (folder_read_file(proxy, &proxy_text, NULL, NULL) > 0)
		bound = strstr(buf_str(&proxy_text), "bind_socket");
	if (bound) {
		bound += strlen("bind_socket");
		bound += strspn(bound, " \t=\"'");
	} else {
		bound = "127.0.0.1:11332";
	}
	signer->socket = mem_dup(bound, strcspn(bound, " \t\"';\n"));
	return 0;
}

/* rspamd rereads each table by a timer of its own. A path contains the selector of the other table,
 * so that in between no key signs under another key's name. */
static void rspamd_add(const struct dkim_signer *signer, int table, const struct dkim_key *key,
	const char *path, struct buf *out)
{
	(void)path;
	if (table == 0)
		buf_printf(out, "%s %s/%s.$selector.%s\n", key->domain, signer->keys, key->domain,
			signer->kind->key_suffix);
	else
		buf_printf(out, "%s %s\n", key->domain, key->selector);
}

static const struct signer_kind kinds[] = {
	[DKIM_SIGNER_OPENDKIM] = {"OpenDKIM", "opendkim", "opendkim", "/etc/dkimkeys", "private",
		opendkim_read, opendkim_add},
	[DKIM_SIGNER_RSPAMD] = {"rspamd", "rspamd", "_rspamd", "/var/lib/rspamd/dkim", "key",
		rspamd_read, rspamd_add},
};

/* Returns the text without our block. */
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

/* Writes the lines into the file as our block, first or last, unless they are there. Returns 1 if
 * it was changed, or with dry would be; 0 if not; -1 on error. */
static int put_block(const char *path, const char *lines, bool first, bool dry, struct err *err)
{
	struct folder_rights rights = {0, 0, 0644};
	_cleanup_buf_ struct buf old = BUF_INIT, out = BUF_INIT;
	_cleanup_free_ char *rest = NULL;
	const char *name, *begin;
	int folder = folder_open_of(path, &name, err);
	int result = folder < 0 ? -1 : folder_read(folder, name, &old, &rights, err);

	/* Without the line at its end it is unknown which lines are ours. */
	begin = strstr(buf_str(&old), BEGIN);
	if (result > 0 && begin && strstr(begin, END) == NULL)
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
		/* With dry, an empty file may be missing. */
		if ((result == 1 || dry) && str_eq(buf_str(&out), buf_str(&old)))
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

int dkim_signer_open(const struct conf *conf, struct dkim_signer **signer_r, struct err *err)
{
	const struct signer_kind *kind = NULL;
	_cleanup_(dkim_signer) struct dkim_signer *signer = NULL;
	_cleanup_buf_ struct buf text = BUF_INIT;
	_cleanup_free_ char *rest = NULL;

	if (conf->dkim.signer != DKIM_SIGNER_AUTO)
		kind = &kinds[conf->dkim.signer];
	else if (path_exists(conf->dkim.opendkim))
		kind = &kinds[DKIM_SIGNER_OPENDKIM];
	else if (path_exists(conf->dkim.rspamd))
		kind = &kinds[DKIM_SIGNER_RSPAMD];
	else
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
	if (folder_read_file(signer->settings, &text, NULL, err) < 0)
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
	free(signer->socket);
	free(signer);
}

const char *dkim_signer_name(const struct dkim_signer *signer)
{
	return signer->kind->name;
}

bool dkim_signer_needs_address(const struct dkim_signer *signer)
{
	return signer->kind == &kinds[DKIM_SIGNER_RSPAMD];
}

/* Converts `inet:PORT@HOST`, `local:PATH`, a path or `HOST:PORT` to Postfix's `inet:HOST:PORT` or
 * `unix:PATH`. The caller frees it. */
static char *socket_for_postfix(const char *socket, const char *queue)
{
	const char *path = str_starts(socket, "local:")  ? socket + strlen("local:")
			   : str_starts(socket, "unix:") ? socket + strlen("unix:")
							 : socket;
	const char *host, *colon;
	size_t in_queue = strlen(queue);

	if (*path == '/' && strncmp(path, queue, in_queue) == 0 && path[in_queue] == '/')
		return mem_printf("unix:%s", path + in_queue + 1);
	if (*path == '/')
		return mem_printf("unix:%s", path);
	if (str_starts(socket, "inet:")) {
		host = strchr(socket, '@');
		return mem_printf("inet:%s:%.*s", host ? host + 1 : "127.0.0.1",
			(int)strcspn(socket + strlen("inet:"), "@"), socket + strlen("inet:"));
	}
	colon = strrchr(socket, ':');
	if (*socket == '*' && colon)
		return mem_printf("inet:127.0.0.1%s", colon);
	return mem_printf("inet:%s", socket);
}

/* True if the list contains the socket. Network sockets are compared by port, because a host has
 * several names. */
static bool list_has_socket(const char *list, const char *socket)
{
	const char *what = str_starts(socket, "inet:") ? strrchr(socket, ':')
						       : socket + strlen("unix:");
	size_t len = strlen(what);

	for (const char *at = strstr(list, what); at; at = strstr(at + 1, what))
		if (at[len] == '\0' || strchr(", \t}", at[len]))
			return true;
	return false;
}

char *dkim_signer_wiring(const struct dkim_signer *signer, const char *postfix_config)
{
	static const char *const names[] = {
		"smtpd_milters", "non_smtpd_milters", "queue_directory"};
	enum { LISTS = 2, QUEUE = 2 };
	char *values[ARRAY_SIZE(names)] = {NULL};
	_cleanup_free_ char *socket = NULL;
	struct buf lines = BUF_INIT;

	if (signer->socket == NULL ||
		postconf_read(postfix_config, names, ARRAY_SIZE(names), values, NULL) < 0)
		return NULL;
	socket = socket_for_postfix(signer->socket, values[QUEUE]);
	for (size_t i = 0; i < LISTS; i++)
		if (!list_has_socket(values[i], socket))
			buf_printf(&lines, "  postconf%s%s -e '%s = %s%s%s'\n",
				str_empty(postfix_config) ? "" : " -c ",
				str_empty(postfix_config) ? "" : postfix_config, names[i],
				values[i], *values[i] ? ", " : "", socket);
	if (lines.len)
		buf_printf(&lines, "  postfix%s%s reload\n",
			str_empty(postfix_config) ? "" : " -c ",
			str_empty(postfix_config) ? "" : postfix_config);
	if (lines.len && str_starts(socket, "unix:/"))
		buf_printf(&lines,
			"Before that have it listen where processes in Postfix's chroot reach it, as "
			"Socket inet:8891@127.0.0.1\nin %s; %s is out of their reach.\n",
			signer->settings, socket + strlen("unix:"));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		free(values[i]);
	return lines.len ? buf_take(&lines) : NULL;
}

/* Runs openssl(1), with the input if there is one. */
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

		err_set(err, ERR_CONFIG, "openssl(1) failed: %s", line);
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

/* Opens the folder of keys, and creates it, because rspamd's package has none. Returns a
 * descriptor, or -1. */
static int open_keys(const struct dkim_signer *signer, struct err *err)
{
	const char *name;
	int parent, folder;

	if (access(signer->keys, F_OK) == 0 || errno != ENOENT)
		return folder_open(signer->keys, err);
	parent = folder_open_of(signer->keys, &name, err);
	if (parent < 0)
		return -1;
	if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST) {
		err_set(err, ERR_CONFIG, "cannot make the folder %s: %s", signer->keys,
			strerror(errno));
		close(parent);
		return -1;
	}
	close(parent);
	folder = folder_open(signer->keys, err);
	if (folder >= 0 && (fchown(folder, signer->key_rights.user, signer->key_rights.group) < 0 ||
				   fchmod(folder, 0750) < 0)) {
		err_set(err, ERR_CONFIG, "cannot give the folder %s to %s: %s", signer->keys,
			signer->kind->name, strerror(errno));
		close(folder);
		return -1;
	}
	return folder;
}

int dkim_signer_make_key(struct dkim_signer *signer, const char *domain, const char *selector,
	bool replace, char **public_r, struct err *err)
{
	static char *const make[] = {(char *)"openssl", (char *)"genpkey", (char *)"-algorithm",
		(char *)"RSA", (char *)"-pkeyopt", (char *)"rsa_keygen_bits:2048", NULL};
	static char *const show[] = {(char *)"openssl", (char *)"pkey", (char *)"-pubout",
		(char *)"-outform", (char *)"DER", NULL};
	_cleanup_free_ char *name = key_file(signer, domain, selector);
	_cleanup_secret_buf_ struct buf private = BUF_INIT;
	_cleanup_buf_ struct buf public = BUF_INIT, text = BUF_INIT;
	int folder = open_keys(signer, err), result = -1;

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
	return result;
}

/* Reads a file given by the admin; a relative path is relative to the working directory. */
static int read_key_file(const char *path, struct buf *private, struct err *err)
{
	_cleanup_free_ char *here = *path == '/' ? NULL : getcwd(NULL, 0);
	_cleanup_free_ char *whole = mem_printf("%s%s%s", here ? here : "", here ? "/" : "", path);
	int found = folder_read_file(whole, private, NULL, err);

	if (found == 0)
		return err_set(err, ERR_NOT_FOUND, "%s does not exist", path);
	return found < 0 ? err_prefix(err, "%s", path) : 0;
}

static int write_imported(const struct dkim_signer *signer, const char *name,
	const struct buf *private, struct err *err)
{
	_cleanup_secret_buf_ struct buf there = BUF_INIT;
	int folder = open_keys(signer, err), result = -1;

	if (folder < 0)
		return -1;
	result = folder_read(folder, name, &there, NULL, err);
	if (result > 0 && there.len == private->len &&
		memcmp(there.data, private->data, there.len) == 0)
		result = 0;
	else if (result >= 0)
		result = folder_write(folder, name, private, &signer->key_rights, false, err);
	close(folder);
	return result;
}

int dkim_signer_import_key(struct dkim_signer *signer, const char *domain, const char *selector,
	const char *path, char **public_r, struct err *err)
{
	static char *const show[] = {(char *)"openssl", (char *)"rsa", (char *)"-passin",
		(char *)"pass:", (char *)"-pubout", (char *)"-outform", (char *)"DER", NULL};
	_cleanup_free_ char *name = key_file(signer, domain, selector);
	_cleanup_secret_buf_ struct buf private = BUF_INIT;
	_cleanup_buf_ struct buf public = BUF_INIT, text = BUF_INIT;
	int result = read_key_file(path, &private, err);

	if (result == 0 && run_openssl(show, &private, &public, err) < 0)
		result = err_prefix(err, "%s is not an unencrypted private RSA key", path);
	/* RFC 8301 3.2: verifiers do not accept shorter keys. */
	if (result == 0 && public.len < RSA_1024_DER)
		result = err_set(err, ERR_INVALID, "%s has fewer than 1024 bits", path);
	if (result == 0 && write_imported(signer, name, &private, err) < 0)
		result = -1;
	if (result == 0) {
		base64_encode(public.data, public.len, 0, &text);
		*public_r = mem_strdup(buf_str(&text));
	}
	return result;
}

int dkim_signer_remove_key(
	struct dkim_signer *signer, const char *domain, const char *selector, struct err *err)
{
	_cleanup_free_ char *name = key_file(signer, domain, selector);
	_cleanup_free_ char *path = mem_printf("%s/%s", signer->keys, name);

	return folder_remove_file(path, err);
}

/* True for `p20261123` or `p20261123b`, the form that only Postern chooses. */
static bool is_chosen_selector(const char *selector)
{
	size_t digits = strspn(selector + (*selector == 'p'), "0123456789");
	const char *end = selector + 1 + digits;

	return *selector == 'p' && digits == 8 &&
	       (*end == '\0' || (*end >= 'a' && *end <= 'z' && end[1] == '\0'));
}

static bool has_key(const struct dkim_key_list *keys, const char *domain, const char *selector)
{
	for (size_t i = 0; i < keys->n; i++)
		if (str_eq(keys->items[i].domain, domain) &&
			str_eq(keys->items[i].selector, selector))
			return true;
	return false;
}

/* Splits `DOMAIN.SELECTOR.SUFFIX`. Returns false for any other name. */
static bool split_key_file(
	const struct dkim_signer *signer, const char *name, char **domain_r, char **selector_r)
{
	const char *suffix = strrchr(name, '.');
	const char *dot = suffix;

	if (suffix == NULL || !str_eq(suffix + 1, signer->kind->key_suffix))
		return false;
	while (dot > name && *--dot != '.')
		;
	if (dot == name)
		return false;
	*domain_r = mem_dup(name, (size_t)(dot - name));
	*selector_r = mem_dup(dot + 1, (size_t)(suffix - dot - 1));
	return true;
}

int dkim_signer_leftovers(struct dkim_signer *signer, const struct dkim_key_list *keys,
	const char *domain, struct dkim_file_list *files_r, struct err *err)
{
	_cleanup_buf_ struct buf table = BUF_INIT;
	const char *begin, *end;
	int folder = access(signer->keys, F_OK) == 0 || errno != ENOENT
			     ? folder_open(signer->keys, err)
			     : -2;
	DIR *entries = folder >= 0 ? fdopendir(folder) : NULL;
	const struct dirent *entry;

	*files_r = (struct dkim_file_list){0};
	(void)folder_read_file(signer->tables[0], &table, NULL, NULL);
	/* Our lines of the first table name files whose names do not show that they are ours. */
	begin = strstr(buf_str(&table), BEGIN);
	end = begin ? strstr(begin, END) : NULL;
	while (entries && (entry = readdir(entries)) != NULL) {
		_cleanup_free_ char *line_end = mem_printf("/%s\n", entry->d_name);
		_cleanup_free_ char *whose = NULL, *selector = NULL;
		const char *line = end ? strstr(begin, line_end) : NULL;
		struct dkim_file *file;

		if (!split_key_file(signer, entry->d_name, &whose, &selector) ||
			(domain && !str_eq(domain, whose)) || has_key(keys, whose, selector) ||
			!(is_chosen_selector(selector) || (line && line < end)))
			continue;
		files_r->items = mem_append(files_r->items, files_r->n, sizeof(*files_r->items));
		file = &files_r->items[files_r->n++];
		file->domain = TAKE_PTR(whose);
		file->path = mem_printf("%s/%s", signer->keys, entry->d_name);
	}
	if (entries)
		closedir(entries);
	return folder == -1 ? -1 : 0;
}

void dkim_file_list_free(struct dkim_file_list *files)
{
	for (size_t i = 0; i < files->n; i++) {
		free(files->items[i].domain);
		free(files->items[i].path);
	}
	free(files->items);
	*files = (struct dkim_file_list){0};
}

int dkim_signer_check_key(
	struct dkim_signer *signer, const struct dkim_key *key, char **why_r, struct err *err)
{
	_cleanup_free_ char *name = key_file(signer, key->domain, key->selector);
	_cleanup_free_ char *path = mem_printf("%s/%s", signer->keys, name);
	struct folder_rights rights;
	_cleanup_secret_buf_ struct buf text = BUF_INIT;
	int found = folder_read_file(path, &text, &rights, err);

	if (found < 0)
		return -1;
	if (found == 0)
		*why_r = mem_printf("%s is missing", path);
	else if (rights.mode & 07)
		*why_r = mem_printf("%s can be read by every user of this host", path);
	else if (rights.user != signer->key_rights.user && rights.user != 0)
		*why_r = mem_printf("%s is another user's than %s's", path, signer->kind->name);
	else
		return 1;
	return 0;
}

/* Adds the other key files that Postern created, unless their names show it: as comments in the
 * first table, so that they are known after their rows are gone. */
static int add_comments(struct dkim_signer *signer, const struct dkim_key_list *keys,
	struct buf *lines, struct err *err)
{
	_cleanup_dkim_files_ struct dkim_file_list files = {0};

	for (size_t i = 0; i < keys->n; i++) {
		const struct dkim_key *key = &keys->items[i];
		_cleanup_free_ char *name = key_file(signer, key->domain, key->selector);

		if (key->state != DKIM_SIGNING && !is_chosen_selector(key->selector))
			buf_printf(lines, "# %s/%s\n", signer->keys, name);
	}
	if (dkim_signer_leftovers(signer, keys, NULL, &files, err) < 0)
		return -1;
	for (size_t i = 0; i < files.n; i++) {
		_cleanup_free_ char *whose = NULL, *selector = NULL;
		const char *name = strrchr(files.items[i].path, '/') + 1;

		if (split_key_file(signer, name, &whose, &selector) &&
			!is_chosen_selector(selector))
			buf_printf(lines, "# %s\n", files.items[i].path);
	}
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
		if (table == 0 && add_comments(signer, keys, &lines, err) < 0)
			return -1;
		result = put_block(signer->tables[table], buf_str(&lines), true, dry, err);
		if (result < 0)
			return -1;
		changed |= result;
	}
	return changed;
}

int dkim_signer_check(struct dkim_signer *signer, const struct dkim_key_list *keys, struct err *err)
{
	bool signing = false;
	int changed;

	for (size_t i = 0; i < keys->n; i++)
		signing |= keys->items[i].state == DKIM_SIGNING;
	/* A signer that Postern has never used has no tables, nor a folder for them. */
	if (!signing && access(signer->tables[0], F_OK) < 0)
		return 1;
	changed = put_tables(signer, keys, true, err);
	if (signing && changed == 0 && signer->block)
		changed = put_block(signer->settings, signer->block, false, true, err);
	return changed < 0 ? -1 : changed == 0;
}

int dkim_signer_use(struct dkim_signer *signer, const struct dkim_key_list *keys, char **note_r,
	struct err *err)
{
	int changed = put_tables(signer, keys, false, err), settings = 0, found;
	_cleanup_buf_ struct buf text = BUF_INIT;
	_cleanup_free_ char *pid = NULL;
	struct process process;

	if (changed >= 0 && signer->block)
		settings = put_block(signer->settings, signer->block, false, false, err);
	if (changed < 0 || settings < 0)
		return -1;
	*note_r = NULL;
	if (settings && signer->pid_file == NULL)
		*note_r = mem_printf("%s has to read its new settings: systemctl reload %s",
			signer->kind->name, signer->kind->process);
	if ((!changed && !settings) || signer->pid_file == NULL)
		return 0;
	found = folder_read_file(signer->pid_file, &text, NULL, NULL);
	pid = str_trim(buf_str(&text), text.len);
	/* The process of the pid file may be another one than the signer. */
	if (found <= 0 || !process_read(pid, &process) ||
		!str_eq(process.name, signer->kind->process))
		*note_r = mem_printf(
			"%s does not run: start it, and postern doctor tells whether Postfix asks "
			"it",
			signer->kind->name);
	else if (kill(process.pid, SIGUSR1) < 0)
		*note_r = mem_printf("%s could not be told to read its tables: %s",
			signer->kind->name, strerror(errno));
	return 0;
}
