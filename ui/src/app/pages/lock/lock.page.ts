import { ChangeDetectionStrategy, Component, computed, effect, inject, input, signal, untracked } from '@angular/core';
import { RouterLink } from '@angular/router';

import { Api, RequestFailed } from '../../core/api';
import { held, Held } from '../../core/held';
import { jobLink } from '../../core/links';
import { Live } from '../../core/live';
import { PageTitle } from '../../core/page_title';
import { Query } from '../../core/query';
import { NodeDirectory } from '../../core/node_directory';
import { Session } from '../../core/session';
import { Clock, countdownText } from '../../core/time';
import type { Lock, LockDetail, Release } from '../../core/types';
import { AsOf } from '../../shared/as_of';
import { CopyButton } from '../../shared/copy_button';
import { Moment } from '../../shared/moment';
import { Empty, Failure, Loading } from '../../shared/states';
import { StatusBadge, toneOfRun, wordOfRun } from '../../shared/status_badge';
import { TtlBar } from '../../shared/ttl_bar';
import { Action } from '../parts/action';
import { ReleaseDialog } from './release_dialog';
import { Visible } from '../../shared/visible';

@Component({
  selector: 'pawl-lock-page',
  imports: [Action, RouterLink, AsOf, CopyButton, Empty, Failure, Loading, Moment, ReleaseDialog, StatusBadge, TtlBar, Visible],
  providers: [NodeDirectory],
  changeDetection: ChangeDetectionStrategy.OnPush,
  templateUrl: './lock.page.html',
})
export class LockPage {
  readonly key = input.required<string>();
  /** Of the query string: `force-release` opens that dialog, once the lock has been read and where it may be done. */
  readonly action = input<string>();

  private readonly api = inject(Api);
  private readonly title = inject(PageTitle);
  private readonly clock = inject(Clock);
  protected readonly session = inject(Session);
  protected readonly nodes = inject(NodeDirectory);
  protected readonly query = new Query(() => this.api.lock(this.key()));
  protected readonly missing = computed(() => {
    const failure = this.query.failure();
    return failure instanceof RequestFailed && failure.status === 404;
  });
  protected readonly asOf = signal('');
  protected readonly timed = signal<Held | null>(null);
  protected readonly state = computed(() => {
    const lock = this.timed();
    if (!lock) return 'free';
    if (lock.held) return 'held';
    return lock.ends > this.clock.localNow() ? 'cooldown' : 'free';
  });
  protected readonly releasing = signal(false);
  protected readonly released = signal<Release | null>(null);
  private wanted = true;
  protected readonly countdownText = countdownText;
  protected readonly jobLink = jobLink;
  protected readonly toneOfRun = toneOfRun;
  protected readonly wordOfRun = wordOfRun;

  private readonly following = inject(Live).follow({
    topics: ['locks', 'runs'],
    refresh: () => this.read(),
    on: {
      locks: ({ as_of, changed, gone }) => {
        const found = changed.find(({ key }) => key === this.key());
        this.asOf.set(as_of);
        if (found) this.changed(found);
        else if (gone.includes(this.key())) void this.read();
      },
      runs: ({ changed }) => {
        const mine = changed.some(({ key, fence_token }) => key === this.key() && fence_token === this.query.value()?.fence_token);
        if (mine) void this.read();
      },
    },
  });

  constructor() {
    let shown = '';
    effect(() => {
      const key = this.key();
      untracked(() => {
        this.title.name(key);
        if (shown && shown !== key) {
          this.query.forget();
          this.asOf.set('');
          this.timed.set(null);
          this.released.set(null);
          void this.following.refresh();
        }
        shown = key;
      });
    });
    effect(() => {
      const value = this.query.value();
      if (value?.held && this.wanted && this.action() === 'force-release' && this.session.may('admin')) {
        this.wanted = false;
        untracked(() => this.releasing.set(true));
      }
      untracked(() => this.timed.set(value ? held(value, this.timed() ?? undefined) : null));
    });
  }

  protected retry(): void {
    void this.following.refresh();
  }

  protected done(release: Release): void {
    this.released.set(release);
    void this.read();
  }

  private async read(): Promise<string> {
    const asOf = await this.query.read();
    if (asOf) this.asOf.set(asOf);
    return asOf;
  }

  // Another holder has another run: that is asked for. A renewal changes nothing but the time.
  private changed(lock: Lock): void {
    const before = this.query.value();
    if (!before || before.fence_token !== lock.fence_token || before.held !== lock.held) void this.read();
    else this.query.update((value) => renewed(value, lock));
  }
}

/** A renewal moves the end of the lease, and with it a cooldown that lasts until then. */
function renewed(before: LockDetail, lock: Lock): LockDetail {
  const cooldown_ms = before.cooldown_ms >= before.remaining_ms ? lock.remaining_ms : before.cooldown_ms;
  return { ...before, ...lock, cooldown_ms };
}
