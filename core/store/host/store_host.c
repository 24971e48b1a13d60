/*
 * store_host: the rows of the table host_part.
 *
 * Threads: a handle, and a watch, is used by one thread at a time.
 */
#include "core/store/host/store_host.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/version.h"

static const struct row_field fields[] = {
	ROW_FIELD(host_part, host, ROW_TEXT),
	ROW_FIELD(host_part, part, ROW_TEXT),
	ROW_FIELD(host_part, version, ROW_TEXT),
	ROW_FIELD(host_part, first_us, ROW_TIME),
	ROW_FIELD(host_part, started_us, ROW_TIME),
	ROW_FIELD(host_part, seen_us, ROW_TIME),
	ROW_FIELD(host_part, beat, ROW_INT64),
	ROW_FIELD(host_part, taken, ROW_INT64),
	ROW_FIELD(host_part, read_us, ROW_TIME),
	ROW_FIELD(host_part, problem, ROW_TEXT),
};
static const struct row_type host_type = ROW_TYPE(host_part, fields);

int store_host_beat(struct db *db, const char *part, bool starts, const char *problem,
	int64_t read_us, int64_t now_us, int64_t *epoch_r, struct err *err)
{
	static const char sql_beat[] =
		"INSERT INTO host_part (host, part, version, first_us, started_us, seen_us, beat,"
		"   problem, read_us)"
		" VALUES ($this_host, $part, $version, $now, $now, $now, 1, $problem, $read)"
		" ON CONFLICT (host, part)"
		" DO UPDATE SET version = excluded.version, seen_us = excluded.seen_us,"
		"   beat = host_part.beat + 1, problem = excluded.problem,"
		"   read_us = iif($read > 0, excluded.read_us, host_part.read_us),"
		"   started_us = iif($starts <> 0, excluded.started_us, host_part.started_us)"
		" RETURNING first_us + taken";
	int64_t epoch = 0;

	if (row_number(db, sql_beat,
		    DB_PARAMS(DB_TEXT("$part", part), DB_TEXT("$version", POSTERN_VERSION),
			    DB_INT("$now", now_us), DB_TEXT("$problem", problem),
			    DB_INT("$read", read_us), DB_INT("$starts", starts)),
		    &epoch, err) < 0)
		return -1;
	if (epoch_r)
		*epoch_r = epoch;
	return 0;
}

int host_pulse(struct db *db, struct host_pulse *pulse, const char *part, const char *problem,
	struct err *err)
{
	int64_t now_us = clock_monotonic_us();

	if (*db_host(db) == '\0' || now_us < pulse->next_us)
		return 0;
	pulse->next_us = now_us + HOST_BEAT_S * SECOND_US;
	if (store_host_beat(db, part, !pulse->beats, problem, 0, clock_now_us(&clock_system), NULL,
		    err) < 0)
		return -1;
	pulse->beats = true;
	return 0;
}

int store_host_list(struct db *db, struct host_list *list_r, struct err *err)
{
	static const char sql_list[] =
		"SELECT host, part, version, first_us, started_us, seen_us, beat, taken, read_us,"
		" problem"
		" FROM host_part"
		" ORDER BY host, part";

	return row_list(db, ROW_LIST(.sql = sql_list, .type = &host_type, ROW_INTO(list_r)), err);
}

void store_host_list_free(struct host_list *list)
{
	row_list_free(&host_type, list->items, list->n);
	*list = (struct host_list){0};
}

int store_host_remove(struct db *db, const char *host, int64_t now_us, struct err *err)
{
	static const char sql_held[] = "DELETE FROM held WHERE host = $host";
	static const char sql_break[] =
		"UPDATE outbox_break"
		" SET closed_us = max($now, opened_us)"
		" WHERE closed_us = 0 AND host = $host";
	static const char sql_remove[] = "DELETE FROM host_part WHERE host = $host";
	const struct db_param *name = DB_PARAMS(DB_TEXT("$host", host));

	if (db_change(db, sql_held, name, err) < 0 ||
		db_change(db, sql_break, DB_PARAMS(DB_TEXT("$host", host), DB_INT("$now", now_us)),
			err) < 0)
		return -1;
	return db_change(db, sql_remove, name, err);
}

static struct host_seen *find_seen(const struct host_watch *watch, const char *host)
{
	for (size_t i = 0; i < watch->n; i++)
		if (str_eq(watch->items[i].host, host))
			return &watch->items[i];
	return NULL;
}

void host_watch_look(struct host_watch *watch, const char *part, const struct host_list *list)
{
	for (size_t i = 0; i < watch->n; i++)
		watch->items[i].is_there = false;
	for (size_t i = 0; i < list->n; i++) {
		const struct host_part *one = &list->items[i];
		struct host_seen *seen = find_seen(watch, one->host);

		if (!str_eq(one->part, part))
			continue;
		if (seen == NULL) {
			watch->items = mem_append(watch->items, watch->n, sizeof(*watch->items));
			seen = &watch->items[watch->n++];
			*seen = (struct host_seen){
				.host = mem_strdup(one->host), .beat = one->beat - 1};
		}
		seen->missed = seen->beat == one->beat ? seen->missed + 1 : 0;
		seen->beat = one->beat;
		seen->is_there = true;
	}
}

bool host_watch_is_lost(const struct host_watch *watch, const char *host, int64_t *beat_r)
{
	const struct host_seen *seen = find_seen(watch, host);
	bool known = seen && seen->is_there;

	if (known && seen->missed < HOST_MISSED_MAX)
		return false;
	*beat_r = known ? seen->beat : 0;
	return true;
}

void host_watch_clear(struct host_watch *watch)
{
	for (size_t i = 0; i < watch->n; i++)
		free(watch->items[i].host);
	free(watch->items);
	*watch = (struct host_watch){0};
}
