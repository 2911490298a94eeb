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
  /** Left out on narrow screens. */
  wide?: boolean;
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
 * changes above does not move what is being read, and the row with the focus stays in the document.
 */
@Component({
  selector: 'pawl-data-table',
  imports: [NgTemplateOutlet],
  changeDetection: ChangeDetectionStrategy.OnPush,
  template: `
    <div class="table-box" [class.tall]="tall()" #box [attr.role]="tall() ? 'region' : null"
         [attr.aria-label]="tall() ? label() : null" [attr.tabindex]="rows().length ? null : 0">
      <table [attr.aria-rowcount]="order().length + 1" [attr.aria-busy]="busy() || null" [class.fixed]="tall()">
        <caption class="unseen">{{ label() }}</caption>
        <thead>
          <tr aria-rowindex="1">
            @for (column of columns(); track column.id) {
              <th scope="col" [class]="'column-' + column.id" [class.numeric]="column.numeric" [class.wide]="column.wide"
                  [attr.aria-sort]="sortOf(column)">
                @if (column.by) {
                  <button type="button" class="head" (click)="sortBy(column.id)">{{ column.title }}<span class="arrow"
                    aria-hidden="true">{{ arrowOf(column) }}</span></button>
                } @else { {{ column.title }} }
              </th>
            }
          </tr>
        </thead>
        <tbody (keydown)="walk($event)" (focusin)="entered($event)" (focusout)="left($event)">
          @for (item of items(); track item.id) {
            @if ('gap' in item) {
              <tr class="gap" aria-hidden="true"><td [style.height.px]="item.gap"></td></tr>
            } @else {
              <tr [attr.data-index]="item.index" [attr.aria-rowindex]="item.index + 2"
                  [attr.tabindex]="item.key === stop() ? 0 : -1" [class.chosen]="item.key === chosen()">
                @for (column of columns(); track column.id) {
                  <td [class]="'column-' + column.id" [class.numeric]="column.numeric" [class.wide]="column.wide">
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
  /** Scrolls within itself, with rows of one height: for long lists. */
  readonly tall = input(false);
  readonly busy = input(false);
  readonly chosen = input('');
  readonly rowHeight = input(40);

  private readonly box = viewChild.required<ElementRef<HTMLElement>>('box');
  private readonly cellList = contentChildren<Cell<T>>(Cell);
  protected readonly cells = computed(() => new Map(this.cellList().map((cell) => [cell.pawlCell(), cell.template])));

  protected readonly order = computed(() => sorted(this.rows(), this.columns(), this.sort()));
  /** The first row in sight and how many fit, in steps, so that few scroll events change anything. */
  private readonly sight = signal({ first: 0, count: 40 }, { equal: (a, b) => a.first === b.first && a.count === b.count });
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

  private anchor: { key: string; within: number } | null = null;

  constructor() {
    const destroyed = inject(DestroyRef);
    afterNextRender(() => {
      const box = this.box().nativeElement;
      // Not through the template: a scroll that changes nothing must cost nothing.
      const look = () => this.look();
      box.addEventListener('scroll', look, { passive: true });
      const watch = typeof ResizeObserver === 'undefined' ? null : new ResizeObserver(look);
      watch?.observe(box);
      destroyed.onDestroy(() => {
        box.removeEventListener('scroll', look);
        watch?.disconnect();
      });
      look();
    });
    afterRenderEffect(() => {
      const places = this.places();
      untracked(() => this.hold(places));
    });
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
    const page = Math.max(1, Math.floor(this.box().nativeElement.clientHeight / this.rowHeight()) - 2);
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
    if (this.virtual()) {
      const top = index * this.rowHeight();
      const height = box.clientHeight - this.rowHeight();
      if (top < box.scrollTop) box.scrollTop = top;
      else if (top + this.rowHeight() > box.scrollTop + height) box.scrollTop = top + this.rowHeight() - height;
      this.look();
    }
    const focus = () => box.querySelector<HTMLElement>(`tr[data-index="${index}"]`);
    const there = focus();
    if (there) there.focus({ preventScroll: this.virtual() });
    else requestAnimationFrame(() => focus()?.focus({ preventScroll: true }));
  }

  private look(): void {
    const box = this.box().nativeElement;
    const height = this.rowHeight();
    const first = Math.floor(box.scrollTop / height);
    const row = this.order()[first];
    this.anchor = row === undefined || box.scrollTop === 0 ? null
                                                           : { key: this.keyOf()(row), within: box.scrollTop - first * height };
    const step = 6;
    const count = Math.ceil((box.clientHeight || 800) / height / step) * step + step;
    this.sight.set({ first: Math.floor(first / step) * step, count });
  }

  // Rows that come or go above what is in sight do not move it.
  private hold(places: ReadonlyMap<string, number>): void {
    if (!this.anchor || !this.virtual()) return;
    const index = places.get(this.anchor.key);
    if (index === undefined) return;
    const top = index * this.rowHeight() + this.anchor.within;
    const box = this.box().nativeElement;
    if (Math.abs(box.scrollTop - top) > 1) box.scrollTop = top;
  }

  private window(): Item<T>[] {
    const order = this.order();
    const keyOf = this.keyOf();
    const show = (index: number) => ({ row: order[index], index, key: keyOf(order[index]), id: keyOf(order[index]) });
    if (!this.virtual()) return order.map((_row, index) => show(index));

    const height = this.rowHeight();
    const { first, count } = this.sight();
    const from = Math.max(0, Math.min(first, order.length - 1) - overscan);
    const to = Math.min(order.length, first + count + overscan);
    const held = this.focused() ? this.places().get(this.active()) : undefined;
    const items: Item<T>[] = [];
    const gap = (rows: number, id: string) => {
      if (rows > 0) items.push({ gap: rows * height, id });
    };
    if (held !== undefined && held < from) {
      gap(held, '\u0000a');
      items.push(show(held));
      gap(from - held - 1, '\u0000b');
    } else {
      gap(from, '\u0000a');
    }
    for (let index = from; index < to; index += 1) items.push(show(index));
    if (held !== undefined && held >= to) {
      gap(held - to, '\u0000c');
      items.push(show(held));
      gap(order.length - held - 1, '\u0000d');
    } else {
      gap(order.length - to, '\u0000d');
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
