/*
 * admin_attention: what needs attention, for the start page.
 *
 * Threads: the pool's.
 */
#include "httpd/admin/admin.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/metrics/metrics.h"
#include "core/ops/op_key.h"
#include "core/store/company/store_company.h"
#include "core/store/company/store_domain.h"
#include "core/store/email/store_email.h"
#include "core/store/event/store_event_count.h"
#include "core/store/delivery/store_queue_message.h"
#include "core/store/host/store_held.h"
#include "core/store/company/store_key.h"
#include "core/store/email/store_message.h"
#include "core/store/company/store_pause.h"
#include "core/store/host/store_refusal.h"
#include "core/store/company/store_suppression.h"
#include "core/store/webhook/store_webhook_event.h"
#include "httpd/json/json_query.h"
#include "httpd/outbox/outbox.h"
#include "httpd/send/probe_report.h"
#include "httpd/transport/reply.h"
#include "httpd/worker/worker.h"

/*
 * What needs attention, as text, with the page of the dashboard that shows
 * more. Each check reads an index or a bounded number of rows.
 */

enum {
	PENDING_MAX = 1000,
	LEARN_DOMAINS_MAX = 100,
	LEARN_NOTES_MAX = 200,
	EXAMPLES_MAX = 3, /* examples of a kind with several */
	REFUSED_MAX = 500,
	BOUNCES_LOOK = 1000, /* domains and days */
	BOUNCES_MIN = 10,    /* bounces of a domain in a day that need attention, */
	BOUNCES_PERCENT = 5, /* if they are at least this part of the attempts */
	DISK_PERCENT = 5,
};
#define HELD_LATE_US        (60 * SECOND_US)
#define WEBHOOK_PATIENCE_US (60 * 60 * SECOND_US)
#define DISK_BYTES          (UINT64_C(256) * 1024 * 1024)

struct attention {
	const struct request *request;
	struct db *db;
	const struct conf *conf;
	const char *company_id; /* only rows of this company; NULL: of all */
	int64_t now_us;
	json_t *data;
};

/* Adds an item. level: `problem` means that mail is stopped or unchecked;
 * `warning`, that somebody should act; `hint`, neither. */
__attribute__((format(printf, 5, 6))) static void need(struct attention *all, const char *level,
	const char *code, const char *page, const char *format, ...)
{
	char text[2 * ERR_TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	json_array_append_new(
		all->data, json_pack("{s:s, s:s, s:s, s:s, s:s}", "object", "attention", "level",
				   level, "code", code, "text", text, "page", page));
}

/* Several findings of one kind. Their item has the number and a few examples,
 * each with its page; a single one has a text of its own. */
struct group {
	json_t *examples;
	struct buf names; /* the examples as text */
	int64_t n;
};

__attribute__((format(printf, 3, 4))) static void group_add(
	struct group *group, const char *name, const char *format, ...)
{
	_cleanup_free_ char *page = NULL;
	va_list args;

	if (group->examples == NULL)
		group->examples = json_array();
	if (group->n++ >= EXAMPLES_MAX)
		return;
	va_start(args, format);
	page = mem_vprintf(format, args);
	va_end(args);
	json_array_append_new(group->examples, json_pack("{s:s, s:s}", "name", name, "page", page));
	buf_printf(&group->names, "%s%s", group->n > 1 ? ", " : "", name);
}

/* Adds the number and the examples of the group to the last item. */
static void group_end(struct attention *all, struct group *group)
{
	json_t *item = json_array_get(all->data, json_array_size(all->data) - 1);

	json_object_set_new(item, "count", json_integer(group->n));
	json_object_set_new(item, "examples", group->examples);
}

static void group_clear(struct group *group)
{
	buf_free(&group->names);
}

static const char *group_names(struct group *group)
{
	if (group->n > EXAMPLES_MAX)
		buf_add_str(&group->names, " ...");
	return buf_str(&group->names);
}

/* The advice depends on the reader: members cannot do what operators can. */
static const char *of_member(const struct attention *all, const char *member, const char *operator)
{
	return admission_company(&all->request->admission) ? member : operator;
}

static const char *plural(int64_t n)
{
	return n == 1 ? "" : "s";
}

/* Faults that no probe finds. need_waiting() has those about waiting emails. */
static void need_setup(struct attention *all, const struct worker_shared *shared)
{
	static const struct {
		enum service_fault fault;
		const char *level, *code, *page;
	} told[] = {
		{FAULT_DISK, "problem", "disk_full", "settings"},
		{FAULT_INODES, "problem", "disk_inodes", "settings"},
		{FAULT_FULL, "problem", "outbox_full", "outbox"},
		{FAULT_CROWDED, "warning", "outbox_crowded", "outbox"},
		{FAULT_SETTINGS, "warning", "reload", "settings"},
		{FAULT_SIZE, "warning", "message_size", "settings"},
	};
	struct probe_outcome outcome;

	probe_report_get(shared->probe, &outcome);
	for (size_t i = 0; i < ARRAY_SIZE(told); i++)
		if (outcome.faults[told[i].fault][0])
			need(all, told[i].level, told[i].code, told[i].page,
				"%s. What it means: %s. What to do: %s.",
				outcome.faults[told[i].fault], service_fault_effect(told[i].fault),
				service_fault_hint(told[i].fault));
	if (outcome.order[0])
		need(all, "hint", "milter_order", "settings",
			"Another milter comes before postern-milter in %s. It sees "
			"mail that postern-milter refuses, and if it signs (DKIM), it "
			"signs too early. Run postfix-conf/enable: it puts "
			"postern-milter first.",
			outcome.order);
}

static void need_parts(struct attention *all, const struct request *request)
{
	const struct worker_shared *shared = request->worker->shared;
	struct admin_part parts[PARTS];
	struct outbox_state outbox;

	admin_parts_look(request, false, parts);
	for (size_t i = 0; i < PARTS; i++)
		if (!parts[i].ok && !parts[i].told)
			need(all, "problem", parts[i].name, "settings",
				"%s. What it means: %s. What to do: %s.", parts[i].words,
				parts[i].effect, parts[i].cure);
	outbox_state_get(shared->outbox, &outbox);
	if (parts[PART_MILTER].ok && outbox.breaker.cause == BREAKER_NO_RECORDS)
		need(all, "problem", "not_in_charge", "outbox",
			"Postfix does not ask postern-milter about emails: %s. What it means: "
			"they wait in the outbox, and go out as soon as it does. What to do: "
			"run postern doctor, which finds the setting.",
			outbox.breaker.reason);
	if (outbox.breaker.cause == BREAKER_AWAY)
		need(all, "problem", "submission_paused", "outbox",
			"Postfix is not accepting emails: %s. Emails that wait in the outbox: %s. "
			"Nothing is lost; they go out by themselves once Postfix takes emails again.",
			outbox.breaker.reason, STR_COUNT(outbox.emails, 0));
	need_setup(all, shared);
}

static void need_disk(struct attention *all)
{
	const char *file = all->conf->store.database;
	const char *slash = strrchr(file, '/');
	_cleanup_free_ char *folder = slash ? mem_dup(file, (size_t)(slash - file + 1))
					    : mem_strdup(".");
	struct statvfs disk;
	uint64_t left, percent, inodes;

	if (statvfs(folder, &disk) < 0 || disk.f_blocks == 0)
		return;
	left = (uint64_t)disk.f_bavail * disk.f_frsize;
	percent = (uint64_t)disk.f_bavail * 100 / disk.f_blocks;
	/* A large message is a file of its own. Some file systems do not count inodes. */
	inodes = disk.f_files ? (uint64_t)disk.f_favail * 100 / disk.f_files : 100;
	if (left < DISK_BYTES || percent < DISK_PERCENT || inodes < DISK_PERCENT)
		need(all, "problem", "disk", "settings",
			"The disk of the database (%s) has %llu MiB left (%llu%%), and %llu%% "
			"of its inodes. When it is full, no email can be sent. Make room, or "
			"keep emails for a shorter time (retention.emails).",
			folder, (unsigned long long)(left / (1024 * 1024)),
			(unsigned long long)percent, (unsigned long long)inodes);
}

static int need_paused(struct attention *all, struct err *err)
{
	__attribute__((cleanup(group_clear))) struct group group = {0};
	struct pause_list pauses;
	int64_t emails = 0;

	if (store_pause_list(all->db, all->company_id, &pauses, err) < 0)
		return -1;
	for (size_t i = 0; i < pauses.n; i++) {
		group_add(&group, *pauses.items[i].name ? pauses.items[i].name : "a key", "outbox");
		emails += pauses.items[i].emails;
	}
	if (pauses.n > 0) {
		need(all, "warning", "paused", "outbox",
			"Outgoing emails of %s are paused; %s wait%s in the outbox. %s",
			group_names(&group), emails ? STR_COUNT(emails, 0) : "none",
			emails < 2 ? "s" : "",
			of_member(all, "An operator can resume them.",
				"The page Outbox resumes them."));
		group_end(all, &group);
	}
	store_pause_list_free(&pauses);
	return 0;
}

static int need_waiting(struct attention *all, struct err *err)
{
	struct email_waiting waiting;
	int64_t held = 0, late = 0;

	if (store_email_waiting(all->db, all->company_id, all->now_us - EMAIL_LATE_S * SECOND_US,
		    all->now_us - DAY_US, &waiting, err) < 0)
		return -1;
	if (all->company_id == NULL &&
		(store_held_count(all->db, &held, err) < 0 ||
			store_held_late(all->db, all->now_us - HELD_LATE_US, &late, err) < 0))
		return -1;
	if (waiting.staged)
		need(all, "warning", "queued", "emails?status=queued",
			"%s email%s wait%s for postern-milter to decide. %s",
			STR_COUNT(waiting.staged, EMAIL_WAITING_MAX), plural(waiting.staged),
			waiting.staged == 1 ? "s" : "",
			of_member(all, "If they wait for long, ask an operator of this server.",
				"The pages Held and Outbox say why. Once Postfix asks postern-milter "
				"again, submit them with postern held release --waiting."));
	if (waiting.lost)
		need(all, "warning", "lost", "emails?status=stopped",
			"%s email%s of the last day left Postfix's queue before "
			"postern-milter decided, and %s stopped: nobody got %s. Send "
			"again what is still needed.",
			STR_COUNT(waiting.lost, EMAIL_WAITING_MAX), plural(waiting.lost),
			waiting.lost == 1 ? "is" : "are", waiting.lost == 1 ? "it" : "them");
	if (waiting.delayed)
		need(all, "hint", "delayed", "emails?status=delivery_delayed",
			"%s email%s could not be delivered yet. Postfix tries "
			"again by itself.",
			STR_COUNT(waiting.delayed, EMAIL_WAITING_MAX), plural(waiting.delayed));
	if (held)
		need(all, "warning", "held", "held",
			"The rules had Postfix hold %s message%s. Look at what is "
			"held, and release or drop it.",
			STR_COUNT(held, 0), plural(held));
	if (late)
		need(all, "problem", "held_late", "held",
			"%s decision%s about held mail %s not carried out yet. "
			"What it means: the messages stay held. What to do: systemctl restart "
			"postern-held.",
			STR_COUNT(late, 0), plural(late), late == 1 ? "is" : "are");
	return 0;
}

/* retention.messages_max_bytes does not suffice for retention.messages. */
static int need_messages(struct attention *all, struct err *err)
{
	struct message_cut cut;
	int found = all->company_id ? 0 : store_message_last_cut(all->db, &cut, err);

	if (found > 0 && cut.cut_us > all->now_us - DAY_US)
		need(all, "hint", "messages", "settings",
			"Sent messages are removed after %lld minutes, earlier than "
			"retention.messages says, because they have reached "
			"retention.messages_max_bytes. Older emails cannot be sent "
			"again. Set a higher limit to keep them longer.",
			(long long)((cut.cut_us - cut.left_us) / (60 * SECOND_US)));
	return found < 0 ? -1 : 0;
}

/* Emails that left Postfix's queue without the milter being asked. */
static int need_left(struct attention *all, struct err *err)
{
	struct ticket_ends ends;

	if (store_ticket_ends(all->db, all->company_id, all->now_us - DAY_US, &ends, err) < 0)
		return -1;
	if (ends.left)
		need(all, "problem", "left_without_rules", "emails?status=stopped",
			"In the last day Postfix handed %s email%s to another server "
			"without asking postern-milter: mail leaves this host "
			"unchecked. Run postern doctor, which finds the setting.",
			STR_COUNT(ends.left, 0), plural(ends.left));
	if (ends.expired)
		need(all, "problem", "expired_without_rules", "emails?status=stopped",
			"In the last day Postfix gave up on %s email%s before "
			"postern-milter had decided about %s: nobody got "
			"%s. Run postern doctor.",
			STR_COUNT(ends.expired, 0), plural(ends.expired),
			ends.expired == 1 ? "it" : "them", ends.expired == 1 ? "it" : "them");
	return 0;
}

static int need_pending(struct attention *all, struct err *err)
{
	__attribute__((cleanup(group_clear))) struct group group = {0};
	_cleanup_free_ char *page = NULL;
	char first[ID_SIZE] = "";
	struct domain_list list;

	if (store_domain_list_marked(all->db, NULL, DOMAIN_PENDING, PENDING_MAX, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.n; i++)
		group_add(&group, list.items[i].name, "domains/%s", list.items[i].id);
	if (list.n > 0)
		memcpy(first, list.items[0].id, sizeof(first));
	store_domain_list_free(&list);
	if (group.n == 0)
		return 0;
	page = mem_printf("domains/%s", first);
	if (group.n == 1)
		need(all, "warning", "pending", page,
			"A company has requested the domain %s. Activate it, or remove "
			"the request.",
			group_names(&group));
	else
		need(all, "warning", "pending", "domains",
			"Companies have requested %s domains (%s). Activate them, "
			"or remove the requests.",
			STR_COUNT(group.n, PENDING_MAX), group_names(&group));
	group_end(all, &group);
	return 0;
}

/* The number of messages of the domain that passed although its rules would
 * stop them, from at most LEARN_NOTES_MAX notes. -1 on error. */
static int64_t count_learnt(
	struct db *db, const struct domain *domain, bool *or_more_r, struct err *err)
{
	const struct refusal_scope scope = {
		.domain = domain->name,
		.company_id = domain->company_id,
		.learnt_only = true,
	};
	struct refusal_list list;
	int64_t n = 0;

	if (store_refusal_list(db, &scope, LEARN_NOTES_MAX, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.n; i++)
		n += list.items[i].count;
	*or_more_r = list.n == LEARN_NOTES_MAX;
	store_refusal_list_free(&list);
	return n;
}

static int need_learning(struct attention *all, struct err *err)
{
	static const char exempt[] = "Add exemptions for who may send, then choose exclusive.";
	static const char exempt_by_operator[] =
		"An operator can add exemptions for who may send, and choose exclusive.";
	__attribute__((cleanup(group_clear))) struct group group = {0};
	struct domain_list list;
	int64_t messages = 0;
	bool or_more = false;
	int result = 0;

	if (store_domain_list_marked(
		    all->db, all->company_id, DOMAIN_LEARNING, LEARN_DOMAINS_MAX, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.n && result == 0; i++) {
		bool or_more_of_it = false;
		int64_t n = count_learnt(all->db, &list.items[i], &or_more_of_it, err);

		if (n > 0)
			group_add(&group, list.items[i].name, "refusals?domain=%s",
				list.items[i].name);
		if (n < 0)
			result = -1;
		messages += n;
		or_more |= or_more_of_it;
	}
	store_domain_list_free(&list);
	if (result < 0 || group.n == 0)
		return result;
	if (group.n == 1) {
		const char *name = group_names(&group);
		_cleanup_free_ char *page = mem_printf("refusals?domain=%s", name);

		need(all, "warning", "learnt", page,
			"%s has the policy learn. The policy exclusive would have "
			"stopped %s message%s. %s",
			name, STR_COUNT(messages, or_more ? messages : 0), plural(messages),
			of_member(all, exempt_by_operator, exempt));
	} else {
		need(all, "warning", "learnt", "refusals?learnt=true",
			"%s domains have the policy learn. The policy exclusive "
			"would have stopped %s messages (%s). %s",
			STR_COUNT(group.n, LEARN_DOMAINS_MAX),
			STR_COUNT(messages, or_more ? messages : 0), group_names(&group),
			of_member(all, exempt_by_operator, exempt));
	}
	group_end(all, &group);
	return 0;
}

/* True if an earlier email of the list has the same key. */
static bool is_counted(const struct email_list *list, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (str_eq(list->items[k].key_id, list->items[i].key_id))
			return true;
	return false;
}

static void note_failing(struct attention *all, struct group *group, const char *key_id)
{
	struct company company = {0};
	_cleanup_free_ char *whose = NULL;
	struct key key;

	if (store_key_find_any(all->db, all->company_id, key_id, &key, NULL) <= 0) {
		group_add(group, "one that was removed", "emails?status=refused&key_id=%s", key_id);
		return;
	}
	/* Operators see keys of many companies, which may have the same name. */
	if (all->company_id == NULL &&
		store_company_get(all->db, key.company_id, &company, NULL) > 0)
		whose = mem_printf(
			"%s of %s", str_empty(key.name) ? key.id : key.name, company.name);
	store_company_clear(&company);
	group_add(group,
		whose                 ? whose
		: str_empty(key.name) ? key.id
				      : key.name,
		"emails?status=refused&key_id=%s", key_id);
	store_key_clear(&key);
}

/* Keys whose emails the milter refused, from the latest refused emails. */
static int need_failing_keys(struct attention *all, struct err *err)
{
	const struct email_scope scope = {.company_id = all->company_id};
	__attribute__((cleanup(group_clear))) struct group group = {0};
	_cleanup_free_ char *page = NULL;
	struct email_list list;
	size_t n = 0;

	if (store_email_list_refused(all->db, &scope, REFUSED_MAX, &list, err) < 0)
		return -1;
	/* The list has the newest first. */
	while (n < list.n && list.items[n].decided_us >= all->now_us - DAY_US)
		n++;
	for (size_t i = 0; i < n; i++)
		if (!is_counted(&list, i))
			note_failing(all, &group, list.items[i].key_id);
	if (group.n == 1) {
		page = mem_printf("emails?status=refused&key_id=%s", list.items[0].key_id);
		need(all, "warning", "key_refused", page,
			"The rules refused %s email%s of the key \"%s\" in the last day: %s",
			STR_COUNT((int64_t)n, REFUSED_MAX), plural((int64_t)n), group_names(&group),
			list.items[0].refusal);
	} else if (group.n > 1) {
		need(all, "warning", "key_refused", "emails?status=refused",
			"The rules refused %s emails of %s keys in the last day (%s). The "
			"newest: %s",
			STR_COUNT((int64_t)n, REFUSED_MAX), STR_COUNT(group.n, 0),
			group_names(&group), list.items[0].refusal);
	}
	if (group.n > 0)
		group_end(all, &group);
	store_email_list_free(&list);
	return 0;
}

static int need_keys(struct attention *all, struct err *err)
{
	struct key_idle idle;

	if (store_key_idle(all->db, all->company_id, all->now_us - OP_KEY_UNUSED_DAYS * DAY_US,
		    all->now_us - OP_KEY_FORGOTTEN_DAYS * DAY_US, &idle, err) < 0)
		return -1;
	if (idle.unused)
		need(all, "hint", "keys_unused", "keys?idle=unused",
			"%s key%s %s created over %d days ago and never used. "
			"Revoke keys that nobody needs.",
			STR_COUNT(idle.unused, KEY_IDLE_LOOK), plural(idle.unused),
			idle.unused == 1 ? "was" : "were", OP_KEY_UNUSED_DAYS);
	if (idle.forgotten)
		need(all, "hint", "keys_forgotten", "keys?idle=forgotten",
			"%s key%s %s not used for %d days. Revoke keys that nobody "
			"needs.",
			STR_COUNT(idle.forgotten, KEY_IDLE_LOOK), plural(idle.forgotten),
			idle.forgotten == 1 ? "was" : "were", OP_KEY_FORGOTTEN_DAYS);
	return 0;
}

static int need_bounces(struct attention *all, struct err *err)
{
	__attribute__((cleanup(group_clear))) struct group group = {0};
	int64_t all_good = 0, all_bad = 0;
	struct event_counts counts;

	if (store_event_bounces(
		    all->db, all->company_id, all->now_us - DAY_US, BOUNCES_LOOK, &counts, err) < 0)
		return -1;
	for (size_t i = 0; i < counts.n;) {
		const char *domain = counts.items[i].domain;
		int64_t good = 0, bad = 0;

		for (; i < counts.n && str_eq(counts.items[i].domain, domain); i++) {
			enum event_kind kind = counts.items[i].kind;

			if (kind == EVENT_DELIVERED)
				good += counts.items[i].count;
			else if (kind == EVENT_BOUNCED || kind == EVENT_EXPIRED)
				bad += counts.items[i].count;
		}
		if (bad < BOUNCES_MIN || bad * 100 < (good + bad) * BOUNCES_PERCENT)
			continue;
		group_add(&group, domain, "emails?status=bounced&domain=%s", domain);
		all_good += good;
		all_bad += bad;
	}
	store_event_counts_free(&counts);
	if (group.n == 1) {
		const char *domain = group_names(&group);
		_cleanup_free_ char *page = mem_printf("emails?status=bounced&domain=%s", domain);

		need(all, "warning", "bounces", page,
			"%s of %s deliveries from %s bounced in the last day (%lld%%).",
			STR_COUNT(all_bad, 0), STR_COUNT(all_good + all_bad, 0), domain,
			(long long)(all_bad * 100 / (all_good + all_bad)));
	} else if (group.n > 1) {
		need(all, "warning", "bounces", "emails?status=bounced",
			"%s of %s deliveries from %s domains (%s) bounced in the last day "
			"(%lld%%).",
			STR_COUNT(all_bad, 0), STR_COUNT(all_good + all_bad, 0),
			STR_COUNT(group.n, 0), group_names(&group),
			(long long)(all_bad * 100 / (all_good + all_bad)));
	}
	if (group.n > 0)
		group_end(all, &group);
	return 0;
}

/* Endpoints that fail, and those that were disabled for it. */
static int need_webhooks(struct attention *all, struct err *err)
{
	struct webhook_trouble trouble;
	int64_t before_us = all->now_us - WEBHOOK_PATIENCE_US;

	if (store_webhook_trouble(all->db, all->company_id, before_us, &trouble, err) < 0)
		return -1;
	if (trouble.disabled == 1 && trouble.failing == 0)
		need(all, "warning", "webhook_disabled", "webhooks?trouble=1",
			"The webhook %s is disabled because all attempts failed for "
			"days. Its program gets no events. Repair the endpoint, then "
			"enable the webhook.",
			trouble.endpoint);
	else if (trouble.disabled)
		need(all, "warning", "webhook_disabled", "webhooks?trouble=1",
			"%s webhook%s disabled because all attempts failed for "
			"days. Their programs get no events. Repair the endpoints, "
			"then enable the webhooks.",
			STR_COUNT(trouble.disabled, WEBHOOK_TROUBLE_MAX),
			trouble.disabled == 1 ? " is" : "s are");
	if (trouble.failing == 1 && trouble.disabled == 0)
		need(all, "warning", "webhook_failing", "webhooks?trouble=1",
			"All attempts to reach the webhook %s have failed for over an "
			"hour. Each event is tried for three days: repair the endpoint "
			"before they are over.",
			trouble.endpoint);
	else if (trouble.failing)
		need(all, "warning", "webhook_failing", "webhooks?trouble=1",
			"All attempts to reach %s webhook%s have failed for over "
			"an hour. Each event is tried for three days: repair the "
			"endpoints before they are over.",
			STR_COUNT(trouble.failing, WEBHOOK_TROUBLE_MAX), plural(trouble.failing));
	free(trouble.endpoint);
	return 0;
}

/* Tells operators that webhook events are not sent. */
static int need_deliveries(struct attention *all, struct err *err)
{
	char words[ERR_TEXT_MAX];
	int still = store_webhook_stands_still(all->db,
		metrics_webhook_runs(all->request->worker->shared->database_path), all->now_us,
		words, err);

	if (still > 0)
		need(all, "problem", "webhooks", "webhooks",
			"%s. What it means: programs get no events of their emails; the "
			"events wait, and nothing is lost. What to do: systemctl restart "
			"postern-webhook, and read its log (journalctl -u "
			"postern-webhook).",
			words);
	return still < 0 ? -1 : 0;
}

/* Suppression lists that are full, so bounces and complaints are not added. */
static int need_room(struct attention *all, struct err *err)
{
	_cleanup_free_ char *name = NULL;
	int64_t max = all->conf->limits.suppressions, n = 0;

	if (store_suppression_full(all->db, all->company_id, max, &n, &name, err) < 0)
		return -1;
	if (n > 0)
		need(all, "warning", "suppressions_full", "suppressions",
			"The list of suppressed addresses of %s%s is full "
			"(limits.suppressions, %s). Addresses that bounce or "
			"complain are not added any more, and get further emails. "
			"Remove entries, or set a higher limit.",
			name, n > 1 ? " and of others" : "", STR_COUNT(max, 0));
	return 0;
}

static const struct {
	int (*look)(struct attention *all, struct err *err);
	bool operators; /* for operators only */
	const char *what;
} needs[] = {
	{need_left, false, "whether mail leaves without being checked"},
	{need_waiting, false, "how many emails wait"},
	{need_messages, false, "how long messages are kept"},
	{need_paused, false, "which emails are paused"},
	{need_pending, true, "which domains are requested"},
	{need_deliveries, true, "whether webhook events are sent"},
	{need_webhooks, false, "which webhooks fail"},
	{need_room, false, "which lists of suppressed addresses are full"},
	{need_learning, false, "what the policy learn has let through"},
	{need_bounces, false, "which domains bounce"},
	{need_failing_keys, false, "which keys have refused emails"},
	{need_keys, false, "which keys nobody uses"},
};

/* Each check stands alone: the failure of one is also an item. */
void admin_attention_list(struct request *request)
{
	static const char *const names[] = {"company_id", NULL};
	struct problem problem = PROBLEM_INIT;
	struct attention all = {
		.request = request,
		.db = request->db,
		.conf = request->conf,
		.now_us = clock_now_us(request->worker->shared->clock),
	};
	struct json_query query;

	if (json_query_read(request, names, &query, &problem) < 0) {
		reply_problem(request, &problem);
		return;
	}
	all.company_id = admin_query_company(request, &query);
	all.data = json_array();
	if (all.company_id == NULL) {
		need_parts(&all, request);
		need_disk(&all);
	}
	for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
		struct err err = ERR_INIT;

		if ((needs[i].operators && all.company_id) || needs[i].look(&all, &err) == 0)
			continue;
		log_error(request->worker->log, "attention_failed", "error", err.text);
		need(&all, "problem", "not_known", "settings", "Postern could not find out %s%s%s.",
			needs[i].what, all.company_id ? "" : ": ", all.company_id ? "" : err.text);
	}
	admin_reply_list(request, 0, all.data, "attention_failed", NULL);
}
