/*
 * smtp_watch: looks for smtpd until it is there.
 *
 * Threads: a watch is used by one thread at a time.
 */
#include "httpd/inject/smtp_watch.h"

#include <stddef.h>

#include "core/base/log.h"
#include "core/base/str.h"
#include "httpd/inject/smtp_server.h"

enum { LOOK_US = 10 * 1000 * 1000, ANSWER_MS = 1000 };

void smtp_watch_begin(
	struct smtp_watch *watch, const char *server, struct log *log)
{
	*watch = (struct smtp_watch){.server = server, .log = log};
}

static void tell_missing(struct smtp_watch *watch, const struct err *err)
{
	if (watch->told)
		return;
	watch->told = true;
	log_warn(watch->log, "smtp_server_unreachable", "error", err->text,
		"effect", "emails are answered with 503", "hint",
		str_starts(watch->server, "unix:")
			? "start Postfix; postfix-conf/enable --submission "
			  "smtp adds the service, which the group postdrop can "
			  "reach"
			: "see submission.smtp_server");
}

void smtp_watch_look(struct smtp_watch *watch, int64_t now_us)
{
	struct err err = ERR_INIT;

	if (watch->server == NULL || now_us < watch->next_us)
		return;
	watch->next_us = now_us + LOOK_US;
	if (smtp_server_check(watch->server, ANSWER_MS, &err) < 0) {
		tell_missing(watch, &err);
		return;
	}
	if (watch->told)
		log_info(watch->log, "smtp_server_reached", "server",
			watch->server);
	watch->server = NULL;
}
