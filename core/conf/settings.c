/*
 * settings: the table of all settings.
 *
 * The help texts are the documentation: postern.conf(5) is generated from them.
 */
#include "core/conf/setting.h"

#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/conf/conf.h"

enum {
	PATH_LENGTH = 180, /* limited by the length of a line */
	SECOND = 1000,
	MINUTE = 60 * SECOND,
	HOUR = 60 * MINUTE,
	MEGABYTE = 1024 * 1024,
};

/* A century. To keep data forever, use 0. */
#define LONGEST (INT64_C(36500) * 24 * HOUR)

static const char *const dkim_signers[] = {
	[DKIM_SIGNER_AUTO] = "auto",
	[DKIM_SIGNER_OPENDKIM] = "opendkim",
	[DKIM_SIGNER_RSPAMD] = "rspamd",
};
static const char *const activations[] = {
	[ACTIVATION_OPERATOR] = "operator",
	[ACTIVATION_COMPANY] = "company",
	[ACTIVATION_DNS] = "dns",
	NULL,
};

static const char *const answers[] = {"sent", "queued", NULL};
static const char *const methods[] = {
	[SUBMISSION_SENDMAIL] = "sendmail", [SUBMISSION_SMTP] = "smtp", NULL};

static const char *const schemes[] = {[WEBHOOK_HTTPS] = "https", [WEBHOOK_HTTP_TOO] = "http", NULL};

static const char *const accesses[] = {
	[METRICS_TOKEN] = "token", [METRICS_LOOPBACK] = "loopback", NULL};

static const char *const targets[] = {
	[LOG_TARGET_STDERR] = "stderr", [LOG_TARGET_SYSLOG] = "syslog", NULL};

static const char *const levels[] = {
	[LOG_LEVEL_ERROR] = "error",
	[LOG_LEVEL_WARN] = "warn",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug",
	NULL,
};

static const char *const refusals[] = {
	[REFUSE_LOCAL_REJECT] = "reject",
	[REFUSE_LOCAL_HOLD] = "hold",
	[REFUSE_LOCAL_DISCARD] = "discard",
	NULL,
};

static const char *const sources[] = {
	[EVENTS_AUTO] = "auto",
	[EVENTS_FILE] = "file",
	[EVENTS_JOURNAL] = "journal",
	NULL,
};

static const char *const switches[] = {"off", "on", NULL};

#define IN_CONF(member) .offset = offsetof(struct conf, member)

/* For a listener that may be a Unix-domain socket. */
#define SOCKET_SETTINGS(where)                                                                     \
	{                                                                                          \
		.section = #where,                                                                 \
		.name = "socket_mode",                                                             \
		IN_CONF(where.socket_mode),                                                        \
		.type = SETTING_MODE,                                                              \
		.fallback = "0660",                                                                \
		.min = 3,                                                                          \
		.max = 4,                                                                          \
		.help = "The permissions of a Unix-domain socket in _listen_, in octal: "          \
			"who may write to it may connect.",                                        \
	},                                                                                         \
	{                                                                                          \
		.section = #where, .name = "socket_group", IN_CONF(where.socket_group),            \
		.type = SETTING_GROUP, .fallback = "", .min = 0, .max = 32,                        \
		.help = "The group of that socket, as the proxy's. The user of "                   \
			"postern-httpd has to be in it. Empty stands for that user's own.",        \
	}

const struct setting settings[] = {
	{
		.section = "store",
		.name = "database",
		IN_CONF(store.database),
		.type = SETTING_PATH,
		.fallback = "/var/lib/postern/postern.db",
		.min = 1,
		.max = PATH_LENGTH,
		.help = "The SQLite database. The daemons must be able to write to it and "
			"to its folder. It is made by *postern db migrate*. With _url_ there is "
			"no such file, and its folder still has the files by which the programs "
			"of this host know each other.",
	},
	{
		.section = "store",
		.name = "url",
		IN_CONF(store.url),
		.type = SETTING_STORE_URL,
		.fallback = "",
		.min = 0,
		.max = 2000,
		.help = "A database of PostgreSQL (15 or newer, UTF-8) instead of the SQLite "
			"file, as postgresql://postern@db.example.com/postern. All that libpq "
			"knows may be in it: several hosts, of which the primary is used, "
			"sslmode, a Unix socket (postgresql:///postern?host=/run/postgresql), "
			"connect_timeout (seconds for each host, 2 by default). "
			"Passwords are best in a file (?passfile=/etc/postern/pgpass). The "
			"database is made by *createdb*, its tables by *postern db migrate*. "
			"Several hosts can use it at the same time. Empty: the SQLite file.",
	},
	{
		.section = "store",
		.name = "host",
		IN_CONF(store.host),
		.type = SETTING_HOST,
		.fallback = "",
		.min = 0,
		.max = 64,
		.help = "The name of this host among those that share the database of _url_. It "
			"must differ from theirs, and stay: by it a host knows its outbox, its "
			"log, and the messages in its Postfix. Empty: the host name of the "
			"system. Without effect on a SQLite file, which one host uses.",
	},
	{
		.section = "backup",
		.name = "folder",
		IN_CONF(backup.folder),
		.type = SETTING_PATH,
		.fallback = "",
		.min = 0,
		.max = PATH_LENGTH,
		.help = "The folder for backups of the database. *postern db backup* without "
			"the name of a file writes there, and *postern doctor* warns if the "
			"newest file there is too old or damaged. Old backups are not "
			"removed. A folder on another disk survives the loss of this one. "
			"Empty: backups are not looked at.",
	},
	{
		.section = "backup",
		.name = "max_age",
		IN_CONF(backup.max_age_ms),
		.type = SETTING_AGE,
		.fallback = "2d",
		.min = HOUR,
		.max = LONGEST,
		.help = "The age of the newest file in *backup.folder* from which on *postern "
			"doctor* warns. With a backup each night, the default allows for one "
			"that failed.",
	},
	{
		.section = "http",
		.name = "listen",
		IN_CONF(http.listen),
		.type = SETTING_ADDRESS,
		.fallback = "127.0.0.1:8587",
		.min = 1,
		.max = SETTING_SOCKET_PATH + 5,
		.help = "Where postern-httpd waits for requests: address and port, or a "
			"Unix-domain socket (unix:/run/postern/api.sock), in a folder in "
			"which its user may make files, as systemd makes /run/postern for "
			"it. It speaks plain HTTP: a proxy in front of it does TLS where "
			"requests come from other hosts. Port 0 lets the system choose "
			"one; the log names it.",
	},
	SOCKET_SETTINGS(http),
	{
		.section = "http",
		.name = "url",
		IN_CONF(http.url),
		.type = SETTING_ORIGIN,
		.fallback = "",
		.min = 0,
		.max = 200,
		.help = "Where programs reach _listen_ when there is a proxy in front of "
			"it: scheme and host, as https://api.example.com. The dashboard "
			"puts it into the examples that it shows with a new key, and the "
			"links by which recipients unsubscribe begin with it: let the "
			"proxy pass /unsubscribe/ for everybody, over https. Empty: there "
			"is no proxy.",
	},
	{
		.section = "http",
		.name = "trusted_proxies",
		IN_CONF(http.trusted_proxies),
		.type = SETTING_PEERS,
		.fallback = "",
		.min = 0,
		.max = 65536,
		.reload = true,
		.help = "Addresses and networks of the proxies in front of postern-httpd, "
			"of _listen_ and of *admin.listen*, separated by blanks or commas; "
			"the word *unix* stands for whoever connects to a Unix-domain "
			"socket. Only who connects from one of them is believed when it "
			"names its client in X-Forwarded-For: the client is the last "
			"address there that is not such a proxy itself. Logs, the audit "
			"log and the waits after wrong passwords go by the client's "
			"address: without this setting all clients behind a proxy are one. "
			"May be given in several lines, which add up.",
	},
	{
		.section = "http",
		.name = "workers",
		IN_CONF(http.workers),
		.type = SETTING_INT,
		.fallback = "0",
		.min = 0,
		.max = 256,
		.help = "How many threads serve requests. 0 stands for one for each core.",
	},
	{
		.section = "http",
		.name = "max_connections",
		IN_CONF(http.max_connections),
		.type = SETTING_INT,
		.fallback = "10000",
		.min = 1,
		.max = 1000000,
		.reload = true,
		.help = "How many connections are held at once, at most. Further clients "
			"wait until one closes.",
	},
	{
		.section = "http",
		.name = "max_requests",
		IN_CONF(http.max_requests),
		.type = SETTING_INT,
		.fallback = "1000",
		.min = 1,
		.max = 1000000,
		.reload = true,
		.help = "How many requests with a valid key may be under way at once; one "
			"that sends several emails counts as many. Beyond it further ones "
			"wait (*max_wait*), and then are told to come back later (503). A "
			"company may have as many as there are slots left: alone at most half "
			"of all. A request with more emails goes, and "
			"counts for as many as that.",
	},
	{
		.section = "http",
		.name = "rate_limit",
		IN_CONF(http.rate_limit),
		.type = SETTING_INT,
		.fallback = "0",
		.min = 0,
		.max = 1000000,
		.reload = true,
		.help = "How many requests a second the keys of one company may make, all "
			"together. Those beyond it are refused (429). As many messages a second "
			"may come over SMTP with these keys; those beyond it are put off (451). "
			"0 stands for no "
			"limit: how much is too much, only the admin knows, and client "
			"programs lose emails at a limit that they do not expect.",
	},
	{
		.section = "http",
		.name = "rate_burst",
		IN_CONF(http.rate_burst),
		.type = SETTING_INT,
		.fallback = "0",
		.min = 0,
		.max = 1000000,
		.reload = true,
		.help = "How many requests a company may make at once, when it made none "
			"for a while. 0 stands for as many as in one second.",
	},
	{
		.section = "http",
		.name = "max_message_bytes",
		IN_CONF(http.max_message_bytes),
		.type = SETTING_BYTES,
		.fallback = "40M",
		.min = 1024,
		.max = 1024 * (int64_t)MEGABYTE,
		.reload = true,
		.help = "The largest message that is accepted over HTTP. Where Postfix takes less "
			"(its *message_size_limit*), that limit holds. For SMTP logins it is the "
			"only one.",
	},
	{
		.section = "http",
		.name = "max_recipients",
		IN_CONF(http.max_recipients),
		.type = SETTING_INT,
		.fallback = "0",
		.min = 0,
		.max = 1000,
		.reload = true,
		.help = "How many recipients an email may have, with those of cc and bcc, "
			"whether it comes as JSON or as a form; those of "
			"*recipient-variables* count as one email's. 0 stands for what "
			"client programs expect: 50 in JSON, 1000 in a form. It does not apply to "
			"SMTP logins, where a message has at most 1000.",
	},
	{
		.section = "http",
		.name = "max_wait",
		IN_CONF(http.max_wait_ms),
		.type = SETTING_DURATION,
		.fallback = "10s",
		.min = 0,
		.max = 10 * MINUTE,
		.reload = true,
		.help = "How long a request waits for one of *max_requests*, or for memory of "
			"*max_inflight_bytes* for its body, until it is answered with 503. Its "
			"body is not read meanwhile.",
	},
	{
		.section = "http",
		.name = "max_inflight_bytes",
		IN_CONF(http.max_inflight_bytes),
		.type = SETTING_BYTES,
		.fallback = "256M",
		.min = 4 * MEGABYTE,
		.max = 64 * 1024 * (int64_t)MEGABYTE,
		.reload = true,
		.help = "How much memory requests may hold at once, all together, with the "
			"emails made of them; while a body comes, three times its size. So "
			"may answers until clients have read them. Beyond it further "
			"requests wait (*max_wait*), and then are told to come back later "
			"(503); a request that would not fit alone is refused (413). A quarter "
			"of it is kept besides for requests that hold up to 4 MiB. The last quarter of it "
			"no company gets while it has more under way than it leaves to "
			"others, unless no other large request is under way.",
	},
	{
		.section = "http",
		.name = "request_timeout",
		IN_CONF(http.request_timeout_ms),
		.type = SETTING_DURATION,
		.fallback = "1m",
		.min = SECOND,
		.max = HOUR,
		.reload = true,
		.help = "How long the head of a request may take to arrive, and how long "
			"its body; a large body has more time, as long as it comes with 16 "
			"KiB a second. A client has as long to read its answer, and is "
			"dropped then.",
	},
	{
		.section = "http",
		.name = "idle_timeout",
		IN_CONF(http.idle_timeout_ms),
		.type = SETTING_DURATION,
		.fallback = "75s",
		.min = SECOND,
		.max = HOUR,
		.reload = true,
		.help = "How long a connection is kept open between requests.",
	},
	{
		.section = "http",
		.name = "drain_timeout",
		IN_CONF(http.drain_timeout_ms),
		.type = SETTING_DURATION,
		.fallback = "30s",
		.min = 0,
		.max = HOUR,
		.reload = true,
		.help = "How long postern-httpd goes on after SIGTERM, at most, to finish "
			"the requests that it has begun. Under systemd, *TimeoutStopSec* "
			"of its unit (45 s as installed) must be longer: it ends the "
			"program in any case.",
	},
	{
		.section = "http",
		.name = "domain_activation",
		IN_CONF(http.domain_activation),
		.type = SETTING_CHOICE,
		.fallback = "operator",
		.choices = activations,
		.max = ACTIVATION_DNS,
		.reload = true,
		.help = "Who activates a domain that a company asks for over HTTP. With "
			"*operator* it has no effect until *postern domain activate*. With "
			"*company* the company activates it itself, and nothing checks "
			"that it is its own: only for hosts where every company may send "
			"as any domain that is not yet registered. With *dns* it becomes active when "
			"the company has it verified and the DNS of the domain has the record that "
			"is for this request alone. These stay with the "
			"operator in any case: what is below another company's domain that "
			"covers its subdomains, and the host's own domains, as "
			"*milter.local_domains* has them and Postfix in mydestination, "
			"myorigin, virtual\\_alias\\_domains, virtual\\_mailbox\\_domains "
			"and relay\\_domains. Postfix is asked at start and reload; when "
			"one of these is a table, or cannot be read, all domains stay with "
			"the operator, and the log says why.",
	},
	{
		.section = "admin",
		.name = "listen",
		IN_CONF(admin.listen),
		.type = SETTING_ADDRESS,
		.fallback = "127.0.0.1:8588",
		.min = 0,
		.max = SETTING_SOCKET_PATH + 5,
		.help = "Where postern-httpd waits for admins, who log in as users "
			"(*postern user*): as *http.listen*. A thread of its own serves "
			"them. It speaks plain HTTP: keep it on loopback or a socket, and "
			"put a proxy in front of it that does TLS (_url_) for other hosts. "
			"Empty turns it off. While another program has the address, "
			"postern-httpd does not start at all: admins would give that one "
			"their passwords.",
	},
	SOCKET_SETTINGS(admin),
	{
		.section = "admin",
		.name = "url",
		IN_CONF(admin.url),
		.type = SETTING_ORIGIN,
		.fallback = "",
		.min = 0,
		.max = 200,
		.help = "Where browsers reach the admin listener when there is a proxy in "
			"front of it: scheme and host, as https://mail.example.com. "
			"Changes are then taken from pages of this origin alone, and "
			"cookies go over TLS alone where it is https. Name the proxy's "
			"address in *http.trusted\\_proxies*. Empty: there is no proxy.",
	},
	{
		.section = "admin",
		.name = "hosts",
		IN_CONF(admin.hosts),
		.type = SETTING_DOMAINS,
		.fallback = "",
		.min = 0,
		.max = 65536,
		.reload = true,
		.help = "Names by which the admin listener is reached besides the one in "
			"_url_, separated by blanks or commas, without ports. An address "
			"and _localhost_ need not be named. A request for any other name "
			"is refused (421): it could come from a page of another site, "
			"which has made its own name mean this host (DNS rebinding). May "
			"be given in several lines, which add up.",
	},
	{
		.section = "admin",
		.name = "session_idle",
		IN_CONF(admin.session_idle_ms),
		.type = SETTING_DURATION,
		.fallback = "12h",
		.min = 5 * MINUTE,
		.max = 24 * (int64_t)30 * HOUR,
		.reload = true,
		.help = "How long a login lasts when it is not used. Tokens (*postern "
			"token*) last until they are revoked.",
	},
	{
		.section = "admin",
		.name = "session_max",
		IN_CONF(admin.session_max_ms),
		.type = SETTING_DURATION,
		.fallback = "7d",
		.min = 5 * MINUTE,
		.max = 24 * (int64_t)365 * HOUR,
		.reload = true,
		.help = "How long a login lasts at most. It counts from the login on, for "
			"those that come after a change.",
	},
	{
		.section = "admin",
		.name = "metrics",
		IN_CONF(admin.metrics),
		.type = SETTING_CHOICE,
		.fallback = "token",
		.choices = accesses,
		.max = METRICS_LOOPBACK,
		.reload = true,
		.help = "Who may read */metrics*. With *token* an operator alone: give "
			"Prometheus a token of one who views (*postern token create*). "
			"With *loopback* whoever is on this host, without a token, as long "
			"as _listen_ is an address of loopback and there is no proxy "
			"(_url_ is empty). Its target is then an address or _localhost_: "
			"any other name could be one that a page of another site has made "
			"to mean this host.",
	},
	{
		.section = "submission",
		.name = "method",
		IN_CONF(submission.method),
		.type = SETTING_CHOICE,
		.fallback = "sendmail",
		.choices = methods,
		.max = SUBMISSION_SMTP,
		.help = "How messages get into Postfix's queue. *sendmail* gives them to "
			"processes of sendmail(1), which works with any Postfix, also "
			"while it is stopped. *smtp* is several times faster: it keeps "
			"sessions to a service of Postfix that *postfix-conf/enable "
			"--submission smtp* adds to master.cf, and tells clients at once "
			"what the milter has decided. While Postfix or the milter is away, "
			"emails wait in the outbox.",
	},
	{
		.section = "submission",
		.name = "sendmail",
		IN_CONF(submission.sendmail),
		.type = SETTING_PATH,
		.fallback = "/usr/sbin/sendmail",
		.min = 1,
		.max = PATH_LENGTH,
		.reload = true,
		.help = "Postfix's sendmail(1).",
	},
	{
		.section = "submission",
		.name = "postfix_config",
		IN_CONF(submission.postfix_config),
		.type = SETTING_PATH,
		.fallback = "",
		.min = 0,
		.max = PATH_LENGTH,
		.reload = true,
		.help = "The configuration folder of the Postfix instance that takes the "
			"mail. Empty stands for the default one.",
	},
	{
		.section = "submission",
		.name = "processes",
		IN_CONF(submission.processes),
		.type = SETTING_INT,
		.fallback = "8",
		.min = 1,
		.max = 256,
		.reload = true,
		.help = "How many processes of sendmail(1), in the mode *-bs*, each worker "
			"has at once. One takes a message after another, and ends when "
			"there is none for eight seconds, or after a minute; further "
			"messages wait their turn.",
	},
	{
		.section = "submission",
		.name = "smtp_server",
		IN_CONF(submission.smtp_server),
		.type = SETTING_SERVER,
		.fallback = "",
		.min = 0,
		.max = PATH_LENGTH,
		.reload = true,
		.help = "Where smtpd(8) waits for postern-httpd: a Unix-domain socket, or "
			"an address of this host. It must take mail for all recipients and "
			"ask postern-milter. Empty stands for what *postfix-conf/enable* "
			"sets up, the socket *public/postern* in Postfix's queue folder.",
	},
	{
		.section = "submission",
		.name = "sessions",
		IN_CONF(submission.sessions),
		.type = SETTING_INT,
		.fallback = "16",
		.min = 1,
		.max = 200,
		.reload = true,
		.help = "How many SMTP sessions postern-httpd keeps at most, all workers "
			"together; each occupies an smtpd(8) process. Those that are not "
			"needed end.",
	},
	{
		.section = "submission",
		.name = "max_pending",
		IN_CONF(submission.max_pending),
		.type = SETTING_INT,
		.fallback = "1000",
		.min = 1,
		.max = 1000000,
		.reload = true,
		.help = "How many emails may be on their way into Postfix at once, those "
			"that wait for their turn included. More wait on the disk, in the "
			"outbox.",
	},
	{
		.section = "submission",
		.name = "timeout",
		IN_CONF(submission.timeout_ms),
		.type = SETTING_DURATION,
		.fallback = "1m",
		.min = SECOND,
		.max = HOUR,
		.reload = true,
		.help = "How long one submission may take, with the wait for its turn. One "
			"that takes longer is ended, and tried again.",
	},
	{
		.section = "submission",
		.name = "record_wait",
		IN_CONF(submission.record_wait_ms),
		.type = SETTING_DURATION,
		.fallback = "5s",
		.min = 0,
		.max = 10 * MINUTE,
		.reload = true,
		.help = "How long a client waits for Postfix to take its email, and for the "
			"milter to record it. After that it gets its answer all the same: "
			"the email is kept, and goes out later.",
	},
	{
		.section = "submission",
		.name = "probe_interval",
		IN_CONF(submission.probe_ms),
		.type = SETTING_DURATION,
		.fallback = "30s",
		.min = 0,
		.max = HOUR,
		.reload = true,
		.help = "How often postern-httpd submits a message of its own to try "
			"whether emails go out: whether Postfix takes them and asks the "
			"milter. It goes to nobody. What is wrong is in the log, in "
			"*/readyz*, in the metrics and on the dashboard. 0 stands for "
			"never.",
	},
	{
		.section = "submission",
		.name = "answer",
		IN_CONF(submission.answer),
		.type = SETTING_CHOICE,
		.fallback = "sent",
		.choices = answers,
		.max = ANSWER_QUEUED,
		.reload = true,
		.help = "What a client that sends waits for: *sent*, for the milter and "
			"Postfix, at most *submission.record_wait*, so that it is told what "
			"they refuse; or *queued*, until the email is durable in the outbox. "
			"Requests with more than 50 emails wait for that alone.",
	},
	{
		.section = "outbox",
		.name = "max_bytes",
		IN_CONF(outbox.max_bytes),
		.type = SETTING_BYTES,
		.fallback = "10G",
		.min = 1024 * 1024,
		.max = INT64_C(1) << 50,
		.reload = true,
		.help = "How many bytes of messages may wait to be submitted. When there are "
			"more, clients are told to come back later (503). A company may have "
			"half of what the others leave.",
	},
	{
		.section = "outbox",
		.name = "min_free",
		IN_CONF(outbox.min_free),
		.type = SETTING_BYTES,
		.fallback = "100M",
		.min = 0,
		.max = INT64_C(1) << 50,
		.reload = true,
		.help = "How many bytes of the store's disk emails leave free. With less, "
			"clients are told to come back later (503): what becomes of the emails "
			"that are there needs room, too.",
	},
	{
		.section = "outbox",
		.name = "lifetime",
		IN_CONF(outbox.lifetime_ms),
		.type = SETTING_DURATION,
		.fallback = "5d",
		.min = MINUTE,
		.max = INT64_C(30) * 24 * HOUR,
		.reload = true,
		.help = "How long an email is submitted again while Postfix or the milter do "
			"not take it. After that it has failed.",
	},
	{
		.section = "milter",
		.name = "socket",
		IN_CONF(milter.socket),
		.type = SETTING_PATH,
		.fallback = "",
		.min = 0,
		.max = SETTING_SOCKET_PATH,
		.help = "The Unix-domain socket on which postern-milter waits for Postfix. "
			"Empty stands for _postern/milter.sock_ in the queue folder of the "
			"Postfix that *submission.postfix_config* names, as _postconf -h "
			"queue\\_directory_ has it: there Postfix reaches it from a chroot "
			"too. *postfix-conf/enable* writes the same socket into main.cf.",
	},
	{
		.section = "milter",
		.name = "socket_mode",
		IN_CONF(milter.socket_mode),
		.type = SETTING_MODE,
		.fallback = "0660",
		.min = 3,
		.max = 4,
		.help = "The permissions of the socket, in octal. The user that Postfix "
			"runs as must be able to write to it.",
	},
	{
		.section = "milter",
		.name = "internal_hosts",
		IN_CONF(milter.internal_hosts),
		.type = SETTING_NETWORKS,
		.fallback = "127.0.0.0/8 [::1]/128",
		.min = 0,
		.max = 65536,
		.reload = true,
		.help = "Addresses and networks, separated by blanks or commas, whose mail "
			"counts as sent from here, so that the sending rules hold for it. "
			"Mail from elsewhere, unless it comes with a login, passes "
			"untouched. May be given in several lines, which add up. What is "
			"in an item with *!* in front (*!10.9.0.0/16*) does not count, "
			"whatever line it is in: so a network of _mynetworks_ is left "
			"out on purpose.",
	},
	{
		.section = "milter",
		.name = "refuse_local",
		IN_CONF(milter.refuse_local),
		.type = SETTING_CHOICE,
		.fallback = "hold",
		.choices = refusals,
		.max = REFUSE_LOCAL_DISCARD,
		.reload = true,
		.help = "What becomes of mail from sendmail(1) that the rules refuse; "
			"nobody waits there for an answer, as SMTP clients do. *hold*: it "
			"waits in Postfix's hold queue for an admin (*postern held list*), "
			"so that nothing is lost. *reject*: Postfix bounces it to its "
			"sender, if that is a user of this host (*passwd*(5)) in one of "
			"the _local\\_domains_; else it is held. Choose it where Postfix "
			"delivers mail for users of this host into mailboxes that are "
			"read. *discard*: it is dropped; the record of it stays (*postern "
			"email list --refused*).",
	},
	{
		.section = "milter",
		.name = "local_domains",
		IN_CONF(milter.local_domains),
		.type = SETTING_DOMAINS,
		.fallback = "",
		.min = 0,
		.max = 65536,
		.reload = true,
		.help = "Domains whose mailboxes are here, separated by blanks or commas: "
			"only to senders in them is refused mail bounced "
			"(_refuse\\_local_). postfix-conf/enable learns them from Postfix. "
			"May be given in several lines, which add up.",
	},
	{
		.section = "milter",
		.name = "refusals_kept",
		IN_CONF(milter.refusals_kept),
		.type = SETTING_INT,
		.fallback = "10000",
		.min = 100,
		.max = 1000000,
		.reload = true,
		.help = "How many refusals of mail without a ticket are remembered; the "
			"oldest give way. Equal ones count as one.",
	},
	{
		.section = "milter",
		.name = "trace_header",
		IN_CONF(milter.trace_header),
		.type = SETTING_CHOICE,
		.fallback = "off",
		.choices = switches,
		.max = 1,
		.reload = true,
		.help = "Whether emails go out with their id in a header field "
			"X-Postern-Email-Id, for whoever has to trace one back.",
	},
	{
		.section = "milter",
		.name = "timeout",
		IN_CONF(milter.timeout_ms),
		.type = SETTING_DURATION,
		.fallback = "2h",
		.min = 10 * SECOND,
		.max = 24 * HOUR,
		.help = "How long postern-milter waits for the next word of Postfix before "
			"it gives a connection up. It must be longer than Postfix's own "
			"patience with a client.",
	},
	{
		.section = "milter",
		.name = "names_max_age",
		IN_CONF(milter.names_max_age_ms),
		.type = SETTING_DURATION,
		.fallback = "1h",
		.min = 0,
		.max = 7 * 24 * HOUR,
		.reload = true,
		.help = "How long mail that uses no registered domain passes while the "
			"database is away. postern-milter keeps a copy of the names of all "
			"registered domains, and reads it anew every five seconds. While "
			"the database does not answer, mail from a name in the copy is put "
			"off, and other mail passes until the copy is older than this; "
			"then all mail that is sent from here is put off. *0* puts it off "
			"at once.",
	},
	{
		.section = "auth",
		.name = "socket",
		IN_CONF(auth.socket),
		.type = SETTING_PATH,
		.fallback = "",
		.min = 0,
		.max = SETTING_SOCKET_PATH,
		.help = "The Unix-domain socket on which postern-auth waits for Postfix's "
			"questions about SMTP logins. Empty stands for _auth.sock_ beside "
			"the socket of the milter. The service with logins names it in "
			"*smtpd\\_sasl\\_path*.",
	},
	{
		.section = "auth",
		.name = "socket_mode",
		IN_CONF(auth.socket_mode),
		.type = SETTING_MODE,
		.fallback = "0660",
		.min = 3,
		.max = 4,
		.help = "The permissions of that socket, in octal. The user that Postfix "
			"runs as must be able to write to it.",
	},
	{
		.section = "auth",
		.name = "url",
		IN_CONF(auth.url),
		.type = SETTING_SMTP_URL,
		.fallback = "",
		.min = 0,
		.max = 200,
		.help = "Where programs log in over SMTP with an API key: smtp://mail.example.com:587 "
			"(STARTTLS), or smtps://mail.example.com:465 (TLS from the start). Shown with a "
			"new key. Empty: nothing is shown. *postern setup --smtp-auth* sets it in "
			"_postern.conf.d/learnt.conf_ if it is empty.",
	},
	{
		.section = "events",
		.name = "source",
		IN_CONF(events.source),
		.type = SETTING_CHOICE,
		.fallback = "auto",
		.choices = sources,
		.max = EVENTS_JOURNAL,
		.help = "Where postern-events reads Postfix's log. *file*: in "
			"_log\\_file_. *journal*: in the journal of systemd. *auto* takes "
			"the file that Postfix itself writes to (its *maillog\\_file*), "
			"else the journal if Postfix is in it, else a file of syslog; what "
			"it took, and why, is in the log at the start.",
	},
	{
		.section = "events",
		.name = "log_file",
		IN_CONF(events.log_file),
		.type = SETTING_PATH,
		.fallback = "",
		.min = 0,
		.max = PATH_LENGTH,
		.help = "The log file. Its rotated files are looked for beside it, under "
			"names that begin with its own, packed with gzip or not. Empty "
			"stands for Postfix's *maillog\\_file*, or else the file of syslog "
			"that is there: /var/log/mail.log, /var/log/maillog.",
	},
	{
		.section = "events",
		.name = "journal",
		IN_CONF(events.journal),
		.type = SETTING_PATH,
		.fallback = "",
		.min = 0,
		.max = PATH_LENGTH,
		.help = "The folder of a journal. Empty stands for the system's own.",
	},
	{
		.section = "events",
		.name = "repair_interval",
		IN_CONF(events.repair_ms),
		.type = SETTING_DURATION,
		.fallback = "5m",
		.min = SECOND,
		.max = HOUR,
		.reload = true,
		.help = "How often postern-events compares what it knows with Postfix's "
			"queue, besides after a gap in the log: what the log did not tell "
			"is found there.",
	},
	{
		.section = "returns",
		.name = "forward_to",
		IN_CONF(returns.forward_to),
		.type = SETTING_RECIPIENT,
		.fallback = "postmaster",
		.min = 1,
		.max = 254,
		.help = "Who gets the mail that came to the return path of a domain and that "
			"postern-intake cannot read: an address, or a user of this host.",
	},
	{
		.section = "webhook",
		.name = "schemes",
		IN_CONF(webhook.schemes),
		.type = SETTING_CHOICE,
		.fallback = "https",
		.max = WEBHOOK_HTTP_TOO,
		.choices = schemes,
		.reload = true,
		.help = "Which endpoints companies may have: *https*, whose certificates are "
			"verified, or *http* too, which whoever is on the way can read.",
	},
	{
		.section = "webhook",
		.name = "allowed",
		IN_CONF(webhook.allowed),
		.type = SETTING_NETWORKS,
		.fallback = "",
		.max = 4096,
		.reload = true,
		.help = "Addresses and networks that endpoints may be at although they are not "
			"public: companies choose their endpoints, and postern-webhook can "
			"reach what they cannot. Without this it connects to no loopback, "
			"private, link-local or multicast address, whatever name leads there.",
	},
	{
		.section = "webhook",
		.name = "timeout",
		IN_CONF(webhook.timeout_ms),
		.type = SETTING_DURATION,
		.fallback = "15s",
		.min = SECOND / 10,
		.max = MINUTE,
		.reload = true,
		.help = "How long an attempt may take, from looking up the endpoint's name to the "
			"end of its answer.",
	},
	{
		.section = "webhook",
		.name = "connections",
		IN_CONF(webhook.connections),
		.type = SETTING_INT,
		.fallback = "8",
		.min = 1,
		.max = 64,
		.reload = true,
		.help = "How many attempts one endpoint may have at once. While it does not "
			"answer it has one.",
	},
	{
		.section = "webhook",
		.name = "max_connections",
		IN_CONF(webhook.max_connections),
		.type = SETTING_INT,
		.fallback = "400",
		.min = 2,
		.max = 4000,
		.reload = true,
		.help = "How many attempts all endpoints together may have at once. Half of "
			"them are for endpoints that answer.",
	},
	{
		.section = "webhook",
		.name = "disable_after",
		IN_CONF(webhook.disable_after_ms),
		.type = SETTING_AGE,
		.fallback = "5d",
		.min = SECOND,
		.max = LONGEST,
		.reload = true,
		.help = "An endpoint of which all attempts have failed for so long is disabled, "
			"with an entry in the audit log. Enabled again, it gets what had waited "
			"and what is recorded from then on.",
	},
	{
		.section = "suppression",
		.name = "bounces",
		IN_CONF(suppression.bounces),
		.type = SETTING_CHOICE,
		.fallback = "on",
		.choices = switches,
		.max = 1,
		.help = "Whether an address is put into the company's list of suppressed "
			"addresses when a remote server says that there is no such mailbox: "
			"with an enhanced status code (RFC 3463) 5.1.x, but for 5.1.7 and "
			"5.1.8, which are about the sender, or 5.2.1.",
	},
	{
		.section = "suppression",
		.name = "bounce_codes",
		IN_CONF(suppression.bounce_codes),
		.type = SETTING_CODES,
		.fallback = "",
		.min = 0,
		.max = 200,
		.help = "Further codes that say so, or beginnings of codes, with blanks "
			"between them, as *5.4.4 5.0*. Not 5.7.x, which is about a policy, and "
			"not 5.2.2, a mailbox that is full.",
	},
	{
		.section = "retention",
		.name = "content",
		IN_CONF(retention.content_ms),
		.type = SETTING_AGE,
		.fallback = "0ms",
		.max = LONGEST,
		.reload = true,
		.help = "How long text and html of an email are kept, from its request on, "
			"whatever became of it. Then they are empty. Postfix needs "
			"neither. 0 keeps them for ever, as for the other settings of this "
			"section, whose units are _ms_, _s_, _min_, _h_ and _d_: _m_ alone "
			"could be a month, and is refused. postern-httpd removes what is "
			"too old, in steps of some milliseconds. *postern email purge* "
			"removes what is named.",
	},
	{
		.section = "retention",
		.name = "emails",
		IN_CONF(retention.emails_ms),
		.type = SETTING_AGE,
		.fallback = "0ms",
		.max = LONGEST,
		.reload = true,
		.help = "How long emails are kept, with their content, their recipients "
			"and their events, from the request on, but for a day at least. An "
			"email that waits is kept: one that postern-milter has not seen "
			"yet, and one that Postfix may have yet for one of its recipients. "
			"That it has it no more postern-events tells, which therefore has "
			"to run. What *postern stats* counted stays.",
	},
	{
		.section = "retention",
		.name = "events",
		IN_CONF(retention.events_ms),
		.type = SETTING_AGE,
		.fallback = "0ms",
		.max = LONGEST,
		.reload = true,
		.help = "How long events are kept, from when they were recorded, but for "
			"those of emails that wait. What became of each recipient at last "
			"stays with the email.",
	},
	{
		.section = "retention",
		.name = "webhooks",
		IN_CONF(retention.webhooks_ms),
		.type = SETTING_AGE,
		.fallback = "7d",
		.min = 96 * HOUR,
		.max = LONGEST,
		.reload = true,
		.help = "How long what webhooks were told is kept, with the attempts: for so "
			"long it can be sent once more. It goes with its event as well. "
			"postern-webhook removes it.",
	},
	{
		.section = "retention",
		.name = "audit",
		IN_CONF(retention.audit_ms),
		.type = SETTING_AGE,
		.fallback = "0ms",
		.max = LONGEST,
		.reload = true,
		.help = "How long entries of the audit log are kept. Each change of a key, domain "
			"or other object adds one, so whoever has a managing key or a login "
			"decides how fast the log grows. _http.rate\\_limit_ bounds that of keys.",
	},
	{
		.section = "retention",
		.name = "messages",
		IN_CONF(retention.messages_ms),
		.type = SETTING_AGE,
		.fallback = "1d",
		.max = LONGEST,
		.reload = true,
		.help = "How long the message of an email is kept, with its attachments, from "
			"when it has left the outbox: Postfix has it, or it will not be sent. For "
			"so long clients can read the attachments back, and admins see the "
			"message as it was sent (*postern email raw*). Messages take the most room of all: those of a day lie in "
			"the database, and larger ones of over 32 KiB beside it. _1ms_ keeps none "
			"for longer than a minute. *retention.content* and *postern email purge* "
			"remove messages with what they remove.",
	},
	{
		.section = "retention",
		.name = "messages_max_bytes",
		IN_CONF(retention.messages_max_bytes),
		.type = SETTING_BYTES,
		.fallback = "10G",
		.min = 0,
		.max = INT64_C(1) << 50,
		.reload = true,
		.help = "How many bytes of messages that have left the outbox are kept at most: "
			"with more, the oldest go before their time is over, looked at once a "
			"minute. *postern doctor* and the overview tell for how long they are "
			"kept then. What counts are the messages, in the database and beside it: "
			"the database's file does not become smaller, but what they leave free in "
			"it is used again before it grows. Those that wait are bounded by "
			"_outbox.max\\_bytes_. _0_ sets no bound.",
	},
	{
		.section = "dns",
		.name = "server",
		IN_CONF(dns.server),
		.type = SETTING_ADDRESS,
		.fallback = "",
		.max = SETTING_SOCKET_PATH,
		.help = "The DNS server, as 192.0.2.53:53, that *postern domain check* and "
			"*postern doctor* ask. Empty: those of /etc/resolv.conf.",
	},
	{
		.section = "dns",
		.name = "addresses",
		IN_CONF(dns.addresses),
		.type = SETTING_NETWORKS,
		.fallback = "",
		.max = 65536,
		.help = "The addresses from which mail goes out, with which SPF, PTR and the "
			"name in HELO are compared. Needed behind a NAT or a relay. Empty: "
			"smtp_bind_address of Postfix, or else the public address that this "
			"host has.",
	},
	{
		.section = "dkim",
		.name = "signer",
		IN_CONF(dkim.signer),
		.type = SETTING_CHOICE,
		.fallback = "auto",
		.choices = dkim_signers,
		.max = DKIM_SIGNER_RSPAMD,
		.help = "The program whose keys and tables *postern dkim* writes. With *auto* "
			"OpenDKIM, if its settings are there, or else rspamd.",
	},
	{
		.section = "dkim",
		.name = "opendkim",
		IN_CONF(dkim.opendkim),
		.type = SETTING_PATH,
		.fallback = "/etc/opendkim.conf",
		.min = 1,
		.max = PATH_LENGTH,
		.help = "The settings of OpenDKIM, which name its tables.",
	},
	{
		.section = "dkim",
		.name = "rspamd",
		IN_CONF(dkim.rspamd),
		.type = SETTING_PATH,
		.fallback = "/etc/rspamd",
		.min = 1,
		.max = PATH_LENGTH,
		.help = "The folder of rspamd's settings.",
	},
	{
		.section = "dkim",
		.name = "keys",
		IN_CONF(dkim.keys),
		.type = SETTING_PATH,
		.fallback = "",
		.max = PATH_LENGTH,
		.help = "The folder of private keys, which the signer's user reads. Empty: "
			"/etc/dkimkeys for OpenDKIM, /var/lib/rspamd/dkim for rspamd.",
	},
	{
		.section = "limits",
		.name = "keys",
		IN_CONF(limits.keys),
		.type = SETTING_INT,
		.fallback = "10000",
		.min = 1,
		.max = 100000,
		.reload = true,
		.help = "How many valid API keys a company may have. What is asked for "
			"beyond a limit of this section is refused over HTTP, to companies "
			"and operators (422); the command *postern* may go beyond all of "
			"them. Of revoked keys as many are remembered, and the oldest give "
			"way; the audit log keeps what they were.",
	},
	{
		.section = "limits",
		.name = "domains",
		IN_CONF(limits.domains),
		.type = SETTING_INT,
		.fallback = "10000",
		.min = 1,
		.max = 100000,
		.reload = true,
		.help = "How many registered domains a company may have.",
	},
	{
		.section = "limits",
		.name = "pending_domains",
		IN_CONF(limits.pending_domains),
		.type = SETTING_INT,
		.fallback = "1000",
		.min = 1,
		.max = 100000,
		.reload = true,
		.help = "How many domains a company may ask for that wait for an operator.",
	},
	{
		.section = "limits",
		.name = "exemptions",
		IN_CONF(limits.exemptions),
		.type = SETTING_INT,
		.fallback = "10000",
		.min = 1,
		.max = 100000,
		.reload = true,
		.help = "How many exemptions there may be for the domains of a company.",
	},
	{
		.section = "limits",
		.name = "users",
		IN_CONF(limits.users),
		.type = SETTING_INT,
		.fallback = "1000",
		.min = 1,
		.max = 100000,
		.reload = true,
		.help = "How many users a company may have.",
	},
	{
		.section = "limits",
		.name = "tokens",
		IN_CONF(limits.tokens),
		.type = SETTING_INT,
		.fallback = "100",
		.min = 1,
		.max = 10000,
		.reload = true,
		.help = "How many tokens a user may have.",
	},
	{
		.section = "limits",
		.name = "webhooks",
		IN_CONF(limits.webhooks),
		.type = SETTING_INT,
		.fallback = "100",
		.min = 1,
		.max = 1000,
		.reload = true,
		.help = "How many webhooks a company may have. Over the form API each URL of "
			"each name is one.",
	},
	{
		.section = "limits",
		.name = "suppressions",
		IN_CONF(limits.suppressions),
		.type = SETTING_INT,
		.fallback = "1000000",
		.min = 1,
		.max = 10000000,
		.reload = true,
		.help = "How many suppressed addresses a company may have. Beyond that no "
			"bounce is added any more.",
	},
	{
		.section = "log",
		.name = "target",
		IN_CONF(log.target),
		.type = SETTING_CHOICE,
		.fallback = "stderr",
		.choices = targets,
		.max = LOG_TARGET_SYSLOG,
		.help = "Where log lines go: to standard error, which suits systemd, or to "
			"syslog with the facility mail.",
	},
	{
		.section = "log",
		.name = "level",
		IN_CONF(log.level),
		.type = SETTING_CHOICE,
		.fallback = "info",
		.choices = levels,
		.max = LOG_LEVEL_DEBUG,
		.reload = true,
		.help = "How much is logged; each level has those before it.",
	},
};

const size_t settings_n = ARRAY_SIZE(settings);
