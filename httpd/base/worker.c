/*
 * worker: what a worker has, as all that runs on its thread sees it.
 *
 * Threads: the worker's.
 */
#include "httpd/base/worker.h"

#include "core/conf/conf.h"

int64_t worker_message_limit(const struct worker *worker)
{
	int64_t limit = worker->conf->http.max_message_bytes;

	if (worker->postfix_limit > 0 && worker->postfix_limit < limit)
		return worker->postfix_limit;
	return limit;
}
