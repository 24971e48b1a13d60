/*
 * ticket: the address that stands for an email between httpd and the milter.
 *
 * Only the spelling of ticket_address() is valid, because Postfix must find the recipient that
 * the milter deletes. Other spellings of the same domain, with capitals or a dot at the end,
 * are malformed.
 */
#include "core/policy/ticket.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"

enum { LENGTH = SECRET_TICKET_SIZE - 1 };

char *ticket_address(const char *ticket)
{
	return mem_printf("%s@" TICKET_DOMAIN, ticket);
}

char *ticket_message_id(const char *ticket)
{
	return mem_printf("<%s@" TICKET_DOMAIN ">", ticket);
}

size_t ticket_fields_len(const char *message, size_t len)
{
	static const char *const names[] = {TICKET_TRACE_FIELD ":", TICKET_NONCE_FIELD ":"};
	size_t begin = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *end = memchr(message + begin, '\n', len - begin);

		if (end == NULL || len - begin < strlen(names[i]) ||
			memcmp(message + begin, names[i], strlen(names[i])) != 0)
			break;
		begin = (size_t)(end + 1 - message);
	}
	return begin;
}

enum ticket_reading ticket_read(const char *address, char ticket_r[static SECRET_TICKET_SIZE])
{
	size_t len = strlen(address), local_len, domain_len;
	const char *at;

	if (len >= 2 && address[0] == '<' && address[len - 1] == '>') {
		address++;
		len -= 2;
	}
	at = memrchr(address, '@', len);
	if (at == NULL)
		return TICKET_ELSEWHERE;
	local_len = (size_t)(at - address);
	domain_len = len - local_len - 1;
	if (domain_len > 0 && address[len - 1] == '.')
		domain_len--;
	if (domain_len != strlen(TICKET_DOMAIN) || !str_starts_nocase(at + 1, TICKET_DOMAIN))
		return TICKET_ELSEWHERE;
	if (len != LENGTH + 1 + strlen(TICKET_DOMAIN) || local_len != LENGTH ||
		strspn(address, "0123456789abcdef") != LENGTH || !str_starts(at + 1, TICKET_DOMAIN))
		return TICKET_MALFORMED;
	memcpy(ticket_r, address, LENGTH);
	ticket_r[LENGTH] = '\0';
	return TICKET_READ;
}
