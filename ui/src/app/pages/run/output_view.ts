import { afterNextRender, afterRenderEffect, ChangeDetectionStrategy, Component, computed, DestroyRef, effect, ElementRef, inject, input, signal, untracked, viewChild } from '@angular/core';

import { Api } from '../../core/api';
import { Connection, Live } from '../../core/live';
import { linesMax, plain } from './output_tail';
import { OutputFollower } from './output_follower';

/** So near to the end counts as at the end. */
const endMarginPx = 24;
/** A stream may fail once without anybody hearing of it. */
const failuresHidden = 1;

/** What a run writes, while it writes it. */
@Component({
  selector: 'pawl-output-view',
  changeDetection: ChangeDetectionStrategy.OnPush,
  preserveWhitespaces: true,
  template: `
    <div class="output-bar">
      <label class="check"><input #switch type="checkbox" [checked]="atEnd()" (change)="follow(switch.checked)" /> <span>Auto-scroll</span></label>
      @if (state() !== 'ended') {
        <button type="button" (click)="pause()" [attr.aria-pressed]="paused()">{{ paused() ? 'Resume' : 'Pause' }}</button>
      }
      <span class="faint" role="status">{{ word() }}</span>
      <a class="button" [href]="download()" [attr.download]="'run-' + run() + '.txt'">Download</a>
    </div>
    <div class="output" #box tabindex="0" role="log" aria-live="off" aria-label="Output of the run" (scroll)="scrolled()">
      @if (hidden() > 0) { <div class="gap">{{ hidden().toLocaleString('en') }} earlier lines are not shown; the download has all that is kept</div> }
      @for (line of tail().lines; track line.number) { <div [class.gap]="line.gap">{{ line.text }}</div> }
      @if (open()) { <div>{{ open() }}</div> }
      @if (tail().seen === 0 && !open()) { <div class="faint">{{ state() === 'ended' ? 'No output.' : 'No output yet.' }}</div> }
    </div>
  `,
})
export class OutputView {
  readonly run = input.required<string>();

  private readonly api = inject(Api);
  private readonly box = viewChild.required<ElementRef<HTMLElement>>('box');
  private readonly follower = signal<OutputFollower | null>(null);
  protected readonly atEnd = signal(true);
  protected readonly paused = signal(false);
  protected readonly tail = computed(() => this.follower()?.tail() ?? { lines: [], open: '', seen: 0 });
  protected readonly open = computed(() => plain(this.tail().open));
  protected readonly hidden = computed(() => Math.max(0, this.tail().seen - linesMax));
  protected readonly state = computed(() => this.follower()?.state() ?? 'connecting');
  protected readonly download = computed(() => this.api.outputUrl(this.run()));
  protected readonly word = computed(() => {
    if (this.state() === 'ended') return 'Finished.';
    if (this.paused()) return 'Paused: new output is shown when you resume.';
    if ((this.follower()?.failures() ?? 0) > failuresHidden) return 'Disconnected, retrying.';
    return this.state() === 'following' ? 'Live.' : 'Connecting…';
  });

  constructor() {
    effect((cleanup) => {
      const id = this.run();
      const follower = new OutputFollower((offset) => this.api.outputUrl(id, offset));
      untracked(() => {
        this.follower.set(follower);
        this.paused.set(false);
        this.atEnd.set(true);
      });
      cleanup(() => follower.close());
    });
    const destroyed = inject(DestroyRef);
    destroyed.onDestroy(() => untracked(this.follower)?.close());
    afterNextRender(() => {
      const watch = typeof ResizeObserver === 'undefined' ? null : new ResizeObserver(() => this.sized());
      watch?.observe(this.box().nativeElement);
      destroyed.onDestroy(() => watch?.disconnect());
    });
    // What ended the stream of changes may have ended this one, and not have said so here.
    const live = inject(Live);
    let before: Connection = 'connecting';
    effect(() => {
      const now = live.connection();
      if (now === 'live' && before !== 'live' && before !== 'connecting') untracked(() => this.follower()?.again());
      before = now;
    });
    afterRenderEffect(() => {
      this.tail();
      if (this.atEnd()) this.toEnd();
    });
  }

  protected follow(atEnd: boolean): void {
    this.atEnd.set(atEnd);
    if (atEnd) this.toEnd();
  }

  protected pause(): void {
    this.paused.update((paused) => !paused);
    this.follower()?.pause(this.paused());
  }

  // Who scrolls up wants to read; who scrolls to the end wants to follow. A screen that is turned says neither.
  protected scrolled(): void {
    if (this.sized()) return;
    const box = this.box().nativeElement;
    this.atEnd.set(box.scrollHeight - box.scrollTop - box.clientHeight < endMarginPx);
  }

  private size = '';
  private sized(): boolean {
    const { clientWidth, clientHeight } = this.box().nativeElement;
    const size = `${clientWidth} ${clientHeight}`;
    if (size === this.size) return false;
    this.size = size;
    if (this.atEnd()) this.toEnd();
    return true;
  }

  private toEnd(): void {
    const box = this.box().nativeElement;
    box.scrollTop = box.scrollHeight;
  }
}
