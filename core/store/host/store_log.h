/*
 * store_log: how far Postfix's log was read, and what is missing of it.
 */
#ifndef POSTERN_STORE_STORE_LOG_H
#define POSTERN_STORE_STORE_LOG_H

#include "core/db/db.h"

/* Reads the position up to which the log of a source was read; the caller frees it. Returns 1, 0 if
 * there is none, -1 on error. _set belongs in the transaction that stores what was read; end:
 * nothing is left to read. */
int store_log_cursor(struct db *db, const char *source, char **position_r, struct err *err);
int store_log_cursor_set(struct db *db, const char *source, const char *position, int64_t now_us,
	bool end, struct err *err);

enum {
	/* the end of the log is noted this often, even when nothing was read */
	STORE_LOG_END_S = 30,
	STORE_LOG_OLD_S = 120, /* after that the state is out of date */
};

/* The progress of reading the log. */
struct log_state {
	int64_t read_us; /* when the position was last stored; 0: never */
	/* When the end of the log was last reached; 0: never. The store's knowledge is as old as
	 * that. */
	int64_t end_us;
	int64_t gaps; /* not repaired yet */
	/* Since when the log is read but does not mention messages that Postfix has accepted; 0: it
	 * does. */
	int64_t mute_us;
};
/* Reads the state of the log of a host; NULL or "": this one. Returns 0 or -1. */
int store_log_state(struct db *db, const char *host, struct log_state *state_r, struct err *err);
/* True if the store's knowledge of recipients is up to date, within STORE_LOG_OLD_S. */
bool log_state_is_current(const struct log_state *state, int64_t now_us);
/* Finds an email that Postfix has had since between from_us and to_us and that the log has never
 * mentioned, among the newest unfinished ones and those that the queue listing found gone. Returns
 * 1 and since when Postfix has it, 0 if there is none, -1 on error. */
int store_log_silence(
	struct db *db, int64_t from_us, int64_t to_us, int64_t *since_us_r, struct err *err);

/* Records that lines may be missing from from_us to to_us. An open gap of the same kind is
 * extended. Returns 0 or -1. */
int store_gap_add(struct db *db, const char *source, const char *why, int64_t from_us,
	int64_t to_us, struct err *err);
/* Closes all open gaps after a comparison with the queue. Returns how many, or -1. */
int store_gap_repaired(struct db *db, int64_t now_us, struct err *err);

#endif
