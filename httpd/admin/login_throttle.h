/*
 * login_throttle: limits login attempts.
 *
 * Five attempts in a row are free. Each further one has to wait, with
 * exponential backoff: up to 15 minutes for a client, up to a minute for a
 * login. A wrong code after the right password costs up to 15 minutes, whatever
 * the client, because there are only a million codes.
 *
 * A client that has logged in with a login before is known for it (the last
 * eight of each login). Its attempts for that login are counted separately,
 * with at most a minute to wait. So nobody else can lock a user out of a place
 * from which they logged in before.
 *
 * A client is an IPv4 address or an IPv6 /64; all of 127.0.0.0/8 is one client.
 * Logins are compared without regard to case.
 *
 * Threads: the admin worker's.
 */
#ifndef POSTERN_HTTPD_ADMIN_LOGIN_THROTTLE_H
#define POSTERN_HTTPD_ADMIN_LOGIN_THROTTLE_H

#include <stdint.h>

struct login_throttle;
struct login_throttle *login_throttle_new(void);
void login_throttle_free(struct login_throttle *throttle);
/* Counts an attempt of the client for the login as failed, until one of the
 * functions below says otherwise. Returns 0 if it may go on, else after how
 * many seconds to try again. */
int login_throttle_try(
	struct login_throttle *throttle, const char *client, const char *login, int64_t now_us);
/* The login succeeded: the client is known for it from now on. company_id is
 * that of the user, "" for an operator. */
void login_throttle_good(struct login_throttle *throttle, const char *client, const char *login,
	const char *company_id, int64_t now_us);
/* The password was right and the code is still missing: the attempt does not
 * count, but those before it do. */
void login_throttle_half(struct login_throttle *throttle, const char *client, const char *login);
/* The password was right, but the code was wrong. */
void login_throttle_wrong_code(
	struct login_throttle *throttle, const char *client, const char *login, int64_t now_us);

#endif
