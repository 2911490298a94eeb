import { ChangeDetectionStrategy, Component, computed, inject, input } from '@angular/core';
import { Router, RouterLink, UrlTree } from '@angular/router';

import { Api } from '../../core/api';
import { jobLink, lockLink, runbookLink } from '../../core/links';
import { Live } from '../../core/live';
import { UrlQuery } from '../../core/url_query';
import { Query } from '../../core/query';
import { durationText, secondsText } from '../../core/time';
import type { Attention, Overview, Run, Sample } from '../../core/types';
import { AsOf } from '../../shared/as_of';
import { Chart, Series, usualStep } from '../../shared/chart';
import { Cell, Column, DataTable } from '../../shared/data_table';
import { Line } from '../../shared/line';
import { Moment } from '../../shared/moment';
import { Failure, Loading } from '../../shared/states';
import { StatusBadge } from '../../shared/status_badge';
import { shortId } from '../parts/run_facts';
import { appended, condensed, within } from './samples';
import { Visible } from '../../shared/visible';

const hourMs = 3_600_000;
const windows: Record<string, { name: string; ms: number }> = {
  '5m': { name: '5 minutes', ms: 300_000 },
  '15m': { name: '15 minutes', ms: 900_000 },
  '1h': { name: 'hour', ms: hourMs },
};

interface Tile {
  name: string;
  value: number | string;
  link: string;
  query?: Record<string, string>;
  /** What is beside it, such as how many of them are late. */
  beside: { text: string; bad: boolean }[];
}

@Component({
  selector: 'pawl-overview-page',
  imports: [RouterLink, AsOf, Cell, Chart, DataTable, Failure, Line, Loading, Moment, StatusBadge, Visible],
  changeDetection: ChangeDetectionStrategy.OnPush,
  templateUrl: './overview.page.html',
})
export class OverviewPage {
  /** Of the query string: 5m, 15m or 1h. */
  readonly window = input<string>();

  private readonly api = inject(Api);
  private readonly router = inject(Router);
  private readonly urlQuery = inject(UrlQuery);
  protected readonly query = new Query(() => this.api.overview());
  protected readonly windows = Object.entries(windows).map(([id, { name }]) => ({ id, name }));
  protected readonly windowMs = computed(() => windows[this.chosen()].ms);
  protected readonly chosen = computed(() => (this.window() && windows[this.window()!] ? this.window()! : '15m'));
  /** A run's id is as short as everywhere, and a line that begins with its subject does not say it twice. */
  protected readonly nameOf = ({ kind, subject }: Attention) => (kind.startsWith('run_') ? shortId(subject) : subject);
  protected readonly afterName = ({ subject, text }: Attention) => (text.startsWith(`${subject} `) ? text.slice(subject.length) : `: ${text}`);
  protected readonly jobLink = jobLink;
  protected readonly lockLink = lockLink;
  protected readonly runbookLink = runbookLink;
  protected readonly secondsText = secondsText;
  protected readonly countText = (value: number) => String(Math.round(value * 100) / 100);

  protected readonly samples = computed(() => condensed(within(this.query.value()?.samples ?? [], this.windowMs())));
  protected readonly times = computed(() => this.samples().map(({ at }) => at));
  /** How much time one point stands for. */
  protected readonly each = computed(() => {
    const times = this.times();
    if (times.length < 2) return durationText(this.query.value()?.sample_interval_ms ?? 0).replace('.0 s', ' s');
    const step = usualStep(times.map((at) => new Date(at).getTime()));
    return durationText(Math.round(step / 1000) * 1000).replace('.0 s', ' s');
  });
  protected readonly contention = this.lines({ granted: 'acquired', busy: 'busy', already_done: 'already run' });
  protected readonly wait = this.lines({ wait_p50: 'p50', wait_p99: 'p99' });
  protected readonly hold = this.lines({ hold_p50: 'p50', hold_p99: 'p99' });
  protected readonly trouble = this.lines({ retries: 'retries', lost: 'leases lost', rejected: 'stale writes rejected', errors: 'store errors' });
  protected readonly load = this.lines({ held: 'leases', running: 'runs' });
  protected readonly finished = this.lines({ runs_ended: 'finished', runs_failed: 'failed' });
  protected readonly store = this.lines({ store_p99: 'p99' });

  protected readonly tiles = computed(() => {
    const seen = this.query.value();
    return seen ? tilesOf(seen) : [];
  });
  protected readonly activeColumns: Column<Run>[] = [
    { id: 'job', title: 'Job', by: ({ job }) => job, card: 'head' },
    { id: 'node', title: 'Node', by: ({ node }) => node },
    { id: 'started', title: 'Started', by: ({ started_at }) => started_at },
    { id: 'lock', title: 'Lock', by: ({ key }) => key, wide: true },
    { id: 'token', title: 'Token', by: ({ fence_token }) => fence_token, numeric: true, wide: true },
  ];
  protected readonly keyOf = (run: Run) => run.id;

  private readonly following = inject(Live).follow({
    topics: ['overview'],
    refresh: () => this.query.read(),
    on: {
      overview: ({ sample, ...event }) =>
        this.query.update((value) => ({ ...value, ...event, samples: appended(value.samples, sample, hourMs) })),
    },
  });

  protected retry(): void {
    void this.following.refresh();
  }

  protected choose(window: string): void {
    this.urlQuery.set({ window: window === '15m' ? '' : window });
  }

  /** What the server links to has a query or an anchor at times. */
  protected tree(link: string): UrlTree {
    return this.router.parseUrl(link);
  }

  private lines(names: Partial<Record<keyof Sample, string>>) {
    return computed<Series[]>(() =>
      Object.entries(names).map(([member, name], index) => ({
        name,
        look: (index + 1) as Series['look'],
        values: this.samples().map((sample) => sample[member as keyof Sample] as number),
      })),
    );
  }
}

/** What cannot be counted is not nothing. */
function tilesOf({ counts, attention }: Overview): Tile[] {
  const isDown = (kind: string) => attention.some((one) => one.kind === kind);
  const inStore = (count: number) => (isDown('store_down') ? 'unknown' : count);
  const inJournal = (count: number) => (isDown('journal_down') ? 'unknown' : count);
  const some = (count: number, text: string, bad = true) => (count > 0 ? [{ text: `${count} ${text}`, bad }] : []);
  return [
    {
      name: 'Locks held', value: counts.locks_more ? `${counts.locks_held}+` : inStore(counts.locks_held), link: '/locks',
      beside: [...some(counts.locks_in_cooldown, 'in cooldown', false)],
    },
    { name: 'Waiters', value: inStore(counts.waiters), link: '/locks', query: { sort: '-waiters' }, beside: [] },
    {
      name: 'Active runs', value: inJournal(counts.runs_active), link: '/runs', query: { status: 'started' },
      beside: [...some(counts.stale_runs, 'stale'), ...some(counts.orphans, 'orphaned'), ...some(counts.triggers, 'queued', false)],
    },
    {
      name: 'Jobs', value: inJournal(counts.jobs), link: '/jobs',
      beside: [
        ...some(counts.jobs_blocked, 'blocked'), ...some(counts.jobs_late, 'late'), ...some(counts.jobs_failing, 'failing'),
        ...some(counts.jobs_paused, 'paused', false),
      ],
    },
    { name: 'Nodes live', value: inJournal(counts.nodes_live), link: '/nodes', beside: some(counts.nodes_unresponsive, 'unresponsive') },
  ];
}
