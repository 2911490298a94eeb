import { signal } from '@angular/core';

import { noOutput, OutputTail, withGap, withText } from './output_tail';

const backoffFirstMs = 500;
const backoffMaxMs = 15_000;

/** connecting: at first, or again. following: more comes by itself. ended: the run is over, and this is all. */
export type OutputState = 'connecting' | 'following' | 'ended';

/** What the server sends: text and where it stands among the bytes, or from where on there is any. */
interface Piece {
  readonly offset: number;
  readonly text?: string;
}

/**
 * Follows what a run writes. A lost stream is taken up where it was: with the last piece once more, as only the server
 * knows how many bytes a piece with broken characters was.
 */
export class OutputFollower {
  private readonly tail_ = signal<OutputTail>(noOutput);
  private readonly state_ = signal<OutputState>('connecting');
  private readonly failures_ = signal(0);
  readonly tail = this.tail_.asReadonly();
  readonly state = this.state_.asReadonly();
  /** How often in a row it could not be followed. */
  readonly failures = this.failures_.asReadonly();

  private now: OutputTail = noOutput;
  private beforeLast: OutputTail = noOutput;
  private offset = 0;
  private source: EventSource | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private frame = 0;
  private paused = false;

  constructor(
    private readonly urlFrom: (offset: number) => string,
    private readonly open: (url: string) => EventSource = (url) => new EventSource(url),
  ) {
    this.connect();
  }

  /** What is shown stays; what comes is kept for later, as far as it is kept at all. */
  pause(paused: boolean): void {
    this.paused = paused;
    if (!paused) this.show();
  }

  /** Over a new connection, from where it was: the old one may have died without a word. */
  again(): void {
    if (this.state_() === 'ended' || this.source === null) return;
    this.source.close();
    this.connect();
  }

  close(): void {
    this.source?.close();
    this.source = null;
    clearTimeout(this.timer);
    cancelAnimationFrame(this.frame);
  }

  private connect(): void {
    const source = this.open(this.urlFrom(this.offset));
    this.source = source;
    this.now = this.beforeLast;
    source.onopen = () => this.opened(source);
    source.onerror = () => this.lost(source);
    source.addEventListener('output', (message) => this.output(this.read(message)));
    source.addEventListener('gap', (message) => this.gap(this.read(message)));
    source.addEventListener('end', () => this.end());
  }

  private read(message: Event): Piece {
    return JSON.parse((message as MessageEvent<string>).data) as Piece;
  }

  private opened(source: EventSource): void {
    if (source !== this.source) return;
    this.failures_.set(0);
    this.state_.set('following');
  }

  private output(piece: Piece): void {
    this.beforeLast = this.now;
    this.offset = piece.offset;
    this.now = withText(this.now, piece.text ?? '');
    this.soon();
  }

  private gap(piece: Piece): void {
    this.now = withGap(this.now, `output before byte ${piece.offset.toLocaleString('en')} is no longer kept`);
    this.beforeLast = this.now;
    this.offset = piece.offset;
    this.soon();
  }

  private end(): void {
    this.state_.set('ended');
    this.close();
    this.show();
  }

  private lost(source: EventSource): void {
    if (source !== this.source) return;
    source.close();
    this.source = null;
    this.state_.set('connecting');
    this.failures_.update((count) => count + 1);
    const pause = Math.min(backoffMaxMs, backoffFirstMs * 2 ** (this.failures_() - 1));
    this.timer = setTimeout(() => this.connect(), pause);
  }

  // Once for each frame: a thousand pieces are one change of the page.
  private soon(): void {
    if (this.frame !== 0 || this.paused) return;
    this.frame = requestAnimationFrame(() => this.show());
  }

  private show(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    if (!this.paused) this.tail_.set(this.now);
  }
}
