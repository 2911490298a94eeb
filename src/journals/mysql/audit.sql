-- space sequence at_us actor action target detail previous hash -> affected 1: added; else another entry
-- has become the next one. An entry that is there is never changed, so its follower is right whoever
-- comes first.
INSERT INTO pawl_audit (name_space, sequence, at, actor, action, target, detail, previous, hash)
VALUES ({space}, {sequence}, TIMESTAMPADD(MICROSECOND, {at_us}, '1970-01-01'), {actor}, {action}, {target},
  {detail}, {previous}, {hash})
ON DUPLICATE KEY UPDATE sequence = sequence
