-- Put before every script that a quarantine concerns. Rule 7: since when (us) the data of this server has been whole, and when (ms) it
-- was born. The marker is BORN_MS RUN_ID SINCE_US, the history a replication id; `met` is seen where this client has met the data before.
local function whole_since(now, marker_key, history_key, run_id, writes, met)
  local known = redis.call('MGET', marker_key, history_key)
  local marker, history = known[1], known[2]
  local replication = redis.call('INFO', 'replication')
  local id = string.match(replication, 'master_replid:(%w+)') or 'none'
  local born, run, since = string.match(marker or '', '^(%d+) (%w+) (%d+)$')
  born, since = tonumber(born or '0'), tonumber(since or '0')
  if run == run_id and history == id then return since, born end

  -- A replica that was promoted may lack the newest grants. Its replication id is a new one that follows another; also where it was
  -- the master before, and has kept its run id. One that only begins or ends a backlog follows none.
  local promoted = marker and not string.find(replication, 'second_repl_offset:-1', 1, true)
  local lost_by
  if run == run_id then
    if promoted and history then lost_by = now end
  elseif promoted then
    lost_by = now
  elseif not marker or writes ~= 'synced' then
    -- Another life: what was granted before it may be forgotten. A slot of a cluster also moves to a node that lives another.
    local clustered = string.find(marker_key, '{', 1, true)
    if met == 'seen' and not (marker and clustered) then
      lost_by = now
    else
      local up = tonumber(string.match(redis.call('INFO', 'server'), 'uptime_in_seconds:(%d+)'))
      -- The second of the start and that of the moment are taken as they began, so this may be one too many; and a node of a
      -- cluster serves nobody for its first two seconds: only then its data begins.
      lost_by = now - math.max(0, up - (clustered and 3 or 1)) * 1000000
      -- The uptime is of the wall clock, which may have been set since: no life begins before the one that it follows.
      if lost_by <= since then lost_by = now end
    end
  end
  if lost_by then
    since, born = lost_by, math.max(born, math.floor(lost_by / 1000))
  end
  redis.call('SET', marker_key, string.format('%d %s %d', born, run_id, since))
  redis.call('SET', history_key, id)
  return since, born
end
