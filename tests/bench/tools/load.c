/*
 * load: sessions that work through a list of items at the same time.
 *
 * Threads: one a session; they share the number of the next item, an atomic,
 * and each writes the latencies of its own items.
 */
#include "tests/bench/tools/load.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"

enum { THREAD_STACK = 256 * 1024 };

struct running {
	const struct load *load;
	atomic_size_t next;
	atomic_size_t failed;
	atomic_bool unreachable;
	pthread_barrier_t start;
	int64_t *took_us; /* of each exchange */
};

static int open_session(const struct load *load, struct session *session)
{
	if (session_open(session, load->address) < 0)
		return -1;
	return load->protocol->greet(session, load->arg);
}

static int exchange(struct running *running, struct session *session, size_t number)
{
	const struct load *load = running->load;
	int64_t began_us = clock_monotonic_us();
	int done = 0, result;

	result = load->protocol->exchange(
		session, &load->items[number % load->items_n], load->arg, &done);
	running->took_us[number] = clock_monotonic_us() - began_us;
	if (result < 0 || !done)
		running->failed++;
	return result;
}

static void work(struct running *running, struct session *session)
{
	size_t each = running->load->each, number, n = 0;

	while ((number = running->next++) < running->load->count) {
		if (exchange(running, session, number) == 0 && (each == 0 || ++n < each))
			continue;
		n = 0;
		session_close(session);
		if (open_session(running->load, session) < 0) {
			running->unreachable = true;
			return;
		}
	}
}

static void *thread_main(void *arg)
{
	struct running *running = arg;
	_cleanup_free_ struct session *session = mem_new(struct session);
	int opened = open_session(running->load, session);

	pthread_barrier_wait(&running->start);
	/* The clock is read now: a thread may be done before it would be. */
	pthread_barrier_wait(&running->start);
	if (opened == 0)
		work(running, session);
	else
		running->unreachable = true;
	session_close(session);
	return NULL;
}

static int compare(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return (left > right) - (left < right);
}

static void report(struct running *running, int64_t took_us)
{
	size_t n = running->load->count;

	qsort(running->took_us, n, sizeof(*running->took_us), compare);
	printf("{\"count\": %zu, \"failed\": %zu, \"seconds\": %.6f, \"p50_us\": %lld, "
	       "\"p99_us\": %lld, \"max_us\": %lld}\n",
		n, running->failed, (double)took_us / 1e6, (long long)running->took_us[n / 2],
		(long long)running->took_us[n * 99 / 100], (long long)running->took_us[n - 1]);
}

static void run_threads(struct running *running, pthread_t *threads)
{
	size_t n = running->load->sessions;
	pthread_attr_t small;
	int64_t began_us;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, THREAD_STACK);
	for (size_t i = 0; i < n; i++)
		if (pthread_create(&threads[i], &small, thread_main, running) != 0)
			abort();
	pthread_attr_destroy(&small);
	pthread_barrier_wait(&running->start);
	began_us = clock_monotonic_us();
	pthread_barrier_wait(&running->start);
	for (size_t i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	report(running, clock_monotonic_us() - began_us);
}

int load_run(const struct load *load)
{
	_cleanup_free_ pthread_t *threads = mem_alloc(load->sessions, sizeof(*threads));
	_cleanup_free_ int64_t *took_us = mem_alloc(load->count, sizeof(*took_us));
	struct running running = {.load = load, .took_us = took_us};

	pthread_barrier_init(&running.start, NULL, (unsigned)load->sessions + 1);
	run_threads(&running, threads);
	pthread_barrier_destroy(&running.start);
	return running.unreachable ? -1 : 0;
}

static char *read_file(const char *path, size_t *len_r)
{
	FILE *file = fopen(path, "rb");
	char *data = NULL;
	long len;

	if (file == NULL)
		return NULL;
	if (fseek(file, 0, SEEK_END) == 0 && (len = ftell(file)) >= 0) {
		rewind(file);
		data = mem_alloc((size_t)len + 1, 1);
		*len_r = fread(data, 1, (size_t)len, file);
	}
	fclose(file);
	return data;
}

static void add_item(struct load *load, const char *data, size_t len)
{
	size_t n = load->items_n;

	if ((n & (n - 1)) == 0) /* full: twice as many */
		load->items = mem_grow(load->items, n ? 2 * n : 1, sizeof(*load->items));
	load->items[load->items_n++] = (struct load_item){data, len};
}

int load_read(struct load *load, const char *path)
{
	size_t len, left;
	char *at;

	load->file = read_file(path, &len);
	if (load->file == NULL)
		return -1;
	left = len;
	for (at = load->file; left > 0;) {
		char *data;
		size_t item = strtoul(at, &data, 10);
		size_t head = (size_t)(data + 1 - at);

		if (data == at || *data != '\n' || head + item > left)
			return -1;
		add_item(load, data + 1, item);
		at += head + item;
		left -= head + item;
	}
	return load->items_n > 0 ? 0 : -1;
}
