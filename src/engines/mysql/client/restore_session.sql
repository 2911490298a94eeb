-- isolation, read_only: as they were for keep_session.sql. Values are read before any is changed.
SET SESSION autocommit = @pawl_own_autocommit, sql_mode = @pawl_own_sql_mode,
            time_zone = @pawl_own_time_zone, completion_type = @pawl_own_completion,
            sql_safe_updates = @pawl_own_updates, sql_select_limit = @pawl_own_select,
            innodb_lock_wait_timeout = @pawl_own_row_wait, lock_wait_timeout = @pawl_own_wait,
            {isolation} = @pawl_own_isolation, {read_only} = @pawl_own_read_only,
            @pawl_own_autocommit = NULL, @pawl_own_sql_mode = NULL, @pawl_own_time_zone = NULL,
            @pawl_own_completion = NULL, @pawl_own_updates = NULL, @pawl_own_select = NULL,
            @pawl_own_row_wait = NULL, @pawl_own_wait = NULL, @pawl_own_isolation = NULL,
            @pawl_own_read_only = NULL, @pawl_attempt = NULL, @pawl_floor = NULL, @pawl_known = NULL,
            @pawl_mine = NULL, @pawl_now = NULL, @pawl_run = NULL, @pawl_since = NULL,
            @pawl_size = NULL, @pawl_text = NULL
