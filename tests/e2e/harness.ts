// What the tests of the page share: real agents with real jobs on a store of their own, a browser that is signed in, and
// what every page is held to. PAWL_BINARY names the command.
import { test as base, expect, type Page } from '@playwright/test';
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { accessSync, constants, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const pawlBinary = process.env.PAWL_BINARY ?? '';
if (!pawlBinary) throw new Error('PAWL_BINARY is not set: it names the pawl command that is tested');

const repository = join(__dirname, '../..');

export type Role = 'viewer' | 'client' | 'operator' | 'admin';
type Value = string | number | boolean | string[] | Record<string, string | number>;
export interface Job extends Record<string, Value | undefined> {
  name: string;
  schedule?: string;
  /** A shell script: it becomes the command. */
  script?: string;
}

export interface AgentOptions {
  name?: string;
  jobs?: Job[];
  /** Of [agent]. */
  settings?: Record<string, Value>;
  /** Roles of users to configure; each is named after its role. Without any there is the login link. */
  users?: Role[];
  /** Another agent whose store and folder this one shares. */
  beside?: Agent;
  store?: string;
  /** Where runs are kept; the store without it. */
  journal?: string;
}

function toml(value: Value): string {
  if (Array.isArray(value)) return `[${value.map(toml).join(', ')}]`;
  if (typeof value === 'object') return `{ ${Object.entries(value).map(([name, one]) => `${name} = ${toml(one)}`).join(', ')} }`;
  return JSON.stringify(value);
}

/** Looks again and again until it is so; fails when it does not become so. */
export async function until<T>(what: string, look: () => T | Promise<T>, boundMs = 60_000): Promise<NonNullable<T>> {
  const end = Date.now() + boundMs;
  for (;;) {
    const found = await look();
    if (found) return found as NonNullable<T>;
    if (Date.now() > end) throw new Error(`${what} did not happen within ${boundMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function cleanEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('PAWL_') && !name.startsWith('XDG_'));
  return { ...Object.fromEntries(kept), PAWL_BINARY: pawlBinary };
}

/** Below the range of outgoing connections, which would take it while its server is down. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 12_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

/** A Redis of its own, which can be frozen: it keeps its connections and says nothing. */
export class Redis {
  private constructor(readonly url: string, private readonly process: ChildProcess) {}

  static async start(): Promise<Redis> {
    const port = await freePort();
    const process = spawn('redis-server', ['--bind', '127.0.0.1', '--port', `${port}`, '--save', '', '--appendonly', 'no'], { stdio: 'ignore' });
    await until('listening of Redis', () => new Promise<boolean>((resolve) => {
      if (process.exitCode !== null) throw new Error(`redis-server ended with ${process.exitCode}`);
      const socket = connect(port, '127.0.0.1', () => resolve(socket.destroy().destroyed)).once('error', () => resolve(false));
    }));
    return new Redis(`redis://127.0.0.1:${port}`, process);
  }

  freeze(): void {
    this.process.kill('SIGSTOP');
  }

  thaw(): void {
    this.process.kill('SIGCONT');
  }

  async end(): Promise<void> {
    if (this.process.exitCode !== null) return;
    const gone = new Promise((resolve) => this.process.once('exit', resolve));
    this.process.kill('SIGKILL');
    await gone;
  }
}

/** In memory where that can be: what is tested is the page, not how long a busy disk takes to sync. */
function folderOfTests(): string {
  try {
    accessSync('/dev/shm', constants.W_OK);
    return '/dev/shm';
  } catch {
    return tmpdir();
  }
}

/** A process of `pawl agent`. */
export class Agent {
  url = '';
  readonly tokens: Partial<Record<Role, string>> = {};
  private process: ChildProcess | null = null;
  private session: Promise<void> | null = null;
  private csrf = '';
  private cookie = '';

  private constructor(readonly folder: string, readonly name: string, readonly store: string, private readonly options: AgentOptions) {}

  static async start(options: AgentOptions = {}): Promise<Agent> {
    const folder = options.beside?.folder ?? mkdtempSync(join(folderOfTests(), 'pawl-e2e-'));
    const agent = new Agent(folder, options.name ?? 'node-a', options.beside?.store ?? options.store ?? `sqlite:${folder}/pawl.db?timeout=20s`, options);
    agent.write();
    await agent.begin();
    return agent;
  }

  /** The file of an embedded store. */
  get file(): string {
    return this.store.replace(/^sqlite:|\?.*$/g, '');
  }

  get logFile(): string {
    return join(this.folder, `${this.name}.log`);
  }

  get log(): string {
    return readFileSync(this.logFile, 'utf8');
  }

  /** A link that signs in as admin, once: a fresh one each time, while no user is configured. */
  async loginLink(): Promise<string> {
    return until('a login link', () => {
      const made = spawnSync(pawlBinary, ['agent', 'login-link', '--file', join(this.folder, `login-${this.name}`)],
                             { env: cleanEnvironment(), encoding: 'utf8' });
      return made.status === 0 ? made.stdout.trim() : undefined;
    });
  }

  /** Runs the command against the agent's store. */
  pawl(...words: string[]): string {
    return execFileSync(pawlBinary, ['--store', this.store, ...words], { env: cleanEnvironment(), encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  }

  /** Asks the API as admin, whatever the browser is signed in as. */
  async api<T = unknown>(method: string, path: string, body?: object): Promise<{ status: number; body: T }> {
    // One link, one session, however many ask at a time.
    if (!this.tokens.admin) await (this.session ??= this.openSession());
    const headers: Record<string, string> = { Accept: 'application/json' };
    if (this.tokens.admin) headers.Authorization = `Bearer ${this.tokens.admin}`;
    else Object.assign(headers, { Cookie: this.cookie, 'X-Pawl-Session': this.csrf });
    if (body) headers['Content-Type'] = 'application/json';
    const answer = await fetch(`${this.url}/api/v1${path}`, { method, headers, body: body && JSON.stringify(body) });
    const text = await answer.text();
    return { status: answer.status, body: (text ? JSON.parse(text) : undefined) as T };
  }

  /** What is at a path; asked for again while the store or the journal is busy. */
  async read<T>(path: string): Promise<T> {
    const { status, body } = await until(`an answer to ${path}`, async () => {
      const answer = await this.api<T>('GET', path);
      return answer.status === 503 ? undefined : answer;
    });
    if (status !== 200) throw new Error(`no ${path}: ${status} ${JSON.stringify(body)}`);
    return body;
  }

  /** The runs that match. */
  async runs<T>(query: string): Promise<T[]> {
    return (await this.read<{ runs: T[] }>(`/runs?${query}`)).runs;
  }

  /** A lease that somebody outside holds, by the API: the same claim again while the store is busy. Answers with its token. */
  async lease(key: string, ttlMs: number, owner = 'a-program'): Promise<number> {
    const claim = { key, owner, ttl_ms: ttlMs, claim_id: randomUUID() };
    const { status, body } = await until(`an answer to a lease of ${key}`, async () => {
      const answer = await this.api<{ fence_token: number }>('POST', '/leases', claim);
      return answer.status === 503 ? undefined : answer;
    });
    if (status !== 201) throw new Error(`no lease of ${key}: ${status} ${JSON.stringify(body)}`);
    return body.fence_token;
  }

  write(jobs: Job[] = this.options.jobs ?? []): void {
    const lines = [`store = ${toml(this.store)}`];
    if (this.options.journal) lines.push(`journal = ${toml(this.options.journal)}`);
    lines.push('[agent]', `name = ${toml(this.name)}`);
    const settings: Record<string, Value> = { listen: '127.0.0.1:0', ...this.options.settings };
    for (const [key, value] of Object.entries(settings)) lines.push(`${key} = ${toml(value)}`);
    for (const role of this.options.users ?? []) {
      const made = JSON.parse(this.pawl('token', 'new', '--name', role, '--role', role, '--json')) as Record<string, string>;
      this.tokens[role] = made.token;
      lines.push('[[user]]', `name = ${toml(role)}`, `role = ${toml(role)}`, `token_hash = ${toml(made.token_hash)}`);
    }
    for (const { script, ...job } of jobs) {
      lines.push('[[job]]');
      const keys: Record<string, Value | undefined> = script === undefined ? job : { ...job, command: ['/bin/sh', '-c', script, 'sh'] };
      for (const [key, value] of Object.entries(keys)) if (value !== undefined) lines.push(`${key} = ${toml(value)}`);
    }
    writeFileSync(join(this.folder, `${this.name}.toml`), `${lines.join('\n')}\n`);
  }

  /** Again after stop() or kill(), with the same store; on the port that it had, so that an open page finds it again. */
  async begin(): Promise<void> {
    writeFileSync(this.logFile, '', { flag: 'a' });
    const before = this.log.length;
    if (this.url) {
      const file = join(this.folder, `${this.name}.toml`);
      writeFileSync(file, readFileSync(file, 'utf8').replace(/^listen = .*$/m, `listen = ${toml(new URL(this.url).host)}`));
    }
    const child = spawn('/bin/sh', ['-c', 'exec "$0" agent --config "$1" >>"$2" 2>&1', pawlBinary, join(this.folder, `${this.name}.toml`), this.logFile], {
      env: { ...cleanEnvironment(), RUNTIME_DIRECTORY: this.folder }, stdio: 'ignore',
    });
    this.process = child;
    this.session = null;
    this.url = await until(`listening of agent ${this.name}`, () => {
      if (child.exitCode !== null) throw new Error(`agent ${this.name} ended with ${child.exitCode}: ${this.log.slice(before)}`);
      const fresh = this.log.slice(before);
      return /node ready/.test(fresh) ? /listening on (https?:\/\/[^\s"]+)/.exec(fresh)?.[1].replace(/\/$/, '') : undefined;
    });
  }

  signal(name: NodeJS.Signals): void {
    this.process?.kill(name);
  }

  /** At once, as a crash would. */
  async kill(): Promise<void> {
    const child = this.process;
    if (!child) return;
    this.process = null;
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGCONT');
    child.kill('SIGKILL');
    await gone;
  }

  async end(): Promise<void> {
    await this.kill();
    if (!this.options.beside) rmSync(this.folder, { recursive: true, force: true });
  }

  private async openSession(): Promise<void> {
    const answer = await fetch(await this.loginLink(), { redirect: 'manual' });
    this.cookie = answer.headers.getSetCookie().map((one) => one.split(';')[0]).join('; ');
    this.csrf = answer.headers.get('Location')?.split('#session=')[1] ?? '';
  }
}

/** Signs the browser in: by the login link, or by a token through the page. */
export async function signIn(page: Page, agent: Agent, role?: Role): Promise<void> {
  if (role) {
    await page.goto(`${agent.url}/sign-in`);
    await page.getByLabel('Token', { exact: true }).fill(agent.tokens[role] ?? '');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await expect(page.getByRole('heading', { level: 1, name: 'Overview' })).toBeVisible();
  } else {
    await page.goto(await agent.loginLink());
  }
  await expect(page.getByRole('navigation', { name: 'Sections' })).toBeVisible();
}

/** Changes come by themselves from here on. */
export async function live(page: Page): Promise<void> {
  await expect(page.locator('#connection')).toContainText('live');
}

const axeSource = require.resolve('axe-core/axe.min.js');

/** What axe finds wrong, in light and in dark, as lines; there must be none. */
export async function expectAccessible(page: Page): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    const found = await page.evaluate(async () => {
      const { axe } = window as unknown as { axe: { run: (what: Document, how: object) => Promise<AxeResult> } };
      const { violations } = await axe.run(document, { resultTypes: ['violations'] });
      return violations.flatMap(({ id, help, nodes }) => nodes.map((node) => `${id}: ${help}: ${node.target.join(' ')} ${node.any.map((one) => one.message).join('; ')}`));
    });
    expect(found, `axe, ${colorScheme}`).toEqual([]);
  }
  await page.emulateMedia({ colorScheme: null, reducedMotion: null });
}
interface AxeResult {
  violations: { id: string; help: string; nodes: { target: string[]; any: { message: string }[] }[] }[];
}

/** Nothing hangs over the side of a narrow screen, and no table has to be scrolled sideways there. */
export async function expectFitsNarrow(page: Page): Promise<void> {
  const before = page.viewportSize();
  for (const width of [360, 480]) {
    await page.setViewportSize({ width, height: 740 });
    await expect(page.locator('h1').first()).toBeVisible();
    const over = () => page.evaluate(() => [document.documentElement, ...document.querySelectorAll('.table-box')]
      .filter((one) => one.scrollWidth > one.clientWidth).map((one) => `${one.tagName} ${one.className}: ${one.scrollWidth - one.clientWidth} px too wide`));
    await expect.poll(over, `on a screen of ${width}`).toEqual([]);
  }
  if (before) await page.setViewportSize(before);
}

/** The sizes at which every dialog is held to its frame, and at which its pictures are taken. */
const dialogSizes = [{ width: 1280, height: 800 }, { width: 390, height: 844 }];

/**
 * Everything in the open dialog lies within it and within the window, without scrolling: its heading, its text and every
 * control. A list that scrolls within itself is held to its sides, and its frame to all four.
 */
export async function expectDialogFits(page: Page): Promise<void> {
  const before = page.viewportSize();
  for (const size of dialogSizes) {
    await page.setViewportSize(size);
    await expect(page.getByRole('dialog')).toBeVisible();
    const outside = () => page.evaluate(() => {
      const dialog = document.querySelector<HTMLDialogElement>('dialog[open]')!;
      const frame = dialog.getBoundingClientRect();
      const [left, right] = [Math.max(0, frame.left), Math.min(innerWidth, frame.right)];
      const [top, bottom] = [Math.max(0, frame.top), Math.min(innerHeight, frame.bottom)];
      const found: string[] = [];
      if (dialog.scrollWidth > dialog.clientWidth) found.push(`the dialog: ${dialog.scrollWidth} px in ${dialog.clientWidth}`);
      for (const one of dialog.querySelectorAll<HTMLElement>('h2, h3, p, li, pre, label, blockquote, summary, a[href], button, input, select, textarea')) {
        const box = one.getBoundingClientRect();
        if (box.width === 0 || box.height === 0 || !one.checkVisibility()) continue;
        const scrolls = one.parentElement!.closest('[data-scrolls]') !== null;
        const over = [left - box.left, box.right - right, ...(scrolls ? [] : [top - box.top, box.bottom - bottom])];
        const most = Math.round(Math.max(...over));
        if (most > 1) found.push(`${one.tagName.toLowerCase()} '${(one.innerText || one.id || one.className).trim().slice(0, 40)}': ${most} px outside`);
      }
      return found;
    });
    await expect.poll(outside, `outside the dialog at ${size.width} x ${size.height}`).toEqual([]);
  }
  if (before) await page.setViewportSize(before);
}

/** What every row of a long table has at `selector`, from the first to the last: few of them are in the document at a time. */
export async function everyRow(page: Page, selector: string): Promise<{ text: string; href: string }[]> {
  return page.evaluate(async (selector_) => {
    const table = document.querySelector<HTMLTableElement>('.table-box.tall table')!;
    const box = table.parentElement!;
    const last = Number(table.getAttribute('aria-rowcount')) - 2;
    const found = new Map<number, { text: string; href: string }>();
    const rows = () => [...table.querySelectorAll<HTMLElement>('tr[data-index]')];
    const index = (row: HTMLElement) => Number(row.dataset['index']);
    /** Whether the window of the table is full of rows: they follow a scroll, and on a busy machine many frames later. */
    const drawn = () => {
      const shown = rows();
      const [first, end] = [shown.at(0), shown.at(-1)];
      if (!first || !end) return false;
      const { top, bottom } = box.getBoundingClientRect();
      const head = table.tHead?.getBoundingClientRect().height ?? 0;
      return (index(first) === 0 || first.getBoundingClientRect().top <= top + head) &&
        (index(end) === last || end.getBoundingClientRect().bottom >= bottom - 1);
    };
    for (let at = 0; ; at += box.clientHeight / 2) {
      box.scrollTop = at;
      const began = performance.now();
      do {
        if (performance.now() - began > 20_000) throw new Error(`rows ${[...found.keys()].join(' ')} of 0 to ${last}, then none at ${at} px of ${box.scrollHeight}`);
        await new Promise((resolve) => requestAnimationFrame(resolve));
      } while (!drawn());
      for (const row of rows()) {
        const cell = row.querySelector<HTMLElement>(selector_);
        found.set(index(row), { text: cell?.innerText ?? '', href: cell?.getAttribute('href') ?? '' });
      }
      if (at + box.clientHeight >= box.scrollHeight) break;
    }
    return [...found.entries()].sort(([left], [right]) => left - right).map(([, one]) => one);
  }, selector);
}

/** Keeps what the page looks like in docs/screenshots, when PAWL_SCREENSHOTS=1. */
export async function keepScreenshots(page: Page, name: string): Promise<void> {
  if (process.env.PAWL_SCREENSHOTS !== '1') return;
  const before = page.viewportSize();
  // Who serves the page comes a little after the rest.
  if (await page.locator('.state-line').count()) await expect(page.locator('.state-line .node-name')).toBeVisible();
  const shoot = (kind: string) =>
    page.screenshot({ path: join(repository, 'docs/screenshots', `${name}-${kind}.png`) });
  for (const [size, kinds] of [[before, ['light', 'dark']], [{ width: 390, height: 844 }, ['narrow', 'narrow-dark']]] as const) {
    if (size) await page.setViewportSize(size);
    for (const [place, colorScheme] of (['light', 'dark'] as const).entries()) {
      await page.emulateMedia({ colorScheme });
      await shoot(kinds[place]);
    }
  }
  await page.emulateMedia({ colorScheme: null });
  if (before) await page.setViewportSize(before);
}

/** A figure for docs/performance.md. */
export function figure(name: string, value: number, unit: string): void {
  console.log(`figure: ${name}: ${Math.round(value * 10) / 10} ${unit}`);
}

interface Fixtures {
  /** Of the agent of this test: `test.use({ agentOptions: { jobs: [...] } })`. */
  agentOptions: AgentOptions;
  agent: Agent;
  /** What the page logged as errors, and requests to anywhere else. Both must be none at the end. */
  watch: { allowed: RegExp[] };
}

export const test = base.extend<Fixtures>({
  agentOptions: [{}, { option: true }],
  agent: async ({ agentOptions, page }, use) => {
    const agent = await Agent.start(agentOptions);
    await use(agent);
    // A stream that ends with its agent would count as an error of the page.
    await page.goto('about:blank');
    await agent.end();
  },
  watch: [
    async ({ page }, use) => {
      const wrong: string[] = [];
      const watch = { allowed: [] as RegExp[] };
      page.on('console', (message) => {
        // Who asks who he is before he has signed in is told that nobody has.
        const asksWho = message.location().url.endsWith('/api/v1/session') && message.text().includes('401');
        if (message.type() === 'error' && !asksWho) wrong.push(message.text());
      });
      page.on('pageerror', (failure) => wrong.push(String(failure)));
      page.on('request', (request) => {
        const { protocol, hostname } = new URL(request.url());
        if (protocol.startsWith('http') && hostname !== '127.0.0.1') wrong.push(`a request to ${request.url()}`);
      });
      await page.addInitScript({ path: axeSource });
      await use(watch);
      expect(wrong.filter((line) => !watch.allowed.some((pattern) => pattern.test(line))), 'errors of the page').toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };
