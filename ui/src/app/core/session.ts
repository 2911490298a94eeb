import { computed, DestroyRef, inject, Injectable, signal } from '@angular/core';

import { Api, RequestFailed } from './api';
import { forgetToken, keepToken, storedToken, tokenOfLink, tokenKey } from './session_token';
import type { Session as Who } from './types';

export type Role = Who['role'];

const ranks: Record<Role, number> = { viewer: 0, client: 1, operator: 2, admin: 3 };

/** An open page uses its session so often, which keeps it from ending idle, and notices when it has ended otherwise. */
const usedEveryMs = 5 * 60_000;
/** When the agent was started with which this window has signed in: kept over a reload. */
const startedKey = 'pawl-agent-started';

/** Who is signed in, and what they may do. The server decides; this is for not offering what it would reject. */
@Injectable({ providedIn: 'root' })
export class Session {
  private readonly api = inject(Api);
  private readonly current = signal<Who | null>(null);

  readonly who = this.current.asReadonly();
  readonly signedIn = computed(() => this.current() !== null);
  /** A user was signed in on this page until the server ended it. */
  readonly over = signal(false);
  /** When the agent was started anew, where that is what has ended the session. */
  readonly restarted = signal('');
  /** A user is signed in by the cookie, and the token that writes carry is not in this browser any more. */
  readonly lost = signal(false);
  private asked = false;
  private timer: ReturnType<typeof setInterval> | undefined;
  /** Of a login link that has led here. */
  private linked = tokenOfLink();

  constructor() {
    const changed = ({ key }: StorageEvent) => (key === tokenKey || key === null) && void this.use();
    addEventListener('storage', changed);
    inject(DestroyRef).onDestroy(() => removeEventListener('storage', changed));
  }

  may(role: Role): boolean {
    const who = this.current();
    return who !== null && ranks[who.role] >= ranks[role];
  }

  /** Why an action is not offered, for a title; empty where it is. */
  whyNot(role: Role): string {
    const who = this.current();
    if (this.may(role)) return '';
    return who ? `Only ${role === 'admin' ? 'an admin' : 'an operator or admin'} may; you are signed in as ${who.role}.`
               : 'You are not signed in.';
  }

  /** Asks the server once; true when a user is signed in. Throws where there is no answer. */
  async known(): Promise<boolean> {
    if (this.asked) return this.signedIn();
    try {
      this.keepKnown(await this.whoIsIt());
    } catch (failure) {
      if (!(failure instanceof RequestFailed) || (failure.status !== 401 && failure.status !== 403)) throw failure;
      this.keep(null);
      await this.lookForRestart();
    }
    this.asked = true;
    return this.signedIn();
  }

  async signIn(token: string, name: string): Promise<void> {
    this.keep(await this.api.signIn(token, name));
    this.asked = true;
  }

  async signOut(): Promise<void> {
    try {
      await this.api.signOut();
    } catch (failure) {
      // It has ended already.
      if (!(failure instanceof RequestFailed) || failure.status !== 401) throw failure;
    }
    // Another window may have signed in meanwhile.
    if (storedToken() === this.api.csrf) forgetToken();
    this.keep(null);
    sessionStorage.removeItem(startedKey);
  }

  /** The server says that the session has ended. */
  ended(): void {
    if (this.current() === null) return;
    this.keep(null);
    this.over.set(true);
    void this.lookForRestart();
  }

  /** Asks anew who is signed in: in another window it may be another user by now, or none. */
  async use(): Promise<void> {
    const before = this.current();
    try {
      const who = await this.whoIsIt();
      if (this.current() === before) this.keepKnown(who);
    } catch (failure) {
      const signedOut = failure instanceof RequestFailed && (failure.status === 401 || failure.status === 403);
      if (signedOut && this.current() === before) this.ended();
    }
  }

  private async whoIsIt(): Promise<Who> {
    if (this.linked) {
      const who = await this.api.session(this.linked);
      if (who.csrf) return who;
      // What stands in the address may come from anybody.
      this.linked = '';
    }
    const known = () => storedToken() || this.api.csrf;
    const token = known();
    const who = await this.api.session(token);
    return known() === token ? who : this.whoIsIt();
  }

  /** Only where the page can also act: the server tells the token only to a request that carries it. */
  private keepKnown(who: Who): void {
    const byCookie = who.expires_at !== null;
    const lost = byCookie && !who.csrf;
    this.keep(lost ? null : who);
    this.lost.set(lost);
  }

  private keep(who: Who | null): void {
    this.current.set(who);
    this.api.csrf = who?.csrf ?? '';
    if (who?.csrf) keepToken(who.csrf);
    this.linked = '';
    this.over.set(false);
    this.lost.set(false);
    clearInterval(this.timer);
    this.restarted.set('');
    if (!who) return;
    this.timer = setInterval(() => void this.use(), usedEveryMs);
    void this.api.startedAt().then((at) => at && this.current() !== null && sessionStorage.setItem(startedKey, at));
  }

  private async lookForRestart(): Promise<void> {
    const before = sessionStorage.getItem(startedKey);
    const now = before ? await this.api.startedAt() : '';
    if (now && now !== before && this.current() === null) this.restarted.set(now);
  }
}
