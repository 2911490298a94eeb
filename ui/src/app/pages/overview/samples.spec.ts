import type { Sample } from '../../core/types';
import { appended, condensed, within } from './samples';

const start = Date.parse('2026-11-22T00:00:00Z');
const sample = (index: number, changes: Partial<Sample> = {}): Sample => ({
  at: new Date(start + index * 5_000).toISOString(), granted: 1, busy: 0, already_done: 0, errors: 0, renewed: 0, renew_failed: 0,
  lost: 0, rejected: 0, forced: 0, retries: 0, fail_open: 0, runs_ended: 0, runs_failed: 0, held: 0, running: 0, wait_p50: 0,
  wait_p99: 0, hold_p50: 0, hold_p99: 0, store_p99: 0, ...changes,
});
const some = (count: number) => Array.from({ length: count }, (_one, index) => sample(index));

describe('samples', () => {
  it('of a window are those before the newest', () => {
    expect(within(some(100), 60_000).length).toBe(12);
    expect(within([], 60_000)).toEqual([]);
  });
  it('put together lose no count and no peak, and end with the newest', () => {
    const all = some(720);
    all[333] = sample(333, { granted: 50, wait_p99: 9 });
    const few = condensed(all, 100);
    expect(few.length).toBeLessThanOrEqual(100);
    expect(few.reduce((sum, { granted }) => sum + granted, 0)).toBe(769);
    expect(few.some(({ wait_p99 }) => wait_p99 === 9)).toBe(true);
    expect(few.at(-1)?.at).toBe(all.at(-1)?.at);
  });
  it('that came already are not counted twice, and the oldest are let go', () => {
    const all = some(10);
    expect(appended(all, sample(9), 3_600_000).length).toBe(10);
    expect(appended(all, null, 3_600_000).length).toBe(10);
    expect(appended(all, sample(10), 25_000).length).toBe(5);
  });
});
