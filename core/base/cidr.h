/*
 * cidr: lists of IPv4 and IPv6 networks (RFC 4632, RFC 4291).
 */
#ifndef POSTERN_BASE_CIDR_H
#define POSTERN_BASE_CIDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "core/base/err.h"

struct cidr {
	int family;          /* AF_INET, AF_INET6; of a list of peers AF_UNIX */
	uint8_t address[16]; /* network order; 4 of them for AF_INET */
	unsigned bits;       /* length of the prefix */
	bool excepted;       /* what is in it is not in the list */
};

struct cidr_list {
	struct cidr *items;
	size_t n;
};

#define CIDR_LIST_INIT ((struct cidr_list){0})

/* Reads networks and single addresses, separated by blanks or commas:
 * `127.0.0.0/8, [::1]/128 10.1.2.3`. The brackets may be missing. No text is
 * an empty list. A v4-mapped network (::ffff:0:0/96 and below) is taken as the
 * IPv4 one. ERR_CONFIG names the item that is wrong, a network with bits set
 * behind its prefix too. The caller clears the list. */
int cidr_list_parse(const char *text, struct cidr_list *list_r, struct err *err);

/* How clients of a Unix-domain socket are called, where others have an address. */
#define CIDR_UNIX "unix"

/* The same for who may connect to a listener: the word `unix` among them stands
 * for whoever connects to a Unix-domain socket. */
int cidr_list_parse_peers(const char *text, struct cidr_list *list_r, struct err *err);

/* The same with exceptions: `10.0.0.0/8 !10.9.0.0/16`. What is in one of them is
 * not in the list, in whatever order they come. */
int cidr_list_parse_excepting(const char *text, struct cidr_list *list_r, struct err *err);

/* Whether the peer's address is in a network of the list; a v4-mapped one
 * counts as IPv4. No for NULL and for what is neither IPv4 nor IPv6. */
bool cidr_list_has(const struct cidr_list *list, const struct sockaddr *peer);

/* The same for an address as text, `10.1.2.3` or `::1`, with brackets or not,
 * or for the word `unix`; no for NULL and for what is no address. */
bool cidr_list_has_text(const struct cidr_list *list, const char *address);

/* Whether one item of the list, an exception too, has all of the network. */
bool cidr_list_names(const struct cidr_list *list, const struct cidr *net);

/* Whether it is an address by which a host speaks to itself. */
bool cidr_is_loopback(const char *address);

/* Room for the longest, with its prefix and the NUL. */
enum { CIDR_TEXT_SIZE = 46 + 4 };

/* Writes the network as RFC 5952 wants addresses, with its prefix unless it is
 * one address: `10.0.0.0/8`, `2001:db8::1`. Equal networks give equal texts. */
void cidr_format(const struct cidr *net, char text[static CIDR_TEXT_SIZE]);

/* Reads one address, with brackets or not, and writes it so: whether it is one. */
bool cidr_address(const char *text, char text_r[static CIDR_TEXT_SIZE]);

void cidr_list_clear(struct cidr_list *list);
#define _cleanup_cidr_list_ __attribute__((cleanup(cidr_list_clear)))

#endif
