/*
 * cmd_user: users of the admin HTTP interface, and the tokens by which programs
 * act as one.
 *
 * A password is read from the terminal without being shown, or from standard
 * input; it is never an argument, which others on the host could see.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "core/base/secret.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/store/store_session.h"
#include "core/store/store_user.h"

static void fill_role(struct report *report, size_t column, const void *item)
{
	const struct user *user = item;

	report_text(report, column, store_user_role_name(user->role));
}

static const struct column columns[] = {
	{"id", NULL, COLUMN_TEXT, COLUMN_OF(user, id)},
	{"login", "LOGIN", COLUMN_TEXT, 40, COLUMN_OF(user, login)},
	{"company_id", "COMPANY", COLUMN_TEXT, .spare = 3, COLUMN_OF(user, company_id)},
	{"role", "ROLE", COLUMN_TEXT, .fill = fill_role},
	{"password_at", "PASSWORD SET", COLUMN_TIME, .spare = 2, COLUMN_OF(user, password_us)},
	{"totp_at", "CODES SINCE", COLUMN_TIME, COLUMN_OF(user, totp_us)},
	{"last_login_at", "LAST LOGIN", COLUMN_TIME, COLUMN_OF(user, last_login_us)},
	{"created_at", "CREATED", COLUMN_TIME, .spare = 1, COLUMN_OF(user, created_us)},
	{0},
};

/* The user that the argument names by login or id. */
static int find(const struct call *call, struct user *user_r, struct err *err)
{
	int found = store_user_find(call->db, NULL, call_argument(call), user_r, err);

	if (found == 0)
		return err_set(err, ERR_NOT_FOUND, "there is no user %s", call_argument(call));
	return found < 0 ? -1 : 0;
}

static int read_role(const struct call *call, enum user_role *role_r, struct err *err)
{
	const char *word = call_option(call, OPTION_ROLE);

	if (word == NULL || store_user_role_parse(word, role_r))
		return 0;
	return err_set(err, ERR_INVALID, "--role is one of owner and viewer, not \"%s\"", word);
}

/* Reads a line, without its end; what does not fit is cut, and too long for a
 * password anyway. Byte by byte: nothing of it is to stay in a buffer. */
static int read_line(char *line, size_t size, struct err *err)
{
	size_t len = 0;
	ssize_t got;
	char c;

	while ((got = read(STDIN_FILENO, &c, 1)) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_set(err, ERR_TEMPORARY, "cannot read the password: %s",
				strerror(errno));
		if (c == '\n')
			break;
		if (c == '\003')
			return err_set(err, ERR_INVALID, "interrupted");
		if (len < size - 1)
			line[len++] = c;
	}
	line[len] = '\0';
	if (got == 0 && len == 0)
		return err_set(err, ERR_INVALID,
			"no password is given: it is read from the terminal, or as one line from "
			"standard input; a user who was added with --no-password sets one by way "
			"of `postern user link`");
	return 0;
}

static int ask(const char *question, char *line, size_t size, struct err *err)
{
	struct termios old, silent;
	int result;

	if (!isatty(STDIN_FILENO))
		return read_line(line, size, err);
	fprintf(stderr, "%s: ", question);
	tcgetattr(STDIN_FILENO, &old);
	silent = old;
	/* Nor may an interrupt leave the terminal like that. */
	silent.c_lflag &= ~(tcflag_t)(ECHO | ISIG);
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
	result = read_line(line, size, err);
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &old);
	fputc('\n', stderr);
	return result;
}

/* Reads a new password for the login, on a terminal twice. */
static int read_password(
	const char *login, char stored[static SECRET_PASSWORD_SIZE], struct err *err)
{
	char one[USER_PASSWORD_MAX + 2], two[USER_PASSWORD_MAX + 2];
	int result = ask("New password", one, sizeof(one), err);

	if (result == 0)
		result = store_user_check_password(login, one, err);
	if (result == 0 && isatty(STDIN_FILENO)) {
		result = ask("Once more", two, sizeof(two), err);
		if (result == 0 && !str_eq(one, two))
			result = err_set(err, ERR_INVALID, "the two passwords are not the same");
	}
	if (result == 0 && secret_password_hash(one, stored) < 0)
		result = err_set(err, ERR_TEMPORARY, "there is no memory for hashing the password");
	secret_wipe(one, sizeof(one));
	secret_wipe(two, sizeof(two));
	return result;
}

static int run_add(const struct call *call, struct report *report, struct err *err)
{
	char company_id[ID_SIZE], stored[SECRET_PASSWORD_SIZE];
	struct user_spec spec = {.login = call_argument(call), .role = USER_OWNER};
	struct user user;
	int taken;

	if (call_company_option(call, company_id, err) < 0 || read_role(call, &spec.role, err) < 0)
		return -1;
	/* Before somebody types a password for nothing. */
	taken = store_user_find(call->db, NULL, spec.login, &user, err);
	if (taken > 0) {
		store_user_clear(&user);
		return err_set(err, ERR_EXISTS, "there is a user %s already", spec.login);
	}
	if (taken < 0)
		return -1;
	spec.company_id = *company_id ? company_id : NULL;
	if (call_option(call, OPTION_NO_PASSWORD) == NULL) {
		if (read_password(spec.login, stored, err) < 0)
			return -1;
		spec.stored = stored;
	}
	if (store_user_add(call->db, &spec, call->now_us, &user, err) < 0)
		return -1;
	report_add(report, &user);
	store_user_clear(&user);
	return 0;
}

static int run_list(const struct call *call, struct report *report, struct err *err)
{
	struct page page = CALL_FIRST_PAGE;
	struct page_end end = {.more = true};
	char company_id[ID_SIZE];
	struct user_list users;

	if (call_company_option(call, company_id, err) < 0)
		return -1;
	while (end.more) {
		if (store_user_list(call->db, *company_id ? company_id : NULL, &page, &users, &end,
			    err) <= 0)
			return call_page_lost(err);
		for (size_t i = 0; i < users.n; i++) {
			report_add(report, &users.items[i]);
			memcpy(page.after, users.items[i].id, ID_SIZE);
		}
		store_user_list_free(&users);
		if (report_flush(report, err) < 0)
			return -1;
	}
	return 0;
}

static int run_set(const struct call *call, struct report *report, struct err *err)
{
	struct user user;
	int result;

	if (find(call, &user, err) < 0)
		return -1;
	result = read_role(call, &user.role, err);
	if (result == 0)
		result = store_user_set_role(call->db, NULL, user.id, user.role, err);
	if (result > 0) {
		report_add(report, &user);
		report_note(report, "user %s is %s", user.login, store_user_role_name(user.role));
	}
	store_user_clear(&user);
	return result < 0 ? -1 : 0;
}

static int run_passwd(const struct call *call, struct report *report, struct err *err)
{
	char stored[SECRET_PASSWORD_SIZE], left[80] = "";
	struct user user;
	int64_t tokens = 0;
	int result;

	if (find(call, &user, err) < 0)
		return -1;
	result = read_password(user.login, stored, err);
	if (result == 0)
		result = store_session_count_tokens(call->db, user.id, call->now_us, &tokens, err);
	if (result == 0)
		result = store_user_set_password(
			call->db, NULL, user.id, stored, NULL, call->now_us, err);
	if (result == 0)
		result = err_set(
			err, ERR_NOT_FOUND, "the user %s was removed meanwhile", user.login);
	if (result > 0) {
		user.password_us = call->now_us;
		report_add(report, &user);
		if (tokens)
			snprintf(left, sizeof(left),
				"\n%" PRId64
				" of their tokens stay good, see postern token "
				"list",
				tokens);
		report_note(report, "user %s has a new password and is logged out everywhere%s",
			user.login, left);
	}
	store_user_clear(&user);
	return result < 0 ? -1 : 0;
}

static int run_totp(const struct call *call, struct report *report, struct err *err)
{
	struct user user;
	int result;

	if (find(call, &user, err) < 0)
		return -1;
	result = store_user_totp_off(call->db, NULL, user.id, err);
	if (result >= 0) {
		user.totp_us = 0;
		report_add(report, &user);
		report_note(report, "user %s logs in without codes%s", user.login,
			result ? "" : ", as before");
	}
	store_user_clear(&user);
	return result < 0 ? -1 : 0;
}

static int run_remove(const struct call *call, struct report *report, struct err *err)
{
	struct user user;
	int result;

	if (find(call, &user, err) < 0)
		return -1;
	result = store_user_remove(call->db, NULL, user.id, err);
	if (result > 0) {
		report_add(report, &user);
		report_note(report, "user %s removed, with their tokens", user.login);
	}
	store_user_clear(&user);
	return result < 0 ? -1 : 0;
}

/* Makes a session of the user, whose token is the caller's to wipe. */
static int make_session(const struct call *call, const struct user *user,
	const struct session_spec *spec, struct session *session_r,
	char token[static SECRET_TOKEN_SIZE], struct err *err)
{
	uint8_t hash[SECRET_HASH_LEN];

	secret_user_token(token);
	secret_hash(token, strlen(token), hash);
	return store_session_create(call->db, user->id, spec, hash, call->now_us, session_r, err);
}

enum { LINK_LOGIN, LINK_URL, LINK_EXPIRES_AT };

static const struct column link_columns[] = {
	[LINK_LOGIN] = {"login", "LOGIN", .type = COLUMN_TEXT},
	[LINK_URL] = {"url", "URL", .type = COLUMN_TEXT},
	[LINK_EXPIRES_AT] = {"expires_at", "EXPIRES", .type = COLUMN_TIME},
	{0},
};

enum { LINK_MINUTES = 60 };

static int run_link(const struct call *call, struct report *report, struct err *err)
{
	const char *listen = call->conf->admin.listen;
	const char *url = call->conf->admin.url;
	const struct session_spec spec = {
		.kind = SESSION_LINK,
		.expires_us = call->now_us + LINK_MINUTES * INT64_C(60000000),
	};
	char token[SECRET_TOKEN_SIZE];
	struct session session;
	struct user user;
	int result;

	if (str_empty(listen))
		return err_set(
			err, ERR_INVALID, "there is nobody to open a link: admin.listen is empty");
	if (str_empty(url) && str_starts(listen, "unix:"))
		return err_set(err, ERR_INVALID,
			"no browser reaches %s (admin.listen): say in admin.url where the proxy in "
			"front of it is reached",
			listen);
	if (find(call, &user, err) < 0)
		return -1;
	result = make_session(call, &user, &spec, &session, token, err);
	if (result == 0) {
		_cleanup_free_ char *link = mem_printf(
			"%s%s/login?token=%s", *url ? "" : "http://", *url ? url : listen, token);

		report_add_row(report);
		report_text(report, LINK_LOGIN, user.login);
		report_text(report, LINK_URL, link);
		report_time(report, LINK_EXPIRES_AT, spec.expires_us);
		report_note(report, "%s", link);
		secret_wipe(link, strlen(link));
		store_session_clear(&session);
	}
	secret_wipe(token, sizeof(token));
	store_user_clear(&user);
	return result;
}

#define TOKEN_COLUMNS                                                                              \
	{"id", "ID", COLUMN_TEXT, COLUMN_OF(session, id)},                                         \
		{"login", "LOGIN", COLUMN_TEXT, 40, COLUMN_OF(session, login)},                    \
		{"name", "NAME", COLUMN_TEXT, 40, COLUMN_OF(session, name)},                       \
		{"created_at", "CREATED", COLUMN_TIME, .spare = 1,                                 \
			COLUMN_OF(session, created_us)},                                           \
	{                                                                                          \
		"expires_at", "EXPIRES", COLUMN_TIME, COLUMN_OF(session, expires_us)               \
	}

enum { TOKEN = 5 };

static const struct column created_columns[] = {
	TOKEN_COLUMNS,
	[TOKEN] = {"token", "TOKEN", .type = COLUMN_TEXT},
	{0},
};

/* One that was not used yet has the time at which it was made. */
static void fill_last_used(struct report *report, size_t column, const void *item)
{
	const struct session *token = item;

	if (token->last_used_us != token->created_us)
		report_time(report, column, token->last_used_us);
}

static const struct column token_columns[] = {
	TOKEN_COLUMNS,
	{"last_used_at", "LAST USED", COLUMN_TIME, .spare = 2, .fill = fill_last_used},
	{0},
};

static int run_token_create(const struct call *call, struct report *report, struct err *err)
{
	enum { DAYS_MAX = 3650 };
	struct session_spec spec = {.kind = SESSION_TOKEN, .name = call_option(call, OPTION_NAME)};
	char token[SECRET_TOKEN_SIZE];
	struct session session;
	struct user user;
	int64_t days = 0;
	int result;

	if (call_number_option(call, OPTION_DAYS, DAYS_MAX, &days, err) < 0)
		return -1;
	if (days)
		spec.expires_us = call->now_us + days * INT64_C(86400000000);
	if (find(call, &user, err) < 0)
		return -1;
	result = make_session(call, &user, &spec, &session, token, err);
	if (result == 0) {
		report_add(report, &session);
		report_text(report, TOKEN, token);
		report_note(report, "\nThe token is shown only now: it is not stored.");
		store_session_clear(&session);
	}
	secret_wipe(token, sizeof(token));
	store_user_clear(&user);
	return result;
}

static int run_token_list(const struct call *call, struct report *report, struct err *err)
{
	struct page page = CALL_FIRST_PAGE;
	struct page_end end = {.more = true};
	struct session_list tokens;

	while (end.more) {
		if (store_session_list_tokens(call->db, NULL, &page, &tokens, &end, err) <= 0)
			return call_page_lost(err);
		for (size_t i = 0; i < tokens.n; i++) {
			report_add(report, &tokens.items[i]);
			memcpy(page.after, tokens.items[i].id, ID_SIZE);
		}
		store_session_list_free(&tokens);
		if (report_flush(report, err) < 0)
			return -1;
	}
	return 0;
}

enum { REVOKED_ID, REVOKED };

static const struct column revoked_columns[] = {
	[REVOKED_ID] = {"id", "ID", .type = COLUMN_TEXT},
	[REVOKED] = {"revoked", "REVOKED", .type = COLUMN_FLAG},
	{0},
};

static int run_token_revoke(const struct call *call, struct report *report, struct err *err)
{
	char id[ID_SIZE];
	int found;

	if (call_id_argument(call, id, err) < 0)
		return -1;
	found = store_session_revoke_token(call->db, NULL, id, err);
	if (found == 0)
		return err_set(err, ERR_NOT_FOUND, "there is no token with the id %s", id);
	if (found < 0)
		return -1;
	report_add_row(report);
	report_text(report, REVOKED_ID, id);
	report_number(report, REVOKED, true);
	report_note(report, "token %s revoked", id);
	return 0;
}

#define ROLE_HELP "owner: may change all that they see; viewer: may change nothing."

const struct verb cmd_user_add = {
	.noun = "user",
	.name = "add",
	.argument = "LOGIN",
	.access = VERB_STEPS,
	.shape = VERB_RECORD,
	.columns = columns,
	.options = {{OPTION_COMPANY, false,
			    "They see this company alone. Without this it is an operator, who sees "
			    "all of them, and users and settings too."},
		{OPTION_ROLE, false, ROLE_HELP " Without this, owner."},
		{OPTION_NO_PASSWORD, false,
			"There is none: they get in by a link or by tokens alone."}},
	.help = "Adds a user of the admin HTTP interface. The password, of at least 12 "
		"characters, is read from the terminal, or as one line from standard "
		"input.",
	.run = run_add,
};

const struct verb cmd_user_list = {
	.noun = "user",
	.name = "list",
	.access = VERB_READS,
	.shape = VERB_ROWS,
	.columns = columns,
	.options = {{OPTION_COMPANY, false, "Only those of this company."}},
	.help = "Lists the users by login; operators have no company.",
	.run = run_list,
};

const struct verb cmd_user_set = {
	.noun = "user",
	.name = "set",
	.argument = "LOGIN",
	.access = VERB_WRITES,
	.shape = VERB_NOTE,
	.columns = columns,
	.options = {{OPTION_ROLE, true, ROLE_HELP}},
	.help = "Changes what a user may do, at once.",
	.run = run_set,
};

const struct verb cmd_user_passwd = {
	.noun = "user",
	.name = "passwd",
	.argument = "LOGIN",
	.access = VERB_STEPS,
	.shape = VERB_NOTE,
	.columns = columns,
	.help = "Gives a user another password, which is read as by user add, and logs "
		"them out everywhere. Their tokens stay.",
	.run = run_passwd,
};

const struct verb cmd_user_totp = {
	.noun = "user",
	.name = "totp",
	.argument = "LOGIN",
	.access = VERB_WRITES,
	.shape = VERB_NOTE,
	.columns = columns,
	.options = {{OPTION_OFF, true, "Turns them off: the password alone is enough again."}},
	.help = "Changes whether a user needs codes of an authenticator app to log in by "
		"password, as for one who has lost the phone. Users turn codes on "
		"themselves, on the account page.",
	.run = run_totp,
};

const struct verb cmd_user_link = {
	.noun = "user",
	.name = "link",
	.argument = "LOGIN",
	.access = VERB_WRITES,
	.shape = VERB_NOTE,
	.columns = link_columns,
	.help = "Prints a link that logs a browser in as this user: once, and within an "
		"hour. No password and no code is asked for.",
	.run = run_link,
};

const struct verb cmd_user_remove = {
	.noun = "user",
	.name = "remove",
	.argument = "LOGIN",
	.access = VERB_WRITES,
	.shape = VERB_NOTE,
	.columns = columns,
	.help = "Removes a user with their tokens, and logs them out, at once.",
	.run = run_remove,
};

const struct verb cmd_token_create = {
	.noun = "token",
	.name = "create",
	.argument = "LOGIN",
	.access = VERB_WRITES,
	.shape = VERB_RECORD,
	.columns = created_columns,
	.options = {{OPTION_NAME, true, "What people call it."},
		{OPTION_DAYS, false, "How long it lasts. Without this, until it is revoked."}},
	.help = "Creates a token with which a program does over the admin HTTP interface "
		"what the user may, and prints it, once: only a hash of it is stored.",
	.run = run_token_create,
};

const struct verb cmd_token_list = {
	.noun = "token",
	.name = "list",
	.access = VERB_READS,
	.shape = VERB_ROWS,
	.columns = token_columns,
	.help = "Lists the tokens, newest first.",
	.run = run_token_list,
};

const struct verb cmd_token_revoke = {
	.noun = "token",
	.name = "revoke",
	.argument = "ID",
	.access = VERB_WRITES,
	.shape = VERB_NOTE,
	.columns = revoked_columns,
	.help = "Makes a token invalid, at once and for good.",
	.run = run_token_revoke,
};
