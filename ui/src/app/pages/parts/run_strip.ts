import { ChangeDetectionStrategy, Component, computed, inject, input } from '@angular/core';
import { RouterLink } from '@angular/router';

import { Clock } from '../../core/time';
import type { RunMark } from '../../core/types';
import { toneOfRun } from '../../shared/status_badge';
import { shortId, titleOf } from './run_facts';

/** The last runs as a row of cells, the newest at the right: a shape and a colour for how each ended, and a link to it. */
@Component({
  selector: 'pawl-run-strip',
  imports: [RouterLink],
  changeDetection: ChangeDetectionStrategy.OnPush,
  preserveWhitespaces: true,
  template: `
    <ul class="strip" [attr.aria-label]="label()">
      @for (cell of cells(); track cell.id) {
        <li>
          <a class="cell" [class]="cell.tone" [routerLink]="['/runs', cell.id]" [title]="cell.title"
             [attr.aria-label]="'Run ' + cell.short + ': ' + cell.title">
            <svg viewBox="0 0 10 10" aria-hidden="true" focusable="false">
              @switch (cell.tone) {
                @case ('ok') { <path d="M2 5.4 4.2 7.6 8.2 2.8" /> }
                @case ('busy') { <path class="solid" d="M3 1.8v6.4L8.4 5z" /> }
                @case ('warn') { <path d="M5 2v3.6M5 7.4v.8" /> }
                @case ('fail') { <path d="M2.4 2.4l5.2 5.2M7.6 2.4 2.4 7.6" /> }
                @case ('off') { <path d="M3.4 2.4v5.2M6.6 2.4v5.2" /> }
                @default { <path d="M2.4 5h5.2" /> }
              }
            </svg>
          </a>
        </li>
      } @empty { <li class="faint">no run yet</li> }
    </ul>
  `,
})
export class RunStrip {
  /** The newest first, as the API has them. */
  readonly runs = input.required<readonly RunMark[]>();
  readonly label = input('Last runs, the newest last');

  private readonly clock = inject(Clock);
  protected readonly cells = computed(() =>
    [...this.runs()].reverse().map((run) => ({
      id: run.id,
      short: shortId(run.id),
      tone: toneOfRun(run.status),
      title: titleOf(run, this.clock.now()),
    })),
  );
}
