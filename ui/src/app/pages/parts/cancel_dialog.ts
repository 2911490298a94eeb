import { ChangeDetectionStrategy, Component, inject, input, output } from '@angular/core';

import { Api } from '../../core/api';
import { Toasts } from '../../core/toasts';
import type { Run } from '../../core/types';
import { Dialog } from '../../shared/dialog';
import { Asking } from './asking';
import { shortId } from './run_facts';

/** Ends a run, after it has said what that does. */
@Component({
  selector: 'pawl-cancel-dialog',
  imports: [Dialog],
  changeDetection: ChangeDetectionStrategy.OnPush,
  preserveWhitespaces: true,
  template: `
    <pawl-dialog [open]="true" (openChange)="$event || closed.emit()" [heading]="'Cancel run ' + short(run().id) + ' of ' + run().job"
                 [busy]="asking.busy()">
      <form class="form" (submit)="$event.preventDefault(); cancel()">
        <p>Its command on <strong>{{ run().node }}</strong> gets SIGTERM, and SIGKILL when the job's grace is over. It counts as cancelled even
          if it ends with 0, and is not tried again. The next firing runs as usual.</p>
        @if (asking.failure()) { <p class="wrong" role="alert">It was not cancelled: {{ asking.failure() }}</p> }
        <div class="buttons">
          <button type="button" autofocus (click)="closed.emit()" [disabled]="asking.busy()">Let it run</button>
          <button type="submit" class="danger first" [disabled]="asking.busy()">Cancel the run</button>
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
  protected readonly asking = new Asking();
  protected readonly short = shortId;

  protected async cancel(): Promise<void> {
    const done = await this.asking.ask(async () => {
      const { withdrawn } = await this.api.cancelRun(this.run().id);
      this.toasts.say(withdrawn ? 'It had not begun, and will not.' : 'Asked to stop; it ends within its grace.');
    });
    if (done) this.closed.emit();
  }
}
