-- KEYS index; ARGV lock_prefix key|'' limit; reply the key to go on behind, '' at the end. Looks at up to `limit` members behind the key,
-- and from the first on behind the last.
local place, left = ARGV[2], tonumber(ARGV[3])
for _ = 1, 2 do
  local members = walk(KEYS[1], ARGV[1], place == '' and '-' or '(' .. place, '+', left)
  left = left - #members
  if left == 0 then return members[#members] end
  if place == '' then break end
  place = ''
end
return ''
