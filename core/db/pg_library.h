/*
 * pg_library: libpq, loaded when the first URL of a database is read. With the libraries that it
 * needs, it takes more CPU time to load than the rest of a program, and 5 MB of resident memory. A
 * host with a database file does not need it.
 *
 * The functions of libpq are called as pq.connectPoll() for PQconnectPoll().
 *
 * Threads: pg_library_load() may be called by any. The table does not change once it was filled.
 */
#ifndef POSTERN_DB_PG_LIBRARY_H
#define POSTERN_DB_PG_LIBRARY_H

#include <libpq-fe.h>

#include "core/base/err.h"

/* clang-format off */
#define PG_LIBRARY_FUNCTIONS(F) \
	F(clear) \
	F(cmdStatus) \
	F(cmdTuples) \
	F(connectPoll) \
	F(connectStartParams) \
	F(conninfoFree) \
	F(conninfoParse) \
	F(consumeInput) \
	F(enterPipelineMode) \
	F(errorMessage) \
	F(exitPipelineMode) \
	F(finish) \
	F(flush) \
	F(fname) \
	F(freemem) \
	F(ftype) \
	F(getResult) \
	F(getisnull) \
	F(getlength) \
	F(getvalue) \
	F(isBusy) \
	F(nfields) \
	F(ntuples) \
	F(parameterStatus) \
	F(pipelineSync) \
	F(resultErrorField) \
	F(resultStatus) \
	F(sendDescribePrepared) \
	F(sendPrepare) \
	F(sendQuery) \
	F(sendQueryPrepared) \
	F(serverVersion) \
	F(setNoticeProcessor) \
	F(setnonblocking) \
	F(socket) \
	F(status) \
	F(transactionStatus) \
	F(unescapeBytea)
/* clang-format on */

struct pg_library {
#define PG_LIBRARY_MEMBER(name_) __typeof__(&PQ##name_) name_;
	PG_LIBRARY_FUNCTIONS(PG_LIBRARY_MEMBER)
#undef PG_LIBRARY_MEMBER
};

extern struct pg_library pq;

/* Loads libpq, once. Returns 0 or, if it is not installed, -1 with ERR_CONFIG. */
int pg_library_load(struct err *err);

#endif
