-- Layout 1 of the journal in a pawl store's file, made once, beside the tables of the leases.
-- No arguments, no reply. Times are Unix milliseconds on this machine's clock. Where the columns of
-- pawl_run stand, src/engines/sqlite/journal/run_table.cpp counts on.
CREATE TABLE pawl_journal (
  only   INTEGER PRIMARY KEY CHECK (only = 1),
  layout INTEGER NOT NULL
) STRICT;

-- A namespace, by a number that takes less room in every row.
CREATE TABLE pawl_space (
  space INTEGER PRIMARY KEY,
  name  TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE pawl_run (
  place            INTEGER PRIMARY KEY, -- rises in the order in which runs began
  space            INTEGER NOT NULL,
  run_id           TEXT NOT NULL,
  job_name         TEXT NOT NULL,
  partition        INTEGER NOT NULL,
  lock_key         TEXT NOT NULL,
  lock_owner       TEXT NOT NULL,
  node             TEXT NOT NULL,
  fence_token      INTEGER NOT NULL,
  occurrence       INTEGER,
  at_least_once    INTEGER NOT NULL,
  run_trigger      TEXT NOT NULL,
  status           TEXT NOT NULL,
  reason           TEXT NOT NULL,
  started_at       INTEGER NOT NULL,
  completed_at     INTEGER,
  last_heartbeat   INTEGER NOT NULL,
  exit_status      INTEGER,
  attempt          INTEGER NOT NULL,
  checkpoint       BLOB NOT NULL,
  output_size      INTEGER NOT NULL,
  cancel_requested INTEGER NOT NULL,
  silence_max      INTEGER NOT NULL,
  taken_over       INTEGER NOT NULL,
  UNIQUE (space, run_id)
) STRICT;
-- An occurrence has one row.
CREATE UNIQUE INDEX pawl_run_firing ON pawl_run (space, job_name, partition, occurrence)
  WHERE occurrence IS NOT NULL;
-- Lists, the newest first.
CREATE INDEX pawl_run_space ON pawl_run (space);
CREATE INDEX pawl_run_job ON pawl_run (space, job_name);
CREATE INDEX pawl_run_status ON pawl_run (space, status);
CREATE INDEX pawl_run_node ON pawl_run (space, node);
-- Retention, by number and by age.
CREATE INDEX pawl_run_over ON pawl_run (space, job_name)
  WHERE status NOT IN ('started', 'abandoned');
CREATE INDEX pawl_run_end ON pawl_run (space, job_name, completed_at)
  WHERE status NOT IN ('started', 'abandoned');

CREATE TABLE pawl_run_event (
  place       INTEGER NOT NULL,
  number      INTEGER NOT NULL,
  at          INTEGER NOT NULL,
  kind        TEXT NOT NULL,
  detail      TEXT NOT NULL,
  node        TEXT NOT NULL,
  fence_token INTEGER NOT NULL,
  attempt     INTEGER NOT NULL,
  PRIMARY KEY (place, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE pawl_run_output (
  place INTEGER NOT NULL,
  start INTEGER NOT NULL, -- of these bytes in all that the run has written
  bytes BLOB NOT NULL,
  UNIQUE (place, start)
) STRICT;

-- What a job and partition saved last, and under which token.
CREATE TABLE pawl_checkpoint (
  space       INTEGER NOT NULL,
  job_name    TEXT NOT NULL,
  partition   INTEGER NOT NULL,
  fence_token INTEGER NOT NULL,
  checkpoint  BLOB NOT NULL,
  UNIQUE (space, job_name, partition)
) STRICT;

CREATE TABLE pawl_trigger (
  place      INTEGER PRIMARY KEY, -- rises in the order in which they were asked for
  space      INTEGER NOT NULL,
  trigger_id TEXT NOT NULL,
  job_name   TEXT NOT NULL,
  partition  INTEGER NOT NULL,
  arguments  BLOB NOT NULL, -- each as its length in bytes, a colon and its bytes
  last_saved INTEGER NOT NULL,
  asked_by   TEXT NOT NULL,
  asked_at   INTEGER NOT NULL,
  UNIQUE (space, trigger_id)
) STRICT;
CREATE INDEX pawl_trigger_order ON pawl_trigger (space);

CREATE TABLE pawl_pause (
  space     INTEGER NOT NULL,
  job_name  TEXT NOT NULL,
  reason    TEXT NOT NULL,
  paused_by TEXT NOT NULL,
  paused_at INTEGER NOT NULL,
  PRIMARY KEY (space, job_name)
) STRICT, WITHOUT ROWID;

CREATE TABLE pawl_job (
  space          INTEGER NOT NULL,
  job_name       TEXT NOT NULL,
  schedule       TEXT NOT NULL,
  zone           TEXT NOT NULL,
  partitions     INTEGER NOT NULL,
  definition     TEXT NOT NULL,
  node           TEXT NOT NULL,
  schedule_since INTEGER NOT NULL,
  published_at   INTEGER NOT NULL,
  UNIQUE (space, job_name)
) STRICT;

CREATE TABLE pawl_node (
  space       INTEGER NOT NULL,
  node_id     TEXT NOT NULL,
  name        TEXT NOT NULL,
  version     TEXT NOT NULL,
  address     TEXT NOT NULL,
  started_at  INTEGER NOT NULL,
  last_seen   INTEGER NOT NULL,
  running     INTEGER NOT NULL,
  running_max INTEGER NOT NULL,
  jobs        INTEGER NOT NULL,
  draining    INTEGER NOT NULL,
  PRIMARY KEY (space, node_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE pawl_audit (
  space    INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  at       INTEGER NOT NULL,
  actor    TEXT NOT NULL,
  action   TEXT NOT NULL,
  target   TEXT NOT NULL,
  detail   TEXT NOT NULL,
  previous TEXT NOT NULL,
  hash     TEXT NOT NULL,
  PRIMARY KEY (space, sequence)
) STRICT, WITHOUT ROWID;
-- The chain of hashes finds what was changed; these refuse it where SQL is asked.
CREATE TRIGGER pawl_audit_stays BEFORE DELETE ON pawl_audit
BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
CREATE TRIGGER pawl_audit_is_as_it_was BEFORE UPDATE ON pawl_audit
BEGIN SELECT RAISE(ABORT, 'the audit is append-only'); END;
