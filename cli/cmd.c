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
#include "core/address/addr.h"
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

int call_company(
	const struct call *call, const char *id, struct company *company_r, struct err *err)
{
	int found = store_company_get(call->db, id, company_r, err);

	if (found == 0)
		return err_set(err, ERR_NOT_FOUND, "there is no company with the id %s", id);
	return found < 0 ? -1 : 0;
}

int call_company_option(const struct call *call, char id[static ID_SIZE], struct err *err)
{
	struct company company;

	if (call_id_option(call, OPTION_COMPANY, id, err) < 0)
		return -1;
	if (*id == '\0')
		return 0;
	if (call_company(call, id, &company, err) < 0)
		return -1;
	store_company_clear(&company);
	return 0;
}

int call_domain(
	const struct call *call, const char *given, struct domain *domain_r, struct err *err)
{
	_cleanup_free_ char *name = NULL;
	int found;

	if (addr_domain_normalize(given, &name, err) < 0)
		return -1;
	found = store_domain_find(call->db, name, domain_r, err);
	if (found == 0)
		return err_set(err, ERR_NOT_FOUND, "there is no domain %s", name);
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
