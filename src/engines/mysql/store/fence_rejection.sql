-- space resource -> now, since when the data are whole, the newest token or NULL. Why a fence took no
-- token; not part of its atomic step, as nothing was raised.
SELECT {now}, GREATEST(marker.whole_at, COALESCE(@pawl_since, 0)), fence.newest
FROM pawl_marker AS marker
LEFT JOIN pawl_fence AS fence ON fence.name_space = {space} AND fence.resource = {resource}
WHERE marker.only_one = 1
