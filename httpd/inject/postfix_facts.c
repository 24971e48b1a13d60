/*
 * postfix_facts: what the local Postfix is configured to.
 *
 * Threads: any; holds no state.
 */
#include "httpd/inject/postfix_facts.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/conf/postconf.h"

enum parameter {
	SIZE_LIMIT,
	MILTERS,
	QUEUE_DIRECTORY,
	CANONICAL,
	RECIPIENT_CANONICAL,
	MASQUERADE,
	PARAMETERS
};

/* By enum submission_method. */
static const char *const milters[] = {
	[SUBMISSION_SENDMAIL] = "non_smtpd_milters",
	[SUBMISSION_SMTP] = "smtpd_milters",
};

const char *postfix_facts_milters(const struct conf *conf)
{
	return milters[conf->submission.method];
}

/* Whether the list of milters has unix:PATH or local:PATH as a word. */
static bool lists_socket(const char *list, const char *path)
{
	static const char separators[] = " \t,{}";
	size_t len = strlen(path);
	const char *at = list;

	while ((at = strstr(at, path)) != NULL) {
		bool is_socket =
			(at - list >= 5 && memcmp(at - 5, "unix:", 5) == 0) ||
			(at - list >= 6 && memcmp(at - 6, "local:", 6) == 0);

		if (is_socket && (at[len] == '\0' || strchr(separators, at[len])))
			return true;
		at++;
	}
	return false;
}

/* The path may be relative to the queue folder, where Postfix's daemons
 * work. */
static bool lists_milter(
	const char *list, const char *queue_directory, const char *socket)
{
	size_t len = strlen(queue_directory);

	if (lists_socket(list, socket))
		return true;
	return str_starts(socket, queue_directory) && socket[len] == '/' &&
	       lists_socket(list, socket + len + 1);
}

/* Over SMTP the milter sees them as they were submitted. */
static bool rewrites_recipients(const struct conf *conf, char *const *values)
{
	if (conf->submission.method == SUBMISSION_SMTP)
		return false;
	return !str_empty(values[CANONICAL]) ||
	       !str_empty(values[RECIPIENT_CANONICAL]) ||
	       !str_empty(values[MASQUERADE]);
}

int postfix_facts_read(
	const struct conf *conf, struct postfix_facts *facts_r, struct err *err)
{
	const char *const parameters[PARAMETERS] = {
		[SIZE_LIMIT] = "message_size_limit",
		[MILTERS] = postfix_facts_milters(conf),
		[QUEUE_DIRECTORY] = "queue_directory",
		[CANONICAL] = "canonical_maps",
		[RECIPIENT_CANONICAL] = "recipient_canonical_maps",
		[MASQUERADE] = "masquerade_domains",
	};
	char *values[PARAMETERS];
	int64_t limit;
	int result;

	if (postconf_read(conf->submission.postfix_config, parameters,
		    PARAMETERS, values, err) < 0)
		return -1;
	result = str_int(values[SIZE_LIMIT], 0, INT64_MAX, &limit);
	if (result < 0)
		err_set(err, ERR_CONFIG, "message_size_limit is no number: %s",
			values[SIZE_LIMIT]);
	else
		*facts_r = (struct postfix_facts){limit,
			lists_milter(values[MILTERS], values[QUEUE_DIRECTORY],
				conf->milter.socket),
			rewrites_recipients(conf, values)};
	for (size_t i = 0; i < PARAMETERS; i++)
		free(values[i]);
	return result;
}
