/*
 * conf: the settings, read from an INI file and validated.
 *
 * The table in settings.c has every setting: section, name, type, default, limits, if SIGHUP
 * changes it, and its help. The struct below, the man page postern.conf(5) and `postern config`
 * follow from it.
 */
#ifndef POSTERN_CONF_CONF_H
#define POSTERN_CONF_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/mem.h"

struct log;
struct strv;

#define CONF_DEFAULT_PATH "/etc/postern/postern.conf"

struct conf {
	struct {
		char *database; /* path of the file; other files lie in its directory */
		char *url;      /* URL of a database server; "": none, the file is used */
		char *host;     /* the name of this host on that server; "": the system's */
		char *place;    /* result of conf_store(), made of url and host; NULL without url */
	} store;
	struct {
		char *folder; /* "": backups are not this program's business */
		int64_t max_age_ms;
	} backup;
	struct {
		char *listen;          /* address:port, [v6]:port or unix:/path */
		char *socket_mode;     /* octal; of the socket in listen */
		char *socket_group;    /* "": the group of the process */
		char *url;             /* scheme and host; "": no proxy in front */
		char *trusted_proxies; /* addresses, networks, `unix` */
		int64_t workers;       /* 0: one per CPU core */
		int64_t max_connections;
		int64_t max_requests; /* at the same time */
		int64_t max_message_bytes;
		int64_t max_recipients; /* per email; 0: the dialect's limit */
		int64_t max_inflight_bytes;
		int64_t max_wait_ms;
		int64_t request_timeout_ms; /* in which a request must arrive completely */
		int64_t idle_timeout_ms;    /* between requests */
		int64_t domain_activation;  /* of enum domain_activation */
		int64_t drain_timeout_ms;   /* the longest wait on SIGTERM */
		int64_t rate_limit;         /* requests per second and company; 0: unlimited */
		int64_t rate_burst;         /* bucket size; 0: same as rate_limit */
	} http;
	struct {
		char *listen; /* as in http; "": off */
		char *socket_mode;
		char *socket_group;
		char *url;   /* scheme and host; "": no proxy in front */
		char *hosts; /* additional host names that requests may use */
		int64_t session_idle_ms;
		int64_t session_max_ms;
		int64_t metrics; /* of enum metrics_access */
	} admin;
	struct {
		int64_t method;       /* of enum submission_method */
		char *sendmail;       /* path of the program */
		char *postfix_config; /* "": Postfix's default */
		int64_t processes;    /* concurrent sendmail processes per worker */
		char *smtp_server;    /* unix:PATH or inet:ADDRESS:PORT; "": the one that
				       * postfix-conf/enable sets up */
		int64_t sessions;     /* concurrent SMTP sessions, divided among the workers */
		int64_t max_pending;  /* emails on their way into Postfix, with those that
				       * wait for a session */
		int64_t timeout_ms;
		int64_t record_wait_ms;
		int64_t probe_ms; /* interval of probes; 0: none */
		int64_t answer;   /* of enum submission_answer */
	} submission;
	struct {
		int64_t max_bytes; /* of messages that wait to be submitted */
		int64_t min_free;  /* bytes that must stay free on the store's disk */
		int64_t lifetime_ms;
	} outbox;
	struct {
		char *socket;         /* path of the Unix-domain socket */
		char *socket_mode;    /* octal */
		char *internal_hosts; /* addresses and networks */
		char *local_domains;  /* names */
		int64_t refuse_local; /* of enum refuse_local */
		int64_t refusals_kept;
		int64_t trace_header;     /* 1: the message keeps the email's id */
		int64_t timeout_ms;       /* libmilter's, for one read */
		int64_t names_max_age_ms; /* longest age of the copy of the domains; 0: no copy */
	} milter;
	struct {
		char *socket;      /* path of the Unix-domain socket */
		char *socket_mode; /* octal */
		char *url;         /* where programs log in; "": it is not shown */
	} auth;
	struct {
		int64_t source;    /* of enum events_source */
		char *log_file;    /* "": the file that Postfix writes */
		char *journal;     /* directory; "": the system journal */
		int64_t repair_ms; /* interval of comparisons with the queue */
	} events;
	struct conf_webhook {
		int64_t schemes;         /* of enum webhook_schemes */
		char *allowed;           /* networks that are not public */
		int64_t timeout_ms;      /* of one attempt */
		int64_t connections;     /* concurrent connections per endpoint */
		int64_t max_connections; /* concurrent connections in total */
		int64_t disable_after_ms;
	} webhook;
	struct {
		char *forward_to; /* recipient of messages that postern-intake cannot read */
	} returns;
	struct {
		int64_t bounces;    /* 1: a hard bounce adds a suppression */
		char *bounce_codes; /* more status codes that count as hard */
	} suppression;
	struct {
		int64_t content_ms; /* of emails' text and HTML; 0: unlimited */
		int64_t emails_ms;
		int64_t events_ms;
		int64_t webhooks_ms;        /* of webhook events and their attempts */
		int64_t audit_ms;           /* of entries of the audit log; 0: unlimited */
		int64_t messages_ms;        /* counted from when they left the outbox */
		int64_t messages_max_bytes; /* 0: unlimited */
	} retention;
	struct {
		char *server;    /* address:port; "": those of /etc/resolv.conf */
		char *addresses; /* addresses that mail is sent from; "": those of this host */
	} dns;
	struct {
		int64_t signer; /* of enum dkim_signer_choice */
		char *opendkim; /* path of its configuration */
		char *rspamd;   /* directory of its configuration */
		char *keys;     /* directory of the private keys; "": the signer's default */
	} dkim;
	struct conf_limits {
		int64_t keys; /* per company */
		int64_t domains;
		int64_t pending_domains;
		int64_t exemptions;
		int64_t users;
		int64_t tokens; /* per user */
		int64_t webhooks;
		int64_t suppressions; /* per company */
	} limits;
	struct {
		int64_t target; /* of enum log_target */
		int64_t level;  /* of enum log_level */
	} log;
};

/* Where postern-events reads Postfix's log. */
enum events_source { EVENTS_AUTO, EVENTS_FILE, EVENTS_JOURNAL };

/* The URL schemes that endpoints may have. */
enum webhook_schemes { WEBHOOK_HTTPS, WEBHOOK_HTTP_TOO };

/* What happens to mail from sendmail(1) that the rules refuse. */
enum refuse_local { REFUSE_LOCAL_REJECT, REFUSE_LOCAL_HOLD, REFUSE_LOCAL_DISCARD };

/* Who or what activates a domain that a company has requested. */
enum domain_activation { ACTIVATION_OPERATOR, ACTIVATION_COMPANY, ACTIVATION_DNS };

/* The program that signs mail (DKIM). */
enum dkim_signer_choice { DKIM_SIGNER_AUTO, DKIM_SIGNER_OPENDKIM, DKIM_SIGNER_RSPAMD };

/* Who may read the metrics: operators with a token, or any client on this host. */
enum metrics_access { METRICS_TOKEN, METRICS_LOOPBACK };

/* What the answer to a client waits for. */
enum submission_answer { ANSWER_SENT, ANSWER_QUEUED };

enum submission_method { SUBMISSION_SENDMAIL, SUBMISSION_SMTP };

/* Reads the file over the defaults, then the *.conf files of the directory PATH.d in order of
 * their names. A setting may occur only once in all files, unless its values add up. ERR_CONFIG
 * lists all faults, including unknown sections and settings, with file and line. The caller
 * frees the result. */
int conf_load(const char *path, struct conf **conf_r, struct err *err);
/* Adds the names of the files that conf_load() reads, in their order. Returns 0, or -1 with errno
 * if the directory cannot be read. */
int conf_files(const char *path, struct strv *files);
/* Returns the defaults. */
struct conf *conf_default(void);
/* Returns the name of the store for db_open(): the URL with the name of this host, or the path of
 * the file. */
const char *conf_store(const struct conf *conf);
/* Returns the name of this host among those that share the store; "" if none may share it. */
const char *conf_host(const struct conf *conf);
/* Returns the URL of the API: http.url, or that of http.listen on this host. *socket_r is the path
 * of the Unix-domain socket over which to ask for it, NULL if it is none; conf keeps it. The caller
 * frees the URL. */
char *conf_api_url(const struct conf *conf, const char **socket_r);
/* Returns a copy; the caller frees it. */
struct conf *conf_copy(const struct conf *conf);
void conf_free(struct conf *conf);
DEFINE_CLEANUP(conf, conf_free)

/* Appends all settings with their effective values in the format of conf_load(). */
void conf_print(const struct conf *conf, struct buf *out);

/* Copies the settings that can change at run time from fresh to live. Appends the names of
 * changed settings that need a restart to `restart`, separated by blanks. */
void conf_reload(struct conf *live, const struct conf *fresh, struct buf *restart);

/* What a program does with settings that are read again. Both functions may be NULL. */
struct conf_reader {
	/* Completes the settings of the file, for example from those of Postfix. */
	int (*complete)(void *arg, struct conf *fresh, struct err *err);
	/* Checks the settings that will be in effect, and puts them into effect where the
	 * program keeps more than `live`. May change them. */
	int (*apply)(void *arg, struct conf *next, struct err *err);
	void *arg;
};

/* Reads the settings again, as a daemon does on SIGHUP, and logs the result: reloaded, with the
 * settings that need a restart, or reload_failed. Returns 0, or -1 with everything unchanged. */
int conf_reread(struct conf *live, const char *path, struct log *log,
	const struct conf_reader *reader, struct err *err);

#endif
