import { Pipe, PipeTransform } from '@angular/core';

// What is seen as nothing or turns the order of a line around: what the command writes as <U+200B> as well.
const unseen = /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Cc}\u2028\u2029\ufff9-\ufffb]/gu;

/** A name with its invisible characters shown, so that no two names look alike. */
export function visibleText(name: string): string {
  return name.replace(unseen, (one) => `<U+${one.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}>`);
}

/** For keys, owners, jobs, nodes and users wherever people read them; addresses and requests keep the name as it is. */
@Pipe({ name: 'visible' })
export class Visible implements PipeTransform {
  transform(name: string | null | undefined): string {
    return visibleText(name ?? '');
  }
}
