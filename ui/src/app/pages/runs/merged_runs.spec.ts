import { describe, expect, it } from 'vitest';
import type { Run } from '../../core/types';
import { mergedRuns, RunFilter } from './merged_runs';

const any: RunFilter = { job: '', status: '', node: '' };

function run(id: string, second: number, more: Partial<Run> = {}): Run {
  return {
    id, job: 'j', partition: 0, owner: '', node: 'a', fence_token: 1, occurrence: null, trigger: 'schedule', status: 'started',
    reason: '', started_at: new Date(second * 1000).toISOString(), completed_at: null, last_heartbeat: '', exit_status: null,
    attempt: 1, checkpoint: '', key: 'job/j', output_size: 0, cancel_requested: false, ...more,
  };
}

const ids = (runs: readonly Run[]): string[] => runs.map(({ id }) => id);

describe('live runs in a list', () => {
  it('come in where their time is, the newest first', () => {
    const { runs, fresh } = mergedRuns([run('c', 30), run('a', 10)], [run('b', 20), run('d', 40)], any);
    expect(ids(runs)).toEqual(['d', 'c', 'b', 'a']);
    expect(ids(fresh)).toEqual(['b', 'd']);
  });

  it('change in their place and are not new', () => {
    const { runs, fresh } = mergedRuns([run('b', 20), run('a', 10)], [run('a', 10, { status: 'failed' })], any);
    expect(runs.map(({ status }) => status)).toEqual(['started', 'failed']);
    expect(fresh).toEqual([]);
  });

  it('stay when they do not fit any more, so that their end is seen', () => {
    const filter: RunFilter = { ...any, status: 'started' };
    const { runs } = mergedRuns([run('a', 10)], [run('a', 10, { status: 'completed' })], filter);
    expect(runs.map(({ status }) => status)).toEqual(['completed']);
  });

  it('are left out when they never fitted', () => {
    const changed = [run('x', 50, { job: 'other' }), run('y', 60, { node: 'b' }), run('z', 70, { status: 'lost' })];
    for (const filter of [{ ...any, job: 'j', node: 'a', status: 'started' as const }]) {
      expect(mergedRuns([], changed, filter).runs).toEqual([]);
    }
    expect(ids(mergedRuns([], changed, { ...any, job: 'other' }).runs)).toEqual(['x']);
  });
});
