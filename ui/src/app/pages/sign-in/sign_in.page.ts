import { ChangeDetectionStrategy, Component, effect, ElementRef, inject, input, signal, untracked, viewChild } from '@angular/core';
import { Router } from '@angular/router';

import { lineOf, RequestFailed } from '../../core/api';
import { Session } from '../../core/session';
import { absoluteText, durationText } from '../../core/time';

@Component({
  selector: 'pawl-sign-in-page',
  changeDetection: ChangeDetectionStrategy.OnPush,
  host: { class: 'sign-in' },
  template: `
    <div class="panel">
      <h1>Sign in</h1>
      @if (session.restarted(); as at) {
        <p class="note" role="status">The agent restarted at <time [attr.datetime]="at">{{ absoluteText(at) }}</time>, which ends its sessions.
          Sign in again to continue.</p>
      } @else if (session.lost()) { <p class="note" role="status">This browser no longer has the key to your session. Sign in again to continue.</p>
      } @else if (session.over()) { <p class="note" role="status">Your session has ended. Sign in again to continue.</p> }
      <p>Paste a token from <code>pawl token new</code>. When no user is configured, run <code>pawl agent login-link</code>
        on the agent's machine: it prints a link that signs you in there, once.</p>
      @if (to() && to() !== '/') { <p class="faint">Continues at <code>{{ to() }}</code></p> }
      <form class="form" (submit)="submit($event)">
        <div class="field">
          <label for="token">Token</label>
          <input id="token" #token type="password" name="token" required autocomplete="current-password" spellcheck="false"
                 [attr.aria-invalid]="wrong() ? true : null" aria-describedby="wrong" />
        </div>
        <div class="field">
          <label for="name">User name <span>(password only)</span></label>
          <input id="name" #name type="text" name="username" autocomplete="username" spellcheck="false" />
        </div>
        <p id="wrong" role="alert" [class.wrong]="wrong()">{{ wrong() }}</p>
        <div class="buttons"><button class="first" type="submit" [disabled]="busy()">{{ busy() ? 'Signing in…' : 'Sign in' }}</button></div>
      </form>
    </div>
  `,
})
export class SignInPage {
  /** Where to go then. */
  readonly to = input('/');

  protected readonly session = inject(Session);
  private readonly router = inject(Router);
  private readonly token = viewChild.required<ElementRef<HTMLInputElement>>('token');
  private readonly name = viewChild.required<ElementRef<HTMLInputElement>>('name');
  protected readonly absoluteText = absoluteText;
  protected readonly wrong = signal('');
  protected readonly busy = signal(false);

  constructor() {
    void this.session.known().catch(() => undefined);
    // A user who is signed in has nothing to do here, whichever window it was in.
    effect(() => {
      if (this.session.signedIn()) untracked(() => this.goOn());
    });
  }

  protected async submit(event: Event): Promise<void> {
    event.preventDefault();
    const token = this.token().nativeElement.value.trim();
    if (!token) {
      this.wrong.set('The token is empty: paste the secret that pawl token new printed.');
      return;
    }
    this.busy.set(true);
    try {
      await this.session.signIn(token, this.name().nativeElement.value.trim());
    } catch (failure) {
      const wait = failure instanceof RequestFailed && failure.retryAfterMs;
      this.wrong.set(wait ? `${lineOf(failure)} Try again in ${durationText(wait)}.` : lineOf(failure));
      this.token().nativeElement.select();
    } finally {
      this.busy.set(false);
    }
  }

  // Only within this page: what stands in the address may come from anybody.
  private goOn(): void {
    const to = this.to() ?? '/';
    void this.router.navigateByUrl(/^\/(?![/\\])/.test(to) && !to.startsWith('/sign-in') ? to : '/');
  }
}
