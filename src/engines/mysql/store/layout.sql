-- space -> layout and whole_at of the marker, whether the namespace has its floor.
SELECT layout, whole_at, server = @@server_id,
       (SELECT COUNT(*) FROM pawl_floor WHERE name_space = {space})
FROM pawl_marker WHERE only_one = 1
