import { afterRenderEffect, ChangeDetectionStrategy, Component, DestroyRef, ElementRef, inject, input, model, viewChild } from '@angular/core';

let count = 0;

/**
 * A question that has to be answered first: the browser's own dialog, which keeps the focus inside, ends with Esc, and
 * gives the focus back. Its content is there only while it is open.
 */
@Component({
  selector: 'pawl-dialog',
  changeDetection: ChangeDetectionStrategy.OnPush,
  template: `
    <dialog #dialog [attr.aria-labelledby]="id" (close)="open.set(false)" (cancel)="cancelled($event)">
      @if (open()) {
        <header class="dialog-head">
          <h2 [id]="id">{{ heading() }}</h2>
          <button type="button" class="plain" (click)="open.set(false)" [disabled]="busy()" aria-label="Close">✕</button>
        </header>
        <div class="dialog-body"><ng-content /></div>
      }
    </dialog>
  `,
})
export class Dialog {
  readonly open = model.required<boolean>();
  readonly heading = input.required<string>();
  /** Something is under way: it cannot be closed now. */
  readonly busy = input(false);

  protected readonly id = `dialog-${(count += 1)}`;
  private readonly dialog = viewChild.required<ElementRef<HTMLDialogElement>>('dialog');

  private opener: HTMLElement | null = null;

  constructor() {
    // When its content is there: the browser gives the focus to what has `autofocus` while it opens.
    afterRenderEffect(() => {
      const dialog = this.dialog().nativeElement;
      if (this.open() && !dialog.open) {
        this.opener = document.activeElement as HTMLElement | null;
        dialog.showModal();
      }
      if (!this.open() && dialog.open) dialog.close();
    });
    // A dialog that is taken away while it is open is not closed by the browser, and its focus would be nowhere.
    inject(DestroyRef).onDestroy(() => {
      const here = document.activeElement;
      if (this.opener?.isConnected && (here === null || here === document.body)) this.opener.focus();
    });
  }

  protected cancelled(event: Event): void {
    if (this.busy()) event.preventDefault();
  }
}
