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

/**
 * Where a node's own web UI is; empty where its address is more than a host that one can read. It comes from the journal,
 * and so from anyone with the store's password: `agent@elsewhere` would lead to a page that asks for a token.
 */
export function webUiHref(address: string): string {
  const match = /^(https?:\/\/)?(\[[\da-f:.]+\]|[\w.-]+)(:\d{1,5})?\/?$/i.exec(address);
  // Nodes of one installation serve alike: with TLS, or without.
  return match ? (match[1] ? address : `${location.protocol}//${address}`) : '';
}
