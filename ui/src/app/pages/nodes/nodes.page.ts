import { ChangeDetectionStrategy, Component, inject, signal } from '@angular/core';
import { RouterLink } from '@angular/router';

import { Api } from '../../core/api';
import { webUiHref } from '../../core/links';
import { Live } from '../../core/live';
import { Query } from '../../core/query';
import type { Node, NodePage } from '../../core/types';
import { AsOf } from '../../shared/as_of';
import { Cell, Column, DataTable } from '../../shared/data_table';
import { Moment } from '../../shared/moment';
import { Empty, Failure, Loading } from '../../shared/states';
import { StatusBadge, Tone } from '../../shared/status_badge';
import { Visible } from '../../shared/visible';

const tones: Record<Node['state'], Tone> = { live: 'ok', draining: 'warn', unresponsive: 'fail' };

/** The agents that were seen within a day: who is there, how busy each is, and where its own page is. */
@Component({
  selector: 'pawl-nodes-page',
  imports: [AsOf, Cell, DataTable, Empty, Failure, Loading, Moment, RouterLink, StatusBadge, Visible],
  changeDetection: ChangeDetectionStrategy.OnPush,
  preserveWhitespaces: true,
  templateUrl: './nodes.page.html',
})
export class NodesPage {
  private readonly api = inject(Api);
  private readonly live = inject(Live);
  protected readonly query = new Query<NodePage>(() => this.api.nodes());
  protected readonly page = this.query.value;
  protected readonly sort = signal('node');
  protected readonly webUiHref = webUiHref;
  protected readonly idOf = (node: Node) => node.id;
  protected readonly columns: readonly Column<Node>[] = [
    { id: 'node', title: 'Node', by: (node) => node.name, card: 'head' },
    { id: 'state', title: 'State', by: (node) => node.state, card: 'head' },
    { id: 'load', title: 'Load', by: (node) => (node.running_max ? node.running / node.running_max : 0) },
    { id: 'jobs', title: 'Jobs', by: (node) => node.jobs, numeric: true },
    { id: 'seen', title: 'Last heartbeat', by: (node) => node.last_seen },
    { id: 'started', title: 'Started', by: (node) => node.started_at, wide: true },
    { id: 'version', title: 'Version', by: (node) => node.version, wide: true },
    { id: 'page', title: 'Web UI' },
  ];

  protected readonly following = this.live.follow({
    topics: ['nodes'],
    refresh: () => this.query.read(),
    on: { nodes: ({ as_of, nodes }) => this.query.update((page) => ({ ...page, nodes, as_of })) },
  });

  protected toneOf(node: Node): Tone {
    return tones[node.state] ?? 'idle';
  }

  protected here(node: Node): boolean {
    return this.live.overview()?.node === node.name && node.state !== 'unresponsive';
  }

  protected share(node: Node): number {
    return node.running_max > 0 ? Math.min(100, (node.running / node.running_max) * 100) : 0;
  }
}
