import { describe, expect, it } from 'vitest';
import type { Run, RunEvent } from '../../core/types';
import { attemptsOf, spanOf } from './timeline';

const at = (second: number): string => new Date(Date.UTC(2026, 10, 22, 6, 0, second)).toISOString();

function event(second: number, kind: string, more: Partial<RunEvent> = {}): RunEvent {
  return { at: at(second), kind, text: '', node: 'node-a', fence_token: 7, attempt: 1, ...more };
}

function run(more: Partial<Run> = {}): Run {
  return {
    id: 'r', job: 'j', partition: 0, owner: 'o', node: 'node-a', fence_token: 7, occurrence: null, trigger: 'manual',
    status: 'started', reason: '', started_at: at(0), completed_at: null, last_heartbeat: at(1), exit_status: null,
    attempt: 1, checkpoint: '', key: 'job/j', output_size: 0, cancel_requested: false, ...more,
  };
}

describe('the timeline of a run', () => {
  it('tells a hand-over with both nodes, both tokens and the checkpoint before it', () => {
    const second = { node: 'node-b', fence_token: 9, attempt: 2 };
    const attempts = attemptsOf(run({ status: 'completed', completed_at: at(30) }), [
      event(0, 'begun', { text: 'schedule' }),
      event(5, 'checkpoint', { text: 'page 5' }),
      event(12, 'abandoned', { text: 'silent' }),
      event(13, 'resumed', { text: 'after node-a', ...second }),
      event(30, 'completed', second),
    ]);
    expect(attempts.map(({ node, token, end, takenFrom }) => [node, token, end, takenFrom])).toEqual([
      ['node-a', 7, 'abandoned', null],
      ['node-b', 9, 'completed', 'node-a'],
    ]);
    expect(attempts[0].marks).toEqual([{ at: Date.parse(at(5)), kind: 'checkpoint', text: 'page 5' }]);
    expect(spanOf(attempts, 0)).toEqual({ from: Date.parse(at(0)), to: Date.parse(at(30)) });
  });

  it('ends an attempt without an end when the next takes over', () => {
    const attempts = attemptsOf(run(), [event(0, 'begun'), event(9, 'resumed', { node: 'node-b', fence_token: 8, attempt: 2 })]);
    expect(attempts[0]).toMatchObject({ to: Date.parse(at(9)), end: 'taken over' });
    expect(attempts[1]).toMatchObject({ to: null, end: '', takenFrom: 'node-a' });
  });

  it('says why an attempt was followed by another on the same node', () => {
    const attempts = attemptsOf(run(), [event(0, 'begun'), event(3, 'attempt', { text: 'exit 3', attempt: 2 })]);
    expect(attempts[0]).toMatchObject({ end: 'retried', reason: 'exit 3' });
    expect(attempts[1].takenFrom).toBeNull();
  });

  it('knows an attempt by any of its events, as the journal lets go of old ones', () => {
    const attempts = attemptsOf(run(), [event(0, 'begun'), event(50, 'checkpoint', { text: 'c', attempt: 4 })]);
    expect(attempts.map(({ attempt }) => attempt)).toEqual([1, 4]);
    expect(attempts[1].marks.length).toBe(1);
  });

  it('begins anew after an occurrence that was skipped and ran after all', () => {
    const attempts = attemptsOf(run(), [event(0, 'skipped', { text: 'too late' }), event(4, 'begun')]);
    expect(attempts.map(({ end }) => end)).toEqual(['skipped', '']);
  });

  it('takes the row for it when there is no history', () => {
    const attempts = attemptsOf(run({ status: 'failed', reason: 'exit 1', completed_at: at(2) }), []);
    expect(attempts).toMatchObject([{ node: 'node-a', token: 7, end: 'failed', reason: 'exit 1' }]);
  });
});
