/*
 * key_use: records when keys and sessions were last used, coarsely.
 *
 * Each one is written at most once in KEY_USE_INTERVAL_S, so that most requests
 * cost no write for it.
 */
#ifndef POSTERN_HTTPD_ADMISSION_KEY_USE_H
#define POSTERN_HTTPD_ADMISSION_KEY_USE_H

#include "core/store/company/store_key.h"
#include "core/store/user/store_session.h"

struct committer;
struct key_use;

enum { KEY_USE_INTERVAL_S = 60 };

struct key_use *key_use_new(struct committer *committer);
void key_use_free(struct key_use *use);

/* Note that the key, or the session, is being used now. */
void key_use_note(struct key_use *use, const struct key *key, int64_t now_us);
void key_use_note_session(struct key_use *use, const struct session *session, int64_t now_us);

#endif
