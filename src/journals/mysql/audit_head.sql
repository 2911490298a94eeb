-- space -> now; sequence and hash of the newest entry.
SELECT {now} DIV 1000;
SELECT sequence, hash FROM pawl_audit WHERE name_space = {space} ORDER BY sequence DESC LIMIT 1
