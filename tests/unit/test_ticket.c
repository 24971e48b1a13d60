/*
 * ticket: which addresses are tickets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/base/mem.h"
#include "core/policy/ticket.h"

#define A_TICKET "0123456789abcdef0123456789abcdef"

static void test_read(void **state)
{
	static const struct {
		const char *address;
		enum ticket_reading reading;
	} cases[] = {
		{A_TICKET "@postern.invalid", TICKET_READ},
		{"<" A_TICKET "@postern.invalid>", TICKET_READ},
		{A_TICKET "@Postern.INVALID", TICKET_MALFORMED},
		{"<" A_TICKET "@postern.invalid.>", TICKET_MALFORMED},
		{"", TICKET_ELSEWHERE},
		{"<>", TICKET_ELSEWHERE},
		{"@", TICKET_ELSEWHERE},
		{A_TICKET, TICKET_ELSEWHERE},
		{"postern.invalid", TICKET_ELSEWHERE},
		{A_TICKET "@example.com", TICKET_ELSEWHERE},
		{A_TICKET "@a.postern.invalid", TICKET_ELSEWHERE},
		{A_TICKET "@postern.invalid.test", TICKET_ELSEWHERE},
		{A_TICKET "@postern.invali", TICKET_ELSEWHERE},
		{"\"" A_TICKET "@postern.invalid\"@x.test", TICKET_ELSEWHERE},
		{"@postern.invalid", TICKET_MALFORMED},
		{"ann@postern.invalid", TICKET_MALFORMED},
		{"0" A_TICKET "@postern.invalid", TICKET_MALFORMED},
		{"0123456789ABCDEF0123456789abcdef@postern.invalid", TICKET_MALFORMED},
		{"\"" A_TICKET "\"@postern.invalid", TICKET_MALFORMED},
		{"@x.test:" A_TICKET "@postern.invalid", TICKET_MALFORMED},
		{A_TICKET "@x.test@postern.invalid", TICKET_MALFORMED},
		{A_TICKET "@@postern.invalid", TICKET_MALFORMED},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char ticket[SECRET_TICKET_SIZE] = "";
		enum ticket_reading reading = ticket_read(cases[i].address, ticket);

		if (reading != cases[i].reading)
			fail_msg("%s: %d", cases[i].address, reading);
		assert_string_equal(ticket, reading == TICKET_READ ? A_TICKET : "");
	}
}

static void test_address(void **state)
{
	char ticket[SECRET_TICKET_SIZE], read[SECRET_TICKET_SIZE];
	_cleanup_free_ char *address = NULL;

	(void)state;
	secret_ticket(ticket);
	address = ticket_address(ticket);
	assert_int_equal(ticket_read(address, read), TICKET_READ);
	assert_string_equal(read, ticket);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_address),
	};

	assert_int_equal(secret_init(), 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
