import { ChangeDetectionStrategy, Component, computed, DestroyRef, effect, inject, input, output, signal, untracked } from '@angular/core';
import { RouterLink } from '@angular/router';

import { Api, lineOf, RequestFailed } from '../../core/api';
import { lockLink } from '../../core/links';
import { countdownText } from '../../core/time';
import type { DryRun, Job, Lock, RunRequest } from '../../core/types';
import { Dialog } from '../../shared/dialog';
import { partsOf } from '../job/partitions';
import { Mutation } from './mutation';
import { commandLine } from './definition';
import { shortId } from './run_facts';
import { Visible } from '../../shared/visible';

/** Typing is over when nothing has been typed for so long. */
const typingPauseMs = 300;
/** Of a job with many partitions, so many are shown. */
const leasesShown = 16;

/** Queues a run now, after a preview of what exactly would run and who is in the way. */
@Component({
  selector: 'pawl-run-dialog',
  imports: [Dialog, RouterLink, Visible],
  changeDetection: ChangeDetectionStrategy.OnPush,
  preserveWhitespaces: true,
  template: `
    <pawl-dialog [open]="true" (openChange)="$event || closed.emit()" [heading]="'Run ' + job().name + ' now'" [busy]="mutation.busy()">
      @if (ids() ?? perhaps(); as shown) {
        @if (ids()) {
          <p role="status">Queued. The first node with a free slot that acquires the lock starts {{ shown.length === 1 ? 'it' : 'them' }}, usually within a second.</p>
        } @else {
          <p class="wrong" role="alert">{{ mutation.failureAs('Not queued') }}</p>
          <p>Perhaps queued; another request would queue more runs:</p>
        }
        <ul class="asked" data-scrolls>
          @for (id of shown; track id; let first = $first) { <li><a [routerLink]="['/runs', id]" [attr.autofocus]="first ? '' : null">Follow run {{ short(id) }}</a></li> }
        </ul>
        <div class="buttons"><button type="button" (click)="closed.emit()">Close</button></div>
      } @else {
        <form class="form" (submit)="$event.preventDefault(); run()">
          <p>The run acquires the job's lock like any other run, and waits while another run holds it.</p>
          @if (parts().count > 1) {
            <label class="field">
              <span>{{ parts().word === 'slot' ? 'Slot' : 'Partition' }}</span>
              <select #part (change)="partition.set(part.value)">
                <option value="">{{ parts().word === 'slot' ? 'Any that is free' : 'All ' + parts().count }}</option>
                @for (one of partitions(); track one) { <option [value]="one">{{ one }}</option> }
              </select>
            </label>
          }
          <label class="check">
            <input #goOn type="checkbox" [checked]="resume()" (change)="resume.set(goOn.checked)" />
            <span>Resume from last checkpoint</span>
          </label>
          @if (job().arguments) {
            <label class="field">
              <span>Extra arguments, one per line</span>
              <textarea #words rows="2" autocomplete="off" spellcheck="false" (input)="typed(words.value)"
                        [attr.aria-describedby]="patterns().length ? 'patterns' : null"></textarea>
            </label>
            @if (patterns().length) {
              <p id="patterns" class="patterns">Allowed: @for (one of patterns(); track one; let last = $last) {<code>{{ one }}</code>{{ last ? '' : ', ' }}}</p>
            }
          }
          <section class="preview" aria-label="Preview" [attr.aria-busy]="previewing()">
            <h3>Preview</h3>
            @if (preview(); as shown) {
              <pre class="command"><code>{{ commandOf(shown) }}</code></pre>
              @if (shown.live_nodes === 0) { <p><strong>No live node, run stays queued.</strong></p> }
              @else { <p>On one of {{ shown.live_nodes }} live {{ shown.live_nodes === 1 ? 'node' : 'nodes' }}.</p> }
              <ul class="leases" data-scrolls>
                @for (one of leasesOf(shown); track one.key) {
                  <li><a class="mono" [routerLink]="lockLink(one.key)">{{ one.key | visible }}</a> {{ leaseText(one.lease) }}
                    @if (resume()) { <span class="checkpoint">{{ one.checkpoint ? 'from checkpoint ' + one.checkpoint : 'no checkpoint: starts over' }}</span> }
                  </li>
                }
                @if (shown.runs.length > leasesShown) { <li>and {{ shown.runs.length - leasesShown }} more</li> }
              </ul>
            } @else if (!previewFailure()) { <p class="faint">Loading…</p> }
            @if (previewFailure()) { <p class="wrong" role="alert">Cannot run: {{ previewFailure() }}</p> }
          </section>
          @if (mutation.failureAs('Not queued'); as line) { <p class="wrong" role="alert">{{ line }}</p> }
          <div class="buttons">
            <button type="button" (click)="closed.emit()" [disabled]="mutation.busy()">Cancel</button>
            <button type="submit" class="first" autofocus [disabled]="mutation.busy() || previewFailure() !== ''">Run now</button>
          </div>
        </form>
      }
    </pawl-dialog>
  `,
})
export class RunDialog {
  readonly job = input.required<Job>();
  readonly closed = output<void>();

  private readonly api = inject(Api);
  protected readonly mutation = new Mutation();
  protected readonly partition = signal('');
  protected readonly resume = signal(false);
  private readonly words = signal<readonly string[]>([], { equal: (left, right) => left.join('\n') === right.join('\n') && left.length === right.length });
  protected readonly ids = signal<readonly string[] | null>(null);
  /** The last of these is not sure, or further ones were not queued. */
  protected readonly perhaps = signal<readonly string[] | null>(null);
  protected readonly preview = signal<DryRun | null>(null);
  protected readonly previewing = signal(false);
  protected readonly previewFailure = signal('');
  protected readonly leasesShown = leasesShown;
  protected readonly short = shortId;
  protected readonly lockLink = lockLink;
  protected readonly parts = computed(() => partsOf(this.job()));
  protected readonly partitions = computed(() => Array.from({ length: this.parts().count }, (_, place) => place));
  /** Each argument has to match one of them; none where any argument is allowed, or none is. */
  protected readonly patterns = computed(() => (Array.isArray(this.job().arguments) ? this.job().arguments as string[] : []));
  private readonly wanted = computed<RunRequest>(() => ({
    resume: this.resume(),
    // What was typed is not sent once the configuration allows none.
    args: this.job().arguments ? [...this.words()] : [],
    ...(this.partition() === '' ? {} : { partition: Number(this.partition()) }),
  }));
  private readonly name = computed(() => this.job().name);
  private text = '';
  private turn = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    inject(DestroyRef).onDestroy(() => clearTimeout(this.timer));
    effect((cleanup) => {
      const [name, wanted] = [this.name(), this.wanted()];
      untracked(() => void this.look(name, wanted));
      cleanup(() => (this.turn += 1));
    });
  }

  protected typed(text: string): void {
    this.text = text;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.settle(), typingPauseMs);
  }

  protected commandOf(shown: DryRun): string {
    return commandLine(shown.command);
  }

  protected leasesOf(shown: DryRun): DryRun['runs'] {
    return shown.runs.slice(0, leasesShown);
  }

  protected leaseText(lease: Lock | null): string {
    if (lease === null || (!lease.held && lease.remaining_ms <= 0)) return 'is free';
    const left = countdownText(lease.remaining_ms);
    return lease.held ? `is held by ${lease.owner}, expires in ${left} unless renewed: the run waits` : `is in cooldown for ${left}: the run waits`;
  }

  protected async run(): Promise<void> {
    this.settle();
    await this.mutation.ask(async () => {
      try {
        this.ids.set((await this.api.runJob(this.name(), { ...this.wanted(), dry_run: false })).ids);
      } catch (failure) {
        this.perhaps.set(idsIn(failure));
        throw failure;
      }
    });
  }

  private settle(): void {
    clearTimeout(this.timer);
    this.words.set(argumentsOf(this.text));
  }

  private async look(name: string, wanted: RunRequest): Promise<void> {
    const turn = (this.turn += 1);
    this.previewing.set(true);
    try {
      const shown = await this.api.dryRunJob(name, wanted);
      if (turn !== this.turn) return;
      this.preview.set(shown);
      this.previewFailure.set('');
    } catch (failure) {
      if (turn !== this.turn) return;
      this.preview.set(null);
      this.previewFailure.set(lineOf(failure));
    }
    this.previewing.set(false);
  }
}

/** One argument on each line, exactly as it stands there; an empty last line is none. */
export function argumentsOf(text: string): string[] {
  const lines = text.replace(/\r/g, '').split('\n');
  if (lines[lines.length - 1] === '') lines.pop();
  return lines;
}

/** Of a failure that says which runs it has queued, or may have. */
function idsIn(failure: unknown): string[] | null {
  const ids = failure instanceof RequestFailed ? failure.more['ids'] : null;
  return Array.isArray(ids) && ids.length > 0 ? ids.map(String) : null;
}
