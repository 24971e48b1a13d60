/*
 * Fuzzes the readers of addresses. An address that was read, written again,
 * must be read as the same; and the scan of a From field must see its domain.
 */
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/address/addr.h"
#include "core/address/addr_field.h"
#include "core/address/addr_header.h"
#include "tests/fuzz/fuzz.h"

static void check_clean(const char *text)
{
	CHECK(!strpbrk(text, "\r\n"));
	CHECK(str_utf8_valid(text, strlen(text)));
}

static void check_domain_is_seen(const char *value, const char *domain)
{
	_cleanup_addr_header_ struct addr_header header;

	addr_header_read(value, &header);
	CHECK(strv_has(&header.domains, domain));
}

static void check_addr(const struct addr *addr)
{
	_cleanup_free_ char *text = addr_format(addr);
	_cleanup_free_ char *spec = addr_spec(addr);
	const char *at = strrchr(spec, '@');
	_cleanup_addr_ struct addr again = {0};

	check_clean(text);
	check_clean(spec);
	CHECK(at && str_eq(at + 1, addr->domain));
	CHECK(addr_parse(text, &again, NULL) == 0);
	CHECK(str_eq(again.name, addr->name));
	CHECK(str_eq(again.local, addr->local));
	CHECK(str_eq(again.domain, addr->domain));
	check_domain_is_seen(text, addr->domain);
}

static void parse(const char *text)
{
	_cleanup_addr_ struct addr addr = {0};
	struct err err = ERR_INIT;

	if (addr_parse(text, &addr, &err) < 0) {
		CHECK(err.code == ERR_INVALID);
		return;
	}
	check_addr(&addr);
	check_domain_is_seen(text, addr.domain);
}

static void split(const char *text)
{
	_cleanup_addr_list_ struct addr_list list = {0};

	if (addr_list_parse(text, &list, NULL) < 0) {
		CHECK(list.n == 0);
		return;
	}
	for (size_t i = 0; i < list.n; i++) {
		_cleanup_free_ char *one = addr_format(&list.items[i]);
		_cleanup_addr_ struct addr addr = {0};

		CHECK(addr_parse(one, &addr, NULL) == 0);
		check_domain_is_seen(text, addr.domain);
	}
}

static void check_mailbox(const struct addr_header *header)
{
	_cleanup_addr_ struct addr addr = {0};

	CHECK(!header->unclear);
	CHECK(addr_parse(header->mailbox, &addr, NULL) == 0);
	CHECK(header->domains.n == 1);
	CHECK(str_eq(addr.domain, header->domains.items[0]));
}

static void read_header(const char *text)
{
	_cleanup_addr_header_ struct addr_header header;

	addr_header_read(text, &header);
	for (size_t i = 0; i < header.domains.n; i++) {
		_cleanup_free_ char *again = NULL;

		CHECK(addr_domain_normalize(header.domains.items[i], &again, NULL) == 0);
		CHECK(str_eq(again, header.domains.items[i]));
	}
	if (header.mailbox)
		check_mailbox(&header);
}

/* Whatever is wrong with a field is told, in valid text. */
static void check_field(const uint8_t *data, size_t size)
{
	struct err err = ERR_INIT;

	if (addr_field_check((struct span){(const char *)data, size}, &err) == 0)
		return;
	CHECK(err.code == ERR_INVALID);
	check_clean(err.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = mem_dup(data, size);

	parse(text);
	split(text);
	read_header(text);
	check_field(data, size);
	return 0;
}
