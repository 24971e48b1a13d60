-- Where several hosts share the database: whose postern-webhook sends the events of a webhook. No references: a
-- lease of a removed webhook goes with those that have nothing to send.
CREATE TABLE webhook_lease (
	webhook_id TEXT NOT NULL PRIMARY KEY,
	host TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_lease_by_host ON webhook_lease (host, webhook_id);
