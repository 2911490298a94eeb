-- Put before every script that a quarantine concerns. Rule 7: since when (us) the data of this server has been whole, and when (ms) it
-- was born. The marker is BORN_MS RUN_ID SINCE_US, the history REPLICATION_ID PLACE [copied]; `place` names where this server keeps what
-- it syncs before it answers, is lazy where it does not, or uncertain; `met` is seen where this client has met the data before.
local function whole_since(now, marker_key, history_key, run_id, place, met)
  local known = redis.call('MGET', marker_key, history_key)
  local marker, history = known[1], known[2]
  local replication = redis.call('INFO', 'replication')
  local id = string.match(replication, 'master_replid:(%w+)') or 'none'
  local born, run, since = string.match(marker or '', '^(%d+) (%w+) (%d+)$')
  born, since = tonumber(born or '0'), tonumber(since or '0')
  local followed, kept_in, copied = string.match(history or '', '^(%w+) ?(%w*) ?(%w*)$')
  local function vouches(name) return name and name ~= '' and name ~= 'uncertain' and name ~= 'lazy' end
  -- While nothing is appended, nothing can tell the next life, which begins with the file of before, that anything was granted: be it
  -- this life that has written the file, or one before it.
  if vouches(kept_in) and copied ~= 'copied' and string.find(redis.call('INFO', 'persistence'), 'aof_enabled:0', 1, true) then
    return now, math.floor(now / 1000)
  end
  if run == run_id and followed == id and (place == kept_in or place == 'uncertain' or kept_in == 'lazy') then return since, born end

  -- Another server that has had the data may be started with an older copy of it, marker included. What is seen of replicas in one
  -- life is not in the next, so it is kept; a backlog that has begun, and ended, leaves another replication id. The offset tells
  -- nothing: since Redis 7.2, and in Valkey, what is appended counts without any replica.
  local function says(fact) return string.find(replication, fact .. '\r', 1, true) end
  local alone = says('role:master') and says('connected_slaves:0') and says('repl_backlog_active:0') and (run ~= run_id or not followed or followed == id)
  if not alone then copied = 'copied' end

  -- A replica that was promoted may lack the newest grants. Its replication id is a new one that follows another; also where it was
  -- the master before, and has kept its run id. One that only begins or ends a backlog follows none.
  local promoted = marker and not string.find(replication, 'second_repl_offset:-1', 1, true)
  local own = vouches(place) and place == kept_in and copied ~= 'copied'
  local lost_by
  if run == run_id then
    if promoted and history then lost_by = now end
  elseif promoted then
    lost_by = now
  elseif not marker or not own then
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
  -- A client that cannot tell knows less of this life than one that could; one that dialled before it became lazy does not know it.
  if run == run_id and (place == 'uncertain' and followed and kept_in ~= '' or kept_in == 'lazy') then place = kept_in end
  redis.call('SET', marker_key, string.format('%d %s %d', born, run_id, since))
  redis.call('SET', history_key, id .. ' ' .. place .. (copied == 'copied' and ' copied' or ''))
  return since, born
end
