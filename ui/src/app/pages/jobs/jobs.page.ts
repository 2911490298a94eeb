import { ChangeDetectionStrategy, Component, computed, inject, input, signal } from '@angular/core';
import { RouterLink } from '@angular/router';

import { Api } from '../../core/api';
import { jobLink } from '../../core/links';
import { Live } from '../../core/live';
import { UrlQuery } from '../../core/url_query';
import { Query } from '../../core/query';
import { absoluteText, Clock, viewerZone, zoneText } from '../../core/time';
import type { Job, JobPage as JobList, Run } from '../../core/types';
import { AsOf } from '../../shared/as_of';
import { Cell, Column, DataTable } from '../../shared/data_table';
import { FilterBox } from '../../shared/filter_box';
import { Moment } from '../../shared/moment';
import { Empty, Failure, Loading } from '../../shared/states';
import { partsText } from '../job/partitions';
import { JobActions } from '../parts/job_actions';
import { isIn, urgency, wordOfState } from '../parts/job_state';
import { JobStateCell } from '../parts/job_state_cell';
import { markOf, withMark } from '../parts/run_facts';
import { RunStrip } from '../parts/run_strip';
import { ScheduleText } from '../parts/schedule_text';
import { Visible } from '../../shared/visible';

/** So many cells has a strip. */
const stripLength = 16;
/** One answer of the API, and how many of them the page reads: 2,000 jobs. */
const pageLength = 200;
const pagesMax = 10;

/** Every job: when it runs, how it went lately, and why it does not run now. */
@Component({
  selector: 'pawl-jobs-page',
  imports: [AsOf, Cell, DataTable, Empty, Failure, FilterBox, JobActions, JobStateCell, Loading, Moment, RouterLink, RunStrip, ScheduleText, Visible],
  changeDetection: ChangeDetectionStrategy.OnPush,
  preserveWhitespaces: true,
  templateUrl: './jobs.page.html',
})
export class JobsPage {
  /** Of the query string. */
  readonly q = input<string>();
  readonly state = input<string>();
  readonly sort = input<string>();

  private readonly api = inject(Api);
  private readonly urlQuery = inject(UrlQuery);
  protected readonly clock = inject(Clock);
  protected readonly query = new Query<JobList>(() => this.readAll());
  protected readonly asOf = signal('');
  protected readonly states = urgency;
  protected readonly wordOf = wordOfState;
  protected readonly jobLink = jobLink;
  protected readonly viewerZone = zoneText(viewerZone);
  protected readonly partsText = partsText;
  protected readonly nameOf = (job: Job) => job.name;
  protected readonly columns: readonly Column<Job>[] = [
    { id: 'job', title: 'Job', by: (job) => job.name, card: 'head' },
    { id: 'state', title: 'State', by: (job) => urgency.indexOf(job.state), card: 'head' },
    { id: 'schedule', title: 'Schedule', by: (job) => job.schedule, wide: true, card: 'line' },
    { id: 'next', title: 'Next run', by: (job) => job.next, card: 'line' },
    { id: 'runs', title: 'Recent runs', card: 'line' },
    { id: 'actions', title: 'Actions', card: 'line' },
  ];

  protected readonly jobs = computed(() => this.query.value()?.jobs ?? null);
  protected readonly shown = computed(() => {
    const text = (this.q() ?? '').toLowerCase();
    const state = this.state();
    return (this.jobs() ?? []).filter((job) => {
      if (state && !isIn(job, state)) return false;
      return !text || [job.name, job.why, job.schedule, job.zone, job.published_by].some((one) => one.toLowerCase().includes(text));
    });
  });
  protected readonly counts = computed(() => {
    const counts = new Map<string, number>();
    for (const state of urgency) counts.set(state, (this.jobs() ?? []).filter((job) => isIn(job, state)).length);
    return counts;
  });

  protected readonly following = inject(Live).follow({
    topics: ['jobs', 'runs'],
    refresh: () => this.read(),
    on: {
      jobs: ({ as_of, changed, gone }) => this.change(as_of, (jobs) => changedJobs(jobs, changed, gone)),
      runs: ({ as_of, changed }) => this.change(as_of, (jobs) => changed.reduce(withRun, jobs)),
    },
  });

  protected choose(query: Record<string, string>): void {
    this.urlQuery.set(query);
  }

  /** A job's own zone is worth a line only where it says something else than the viewer's. */
  protected otherZone(job: Job): boolean {
    return job.next !== null && absoluteText(job.next, job.zone) !== absoluteText(job.next);
  }

  private async read(): Promise<string> {
    const asOf = await this.query.read();
    if (asOf) this.asOf.set(asOf);
    return asOf;
  }

  private async readAll(): Promise<JobList> {
    const whole = await this.api.jobs({ limit: pageLength, runs: stripLength });
    for (let page = 1; whole.next && page < pagesMax; page++) {
      const more = await this.api.jobs({ limit: pageLength, runs: stripLength, after: whole.next });
      whole.jobs.push(...more.jobs);
      whole.next = more.next;
    }
    return whole;
  }

  private change(asOf: string, how: (jobs: readonly Job[]) => readonly Job[]): void {
    this.query.update((page) => ({ ...page, jobs: [...how(page.jobs)] }));
    this.asOf.set(asOf);
  }
}

/** Live changes tell a job without its strip, which stays. */
export function changedJobs(jobs: readonly Job[], changed: readonly Job[], gone: readonly string[]): readonly Job[] {
  const fresh = new Map(changed.map((job) => [job.name, job]));
  const kept = jobs
    .filter(({ name }) => !gone.includes(name))
    .map((job) => {
      const found = fresh.get(job.name);
      fresh.delete(job.name);
      return found ? { ...found, recent: found.recent.length ? found.recent : job.recent } : job;
    });
  return fresh.size ? [...kept, ...fresh.values()].sort((left, right) => (left.name < right.name ? -1 : 1)) : kept;
}

function withRun(jobs: readonly Job[], run: Run): readonly Job[] {
  return jobs.map((job) => (job.name === run.job ? { ...job, recent: withMark(job.recent, markOf(run), stripLength) } : job));
}
