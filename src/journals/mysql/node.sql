-- space id name version address running running_max jobs draining -> affected 1: it is new.
INSERT INTO pawl_node (name_space, node_id, node_name, version, address, started_at, last_seen, running,
  running_max, jobs, draining)
VALUES ({space}, {id}, {name}, {version}, {address}, UTC_TIMESTAMP(3), UTC_TIMESTAMP(3), {running},
  {running_max}, {jobs}, {draining})
ON DUPLICATE KEY UPDATE node_name = {name}, version = {version}, address = {address},
  last_seen = UTC_TIMESTAMP(3), running = {running}, running_max = {running_max}, jobs = {jobs},
  draining = {draining}
