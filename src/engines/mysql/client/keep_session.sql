-- isolation, read_only: what this server calls the two. What session.sql is about to change.
SET @pawl_own_autocommit = @@SESSION.autocommit, @pawl_own_sql_mode = @@SESSION.sql_mode,
    @pawl_own_time_zone = @@SESSION.time_zone, @pawl_own_completion = @@SESSION.completion_type,
    @pawl_own_updates = @@SESSION.sql_safe_updates, @pawl_own_select = @@SESSION.sql_select_limit,
    @pawl_own_row_wait = @@SESSION.innodb_lock_wait_timeout, @pawl_own_wait = @@SESSION.lock_wait_timeout,
    @pawl_own_isolation = @@SESSION.{isolation}, @pawl_own_read_only = @@SESSION.{read_only}
