import type { Job } from '../../core/types';
import type { Tone } from '../../shared/status_badge';

const tones: Record<Job['state'], Tone> = {
  running: 'busy',
  late: 'fail',
  waiting: 'warn',
  paused: 'off',
  disabled: 'off',
  idle: 'ok',
};

export function toneOfJob(state: Job['state']): Tone {
  return tones[state] ?? 'idle';
}

/** `idle` says little to whoever reads it: it waits for its next firing. */
export function wordOfJob(job: Pick<Job, 'state' | 'running' | 'partitions'>): string {
  if (job.state === 'running' && job.partitions > 1) return `${job.running} of ${job.partitions} running`;
  return job.state;
}
