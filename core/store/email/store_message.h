/*
 * store_message: the messages of emails, as submitted to Postfix.
 *
 * Only this file knows where a message is stored: a small one in its row, a large one in a file
 * beside the database, so that no commit takes long. The file is complete and synced before its row
 * is committed, and removed after the row. So a crash can leave a file without a row, which
 * store_message_sweep() removes.
 *
 * In a database that several hosts share (db_host()), the chunks of a large message take the place
 * of its file: rows that are committed before the row, a few at a time, and swept in the same way.
 */
#ifndef POSTERN_STORE_STORE_MESSAGE_H
#define POSTERN_STORE_STORE_MESSAGE_H

#include <sys/statvfs.h>

#include "core/base/buf.h"
#include "core/base/id.h"
#include "core/base/secret.h"
#include "core/db/committer.h"
#include "core/db/db.h"
#include "core/store/email/store_email.h"

/* A larger message goes into a file. SQLite writes a BLOB of this size, and checkpoints it from the
 * WAL, in 0.2 ms; a file costs a sync of its own. */
enum { MESSAGE_FILE_BYTES = 32 * 1024 };

/* Call before the commit, on any thread: writes and syncs the file of a message, if it needs one.
 * database is the path of the database. Returns 0 or -1, ERR_TEMPORARY if the disk is full. */
int store_message_write(
	const char *database, const char *id, const struct buf *message, struct err *err);
/* The same for a database that several hosts share: commits the chunks of a message, if it needs
 * any, one at a time. Not on the committer's thread. A caller without a committer leaves them to
 * store_message_keep(). Returns 0 or -1. */
int store_message_write_chunks(
	struct committer *committer, const char *id, const struct buf *message, struct err *err);
/* Removes the file of a message that will not be added after all, or whose row has been removed. It
 * may be missing. */
void store_message_discard(const char *database, const char *id);

/* Adds the row of the email's message, in the transaction that added the email and set its seq.
 * Returns 0 or -1. */
int store_message_keep(
	struct db *db, const struct email *email, const struct buf *message, struct err *err);

/* Starts the time of retention.messages for the message of an email that was never in the outbox.
 * In the transaction that added it. Returns 0 or -1. */
int store_message_left(struct db *db, int64_t email, int64_t size, int64_t now_us, struct err *err);

/* Calls statvfs(3) for the folder of the files, or for the one in which it will be made. */
int store_message_volume(const char *database, struct statvfs *volume_r);

/* Reads the length of a message. Returns 1, 0 if there is none, -1 on error. */
int store_message_size(struct db *db, const char *id, int64_t *size_r, struct err *err);

/* Reads the message. Returns 1; 0 if there is none, or its file is missing or truncated; -1 on
 * error. */
int store_message_read(struct db *db, const char *database, const char *id, struct buf *message_r,
	struct err *err);

/* Removes the message of the email with this seq because the email or its content is purged. Its
 * file goes at once, or, with database NULL, in the next sweep. Returns 0 or -1. */
int store_message_erase(struct db *db, const char *database, int64_t email, struct err *err);

/* A position in the order in which emails left the outbox: time, then seq. */
struct message_left {
	int64_t us, email;
};
/* Removes the messages, with their files, of emails up to this position, up to max of them. Returns
 * how many, or -1. */
int store_message_clean(struct db *db, const char *database, const struct message_left *last,
	int max, struct err *err);

/* Finds where the kept messages, counted from the newest, exceed max_bytes: a walk in steps, zeroed
 * at first except max_bytes. Purged messages do not count. */
struct message_bound {
	int64_t max_bytes;
	int64_t bytes;            /* counted so far */
	struct message_left last; /* the last one counted */
	bool too_many; /* at the end of the walk: `last` and everything older exceed max_bytes */
};
/* Counts up to `rows` messages. Returns 1 if there are more, 0 at the end, -1 on error. */
int store_message_bound(struct db *db, struct message_bound *bound, int rows, struct err *err);

/* Record, and read, the last removal of messages for the size limit. left_us is when the newest of
 * them had left the outbox. _last_cut returns 1, 0 if there was none, -1 on error. */
struct message_cut {
	int64_t cut_us;
	int64_t left_us;
};
int store_message_cut(struct db *db, const struct message_cut *cut, struct err *err);
int store_message_last_cut(struct db *db, struct message_cut *cut_r, struct err *err);

/* Removes chunks without a row that are from min_age_s to a day old. db is for reading. Returns how
 * many, or -1. */
int store_message_sweep_chunks(struct db *db, struct committer *committer, int64_t min_age_s,
	int64_t now_us, struct err *err);

/* Copies the messages in files beside the database at this path, whose rows were copied into `to`
 * (db_copy), into chunks, one message in a transaction; and removes the chunks of messages that
 * have no row any more. *missing_r is the number of messages whose files are missing or truncated.
 * Returns the number of copied ones, or -1. */
int64_t store_message_import(
	struct db *to, const char *database, int64_t *missing_r, struct err *err);

/* Reads the key by which links to attachments are signed, and makes it if there is none. In the
 * caller's transaction. Returns 0 or -1. */
int store_message_link_key(struct db *db, uint8_t key_r[static SECRET_HASH_LEN], struct err *err);

/* Removes files without a row that existed before the call and are older than min_age_s. Returns
 * how many, or -1. */
int store_message_sweep(struct db *db, const char *database, int64_t min_age_s, struct err *err);

#endif
