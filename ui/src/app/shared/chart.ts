import {
  afterNextRender, ChangeDetectionStrategy, Component, computed, DestroyRef, ElementRef, inject, input, signal, viewChild,
} from '@angular/core';

import { clockText } from '../core/time';

export interface Series {
  name: string;
  /** One for each time; null: unknown. */
  values: readonly (number | null)[];
  /** Which colour and stroke, from 1 to 4. */
  look: 1 | 2 | 3 | 4;
}

/** A round step that gives about so many lines. */
export function ticks(most: number, about = 4): number[] {
  if (!(most > 0)) return [0, 1];
  const rough = most / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? power;
  const list: number[] = [];
  for (let at = 0; at < most + step * 0.999; at += step) list.push(Number(at.toPrecision(6)));
  return list;
}

/** The usual step between neighbours: gaps do not count, however long. 0 for fewer than two. */
export function usualStep(instants: readonly number[]): number {
  const steps = instants.slice(1).map((at, index) => at - instants[index]).sort((a, b) => a - b);
  return steps[Math.floor((steps.length - 1) / 2)] ?? 0;
}

/** Milliseconds from which on nothing between two times was measured. */
export function gapFrom(instants: readonly number[]): number {
  return instants.length < 3 ? Infinity : usualStep(instants) * 2.5;
}

/** The path through points in the order of time: it breaks where a value is unknown, and where none was measured. */
export function lineThrough(points: readonly ({ x: number; y: number; at: number } | null)[], gap: number): string {
  let d = '';
  points.forEach((point, index) => {
    if (!point) return;
    const before = points[index - 1] ?? null;
    const after = points[index + 1] ?? null;
    const joined = before !== null && point.at - before.at <= gap;
    d += `${joined ? 'L' : 'M'}${point.x} ${point.y}`;
    // One alone would not be seen.
    if (!joined && (after === null || after.at - point.at > gap)) d += 'h3';
  });
  return d;
}

const height = 150;
const left = 52;
const right = 8;
const top = 8;
const bottom = 22;

/** Lines over time, with the values under the pointer, and the same as a table for who cannot see them. */
@Component({
  selector: 'pawl-chart',
  changeDetection: ChangeDetectionStrategy.OnPush,
  host: { class: 'chart' },
  template: `
    <figure>
      <figcaption>
        <span class="chart-title">{{ label() }}</span>
        <span class="legend">
          @for (one of series(); track one.name) {
            <span class="legend-entry"><svg viewBox="0 0 22 8" aria-hidden="true" focusable="false"><path
              [attr.class]="'line look-' + one.look" d="M0 4h22" /></svg>{{ one.name }}
              <b>{{ valueAt(one) }}</b></span>
          }
          <span class="chart-at">{{ at() === null ? 'latest' : clock(times()[at()!]) }}</span>
        </span>
      </figcaption>
      <svg #canvas [attr.viewBox]="'0 0 ' + width() + ' ' + height" [attr.height]="height" role="img" [attr.aria-label]="summary()">
        @for (tick of scale(); track tick) {
          <line class="grid" [attr.x1]="left" [attr.x2]="width() - right" [attr.y1]="y(tick)" [attr.y2]="y(tick)" />
          <text class="tick" [attr.x]="left - 6" [attr.y]="y(tick) + 4" text-anchor="end">{{ format()(tick) }}</text>
        }
        @for (mark of marks(); track mark.x) {
          <text class="tick" [attr.x]="mark.x" [attr.y]="height - 6" text-anchor="middle">{{ clock(mark.at) }}</text>
        }
        @for (path of paths(); track path.name) {
          <path [attr.class]="'line look-' + path.look" [attr.d]="path.d" />
        }
        @if (at() !== null) { <line class="cursor" [attr.x1]="x(at()!)" [attr.x2]="x(at()!)" [attr.y1]="top" [attr.y2]="height - bottom" /> }
      </svg>
      <details class="chart-table" (toggle)="opened.set($any($event.target).open)">
        <summary>Show data<span class="unseen"> of {{ label() }}</span></summary>
        @if (opened()) {<div class="table-box" tabindex="0" role="region" [attr.aria-label]="label() + ', data'">
          <table>
            <thead><tr><th scope="col">Time</th>@for (one of series(); track one.name) { <th scope="col" class="numeric">{{ one.name }}</th> }</tr></thead>
            <tbody>
              @for (row of rows(); track row) {
                <tr><th scope="row">{{ clock(times()[row]) }}</th>@for (one of series(); track one.name) { <td class="numeric">{{ shown(one.values[row]) }}</td> }</tr>
              }
            </tbody>
          </table>
        </div>}
      </details>
    </figure>
  `,
})
export class Chart {
  readonly label = input.required<string>();
  /** RFC 3339, the oldest first. */
  readonly times = input.required<readonly string[]>();
  readonly series = input.required<readonly Series[]>();
  readonly format = input<(value: number) => string>(String);
  /** How much time the chart is wide, up to the latest; 0: what there is. */
  readonly windowMs = input(0);

  private readonly canvas = viewChild.required<ElementRef<SVGSVGElement>>('canvas');
  protected readonly height = height;
  protected readonly left = left;
  protected readonly right = right;
  protected readonly top = top;
  protected readonly bottom = bottom;
  protected readonly width = signal(480);
  protected readonly at = signal<number | null>(null);
  protected readonly opened = signal(false);
  protected readonly clock = (at: string | undefined) => clockText(at ?? '');

  protected readonly scale = computed(() => {
    const values = this.series().flatMap(({ values }) => values.filter((one): one is number => one !== null));
    return ticks(values.reduce((most, one) => Math.max(most, one), 0));
  });
  private readonly instants = computed(() => this.times().map((at) => new Date(at).getTime()));
  private readonly domain = computed(() => {
    const instants = this.instants();
    const end = instants.at(-1) ?? 0;
    return { start: this.windowMs() > 0 ? end - this.windowMs() : (instants[0] ?? 0), end };
  });
  protected readonly marks = computed(() => {
    if (this.times().length === 0) return [];
    const { start, end } = this.domain();
    if (start >= end) return [{ x: this.place(end), at: this.times().at(-1) }];
    const count = Math.max(2, Math.floor((this.width() - left) / 110));
    return Array.from({ length: count }, (_one, index) => {
      const at = start + ((index + 0.5) / count) * (end - start);
      return { x: this.place(at), at: new Date(at).toISOString() };
    });
  });
  protected readonly paths = computed(() => this.series().map(({ name, look, values }) => ({ name, look, d: this.path(values) })));
  /** The newest first. */
  protected readonly rows = computed(() => this.times().map((_one, index) => this.times().length - 1 - index));
  protected readonly summary = computed(() => {
    const parts = this.series().map((one) => {
      const values = one.values.filter((value): value is number => value !== null);
      if (values.length === 0) return `${one.name}: nothing yet`;
      const most = values.reduce((a, b) => Math.max(a, b));
      return `${one.name}: latest ${this.shown(values.at(-1))}, highest ${this.shown(most)}`;
    });
    return `${this.label()}. ${parts.join('. ')}.`;
  });

  constructor() {
    const destroyed = inject(DestroyRef);
    afterNextRender(() => {
      const canvas = this.canvas().nativeElement;
      const measure = () => this.width.set(Math.max(240, Math.round(canvas.clientWidth || 480)));
      const watch = typeof ResizeObserver === 'undefined' ? null : new ResizeObserver(measure);
      watch?.observe(canvas);
      const point = (event: PointerEvent) => this.at.set(this.nearest(event.offsetX));
      const leave = () => this.at.set(null);
      canvas.addEventListener('pointermove', point, { passive: true });
      canvas.addEventListener('pointerleave', leave);
      destroyed.onDestroy(() => watch?.disconnect());
      measure();
    });
  }

  protected x(index: number): number {
    return this.place(this.instants()[index]);
  }

  private place(at: number): number {
    const { start, end } = this.domain();
    const share = end > start ? (at - start) / (end - start) : 1;
    return Math.round((left + share * (this.width() - left - right)) * 10) / 10;
  }

  protected y(value: number): number {
    const most = this.scale().at(-1) ?? 1;
    return Math.round((height - bottom - (value / most) * (height - bottom - top)) * 10) / 10;
  }

  protected shown(value: number | null | undefined): string {
    return value === null || value === undefined ? '–' : this.format()(value);
  }

  protected valueAt(one: Series): string {
    return this.shown(this.at() === null ? one.values.at(-1) : one.values[this.at()!]);
  }

  private nearest(x: number): number | null {
    const distances = this.times().map((_one, index) => Math.abs(this.x(index) - x));
    return distances.length === 0 ? null : distances.indexOf(distances.reduce((a, b) => Math.min(a, b)));
  }

  private path(values: readonly (number | null)[]): string {
    const instants = this.instants();
    const points = values.map((value, index) =>
      value === null ? null : { x: this.x(index), y: this.y(value), at: instants[index] });
    return lineThrough(points, gapFrom(instants));
  }
}
