/*
 * pg_wire: what goes to the server and what comes back: the pipeline of prepared commands, the
 * simple protocol, deadlines, and the meaning of the server's errors.
 *
 * Invariant: sent is the number of commands in the pipeline whose answers were not read.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/db/pg_private.h"

enum {
	/* Time for the server to give up by itself, within half of wait_ms. */
	GRACE_MIN_MS = 500,
	GRACE_MAX_MS = 1000,
};

static const char *const controls[PG_CONTROLS] = {
	[PG_BEGIN] = "BEGIN",
	/* Commits do not wait for the disk, see PG_SYNC. */
	[PG_LOCK] =
		"SELECT set_config('synchronous_commit', 'off', true),"
		" pg_advisory_xact_lock(8101115116101114)",
	[PG_SAVEPOINT] = "SAVEPOINT job",
	[PG_RELEASE] = "RELEASE SAVEPOINT job",
	[PG_UNDO] = "ROLLBACK TO SAVEPOINT job",
	[PG_COMMIT] = "COMMIT",
	/* A transaction by itself. A standby may lack what is on disk here. */
	[PG_SYNC] =
		"SELECT pg_logical_emit_message(true, 'postern', '')"
		" WHERE pg_current_wal_insert_lsn() > pg_current_wal_flush_lsn()"
		" OR current_setting('synchronous_standby_names') <> ''",
	[PG_ROLLBACK] = "ROLLBACK",
};

/* What an SQLSTATE, or a class of them, means; the first row that fits counts. */
static const struct {
	const char *state;
	enum err_code code;
} meanings[] = {
	{"23505", ERR_EXISTS},    /* unique */
	{"23503", ERR_NOT_FOUND}, /* reference */
	{"25006", ERR_TEMPORARY}, /* read only: a standby by now */
	{"55P03", ERR_TEMPORARY}, /* the lock was not to be had in time */
	{"57", ERR_TEMPORARY},    /* canceled, or the server stops */
	{"08", ERR_TEMPORARY},    /* the connection */
	{"40", ERR_TEMPORARY},    /* deadlock, serialization */
	{"53", ERR_TEMPORARY},    /* disk, memory, connections */
	{"58", ERR_TEMPORARY},    /* i/o */
	{"22021", ERR_INVALID},   /* no UTF-8, or a NUL */
	{"22P05", ERR_INVALID}, {"54", ERR_TOO_LARGE}, {"28", ERR_CONFIG}, /* credentials */
	{"3D", ERR_CONFIG},                                                /* no such database */
	{"3F", ERR_CONFIG},                                                /* no such schema */
	{"42501", ERR_CONFIG},
	{"42", ERR_CONFIG}, /* our statements are right: the tables are not */
};

static enum err_code meaning(const char *state)
{
	for (size_t i = 0; i < ARRAY_SIZE(meanings); i++)
		if (str_starts(state, meanings[i].state))
			return meanings[i].code;
	return ERR_INTERNAL;
}

static int result_error(struct pg_db *db, const PGresult *result, struct err *err)
{
	const char *state = pq.resultErrorField(result, PG_DIAG_SQLSTATE);
	const char *text = pq.resultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

	enum err_code code = state ? meaning(state) : ERR_TEMPORARY;

	db->base.repeatable = state && str_starts(state, "40");

	/* On a handle for reading it is our bug, not a standby. */
	if (state && str_eq(state, "25006") && db->mode == DB_READ)
		code = ERR_INTERNAL;
	if (state && str_eq(state, "55P03"))
		text = "another writer has the database locked";
	return err_set(err, code, "%s: %s (SQLSTATE %s)", db->base.path,
		text ? text : "the connection is lost", state ? state : "none");
}

/* Only the first line of libpq's text is kept. */
int pg_wire_error(struct pg_db *db, struct err *err)
{
	const char *text = pq.errorMessage(db->conn);

	return err_set(err, ERR_TEMPORARY, "%s: %.*s", db->base.path, (int)strcspn(text, "\n"),
		*text ? text : "the connection is lost");
}

void pg_wire_close(struct pg_db *db)
{
	pq.finish(db->conn);
	db->conn = NULL;
	db->sent = db->n_unsure = 0;
}

int pg_wire_wait(struct pg_db *db, short events, int64_t deadline_us)
{
	struct pollfd fd = {.fd = pq.socket(db->conn), .events = events};

	for (;;) {
		int64_t left_us = deadline_us - clock_monotonic_us();
		int n;

		if (deadline_us != 0 && left_us <= 0)
			return 0;
		n = poll(&fd, 1, deadline_us == 0 ? -1 : (int)(left_us / 1000) + 1);
		if (n > 0)
			return 1;
		if (n < 0 && errno != EINTR)
			return -1;
	}
}

bool pg_wire_is_alive(struct pg_db *db)
{
	struct pollfd fd = {.fd = pq.socket(db->conn), .events = POLLIN};

	while (poll(&fd, 1, 0) != 0)
		if (pq.consumeInput(db->conn) == 0 || pq.status(db->conn) != CONNECTION_OK)
			return false;
	return true;
}

int64_t pg_wire_grace_ms(const struct pg_db *db)
{
	return db->wait_ms / 2 < GRACE_MIN_MS   ? GRACE_MIN_MS
	       : db->wait_ms / 2 > GRACE_MAX_MS ? GRACE_MAX_MS
						: db->wait_ms / 2;
}

/* Reads one result, which has come; it is NULL after the results of a command. Returns 0, or -1 if
 * the server is lost. */
static int next_result(struct pg_db *db, PGresult **result_r, struct err *err)
{
	*result_r = pq.getResult(db->conn);
	if (pq.status(db->conn) != CONNECTION_BAD)
		return 0;
	/* A server that stops says why. */
	if (*result_r && pq.resultErrorField(*result_r, PG_DIAG_SQLSTATE))
		result_error(db, *result_r, err);
	else
		pg_wire_error(db, err);
	pq.clear(*result_r);
	if (err)
		err->code = ERR_TEMPORARY;
	return -1;
}

/* Sends what is waiting, and reads one result, once it has come. */
static int take_result(struct pg_db *db, int64_t deadline_us, PGresult **result_r, struct err *err)
{
	for (;;) {
		int unsent = pq.flush(db->conn), ready;

		if (unsent < 0)
			return pg_wire_error(db, err);
		if (unsent == 0 && !pq.isBusy(db->conn))
			return next_result(db, result_r, err);
		ready = pg_wire_wait(db, unsent ? POLLIN | POLLOUT : POLLIN, deadline_us);
		db->late = ready == 0;
		if (db->late)
			return err_set(err, ERR_TEMPORARY, "%s: no answer within %lld ms",
				db->base.path, (long long)(db->wait_ms + 2 * pg_wire_grace_ms(db)));
		if (ready < 0 || pq.consumeInput(db->conn) == 0)
			return pg_wire_error(db, err);
	}
}

static int64_t deadline_of(const struct pg_db *db)
{
	if (db->mode == DB_CREATE)
		return 0;
	return clock_monotonic_us() + (db->wait_ms + 2 * pg_wire_grace_ms(db)) * 1000;
}

int pg_wire_run(struct pg_db *db, const char *sql, int64_t *number_r, bool *lost_r, struct err *err)
{
	int64_t deadline_us = deadline_of(db);
	int result = 0;
	PGresult *taken;

	*lost_r = true;
	pq.exitPipelineMode(db->conn);
	if (pq.sendQuery(db->conn, sql) == 0)
		return pg_wire_error(db, err);
	for (;;) {
		if (take_result(db, deadline_us, &taken, err) != 0)
			return -1;
		if (taken == NULL)
			break;
		if (pq.resultStatus(taken) == PGRES_FATAL_ERROR && result == 0)
			result = result_error(db, taken, err);
		if (number_r && pq.ntuples(taken) > 0)
			*number_r = strtoll(pq.getvalue(taken, 0, 0), NULL, 10);
		pq.clear(taken);
	}
	*lost_r = false;
	pq.enterPipelineMode(db->conn);
	return result;
}

static void control_name(enum pg_control control, char name_r[static 16])
{
	snprintf(name_r, 16, "c%d", control);
}

bool pg_wire_send_control(struct pg_db *db, enum pg_control control)
{
	char name[16];

	control_name(control, name);
	db->sent++;
	return pq.sendQueryPrepared(db->conn, name, 0, NULL, NULL, NULL, 0) == 1;
}

/* The server skips all commands after one that failed, so after a failure any statement of the
 * pipeline may be unprepared. It is prepared again under a new name, since no name is used twice.
 */
static void note_prepared(struct pg_db *db, bool all)
{
	for (size_t i = 0; i < db->n_unsure; i++)
		if (!all)
			db->unsure[i]->age = 0;
	db->n_unsure = 0;
}

int pg_wire_ask(struct pg_db *db, struct pg_reading *reading, struct err *err)
{
	reading->at = 0;
	reading->empty = false;
	reading->failed = PG_NO_COMMAND;
	reading->why = ERR_INIT;
	return pq.pipelineSync(db->conn) == 0 ? pg_wire_error(db, err) : 0;
}

/* Takes note of one result, or of the NULL after those of a command. Returns 1 if it was the last
 * one, else 0, or -1 if the server is lost. */
static int note_result(
	struct pg_db *db, struct pg_reading *reading, PGresult *result, struct err *err)
{
	ExecStatusType status;
	size_t at = reading->at;

	if (result == NULL) {
		if (reading->empty) /* two in a row: there is nothing more */
			return pg_wire_error(db, err);
		reading->empty = true;
		reading->at++;
		return 0;
	}
	reading->empty = false;
	status = pq.resultStatus(result);
	if (status == PGRES_PIPELINE_SYNC) {
		pq.clear(result);
		db->sent = 0;
		note_prepared(db, reading->failed == PG_NO_COMMAND);
		return 1;
	}
	if (status == PGRES_FATAL_ERROR && reading->failed == PG_NO_COMMAND) {
		reading->failed = at;
		result_error(db, result, &reading->why);
	}
	if (at >= reading->first && at - reading->first < reading->n &&
		status != PGRES_FATAL_ERROR && reading->results[at - reading->first] == NULL)
		reading->results[at - reading->first] = result;
	else
		pq.clear(result);
	return 0;
}

int pg_wire_await(struct pg_db *db, struct pg_reading *reading, struct err *err)
{
	int64_t deadline_us = deadline_of(db);
	PGresult *result;
	int done = 0;

	while (done == 0) {
		if (take_result(db, deadline_us, &result, err) != 0)
			return -1;
		done = note_result(db, reading, result, err);
	}
	return done > 0 ? 0 : -1;
}

int pg_wire_receive(struct pg_db *db, struct pg_reading *reading, struct err *err)
{
	PGresult *result;
	int done = 0;

	if (pq.consumeInput(db->conn) == 0 || pq.flush(db->conn) < 0)
		return pg_wire_error(db, err);
	while (done == 0 && !pq.isBusy(db->conn)) {
		if (next_result(db, &result, err) != 0)
			return -1;
		done = note_result(db, reading, result, err);
	}
	return done;
}

int pg_wire_answers(struct pg_db *db, size_t wanted, struct pg_answers *answers_r, struct err *err)
{
	PGresult *result = NULL;
	struct pg_reading reading = {.results = &result, .first = wanted, .n = 1};

	if (pg_wire_ask(db, &reading, err) != 0 || pg_wire_await(db, &reading, err) != 0) {
		pq.clear(result);
		return -1;
	}
	*answers_r = (struct pg_answers){result, reading.failed, reading.why};
	return 0;
}

int pg_wire_prepare_controls(struct pg_db *db, struct err *err)
{
	struct pg_answers answers;

	for (int i = 0; i < PG_CONTROLS; i++) {
		char name[16];

		control_name((enum pg_control)i, name);
		if (pq.sendPrepare(db->conn, name, controls[i], 0, NULL) == 0)
			return pg_wire_error(db, err);
	}
	if (pg_wire_answers(db, PG_NO_COMMAND, &answers, err) != 0)
		return -1;
	return answers.failed == PG_NO_COMMAND ? 0 : err_copy(err, &answers.why);
}
