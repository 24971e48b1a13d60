/*
 * doctor_store: the database, and waiting emails.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "cli/held_target.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/db/db_file.h"
#include "core/metrics/metrics.h"
#include "core/postfix/postfix_queue.h"
#include "core/store/outbox/store_backlog.h"
#include "core/store/email/store_email.h"
#include "core/store/host/store_log.h"
#include "core/store/host/store_held.h"
#include "core/store/host/store_later_refusal.h"
#include "core/store/email/store_message.h"
#include "core/store/company/store_suppression.h"
#include "core/store/webhook/store_webhook_event.h"

#define MIB (INT64_C(1024) * 1024)
enum { CHECKED_MIB = 256, WAL_MIB = 256, STAGED_S = 3600 };

/* Checks the owner of SQLite's files. */
static void look_at_owner(struct doctor *doctor)
{
	static const char *const ends[] = {"", "-wal", "-shm"};
	const char *database = doctor->conf->store.database;
	_cleanup_free_ char *folder = db_file_folder(database);
	struct stat of_folder, info;
	bool good = true;

	if (stat(folder, &of_folder) < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		_cleanup_free_ char *file = mem_printf("%s%s", database, ends[i]);

		if (stat(file, &info) < 0)
			continue;
		if (info.st_uid != of_folder.st_uid) {
			_cleanup_free_ char *owner = mem_printf(
				"%u:%u", (unsigned)of_folder.st_uid, (unsigned)of_folder.st_gid);

			doctor_say(doctor, "owner", DOCTOR_WRONG,
				"%s does not belong to the owner of its directory: a command was run "
				"as another user",
				file);
			doctor_mend(doctor, "chown", owner, file, NULL);
			good = false;
		}
		if (info.st_mode & 07) {
			doctor_say(doctor, "secrets", DOCTOR_WRONG,
				"%s has mode %o: everybody may read it", file,
				(unsigned)info.st_mode & 07777);
			doctor_mend(doctor, "chmod", "o-rwx", file, NULL);
			good = false;
		}
		if (i == 1 && info.st_size > WAL_MIB * MIB)
			doctor_say(doctor, "wal", DOCTOR_WARNING,
				"%s has %" PRId64 " MiB: a program keeps a read transaction open",
				file, (int64_t)info.st_size / MIB);
	}
	if (good)
		doctor_say(doctor, "owner", DOCTOR_GOOD,
			"the database belongs to the owner of its directory");
}

/* True if a line of the file contains the text. */
static bool file_contains(const char *path, const char *text)
{
	_cleanup_free_ char *line = NULL;
	FILE *file = fopen(path, "re");
	bool contains = false;
	size_t size = 0;

	while (file && !contains && getline(&line, &size, file) >= 0)
		contains = strstr(line, text) != NULL;
	if (file)
		fclose(file);
	return contains;
}

/* Checks if everybody may read the password in store.url. The daemons may be among those who read
 * the file as others: then it needs their group, that of the store's directory, first. */
static void look_at_password(struct doctor *doctor)
{
	_cleanup_free_ char *folder = db_file_folder(doctor->conf->store.database);
	_cleanup_strv_ struct strv files = STRV_INIT;
	const char *url = doctor->conf->store.url;
	struct stat of_folder, info;

	if (!db_url_has_password(url) || stat(folder, &of_folder) < 0)
		return;
	conf_files(doctor->conf_path, &files);
	for (size_t i = 0; i < files.n; i++) {
		const char *file = files.items[i];

		if (stat(file, &info) < 0 || (info.st_mode & 07) == 0 || !file_contains(file, url))
			continue;
		if (info.st_gid != of_folder.st_gid) {
			_cleanup_free_ char *group = mem_printf("%u", (unsigned)of_folder.st_gid);

			doctor_say(doctor, "secrets", DOCTOR_WRONG,
				"%s, which holds the password of store.url, does not belong to the "
				"group of the daemons",
				file);
			doctor_mend(doctor, "chgrp", group, file, NULL);
		}
		doctor_say(doctor, "secrets", DOCTOR_WRONG,
			"%s, which holds the password of store.url, has mode %o: everybody may "
			"read it",
			file, (unsigned)info.st_mode & 07777);
		doctor_mend(doctor, "chmod", "o-rwx,g+r", file, NULL);
	}
}

static void look_at_integrity(struct doctor *doctor)
{
	struct err err = ERR_INIT;
	struct stat info;

	if (!str_empty(doctor->conf->store.url))
		info.st_size = 0;
	else if (stat(doctor->conf->store.database, &info) < 0)
		return;
	if (info.st_size > CHECKED_MIB * MIB)
		doctor_say(doctor, "integrity", DOCTOR_UNKNOWN,
			"the database has %" PRId64 " MiB: run postern db check to check it",
			(int64_t)info.st_size / MIB);
	else if (db_check(doctor->db, &err) < 0)
		doctor_say(doctor, "integrity", DOCTOR_WRONG, "%s", err.text);
	else
		doctor_say(doctor, "integrity", DOCTOR_GOOD, "%s",
			str_empty(doctor->conf->store.url)
				? "the database is intact"
				: "no index and no constraint of the database is invalid");
}

static void look_at_lock(struct doctor *doctor)
{
	_cleanup_free_ char *who = NULL;

	if (db_blocker(doctor->db, &who, NULL) == 1)
		doctor_say(doctor, "database", DOCTOR_WRONG,
			"nobody else can write to the database, since %s has had a transaction "
			"open for some seconds: end that, or the program",
			who);
}

/* Finds the newest file in the folder. Backups may have any name, since other programs make them,
 * too. Unfinished ones do not count, nor what SQLite keeps beside one that is open. Returns 1, 0 if
 * there is none, -1 with errno. The caller frees the path. */
static int newest_file(const char *folder, char **path_r, struct stat *info_r)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	struct stat info;

	*path_r = NULL;
	if (dir == NULL)
		return errno == ENOENT ? 0 : -1;
	while ((entry = readdir(dir)) != NULL) {
		if (strstr(entry->d_name, ".part") || strstr(entry->d_name, "-wal") ||
			strstr(entry->d_name, "-shm") ||
			fstatat(dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) < 0 ||
			!S_ISREG(info.st_mode) || (*path_r && info.st_mtime <= info_r->st_mtime))
			continue;
		free(*path_r);
		*path_r = mem_printf("%s/%s", folder, entry->d_name);
		*info_r = info;
	}
	closedir(dir);
	return *path_r != NULL;
}

/* Checks a backup that is a file of SQLite and not too large. Returns 0, or -1 if it is damaged. */
static int check_backup(
	const struct doctor *doctor, const char *path, int64_t bytes, struct err *err)
{
	static const char magic[] = "SQLite format 3";
	_cleanup_(db) struct db *db = NULL;
	char head[sizeof(magic)];
	ssize_t n;
	int fd;

	if (doctor->briefly || bytes > CHECKED_MIB * MIB)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, head, sizeof(head));
	close(fd);
	if (n != sizeof(head) || memcmp(head, magic, sizeof(magic)) != 0)
		return 0;
	return db_open(path, DB_READ, &db, err) < 0 ? -1 : db_check(db, err);
}

static void look_at_backup(struct doctor *doctor)
{
	const struct conf *conf = doctor->conf;
	_cleanup_free_ char *path = NULL;
	struct err err = ERR_INIT;
	struct stat info = {0};
	int64_t age_us;
	int found;

	if (str_empty(conf->backup.folder))
		return;
	found = newest_file(conf->backup.folder, &path, &info);
	if (found < 0) {
		doctor_say(doctor, "backup", DOCTOR_UNKNOWN, "cannot read backup.folder %s: %m",
			conf->backup.folder);
		return;
	}
	age_us = found ? doctor->now_us - info.st_mtime * SECOND_US : 0;
	if (found == 0)
		doctor_say(doctor, "backup", DOCTOR_WARNING, "there is no backup in %s",
			conf->backup.folder);
	else if (age_us >= conf->backup.max_age_ms * 1000)
		doctor_say(doctor, "backup", DOCTOR_WARNING,
			"the newest backup, %s, is %" PRId64 " hours old", path, age_us / HOUR_US);
	else if (check_backup(doctor, path, info.st_size, &err) < 0)
		doctor_say(doctor, "backup", DOCTOR_WARNING, "the newest backup is damaged: %s",
			err.text);
	else {
		doctor_say(doctor, "backup", DOCTOR_GOOD,
			"the newest backup, %s, is %" PRId64 " hours old", path, age_us / HOUR_US);
		return;
	}
	if (!str_empty(conf->store.url))
		return; /* the server's programs make them */
	if (str_eq(doctor->conf_path, CONF_DEFAULT_PATH))
		doctor_mend(doctor, "postern", "db", "backup", NULL);
	else
		doctor_mend(doctor, "postern", "-c", doctor->conf_path, "db", "backup", NULL);
}

/* The milter replaces a ticket by the recipients before the message is queued. A probe has a null
 * sender. */
static int count_waiting(void *arg, struct queue_item *item, struct err *err)
{
	char ticket[SECRET_TICKET_SIZE];

	(void)err;
	if (str_eq(item->queue, "deferred") && *item->sender && held_find_ticket(item, ticket))
		++*(int64_t *)arg;
	return 0;
}

/* Emails and messages that are stuck, were lost or refused, or are removed early, and hosts whose
 * circuit breaker is open. */
static void look_at_emails(struct doctor *doctor)
{
	_cleanup_(postfix_queue) struct postfix_queue *queue = NULL;
	_cleanup_free_ char *refusal = NULL;
	struct email_waiting waiting;
	struct break_list breaks = {0};
	char since[CLOCK_TEXT_SIZE];
	struct message_cut cut;
	int64_t held, refused, unasked = 0;

	if (store_email_waiting(doctor->db, NULL, doctor->now_us - STAGED_S * SECOND_US,
		    doctor->now_us - DAY_US, &waiting, NULL) == 0) {
		if (waiting.staged)
			doctor_say(doctor, "staged", DOCTOR_WARNING,
				"emails waiting for the milter for over an hour: %" PRId64,
				waiting.staged);
		if (waiting.lost)
			doctor_say(doctor, "staged", DOCTOR_WARNING,
				"emails of the last day that never reached the milter, and are "
				"no longer in Postfix's queue: %" PRId64,
				waiting.lost);
	}
	if (store_held_count(doctor->db, &held, NULL) == 0 && held > 0)
		doctor_say(doctor, "held", DOCTOR_WARNING,
			"messages on hold because of the rules: %" PRId64, held);
	if (store_break_list(doctor->db, BREAKS_KEPT, &breaks, NULL) == 0)
		for (size_t i = 0; i < breaks.n; i++) {
			if (breaks.items[i].closed_us > 0)
				continue;
			clock_iso8601(breaks.items[i].opened_us, since);
			doctor_say(doctor, "outbox", DOCTOR_WRONG,
				"since %s no email could be handed to Postfix: %s", since,
				breaks.items[i].words);
		}
	store_break_list_free(&breaks);
	if (store_message_last_cut(doctor->db, &cut, NULL) == 1 &&
		cut.cut_us > doctor->now_us - DAY_US)
		doctor_say(doctor, "messages", DOCTOR_WARNING,
			"messages are kept for %" PRId64
			" minutes at present, which is shorter than retention.messages: they "
			"take more than retention.messages_max_bytes",
			(cut.cut_us - cut.left_us) / (60 * SECOND_US));
	if (store_later_refusal_count(
		    doctor->db, doctor->now_us - HOUR_US, &refused, &refusal, NULL) == 0 &&
		refused > 0)
		doctor_say(doctor, "refused", DOCTOR_WARNING,
			"messages of the last hour that passed the rules, but were then refused by "
			"Postfix, usually because of another milter: %" PRId64
			"%s, the last one "
			"with: %s",
			refused, refused < LATER_REFUSALS_MAX ? "" : " or more", refusal);
	if (doctor->is_root && postfix_queue_open(doctor->conf, &queue, NULL) == 0 &&
		postfix_queue_each(queue, count_waiting, &unasked, NULL) == 0 && unasked > 0) {
		doctor_say(doctor, "staged", DOCTOR_WRONG,
			"messages in Postfix's queue that have not passed the milter: %" PRId64,
			unasked);
		doctor_mend(doctor, "postern", "held", "release", "--waiting", NULL);
	}
}

static void look_at_log(struct doctor *doctor)
{
	struct log_state state;
	char since[CLOCK_TEXT_SIZE];

	if (store_log_state(doctor->db, NULL, &state, NULL) < 0)
		return;
	if (state.mute_us) {
		clock_iso8601(state.mute_us, since);
		doctor_say(doctor, "log", DOCTOR_WRONG,
			"Postfix's log has shown none of its mail since %s: is syslog running? If "
			"the disk of the log was full, run postfix reload",
			since);
	} else if (state.end_us == 0) {
		doctor_say(doctor, "log", DOCTOR_UNKNOWN,
			"postern-events has not reached the end of Postfix's log yet");
	} else if (!log_state_is_current(&state, doctor->now_us)) {
		doctor_say(doctor, "log", DOCTOR_WRONG,
			"postern-events is %" PRId64 " minutes behind Postfix's log",
			(doctor->now_us - state.end_us) / SECOND_US / 60);
		if (doctor->has_units)
			doctor_mend(doctor, "systemctl", "restart", "postern-events", NULL);
	} else {
		doctor_say(doctor, "log", DOCTOR_GOOD,
			"postern-events has read Postfix's log to its end");
	}
	if (state.gaps)
		doctor_say(doctor, "log", DOCTOR_WARNING,
			"missing parts of Postfix's log: %" PRId64
			"; the status of emails from that time is looked up in the queue",
			state.gaps);
}

/* Checks that webhooks receive their events. */
static void look_at_webhooks(struct doctor *doctor)
{
	const char *database = doctor->conf->store.database;
	struct webhook_trouble trouble;
	char words[ERR_TEXT_MAX];
	/* root can see the process. */
	bool runs = doctor->is_root || metrics_webhook_runs(database);
	int still = store_webhook_stands_still(doctor->db, runs, doctor->now_us, words, NULL);

	if (still > 0) {
		doctor_say(doctor, "webhook", DOCTOR_WRONG, "%s", words);
		if (doctor->has_units)
			doctor_mend(doctor, "systemctl", "restart", "postern-webhook", NULL);
	} else if (still == 0) {
		doctor_say(doctor, "webhook", DOCTOR_GOOD, "webhooks are up to date");
	}
	if (store_webhook_trouble(doctor->db, NULL, doctor->now_us - HOUR_US, &trouble, NULL) < 0)
		return;
	if (trouble.disabled + trouble.failing > 0)
		doctor_say(doctor, "endpoints", DOCTOR_WARNING,
			"webhooks disabled after failing for days: %" PRId64
			", failing for over an hour: %" PRId64 "; one of them is %s",
			trouble.disabled, trouble.failing, trouble.endpoint);
	free(trouble.endpoint);
}

static void look_at_suppressions(struct doctor *doctor)
{
	_cleanup_free_ char *name = NULL;
	int64_t n = 0;

	if (store_suppression_full(
		    doctor->db, NULL, doctor->conf->limits.suppressions, &n, &name, NULL) == 0 &&
		n > 0)
		doctor_say(doctor, "suppressions", DOCTOR_WARNING,
			"lists of suppressed addresses that are full (limits.suppressions): "
			"%" PRId64 ", one of them that of %s",
			n, name);
}

void doctor_look_at_store(struct doctor *doctor)
{
	if (str_empty(doctor->conf->store.url))
		look_at_owner(doctor);
	else
		look_at_password(doctor);
	if (doctor->db == NULL)
		return;
	look_at_lock(doctor);
	if (!doctor->briefly)
		look_at_integrity(doctor);
	look_at_backup(doctor);
	if (!doctor->is_set_up)
		return;
	look_at_emails(doctor);
	look_at_log(doctor);
	look_at_webhooks(doctor);
	look_at_suppressions(doctor);
}
