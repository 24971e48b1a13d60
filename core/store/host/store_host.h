/*
 * store_host: the hosts that share the database, by the heartbeats of their programs.
 *
 * Each daemon of a host writes a heartbeat every HOST_BEAT_S. A heartbeat is a number that grows,
 * so that nobody has to compare the clocks of two hosts: whoever wants to know if a host is lost
 * looks at the same interval, and counts the looks in which the number has not changed
 * (host_watch). While the database is away, nobody looks, and nobody is lost for it.
 *
 * Where only one host uses the database, db_host() is "", and there are no heartbeats.
 */
#ifndef POSTERN_STORE_STORE_HOST_H
#define POSTERN_STORE_STORE_HOST_H

#include <stdbool.h>

#include "core/db/db.h"
#include "core/store/row.h"

enum {
	HOST_BEAT_S = 3,
	/* Looks without a new heartbeat after which a program is lost. */
	HOST_MISSED_MAX = 6,
	/* For people: a heartbeat that is older by the clock is late. */
	HOST_LATE_S = 15,
};

struct host_part {
	char *host;
	char *part; /* httpd, milter, events, webhook */
	char *version;
	int64_t first_us;
	int64_t started_us;
	int64_t seen_us;
	int64_t beat;
	int64_t taken; /* how often others have taken over its outbox */
	/* Set for httpd: the time up to which the log of the host is read; 0: not known. */
	int64_t read_us;
	char *problem; /* in words; "" for none */
};
struct host_list {
	struct host_part *items;
	size_t n;
};

/* Writes a heartbeat of a program of this host. starts: it is the first one of the process.
 * read_us is that of struct host_part; 0 leaves it as it is.
 * *epoch_r, which may be NULL, is another number after other hosts have taken over its outbox, or
 * an admin has removed the host. In a transaction of the caller, or of its own. Returns 0 or -1. */
int store_host_beat(struct db *db, const char *part, bool starts, const char *problem,
	int64_t read_us, int64_t now_us, int64_t *epoch_r, struct err *err);

/* For a daemon that calls it often: writes a heartbeat when one is due. Zeroed at first. */
struct host_pulse {
	bool beats;      /* since the start of the process */
	int64_t next_us; /* monotonic */
};
int host_pulse(struct db *db, struct host_pulse *pulse, const char *part, const char *problem,
	struct err *err);

/* Lists all programs of all hosts, by name. Returns 0 or -1. */
int store_host_list(struct db *db, struct host_list *list_r, struct err *err);
void store_host_list_free(struct host_list *list);

/* Forgets a host, the messages in its hold queue and that its Postfix is away. What is in its
 * outbox is taken over by others. Its place in the log stays, in case that it comes back. Returns
 * the number of its programs, or -1. */
int store_host_remove(struct db *db, const char *host, int64_t now_us, struct err *err);

/* What a program has seen of the same program of other hosts. Zeroed at first. */
struct host_watch {
	struct host_seen *items;
	size_t n;
};
struct host_seen {
	char *host;
	int64_t beat;
	unsigned missed; /* looks without a change */
	bool is_there;
};
/* Takes in what the store has now; parts of another name are ignored. */
void host_watch_look(struct host_watch *watch, const char *part, const struct host_list *list);
/* The host if it is lost, with its last heartbeat; NULL if it is alive, or was not watched for long
 * enough. A host that is not in the list is lost (with beat 0). */
bool host_watch_is_lost(const struct host_watch *watch, const char *host, int64_t *beat_r);
void host_watch_clear(struct host_watch *watch);

#endif
