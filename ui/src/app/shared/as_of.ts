import { ChangeDetectionStrategy, Component, computed, inject, input } from '@angular/core';

import { Live } from '../core/live';
import { absoluteText, Clock, clockText, relativeText } from '../core/time';

/** As of when what is shown holds, and whether it may be old. Stands at every list. */
@Component({
  selector: 'pawl-as-of',
  changeDetection: ChangeDetectionStrategy.OnPush,
  host: { class: 'as-of', '[class.stale]': 'old()' },
  template: `
    @if (at()) {
      Updated <time [attr.datetime]="at()" [attr.title]="absoluteText(at())">{{ clockText(at()) }}</time>
      @if (old()) { <span> · {{ age() }}, may be old</span> }
    }
  `,
})
export class AsOf {
  readonly at = input.required<string>();
  /** Changes come by themselves while the page is live. Off: it is what it was when it was read. */
  readonly follows = input(true);

  private readonly live = inject(Live);
  private readonly clock = inject(Clock);
  protected readonly absoluteText = absoluteText;
  protected readonly clockText = clockText;
  protected readonly age = computed(() => relativeText(new Date(this.at()).getTime(), this.clock.now()));
  protected readonly old = computed(() => this.follows() && this.live.stale());
}
