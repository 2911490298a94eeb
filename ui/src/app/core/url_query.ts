import { inject, Injectable } from '@angular/core';
import { ActivatedRoute, Router } from '@angular/router';

/** Keeps what a page shows in its address, so that it can be shared. */
@Injectable({ providedIn: 'root' })
export class UrlQuery {
  private readonly router = inject(Router);

  /** Of the present page; an empty value is left out. Typing a filter leaves no trail of steps back. */
  set(changes: Record<string, string>): void {
    let route: ActivatedRoute = this.router.routerState.root;
    while (route.firstChild) route = route.firstChild;
    const queryParams = Object.fromEntries(Object.entries(changes).map(([name, value]) => [name, value || null]));
    void this.router.navigate([], { relativeTo: route, queryParams, queryParamsHandling: 'merge', replaceUrl: true });
  }
}
