/*
 * fake_master: Postfix's master, as far as it can be seen from outside: the
 * process of the test, with master's name and the lock on its file.
 */
#ifndef POSTERN_TESTS_FAKE_MASTER_H
#define POSTERN_TESTS_FAKE_MASTER_H

struct fake_master {
	char queue[40]; /* a folder of its own */
	char *pid, *file;
	int fd;
};

/* A queue; nobody has the lock yet. */
struct fake_master *fake_master_new(void);
void fake_master_free(struct fake_master *master);

void fake_master_start(struct fake_master *master);
void fake_master_stop(struct fake_master *master);

#endif
