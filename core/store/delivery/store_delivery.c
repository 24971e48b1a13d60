/*
 * store_delivery: the rows of an email's delivery tree.
 *
 * Threads: a handle is used by one thread at a time.
 */
#include "core/store/delivery/store_queue_message.h"
#include "core/store/delivery/store_delivery.h"

static const char *const vias[] = {
	[VIA_FINAL] = "final",
	[VIA_LOCAL] = "local",
	[VIA_FILTER] = "filter",
	[VIA_ALIAS] = "alias",
};
static const struct row_words via_words = {vias, ARRAY_SIZE(vias), false};

static const struct row_field delivery_fields[] = {
	ROW_FIELD(delivery, queue_id, ROW_TEXT),
	ROW_FIELD(delivery, since_us, ROW_INT64),
	ROW_FIELD(delivery, address, ROW_TEXT),
	ROW_FIELD(delivery, orig_to, ROW_TEXT),
	ROW_WORD(delivery, state, ROW_ENUM, "state", &delivery_status_words),
	ROW_WORD(delivery, via, ROW_ENUM, "via", &via_words),
	ROW_FIELD(delivery, child, ROW_TEXT),
	ROW_FIELD(delivery, began_us, ROW_INT64),
	ROW_FIELD(delivery, changed_us, ROW_INT64),
	ROW_FIELD(delivery, relay, ROW_TEXT),
	ROW_FIELD(delivery, dsn, ROW_TEXT),
	ROW_FIELD(delivery, text, ROW_TEXT),
};
static const struct row_type delivery_type = ROW_TYPE(delivery, delivery_fields);

int store_delivery_read(struct db *db, int64_t email, struct delivery_tree *tree, struct err *err)
{
	static const char sql_read[] =
		"SELECT queue_id, since_us, address, orig_to, state, via, child, began_us,"
		" changed_us, relay, dsn, text"
		" FROM delivery"
		" WHERE email = $email";
	struct queue_messages messages;
	struct delivery *rows;
	size_t n;

	if (store_queue_message_list(db, email, &messages, err) < 0)
		return -1;
	for (size_t i = 0; i < messages.n; i++)
		delivery_tree_add_message(tree, &messages.items[i]);
	queue_messages_free(&messages);
	if (row_list(db,
		    ROW_LIST(.sql = sql_read, .params = DB_PARAMS(DB_INT("$email", email)),
			    .type = &delivery_type, .items_r = &rows, .n_r = &n),
		    err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		delivery_tree_add(tree, &rows[i]);
	free(rows);
	return 0;
}

int store_delivery_write(struct db *db, int64_t email, struct delivery_tree *tree, struct err *err)
{
	static const char sql_write[] =
		"INSERT INTO delivery (email, queue_id, since_us, address, orig_to, state, via,"
		"   child, began_us, changed_us, relay, dsn, text)"
		" VALUES ($email, $queue_id, $since_us, $address, $orig_to, $state, $via,"
		"   $child, $began_us, $changed_us, $relay, $dsn, $text)"
		" ON CONFLICT (email, queue_id, since_us, address, orig_to)"
		" DO UPDATE SET state = excluded.state, via = excluded.via,"
		" child = excluded.child, began_us = excluded.began_us,"
		" changed_us = excluded.changed_us, relay = excluded.relay, dsn = excluded.dsn,"
		" text = excluded.text";

	for (size_t i = 0; i < delivery_tree_count(tree); i++) {
		struct delivery *one = delivery_tree_at(tree, i);

		if (one->changed && row_post(db, sql_write, DB_PARAMS(DB_INT("$email", email)),
					    &delivery_type, one, err) < 0)
			return -1;
		one->changed = false;
	}
	return 0;
}
