/*
 * fake_smtpd: an SMTP server on the test's own event base.
 *
 * It takes every message, unless a rule says otherwise, and writes down what it
 * was told.
 */
#ifndef POSTERN_TESTS_FAKE_SMTPD_H
#define POSTERN_TESTS_FAKE_SMTPD_H

#include "core/base/buf.h"

struct event_base;
struct fake_smtpd;

/* What is answered to a line: the first rule that fits counts. */
struct smtpd_rule {
	/* "CONNECT", the beginning of a command, "." for the end of a message,
	 * "CONTENT" for its first bytes. */
	const char *on;
	/* A whole reply without the last CRLF; NULL: the connection is closed;
	 * "": silence. */
	const char *reply;
	int connection; /* the first is 1; 0: any */
	int message;    /* of the connection, from 1; 0: any */
};

/* Listens on path. rules: ended by one whose on is NULL; they may change. */
struct fake_smtpd *fake_smtpd_new(
	struct event_base *base, const char *path, const struct smtpd_rule *rules);
void fake_smtpd_free(struct fake_smtpd *smtpd);

void fake_smtpd_rules(struct fake_smtpd *smtpd, const struct smtpd_rule *rules);

/* All that it was told, lines with their CRLF; content as it came. */
const char *fake_smtpd_log(const struct fake_smtpd *smtpd);

/* How many connections there were, are, and were at once. */
int fake_smtpd_connections(const struct fake_smtpd *smtpd);
int fake_smtpd_open(const struct fake_smtpd *smtpd);
int fake_smtpd_most(const struct fake_smtpd *smtpd);

/* Messages that came to their end. */
int fake_smtpd_messages(const struct fake_smtpd *smtpd);

/* Says a line on a connection (the first is 1) that is open, without being asked. */
void fake_smtpd_say(struct fake_smtpd *smtpd, int connection, const char *line);

/* Closes all connections. */
void fake_smtpd_hang_up(struct fake_smtpd *smtpd);

#endif
