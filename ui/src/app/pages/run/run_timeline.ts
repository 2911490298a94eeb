import { ChangeDetectionStrategy, Component, computed, inject, input } from '@angular/core';

import { Clock, durationText } from '../../core/time';
import type { RunDetail, RunStatus } from '../../core/types';
import { Moment } from '../../shared/moment';
import { StatusBadge, Tone, toneOfRun, wordOfRun } from '../../shared/status_badge';
import { attemptsOf, spanOf, TimelineAttempt, TimelineMark } from './timeline';
import { Visible } from '../../shared/visible';

/** Of an attempt with many notes, so many are shown. */
const marksShown = 12;

const markWords: Record<string, string> = { checkpoint: 'checkpoint', note: 'note', asked: 'triggered by', cancel_requested: 'cancelled by' };

/** The attempts at a run one below the other: a list that can be read out, and beside each its place in time. */
@Component({
  selector: 'pawl-run-timeline',
  imports: [Moment, StatusBadge, Visible],
  changeDetection: ChangeDetectionStrategy.OnPush,
  preserveWhitespaces: true,
  template: `
    <ol class="timeline">
      @for (one of attempts(); track $index) {
        <li>
          @if (one.takenFrom) { <p class="handover">Taken over from <strong>{{ one.takenFrom | visible }}</strong> by <strong>{{ one.node | visible }}</strong></p> }
          <div class="attempt-head">
            <strong>Attempt {{ one.attempt }}</strong> on {{ (one.node || 'no node') | visible }}
            <span class="faint">token <span class="mono">{{ one.token || 'none' }}</span></span>
            <pawl-status-badge [tone]="toneOf(one)" [word]="wordOf(one)" />
            <span class="faint">{{ lengthOf(one) }}</span>
          </div>
          <svg class="track" viewBox="0 0 1000 20" preserveAspectRatio="none" aria-hidden="true" focusable="false">
            <rect class="whole" x="0" y="8" width="1000" height="4" />
            <rect class="part" [class]="toneOf(one)" [attr.x]="place(one.from)" y="3" height="14" [attr.width]="width(one)" />
            @for (mark of one.marks; track $index) { <rect class="mark" [attr.x]="place(mark.at) - 1.5" y="0" width="3" height="20" /> }
          </svg>
          <p class="faint">From <pawl-moment [at]="iso(one.from)" />@if (one.to !== null) { to <pawl-moment [at]="iso(one.to)" /> }</p>
          @if (one.reason) { <p class="reason">{{ one.reason }}</p> }
          @if (one.marks.length) {
            <ul class="marks">
              @if (one.marks.length > marksShown) { <li class="faint">{{ one.marks.length - marksShown }} earlier ones</li> }
              @for (mark of last(one.marks); track $index) {
                <li><span class="faint"><pawl-moment [at]="iso(mark.at)" shape="absolute" /> {{ wordOfMark(mark) }}</span> {{ mark.text }}</li>
              }
            </ul>
          }
        </li>
      }
    </ol>
  `,
})
export class RunTimeline {
  readonly run = input.required<RunDetail>();

  private readonly clock = inject(Clock);
  protected readonly marksShown = marksShown;
  protected readonly attempts = computed(() => attemptsOf(this.run(), this.run().history));
  private readonly span = computed(() => spanOf(this.attempts(), this.clock.now()));

  protected iso(at: number): string {
    return new Date(at).toISOString();
  }

  protected toneOf(one: TimelineAttempt): Tone {
    if (one.end === '') return 'busy';
    if (one.end === 'retried') return 'fail';
    return one.end === 'taken over' ? 'warn' : toneOfRun(one.end as RunStatus);
  }

  protected wordOf(one: TimelineAttempt): string {
    if (one.end === 'retried') return 'failed, retried';
    return one.end === '' ? 'running' : wordOfRun(one.end as RunStatus);
  }

  protected wordOfMark(mark: TimelineMark): string {
    return markWords[mark.kind] ?? mark.kind;
  }

  protected last(marks: readonly TimelineMark[]): readonly TimelineMark[] {
    return marks.slice(-marksShown);
  }

  protected lengthOf(one: TimelineAttempt): string {
    return durationText((one.to ?? Math.max(one.from, this.clock.now())) - one.from);
  }

  protected place(at: number): number {
    const { from, to } = this.span();
    return Math.round(((at - from) / (to - from)) * 1000);
  }

  protected width(one: TimelineAttempt): number {
    return Math.max(4, this.place(one.to ?? this.span().to) - this.place(one.from));
  }
}
