import { computed, signal } from '@angular/core';

import { lineOf } from './api';

/** One thing that a page reads: what it is, as of when, and what went wrong when it was read last. */
export class Query<T extends { as_of: string }> {
  private readonly value_ = signal<T | null>(null);
  private readonly failure_ = signal<unknown>(null);
  private readonly busy_ = signal(false);
  private turn = 0;
  private readings = 0;

  readonly value = this.value_.asReadonly();
  /** Of the last attempt; null when it went well. What was read before stays. */
  readonly failure = this.failure_.asReadonly();
  readonly failureLine = computed(() => (this.failure_() === null ? '' : lineOf(this.failure_())));
  readonly busy = this.busy_.asReadonly();
  readonly asOf = computed(() => this.value_()?.as_of ?? '');

  constructor(private readonly ask: () => Promise<T>) {}

  /** Does not throw. What was asked for before the newest asking is let go. */
  async read(): Promise<string> {
    const turn = ++this.turn;
    this.busy_.set(true);
    try {
      const value = await this.ask();
      if (turn === this.turn) {
        this.readings += 1;
        this.value_.set(value);
        this.failure_.set(null);
      }
      return value.as_of;
    } catch (failure) {
      if (turn === this.turn) this.failure_.set(failure);
      return '';
    } finally {
      if (turn === this.turn) this.busy_.set(false);
    }
  }

  /** What came live is worked in. */
  update(change: (value: T) => T): void {
    this.value_.update((value) => (value ? change(value) : value));
  }

  /**
   * Works in what `ask` reads further, such as the next page of a list. It is dropped where the list was read anew
   * meanwhile, and may end elsewhere: between the two would be a hole.
   */
  async extend(ask: (value: T) => Promise<(value: T) => T>): Promise<void> {
    const value = this.value_();
    const readings = this.readings;
    if (value === null) return;
    const change = await ask(value);
    if (readings === this.readings) this.update(change);
  }

  /** Another thing is to be read: what was shown is none of it. */
  forget(): void {
    this.turn += 1;
    this.readings += 1;
    this.value_.set(null);
    this.failure_.set(null);
  }
}
