-- Layout 1 of a pawl store, made once in an empty file. No arguments, no reply.
-- Times without "wall" are microseconds on CLOCK_BOOTTIME of the boot that the row names; times
-- with "wall" are microseconds since the Unix epoch, and never end a lease of the running boot.
CREATE TABLE pawl_boot (
  boot    INTEGER PRIMARY KEY,
  boot_id TEXT NOT NULL UNIQUE
) STRICT;

-- When this file was made, with nothing in it: one row.
CREATE TABLE pawl_marker (
  only      INTEGER PRIMARY KEY CHECK (only = 1),
  boot      INTEGER NOT NULL,
  born      INTEGER NOT NULL,
  born_wall INTEGER NOT NULL
) STRICT;

CREATE TABLE pawl_lease (
  name_space    TEXT NOT NULL,
  key           TEXT NOT NULL,
  holder        INTEGER NOT NULL, -- the fencing token; 0: held by nobody
  claim_id      TEXT NOT NULL,
  owner         TEXT NOT NULL,
  boot          INTEGER NOT NULL,
  acquired      INTEGER NOT NULL,
  acquired_wall INTEGER NOT NULL,
  until         INTEGER NOT NULL,
  until_wall    INTEGER NOT NULL,
  last_token    INTEGER NOT NULL,
  last_done     INTEGER,          -- Unix milliseconds of the last occurrence that is done
  PRIMARY KEY (name_space, key)
) STRICT, WITHOUT ROWID;

-- The highest token of the records that were purged: new keys start above it.
CREATE TABLE pawl_floor (
  name_space TEXT PRIMARY KEY,
  token      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE pawl_fence (
  name_space TEXT NOT NULL,
  resource   TEXT NOT NULL,
  newest     INTEGER NOT NULL,
  PRIMARY KEY (name_space, resource)
) STRICT, WITHOUT ROWID;

-- Who wants to be woken through the -wake file when a key changes.
CREATE TABLE pawl_waiter (
  name_space TEXT NOT NULL,
  key        TEXT NOT NULL,
  waiter     TEXT NOT NULL,
  boot       INTEGER NOT NULL,
  until      INTEGER NOT NULL,
  PRIMARY KEY (name_space, key, waiter)
) STRICT, WITHOUT ROWID;
