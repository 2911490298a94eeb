import { pathOf } from './api';

/** Router links: a key's slashes are part of its path. */
export function lockLink(key: string): string[] {
  return ['/locks', ...key.split('/')];
}

export function runbookLink(anchor: string): { path: string; fragment: string | undefined } {
  const fragment = anchor.includes('#') ? anchor.slice(anchor.indexOf('#') + 1) : anchor;
  return { path: '/runbook', fragment: fragment || undefined };
}

/** The same as text, for an href. */
export function lockHref(key: string): string {
  return `/locks/${pathOf(key)}`;
}
