/*
 * cmd: code that verbs share: reading the words and options of a call, and questions to the user at
 * the terminal.
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
#include "core/store/company/store_company.h"

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

/* The operation of the verb. */

/* Checks the id of a key or a company. A company whose list is requested must exist. */
static int check_id(
	const struct call *call, const struct op_field *field, const char *text, struct err *err)
{
	struct company company;
	char id[ID_SIZE];
	int found;

	if (str_eq(field->name, "key_id"))
		return read_id("key", text, id, err);
	if (read_id("company", text, id, err) < 0)
		return -1;
	if (call->arguments->verb->operation->list == OP_ONE || field->removed)
		return 0;
	found = store_company_get(call->db, id, &company, err);
	if (found == 0)
		return err_set(err, ERR_NOT_FOUND, "there is no company with the id %s", id);
	if (found > 0)
		store_company_clear(&company);
	return found < 0 ? -1 : 0;
}

static int read_member(
	const struct call *call, const struct op_field *field, void *input, struct err *err)
{
	const struct verb *verb = call->arguments->verb;
	enum verb_option_id option = verbs_option_of(verb, field->name);
	const char *text = option == OPTIONS ? NULL : call_option(call, option);
	void *member = (char *)input + field->offset;

	if (verb->argument_is && str_eq(verb->argument_is, field->name) && call_argument(call))
		text = call_argument(call);
	if (verb->flag && str_eq(verb->flag, field->name))
		*(enum op_flag *)member = verb->flag_is;
	if (text == NULL)
		return 0;
	switch (field->type) {
	case OP_ID:
		if (check_id(call, field, text, err) < 0)
			return -1;
		/* fall through */
	case OP_TEXT:
	case OP_LIST:
	case OP_WORDS:
		*(const char **)member = text;
		break;
	case OP_FLAG:
		*(enum op_flag *)member = verbs_options[option].is_no ? OP_NO : OP_YES;
		break;
	case OP_NUMBER:
		return call_number_option(call, option, field->max, member, err);
	case OP_TIME:
		return call_time_option(call, option, member, err);
	case OP_ITEMS:
		break;
	}
	return 0;
}

int call_input(const struct call *call, void **input_r, struct err *err)
{
	const struct verb *verb = call->arguments->verb;
	const struct op_field *field = verb->operation->fields;
	size_t size = verb->operation->size;
	_cleanup_free_ void *input = size ? mem_alloc(1, size) : NULL;
	char id[ID_SIZE];

	if (verb->argument && str_eq(verb->argument, "ID") && verb->read == NULL &&
		call_id_argument(call, id, err) < 0)
		return -1;
	for (; field && field->name; field++)
		if (read_member(call, field, input, err) < 0)
			return -1;
	if (verb->read && verb->read(call, input, err) < 0)
		return -1;
	*input_r = TAKE_PTR(input);
	return 0;
}

static void begin_op(const struct call *call, struct op *op)
{
	*op = (struct op){
		.db = call->db, .conf = call->conf, .now_us = call->now_us, .actor = OP_COMMAND};
	op_about(op, call_argument(call));
}

int call_check(const struct call *call, struct err *err)
{
	const struct operation *operation = call->arguments->verb->operation;
	_cleanup_free_ void *input = NULL;
	struct op op;
	int result;

	if (operation->check == NULL)
		return 0;
	begin_op(call, &op);
	result = call_input(call, &input, err) < 0 ? -1 : operation->check(&op, input, err);
	*call->ready = op.ready;
	op.ready = (struct op_ready){0};
	op_clear(&op);
	return result;
}

int call_operate(const struct call *call, const void *input, json_t **made_r, struct err *err)
{
	/* Between two steps of a long operation, so that others can write. */
	const struct timespec pause = {.tv_nsec = 2 * 1000 * 1000};
	const struct verb *verb = call->arguments->verb;
	const struct operation *operation = verb->operation;
	const char *given = call_argument(call);
	char id[ID_SIZE];
	struct op op;
	int result;

	begin_op(call, &op);
	op.ready = *call->ready;
	*call->ready = (struct op_ready){0};
	while ((result = operation->run(&op, input, err)) == STORE_MORE)
		nanosleep(&pause, NULL);
	if (result > 0)
		*made_r = operation->list == OP_ONE ? op_json(&op) : op_list_json(&op);
	op_clear(&op);
	if (result != 0)
		return result > 0 ? 0 : -1;
	if (str_eq(verb->noun, "domain"))
		return err_set(err, ERR_NOT_FOUND,
			"there is no domain %s (one that a company only asked for %s)", given,
			verbs_takes(verb, OPTION_COMPANY) ? "needs --company"
							  : "has to be activated first");
	return err_set(err, ERR_NOT_FOUND, "there is no %s %s%s",
		str_eq(verb->noun, "exempt")      ? "exemption"
		: str_eq(verb->noun, "hosts")     ? "host"
		: str_eq(verb->argument, "LOGIN") ? "user"
						  : verb->noun,
		id_parse(given, id) ? "with the id " : "", given);
}

int call_first(const struct call *call, const struct operation *list, const void *input,
	json_t **item_r, struct err *err)
{
	struct op op;
	int found;

	begin_op(call, &op);
	op.page.limit = 1;
	found = list->run(&op, input, err);
	if (found > 0 && op.result.rows.n == 0)
		found = 0;
	if (found > 0)
		*item_r = op_item_json(&op, 0);
	op_clear(&op);
	return found;
}

/* Prints each page before it reads the next one, so that memory use does not depend on the length
 * of the list. */
static int run_list(
	const struct call *call, const void *input, struct report *report, struct err *err)
{
	const struct verb *verb = call->arguments->verb;
	int64_t left = verb->limit ? verb->limit : INT64_MAX;
	const struct rows *rows;
	struct op op;
	bool more = true;
	int result;

	begin_op(call, &op);
	rows = &op.result.rows;
	if (verb->limit && call_number_option(call, OPTION_LIMIT, verb->limit_max, &left, err) < 0)
		return -1;
	while (more && left > 0) {
		op.page.limit = left < REPORT_ROWS ? (int)left : REPORT_ROWS;
		result = verb->operation->run(&op, input, err);
		/* The row at which the page begins was removed meanwhile. */
		if (result == 0)
			return err_set(err, ERR_TEMPORARY,
				"the list was changed while it was read: run the command again");
		if (result < 0)
			return -1;
		for (size_t i = 0; i < rows->n; i++) {
			json_t *item = op_item_json(&op, i);

			if (verb->add)
				verb->add(item);
			report_json(report, item);
			snprintf(op.page.after, ID_SIZE, "%s", row_json_text(item, "id"));
			json_decref(item);
		}
		/* A page may have looked at many rows and found few. */
		if (*rows->next)
			memcpy(op.page.after, rows->next, ID_SIZE);
		more = rows->more || *rows->next;
		left -= (int64_t)rows->n;
		op_clear(&op);
		if (report_flush(report, err) < 0)
			return -1;
	}
	return 0;
}

/* Adds the note of the verb, with members of the result in place of `{MEMBER}`. */
static void add_note(struct report *report, const char *note, const json_t *made)
{
	_cleanup_buf_ struct buf text = BUF_INIT;

	while (*note) {
		size_t len = strcspn(note, "{");

		buf_add(&text, note, len);
		note += len;
		if (*note == '{') {
			_cleanup_free_ char *name = mem_dup(note + 1, strcspn(note, "}") - 1);
			const json_t *value = json_object_get(made, name);

			if (json_is_integer(value))
				buf_printf(
					&text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
			else
				buf_add_str(&text,
					json_is_null(value) ? "none" : row_json_text(made, name));
			note += strcspn(note, "}") + 1;
		}
	}
	report_note(report, "%s", buf_str(&text));
}

int call_run(const struct call *call, struct report *report, struct err *err)
{
	const struct verb *verb = call->arguments->verb;
	_cleanup_free_ void *input = NULL;
	json_t *made;

	if (call_input(call, &input, err) < 0)
		return -1;
	if (verb->operation->list >= OP_SEARCH ||
		(verb->operation->list == OP_WHOLE && verb->shape == VERB_ROWS))
		return run_list(call, input, report, err);
	if (call_operate(call, input, &made, err) < 0)
		return -1;
	report_json(report, made);
	if (verb->note)
		add_note(report, verb->note, made);
	json_decref(made);
	return 0;
}

enum { USUAL = 80 }; /* columns of a terminal */

size_t terminal_width(int fd)
{
	struct winsize size = {0};

	if (!isatty(fd))
		return 0;
	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : USUAL;
}

size_t screen_width(void)
{
	enum { LEAST = 40, MOST = 120 };
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

const char *ask_choice(const char *question, const char *const *words, size_t n)
{
	char line[100];

	for (;;) {
		_cleanup_free_ char *answer = NULL;

		fprintf(stderr, "%s [%s] ", question, words[0]);
		if (fgets(line, sizeof(line), stdin) == NULL)
			return NULL;
		answer = str_trim(line, strlen(line));
		if (*answer == '\0')
			return words[0];
		for (size_t i = 0; i < n; i++)
			if (str_eq_nocase(answer, words[i]) ||
				(answer[1] == '\0' && answer[0] == words[i][0]))
				return words[i];
	}
}

int ask_removal(const char *question, struct err *err)
{
	static const char *const answers[] = {"no", "yes"};
	const char *answer = ask_choice(question, answers, ARRAY_SIZE(answers));

	if (answer && str_eq(answer, "yes"))
		return 0;
	return err_set(err, ERR_INVALID, "nothing was removed");
}
