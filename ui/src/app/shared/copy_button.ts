import { ChangeDetectionStrategy, Component, inject, input, signal } from '@angular/core';

import { Toasts } from '../core/toasts';

const saidMs = 2_000;

/** Puts a text into the clipboard. */
@Component({
  selector: 'pawl-copy-button',
  changeDetection: ChangeDetectionStrategy.OnPush,
  template: `
    <button type="button" class="plain copy" (click)="copy()" [attr.aria-label]="'Copy ' + what()" [title]="'Copy ' + what()">
      <svg viewBox="0 0 16 16" aria-hidden="true" focusable="false">
        @if (done()) { <path d="M3 8.5l3.2 3.2L13 4.6" /> }
        @else { <path d="M5.5 5.5h8v8h-8zM3 10.5v-8h8" /> }
      </svg>
    </button>
    <span class="unseen" role="status">{{ done() ? 'Copied' : '' }}</span>
  `,
})
export class CopyButton {
  readonly text = input.required<string>();
  /** What it is, for its name: `the key`. */
  readonly what = input('this');
  protected readonly done = signal(false);
  private readonly toasts = inject(Toasts);

  protected async copy(): Promise<void> {
    try {
      // Browsers have it only over TLS and on loopback.
      if (navigator.clipboard) await navigator.clipboard.writeText(this.text());
      else this.copyBySelection();
    } catch {
      this.toasts.complain(`The browser does not let this page copy: ${this.text()}`);
      return;
    }
    this.done.set(true);
    setTimeout(() => this.done.set(false), saidMs);
  }

  private copyBySelection(): void {
    const field = document.createElement('textarea');
    field.value = this.text();
    field.className = 'unseen';
    document.body.append(field);
    field.select();
    const copied = document.execCommand('copy');
    field.remove();
    if (!copied) throw new Error('rejected');
  }
}
