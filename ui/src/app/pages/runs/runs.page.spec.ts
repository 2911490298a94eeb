import { TestBed } from '@angular/core/testing';
import { provideRouter } from '@angular/router';

import { Api } from '../../core/api';
import { Live, Subscription } from '../../core/live';
import type { Run, RunPage } from '../../core/types';
import { AuditPage } from '../audit/audit.page';
import { RunsPage } from './runs.page';

type Answer = (page: object) => void;

/** `count` of them, from `newest` down. */
const numbers = (newest: number, count: number) => Array.from({ length: count }, (_, place) => newest - place);
const runsPage = (newest: number, count: number): RunPage => ({
  as_of: '2026-11-22T00:00:00.000Z',
  next: String(newest - count + 1),
  runs: numbers(newest, count).map((number) => ({ id: String(number), job: 'report', status: 'completed', started_at: `${1_000 + number}` }) as Run),
});
const auditPage = (newest: number, count: number) => ({
  as_of: '2026-11-22T00:00:00.000Z',
  next: String(newest - count + 1),
  audit: numbers(newest, count).map((sequence) => ({ sequence, actor: 'alice', action: 'job.run', target: 'report', detail: '', at: '2026-11-22T00:00:00.000Z', hash: '' })),
});

describe('a list that is read anew while more of it is loaded', () => {
  const answers: Answer[] = [];
  let subscription: Subscription;

  beforeEach(() => {
    answers.length = 0;
    const ask = () => new Promise((resolve: Answer) => answers.push(resolve));
    const follow = (wanted: Subscription) => ((subscription = wanted), { refresh: wanted.refresh });
    const api = { runs: ask, audit: ask, jobs: () => Promise.reject(new Error()), nodes: () => Promise.reject(new Error()) };
    TestBed.configureTestingModule({
      providers: [provideRouter([]), { provide: Api, useValue: api }, { provide: Live, useValue: { follow } }],
    });
  });

  /** Asks for more, and before that has come reads anew what has 20 more on top. */
  const loaded = async (what: typeof RunsPage | typeof AuditPage, page: (newest: number, count: number) => object): Promise<number[]> => {
    const made = TestBed.createComponent<RunsPage | AuditPage>(what);
    const shown = made.componentInstance as unknown as { query: { value: () => { runs?: { id: string }[]; audit?: { sequence: number }[] } }; loadMore: () => Promise<void> };
    const reading = subscription.refresh();
    answers[0](page(500, 100));
    await reading;
    const more = shown.loadMore();
    const again = subscription.refresh();
    answers[2](page(520, 100));
    await again;
    answers[1](page(400, 100));
    await more;
    const { runs, audit } = shown.query.value();
    return runs?.map(({ id }) => Number(id)) ?? audit?.map(({ sequence }) => sequence) ?? [];
  };

  it('has no hole, of runs', async () => {
    expect(await loaded(RunsPage, runsPage)).toEqual(numbers(520, 100));
  });

  it('has no hole, of the audit log', async () => {
    expect(await loaded(AuditPage, auditPage)).toEqual(numbers(520, 100));
  });
});
