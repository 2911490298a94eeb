import { Component, inject, input } from '@angular/core';
import { TestBed } from '@angular/core/testing';

import { Api, RequestFailed } from './api';
import { Live, Subscription } from './live';
import { Session } from './session';

/** jsdom has no EventSource. This one does what the test says. */
class Stream extends EventTarget {
  static readonly all: Stream[] = [];
  static get newest(): Stream {
    return Stream.all[Stream.all.length - 1];
  }
  static readonly OPEN = 1;
  readyState = 1;
  onerror: ((event: Event) => void) | null = null;
  constructor(readonly url: string) {
    super();
    Stream.all.push(this);
  }
  say(topic: string, data: object): void {
    this.dispatchEvent(new MessageEvent(topic, { data: JSON.stringify(data) }));
  }
  fail(): void {
    this.onerror?.(new Event('error'));
  }
  close(): void {
    this.readyState = 2;
  }
}

let subscription: Subscription;
@Component({ template: '' })
class Page {
  readonly following = inject(Live).follow(subscription);
}

/** What it reads hangs on an input, as on the page of one run. */
@Component({ template: '' })
class OnePage {
  readonly id = input.required<string>();
  readonly read: string[] = [];
  readonly following = inject(Live).follow({ topics: ['locks'], refresh: async () => void this.read.push(this.id()) });
}

describe('live changes', () => {
  const overview = vi.fn();
  let reads = 0;

  beforeEach(() => {
    vi.useFakeTimers();
    vi.stubGlobal('EventSource', Stream);
    Stream.all.length = 0;
    reads = 0;
    overview.mockReset();
    overview.mockResolvedValue({ as_of: '2026-11-22T00:00:00Z', samples: [] });
    subscription = { topics: ['locks'], refresh: async () => (reads++, '2026-11-22T00:00:10.000Z') };
    TestBed.configureTestingModule({
      providers: [
        { provide: Api, useValue: { overview } },
        { provide: Session, useValue: { signedIn: () => true } },
      ],
    });
  });
  afterEach(() => {
    // While its timers can still be taken away: none may reach into the next test.
    TestBed.resetTestingModule();
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  const open = async () => {
    const page = TestBed.createComponent(Page);
    await vi.advanceTimersByTimeAsync(0);
    return page;
  };

  it('ask for the topics that are wanted, and for the overview always', async () => {
    await open();
    expect(Stream.newest.url).toBe('/api/v1/events?topics=locks,overview');
  });

  it('read the list when the stream has begun, so that nothing is missed in between', async () => {
    await open();
    expect(reads).toBe(0);
    Stream.newest.say('hello', { as_of: '2026-11-22T00:00:00Z' });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(reads).toBe(1);
    expect(TestBed.inject(Live).connection()).toBe('live');
  });

  it('are read after inputs are there, also where the stream has begun before the page', async () => {
    await open();
    Stream.newest.say('hello', { as_of: '2026-11-22T00:00:09.000Z' });
    const next = TestBed.createComponent(OnePage);
    next.componentRef.setInput('id', 'a');
    await vi.advanceTimersByTimeAsync(0);
    expect(next.componentInstance.read).toEqual(['a']);
  });

  it('read the list without a stream when none begins', async () => {
    await open();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(reads).toBe(1);
  });

  it('tell what is newer than the list, and nothing older', async () => {
    const told: string[] = [];
    subscription.on = { locks: ({ as_of }) => told.push(as_of) };
    await open();
    Stream.newest.say('hello', {});
    await vi.advanceTimersByTimeAsync(0);
    Stream.newest.say('locks', { as_of: '2026-11-22T00:00:09.999Z', changed: [], gone: [] });
    Stream.newest.say('locks', { as_of: '2026-11-22T00:00:10.001Z', changed: [], gone: [] });
    expect(told).toEqual(['2026-11-22T00:00:10.001Z']);
  });

  it('read the list again where the clock of the node has stepped back, and continue from there', async () => {
    const told: string[] = [];
    let now = '2026-11-22T00:01:00.000Z';
    subscription = { topics: ['locks'], refresh: async () => (reads++, now), on: { locks: ({ as_of }) => told.push(as_of) } };
    await open();
    Stream.newest.say('hello', {});
    await vi.advanceTimersByTimeAsync(0);
    now = '2026-11-22T00:00:31.000Z';
    for (const second of ['30', '30', '31']) Stream.newest.say('locks', { as_of: `2026-11-22T00:00:${second}.000Z`, changed: [], gone: [] });
    await vi.advanceTimersByTimeAsync(2_000);
    expect(reads).toBe(2);
    Stream.newest.say('locks', { as_of: '2026-11-22T00:00:33.000Z', changed: [], gone: [] });
    await vi.advanceTimersByTimeAsync(20_000);
    expect(told).toEqual(['2026-11-22T00:00:33.000Z']);
    expect(reads).toBe(2);
  });

  it('keep what comes while the list is read until it has been', async () => {
    let done: (asOf: string) => void = () => undefined;
    const told: string[] = [];
    subscription = { ...subscription, refresh: () => new Promise((resolve) => (done = resolve)), on: { locks: ({ as_of }) => told.push(as_of) } };
    await open();
    Stream.newest.say('hello', {});
    Stream.newest.say('locks', { as_of: '2026-11-22T00:00:11Z', changed: [], gone: [] });
    expect(told).toEqual([]);
    done('2026-11-22T00:00:10Z');
    await vi.advanceTimersByTimeAsync(0);
    expect(told).toEqual(['2026-11-22T00:00:11Z']);
  });

  it('come back by themselves, and the list is read again', async () => {
    await open();
    Stream.newest.say('hello', {});
    await vi.advanceTimersByTimeAsync(0);
    Stream.newest.fail();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(Stream.all.length).toBe(2);
    Stream.newest.say('hello', {});
    await vi.advanceTimersByTimeAsync(0);
    expect(reads).toBe(2);
  });

  it('read the list again where more has changed at once than is told', async () => {
    await open();
    Stream.newest.say('hello', {});
    await vi.advanceTimersByTimeAsync(0);
    Stream.newest.say('gap', { topic: 'audit' });
    await vi.advanceTimersByTimeAsync(0);
    expect(reads).toBe(1);
    Stream.newest.say('gap', { topic: 'locks' });
    await vi.advanceTimersByTimeAsync(0);
    expect(reads).toBe(2);
  });

  it('say what is degraded until it has recovered, and read the lists again', async () => {
    await open();
    const live = TestBed.inject(Live);
    Stream.newest.say('hello', {});
    await vi.advanceTimersByTimeAsync(0);
    Stream.newest.say('degraded', { what: 'journal', detail: 'the journal does not answer' });
    expect(live.troubles()).toEqual(['the journal does not answer']);
    const before = reads;
    Stream.newest.say('recovered', { what: 'journal' });
    await vi.advanceTimersByTimeAsync(0);
    expect(live.troubles()).toEqual([]);
    expect(reads).toBe(before + 1);
  });

  it('say so when the node has said nothing for three seconds, and take it back with its next word', async () => {
    await open();
    const live = TestBed.inject(Live);
    Stream.newest.say('hello', {});
    for (let second = 0; second < 5; second += 1) {
      await vi.advanceTimersByTimeAsync(1_000);
      Stream.newest.say('heartbeat', {});
      expect(live.quietMs()).toBe(0);
    }
    await vi.advanceTimersByTimeAsync(3_000);
    expect(live.quietMs()).toBe(0);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(live.quietMs()).toBeGreaterThan(3_000);
    expect(live.stale()).toBe(true);
    expect(live.connection()).toBe('live');
    Stream.newest.say('heartbeat', {});
    await vi.advanceTimersByTimeAsync(1_000);
    expect(live.quietMs()).toBe(0);
    expect(live.stale()).toBe(false);
  });

  it('come back when nothing was heard for long, though the connection says nothing', async () => {
    await open();
    Stream.newest.say('hello', {});
    await vi.advanceTimersByTimeAsync(29_000);
    Stream.newest.say('overview', { as_of: '2026-11-22T00:00:29.000Z' });
    await vi.advanceTimersByTimeAsync(29_000);
    expect(Stream.all.length).toBe(1);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(Stream.all[0].readyState).toBe(2);
    expect(Stream.all.length).toBe(2);
  });

  it('read the list again after a while when that failed, until no page looks any more', async () => {
    subscription = { topics: ['locks'], refresh: async () => (reads++, '') };
    const page = await open();
    Stream.newest.say('hello', {});
    await vi.advanceTimersByTimeAsync(5_000);
    expect(reads).toBe(1);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(reads).toBe(2);
    page.destroy();
    await vi.advanceTimersByTimeAsync(20_000);
    expect(reads).toBe(2);
  });

  it('are replaced by reading again and again where the server rejects them', async () => {
    await open();
    for (let attempt = 0; attempt < 4; attempt += 1) {
      Stream.newest.fail();
      await vi.advanceTimersByTimeAsync(4_000);
    }
    const before = reads;
    expect(TestBed.inject(Live).connection()).toBe('polling');
    await vi.advanceTimersByTimeAsync(10_000);
    expect(reads).toBeGreaterThanOrEqual(before + 2);
  });

  it('say offline when nothing answers, and that what is shown may be old', async () => {
    await open();
    Stream.newest.say('hello', {});
    await vi.advanceTimersByTimeAsync(0);
    overview.mockRejectedValue(new RequestFailed(0, 'no answer'));
    Stream.newest.fail();
    await vi.advanceTimersByTimeAsync(100);
    expect(TestBed.inject(Live).connection()).toBe('offline');
    expect(TestBed.inject(Live).stale()).toBe(true);
  });

  it('continue with the topics that are left when a page goes', async () => {
    const page = await open();
    Stream.newest.say('hello', {});
    page.destroy();
    await vi.advanceTimersByTimeAsync(0);
    expect(Stream.newest.url).toBe('/api/v1/events?topics=overview');
    expect(Stream.all[0].readyState).toBe(2);
  });
});
