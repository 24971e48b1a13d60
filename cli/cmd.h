/*
 * cmd: the verbs, one file for each noun. Each row says what its verb takes,
 * does and shows.
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

struct arguments;
struct conf;

/* What a verb that follows keeps from one run to the next; zeroed at first. */
struct following {
	bool begun;
	int64_t seq;     /* of the last event that was told */
	int64_t version; /* of the database then */
	char email_id[ID_SIZE];
	struct db_identity identity;
};

/* What a verb has at hand while it runs. */
struct call {
	const struct arguments *arguments;
	const struct conf *conf; /* NULL: refused, of VERB_DIAGNOSES alone, */
	const char *refused;     /* for this reason */
	struct db *db;           /* as the row's access says; else NULL */
	int64_t now_us;
	struct following *following; /* of VERB_FOLLOWS */
	struct op_ready *ready;      /* from the check of the operation to its run */
};

/* The word behind the verb. */
const char *call_argument(const struct call *call);

/* The value of an option, "" for a flag that is set, NULL when not given. */
const char *call_option(const struct call *call, enum verb_option_id id);

/* Reads the word, or the option, as the id of a noun. ERR_INVALID when it is
 * no id. An option that is not given leaves id empty. */
int call_id_argument(const struct call *call, char id[static ID_SIZE], struct err *err);
int call_id_option(const struct call *call, enum verb_option_id option, char id[static ID_SIZE],
	struct err *err);

/* Reads the option as a number from 1 to max. Not given, it leaves the number
 * as it is. */
int call_number_option(const struct call *call, enum verb_option_id option, int64_t max,
	int64_t *number, struct err *err);

/* Reads the option as a time, see clock_parse(). Not given, it leaves the time
 * as it is. */
int call_time_option(
	const struct call *call, enum verb_option_id option, int64_t *time_us, struct err *err);

/* The operation of the verb, about what the word behind it names. */

/* The input as the options have it; the caller frees it. */
int call_input(const struct call *call, void **input_r, struct err *err);
/* What the operation does before the transaction, if it does. */
int call_check(const struct call *call, struct err *err);
/* Runs it, in steps if it takes them, or page by page if it lists, and reports what it gives.
 * ERR_NOT_FOUND when what it is about is not there. */
int call_run(const struct call *call, struct report *report, struct err *err);

/* The same in parts. What it gives is *made_r, which the caller drops: of a list its items are
 * `data`, beside what else there is. */
int call_operate(const struct call *call, const void *input, json_t **made_r, struct err *err);

/* A list is read in pages, each of which is printed before the next one is read
 * (report_flush()), so that one of any length takes little memory. */
#define CALL_FIRST_PAGE                                                                            \
	{                                                                                          \
		.limit = REPORT_ROWS                                                               \
	}
/* When a page cannot be read: the row that it goes on behind was removed
 * meanwhile, unless err says otherwise. -1. */
int call_page_lost(struct err *err);

/* Between two steps of what takes many, so that others write too. */
void call_pause(void);

/* How many columns the terminal has; 0 when it is none, or does not tell. */
size_t terminal_width(int fd);

/* How many columns to write for: those of the terminal, within reason, or 80. */
size_t screen_width(void);

/* Whether somebody can be asked: standard input and error are terminals. */
bool ask_is_possible(void);
/* Asks on standard error until the answer is one of the words, or its first
 * letter; no answer is the first word. Gives that word, or NULL at the end of
 * the input. */
const char *ask_choice(const char *question, const char *const *words, size_t n);

/* Puts the DNS records that an operation gives (`records`) into that column, of COLUMN_ROWS, and
 * tells people of them. */
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
