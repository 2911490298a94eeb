import { TestBed } from '@angular/core/testing';

import { Chart, gapFrom, lineThrough, ticks } from './chart';

describe('the scale of a chart', () => {
  it('has round steps and reaches above the highest value', () => {
    expect(ticks(10)).toEqual([0, 5, 10]);
    expect(ticks(0.0073)).toEqual([0, 0.002, 0.004, 0.006, 0.008]);
    expect(ticks(97).at(-1)).toBeGreaterThanOrEqual(97);
  });
  it('is there for a chart of nothing', () => {
    expect(ticks(0)).toEqual([0, 1]);
    expect(ticks(Number.NaN)).toEqual([0, 1]);
  });
});

describe('the line of a chart', () => {
  const every5s = (...at: number[]) => at.map((one) => ({ x: one, y: 0, at: one * 1000 }));
  it('takes more than two and a half steps for a gap', () => {
    expect(gapFrom([0, 5, 10, 15, 60, 65])).toBe(12.5);
    expect(gapFrom([0, 5])).toBe(Infinity);
  });
  it('breaks where nothing was measured', () => {
    expect(lineThrough(every5s(0, 5, 10, 60, 65), 12_500)).toBe('M0 0L5 0L10 0M60 0L65 0');
  });
  it('breaks where a value is unknown, and shows one that stands alone', () => {
    const [first, second, third, fourth] = every5s(0, 5, 10, 15);
    expect(lineThrough([first, null, third, fourth], 12_500)).toBe('M0 0h3M10 0L15 0');
    expect(lineThrough([first, second, null], 12_500)).toBe('M0 0L5 0');
  });
});

describe('the axis of a chart', () => {
  const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1, 12, 0, seconds)).toISOString();
  const pathOf = (seconds: number[], windowMs: number) => {
    const made = TestBed.createComponent(Chart);
    made.componentRef.setInput('label', 'Leases');
    made.componentRef.setInput('times', seconds.map(at));
    made.componentRef.setInput('series', [{ name: 'held', values: seconds.map(() => 1), look: 1 }]);
    made.componentRef.setInput('windowMs', windowMs);
    made.detectChanges();
    const path = (made.nativeElement as HTMLElement).querySelector('path[d^=M]:not([d="M0 4h22"])');
    return [...(path?.getAttribute('d') ?? '').matchAll(/[ML]([\d.]+)/g)].map(([, x]) => Number(x));
  };
  it('goes by time: what is measured in a short while does not fill a long window', () => {
    const [first, , last] = pathOf([0, 5, 10], 900_000);
    expect(last - first).toBeLessThan(10);
    expect(last).toBeGreaterThan(200);
  });
  it('keeps distances in time', () => {
    const [a, b, c] = pathOf([0, 5, 15], 0);
    expect((c - b) / (b - a)).toBeCloseTo(2, 1);
  });
});
