import { ChangeDetectionStrategy, Component, computed, effect, ElementRef, inject, input, viewChild } from '@angular/core';

import { Clock, countdownText } from '../core/time';

const stillMotion = typeof matchMedia === 'function' && matchMedia('(prefers-reduced-motion: reduce)').matches;

/** A bar that takes longer moves by less than two pixels a second: then a step each second looks the same. */
const glideMaxMs = 48_000;

/**
 * What is left of a lease: words that change each second, and a bar that runs down. A short one glides on the
 * compositor, without change detection; a renewal starts it anew.
 */
@Component({
  selector: 'pawl-ttl-bar',
  changeDetection: ChangeDetectionStrategy.OnPush,
  host: { class: 'ttl', '[class.low]': 'low()', '[class.cooldown]': '!held()', '[class.free]': 'left() <= 0' },
  template: `
    <span class="ttl-text">{{ text() }}</span>
    <span class="ttl-track" aria-hidden="true"><span class="ttl-fill" #fill></span></span>
  `,
})
export class TtlBar {
  /** When it ends, in this browser's Unix milliseconds. */
  readonly ends = input.required<number>();
  /** What counts as full: the longest that was seen. */
  readonly full = input.required<number>();
  readonly held = input(true);

  private readonly clock = inject(Clock);
  private readonly fill = viewChild.required<ElementRef<HTMLElement>>('fill');
  protected readonly left = computed(() => Math.max(0, this.ends() - this.clock.localNow()));
  protected readonly low = computed(() => this.left() < this.full() / 4);
  protected readonly text = computed(() => (this.left() > 0 ? countdownText(this.left()) : this.held() ? 'expired' : 'free'));

  constructor() {
    let running: Animation | undefined;
    effect((cleanup) => {
      const fill = this.fill().nativeElement;
      const full = Math.max(1, this.full());
      const shown = (ms: number) => `scaleX(${Math.max(0, Math.min(1, ms / full)).toFixed(4)})`;
      if (stillMotion || full > glideMaxMs || !fill.animate) {
        fill.style.transform = shown(this.left());
        return;
      }
      const left = Math.max(0, this.ends() - Date.now());
      running?.cancel();
      fill.style.transform = 'scaleX(0)';
      running = fill.animate([{ transform: shown(left) }, { transform: 'scaleX(0)' }], { duration: left, easing: 'linear' });
      cleanup(() => running?.cancel());
    });
  }
}
