/*
 * protocol: the filter's side of the milter protocol, version 6, with the functions of libmilter
 * that the filter uses, as libmilter/mfapi.h declares them.
 *
 * libmilter itself reads each command with five system calls and passes a connection from thread
 * to thread, about a hundred system calls for an email. Postfix writes all commands of a message
 * in two or three pieces. This file reads each piece at once, on the thread of the connection,
 * and writes the changes and the answer in one piece.
 */
#ifndef POSTERN_MILTER_PROTOCOL_H
#define POSTERN_MILTER_PROTOCOL_H

/* Serves one connection with the registered callbacks until it ends, and closes it. Blocks. */
void protocol_serve(int fd);

#endif
