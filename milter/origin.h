/*
 * origin: where the mail of a connection comes from.
 */
#ifndef POSTERN_MILTER_ORIGIN_H
#define POSTERN_MILTER_ORIGIN_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "core/base/cidr.h"
#include "core/policy/verdict.h"

/* The origin of mail whose client has no login. peer is what the milter
 * protocol tells of the client, NULL when it has no Internet address. */
enum mail_origin origin_of(
	const struct sockaddr *peer, const struct cidr_list *internal_hosts);

enum { ORIGIN_CLIENT_SIZE = INET6_ADDRSTRLEN };

/* The address of the client as text; false when there is none, as for
 * sendmail(1). */
bool origin_client(
	const struct sockaddr *peer, char client[static ORIGIN_CLIENT_SIZE]);

/* A word for logs. */
const char *origin_name(enum mail_origin origin);

#endif
