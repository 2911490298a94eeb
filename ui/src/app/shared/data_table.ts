import { NgTemplateOutlet } from '@angular/common';
import {
  afterNextRender, afterRenderEffect, ChangeDetectionStrategy, Component, computed, contentChildren, DestroyRef,
  Directive, ElementRef, inject, input, model, signal, TemplateRef, untracked, viewChild,
} from '@angular/core';

export interface Column<T> {
  id: string;
  title: string;
  /** Sortable by this; null comes last. */
  by?: (row: T) => string | number | null;
  numeric?: boolean;
  /** Left out where the table has less room than `wideFrom`. */
  wide?: boolean;
  /**
   * Where a row is a card: head stands first, without its title; line has a line for itself; none is left out. The
   * others follow each other with their titles.
   */
  card?: 'head' | 'line' | 'none';
}

/** How a column shows a row: `<ng-template pawlCell="key" [pawlCellOf]="rows()" let-row>`. */
@Directive({ selector: 'ng-template[pawlCell]' })
export class Cell<T> {
  readonly pawlCell = input.required<string>();
  /** Only for the type of `let-row`. */
  readonly pawlCellOf = input<readonly T[]>();
  readonly template = inject<TemplateRef<{ $implicit: T }>>(TemplateRef);

  static ngTemplateContextGuard<T>(_cell: Cell<T>, _context: unknown): _context is { $implicit: T } {
    return true;
  }
}

/** `id` is for tracking: the row's key, or in a long list the place in the document that it was given. */
type Item<T> = { gap: number; id: string } | { row: T; index: number; key: string; id: string };

/** From so many rows on, only those in sight are in the document. */
const virtualFrom = 80;
const overscan = 6;
/** What is in sight changes in steps of so many rows, so that few scroll events change anything. */
const step = 6;

export function sorted<T>(rows: readonly T[], columns: readonly Column<T>[], sort: string): readonly T[] {
  const down = sort.startsWith('-');
  const by = columns.find(({ id }) => id === (down ? sort.slice(1) : sort))?.by;
  if (!by) return rows;
  const keyed = rows.map((row, index) => ({ row, index, key: by(row) }));
  keyed.sort((a, b) => {
    if (a.key === b.key) return a.index - b.index;
    if (a.key === null) return 1;
    if (b.key === null) return -1;
    const order = a.key < b.key ? -1 : 1;
    return down ? -order : order;
  });
  return keyed.map(({ row }) => row);
}

/**
 * A table that sorts by its heads, is walked with the arrow keys, and shows ten thousand rows as quickly as ten. What
 * changes above does not move what is being read, and the row with the focus stays in the document. With little room
 * each row is a card. Roles are said: where rows are not laid out as rows, some browsers take them for none.
 */
@Component({
  selector: 'pawl-data-table',
  imports: [NgTemplateOutlet],
  changeDetection: ChangeDetectionStrategy.OnPush,
  template: `
    <div class="table-box" [class.tall]="tall()" #box [attr.role]="tall() ? 'region' : null"
         [attr.aria-label]="tall() ? label() : null" [attr.tabindex]="rows().length ? null : 0">
      <table role="table" [attr.aria-rowcount]="order().length + 1" [attr.aria-busy]="busy() || null" [class.cards]="cards()"
             [class.even]="tall()" [class.one-line]="oneLine()">
        <caption class="unseen">{{ label() }}</caption>
        <thead role="rowgroup">
          <tr role="row" aria-rowindex="1">
            @for (column of shown(); track column.id) {
              <th role="columnheader" scope="col" [class]="classOf(column)" [class.numeric]="column.numeric" [attr.aria-sort]="sortOf(column)">
                @if (column.by) {
                  <button type="button" class="head" (click)="sortBy(column.id)">{{ column.title }}<span class="arrow"
                    aria-hidden="true">{{ arrowOf(column) }}</span></button>
                } @else { {{ column.title }} }
              </th>
            }
          </tr>
        </thead>
        <tbody role="rowgroup" (keydown)="walk($event)" (focusin)="entered($event)" (focusout)="left($event)">
          @for (item of items(); track item.id) {
            @if ('gap' in item) {
              <tr class="gap" aria-hidden="true"><td [style.height.px]="item.gap"></td></tr>
            } @else {
              <tr role="row" [attr.data-index]="item.index" [attr.aria-rowindex]="item.index + 2"
                  [attr.tabindex]="item.key === stop() ? 0 : -1" [class.chosen]="item.key === chosen()">
                @for (column of shown(); track column.id) {
                  <td role="cell" [class]="classOf(column)" [class.numeric]="column.numeric" [attr.data-title]="column.title">
                    <ng-container [ngTemplateOutlet]="cells().get(column.id) ?? null"
                                  [ngTemplateOutletContext]="{ $implicit: item.row }" />
                  </td>
                }
              </tr>
            }
          }
        </tbody>
      </table>
    </div>
  `,
})
export class DataTable<T> {
  readonly rows = input.required<readonly T[]>();
  readonly columns = input.required<readonly Column<T>[]>();
  readonly keyOf = input.required<(row: T) => string>();
  readonly label = input.required<string>();
  /** The id of a column, with '-' before it for the other direction; empty: as the rows come. */
  readonly sort = model('');
  /** Scrolls within itself: for long lists. */
  readonly tall = input(false);
  /** What is longer than a line is cut off. */
  readonly oneLine = input(false);
  readonly busy = input(false);
  readonly chosen = input('');
  /** In pixels, what a row is taken to have until some have been measured. */
  readonly rowHeight = input(40);
  /** In pixels of the table's own room. */
  readonly cardsBelow = input(480);
  readonly wideFrom = input(1_120);

  private readonly box = viewChild.required<ElementRef<HTMLElement>>('box');
  private readonly cellList = contentChildren<Cell<T>>(Cell);
  protected readonly cells = computed(() => new Map(this.cellList().map((cell) => [cell.pawlCell(), cell.template])));

  /** 0: not known. */
  private readonly width = signal(0);
  protected readonly cards = computed(() => this.width() > 0 && this.width() < this.cardsBelow());
  protected readonly shown = computed(() => {
    const roomy = this.width() === 0 || this.width() >= this.wideFrom();
    return this.columns().filter(({ wide, card }) => (this.cards() ? card !== 'none' : roomy || !wide));
  });

  protected readonly order = computed(() => sorted(this.rows(), this.columns(), this.sort()));
  /** The rows in sight, to the first that is not. */
  private readonly sight = signal({ first: 0, end: 40 }, { equal: (a, b) => a.first === b.first && a.end === b.end });
  /** The row with the focus, or the last that had it. */
  private readonly active = signal('');
  private readonly focused = signal(false);
  private readonly places = computed(() => {
    const keyOf = this.keyOf();
    return new Map(this.order().map((row, index) => [keyOf(row), index]));
  });
  protected readonly stop = computed(() => {
    if (this.places().has(this.active())) return this.active();
    const first = this.order()[this.virtual() ? Math.min(this.sight().first, this.order().length - 1) : 0];
    return first === undefined ? '' : this.keyOf()(first);
  });
  private readonly virtual = computed(() => this.tall() && this.order().length > virtualFrom);
  protected readonly items = computed(() => this.window());

  /** Of rows that were measured and are not as high as is guessed, in pixels. */
  private readonly heights = new Map<string, number>();
  private guess = 0;
  private readonly measured = signal(0);
  /** Where each row begins, in pixels from the first, and where the last ends. */
  private readonly tops = computed(() => {
    this.measured();
    const [order, keyOf, guess] = [this.order(), this.keyOf(), this.guess || this.rowHeight()];
    const tops = new Float64Array(order.length + 1);
    order.forEach((row, index) => (tops[index + 1] = tops[index] + (this.heights.get(keyOf(row)) ?? guess)));
    return tops;
  });

  private anchor: { key: string; within: number } | null = null;

  constructor() {
    const destroyed = inject(DestroyRef);
    afterNextRender(() => {
      const box = this.box().nativeElement;
      // Not through the template: a scroll that changes nothing must cost nothing.
      const look = () => this.look();
      box.addEventListener('scroll', look, { passive: true });
      const watch = typeof ResizeObserver === 'undefined' ? null : new ResizeObserver(() => this.resized());
      watch?.observe(box);
      destroyed.onDestroy(() => {
        box.removeEventListener('scroll', look);
        watch?.disconnect();
      });
      this.resized();
    });
    afterRenderEffect(() => {
      const places = this.places();
      this.items();
      untracked(() => {
        const changed = this.measure();
        // What is read is held first: to look is to take what is in sight now for it.
        this.hold(places);
        if (changed) this.look();
      });
    });
  }

  protected classOf(column: Column<T>): string {
    return `column-${column.id} card-${column.card ?? 'pair'}`;
  }

  protected sortOf(column: Column<T>): string | null {
    if (!column.by) return null;
    if (this.sort() === column.id) return 'ascending';
    return this.sort() === `-${column.id}` ? 'descending' : 'none';
  }

  protected arrowOf(column: Column<T>): string {
    return { ascending: '▲', descending: '▼' }[this.sortOf(column) ?? ''] ?? '';
  }

  protected sortBy(id: string): void {
    this.sort.set(this.sort() === id ? `-${id}` : id);
  }

  /** Shows the row, wherever it is. */
  reveal(key: string): void {
    const index = this.places().get(key);
    if (index !== undefined) this.go(index);
  }

  protected walk(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (event.altKey || event.ctrlKey || event.metaKey || target.matches('input, select, textarea')) return;
    const at = this.places().get(this.active()) ?? 0;
    const last = this.order().length - 1;
    const page = Math.max(1, Math.floor(this.box().nativeElement.clientHeight / (this.guess || this.rowHeight())) - 2);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: last, PageDown: at + page, PageUp: at - page }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      this.go(Math.max(0, Math.min(last, to)));
    } else if (event.key === 'Enter' && target.matches('tr')) {
      event.preventDefault();
      target.querySelector<HTMLElement>('a, button')?.click();
    }
  }

  protected entered(event: FocusEvent): void {
    const index = (event.target as HTMLElement).closest('tr')?.dataset['index'];
    const row = index === undefined ? undefined : this.order()[+index];
    if (row !== undefined) this.active.set(this.keyOf()(row));
    this.focused.set(true);
  }

  protected left(event: FocusEvent): void {
    const next = event.relatedTarget as Node | null;
    if (!next || !this.box().nativeElement.contains(next)) this.focused.set(false);
  }

  private go(index: number): void {
    const row = this.order()[index];
    if (row === undefined) return;
    this.active.set(this.keyOf()(row));
    this.focused.set(true);
    const box = this.box().nativeElement;
    const row_ = () => box.querySelector<HTMLElement>(`tr[data-index="${index}"]`);
    if (this.virtual() && !row_()) {
      const { above, covered } = this.head();
      const [top, end] = [this.tops()[index] + above, this.tops()[index + 1] + above];
      if (top < box.scrollTop) box.scrollTop = top;
      else if (end > box.scrollTop + box.clientHeight - covered) box.scrollTop = end + covered - box.clientHeight;
      this.look();
    }
    // As little as has to be: below the head, which the style tells.
    const focus = () => {
      row_()?.focus({ preventScroll: true });
      row_()?.scrollIntoView?.({ block: 'nearest' });
    };
    if (row_()) focus();
    else requestAnimationFrame(focus);
  }

  /** What the head takes of the room: above the first row when it scrolls away, else of what is in sight. */
  private head(): { above: number; covered: number } {
    const height = this.box().nativeElement.querySelector('thead')?.offsetHeight ?? 0;
    return this.cards() ? { above: height, covered: 0 } : { above: 0, covered: height };
  }

  private resized(): void {
    const width = this.box().nativeElement.offsetWidth;
    if (width !== this.width()) {
      // Other lines are broken elsewhere.
      this.width.set(width);
      this.heights.clear();
      this.guess = 0;
      this.measured.update((times) => times + 1);
    }
    this.look();
  }

  private look(): void {
    const box = this.box().nativeElement;
    const top = Math.max(0, box.scrollTop - this.head().above);
    const first = this.rowAt(top);
    const row = this.order()[first];
    this.anchor = row === undefined || box.scrollTop === 0 ? null : { key: this.keyOf()(row), within: box.scrollTop - this.tops()[first] };
    const end = this.rowAt(top + (box.clientHeight || 800)) + 1;
    this.sight.set({ first: Math.floor(first / step) * step, end: Math.ceil(end / step) * step });
  }

  // The last row that begins at or before so many pixels.
  private rowAt(y: number): number {
    const tops = this.tops();
    let [low, high] = [0, Math.max(0, tops.length - 2)];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (tops[middle] <= y) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  // What is in the document has its height; of the others the first ones that were seen are the measure.
  private measure(): boolean {
    if (!this.virtual()) return false;
    const [order, keyOf] = [this.order(), this.keyOf()];
    const seen = [...this.box().nativeElement.querySelectorAll<HTMLElement>('tr[data-index]')]
      .map((row) => ({ key: keyOf(order[Number(row.dataset['index'])]), height: row.getBoundingClientRect().height }))
      .filter(({ height }) => height > 0);
    if (seen.length === 0) return false;
    let changed = this.guess === 0;
    if (changed) this.guess = seen.reduce((sum, { height }) => sum + height, 0) / seen.length;
    for (const { key, height } of seen) {
      if (Math.abs(height - (this.heights.get(key) ?? this.guess)) <= 0.5) continue;
      this.heights.set(key, height);
      changed = true;
    }
    if (this.heights.size > 2 * order.length) {
      for (const key of this.heights.keys()) if (!this.places().has(key)) this.heights.delete(key);
    }
    if (changed) this.measured.update((times) => times + 1);
    return changed;
  }

  // Rows that come or go above what is in sight, or turn out to be higher, do not move it.
  private hold(places: ReadonlyMap<string, number>): void {
    if (!this.anchor || !this.virtual()) return;
    const index = places.get(this.anchor.key);
    if (index === undefined) return;
    const top = this.tops()[index] + this.anchor.within;
    const box = this.box().nativeElement;
    if (Math.abs(box.scrollTop - top) > 1) box.scrollTop = top;
  }

  private window(): Item<T>[] {
    const order = this.order();
    const keyOf = this.keyOf();
    const show = (index: number) => ({ row: order[index], index, key: keyOf(order[index]), id: keyOf(order[index]) });
    if (!this.virtual()) return order.map((_row, index) => show(index));

    const tops = this.tops();
    const { first, end } = this.sight();
    const from = Math.max(0, Math.min(first, order.length - 1) - overscan);
    const to = Math.min(order.length, end + overscan);
    const held = this.focused() ? this.places().get(this.active()) : undefined;
    const items: Item<T>[] = [];
    const gap = (above: number, below: number, id: string) => {
      if (below > above) items.push({ gap: tops[below] - tops[above], id });
    };
    if (held !== undefined && held < from) {
      gap(0, held, '\u0000a');
      items.push(show(held));
      gap(held + 1, from, '\u0000b');
    } else {
      gap(0, from, '\u0000a');
    }
    for (let index = from; index < to; index += 1) items.push(show(index));
    if (held !== undefined && held >= to) {
      gap(to, held, '\u0000c');
      items.push(show(held));
      gap(held + 1, order.length, '\u0000d');
    } else {
      gap(to, order.length, '\u0000d');
    }
    return this.placed(items);
  }

  // Rows that come into sight take over the elements of those that went: changing what they show is many times cheaper
  // than making new ones. A row that stays keeps its own, and with it the focus.
  private readonly slots = new Map<string, string>();
  private placed(items: Item<T>[]): Item<T>[] {
    const shown = new Set(items.map((item) => ('key' in item ? item.key : '')));
    const free: string[] = [];
    for (const [key, slot] of this.slots) {
      if (shown.has(key)) continue;
      free.push(slot);
      this.slots.delete(key);
    }
    return items.map((item) => {
      if (!('key' in item)) return item;
      let slot = this.slots.get(item.key);
      if (slot === undefined) {
        slot = free.pop() ?? `\u0000${this.slotCount++}`;
        this.slots.set(item.key, slot);
      }
      return { ...item, id: slot };
    });
  }
  private slotCount = 0;
}
