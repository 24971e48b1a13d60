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
	int family;          /* AF_INET, AF_INET6; AF_UNIX only in a list of peers */
	uint8_t address[16]; /* network byte order; AF_INET uses the first 4 bytes */
	unsigned bits;       /* prefix length */
	bool excepted;       /* an exception: its addresses are not in the list */
};

struct cidr_list {
	struct cidr *items;
	size_t n;
};

#define CIDR_LIST_INIT ((struct cidr_list){0})

/* Parses networks and single addresses, separated by blanks or commas: `127.0.0.0/8, [::1]/128
 * 10.1.2.3`. Brackets are optional. An empty text gives an empty list. A v4-mapped network
 * (::ffff:0:0/96 and below) is stored as IPv4. ERR_CONFIG names an invalid item, such as a
 * network with bits set after its prefix. The caller calls cidr_list_clear(). */
int cidr_list_parse(const char *text, struct cidr_list *list_r, struct err *err);

/* Stands for the address of clients on a Unix-domain socket. */
#define CIDR_UNIX "unix"

/* The same for the peers of a listener: `unix` stands for clients of its Unix-domain socket. */
int cidr_list_parse_peers(const char *text, struct cidr_list *list_r, struct err *err);

/* The same with exceptions: `10.0.0.0/8 !10.9.0.0/16`. Addresses in an exception are not in the
 * list, whatever the order. */
int cidr_list_parse_excepting(const char *text, struct cidr_list *list_r, struct err *err);

/* True if the peer's address is in the list. A v4-mapped address counts as IPv4. False for NULL
 * and other address families. */
bool cidr_list_has(const struct cidr_list *list, const struct sockaddr *peer);

/* The same for an address as text, `10.1.2.3` or `::1`, with or without brackets, or `unix`.
 * False for NULL and for other text. */
bool cidr_list_has_text(const struct cidr_list *list, const char *address);

/* True if one item of the list, which may be an exception, contains the whole network. */
bool cidr_list_names(const struct cidr_list *list, const struct cidr *net);

/* True if the text is a loopback address. */
bool cidr_is_loopback(const char *address);

/* Size of the longest text with prefix and NUL. */
enum { CIDR_TEXT_SIZE = 46 + 4 };

/* Writes the network by which the attempts of a client are counted: addresses that one client can
 * choose among count as one. These are an IPv6 /64 and 127.0.0.0/8; a v4-mapped address counts as
 * IPv4. False if the text is not an address. */
bool cidr_client(const char *address, char text_r[static CIDR_TEXT_SIZE]);

/* Writes the network in the form of RFC 5952, with its prefix unless it is a single address:
 * `10.0.0.0/8`, `2001:db8::1`. Equal networks give equal texts. */
void cidr_format(const struct cidr *net, char text[static CIDR_TEXT_SIZE]);

/* Parses one address, with or without brackets, and writes it in that form. False if it is
 * none. */
bool cidr_address(const char *text, char text_r[static CIDR_TEXT_SIZE]);

void cidr_list_clear(struct cidr_list *list);
#define _cleanup_cidr_list_ __attribute__((cleanup(cidr_list_clear)))

#endif
