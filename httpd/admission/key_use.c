/*
 * key_use: has the committer write the use of a key or session when the stored
 * time is old.
 *
 * Nothing waits for the result. If the write fails, the next use tries again.
 * Several workers may each write the same key.
 *
 * Threads: the worker's; touch_done() frees the job on the committer's.
 */
#include "httpd/admission/key_use.h"

#include <stdlib.h>
#include <string.h>

#include "core/db/committer.h"

/* The uses last submitted. A small ring keeps a busy key from being written
 * again before its row shows the new time. */
enum { RECENT = 16 };

struct key_use {
	struct committer *committer;
	struct {
		char id[ID_SIZE];
		int64_t at_us;
	} recent[RECENT];
	size_t next;
};

struct touch {
	struct commit_job job;
	int (*store)(struct db *db, const char *id, int64_t now_us, struct err *err);
	char id[ID_SIZE];
	int64_t at_us;
};

struct key_use *key_use_new(struct committer *committer)
{
	struct key_use *use = mem_new(struct key_use);

	use->committer = committer;
	return use;
}

void key_use_free(struct key_use *use)
{
	free(use);
}

static int touch_run(struct db *db, void *arg, struct err *err)
{
	const struct touch *touch = arg;

	return touch->store(db, touch->id, touch->at_us, err) < 0 ? -1 : 0;
}

static void touch_done(void *arg, int result, const struct err *err)
{
	(void)result;
	(void)err;
	free(arg);
}

static bool is_fresh(int64_t then_us, int64_t now_us)
{
	return now_us - then_us < (int64_t)KEY_USE_INTERVAL_S * 1000000;
}

static bool is_recent(const struct key_use *use, const char *id, int64_t now_us)
{
	for (size_t i = 0; i < RECENT; i++)
		if (strcmp(use->recent[i].id, id) == 0 && is_fresh(use->recent[i].at_us, now_us))
			return true;
	return false;
}

static void note_use(struct key_use *use, const char *id, int64_t last_used_us, int64_t now_us,
	int (*store)(struct db *db, const char *id, int64_t now_us, struct err *err))
{
	struct touch *touch;

	if (is_fresh(last_used_us, now_us) || is_recent(use, id, now_us))
		return;
	memcpy(use->recent[use->next].id, id, ID_SIZE);
	use->recent[use->next].at_us = now_us;
	use->next = (use->next + 1) % RECENT;

	touch = mem_new(struct touch);
	touch->store = store;
	memcpy(touch->id, id, ID_SIZE);
	touch->at_us = now_us;
	touch->job.run = touch_run;
	touch->job.done = touch_done;
	touch->job.arg = touch;
	touch->job.lazy = true;
	committer_submit(use->committer, &touch->job);
}

void key_use_note(struct key_use *use, const struct key *key, int64_t now_us)
{
	note_use(use, key->id, key->last_used_us, now_us, store_key_touch);
}

void key_use_note_session(struct key_use *use, const struct session *session, int64_t now_us)
{
	note_use(use, session->id, session->last_used_us, now_us, store_session_touch);
}
