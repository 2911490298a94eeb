import type { Job, PartitionState } from '../../core/types';
import { toneOfRun } from '../../shared/status_badge';

/** From so many partitions on, they are not all shown at once. */
export const partitionsFoldedFrom = 17;
/** So many of those that are worth a look. */
const shownMax = 8;

function hasFailed(part: PartitionState): boolean {
  return part.last_run !== null && toneOfRun(part.last_run.status) === 'fail';
}

function isHeld(part: PartitionState): boolean {
  return part.lock !== null && part.lock.remaining_ms > 0;
}

/** The one that another client blocks first, then those that failed, then those that are held or run, in their order. */
export function worthALook(all: readonly PartitionState[], blocked?: number): PartitionState[] {
  const rank = (part: PartitionState) => {
    if (part.partition === blocked) return 0;
    if (hasFailed(part)) return 1;
    return isHeld(part) || part.run !== null ? 2 : 3;
  };
  return [0, 1, 2].flatMap((which) => all.filter((part) => rank(part) === which)).slice(0, shownMax);
}

export interface Parts {
  /** How many keys the job has. */
  count: number;
  /** What each of them is. */
  word: 'partition' | 'slot';
}

export function partsOf(job: Pick<Job, 'partitions' | 'slots'>): Parts {
  return job.slots > 1 ? { count: job.slots, word: 'slot' } : { count: job.partitions, word: 'partition' };
}

/** `8 partitions`, `2 slots`; empty for a job with one key. */
export function partsText(job: Pick<Job, 'partitions' | 'slots'>): string {
  const { count, word } = partsOf(job);
  return count > 1 ? `${count.toLocaleString('en')} ${word}s` : '';
}

/** `1,000 partitions: 12 running, 14 locks held, 3 failed in their last run.` */
export function summaryOf(all: readonly PartitionState[], job: Pick<Job, 'partitions' | 'slots'>): string {
  const count = (is: (part: PartitionState) => boolean) => all.filter(is).length.toLocaleString('en');
  const running = count((part) => part.run !== null);
  return `${partsText(job)}: ${running} running, ${count(isHeld)} locks held, ${count(hasFailed)} failed in their last run.`;
}

/** `2 of 4 slots taken.` */
export function takenText(all: readonly PartitionState[]): string {
  const taken = all.filter(isHeld);
  return `${taken.length.toLocaleString('en')} of ${all.length.toLocaleString('en')} slots taken.`;
}
