/*
 * cmd: what the verbs share: the words and options of a call, read, and
 * questions to the person at the terminal.
 */
#include "cli/cmd.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/verbs.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/secret.h"
#include "core/base/str.h"
#include "core/store/store_audit.h"
#include "core/store/store_company.h"

const char *call_argument(const struct call *call)
{
	return call->arguments->argument;
}

const char *call_option(const struct call *call, enum verb_option_id id)
{
	return call->arguments->values[id];
}

static int read_id(const char *noun, const char *text, char id[static ID_SIZE], struct err *err)
{
	if (id_parse(text, id))
		return 0;
	if (str_starts(text, SECRET_TOKEN_PREFIX))
		return err_set(err, ERR_INVALID,
			"this is the token of a key, which is a secret; the id is expected, which "
			"`postern key list` shows");
	return err_set(err, ERR_INVALID,
		"\"%s\" is no %s id: a UUID is expected, as `postern %s list` shows it", text, noun,
		noun);
}

int call_id_argument(const struct call *call, char id[static ID_SIZE], struct err *err)
{
	return read_id(call->arguments->verb->noun, call_argument(call), id, err);
}

int call_id_option(const struct call *call, enum verb_option_id option, char id[static ID_SIZE],
	struct err *err)
{
	const char *text = call_option(call, option);

	id[0] = '\0';
	if (text == NULL)
		return 0;
	return read_id(verbs_options[option].name, text, id, err);
}

int call_number_option(const struct call *call, enum verb_option_id option, int64_t max,
	int64_t *number, struct err *err)
{
	const char *text = call_option(call, option);

	if (text == NULL || str_int(text, 1, max, number) == 0)
		return 0;
	return err_set(err, ERR_INVALID, "--%s is a number from 1 to %lld, not \"%s\"",
		verbs_options[option].name, (long long)max, text);
}

int call_company_option(const struct call *call, char id[static ID_SIZE], struct err *err)
{
	struct company company;
	int found;

	if (call_id_option(call, OPTION_COMPANY, id, err) < 0)
		return -1;
	if (*id == '\0')
		return 0;
	found = store_company_get(call->db, id, &company, err);
	if (found == 0)
		return err_set(err, ERR_NOT_FOUND, "there is no company with the id %s", id);
	if (found > 0)
		store_company_clear(&company);
	return found < 0 ? -1 : 0;
}

int call_time_option(
	const struct call *call, enum verb_option_id option, int64_t *time_us, struct err *err)
{
	const char *text = call_option(call, option);

	if (text == NULL || clock_parse(text, call->now_us, time_us))
		return 0;
	return err_set(err, ERR_INVALID,
		"--%s is a time, as 2026-11-21 or 2026-11-21T14:30, or how long ago, as 2h or 7d, "
		"not \"%s\"",
		verbs_options[option].name, text);
}

static struct op op_of(const struct call *call)
{
	return (struct op){.db = call->db,
		.conf = call->conf,
		.now_us = call->now_us,
		.actor = OP_COMMAND,
		.object = call_argument(call)};
}

int call_check(const struct call *call, const struct operation *operation, const void *input,
	struct err *err)
{
	struct op op = op_of(call);

	return operation->check(&op, input, err);
}

static int refuse_missing(const struct call *call, struct err *err)
{
	const struct verb *verb = call->arguments->verb;
	const char *given = call_argument(call);
	char id[ID_SIZE];

	if (str_eq(verb->noun, "domain"))
		return err_set(err, ERR_NOT_FOUND,
			"there is no domain %s (one that a company only asked for %s)", given,
			verbs_takes(verb, OPTION_COMPANY) ? "needs --company"
							  : "has to be activated first");
	return err_set(err, ERR_NOT_FOUND, "there is no %s %s%s",
		str_eq(verb->noun, "exempt")      ? "exemption"
		: str_eq(verb->argument, "LOGIN") ? "user"
						  : verb->noun,
		id_parse(given, id) ? "with the id " : "", given);
}

int call_operate(const struct call *call, const struct operation *operation, const void *input,
	struct report *report, json_t **made_r, struct err *err)
{
	struct op op = op_of(call);
	json_t *made = NULL;
	int result;

	while ((result = operation->run(&op, input, err)) == STORE_MORE)
		call_pause();
	if (result > 0) {
		made = op_json(&op);
		report_json(report, made);
	}
	op_clear(&op);
	if (result > 0 && made_r)
		*made_r = made;
	else
		json_decref(made);
	return result > 0 ? 0 : result < 0 ? -1 : refuse_missing(call, err);
}

int call_list(const struct call *call, const struct operation *operation, const void *input,
	struct report *report, struct err *err)
{
	struct op op = op_of(call);
	bool more = true;
	int found = 1;

	op.page.limit = REPORT_ROWS;
	while (more && found > 0) {
		found = operation->run(&op, input, err);
		for (size_t i = 0; found > 0 && i < op.result.rows.n; i++) {
			json_t *item = op_item_json(&op, i);

			report_json(report, item);
			snprintf(op.page.after, ID_SIZE, "%s", text_of(item, "id"));
			json_decref(item);
		}
		more = op.result.rows.more;
		op_clear(&op);
		if (found > 0 && report_flush(report, err) < 0)
			return -1;
	}
	return found > 0 ? 0 : call_page_lost(err);
}

int call_read(const struct call *call, const struct operation *operation, const void *input,
	json_t **list_r, struct err *err)
{
	struct op op = op_of(call);
	int found = operation->run(&op, input, err);

	*list_r = op.result.more ? json_incref(op.result.more) : json_object();
	json_object_set_new(*list_r, "data", json_array());
	for (size_t i = 0; i < op.result.rows.n; i++)
		json_array_append_new(json_object_get(*list_r, "data"), op_item_json(&op, i));
	op_clear(&op);
	if (found > 0)
		return 0;
	json_decref(*list_r);
	return found < 0 ? -1 : refuse_missing(call, err);
}

const char *text_of(const json_t *made, const char *name)
{
	const char *text = json_string_value(json_object_get(made, name));

	return text ? text : "";
}

int call_page_lost(struct err *err)
{
	return err->code != ERR_NONE
		       ? -1
		       : err_set(err, ERR_TEMPORARY,
				 "the list was changed while it was read: run the command again");
}

void call_pause(void)
{
	const struct timespec pause = {.tv_nsec = 2 * 1000 * 1000};

	nanosleep(&pause, NULL);
}

size_t terminal_width(int fd)
{
	struct winsize size = {0};

	return isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

size_t screen_width(void)
{
	enum { LEAST = 40, USUAL = 80, MOST = 120 };
	size_t width = terminal_width(STDOUT_FILENO);

	if (width == 0)
		return USUAL;
	if (width < LEAST)
		return LEAST;
	return width > MOST ? MOST : width;
}

bool ask_is_possible(void)
{
	return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

static const char *match(const char *answer, const char *const *words, size_t n)
{
	if (*answer == '\0')
		return words[0];
	for (size_t i = 0; i < n; i++)
		if (str_eq_nocase(answer, words[i]) ||
			(answer[1] == '\0' && answer[0] == words[i][0]))
			return words[i];
	return NULL;
}

const char *ask_choice(const char *question, const char *const *words, size_t n)
{
	char line[100];

	for (;;) {
		_cleanup_free_ char *answer = NULL;
		const char *word;

		fprintf(stderr, "%s [%s] ", question, words[0]);
		if (fgets(line, sizeof(line), stdin) == NULL)
			return NULL;
		answer = str_trim(line, strlen(line));
		word = match(answer, words, n);
		if (word)
			return word;
	}
}
