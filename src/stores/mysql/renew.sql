-- space keys pairs until extend -> the third answer: now, key, holder, acquired, until of each key.
-- One statement extends all leases whose terms are the same (rules 3 and 11). The rows that are read
-- after it tell which: a lease that was lost in between is lost.
SET @pawl_now = {now};
UPDATE pawl_lease SET until_at = GREATEST(until_at, {until})
WHERE name_space = {space} AND lock_key IN ({keys}) AND (lock_key, holder) IN ({pairs})
  AND {until} > @pawl_now AND ({extend} OR until_at > @pawl_now);
SELECT @pawl_now, lock_key, holder, acquired, until_at FROM pawl_lease
WHERE name_space = {space} AND lock_key IN ({keys})
