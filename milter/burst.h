/*
 * burst: how libmilter reads, for a milter that is asked often.
 *
 * libmilter asks poll() before each of the two reads that a command takes, and
 * gives a connection that has nothing for a millisecond back to the thread that
 * watches all of them: some 180 system calls for an email. These functions
 * stand in place of the C library's in libmilter alone: the Makefile renames
 * what libmilter.a calls, and nothing else calls them. They read all that lies
 * in the socket at once and hand it out piece by piece, and a connection stays
 * with its thread for as long as the next command of a message may take.
 *
 * libmilter counts a thread as idle until it runs. Of two connections that are
 * ready at once, both can so be meant for one thread, and the second waits for
 * as long as the first keeps it. So connections are handed out one at a time:
 * none before a thread has begun with the one before.
 *
 * Threads: any. They fail as those that they stand for.
 */
#ifndef POSTERN_MILTER_BURST_H
#define POSTERN_MILTER_BURST_H

#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>

/* The connection is handed out: the next one waits until its thread polls. */
int burst_accept(int listener, struct sockaddr *address, socklen_t *len);

/* One descriptor: a thread waits for its connection. Several: libmilter watches
 * those that have no thread, and finds at most one of them ready. */
int burst_poll(struct pollfd *fds, nfds_t n, int timeout_ms);

ssize_t burst_read(int fd, void *to, size_t size);

int burst_close(int fd);

#endif
