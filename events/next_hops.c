/*
 * next_hops: tells who takes over mail from this Postfix.
 *
 * A filter that an access table names (FILTER) is in no setting. It counts as a program or a
 * server of this host, like any server that listens here.
 */
#include "events/next_hops.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/base/strv.h"
#include "core/postfix/postconf.h"

/* A value of content_filter: `transport:destination`. */
struct filter {
	char *transport;
	char *host; /* "" for none; or the path of a socket */
	char *port; /* "" for none */
};

struct next_hops {
	char *config_dir;
	char *instance;
	char *instances; /* the instance, and the names of services with their own syslog_name */
	struct stat files[2];
	struct err why;   /* the last failure to read the settings */
	int64_t retry_us; /* monotonic: time of the next try; 0: no failure */
	struct filter *filters;
	size_t n;
	struct strv addresses; /* of this host */
};

/* postconf(1) may take ten seconds to fail. */
enum { RETRY_US = 60 * 1000 * 1000 };

static const char *const file_names[] = {"main.cf", "master.cf"};

struct next_hops *next_hops_new(const char *config_dir, const char *instance)
{
	struct next_hops *next_hops = mem_new(struct next_hops);

	next_hops->config_dir = mem_strdup(str_empty(config_dir) ? "/etc/postfix" : config_dir);
	next_hops->instance = mem_strdup(instance);
	next_hops->instances = mem_strdup(instance);
	return next_hops;
}

static void clear_filters(struct next_hops *next_hops)
{
	for (size_t i = 0; i < next_hops->n; i++) {
		free(next_hops->filters[i].transport);
		free(next_hops->filters[i].host);
		free(next_hops->filters[i].port);
	}
	free(next_hops->filters);
	next_hops->filters = NULL;
	next_hops->n = 0;
}

void next_hops_free(struct next_hops *next_hops)
{
	if (next_hops == NULL)
		return;
	clear_filters(next_hops);
	strv_free(&next_hops->addresses);
	free(next_hops->instances);
	free(next_hops->instance);
	free(next_hops->config_dir);
	free(next_hops);
}

/* For example `smtp-amavis:[127.0.0.1]:10024`, `lmtp:unix:/run/filter`, `filter:dummy`. */
static void add_filter(struct next_hops *next_hops, const char *text)
{
	const char *host = strchr(text, ':'), *close, *port;
	struct filter filter;

	if (host == NULL)
		return;
	filter.transport = mem_dup(text, (size_t)(host - text));
	host++;
	if (str_starts(host, "unix:") || str_starts(host, "inet:"))
		host += 5;
	close = *host == '[' ? strchr(host, ']') : NULL;
	port = strrchr(close ? close : host, ':');
	if (close)
		filter.host = mem_dup(host + 1, (size_t)(close - host - 1));
	else
		filter.host = mem_dup(host, port ? (size_t)(port - host) : strlen(host));
	filter.port = mem_strdup(port ? port + 1 : "");
	next_hops->filters = mem_append(
		next_hops->filters, next_hops->n, sizeof(*next_hops->filters));
	next_hops->filters[next_hops->n++] = filter;
}

void next_hops_set_filters(struct next_hops *next_hops, const char *filters)
{
	_cleanup_strv_ struct strv all = STRV_INIT;

	clear_filters(next_hops);
	strv_split(&all, filters, ' ');
	for (size_t i = 0; i < all.n; i++)
		add_filter(next_hops, all.items[i]);
}

static void read_addresses(struct next_hops *next_hops)
{
	struct ifaddrs *all = NULL;

	strv_free(&next_hops->addresses);
	if (getifaddrs(&all) < 0)
		return;
	for (const struct ifaddrs *one = all; one; one = one->ifa_next) {
		char text[INET6_ADDRSTRLEN];
		const void *address = NULL;

		if (one->ifa_addr && one->ifa_addr->sa_family == AF_INET)
			address = &((const struct sockaddr_in *)(const void *)one->ifa_addr)
					   ->sin_addr;
		else if (one->ifa_addr && one->ifa_addr->sa_family == AF_INET6)
			address = &((const struct sockaddr_in6 *)(const void *)one->ifa_addr)
					   ->sin6_addr;
		if (address && inet_ntop(one->ifa_addr->sa_family, address, text, sizeof(text)))
			strv_add(&next_hops->addresses, text);
	}
	freeifaddrs(all);
}

/* Returns true if the files have changed since the last call. Call it before the settings are read,
 * so that a change during reading is noticed next time. */
static bool note_changed_files(struct next_hops *next_hops)
{
	bool changed = false;

	for (size_t i = 0; i < ARRAY_SIZE(file_names); i++) {
		_cleanup_free_ char *path = mem_printf(
			"%s/%s", next_hops->config_dir, file_names[i]);
		struct stat now = {0};

		if (stat(path, &now) < 0)
			continue;
		changed |= now.st_ino != next_hops->files[i].st_ino ||
			   now.st_size != next_hops->files[i].st_size ||
			   now.st_mtim.tv_sec != next_hops->files[i].st_mtim.tv_sec ||
			   now.st_mtim.tv_nsec != next_hops->files[i].st_mtim.tv_nsec;
		next_hops->files[i] = now;
	}
	return changed;
}

int next_hops_refresh(struct next_hops *next_hops, struct err *err)
{
	static const char *const wanted[] = {"content_filter", "syslog_name"};
	struct strv values[] = {STRV_INIT, STRV_INIT};
	struct buf text = BUF_INIT;
	int64_t now_us = clock_monotonic_us();
	bool changed = note_changed_files(next_hops);
	int result;

	if (!changed && next_hops->retry_us == 0)
		return 0;
	if (!changed && now_us < next_hops->retry_us)
		return err_copy(err, &next_hops->why);
	read_addresses(next_hops);
	result = postconf_values(
		next_hops->config_dir, wanted, ARRAY_SIZE(wanted), values, &next_hops->why);
	next_hops->retry_us = result < 0 ? now_us + RETRY_US : 0;
	if (result < 0) {
		err_copy(err, &next_hops->why);
	} else {
		clear_filters(next_hops);
		for (size_t i = 0; i < values[0].n; i++)
			add_filter(next_hops, values[0].items[i]);
		buf_add_str(&text, next_hops->instance);
		for (size_t i = 0; i < values[1].n; i++)
			buf_printf(&text, " %.*s", (int)strcspn(values[1].items[i], "/"),
				values[1].items[i]);
		free(next_hops->instances);
		next_hops->instances = buf_take(&text);
	}
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		strv_free(&values[i]);
	return result;
}

const char *next_hops_instances(const struct next_hops *next_hops)
{
	return next_hops->instances;
}

/* `host[address]:port`, or `host[path]` for a socket. */
struct server {
	char host[256];
	char address[256];
	char port[16];
};

static bool read_server(const char *relay, struct server *server_r)
{
	const char *open = strrchr(relay, '['), *close;

	if (open == NULL || (close = strchr(open, ']')) == NULL ||
		(size_t)(open - relay) >= sizeof(server_r->host) ||
		(size_t)(close - open) > sizeof(server_r->address) ||
		strlen(close) > sizeof(server_r->port))
		return false;
	*stpncpy(server_r->host, relay, (size_t)(open - relay)) = '\0';
	*stpncpy(server_r->address, open + 1, (size_t)(close - open - 1)) = '\0';
	strcpy(server_r->port, close[1] == ':' ? close + 2 : "");
	return true;
}

/* True if the server is that of the filter, whatever its port is. */
static bool is_of_filter(const struct server *server, const struct filter *filter)
{
	unsigned char bytes[sizeof(struct in6_addr)];
	/* The name of a peer could look like an address, too. */
	bool by_address = strchr(filter->host, '/') ||
			  inet_pton(AF_INET, filter->host, bytes) == 1 ||
			  inet_pton(AF_INET6, filter->host, bytes) == 1;

	return str_eq_nocase(filter->host, by_address ? server->address : server->host);
}

static bool is_this_host(const struct next_hops *next_hops, const struct server *server)
{
	const char *address = server->address;
	size_t len = strlen("IPv6:");

	if (strncmp(address, "IPv6:", len) == 0)
		address += len;
	if (str_starts(address, "127.") || str_eq(address, "::1") || strchr(address, '/'))
		return true;
	for (size_t i = 0; i < next_hops->addresses.n; i++)
		if (str_eq_nocase(next_hops->addresses.items[i], address))
			return true;
	return false;
}

bool next_hops_is_local_client(const struct next_hops *next_hops, struct span client)
{
	_cleanup_free_ char *relay = mem_dup(client.data, client.len);
	struct server server;

	if (!read_server(relay, &server))
		return false;
	for (size_t i = 0; i < next_hops->n; i++)
		if (is_of_filter(&server, &next_hops->filters[i]))
			return true;
	return is_this_host(next_hops, &server);
}

enum delivery_via next_hops_via_relay(const struct next_hops *next_hops, const char *relay)
{
	struct server server;

	if (str_empty(relay) || str_eq(relay, "none") || str_eq(relay, "local") ||
		str_eq(relay, "virtual"))
		return VIA_FINAL;
	if (strchr(relay, '[') == NULL) {
		/* For pipe(8) the relay is the name of its service. */
		for (size_t i = 0; i < next_hops->n; i++)
			if (str_eq(next_hops->filters[i].transport, relay))
				return VIA_FILTER;
		return VIA_LOCAL;
	}
	if (!read_server(relay, &server))
		return VIA_FINAL;
	for (size_t i = 0; i < next_hops->n; i++) {
		const struct filter *filter = &next_hops->filters[i];

		if ((str_empty(filter->port) || str_eq(filter->port, server.port)) &&
			is_of_filter(&server, filter))
			return VIA_FILTER;
	}
	return is_this_host(next_hops, &server) ? VIA_LOCAL : VIA_FINAL;
}

enum delivery_via next_hops_via(
	const struct next_hops *next_hops, enum log_agent agent, const char *relay)
{
	if (agent == LOG_AGENT_PIPE || (agent == LOG_AGENT_OTHER && relay && strchr(relay, '[')))
		return next_hops_via_relay(next_hops, relay);
	return VIA_FINAL;
}
