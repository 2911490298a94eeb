import { ChangeDetectionStrategy, Component, computed, input } from '@angular/core';

import { scheduleInWords } from '../jobs/schedule_words';

/** A schedule in words, with its expression and its zone: the words are for reading, the expression is what counts. */
@Component({
  selector: 'pawl-schedule-text',
  changeDetection: ChangeDetectionStrategy.OnPush,
  preserveWhitespaces: true,
  host: { class: 'schedule' },
  template: `
    @if (schedule()) {
      @if (words(); as words) { <span>{{ words }}</span> }
      <span class="expression"><code>{{ schedule() }}</code> <span class="faint">{{ zone() }}</span></span>
    } @else { <span class="faint">manual only</span> }
  `,
})
export class ScheduleText {
  readonly schedule = input.required<string>();
  readonly zone = input.required<string>();
  protected readonly words = computed(() => scheduleInWords(this.schedule()));
}
