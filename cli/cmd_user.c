/*
 * cmd_user: users of the admin HTTP interface, and the tokens by which programs act as a user.
 *
 * A password is read from the terminal without echo, or from standard input; it is never an
 * argument, because others on the host could see it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "core/base/secret.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/ops/op_user.h"
#include "core/store/user/store_user.h"

static const struct column columns[] = {
	{"id", NULL, .type = COLUMN_TEXT},
	{"login", "LOGIN", .type = COLUMN_TEXT, .width = 40},
	{"company_id", "COMPANY", COLUMN_TEXT, .spare = 3},
	{"role", "ROLE", .type = COLUMN_TEXT},
	{"password_at", "PASSWORD SET", COLUMN_TIME, .spare = 2},
	{"totp_at", "CODES SINCE", .type = COLUMN_TIME},
	{"last_login_at", "LAST LOGIN", .type = COLUMN_TIME},
	{"created_at", "CREATED", COLUMN_TIME, .spare = 1},
	{0},
};

/* Reads a line without its newline. A line that does not fit is cut, and is too long for a password
 * anyway. Reads byte by byte, so that nothing of it stays in a buffer. */
static int read_typed_line(char *line, size_t size, struct err *err)
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

static int ask_line(const char *question, char *line, size_t size, struct err *err)
{
	struct termios old, silent;
	int result;

	if (!isatty(STDIN_FILENO))
		return read_typed_line(line, size, err);
	fprintf(stderr, "%s: ", question);
	tcgetattr(STDIN_FILENO, &old);
	silent = old;
	/* An interrupt must not leave the terminal like that. */
	silent.c_lflag &= ~(tcflag_t)(ECHO | ISIG);
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
	result = read_typed_line(line, size, err);
	tcsetattr(STDIN_FILENO, TCSAFLUSH, &old);
	fputc('\n', stderr);
	return result;
}

/* Reads a new password for the login; on a terminal twice. */
static int read_password(
	const char *login, char stored[static SECRET_PASSWORD_SIZE], struct err *err)
{
	char one[USER_PASSWORD_MAX + 2], two[USER_PASSWORD_MAX + 2];
	int result = ask_line("New password", one, sizeof(one), err);

	if (result == 0)
		result = store_user_check_password(login, one, err);
	if (result == 0 && isatty(STDIN_FILENO)) {
		result = ask_line("Once more", two, sizeof(two), err);
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
	char stored[SECRET_PASSWORD_SIZE];
	_cleanup_free_ struct op_user *user = NULL;
	_cleanup_free_ void *input = NULL;
	json_t *made;

	/* Checks first, before the user types a password in vain. */
	if (call_check(call, err) < 0 || call_input(call, &input, err) < 0)
		return -1;
	user = TAKE_PTR(input);
	if (user->role == NULL)
		user->role = "owner";
	if (call_option(call, OPTION_NO_PASSWORD) == NULL) {
		if (read_password(user->login, stored, err) < 0)
			return -1;
		user->stored = stored;
	}
	if (call_operate(call, user, &made, err) < 0)
		return -1;
	report_json(report, made);
	json_decref(made);
	return 0;
}

static int run_passwd(const struct call *call, struct report *report, struct err *err)
{
	char stored[SECRET_PASSWORD_SIZE];
	const struct op_password input = {.stored = stored};
	const char *login;
	json_int_t tokens;
	struct user user = {0};
	json_t *made;
	int found = store_user_find(call->db, NULL, call_argument(call), &user, err);

	if (found == 0)
		return err_set(err, ERR_NOT_FOUND, "there is no user %s", call_argument(call));
	if (found > 0)
		found = read_password(user.login, stored, err);
	store_user_clear(&user);
	if (found < 0 || call_operate(call, &input, &made, err) < 0)
		return -1;
	report_json(report, made);
	login = row_json_text(made, "login");
	tokens = json_integer_value(json_object_get(made, "tokens"));
	if (tokens > 0)
		report_note(report,
			"user %s has a new password and is logged out everywhere\n"
			"%" JSON_INTEGER_FORMAT
			" of their tokens stay good, see postern token list",
			login, tokens);
	else
		report_note(
			report, "user %s has a new password and is logged out everywhere", login);
	json_decref(made);
	return 0;
}

enum { LINK_URL = 1, LINK_EXPIRES_AT };

static const struct column link_columns[] = {
	{"login", "LOGIN", .type = COLUMN_TEXT},
	[LINK_URL] = {"url", "URL", .type = COLUMN_TEXT},
	[LINK_EXPIRES_AT] = {"expires_at", "EXPIRES", .type = COLUMN_TIME},
	{0},
};

static int run_link(const struct call *call, struct report *report, struct err *err)
{
	const char *listen = call->conf->admin.listen;
	const char *url = call->conf->admin.url;
	json_t *made;
	char *link;

	if (str_empty(url) && str_starts(listen, "unix:"))
		return err_set(err, ERR_INVALID,
			"no browser reaches %s (admin.listen): say in admin.url where the proxy in "
			"front of it is reached",
			listen);
	if (call_operate(call, NULL, &made, err) < 0)
		return -1;
	report_json(report, made);
	link = mem_printf("%s%s%s", *url ? "" : "http://", *url ? url : listen,
		row_json_text(made, "login_path"));
	report_text(report, LINK_URL, link);
	report_text(report, LINK_EXPIRES_AT, row_json_text(made, "login_path_expires_at"));
	report_note(report, "%s", link);
	secret_text_free(link);
	json_decref(made);
	return 0;
}

#define TOKEN_COLUMNS                                                                              \
	{"id", "ID", .type = COLUMN_TEXT}, {"login", "LOGIN", .type = COLUMN_TEXT, .width = 40},   \
		{"name", "NAME", .type = COLUMN_TEXT, .width = 40},                                \
		{"created_at", "CREATED", COLUMN_TIME, .spare = 1},                                \
	{                                                                                          \
		"expires_at", "EXPIRES", .type = COLUMN_TIME                                       \
	}

static const struct column created_columns[] = {
	TOKEN_COLUMNS, {"token", "TOKEN", .type = COLUMN_TEXT}, {0}};

static const struct column token_columns[] = {
	TOKEN_COLUMNS, {"last_used_at", "LAST USED", COLUMN_TIME, .spare = 2}, {0}};

static const struct column revoked_columns[] = {
	{"id", "ID", .type = COLUMN_TEXT},
	{"revoked", "REVOKED", .type = COLUMN_FLAG},
	{0},
};

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
	.operation = &op_user_add,
	.argument_is = "login",
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
	.operation = &op_user_list,
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
	.operation = &op_user_update,
	.note = "user {login} is {role}",
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
	.operation = &op_password_set,
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
	.operation = &op_user_totp_off,
	.note = "user {login} logs in without codes",
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
	.operation = &op_user_link,
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
	.operation = &op_user_remove,
	.note = "user {login} removed, with their tokens",
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
	.operation = &op_token_create,
	.note = "\nThe token is shown only once: it is not stored.",
};

const struct verb cmd_token_list = {
	.noun = "token",
	.name = "list",
	.access = VERB_READS,
	.shape = VERB_ROWS,
	.columns = token_columns,
	.help = "Lists the tokens, newest first.",
	.operation = &op_token_list,
};

const struct verb cmd_token_revoke = {
	.noun = "token",
	.name = "revoke",
	.argument = "ID",
	.access = VERB_WRITES,
	.shape = VERB_NOTE,
	.columns = revoked_columns,
	.help = "Makes a token invalid, at once and for good.",
	.operation = &op_token_revoke,
	.note = "token {id} revoked",
};
