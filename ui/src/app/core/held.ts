import type { Lock } from './types';

/** A lock with what runs down here: when its time ends by this browser's clock. */
export type Held = Lock & { ends: number; full: number };

/** `before` is the same key as it was seen last: of one holder, the longest that was seen counts as full. */
export function held(lock: Lock, before?: Held): Held {
  const known = before && before.fence_token === lock.fence_token && before.held === lock.held ? before.full : 0;
  return { ...lock, ends: Date.now() + lock.remaining_ms, full: Math.max(known, lock.remaining_ms) };
}

export type LockState = 'held' | 'cooldown' | 'free';

/** Cooldown: no client holds it, and none can acquire it until it is over. */
export function stateOf(lock: Held, now = Date.now()): LockState {
  // Also when `now` was read somewhat before the lock was.
  if (lock.remaining_ms <= 0) return 'free';
  if (lock.ends <= now) return lock.held && lock.remaining_ms > 0 ? 'held' : 'free';
  return lock.held ? 'held' : 'cooldown';
}
