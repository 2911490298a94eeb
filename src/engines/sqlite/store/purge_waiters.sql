-- boot, now -> none. Removes the waiters that died.
DELETE FROM pawl_waiter WHERE boot <> ?1 OR until <= ?2
