import { NgTemplateOutlet } from '@angular/common';
import { ChangeDetectionStrategy, Component, computed, effect, inject, input, signal, untracked } from '@angular/core';
import { RouterLink } from '@angular/router';

import { Api } from '../../core/api';
import { lockLink } from '../../core/links';
import { Live } from '../../core/live';
import { PageTitle } from '../../core/page_title';
import { Query } from '../../core/query';
import { absoluteText, Clock, durationText, viewerZone, zoneText } from '../../core/time';
import type { JobDetail, PartitionState, Run } from '../../core/types';
import { AsOf } from '../../shared/as_of';
import { Bar, BarChart } from '../../shared/bar_chart';
import { Cell, Column, DataTable } from '../../shared/data_table';
import { Moment } from '../../shared/moment';
import { Empty, Failure, Loading } from '../../shared/states';
import { StatusBadge, toneOfRun, wordOfRun } from '../../shared/status_badge';
import { commandLine, settingsOf } from '../parts/definition';
import { JobActions } from '../parts/job_actions';
import { toneOfJob } from '../parts/job_state';
import { JobStateCell } from '../parts/job_state_cell';
import { atMostEvery } from '../parts/at_most_every';
import { isMissing } from '../parts/missing';
import { markOf, shortId, titleOf, tookMs } from '../parts/run_facts';
import { RunTable } from '../parts/run_table';
import { ScheduleText } from '../parts/schedule_text';
import { LeaseText } from '../parts/lease_text';
import { partitionsFoldedFrom, partsOf, partsText, summaryOf, takenText, worthALook } from './partitions';
import { Visible } from '../../shared/visible';

/** However much happens, the job is read no more often. */
const rereadEveryMs = 1_000;

/** One job: why it is as it is, how it went, when it comes next, and who holds its keys. */
@Component({
  selector: 'pawl-job-page',
  imports: [AsOf, BarChart, Cell, DataTable, Empty, Failure, JobActions, JobStateCell, LeaseText, Loading, Moment, NgTemplateOutlet, RouterLink, RunTable, ScheduleText, StatusBadge, Visible],
  changeDetection: ChangeDetectionStrategy.OnPush,
  preserveWhitespaces: true,
  templateUrl: './job.page.html',
})
export class JobPage {
  /** Of the path. */
  readonly name = input.required<string>();

  private readonly api = inject(Api);
  private readonly clock = inject(Clock);
  private readonly pageTitle = inject(PageTitle);
  protected readonly query = new Query<JobDetail>(() => this.api.job(untracked(this.name)));
  protected readonly missing = computed(() => isMissing(this.query.failure()));
  protected readonly toneOf = toneOfJob;
  protected readonly toneOfRun = toneOfRun;
  protected readonly wordOfRun = wordOfRun;
  protected readonly short = shortId;
  protected readonly lockLink = lockLink;
  protected readonly absoluteText = absoluteText;
  protected readonly viewerZone = viewerZone;
  protected readonly zoneText = zoneText;
  protected readonly durationText = durationText;
  protected readonly partitionOf = (state: PartitionState) => String(state.partition);
  protected readonly partsText = partsText;
  protected readonly partitionColumns = computed<readonly Column<PartitionState>[]>(() => [
    { id: 'partition', title: this.partsTitle() || 'Partition', by: (state) => state.partition, numeric: true, card: 'head' },
    { id: 'lock', title: 'Lock', by: (state) => state.key, card: 'head' },
    { id: 'lease', title: 'Held by', by: (state) => state.lock?.owner ?? null, card: 'line' },
    { id: 'token', title: 'Token', by: (state) => state.lock?.fence_token ?? null, numeric: true },
    { id: 'run', title: 'Active run', by: (state) => state.run?.node ?? null },
    { id: 'last', title: 'Last run', by: (state) => state.last_run?.started_at ?? null },
  ]);

  protected readonly job = this.query.value;
  protected readonly keys = computed(() => partsOf(this.job() ?? { partitions: 1, slots: 1 }));
  /** Empty for a job with one key. */
  protected readonly partsTitle = computed(() => (this.keys().count > 1 ? (this.keys().word === 'slot' ? 'Slot' : 'Partition') : ''));
  protected readonly keysHeading = computed(() => (this.partsTitle() ? `${this.partsTitle()}s and their locks` : 'Lock'));
  protected readonly taken = computed(() => takenText(this.job()?.partition_states ?? []));
  protected readonly settings = computed(() => settingsOf(this.job()?.definition ?? {}));
  protected readonly command = computed(() => {
    const words = this.job()?.definition['command'];
    return Array.isArray(words) ? commandLine(words.map(String)) : '';
  });
  protected readonly bars = computed<Bar[]>(() =>
    [...(this.job()?.runs ?? [])].reverse().map((run) => ({
      id: run.id,
      value: run.status === 'skipped' ? 0 : tookMs(run, this.clock.now()),
      tone: toneOfRun(run.status),
      title: `Run ${shortId(run.id)}: ${titleOf(markOf(run), this.clock.now())}`,
      link: `/runs/${run.id}`,
    })),
  );
  /** The same as the bars, in one sentence. */
  protected readonly record = computed(() => recordOf(this.job()?.runs ?? []));
  /** A job of a thousand partitions is no list to read: those that say something stand first, all of them on demand. */
  protected readonly folded = computed(() => (this.job()?.partition_states.length ?? 0) >= partitionsFoldedFrom);
  protected readonly unfolded = signal(false);
  protected readonly partsShown = computed(() => {
    const all = this.job()?.partition_states ?? [];
    return this.folded() ? worthALook(all, this.job()?.blocked_by?.partition) : all;
  });
  protected readonly summary = computed(() => summaryOf(this.job()?.partition_states ?? [], this.job() ?? { partitions: 1, slots: 1 }));
  protected readonly sameZone = computed(() => {
    const job = this.job();
    return job === null || job.next_occurrences.every((at) => absoluteText(at, job.zone) === absoluteText(at));
  });

  private readonly soon = atMostEvery(rereadEveryMs, () => this.following.refresh());
  protected readonly following = inject(Live).follow({
    topics: ['jobs', 'runs', 'locks'],
    refresh: () => this.query.read(),
    on: {
      jobs: ({ changed }) => changed.some(({ name }) => name === this.name()) && this.soon(),
      runs: ({ changed }) => changed.some(({ job }) => job === this.name()) && this.soon(),
      locks: ({ changed }) => changed.some(({ key }) => this.owns(key)) && this.soon(),
    },
  });

  constructor() {
    let before = '';
    effect(() => {
      const name = this.name();
      untracked(() => {
        this.pageTitle.name(name);
        if (before && before !== name) {
          this.query.forget();
          void this.following.refresh();
        }
        before = name;
      });
    });
  }

  private owns(key: string): boolean {
    return key === `job/${this.name()}` || key.startsWith(`job/${this.name()}/`);
  }
}

export function recordOf(runs: readonly Run[]): string {
  const over = runs.filter(({ status }) => status !== 'started' && status !== 'skipped');
  if (over.length === 0) return 'No finished run yet.';
  const good = over.filter(({ status }) => status === 'completed').length;
  const times = over.map((run) => tookMs(run, 0)).sort((left, right) => left - right);
  const middle = durationText(times[Math.floor((times.length - 1) / 2)]);
  const longest = durationText(times[times.length - 1]);
  return `${good} of the last ${over.length} completed. Median ${middle}, max ${longest}.`;
}
