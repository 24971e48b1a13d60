-- Up to when the log of the host is read, as its postern-httpd says in its heartbeat; 0: not known.
ALTER TABLE host_part ADD COLUMN read_us INTEGER NOT NULL DEFAULT 0;
