import { Api, pathOf, queryOf, RequestFailed } from './api';

function answer(status: number, body: unknown, headers: Record<string, string> = {}): Response {
  return new Response(status === 204 ? null : typeof body === 'string' ? body : JSON.stringify(body), { status, headers });
}

describe('the client of the API', () => {
  const asked: { url: string; init: RequestInit }[] = [];
  let next: () => Promise<Response>;

  beforeEach(() => {
    asked.length = 0;
    vi.stubGlobal('fetch', (url: string, init: RequestInit) => {
      asked.push({ url, init });
      return next();
    });
  });
  afterEach(() => vi.unstubAllGlobals());

  const failed = async (what: Promise<unknown>): Promise<RequestFailed> => {
    const failure = await what.then(() => null, (reason: unknown) => reason);
    expect(failure).toBeInstanceOf(RequestFailed);
    return failure as RequestFailed;
  };

  it('tells a problem by its detail, with what else it has', async () => {
    next = async () => answer(409, { title: 'Conflict', detail: "'job/a' has passed on from token 3: look again", newest: 5 });
    const failure = await failed(new Api().releaseLock({ key: 'job/a', fence_token: 3, reason: 'gone' }));
    expect(failure.message).toBe("'job/a' has passed on from token 3: look again");
    expect(failure.status).toBe(409);
    expect(failure.more['newest']).toBe(5);
  });

  it('tells an answer that is no problem document by its status', async () => {
    next = async () => answer(502, '<html>a proxy</html>');
    expect((await failed(new Api().overview())).message).toMatch(/^502/);
  });

  it('says when asking again may help', async () => {
    next = async () => answer(503, { detail: 'the store does not answer' }, { 'Retry-After': '2' });
    expect((await failed(new Api().overview())).retryAfterMs).toBe(2_000);
  });

  it('says of a write without an answer that it may have taken effect', async () => {
    next = () => Promise.reject(new TypeError('network'));
    const write = await failed(new Api().pauseJob('a', 'why'));
    expect(write.unreachable).toBe(true);
    expect(write.message).toContain('may have taken effect');
    expect((await failed(new Api().overview())).message).not.toContain('may have taken effect');
  });

  it('tells an answer that breaks off, or is none of the agent\'s, in a line of its own', async () => {
    next = async () => answer(200, '{"as_of":"2026-11-22T00:');
    const read = await failed(new Api().overview());
    expect(read.unreachable).toBe(true);
    expect(read.message).toMatch(/ is incomplete, or not one of pawl\.$/);
    expect((await failed(new Api().pauseJob('a', 'why'))).message).toContain('may have taken effect');
  });

  it('asks the agent and not what the browser has kept, the time of which has passed', async () => {
    next = async () => answer(200, {});
    await new Api().nodes();
    expect(asked[0].init.cache).toBe('no-store');
  });

  it('carries the session in writes, and where it asks whose it is, and in nothing else', async () => {
    next = async () => answer(200, {});
    const api = new Api();
    api.csrf = 'secret';
    await api.overview();
    await api.pauseJob('a/b', 'why');
    await api.session('kept');
    await api.session('');
    expect(asked.map(({ init }) => (init.headers as Record<string, string>)['X-Pawl-Session'])).toEqual([undefined, 'secret', 'kept', undefined]);
    expect(asked[1].url).toBe('/api/v1/jobs/a%2Fb/pause');
  });

  it('counts who is turned away, but for asking who one is', async () => {
    next = async () => answer(401, { detail: 'no user' });
    const api = new Api();
    await failed(api.session(''));
    expect(api.turnedAway()).toBe(0);
    await failed(api.locks({}));
    expect(api.turnedAway()).toBe(1);
  });

  it('does not count what was asked for before a new sign-in', async () => {
    const api = new Api();
    api.csrf = 'before';
    next = async () => ((api.csrf = 'after'), answer(401, { detail: 'no user' }));
    await failed(api.locks({}));
    expect(api.turnedAway()).toBe(0);
  });

  it('asks for nothing where the name would lead elsewhere', async () => {
    next = async () => answer(200, {});
    const api = new Api();
    const all = [api.lock('.'), api.lock('..'), api.job('..'), api.runJob('..', {}), api.pauseJob('.', 'why'), api.run('..')];
    for (const one of all) expect((await failed(one)).message).toMatch(/^A URL cannot have the name '\.\.?': /);
    expect(asked).toEqual([]);
    await api.locks({ prefix: '..' });
    expect(asked[0].url).toBe('/api/v1/locks?prefix=..');
  });

  it('writes keys and filters as a URL can have them', () => {
    expect(pathOf('job/a b/ü?#%')).toBe('job/a%20b/%C3%BC%3F%23%25');
    for (const key of ['x/../job/pay', './a', 'a/.', '../a', 'a//b', '/a']) {
      const url = new URL(`/api/v1/locks/${pathOf(key)}`, 'http://agent');
      expect(decodeURIComponent(url.pathname)).toBe(`/api/v1/locks/${key}`);
    }
    expect(queryOf({ prefix: 'job/', after: '', limit: 5, none: undefined })).toBe('?prefix=job%2F&limit=5');
    expect(queryOf({})).toBe('');
  });
});
