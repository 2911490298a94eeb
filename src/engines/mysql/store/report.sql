-- -> clock, layout; variables; counters; grants; the cipher.
SELECT {now}, layout FROM pawl_marker WHERE only_one = 1;
SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', 'sync_binlog', 'log_bin',
  'binlog_format', 'read_only', 'super_read_only', 'wait_timeout', 'max_connections',
  'max_allowed_packet', 'innodb_doublewrite');
SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_connected', 'wsrep_cluster_size',
  'Rpl_semi_sync_master_status', 'Rpl_semi_sync_source_status');
SHOW GRANTS;
SHOW SESSION STATUS LIKE 'Ssl_cipher'
