import { ChangeDetectionStrategy, Component, computed, inject, input, signal } from '@angular/core';
import { RouterLink } from '@angular/router';

import { Api } from '../../core/api';
import { Live } from '../../core/live';
import { UrlQuery } from '../../core/url_query';
import { Query } from '../../core/query';
import type { AuditEntry, AuditPage as AuditList, AuditVerification } from '../../core/types';
import { AsOf } from '../../shared/as_of';
import { CopyButton } from '../../shared/copy_button';
import { Cell, Column, DataTable } from '../../shared/data_table';
import { FilterBox } from '../../shared/filter_box';
import { Moment } from '../../shared/moment';
import { Empty, Failure, Loading } from '../../shared/states';
import { StatusBadge } from '../../shared/status_badge';
import { Mutation } from '../parts/mutation';
import { actionWords, isForced, targetLink } from './audit_words';
import { Visible } from '../../shared/visible';

const pageLength = 100;
const rereadMax = 1_000;

/** Who did what, the newest first, and whether the chain of it still holds. */
@Component({
  selector: 'pawl-audit-page',
  imports: [AsOf, Cell, CopyButton, DataTable, Empty, Failure, FilterBox, Loading, Moment, RouterLink, StatusBadge, Visible],
  changeDetection: ChangeDetectionStrategy.OnPush,
  preserveWhitespaces: true,
  templateUrl: './audit.page.html',
})
export class AuditPage {
  /** Of the query string. */
  readonly q = input<string>();

  private readonly api = inject(Api);
  protected readonly urlQuery = inject(UrlQuery);
  protected readonly query = new Query<AuditList>(() => this.api.audit({ limit: this.wanted() }));
  protected readonly more = new Mutation();
  protected readonly verifying = new Mutation();
  protected readonly verification = signal<AuditVerification | null>(null);
  protected readonly linkOf = targetLink;
  protected readonly wordsOf = actionWords;
  protected readonly forced = isForced;
  protected readonly idOf = (entry: AuditEntry) => String(entry.sequence);
  protected readonly columns: readonly Column<AuditEntry>[] = [
    { id: 'number', title: 'No.', numeric: true, card: 'none' },
    { id: 'at', title: 'Time' },
    { id: 'actor', title: 'User', card: 'head' },
    { id: 'action', title: 'Action', card: 'head' },
    { id: 'target', title: 'Target', card: 'head' },
    { id: 'detail', title: 'Details', card: 'line' },
    { id: 'hash', title: 'Hash', wide: true },
  ];
  protected readonly entries = computed(() => this.query.value()?.audit ?? null);
  protected readonly shown = computed(() => {
    const text = (this.q() ?? '').toLowerCase();
    return (this.entries() ?? []).filter(
      (one) => !text || [one.actor, one.action, one.target, one.detail, actionWords(one)].some((word) => word.toLowerCase().includes(text)),
    );
  });
  protected readonly broken = computed(() => this.verification()?.broken_at ?? null);

  protected readonly following = inject(Live).follow({
    topics: ['audit'],
    refresh: () => this.query.read(),
    on: { audit: ({ as_of, entries }) => this.take(as_of, entries) },
  });

  protected async verify(): Promise<void> {
    await this.verifying.ask(async () => this.verification.set(await this.api.verifyAudit()));
  }

  protected async loadMore(): Promise<void> {
    await this.more.ask(() => this.query.extend(async ({ next }) => {
      const page = await this.api.audit({ after: next, limit: pageLength });
      return (all) => ({ ...all, next: page.next, audit: joined(all.audit, page.audit) });
    }));
  }

  private wanted(): number {
    return Math.min(rereadMax, Math.max(pageLength, this.entries()?.length ?? 0));
  }

  private take(asOf: string, entries: readonly AuditEntry[]): void {
    this.query.update((all) => ({ ...all, as_of: asOf, audit: joined(all.audit, entries) }));
    // A page that is left open for days does not grow for days.
    if ((this.entries()?.length ?? 0) > 2 * rereadMax) void this.following.refresh();
  }
}

/** Each entry once, the newest first. */
function joined(left: readonly AuditEntry[], right: readonly AuditEntry[]): AuditEntry[] {
  const all = new Map([...left, ...right].map((entry) => [entry.sequence, entry]));
  return [...all.values()].sort((one, other) => other.sequence - one.sequence);
}
