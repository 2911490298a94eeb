import type { Run, RunEvent } from '../../core/types';

/** What happened within one attempt. */
export interface TimelineMark {
  readonly at: number;
  /** checkpoint, note, cancel_requested, or another that a newer agent may write. */
  readonly kind: string;
  readonly text: string;
}

/** One attempt at a run: a node, a token, from when to when. */
export interface TimelineAttempt {
  readonly attempt: number;
  readonly node: string;
  readonly token: number;
  readonly from: number;
  /** Null: it still goes on. */
  readonly to: number | null;
  /** How it ended: a status of the run, `retried` or `taken over`; empty while it goes on. */
  readonly end: string;
  readonly reason: string;
  /** The node from which it was taken over, or null. */
  readonly takenFrom: string | null;
  readonly marks: readonly TimelineMark[];
}

type Draft = { -readonly [Name in keyof TimelineAttempt]: TimelineAttempt[Name] } & { marks: TimelineMark[] };

const openings = new Set(['begun', 'resumed', 'attempt']);
const ends = new Set(['completed', 'failed', 'cancelled', 'lost', 'timed_out', 'abandoned', 'skipped']);

/**
 * The history of a run as attempts. The journal keeps 200 events and lets go of the oldest but the first, so an attempt
 * may show itself by any of its events.
 */
export function attemptsOf(run: Run, history: readonly RunEvent[]): TimelineAttempt[] {
  const attempts: Draft[] = [];
  for (const event of history) {
    const at = Date.parse(event.at);
    let current: Draft | undefined = attempts[attempts.length - 1];
    if (current === undefined || opensAnother(current, event)) {
      current = begin(attempts, event, at);
    }
    if (ends.has(event.kind)) Object.assign(current, { to: at, end: event.kind, reason: event.text });
    else if (!openings.has(event.kind)) current.marks.push({ at, kind: event.kind, text: event.text });
  }
  if (attempts.length === 0) attempts.push(onlyRow(run));
  const last = attempts[attempts.length - 1];
  if (run.completed_at !== null && last.to === null) {
    Object.assign(last, { to: Date.parse(run.completed_at), end: run.status, reason: run.reason });
  }
  return attempts;
}

/** When the whole of it began, and when it ended or what the time is now. */
export function spanOf(attempts: readonly TimelineAttempt[], now: number): { from: number; to: number } {
  const from = Math.min(...attempts.map((one) => one.from));
  const to = Math.max(...attempts.map((one) => one.to ?? now));
  return { from, to: Math.max(to, from + 1) };
}

// A skipped run that runs after all begins anew without another number.
function opensAnother(current: Draft, event: RunEvent): boolean {
  return event.attempt > current.attempt || (openings.has(event.kind) && current.to !== null);
}

function begin(attempts: Draft[], event: RunEvent, at: number): Draft {
  const before = attempts[attempts.length - 1];
  const moved = before !== undefined && (before.node !== event.node || event.kind === 'resumed');
  if (before !== undefined && before.to === null) {
    before.to = at;
    before.end = moved ? 'taken over' : 'retried';
    if (event.kind === 'attempt') before.reason = event.text;
  }
  const fresh: Draft = {
    attempt: event.attempt,
    node: event.node,
    token: event.fence_token,
    from: at,
    to: null,
    end: '',
    reason: '',
    takenFrom: moved ? before.node : null,
    marks: [],
  };
  attempts.push(fresh);
  return fresh;
}

function onlyRow(run: Run): Draft {
  return {
    attempt: run.attempt,
    node: run.node,
    token: run.fence_token,
    from: Date.parse(run.started_at),
    to: null,
    end: '',
    reason: '',
    takenFrom: null,
    marks: [],
  };
}
