/*
 * pg_stmt: prepared statements. A statement is prepared at the server when it is first sent on a
 * connection, and again when its parameters have other types.
 *
 * A statement is sent again on a new connection only if it cannot have taken effect: it reads
 * outside of a transaction, or it is the first of one. A statement that is a transaction by itself
 * is sent again after a deadlock or another conflict, since programs other than ours may take
 * locks in another order; longer transactions are repeated by the committer, which knows what was
 * in them.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/db/pg_private.h"

enum {
	POSTED_MAX = 1000, /* statements whose answers were not read */
	CONFLICT_TRIES = 5,
};

/* Types of pg_type. */
enum { TYPE_UNKNOWN = 0, TYPE_BOOL = 16, TYPE_BYTEA = 17, TYPE_INT8 = 20, TYPE_TEXT = 25 };

int pg_stmt_prepare(struct db *base, const char *sql, struct db_stmt **stmt_r, struct err *err)
{
	struct pg_stmt *stmt = mem_new(struct pg_stmt);

	(void)base;
	(void)err;
	stmt->text = pg_sql_translate(sql, &stmt->names);
	stmt->params = mem_alloc(stmt->names.n + 1, sizeof(*stmt->params));
	stmt->types = mem_alloc(stmt->names.n + 1, sizeof(*stmt->types));
	stmt->values = mem_alloc(stmt->names.n + 1, sizeof(*stmt->values));
	stmt->lengths = mem_alloc(stmt->names.n + 1, sizeof(*stmt->lengths));
	stmt->formats = mem_alloc(stmt->names.n + 1, sizeof(*stmt->formats));
	stmt->reads = !pg_sql_has_word(sql, "INSERT") && !pg_sql_has_word(sql, "UPDATE") &&
		      !pg_sql_has_word(sql, "DELETE") && !pg_sql_has_word(sql, "CREATE");
	*stmt_r = &stmt->base;
	return 0;
}

static void forget_bytes(struct pg_stmt *stmt)
{
	for (int i = 0; stmt->bytes && i < pq.nfields(stmt->result); i++) {
		pq.freemem(stmt->bytes[i]);
		stmt->bytes[i] = NULL;
	}
}

static void drop_result(struct pg_stmt *stmt)
{
	forget_bytes(stmt);
	free(stmt->bytes);
	stmt->bytes = NULL;
	pq.clear(stmt->result);
	stmt->result = NULL;
}

void pg_stmt_reset(struct db_stmt *base)
{
	struct pg_stmt *stmt = pg_stmt_of(base);

	if (!stmt->used)
		return;
	stmt->used = stmt->too_large = false;
	drop_result(stmt);
	for (size_t i = 0; i < stmt->names.n; i++)
		stmt->params[i] = (struct pg_param){.type = TYPE_UNKNOWN};
}

/* The server keeps the prepared statement until the connection ends. */
void pg_stmt_finalize(struct db_stmt *base)
{
	struct pg_stmt *stmt = pg_stmt_of(base);

	if (stmt->rows)
		pg_stmt_finalize(&stmt->rows->base);
	drop_result(stmt);
	pq.clear(stmt->shape);
	strv_free(&stmt->names);
	free(stmt->params);
	free(stmt->types);
	free(stmt->values);
	free(stmt->lengths);
	free(stmt->formats);
	free(stmt->text);
	free(stmt);
}

int pg_stmt_param_index(struct db_stmt *base, const char *name)
{
	const struct strv *names = &pg_stmt_of(base)->names;

	for (size_t i = 0; i < names->n; i++)
		if (str_eq(names->items[i], name))
			return (int)i + 1;
	return 0;
}

const char *pg_stmt_param_name(struct db_stmt *base, int index)
{
	const struct strv *names = &pg_stmt_of(base)->names;

	return (size_t)index <= names->n ? names->items[index - 1] : NULL;
}

void pg_stmt_bind(struct db_stmt *base, int index, const struct db_param *value)
{
	struct pg_stmt *stmt = pg_stmt_of(base);
	struct pg_param *param = &stmt->params[index - 1];

	stmt->used = true;
	assert(index > 0 && (size_t)index <= stmt->names.n);
	switch (value->kind) {
	case DB_PARAM_TEXT:
	case DB_PARAM_GIVEN_TEXT:
		*param = (struct pg_param){.type = TYPE_TEXT, .value = value->text};
		break;
	case DB_PARAM_INT:
		*param = (struct pg_param){.type = TYPE_INT8, .value = param->number};
		snprintf(param->number, sizeof(param->number), "%lld", (long long)value->number);
		break;
	case DB_PARAM_BLOB:
		*param = (struct pg_param){.type = TYPE_BYTEA,
			.value = value->data,
			.len = (int)value->len,
			.binary = true};
		stmt->too_large |= value->len > PG_VALUE_MAX;
		break;
	}
}

/* True if it is prepared on this connection with the types of its parameters. A parameter that is
 * not bound keeps its last type, or the one that the server infers. */
static bool is_prepared(struct pg_stmt *stmt, const struct pg_db *db)
{
	bool same = stmt->age == db->age;

	for (size_t i = 0; i < stmt->names.n; i++) {
		Oid type = stmt->params[i].type;

		if (type == TYPE_UNKNOWN || type == stmt->types[i])
			continue;
		stmt->types[i] = type;
		same = false;
	}
	return same;
}

static void name_of(const struct pg_stmt *stmt, char name_r[static 16])
{
	snprintf(name_r, 16, "s%u", stmt->name);
}

static bool send_prepare(struct pg_db *db, struct pg_stmt *stmt)
{
	char name[16];

	stmt->name = ++db->names;
	stmt->age = db->age;
	db->unsure = mem_append(db->unsure, db->n_unsure, sizeof(struct pg_stmt *));
	db->unsure[db->n_unsure++] = stmt;
	name_of(stmt, name);
	db->sent++;
	return pq.sendPrepare(db->conn, name, stmt->text, (int)stmt->names.n, stmt->types) == 1;
}

/* Sends the statement, after its preparation if it is not prepared. */
static bool send_stmt(struct pg_db *db, struct pg_stmt *stmt)
{
	size_t n = stmt->names.n;
	char name[16];

	if (!is_prepared(stmt, db) && !send_prepare(db, stmt))
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct pg_param *param = &stmt->params[i];

		stmt->values[i] = param->value;
		stmt->lengths[i] = param->len;
		stmt->formats[i] = param->binary;
	}
	name_of(stmt, name);
	db->sent++;
	return pq.sendQueryPrepared(
		       db->conn, name, (int)n, stmt->values, stmt->lengths, stmt->formats, 0) == 1;
}

enum outcome { DONE, FAILED, LOST };

/* Sends the queue and the statement in one pipeline, and reads the answers. A statement that writes
 * outside of a transaction is a transaction of its own, with the lock. */
static enum outcome try_stmt(struct pg_db *db, struct pg_stmt *stmt, struct err *err)
{
	bool alone = !db->in_transaction && !stmt->reads;
	struct pg_answers answers;
	size_t first, wanted, at;
	bool sent;

	sent = pg_transaction_send_queue(db) &&
	       (!alone ||
		       (pg_wire_send_control(db, PG_BEGIN) && pg_wire_send_control(db, PG_LOCK)));
	first = db->sent;
	sent = sent && send_stmt(db, stmt);
	wanted = db->sent - 1;
	sent = sent && (!alone || pg_transaction_send_commit(db, false, &at));
	if (!sent) {
		pg_wire_error(db, err);
		return LOST;
	}
	if (pg_wire_answers(db, wanted, &answers, err) != 0)
		return LOST;
	db->queued = 0;
	db->touched = db->in_transaction;
	if (answers.failed == PG_NO_COMMAND) {
		stmt->result = answers.result;
		return DONE;
	}
	pq.clear(answers.result);
	err_copy(err, &answers.why);
	if (!db->in_transaction)
		pg_transaction_end_at_server(db);
	else if (answers.failed < first)
		pg_transaction_abandon(db, &answers.why);
	else
		db->failed = answers.why;
	return FAILED;
}

static void count_changes(struct pg_db *db, struct pg_stmt *stmt)
{
	if (!stmt->reads)
		db->changes = strtoll(pq.cmdTuples(stmt->result), NULL, 10);
}

/* Checks that the statement can be sent, and connects if necessary. Returns 0 or -1. */
static int require_ready(struct pg_db *db, const struct pg_stmt *stmt, struct err *err)
{
	if (db->failed.code != ERR_NONE)
		return err_copy(err, &db->failed);
	if (stmt->too_large)
		return err_set(err, ERR_TOO_LARGE, "%s: a value has more than %d bytes",
			db->base.path, PG_VALUE_MAX);
	if (db->ahead_only)
		return db->conn ? 0 : -1;
	return pg_connect_if_needed(db, err);
}

/* Reads ahead */

/* Returns the values of the parameters, in a form that differs whenever one of them does. */
static char *values_of(const struct pg_stmt *stmt, size_t *len_r)
{
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < stmt->names.n; i++) {
		const struct pg_param *param = &stmt->params[i];
		size_t len = param->binary  ? (size_t)param->len
			     : param->value ? strlen(param->value)
					    : 0;

		buf_add(&text, (const char *)&param->type, sizeof(param->type));
		buf_add_char(&text, param->value ? 1 : 0);
		buf_add(&text, (const char *)&len, sizeof(len));
		buf_add(&text, param->value ? param->value : "", len);
	}
	*len_r = text.len;
	return buf_take(&text);
}

/* Frees the results that were read. */
static void end_reading(struct pg_reading *reading)
{
	for (size_t i = 0; i < reading->n; i++)
		pq.clear(reading->results[i]);
	free(reading->results);
	*reading = (struct pg_reading){.n = 0};
}

void pg_stmt_drop_ahead(struct pg_db *db)
{
	end_reading(&db->reading);
	for (size_t i = 0; i < db->n_ahead; i++) {
		pq.clear(db->ahead[i].result);
		free(db->ahead[i].params);
	}
	db->n_ahead = 0;
	db->ahead_answered = false;
}

void pg_stmt_read_ahead(struct db_stmt *base)
{
	struct pg_db *db = pg_db_of(base->db);
	struct pg_stmt *stmt = pg_stmt_of(base);
	struct pg_ahead ahead = {.stmt = stmt};

	assert(stmt->reads && !db->ahead_answered);
	if ((db->n_ahead > 0 && db->conn == NULL) ||
		(db->n_ahead == 0 && require_ready(db, stmt, NULL) != 0)) {
		pg_stmt_reset(base);
		return;
	}
	ahead.params = values_of(stmt, &ahead.len);
	db->touched = db->in_transaction;
	if (pg_transaction_send_queue(db) && send_stmt(db, stmt)) {
		db->queued = 0;
		ahead.at = db->sent - 1;
		db->ahead = mem_append(db->ahead, db->n_ahead, sizeof(*db->ahead));
		db->ahead[db->n_ahead++] = ahead;
	} else {
		struct err why = ERR_INIT;

		free(ahead.params);
		pg_stmt_drop_ahead(db);
		pg_wire_error(db, &why);
		pg_transaction_lose(db, &why);
	}
	pg_stmt_reset(base);
}

/* Asks for the answers to all that was announced. Returns 0, or -1 if the server is lost. */
static int ask_ahead(struct pg_db *db, struct pg_reading *reading, struct err *err)
{
	*reading = (struct pg_reading){
		.results = mem_alloc(db->sent, sizeof(*reading->results)), .n = db->sent};
	return pg_wire_ask(db, reading, err);
}

/* Keeps the answers, if no statement has failed. Without them each statement asks for itself. */
static void keep_answers(struct pg_db *db, struct pg_reading *reading, bool lost)
{
	db->ahead_answered = true;
	for (size_t i = 0; i < db->n_ahead && !lost && reading->failed == PG_NO_COMMAND; i++)
		db->ahead[i].result = TAKE_PTR(reading->results[db->ahead[i].at]);
	end_reading(reading);
}

/* A transaction in which a statement has failed is over, also if it was a posted one. */
static void answer_ahead(struct pg_db *db)
{
	struct pg_reading reading;
	struct err err = ERR_INIT;
	bool lost = ask_ahead(db, &reading, &err) != 0 || pg_wire_await(db, &reading, &err) != 0;

	if (lost)
		pg_transaction_lose(db, &err);
	else if (db->in_transaction && reading.failed != PG_NO_COMMAND)
		pg_transaction_abandon(db, &reading.why);
	keep_answers(db, &reading, lost);
}

void pg_stmt_set_ahead_only(struct db *base)
{
	pg_db_of(base)->ahead_only = true;
}

int pg_stmt_ahead_send(struct db *base, struct err *err)
{
	struct pg_db *db = pg_db_of(base);

	assert(db->ahead_only && !db->ahead_answered && db->reading.n == 0);
	if (db->conn == NULL || db->n_ahead == 0)
		return err_set(err, ERR_TEMPORARY, "%s: the connection is lost", db->base.path);
	/* Nobody would go on with what the socket does not take at once, a few kilobytes. */
	if (ask_ahead(db, &db->reading, err) != 0 || pq.flush(db->conn) != 0)
		return pg_wire_error(db, err);
	return 0;
}

int pg_stmt_ahead_receive(struct db *base, struct err *err)
{
	struct pg_db *db = pg_db_of(base);
	int done;

	/* A server that stops says so, and closes the connection. */
	if (db->reading.n == 0)
		return pg_wire_is_alive(db) ? 0 : pg_wire_error(db, err);
	done = pg_wire_receive(db, &db->reading, err);
	if (done != 0)
		keep_answers(db, &db->reading, done < 0);
	return done;
}

int pg_stmt_ahead_socket(const struct db *base)
{
	const struct pg_db *db = pg_db_of(base);

	return db->conn ? pq.socket(db->conn) : -1;
}

/* Gives the statement its rows, if they were read ahead. Returns true if they were. */
static bool take_ahead(struct pg_db *db, struct pg_stmt *stmt)
{
	_cleanup_free_ char *params = NULL;
	size_t len;

	if (db->n_ahead == 0)
		return false;
	if (!db->ahead_answered)
		answer_ahead(db);
	for (size_t i = 0; i < db->n_ahead; i++) {
		struct pg_ahead *ahead = &db->ahead[i];

		if (ahead->stmt != stmt || ahead->result == NULL)
			continue;
		if (params == NULL)
			params = values_of(stmt, &len);
		if (ahead->len != len || memcmp(ahead->params, params, len) != 0)
			continue;
		stmt->result = TAKE_PTR(ahead->result);
		return true;
	}
	return false;
}

void pg_stmt_end_ahead(struct db *base)
{
	struct pg_db *db = pg_db_of(base);

	/* What nobody has asked for is still in the pipeline. */
	assert(!db->ahead_only || db->ahead_answered);
	if (db->n_ahead > 0 && !db->ahead_answered)
		answer_ahead(db);
	pg_stmt_drop_ahead(db);
}

static int execute(struct pg_db *db, struct pg_stmt *stmt, struct err *err)
{
	struct err why = ERR_INIT;
	bool inside = db->in_transaction;
	/* If the connection is lost, the statement cannot have taken effect. */
	bool again = inside ? !db->touched : stmt->reads;
	enum outcome outcome;

	if (take_ahead(db, stmt))
		return 0;
	if (db->ahead_only)
		return err_set(err, ERR_TEMPORARY, "%s: the statement has to ask for itself",
			db->base.path);
	if (require_ready(db, stmt, err) != 0)
		return -1;
	outcome = try_stmt(db, stmt, &why);
	for (int tries = 1;
		outcome == FAILED && !inside && db->base.repeatable && tries < CONFLICT_TRIES;
		tries++) {
		why = ERR_INIT;
		outcome = try_stmt(db, stmt, &why);
	}
	if (outcome == LOST) {
		pg_transaction_lose(db, &why);
		if (again && !db->late && pg_connect_if_needed(db, err) == 0) {
			why = ERR_INIT;
			outcome = try_stmt(db, stmt, &why);
			if (outcome == LOST)
				pg_transaction_lose(db, &why);
		}
	}
	if (outcome == DONE) {
		count_changes(db, stmt);
		return 0;
	}
	return err_copy(err, &why);
}

int pg_stmt_step(struct db_stmt *base, struct err *err)
{
	struct pg_stmt *stmt = pg_stmt_of(base);

	stmt->used = true;
	if (stmt->result == NULL) {
		if (execute(pg_db_of(base->db), stmt, err) != 0) {
			pg_stmt_reset(base);
			return -1;
		}
		stmt->row = -1;
	}
	forget_bytes(stmt);
	if (++stmt->row < pq.ntuples(stmt->result))
		return 1;
	pg_stmt_reset(base);
	return 0;
}

const void *pg_stmt_blob(struct db_stmt *base, int column, size_t *len_r)
{
	struct pg_stmt *stmt = pg_stmt_of(base);
	const char *value = pq.getvalue(stmt->result, stmt->row, column);

	*len_r = 0;
	if (pq.getisnull(stmt->result, stmt->row, column))
		return NULL;
	if (pq.ftype(stmt->result, column) != TYPE_BYTEA) {
		*len_r = (size_t)pq.getlength(stmt->result, stmt->row, column);
		return value;
	}
	if (stmt->bytes == NULL)
		stmt->bytes = mem_alloc((size_t)pq.nfields(stmt->result), sizeof(*stmt->bytes));
	pq.freemem(stmt->bytes[column]);
	stmt->bytes[column] = pq.unescapeBytea((const unsigned char *)value, len_r);
	return stmt->bytes[column];
}

const char *pg_stmt_text(struct db_stmt *base, int column)
{
	struct pg_stmt *stmt = pg_stmt_of(base);
	size_t len;

	if (pq.getisnull(stmt->result, stmt->row, column))
		return NULL;
	switch (pq.ftype(stmt->result, column)) {
	case TYPE_BYTEA:
		return pg_stmt_blob(base, column, &len);
	case TYPE_BOOL:
		return *pq.getvalue(stmt->result, stmt->row, column) == 't' ? "1" : "0";
	default:
		return pq.getvalue(stmt->result, stmt->row, column);
	}
}

int64_t pg_stmt_integer(struct db_stmt *base, int column)
{
	const char *text = pg_stmt_text(base, column);

	return text ? strtoll(text, NULL, 10) : 0;
}

int pg_stmt_post(struct db_stmt *base, struct err *err)
{
	struct pg_db *db = pg_db_of(base->db);
	struct pg_stmt *stmt = pg_stmt_of(base);
	struct err why = ERR_INIT;

	if (!db->in_transaction)
		return pg_stmt_step(base, err);
	if (require_ready(db, stmt, err) != 0 ||
		(db->sent >= POSTED_MAX && pg_transaction_flush(db, err) != 0)) {
		pg_stmt_reset(base);
		return -1;
	}
	db->touched = true;
	if (!pg_transaction_send_queue(db) || !send_stmt(db, stmt))
		pg_wire_error(db, &why);
	db->queued = 0;
	pg_stmt_reset(base);
	if (why.code == ERR_NONE)
		return 0;
	pg_transaction_lose(db, &why);
	return err_copy(err, &why);
}

/* Returns a result with the columns of the statement; before it has run, asks the server for them.
 * NULL on error. */
static const PGresult *shape_of(struct db_stmt *base)
{
	struct pg_stmt *stmt = pg_stmt_of(base);
	struct pg_db *db = pg_db_of(base->db);
	struct pg_answers answers;
	struct err why = ERR_INIT;
	char name[16];
	bool sent;

	if (stmt->result || stmt->shape)
		return stmt->result ? stmt->result : stmt->shape;
	if (db->n_ahead > 0 && !db->ahead_answered)
		answer_ahead(db);
	if (db->failed.code != ERR_NONE || pg_connect_if_needed(db, NULL) != 0)
		return NULL;
	is_prepared(stmt, db);
	sent = pg_transaction_send_queue(db) && send_prepare(db, stmt);
	name_of(stmt, name);
	sent = sent && pq.sendDescribePrepared(db->conn, name) == 1;
	db->sent++;
	if (!sent || pg_wire_answers(db, db->sent - 1, &answers, &why) != 0) {
		if (!sent)
			pg_wire_error(db, &why);
		pg_transaction_lose(db, &why);
		return NULL;
	}
	db->queued = 0;
	db->touched = db->in_transaction;
	stmt->shape = answers.result;
	if (answers.failed != PG_NO_COMMAND && db->in_transaction)
		pg_transaction_abandon(db, &answers.why);
	return stmt->shape;
}

int pg_stmt_columns(struct db_stmt *stmt)
{
	return pq.nfields(shape_of(stmt));
}

const char *pg_stmt_column_name(struct db_stmt *stmt, int column)
{
	return pq.fname(shape_of(stmt), column);
}
