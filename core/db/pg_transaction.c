/*
 * pg_transaction: transactions, and what happens to them when the server is lost.
 *
 * Transactions that write take turns, as they do in SQLite, by an advisory lock that the server
 * releases with the transaction. So rows become visible in the order of their numbers, what was
 * read stays true until it is written, and two transactions cannot deadlock. Readers wait for
 * nobody.
 *
 * A durable commit is an asynchronous one, which releases the lock without waiting for the disk,
 * followed in the same pipeline by a transaction that writes nothing but waits until the WAL is
 * durable: on disk, and at standbys as the server's synchronous_commit demands. So the next writer
 * works while this one waits, as in SQLite.
 *
 * A failed statement fails its whole transaction, up to the savepoint if that is undone. Whoever
 * can continue after an error sets a savepoint first. If a posted statement fails, or BEGIN or the
 * lock, savepoints do not help: the transaction is rolled back as soon as that is known.
 */
#include <assert.h>

#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/db/pg_private.h"

enum { PAUSE_LATE_US = 1000000 };

bool pg_transaction_send_queue(struct pg_db *db)
{
	for (size_t i = 0; i < db->queued; i++)
		if (!pg_wire_send_control(db, db->queue[i]))
			return false;
	return true;
}

static void end_transaction(struct pg_db *db)
{
	db->in_transaction = db->touched = db->base.lost = false;
	db->failed = ERR_INIT;
	db->queued = 0;
}

void pg_transaction_end_at_server(struct pg_db *db)
{
	struct pg_answers answers;

	if (db->conn && db->sent > 0 && pg_wire_answers(db, PG_NO_COMMAND, &answers, NULL) != 0)
		pg_wire_close(db);
	if (db->conn && pq.transactionStatus(db->conn) != PQTRANS_IDLE &&
		(!pg_wire_send_control(db, PG_ROLLBACK) ||
			pg_wire_answers(db, PG_NO_COMMAND, &answers, NULL) != 0 ||
			answers.failed != PG_NO_COMMAND))
		pg_wire_close(db);
}

void pg_transaction_abandon(struct pg_db *db, const struct err *why)
{
	pg_transaction_end_at_server(db);
	end_transaction(db);
	db->base.lost = true;
	db->failed = *why;
}

void pg_transaction_lose(struct pg_db *db, const struct err *why)
{
	bool known = db->touched;

	pg_wire_close(db);
	/* The reader may be an event loop, which must not wait for a connection now, too. */
	if (db->late && db->mode == DB_READ) {
		db->away = *why;
		db->retry_us = clock_monotonic_us() + PAUSE_LATE_US;
	}
	if (!known)
		return;
	db->base.repeatable = !db->late;
	pg_transaction_abandon(db, why);
}

int pg_transaction_flush(struct pg_db *db, struct err *err)
{
	struct pg_answers answers = {.why = ERR_INIT};

	if (db->queued == 0 && db->sent == 0)
		return 0;
	db->touched = db->in_transaction;
	if (!pg_transaction_send_queue(db)) {
		pg_wire_error(db, &answers.why);
		pg_transaction_lose(db, &answers.why);
		return err_copy(err, &answers.why);
	}
	db->queued = 0;
	if (pg_wire_answers(db, PG_NO_COMMAND, &answers, &answers.why) != 0)
		pg_transaction_lose(db, &answers.why);
	else if (answers.failed == PG_NO_COMMAND)
		return 0;
	else
		pg_transaction_abandon(db, &answers.why);
	return err_copy(err, &answers.why);
}

static int enqueue(struct pg_db *db, enum pg_control control, struct err *err)
{
	if (db->queued == PG_QUEUE_MAX &&
		(pg_connect_if_needed(db, err) != 0 || pg_transaction_flush(db, err) != 0))
		return -1;
	db->queue[db->queued++] = control;
	return 0;
}

static bool is_last(const struct pg_db *db, enum pg_control control)
{
	return db->queued > 0 && db->queue[db->queued - 1] == control;
}

/* Queues BEGIN and the lock; they go with the first statement. */
static int begin(struct pg_db *db, struct err *err)
{
	assert(db->n_ahead == 0);
	db->base.repeatable = false;
	end_transaction(db);
	if (pg_connect_if_needed(db, err) != 0)
		return -1;
	db->queue[db->queued++] = PG_BEGIN;
	if (db->mode != DB_READ)
		db->queue[db->queued++] = PG_LOCK;
	db->in_transaction = true;
	return 0;
}

bool pg_transaction_send_commit(struct pg_db *db, bool lazy, size_t *at_r)
{
	bool reads = db->mode == DB_READ;

	if (!pg_wire_send_control(db, PG_COMMIT))
		return false;
	*at_r = db->sent - 1;
	return reads || lazy || pg_wire_send_control(db, PG_SYNC);
}

/* Returns 0, or -1 if the answers say that there was no commit, or that it may not be durable. */
static int commit_result(
	struct pg_db *db, const struct pg_answers *answers, size_t at, struct err *err)
{
	if (answers->failed <= at)
		return err_copy(err, &answers->why);
	/* COMMIT of a failed transaction is a rollback, without an error. */
	if (!str_eq(pq.cmdStatus(answers->result), "COMMIT"))
		return err_set(err, ERR_INTERNAL, "%s: the transaction had failed", db->base.path);
	if (answers->failed == PG_NO_COMMAND)
		return 0;
	db->base.unsynced = true;
	return err_set(
		err, ERR_TEMPORARY, "committed, but perhaps not durably: %s", answers->why.text);
}

static int commit(struct pg_db *db, bool lazy, struct err *err)
{
	int64_t began_us = clock_monotonic_us();
	struct err why = ERR_INIT;
	struct pg_answers answers;
	size_t at = 0;
	int result;

	if (db->failed.code != ERR_NONE)
		return err_copy(err, &db->failed);
	if (!db->touched) { /* nothing was done in it */
		end_transaction(db);
		return 0;
	}
	if (!pg_transaction_send_queue(db) || !pg_transaction_send_commit(db, lazy, &at))
		result = pg_wire_error(db, &why);
	else
		result = pg_wire_answers(db, at, &answers, &why);
	if (result != 0) { /* without an answer, it may be committed */
		pg_wire_close(db);
		db->base.unsynced = true;
		db->base.repeatable = false;
		err_set(err, ERR_TEMPORARY, "no answer to COMMIT, it may have come to be: %s",
			why.text);
	} else {
		result = commit_result(db, &answers, at, err);
		pq.clear(answers.result);
		pg_transaction_end_at_server(db);
	}
	end_transaction(db);
	if (!lazy) {
		db->base.counts.syncs++;
		db->base.counts.sync_us += clock_monotonic_us() - began_us;
	}
	return result;
}

int pg_transaction_control(struct db *base, enum db_control what, struct err *err)
{
	struct pg_db *db = pg_db_of(base);

	switch (what) {
	case DB_BEGIN:
		return begin(db, err);
	case DB_COMMIT:
	case DB_COMMIT_LAZY:
		return commit(db, what == DB_COMMIT_LAZY, err);
	case DB_ROLLBACK:
		if (db->touched)
			pg_transaction_end_at_server(db);
		end_transaction(db);
		return 0;
	case DB_SAVEPOINT:
		if (db->failed.code != ERR_NONE)
			return err_copy(err, &db->failed);
		return enqueue(db, PG_SAVEPOINT, err);
	case DB_RELEASE:
		if (db->failed.code != ERR_NONE)
			return err_copy(err, &db->failed);
		if (!is_last(db, PG_SAVEPOINT))
			return enqueue(db, PG_RELEASE, err);
		db->queued--;
		return 0;
	case DB_UNDO:
		if (is_last(db, PG_SAVEPOINT)) {
			db->queued--;
			return 0;
		}
		db->failed = ERR_INIT;
		return enqueue(db, PG_UNDO, err) == 0 ? enqueue(db, PG_RELEASE, err) : -1;
	}
	return -1;
}
