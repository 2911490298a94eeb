import { ChangeDetectionStrategy, Component, computed, inject, input, signal } from '@angular/core';

import { Session } from '../../core/session';
import type { Job } from '../../core/types';
import { Action } from './action';
import { PauseDialog } from './pause_dialog';
import { ResumeDialog } from './resume_dialog';
import { RunDialog } from './run_dialog';

/** What can be done to a job, and the dialog of what was chosen. */
@Component({
  selector: 'pawl-job-actions',
  imports: [Action, PauseDialog, ResumeDialog, RunDialog],
  changeDetection: ChangeDetectionStrategy.OnPush,
  preserveWhitespaces: true,
  host: { class: 'actions' },
  template: `
    <pawl-action [whyNot]="whyNotRun()" [label]="'Run now: ' + job().name" (act)="asked.set('run')">Run now…</pawl-action>
    @if (job().paused) {
      <pawl-action [whyNot]="whyNot()" [label]="'Resume ' + job().name" (act)="asked.set('resume')">Resume…</pawl-action>
    } @else {
      <pawl-action [whyNot]="whyNot()" [label]="'Pause ' + job().name" (act)="asked.set('pause')">Pause…</pawl-action>
    }
    @switch (asked()) {
      @case ('run') { <pawl-run-dialog [job]="job()" (closed)="asked.set('')" /> }
      @case ('pause') { <pawl-pause-dialog [job]="job()" (closed)="asked.set('')" /> }
      @case ('resume') { <pawl-resume-dialog [job]="job()" (closed)="asked.set('')" /> }
    }
  `,
})
export class JobActions {
  readonly job = input.required<Job>();

  private readonly session = inject(Session);
  protected readonly asked = signal<'' | 'run' | 'pause' | 'resume'>('');
  protected readonly whyNot = computed(() => this.session.whyNot('operator'));
  protected readonly whyNotRun = computed(
    () => this.whyNot() || (this.job().state === 'disabled' ? 'Its configuration says enabled = false.' : ''),
  );
}
