import { ChangeDetectionStrategy, Component, input } from '@angular/core';
import { RouterLink } from '@angular/router';

import { lockLink } from '../../core/links';
import type { Job } from '../../core/types';
import { Line } from '../../shared/line';
import { StatusBadge } from '../../shared/status_badge';
import { failuresText, toneOfJob, wordOfJob } from './job_state';
import { Visible } from '../../shared/visible';

/** How a job stands, why, and where to go on from there. */
@Component({
  selector: 'pawl-job-state',
  imports: [Line, RouterLink, StatusBadge, Visible],
  changeDetection: ChangeDetectionStrategy.OnPush,
  preserveWhitespaces: true,
  template: `
    <pawl-status-badge [tone]="toneOf(job().state)" [word]="wordOf(job())" />
    <ng-content />
    @if (failures(job()); as text) { <span class="aside bad">{{ text }}</span> }
    @if (job().why) { <span class="why">{{ job().why | line }}</span> }
    @if (job().blocked_by; as other) {
      <span class="ways">
        <a [routerLink]="lockLink(other.key)">Lock<span class="unseen"> {{ other.key | visible }}</span></a>
        <a [routerLink]="lockLink(other.key)" [queryParams]="{ action: 'force-release' }">Force release<span class="unseen"> {{ other.key | visible }}</span></a>
      </span>
    }
  `,
})
export class JobStateCell {
  readonly job = input.required<Job>();

  protected readonly lockLink = lockLink;
  protected readonly toneOf = toneOfJob;
  protected readonly wordOf = wordOfJob;
  protected readonly failures = failuresText;
}
