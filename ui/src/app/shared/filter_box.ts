import { ChangeDetectionStrategy, Component, DestroyRef, ElementRef, inject, input, model, viewChild } from '@angular/core';

const pauseMs = 150;
let count = 0;

/** Narrows a list by a text, while it is typed. `/` leads here from anywhere on the page. */
@Component({
  selector: 'pawl-filter-box',
  changeDetection: ChangeDetectionStrategy.OnPush,
  host: { class: 'filter-box', '(document:keydown)': 'shortcut($event)' },
  template: `
    <label [attr.for]="id">{{ label() }}</label>
    <input #field type="search" [id]="id" [value]="text()" [placeholder]="placeholder()" (input)="typed(field.value)"
           (keydown.escape)="field.value = ''; typed('')" autocomplete="off" spellcheck="false" />
  `,
})
export class FilterBox {
  readonly text = model.required<string>();
  readonly label = input('Filter');
  readonly placeholder = input('');

  protected readonly id = `filter-${(count += 1)}`;
  private readonly field = viewChild.required<ElementRef<HTMLInputElement>>('field');
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    inject(DestroyRef).onDestroy(() => clearTimeout(this.timer));
  }

  protected typed(text: string): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.text.set(text), pauseMs);
  }

  protected shortcut(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (event.key !== '/' || event.ctrlKey || event.metaKey || target.matches('input, textarea, select') ||
        document.querySelector('dialog[open]')) {
      return;
    }
    event.preventDefault();
    this.field().nativeElement.focus();
  }
}
