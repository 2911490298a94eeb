import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { OutputFollower } from './output_follower';

/** The browser's side of a stream, driven by hand: jsdom has none. The server's side is tested end to end. */
class Stream extends EventTarget {
  onopen: (() => void) | null = null;
  onerror: (() => void) | null = null;
  closed = false;
  constructor(readonly url: string) {
    super();
  }
  close(): void {
    this.closed = true;
  }
  say(kind: string, data: object): void {
    this.dispatchEvent(new MessageEvent(kind, { data: JSON.stringify(data) }));
  }
}

describe('following output', () => {
  let streams: Stream[];
  let follower: OutputFollower;
  const texts = (): string[] => follower.tail().lines.map(({ text }) => text);

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'requestAnimationFrame', 'cancelAnimationFrame'] });
    streams = [];
    follower = new OutputFollower(
      (offset) => `/output?offset=${offset}`,
      (url) => {
        streams.push(new Stream(url));
        return streams[streams.length - 1] as unknown as EventSource;
      },
    );
  });
  afterEach(() => {
    follower.close();
    vi.useRealTimers();
  });

  it('shows many pieces at once, in order', () => {
    streams[0].onopen?.();
    for (let line = 0; line < 1_000; line++) streams[0].say('output', { offset: line * 5, text: `${line}\n` });
    expect(texts()).toEqual([]);
    vi.advanceTimersToNextFrame();
    expect(texts().length).toBe(1_000);
    expect(follower.state()).toBe('following');
  });

  it('is resumed over a new connection when told to, and shows nothing twice', () => {
    streams[0].onopen?.();
    streams[0].say('output', { offset: 0, text: 'one\n' });
    follower.again();
    expect(streams.map(({ closed }) => closed)).toEqual([true, false]);
    streams[1].say('output', { offset: 0, text: 'one\n' });
    streams[1].say('end', {});
    expect(texts()).toEqual(['one']);
    follower.again();
    expect(streams.length).toBe(2);
  });

  it('takes a lost stream up where it was, and shows nothing twice', () => {
    streams[0].onopen?.();
    streams[0].say('output', { offset: 0, text: 'one\n' });
    streams[0].say('output', { offset: 4, text: 'tw' });
    streams[0].onerror?.();
    expect(follower.state()).toBe('connecting');
    vi.advanceTimersByTime(500);
    expect(streams.map(({ url }) => url)).toEqual(['/output?offset=0', '/output?offset=4']);
    streams[1].onopen?.();
    streams[1].say('output', { offset: 4, text: 'two\n' });
    vi.advanceTimersToNextFrame();
    expect(texts()).toEqual(['one', 'two']);
    expect(follower.failures()).toBe(0);
  });

  it('waits longer each time, and does not listen to a stream that it has given up', () => {
    streams[0].onerror?.();
    streams[0].onerror?.();
    expect(follower.failures()).toBe(1);
    vi.advanceTimersByTime(500);
    streams[1].onerror?.();
    vi.advanceTimersByTime(999);
    expect(streams.length).toBe(2);
    vi.advanceTimersByTime(1);
    expect(streams.length).toBe(3);
    expect(streams[0].closed).toBe(true);
  });

  it('keeps what comes while it is paused, and shows it afterwards', () => {
    streams[0].say('output', { offset: 0, text: 'before\n' });
    vi.advanceTimersToNextFrame();
    follower.pause(true);
    streams[0].say('output', { offset: 7, text: 'meanwhile\n' });
    vi.advanceTimersByTime(1_000);
    expect(texts()).toEqual(['before']);
    follower.pause(false);
    expect(texts()).toEqual(['before', 'meanwhile']);
  });

  it('marks what is no longer kept', () => {
    streams[0].say('gap', { offset: 4096 });
    streams[0].say('output', { offset: 4096, text: 'late\n' });
    vi.advanceTimersToNextFrame();
    expect(follower.tail().lines.map(({ gap }) => gap)).toEqual([true, false]);
    expect(texts()[0]).toContain('4,096');
  });

  it('ends with the run, with all that it has shown', () => {
    streams[0].say('output', { offset: 0, text: 'last' });
    streams[0].say('end', { status: 'completed' });
    expect(follower.state()).toBe('ended');
    expect(follower.tail().open).toBe('last');
    expect(streams[0].closed).toBe(true);
    vi.advanceTimersByTime(60_000);
    expect(streams.length).toBe(1);
  });
});
