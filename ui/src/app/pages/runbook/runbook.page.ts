import { afterRenderEffect, ChangeDetectionStrategy, Component, DOCUMENT, inject } from '@angular/core';
import { toSignal } from '@angular/core/rxjs-interop';
import { ActivatedRoute, RouterLink } from '@angular/router';

import { CopyButton } from '../../shared/copy_button';

/** docs/runbook.md, which tools/runbook.mjs has made the template at build time: every hint on other pages leads here. */
@Component({
  selector: 'pawl-runbook',
  imports: [RouterLink, CopyButton],
  changeDetection: ChangeDetectionStrategy.OnPush,
  preserveWhitespaces: true,
  host: { class: 'runbook' },
  templateUrl: './runbook.generated.html',
})
export class RunbookPage {
  constructor() {
    const document = inject(DOCUMENT);
    const section = toSignal(inject(ActivatedRoute).fragment);
    // The keyboard and a screen reader go on from the section that the link named.
    afterRenderEffect(() => {
      const anchor = section();
      if (anchor) document.getElementById(anchor)?.focus();
    });
  }
}
