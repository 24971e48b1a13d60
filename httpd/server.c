/*
 * server: the listening sockets, the workers, and what they share.
 *
 * It owns what the workers share. Start and stop mirror each other, with one
 * exception: workers end in two steps. First their threads end. They are freed
 * after the pool and the committer, whose last tasks they run.
 *
 * Threads: the main one.
 */
#include "httpd/server.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/daemon.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/socket.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/store/email/store_message.h"
#include "core/postfix/postconf.h"
#include "core/db/committer.h"
#include "core/db/db_pool.h"
#include "core/db/db_watch.h"
#include "core/db/migrate.h"
#include "core/postfix/postfix_run.h"
#include "httpd/worker/work_pool.h"
#include "httpd/worker/worker.h"
#include "httpd/admin/admin.h"
#include "httpd/admin/login_throttle.h"
#include "httpd/housekeeping.h"
#include "httpd/recurring.h"
#include "httpd/admission/budget.h"
#include "httpd/transport/listener.h"
#include "core/policy/rate.h"
#include "httpd/send/idempotency.h"
#include "httpd/inject/inject.h"
#include "httpd/inject/smtp_server.h"
#include "httpd/routes.h"
#include "httpd/outbox/outbox.h"
#include "httpd/send/probe_report.h"
#include "httpd/send/prober.h"
#include "httpd/worker_thread.h"

enum { ROUND_MS = 1000 };

/* A company occupies at most one of them, see work_pool.h. */
enum { DNS_THREADS = 2 };

/* The number of connections for short reads of a database server is the number of cores, within
 * these bounds. */
enum { LOOKUP_THREADS_MIN = 4, LOOKUP_THREADS_MAX = 16 };

/* How long such a read may wait for the server; see doc/THREADS.md. */
enum { LOOKUP_WAIT_MS = 500 };

struct server {
	char *conf_path;
	struct conf *conf; /* the caller's */
	char *database;    /* see conf.h */
	char *store;       /* see conf_store() */
	int64_t started_us;
	int64_t postfix_limit; /* message_size_limit in bytes; 0 for none or unknown */
	char *own_domains; /* domains that Postfix delivers here; NULL if unknown or not needed */
	struct log *log;
	struct housekeeping *housekeeping;
	struct smtp_watch smtp; /* for submission.smtp_server */
	struct budget budget;
	atomic_size_t connections;
	atomic_bool takes_hyphen;    /* see struct worker_shared */
	struct worker_shared shared; /* the server owns what it points to */
	/* What the admin worker gets in place of shared. It differs in the members that follow. */
	struct worker_shared admin_shared;
	struct budget admin_budget;
	atomic_size_t admin_connections;
	struct login_throttle *logins;
	struct socket *socket, *admin_socket; /* Unix-domain sockets; NULL if not used */
	bool socket_lost, admin_socket_lost;  /* could not be made again, which was logged */
	struct web *web;
	struct worker_thread **workers;      /* the admin worker is the last */
	const struct worker_counts **counts; /* the counts of each worker */
	int workers_n;                       /* without the admin worker */
	int threads_n;                       /* with the admin worker, if there is one */
};

/* Parses Postfix's message_size_limit, in bytes. Returns 0 for none or unknown. */
static int64_t read_limit(const struct server *server, const struct conf *conf, const char *value)
{
	int64_t limit;

	if (str_int(value, 0, INT64_MAX, &limit) < 0) {
		log_warn(server->log, "postfix_unknown", "message_size_limit", value);
		return 0;
	}
	if (limit > 0 && limit < conf->http.max_message_bytes)
		log_warn(server->log, "postfix_limit_lower", "setting", "http.max_message_bytes",
			"bytes", LOG_INT(conf->http.max_message_bytes), "message_size_limit",
			LOG_INT(limit));
	return limit;
}

/* Reads settings of Postfix, so that a request is refused for what Postfix
 * would refuse, or bounce after sendmail(1). If they cannot be read, sending
 * still works, and Postfix itself refuses. Only submission by SMTP without
 * submission.smtp_server needs the queue directory. */
static int learn_postfix(struct server *server, struct conf *conf, struct err *err)
{
	enum { LIMIT, MIN_USER, QUEUE, N };
	static const char *const names[N] = {
		[LIMIT] = "message_size_limit",
		[MIN_USER] = "allow_min_user",
		[QUEUE] = "queue_directory",
	};
	bool queue_needed = conf->submission.method == SUBMISSION_SMTP &&
			    str_empty(conf->submission.smtp_server);
	struct err why = ERR_INIT;
	char *values[N];

	if (postconf_read(conf->submission.postfix_config, names, N, values, &why) < 0) {
		if (queue_needed)
			return err_copy(err, &why);
		log_warn(server->log, "postfix_unknown", "error", why.text);
		server->postfix_limit = 0;
		server->takes_hyphen = false;
		return 0;
	}
	server->postfix_limit = read_limit(server, conf, values[LIMIT]);
	server->takes_hyphen = str_eq_nocase(values[MIN_USER], "yes");
	postfix_run_watch(server->shared.run, values[QUEUE]);
	if (queue_needed) {
		free(conf->submission.smtp_server);
		conf->submission.smtp_server = mem_printf(
			"unix:%s/" SMTP_SERVER_SOCKET, values[QUEUE]);
	}
	for (size_t i = 0; i < N; i++)
		free(values[i]);
	return 0;
}

/* The milter's socket is checked to tell why mail waits. Sending works without
 * it. */
static void find_milter_socket(struct server *server, struct conf *conf)
{
	struct err why = ERR_INIT;

	if (postconf_find_milter_socket(conf, &why) < 0)
		log_warn(server->log, "milter_socket_unknown", "error", why.text);
}

/* Reads Postfix's own domains, if companies may activate domains themselves. */
static void learn_domains(struct server *server)
{
	_cleanup_(postconf_domains) struct postconf_domains *domains = NULL;
	struct err err = ERR_INIT;

	free(server->own_domains);
	server->own_domains = NULL;
	if (server->conf->http.domain_activation == ACTIVATION_OPERATOR)
		return;
	if (postconf_domains_read(server->conf->submission.postfix_config, &domains, &err) < 0 ||
		postconf_domains_names(domains, &server->own_domains, &err) < 0)
		log_warn(server->log, "domain_activation_by_operator_only", "setting",
			"http.domain_activation", "why", err.text);
}

static void watch_smtp(struct server *server)
{
	if (server->conf->submission.method != SUBMISSION_SMTP)
		return;
	smtp_watch_begin(&server->smtp, server->conf->submission.smtp_server, server->log);
	smtp_watch_look(&server->smtp, clock_monotonic_us());
}

/* The settings for one worker: its share of limits that apply to all workers,
 * with Postfix's domains among the local ones. The admin worker gets them
 * unchanged. */
static struct conf *share_of(const struct server *server, int worker)
{
	struct conf *share = conf_copy(server->conf);
	char *listed = share->milter.local_domains;
	int64_t n = server->workers_n;

	if (worker == server->workers_n)
		return share;
	share->http.max_connections = (share->http.max_connections + n - 1) / n;
	share->submission.sessions = (share->submission.sessions + n - 1) / n;
	/* No company may activate a domain that Postfix delivers here. If these are unknown, only
	 * operators activate. */
	if (server->own_domains == NULL) {
		share->http.domain_activation = ACTIVATION_OPERATOR;
		return share;
	}
	share->milter.local_domains = mem_printf("%s %s", listed, server->own_domains);
	free(listed);
	return share;
}

/* The admin worker has a thread, memory and connections of its own, so that
 * admins and clients of the API do not slow each other down. */
static void prepare_admin(struct server *server)
{
	int listen_fd = server->admin_shared.listen_fd;
	bool on_loopback = server->admin_shared.on_loopback;

	server->admin_shared = server->shared;
	server->admin_shared.listen_fd = listen_fd;
	server->admin_shared.on_loopback = on_loopback;
	server->admin_shared.is_admin = true;
	server->admin_shared.logins = server->logins;
	server->admin_shared.web = server->web;
	server->admin_shared.routes = admin_routes;
	server->admin_shared.budget = &server->admin_budget;
	server->admin_shared.connections = &server->admin_connections;
	server->admin_shared.workers = 1;
	server->admin_shared.api = &server->shared;
	server->admin_shared.counts = server->counts;
	server->admin_shared.counts_n = (size_t)server->threads_n + 1;
	server->admin_shared.started_us = server->started_us;
}

/* The address of a listener, from its settings. */
struct endpoint {
	const char *setting;
	const char *address;
	const char *mode, *group; /* mode and group of a Unix-domain socket */
};

static int bind_endpoint(const struct endpoint *endpoint, int *fd_r, struct socket **socket_r,
	char name_r[static LISTENER_NAME_SIZE], struct err *err)
{
	const struct socket_use use = {"postern-httpd", endpoint->setting,
		"under /run, RuntimeDirectory= of the unit makes it"};
	const char *path;
	int result;

	if (str_starts(endpoint->address, LISTENER_UNIX)) {
		path = endpoint->address + strlen(LISTENER_UNIX);
		snprintf(name_r, LISTENER_NAME_SIZE, "%s", endpoint->address);
		result = socket_lock(path, &use, socket_r, err);
		if (result == 0)
			result = listener_bind_path(path, fd_r, err);
		if (result == 0)
			result = socket_publish(*socket_r, endpoint->mode, endpoint->group, err);
	} else {
		result = listener_bind(endpoint->address, fd_r, name_r, err);
	}
	return result < 0 ? err_prefix(err, "%s", endpoint->setting) : 0;
}

static struct endpoint api_endpoint(const struct conf *conf)
{
	return (struct endpoint){
		"http.listen", conf->http.listen, conf->http.socket_mode, conf->http.socket_group};
}

static struct endpoint admin_endpoint(const struct conf *conf)
{
	return (struct endpoint){"admin.listen", conf->admin.listen, conf->admin.socket_mode,
		conf->admin.socket_group};
}

static int bind_admin(struct server *server, const struct conf *conf, struct err *err)
{
	const struct endpoint endpoint = admin_endpoint(conf);
	char name[LISTENER_NAME_SIZE];

	if (str_empty(conf->admin.listen))
		return 0;
	if (bind_endpoint(&endpoint, &server->admin_shared.listen_fd, &server->admin_socket, name,
		    err) < 0)
		return -1;
	if (*conf->admin.url && str_empty(conf->http.trusted_proxies))
		log_warn(server->log, "proxy_not_trusted", "setting", "http.trusted_proxies",
			"effect", "all who come by the proxy of admin.url are one client");
	server->admin_shared.on_loopback = listener_is_on_loopback(server->admin_shared.listen_fd);
	server->web = web_new(WEB_PACKAGED, server->log);
	log_info(server->log, "admin_listening", "address", name);
	return 0;
}

static int start_workers(struct server *server, const struct conf *conf, struct err *err)
{
	learn_domains(server);
	server->workers_n = conf->http.workers ? (int)conf->http.workers : get_nprocs();
	server->threads_n = server->workers_n + !str_empty(conf->admin.listen);
	server->shared.workers = (size_t)server->workers_n;
	server->workers = mem_alloc((size_t)server->threads_n, sizeof(*server->workers));
	server->counts = mem_alloc((size_t)server->threads_n + 1, sizeof(*server->counts));
	server->counts[server->threads_n] = outbox_counts(server->shared.outbox);
	prepare_admin(server);
	for (int i = 0; i < server->threads_n; i++) {
		const struct worker_shared *shared = i == server->workers_n ? &server->admin_shared
									    : &server->shared;

		if (worker_thread_new(shared, share_of(server, i), server->postfix_limit,
			    &server->workers[i], err) < 0)
			return -1;
		if (i == 0)
			worker_thread_probe(server->workers[i]);
		server->counts[i] = worker_thread_counts(server->workers[i]);
		/* The admin worker, started last, reads the counts of all. */
		if (worker_thread_start(server->workers[i], err) < 0)
			return -1;
	}
	return 0;
}

/* The outbox has the processes of sendmail(1) of all workers. */
static struct conf *outbox_share(const struct server *server)
{
	struct conf *share = conf_copy(server->conf);
	int64_t workers = share->http.workers ? share->http.workers : get_nprocs();

	share->submission.processes *= workers;
	return share;
}

/* Adds what makes /readyz answer that this host is not ready, except for what is seen from
 * outside. */
static int64_t tell_host(const struct worker_shared *shared, struct buf *words)
{
	struct probe_outcome outcome;

	probe_report_get(shared->probe, &outcome);
	if (!probe_serves(outcome.finding))
		buf_printf(words, "%s", probe_finding_words(outcome.finding));
	for (enum service_fault i = 0; i < SERVICE_FAULTS; i++)
		if (outcome.faults[i][0])
			buf_printf(words, "%s%s", words->len ? "; " : "", service_fault_words(i));
	if (outcome.reader != READER_WELL)
		buf_printf(
			words, "%s%s", words->len ? "; " : "", reader_fault_words(outcome.reader));
	return probe_report_read(shared->probe);
}

static void hosts_seen(
	const struct worker_shared *shared, const char *own, const struct host_list *hosts)
{
	probe_report_set_hosts(shared->probe, own, hosts);
}

static int read_link_key(struct db *db, void *server, struct err *err)
{
	return store_message_link_key(db, ((struct server *)server)->shared.link_key, err);
}

/* Each thread waits for the server most of the time. */
static int start_lookups(struct server *server, struct err *err)
{
	size_t cores = (size_t)get_nprocs();
	size_t threads = cores < LOOKUP_THREADS_MIN   ? LOOKUP_THREADS_MIN
			 : cores < LOOKUP_THREADS_MAX ? cores
						      : LOOKUP_THREADS_MAX;

	if (db_watch_new(server->store, &server->shared.server, err) < 0)
		return -1;
	server->shared.lookup_handles = db_pool_new(server->store, threads);
	db_pool_set_wait(server->shared.lookup_handles, LOOKUP_WAIT_MS);
	server->shared.lookups = work_pool_new(threads);
	return server->shared.lookups ? 0 : err_set(err, ERR_TEMPORARY, "cannot start threads");
}

static int start_server(struct server *server, const struct conf *conf, struct err *err)
{
	static const struct outbox_hooks hooks = {probe_report_recorded, tell_host, hosts_seen};
	const struct endpoint endpoint = api_endpoint(conf);
	size_t threads = get_nprocs() > 2 ? (size_t)get_nprocs() : 2;
	char name[LISTENER_NAME_SIZE];

	if (migrate_check_name(server->store, err) < 0 ||
		inject_settings_check(server->conf, err) < 0 ||
		learn_postfix(server, server->conf, err) < 0)
		return -1;
	/* A second process, started by accident, ends here, before it takes over the outbox. */
	if (bind_endpoint(&endpoint, &server->shared.listen_fd, &server->socket, name, err) < 0 ||
		bind_admin(server, conf, err) < 0)
		return -1;
	if (committer_new(server->store, &server->shared.committer, err) < 0 ||
		(db_is_url(server->store) && start_lookups(server, err) < 0) ||
		outbox_new(&server->shared, outbox_share(server), &hooks, &server->shared.outbox,
			err) < 0)
		return -1;
	if (committer_run(server->shared.committer, read_link_key, server, err) < 0)
		return -1;
	outbox_withhold(server->shared.outbox,
		conf->submission.probe_ms > 0 && prober_tickets_leave(server->conf));
	server->shared.pool = work_pool_new(threads);
	server->shared.dns = work_pool_new(DNS_THREADS);
	server->shared.readers = db_pool_new(server->store, threads + DNS_THREADS);
	if (server->shared.pool == NULL || server->shared.dns == NULL)
		return err_set(err, ERR_TEMPORARY, "cannot start threads");
	server->housekeeping = housekeeping_new(
		server->shared.committer, &clock_system, server->log);
	housekeeping_set(server->housekeeping, server->conf);
	if (start_workers(server, conf, err) < 0 || outbox_start(server->shared.outbox, err) < 0)
		return -1;
	log_info(server->log, "listening", "address", name, "workers", LOG_INT(server->workers_n));
	watch_smtp(server);
	return 0;
}

int server_start(const char *conf_path, struct conf *conf, struct log *log,
	struct server **server_r, struct err *err)
{
	struct server *server = mem_new(struct server);

	server->conf_path = mem_strdup(conf_path);
	server->conf = conf;
	server->database = mem_strdup(conf->store.database);
	server->store = mem_strdup(conf_store(conf));
	server->log = log;
	server->started_us = clock_now_us(&clock_system);
	server->shared.listen_fd = -1;
	server->admin_shared.listen_fd = -1;
	server->logins = login_throttle_new();
	server->shared.database_path = server->database;
	server->shared.store = server->store;
	server->shared.routes = routes;
	server->shared.log = log;
	server->shared.clock = &clock_system;
	server->shared.budget = &server->budget;
	server->shared.connections = &server->connections;
	server->shared.takes_hyphen = &server->takes_hyphen;
	server->shared.rates = rate_table_new();
	server->shared.running = running_new();
	server->shared.run = postfix_run_new();
	server->shared.probe = probe_report_new(log);
	daemon_raise_descriptor_limit();
	find_milter_socket(server, conf);
	if (start_server(server, conf, err) < 0) {
		server_stop(server);
		return -1;
	}
	*server_r = server;
	return 0;
}

static int complete_settings(void *arg, struct conf *fresh, struct err *err)
{
	(void)err;
	find_milter_socket(arg, fresh);
	return 0;
}

static int apply_settings(void *arg, struct conf *next, struct err *err)
{
	struct server *server = arg;
	_cleanup_buf_ struct buf restart = BUF_INIT; /* nothing that conf_reread() has not found */

	if (inject_settings_check(next, err) < 0 || learn_postfix(server, next, err) < 0)
		return -1;
	conf_reload(server->conf, next, &restart);
	housekeeping_set(server->housekeeping, server->conf);
	learn_domains(server);
	for (int i = 0; i < server->threads_n; i++)
		worker_thread_reload(
			server->workers[i], share_of(server, i), server->postfix_limit);
	outbox_reload(server->shared.outbox, outbox_share(server));
	return 0;
}

void server_reload(struct server *server)
{
	const struct conf_reader reader = {
		.complete = complete_settings, .apply = apply_settings, .arg = server};
	struct err err = ERR_INIT;
	int result = conf_reread(server->conf, server->conf_path, server->log, &reader, &err);

	if (result == 0)
		watch_smtp(server);
	probe_report_set_fault(server->shared.probe, FAULT_SETTINGS, result < 0 ? err.text : "");
}

/* Removes the file: there are no new clients, and another postern-httpd may
 * listen there. */
static void remove_socket(struct socket **socket)
{
	if (*socket)
		socket_hide(*socket);
	socket_free(TAKE_PTR(*socket));
}

/* A listener on a Unix-domain socket, and the threads that accept from it. */
struct listen_socket {
	struct endpoint endpoint;
	struct socket **socket;
	int *listen_fd;
	int first, end; /* of the workers */
	bool *lost;     /* could not be made again, which was logged */
};

/* Makes the socket again, if no other file is in its place. */
static int move_socket(struct server *server, const struct listen_socket *where, struct err *err)
{
	struct socket **socket = where->socket;
	char name[LISTENER_NAME_SIZE];
	int fd = -1;

	socket_free(TAKE_PTR(*socket));
	if (bind_endpoint(&where->endpoint, &fd, socket, name, err) < 0) {
		if (fd >= 0) {
			remove_socket(socket);
			close(fd);
		}
		socket_free(TAKE_PTR(*socket));
		return -1;
	}
	for (int i = where->first; i < where->end; i++)
		worker_thread_listen(server->workers[i], fd);
	close(*where->listen_fd);
	*where->listen_fd = fd;
	log_warn(server->log, "socket_made_anew", "setting", where->endpoint.setting, "socket",
		name);
	return 0;
}

/* Notices when the socket's file is gone or replaced, so that new clients
 * cannot connect. A foreign file in its place is left alone, and the next round
 * tries again. */
static void watch_socket(struct server *server, const struct listen_socket *where)
{
	const struct socket *socket = *where->socket;
	struct err err = ERR_INIT;
	bool failed;

	if (!str_starts(where->endpoint.address, LISTENER_UNIX) ||
		(socket && socket_is_named(socket)))
		return;
	failed = move_socket(server, where, &err) < 0;
	if (failed && !*where->lost)
		log_error(server->log, "socket_gone", "error", err.text);
	*where->lost = failed;
}

int server_round(struct server *server)
{
	const struct listen_socket api = {api_endpoint(server->conf), &server->socket,
		&server->shared.listen_fd, 0, server->workers_n, &server->socket_lost};
	const struct listen_socket admin = {admin_endpoint(server->conf), &server->admin_socket,
		&server->admin_shared.listen_fd, server->workers_n, server->threads_n,
		&server->admin_socket_lost};
	bool busy = housekeeping_round(server->housekeeping, clock_monotonic_us());

	smtp_watch_look(&server->smtp, clock_monotonic_us());
	watch_socket(server, &api);
	watch_socket(server, &admin);
	return busy ? RECURRING_STEP_MS : ROUND_MS;
}

static void stop_workers(struct server *server)
{
	for (int i = 0; i < server->threads_n; i++)
		if (server->workers[i])
			worker_thread_drain(server->workers[i]);
	remove_socket(&server->socket);
	remove_socket(&server->admin_socket);
	/* The workers' own descriptors keep the socket open until they drain.
	 * Then new clients are refused at once instead of waiting in the
	 * backlog. */
	if (server->shared.listen_fd >= 0)
		close(server->shared.listen_fd);
	server->shared.listen_fd = -1;
	if (server->admin_shared.listen_fd >= 0)
		close(server->admin_shared.listen_fd);
	server->admin_shared.listen_fd = -1;
	for (int i = 0; i < server->threads_n; i++)
		if (server->workers[i])
			worker_thread_join(server->workers[i]);
}

void server_stop(struct server *server)
{
	stop_workers(server);
	outbox_stop(server->shared.outbox);
	work_pool_free(server->shared.lookups);
	work_pool_free(server->shared.pool);
	work_pool_free(server->shared.dns);
	db_pool_free(server->shared.lookup_handles);
	db_pool_free(server->shared.readers);
	db_watch_free(server->shared.server);
	/* Runs the last jobs, perhaps those of the housekeeping. What they post to
	 * the workers runs when those are freed. */
	committer_free(server->shared.committer);
	server->shared.committer = server->admin_shared.committer = NULL;
	outbox_free(server->shared.outbox);
	housekeeping_free(server->housekeeping);
	for (int i = 0; i < server->threads_n; i++)
		worker_thread_free(server->workers[i]);
	free(server->workers);
	free(server->counts);
	web_free(server->web);
	login_throttle_free(server->logins);
	probe_report_free(server->shared.probe);
	postfix_run_free(server->shared.run);
	running_free(server->shared.running);
	rate_table_free(server->shared.rates);
	free(server->own_domains);
	free(server->database);
	free(server->store);
	free(server->conf_path);
	free(server);
}
