/*
 * op_host: the hosts that share the database.
 */
#include "core/ops/op_host.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/store/store_audit.h"
#include "core/store/host/store_host.h"

struct host {
	char *name;
	char *state;   /* `well`, `trouble`, `lost` */
	char *problem; /* in words; "" for none */
	char *version;
	int64_t first_us;
	int64_t seen_us; /* last heartbeat of its postern-httpd, which has the outbox */
	int64_t taken;
};

static const struct row_field host_fields[] = {
	ROW_FIELD(host, name, ROW_TEXT),
	ROW_FIELD(host, state, ROW_TEXT),
	ROW_FIELD(host, problem, ROW_TEXT),
	ROW_FIELD(host, version, ROW_TEXT),
	ROW_FIELD(host, first_us, ROW_TIME),
	ROW_FIELD(host, seen_us, ROW_TIME),
	ROW_FIELD(host, taken, ROW_INT64),
};
static const struct row_type host_type = ROW_TYPE(host, host_fields);

static bool is_late(const struct host_part *part, int64_t now_us)
{
	return now_us - part->seen_us > HOST_LATE_S * SECOND_US;
}

/* Makes one of the parts of a host, the n first ones of the list. */
static void fill_host(const struct host_part *parts, size_t n, int64_t now_us, struct host *host)
{
	struct buf words = BUF_INIT;
	char seen[CLOCK_TEXT_SIZE];
	bool lost = true;

	*host = (struct host){.name = mem_strdup(parts->host), .first_us = parts->first_us};
	for (size_t i = 0; i < n; i++) {
		const struct host_part *part = &parts[i];
		bool is_httpd = str_eq(part->part, "httpd");

		clock_iso8601(part->seen_us, seen);
		if (is_late(part, now_us))
			buf_printf(&words, "%spostern-%s: no heartbeat since %.10s %.8sZ",
				words.len ? "; " : "", part->part, seen, seen + 11);
		else if (!str_empty(part->problem))
			buf_printf(&words, "%spostern-%s: %s", words.len ? "; " : "", part->part,
				part->problem);
		if (part->first_us < host->first_us)
			host->first_us = part->first_us;
		if (is_httpd)
			lost = is_late(part, now_us);
		if (is_httpd || host->version == NULL) {
			free(host->version);
			host->version = mem_strdup(part->version);
			host->seen_us = part->seen_us;
			host->taken = part->taken;
		}
	}
	host->state = mem_strdup(lost ? "lost" : words.len > 0 ? "trouble" : "well");
	host->problem = words.len > 0 ? buf_take(&words) : mem_strdup("");
}

static int read_hosts(
	struct db *db, int64_t now_us, struct host **hosts_r, size_t *n_r, struct err *err)
{
	struct host_list list;
	size_t first = 0;

	*hosts_r = NULL;
	*n_r = 0;
	if (store_host_list(db, &list, err) < 0)
		return -1;
	for (size_t i = 1; i <= list.n; i++) {
		if (i < list.n && str_eq(list.items[i].host, list.items[first].host))
			continue;
		*hosts_r = mem_append(*hosts_r, *n_r, sizeof(**hosts_r));
		fill_host(&list.items[first], i - first, now_us, &(*hosts_r)[(*n_r)++]);
		first = i;
	}
	store_host_list_free(&list);
	return 0;
}

int host_summary(struct db *db, int64_t now_us, struct buf *words, struct err *err)
{
	_cleanup_buf_ struct buf others = BUF_INIT;
	struct host *hosts;
	size_t n, well = 0;

	if (read_hosts(db, now_us, &hosts, &n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (str_eq(hosts[i].state, "well"))
			well++;
		else
			buf_printf(&others, "%s %s %s", others.len ? "," : ";", hosts[i].name,
				hosts[i].state);
	if (n > 0 && well == n)
		buf_printf(words, "%zu, all well", n);
	else if (n > 0)
		buf_printf(words, "%zu, %zu well%s", n, well, buf_str(&others));
	row_list_free(&host_type, hosts, n);
	return 0;
}

static int list_hosts(struct op *op, const void *arg, struct err *err)
{
	static const struct page_end end = {0};
	struct host *hosts;
	size_t n;

	(void)arg;
	if (read_hosts(op->db, op->now_us, &hosts, &n, err) < 0)
		return -1;
	op_give_page(op, &host_type, hosts, n, &end);
	return 1;
}

static int remove_host(struct op *op, const void *arg, struct err *err)
{
	struct host_list list;
	bool found = false, alive = false;
	int64_t seen_us = 0;

	(void)arg;
	if (store_host_list(op->db, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.n; i++) {
		bool is = str_eq(list.items[i].host, op->object);

		found |= is;
		alive |= is && !is_late(&list.items[i], op->now_us);
		if (is && list.items[i].seen_us > seen_us)
			seen_us = list.items[i].seen_us;
	}
	store_host_list_free(&list);
	if (!found)
		return 0;
	if (alive)
		return err_set(err, ERR_INVALID,
			"a program of %s has written a heartbeat in the last %d seconds; stop the "
			"daemons there first",
			op->object, HOST_LATE_S);
	if (store_host_remove(op->db, op->object, op->now_us, err) < 0 ||
		store_audit_add(op->db,
			&(struct audit_action){.action = "host.remove",
				.object_id = op->object,
				.object_name = op->object,
				.after = json_pack("{s:o}", "seen_at", row_json_time(seen_us))},
			err) < 0)
		return -1;
	json_object_set_new(op_more(op), "name", json_string(op->object));
	json_object_set_new(op_more(op), "removed", json_true());
	return 1;
}

const struct operation op_host_list = {.list = OP_WHOLE, .run = list_hosts};
const struct operation op_host_remove = {.run = remove_host};
