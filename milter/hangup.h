/*
 * hangup: tells libmilter that nobody says anything any more.
 *
 * libmilter has no call that tells when it has written an answer. But it serves
 * each connection in order: what it owes is written before it reads on, and
 * when it reads the end, it calls the close callback. So the end is made here,
 * on our side and of the reading direction alone: what was received before is
 * still read, and what is to be written gets through.
 */
#ifndef POSTERN_MILTER_HANGUP_H
#define POSTERN_MILTER_HANGUP_H

/* Ends the reading direction of all connections that this process has accepted
 * on the Unix-domain socket of this path, whether or not the path still leads
 * to it; the listening socket stays as it is. */
void hangup_all(const char *path);

#endif
