/** More lines than these are not kept on the page; the download has all that the journal keeps. */
export const linesMax = 5_000;
/** A line without an end is broken here, so that a gigabyte without a newline is no single piece of text. */
export const lineLengthMax = 4_000;

/** So long may a line be that waits for the end of a terminal code. */
const unfinishedMax = 4 * lineLengthMax;

/** One line of output, or a mark where bytes were let go of. Numbered from the first that was seen. */
export interface OutputLine {
  readonly number: number;
  readonly gap: boolean;
  readonly text: string;
}

/** The end of a run's output. A value: what has been appended can be taken back by keeping the one before. */
export interface OutputTail {
  readonly lines: readonly OutputLine[];
  /** The last line when nothing has ended it yet. */
  readonly open: string;
  /** How many lines were seen in all. */
  readonly seen: number;
}

export const noOutput: OutputTail = { lines: [], open: '', seen: 0 };

/** Colours and moves of the cursor are for terminals. */
// eslint-disable-next-line no-control-regex
const terminalCodes = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\^_])/g;
// A code whose end has not come yet waits in the open line.
const unfinishedCode = /\u001b(?:\[[0-?]*[ -/]*|\][^\u0007\u001b]*)?$/;

export function withText(tail: OutputTail, text: string): OutputTail {
  const pieces = (tail.open + text).split('\n');
  let open = pieces.pop() ?? '';
  const fresh = pieces.flatMap((piece) => broken(plain(piece)));
  if (open.length > unfinishedMax || (open.length > lineLengthMax && !unfinishedCode.test(open))) {
    const parts = broken(plain(open));
    open = parts.pop() ?? '';
    fresh.push(...parts);
  }
  return bounded(tail, fresh.map((line) => ({ gap: false, text: line })), open);
}

export function withGap(tail: OutputTail, text: string): OutputTail {
  const fresh = tail.open === '' ? [] : [{ gap: false, text: plain(tail.open) }];
  return bounded(tail, [...fresh, { gap: true, text }], '');
}

/** What the open line looks like. */
export function plain(text: string): string {
  const whole = text.replace(terminalCodes, '').replace(unfinishedCode, '');
  const line = whole.endsWith('\r') ? whole.slice(0, -1) : whole;
  // A progress bar writes over its line: what stands there in the end is what counts.
  return line.slice(line.lastIndexOf('\r') + 1);
}

function broken(line: string): string[] {
  const parts: string[] = [];
  for (let from = 0; from < line.length || parts.length === 0; from += lineLengthMax) {
    parts.push(line.slice(from, from + lineLengthMax));
  }
  return parts;
}

function bounded(tail: OutputTail, fresh: { gap: boolean; text: string }[], open: string): OutputTail {
  const numbered = fresh.slice(-linesMax).map((line, place) => ({
    ...line,
    number: tail.seen + fresh.length - Math.min(fresh.length, linesMax) + place,
  }));
  const kept = numbered.length >= linesMax ? [] : tail.lines.slice(-(linesMax - numbered.length));
  return { lines: [...kept, ...numbered], open, seen: tail.seen + fresh.length };
}
