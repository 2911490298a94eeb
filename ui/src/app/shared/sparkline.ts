import { ChangeDetectionStrategy, Component, computed, input } from '@angular/core';

const width = 96;
const height = 24;

/** A line without axes, beside a number. */
@Component({
  selector: 'pawl-sparkline',
  changeDetection: ChangeDetectionStrategy.OnPush,
  host: { class: 'sparkline' },
  template: `<svg viewBox="0 0 96 24" role="img" [attr.aria-label]="label()"><path class="line look-1" [attr.d]="d()" /></svg>`,
})
export class Sparkline {
  readonly values = input.required<readonly number[]>();
  readonly label = input.required<string>();

  protected readonly d = computed(() => {
    const values = this.values();
    const most = values.reduce((a, b) => Math.max(a, b), 0) || 1;
    const span = Math.max(1, values.length - 1);
    return values
      .map((value, index) => `${index ? 'L' : 'M'}${((index / span) * width).toFixed(1)} ${(height - 2 - (value / most) * (height - 4)).toFixed(1)}`)
      .join('');
  });
}
