-- space before limit -> entries, the newest first.
SELECT sequence, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', at) DIV 1000, actor, action, target, detail,
       previous, hash
FROM pawl_audit WHERE name_space = {space} AND sequence < {before} ORDER BY sequence DESC LIMIT {limit}
