import { ChangeDetectionStrategy, Component, inject, input, output } from '@angular/core';

import { Api } from '../../core/api';
import { Toasts } from '../../core/toasts';
import type { Job } from '../../core/types';
import { Dialog } from '../../shared/dialog';
import { Moment } from '../../shared/moment';
import { Mutation } from './mutation';
import { Visible } from '../../shared/visible';

/** Resumes a paused job, and shows first who paused it and why. */
@Component({
  selector: 'pawl-resume-dialog',
  imports: [Dialog, Moment, Visible],
  changeDetection: ChangeDetectionStrategy.OnPush,
  preserveWhitespaces: true,
  template: `
    <pawl-dialog [open]="true" (openChange)="$event || closed.emit()" [heading]="'Resume ' + job().name" [busy]="mutation.busy()">
      <form class="form" (submit)="$event.preventDefault(); resume()">
        @if (job().paused; as pause) {
          <p>Paused by <strong>{{ pause.by | visible }}</strong>, <pawl-moment [at]="pause.at" />:</p>
          <blockquote>{{ pause.reason }}</blockquote>
        }
        <p>Scheduled runs start again, from the next one. Missed runs are not executed.</p>
        @if (mutation.failureAs('Not resumed'); as line) { <p class="wrong" role="alert">{{ line }}</p> }
        <div class="buttons">
          <button type="button" (click)="closed.emit()" [disabled]="mutation.busy()">Cancel</button>
          <button type="submit" class="first" autofocus [disabled]="mutation.busy()">Resume</button>
        </div>
      </form>
    </pawl-dialog>
  `,
})
export class ResumeDialog {
  readonly job = input.required<Job>();
  readonly closed = output<void>();

  private readonly api = inject(Api);
  private readonly toasts = inject(Toasts);
  protected readonly mutation = new Mutation();

  protected async resume(): Promise<void> {
    const { name } = this.job();
    const done = await this.mutation.ask(async () => {
      const { changed } = await this.api.resumeJob(name);
      this.toasts.say(changed ? `${name} resumed` : `${name} was not paused`);
    });
    if (done) this.closed.emit();
  }
}
