/*
 * email_report: prints the delivery report of an email. Texts of remote servers are made visible
 * (report.h).
 */
#ifndef POSTERN_CLI_EMAIL_REPORT_H
#define POSTERN_CLI_EMAIL_REPORT_H

#include "cli/cmd.h"
#include "core/base/buf.h"
#include "core/report/delivery_report.h"

/* Appends the recipients, with what happens next, and the events in order, in lines of width
 * columns. */
void email_report_print(
	const struct delivery_report *delivery_report, size_t width, struct buf *out);
/* Adds the report as rows of two columns. */
void email_report_rows(const struct delivery_report *delivery_report, struct report *report,
	size_t recipients, size_t events);

/* One event, with its email's id if with_email; as a row and as lines. */
extern const struct column email_event_columns[]; /* of struct email_event */
void email_event_print(
	const struct email_event *event, bool with_email, size_t width, struct buf *out);

#endif
