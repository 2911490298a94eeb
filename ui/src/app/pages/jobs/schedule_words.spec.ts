import { describe, expect, it } from 'vitest';
import cases from '../../../../../test_support/cron/cases.json';
import { scheduleInWords } from './schedule_words';

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const MONTHS = [
  'January', 'February', 'March', 'April', 'May', 'June',
  'July', 'August', 'September', 'October', 'November', 'December',
];

// A reader of the sentences, which knows nothing of cron: what a reader who only reads the sentence would expect.

type Clock = (hour: number, minute: number, second: number) => boolean;
type Calendar = (date: Date) => boolean;

const split = (list: string): string[] => list.split(/, | and /);

function among(list: string): Set<number> {
  const found = new Set<number>();
  for (const item of split(list)) {
    const [from, to] = item.split(' to ').map(Number);
    for (let value = from; value <= (to ?? from); value++) found.add(value);
  }
  return found;
}

function circle(names: string[], from: string, to: string): Set<number> {
  const found = new Set<number>();
  for (let place = names.indexOf(from); ; place = (place + 1) % names.length) {
    found.add(place);
    if (names[place] === to) return found;
  }
}

const LIST = String.raw`\d+(?: to \d+)?(?:(?:, | and )\d+(?: to \d+)?)*`;

function readTime(text: string): Clock {
  const points = /^At (\d\d:\d\d.*)$/.exec(text);
  if (points) {
    const times = new Set(split(points[1].replace(' every day', '')).map((one) => (one.length === 5 ? `${one}:00` : one)));
    return (hour, minute, second) =>
      times.has([hour, minute, second].map((value) => String(value).padStart(2, '0')).join(':'));
  }
  const everyHours = /^Every (\d+) hours at minute (\d+)$/.exec(text);
  if (everyHours) {
    return (hour, minute, second) => hour % Number(everyHours[1]) === 0 && minute === Number(everyHours[2]) && second === 0;
  }
  const range = / from (\d\d):00 to (\d\d):59$/.exec(text);
  const chosen = / in the hours ([\d, and]+)$/.exec(text);
  const hours = chosen === null ? null : among(chosen[1]);
  const inHours = (hour: number): boolean => {
    if (hours !== null) return hours.has(hour);
    if (range === null) return true;
    const [from, to] = [Number(range[1]), Number(range[2])];
    return from <= to ? hour >= from && hour <= to : hour >= from || hour <= to;
  };
  const within = readWithin(text.replace(/ from \d\d:00.*$| in the hours.*$/, ''));
  return (hour, minute, second) => inHours(hour) && within(hour, minute, second);
}

function readWithin(text: string): Clock {
  const minutes = new RegExp(`^At minutes? (${LIST}) of every hour$`).exec(text);
  if (minutes) {
    const at = among(minutes[1]);
    return (_, minute, second) => second === 0 && at.has(minute);
  }
  const steps = /^Every (\d+) (minute|second)s/.exec(text) ?? /^Every (minute|second)/.exec(text);
  const inMinutes = new RegExp(` in minutes? (${LIST}) of every hour$`).exec(text);
  const chosen = inMinutes === null ? null : among(inMinutes[1]);
  if (steps) {
    const [step, unit] = steps.length === 3 ? [Number(steps[1]), steps[2]] : [1, steps[1]];
    if (unit === 'minute') return (_, minute, second) => second === 0 && minute % step === 0;
    return (_, minute, second) => second % step === 0 && (chosen === null || chosen.has(minute));
  }
  const seconds = new RegExp(`^At seconds? (${LIST})(?: of every minute| in minutes? ${LIST} of every hour)$`).exec(text);
  if (seconds === null) throw new Error(`cannot read '${text}'`);
  const at = among(seconds[1]);
  return (_, minute, second) => at.has(second) && (chosen === null || chosen.has(minute));
}

const lastOf = (date: Date): number => new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();

function nearestWeekday(date: Date, wanted: number): boolean {
  if (wanted > lastOf(date)) return false;
  const day = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), wanted));
  const weekday = day.getUTCDay();
  if (weekday === 6) day.setUTCDate(wanted === 1 ? 3 : wanted - 1);
  if (weekday === 0) day.setUTCDate(wanted === lastOf(date) ? wanted - 2 : wanted + 1);
  return day.getUTCDate() === date.getUTCDate();
}

function readDays(text: string): Calendar {
  const both = /^(.+), (and also|but only) (.+)$/.exec(text);
  if (both) {
    const [left, right] = [readDays(both[1]), readDays(both[3])];
    return both[2] === 'and also' ? (date) => left(date) || right(date) : (date) => left(date) && right(date);
  }
  if (text === 'on the last day of the month') return (date) => date.getUTCDate() === lastOf(date);
  if (text === 'on odd days of the month') return (date) => date.getUTCDate() % 2 === 1;
  if (text === 'on the last weekday of the month') return (date) => nearestWeekday(date, lastOf(date));
  const before = /^on the day (\d+) days? before the last day of the month$/.exec(text);
  if (before) return (date) => date.getUTCDate() === lastOf(date) - Number(before[1]);
  const nearest = /^on the weekday nearest to day (\d+) of the month$/.exec(text);
  if (nearest) return (date) => nearestWeekday(date, Number(nearest[1]));
  const tail = /^from day (\d+) to the last day of the month$/.exec(text);
  if (tail) return (date) => date.getUTCDate() >= Number(tail[1]);
  const days = new RegExp(`^on days? (${LIST}) of the month$`).exec(text);
  if (days === null) return readWeekdays(text);
  const chosen = among(days[1]);
  return (date) => chosen.has(date.getUTCDate());
}

function readWeekdays(text: string): Calendar {
  const nth = /^on the (last|\d)(?:st|nd|rd|th)?(-last)? (\w+) of the month$/.exec(text);
  if (nth) {
    const which = nth[1] === 'last' ? 1 : Number(nth[1]);
    const fromEnd = nth[1] === 'last' || nth[2] !== undefined;
    return (date) => {
      const place = fromEnd ? lastOf(date) - date.getUTCDate() : date.getUTCDate() - 1;
      return date.getUTCDay() === DAYS.indexOf(nth[3]) && Math.floor(place / 7) + 1 === which;
    };
  }
  const range = /^(\w+) to (\w+)$/.exec(text);
  const chosen = range ? circle(DAYS, range[1], range[2]) : new Set(split(text.replace(/^on /, '')).map((day) => DAYS.indexOf(day)));
  if (chosen.has(-1)) throw new Error(`cannot read '${text}'`);
  return (date) => chosen.has(date.getUTCDay());
}

function readMonths(text: string): Calendar {
  const range = /^from (\w+) to (\w+)$/.exec(text);
  const chosen = range ? circle(MONTHS, range[1], range[2]) : new Set(split(text.replace('in ', '')).map((month) => MONTHS.indexOf(month)));
  return (date) => chosen.has(date.getUTCMonth());
}

function expectation(sentence: string): { day: Calendar; clock: Clock } {
  const month = new RegExp(` (in (?:${MONTHS.join('|')})\\b.*|from (?:${MONTHS.join('|')}) to \\w+)$`).exec(sentence);
  const rest = sentence.slice(0, month?.index ?? sentence.length);
  const days = new RegExp(`,? ((?:on|from) (?:the|day|days|odd|${DAYS.join('|')})\\b.*|(?:${DAYS.join('|')}) to \\w+)$`).exec(rest);
  const inMonth: Calendar = month === null ? () => true : readMonths(month[1]);
  const onDay: Calendar = days === null ? () => true : readDays(days[1]);
  return { day: (date) => inMonth(date) && onDay(date), clock: readTime(rest.slice(0, days?.index ?? rest.length)) };
}

function timesOfDay(clock: Clock): number[] {
  const times: number[] = [];
  for (let second = 0; second < 86_400; second++) {
    if (clock(Math.floor(second / 3600), Math.floor(second / 60) % 60, second % 60)) times.push(second);
  }
  return times;
}

/** The first occurrence that the sentence promises after an instant, at most forty years ahead. */
function occurrenceAfter(day: Calendar, times: number[], from: number): number | null {
  const first = new Date(from);
  first.setUTCHours(0, 0, 0, 0);
  for (let ahead = 0; ahead < 40 * 366; ahead++) {
    const date = new Date(first.getTime() + ahead * 86_400_000);
    if (!day(date)) continue;
    const second = times.find((one) => date.getTime() + one * 1000 > from);
    if (second !== undefined) return date.getTime() + second * 1000;
  }
  return null;
}

// Decided against the case by test_support/cron/exceptions.json.
const CONTRADICTED = new Set(['robfig-v3-0043', 'fugit-2585', 'php-cron-2497', 'cronos-0635']);

describe('schedule words', () => {
  it('say when a schedule fires, as a user who only reads them would expect', () => {
    // In UTC only: elsewhere set clocks move occurrences, which is not the sentence's business.
    const told = cases.filter((one) => one.zone === 'UTC' && !CONTRADICTED.has(one.id) && !/^@every\s/i.test(one.expr));
    let held = 0;
    const silent = new Set<string>();
    for (const one of told) {
      const sentence = scheduleInWords(one.expr);
      if (sentence === null) {
        silent.add(one.expr);
        continue;
      }
      const { day, clock } = expectation(sentence);
      const times = timesOfDay(clock);
      let after = Date.parse(one.from);
      for (const next of one.next) {
        const wanted = Date.parse(next);
        expect(occurrenceAfter(day, times, after), `${one.id}: '${one.expr}' is told as '${sentence}'`).toBe(wanted);
        after = wanted;
        held++;
      }
    }
    expect(held).toBeGreaterThan(500);
    expect([...silent].length, [...silent].join('\n')).toBeLessThan(told.length / 10);
  }, 60_000);

  it('are sentences that people would say', () => {
    const told: Record<string, string> = {
      '0 6 * * *': 'At 06:00 every day',
      '*/15 9-17 * * MON-FRI': 'Every 15 minutes from 09:00 to 17:59, Monday to Friday',
      '0 0 1,15 * *': 'At 00:00 on days 1 and 15 of the month',
      '0 22 L * *': 'At 22:00 on the last day of the month',
      '0 9 LW * *': 'At 09:00 on the last weekday of the month',
      '0 9 * * 1#1': 'At 09:00 on the 1st Monday of the month',
      '0 9 * * FRIL': 'At 09:00 on the last Friday of the month',
      '*/10 * * * * *': 'Every 10 seconds',
      '* * * * *': 'Every minute',
      '30 * * * *': 'At minute 30 of every hour',
      '0 */2 * * *': 'Every 2 hours at minute 0',
      '0 0 13 * 5': 'At 00:00 on day 13 of the month, and also on Friday',
      '0 0 */2 * 5': 'At 00:00 on odd days of the month, but only on Friday',
      '0 3 * 12-2 SAT,SUN': 'At 03:00 on Saturday and Sunday from December to February',
      '@daily': 'At 00:00 every day',
      '@every 90s': 'Every 90 seconds',
      '@every 1h30m': 'Every 1 hour 30 minutes',
      '@every 1m': 'Every minute',
    };
    for (const [expression, sentence] of Object.entries(told)) expect(scheduleInWords(expression)).toBe(sentence);
  });

  it('are missing where a step does not meet the end of its circle evenly', () => {
    expect(scheduleInWords('*/7 * * * *')).toBeNull();
    expect(scheduleInWords('0 0 */3 * *')).toBeNull();
  });

  it('are missing for a night on chosen days, which would be two half nights', () => {
    expect(scheduleInWords('* 22-2 * * *')).toBe('Every minute from 22:00 to 02:59');
    expect(scheduleInWords('* 22-2 * * FRI')).toBeNull();
  });

  it('are missing for what is no schedule', () => {
    for (const text of ['', '   ', '@reboot', '@every', '@every x', '@every 90', '1 2 3', '0 24 * * *', '60 * * * *', '*-5 * * * *', '*/0 * * * *', '5L * * * *']) {
      expect(scheduleInWords(text), text).toBeNull();
    }
  });
});
