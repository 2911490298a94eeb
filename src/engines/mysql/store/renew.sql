-- space keys pairs until extend -> the third answer: now, key, holder, acquired, until of each key, as
-- they were before.
-- One transaction extends all leases whose terms are the same (rules 3 and 11). It fails at once where
-- another session keeps a row locked: to wait for it would let the other leases run out.
START TRANSACTION;
SET @pawl_now = {now};
SELECT @pawl_now, lock_key, holder, acquired, until_at FROM pawl_lease
WHERE name_space = {space} AND lock_key IN ({keys}) FOR UPDATE NOWAIT;
UPDATE pawl_lease SET until_at = GREATEST(until_at, {until})
WHERE name_space = {space} AND lock_key IN ({keys}) AND (lock_key, holder) IN ({pairs})
  AND {until} > @pawl_now AND ({extend} OR until_at > @pawl_now);
COMMIT
