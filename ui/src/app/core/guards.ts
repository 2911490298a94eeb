import { inject } from '@angular/core';
import { CanActivateFn, Router } from '@angular/router';

import { Session } from './session';

/** Leads to the sign-in page, and from there back to where the user wanted to go. */
export const signedIn: CanActivateFn = async (_route, state) => {
  const session = inject(Session);
  const router = inject(Router);
  try {
    if (await session.known()) return true;
  } catch {
    // No answer: the shell says so, and the sign-in page can be tried.
  }
  return router.createUrlTree(['/sign-in'], { queryParams: state.url === '/' ? {} : { to: state.url } });
};
