/*
 * doctor_host: the daemons, their units, sockets and rights, the disks and the
 * clock.
 */
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "cli/process.h"
#include "core/base/cidr.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/socket.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/db/db_file.h"
#include "core/postfix/postconf.h"
#include "core/store/host/store_held.h"
#include "core/store/webhook/store_webhook.h"

enum {
	RESTARTS_MANY = 3,
	SYNCS = 20,
	SYNC_BYTES = 4096,
	SYNC_SLOW_US = 20 * 1000,
	HEALTH_S = 10,
	HEALTH_TRIES = 5,
	HEALTH_PAUSE_US = 1000 * 1000,
	HEALTH_FRESH_US = 30 * 1000 * 1000,
	DISK_PERCENT = 5,
	WEBHOOKS_LOOKED_AT = 100,
	DECISION_US = 60 * 1000 * 1000,
};
#define DISK_BYTES (INT64_C(1024) * 1024 * 1024)

static const char *const daemons[] = {"postern-milter", "postern-httpd", "postern-events",
	"postern-webhook", "postern-auth", "postern-held"};

static void mend_by_restart(struct doctor *doctor, const char *name)
{
	if (doctor->has_units)
		doctor_mend(doctor, "systemctl", "restart", name, NULL);
}

/* True if the process is in the group, or this user may not see it. */
static bool process_has_group(pid_t pid, gid_t wanted)
{
	_cleanup_free_ char *path = mem_printf("/proc/%ld/status", (long)pid);
	FILE *file = fopen(path, "re");
	char line[4096];
	bool has = file == NULL;

	while (file && fgets(line, sizeof(line), file)) {
		char *at = line, *word;

		if (!str_starts(line, "Groups:") && !str_starts(line, "Gid:"))
			continue;
		strsep(&at, ":");
		while ((word = strsep(&at, " \t\n")) != NULL) {
			int64_t gid;

			has |= str_int(word, 0, UINT32_MAX, &gid) == 0 && (gid_t)gid == wanted;
		}
	}
	if (file)
		fclose(file);
	return has;
}

static bool user_has_group(const struct passwd *user, gid_t wanted)
{
	gid_t groups[256];
	int n = ARRAY_SIZE(groups);

	if (getgrouplist(user->pw_name, user->pw_gid, groups, &n) < 0)
		return true;
	while (n-- > 0)
		if (groups[n] == wanted)
			return true;
	return false;
}

/* Checks if somebody has removed the database that the process has open, or its log: what the
 * process reads is outdated, and it writes nothing. */
static void look_at_database_of(struct doctor *doctor, const char *name, pid_t pid)
{
	static const char *const suffixes[] = {"", "-wal", "-shm"};
	const char *path = doctor->conf->store.database;
	_cleanup_free_ char *real = realpath(path, NULL);

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		_cleanup_free_ char *file = mem_printf("%s%s", real ? real : path, suffixes[i]);
		_cleanup_free_ char *removed = mem_printf("%s (deleted)", file);

		if (!process_has_open(pid, removed))
			continue;
		doctor_say(doctor, "database", DOCTOR_WRONG,
			"%s (process %ld) has %s open, which was removed or replaced: restart it",
			name, (long)pid, file);
		mend_by_restart(doctor, name);
		return;
	}
}

static void look_at_process(struct doctor *doctor, const char *name, pid_t pid)
{
	_cleanup_free_ char *folder = mem_printf("/proc/%ld", (long)pid);
	bool replaced = false;
	_cleanup_free_ char *program = process_program(pid, &replaced);
	const char *group_name = doctor->parameters[POSTFIX_GROUP];
	const struct group *group = group_name ? getgrnam(group_name) : NULL;
	const struct passwd *user;
	struct stat info;

	if (program && replaced) {
		doctor_say(doctor, "program", DOCTOR_WARNING,
			"%s (process %ld) is running a program file that has been replaced", name,
			(long)pid);
		mend_by_restart(doctor, name);
	}
	look_at_database_of(doctor, name, pid);
	if (stat(folder, &info) < 0)
		return;
	if (info.st_uid == 0 && doctor->is_installed)
		doctor_say(doctor, "rights", DOCTOR_WRONG,
			"%s (process %ld) runs as root: its unit has User=postern", name,
			(long)pid);
	user = getpwuid(info.st_uid);
	if (str_eq(name, "postern-milter") || group == NULL || user == NULL || info.st_uid == 0)
		return;
	if (!user_has_group(user, group->gr_gid)) {
		doctor_say(doctor, "groups", DOCTOR_WRONG,
			"the user %s is not in the group %s, which is needed to submit mail to Postfix",
			user->pw_name, group_name);
		doctor_mend(doctor, "usermod", "-aG", group_name, user->pw_name, NULL);
	}
	if (process_has_group(pid, group->gr_gid))
		return;
	doctor_say(doctor, "groups", DOCTOR_WRONG,
		"%s (process %ld) is not in the group %s, which is needed to submit mail to Postfix",
		name, (long)pid, group_name);
	mend_by_restart(doctor, name);
}

/* Returns the value in lines of NAME=VALUE. The caller frees it. */
static char *property(const char *lines, const char *name)
{
	_cleanup_free_ char *start = mem_printf("%s=", name);
	_cleanup_strv_ struct strv list = STRV_INIT;

	strv_split(&list, lines, '\n');
	for (size_t i = 0; i < list.n; i++)
		if (str_starts(list.items[i], start))
			return mem_strdup(list.items[i] + strlen(start));
	return mem_strdup("");
}

/* before is the Before= of the milter's unit. The unit that runs Postfix, postfix@-.service in
 * Debian 12 and postfix.service in Debian 13, is the last part of master(8)'s control group. */
static void look_at_boot_order(struct doctor *doctor, const char *name, const char *before)
{
	_cleanup_free_ char *path = NULL, *postfix = NULL;
	_cleanup_strv_ struct strv units = STRV_INIT;
	struct process master;
	char line[4096];
	FILE *file;

	if (!process_find_postfix(doctor->parameters[POSTFIX_QUEUE], &master))
		return;
	path = mem_printf("/proc/%ld/cgroup", (long)master.pid);
	file = fopen(path, "re");
	while (file && postfix == NULL && fgets(line, sizeof(line), file)) {
		const char *last = strrchr(line, '/');

		if (last && str_starts(last, "/postfix") && strstr(last, ".service\n"))
			postfix = mem_dup(last + 1, strcspn(last + 1, "\n"));
	}
	if (file)
		fclose(file);
	strv_split(&units, before, ' ');
	if (postfix == NULL || strv_has(&units, postfix))
		return;
	doctor_say(doctor, "boot_order", DOCTOR_WARNING,
		"%s is not started before %s, which runs Postfix: systemctl edit %s, with "
		"Before=%s in [Unit]",
		name, postfix, name, postfix);
}

static bool is_below(const char *path, const char *folders)
{
	_cleanup_strv_ struct strv list = STRV_INIT;

	strv_split(&list, folders, ' ');
	for (size_t i = 0; i < list.n; i++) {
		const char *folder = list.items[i];
		size_t len;

		folder += strspn(folder, "-+");
		len = strlen(folder);
		if (len && strncmp(path, folder, len) == 0 && strchr("/", path[len]))
			return true;
	}
	return false;
}

/* Checks if the sandbox keeps the daemon from writing to Postfix's queue: systemd.exec(5),
 * ProtectSystem= and ProtectHome=. */
static void look_at_sandbox(struct doctor *doctor, const char *name, const char *said)
{
	const char *queue = doctor->parameters[POSTFIX_QUEUE];
	_cleanup_free_ char *system = property(said, "ProtectSystem");
	_cleanup_free_ char *home = property(said, "ProtectHome");
	_cleanup_free_ char *writable = property(said, "ReadWritePaths");
	bool hidden, read_only;

	if (queue == NULL || str_eq(name, "postern-webhook"))
		return;
	hidden = !str_eq(home, "no") && is_below(queue, "/home /root /run/user");
	read_only = (str_eq(system, "strict") ||
			    (!str_eq(system, "no") && is_below(queue, "/usr /boot")) ||
			    (str_eq(system, "full") && is_below(queue, "/etc"))) &&
		    !is_below(queue, writable);
	if (hidden || read_only)
		doctor_say(doctor, "sandbox", DOCTOR_WRONG,
			"%s may not write to Postfix's queue %s: systemctl edit %s, with %s%s in "
			"[Service]",
			name, queue, name,
			hidden ? "ProtectHome=no" : "ReadWritePaths=", hidden ? "" : queue);
}

static void look_at_unit(struct doctor *doctor, const char *name)
{
	_cleanup_free_ char *output = doctor_output("systemctl", "show", "-p",
		"LoadState,UnitFileState,ActiveState,NRestarts,Before,ProtectHome,ProtectSystem,"
		"ReadWritePaths",
		name, NULL);
	const char *said = output ? output : "";
	_cleanup_free_ char *loaded = property(said, "LoadState");
	_cleanup_free_ char *enabled = property(said, "UnitFileState");
	_cleanup_free_ char *active = property(said, "ActiveState");
	_cleanup_free_ char *restarts = property(said, "NRestarts");
	_cleanup_free_ char *before = property(said, "Before");
	int64_t n = 0;

	if (!str_eq(loaded, "loaded")) {
		doctor_say(doctor, "boot", DOCTOR_WRONG, "systemd has no unit %s", name);
		return;
	}
	if (!str_starts(enabled, "enabled")) {
		doctor_say(doctor, "boot", DOCTOR_WRONG, "%s is not started at boot", name);
		doctor_mend(doctor, "systemctl", "enable", name, NULL);
	} else {
		doctor_say(doctor, "boot", DOCTOR_GOOD, "%s is started at boot", name);
	}
	if (!str_eq(active, "active") && str_eq(name, "postern-milter")) {
		doctor_say(doctor, "milter", DOCTOR_WRONG, "%s is %s", name, active);
		doctor_mend(doctor, "systemctl", "restart", name, NULL);
	}
	if (str_int(restarts, 0, INT32_MAX, &n) == 0 && n >= RESTARTS_MANY)
		doctor_say(doctor, "restarts", DOCTOR_WARNING,
			"systemd has restarted %s %" PRId64
			" times: journalctl -u %s shows why; systemctl reset-failed %s starts "
			"the count again",
			name, n, name, name);
	if (str_eq(name, "postern-milter"))
		look_at_boot_order(doctor, name, before);
	look_at_sandbox(doctor, name, said);
}

/* Checks that the folder is as postfix-conf/enable creates it. */
static void look_at_folder(struct doctor *doctor)
{
	const char *queue = doctor->parameters[POSTFIX_QUEUE];
	_cleanup_free_ char *folder = queue ? mem_printf("%s/postern", queue) : NULL;
	const struct passwd *owner = queue ? getpwnam(doctor->parameters[POSTFIX_OWNER]) : NULL;
	gid_t group = owner ? owner->pw_gid : 0;
	const struct group *entry = owner ? getgrgid(group) : NULL;
	const struct passwd *user;
	struct stat info;

	if (entry == NULL || !str_starts(doctor->conf->milter.socket, folder) ||
		stat(folder, &info) < 0)
		return;
	user = doctor->is_installed ? getpwnam("postern") : getpwuid(info.st_uid);
	if (user && info.st_uid == user->pw_uid && info.st_gid == group &&
		(info.st_mode & 07750) == 02750 && (info.st_mode & 022) == 0) {
		doctor_say(doctor, "folder", DOCTOR_GOOD, "%s has the right owner, group and mode",
			folder);
		return;
	}
	doctor_say(doctor, "folder", DOCTOR_WRONG,
		"%s belongs to %u:%u with mode %04o, not to %s:%s with 2750", folder,
		(unsigned)info.st_uid, (unsigned)info.st_gid, (unsigned)info.st_mode & 07777,
		user ? user->pw_name : "postern", entry->gr_name);
	doctor_mend(doctor, "install", "-d", "-o", user ? user->pw_name : "postern", "-g",
		entry->gr_name, "-m", "2750", folder, NULL);
}

static void look_at_listener(
	struct doctor *doctor, const char *listen, const char *setting, const char *what)
{
	const char *colon = strrchr(listen, ':');
	_cleanup_free_ char *host = NULL;

	if (colon == NULL || str_starts(listen, "unix:"))
		return;
	host = mem_dup(listen, (size_t)(colon - listen));
	if (cidr_is_loopback(host))
		doctor_say(doctor, "listen", DOCTOR_GOOD, "%s listens on this host only (%s)", what,
			listen);
	else
		doctor_say(doctor, "listen", DOCTOR_WRONG,
			"%s listens on %s with plain HTTP: set %s to a loopback address, and put a "
			"proxy with TLS in front",
			what, listen, setting);
}

/* Returns the answer of the listener to GET /readyz, with its head; "" for no answer, NULL if it
 * cannot be connected to. The caller frees it. */
static char *ask_readyz(const char *listen)
{
	static const char request[] =
		"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
	const struct timeval timeout = {.tv_sec = HEALTH_S};
	union socket_address address;
	socklen_t address_len;
	char answer[4096];
	size_t len = 0;
	ssize_t n;
	int fd = -1;

	if (str_starts(listen, "unix:")) {
		socket_connect(listen + strlen("unix:"), SOCK_STREAM, &fd);
	} else if (socket_parse(listen, &address, &address_len)) {
		fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && connect(fd, &address.any, address_len) < 0) {
			close(fd);
			fd = -1;
		}
	}
	if (fd < 0)
		return NULL;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	if (write(fd, request, strlen(request)) == (ssize_t)strlen(request))
		while (len < sizeof(answer) - 1 &&
			(n = read(fd, answer + len, sizeof(answer) - 1 - len)) > 0)
			len += (size_t)n;
	close(fd);
	return mem_dup(answer, len);
}

/* Reports the problems that httpd has found itself. After its start, or a fix, its first probe
 * takes time, so this waits. */
static void look_at_health(struct doctor *doctor, int64_t started_us)
{
	bool is_fresh = doctor->mended || doctor->now_us - started_us < HEALTH_FRESH_US;
	const char *listen = doctor->conf->http.listen;
	_cleanup_free_ char *answer = ask_readyz(listen);

	for (int i = 0;
		is_fresh && i < HEALTH_TRIES && answer && str_starts(answer, "HTTP/1.1 503"); i++) {
		usleep(HEALTH_PAUSE_US);
		free(answer);
		answer = ask_readyz(listen);
	}
	if (answer == NULL)
		return; /* another row reports that it does not run */
	if (str_starts(answer, "HTTP/1.1 200")) {
		doctor_say(doctor, "health", DOCTOR_GOOD, "postern-httpd is ready");
	} else if (str_starts(answer, "HTTP/1.1 503")) {
		/* The admin listener says why, one reason per line. */
		const char *admin = doctor->conf->admin.listen;
		_cleanup_free_ char *said = str_empty(admin) ? NULL : ask_readyz(admin);
		const char *body = said ? strstr(said, "\r\n\r\n") : NULL;
		_cleanup_free_ char *words = body ? str_trim(body, strlen(body))
						  : mem_strdup("see its log");
		_cleanup_strv_ struct strv lines = STRV_INIT;
		_cleanup_free_ char *why = NULL;

		strv_split(&lines, words, '\n');
		why = strv_join(&lines, "; ");
		doctor_say(doctor, "health", DOCTOR_WRONG, "postern-httpd is not ready: %s", why);
	} else {
		doctor_say(doctor, "health", DOCTOR_WRONG,
			"%s gave no answer within %d s to GET /readyz", listen, HEALTH_S);
	}
}

static void look_at_disk(struct doctor *doctor, const char *folder, const char *what)
{
	struct statvfs disk;
	int64_t left, inodes;

	if (statvfs(folder, &disk) < 0 || disk.f_blocks == 0)
		return;
	left = (int64_t)disk.f_bavail * (int64_t)disk.f_frsize;
	inodes = disk.f_files ? (int64_t)(disk.f_favail * 100 / disk.f_files) : 100;
	if (disk.f_bavail * 100 / disk.f_blocks < DISK_PERCENT || left < DISK_BYTES ||
		inodes < DISK_PERCENT)
		doctor_say(doctor, "disk", DOCTOR_WRONG,
			"%s (%s) has %" PRId64 " MiB left, %" PRId64 "%%, and %" PRId64
			"%% of its inodes: free some space",
			folder, what, left / (1024 * 1024),
			(int64_t)(disk.f_bavail * 100 / disk.f_blocks), inodes);
	else
		doctor_say(doctor, "disk", DOCTOR_GOOD, "%s (%s) has %" PRId64 " MiB left", folder,
			what, left / (1024 * 1024));
}

/* The free space that smtpd(8) and pickup(8) require, see postconf(5), queue_minfree. */
static void look_at_minfree(struct doctor *doctor)
{
	const char *queue = doctor->parameters[POSTFIX_QUEUE];
	struct statvfs disk;
	int64_t size = 0, minfree = 0, left;

	if (statvfs(queue, &disk) < 0)
		return;
	str_int(doctor->parameters[POSTFIX_SIZE], 0, INT64_MAX / 3, &size);
	str_int(doctor->parameters[POSTFIX_MINFREE], 0, INT64_MAX, &minfree);
	if (minfree < size * 3 / 2)
		minfree = size * 3 / 2;
	left = (int64_t)disk.f_bavail * (int64_t)disk.f_frsize;
	if (left < minfree)
		doctor_say(doctor, "minfree", DOCTOR_WRONG,
			"%s has %" PRId64 " MiB left, and Postfix wants %" PRId64
			" MiB (queue_minfree, or 1.5 times message_size_limit)",
			queue, left / (1024 * 1024), minfree / (1024 * 1024));
}

static int compare_times(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void look_at_sync(struct doctor *doctor)
{
	_cleanup_free_ char *folder = db_file_folder(doctor->conf->store.database);
	_cleanup_free_ char *path = mem_printf("%s/.doctor-XXXXXX", folder);
	static const char block[SYNC_BYTES];
	int64_t times_us[SYNCS];
	size_t n = 0;
	int file = mkostemp(path, O_CLOEXEC);

	if (file < 0)
		return;
	unlink(path);
	for (; n < SYNCS; n++) {
		int64_t began_us = clock_monotonic_us();

		if (write(file, block, sizeof(block)) != sizeof(block) || fdatasync(file) < 0)
			break;
		times_us[n] = clock_monotonic_us() - began_us;
	}
	close(file);
	if (n < SYNCS)
		return;
	qsort(times_us, n, sizeof(times_us[0]), compare_times);
	if (times_us[n / 2] > SYNC_SLOW_US)
		doctor_say(doctor, "sync", DOCTOR_WARNING,
			"the disk of %s takes %" PRId64 " ms to sync 4 KB: at most %" PRId64
			" commits per second",
			folder, times_us[n / 2] / 1000, SECOND_US / times_us[n / 2]);
	else
		doctor_say(doctor, "sync", DOCTOR_GOOD,
			"the disk of %s syncs 4 KB in %" PRId64 ".%" PRId64 " ms", folder,
			times_us[n / 2] / 1000, times_us[n / 2] / 100 % 10);
}

static void look_at_clock(struct doctor *doctor)
{
	struct timex state = {0};
	int result = adjtimex(&state);

	if (result < 0)
		doctor_say(doctor, "time", DOCTOR_UNKNOWN,
			"cannot tell whether the clock is synchronized");
	else if (result == TIME_ERROR)
		doctor_say(doctor, "time", DOCTOR_WARNING, "the clock is not synchronized");
	else
		doctor_say(doctor, "time", DOCTOR_GOOD, "the clock is synchronized");
}

/* Checks if the log file that postern-events reads was rotated away. */
static void look_at_log_file(struct doctor *doctor, pid_t events)
{
	_cleanup_free_ char *list = mem_printf("/proc/%ld/fd", (long)events);

	for (int fd = 3; events && fd < 64; fd++) {
		_cleanup_free_ char *link = mem_printf("%s/%d", list, fd);
		char target[4096];
		ssize_t len = readlink(link, target, sizeof(target) - 1);

		target[len > 0 ? len : 0] = '\0';
		if (!str_starts(target, "/") || strstr(target, "log") == NULL ||
			strstr(target, " (deleted)") == NULL)
			continue;
		doctor_say(doctor, "log", DOCTOR_WRONG,
			"postern-events is reading a log file that was deleted: %s", target);
		mend_by_restart(doctor, "postern-events");
	}
}

/* True if a service of Postfix asks postern-auth, see postfix-conf/logins.sh. */
static bool uses_logins(const struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->services.n; i++)
		if (strstr(doctor->services.items[i],
			    "/milter_macro_daemon_name = postern-smtp-auth"))
			return true;
	return false;
}

static bool uses_webhooks(struct doctor *doctor)
{
	const struct webhook_scope all = {0};
	const struct page page = {.limit = WEBHOOKS_LOOKED_AT};
	struct webhook_list list;
	struct page_end end;
	bool enabled = false;

	if (doctor->db == NULL ||
		store_webhook_list(doctor->db, &all, &page, &list, &end, NULL) <= 0)
		return false;
	for (size_t i = 0; i < list.n; i++)
		enabled |= list.items[i].enabled;
	store_webhook_list_free(&list);
	return enabled;
}

/* Returns the number of decisions about held mail that have waited for a minute. */
static int64_t late_decisions(const struct doctor *doctor)
{
	int64_t late;

	if (doctor->db == NULL ||
		store_held_late(doctor->db, doctor->now_us - DECISION_US, &late, NULL) < 0)
		return 0;
	return late;
}

/* Reports the absence of webhook and held, which nothing else notices, and of auth, unless check
 * tries it. Another check reports the other daemons. */
static void look_at_absence(struct doctor *doctor, const char *name)
{
	const char *row = NULL;

	if (str_eq(name, "postern-auth") && doctor->briefly)
		row = "smtp_auth";
	if (str_eq(name, "postern-webhook") && uses_webhooks(doctor))
		row = "webhook";
	if (str_eq(name, "postern-held") && (doctor->has_units || late_decisions(doctor) > 0))
		row = "decisions";
	if (row == NULL)
		return;
	doctor_say(doctor, row, DOCTOR_WRONG, "%s is not running", name);
	mend_by_restart(doctor, name);
}

static void look_at_decisions(struct doctor *doctor)
{
	int64_t late = late_decisions(doctor);

	if (late == 0) {
		doctor_say(doctor, "decisions", DOCTOR_GOOD,
			"decisions about held mail are carried out");
		return;
	}
	doctor_say(doctor, "decisions", DOCTOR_WRONG,
		"decisions about held mail that postern-held has not carried out for a minute: "
		"%" PRId64,
		late);
	mend_by_restart(doctor, "postern-held");
}

/* journald logs how many lines of a unit its rate limit has dropped. */
static void look_at_dropped_lines(struct doctor *doctor)
{
	static const char before[] = "Suppressed ", after[] = " messages from ";
	_cleanup_free_ char *said = doctor_output(
		"journalctl", "-q", "-o", "cat", "--since", "-1h", "-t", "systemd-journald", NULL);
	_cleanup_free_ char *unit = NULL;
	int64_t sum = 0;

	for (const char *at = said; at && (at = strstr(at, before)) != NULL;) {
		char *end;
		long n = strtol(at += strlen(before), &end, 10);

		if (!str_starts(end, after) || !str_starts(end + strlen(after), "postfix"))
			continue;
		sum += n;
		free(unit);
		end += strlen(after);
		unit = mem_dup(end, strcspn(end, "\n"));
	}
	if (sum > 0)
		doctor_say(doctor, "log_lines", DOCTOR_WARNING,
			"journald dropped %" PRId64
			" lines of Postfix's log in the last hour, "
			"because of its rate limit: set LogRateLimitIntervalSec=0 in [Service] by "
			"systemctl edit %s, and restart Postfix",
			sum, unit);
}

static void look_at_daemons(struct doctor *doctor)
{
	const struct conf *conf = doctor->conf;
	int64_t httpd_started_us = doctor->now_us;

	/* check has taken some seconds since they were read. */
	process_list_read(&doctor->processes);
	for (size_t i = 0; i < ARRAY_SIZE(daemons); i++) {
		struct process process;
		pid_t pid = 0;

		if (str_eq(daemons[i], "postern-auth") && !uses_logins(doctor))
			continue;
		if (process_find(&doctor->processes, daemons[i], conf, &process)) {
			pid = process.pid;
			look_at_process(doctor, daemons[i], pid);
			if (str_eq(daemons[i], "postern-httpd"))
				httpd_started_us = process.start_us;
			if (str_eq(daemons[i], "postern-held"))
				look_at_decisions(doctor);
		} else if (doctor->is_root) {
			look_at_absence(doctor, daemons[i]);
		}
		if (doctor->has_units)
			look_at_unit(doctor, daemons[i]);
		if (str_eq(daemons[i], "postern-events"))
			look_at_log_file(doctor, pid);
	}
	look_at_health(doctor, httpd_started_us);
}

void doctor_look_at_host(struct doctor *doctor)
{
	const struct conf *conf = doctor->conf;
	_cleanup_free_ char *store = db_file_folder(conf->store.database);

	if (doctor->is_set_up)
		look_at_daemons(doctor);
	look_at_listener(doctor, conf->http.listen, "http.listen", "the interface for programs");
	look_at_listener(doctor, conf->admin.listen, "admin.listen", "the dashboard");
	look_at_disk(doctor, store, "the store");
	if (!doctor->briefly)
		look_at_sync(doctor);
	look_at_clock(doctor);
	if (doctor->has_units && doctor->is_root && !doctor->briefly)
		look_at_dropped_lines(doctor);
	if (doctor->parameters[POSTFIX_QUEUE] == NULL)
		return;
	look_at_disk(doctor, doctor->parameters[POSTFIX_QUEUE], "Postfix's queue");
	look_at_minfree(doctor);
	look_at_folder(doctor);
}
