import { ChangeDetectionStrategy, Component, computed, effect, inject, input, model, output, signal, untracked } from '@angular/core';

import { Api, lineOf, RequestFailed } from '../../core/api';
import { Clock, countdownText } from '../../core/time';
import type { LockDetail, Release } from '../../core/types';
import { Dialog } from '../../shared/dialog';
import { shortId } from '../parts/run_facts';
import { Visible } from '../../shared/visible';

/** What the reason may have, as the API says. */
const reasonMax = 1024;

/** What a release is about: the holder's token, or the newest one of a lock in cooldown. */
function tokenOf(lock: LockDetail): number {
  return lock.held ? lock.fence_token : lock.newest_token;
}

/**
 * Takes a lock from its holder, or ends its cooldown. It is about exactly the token that was shown when it was opened: a later
 * holder is not hit, and it says so when the key passes on meanwhile.
 */
@Component({
  selector: 'pawl-release-dialog',
  imports: [Dialog, Visible],
  changeDetection: ChangeDetectionStrategy.OnPush,
  templateUrl: './release_dialog.html',
})
export class ReleaseDialog {
  readonly open = model.required<boolean>();
  readonly lock = input.required<LockDetail>();
  readonly released = output<Release>();
  /** It turned out that another client had acquired it. */
  readonly moved = output<void>();

  private readonly api = inject(Api);
  private readonly clock = inject(Clock);
  protected readonly reasonMax = reasonMax;
  protected readonly short = shortId;
  protected readonly shown = signal<LockDetail | null>(null);
  protected readonly typed = signal('');
  protected readonly reason = signal('');
  protected readonly now = signal(false);
  protected readonly busy = signal(false);
  protected readonly wrong = signal('');

  protected readonly passed = computed(() => {
    const shown = this.shown();
    if (shown === null) return false;
    const lock = this.lock();
    const over = this.cooling() && this.leftMs() === 0;
    return over || lock.held !== shown.held || tokenOf(lock) !== tokenOf(shown);
  });
  /** It has no holder: what is left is to end its cooldown. */
  protected readonly cooling = computed(() => this.shown()?.held === false);
  protected readonly tokenOf = tokenOf;
  /** A renewal moves the end: what counts is the lease as it is now. */
  private readonly ends = computed(() => {
    const lock = this.lock();
    return untracked(() => this.clock.localNow()) + lock.remaining_ms;
  });
  private readonly leftMs = computed(() => Math.max(0, this.ends() - this.clock.localNow()));
  /** All that is left of the lease, where nothing shorter is known to be enough. */
  protected readonly waitsForRest = computed(() => this.lock().cooldown_ms >= this.lock().remaining_ms);
  protected readonly cooldown = computed(() =>
    countdownText(this.waitsForRest() ? this.leftMs() : Math.min(this.leftMs(), this.lock().cooldown_ms)));
  protected readonly ready = computed(
    () => !this.busy() && !this.passed() && this.typed() === this.shown()?.key && this.reason().trim().length > 0);

  constructor() {
    effect(() => {
      if (!this.open()) return;
      untracked(() => {
        this.shown.set(this.lock());
        this.typed.set('');
        this.reason.set('');
        this.now.set(!this.lock().held);
        this.wrong.set('');
      });
    });
  }

  protected async release(event: Event): Promise<void> {
    event.preventDefault();
    const lock = this.shown();
    if (!lock || !this.ready()) return;
    this.busy.set(true);
    this.wrong.set('');
    try {
      const release = await this.api.releaseLock({
        key: lock.key, fence_token: tokenOf(lock), reason: this.reason().trim(), now: this.now(),
      });
      this.open.set(false);
      this.released.emit(release);
    } catch (failure) {
      this.wrong.set(lineOf(failure));
      if (failure instanceof RequestFailed && failure.status === 409) this.moved.emit();
    } finally {
      this.busy.set(false);
    }
  }
}
