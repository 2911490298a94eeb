import { TestBed } from '@angular/core/testing';

import { absoluteText, Clock, clockText, countdownText, durationText, lineText, momentText, relativeText, secondsText, zoneText } from './time';

describe('durations', () => {
  it('have two units at most, the larger first', () => {
    expect([0, 850, 1_234, 12_300, 60_000, 245_000, 7_800_000, 90_000_000].map(durationText)).toEqual(
      ['0 ms', '850 ms', '1.2 s', '12 s', '1 min', '4 min 5 s', '2 h 10 min', '1 d 1 h']);
  });
  it('keep their sign, and what is no number is a dash', () => {
    expect(durationText(-12_000)).toBe('−12 s');
    expect(durationText(Number.NaN)).toBe('–');
  });
  it('never say more than has passed', () => {
    expect(durationText(9_999)).toBe('9.9 s');
    expect(durationText(59_999)).toBe('59 s');
  });
  it('of histograms are told in milliseconds while they are short', () => {
    expect([0.0004, 0.009, 0.25, 61].map(secondsText)).toEqual(['0.4 ms', '9.0 ms', '250 ms', '1 min 1 s']);
  });
});

describe('what runs down', () => {
  it('says nothing is left only when nothing is', () => {
    expect([1, 999, 1_001, 29_500, 0, -5].map(countdownText)).toEqual(['1 s', '1 s', '2 s', '30 s', '0 s', '0 s']);
  });
});

describe('points in time', () => {
  const at = '2026-03-29T00:59:59.500Z';
  it('are told in the zone that is asked for, over a change of its clocks', () => {
    expect(absoluteText(at, 'Europe/Paris')).toBe('2026-03-29 01:59:59');
    expect(absoluteText('2026-03-29T01:00:00Z', 'Europe/Paris')).toBe('2026-03-29 03:00:00');
    expect(clockText(at, 'UTC')).toBe('00:59:59');
  });
  it('at midnight begin a day rather than end one', () => {
    expect(absoluteText('2026-11-22T00:00:00Z', 'UTC')).toBe('2026-11-22 00:00:00');
  });
  it('within a line of the server are told in the viewer\'s zone, and what is none is left alone', () => {
    const now = Date.parse('2026-11-22T12:00:00Z');
    expect(lineText('late since 2026-11-22T02:22:00Z: held until 2026-11-23T00:30:00.250Z', now, 'Europe/Paris')).toBe(
      'late since 03:22:00: held until 2026-11-23 01:30:00');
    expect(lineText('since 2026-11-22T14:00:00+05:00', now, 'UTC')).toBe('since 09:00:00');
    expect(lineText('token 1795314106551811 of 2026-99-99T99:99:99Z, exit 3', now, 'UTC')).toBe('token 1795314106551811 of 2026-99-99T99:99:99Z, exit 3');
  });
  it('of today are told without their date', () => {
    const now = Date.parse('2026-11-22T12:00:00Z');
    expect(momentText('2026-11-22T01:02:03Z', now, 'UTC')).toBe('01:02:03');
    expect(momentText('2026-11-21T23:59:59Z', now, 'UTC')).toBe('2026-11-21 23:59:59');
  });
  it('are told by how far away they are', () => {
    expect([500, 5_000, -65_000].map((away) => relativeText(1e12 + away, 1e12))).toEqual(['now', 'in 5 s', '1 min 5 s ago']);
  });
  it('that are none are a dash, and an unknown zone is said to be shown in UTC', () => {
    expect(absoluteText('yesterday')).toBe('–');
    expect(zoneText('Mars/Olympus')).toBe('Mars/Olympus (shown in UTC)');
    expect(absoluteText('2026-11-22T00:00:00Z', 'Mars/Olympus')).toBe('2026-11-22 00:00:00');
    expect(zoneText('Europe/Paris', '2026-07-01T00:00:00Z')).toBe('Europe/Paris (UTC+2)');
    expect([zoneText('UTC'), zoneText('Europe/London', '2026-01-01T00:00:00Z')]).toEqual(['UTC', 'Europe/London (UTC)']);
  });
});

describe('the server\'s clock', () => {
  const at = (ms: number) => new Date(Date.parse('2026-11-22T12:00:00Z') + ms).toISOString();
  let clock: Clock;
  beforeEach(() => {
    vi.useFakeTimers({ now: Date.parse(at(0)) });
    clock = TestBed.inject(Clock);
  });
  afterEach(() => vi.useRealTimers());
  const off = () => clock.now() - clock.localNow();

  it('is told however wrong this browser\'s is, from the first word on', () => {
    clock.heard(at(-3_600_000));
    expect(off()).toBe(-3_600_000);
  });

  it('is not set back by a word that was long on its way', () => {
    clock.heard(at(60_000));
    clock.heard(at(-28_800_000));
    expect(off()).toBe(60_000);
    clock.heard(at(60_200));
    expect(off()).toBe(60_000);
  });

  it('is set back when it was: the next word says the same', () => {
    clock.heard(at(60_000));
    clock.heard(at(-5_000));
    clock.heard(at(-4_900));
    expect(off()).toBe(-4_900);
    clock.heard(at(90_000));
    expect(off()).toBe(90_000);
  });
});
