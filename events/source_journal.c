/*
 * source_journal: reads the systemd journal.
 *
 * Entries are matched by the user id that the kernel reports, not by unit or tag, because any
 * user can write an entry with a tag of Postfix. Postfix runs as one user, except for
 * postsuper(1) and delivery agents that change to other users, which start as root.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-journal.h>

#include "core/base/str.h"
#include "events/source.h"

struct source_journal {
	struct source base;
	sd_journal *journal;
	char *tag;      /* of the current entry */
	char *position; /* of the entry returned last; NULL if none */
	const char *gap;
	bool at_entry; /* the current entry was not returned yet */
	bool at_end;   /* everything there was read once */
};

static struct source_journal *of(struct source *source)
{
	return CONTAINER_OF(source, struct source_journal, base);
}

static int fail_with_errno(int number, const char *what, struct err *err)
{
	return err_set(err, number == -EACCES ? ERR_CONFIG : ERR_TEMPORARY, "the journal: %s: %s",
		what, strerror(-number));
}

/* Returns the field of the current entry without its name. */
static bool get_field(
	struct source_journal *source, const char *name, const char **data_r, size_t *len_r)
{
	size_t skipped = strlen(name) + 1;
	const void *data;

	if (sd_journal_get_data(source->journal, name, &data, len_r) < 0 || *len_r < skipped)
		return false;
	*data_r = (const char *)data + skipped;
	*len_r -= skipped;
	return true;
}

static int journal_next(struct source *base, struct source_line *line_r, struct err *err)
{
	struct source_journal *source = of(base);
	struct source_line line = {0};
	const char *tag;
	uint64_t time_us;
	size_t len;
	int found = 1;

	if (source->gap) {
		*line_r = (struct source_line){.gap = source->gap};
		source->gap = NULL;
		return 1;
	}
	if (!source->at_entry) {
		found = sd_journal_next(source->journal);
		/* More entries may have come, also in new files. */
		if (found == 0 && sd_journal_wait(source->journal, 0) > 0)
			found = sd_journal_next(source->journal);
	}
	source->at_entry = false;
	if (found < 0)
		return fail_with_errno(found, "cannot go on", err);
	source->at_end |= found == 0;
	if (found == 0)
		return 0;
	free(TAKE_PTR(source->tag));
	free(TAKE_PTR(source->position));
	if (sd_journal_get_cursor(source->journal, &source->position) < 0)
		source->position = mem_strdup("");
	if (get_field(source, "SYSLOG_IDENTIFIER", &tag, &len))
		source->tag = mem_dup(tag, len);
	line.tag = source->tag ? source->tag : "";
	if (!get_field(source, "MESSAGE", &line.text, &line.len))
		line.text = "";
	if (sd_journal_get_realtime_usec(source->journal, &time_us) == 0)
		line.time_us = (int64_t)time_us;
	line.anchor_us = line.time_us;
	line.live = source->at_end;
	*line_r = line;
	return 1;
}

static void journal_position(struct source *base, struct buf *position)
{
	const struct source_journal *source = of(base);

	buf_add_str(position, source->position ? source->position : "");
}

static void journal_free(struct source *base)
{
	struct source_journal *source = of(base);

	if (source->journal)
		sd_journal_close(source->journal);
	free(source->position);
	free(source->tag);
	free(source);
}

static const struct source_ops journal_ops = {journal_next, journal_position, journal_free};

static int match_field(sd_journal *journal, const char *name, const char *value)
{
	_cleanup_free_ char *match = mem_printf("%s=%s", name, value);

	return sd_journal_add_match(journal, match, 0);
}

/* Matches _UID=postfix, or _UID=0 with a tag or a process name of a program that runs as root.
 * The process name is needed because a service in master.cf may have its own tag, and the
 * journal cannot match the end of a tag. The tag is needed for postsuper(1), which may have
 * ended before journald looks up its process name. */
static int add_matches(struct source_journal *source, const struct journal_match *match)
{
	static const char *const as_root[] = {"local", "virtual", "pipe", "lmtp", "postsuper"};
	char uid[24];
	int result;

	snprintf(uid, sizeof(uid), "%" PRId64, match->uid);
	if ((result = match_field(source->journal, "_UID", uid)) < 0 ||
		(result = sd_journal_add_disjunction(source->journal)) < 0 ||
		(result = match_field(source->journal, "_UID", "0")) < 0 ||
		(result = match_field(source->journal, "SYSLOG_IDENTIFIER", "systemd-journald")) <
			0)
		return result;
	for (const char *at = match->instances; *at && result >= 0;) {
		size_t len = strcspn(at, " \t,");

		for (size_t i = 0; i < ARRAY_SIZE(as_root) && result >= 0; i++) {
			_cleanup_free_ char *tag = mem_printf("%.*s/%s", (int)len, at, as_root[i]);

			result = match_field(source->journal, "SYSLOG_IDENTIFIER", tag);
		}
		at += len;
		at += strspn(at, " \t,");
	}
	if (result < 0 || (result = sd_journal_add_disjunction(source->journal)) < 0 ||
		(result = match_field(source->journal, "_UID", "0")) < 0)
		return result;
	for (size_t i = 0; i < ARRAY_SIZE(as_root) && result >= 0; i++)
		result = match_field(source->journal, "_COMM", as_root[i]);
	return result;
}

static int seek(struct source_journal *source, const char *position)
{
	int result;

	if (str_empty(position))
		return sd_journal_seek_head(source->journal);
	if (sd_journal_seek_cursor(source->journal, position) < 0) {
		source->gap = "cursor_lost";
		return sd_journal_seek_head(source->journal);
	}
	result = sd_journal_next(source->journal);
	if (result > 0 && sd_journal_test_cursor(source->journal, position) > 0) {
		source->position = mem_strdup(position);
		return 0;
	}
	/* The entry at this position is gone. */
	source->gap = "cursor_lost";
	source->at_entry = result > 0;
	return result;
}

int source_journal_open(const struct journal_match *match, const char *position,
	struct source **source_r, struct err *err)
{
	struct source_journal *source = mem_new(struct source_journal);
	const char *what = "cannot open";
	int result;

	source->base.ops = &journal_ops;
	result = str_empty(match->folder)
			 ? sd_journal_open(
				   &source->journal, SD_JOURNAL_LOCAL_ONLY | SD_JOURNAL_SYSTEM)
			 : sd_journal_open_directory(&source->journal, match->folder, 0);
	if (result >= 0) {
		what = "cannot read";
		sd_journal_set_data_threshold(source->journal, 0);
		result = add_matches(source, match);
	}
	if (result >= 0)
		result = seek(source, position);
	if (result < 0) {
		fail_with_errno(result, what, err);
		journal_free(&source->base);
		return -1;
	}
	*source_r = &source->base;
	return 0;
}
