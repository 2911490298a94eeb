import { ChangeDetectionStrategy, Component, input, output } from '@angular/core';

/**
 * A button for something that not everybody may do, or not now. Where one may not it can still be reached, and says why:
 * a disabled button would keep that to itself.
 */
@Component({
  selector: 'pawl-action',
  changeDetection: ChangeDetectionStrategy.OnPush,
  preserveWhitespaces: true,
  template: `
    <button type="button" [class]="look()" [attr.aria-disabled]="whyNot() ? true : null" [attr.title]="whyNot() || hint() || null"
            [attr.aria-description]="whyNot() || null" [attr.aria-label]="label() || null" (click)="whyNot() || act.emit()">
      <ng-content />
    </button>
  `,
})
export class Action {
  /** Empty: it may be done. */
  readonly whyNot = input('');
  readonly hint = input('');
  /** For a screen reader, where the word alone does not say to what it is done. */
  readonly label = input('');
  readonly look = input('');
  readonly act = output<void>();
}
