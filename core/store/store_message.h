/*
 * store_message: the messages of emails, as they go to Postfix.
 *
 * Where a message lies is known here alone: a small one in its row, a large one in
 * a file beside the database, so that no commit is long. The file is complete and
 * durable before the commit that adds its row, and is removed after the row:
 * what a crash leaves behind is a file without a row, which
 * store_message_sweep() removes.
 */
#ifndef POSTERN_STORE_STORE_MESSAGE_H
#define POSTERN_STORE_STORE_MESSAGE_H

#include "core/base/buf.h"
#include "core/base/id.h"
#include "core/db/db.h"

/* A message of more bytes is a file. SQLite writes a BLOB of that size, and copies
 * it from its log, in 0.2 ms; a file costs a sync of its own. */
enum { MESSAGE_FILE_BYTES = 32 * 1024 };

/* Before the commit, on any thread: writes the file of a message that is to have
 * one, and syncs it. database is the path of the database. ERR_TEMPORARY when the
 * disk is full. */
int store_message_write(
	const char *database, const char *id, const struct buf *message, struct err *err);
/* The message will not be added after all, or its row has gone. No file is fine. */
void store_message_discard(const char *database, const char *id);

/* Adds the row of the email's message. In the transaction that stages the email. */
int store_message_keep(struct db *db, const char *id, const struct buf *message, struct err *err);

/* The message of an email that never was in the outbox stays for retention.messages from now
 * on. In the transaction that has added it. 0 or -1. */
int store_message_left(struct db *db, const char *id, int64_t now_us, struct err *err);

/* Its length: 1, 0 when there is none, -1. */
int store_message_size(struct db *db, const char *id, int64_t *size_r, struct err *err);

/* 1 and the message; 0 when there is none, or its file is missing or cut; -1. */
int store_message_read(struct db *db, const char *database, const char *id, struct buf *message_r,
	struct err *err);

/* The email with this seq is forgotten, or what it said: its message goes, and its file at
 * once; with database NULL with the next sweep. 0 or -1. */
int store_message_erase(struct db *db, const char *database, int64_t email, struct err *err);

/* An email that has left the outbox, in the order of that; of one instant they have that of
 * their seq. */
struct message_left {
	int64_t us, email;
};
/* Removes the messages of emails up to that one, so many at most, and their files at once: how
 * many, or -1. */
int store_message_clean(struct db *db, const char *database, const struct message_left *last,
	int max, struct err *err);

/* Where those that are kept are more than so many bytes, the newest counted first: a walk in
 * steps, which starts zeroed but for max_bytes. What purging has removed counts until its time
 * is over. */
struct message_bound {
	int64_t max_bytes;
	int64_t bytes;            /* of those that were looked at */
	struct message_left last; /* of them */
	bool too_many;            /* at its end: that one and what had left before it */
};
/* Looks at so many: 1 when there are more, 0 at the end, -1. */
int store_message_bound(struct db *db, struct message_bound *bound, int rows, struct err *err);

/* Messages were removed for that; left_us: when the newest of them had left the outbox. And
 * when that was the last time: 1, 0 never, -1. */
struct message_cut {
	int64_t cut_us;
	int64_t left_us;
};
int store_message_cut(struct db *db, const struct message_cut *cut, struct err *err);
int store_message_last_cut(struct db *db, struct message_cut *cut_r, struct err *err);

/* Removes the files of emails that have no message, of those that were there
 * before the call and are older than min_age_s: how many, or -1. */
int store_message_sweep(struct db *db, const char *database, int64_t min_age_s, struct err *err);

#endif
