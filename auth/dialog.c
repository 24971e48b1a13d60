/*
 * dialog: parses smtpd's lines and answers them.
 *
 * Secrets are wiped wherever they are stored: in the line and in its decoded form. Unknown
 * lines are skipped, as the protocol requires.
 */
#include "auth/dialog.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/base64.h"
#include "core/base/cidr.h"
#include "core/base/secret.h"
#include "core/base/span.h"
#include "core/base/str.h"

enum {
	NUMBER_MAX = 10, /* digits of a request id (32 bits) */
	CLIENT_MAX = 64, /* bytes of a client address */
};

enum step {
	STEP_PLAIN,    /* PLAIN without an initial response */
	STEP_LOGIN,    /* LOGIN: waits for the user name */
	STEP_PASSWORD, /* LOGIN: waits for the password */
};

/* A login, which is open while it waits for a response. */
struct login {
	char number[NUMBER_MAX + 1]; /* its request id; "": the slot is free */
	char client[CLIENT_MAX + 1];
	enum step step;
};

struct dialog {
	auth_check *check;
	void *arg;
	bool versioned; /* smtpd has sent its VERSION */
	bool undecided; /* a login could not be decided */
	struct login logins[DIALOG_OPEN_MAX];
	size_t next;     /* the one to replace if all are in use */
	struct buf line; /* the part of a line received so far */
};

struct dialog *dialog_new(auth_check *check, void *arg, unsigned number, struct buf *out)
{
	struct dialog *dialog = mem_new(struct dialog);
	char cookie[SECRET_TICKET_SIZE];

	dialog->check = check;
	dialog->arg = arg;
	secret_ticket(cookie);
	buf_printf(out,
		"VERSION\t1\t2\nMECH\tPLAIN\tplaintext\nMECH\tLOGIN\tplaintext\n"
		"SPID\t%ld\nCUID\t%u\nCOOKIE\t%s\nDONE\n",
		(long)getpid(), number, cookie);
	return dialog;
}

void dialog_free(struct dialog *dialog)
{
	if (dialog == NULL)
		return;
	secret_buf_free(&dialog->line);
	free(dialog);
}

static struct login *find_login(struct dialog *dialog, const char *number)
{
	for (size_t i = 0; i < DIALOG_OPEN_MAX; i++)
		if (str_eq(dialog->logins[i].number, number))
			return &dialog->logins[i];
	return NULL;
}

static void close_login(struct dialog *dialog, const char *number)
{
	struct login *login = find_login(dialog, number);

	if (login)
		*login = (struct login){0};
}

/* Asks for the response of the login, which is open from now on. */
static void ask(struct dialog *dialog, const struct login *login, struct buf *out)
{
	static const char *const prompts[] = {
		[STEP_PLAIN] = "",
		[STEP_LOGIN] = "Username:",
		[STEP_PASSWORD] = "Password:",
	};
	struct login *open = find_login(dialog, login->number);

	if (open == NULL)
		open = find_login(dialog, "");
	if (open == NULL)
		open = &dialog->logins[dialog->next++ % DIALOG_OPEN_MAX];
	*open = *login;
	buf_printf(out, "CONT\t%s\t", login->number);
	base64_encode(prompts[login->step], strlen(prompts[login->step]), 0, out);
	buf_add_char(out, '\n');
}

/* Finds the password in RFC 4616 2: [authzid] NUL authcid NUL passwd. */
static bool plain_password(const struct buf *message, size_t *start_r)
{
	const char *data = buf_str(message);
	const char *first = memchr(data, '\0', message->len);
	const char *second;

	if (first == NULL)
		return false;
	second = memchr(first + 1, '\0', message->len - (size_t)(first + 1 - data));
	if (second == NULL)
		return false;
	*start_r = (size_t)(second + 1 - data);
	return true;
}

/* Handles the response of a login, which is passed by value, because its slot may be freed here. */
static void on_response(
	struct dialog *dialog, struct login login, struct span response, struct buf *out)
{
	_cleanup_secret_buf_ struct buf message = BUF_INIT;
	struct auth_attempt attempt = {.client = login.client};
	char key_id[ID_SIZE] = "";
	size_t start = 0;

	buf_reserve(&message, response.len + 1);
	if (base64_decode(response.data, response.len, &message) < 0 ||
		(login.step == STEP_PLAIN && !plain_password(&message, &start))) {
		close_login(dialog, login.number);
		buf_printf(out, "FAIL\t%s\treason=the response cannot be read\n", login.number);
	} else if (login.step == STEP_LOGIN) {
		login.step = STEP_PASSWORD;
		ask(dialog, &login, out);
	} else {
		close_login(dialog, login.number);
		buf_add_char(&message, '\0');
		attempt.password = message.data + start;
		attempt.len = message.len - 1 - start;
		switch (dialog->check(dialog->arg, &attempt, key_id)) {
		case AUTH_OK:
			buf_printf(out, "OK\t%s\tuser=%s\n", login.number, key_id);
			break;
		case AUTH_FAIL:
			buf_printf(out, "FAIL\t%s\treason=this is no API key that may send\n",
				login.number);
			break;
		case AUTH_TEMP:
			dialog->undecided = true;
			break;
		}
	}
}

static bool read_number(struct span word, char number[static NUMBER_MAX + 1])
{
	if (word.len == 0 || word.len > NUMBER_MAX)
		return false;
	for (size_t i = 0; i < word.len; i++)
		if (!ascii_is_digit(word.data[i]))
			return false;
	memcpy(number, word.data, word.len);
	number[word.len] = '\0';
	return true;
}

/* Returns the value of `name=VALUE`. */
static bool value_of(struct span word, const char *name, struct span *value_r)
{
	size_t len = strlen(name);

	if (word.len < len || memcmp(word.data, name, len) != 0)
		return false;
	*value_r = (struct span){word.data + len, word.len - len};
	return true;
}

/* Sets the client to "" if the value cannot be an address. */
static void copy_client(struct span value, char client[static CLIENT_MAX + 1])
{
	client[0] = '\0';
	if (value.len > CLIENT_MAX)
		return;
	for (size_t i = 0; i < value.len; i++)
		if (value.data[i] <= ' ' || value.data[i] > '~')
			return;
	memcpy(client, value.data, value.len);
	client[value.len] = '\0';
}

/* Handles the fields after AUTH. */
static int on_auth(struct dialog *dialog, struct span rest, struct buf *out)
{
	struct span mechanism, word, value, response = {NULL, 0};
	struct login login = {.step = STEP_LOGIN};
	bool secured = false;

	if (!read_number(span_cut(&rest, '\t'), login.number))
		return -1;
	close_login(dialog, login.number);
	mechanism = span_cut(&rest, '\t');
	if (span_is_nocase(mechanism, "PLAIN")) {
		login.step = STEP_PLAIN;
	} else if (!span_is_nocase(mechanism, "LOGIN")) {
		buf_printf(out, "FAIL\t%s\treason=this mechanism is not known\n", login.number);
		return 0;
	}
	/* The response comes last and has no tabs. */
	while (rest.len > 0) {
		word = span_cut(&rest, '\t');
		if (value_of(word, "rip=", &value))
			copy_client(value, login.client);
		else if (span_is(word, "secured"))
			secured = true;
		else if (value_of(word, "resp=", &value))
			response = value;
	}
	if (!secured && !cidr_is_loopback(login.client))
		buf_printf(out, "FAIL\t%s\treason=a login needs TLS\n", login.number);
	else if (response.data == NULL)
		ask(dialog, &login, out);
	else
		on_response(dialog, login, response, out);
	return 0;
}

static int on_cont(struct dialog *dialog, struct span rest, struct buf *out)
{
	const struct login *login;
	char number[NUMBER_MAX + 1];

	if (!read_number(span_cut(&rest, '\t'), number))
		return -1;
	login = find_login(dialog, number);
	if (login)
		on_response(dialog, *login, rest, out);
	else
		buf_printf(out, "FAIL\t%s\treason=no such login has begun\n", number);
	return 0;
}

static int on_line(struct dialog *dialog, struct span line, struct buf *out)
{
	struct span command = span_cut(&line, '\t');
	char number[NUMBER_MAX + 1];

	if (span_is(command, "VERSION")) {
		dialog->versioned = true;
		return span_is(span_cut(&line, '\t'), "1") ? 0 : -1;
	}
	if (!dialog->versioned)
		return -1;
	if (span_is(command, "AUTH"))
		return on_auth(dialog, line, out);
	if (span_is(command, "CONT"))
		return on_cont(dialog, line, out);
	if (span_is(command, "CANCEL") && read_number(span_cut(&line, '\t'), number))
		close_login(dialog, number);
	return 0;
}

int dialog_input(struct dialog *dialog, const char *data, size_t len, struct buf *out)
{
	struct buf *line = &dialog->line;

	/* Reserved once, so that the buffer never moves and leaves no copy of a password. */
	if (line->data == NULL)
		buf_reserve(line, DIALOG_LINE_MAX);
	for (size_t i = 0; i < len; i++) {
		if (data[i] != '\n') {
			if (line->len == DIALOG_LINE_MAX)
				return -1;
			buf_add_char(line, data[i]);
			continue;
		}
		if (on_line(dialog, (struct span){line->data, line->len}, out) < 0)
			return -1;
		if (dialog->undecided)
			return 1;
		secret_wipe(line->data, line->len);
		buf_clear(line);
	}
	return 0;
}
