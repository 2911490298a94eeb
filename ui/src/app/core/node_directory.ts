import { inject, Injectable, signal } from '@angular/core';

import { Api } from './api';
import { Live } from './live';
import type { Node } from './types';

/** Which node an owner is. Nodes are known by the owner of their leases; other owners are commands and programs. */
@Injectable()
export class NodeDirectory {
  private readonly api = inject(Api);
  private readonly nodes = signal<ReadonlyMap<string, Node>>(new Map());

  constructor() {
    inject(Live).follow({
      topics: ['nodes'],
      refresh: async () => {
        try {
          const page = await this.api.nodes();
          this.keep(page.nodes);
          return page.as_of;
        } catch {
          // Owners are shown as they are, then. What is wrong with the journal the shell says.
          return '';
        }
      },
      on: { nodes: ({ nodes }) => this.keep(nodes) },
    });
  }

  nodeOf(owner: string): string {
    return this.nodes().get(owner)?.name ?? '';
  }

  private keep(nodes: readonly Node[]): void {
    this.nodes.set(new Map(nodes.map((node) => [node.id, node])));
  }
}
