import { inject, Injectable } from '@angular/core';
import { Title } from '@angular/platform-browser';
import { RouterStateSnapshot, TitleStrategy } from '@angular/router';

/** `Locks · pawl`, and for one thing its name first: `job/report · Lock · pawl`. */
@Injectable({ providedIn: 'root' })
export class PageTitle extends TitleStrategy {
  private readonly title = inject(Title);
  private section = '';
  private subject = '';
  private path = '';

  override updateTitle(snapshot: RouterStateSnapshot): void {
    const path = snapshot.url.split(/[?#]/)[0];
    // Another filter of the same thing is still about it.
    if (path !== this.path) this.subject = '';
    this.path = path;
    this.section = this.buildTitle(snapshot) ?? '';
    this.set();
  }

  /** For a page that shows one thing, once it knows which. */
  name(subject: string): void {
    this.subject = subject;
    this.set();
  }

  private set(): void {
    this.title.setTitle([this.subject, this.section, 'pawl'].filter(Boolean).join(' · '));
  }
}
