import { jobLink, lockLink } from '../../core/links';
import type { AuditEntry } from '../../core/types';

const words: Record<string, string> = {
  'lock.release': 'force-released',
  'job.pause': 'paused',
  'job.resume': 'resumed',
  'job.run': 'triggered',
  'job.fail_open': 'ran without a lease',
  'exec.fail_open': 'ran a command without a lease',
  'run.cancel': 'cancelled',
  'lease.acquire': 'acquired',
  'lease.release': 'released',
  'fence.check': 'checked a token for',
  'session.open': 'signed in',
  'session.close': 'signed out',
  'session.rejected': 'sign-in failed',
};

/** What was done, in words; an action that this version does not know, by its name. */
export function actionWords(entry: Pick<AuditEntry, 'action'>): string {
  return words[entry.action] ?? entry.action;
}

/** What force-releases a holder, or runs without a lease, is what is looked for afterwards. */
export function isForced(entry: Pick<AuditEntry, 'action'>): boolean {
  return entry.action === 'lock.release' || entry.action.endsWith('.fail_open');
}

/** Where the target is on this page, or null. */
export function targetLink(entry: Pick<AuditEntry, 'action' | 'target'>): string[] | null {
  if (!entry.target) return null;
  if (/^(lock|exec)\./.test(entry.action)) return lockLink(entry.target);
  if (entry.action.startsWith('job.')) return jobLink(entry.target);
  return entry.action.startsWith('run.') ? ['/runs', entry.target] : null;
}
