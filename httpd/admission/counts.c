/*
 * counts: the counters of a worker since its start.
 *
 * Threads: counts_reply() is the worker's.
 */
#include "httpd/admission/counts.h"

#include "core/base/mem.h"
#include "httpd/admission/route.h"

const int counts_statuses[COUNTS_STATUSES] = {200, 201, 202, 204, 206, 301, 302, 303, 304, 400, 401,
	402, 403, 404, 405, 406, 408, 409, 411, 413, 414, 415, 417, 422, 429, 431, 500, 501, 502,
	503, 505, 0};

const int64_t counts_bounds_us[COUNTS_BOUNDS] = {500, 1000, 2500, 5000, 10000, 25000, 50000, 100000,
	250000, 500000, 1000000, 2500000, 10000000, 60000000};

struct worker_counts *counts_new(const struct route *routes)
{
	struct worker_counts *counts;
	size_t n = 0;

	while (routes[n].method)
		n++;
	counts = mem_alloc(1, sizeof(*counts) + (n + 1) * sizeof(struct route_counts));
	counts->routes = routes;
	counts->routes_n = n;
	return counts;
}

void counts_reply(
	struct worker_counts *counts, const struct route *route, int status, int64_t took_us)
{
	size_t n = route ? (size_t)(route - counts->routes) : counts->routes_n;
	struct route_counts *of = &counts->of[n];
	size_t place = 0, bucket = 0;

	while (place < COUNTS_STATUSES - 1 && counts_statuses[place] != status)
		place++;
	count_add(&of->statuses[place], 1);
	if (took_us < 0)
		return;
	while (bucket < COUNTS_BOUNDS && took_us > counts_bounds_us[bucket])
		bucket++;
	count_add(&of->took[bucket], 1);
	count_add(&of->took_us, (uint64_t)took_us);
}
