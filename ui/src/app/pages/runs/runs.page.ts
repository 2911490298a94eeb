import { ChangeDetectionStrategy, Component, computed, DOCUMENT, effect, ElementRef, inject, input, signal, untracked } from '@angular/core';

import { Api } from '../../core/api';
import { Live } from '../../core/live';
import { UrlQuery } from '../../core/url_query';
import { Query } from '../../core/query';
import type { Run, RunPage, RunStatus } from '../../core/types';
import { AsOf } from '../../shared/as_of';
import { Empty, Failure, Loading } from '../../shared/states';
import { wordOfRun } from '../../shared/status_badge';
import { Mutation } from '../parts/mutation';
import { RunTable } from '../parts/run_table';
import { mergedRuns, RunFilter } from './merged_runs';

/** One answer of the API, and what a reconnected page reads again at most. */
const pageLength = 100;
const rereadMax = 1_000;
const statuses: readonly RunStatus[] = ['started', 'completed', 'failed', 'cancelled', 'lost', 'timed_out', 'abandoned', 'skipped'];

/** What ran, the newest first; new runs come in on top where that moves nothing that a user reads. */
@Component({
  selector: 'pawl-runs-page',
  imports: [AsOf, Empty, Failure, Loading, RunTable],
  changeDetection: ChangeDetectionStrategy.OnPush,
  preserveWhitespaces: true,
  template: `
    <header class="page-head">
      <h1>Runs</h1>
      <pawl-as-of [at]="asOf()" />
    </header>
    <div class="filters" role="search" aria-label="Search runs">
      <label class="field"><span>Job</span>
        <input #jobs type="search" list="job-names" autocomplete="off" spellcheck="false" [value]="filter().job" (change)="choose({ job: jobs.value.trim() })" /></label>
      <label class="field"><span>Status</span>
        <select #status (change)="choose({ status: status.value })">
          <option value="" [selected]="filter().status === ''">All</option>
          @for (one of statuses; track one) { <option [value]="one" [selected]="one === filter().status">{{ wordOf(one) }}</option> }
        </select></label>
      <label class="field"><span>Node</span>
        <input #nodes type="search" list="node-names" autocomplete="off" spellcheck="false" [value]="filter().node" (change)="choose({ node: nodes.value.trim() })" /></label>
      <datalist id="job-names">@for (one of jobNames(); track one) { <option [value]="one"></option> }</datalist>
      <datalist id="node-names">@for (one of nodeNames(); track one) { <option [value]="one"></option> }</datalist>
    </div>
    @if (query.failureLine()) { <pawl-failure heading="Could not load the runs" [line]="query.failureLine()" (retry)="following.refresh()" /> }
    @if (runs(); as shown) {
      @if (held().length) {
        <button type="button" class="fresh" (click)="showHeld()">Show {{ held().length }} new {{ held().length === 1 ? 'run' : 'runs' }}</button>
      }
      @if (shown.length === 0) {
        <pawl-empty [heading]="filtered() ? 'No matching run' : 'No run yet'">
          @if (filtered()) { <button type="button" (click)="choose({ job: '', status: '', node: '' })">Clear filters</button> }
          @else { A run appears here as soon as an agent or <code>pawl exec</code> starts one. }
        </pawl-empty>
      } @else {
        <pawl-run-table [runs]="shown" [tall]="true" />
        @if (more.failure()) { <p class="wrong" role="alert">Could not load more: {{ more.failure() }}</p> }
        @if (query.value()?.next) {
          <button type="button" (click)="loadMore()" [disabled]="more.busy()">{{ more.busy() ? 'Loading…' : 'Load more' }}</button>
        }
      }
    } @else if (!query.failureLine()) { <pawl-loading what="the runs" /> }
  `,
})
export class RunsPage {
  /** Of the query string. */
  readonly job = input<string>();
  readonly status = input<string>();
  readonly node = input<string>();

  private readonly api = inject(Api);
  private readonly urlQuery = inject(UrlQuery);
  private readonly document = inject(DOCUMENT);
  private readonly self = inject<ElementRef<HTMLElement>>(ElementRef);
  protected readonly query = new Query<RunPage>(() => this.api.runs({ ...this.filter(), limit: this.wanted() }));
  protected readonly more = new Mutation();
  protected readonly asOf = signal('');
  protected readonly jobNames = signal<readonly string[]>([]);
  protected readonly nodeNames = signal<readonly string[]>([]);
  protected readonly statuses = statuses;
  protected readonly wordOf = wordOfRun;
  /** New ones that wait, because to show them would move what is being read. */
  protected readonly held = signal<readonly Run[]>([]);
  protected readonly runs = computed(() => this.query.value()?.runs ?? null);
  protected readonly filter = computed<RunFilter>(
    () => ({ job: this.job() ?? '', status: statuses.find((one) => one === this.status()) ?? '', node: this.node() ?? '' }),
    { equal: (left, right) => left.job === right.job && left.status === right.status && left.node === right.node },
  );
  protected readonly filtered = computed(() => Object.values(this.filter()).some((one) => one !== ''));

  protected readonly following = inject(Live).follow({
    topics: ['runs'],
    refresh: () => this.read(),
    on: { runs: ({ as_of, changed }) => this.take(as_of, changed) },
  });

  constructor() {
    let first = true;
    effect(() => {
      this.filter();
      untracked(() => {
        if (!first) {
          this.query.forget();
          void this.following.refresh();
        }
        first = false;
      });
    });
    void this.suggest();
  }

  protected choose(query: Record<string, string>): void {
    this.urlQuery.set(query);
  }

  protected showHeld(): void {
    const fresh = this.held();
    this.held.set([]);
    this.put((runs) => mergedRuns(runs, fresh, this.filter()).runs);
  }

  protected async loadMore(): Promise<void> {
    await this.more.ask(() => this.query.extend(async ({ next }) => {
      const page = await this.api.runs({ ...this.filter(), after: next, limit: pageLength });
      return (all) => {
        const known = new Set(all.runs.map(({ id }) => id));
        return { ...all, next: page.next, runs: [...all.runs, ...page.runs.filter(({ id }) => !known.has(id))] };
      };
    }));
  }

  private wanted(): number {
    return Math.min(rereadMax, Math.max(pageLength, this.runs()?.length ?? 0));
  }

  private async read(): Promise<string> {
    this.held.set([]);
    const asOf = await this.query.read();
    if (asOf) this.asOf.set(asOf);
    return asOf;
  }

  private take(asOf: string, changed: readonly Run[]): void {
    this.asOf.set(asOf);
    const shown = new Set(this.runs()?.map(({ id }) => id));
    const waiting = mergedRuns(this.held(), changed.filter(({ id }) => !shown.has(id)), this.filter()).runs;
    const reading = this.isBeingRead();
    const known = changed.filter(({ id }) => shown.has(id));
    this.put((runs) => mergedRuns(runs, reading ? known : [...known, ...waiting], this.filter()).runs);
    this.held.set(reading ? waiting : []);
    // A page that is left open for days does not grow for days.
    if (shown.size + waiting.length > 2 * rereadMax) void this.following.refresh();
  }

  private put(how: (runs: readonly Run[]) => Run[]): void {
    this.query.update((page) => ({ ...page, runs: how(page.runs) }));
  }

  // Scrolled down, or with the keyboard in the list.
  private isBeingRead(): boolean {
    const table = this.self.nativeElement.querySelector('pawl-run-table');
    if (!table) return false;
    const scrolled = table.getBoundingClientRect().top < 0 || (table.querySelector('.table-box')?.scrollTop ?? 0) > 0;
    return scrolled || table.contains(this.document.activeElement);
  }

  // For the two fields. Where that fails they are plain fields.
  private async suggest(): Promise<void> {
    const [jobs, nodes] = await Promise.allSettled([this.api.jobs({ limit: 1_000 }), this.api.nodes()]);
    if (jobs.status === 'fulfilled') this.jobNames.set(jobs.value.jobs.map(({ name }) => name));
    if (nodes.status === 'fulfilled') this.nodeNames.set([...new Set(nodes.value.nodes.map(({ name }) => name))]);
  }
}
