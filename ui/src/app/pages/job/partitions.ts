import type { PartitionState } from '../../core/types';
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

/** Those that failed first, then those that are held or run, in their order. */
export function worthALook(all: readonly PartitionState[]): PartitionState[] {
  const failed = all.filter(hasFailed);
  const busy = all.filter((part) => !hasFailed(part) && (isHeld(part) || part.run !== null));
  return [...failed, ...busy].slice(0, shownMax);
}

/** `1,000 partitions: 12 running, 14 locks held, 3 failed in their last run.` */
export function summaryOf(all: readonly PartitionState[], partitions: number): string {
  const count = (is: (part: PartitionState) => boolean) => all.filter(is).length.toLocaleString('en');
  const running = count((part) => part.run !== null);
  return `${partitions.toLocaleString('en')} partitions: ${running} running, ${count(isHeld)} locks held, ${count(hasFailed)} failed in their last run.`;
}
