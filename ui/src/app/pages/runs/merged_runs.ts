import type { Run, RunStatus } from '../../core/types';

/** Empty: any. */
export interface RunFilter {
  readonly job: string;
  readonly status: RunStatus | '';
  readonly node: string;
}

export function fits(run: Run, filter: RunFilter): boolean {
  return (!filter.job || run.job === filter.job) && (!filter.status || run.status === filter.status) && (!filter.node || run.node === filter.node);
}

/**
 * A list, the newest first, with what changed. A run that is there stays, even when it does not fit any more: it has just
 * ended, and to vanish under a reader's eyes would say less than its end. `fresh` are those that came in.
 */
export function mergedRuns(runs: readonly Run[], changed: readonly Run[], filter: RunFilter): { runs: Run[]; fresh: Run[] } {
  const news = new Map(changed.map((run) => [run.id, run]));
  const kept = runs.map((run) => {
    const found = news.get(run.id);
    news.delete(run.id);
    return found ?? run;
  });
  const fresh = [...news.values()].filter((run) => fits(run, filter));
  if (fresh.length === 0) return { runs: kept, fresh };
  return { runs: [...kept, ...fresh].sort(newestFirst), fresh };
}

function newestFirst(left: Run, right: Run): number {
  if (left.started_at !== right.started_at) return left.started_at < right.started_at ? 1 : -1;
  return left.id < right.id ? 1 : -1;
}
