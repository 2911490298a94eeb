-- space keys retention_us -> none. The floor is locked first, as whoever makes a record does, and
-- rises with the deletion: no key starts again below its old token. Whoever makes a record waits for the
-- floor, so nothing is waited for under it.
START TRANSACTION;
SET @pawl_now = {now};
SELECT token INTO @pawl_floor FROM pawl_floor WHERE name_space = {space} FOR UPDATE;
SELECT GREATEST(@pawl_floor, COALESCE(MAX(last_token), 0)) INTO @pawl_floor FROM pawl_lease
WHERE name_space = {space} AND lock_key IN ({keys}) AND until_at < @pawl_now - {retention_us} FOR UPDATE NOWAIT;
UPDATE pawl_floor SET token = @pawl_floor WHERE name_space = {space};
DELETE FROM pawl_lease
WHERE name_space = {space} AND lock_key IN ({keys}) AND until_at < @pawl_now - {retention_us};
COMMIT
