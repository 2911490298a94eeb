// Fails when what a browser has to load first, gzipped, is above its budget. Usage: node tools/budget.mjs
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const budgetBytes = 120 * 1024;
const dist = join(dirname(fileURLToPath(import.meta.url)), '../dist');
const size = (name) => gzipSync(readFileSync(join(dist, name)), { level: 9 }).length;

// The files that index.html names, and what those import before they run.
const index = readFileSync(join(dist, 'index.html'), 'utf8');
const first = new Set(['index.html', ...[...index.matchAll(/(?:src|href)="\/([^"]+\.(?:js|css|svg))"/g)].map(([, name]) => name)]);
for (const name of first) {
  if (!name.endsWith('.js')) continue;
  for (const [, imported] of readFileSync(join(dist, name), 'utf8').matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g)) first.add(imported);
}
const bytes = [...first].reduce((sum, name) => sum + size(name), 0);
const all = readdirSync(dist).filter((name) => !name.startsWith('.')).reduce((sum, name) => sum + size(name), 0);
console.log(`the shell is ${(bytes / 1024).toFixed(1)} KiB gzipped in ${first.size} files, the whole page ${(all / 1024).toFixed(1)} KiB`);
if (bytes > budgetBytes) {
  console.error(`tools/budget.mjs: what loads first may have ${budgetBytes / 1024} KiB`);
  process.exit(1);
}
