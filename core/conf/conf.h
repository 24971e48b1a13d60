/*
 * conf: the settings, read from an INI file and checked.
 *
 * One table in settings.c holds every setting: section, name, type, default,
 * bounds, whether SIGHUP changes it, and its help. The struct below, the man
 * page postern.conf(5) and `postern config` all follow from it.
 */
#ifndef POSTERN_CONF_CONF_H
#define POSTERN_CONF_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"

#define CONF_DEFAULT_PATH "/etc/postern/postern.conf"

struct conf {
	struct {
		char *database; /* the file, and the folder of what lies beside it */
		char *url;      /* of a database on a server; "": there is none */
	} store;
	struct {
		char *listen;          /* address:port, [v6]:port, unix:/path */
		char *socket_mode;     /* octal, of a socket in listen */
		char *socket_group;    /* "": the process's own */
		char *url;             /* scheme and host, "": no proxy in front */
		char *trusted_proxies; /* addresses, networks, `unix` */
		int64_t workers;       /* 0: one a core */
		int64_t max_connections;
		int64_t max_requests; /* under way at once */
		int64_t max_message_bytes;
		int64_t max_recipients; /* of an email; 0: the dialect's own */
		int64_t max_inflight_bytes;
		int64_t request_timeout_ms; /* a request must arrive within */
		int64_t idle_timeout_ms;    /* between requests */
		int64_t domain_activation;  /* of enum domain_activation */
		int64_t drain_timeout_ms;   /* at most, on SIGTERM */
		int64_t rate_limit;         /* a second, for a company; 0: none */
		int64_t rate_burst;         /* 0: as rate_limit */
	} http;
	struct {
		char *listen; /* as that of http; "": off */
		char *socket_mode;
		char *socket_group;
		char *url;   /* scheme and host, "": no proxy in front */
		char *hosts; /* further names that requests may give */
		int64_t session_idle_ms;
		int64_t session_max_ms;
		int64_t metrics; /* of enum metrics_access */
	} admin;
	struct {
		int64_t method;       /* of enum submission_method */
		char *sendmail;       /* path of the program */
		char *postfix_config; /* "": Postfix's own default */
		int64_t processes;    /* sendmail running at once, a worker */
		char *smtp_server;    /* unix:PATH, inet:ADDRESS:PORT; "": what
				       * postfix-conf/enable sets up */
		int64_t sessions;     /* of SMTP at once; a worker's share */
		int64_t max_pending;  /* emails under way */
		int64_t timeout_ms;
		int64_t record_wait_ms;
		int64_t probe_ms; /* from one probe to the next; 0: none */
		int64_t answer;   /* of enum submission_answer */
	} submission;
	struct {
		int64_t max_bytes; /* of messages */
		int64_t min_free;  /* bytes of the store's disk that they leave */
		int64_t lifetime_ms;
	} outbox;
	struct {
		char *socket;         /* path of the Unix-domain socket */
		char *socket_mode;    /* octal */
		char *internal_hosts; /* addresses and networks */
		char *local_domains;  /* names */
		int64_t refuse_local; /* of enum refuse_local */
		int64_t refusals_kept;
		int64_t trace_header; /* 1: put the email's id on the message */
		int64_t timeout_ms;   /* libmilter's, on one read */
	} milter;
	struct {
		char *socket;      /* path of the Unix-domain socket */
		char *socket_mode; /* octal */
		char *url;         /* where programs log in; "": people are not told */
	} auth;
	struct {
		int64_t source;    /* of enum events_source */
		char *log_file;    /* "": where Postfix writes to */
		char *journal;     /* folder; "": the system's */
		int64_t repair_ms; /* from one look at the queue to the next */
	} events;
	struct conf_webhook {
		int64_t schemes;         /* of enum webhook_schemes */
		char *allowed;           /* networks that are no public ones */
		int64_t timeout_ms;      /* of an attempt */
		int64_t connections;     /* at once, of an endpoint */
		int64_t max_connections; /* of all */
		int64_t disable_after_ms;
	} webhook;
	struct {
		char *forward_to; /* who gets what postern-intake cannot read */
	} returns;
	struct {
		int64_t bounces;    /* 1: hard bounces are suppressed */
		char *bounce_codes; /* that are hard, too */
	} suppression;
	struct {
		int64_t content_ms; /* of emails: text and html; 0: for ever */
		int64_t emails_ms;
		int64_t events_ms;
		int64_t webhooks_ms;        /* what endpoints were told */
		int64_t messages_ms;        /* from when they left the outbox */
		int64_t messages_max_bytes; /* 0: as many as there are */
	} retention;
	struct {
		char *server;    /* address:port; "": those of /etc/resolv.conf */
		char *addresses; /* from which mail goes out; "": that of this host */
	} dns;
	struct {
		int64_t signer; /* of enum dkim_signer_choice */
		char *opendkim; /* its file of settings */
		char *rspamd;   /* its folder of settings */
		char *keys;     /* folder of the private keys; "": the signer's usual one */
	} dkim;
	struct conf_limits {
		int64_t keys; /* of a company */
		int64_t domains;
		int64_t pending_domains;
		int64_t exemptions;
		int64_t users;
		int64_t tokens; /* of a user */
		int64_t webhooks;
		int64_t suppressions; /* of a company */
	} limits;
	struct {
		int64_t target; /* of enum log_target */
		int64_t level;  /* of enum log_level */
	} log;
};

/* Where postern-events reads Postfix's log. */
enum events_source { EVENTS_AUTO, EVENTS_FILE, EVENTS_JOURNAL };

/* Which endpoints there may be. */
enum webhook_schemes { WEBHOOK_HTTPS, WEBHOOK_HTTP_TOO };

/* What becomes of mail from sendmail(1) that the rules refuse. */
enum refuse_local { REFUSE_LOCAL_REJECT, REFUSE_LOCAL_HOLD, REFUSE_LOCAL_DISCARD };

/* Who lets a company send with a domain that it asked for, or what. */
enum domain_activation { ACTIVATION_OPERATOR, ACTIVATION_COMPANY, ACTIVATION_DNS };

/* The program that signs mail (DKIM). */
enum dkim_signer_choice { DKIM_SIGNER_AUTO, DKIM_SIGNER_OPENDKIM, DKIM_SIGNER_RSPAMD };

/* Who may read the metrics: operators, or whoever is on this host. */
enum metrics_access { METRICS_TOKEN, METRICS_LOOPBACK };

/* What an answer to a client waits for. */
enum submission_answer { ANSWER_SENT, ANSWER_QUEUED };

enum submission_method { SUBMISSION_SENDMAIL, SUBMISSION_SMTP };

/* Reads the file over the defaults, then each *.conf of the folder that has its
 * name and `.d` behind it, in order of name: a setting that does not add up may
 * stand in one of them only. ERR_CONFIG names file, line and what is wrong: unknown sections and
 * settings too, all at once where there are several. The caller frees. */
int conf_load(const char *path, struct conf **conf_r, struct err *err);
/* The defaults alone. */
struct conf *conf_default(void);
/* What db_open() is to be given: the URL, or the path of the file. */
const char *conf_store(const struct conf *conf);
/* A copy of all settings; the caller frees it. */
struct conf *conf_copy(const struct conf *conf);
void conf_free(struct conf *conf);
DEFINE_CLEANUP(conf, conf_free)

/* Appends all settings with their effective values, as a file that conf_load()
 * reads. */
void conf_print(const struct conf *conf, struct buf *out);

/* Copies from fresh into live what may change while running; appends to
 * restart the names of settings that differ but need a restart, separated by
 * blanks. */
void conf_reload(struct conf *live, const struct conf *fresh, struct buf *restart);

#endif
