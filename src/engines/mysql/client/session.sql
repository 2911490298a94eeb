-- lock_wait -> the last answer: version, read_only, max_allowed_packet, whether each commit is on the
-- disk, clock. What the server, its administrator or init_connect chose must not matter here.
-- With a binary log it is that log which decides, after a crash, what was committed: a transaction that
-- InnoDB has on the disk and the binary log has not is rolled back.
-- A row that others keep locked is waited for only so long; then whoever waits for a connection goes first.
SET SESSION autocommit = 1, sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00',
            timestamp = DEFAULT, completion_type = 'NO_CHAIN', sql_safe_updates = 0,
            sql_select_limit = DEFAULT, innodb_lock_wait_timeout = 1, lock_wait_timeout = {lock_wait};
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
SELECT VERSION(), @@global.read_only, @@max_allowed_packet,
       @@innodb_flush_log_at_trx_commit = 1 AND (@@log_bin = 0 OR @@sync_binlog = 1), {now}
