/*
 * credentials: reads from a head who makes the request, and from where.
 */
#include "httpd/admission/credentials.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/base64.h"
#include "core/base/mem.h"
#include "core/base/str.h"

/* Finds what follows the scheme in the Authorization field. */
static bool find_credentials(const struct http_head *head, const char *scheme, struct span *found)
{
	const struct span *field = http_head_field(head, "Authorization");
	size_t skip = strlen(scheme);

	if (field == NULL || field->len <= skip || !str_starts_nocase(field->data, scheme) ||
		field->data[skip] != ' ')
		return false;
	while (skip < field->len && field->data[skip] == ' ')
		skip++;
	found->data = field->data + skip;
	found->len = field->len - skip;
	return found->len > 0;
}

bool credentials_bearer(const struct http_head *head, struct buf *key)
{
	struct span found;

	if (!find_credentials(head, "Bearer", &found))
		return false;
	buf_add(key, found.data, found.len);
	return true;
}

bool credentials_basic(const struct http_head *head, struct buf *key)
{
	static const char user[] = "api:";
	const size_t skip = sizeof(user) - 1;
	_cleanup_secret_buf_ struct buf pair = BUF_INIT;
	struct span found;
	bool is_ours;

	if (!find_credentials(head, "Basic", &found) ||
		base64_decode(found.data, found.len, &pair) < 0)
		return false;
	is_ours = pair.len > skip && memcmp(pair.data, user, skip) == 0;
	if (is_ours)
		buf_add(key, pair.data + skip, pair.len - skip);
	return is_ours;
}

/* The port of `host:port`, or `none`. */
static unsigned port_of(struct span host, unsigned none)
{
	unsigned port = 0, tens = 1;

	for (size_t i = host.len; i-- > 0; tens *= 10) {
		if (host.data[i] == ':' && tens > 1)
			return port;
		if (!isdigit((unsigned char)host.data[i]) || tens > 10000)
			break;
		port += tens * (unsigned)(host.data[i] - '0');
	}
	return none;
}

void credentials_cookie_name(
	struct span host, const char *url, char name_r[static SESSION_COOKIE_SIZE])
{
	static const char https[] = "https://", http[] = "http://";
	bool secure = str_starts(url, https);

	if (*url) {
		url += secure ? strlen(https) : strlen(http);
		host = (struct span){url, strlen(url)};
	}
	snprintf(name_r, SESSION_COOKIE_SIZE, "%spostern_session_%u", secure ? "__Host-" : "",
		port_of(host, secure ? 443 : 80));
}

bool credentials_cookie(const struct http_head *head, const char *name, struct buf *token)
{
	const struct span *field = http_head_field(head, "Cookie");
	struct span rest = field ? *field : (struct span){NULL, 0};

	/* RFC 6265 4.2.1: `a=b; c=d` */
	while (rest.len > 0) {
		struct span value = span_trim(span_cut(&rest, ';'));

		if (span_is(span_cut(&value, '='), name) && value.len > 0) {
			buf_add(token, value.data, value.len);
			return true;
		}
	}
	return false;
}

void forwarded_client(const struct http_head *head, const struct cidr_list *proxies,
	const char *peer, char client_r[static CIDR_TEXT_SIZE])
{
	snprintf(client_r, CIDR_TEXT_SIZE, "%s", peer);
	for (size_t i = head->fields_n; i > 0; i--) {
		struct span list = head->fields[i - 1].value;

		if (!span_is_nocase(head->fields[i - 1].name, "X-Forwarded-For"))
			continue;
		do {
			const char *comma = memrchr(list.data, ',', list.len);
			size_t start = comma ? (size_t)(comma - list.data) + 1 : 0;
			_cleanup_free_ char *last = str_trim(list.data + start, list.len - start);
			char *colon = strrchr(last, ':'), address[CIDR_TEXT_SIZE];

			/* Some proxies write a port behind the address: `192.0.2.1:4711`,
			 * `[2001:db8::1]:4711`. */
			if (colon &&
				(colon > last && colon[-1] == ']' ? *last == '['
								  : strchr(last, ':') == colon))
				*colon = '\0';
			if (!cidr_list_has_text(proxies, client_r) || !cidr_address(last, address))
				return;
			memcpy(client_r, address, sizeof(address));
			list.len = comma ? start - 1 : 0;
		} while (list.len > 0);
	}
}

/* True if an origin such as `http://host:8588` is ours. */
static bool is_own_origin(struct span origin, const struct span *host, const char *url)
{
	static const char scheme[] = "http://";
	const size_t skip = sizeof(scheme) - 1;

	if (*url)
		return span_is(origin, url);
	return host && host->len > 0 && origin.len == skip + host->len &&
	       memcmp(origin.data, scheme, skip) == 0 &&
	       strncasecmp(origin.data + skip, host->data, host->len) == 0;
}

enum page_origin page_origin_of(const struct http_head *head, const char *url)
{
	const struct span *origin = http_head_field(head, "Origin");
	const struct span *site = http_head_field(head, "Sec-Fetch-Site");

	if (site && !span_is(*site, "same-origin"))
		return PAGE_FOREIGN;
	if (origin && !is_own_origin(*origin, http_head_field(head, "Host"), url))
		return PAGE_FOREIGN;
	return site || origin ? PAGE_OWN : PAGE_NONE;
}

/* The name or address of `host:port`, in lower case, without a name's final dot
 * and an address's brackets. NULL if it is neither. */
static char *host_name(const char *text, size_t len)
{
	_cleanup_free_ char *host = mem_dup(text, len);
	bool bracketed = *host == '[';
	char *end = bracketed ? strchr(host, ']') : host + strcspn(host, ":");
	const char *port = bracketed && end ? end + 1 : end;
	struct in6_addr in6;

	if (end == NULL || (*port && *port != ':') ||
		(*port && port[1 + strspn(port + 1, "0123456789")]))
		return NULL;
	*end = '\0';
	if (bracketed)
		return inet_pton(AF_INET6, host + 1, &in6) == 1 ? mem_strdup(host + 1) : NULL;
	if (end > host && end[-1] == '.')
		end[-1] = '\0';
	str_lower(host);
	return *host ? TAKE_PTR(host) : NULL;
}

/* Returns 1 if the head names its host, 0 if it does not, -1 if that is not a
 * valid name. */
static int find_host(const struct http_head *head, char **name_r)
{
	const struct span *field = http_head_field(head, "Host");

	if (field == NULL || field->len == 0)
		return 0;
	*name_r = host_name(field->data, field->len);
	return *name_r ? 1 : -1;
}

static bool is_address(const char *name)
{
	struct in6_addr in6;
	struct in_addr in;

	return str_eq(name, "localhost") || inet_pton(AF_INET, name, &in) == 1 ||
	       inet_pton(AF_INET6, name, &in6) == 1;
}

static bool is_among(const char *name, const char *names)
{
	static const char separators[] = ", \t\r\n";

	while (*(names += strspn(names, separators))) {
		size_t len = strcspn(names, separators);
		_cleanup_free_ char *one = host_name(names, len);

		if (one && str_eq(one, name))
			return true;
		names += len;
	}
	return false;
}

bool host_is_address(const struct http_head *head)
{
	_cleanup_free_ char *name = NULL;
	int named = find_host(head, &name);

	return named == 0 || (named > 0 && is_address(name));
}

bool host_is_own(const struct http_head *head, const char *url, const char *names)
{
	const char *host = strstr(url, "://");
	_cleanup_free_ char *name = NULL;
	int named = find_host(head, &name);

	if (named <= 0)
		return named == 0;
	return is_address(name) || (host && is_among(name, host + 3)) || is_among(name, names);
}

int idempotency_key_read(const struct http_head *head, uint8_t hash_r[static SECRET_HASH_LEN])
{
	const struct span *value = http_head_field(head, "Idempotency-Key");
	size_t n;

	if (value == NULL)
		return 0;
	n = str_utf8_count(value->data, value->len);
	if (n == 0 || n > IDEMPOTENCY_KEY_MAX)
		return -1;
	secret_hash(value->data, value->len, hash_r);
	return 1;
}
