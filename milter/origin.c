/*
 * origin: where the mail of a connection comes from.
 *
 * Mail that enters by sendmail(1) has no client. Postfix presents it as coming
 * from the address 127.0.0.1 and the port 0, which no TCP client has. That is
 * the protocol itself, not a macro: no setting of main.cf changes it.
 *
 * Clients without an Internet address (a Unix-domain socket, an address that
 * Postfix could not learn) count as internal: the rules hold where nothing
 * says that mail comes from elsewhere.
 *
 * Threads: any; holds no state.
 */
#include "milter/origin.h"

#include <arpa/inet.h>
#include <assert.h>
#include <string.h>

#include "core/base/mem.h"

static const char *const names[] = {
	[ORIGIN_LOCAL] = "local",
	[ORIGIN_INTERNAL] = "internal",
	[ORIGIN_LOGIN] = "login",
	[ORIGIN_EXTERNAL] = "external",
};

static bool is_sendmail(const struct sockaddr *peer)
{
	struct sockaddr_in in;

	if (peer->sa_family != AF_INET)
		return false;
	memcpy(&in, peer, sizeof(in));
	return in.sin_port == 0 && in.sin_addr.s_addr == htonl(INADDR_LOOPBACK);
}

static bool is_internet(const struct sockaddr *peer)
{
	return peer->sa_family == AF_INET || peer->sa_family == AF_INET6;
}

enum mail_origin origin_of(
	const struct sockaddr *peer, const struct cidr_list *internal_hosts)
{
	if (peer == NULL || !is_internet(peer))
		return ORIGIN_INTERNAL;
	if (is_sendmail(peer))
		return ORIGIN_LOCAL;
	return cidr_list_has(internal_hosts, peer) ? ORIGIN_INTERNAL
						   : ORIGIN_EXTERNAL;
}

bool origin_client(
	const struct sockaddr *peer, char client[static ORIGIN_CLIENT_SIZE])
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	const void *address = &in.sin_addr;

	if (peer == NULL || !is_internet(peer) || is_sendmail(peer))
		return false;
	if (peer->sa_family == AF_INET) {
		memcpy(&in, peer, sizeof(in));
	} else {
		memcpy(&in6, peer, sizeof(in6));
		address = &in6.sin6_addr;
	}
	return inet_ntop(peer->sa_family, address, client, ORIGIN_CLIENT_SIZE);
}

const char *origin_name(enum mail_origin origin)
{
	assert(origin < ARRAY_SIZE(names));
	return names[origin];
}
