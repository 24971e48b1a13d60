/*
 * server: the listening sockets, the workers, and what they share.
 */
#ifndef POSTERN_HTTPD_SERVER_H
#define POSTERN_HTTPD_SERVER_H

#include "core/base/err.h"

struct conf;
struct log;
struct server;

/* Opens the database, binds the addresses and starts the workers.
 * server_reload() reads conf_path again. The caller owns conf, which must
 * outlive the server; the server updates it on reload. */
int server_start(const char *conf_path, struct conf *conf, struct log *log,
	struct server **server_r, struct err *err);

/* Reads the settings again. On an error, which is logged, the old ones stay in use. */
void server_reload(struct server *server);

/* Does the periodic work of the main thread. Returns after how many
 * milliseconds to call it again. */
int server_round(struct server *server);

/* Finishes the requests under way, stops the workers and frees the server. */
void server_stop(struct server *server);

#endif
