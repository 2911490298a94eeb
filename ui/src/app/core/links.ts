import { isDots, segmentsOf } from './api';

/** Router links: a key's slashes are part of its path. Null where no URL can have the key. */
export function lockLink(key: string): string[] | null {
  return isDots(key) ? null : ['/locks', ...segmentsOf(key)];
}

/** What runs under a key is called by it, so that it may be one that no URL can have. */
export function jobLink(name: string): string[] | null {
  return isDots(name) ? null : ['/jobs', name];
}

export function runbookLink(anchor: string): { path: string; fragment: string | undefined } {
  const fragment = anchor.includes('#') ? anchor.slice(anchor.indexOf('#') + 1) : anchor;
  return { path: '/runbook', fragment: fragment || undefined };
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
