import { ComponentRef, Type } from '@angular/core';
import { TestBed } from '@angular/core/testing';
import { provideRouter } from '@angular/router';
import { describe, expect, it } from 'vitest';
import type { Lock, RunDetail, RunEvent, RunMark } from '../../core/types';
import { RunTimeline } from '../run/run_timeline';
import { Action } from './action';
import { LeaseText } from './lease_text';
import { RunStrip } from './run_strip';
import { ScheduleText } from './schedule_text';

async function shown<T>(what: Type<T>, inputs: Record<string, unknown>): Promise<{ element: HTMLElement; ref: ComponentRef<T> }> {
  TestBed.configureTestingModule({ providers: [provideRouter([])] });
  const made = TestBed.createComponent(what);
  for (const [name, value] of Object.entries(inputs)) made.componentRef.setInput(name, value);
  await made.whenStable();
  return { element: made.nativeElement as HTMLElement, ref: made.componentRef };
}

const wordsOf = (element: Element | null): string => (element?.textContent ?? '').replace(/\s+/g, ' ').trim();
const at = (second: number): string => new Date(Date.UTC(2026, 10, 22, 6, 0, second)).toISOString();

describe('an action that one may not do', () => {
  it('can be reached, says why, and does nothing', async () => {
    const { element, ref } = await shown(Action, { whyNot: 'Only an admin may.' });
    let done = 0;
    ref.instance.act.subscribe(() => (done += 1));
    const button = element.querySelector('button') as HTMLButtonElement;
    expect(button.disabled).toBe(false);
    expect(button.getAttribute('aria-disabled')).toBe('true');
    expect(button.title).toBe('Only an admin may.');
    expect(button.getAttribute('aria-description')).toBe('Only an admin may.');
    button.click();
    expect(done).toBe(0);
    ref.setInput('whyNot', '');
    TestBed.tick();
    button.click();
    expect(done).toBe(1);
  });
});

describe('a strip of runs on the page', () => {
  const mark = (id: string, status: RunMark['status'], second: number): RunMark => ({
    id, status, started_at: at(second), completed_at: at(second + 1), node: 'node-a', attempt: 1,
  });

  it('has the newest at the right, and each cell leads to its run and says how it ended', async () => {
    const { element } = await shown(RunStrip, { runs: [mark('new', 'failed', 20), mark('old', 'completed', 10)] });
    const cells = [...element.querySelectorAll('a')];
    expect(cells.map((cell) => cell.getAttribute('href'))).toEqual(['/runs/old', '/runs/new']);
    expect(cells[1].getAttribute('aria-label')).toMatch(/^Run new: failed, /);
    expect(cells[1].title).toMatch(/^failed, .* on node-a$/);
  });

  it('tells states by shapes, not only by colours', async () => {
    const statuses: RunMark['status'][] = ['completed', 'failed', 'started', 'cancelled', 'abandoned', 'skipped'];
    const { element } = await shown(RunStrip, { runs: statuses.map((status, place) => mark(`${place}`, status, place)) });
    const shapes = [...element.querySelectorAll('svg')].map((svg) => svg.querySelector('path')?.getAttribute('d'));
    expect(new Set(shapes).size).toBe(statuses.length);
  });

  it('says when there is none', async () => {
    const { element } = await shown(RunStrip, { runs: [] });
    expect(wordsOf(element)).toBe('no run yet');
  });
});

describe('a timeline on the page', () => {
  it('is a list that tells hand-overs, tokens and checkpoints without its drawing', async () => {
    const event = (second: number, kind: string, more: Partial<RunEvent> = {}): RunEvent => ({
      at: at(second), kind, text: '', node: 'node-a', fence_token: 7, attempt: 1, ...more,
    });
    const run = {
      status: 'started', completed_at: null,
      history: [event(0, 'begun'), event(5, 'checkpoint', { text: 'page 5' }), event(9, 'resumed', { node: 'node-b', fence_token: 8, attempt: 2 })],
    } as unknown as RunDetail;
    const { element } = await shown(RunTimeline, { run });
    element.querySelectorAll('[aria-hidden]').forEach((drawing) => drawing.remove());
    const items = [...element.querySelectorAll('ol > li')].map(wordsOf);
    expect(items[0]).toContain('Attempt 1 on node-a token 7 taken over 9.0 s');
    expect(items[0]).toContain('checkpoint page 5');
    expect(items[1]).toMatch(/^Taken over from node-a by node-b Attempt 2 on node-b token 8 running/);
  });
});

describe('a schedule on the page', () => {
  it('has words and the expression, or the expression alone', async () => {
    expect(wordsOf((await shown(ScheduleText, { schedule: '0 6 * * *', zone: 'Europe/Paris' })).element)).toBe('At 06:00 every day 0 6 * * * Europe/Paris');
    TestBed.resetTestingModule();
    expect(wordsOf((await shown(ScheduleText, { schedule: '*/7 * * * *', zone: 'UTC' })).element)).toBe('*/7 * * * * UTC');
    TestBed.resetTestingModule();
    expect(wordsOf((await shown(ScheduleText, { schedule: '', zone: 'UTC' })).element)).toBe('manual only');
  });
});

describe('a lease in a line', () => {
  const lock = (more: Partial<Lock>): Lock => ({
    key: 'k', owner: 'host/1', fence_token: 3, acquired_at: at(0), remaining_ms: 60_000, held: true, last_occurrence: null, waiters: 0, ...more,
  });

  it('says who holds it and that a renewal may come', async () => {
    expect(wordsOf((await shown(LeaseText, { lock: lock({}) })).element)).toMatch(/^host\/1 expires in 1 min$/);
  });

  it('tells a cooldown from free', async () => {
    expect(wordsOf((await shown(LeaseText, { lock: lock({ held: false, owner: '' }) })).element)).toBe('cooldown 1 min');
    TestBed.resetTestingModule();
    expect(wordsOf((await shown(LeaseText, { lock: lock({ held: false, remaining_ms: 0 }) })).element)).toBe('free');
    TestBed.resetTestingModule();
    expect(wordsOf((await shown(LeaseText, { lock: null })).element)).toBe('never acquired');
  });
});
