import { ChangeDetectionStrategy, Component, computed, inject } from '@angular/core';
import { RouterLink } from '@angular/router';

import { Api } from '../../core/api';
import { runbookLink } from '../../core/links';
import { Live } from '../../core/live';
import { Query } from '../../core/query';
import type { Finding } from '../../core/types';
import { AsOf } from '../../shared/as_of';
import { Failure, Loading } from '../../shared/states';
import { StatusBadge, Tone } from '../../shared/status_badge';

const tones: Record<Finding['level'], Tone> = { OK: 'ok', WARN: 'warn', FAIL: 'fail' };
const ranks: Record<Finding['level'], number> = { FAIL: 0, WARN: 1, OK: 2 };

@Component({
  selector: 'pawl-doctor-page',
  imports: [RouterLink, AsOf, Failure, Loading, StatusBadge],
  changeDetection: ChangeDetectionStrategy.OnPush,
  templateUrl: './doctor.page.html',
})
export class DoctorPage {
  private readonly api = inject(Api);
  protected readonly query = new Query(() => this.api.doctor());
  protected readonly tones = tones;
  protected readonly runbookLink = runbookLink;

  /** The worst first; within a level as the doctor says them. */
  protected readonly checks = computed(() => [...(this.query.value()?.checks ?? [])].sort((a, b) => ranks[a.level] - ranks[b.level]));
  protected readonly outcome = computed(() => {
    const checks = this.checks();
    const count = (level: Finding['level']) => checks.filter((one) => one.level === level).length;
    const warnings = count('WARN') === 1 ? '1 warning' : `${count('WARN')} warnings`;
    if (count('FAIL')) return `${count('FAIL')} failed, ${warnings}`;
    return count('WARN') ? warnings : 'All checks passed';
  });

  private readonly following = inject(Live).follow({ topics: [], refresh: () => this.query.read() });

  protected again(): void {
    void this.following.refresh();
  }
}
