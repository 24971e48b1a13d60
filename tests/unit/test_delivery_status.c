/* delivery_status: pairs of events in both orders, pairs of states, and the word for
 * a whole email. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/base/mem.h"
#include "core/store/event/delivery_status.h"

/* What lines say of one address leads to the same state in any order, and
 * saying it again changes nothing. */
static void test_order(void **state)
{
	static const enum event_kind said[] = {EVENT_DEFERRED, EVENT_HANDED_ON, EVENT_DELIVERED,
		EVENT_BOUNCED, EVENT_EXPIRED, EVENT_DISCARDED, EVENT_REMOVED};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(said); i++)
		for (size_t k = 0; k < ARRAY_SIZE(said); k++) {
			enum delivery_status one = delivery_status_next(
				delivery_status_next(DELIVERY_QUEUED, said[i]), said[k]);
			enum delivery_status other = delivery_status_next(
				delivery_status_next(DELIVERY_QUEUED, said[k]), said[i]);

			assert_int_equal(one, other);
			assert_int_equal(one, delivery_status_next(one, said[i]));
			assert_int_equal(one, delivery_status_next(one, said[k]));
		}
	/* That the queue does not have it says nothing, once a line does. */
	for (size_t i = 0; i < ARRAY_SIZE(said); i++)
		assert_int_equal(delivery_status_next(DELIVERY_UNKNOWN, said[i]),
			delivery_status_next(DELIVERY_QUEUED, said[i]));
}

/* No two are equal, and `delivered` is the best. */
static void test_worse(void **state)
{
	(void)state;
	for (unsigned i = 0; i < DELIVERY_STATUSES; i++)
		for (unsigned k = 0; k < DELIVERY_STATUSES; k++) {
			enum delivery_status a = (enum delivery_status)i,
					     b = (enum delivery_status)k;

			assert_int_equal(
				delivery_status_is_worse(a, b) + delivery_status_is_worse(b, a),
				a != b);
			if (b == DELIVERY_DELIVERED)
				assert_int_equal(delivery_status_is_worse(a, b), a != b);
		}
}

/* The kind of a state leads to it. */
static void test_events_of_statuses(void **state)
{
	(void)state;
	for (enum delivery_status status = DELIVERY_QUEUED; status < DELIVERY_STATUSES; status++)
		assert_int_equal(delivery_status_of_event(delivery_status_event(status)), status);
}

static const struct {
	size_t counts[DELIVERY_STATUSES];
	const char *event;
} emails[] = {
	{{[DELIVERY_QUEUED] = 1}, "sent"},
	{{[DELIVERY_QUEUED] = 1, [DELIVERY_BOUNCED] = 1}, "sent"},
	{{[DELIVERY_HANDED_ON] = 1, [DELIVERY_DELIVERED] = 1}, "sent"},
	{{[DELIVERY_QUEUED] = 1, [DELIVERY_DEFERRED] = 1}, "delivery_delayed"},
	{{[DELIVERY_DEFERRED] = 1, [DELIVERY_BOUNCED] = 5}, "delivery_delayed"},
	{{[DELIVERY_DELIVERED] = 3}, "delivered"},
	{{[DELIVERY_DELIVERED] = 3, [DELIVERY_UNKNOWN] = 1}, "sent"},
	{{[DELIVERY_DELIVERED] = 3, [DELIVERY_COMPLAINED] = 1}, "complained"},
	{{[DELIVERY_COMPLAINED] = 3, [DELIVERY_REMOVED] = 1}, "failed"},
	{{[DELIVERY_DELIVERED] = 3, [DELIVERY_DISCARDED] = 1}, "failed"},
	{{[DELIVERY_DISCARDED] = 3, [DELIVERY_EXPIRED] = 1}, "bounced"},
	{{[DELIVERY_DELIVERED] = 3, [DELIVERY_BOUNCED] = 1}, "bounced"},
	{{[DELIVERY_UNKNOWN] = 1, [DELIVERY_BOUNCED] = 1}, "bounced"},
	{{[DELIVERY_UNKNOWN] = 1}, "sent"},
	{{0}, "sent"},
};

static void test_last_event(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(emails); i++)
		assert_string_equal(delivery_last_event(emails[i].counts), emails[i].event);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_worse),
		cmocka_unit_test(test_events_of_statuses),
		cmocka_unit_test(test_last_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
