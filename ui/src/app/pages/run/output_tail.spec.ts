import { describe, expect, it } from 'vitest';
import { lineLengthMax, linesMax, noOutput, plain, withGap, withText } from './output_tail';

const texts = (tail: { lines: readonly { text: string }[] }): string[] => tail.lines.map((line) => line.text);

describe('the tail of output', () => {
  it('makes lines of pieces that end anywhere', () => {
    let tail = noOutput;
    for (const piece of ['on', 'e\ntwo\n', '', '\nfo', 'ur']) tail = withText(tail, piece);
    expect(texts(tail)).toEqual(['one', 'two', '']);
    expect(tail.open).toBe('four');
    expect(tail.seen).toBe(3);
  });

  it('keeps the last lines only, and their numbers', () => {
    let tail = withText(noOutput, 'first\n');
    for (let many = 0; many < 3; many++) tail = withText(tail, 'line\n'.repeat(2_000));
    tail = withText(tail, 'last\n');
    expect(tail.lines.length).toBe(linesMax);
    expect(tail.seen).toBe(6_002);
    expect(tail.lines[0].number).toBe(6_002 - linesMax);
    expect(tail.lines[linesMax - 1]).toEqual({ number: 6_001, gap: false, text: 'last' });
  });

  it('keeps the end of one piece that is longer than all it may keep', () => {
    const tail = withText(withText(noOutput, 'old\n'), Array.from({ length: 7_000 }, (_, line) => `${line}\n`).join(''));
    expect(tail.lines.length).toBe(linesMax);
    expect(tail.lines[0]).toEqual({ number: 2_001, gap: false, text: '2000' });
    expect(texts(tail).at(-1)).toBe('6999');
  });

  it('breaks a line that never ends', () => {
    let tail = noOutput;
    for (let many = 0; many < 10; many++) tail = withText(tail, 'x'.repeat(lineLengthMax - 1));
    expect(tail.open.length).toBeLessThanOrEqual(lineLengthMax);
    expect(texts(tail).join('') + tail.open).toBe('x'.repeat(10 * (lineLengthMax - 1)));
  });

  it('breaks a line whose terminal code never ends', () => {
    let tail = noOutput;
    for (let many = 0; many < 100; many++) {
      tail = withText(tail, `\u001b]0;${'x'.repeat(lineLengthMax)}`);
      expect(tail.open.length).toBeLessThanOrEqual(5 * lineLengthMax);
    }
    expect(texts(withText(tail, '\nlast\n')).at(-1)).toBe('last');
  });

  it('ends an open line at a gap and marks it', () => {
    const tail = withText(withGap(withText(noOutput, 'half a li'), '12 bytes are missing'), 'more\n');
    expect(tail.lines.map(({ gap, text }) => [gap, text])).toEqual([
      [false, 'half a li'],
      [true, '12 bytes are missing'],
      [false, 'more'],
    ]);
  });

  it('shows no codes that are for terminals, also when they come in two pieces', () => {
    const tail = withText(withText(noOutput, '\u001b[1;3'), '2mgreen\u001b[0m \u001b]0;title\u0007done\r\n');
    expect(texts(tail)).toEqual(['green done']);
    expect(plain('\u001b[3')).toBe('');
  });

  it('shows what a progress bar says last', () => {
    expect(texts(withText(noOutput, '10 %\r50 %\r100 %\n'))).toEqual(['100 %']);
  });
});
