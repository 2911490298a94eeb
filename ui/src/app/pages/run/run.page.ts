import { ChangeDetectionStrategy, Component, computed, effect, inject, input, signal, untracked } from '@angular/core';
import { RouterLink } from '@angular/router';

import { Api } from '../../core/api';
import { jobLink, lockLink } from '../../core/links';
import { Live } from '../../core/live';
import { PageTitle } from '../../core/page_title';
import { Query } from '../../core/query';
import { Session } from '../../core/session';
import { Clock, durationText } from '../../core/time';
import type { RunDetail } from '../../core/types';
import { AsOf } from '../../shared/as_of';
import { CopyButton } from '../../shared/copy_button';
import { Line } from '../../shared/line';
import { Moment } from '../../shared/moment';
import { Empty, Failure, Loading } from '../../shared/states';
import { StatusBadge, toneOfRun, wordOfRun } from '../../shared/status_badge';
import { Action } from '../parts/action';
import { CancelDialog } from '../parts/cancel_dialog';
import { atMostEvery } from '../parts/at_most_every';
import { isMissing } from '../parts/missing';
import { shortId, tookMs } from '../parts/run_facts';
import { OutputView } from './output_view';
import { RunTimeline } from './run_timeline';
import { Visible } from '../../shared/visible';

/** However much happens, the run is read no more often. */
const rereadEveryMs = 1_000;

/** One run: how it stands, every attempt with its node and token, and what it writes. */
@Component({
  selector: 'pawl-run-page',
  imports: [Action, AsOf, CancelDialog, CopyButton, Empty, Failure, Line, Loading, Moment, OutputView, RouterLink, RunTimeline, StatusBadge, Visible],
  changeDetection: ChangeDetectionStrategy.OnPush,
  preserveWhitespaces: true,
  templateUrl: './run.page.html',
})
export class RunPage {
  /** Of the path. */
  readonly id = input.required<string>();

  private readonly api = inject(Api);
  private readonly session = inject(Session);
  private readonly clock = inject(Clock);
  private readonly pageTitle = inject(PageTitle);
  protected readonly query = new Query<RunDetail>(() => this.api.run(untracked(this.id)));
  protected readonly missing = computed(() => isMissing(this.query.failure()));
  protected readonly run = this.query.value;
  protected readonly cancelling = signal(false);
  protected readonly toneOf = toneOfRun;
  protected readonly wordOf = wordOfRun;
  protected readonly short = shortId;
  protected readonly jobLink = jobLink;
  protected readonly lockLink = lockLink;
  protected readonly took = computed(() => {
    const run = this.run();
    return run === null ? '' : durationText(tookMs(run, this.clock.now()));
  });
  protected readonly over = computed(() => this.run()?.completed_at !== null && this.run() !== null);
  protected readonly whyNotCancel = computed(() => {
    const run = this.run();
    if (this.over()) return 'The run has finished.';
    if (run?.cancel_requested) return 'Cancelling: it ends within its grace.';
    return this.session.whyNot('operator');
  });

  private readonly soon = atMostEvery(rereadEveryMs, () => this.following.refresh());
  protected readonly following = inject(Live).follow({
    topics: ['runs'],
    refresh: () => this.query.read(),
    on: { runs: ({ changed }) => changed.some(({ id }) => id === this.id()) && this.soon() },
  });

  constructor() {
    let before = '';
    effect(() => {
      const id = this.id();
      untracked(() => {
        if (before && before !== id) {
          this.query.forget();
          void this.following.refresh();
        }
        before = id;
      });
    });
    effect(() => {
      const run = this.run();
      untracked(() => this.pageTitle.name(run ? `${run.job} ${shortId(run.id)}` : shortId(this.id())));
    });
  }
}
