/*
 * login_throttle: how often somebody may try to log in.
 *
 * Five tries in a row are free, then each further one has to wait: of one
 * client up to a quarter of an hour, for one login up to a minute. A wrong code
 * behind the right password costs up to a quarter of an hour, whatever the
 * client: a million codes are few.
 *
 * A client that has logged in as somebody before is known (the eight last ones of each
 * login): its tries for that
 * login are counted by themselves, and up to a minute. So nobody else can keep
 * a user out of a place from which they came in before.
 *
 * A client is an address, of IPv6 its /64; all of 127.0.0.0/8 is one. Logins
 * that differ in letter case alone are one.
 *
 * Threads: the admin worker's.
 */
#ifndef POSTERN_HTTPD_ADMIN_LOGIN_THROTTLE_H
#define POSTERN_HTTPD_ADMIN_LOGIN_THROTTLE_H

#include <stdint.h>

struct login_throttle;
struct login_throttle *login_throttle_new(void);
void login_throttle_free(struct login_throttle *throttle);
/* A try from the client for the login: 0, or in how many seconds the next one
 * is heard. It counts as failed until it is told to be good. */
int login_throttle_try(
	struct login_throttle *throttle, const char *client, const char *login, int64_t now_us);
/* The client is known for the login from now on. It is of the company ("": of an operator). */
void login_throttle_good(struct login_throttle *throttle, const char *client, const char *login,
	const char *company_id, int64_t now_us);
/* The password was good, the code is yet to come: the try does not count, but
 * those before it do. */
void login_throttle_half(struct login_throttle *throttle, const char *client, const char *login);
/* The password was good, and the code was not. */
void login_throttle_wrong_code(
	struct login_throttle *throttle, const char *client, const char *login, int64_t now_us);

#endif
