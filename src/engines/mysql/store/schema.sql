-- Layout 1 of a pawl store in MySQL or MariaDB, made under GET_LOCK. No arguments.
-- Times are microseconds since the Unix epoch on the server's clock, as numbers: no time zone and no
-- daylight saving can touch them.
CREATE TABLE IF NOT EXISTS pawl_lease (
  name_space VARBINARY(64)   NOT NULL,
  lock_key   VARBINARY(512)  NOT NULL,
  holder     BIGINT          NOT NULL COMMENT 'the fencing token; 0: held by nobody',
  claim_id   VARBINARY(64)   NOT NULL,
  owner      VARBINARY(256)  NOT NULL,
  acquired   BIGINT          NOT NULL COMMENT '0: never granted, only withdrawn',
  until_at   BIGINT          NOT NULL COMMENT 'live while the clock is before it',
  last_token BIGINT          NOT NULL,
  last_done  BIGINT          NULL     COMMENT 'Unix milliseconds of the last occurrence that is done',
  withdrawn  VARBINARY(1100) NOT NULL COMMENT 'the last sixteen claims withdrawn, in hexadecimal',
  PRIMARY KEY (name_space, lock_key)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- The highest token of the records that were purged: new keys start above it.
CREATE TABLE IF NOT EXISTS pawl_floor (
  name_space VARBINARY(64) NOT NULL PRIMARY KEY,
  token      BIGINT        NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS pawl_fence (
  name_space VARBINARY(64)  NOT NULL,
  resource   VARBINARY(512) NOT NULL,
  newest     BIGINT         NOT NULL,
  PRIMARY KEY (name_space, resource)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- One row: the layout, since when these data have been whole, and on which server.
CREATE TABLE IF NOT EXISTS pawl_marker (
  only_one  TINYINT NOT NULL PRIMARY KEY,
  layout    INT     NOT NULL,
  born      BIGINT  NOT NULL,
  server    BIGINT  NOT NULL,
  whole_at  BIGINT  NOT NULL COMMENT 'born, or when this server was first seen after another'
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- Last, so that whoever finds the marker finds the tables.
INSERT IGNORE INTO pawl_marker (only_one, layout, born, server, whole_at)
VALUES (1, 1, {now}, @@server_id, born);
