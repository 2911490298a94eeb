import { signal } from '@angular/core';

import { lineOf, RequestFailed } from '../../core/api';

/** One request on a user's behalf: whether it is under way, and the line that says why it failed. */
export class Mutation {
  readonly busy = signal(false);
  readonly failure = signal('');
  private readonly unsure = signal(false);

  /** The line under what was not done, unless it may have been; empty where nothing has failed. */
  failureAs(notDone: string): string {
    const line = this.failure();
    return line && `${this.unsure() ? 'Request failed' : notDone}: ${line}`;
  }

  /** True when it was done. */
  async ask(what: () => Promise<void>): Promise<boolean> {
    if (this.busy()) return false;
    this.busy.set(true);
    this.failure.set('');
    try {
      await what();
      return true;
    } catch (failure) {
      this.unsure.set(mayHaveTakenEffect(failure));
      this.failure.set(lineOf(failure));
      return false;
    } finally {
      this.busy.set(false);
    }
  }
}

/** No answer, or one of an agent whose store or journal has given none. */
function mayHaveTakenEffect(failure: unknown): boolean {
  return failure instanceof RequestFailed && (failure.unreachable || failure.status === 503);
}
