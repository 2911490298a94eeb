import { TestBed } from '@angular/core/testing';

import { Api, RequestFailed } from './api';
import { Session } from './session';

describe('a session while its page is open', () => {
  const who = (csrf: string) => ({ name: 'alice', role: 'admin', csrf, expires_at: '2026-11-22T12:30:00.000Z' });
  const api = { csrf: '', session: vi.fn(), startedAt: vi.fn() };
  let session: Session;

  beforeEach(async () => {
    vi.useFakeTimers();
    sessionStorage.clear();
    api.startedAt.mockReset().mockResolvedValue('2026-11-22T12:00:00.000Z');
    api.session.mockReset().mockResolvedValue(who('first'));
    TestBed.configureTestingModule({ providers: [{ provide: Api, useValue: api }] });
    session = TestBed.inject(Session);
    await session.known();
  });
  afterEach(() => {
    session.ended();
    vi.useRealTimers();
  });
  const minutes = (many: number) => vi.advanceTimersByTimeAsync(many * 60_000);

  it('is used, so that it does not end idle', async () => {
    await minutes(29);
    expect(api.session.mock.calls.length).toBeGreaterThan(1);
    expect(session.signedIn()).toBe(true);
  });

  it('is noticed to have ended, and says so', async () => {
    api.session.mockRejectedValue(new RequestFailed(401, 'nobody'));
    await minutes(6);
    expect(session.signedIn()).toBe(false);
    expect(session.over()).toBe(true);
    expect(api.csrf).toBe('');
    const asked = api.session.mock.calls.length;
    await minutes(60);
    expect(api.session.mock.calls.length).toBe(asked);
  });

  it('tells a restart of the agent from a session that was ended, over a reload too', async () => {
    await minutes(1);
    api.session.mockRejectedValue(new RequestFailed(401, 'unknown session'));
    await minutes(6);
    expect(session.over()).toBe(true);
    expect(session.restarted()).toBe('');
    api.startedAt.mockResolvedValue('2026-11-22T12:20:00.000Z');
    TestBed.resetTestingModule();
    TestBed.configureTestingModule({ providers: [{ provide: Api, useValue: api }] });
    const reloaded = TestBed.inject(Session);
    await reloaded.known();
    expect(reloaded.restarted()).toBe('2026-11-22T12:20:00.000Z');
  });

  it('does not end because the node cannot be reached', async () => {
    api.session.mockRejectedValue(new RequestFailed(0, 'no answer'));
    await minutes(6);
    expect(session.signedIn()).toBe(true);
  });

  it('becomes that of whoever has signed in in another window', async () => {
    api.session.mockResolvedValue({ ...who('second'), name: 'bob', role: 'viewer' });
    await minutes(6);
    expect(api.csrf).toBe('second');
    expect(session.may('admin')).toBe(false);
  });
});
