/**
 * A schedule in words, or null where no short sentence would be exactly right: a wrong sentence is worse than none.
 * It reads what docs/cron.md says. Its sentences have a small grammar, which the test reads back and holds against the
 * occurrences of test_support/cron/cases.json.
 */

/** More values than these make no sentence that anybody reads. */
const LIST_MAX = 7;
const TIMES_MAX = 6;

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const MONTHS = [
  'January', 'February', 'March', 'April', 'May', 'June',
  'July', 'August', 'September', 'October', 'November', 'December',
];
const MACROS: Record<string, string> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
  '@every_minute': '* * * * *',
  '@always': '* * * * *',
  '@every_second': '* * * * * *',
};

interface Bounds {
  readonly first: number;
  readonly last: number;
  readonly names: readonly string[];
}

const SECOND: Bounds = { first: 0, last: 59, names: [] };
const HOUR: Bounds = { first: 0, last: 23, names: [] };
const DAY: Bounds = { first: 1, last: 31, names: [] };
const MONTH: Bounds = { first: 1, last: 12, names: MONTHS };
/** 7 is Sunday too, and is folded into 0 when the values are known. */
const WEEKDAY: Bounds = { first: 0, last: 7, names: DAYS };

export function scheduleInWords(expression: string): string | null {
  const text = expression.trim();
  if (text === '') return null;
  if (/^@every\s/i.test(text)) return interval(text.slice(6).trim());
  const plain = text.startsWith('@') ? MACROS[text.toLowerCase()] : text;
  const fields = plain?.split(/[ \t]+/) ?? [];
  if (fields.length === 5) fields.unshift('0');
  if (fields.length !== 6) return null;
  const when = timeInWords(fields[0], fields[1], fields[2]);
  const days = daysInWords(fields[3], fields[5]);
  const months = monthsInWords(fields[4]);
  if (when === null || days === null || months === null) return null;
  // "from 22:00 to 02:59" reads as one night, and on chosen days would be two halves of different nights.
  if (when.overMidnight && days + months !== '') return null;
  const sentence = when.words + (days === '' && when.pointsOfDay ? ' every day' : days) + months;
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}

function interval(text: string): string | null {
  const parts = [...text.matchAll(/(\d+)(ms|s|m|h|d)/g)];
  if (parts.length === 0 || parts.map((part) => part[0]).join('') !== text) return null;
  const units: Record<string, string> = { ms: 'millisecond', s: 'second', m: 'minute', h: 'hour', d: 'day' };
  const words = parts.map((part) => `${Number(part[1])} ${units[part[2]]}${Number(part[1]) === 1 ? '' : 's'}`);
  return parts.length === 1 && Number(parts[0][1]) === 1 ? `Every ${units[parts[0][2]]}` : `Every ${words.join(' ')}`;
}

interface TimeWords {
  readonly words: string;
  /** "At 06:00" wants "every day" behind it; "every minute" does not. */
  readonly pointsOfDay: boolean;
  readonly overMidnight: boolean;
}

function timeInWords(secondField: string, minuteField: string, hourField: string): TimeWords | null {
  const seconds = values(secondField, SECOND);
  const minutes = values(minuteField, SECOND);
  const hours = values(hourField, HOUR);
  if (seconds === null || minutes === null || hours === null) return null;
  if (seconds.length * minutes.length * hours.length <= TIMES_MAX) {
    return { words: 'at ' + listed(clockTimes(seconds, minutes, hours)), pointsOfDay: true, overMidnight: false };
  }
  const anyHour = hours.length === 24;
  const step = everyNth(hours, 24);
  if (seconds.length === 1 && seconds[0] === 0 && minutes.length === 1 && step !== null && !anyHour) {
    return { words: `every ${step} hours at minute ${minutes[0]}`, pointsOfDay: false, overMidnight: false };
  }
  const within = withinHour(seconds, minutes);
  const when = anyHour ? '' : hoursInWords(hours);
  if (within === null || when === null) return null;
  return { words: within + when, pointsOfDay: false, overMidnight: !anyHour && runsOverMidnight(hours) };
}

function clockTimes(seconds: number[], minutes: number[], hours: number[]): string[] {
  const two = (value: number): string => String(value).padStart(2, '0');
  const whole = seconds.length === 1 && seconds[0] === 0;
  return hours.flatMap((hour) =>
    minutes.flatMap((minute) =>
      seconds.map((second) => `${two(hour)}:${two(minute)}` + (whole ? '' : `:${two(second)}`)),
    ),
  );
}

function withinHour(seconds: number[], minutes: number[]): string | null {
  const everyMinute = minutes.length === 60;
  if (seconds.length === 1 && seconds[0] === 0) {
    if (everyMinute) return 'every minute';
    const step = everyNth(minutes, 60);
    if (step !== null) return `every ${step} minutes`;
    const list = numbers('minute', minutes);
    return list === null ? null : `at ${list} of every hour`;
  }
  const often = secondsInWords(seconds);
  if (often === null) return null;
  if (everyMinute) return often.startsWith('at') ? `${often} of every minute` : often;
  const list = numbers('minute', minutes);
  return list === null ? null : `${often} in ${list} of every hour`;
}

function secondsInWords(seconds: number[]): string | null {
  if (seconds.length === 60) return 'every second';
  const step = everyNth(seconds, 60);
  if (step !== null) return `every ${step} seconds`;
  const list = numbers('second', seconds);
  return list === null ? null : `at ${list}`;
}

function hoursInWords(hours: number[]): string | null {
  const two = (value: number): string => String(value).padStart(2, '0');
  const range = cyclicRange(hours, 0, 23);
  if (range !== null) return ` from ${two(range[0])}:00 to ${two(range[1])}:59`;
  return hours.length <= 12 ? ` in the hours ${listed(hours.map(two))}` : null;
}

function runsOverMidnight(hours: number[]): boolean {
  const range = cyclicRange(hours, 0, 23);
  return range !== null && range[0] > range[1];
}

function monthsInWords(field: string): string | null {
  const months = values(field, MONTH);
  if (months === null) return null;
  if (months.length === 12) return '';
  const range = months.length > 2 ? cyclicRange(months, 1, 12) : null;
  if (range !== null) return ` from ${MONTHS[range[0] - 1]} to ${MONTHS[range[1] - 1]}`;
  return ' in ' + listed(months.map((month) => MONTHS[month - 1]));
}

/** Begins with what parts it from the time; empty: every day. */
function daysInWords(dayField: string, weekdayField: string): string | null {
  const day = dayOfMonthInWords(dayField);
  const weekday = weekdayInWords(weekdayField);
  if (day === null || weekday === null) return null;
  // Vixie's rule: when neither begins with a star either is enough, otherwise a day must fit both.
  const either = ![dayField, weekdayField].some((field) => field.startsWith('*') || field === '?');
  if (either) return day === '' || weekday === '' ? '' : `${day}, and also${weekday.replace(/^,/, '')}`;
  if (day === '' || weekday === '') return day + weekday;
  return `${day}, but only${weekday.replace(/^,/, '')}`;
}

function dayOfMonthInWords(field: string): string | null {
  if (field === '?') return '';
  const text = field.toUpperCase();
  if (/^L(-0)?$/.test(text)) return ' on the last day of the month';
  if (/^L(-0)?W$/.test(text)) return ' on the last weekday of the month';
  const before = /^L-(\d+)$/.exec(text);
  if (before) return ` on the day ${count(Number(before[1]), 'day')} before the last day of the month`;
  const nearest = /^(\d+)W$/.exec(text);
  if (nearest) return ` on the weekday nearest to day ${Number(nearest[1])} of the month`;
  const tail = /^(\d+)-L$/.exec(text);
  if (tail) return ` from day ${Number(tail[1])} to the last day of the month`;
  const days = values(field, DAY);
  if (days === null) return null;
  if (days.length === 31) return '';
  if (days.length === 16 && days.every((day) => day % 2 === 1)) return ' on odd days of the month';
  const list = numbers('day', days);
  return list === null ? null : ` on ${list} of the month`;
}

function weekdayInWords(field: string): string | null {
  if (field === '?') return '';
  const special = /^(\w+)#(-?)([1-5])$/.exec(field) ?? /^(\w+)(L)$/i.exec(field);
  const one = special === null ? null : single(special[1], WEEKDAY);
  if (one !== null && special !== null) {
    const which = special[3] ?? '';
    const name = DAYS[one % 7];
    if (special[2].toUpperCase() === 'L' || which + special[2] === '1-') return ` on the last ${name} of the month`;
    return ` on the ${ordinal(Number(which))}${special[2] === '-' ? '-last' : ''} ${name} of the month`;
  }
  const last = /^L(\w+)$/i.exec(field);
  if (last) return /^L[0-7]$/i.test(field) ? ` on the last ${DAYS[Number(last[1]) % 7]} of the month` : null;
  const days = weekdays(field);
  if (days === null) return null;
  if (days.length === 7) return '';
  const range = days.length > 2 ? cyclicRange(days, 0, 6) : null;
  if (range !== null) return `, ${DAYS[range[0]]} to ${DAYS[range[1]]}`;
  const fromMonday = [...days].sort((left, right) => ((left + 6) % 7) - ((right + 6) % 7));
  return ' on ' + listed(fromMonday.map((day) => DAYS[day]));
}

function weekdays(field: string): number[] | null {
  const found = values(field, WEEKDAY);
  return found === null ? null : sorted(found.map((day) => day % 7));
}

/** The values that a field without L, W and # names, in order. */
function values(field: string, bounds: Bounds): number[] | null {
  const found: number[] = [];
  for (const item of field.split(',')) {
    const more = valuesOfItem(item, bounds);
    if (more === null) return null;
    found.push(...more);
  }
  return sorted(found);
}

function valuesOfItem(item: string, bounds: Bounds): number[] | null {
  const parts = /^([^/-]+)(?:-([^/-]+))?(?:\/(\d+))?$/.exec(item);
  if (parts === null) return null;
  const star = parts[1] === '*';
  // A star in the day of the week ends with Saturday; 7 is only another name of Sunday.
  const last = bounds === WEEKDAY && (star || parts[2] === undefined) ? 6 : bounds.last;
  const from = star ? bounds.first : single(parts[1], bounds);
  const step = parts[3] === undefined ? 1 : Number(parts[3]);
  if (from === null || step < 1 || (star && parts[2] !== undefined)) return null;
  if (!star && parts[2] === undefined && parts[3] === undefined) return [from];
  const to = parts[2] === undefined ? last : single(parts[2], bounds);
  if (to === null) return null;
  return from <= to ? steps(from, to, step) : roundTheEnd(from, to, step, bounds);
}

function roundTheEnd(from: number, to: number, step: number, bounds: Bounds): number[] {
  const top = bounds === WEEKDAY ? 6 : bounds.last;
  const size = top - bounds.first + 1;
  return steps(from, to + size, step).map((value) => bounds.first + ((value - bounds.first) % size));
}

function single(text: string, bounds: Bounds): number | null {
  if (/^\d+$/.test(text)) {
    const value = Number(text);
    return value >= bounds.first && value <= bounds.last ? value : null;
  }
  const name = text.toLowerCase();
  const place = bounds.names.findIndex((one) => one.toLowerCase() === name || one.slice(0, 3).toLowerCase() === name);
  return place < 0 ? null : place + (bounds === MONTH ? 1 : 0);
}

function steps(from: number, to: number, step: number): number[] {
  const found: number[] = [];
  for (let value = from; value <= to; value += step) found.push(value);
  return found;
}

function sorted(found: number[]): number[] {
  return [...new Set(found)].sort((left, right) => left - right);
}

/** n where the values are 0, n, 2n … and n divides the circle, so that "every n" holds over its end too. */
function everyNth(found: number[], size: number): number | null {
  if (found.length < 2 || found.length === size || found[0] !== 0) return null;
  const step = found[1];
  return size % step === 0 && found.length === size / step && found.every((value, place) => value === place * step)
    ? step
    : null;
}

/** First and last where the values are neighbours on a circle. */
function cyclicRange(found: number[], first: number, last: number): [number, number] | null {
  const size = last - first + 1;
  const begins = found.filter((value) => !found.includes(first + ((value - first - 1 + size) % size)));
  if (begins.length !== 1) return null;
  return [begins[0], first + ((begins[0] - first + found.length - 1) % size)];
}

/** "minutes 5 to 8, 19 and 20": neighbours from three on are drawn together. */
function numbers(what: string, found: number[]): string | null {
  const items: string[] = [];
  for (let place = 0; place < found.length; ) {
    let end = place;
    while (end + 1 < found.length && found[end + 1] === found[end] + 1) end++;
    if (end - place >= 2) {
      items.push(`${found[place]} to ${found[end]}`);
      place = end + 1;
    } else {
      items.push(String(found[place++]));
    }
  }
  return items.length > LIST_MAX ? null : `${what}${found.length === 1 ? '' : 's'} ${listed(items)}`;
}

function listed(items: readonly string[]): string {
  return items.length < 2 ? (items[0] ?? '') : `${items.slice(0, -1).join(', ')} and ${items[items.length - 1]}`;
}

function count(many: number, what: string): string {
  return `${many} ${what}${many === 1 ? '' : 's'}`;
}

function ordinal(value: number): string {
  return `${value}${['', 'st', 'nd', 'rd'][value] ?? 'th'}`;
}
