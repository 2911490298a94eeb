import type { Job } from '../../core/types';
import { partsOf } from '../job/partitions';
import type { Tone } from '../../shared/status_badge';

type State = Job['state'];

const tones: Record<State, Tone> = {
  running: 'busy',
  blocked: 'fail',
  late: 'fail',
  waiting: 'warn',
  paused: 'off',
  disabled: 'off',
  failing: 'fail',
  idle: 'ok',
};

/** What is to be looked at first comes first. */
export const urgency: readonly State[] = ['blocked', 'late', 'failing', 'waiting', 'running', 'paused', 'idle', 'disabled'];

export function toneOfJob(state: State): Tone {
  return tones[state] ?? 'idle';
}

/** `idle` says little: it waits for its next run. */
export function wordOfState(state: State): string {
  return state === 'idle' ? 'scheduled' : state;
}

export function wordOfJob(job: Pick<Job, 'state' | 'running' | 'partitions' | 'slots' | 'schedule'>): string {
  const { count } = partsOf(job);
  if (job.state === 'running' && count > 1) return `${job.running} of ${count} running`;
  if (job.state === 'idle' && !job.schedule) return 'manual only';
  return wordOfState(job.state);
}

/** A job that fails is still one that fails while it runs again, or waits. */
export function isIn(job: Pick<Job, 'state' | 'consecutive_failures'>, state: string): boolean {
  return job.state === state || (state === 'failing' && job.consecutive_failures > 0);
}

/** Beside a state that does not say it. */
export function failuresText(job: Pick<Job, 'state' | 'consecutive_failures'>): string {
  if (job.state === 'failing' || job.consecutive_failures === 0) return '';
  return job.consecutive_failures === 1 ? 'last run failed' : `last ${job.consecutive_failures} runs failed`;
}
