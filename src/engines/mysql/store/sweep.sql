-- space after limit retention_us -> key, whether its retention is over.
SELECT lock_key, until_at < {now} - {retention_us} FROM pawl_lease
WHERE name_space = {space} AND lock_key > {after} ORDER BY lock_key LIMIT {limit}
