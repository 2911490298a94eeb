import { ChangeDetectionStrategy, Component, computed, inject, input } from '@angular/core';

import { absoluteText, Clock, momentText, relativeText, viewerZone, zoneText } from '../core/time';

/** A point in time: when it was or will be, and how far away that is. */
@Component({
  selector: 'pawl-moment',
  changeDetection: ChangeDetectionStrategy.OnPush,
  template: `
    @if (at(); as at) {
      <time [attr.datetime]="at" [attr.title]="title()">{{ shown() }}</time>
    } @else { <span class="faint">{{ none() }}</span> }
  `,
})
export class Moment {
  readonly at = input.required<string | null>();
  /** both: 14:03:05 (3 s ago). relative: 3 s ago. absolute: 14:03:05. The title has the whole of it always. */
  readonly shape = input<'both' | 'relative' | 'absolute'>('both');
  /** Another zone than the viewer's. */
  readonly zone = input(viewerZone);
  readonly none = input('–');

  private readonly clock = inject(Clock);
  protected readonly title = computed(() => `${absoluteText(this.at() ?? '', this.zone())} ${zoneText(this.zone(), this.at() ?? 0)}`);
  protected readonly shown = computed(() => {
    const at = this.at() ?? '';
    const absolute = momentText(at, this.clock.now(), this.zone());
    if (this.shape() === 'absolute') return absolute;
    const relative = relativeText(new Date(at).getTime(), this.clock.now());
    return this.shape() === 'relative' ? relative : `${absolute} (${relative})`;
  });
}
