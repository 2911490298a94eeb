import { DestroyRef, inject } from '@angular/core';

/**
 * Does something at once and then at most so often, however often it is asked for: many changes in a row are one. Ends
 * with the component that made it.
 */
export function atMostEvery(pauseMs: number, what: () => unknown): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let again = false;
  inject(DestroyRef).onDestroy(() => clearTimeout(timer));
  const due = () => {
    timer = undefined;
    if (again) ask();
  };
  const ask = () => {
    again = timer !== undefined;
    if (again) return;
    timer = setTimeout(due, pauseMs);
    what();
  };
  return ask;
}
