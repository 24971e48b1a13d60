/*
 * source: chooses where this host's Postfix log is read, and opens it.
 */
#include "events/source.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/postfix/postconf.h"

static int open_journal(const struct source_location *location, const char *position,
	struct source **source_r, struct err *err)
{
	const struct passwd *user = getpwnam(location->owner);

	if (user == NULL)
		return err_set(err, ERR_CONFIG, "there is no user %s, as whom Postfix runs",
			location->owner);
	return source_journal_open(&(struct journal_match){location->journal, (int64_t)user->pw_uid,
					   location->instance},
		position, source_r, err);
}

int source_open(const struct source_location *location, const char *position,
	struct source **source_r, struct err *err)
{
	if (location->once)
		return source_file_once(location->file, source_r, err);
	if (location->file)
		return source_file_open(location->file, position, source_r, err);
	return open_journal(location, position, source_r, err);
}

/* postlogd(8) writes nothing more once a write has failed, until it is started anew. */
static int check_room(const char *path, struct err *err)
{
	struct statvfs disk;

	if (statvfs(path, &disk) < 0 || disk.f_blocks == 0 || disk.f_bavail > 0)
		return 0;
	return err_set(err, ERR_TEMPORARY,
		"the disk of %s is full: make room there, then run postfix reload, since Postfix "
		"does not begin to write its log again by itself",
		path);
}

int source_check(const struct source_location *location, struct err *err)
{
	_cleanup_(source) struct source *source = NULL;
	struct source_line line;

	if (location->file)
		return check_room(location->file, err);
	if (open_journal(location, NULL, &source, err) < 0)
		return -1;
	if (source_next(source, &line, err) == 1)
		return 0;
	return err_set(err, ERR_NOT_FOUND, "the journal has no line of Postfix");
}

/* An old log may be read on a host without Postfix. maillog_file is "" if Postfix logs to
 * syslog. */
static int ask_log_settings(const struct conf *conf, struct source_location *location,
	char **maillog_file_r, struct err *err)
{
	static const char *const names[] = {"syslog_name", "mail_owner", "maillog_file"};
	char *values[ARRAY_SIZE(names)] = {NULL, NULL, NULL};

	if (postconf_read(conf->submission.postfix_config, names, ARRAY_SIZE(names), values, err) <
			0 &&
		!location->once)
		return -1;
	for (size_t i = 0; i < 2; i++)
		if (str_empty(values[i])) {
			free(values[i]);
			values[i] = mem_strdup("postfix");
		}
	location->instance = values[0];
	location->owner = values[1];
	*maillog_file_r = values[2];
	return 0;
}

/* True if the group exists and this process is not in it. */
static bool lacks_group(const char *name)
{
	const struct group *group = getgrnam(name);
	gid_t groups[256];
	int n = getgroups(ARRAY_SIZE(groups), groups);

	if (group == NULL || geteuid() == 0 || getegid() == group->gr_gid)
		return false;
	while (n > 0)
		if (groups[--n] == group->gr_gid)
			return false;
	return true;
}

/* Sets an error that says how to get access to a log. */
static int cannot_read(const char *what, const char *group, struct err *err)
{
	const struct passwd *user = getpwuid(geteuid());
	const char *name = user ? user->pw_name : "that runs it";

	return err_set(err, ERR_CONFIG,
		"%s may not be read by the user %s, who is not in the group %s: usermod -aG %s %s, "
		"and start postern-events again",
		what, name, group, group, name);
}

/* The file need not exist yet. */
static int check_file(const char *path, struct err *err)
{
	const struct group *group = NULL;
	struct stat st;

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return err_set(err, ERR_CONFIG,
			"%s: this is no regular file: have Postfix write its log to one "
			"(maillog_file)",
			path);
	if (access(path, R_OK) == 0 || errno == ENOENT)
		return 0;
	if (errno == EACCES && stat(path, &st) == 0 && st.st_mode & S_IRGRP)
		group = getgrgid(st.st_gid);
	if (group && lacks_group(group->gr_name))
		return cannot_read(path, group->gr_name, err);
	return err_set(err, ERR_CONFIG,
		"%s: Permission denied, and no group may read it: see"
		" WHERE IT READS in postern-events(8)",
		path);
}

/* The configuration that names the file. */
enum file_owner { OF_SETTINGS, OF_POSTFIX, OF_SYSLOG };

/* Returns the file named by our settings, by Postfix, or a usual file of syslog; NULL if none. */
static const char *named_file(
	const struct conf *conf, const char *maillog_file, enum file_owner *owner_r)
{
	static const char *const files[] = {"/var/log/mail.log", "/var/log/maillog"};

	*owner_r = OF_SETTINGS;
	if (!str_empty(conf->events.log_file))
		return conf->events.log_file;
	*owner_r = OF_POSTFIX;
	if (!str_empty(maillog_file))
		return maillog_file;
	*owner_r = OF_SYSLOG;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		if (access(files[i], R_OK) == 0)
			return files[i];
	return NULL;
}

static int choose_log(const struct conf *conf, const char *maillog_file,
	struct source_location *location, struct err *err)
{
	static const char *const reasons[] = {
		[OF_SETTINGS] = "events.log_file names it",
		[OF_POSTFIX] = "it is Postfix's maillog_file",
		[OF_SYSLOG] = "it is syslog's",
	};
	struct err no_journal = ERR_INIT;
	enum events_source wanted = (enum events_source)conf->events.source;
	enum file_owner owner;
	const char *file = named_file(conf, maillog_file, &owner);

	if (wanted == EVENTS_JOURNAL || (wanted == EVENTS_AUTO && owner == OF_SYSLOG &&
						source_check(location, &no_journal) == 0)) {
		location->why = wanted == EVENTS_JOURNAL
					? "events.source names it"
					: "Postfix has no maillog_file, and is in it";
		if (str_empty(conf->events.journal) && lacks_group("systemd-journal") &&
			lacks_group("adm"))
			return cannot_read("the journal", "systemd-journal", err);
		return 0;
	}
	if (file == NULL && lacks_group("systemd-journal"))
		return cannot_read("the journal", "systemd-journal", err);
	if (file == NULL)
		return err_set(err, ERR_CONFIG,
			"no log of Postfix was found: it has no maillog_file, there is no "
			"/var/log/mail.log that this user may read (group adm), and the journal "
			"(group systemd-journal) does not help: %s",
			no_journal.code ? no_journal.text : "it is not wanted");
	location->file = mem_strdup(file);
	location->why = reasons[owner];
	return check_file(file, err);
}

int source_choose(
	const struct conf *conf, const char *once, struct source_location *place_r, struct err *err)
{
	struct source_location location = {
		.once = once != NULL,
		.journal = mem_strdup(conf->events.journal),
		.file = once ? mem_strdup(once) : NULL,
		.why = "--once names it",
	};
	_cleanup_free_ char *maillog_file = NULL;

	if (ask_log_settings(conf, &location, &maillog_file, err) < 0 ||
		(once == NULL && choose_log(conf, maillog_file, &location, err) < 0)) {
		source_location_clear(&location);
		return -1;
	}
	location.name = location.once   ? mem_strdup("once")
			: location.file ? mem_printf("file:%s", location.file)
					: mem_strdup("journal");
	*place_r = location;
	return 0;
}

void source_location_clear(struct source_location *location)
{
	free(location->file);
	free(location->name);
	free(location->journal);
	free(location->instance);
	free(location->owner);
	*location = (struct source_location){0};
}
