/*
 * record_gate: refuses email while none of it gets recorded.
 */
#include "httpd/send/record_gate.h"

#include <errno.h>

#include "core/conf/conf.h"
#include "core/postfix/postfix_run.h"

enum { TRY_US = RECORD_GATE_TRY_MS * 1000 };

bool record_gate_enter(struct record_gate *gate, int64_t now_us)
{
	if (atomic_load(&gate->late) < RECORD_GATE_LATE)
		return true;
	return pace_is_time(&gate->next, TRY_US, now_us);
}

bool record_gate_late(struct record_gate *gate, int64_t now_us)
{
	if (atomic_fetch_add(&gate->late, 1) + 1 != RECORD_GATE_LATE)
		return false;
	pace_is_time(&gate->next, TRY_US, now_us);
	return true;
}

bool record_gate_recorded(struct record_gate *gate)
{
	if (atomic_load(&gate->late) == 0)
		return false;
	return atomic_exchange(&gate->late, 0) >= RECORD_GATE_LATE;
}

const char *record_gate_cause(struct postfix_run *run, const struct conf *conf)
{
	int milter;

	if (conf->submission.method == SUBMISSION_SMTP)
		return "the smtpd of submission.smtp_server does not ask "
		       "postern-milter (smtpd_milters)";
	if (postfix_run_is_over(run))
		return "Postfix is not running";
	milter = postfix_socket_look(conf->milter.socket);
	if (milter != 0 && milter != EACCES) /* may listen where we may not look */
		return "postern-milter is not running";
	return "Postfix does not ask postern-milter (non_smtpd_milters, or it "
	       "was not reloaded since), or is slow";
}
