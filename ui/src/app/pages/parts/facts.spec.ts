import { describe, expect, it } from 'vitest';
import type { Job, Run, RunMark } from '../../core/types';
import { actionWords, isForced, targetLink } from '../audit/audit_words';
import { recordOf } from '../job/job.page';
import { changedJobs } from '../jobs/jobs.page';
import { commandLine, settingsOf } from './definition';
import { argumentsOf } from './run_dialog';
import { titleOf, tookMs, withMark } from './run_facts';

const at = (second: number): string => new Date(second * 1000).toISOString();
const mark = (id: string, second: number, more: Partial<RunMark> = {}): RunMark => ({
  id, status: 'completed', started_at: at(second), completed_at: at(second + 5), node: 'node-a', attempt: 1, ...more,
});

describe('a strip of runs', () => {
  it('takes a new run at its place, and lets go of the oldest', () => {
    const marks = [mark('c', 30), mark('b', 20), mark('a', 10)];
    expect(withMark(marks, mark('d', 40), 3).map(({ id }) => id)).toEqual(['d', 'c', 'b']);
    expect(withMark(marks, mark('x', 25), 4).map(({ id }) => id)).toEqual(['c', 'x', 'b', 'a']);
  });

  it('changes a run in its place', () => {
    const changed = withMark([mark('b', 20), mark('a', 10)], mark('a', 10, { status: 'failed' }), 5);
    expect(changed.map(({ id, status }) => [id, status])).toEqual([['b', 'completed'], ['a', 'failed']]);
  });
});

describe('a run in words', () => {
  it('says how it ended, where, and how long it took', () => {
    expect(titleOf(mark('a', 10, { status: 'timed_out', attempt: 2 }), 0)).toMatch(/^timed out, .*, 5\.0 s on node-a, attempt 2$/);
  });

  it('counts on while it is active, and never below nothing', () => {
    expect(tookMs({ started_at: at(10), completed_at: null }, 12_000)).toBe(2_000);
    expect(tookMs({ started_at: at(10), completed_at: null }, 9_000)).toBe(0);
  });

  it('has no length where it was skipped', () => {
    expect(titleOf(mark('a', 10, { status: 'skipped' }), 0)).not.toContain(' s');
  });
});

describe('the record of a job', () => {
  const run = (status: Run['status'], seconds: number): Run =>
    ({ status, started_at: at(0), completed_at: status === 'started' ? null : at(seconds) }) as Run;

  it('counts what has ended, not what was skipped or is active', () => {
    const runs = [run('completed', 4), run('failed', 60), run('completed', 6), run('skipped', 0), run('started', 0)];
    expect(recordOf(runs)).toBe('2 of the last 3 completed. Median 6.0 s, max 1 min.');
  });

  it('says when nothing has ended', () => {
    expect(recordOf([run('started', 0)])).toBe('No finished run yet.');
  });
});

describe('live jobs in a list', () => {
  const job = (name: string, more: Partial<Job> = {}): Job => ({ name, recent: [], ...more }) as Job;

  it('keep their strip, which live changes do not tell', () => {
    const jobs = changedJobs([job('a', { recent: [mark('r', 1)], running: 0 })], [job('a', { running: 1 })], []);
    expect(jobs).toEqual([job('a', { recent: [mark('r', 1)], running: 1 })]);
  });

  it('come in by their name and go', () => {
    const jobs = changedJobs([job('a'), job('c')], [job('b')], ['a']);
    expect(jobs.map(({ name }) => name)).toEqual(['b', 'c']);
  });
});

describe('a command in words', () => {
  it('is what a shell would need', () => {
    expect(commandLine(['/bin/sh', '-c', "echo 'a b' $X", ''])).toBe(`/bin/sh -c 'echo '\\''a b'\\'' $X' ''`);
  });

  it('takes one argument a line, exactly as it stands there', () => {
    expect(argumentsOf(' a b\r\n\n--day=1\n')).toEqual([' a b', '', '--day=1']);
    expect(argumentsOf('')).toEqual([]);
  });
});

describe('settings', () => {
  it('are told under their own names, the empty ones left out', () => {
    const settings = settingsOf({ ttl: '30s', hold_until_expiry: false, env: [], user: '', retries: { max: 2, backoff: '10s' }, command: ['a', 'b c'] });
    expect(settings.map(({ name, text }) => [name, text])).toEqual([
      ['ttl', '30s'],
      ['hold_until_expiry', 'no'],
      ['retries', 'max = 2, backoff = 10s'],
      ['command', "a 'b c'"],
    ]);
  });
});

describe('the audit in words', () => {
  it('says what was done and leads to it', () => {
    expect(actionWords({ action: 'job.pause' })).toBe('paused');
    expect(actionWords({ action: 'comet.launch' })).toBe('comet.launch');
    expect(targetLink({ action: 'lock.release', target: 'job/a/0' })).toEqual(['/locks', 'job', 'a', '0']);
    expect(actionWords({ action: 'exec.fail_open' })).toBe('ran a command without a lease');
    expect(targetLink({ action: 'exec.fail_open', target: 'invoices/nightly' })).toEqual(['/locks', 'invoices', 'nightly']);
    expect(targetLink({ action: 'run.cancel', target: 'id' })).toEqual(['/runs', 'id']);
    expect(targetLink({ action: 'session.open', target: 'alice' })).toBeNull();
  });

  it('lets forced releases and runs without a lease stand out, and nothing else', () => {
    expect(['lock.release', 'job.fail_open', 'exec.fail_open', 'job.run', 'run.cancel'].map((action) => isForced({ action }))).toEqual([true, true, true, false, false]);
  });
});
