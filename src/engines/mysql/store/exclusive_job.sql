-- The classic table of exclusive jobs, for programs that keep their statements: what they write takes,
-- extends and ends leases of pawl. An administrator runs it once, in the database of pawl's tables, with
-- the client that knows DELIMITER; for another namespace, or another bound on clock skew, change the
-- arguments in the triggers.
--
-- The lease decides. A statement that may not happen is an error, that of a duplicate key where another
-- has the job: a trigger that kept the row as it is would answer "1 row" to a client that counts the
-- rows it found. Their own clocks say when a lock expires, so a lease lasts longer than the lock by
-- skew_us: that is how far a program's clock may be behind the server's. The instance is the claim: a
-- static UUID for each process.

SET NAMES utf8mb4;
SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION';
DROP PROCEDURE IF EXISTS pawl_check_layout;
DROP PROCEDURE IF EXISTS pawl_check_exclusive_job;
DROP PROCEDURE IF EXISTS pawl_take_exclusive_job;
DROP PROCEDURE IF EXISTS pawl_extend_exclusive_job;
DROP PROCEDURE IF EXISTS pawl_end_exclusive_job;
DROP TABLE IF EXISTS pawl_exclusive_job_new;

-- As each process of pawl does for its namespace; it ends here where pawl's tables are still missing.
INSERT IGNORE INTO pawl_floor (name_space, token) VALUES ('pawl', 0);

DELIMITER //

CREATE PROCEDURE pawl_check_layout()
READS SQL DATA
BEGIN
  IF COALESCE((SELECT layout FROM pawl_marker WHERE only_one = 1), 0) <> 1 THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
      'the tables of pawl have another layout than exclusive_job knows; expected 1';
  END IF;
END//

-- What is wrong is refused before any lease is touched: under IGNORE, or without a strict sql_mode, the
-- constraints of the table warn, and their row is passed by.
CREATE PROCEDURE pawl_check_exclusive_job(
  job VARCHAR(256) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, instance VARCHAR(37) CHARACTER SET ascii,
  expires_us BIGINT)
READS SQL DATA
BEGIN
  CALL pawl_check_layout();
  IF job IS NULL OR CHAR_LENGTH(job) NOT BETWEEN 1 AND 255 OR OCTET_LENGTH(job) > 512 OR job LIKE '% ' THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
      'invalid job_id; expected 1 to 255 characters, in 512 bytes at most, and no space at the end';
  END IF;
  IF instance IS NULL OR instance NOT REGEXP '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
      'invalid job_instance_id; expected a UUID such as 6ba7b810-9dad-41d1-80b4-00c04fd430c8';
  END IF;
  IF expires_us IS NULL THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'invalid lock_expires_at; expected a time';
  END IF;
END//

-- The grant is that of acquire.sql, word for word, for a microsecond: who takes extends it, once there
-- is a row that says so. It is judged by what it has left: how many rows a statement has changed means
-- something else to each client.
CREATE PROCEDURE pawl_take_exclusive_job(
  its_space VARBINARY(64), skew_us BIGINT, job VARCHAR(256) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  instance VARCHAR(37) CHARACTER SET ascii, expires_us BIGINT, OUT granted BIGINT)
MODIFIES SQL DATA
BEGIN
  DECLARE now_us     BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
  DECLARE its_ttl_us BIGINT DEFAULT 1;
  DECLARE its_key    VARBINARY(512) DEFAULT CAST(job AS BINARY);
  DECLARE its_id     VARBINARY(64) DEFAULT LOWER(REPLACE(instance, '-', ''));
  DECLARE its_owner  VARBINARY(256) DEFAULT CONCAT('exclusive_job ', LOWER(instance));
  DECLARE its_mark   VARBINARY(130) DEFAULT CONCAT(',', LOWER(HEX(its_id)), ',');
  DECLARE is_holder  BIGINT;
  DECLARE is_claim   VARBINARY(64);
  DECLARE is_owner   VARBINARY(256);
  DECLARE why        VARCHAR(128) CHARACTER SET utf8mb4;
  IF expires_us + skew_us <= now_us THEN
    SET why = CONCAT('lock_expires_at ', FROM_UNIXTIME(expires_us * 0.000001), ' has passed; expected a time ahead');
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = why;
  END IF;
  INSERT INTO pawl_lease (name_space, lock_key, holder, claim_id, owner, acquired, until_at, last_token,
                          last_done, withdrawn)
  VALUES (its_space, its_key,
          LAST_INSERT_ID(GREATEST(now_us, 1 + COALESCE(
            (SELECT token FROM pawl_floor WHERE name_space = its_space LOCK IN SHARE MODE), 0))),
          its_id, its_owner, now_us, now_us + its_ttl_us, holder, NULL, '')
  ON DUPLICATE KEY UPDATE
    owner      = IF(until_at <= now_us AND LOCATE(its_mark, withdrawn) = 0, its_owner, owner),
    acquired   = IF(until_at <= now_us AND LOCATE(its_mark, withdrawn) = 0, now_us, acquired),
    claim_id   = IF(until_at <= now_us AND LOCATE(its_mark, withdrawn) = 0, its_id, claim_id),
    last_token = IF(until_at <= now_us AND LOCATE(its_mark, withdrawn) = 0,
                    LAST_INSERT_ID(GREATEST(last_token + 1, now_us)), last_token),
    holder     = IF(until_at <= now_us AND LOCATE(its_mark, withdrawn) = 0, last_token,
                    IF(holder <> 0 AND claim_id = its_id, LAST_INSERT_ID(holder), holder)),
    until_at   = IF(claim_id = its_id AND holder <> 0 AND (until_at > now_us OR acquired = now_us),
                    GREATEST(until_at, now_us + its_ttl_us), until_at);
  SELECT holder, claim_id, owner INTO is_holder, is_claim, is_owner FROM pawl_lease
  WHERE name_space = its_space AND lock_key = its_key FOR UPDATE;
  IF is_holder = 0 OR is_claim <> its_id THEN
    SET why = CONCAT('job ''', LEFT(job, 40), IF(is_holder = 0, ''' is in cooldown after a release',
                     CONCAT(''' is held by ', COALESCE(LEFT(CONVERT(is_owner USING utf8mb4), 50), '?'))));
    SIGNAL SQLSTATE '23000' SET MYSQL_ERRNO = 1062, MESSAGE_TEXT = why;
  END IF;
  SET granted = is_holder;
END//

-- NULL where the lease is not, or no longer, this instance's. One that has expired and that nobody else
-- took may be extended.
CREATE PROCEDURE pawl_extend_exclusive_job(
  its_space VARBINARY(64), skew_us BIGINT, job VARCHAR(256) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  instance VARCHAR(37) CHARACTER SET ascii, expires_us BIGINT, OUT granted BIGINT)
MODIFIES SQL DATA
BEGIN
  DECLARE its_key VARBINARY(512) DEFAULT CAST(job AS BINARY);
  DECLARE its_id  VARBINARY(64) DEFAULT LOWER(REPLACE(instance, '-', ''));
  SELECT MAX(holder) INTO granted FROM pawl_lease
  WHERE name_space = its_space AND lock_key = its_key AND holder <> 0 AND claim_id = its_id FOR UPDATE;
  UPDATE pawl_lease SET until_at = expires_us + skew_us
  WHERE name_space = its_space AND lock_key = its_key AND holder = granted;
END//

-- The release is that of release.sql, word for word. A lock that has expired, which a program may tidy up
-- that is not its own, leaves its lease to end by itself: its holder's clock may be behind.
CREATE PROCEDURE pawl_end_exclusive_job(
  its_space VARBINARY(64), job VARCHAR(256) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, expires_us BIGINT,
  its_token BIGINT)
MODIFIES SQL DATA
BEGIN
  DECLARE now_us  BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
  DECLARE its_key VARBINARY(512) DEFAULT CAST(job AS BINARY);
  CALL pawl_check_layout();
  IF expires_us > now_us THEN
    UPDATE pawl_lease SET
      until_at = IF(until_at > now_us, now_us + LAST_INSERT_ID(1) - 1, until_at),
      holder   = 0,
      claim_id = ''
    WHERE name_space = its_space AND lock_key = its_key AND holder = its_token;
  END IF;
END//

-- It gets its name when its triggers are there: no program writes a table that takes no lease.
CREATE TABLE pawl_exclusive_job_new (
  -- Texts have room for one more than is allowed: without a strict sql_mode the rest is cut off unseen.
  job_id          VARCHAR(256) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY
    CHECK (CHAR_LENGTH(job_id) BETWEEN 1 AND 255 AND OCTET_LENGTH(job_id) <= 512 AND job_id NOT LIKE '% '),
  job_instance_id VARCHAR(37) CHARACTER SET ascii COLLATE ascii_general_ci NOT NULL
    CHECK (job_instance_id REGEXP '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$'),
  -- With a default of its own, or some servers would give it one that follows every update.
  lock_expires_at TIMESTAMP(6) NOT NULL DEFAULT '2000-01-01 00:00:00',
  fence_token     BIGINT NULL COMMENT 'given by pawl with each grant'
) ENGINE = InnoDB//

-- The lease first, so that a program that is refused never waits for the row. What IGNORE passes by, as
-- the job has a row, leaves nothing taken. The arguments are the namespace, and the bound on skew in
-- microseconds.
CREATE TRIGGER exclusive_job_take BEFORE INSERT ON pawl_exclusive_job_new FOR EACH ROW
BEGIN
  DECLARE expires_us BIGINT DEFAULT CAST(UNIX_TIMESTAMP(NEW.lock_expires_at) * 1000000 AS SIGNED);
  DECLARE granted    BIGINT;
  CALL pawl_check_exclusive_job(NEW.job_id, NEW.job_instance_id, expires_us);
  CALL pawl_take_exclusive_job('pawl', 1000000, NEW.job_id, NEW.job_instance_id, expires_us, granted);
  SET NEW.fence_token = granted, @pawl_job = CONCAT(UTC_TIMESTAMP(6), ' ', NEW.job_id),
      @pawl_job_instance = NEW.job_instance_id, @pawl_job_expires_us = expires_us;
END//

-- No row comes to be without its lease, as it would where a REPLACE has deleted that of the same lock
-- since.
CREATE TRIGGER exclusive_job_taken AFTER INSERT ON pawl_exclusive_job_new FOR EACH ROW
BEGIN
  DECLARE expires_us BIGINT DEFAULT CAST(UNIX_TIMESTAMP(NEW.lock_expires_at) * 1000000 AS SIGNED);
  DECLARE granted    BIGINT;
  DECLARE why        VARCHAR(128) CHARACTER SET utf8mb4;
  CALL pawl_extend_exclusive_job('pawl', 1000000, NEW.job_id, NEW.job_instance_id, expires_us, granted);
  IF NOT granted <=> NEW.fence_token THEN
    SET why = CONCAT('job ''', LEFT(NEW.job_id, 40), ''' is held by this instance; expected UPDATE, not REPLACE');
    SIGNAL SQLSTATE '23000' SET MYSQL_ERRNO = 1062, MESSAGE_TEXT = why;
  END IF;
  SET @pawl_job = NULL;
END//

-- An INSERT … ON DUPLICATE KEY UPDATE takes the lease for the instance that it names. What it has newly
-- granted is written, though the statement's own conditions do not know of it: the row of another may
-- be one whose lease has ended before its time, by force or by an administrator.
CREATE TRIGGER exclusive_job_extend BEFORE UPDATE ON pawl_exclusive_job_new FOR EACH ROW
BEGIN
  DECLARE expires_us BIGINT DEFAULT CAST(UNIX_TIMESTAMP(NEW.lock_expires_at) * 1000000 AS SIGNED);
  DECLARE granted    BIGINT;
  DECLARE why        VARCHAR(128) CHARACTER SET utf8mb4;
  CALL pawl_check_exclusive_job(NEW.job_id, NEW.job_instance_id, expires_us);
  IF CAST(NEW.job_id AS BINARY) <> CAST(OLD.job_id AS BINARY) THEN
    SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'job_id cannot be changed: delete the row, and insert another';
  END IF;
  IF COALESCE(@pawl_job = CONCAT(UTC_TIMESTAMP(6), ' ', OLD.job_id), FALSE) THEN
    CALL pawl_take_exclusive_job('pawl', 1000000, OLD.job_id, @pawl_job_instance, @pawl_job_expires_us, granted);
    IF NOT granted <=> OLD.fence_token OR NEW.job_instance_id <> @pawl_job_instance THEN
      SET NEW.job_instance_id = @pawl_job_instance,
          NEW.lock_expires_at = FROM_UNIXTIME(@pawl_job_expires_us * 0.000001),
          expires_us = @pawl_job_expires_us;
    END IF;
  END IF;
  CALL pawl_extend_exclusive_job('pawl', 1000000, OLD.job_id, NEW.job_instance_id, expires_us, granted);
  IF granted IS NULL AND NEW.job_instance_id = OLD.job_instance_id THEN
    SET why = CONCAT('the lock of job ''', LEFT(OLD.job_id, 40), ''' is lost: delete the row to take it again');
    SIGNAL SQLSTATE '23000' SET MYSQL_ERRNO = 1062, MESSAGE_TEXT = why;
  END IF;
  IF granted IS NULL THEN
    CALL pawl_take_exclusive_job('pawl', 1000000, OLD.job_id, NEW.job_instance_id, expires_us, granted);
    CALL pawl_extend_exclusive_job('pawl', 1000000, OLD.job_id, NEW.job_instance_id, expires_us, granted);
  END IF;
  SET NEW.fence_token = granted, @pawl_job = NULL;
END//

CREATE TRIGGER exclusive_job_end BEFORE DELETE ON pawl_exclusive_job_new FOR EACH ROW
  CALL pawl_end_exclusive_job('pawl', OLD.job_id, CAST(UNIX_TIMESTAMP(OLD.lock_expires_at) * 1000000 AS SIGNED),
                              OLD.fence_token)//

DELIMITER ;

RENAME TABLE pawl_exclusive_job_new TO exclusive_job;
