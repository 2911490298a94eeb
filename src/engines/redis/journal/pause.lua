-- ARGV job text; reply 1, or 0 where it is paused already
if call('HSETNX', base .. 'pause_texts', ARGV[1], part(digits(now)) .. ARGV[2]) == 0 then return 0 end
call('ZADD', base .. 'pauses', 0, ARGV[1])
return 1
