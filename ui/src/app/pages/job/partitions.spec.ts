import type { Lock, PartitionState, Run } from '../../core/types';
import { partsOf, partsText, summaryOf, takenText, worthALook } from './partitions';

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

  it('show the one that blocks the job before all others', () => {
    const manyFailed = all.map((one) => (one.partition < 20 ? { ...one, last_run: failed } : one));
    manyFailed[950] = part(950, { lock: held });
    const shown = worthALook(manyFailed, 950).map(({ partition }) => partition);
    expect(shown).toEqual([950, 0, 1, 2, 3, 4, 5, 6]);
    expect(worthALook(manyFailed).map(({ partition }) => partition)).not.toContain(950);
  });

  it('are told in one sentence', () => {
    expect(summaryOf(all, { partitions: 1_000, slots: 1 })).toBe('1,000 partitions: 1 running, 1 locks held, 1 failed in their last run.');
  });
});

describe('the slots of a job', () => {
  const all = [part(0, { lock: held }), part(1), part(2, { lock: { ...held, remaining_ms: 0 } })];

  it('are called slots, and a job with one key has neither', () => {
    expect(partsOf({ partitions: 1, slots: 3 })).toEqual({ count: 3, word: 'slot' });
    expect(partsText({ partitions: 1, slots: 3 })).toBe('3 slots');
    expect(partsText({ partitions: 8, slots: 1 })).toBe('8 partitions');
    expect(partsText({ partitions: 1, slots: 1 })).toBe('');
  });

  it('tell how many are taken', () => {
    expect(takenText(all)).toBe('1 of 3 slots taken.');
  });

  it('are summed up as slots', () => {
    expect(summaryOf(all, { partitions: 1, slots: 3 })).toBe('3 slots: 0 running, 1 locks held, 0 failed in their last run.');
  });
});
