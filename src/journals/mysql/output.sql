-- space id token offset length end bytes floor -> the last but one answer: 1: written, or was there.
-- What is there already is not added again; chunks that end at the floor or before it go.
START TRANSACTION;
SET @pawl_run = NULL, @pawl_size = 0;
SELECT run_number, output_size INTO @pawl_run, @pawl_size FROM pawl_job_run
WHERE name_space = {space} AND run_id = {id} AND fence_token = {token} AND status = 'started' FOR UPDATE;
SET @pawl_known = LEAST(GREATEST(@pawl_size - {offset}, 0), {length});
INSERT INTO pawl_run_output (run_number, starts, ends, piece)
SELECT @pawl_run, {offset} + @pawl_known, {end}, SUBSTRING({bytes}, @pawl_known + 1) FROM DUAL
WHERE @pawl_run IS NOT NULL AND @pawl_known < {length};
UPDATE pawl_job_run SET output_size = {end}
WHERE run_number = @pawl_run AND output_size < {end} AND {length} > 0;
DELETE FROM pawl_run_output WHERE run_number = @pawl_run AND starts < {floor} AND ends <= {floor};
SELECT @pawl_run IS NOT NULL;
COMMIT
