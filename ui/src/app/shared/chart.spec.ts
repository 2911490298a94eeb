import { ticks } from './chart';

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
