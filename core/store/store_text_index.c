/*
 * store_text_index: the tables text_block, text_range and text_stale.
 *
 * Invariants: the blocks of a company are in the order of seq, and no two overlap; the records of a
 * block too. Blocks have the emails from text_range.low to high and no others, but for those of
 * text_stale, whose records may tell of what is gone: the email they lead to is not there any more,
 * or is looked at again.
 *
 * Threads: a handle is used by one thread at a time.
 */
#include "core/store/store_text_index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/store/row.h"

enum {
	BLOCK_BYTES = 16 * 1024, /* a block that has as much gets no more */
	/* "\n", 16 digits, "\t" */
	SEQ_DIGITS = 16,
	RECORD_HEAD = SEQ_DIGITS + 2,
	FILL_ROWS = 100,
	WORDS_MAX = 16,
};

struct block {
	int64_t block; /* 0: not stored yet */
	int64_t first;
	int64_t last;
};
static const struct row_field block_fields[] = {
	ROW_FIELD(block, block, ROW_INT64),
	ROW_FIELD(block, first, ROW_INT64),
	ROW_FIELD(block, last, ROW_INT64),
};
static const struct row_type block_type = ROW_TYPE(block, block_fields);

struct text_range {
	int64_t low;
	int64_t high;
};
static const struct row_field range_fields[] = {
	ROW_FIELD(text_range, low, ROW_INT64),
	ROW_FIELD(text_range, high, ROW_INT64),
};
static const struct row_type range_type = ROW_TYPE(text_range, range_fields);

/* What a record is made of. */
struct source {
	int64_t seq;
	char company_id[ID_SIZE];
	char *subject;
	char *from;
	char *sender;     /* NULL: the From has it */
	char *message_id; /* NULL: it is ours */
	char *recipients;
};
static const struct row_field source_fields[] = {
	ROW_FIELD(source, seq, ROW_INT64),
	ROW_FIELD(source, company_id, ROW_ID),
	ROW_FIELD(source, subject, ROW_TEXT),
	ROW_FIELD(source, from, ROW_TEXT),
	ROW_FIELD(source, sender, ROW_TEXT),
	ROW_FIELD(source, message_id, ROW_TEXT),
	ROW_FIELD(source, recipients, ROW_TEXT),
};
static const struct row_type source_type = ROW_TYPE(source, source_fields);

#define SOURCE(condition, order)                                                                   \
	"SELECT e.seq, e.company_id, e.subject, e.header_from AS \"from\","                        \
	" iif(instr(lower(e.header_from), lower(e.sender)) > 0, NULL, e.sender) AS sender,"        \
	" iif(substr(e.message_id, 2, 36) = e.id, NULL, e.message_id) AS message_id,"              \
	" (SELECT group_concat(t.text, '\x1f')"                                                    \
	"   FROM (SELECT coalesce(mailbox, address) AS text"                                       \
	"     FROM email_recipient"                                                                \
	"     WHERE email = e.seq"                                                                 \
	"     ORDER BY n) t) AS recipients"                                                        \
	" FROM email e"                                                                            \
	" WHERE " condition " ORDER BY e.seq" order " LIMIT $max"

/* Appends one of the texts. What stands between two of them nobody can type. */
static void add_text(struct buf *out, const char *text)
{
	_cleanup_free_ char *folded = text ? str_folded(text) : NULL;

	if (str_empty(folded))
		return;
	for (char *c = folded; *c; c++)
		if ((unsigned char)*c < ' ' && *c != '\x1f')
			*c = ' ';
	buf_add_char(out, '\x1f');
	buf_add_str(out, folded);
}

static void add_record(struct buf *out, const struct source *source)
{
	buf_printf(out, "\n%016llx\t", (unsigned long long)source->seq);
	add_text(out, source->subject);
	add_text(out, source->from);
	add_text(out, source->sender);
	add_text(out, source->message_id);
	add_text(out, source->recipients);
}

static int64_t seq_of(const char *record)
{
	char digits[SEQ_DIGITS + 1];

	memcpy(digits, record + 1, SEQ_DIGITS);
	digits[SEQ_DIGITS] = '\0';
	return (int64_t)strtoull(digits, NULL, 16);
}

static const char *record_end(const char *record, const char *end)
{
	const char *next = memchr(record + 1, '\n', (size_t)(end - record - 1));

	return next ? next : end;
}

/* Words */

void store_text_index_words(const char *typed, struct strv *words)
{
	_cleanup_free_ char *folded = str_folded(typed);

	for (const char *c = folded; *c && words->n < WORDS_MAX;) {
		bool quoted = *c == '"';
		const char *begin = c + quoted;
		size_t len = strcspn(begin, quoted ? "\"" : " \t\r\n");
		char *word = str_trim(begin, len);

		if (*word)
			strv_take(words, word);
		else
			free(word);
		c = begin + len + (begin[len] != '\0');
	}
}

/* The one that is looked for first: the longest says the most. */
static size_t longest_word(const struct strv *words)
{
	size_t longest = 0;

	for (size_t i = 1; i < words->n; i++)
		if (strlen(words->items[i]) > strlen(words->items[longest]))
			longest = i;
	return longest;
}

static bool has_words(const char *text, size_t len, const struct strv *words, size_t but)
{
	for (size_t i = 0; i < words->n; i++)
		if (i != but && memmem(text, len, words->items[i], strlen(words->items[i])) == NULL)
			return false;
	return true;
}

/* Finding */

struct finding {
	struct db *db;
	const struct text_look *look;
	struct text_found found;
	size_t longest;
	int64_t bytes; /* read so far */
	int64_t rows;
};

static void add_found(struct finding *finding, int64_t seq)
{
	struct text_found *found = &finding->found;

	found->seqs = mem_append(found->seqs, found->n, sizeof(*found->seqs));
	found->seqs[found->n++] = seq;
}

static void search_block(
	struct finding *finding, const struct block *range, const char *text, size_t len)
{
	const struct strv *words = finding->look->words;
	const char *word = words->items[finding->longest], *end = text + len, *at = text;
	size_t word_len = strlen(word);

	while ((at = memmem(at, (size_t)(end - at), word, word_len)) != NULL) {
		const char *record = memrchr(text, '\n', (size_t)(at - text));
		const char *next = record_end(record, end);
		const char *body = record + RECORD_HEAD;
		int64_t seq;

		if (at < body) { /* digits of a seq */
			at++;
			continue;
		}
		seq = seq_of(record);
		if (seq >= range->first && seq <= range->last &&
			has_words(body, (size_t)(next - body), words, finding->longest))
			add_found(finding, seq);
		at = next;
	}
}

static int read_block(struct finding *finding, const struct block *block, const struct block *range,
	struct err *err)
{
	static const char sql_text[] = "SELECT text FROM text_block WHERE block = $block";
	struct db_stmt *stmt;
	const char *text;
	size_t len;
	int result;

	if (db_start(finding->db, sql_text, DB_PARAMS(DB_INT("$block", block->block)), &stmt,
		    err) != 0)
		return -1;
	result = db_step(stmt, err);
	if (result != 1)
		return result;
	text = db_blob(stmt, 0, &len);
	search_block(finding, range, text, len);
	finding->bytes += (int64_t)len;
	db_reset(stmt);
	return 0;
}

static int by_seq(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int by_last(const void *a, const void *b)
{
	return by_seq(&((const struct block *)b)->last, &((const struct block *)a)->last);
}

static int by_first(const void *a, const void *b)
{
	return by_seq(&((const struct block *)a)->first, &((const struct block *)b)->first);
}

/* Sorts what was found from the begin on, and leaves out what lies behind the seq that was
 * reached. */
static void settle_found(struct finding *finding, size_t begin, int64_t reached)
{
	struct text_found *found = &finding->found;
	size_t n = found->n - begin, kept = begin;
	int64_t *seqs = found->seqs + begin;

	if (n == 0)
		return;
	qsort(seqs, n, sizeof(*seqs), by_seq);
	for (size_t i = 0; !finding->look->up && i < n / 2; i++) {
		int64_t other = seqs[i];

		seqs[i] = seqs[n - 1 - i];
		seqs[n - 1 - i] = other;
	}
	for (size_t i = begin; i < found->n; i++)
		if (finding->look->up ? found->seqs[i] <= reached : found->seqs[i] >= reached)
			found->seqs[kept++] = found->seqs[i];
	found->n = kept;
}

/* How many were found for good, with everything up to a seq read. */
static size_t count_settled(const struct finding *finding, size_t begin, int64_t reached)
{
	size_t n = begin;

	for (size_t i = begin; i < finding->found.n; i++)
		n += finding->look->up ? finding->found.seqs[i] <= reached
				       : finding->found.seqs[i] >= reached;
	return n;
}

/* Whether the look ends here, all up to the seq being read. */
static bool is_enough(struct finding *finding, size_t begin, int64_t reached)
{
	const struct text_look *look = finding->look;
	struct text_found *found = &finding->found;

	if (look->up ? reached >= look->high : reached <= look->low)
		return false;
	if (finding->bytes < TEXT_INDEX_BYTES_MAX && finding->rows < TEXT_INDEX_ROWS_MAX &&
		(found->n < TEXT_INDEX_FOUND_MAX ||
			count_settled(finding, begin, reached) < TEXT_INDEX_FOUND_MAX))
		return false;
	found->cut = true;
	found->reached = reached;
	return true;
}

/* Blocks of several companies overlap: what was found is known to be complete as far as no block
 * that is still to be read reaches. 0 or -1. */
static int find_in_blocks(struct finding *finding, int64_t low, int64_t high, struct err *err)
{
#define BLOCKS(condition)                                                                          \
	"SELECT block, max(first, $low) AS first, min(last, $high) AS last"                        \
	" FROM text_block"                                                                         \
	" WHERE " condition "last >= $low AND first <= $high"
	static const char sql_all[] = BLOCKS("");
	static const char sql_company[] = BLOCKS("company_id = $company AND ");
#undef BLOCKS
	const struct text_look *look = finding->look;
	size_t begin = finding->found.n;
	struct rows rows;
	struct block *blocks;
	int result = 0;

	if (low > high)
		return 0;
	if (row_list(finding->db, look->company_id ? sql_company : sql_all,
		    DB_PARAMS(DB_INT("$low", low), DB_INT("$high", high),
			    DB_GIVEN_TEXT("$company", look->company_id)),
		    &block_type, ROWS_ALL, &rows, err) < 0)
		return -1;
	blocks = rows.items;
	if (rows.n > 0)
		qsort(blocks, rows.n, sizeof(*blocks), look->up ? by_first : by_last);
	for (size_t i = 0; result == 0 && i < rows.n; i++) {
		result = read_block(finding, &blocks[i], &blocks[i], err);
		if (result < 0 || i + 1 == rows.n)
			break;
		/* All blocks that have one of the ends in common are read. */
		if (look->up ? blocks[i + 1].first > low : blocks[i + 1].last < high)
			if (is_enough(finding, begin,
				    look->up ? blocks[i + 1].first - 1 : blocks[i + 1].last + 1))
				break;
	}
	row_list_free(&block_type, rows.items, rows.n);
	settle_found(finding, begin,
		finding->found.cut ? finding->found.reached
		: look->up         ? high
				   : low);
	return result;
}

/* The same with emails that no block has. */
static int find_in_rows(struct finding *finding, int64_t low, int64_t high, struct err *err)
{
#define ROWS(company, order) SOURCE("e.seq BETWEEN $low AND $high" company, order)
#define OF_COMPANY           " AND e.company_id = $company"
	static const char *const sql_rows[2][2] = {
		{ROWS("", " DESC"), ROWS("", "")},
		{ROWS(OF_COMPANY, " DESC"), ROWS(OF_COMPANY, "")},
	};
#undef OF_COMPANY
#undef ROWS
	const struct text_look *look = finding->look;
	size_t n = FILL_ROWS;

	while (low <= high && n == FILL_ROWS && !finding->found.cut) {
		_cleanup_buf_ struct buf record = BUF_INIT;
		const struct source *items;
		struct rows rows;

		if (row_list(finding->db, sql_rows[look->company_id != NULL][look->up],
			    DB_PARAMS(DB_INT("$low", low), DB_INT("$high", high),
				    DB_INT("$max", FILL_ROWS),
				    DB_GIVEN_TEXT("$company", look->company_id)),
			    &source_type, ROWS_ALL, &rows, err) < 0)
			return -1;
		items = rows.items;
		n = rows.n;
		for (size_t i = 0; i < n; i++) {
			buf_clear(&record);
			add_record(&record, &items[i]);
			if (has_words(record.data + RECORD_HEAD, record.len - RECORD_HEAD,
				    look->words, SIZE_MAX))
				add_found(finding, items[i].seq);
		}
		finding->rows += (int64_t)n;
		if (n > 0 && look->up)
			low = items[n - 1].seq + 1;
		else if (n > 0)
			high = items[n - 1].seq - 1;
		row_list_free(&source_type, rows.items, rows.n);
		if (n == FILL_ROWS)
			is_enough(finding, finding->found.n, look->up ? low - 1 : high + 1);
	}
	return 0;
}

static int read_range(struct db *db, struct text_range *range_r, struct err *err)
{
	static const char sql_range[] = "SELECT low, high FROM text_range";
	int found = row_get(db, sql_range, NULL, &range_type, range_r, err);

	return found == 0 ? err_set(err, ERR_CONFIG, "the table text_range is empty") : found;
}

static int64_t at_least(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t at_most(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* In front of the blocks, in them, behind them; each part may end the look. */
static int find_everywhere(struct finding *finding, const struct text_range *edges, struct err *err)
{
	int64_t low = finding->look->low, high = finding->look->high;
	const struct text_range range = *edges;

	for (int i = 0; i < 3 && !finding->found.cut; i++) {
		int part = finding->look->up ? i : 2 - i, result;

		if (part == 0)
			result = find_in_rows(finding, low, at_most(high, range.low - 1), err);
		else if (part == 1)
			result = find_in_blocks(
				finding, at_least(low, range.low), at_most(high, range.high), err);
		else
			result = find_in_rows(finding, at_least(low, range.high + 1), high, err);
		if (result < 0)
			return -1;
		/* It is worth a look of its own. */
		if (i < 2 && !finding->found.cut && finding->rows + finding->bytes > 0)
			is_enough(finding, finding->found.n,
				finding->look->up ? part == 0 ? range.low - 1 : range.high
				: part == 2       ? range.high + 1
						  : range.low);
	}
	return 0;
}

int store_text_index_find(
	struct db *db, const struct text_look *look, struct text_found *found_r, struct err *err)
{
	static const char sql_edges[] = "SELECT low, high FROM text_range WHERE one = 1";
	struct finding finding = {.db = db, .look = look};
	struct text_range edges;
	struct db_stmt *stmt;
	int result;

	if (look->words->n == 0)
		return err_set(err, ERR_INVALID, "nothing is searched for");
	finding.longest = longest_word(look->words);
	if (db_start(db, sql_edges, NULL, &stmt, err) != 0)
		return -1;
	result = db_step(stmt, err);
	if (result == 0)
		return err_set(err, ERR_CONFIG, "the table text_range is empty");
	if (result < 0)
		return -1;
	edges.low = db_int(stmt, 0);
	edges.high = db_int(stmt, 1);
	/* While a statement is at a row, the others see the same moment: what is moved into
	 * a block meanwhile is neither missed nor found twice. */
	result = find_everywhere(&finding, &edges, err);
	db_reset(stmt);
	if (result < 0)
		free(finding.found.seqs);
	else
		*found_r = finding.found;
	return result;
}

/* Filling */

static int write_block(struct db *db, const char *company_id, const struct block *block,
	const struct buf *text, struct err *err)
{
	static const char sql_add[] =
		"INSERT INTO text_block (company_id, first, last, text)"
		" VALUES ($company, $first, $last, $text)";
	static const char sql_change[] =
		"UPDATE text_block"
		" SET first = $first, last = $last, text = $text"
		" WHERE block = $block";
	static const char sql_remove[] = "DELETE FROM text_block WHERE block = $block";
	const struct db_param blob = DB_BLOB("$text", text->data, text->len);

	if (block->block == 0)
		return db_change(db, sql_add,
			DB_PARAMS(DB_TEXT("$company", company_id), DB_INT("$first", block->first),
				DB_INT("$last", block->last), blob),
			err);
	if (text->len == 0)
		return db_change(db, sql_remove, DB_PARAMS(DB_INT("$block", block->block)), err);
	return db_change(db, sql_change,
		DB_PARAMS(DB_INT("$block", block->block), DB_INT("$first", block->first),
			DB_INT("$last", block->last), blob),
		err);
}

/* The block of a statement that has `$company` and `$seq`, with its text: 1, 0, -1. */
static int get_block(struct db *db, const char *sql, const char *company_id, int64_t seq,
	struct block *block_r, struct buf *text, struct err *err)
{
	struct db_stmt *stmt;
	const void *data;
	size_t len;
	int result;

	if (db_start(db, sql, DB_PARAMS(DB_TEXT("$company", company_id), DB_INT("$seq", seq)),
		    &stmt, err) != 0)
		return -1;
	result = db_step(stmt, err);
	if (result != 1)
		return result;
	block_r->block = db_int(stmt, 0);
	block_r->first = db_int(stmt, 1);
	block_r->last = db_int(stmt, 2);
	data = db_blob(stmt, 3, &len);
	buf_clear(text);
	buf_add(text, data, len);
	db_reset(stmt);
	return 1;
}

/* Puts records of a company, in the order of seq, behind those that it has, or in front. */
static int add_records(struct db *db, const char *company_id, const struct block *added,
	const struct buf *records, bool behind, struct err *err)
{
#define NEXT(order)                                                                                \
	"SELECT block, first, last, text"                                                          \
	" FROM text_block"                                                                         \
	" WHERE company_id = $company AND $seq IS NOT NULL"                                        \
	" ORDER BY last" order " LIMIT 1"
	static const char sql_newest[] = NEXT(" DESC");
	static const char sql_oldest[] = NEXT("");
#undef NEXT
	_cleanup_buf_ struct buf text = BUF_INIT, joined = BUF_INIT;
	struct block block = *added;
	struct block next;
	int found = get_block(
		db, behind ? sql_newest : sql_oldest, company_id, 0, &next, &text, err);

	if (found < 0)
		return -1;
	if (found == 1 && text.len < BLOCK_BYTES) {
		const struct buf *older = behind ? &text : records;
		const struct buf *newer = behind ? records : &text;

		buf_add(&joined, older->data, older->len);
		buf_add(&joined, newer->data, newer->len);
		block.block = next.block;
		block.first = at_most(next.first, added->first);
		block.last = at_least(next.last, added->last);
		return write_block(db, company_id, &block, &joined, err) < 0 ? -1 : 0;
	}
	return write_block(db, company_id, &block, records, err) < 0 ? -1 : 0;
}

static int by_company(const void *a, const void *b)
{
	const struct source *x = a, *y = b;
	int order = strcmp(x->company_id, y->company_id);

	return order ? order : by_seq(&x->seq, &y->seq);
}

/* Adds some emails behind the range, or in front of it: 1, 0 when there are none, -1. */
static int add_emails(struct db *db, struct text_range *range, bool behind, struct err *err)
{
	static const char sql_behind[] = SOURCE("e.seq > $seq", "");
	static const char sql_before[] = SOURCE("e.seq < $seq", " DESC");
	static const char sql_range[] = "UPDATE text_range SET low = $low, high = $high";
	_cleanup_buf_ struct buf records = BUF_INIT;
	struct source *items;
	struct rows rows;
	int result = 0;

	if (row_list(db, behind ? sql_behind : sql_before,
		    DB_PARAMS(DB_INT("$seq", behind ? range->high : range->low),
			    DB_INT("$max", FILL_ROWS)),
		    &source_type, ROWS_ALL, &rows, err) < 0)
		return -1;
	items = rows.items;
	if (rows.n > 0 && behind)
		range->high = items[rows.n - 1].seq;
	else if (rows.n > 0)
		range->low = items[rows.n - 1].seq;
	if (rows.n > 0)
		qsort(items, rows.n, sizeof(*items), by_company);
	for (size_t i = 0, begin = 0; result == 0 && i < rows.n; i++) {
		add_record(&records, &items[i]);
		if (i + 1 < rows.n && str_eq(items[i + 1].company_id, items[i].company_id))
			continue;
		result = add_records(db, items[i].company_id,
			&(const struct block){.first = items[begin].seq, .last = items[i].seq},
			&records, behind, err);
		buf_clear(&records);
		begin = i + 1;
	}
	row_list_free(&source_type, rows.items, rows.n);
	if (result < 0 || rows.n == 0)
		return result;
	return db_change(db, sql_range,
		       DB_PARAMS(DB_INT("$low", range->low), DB_INT("$high", range->high)), err) < 0
		       ? -1
		       : 1;
}

/* What of a company is stale between two emails. */
static int list_stale(struct db *db, const char *company_id, const struct block *block,
	struct rows *rows_r, struct err *err)
{
	static const char sql_stale[] =
		"SELECT seq, company_id"
		" FROM text_stale"
		" WHERE seq BETWEEN $first AND $last AND company_id = $company"
		" ORDER BY seq";

	return row_list(db, sql_stale,
		DB_PARAMS(DB_INT("$first", block->first), DB_INT("$last", block->last),
			DB_TEXT("$company", company_id)),
		&source_type, ROWS_ALL, rows_r, err);
}

/* Adds the record of an email as its rows are now; there is none of one that is gone, and whose
 * number another one may have that is not in a block yet. */
static int add_renewed(struct db *db, const struct source *stale, struct buf *out, struct err *err)
{
	static const char sql_source[] = SOURCE(
		"e.seq = $seq"
		" AND EXISTS (SELECT 1 FROM text_range WHERE e.seq BETWEEN low AND high)",
		"");
	struct source source;
	int found = row_get(db, sql_source,
		DB_PARAMS(DB_INT("$seq", stale->seq), DB_INT("$max", 1)), &source_type, &source,
		err);

	if (found != 1)
		return found;
	if (str_eq(source.company_id, stale->company_id))
		add_record(out, &source);
	row_clear(&source_type, &source);
	return 0;
}

/* Has the block of an email say what is true, of this email and of all others. */
static int renew_block(struct db *db, const struct source *stale, struct err *err)
{
	static const char sql_block[] =
		"SELECT block, first, last, text"
		" FROM text_block"
		" WHERE company_id = $company AND last >= $seq"
		" ORDER BY last"
		" LIMIT 1";
	static const char sql_done[] =
		"DELETE FROM text_stale"
		" WHERE seq = $seq OR seq BETWEEN $first AND $last AND company_id = $company";
	_cleanup_buf_ struct buf text = BUF_INIT, renewed = BUF_INIT;
	struct block block = {0};
	const struct source *items;
	struct rows rows = {0};
	int result = get_block(db, sql_block, stale->company_id, stale->seq, &block, &text, err);
	const char *end = text.data + text.len;
	size_t n = 0;

	if (result < 0 ||
		(result == 1 && list_stale(db, stale->company_id, &block, &rows, err) < 0))
		return -1;
	items = rows.items;
	for (const char *record = text.data; result == 1 && record < end;) {
		const char *next = record_end(record, end);
		int64_t seq = seq_of(record);

		while (n < rows.n && items[n].seq < seq)
			n++;
		if (n == rows.n || items[n].seq != seq)
			buf_add(&renewed, record, (size_t)(next - record));
		else if (add_renewed(db, &items[n], &renewed, err) < 0)
			result = -1;
		record = next;
	}
	row_list_free(&source_type, rows.items, rows.n);
	if (result < 0 ||
		(result == 1 && write_block(db, stale->company_id, &block, &renewed, err) < 0))
		return -1;
	return db_change(db, sql_done,
		       DB_PARAMS(DB_INT("$seq", stale->seq), DB_INT("$first", block.first),
			       DB_INT("$last", block.last), DB_TEXT("$company", stale->company_id)),
		       err) < 0
		       ? -1
		       : 0;
}

/* One block with what is stale: 1, 0 when there is none, -1. */
static int renew_oldest(struct db *db, struct err *err)
{
	static const char sql_oldest[] =
		"SELECT seq, company_id FROM text_stale ORDER BY seq LIMIT 1";
	struct source stale;
	int found = row_get(db, sql_oldest, NULL, &source_type, &stale, err);

	if (found == 1 && renew_block(db, &stale, err) < 0)
		found = -1;
	if (found != 0)
		row_clear(&source_type, &stale);
	return found;
}

int store_text_index_erase(struct db *db, struct err *err)
{
	int more;

	while ((more = renew_oldest(db, err)) == 1)
		;
	return more;
}

int store_text_index_fill(struct db *db, int64_t budget_us, struct err *err)
{
	int64_t end_us = clock_monotonic_us() + budget_us;
	struct text_range range;
	int part = 0, more;

	/* What is stale first: a new email may have the number of one that is gone. */
	while ((more = renew_oldest(db, err)) == 1)
		if (clock_monotonic_us() >= end_us)
			return 1;
	if (more < 0 || read_range(db, &range, err) < 0)
		return -1;
	while (part < 2) {
		more = add_emails(db, &range, part == 0, err);
		if (more < 0)
			return -1;
		if (more == 0)
			part++;
		else if (clock_monotonic_us() >= end_us)
			return 1;
	}
	return 0;
}

int store_text_index_missing(struct db *db, int64_t *percent_r, struct err *err)
{
	/* Numbers are given in order: how many lie below says how many emails there are. */
	static const char sql_missing[] =
		"SELECT iif(oldest < low, max(1, 100 * (low - oldest) / (newest - oldest + 1)), 0)"
		" FROM (SELECT low, (SELECT min(seq) FROM email) AS oldest,"
		"     (SELECT max(seq) FROM email) AS newest"
		"   FROM text_range) edges";

	return row_number(db, sql_missing, NULL, percent_r, err) < 0 ? -1 : 0;
}
