import { ChangeDetectionStrategy, Component, computed, effect, inject, input, signal, untracked } from '@angular/core';
import { RouterLink } from '@angular/router';

import { Api, lineOf } from '../../core/api';
import { held, Held, stateOf } from '../../core/held';
import { lockLink } from '../../core/links';
import { Live } from '../../core/live';
import { UrlQuery } from '../../core/url_query';
import { NodeDirectory } from '../../core/node_directory';
import { Clock } from '../../core/time';
import type { Lock } from '../../core/types';
import { AsOf } from '../../shared/as_of';
import { Cell, Column, DataTable } from '../../shared/data_table';
import { FilterBox } from '../../shared/filter_box';
import { Moment } from '../../shared/moment';
import { Empty, Failure, Loading } from '../../shared/states';
import { TtlBar } from '../../shared/ttl_bar';
import { Visible } from '../../shared/visible';

/** A page of the API, and how many locks are read at most. */
const pageSize = 1_000;
const locksMax = 20_000;
/** Changes that come in quick succession are shown together. */
const settleMs = 200;

@Component({
  selector: 'pawl-locks-page',
  imports: [RouterLink, AsOf, Cell, DataTable, Empty, Failure, FilterBox, Loading, Moment, TtlBar, Visible],
  providers: [NodeDirectory],
  changeDetection: ChangeDetectionStrategy.OnPush,
  templateUrl: './locks.page.html',
})
export class LocksPage {
  // Of the query string.
  readonly text = input<string>();
  readonly show = input<string>();
  readonly prefix = input<string>();
  readonly sort = input<string>();

  private readonly api = inject(Api);
  private readonly urlQuery = inject(UrlQuery);
  private readonly clock = inject(Clock);
  protected readonly nodes = inject(NodeDirectory);
  protected readonly lockLink = lockLink;

  private readonly all = new Map<string, Held>();
  private settling: ReturnType<typeof setTimeout> | undefined;
  private readonly list = signal<readonly Held[]>([]);
  protected readonly read = signal(false);
  protected readonly more = signal(false);
  protected readonly progress = signal(0);
  protected readonly asOf = signal('');
  protected readonly failure = signal('');

  protected readonly everything = computed(() => this.show() === 'all');
  protected readonly rows = computed(() => {
    const text = (this.text() ?? '').toLowerCase();
    const prefix = this.prefix() ?? '';
    const now = this.everything() ? 0 : this.passing();
    return this.list().filter((lock) => (this.everything() || stateOf(lock, now) !== 'free') && lock.key.startsWith(prefix) &&
      (!text || lock.key.toLowerCase().includes(text) || lock.owner.toLowerCase().includes(text) ||
       this.nodes.nodeOf(lock.owner).toLowerCase().includes(text)));
  });
  /** What has run out is no longer held, even where no event says so: looked at every few seconds. */
  private readonly passing = computed(() => Math.floor(this.clock.localNow() / 5_000) * 5_000);
  protected readonly known = computed(() => this.list().length);

  protected readonly keyOf = (lock: Held) => lock.key;
  protected readonly columns: Column<Held>[] = [
    { id: 'key', title: 'Key', by: (lock) => lock.key, card: 'head' },
    { id: 'owner', title: 'Owner', by: (lock) => lock.owner || null, card: 'line' },
    { id: 'node', title: 'Node', by: (lock) => this.nodes.nodeOf(lock.owner) || null },
    { id: 'acquired', title: 'Acquired', by: (lock) => (lock.held ? lock.acquired_at : null) },
    { id: 'left', title: 'Expires in', by: (lock) => (lock.remaining_ms > 0 ? lock.ends : null) },
    { id: 'token', title: 'Token', by: (lock) => lock.fence_token, numeric: true },
    { id: 'waiters', title: 'Waiters', by: (lock) => lock.waiters, numeric: true },
    { id: 'occurrence', title: 'Last scheduled time', by: (lock) => lock.last_occurrence, wide: true, card: 'none' },
  ];

  private readonly following = inject(Live).follow({
    topics: ['locks'],
    refresh: () => this.readAll(),
    on: { locks: ({ as_of, changed, gone }) => this.work(as_of, changed, gone) },
  });

  constructor() {
    let before: string | undefined;
    effect(() => {
      const prefix = this.prefix() ?? '';
      if (before !== undefined && before !== prefix) untracked(() => void this.following.refresh());
      before = prefix;
    });
  }

  protected set(changes: Record<string, string>): void {
    this.urlQuery.set(changes);
  }

  protected retry(): void {
    void this.following.refresh();
  }

  private async readAll(): Promise<string> {
    const prefix = this.prefix() ?? '';
    const found = new Map<string, Held>();
    let asOf = '';
    try {
      let after = '';
      do {
        const page = await this.api.locks({ prefix, after, limit: pageSize });
        for (const lock of page.locks) found.set(lock.key, held(lock, this.all.get(lock.key)));
        asOf ||= page.as_of;
        after = page.next;
        this.progress.set(found.size);
      } while (after && found.size < locksMax);
      this.more.set(after !== '');
      this.failure.set('');
    } catch (failure) {
      this.failure.set(lineOf(failure));
      return '';
    }
    this.all.clear();
    found.forEach((lock, key) => this.all.set(key, lock));
    this.read.set(true);
    this.asOf.set(asOf);
    this.settle();
    return asOf;
  }

  private work(asOf: string, changed: readonly Lock[], gone: readonly string[]): void {
    const prefix = this.prefix() ?? '';
    for (const lock of changed) {
      if (lock.key.startsWith(prefix)) this.all.set(lock.key, held(lock, this.all.get(lock.key)));
    }
    gone.forEach((key) => this.all.delete(key));
    this.asOf.set(asOf);
    this.settling ??= setTimeout(() => this.settle(), settleMs);
  }

  private settle(): void {
    clearTimeout(this.settling);
    this.settling = undefined;
    const keys = [...this.all.keys()].sort();
    this.list.set(keys.map((key) => this.all.get(key)!));
  }
}
