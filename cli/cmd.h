/*
 * cmd: the verbs, one file for each noun. A verb's row says what it takes, does and shows.
 *
 * The command has one thread.
 */
#ifndef POSTERN_CLI_CMD_H
#define POSTERN_CLI_CMD_H

#include <stdint.h>

#include "cli/verbs.h"
#include "core/base/id.h"
#include "core/db/db.h"
#include "core/ops/op.h"
#include "core/ops/op_email_read.h"

struct arguments;
struct conf;

/* The state of a following verb between runs; zeroed at first. */
struct following {
	bool begun;
	int64_t seq;                 /* of the last event that was printed */
	int64_t version;             /* of the database at that time */
	struct op_email_watch watch; /* of `postern email watch` */
	struct db_identity identity;
};

/* The context of a running verb. */
struct call {
	const struct arguments *arguments;
	const struct conf *conf; /* NULL: the settings are invalid (only for VERB_DIAGNOSES), */
	const char *refused;     /* for this reason */
	struct db *db;           /* by the row's access; NULL for none */
	int64_t now_us;
	struct following *following; /* for VERB_FOLLOWS */
	struct op_ready *ready;      /* data from the operation's check() to its run() */
};

/* Returns the word after the verb. */
const char *call_argument(const struct call *call);

/* Returns the value of an option, "" for a flag that is set, NULL if not given. */
const char *call_option(const struct call *call, enum verb_option_id id);

/* Read the argument, or the option, as the id of a noun. Return 0, or -1 with ERR_INVALID. If the
 * option is not given, id is set to "". */
int call_id_argument(const struct call *call, char id[static ID_SIZE], struct err *err);
int call_id_option(const struct call *call, enum verb_option_id option, char id[static ID_SIZE],
	struct err *err);

/* Reads the option as a number from 1 to max. If it is not given, *number is unchanged. Returns 0
 * or -1. */
int call_number_option(const struct call *call, enum verb_option_id option, int64_t max,
	int64_t *number, struct err *err);

/* Reads the option as a time, see clock_parse(). If it is not given, *time_us is unchanged. Returns
 * 0 or -1. */
int call_time_option(
	const struct call *call, enum verb_option_id option, int64_t *time_us, struct err *err);

/* The operation of the verb; the argument is its object. */

/* Fills the input from the options; the caller frees it. Returns 0 or -1. */
int call_input(const struct call *call, void **input_r, struct err *err);
/* Runs the operation's check() before the transaction, if it has one. Returns 0 or -1. */
int call_check(const struct call *call, struct err *err);
/* Runs the operation, in steps or page by page if it works so, and reports its result.
 * ERR_NOT_FOUND if its object does not exist. */
int call_run(const struct call *call, struct report *report, struct err *err);

/* Runs the operation without a report. *made_r is the result, which the caller frees: for a list an
 * object with the items as `data`, and the further members. */
int call_operate(const struct call *call, const void *input, json_t **made_r, struct err *err);

/* Runs another operation, a list, for its first item, which the caller frees. Returns 1, 0 if the
 * list is empty, -1 on error. */
int call_first(const struct call *call, const struct operation *list, const void *input,
	json_t **item_r, struct err *err);

/* Returns the columns of the terminal, 80 if it does not tell its size; 0 if fd is none. */
size_t terminal_width(int fd);

/* Returns the output width: that of the terminal, within limits, or 80. */
size_t screen_width(void);

/* True if the user can be asked: standard input and standard error are terminals. */
bool ask_is_possible(void);
/* Asks on standard error until the answer is one of the words or its first letter; an empty answer
 * is the first word. Returns that word, or NULL at the end of the input. */
const char *ask_choice(const char *question, const char *const *words, size_t n);
/* Asks whether to remove something for good, no being the default. Returns 0 for yes, otherwise -1.
 */
int ask_removal(const char *question, struct err *err);

/* Puts the DNS records of an operation's result (`records`) into that column, of type COLUMN_ROWS,
 * and adds a note about them. */
void domain_dns_report(const json_t *made, struct report *report, size_t column);

extern const struct verb cmd_company_add;
extern const struct verb cmd_company_list;
extern const struct verb cmd_company_show;
extern const struct verb cmd_company_remove;

extern const struct verb cmd_domain_add;
extern const struct verb cmd_domain_activate;
extern const struct verb cmd_domain_deactivate;
extern const struct verb cmd_domain_set;
extern const struct verb cmd_domain_list;
extern const struct verb cmd_domain_show;
extern const struct verb cmd_domain_remove;
extern const struct verb cmd_domain_check;

extern const struct verb cmd_dkim_enable;
extern const struct verb cmd_dkim_rotate;
extern const struct verb cmd_dkim_disable;
extern const struct verb cmd_dkim_list;

extern const struct verb cmd_exempt_add;
extern const struct verb cmd_exempt_list;
extern const struct verb cmd_exempt_remove;
extern const struct verb cmd_exempt_suggest;

extern const struct verb cmd_suppression_add;
extern const struct verb cmd_suppression_list;
extern const struct verb cmd_suppression_remove;

extern const struct verb cmd_key_create;
extern const struct verb cmd_key_list;
extern const struct verb cmd_key_revoke;
extern const struct verb cmd_key_revoke_all;

extern const struct verb cmd_webhook_add;
extern const struct verb cmd_webhook_list;
extern const struct verb cmd_webhook_show;
extern const struct verb cmd_webhook_enable;
extern const struct verb cmd_webhook_disable;
extern const struct verb cmd_webhook_rotate;
extern const struct verb cmd_webhook_test;
extern const struct verb cmd_webhook_events;
extern const struct verb cmd_webhook_attempts;
extern const struct verb cmd_webhook_replay;
extern const struct verb cmd_webhook_remove;

extern const struct verb cmd_email_show;
extern const struct verb cmd_email_list;
extern const struct verb cmd_email_refused;
extern const struct verb cmd_email_watch;
extern const struct verb cmd_email_raw;
extern const struct verb cmd_email_cancel;
extern const struct verb cmd_email_resend;
extern const struct verb cmd_email_purge;

extern const struct verb cmd_outbox_list;
extern const struct verb cmd_outbox_pause;
extern const struct verb cmd_outbox_resume;
extern const struct verb cmd_outbox_cancel;

extern const struct verb cmd_stats;
extern const struct verb cmd_stats_reasons;
extern const struct verb cmd_stats_providers;
extern const struct verb cmd_stats_delays;
extern const struct verb cmd_stats_backlog;

extern const struct verb cmd_held_list;
extern const struct verb cmd_held_show;
extern const struct verb cmd_held_release;
extern const struct verb cmd_held_recheck;
extern const struct verb cmd_held_drop;
extern const struct verb cmd_held_serve;
extern const struct verb cmd_hosts;
extern const struct verb cmd_hosts_remove;

extern const struct verb cmd_probe_add;
extern const struct verb cmd_probe_show;

extern const struct verb cmd_user_add;
extern const struct verb cmd_user_list;
extern const struct verb cmd_user_set;
extern const struct verb cmd_user_passwd;
extern const struct verb cmd_user_totp;
extern const struct verb cmd_user_link;
extern const struct verb cmd_user_remove;

extern const struct verb cmd_token_create;
extern const struct verb cmd_token_list;
extern const struct verb cmd_token_revoke;

extern const struct verb cmd_audit_list;

extern const struct verb cmd_db_migrate;
extern const struct verb cmd_db_rehearse;
extern const struct verb cmd_db_check;
extern const struct verb cmd_db_backup;
extern const struct verb cmd_db_copy;
extern const struct verb cmd_db_restore;

extern const struct verb cmd_config;

extern const struct verb cmd_setup;
extern const struct verb cmd_doctor;
extern const struct verb cmd_status;

#endif
