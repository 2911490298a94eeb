-- space id token how why code and: more conditions, event -> the second answer: affected 1: ended.
START TRANSACTION;
UPDATE pawl_job_run SET status = {how}, reason = {why}, exit_status = {code},
  completed_at = IF({how} = 'abandoned', completed_at, UTC_TIMESTAMP(3))
WHERE name_space = {space} AND run_id = {id} AND fence_token = {token} AND status = 'started' {and};
{event};
COMMIT
