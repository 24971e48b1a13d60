/*
 * cidr: lists of IPv4 and IPv6 networks.
 *
 * Invariant: a network is stored in its own family, never v4-mapped, and has no bits set after
 * its prefix. Threads: any; a parsed list does not change.
 */
#include "core/base/cidr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

static unsigned width(int family)
{
	return family == AF_UNIX ? 0 : family == AF_INET ? 32 : 128;
}

/* Converts ::ffff:a.b.c.d/96+n to a.b.c.d/n. */
static void unmap(struct cidr *net)
{
	if (net->family != AF_INET6 || net->bits < 96 ||
		memcmp(net->address, mapped, sizeof(mapped)) != 0)
		return;
	net->family = AF_INET;
	net->bits -= 96;
	memmove(net->address, net->address + 12, 4);
	memset(net->address + 4, 0, 12);
}

/* True if the first bits are equal. */
static bool same_prefix(const uint8_t *a, const uint8_t *b, unsigned bits)
{
	unsigned bytes = bits / 8, rest = bits % 8;

	if (memcmp(a, b, bytes) != 0)
		return false;
	return rest == 0 || (a[bytes] ^ b[bytes]) >> (8 - rest) == 0;
}

static bool has_bits_behind(const struct cidr *net)
{
	for (unsigned bit = net->bits; bit < width(net->family); bit++)
		if (net->address[bit / 8] & (0x80 >> bit % 8))
			return true;
	return false;
}

/* Reads the part before the slash. False if it is not an address. */
static bool read_net_address(char *text, struct cidr *net)
{
	size_t len = strlen(text);
	bool bracketed = text[0] == '[';

	if (bracketed) {
		if (text[len - 1] != ']')
			return false;
		text[len - 1] = '\0';
		text++;
	}
	net->family = AF_INET6;
	if (inet_pton(AF_INET6, text, net->address) == 1)
		return true;
	net->family = AF_INET;
	return !bracketed && inet_pton(AF_INET, text, net->address) == 1;
}

/* Returns what is wrong with the item, or NULL. */
static const char *read_network(const char *item, struct cidr *net)
{
	_cleanup_free_ char *text = mem_strdup(item);
	char *slash = strchr(text, '/');
	int64_t bits;

	if (slash)
		*slash++ = '\0';
	if (!read_net_address(text, net))
		return "it is no IPv4 or IPv6 address or network";
	bits = width(net->family);
	if (slash && str_int(slash, 0, bits, &bits) < 0)
		return net->family == AF_INET ? "the prefix must be a number from 0 to 32"
					      : "the prefix must be a number from 0 to 128";
	net->bits = (unsigned)bits;
	if (has_bits_behind(net))
		return "the address has bits set behind the prefix";
	unmap(net);
	return NULL;
}

/* Reads `unix`, for peers on a Unix-domain socket, which have no address. */
static bool read_unix(const char *item, struct cidr *net)
{
	if (!str_eq(item, CIDR_UNIX))
		return false;
	*net = (struct cidr){.family = AF_UNIX};
	return true;
}

/* What a list may contain besides networks. */
enum list_kind { NETWORKS, PEERS, EXCEPTING };

static int parse_list(
	const char *text, enum list_kind kind, struct cidr_list *list_r, struct err *err)
{
	static const char separators[] = ", \t\r\n";
	struct cidr_list list = CIDR_LIST_INIT;

	for (;;) {
		struct cidr net = {.excepted = false};
		_cleanup_free_ char *item = NULL;
		const char *fault;
		size_t len;

		text += strspn(text, separators);
		len = strcspn(text, separators);
		if (len == 0)
			break;
		item = mem_dup(text, len);
		net.excepted = kind == EXCEPTING && *item == '!';
		fault = kind == PEERS && read_unix(item, &net)
				? NULL
				: read_network(item + net.excepted, &net);
		if (fault) {
			cidr_list_clear(&list);
			return err_set(err, ERR_CONFIG, "\"%s\": %s", item, fault);
		}
		list.items = mem_append(list.items, list.n, sizeof(net));
		list.items[list.n++] = net;
		text += len;
	}
	*list_r = list;
	return 0;
}

int cidr_list_parse(const char *text, struct cidr_list *list_r, struct err *err)
{
	return parse_list(text, NETWORKS, list_r, err);
}

int cidr_list_parse_peers(const char *text, struct cidr_list *list_r, struct err *err)
{
	return parse_list(text, PEERS, list_r, err);
}

int cidr_list_parse_excepting(const char *text, struct cidr_list *list_r, struct err *err)
{
	return parse_list(text, EXCEPTING, list_r, err);
}

/* Reads the peer's address as a network of one address. False for other families. */
static bool read_peer(const struct sockaddr *peer, struct cidr *net)
{
	if (peer == NULL)
		return false;
	net->family = peer->sa_family;
	if (peer->sa_family == AF_INET) {
		struct sockaddr_in in;

		memcpy(&in, peer, sizeof(in));
		memcpy(net->address, &in.sin_addr, sizeof(in.sin_addr));
	} else if (peer->sa_family == AF_INET6) {
		struct sockaddr_in6 in6;

		memcpy(&in6, peer, sizeof(in6));
		memcpy(net->address, &in6.sin6_addr, sizeof(in6.sin6_addr));
	} else {
		return false;
	}
	net->bits = width(net->family);
	unmap(net);
	return true;
}

static bool covers(const struct cidr *net, const struct cidr *one)
{
	return net->family == one->family && net->bits <= one->bits &&
	       same_prefix(net->address, one->address, net->bits);
}

static bool has(const struct cidr_list *list, const struct cidr *one)
{
	bool found = false;

	for (size_t i = 0; i < list->n; i++)
		if (covers(&list->items[i], one)) {
			if (list->items[i].excepted)
				return false;
			found = true;
		}
	return found;
}

bool cidr_list_names(const struct cidr_list *list, const struct cidr *net)
{
	for (size_t i = 0; i < list->n; i++)
		if (covers(&list->items[i], net))
			return true;
	return false;
}

bool cidr_list_has(const struct cidr_list *list, const struct sockaddr *peer)
{
	struct cidr one = {0};

	return read_peer(peer, &one) && has(list, &one);
}

bool cidr_list_has_text(const struct cidr_list *list, const char *address)
{
	struct cidr one = {0};

	if (str_empty(address) || strchr(address, '/') ||
		(!read_unix(address, &one) && read_network(address, &one) != NULL))
		return false;
	return has(list, &one);
}

bool cidr_address(const char *text, char text_r[static CIDR_TEXT_SIZE])
{
	struct cidr one = {0};

	if (str_empty(text) || strchr(text, '/') || read_network(text, &one) != NULL)
		return false;
	cidr_format(&one, text_r);
	return true;
}

bool cidr_client(const char *address, char text_r[static CIDR_TEXT_SIZE])
{
	struct cidr one = {0};

	if (str_empty(address) || strchr(address, '/') || read_network(address, &one) != NULL)
		return false;
	if (one.family == AF_INET && one.address[0] == 127) {
		memcpy(one.address, (const uint8_t[]){127, 0, 0, 1}, 4);
	} else if (one.family == AF_INET6) {
		one.bits = 64;
		memset(one.address + 8, 0, 8);
	}
	cidr_format(&one, text_r);
	return true;
}

void cidr_format(const struct cidr *net, char text[static CIDR_TEXT_SIZE])
{
	size_t len;

	inet_ntop(net->family, net->address, text, CIDR_TEXT_SIZE);
	len = strlen(text);
	if (net->bits < width(net->family))
		snprintf(text + len, CIDR_TEXT_SIZE - len, "/%u", net->bits);
}

bool cidr_is_loopback(const char *address)
{
	_cleanup_cidr_list_ struct cidr_list list = CIDR_LIST_INIT;

	return cidr_list_parse("127.0.0.0/8 ::1", &list, NULL) == 0 &&
	       cidr_list_has_text(&list, address);
}

void cidr_list_clear(struct cidr_list *list)
{
	free(list->items);
	*list = CIDR_LIST_INIT;
}
