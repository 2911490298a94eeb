-- space -> none. Another server answers than the marker names: a replica was promoted, which may lack
-- the newest grants, so its data count as whole from now on (rule 7).
UPDATE pawl_marker SET server = @@server_id, whole_at = {now}
WHERE only_one = 1 AND server <> @@server_id
