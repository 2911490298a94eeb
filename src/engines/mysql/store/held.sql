-- space keys -> key and holder of those that are held.
SELECT lock_key, holder FROM pawl_lease
WHERE name_space = {space} AND lock_key IN ({keys}) AND holder <> 0 AND until_at > {now}
