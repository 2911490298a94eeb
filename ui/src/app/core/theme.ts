/** Light, dark, or what the system says; kept in this browser. */
export type Theme = 'system' | 'light' | 'dark';

const storageKey = 'pawl.theme';

/** A browser that rejects storage is no reason to fail. */
export function storedTheme(): Theme {
  try {
    const kept = localStorage.getItem(storageKey);
    return kept === 'light' || kept === 'dark' ? kept : 'system';
  } catch {
    return 'system';
  }
}

export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}

export function chooseTheme(theme: Theme): void {
  applyTheme(theme);
  try {
    if (theme === 'system') localStorage.removeItem(storageKey);
    else localStorage.setItem(storageKey, theme);
  } catch {
    // It holds until the page is closed, then.
  }
}
