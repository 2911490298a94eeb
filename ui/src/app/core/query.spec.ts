import { Query } from './query';

type List = { as_of: string; all: number[] };

describe('what a page reads', () => {
  const list = (...all: number[]): List => ({ as_of: '2026-11-22T00:00:00Z', all });

  it('is extended by what follows it', async () => {
    const query = new Query<List>(async () => list(3, 2));
    await query.read();
    query.update((value) => ({ ...value, all: [4, ...value.all] }));
    await query.extend(async () => (value) => ({ ...value, all: [...value.all, 1] }));
    expect(query.value()?.all).toEqual([4, 3, 2, 1]);
  });

  it('is not extended by what follows an earlier reading, or another thing', async () => {
    let answer = list(3, 2);
    const query = new Query<List>(async () => answer);
    await query.read();
    const extend = async (meanwhile: () => unknown) =>
      query.extend(async () => (await meanwhile(), (value) => ({ ...value, all: [...value.all, 1] })));
    answer = list(5, 4);
    await extend(() => query.read());
    expect(query.value()?.all).toEqual([5, 4]);
    await extend(() => (query.forget(), query.read()));
    expect(query.value()?.all).toEqual([5, 4]);
  });
});
