/*
 * dns: waits for libunbound, which resolves in its own thread.
 */
#include "core/dns/dns.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unbound.h>

#include "core/base/buf.h"
#include "core/base/cidr.h"
#include "core/base/clock.h"
#include "core/base/str.h"

enum { TIMEOUT_MS = 5000, TYPE_A = 1, TYPE_PTR = 12, TYPE_MX = 15, TYPE_TXT = 16, TYPE_AAAA = 28 };

struct dns {
	struct ub_ctx *ctx;
	bool silent;    /* a look-up has timed out */
	int64_t end_us; /* the limit of all look-ups; 0: none */
};

struct dns *dns_new(const char *server)
{
	/* Forwarders on loopback are common, and private networks have names too. */
	static const char *const options[][2] = {
		{"do-not-query-localhost:", "no"}, {"unblock-lan-zones:", "yes"}};
	struct ub_ctx *ctx = ub_ctx_create();
	struct dns *dns;
	bool failed = ctx == NULL;

	for (size_t i = 0; !failed && i < ARRAY_SIZE(options); i++)
		failed = ub_ctx_set_option(ctx, options[i][0], options[i][1]) != 0;
	if (!failed)
		failed = (*server ? ub_ctx_set_fwd(ctx, server) : ub_ctx_resolvconf(ctx, NULL)) !=
			 0;
	if (failed) {
		ub_ctx_delete(ctx);
		return NULL;
	}
	ub_ctx_async(ctx, 1);
	dns = mem_new(struct dns);
	dns->ctx = ctx;
	return dns;
}

void dns_free(struct dns *dns)
{
	if (dns == NULL)
		return;
	ub_ctx_delete(dns->ctx);
	free(dns);
}

void dns_limit(struct dns *dns, int64_t time_ms)
{
	if (dns)
		dns->end_us = clock_monotonic_us() + time_ms * 1000;
}

struct question {
	bool answered;
	struct ub_result *result;
};

static void on_answer(void *arg, int error, struct ub_result *result)
{
	struct question *question = arg;

	question->answered = true;
	if (error == 0)
		question->result = result;
}

/* Returns the records of the type; NULL if unknown. Free with ub_resolve_free(). */
static struct ub_result *resolve(struct dns *dns, const char *name, int type)
{
	int64_t end_us = clock_monotonic_us() + TIMEOUT_MS * INT64_C(1000);
	struct question question = {0};
	struct ub_result *result;
	int id;

	if (dns && dns->end_us && dns->end_us < end_us)
		end_us = dns->end_us;
	if (dns == NULL || dns->silent ||
		ub_resolve_async(dns->ctx, name, type, 1, &question, on_answer, &id) != 0)
		return NULL;
	while (!question.answered) {
		int left_ms = (int)((end_us - clock_monotonic_us()) / 1000);
		struct pollfd answers = {.fd = ub_fd(dns->ctx), .events = POLLIN};

		if (left_ms <= 0 || poll(&answers, 1, left_ms) <= 0 || ub_process(dns->ctx) != 0) {
			ub_cancel(dns->ctx, id);
			dns->silent = true;
			return NULL;
		}
	}
	result = question.result;
	/* NOERROR and NXDOMAIN are answers. A server that does not respond gives SERVFAIL. */
	if (result && result->rcode != 0 && result->rcode != 3) {
		ub_resolve_free(result);
		return NULL;
	}
	return result;
}

static void add_txt(struct strv *list, const uint8_t *data, size_t len)
{
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < len && i + 1 + data[i] <= len; i += 1U + data[i])
		buf_add(&text, data + i + 1, data[i]);
	strv_take(list, buf_take(&text));
}

/* Adds a domain name without the root's dot. */
static void add_domain_name(struct strv *list, const uint8_t *data, size_t len)
{
	struct buf name = BUF_INIT;

	for (size_t i = 0; i < len && data[i] && i + 1 + data[i] <= len; i += 1U + data[i]) {
		if (name.len)
			buf_add_char(&name, '.');
		buf_add(&name, data + i + 1, data[i]);
	}
	strv_take(list, buf_take(&name));
	str_lower(list->items[list->n - 1]);
}

static int read_dns_answer(struct dns *dns, const char *name, int type, struct strv *list)
{
	struct ub_result *result = resolve(dns, name, type);
	size_t before = list->n;

	if (result == NULL)
		return -1;
	for (size_t i = 0; result->havedata && result->data[i]; i++) {
		const uint8_t *data = (const uint8_t *)result->data[i];
		size_t len = (size_t)result->len[i];
		char text[INET6_ADDRSTRLEN], address[CIDR_TEXT_SIZE];

		if (type == TYPE_TXT)
			add_txt(list, data, len);
		else if (type == TYPE_PTR)
			add_domain_name(list, data, len);
		else if (type == TYPE_MX && len > 2)
			add_domain_name(list, data + 2, len - 2);
		/* In the canonical form, so that equal addresses are equal strings. */
		else if ((len == 4 || len == 16) &&
			 inet_ntop(len == 4 ? AF_INET : AF_INET6, data, text, sizeof(text)) &&
			 cidr_address(text, address))
			strv_add(list, address);
	}
	ub_resolve_free(result);
	return list->n > before;
}

int dns_txt(struct dns *dns, const char *name, struct strv *texts_r)
{
	return read_dns_answer(dns, name, TYPE_TXT, texts_r);
}

int dns_mx(struct dns *dns, const char *name, struct strv *hosts_r)
{
	return read_dns_answer(dns, name, TYPE_MX, hosts_r);
}

int dns_addresses(struct dns *dns, const char *name, struct strv *addresses_r)
{
	int ipv4 = read_dns_answer(dns, name, TYPE_A, addresses_r);
	int ipv6 = read_dns_answer(dns, name, TYPE_AAAA, addresses_r);

	return ipv4 > 0 || ipv6 > 0 ? 1 : ipv4 < 0 || ipv6 < 0 ? -1 : 0;
}

int dns_names(struct dns *dns, const char *address, struct strv *names_r)
{
	_cleanup_buf_ struct buf name = BUF_INIT;
	uint8_t bytes[16];

	if (inet_pton(AF_INET, address, bytes) == 1) {
		for (int i = 3; i >= 0; i--)
			buf_printf(&name, "%u.", bytes[i]);
		buf_add_str(&name, "in-addr.arpa");
	} else if (inet_pton(AF_INET6, address, bytes) == 1) {
		for (int i = 15; i >= 0; i--)
			buf_printf(&name, "%x.%x.", bytes[i] & 15U, bytes[i] >> 4);
		buf_add_str(&name, "ip6.arpa");
	} else {
		return 0;
	}
	return read_dns_answer(dns, buf_str(&name), TYPE_PTR, names_r);
}
