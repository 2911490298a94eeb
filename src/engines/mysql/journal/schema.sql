-- Layout 1 of a pawl journal in MySQL or MariaDB, made under GET_LOCK. No arguments. Times are UTC on
-- the server's clock. Names are bytes: CONVERT(job_name USING utf8mb4) shows one.

-- One row for each run, whatever its attempts; for each occurrence of a job's partition one row.
CREATE TABLE IF NOT EXISTS pawl_job_run (
  run_number       BIGINT         NOT NULL AUTO_INCREMENT PRIMARY KEY COMMENT 'rises as runs begin',
  name_space       VARBINARY(64)  NOT NULL,
  run_id           VARBINARY(64)  NOT NULL,
  job_name         VARBINARY(500) NOT NULL,
  partition_number BIGINT         NOT NULL,
  occurrence       BIGINT         NULL     COMMENT 'Unix milliseconds; NULL: of no schedule',
  lease_key        VARBINARY(512) NOT NULL,
  lock_owner       VARBINARY(256) NOT NULL,
  node             VARBINARY(256) NOT NULL,
  fence_token      BIGINT         NOT NULL,
  at_least_once    TINYINT        NOT NULL,
  started_by       VARBINARY(256) NOT NULL COMMENT 'schedule, manual, exec, library',
  status           VARCHAR(10) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  reason           VARBINARY(1024) NOT NULL,
  started_at       DATETIME(3)    NOT NULL,
  completed_at     DATETIME(3)    NULL,
  last_heartbeat   DATETIME(3)    NOT NULL,
  silence_max      BIGINT         NOT NULL COMMENT 'milliseconds; silent for longer it is stale',
  exit_status      INT            NULL,
  attempt          INT            NOT NULL,
  taken_over       TINYINT        NOT NULL COMMENT 'by a newer token since it began',
  cancel_requested TINYINT        NOT NULL,
  output_size      BIGINT         NOT NULL COMMENT 'of all that was written, kept or not',
  checkpoint       MEDIUMBLOB     NOT NULL,
  UNIQUE KEY by_id (name_space, run_id),
  UNIQUE KEY by_firing (name_space, job_name, partition_number, occurrence),
  KEY newest (name_space, run_number),
  KEY by_job (name_space, job_name, run_number),
  KEY by_node (name_space, node, run_number),
  KEY by_status (name_space, status, run_number)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS pawl_run_event (
  run_number  BIGINT          NOT NULL,
  number      INT             NOT NULL COMMENT '1, 2, 3 … within the run',
  at          DATETIME(3)     NOT NULL,
  kind        VARBINARY(256)  NOT NULL,
  said        VARBINARY(1024) NOT NULL,
  node        VARBINARY(256)  NOT NULL,
  fence_token BIGINT          NOT NULL,
  attempt     INT             NOT NULL,
  PRIMARY KEY (run_number, number)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS pawl_run_output (
  run_number BIGINT     NOT NULL,
  starts     BIGINT     NOT NULL COMMENT 'where in all that the run has written',
  ends       BIGINT     NOT NULL,
  piece      MEDIUMBLOB NOT NULL,
  PRIMARY KEY (run_number, starts)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- The last that any run of a job's partition has saved; outlives its run.
CREATE TABLE IF NOT EXISTS pawl_job_checkpoint (
  name_space       VARBINARY(64)  NOT NULL,
  job_name         VARBINARY(500) NOT NULL,
  partition_number BIGINT         NOT NULL,
  fence_token      BIGINT         NOT NULL,
  checkpoint       MEDIUMBLOB     NOT NULL,
  PRIMARY KEY (name_space, job_name, partition_number)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS pawl_run_trigger (
  place            BIGINT         NOT NULL AUTO_INCREMENT,
  name_space       VARBINARY(64)  NOT NULL,
  run_id           VARBINARY(64)  NOT NULL,
  job_name         VARBINARY(500) NOT NULL,
  partition_number BIGINT         NOT NULL,
  arguments        MEDIUMBLOB     NOT NULL COMMENT 'each as its length, a colon and its bytes',
  inherits         TINYINT        NOT NULL,
  asked_by         VARBINARY(256) NOT NULL,
  at               DATETIME(3)    NOT NULL,
  PRIMARY KEY (name_space, run_id),
  UNIQUE KEY by_place (place),
  KEY oldest (name_space, place)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS pawl_job_pause (
  name_space VARBINARY(64)   NOT NULL,
  job_name   VARBINARY(500)  NOT NULL,
  reason     VARBINARY(1024) NOT NULL,
  paused_by  VARBINARY(256)  NOT NULL,
  at         DATETIME(3)     NOT NULL,
  PRIMARY KEY (name_space, job_name)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS pawl_job (
  name_space   VARBINARY(64)   NOT NULL,
  job_name     VARBINARY(500)  NOT NULL,
  schedule     VARBINARY(1024) NOT NULL,
  zone         VARBINARY(256)  NOT NULL,
  partitions   BIGINT          NOT NULL,
  definition   MEDIUMBLOB      NOT NULL,
  node         VARBINARY(256)  NOT NULL COMMENT 'which published it last',
  since        DATETIME(3)     NOT NULL COMMENT 'with this schedule, zone and partitions',
  published_at DATETIME(3)     NOT NULL,
  PRIMARY KEY (name_space, job_name)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS pawl_node (
  name_space  VARBINARY(64)  NOT NULL,
  node_id     VARBINARY(256) NOT NULL COMMENT 'the owner of its leases',
  node_name   VARBINARY(256) NOT NULL,
  version     VARBINARY(256) NOT NULL,
  address     VARBINARY(256) NOT NULL,
  started_at  DATETIME(3)    NOT NULL,
  last_seen   DATETIME(3)    NOT NULL,
  running     BIGINT         NOT NULL,
  running_max BIGINT         NOT NULL,
  jobs        BIGINT         NOT NULL,
  draining    TINYINT        NOT NULL,
  PRIMARY KEY (name_space, node_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- Who did what. Each entry holds the hash of the one before it.
CREATE TABLE IF NOT EXISTS pawl_audit (
  name_space VARBINARY(64)   NOT NULL,
  sequence   BIGINT          NOT NULL,
  at         DATETIME(3)     NOT NULL,
  actor      VARBINARY(1024) NOT NULL,
  action     VARBINARY(1024) NOT NULL,
  target     VARBINARY(1024) NOT NULL,
  detail     VARBINARY(1024) NOT NULL,
  previous   CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  hash       CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  PRIMARY KEY (name_space, sequence)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

CREATE TABLE IF NOT EXISTS pawl_journal_marker (
  only_one TINYINT NOT NULL PRIMARY KEY,
  layout   INT     NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- Last, so that whoever finds the marker finds the tables.
INSERT IGNORE INTO pawl_journal_marker (only_one, layout) VALUES (1, 1);
