/*
 * arrival: the begin of a request.
 *
 * Threads: the worker's.
 */
#include "httpd/http/arrival.h"

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "httpd/base/worker.h"
#include "httpd/http/conn.h"
#include "httpd/http/reply.h"
#include "httpd/http/request.h"

static struct request *begin(struct worker *worker, struct evhttp_request *http)
{
	struct request *request = mem_new(struct request);

	request->worker = worker;
	request->http = http;
	request->began_us = clock_monotonic_us();
	id_new(request->id);
	conn_begin(conn_of(worker, http), http, &request->admission);
	worker->requests++;
	return request;
}

void arrival_on_request(struct evhttp_request *http, void *arg)
{
	struct request *request = begin(arg, http);
	struct problem *problem = &request->admission.problem;

	/* Not reached; if evhttp saw a request that conn did not, it ends. */
	if (request->admission.route == NULL && problem->kind == PROBLEM_NONE)
		problem_fixed(problem, PROBLEM_INTERNAL);
	if (problem->kind != PROBLEM_NONE)
		reply_problem(request, problem);
	else
		request->admission.route->handle(request);
}
