SELECT current_setting('server_version') AS version,
       pawl.micros(clock_timestamp()) AS clock,
       current_setting('synchronous_commit') AS synchronous_commit,
       current_setting('fsync') AS fsync,
       current_setting('full_page_writes') AS full_page_writes,
       pg_is_in_recovery() AS is_standby,
       (SELECT count(*) FROM pg_stat_replication) AS standbys,
       current_setting('synchronous_standby_names') AS synchronous_standbys,
       pg_backend_pid() AS process,
       (SELECT sum(numbackends)::bigint FROM pg_stat_database) AS connections,
       current_setting('max_connections')::bigint AS connections_max,
       (SELECT count(*) FROM pg_proc AS p WHERE p.pronamespace = 'pawl'::regnamespace
          AND NOT has_function_privilege(p.oid, 'EXECUTE') AND p.proname ~ '_v[0-9]+$') AS forbidden,
       pawl.layout() AS layout,
       age((SELECT datfrozenxid FROM pg_database WHERE datname = current_database()))::bigint AS age,
       current_setting('default_transaction_isolation') AS isolation,
       current_setting('default_transaction_read_only') AS read_only,
       coalesce((SELECT s.n_dead_tup FROM pg_stat_user_tables AS s
                 WHERE s.relid = to_regclass('pawl.lease')), 0) AS dead,
       coalesce((SELECT s.n_live_tup FROM pg_stat_user_tables AS s
                 WHERE s.relid = to_regclass('pawl.lease')), 0) AS live
