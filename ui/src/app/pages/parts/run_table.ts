import { ChangeDetectionStrategy, Component, computed, inject, input, model } from '@angular/core';
import { RouterLink } from '@angular/router';

import { jobLink, lockLink } from '../../core/links';
import { Clock, durationText } from '../../core/time';
import type { Run } from '../../core/types';
import { Cell, Column, DataTable } from '../../shared/data_table';
import { Moment } from '../../shared/moment';
import { StatusBadge, toneOfRun, wordOfRun } from '../../shared/status_badge';
import { shortId, tookMs } from './run_facts';
import { Visible } from '../../shared/visible';

/** Runs as rows: how each ended and why, where, under which token, how long it took. */
@Component({
  selector: 'pawl-run-table',
  imports: [Cell, DataTable, Moment, RouterLink, StatusBadge, Visible],
  changeDetection: ChangeDetectionStrategy.OnPush,
  preserveWhitespaces: true,
  template: `
    <pawl-data-table [rows]="runs()" [columns]="columns()" [keyOf]="idOf" [label]="label()" [tall]="tall()" [rowHeight]="36" [cardsBelow]="960" [wideFrom]="1200" [(sort)]="sort">
      <ng-template pawlCell="status" [pawlCellOf]="runs()" let-run>
        <pawl-status-badge [tone]="toneOf(run.status)" [word]="wordOf(run.status)" />
        @if (run.cancel_requested && run.completed_at === null) { <span class="aside">cancelling</span> }
      </ng-template>
      <ng-template pawlCell="run" [pawlCellOf]="runs()" let-run>
        <a class="mono" [routerLink]="['/runs', run.id]" [title]="run.id">{{ short(run.id) }}</a>
      </ng-template>
      <ng-template pawlCell="job" [pawlCellOf]="runs()" let-run>
        <a [routerLink]="jobLink(run.job)">{{ run.job | visible }}</a>@if (run.partition > 0) {<span class="faint">/{{ run.partition }}</span>}
      </ng-template>
      <ng-template pawlCell="partition" [pawlCellOf]="runs()" let-run>{{ run.partition }}</ng-template>
      <ng-template pawlCell="started" [pawlCellOf]="runs()" let-run><pawl-moment [at]="run.started_at" /></ng-template>
      <ng-template pawlCell="took" [pawlCellOf]="runs()" let-run>{{ run.status === 'skipped' ? '–' : took(run) }}</ng-template>
      <ng-template pawlCell="node" [pawlCellOf]="runs()" let-run>{{ (run.node || '–') | visible }}</ng-template>
      <ng-template pawlCell="token" [pawlCellOf]="runs()" let-run>
        @if (run.fence_token) { <a class="mono" [routerLink]="lockLink(run.key)">{{ run.fence_token }}</a> } @else { <span class="faint">none</span> }
      </ng-template>
      <ng-template pawlCell="trigger" [pawlCellOf]="runs()" let-run>{{ run.trigger }}@if (run.attempt > 1) {<span class="aside">attempt {{ run.attempt }}</span>}</ng-template>
      <ng-template pawlCell="reason" [pawlCellOf]="runs()" let-run><span class="reason" [title]="run.reason">{{ run.reason }}</span></ng-template>
    </pawl-data-table>
  `,
})
export class RunTable {
  readonly runs = input.required<readonly Run[]>();
  readonly label = input('Runs');
  /** Not on the page of one job. */
  readonly jobs = input(true);
  /** What each key of the job is, `Partition` or `Slot`; empty where it has one. */
  readonly parts = input('');
  /** Scrolls within itself: for long lists. */
  readonly tall = input(false);
  readonly sort = model('');

  private readonly clock = inject(Clock);
  protected readonly idOf = (run: Run) => run.id;
  protected readonly toneOf = toneOfRun;
  protected readonly wordOf = wordOfRun;
  protected readonly short = shortId;
  protected readonly jobLink = jobLink;
  protected readonly lockLink = lockLink;
  protected readonly columns = computed<Column<Run>[]>(() => [
    { id: 'status', title: 'Status', by: (run) => run.status, card: 'head' },
    { id: 'run', title: 'Run', card: 'head' },
    ...(this.jobs() ? [{ id: 'job', title: 'Job', by: (run: Run) => `${run.job}/${run.partition}`, card: 'head' as const }] : []),
    ...(this.parts() ? [{ id: 'partition', title: this.parts(), by: (run: Run) => run.partition, numeric: true }] : []),
    { id: 'started', title: 'Started', by: (run) => run.started_at },
    { id: 'took', title: 'Duration', by: (run) => tookMs(run, this.clock.now()), numeric: true },
    { id: 'node', title: 'Node', by: (run) => run.node },
    { id: 'token', title: 'Token', by: (run) => run.fence_token, numeric: true, wide: true },
    { id: 'trigger', title: 'Trigger', by: (run) => run.trigger, wide: true },
    { id: 'reason', title: 'Result', by: (run) => run.reason, card: 'line' },
  ]);

  protected took(run: Run): string {
    return durationText(tookMs(run, this.clock.now()));
  }
}
