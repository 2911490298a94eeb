import { Component, signal } from '@angular/core';
import { TestBed } from '@angular/core/testing';

import { Cell, Column, DataTable, sorted } from './data_table';

interface Row {
  id: string;
  size: number | null;
}

const columns: Column<Row>[] = [
  { id: 'id', title: 'Id', by: ({ id }) => id },
  { id: 'size', title: 'Size', by: ({ size }) => size, numeric: true },
  { id: 'half', title: 'Half', by: ({ size }) => (size === null ? null : size / 2), wide: true, card: 'none' },
];

@Component({
  imports: [Cell, DataTable],
  template: `
    <pawl-data-table label="Things" [rows]="rows()" [columns]="columns" [keyOf]="keyOf" [tall]="true" [(sort)]="sort">
      <ng-template pawlCell="id" [pawlCellOf]="rows()" let-row><a href="#">{{ row.id }}</a></ng-template>
      <ng-template pawlCell="size" [pawlCellOf]="rows()" let-row>{{ row.size }}</ng-template>
    </pawl-data-table>
  `,
})
class Host {
  readonly rows = signal<Row[]>([]);
  readonly sort = signal('');
  readonly columns = columns;
  readonly keyOf = (row: Row) => row.id;
}

const many = (count: number): Row[] => Array.from({ length: count }, (_one, index) => ({ id: `k${String(index).padStart(5, '0')}`, size: index }));

describe('sorting', () => {
  const rows: Row[] = [{ id: 'b', size: 2 }, { id: 'a', size: null }, { id: 'c', size: 1 }, { id: 'd', size: 2 }];
  const ids = (sort: string) => sorted(rows, columns, sort).map(({ id }) => id).join('');
  it('puts what has no value last, in both directions', () => {
    expect(ids('size')).toBe('cbda');
    expect(ids('-size')).toBe('bdca');
  });
  it('leaves rows as they come for no column, or one that is not known', () => {
    expect(ids('')).toBe('bacd');
    expect(ids('-nothing')).toBe('bacd');
  });
});

describe('a table', () => {
  const make = async (count: number) => {
    const fixture = TestBed.createComponent(Host);
    fixture.componentInstance.rows.set(many(count));
    await fixture.whenStable();
    const root = fixture.nativeElement as HTMLElement;
    return { fixture, host: fixture.componentInstance, root, shown: () => [...root.querySelectorAll('tr[data-index]')] };
  };

  it('of ten thousand rows has a few dozen in the document, and says how many there are', async () => {
    const { root, shown } = await make(10_000);
    expect(shown().length).toBeLessThan(120);
    expect(root.querySelector('table')?.getAttribute('aria-rowcount')).toBe('10001');
    expect(shown()[0].getAttribute('aria-rowindex')).toBe('2');
  });

  it('takes as much room as all its rows would', async () => {
    const { root, shown } = await make(10_000);
    const gaps = [...root.querySelectorAll<HTMLElement>('tr.gap > td')].reduce((sum, gap) => sum + parseFloat(gap.style.height), 0);
    expect(gaps + shown().length * 40).toBe(400_000);
  });

  it('takes as much room as its rows have been seen to have, and what is read stays where it is', async () => {
    const tall = new Set<string>();
    vi.spyOn(Element.prototype, 'getBoundingClientRect').mockImplementation(function (this: Element) {
      return { height: tall.has((this as HTMLElement).dataset['index'] ?? '') ? 100 : 50 } as DOMRect;
    });
    const { fixture, root, host, shown } = await make(1_000);
    const room = () => [...root.querySelectorAll<HTMLElement>('tr.gap > td')].reduce((sum, gap) => sum + parseFloat(gap.style.height), 0) +
      shown().reduce((sum, row) => sum + row.getBoundingClientRect().height, 0);
    expect(room()).toBe(50_000);
    const box = root.querySelector('.table-box') as HTMLElement;
    box.scrollTop = 25_010;
    box.dispatchEvent(new Event('scroll'));
    await fixture.whenStable();
    expect(shown().map((row) => row.getAttribute('data-index'))).toContain('500');
    // One above what is in sight, but in the document, turns out to be higher.
    tall.add('499');
    host.rows.update((rows) => [...rows]);
    await fixture.whenStable();
    expect(room()).toBe(50_050);
    expect(box.scrollTop).toBe(25_060);
    vi.restoreAllMocks();
  });

  it('with little room shows each row as a card, which says its titles and still is a row of a table', async () => {
    vi.spyOn(HTMLElement.prototype, 'offsetWidth', 'get').mockReturnValue(360);
    const { root, shown } = await make(3);
    expect(root.querySelector('table')?.classList).toContain('cards');
    expect(root.querySelector('table')?.getAttribute('role')).toBe('table');
    const cells = [...shown()[0].querySelectorAll('td')];
    expect(cells.map((cell) => cell.dataset['title'])).toEqual(['Id', 'Size']);
    expect([shown()[0], ...cells].map((one) => one.getAttribute('role'))).toEqual(['row', 'cell', 'cell']);
    vi.restoreAllMocks();
  });

  it('leaves out what is for wide screens where there is less room, and is whole where nothing is known', async () => {
    const titles = (root: HTMLElement) => [...root.querySelectorAll('th')].map((head) => head.textContent?.trim());
    expect(titles((await make(1)).root)).toEqual(['Id', 'Size', 'Half']);
    vi.spyOn(HTMLElement.prototype, 'offsetWidth', 'get').mockReturnValue(900);
    expect(titles((await make(1)).root)).toEqual(['Id', 'Size']);
    vi.restoreAllMocks();
  });

  it('sorts by a click on its head, and again the other way', async () => {
    const { fixture, host, root, shown } = await make(5);
    const head = [...root.querySelectorAll<HTMLElement>('button.head')][1];
    head.click();
    head.click();
    await fixture.whenStable();
    expect(host.sort()).toBe('-size');
    expect(root.querySelectorAll('th')[1].getAttribute('aria-sort')).toBe('descending');
    expect(shown()[0].textContent).toContain('k00004');
  });

  it('is one stop for the tab key, walked with the arrows', async () => {
    const { fixture, root, shown } = await make(5);
    document.body.append(root);
    expect(shown().filter((row) => row.getAttribute('tabindex') === '0').length).toBe(1);
    (shown()[0] as HTMLElement).focus();
    document.activeElement?.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true }));
    await fixture.whenStable();
    expect(document.activeElement?.getAttribute('data-index')).toBe('1');
    document.activeElement?.dispatchEvent(new KeyboardEvent('keydown', { key: 'End', bubbles: true }));
    await fixture.whenStable();
    expect(document.activeElement?.getAttribute('data-index')).toBe('4');
    root.remove();
  });

  it('keeps the row with the focus when rows come before it', async () => {
    const { fixture, host, root, shown } = await make(5);
    document.body.append(root);
    const row = shown()[2] as HTMLElement;
    row.focus();
    host.rows.set([{ id: 'k', size: 0 }, ...many(5)]);
    await fixture.whenStable();
    expect(document.activeElement).toBe(row);
    expect(row.getAttribute('data-index')).toBe('3');
    root.remove();
  });
});
