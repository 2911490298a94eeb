/** One setting of a job as people read it. */
export interface Setting {
  readonly name: string;
  readonly text: string;
  /** It is a command, a path or a list: shown as it is written. */
  readonly code: boolean;
}

/** Of the command, as a shell would need it: for reading and copying. */
export function commandLine(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ');
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return 'none';
  if (typeof value === 'object' && !Array.isArray(value)) {
    return Object.entries(value as Record<string, unknown>).map(([name, one]) => `${name} = ${textOf(one)}`).join(', ');
  }
  if (Array.isArray(value)) return value.map(textOf).join(', ');
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value);
}

/** What a job's configuration says, in the order in which the agent published it; empty values left out. */
export function settingsOf(definition: Readonly<Record<string, unknown>>): Setting[] {
  const settings: Setting[] = [];
  for (const [name, value] of Object.entries(definition)) {
    const command = Array.isArray(value) && value.every((word) => typeof word === 'string');
    const text = name === 'command' && command ? commandLine(value as string[]) : textOf(value);
    if (text !== '' && text !== 'none') settings.push({ name, text, code: typeof value === 'object' });
  }
  return settings;
}
