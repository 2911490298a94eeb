import { computed, DestroyRef, inject, Injectable, signal } from '@angular/core';

import { Api, lineOf, RequestFailed } from './api';
import { Session } from './session';
import { Clock } from './time';
import type { AuditEntry, Job, Lock, Node, Overview, Run, Sample } from './types';

export type Topic = 'locks' | 'runs' | 'jobs' | 'nodes' | 'audit' | 'overview';
/** An overview as it comes live: its newest sample alone. */
export type OverviewEvent = Omit<Overview, 'samples'> & { sample: Sample | null };

/** What comes of each topic. */
export interface Events {
  locks: { as_of: string; changed: Lock[]; gone: string[] };
  runs: { as_of: string; changed: Run[] };
  jobs: { as_of: string; changed: Job[]; gone: string[] };
  nodes: { as_of: string; nodes: Node[] };
  audit: { as_of: string; entries: AuditEntry[] };
  overview: OverviewEvent;
}

/** What a page wants to be told. */
export interface Subscription {
  topics: Topic[];
  /**
   * Reads everything anew and answers with its as_of: first, whenever the stream began again and may have missed
   * something, and again and again while there is no stream. Must not throw: the page shows its failure, and answers
   * with an empty text, so that it is read again after a while.
   */
  refresh: () => Promise<string | void>;
  /** What changed since. Called after `refresh`, never with something older than what it read. */
  on?: { [T in Topic]?: (event: Events[T]) => void };
}

/** connecting: at first. live: changes come by themselves. polling: the server rejects events. offline: no answer. */
export type Connection = 'connecting' | 'live' | 'polling' | 'offline';

/** How long a page waits for the stream before it reads its list without it. */
const streamTimeoutMs = 800;
const backoffFirstMs = 500;
const backoffMaxMs = 15_000;
const pollEveryMs = 5_000;
/** The stream has a heartbeat every second. After so long without any word its node may be frozen, which is shown. */
const quietMaxMs = 3_000;
/** A stream over which nothing came for so long is taken for dead. */
const silenceMaxMs = 30_000;
/** What could not be read is read again after so long. */
const rereadAfterMs = 10_000;
/** Where a change is older than the list, the list is read again after so long. */
const rereadOlderMs = 1_000;
/** Changes that come while a list is read; beyond it the list is read again. */
const queueMax = 1_000;

class Follower {
  private busy = false;
  private again = false;
  private queue: (() => void)[] = [];
  private readAt = '';
  private timer: ReturnType<typeof setTimeout> | undefined;

  /** It has been read once, or is being read. */
  begun = false;

  constructor(readonly subscription: Subscription) {}

  async refresh(): Promise<void> {
    this.begun = true;
    if (this.busy) {
      this.again = true;
      return;
    }
    this.busy = true;
    clearTimeout(this.timer);
    this.timer = undefined;
    let asOf: string | void;
    try {
      do {
        this.again = false;
        this.queue = [];
        asOf = await this.subscription.refresh();
        this.readAt = asOf ?? '';
        if (this.queue.length > queueMax) this.again = true;
      } while (this.again);
    } finally {
      this.busy = false;
    }
    this.queue.splice(0).forEach((apply) => apply());
    if (asOf === '') this.refreshLater(rereadAfterMs);
  }

  private refreshLater(ms: number): void {
    if (!this.over) this.timer ??= setTimeout(() => void this.refresh(), ms);
  }

  /** No view looks any more. */
  end(): void {
    this.over = true;
    clearTimeout(this.timer);
  }
  private over = false;

  take<T extends Topic>(topic: T, event: Events[T]): void {
    const apply = () => {
      if (event.as_of >= this.readAt) this.subscription.on?.[topic]?.(event);
      // It was on its way while the list was read; or the node's clock has stepped back, and it is told once only.
      else this.refreshLater(rereadOlderMs);
    };
    if (this.busy) this.queue.push(apply);
    else apply();
  }
}

/**
 * Live changes: one stream of events for the whole page, over the topics that a view wants now. When the stream is
 * lost it comes back by itself; where the server rejects it, lists are read again and again instead.
 */
@Injectable({ providedIn: 'root' })
export class Live {
  private readonly api = inject(Api);
  private readonly session = inject(Session);
  private readonly clock = inject(Clock);

  private readonly followers = new Set<Follower>();
  private source: EventSource | null = null;
  private sourceTopics = '';
  private failures = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private silence: ReturnType<typeof setTimeout> | undefined;
  private poller: ReturnType<typeof setInterval> | undefined;
  private settling = false;

  private readonly connection_ = signal<Connection>('connecting');
  private readonly heardAt_ = signal(0);
  private readonly troubles_ = signal<Readonly<Record<string, string>>>({});
  private readonly overview_ = signal<OverviewEvent | null>(null);

  readonly connection = this.connection_.asReadonly();
  /** What this node says about itself: its name, its version, its store. */
  readonly overview = this.overview_.asReadonly();
  /** What does not answer the server now, as lines: the store, the journal. */
  readonly troubles = computed(() => Object.values(this.troubles_()));
  /** When anything was heard last, by this browser's clock; 0: never. */
  readonly heardAt = this.heardAt_.asReadonly();
  /** For how long the stream has said nothing, its heartbeat included; 0 while it does, or where there is none. */
  readonly quietMs = computed(() => {
    const heard = this.heardAt_();
    const quiet = this.connection_() === 'live' && heard > 0 ? this.clock.localNow() - heard : 0;
    return quiet > quietMaxMs ? quiet : 0;
  });
  /** What is shown may have changed meanwhile. */
  readonly stale = computed(() => {
    const heard = this.heardAt_();
    if (heard === 0) return false;
    return this.connection_() === 'offline' || this.quietMs() > 0 || this.clock.localNow() - heard > silenceMaxMs;
  });

  constructor() {
    addEventListener('online', () => this.retry());
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden && this.connection_() !== 'live') this.retry();
    });
  }

  /** Until the component that calls it is destroyed. Call it in a constructor or a field. */
  follow(subscription: Subscription): { refresh: () => Promise<void> } {
    const follower = new Follower(subscription);
    const fresh = !this.covers(subscription.topics);
    this.followers.add(follower);
    inject(DestroyRef).onDestroy(() => {
      this.followers.delete(follower);
      follower.end();
      this.settle();
    });
    this.settle();
    if (!fresh) {
      // After the constructor that called it: what is read may hang on inputs, which a component is given only then.
      queueMicrotask(() => {
        if (this.followers.has(follower)) void follower.refresh();
      });
    } else {
      // The stream's hello has it read: then nothing is missed in between.
      setTimeout(() => {
        if (this.followers.has(follower) && !follower.begun) void follower.refresh();
      }, streamTimeoutMs);
    }
    return { refresh: () => follower.refresh() };
  }

  /** Now rather than when its time comes. */
  retry(): void {
    if (!this.session.signedIn()) return;
    this.failures = 0;
    this.connect();
  }

  /** No user is signed in any more. */
  stop(): void {
    this.close();
    clearInterval(this.poller);
    this.poller = undefined;
    this.connection_.set('connecting');
    this.overview_.set(null);
    this.troubles_.set({});
    this.heardAt_.set(0);
  }

  private topics(): Topic[] {
    const wanted = new Set<Topic>(['overview']);
    for (const { subscription } of this.followers) subscription.topics.forEach((topic) => wanted.add(topic));
    return [...wanted].sort();
  }

  private covers(topics: Topic[]): boolean {
    const now = this.sourceTopics.split(',');
    return this.connection_() === 'live' && topics.every((topic) => now.includes(topic));
  }

  // A change of page takes one follower away and brings another: they are one change of the stream.
  private settle(): void {
    if (this.settling) return;
    this.settling = true;
    setTimeout(() => {
      this.settling = false;
      if (this.session.signedIn() && this.topics().join() !== this.sourceTopics) this.connect();
    });
  }

  private connect(): void {
    this.close();
    this.sourceTopics = this.topics().join();
    const source = new EventSource(`/api/v1/events?topics=${this.sourceTopics}`);
    this.source = source;
    this.listen();
    source.onerror = () => void this.lost(source);
    source.addEventListener('heartbeat', (message) => this.read(message as MessageEvent<string>));
    source.addEventListener('hello', (message) => this.greeted(message as MessageEvent<string>));
    for (const topic of ['locks', 'runs', 'jobs', 'nodes', 'audit', 'overview'] as const) {
      source.addEventListener(topic, (message) => this.told(topic, message as MessageEvent<string>));
    }
    source.addEventListener('degraded', (message) => {
      const { what, detail } = this.read<{ what: string; detail: string }>(message as MessageEvent<string>);
      this.troubles_.update((all) => ({ ...all, [what]: detail }));
    });
    // More has changed at once than is told.
    source.addEventListener('gap', (message) => {
      const { topic } = this.read<{ topic: Topic }>(message as MessageEvent<string>);
      for (const follower of this.followers) {
        if (follower.subscription.topics.includes(topic)) void follower.refresh();
      }
    });
    source.addEventListener('recovered', (message) => {
      const { what } = this.read<{ what: string }>(message as MessageEvent<string>);
      this.troubles_.update(({ [what]: _over, ...others }) => others);
      this.refreshAll();
    });
  }

  // A connection that died without a word, such as over a night's sleep, would be waited for without end.
  private listen(): void {
    clearTimeout(this.silence);
    const source = this.source;
    if (source) this.silence = setTimeout(() => void this.lost(source), silenceMaxMs);
  }

  private close(): void {
    clearTimeout(this.timer);
    clearTimeout(this.silence);
    this.source?.close();
    this.source = null;
    this.sourceTopics = '';
  }

  private read<T>(message: MessageEvent<string>): T {
    const event = JSON.parse(message.data) as T & { as_of?: string };
    this.heardAt_.set(Date.now());
    this.listen();
    if (event.as_of) this.clock.heard(event.as_of);
    return event;
  }

  private greeted(message: MessageEvent<string>): void {
    this.read(message);
    this.failures = 0;
    clearInterval(this.poller);
    this.poller = undefined;
    this.troubles_.set({});
    this.connection_.set('live');
    this.refreshAll();
  }

  private told<T extends Topic>(topic: T, message: MessageEvent<string>): void {
    const event = this.read<Events[T]>(message);
    if (topic === 'overview') this.overview_.set(event as OverviewEvent);
    for (const follower of this.followers) {
      if (follower.subscription.topics.includes(topic)) follower.take(topic, event);
    }
  }

  private refreshAll(): void {
    for (const follower of this.followers) void follower.refresh();
  }

  // EventSource does not say why. Asking for the overview does, and tells a rejected stream from a server that is gone.
  private async lost(source: EventSource): Promise<void> {
    if (source !== this.source) return;
    this.source.close();
    clearTimeout(this.silence);
    this.failures += 1;
    const pause = Math.min(backoffMaxMs, backoffFirstMs * 2 ** (this.failures - 1));
    this.timer = setTimeout(() => this.connect(), pause * (0.75 + Math.random() / 2));
    const answered = await this.poll();
    if (source !== this.source) return;
    // The first failure may be a restart or a proxy's time-out, which the next attempt heals.
    if (answered && this.failures < 3) return;
    if (!this.poller) {
      this.poller = setInterval(() => void this.pollAll(), pollEveryMs);
      if (answered) this.refreshAll();
    }
  }

  private async pollAll(): Promise<void> {
    if (document.hidden) return;
    if (await this.poll()) this.refreshAll();
  }

  private async poll(): Promise<boolean> {
    try {
      const { samples, ...overview } = await this.api.overview();
      if (this.connection_() !== 'live' || this.source?.readyState !== EventSource.OPEN) {
        this.connection_.set('polling');
      }
      this.overview_.set({ ...overview, sample: samples.at(-1) ?? null });
      this.heardAt_.set(Date.now());
      this.clock.heard(overview.as_of);
      this.troubles_.update(({ api: _over, ...others }) => others);
      return true;
    } catch (failure) {
      const rejected = failure instanceof RequestFailed && !failure.unreachable;
      if (rejected) this.troubles_.update((all) => ({ ...all, api: lineOf(failure) }));
      else this.connection_.set('offline');
      return rejected;
    }
  }
}
