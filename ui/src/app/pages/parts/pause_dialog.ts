import { ChangeDetectionStrategy, Component, inject, input, output, signal } from '@angular/core';

import { Api } from '../../core/api';
import { Toasts } from '../../core/toasts';
import type { Job } from '../../core/types';
import { Dialog } from '../../shared/dialog';
import { Mutation } from './mutation';

/** Pauses a job; a reason is asked for. */
@Component({
  selector: 'pawl-pause-dialog',
  imports: [Dialog],
  changeDetection: ChangeDetectionStrategy.OnPush,
  preserveWhitespaces: true,
  template: `
    <pawl-dialog [open]="true" (openChange)="$event || closed.emit()" [heading]="'Pause ' + job().name" [busy]="mutation.busy()">
      <form class="form" (submit)="$event.preventDefault(); pause()">
        <p>No scheduled run of it starts on any node until it is resumed. An active run finishes. Missed runs are not executed.</p>
        <label class="field">
          <span>Reason</span>
          <input #field type="text" maxlength="1024" required autofocus autocomplete="off" [value]="reason()"
                 (input)="reason.set(field.value)" />
        </label>
        @if (mutation.failureAs('Not paused'); as line) { <p class="wrong" role="alert">{{ line }}</p> }
        <div class="buttons">
          <button type="button" (click)="closed.emit()" [disabled]="mutation.busy()">Cancel</button>
          <button type="submit" class="first" [disabled]="mutation.busy() || reason().trim() === ''">Pause</button>
        </div>
      </form>
    </pawl-dialog>
  `,
})
export class PauseDialog {
  readonly job = input.required<Job>();
  readonly closed = output<void>();

  private readonly api = inject(Api);
  private readonly toasts = inject(Toasts);
  protected readonly mutation = new Mutation();
  protected readonly reason = signal('');

  protected async pause(): Promise<void> {
    const { name } = this.job();
    const done = await this.mutation.ask(async () => {
      const { changed } = await this.api.pauseJob(name, this.reason().trim());
      this.toasts.say(changed ? `${name} paused` : `${name} was already paused`);
    });
    if (done) this.closed.emit();
  }
}
