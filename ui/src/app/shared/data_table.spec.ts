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
