import { ChangeDetectionStrategy, Component, inject } from '@angular/core';
import { Router, RouterLink } from '@angular/router';

@Component({
  selector: 'pawl-missing-page',
  imports: [RouterLink],
  changeDetection: ChangeDetectionStrategy.OnPush,
  template: `
    <h1>Page not found</h1>
    <p>No page has the address <code>{{ path }}</code>. Go to the <a routerLink="/">overview</a>.</p>
  `,
})
export class MissingPage {
  protected readonly path = inject(Router).url;
}
