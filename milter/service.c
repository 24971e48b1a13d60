/*
 * service: the store, the log and the settings that callbacks use.
 *
 * Start and end mirror each other: handles are opened before the socket is, and
 * closed after the last decision. Threads: any, but for open, close and free.
 */
#include "milter/service.h"

#include "core/db/migrate.h"
#include "milter/origin.h"

/* Reading a ticket takes microseconds: more handles would only wait for cores. */
enum { READERS = 16 };

/* Fails where the first message otherwise would. */
static int check_database(const char *path, struct err *err)
{
	_cleanup_(db) struct db *db = NULL;

	if (db_open(path, DB_READ, &db, err) < 0)
		return -1;
	return migrate_check(db, err);
}

static int parse_hosts(
	const struct conf *conf, struct cidr_list *hosts_r, struct err *err)
{
	if (cidr_list_parse(conf->milter.internal_hosts, hosts_r, err) < 0)
		return err_prefix(err, "milter.internal_hosts");
	return 0;
}

int service_open(const struct conf *conf, struct log *log,
	struct service **service_r, struct err *err)
{
	struct cidr_list hosts = CIDR_LIST_INIT;
	struct committer *committer;
	struct service *service;

	if (parse_hosts(conf, &hosts, err) < 0)
		return -1;
	if (check_database(conf->store.database, err) < 0 ||
		committer_new(conf->store.database, &committer, err) < 0) {
		cidr_list_clear(&hosts);
		return -1;
	}
	service = mem_new(struct service);
	service->log = log;
	service->clock = &clock_system;
	service->readers = db_pool_new(conf->store.database, READERS);
	service->committer = committer;
	service->drain = drain_new();
	service->internal_hosts = hosts;
	pthread_rwlock_init(&service->lock, NULL);
	*service_r = service;
	return 0;
}

int service_reload(
	struct service *service, const struct conf *conf, struct err *err)
{
	struct cidr_list hosts = CIDR_LIST_INIT, old;

	if (parse_hosts(conf, &hosts, err) < 0)
		return -1;
	log_set_level(service->log, (enum log_level)conf->log.level);
	pthread_rwlock_wrlock(&service->lock);
	old = service->internal_hosts;
	service->internal_hosts = hosts;
	pthread_rwlock_unlock(&service->lock);
	cidr_list_clear(&old);
	return 0;
}

enum mail_origin service_origin(
	struct service *service, const struct sockaddr *peer)
{
	enum mail_origin origin;

	pthread_rwlock_rdlock(&service->lock);
	origin = origin_of(peer, &service->internal_hosts);
	pthread_rwlock_unlock(&service->lock);
	return origin;
}

void service_close(struct service *service)
{
	drain_close(service->drain);
	committer_free(service->committer);
	db_pool_free(service->readers);
}

void service_free(struct service *service)
{
	drain_free(service->drain);
	cidr_list_clear(&service->internal_hosts);
	pthread_rwlock_destroy(&service->lock);
	free(service);
}
