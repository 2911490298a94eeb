import { Injectable, signal } from '@angular/core';

export interface Toast {
  id: number;
  tone: 'ok' | 'fail';
  text: string;
}

/** How long good news stays. Bad news stays until it is put away. */
const shownMs = 8_000;
const toastsMax = 4;

/** Short messages about what was just done; read out by screen readers. */
@Injectable({ providedIn: 'root' })
export class Toasts {
  private next = 1;
  private readonly all = signal<readonly Toast[]>([]);
  readonly list = this.all.asReadonly();

  say(text: string): void {
    const id = this.add('ok', text);
    setTimeout(() => this.dismiss(id), shownMs);
  }

  complain(text: string): void {
    this.add('fail', text);
  }

  dismiss(id: number): void {
    this.all.update((list) => list.filter((one) => one.id !== id));
  }

  private add(tone: Toast['tone'], text: string): number {
    const id = this.next++;
    this.all.update((list) => [...list, { id, tone, text }].slice(-toastsMax));
    return id;
  }
}
