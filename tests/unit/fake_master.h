/*
 * fake_master: Postfix's master, as far as it can be seen from outside:
 * the file that it writes when it starts, and the socket of cleanup(8).
 */
#ifndef POSTERN_TESTS_FAKE_MASTER_H
#define POSTERN_TESTS_FAKE_MASTER_H

struct fake_master {
	char *queue; /* a folder of its own */
	char *pid, *file;
	char *public, *socket;
	int fd; /* listens on the socket; -1: stopped */
};

/* A queue; Postfix was never started on it. */
struct fake_master *fake_master_new(void);
void fake_master_free(struct fake_master *master);

/* What it leaves behind stays when it is stopped. */
void fake_master_start(struct fake_master *master);
void fake_master_stop(struct fake_master *master);

#endif
