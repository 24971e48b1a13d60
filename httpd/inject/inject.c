/*
 * inject: chooses how mail gets into Postfix.
 *
 * Threads: the worker's.
 */
#include "httpd/inject/inject.h"

#include <assert.h>

#include "core/base/mem.h"
#include "core/conf/conf.h"

/* By enum submission_method. */
static struct inject *(*const makers[])(
	struct event_base *base, const struct conf *conf) = {
	[SUBMISSION_SENDMAIL] = inject_sendmail_new,
	[SUBMISSION_SMTP] = inject_smtp_new,
};

struct inject *inject_new(struct event_base *base, const struct conf *conf)
{
	size_t method = (size_t)conf->submission.method;

	assert(method < ARRAY_SIZE(makers) && makers[method]);
	return makers[method](base, conf);
}
