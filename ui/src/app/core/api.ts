import { Injectable, signal } from '@angular/core';

import type {
  AuditPage, AuditVerification, Cancelled, Diagnosis, DryRun, JobDetail, JobPage, LockDetail, LockPage, NodePage,
  Overview, Paused, Problem, Release, ReleaseRequest, RunDetail, RunPage, RunRequest, RunsAsked, RunStatus, Session,
} from './types';

/** What an answer may take before it counts as none. The doctor's checks take longest. */
export const answerWaitMs = 30_000;

/** A request that failed, as one clear line in `message`. */
export class RequestFailed extends Error {
  constructor(
    /** 0: there was no answer. */
    readonly status: number,
    detail: string,
    /** Further members of the problem, such as `newest` of a stale token. */
    readonly more: Readonly<Record<string, unknown>> = {},
    /** When asking again may help, in milliseconds. */
    readonly retryAfterMs: number | null = null,
  ) {
    super(detail);
    this.name = 'RequestFailed';
  }

  get unreachable(): boolean {
    return this.status === 0;
  }
}

/** What went wrong as one line, whatever was thrown. */
export function lineOf(failure: unknown): string {
  return failure instanceof Error ? failure.message : String(failure);
}

type Parameters = Record<string, string | number | undefined>;

export function queryOf(query: Parameters): string {
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') pairs.set(name, String(value));
  }
  const text = pairs.toString();
  return text ? `?${text}` : '';
}

/** A browser takes it for a way up to another path, however it is encoded. */
export function isDots(part: string): boolean {
  return part === '.' || part === '..';
}

/** The segments of a path that a key makes. Slashes stay, as links stay readable, but where they would lead elsewhere. */
export function segmentsOf(key: string): string[] {
  const parts = key.split('/');
  return parts.some((part) => part === '' || isDots(part)) ? [key] : parts;
}

export function pathOf(key: string): string {
  return segmentsOf(key).map(encodeURIComponent).join('/');
}

async function failureOf(answer: Response): Promise<RequestFailed> {
  const seconds = Number(answer.headers.get('Retry-After'));
  const retry = seconds > 0 ? seconds * 1000 : null;
  const fallback = `${answer.status} ${answer.statusText}`.trim();
  const problem: Partial<Problem> | null = await answer.json().catch(() => null);
  return new RequestFailed(answer.status, problem?.detail || problem?.title || fallback, problem ?? {}, retry);
}

/** The HTTP API of the node that served this page: one method per operation that the page uses. */
@Injectable({ providedIn: 'root' })
export class Api {
  /** The session's own token, which writes carry; Session keeps it. */
  csrf = '';
  /** Counts the answers that said that no user is signed in. */
  readonly turnedAway = signal(0);

  overview = () => this.get<Overview>('/overview');
  locks = (query: { prefix?: string; after?: string; limit?: number }) => this.get<LockPage>(`/locks${queryOf(query)}`);
  lock = (key: string) => this.get<LockDetail>(`/locks/${pathOf(key)}`);
  releaseLock = (body: ReleaseRequest) => this.send<Release>('POST', '/locks/release', body);
  jobs = (query: { after?: string; limit?: number; runs?: number }) => this.get<JobPage>(`/jobs${queryOf(query)}`);
  job = (name: string) => this.get<JobDetail>(`/jobs/${encodeURIComponent(name)}`);
  runJob = (name: string, body: RunRequest & { dry_run?: false }) =>
    this.send<RunsAsked>('POST', `/jobs/${encodeURIComponent(name)}/runs`, body);
  dryRunJob = (name: string, body: RunRequest) =>
    this.send<DryRun>('POST', `/jobs/${encodeURIComponent(name)}/runs`, { ...body, dry_run: true });
  pauseJob = (name: string, reason: string) =>
    this.send<Paused>('POST', `/jobs/${encodeURIComponent(name)}/pause`, { reason });
  resumeJob = (name: string) => this.send<Paused>('POST', `/jobs/${encodeURIComponent(name)}/resume`, {});
  runs = (query: { job?: string; status?: RunStatus | ''; node?: string; after?: string; limit?: number }) =>
    this.get<RunPage>(`/runs${queryOf(query)}`);
  run = (id: string) => this.get<RunDetail>(`/runs/${encodeURIComponent(id)}`);
  nodes = () => this.get<NodePage>('/nodes');
  audit = (query: { after?: string; limit?: number }) => this.get<AuditPage>(`/audit${queryOf(query)}`);
  verifyAudit = () => this.get<AuditVerification>('/audit/verification');
  doctor = () => this.get<Diagnosis>('/doctor');
  /** Who is signed in by the cookie; with the csrf where `token` is the session's own. */
  session = (token: string) => this.ask<Session>('GET', '/session', undefined, token);
  signIn = (token: string, name: string) =>
    this.send<Session>('POST', '/session', name ? { name, token } : { token });
  signOut = () => this.send<void>('DELETE', '/session');
  cancelRun = (id: string, reason: string) => this.send<Cancelled>('POST', `/runs/${encodeURIComponent(id)}/cancel`, reason ? { reason } : {});

  /** When the agent that answers was started, as text; empty where it does not say. Its sessions end with it. */
  async startedAt(): Promise<string> {
    try {
      const answer = await fetch('/healthz', { cache: 'no-store', signal: AbortSignal.timeout(answerWaitMs) });
      return answer.headers.get('Pawl-Started-At') ?? '';
    } catch {
      return '';
    }
  }

  /** Where a run's output is: for EventSource and for a download link. */
  outputUrl(id: string, offset = 0): string {
    return `/api/v1/runs/${encodeURIComponent(id)}/output${queryOf({ offset: offset || undefined })}`;
  }

  private get<T>(path: string): Promise<T> {
    return this.ask<T>('GET', path, undefined);
  }

  private send<T>(method: string, path: string, body?: object): Promise<T> {
    return this.ask<T>(method, path, body);
  }

  private async ask<T>(method: string, path: string, body: object | undefined,
                       token = method === 'GET' ? '' : this.csrf): Promise<T> {
    const dots = path.split('?')[0].split('/').find(isDots);
    if (dots) throw new RequestFailed(400, `A URL cannot have the name '${dots}': use the command line.`);
    const headers: Record<string, string> = { Accept: 'application/json' };
    if (body) headers['Content-Type'] = 'application/json';
    if (token) headers['X-Pawl-Session'] = token;
    const session = this.csrf;
    const doubt = method === 'GET' ? '' : ' It may have taken effect: check before you try again.';
    let answer: Response;
    try {
      answer = await fetch(`/api/v1${path}`, {
        method,
        headers,
        body: body && JSON.stringify(body),
        credentials: 'same-origin',
        // What a browser has kept would come with the time at which it was read first.
        cache: 'no-store',
        signal: AbortSignal.timeout(answerWaitMs),
      });
    } catch {
      throw new RequestFailed(0, `${location.host} does not respond.${doubt}`);
    }
    if (!answer.ok) {
      // Not for an answer that was still on its way when a user signed in again.
      if (answer.status === 401 && path !== '/session' && session === this.csrf) this.turnedAway.update((count) => count + 1);
      throw await failureOf(answer);
    }
    if (answer.status === 204) return undefined as T;
    try {
      return (await answer.json()) as T;
    } catch {
      throw new RequestFailed(0, `The response of ${location.host} is incomplete, or not one of pawl.${doubt}`);
    }
  }
}
