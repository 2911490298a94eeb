import { ChangeDetectionStrategy, Component, computed, effect, ElementRef, inject, signal, untracked, viewChild } from '@angular/core';
import { NavigationEnd, Router, RouterLink, RouterLinkActive, RouterOutlet } from '@angular/router';

import { Api, lineOf } from './core/api';
import { runbookLink } from './core/links';
import { Live } from './core/live';
import { Session } from './core/session';
import { chooseTheme, storedTheme, Theme } from './core/theme';
import { Clock, clockText, countdownText, relativeText } from './core/time';
import { Toasts } from './core/toasts';
import { StatusBadge } from './shared/status_badge';
import { ToastList } from './shared/toast_list';

/** What stands around every page: the way to it, who serves it, and whether what it shows is of now. */
@Component({
  selector: 'pawl-app',
  imports: [RouterOutlet, RouterLink, RouterLinkActive, StatusBadge, ToastList],
  changeDetection: ChangeDetectionStrategy.OnPush,
  templateUrl: './app.html',
})
export class App {
  protected readonly session = inject(Session);
  protected readonly live = inject(Live);
  protected readonly clock = inject(Clock);
  private readonly router = inject(Router);
  private readonly toasts = inject(Toasts);
  private readonly main = viewChild.required<ElementRef<HTMLElement>>('main');

  protected readonly sections = [
    { path: '/', name: 'Overview' },
    { path: '/locks', name: 'Locks' },
    { path: '/jobs', name: 'Jobs' },
    { path: '/runs', name: 'Runs' },
    { path: '/nodes', name: 'Nodes' },
    { path: '/audit', name: 'Audit log' },
    { path: '/doctor', name: 'Doctor' },
    { path: '/runbook', name: 'Runbook' },
  ];
  protected readonly theme = signal<Theme>(storedTheme());
  protected readonly clockText = clockText;
  protected readonly countdownText = countdownText;
  protected readonly relativeText = relativeText;
  protected readonly parse = (at: string) => new Date(at);

  /** Why the node that serves the web UI starts no scheduled runs; where that needs attention, with a way out. */
  protected readonly unready = computed(() => {
    const seen = this.live.overview();
    if (!seen?.unready) return null;
    const critical = seen.attention.find(({ kind }) => kind === 'control_state_unread');
    return { node: seen.node, line: seen.unready, runbook: critical ? runbookLink(critical.runbook) : null };
  });

  constructor() {
    const api = inject(Api);
    effect(() => {
      if (api.turnedAway() > 0) untracked(() => this.session.ended());
    });
    effect(() => {
      const signedIn = this.session.signedIn();
      untracked(() => (signedIn ? this.live.retry() : this.leave()));
    });
    // A screen reader is told of the new page, and the keyboard begins there.
    let path = '';
    this.router.events.subscribe((event) => {
      if (!(event instanceof NavigationEnd)) return;
      const next = event.urlAfterRedirects.split(/[?#]/)[0];
      if (path && next !== path && !event.urlAfterRedirects.includes('#')) this.main().nativeElement.focus();
      path = next;
    });
  }

  protected toMain(event: Event): void {
    event.preventDefault();
    this.main().nativeElement.focus();
  }

  protected choose(theme: string): void {
    this.theme.set(theme as Theme);
    chooseTheme(theme as Theme);
  }

  protected async signOut(): Promise<void> {
    try {
      await this.session.signOut();
    } catch (failure) {
      this.toasts.complain(`Not signed out: ${lineOf(failure)}`);
    }
  }

  private leave(): void {
    this.live.stop();
    const here = this.router.url;
    if (!this.router.navigated || here.startsWith('/sign-in')) return;
    void this.router.navigate(['/sign-in'], { queryParams: here === '/' ? {} : { to: here } });
  }
}
