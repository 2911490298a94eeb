import { ChangeDetectionStrategy, Component, inject, input, output, signal } from '@angular/core';

import { Api } from '../../core/api';
import { Toasts } from '../../core/toasts';
import type { Job } from '../../core/types';
import { Dialog } from '../../shared/dialog';
import { Asking } from './asking';

/** Pauses a job; a reason is asked for. */
@Component({
  selector: 'pawl-pause-dialog',
  imports: [Dialog],
  changeDetection: ChangeDetectionStrategy.OnPush,
  preserveWhitespaces: true,
  template: `
    <pawl-dialog [open]="true" (openChange)="$event || closed.emit()" [heading]="'Pause ' + job().name" [busy]="asking.busy()">
      <form class="form" (submit)="$event.preventDefault(); pause()">
        <p>No scheduled run of it starts on any node until it is resumed. An active run finishes. Missed runs are not executed.</p>
        <label class="field">
          <span>Reason</span>
          <input #field type="text" maxlength="1024" required autofocus autocomplete="off" [value]="reason()"
                 (input)="reason.set(field.value)" />
        </label>
        @if (asking.failure()) { <p class="wrong" role="alert">Not paused: {{ asking.failure() }}</p> }
        <div class="buttons">
          <button type="button" (click)="closed.emit()" [disabled]="asking.busy()">Cancel</button>
          <button type="submit" class="first" [disabled]="asking.busy() || reason().trim() === ''">Pause</button>
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
  protected readonly asking = new Asking();
  protected readonly reason = signal('');

  protected async pause(): Promise<void> {
    const { name } = this.job();
    const done = await this.asking.ask(async () => {
      const { changed } = await this.api.pauseJob(name, this.reason().trim());
      this.toasts.say(changed ? `${name} paused` : `${name} was already paused`);
    });
    if (done) this.closed.emit();
  }
}
