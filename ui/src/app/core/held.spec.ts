import { held, stateOf } from './held';
import type { Lock } from './types';

const lock = (changes: Partial<Lock> = {}): Lock => ({
  key: 'job/a', owner: 'node-a:1', fence_token: 3, acquired_at: '2026-11-22T00:00:00Z', remaining_ms: 20_000, held: true,
  last_occurrence: null, waiters: 0, ...changes,
});

describe('a lock as it runs down', () => {
  it('is as full as the longest that was seen of its holder', () => {
    const first = held(lock({ remaining_ms: 30_000 }));
    expect(held(lock({ remaining_ms: 21_000 }), first).full).toBe(30_000);
    expect(held(lock({ remaining_ms: 60_000 }), first).full).toBe(60_000);
  });
  it('begins anew with another holder', () => {
    const first = held(lock({ remaining_ms: 30_000 }));
    expect(held(lock({ remaining_ms: 5_000, fence_token: 4 }), first).full).toBe(5_000);
  });
  it('is in cooldown when no client holds it, and free after', () => {
    const now = Date.now();
    expect(stateOf(held(lock()), now)).toBe('held');
    expect(stateOf(held(lock({ held: false })), now)).toBe('cooldown');
    expect(stateOf(held(lock({ held: false })), now + 60_000)).toBe('free');
    expect(stateOf(held(lock({ held: false, remaining_ms: 0 })), now + 1_000)).toBe('free');
  });
  it('is free when nothing was left of it, however old the time is that it is looked at with', () => {
    expect(stateOf(held(lock({ held: false, remaining_ms: 0 })), Date.now() - 5_000)).toBe('free');
  });
});
