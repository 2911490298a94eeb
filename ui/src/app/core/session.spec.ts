import { TestBed } from '@angular/core/testing';

import { Api, RequestFailed } from './api';
import { Session } from './session';

describe('a session while its page is open', () => {
  const who = (csrf: string) => ({ name: 'alice', role: 'admin', csrf, expires_at: '2026-11-22T12:30:00.000Z' });
  const api = { csrf: '', session: vi.fn(), signIn: vi.fn(), signOut: vi.fn(), startedAt: vi.fn() };
  let session: Session;

  beforeEach(async () => {
    vi.useFakeTimers();
    sessionStorage.clear();
    localStorage.clear();
    api.csrf = '';
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
  /** As a reload, or another window of this browser, would begin. */
  const opened = () => {
    TestBed.resetTestingModule();
    TestBed.configureTestingModule({ providers: [{ provide: Api, useValue: api }] });
    api.csrf = '';
    return TestBed.inject(Session);
  };
  /** The server: it tells the token to a request that carries it. */
  const serves = (csrf: string, name = 'alice') =>
    api.session.mockImplementation(async (token: string) => ({ ...who(token === csrf ? csrf : ''), name }));

  it('is used, so that it does not end idle', async () => {
    await minutes(29);
    expect(api.session.mock.calls.length).toBeGreaterThan(1);
    expect(session.signedIn()).toBe(true);
  });

  it('is noticed to have ended, and says so', async () => {
    api.session.mockRejectedValue(new RequestFailed(401, 'not signed in'));
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

  it('keeps its token in this browser, over a reload too', async () => {
    serves('first');
    const reloaded = opened();
    expect(await reloaded.known()).toBe(true);
    expect(api.session).toHaveBeenLastCalledWith('first');
    expect(api.csrf).toBe('first');
  });

  it('asks for a log-in where its token is not in this browser any more', async () => {
    serves('first');
    localStorage.clear();
    const reloaded = opened();
    expect(await reloaded.known()).toBe(false);
    expect(reloaded.lost()).toBe(true);
    expect(reloaded.may('viewer')).toBe(false);
    api.signIn.mockResolvedValue(who('second'));
    await reloaded.signIn('token', '');
    expect(reloaded.lost()).toBe(false);
    expect(localStorage.getItem('pawl.session')).toBe('second');
  });

  it('continues in an open window where the browser was told to forget', async () => {
    serves('first');
    localStorage.clear();
    await minutes(6);
    expect(session.signedIn()).toBe(true);
    expect(localStorage.getItem('pawl.session')).toBe('first');
  });

  it('needs no token where a proxy sends a bearer token, or an older agent tells it', async () => {
    localStorage.clear();
    api.session.mockResolvedValue({ ...who(''), expires_at: null });
    expect(await opened().known()).toBe(true);
    api.session.mockResolvedValue(who('told'));
    expect(await opened().known()).toBe(true);
    expect(api.csrf).toBe('told');
  });

  it('takes its token from a login link, and leaves none in the address', async () => {
    const linked = 'l'.repeat(43);
    serves(linked, 'local');
    history.replaceState(null, '', `/#session=${linked}`);
    const reloaded = opened();
    expect(location.hash).toBe('');
    expect(await reloaded.known()).toBe(true);
    expect(localStorage.getItem('pawl.session')).toBe(linked);
  });

  it('is not ended by a token in the address that anybody has made up', async () => {
    serves('first');
    history.replaceState(null, '', `/#session=${'x'.repeat(43)}`);
    expect(await opened().known()).toBe(true);
    expect(api.csrf).toBe('first');
    expect(localStorage.getItem('pawl.session')).toBe('first');
  });

  it('follows a log-in and a log-out in another window at once', async () => {
    serves('second', 'bob');
    localStorage.setItem('pawl.session', 'second');
    dispatchEvent(new StorageEvent('storage', { key: 'pawl.session' }));
    await minutes(0);
    expect(session.who()?.name).toBe('bob');
    expect(api.csrf).toBe('second');
    api.session.mockRejectedValue(new RequestFailed(401, 'not signed in'));
    localStorage.removeItem('pawl.session');
    dispatchEvent(new StorageEvent('storage', { key: 'pawl.session' }));
    await minutes(0);
    expect(session.over()).toBe(true);
  });

  it('is asked for once more where another window has signed in meanwhile', async () => {
    api.session.mockImplementationOnce(async () => (localStorage.setItem('pawl.session', 'second'), who('first')));
    api.session.mockResolvedValue(who('second'));
    await session.use();
    expect(api.csrf).toBe('second');
    expect(localStorage.getItem('pawl.session')).toBe('second');
  });

  it('takes its own token with it when it is left, and no other', async () => {
    await session.signOut();
    expect(localStorage.getItem('pawl.session')).toBe(null);
    api.signIn.mockResolvedValue(who('second'));
    await session.signIn('token', '');
    localStorage.setItem('pawl.session', 'third');
    await session.signOut();
    expect(localStorage.getItem('pawl.session')).toBe('third');
  });

  it('becomes that of the user who has signed in in another window', async () => {
    api.session.mockResolvedValue({ ...who('second'), name: 'bob', role: 'viewer' });
    await minutes(6);
    expect(api.csrf).toBe('second');
    expect(session.may('admin')).toBe(false);
  });
});
