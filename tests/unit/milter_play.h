/*
 * milter_play: plays Postfix to the milter's callbacks, on a service_world.
 */
#ifndef POSTERN_TESTS_MILTER_PLAY_H
#define POSTERN_TESTS_MILTER_PLAY_H

#include "tests/unit/service_world.h"

/* For cmocka: service_world_setup(), and a connection as httpd's SMTP makes it. */
int milter_play_setup(void **state);
int milter_play_teardown(void **state);
/* Ends the connection; the teardown may do so again. */
void milter_play_close(struct service_world *world);

/* Each calls the callback, whose answer it expects if it returns none. */
/* address NULL: by the service on a Unix-domain socket */
void milter_play_connect(struct service_world *world, const char *address);
void milter_play_mail(struct service_world *world, const char *sender);
void milter_play_header(struct service_world *world, const char *name, const char *value);
/* The recipient that stands for the ticket. */
void milter_play_ticket(struct service_world *world, const char *ticket);
sfsistat milter_play_end(struct service_world *world);

/* The message that httpd submitted, up to its end. */
void milter_play_ours(struct service_world *world);

/* The last reply has the code, and the text in it. */
void milter_play_assert_reply(struct service_world *world, const char *code, const char *text);

#endif
