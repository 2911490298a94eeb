import type { Run, RunMark } from '../../core/types';
import { absoluteText, durationText } from '../../core/time';
import { wordOfRun } from '../../shared/status_badge';

/** Ids are long; their beginning is enough to tell two apart. */
export function shortId(id: string): string {
  return id.slice(0, 8);
}

/** How long a run took, or has been going on. */
export function tookMs(run: Pick<Run, 'started_at' | 'completed_at'>, now: number): number {
  return Math.max(0, (run.completed_at === null ? now : Date.parse(run.completed_at)) - Date.parse(run.started_at));
}

/** A run in words, for a cell, a bar or a link. */
export function titleOf(run: RunMark, now: number): string {
  const attempt = run.attempt > 1 ? `, attempt ${run.attempt}` : '';
  const node = run.node ? ` on ${run.node}` : '';
  const took = run.status === 'skipped' ? '' : `, ${durationText(tookMs(run, now))}`;
  return `${wordOfRun(run.status)}, ${absoluteText(run.started_at)}${took}${node}${attempt}`;
}

export function markOf(run: Run): RunMark {
  const { id, status, started_at, completed_at, node, attempt } = run;
  return { id, status, started_at, completed_at, node, attempt };
}

/** A strip with one run more or changed: the newest first, no longer than before or than `most`. */
export function withMark(marks: readonly RunMark[], mark: RunMark, most: number): RunMark[] {
  const others = marks.filter(({ id }) => id !== mark.id);
  const place = others.findIndex(({ started_at }) => started_at <= mark.started_at);
  others.splice(place < 0 ? others.length : place, 0, mark);
  return others.slice(0, most);
}
