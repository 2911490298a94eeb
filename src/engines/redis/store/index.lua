-- Put before the scripts that walk an index. Up to `count` members, and their records, each false where there is none: those are
-- taken off the index. A grant adds the name again with the record, in one script.
local function walk(index, lock_prefix, from, to, count)
  local members = redis.call('ZRANGEBYLEX', index, from, to, 'LIMIT', 0, count)
  if #members == 0 then return members, {} end
  local names, dead = {}, {}
  for i = 1, #members do names[i] = lock_prefix .. members[i] end
  -- While its slot moves, a single key that is on another node would be none here; beside one that is here it is an error.
  names[#names + 1] = index
  local packed = redis.call('MGET', unpack(names))
  for i = 1, #members do
    if not packed[i] then dead[#dead + 1] = members[i] end
  end
  -- On a read-only replica they stay.
  if #dead > 0 then redis.pcall('ZREM', index, unpack(dead)) end
  return members, packed
end

