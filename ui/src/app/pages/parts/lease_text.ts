import { ChangeDetectionStrategy, Component, computed, inject, input, linkedSignal } from '@angular/core';

import { Clock, countdownText } from '../../core/time';
import type { Lock } from '../../core/types';
import { Visible } from '../../shared/visible';

/** Who holds a key and for how long yet, in one line that counts down. */
@Component({
  selector: 'pawl-lease-text',
  imports: [Visible],
  changeDetection: ChangeDetectionStrategy.OnPush,
  preserveWhitespaces: true,
  template: `
    @if (lock(); as lock) {
      @if (left() <= 0) { <span class="faint">free</span> }
      @else if (lock.held) { <span class="owner">{{ lock.owner | visible }}</span> <span class="faint">expires in {{ shown() }}</span> }
      @else { <span>cooldown</span> <span class="faint">{{ shown() }}</span> }
    } @else { <span class="faint">never acquired</span> }
  `,
})
export class LeaseText {
  readonly lock = input.required<Lock | null>();

  private readonly clock = inject(Clock);
  /** By this browser's clock, from when the answer came. */
  private readonly ends = linkedSignal(() => Date.now() + (this.lock()?.remaining_ms ?? 0));
  protected readonly left = computed(() => Math.min(this.lock()?.remaining_ms ?? 0, this.ends() - this.clock.localNow()));
  protected readonly shown = computed(() => countdownText(this.left()));
}
