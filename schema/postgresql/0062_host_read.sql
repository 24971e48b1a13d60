-- As ../0062_host_read.sql.
ALTER TABLE host_part ADD COLUMN read_us bigint NOT NULL DEFAULT 0;
