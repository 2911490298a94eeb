import { inject, Pipe, PipeTransform } from '@angular/core';

import { Clock, lineText } from '../core/time';

/** A line of the server for people: its times are the viewer's. The day changes while a page is open, so it is impure. */
@Pipe({ name: 'line', pure: false })
export class Line implements PipeTransform {
  private readonly clock = inject(Clock);

  transform(line: string): string {
    return lineText(line, this.clock.now());
  }
}
