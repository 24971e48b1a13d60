/*
 * server: the listening socket, the workers, and the committer they share.
 */
#ifndef POSTERN_HTTPD_SERVER_H
#define POSTERN_HTTPD_SERVER_H

#include "core/base/err.h"

struct conf;
struct log;
struct server;

/* Opens the database, binds the address and starts the workers. conf_path is
 * read again by server_reload(); conf stays the caller's, lives as long as the
 * server, and is kept up to date. */
int server_start(const char *conf_path, struct conf *conf, struct log *log,
	struct server **server_r, struct err *err);

/* Reads the settings again. On an error the old ones stay. */
int server_reload(struct server *server, struct err *err);

/* What is to be done now and then: after how many milliseconds again. */
int server_round(struct server *server);

/* Finishes what has begun, ends the workers and frees the server. */
void server_stop(struct server *server);

#endif
