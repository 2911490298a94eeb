import { ChangeDetectionStrategy, Component, inject, input, output, signal } from '@angular/core';

import { Api } from '../../core/api';
import { Toasts } from '../../core/toasts';
import type { Run } from '../../core/types';
import { Dialog } from '../../shared/dialog';
import { Mutation } from './mutation';
import { shortId } from './run_facts';
import { Visible } from '../../shared/visible';

/** Cancels a run, after it has said what that does; a reason is asked for. */
@Component({
  selector: 'pawl-cancel-dialog',
  imports: [Dialog, Visible],
  changeDetection: ChangeDetectionStrategy.OnPush,
  preserveWhitespaces: true,
  template: `
    <pawl-dialog [open]="true" (openChange)="$event || closed.emit()" [heading]="'Cancel run ' + short(run().id) + ' of ' + run().job"
                 [busy]="mutation.busy()">
      <form class="form" (submit)="$event.preventDefault(); cancel()">
        <p>Its command on <strong>{{ run().node | visible }}</strong> gets SIGTERM, and SIGKILL after the job's grace. The run counts as cancelled,
          whatever its exit status, and is not retried. The next scheduled run is not affected.</p>
        <label class="field">
          <span>Reason</span>
          <input #field type="text" maxlength="1024" required autofocus autocomplete="off" [value]="reason()"
                 (input)="reason.set(field.value)" />
        </label>
        @if (mutation.failureAs('Not cancelled'); as line) { <p class="wrong" role="alert">{{ line }}</p> }
        <div class="buttons">
          <button type="button" (click)="closed.emit()" [disabled]="mutation.busy()">Keep running</button>
          <button type="submit" class="danger first" [disabled]="mutation.busy() || reason().trim() === ''">Cancel run</button>
        </div>
      </form>
    </pawl-dialog>
  `,
})
export class CancelDialog {
  readonly run = input.required<Run>();
  readonly closed = output<void>();

  private readonly api = inject(Api);
  private readonly toasts = inject(Toasts);
  protected readonly mutation = new Mutation();
  protected readonly reason = signal('');
  protected readonly short = shortId;

  protected async cancel(): Promise<void> {
    const done = await this.mutation.ask(async () => {
      const { withdrawn, run_status } = await this.api.cancelRun(this.run().id, this.reason().trim());
      const has_ended = run_status === 'cancelled' ? 'Cancelled: no node had the run' : 'Cancelling: the run ends within its grace';
      this.toasts.say(withdrawn ? 'Cancelled before it started' : has_ended);
    });
    if (done) this.closed.emit();
  }
}
