/**
 * The session's own token, which writes carry. The cookie goes to every port of the host; what is kept here is for the page
 * of this port alone, and for all its windows.
 */
export const tokenKey = 'pawl.session';

/** A browser that rejects storage is no reason to fail: the token holds until the page is closed, then. */
export function storedToken(): string {
  try {
    return localStorage.getItem(tokenKey) ?? '';
  } catch {
    return '';
  }
}

export function keepToken(token: string): void {
  try {
    localStorage.setItem(tokenKey, token);
  } catch {
    // See above.
  }
}

export function forgetToken(): void {
  try {
    localStorage.removeItem(tokenKey);
  } catch {
    // See above.
  }
}

/** What a login link has put into the address, and takes it out; empty where there is none. Before the router reads it. */
export function tokenOfLink(): string {
  const found = /^#session=([\w-]{43})$/.exec(location.hash);
  if (found) history.replaceState(history.state, '', location.pathname + location.search);
  return found?.[1] ?? '';
}
