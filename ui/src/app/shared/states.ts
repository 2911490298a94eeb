import { ChangeDetectionStrategy, Component, input, output } from '@angular/core';

/** Something is being read for the first time. */
@Component({
  selector: 'pawl-loading',
  changeDetection: ChangeDetectionStrategy.OnPush,
  host: { class: 'state loading', role: 'status' },
  template: '<span class="spinner" aria-hidden="true"></span> Loading {{ what() }}…',
})
export class Loading {
  readonly what = input.required<string>();
}

/** There is nothing; why, and what would bring something, is its content. */
@Component({
  selector: 'pawl-empty',
  changeDetection: ChangeDetectionStrategy.OnPush,
  host: { class: 'state empty' },
  template: '<p class="state-title">{{ heading() }}</p><div class="state-text"><ng-content /></div>',
})
export class Empty {
  readonly heading = input.required<string>();
}

/** It could not be read or done: the problem's own line. */
@Component({
  selector: 'pawl-failure',
  changeDetection: ChangeDetectionStrategy.OnPush,
  host: { class: 'state failure', role: 'alert' },
  template: `
    <p class="state-title">{{ heading() }}</p>
    <p class="state-text">{{ line() }}</p>
    @if (again() !== '') { <button type="button" (click)="retry.emit()">{{ again() }}</button> }
  `,
})
export class Failure {
  readonly heading = input('Request failed');
  readonly line = input.required<string>();
  /** The word on the button that tries again; empty: no button. */
  readonly again = input('Try again');
  readonly retry = output<void>();
}
