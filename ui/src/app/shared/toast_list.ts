import { ChangeDetectionStrategy, Component, inject } from '@angular/core';

import { Toasts } from '../core/toasts';

/** The messages of Toasts, in a corner. Lives once, in the shell. */
@Component({
  selector: 'pawl-toast-list',
  changeDetection: ChangeDetectionStrategy.OnPush,
  host: { class: 'toasts', role: 'status', 'aria-live': 'polite' },
  template: `
    @for (toast of toasts.list(); track toast.id) {
      <div class="toast" [class]="toast.tone">
        <span>{{ toast.text }}</span>
        <button type="button" class="plain" (click)="toasts.dismiss(toast.id)" aria-label="Put this message away">✕</button>
      </div>
    }
  `,
})
export class ToastList {
  protected readonly toasts = inject(Toasts);
}
