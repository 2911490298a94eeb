// Written by tools/types.mjs from src/api/openapi.json. Change that, and run `npm run types`.

/** RFC 9457. */
export type Problem = {
  /** about:blank unless the kind has a page of its own. */
  type: string;
  /** The status in words. */
  title: string;
  status: number;
  /** One line: what is wrong, where, and what would be right. */
  detail: string;
};

export type Lock = {
  key: string;
  /** Empty when the lock is free. */
  owner: string;
  /** A fencing token. Rises with every grant of a key. */
  fence_token: number;
  /** By the store's clock. */
  acquired_at: string;
  /** Until it expires, unless renewed; 0 when it is free. */
  remaining_ms: number;
  /** False and remaining_ms > 0: in cooldown. */
  held: boolean;
  last_occurrence: string | null;
  /** Where the store can tell. */
  waiters: number;
};

export type LockPage = {
  locks: Lock[];
  /** Hand it back as after; empty at the end. */
  next: string;
  as_of: string;
};

export type LockDetail = Lock & {
  /** The highest ever granted, or burnt by a forced release. */
  newest_token: number;
  /** How long the key is in cooldown after a force release, so that its holder has stopped: a renewal interval and the grace of a run whose agent is heard of, else all that is left of the lease. In cooldown: what is left of it. */
  cooldown_ms: number;
  /** The job whose key this is. */
  job: string | null;
  partition: number;
  run: Run | null;
  /** Why the journal did not say which run it is; left out where it did. */
  run_unknown?: string;
  as_of: string;
};

export type Release = {
  key: string;
  /** A fencing token. Rises with every grant of a key. */
  fence_token: number;
  /** Who was force-released; empty where a cooldown was ended. */
  owner: string;
  reason: string;
  /** Until another client can acquire the key: the former holder has stopped by then. */
  free_in_ms: number;
};

export type Pause = {
  reason: string;
  by: string;
  at: string;
};

/** One cell of a strip. */
export type RunMark = {
  id: string;
  status: RunStatus;
  started_at: string;
  completed_at: string | null;
  node: string;
  attempt: number;
};

export type RunStatus = 'started' | 'completed' | 'failed' | 'cancelled' | 'lost' | 'timed_out' | 'abandoned' | 'skipped';

export type Run = {
  id: string;
  job: string;
  partition: number;
  owner: string;
  node: string;
  /** A fencing token. Rises with every grant of a key. */
  fence_token: number;
  occurrence: string | null;
  /** schedule, manual, exec or library */
  trigger: string;
  status: RunStatus;
  reason: string;
  started_at: string;
  completed_at: string | null;
  last_heartbeat: string;
  exit_status: number | null;
  attempt: number;
  checkpoint: string;
  /** Of its lease. */
  key: string;
  /** Bytes of output, whether or not they are kept. */
  output_size: number;
  cancel_requested: boolean;
};

export type RunEvent = {
  at: string;
  /** begun, asked, resumed, checkpoint, attempt, note, cancel_requested, or the status with which the run ended. */
  kind: string;
  text: string;
  node: string;
  /** A fencing token. Rises with every grant of a key. */
  fence_token: number;
  attempt: number;
};

export type RunDetail = Run & {
  /** The user who triggered this run; empty for a scheduled run. */
  triggered_by: string;
  /** The user who cancelled this run; empty unless cancelled. */
  cancelled_by: string;
  /** The reason that user gave. */
  cancel_reason: string;
  /** The oldest first. */
  history: RunEvent[];
  as_of: string;
};

export type RunPage = {
  /** Newest first. */
  runs: Run[];
  next: string;
  as_of: string;
};

export type Job = {
  name: string;
  /** Empty: manual runs only. */
  schedule: string;
  zone: string;
  partitions: number;
  /** Above 1: the maximum of its concurrent runs, each in a slot with a key of its own. Slots are told where partitions are: 'partition' is the slot. */
  slots: number;
  paused: Pause | null;
  next: string | null;
  last_run: Run | null;
  /** The extra arguments that a queued run may be given: any, none, or those that match one of these patterns (fnmatch) as a whole. */
  arguments: boolean | string[];
  published_by: string;
  published_at: string;
  /** What its configuration says, under the names of its keys, without values of variables. */
  definition: Record<string, unknown>;
  /** blocked: a client that is no run of the job holds its key, see blocked_by. late: a scheduled run is due for more than ten seconds and has not started. waiting: a run is queued and has not started. failing: its newest runs failed, see consecutive_failures. */
  state: 'running' | 'blocked' | 'late' | 'waiting' | 'paused' | 'disabled' | 'failing' | 'idle';
  /** In one line: who or what it waits for. Empty when there is nothing to explain. */
  why: string;
  since: string | null;
  /** Of its partitions or slots. */
  running: number;
  /** Its newest runs that failed or timed out, with no success since, of those that were looked at; of a job with partitions those of the partition that has the most. Runs that were skipped, cancelled or lost with their node are passed over. */
  consecutive_failures: number;
  blocked_by: Blockage | null;
  /** The last runs, the newest first; as many as ?runs= asks for. */
  recent: RunMark[];
};

/** The client that holds a key of the job and is no run of it; of several, the one that has held it for longest. */
export type Blockage = {
  partition: number;
  key: string;
  owner: string;
  /** A fencing token. Rises with every grant of a key. */
  fence_token: number;
  acquired_at: string;
  /** Until its lease expires, unless renewed. */
  remaining_ms: number;
};

export type JobPage = {
  /** In byte order of their names. running and why look at the first 64 partitions or slots. */
  jobs: Job[];
  next: string;
  as_of: string;
};

export type PartitionState = {
  partition: number;
  key: string;
  lock: Lock | null;
  run: Run | null;
  last_run: Run | null;
};

export type JobDetail = Job & {
  /** The next ten; empty while it is paused. */
  next_occurrences: string[];
  /** The last fifty. */
  runs: Run[];
  /** All of them, or all slots; last_run is found among the last thousand runs of the job. */
  partition_states: PartitionState[];
  /** The newest token that any of its partitions or slots was granted. */
  fence_token: number;
  as_of: string;
};

export type RunRequest = {
  /** Report what would run, and start nothing. */
  dry_run?: boolean;
  /** Resume from the last checkpoint. */
  resume?: boolean;
  /** Extra arguments of the command; 64 KiB together. */
  args?: string[];
  /** Run this partition only; default: all. Of a job with slots: run in this slot; default: a free one. */
  partition?: number;
};

export type RunsAsked = {
  job: string;
  ids: string[];
};

export type DryRun = {
  dry_run: boolean;
  job: string;
  command: string[];
  definition: Record<string, unknown>;
  live_nodes: number;
  runs: {
    key: string;
    partition: number;
    lease: Lock | null;
    checkpoint: string;
  }[];
};

export type Reason = {
  /** The reason; shown with the job. */
  reason: string;
};

export type ResumeRequest = {
  /** The reason; recorded in the audit log. */
  reason?: string;
};

export type Paused = {
  name: string;
  paused: boolean;
  /** False if it already was. */
  changed: boolean;
};

export type Cancelled = {
  id: string;
  job: string;
  cancel_requested: boolean;
  /** The run was queued, and does not start. */
  withdrawn: boolean;
  /** `cancelled` where no node had the run: it is over at once. */
  run_status: string;
};

export type Node = {
  name: string;
  /** The owner of its leases: fresh for every start. */
  id: string;
  state: 'live' | 'draining' | 'unresponsive';
  version: string;
  /** The version of the time zones that it goes by; empty where its machine does not say. */
  tzdata: string;
  /** Of its API; empty without. */
  address: string;
  started_at: string;
  last_seen: string;
  running: number;
  running_max: number;
  jobs: number;
};

export type NodePage = {
  nodes: Node[];
  next: string;
  as_of: string;
};

export type AuditEntry = {
  sequence: number;
  at: string;
  actor: string;
  /** Such as lock.release, job.pause, run.cancel, session.open. */
  action: string;
  target: string;
  detail: string;
  previous: string;
  /** SHA-256 over previous and the fields above. */
  hash: string;
};

export type AuditPage = {
  /** The newest first. */
  audit: AuditEntry[];
  next: string;
  as_of: string;
};

export type AuditVerification = {
  /** Entries that fit the chain. */
  verified: number;
  /** The entry that does not. */
  broken_at: number | null;
  detail: string;
  /** When the chain was verified. Without `head` the answer of a verification is given for as long as ten of them take, and for five minutes at most. */
  as_of: string;
};

export type Finding = {
  check: string;
  level: 'OK' | 'WARN' | 'FAIL';
  text: string;
  /** A section of the runbook. */
  runbook: string;
};

export type Diagnosis = {
  store: string;
  engine: string;
  version: string;
  level: 'OK' | 'WARN' | 'FAIL';
  checks: Finding[];
  as_of: string;
};

/** What this node saw in the interval that ends at `at`; quantiles in seconds. */
export type Sample = {
  at: string;
  granted: number;
  busy: number;
  already_done: number;
  errors: number;
  renewed: number;
  renew_failed: number;
  lost: number;
  rejected: number;
  forced: number;
  retries: number;
  fail_open: number;
  runs_ended: number;
  runs_failed: number;
  held: number;
  running: number;
  wait_p50: number;
  wait_p99: number;
  hold_p50: number;
  hold_p99: number;
  store_p99: number;
};

export type Attention = {
  level: 'warn' | 'fail';
  /** store_down, journal_down, control_state_unread, node_unresponsive, job_blocked, job_late, job_paused, job_failing, run_stale, run_lost, orphans, lock_old, lock_waiters, forced_release, fail_open, lease_lost, stale_writes; at most ten of each, and then how many more there are. */
  kind: string;
  /** The key, job, node or run. */
  subject: string;
  text: string;
  /** A path of the web UI. */
  link: string;
  runbook: string;
  /** Further links. */
  steps: {
    label: string;
    /** A path of the web UI. */
    link: string;
  }[];
};

export type Overview = {
  as_of: string;
  node: string;
  version: string;
  /** Why this node takes no scheduled runs, in one line, as at /readyz: it starts, it drains, or it has not yet read from its journal which jobs are paused. Empty when it takes them. */
  unready: string;
  store: {
    engine: string;
    /** Without its secret. */
    url: string;
    up: boolean;
  };
  counts: {
    locks_held: number;
    locks_in_cooldown: number;
    /** There are more locks than were counted; those of jobs are all counted. */
    locks_more?: boolean;
    waiters: number;
    jobs: number;
    jobs_paused: number;
    jobs_late: number;
    jobs_blocked: number;
    jobs_failing: number;
    nodes_live: number;
    nodes_unresponsive: number;
    runs_active: number;
    triggers: number;
    orphans: number;
    stale_runs: number;
  };
  sample_interval_ms: number;
  /** The oldest first, an hour of them at most; of this node. */
  samples: Sample[];
  /** The next ten of this node. */
  next_occurrences: {
    job: string;
    at: string;
  }[];
  active: Run[];
  /** Needs attention, worst first. */
  attention: Attention[];
};

export type Credentials = {
  /** Not needed for a token that pawl token new made. */
  name?: string;
  token: string;
};

export type Session = {
  name: string;
  role: 'viewer' | 'client' | 'operator' | 'admin';
  /** Told at the log-in: what is done by cookie carries it in X-Pawl-Session. Empty for a bearer token, and for a cookie without it. */
  csrf: string;
  expires_at: string | null;
};

export type LeaseRequest = {
  key: string;
  /** The key names a semaphore of so many slots: one of the keys NAME/0 to NAME/(slots-1) is granted, whichever is free first. Without occurrence and claim_id. */
  slots?: number;
  /** For people to read. It is kept as USER@OWNER, since a lease belongs to the user who took it. */
  owner?: string;
  ttl_ms: number;
  /** This occurrence, at most once over all nodes: RFC 3339. */
  occurrence?: string | null;
  /** How long to wait for a busy key. */
  wait_ms?: number;
  /** The occurrence counts as done when the lease is released as done. */
  at_least_once?: boolean;
  /** Fresh and random. Repeating a claim with its id gives the same grant: the way to retry after an answer was lost, or was 503. With one a grant is never given back for a client that has gone; it repeats the claim, or the lease expires. */
  claim_id?: string;
};

export type Lease = {
  key: string;
  owner?: string;
  /** A fencing token. Rises with every grant of a key. */
  fence_token: number;
  /** As granted: a store may grant less than was asked. Renew with this one. */
  ttl_ms: number;
  /** The one that was given. */
  claim_id?: string;
  /** Of a semaphore: the number of the slot, which the key ends with. */
  slot?: number;
  /** Of a grant: for so long the request waited at the agent before the store was asked the time that it granted. Its validity counts from that much after the request was sent. */
  waited_ms?: number;
};

export type RenewRequest = {
  ttl_ms: number;
};

export type Busy = Problem & {
  owner: string;
  /** A fencing token. Rises with every grant of a key. */
  fence_token: number;
  remaining_ms: number;
  reason: 'held' | 'cooldown' | 'quarantined' | 'early';
};

export type AlreadyDone = Problem & {
  last_occurrence: string;
  /** It may not have run: an earlier request of this claim was not answered by the store. */
  answer_lost: boolean;
  /** It may not have run: under a quarantine, the store's data are too young to tell. last_occurrence is the end of what counts as done because of that. */
  forgotten: boolean;
};

export type Stale = Problem & {
  /** A fencing token. Rises with every grant of a key. */
  newest: number;
};

export type FenceRequest = {
  /** A fencing token. Rises with every grant of a key. */
  fence_token: number;
  /** reject_not_newer: one effect per token. */
  rule?: 'reject_older' | 'reject_not_newer';
};

export type CancelRequest = {
  /** Why, in one line: it stands in the run's history and in the audit log. */
  reason?: string;
};

export type ReleaseRequest = {
  key: string;
  /** The token that was shown: only this holder is force-released. Of a lock in cooldown, its newest_token. */
  fence_token: number;
  reason: string;
  /** No cooldown, or the end of it: holders may overlap until the former one notices. */
  now?: boolean;
};

export type SeedReleaseRequest = {
  key: string;
  reason?: string;
};
