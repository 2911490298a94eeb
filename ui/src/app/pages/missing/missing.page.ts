import { ChangeDetectionStrategy, Component, inject } from '@angular/core';
import { Router, RouterLink } from '@angular/router';

@Component({
  selector: 'pawl-missing-page',
  imports: [RouterLink],
  changeDetection: ChangeDetectionStrategy.OnPush,
  template: `
    <h1>There is no such page</h1>
    <p>Nothing is at <code>{{ path }}</code>. The <a routerLink="/">overview</a> leads to everything that there is.</p>
  `,
})
export class MissingPage {
  protected readonly path = inject(Router).url;
}
