/*
 * dns_view: finds the name in HELO and the addresses from which this host sends mail.
 */
#include "core/ops/dns_view.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/cidr.h"
#include "core/conf/conf.h"
#include "core/postfix/postconf.h"

/* A public address. Nothing is sent to it: connecting a datagram socket only looks up the route. */
#define ELSEWHERE "198.41.0.4"

/* Adds this host's address on the route to it, unless that is private: behind NAT, others see
 * another address. */
static void add_own_address(struct strv *addresses)
{
	static const char hidden[] =
		"127.0.0.0/8 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 "
		"100.64.0.0/10 169.254.0.0/16";
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(53)};
	_cleanup_cidr_list_ struct cidr_list list = CIDR_LIST_INIT;
	socklen_t len = sizeof(address);
	char text[INET_ADDRSTRLEN];
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	inet_pton(AF_INET, ELSEWHERE, &address.sin_addr);
	if (connect(fd, (struct sockaddr *)&address, len) == 0 &&
		getsockname(fd, (struct sockaddr *)&address, &len) == 0 &&
		inet_ntop(AF_INET, &address.sin_addr, text, sizeof(text)) &&
		cidr_list_parse(hidden, &list, NULL) == 0 && !cidr_list_has_text(&list, text))
		strv_add(addresses, text);
	close(fd);
}

/* Only single addresses: in a network it is unknown which one sends. */
static void add_addresses(struct strv *addresses, const char *text)
{
	bool excepted = false;
	char *item;

	while ((item = postconf_item(&text, &excepted)) != NULL) {
		char address[CIDR_TEXT_SIZE];

		if (cidr_address(item, address))
			strv_add(addresses, address);
		free(item);
	}
}

struct dns *dns_view_resolver(const struct conf *conf)
{
	_cleanup_free_ char *server = mem_strdup(conf->dns.server);
	char *port = strrchr(server, ':');

	if (port)
		*port = '@';
	return dns_new(server);
}

void dns_view_open(const struct conf *conf, struct dns_view *view_r)
{
	static const char *const names[] = {
		"smtp_helo_name", "smtp_bind_address", "smtp_bind_address6"};
	char *values[ARRAY_SIZE(names)] = {NULL};

	*view_r = (struct dns_view){0};
	add_addresses(&view_r->addresses, conf->dns.addresses);
	if (postconf_read(
		    conf->submission.postfix_config, names, ARRAY_SIZE(names), values, NULL) == 0) {
		if (view_r->addresses.n == 0) {
			add_addresses(&view_r->addresses, values[1]);
			add_addresses(&view_r->addresses, values[2]);
		}
		view_r->helo = TAKE_PTR(values[0]);
	}
	if (view_r->addresses.n == 0)
		add_own_address(&view_r->addresses);
	if (view_r->helo == NULL)
		view_r->helo = mem_strdup("localhost");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		free(values[i]);
	view_r->host = (struct dns_host){view_r->helo, &view_r->addresses};
}

struct dns_view *dns_view_new(const struct conf *conf)
{
	struct dns_view *view = mem_new(struct dns_view);

	dns_view_open(conf, view);
	return view;
}

void dns_view_free(struct dns_view *view)
{
	if (view)
		dns_view_close(view);
	free(view);
}

void dns_view_close(struct dns_view *view)
{
	free(view->helo);
	strv_free(&view->addresses);
}
