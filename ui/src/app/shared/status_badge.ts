import { ChangeDetectionStrategy, Component, input } from '@angular/core';

import type { RunStatus } from '../core/types';

/** ok: as it should be. busy: at work. warn: look when you can. fail: look now. idle: nothing to say. off: put aside. */
export type Tone = 'ok' | 'busy' | 'warn' | 'fail' | 'idle' | 'off';

const runTones: Record<RunStatus, Tone> = {
  started: 'busy',
  completed: 'ok',
  failed: 'fail',
  cancelled: 'off',
  lost: 'fail',
  timed_out: 'fail',
  abandoned: 'warn',
  skipped: 'idle',
};

export function toneOfRun(status: RunStatus): Tone {
  return runTones[status] ?? 'idle';
}

/** `timed out` for timed_out, `running` for started. */
export function wordOfRun(status: RunStatus): string {
  return status === 'started' ? 'running' : status.replace('_', ' ');
}

/** One state as a word with a shape, so that it does not hang on its colour. */
@Component({
  selector: 'pawl-status-badge',
  changeDetection: ChangeDetectionStrategy.OnPush,
  host: { class: 'badge', '[class]': 'tone()' },
  template: `
    <svg viewBox="0 0 12 12" aria-hidden="true" focusable="false">
      @switch (tone()) {
        @case ('ok') { <circle cx="6" cy="6" r="5.2" /><path class="cut" d="M3.4 6.2l1.9 1.9 3.4-4" /> }
        @case ('busy') { <path d="M3 1.6v8.8L10.6 6z" /> }
        @case ('warn') { <path d="M6 .8 11.6 11H.4z" /><path class="cut" d="M6 4.2v3M6 8.9v.6" /> }
        @case ('fail') { <path d="M3.6.6h4.8l3 3v4.8l-3 3H3.6l-3-3V3.6z" /><path class="cut" d="M4.1 4.1l3.8 3.8M7.9 4.1 4.1 7.9" /> }
        @case ('off') { <path d="M2 1.4h2.8v9.2H2zM7.2 1.4H10v9.2H7.2z" /> }
        @default { <circle class="ring" cx="6" cy="6" r="4.4" /> }
      }
    </svg>
    <span>{{ word() }}</span>
  `,
})
export class StatusBadge {
  readonly tone = input.required<Tone>();
  readonly word = input.required<string>();
}
