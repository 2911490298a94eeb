import type { Lock, PartitionState, Run } from '../../core/types';
import { summaryOf, worthALook } from './partitions';

function part(partition: number, more: Partial<PartitionState> = {}): PartitionState {
  return { partition, key: `job/split/${partition}`, lock: null, run: null, last_run: null, ...more };
}
const failed = { status: 'failed' } as Run;
const done = { status: 'completed' } as Run;
const held = { remaining_ms: 5_000, held: true } as Lock;

describe('many partitions', () => {
  const all = Array.from({ length: 1_000 }, (_one, place) => part(place, { last_run: done }));
  all[7] = part(7, { lock: held, run: done, last_run: done });
  all[900] = part(900, { last_run: failed });

  it('show first what has failed, then what is at work, and few of them', () => {
    expect(worthALook(all).map(({ partition }) => partition)).toEqual([900, 7]);
    expect(worthALook(all.map((one) => ({ ...one, last_run: failed })))).toHaveLength(8);
  });

  it('are told in one sentence', () => {
    expect(summaryOf(all, 1_000)).toBe('1,000 partitions: 1 running, 1 locks held, 1 failed in their last run.');
  });
});
