import { ChangeDetectionStrategy, Component, computed, input } from '@angular/core';
import { RouterLink } from '@angular/router';

import { Tone } from './status_badge';
import { ticks } from './chart';

export interface Bar {
  id: string;
  value: number;
  tone: Tone;
  /** What it is in words: `run 7f3a, failed, 4 s`. */
  title: string;
  /** A path of the page. */
  link?: string;
}

/** One bar for each thing, such as the last runs of a job by how long they took. Each is a link with its words. */
@Component({
  selector: 'pawl-bar-chart',
  imports: [RouterLink],
  changeDetection: ChangeDetectionStrategy.OnPush,
  host: { class: 'bar-chart' },
  template: `
    <figure>
      <figcaption class="chart-title">{{ label() }}</figcaption>
      <div class="bar-area">
        <div class="bar-scale" aria-hidden="true"><span>{{ format()(most()) }}</span><span>{{ format()(0) }}</span></div>
        <ul class="bars">
          @for (bar of bars(); track bar.id) {
            <li>
              @if (bar.link) {
                <a class="bar" [class]="bar.tone" [routerLink]="bar.link" [title]="bar.title" [attr.aria-label]="bar.title"
                  ><span [style.height.%]="share(bar)"></span></a>
              } @else {
                <span class="bar" [class]="bar.tone" [title]="bar.title" role="img" [attr.aria-label]="bar.title"
                  ><span [style.height.%]="share(bar)"></span></span>
              }
            </li>
          }
        </ul>
      </div>
    </figure>
  `,
})
export class BarChart {
  readonly label = input.required<string>();
  /** The oldest first. */
  readonly bars = input.required<readonly Bar[]>();
  readonly format = input<(value: number) => string>(String);

  protected readonly most = computed(() => ticks(this.bars().reduce((most, { value }) => Math.max(most, value), 0)).at(-1) ?? 1);

  /** At least a sliver, so that it can be pointed at. */
  protected share(bar: Bar): number {
    return Math.max(2, (bar.value / this.most()) * 100);
  }
}
