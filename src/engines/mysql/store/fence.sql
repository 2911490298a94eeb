-- space resource token skew_us quarantined (0 or 1) -> insert id: the newest, affected 0: nothing was
-- raised. Both are 0 for a token that was never issued, or that is from before the data were whole
-- (rule 15).
INSERT INTO pawl_fence (name_space, resource, newest)
SELECT {space}, {resource}, LAST_INSERT_ID({token}) FROM pawl_marker
WHERE only_one = 1 AND {token} <= {now} + {skew_us}
  AND ({quarantined} = 0 OR {token} >= GREATEST(whole_at, COALESCE(@pawl_since, 0)))
ON DUPLICATE KEY UPDATE newest = LAST_INSERT_ID(GREATEST(newest, {token}))
