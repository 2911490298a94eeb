import type { Sample } from '../../core/types';

/** More points than that are no longer told apart on a chart. */
const pointsMax = 180;

/** The samples of the last so many milliseconds before the newest. */
export function within(samples: readonly Sample[], windowMs: number): readonly Sample[] {
  const newest = samples.at(-1);
  if (!newest) return samples;
  const from = new Date(newest.at).getTime() - windowMs;
  return samples.filter(({ at }) => new Date(at).getTime() > from);
}

const summed = [
  'granted', 'busy', 'already_done', 'errors', 'renewed', 'renew_failed', 'lost', 'rejected', 'forced', 'retries',
  'fail_open', 'runs_ended', 'runs_failed',
] as const;
const highest = ['held', 'running', 'wait_p50', 'wait_p99', 'hold_p50', 'hold_p99', 'store_p99'] as const;

/** Neighbours are put together until few enough are left: what is counted is added, of the rest the highest stays. */
export function condensed(samples: readonly Sample[], most = pointsMax): readonly Sample[] {
  const each = Math.ceil(samples.length / most);
  if (each <= 1) return samples;
  const result: Sample[] = [];
  // From the end, so that the newest is always a whole one.
  for (let end = samples.length; end > 0; end -= each) {
    const group = samples.slice(Math.max(0, end - each), end);
    const one: Sample = { ...group[group.length - 1] };
    for (const name of summed) one[name] = group.reduce((sum, sample) => sum + sample[name], 0);
    for (const name of highest) one[name] = group.reduce((most_, sample) => Math.max(most_, sample[name]), 0);
    result.unshift(one);
  }
  return result;
}

/** Live samples after those that were read; the same one is not counted twice. */
export function appended(samples: readonly Sample[], sample: Sample | null | undefined, hourMs: number): Sample[] {
  const newest = samples.at(-1);
  if (!sample || (newest && newest.at >= sample.at)) return [...samples];
  return [...within([...samples, sample], hourMs)];
}
