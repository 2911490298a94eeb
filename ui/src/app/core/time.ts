import { computed, Injectable, signal } from '@angular/core';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** 850 ms, 12 s, 4 min 5 s, 2 h 10 min, 3 d 4 h: two units at most. */
export function durationText(ms: number): string {
  if (!Number.isFinite(ms)) return '–';
  if (ms < 0) return `−${durationText(-ms)}`;
  if (ms < second) return `${Math.round(ms)} ms`;
  if (ms < 10 * second) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  if (ms < minute) return `${Math.floor(ms / second)} s`;
  const two = (big: number, bigName: string, small: number, smallName: string) => {
    const rest = Math.floor((ms % big) / small);
    return `${Math.floor(ms / big)} ${bigName}${rest ? ` ${rest} ${smallName}` : ''}`;
  };
  if (ms < hour) return two(minute, 'min', second, 's');
  if (ms < day) return two(hour, 'h', minute, 'min');
  return two(day, 'd', hour, 'h');
}

/** For time that runs down: whole seconds, rounded up, so that it says 0 s only when it is over. */
export function countdownText(ms: number): string {
  if (ms <= 0) return '0 s';
  return durationText(Math.ceil(ms / second) * second).replace('.0 s', ' s');
}

/** Seconds as a histogram has them. */
export function secondsText(seconds: number): string {
  if (!Number.isFinite(seconds)) return '–';
  if (seconds > 0 && seconds < 0.0095) return `${(seconds * 1000).toFixed(1)} ms`;
  return durationText(seconds * 1000);
}

/** `in 5 min`, `3 s ago`, `now`. */
export function relativeText(atMs: number, nowMs: number): string {
  const away = atMs - nowMs;
  if (Math.abs(away) < second) return 'now';
  const coarse = Math.floor(Math.abs(away) / second) * second;
  const text = durationText(coarse).replace('.0 s', ' s');
  return away > 0 ? `in ${text}` : `${text} ago`;
}

export const viewerZone = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';

const formats = new Map<string, Intl.DateTimeFormat>();
function format(zone: string, shape: 'time' | 'full'): Intl.DateTimeFormat {
  const key = `${zone} ${shape}`;
  let found = formats.get(key);
  if (!found) {
    const clock = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23', timeZone: zone } as const;
    const date = { year: 'numeric', month: '2-digit', day: '2-digit' } as const;
    const options = shape === 'time' ? clock : { ...clock, ...date };
    try {
      found = new Intl.DateTimeFormat('en-CA', options);
    } catch {
      // A zone that this browser does not know.
      found = new Intl.DateTimeFormat('en-CA', { ...options, timeZone: 'UTC' });
    }
    formats.set(key, found);
  }
  return found;
}

function pieces(at: Date, zone: string): Record<string, string> {
  return Object.fromEntries(format(zone, 'full').formatToParts(at).map(({ type, value }) => [type, value]));
}

export function zoneKnown(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en-CA', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}

/** 2026-11-22 14:03:05, in the zone. */
export function absoluteText(at: string | number | Date, zone = viewerZone): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return '–';
  const part = pieces(date, zone);
  return `${part['year']}-${part['month']}-${part['day']} ${part['hour']}:${part['minute']}:${part['second']}`;
}

/** 14:03:05, in the zone. */
export function clockText(at: string | number | Date, zone = viewerZone): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? '–' : format(zone, 'time').format(date);
}

/** Only the time when it is of the same day as `now`, else with its date. */
export function momentText(at: string | number | Date, nowMs: number, zone = viewerZone): string {
  const text = absoluteText(at, zone);
  return text.slice(0, 10) === absoluteText(nowMs, zone).slice(0, 10) ? text.slice(11) : text;
}

/** A line of the server, its times as they are told everywhere else on the page. */
export function lineText(line: string, nowMs: number, zone = viewerZone): string {
  return line.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)/g, (at) =>
    Number.isNaN(Date.parse(at)) ? at : momentText(at, nowMs, zone));
}

/** The zone's name with its offset at that moment: Europe/Paris (UTC+1). */
export function zoneText(zone: string, at: string | number | Date = Date.now()): string {
  if (!zoneKnown(zone)) return `${zone} (shown in UTC)`;
  const parts = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'shortOffset' }).formatToParts(new Date(at));
  const offset = (parts.find(({ type }) => type === 'timeZoneName')?.value ?? 'UTC').replace('GMT', 'UTC').replace(/\+0$/, '');
  return zone === offset ? zone : `${zone} (${offset})`;
}

/**
 * The server's wall clock as far as this browser can tell, once a second. One timer for the whole page, which stands
 * still while the page is hidden.
 */
@Injectable({ providedIn: 'root' })
export class Clock {
  private readonly local = signal(Date.now());
  private readonly offset = signal(0);
  private timer: ReturnType<typeof setInterval> | undefined;
  private known = false;
  /** What was heard last, where it has to be heard again before it is believed. */
  private doubted: number | null = null;

  /** Unix milliseconds. */
  readonly now = computed(() => this.local() + this.offset());
  /** This browser's own, for how long ago something arrived here. */
  readonly localNow = this.local.asReadonly();

  constructor() {
    document.addEventListener('visibilitychange', () => this.wake());
    this.wake();
  }

  /**
   * The server has just said what time it is. Half a second is within what the way here may take. What was long on its
   * way, such as over a night's sleep, says less than the time is: only when the next says the same it is believed.
   */
  heard(asOf: string): void {
    const apart = new Date(asOf).getTime() - Date.now();
    if (!Number.isFinite(apart)) return;
    if (this.known && this.doubted === null && apart < this.offset() - 500) {
      this.doubted = apart;
      return;
    }
    const best = Math.max(apart, this.doubted ?? apart);
    this.doubted = null;
    this.known = true;
    if (Math.abs(best - this.offset()) > 500) this.offset.set(best);
  }

  private wake(): void {
    clearInterval(this.timer);
    if (document.hidden) return;
    this.local.set(Date.now());
    this.timer = setInterval(() => this.local.set(Date.now()), second);
  }
}
