import { signal } from '@angular/core';

import { lineOf } from '../../core/api';

/** One request on a user's behalf: whether it is under way, and the line that says why it failed. */
export class Mutation {
  readonly busy = signal(false);
  readonly failure = signal('');

  /** True when it was done. */
  async ask(what: () => Promise<void>): Promise<boolean> {
    if (this.busy()) return false;
    this.busy.set(true);
    this.failure.set('');
    try {
      await what();
      return true;
    } catch (failure) {
      this.failure.set(lineOf(failure));
      return false;
    } finally {
      this.busy.set(false);
    }
  }
}
