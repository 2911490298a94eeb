// Writes the files of ../dist as one C++ source with a table of them. Usage: node tools/embed.mjs FOLDER
// FOLDER gets page.cpp and the files that it takes in; what is there already and right is left alone.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const dist = join(dirname(fileURLToPath(import.meta.url)), '../dist');
const folder = process.argv[2];
if (!folder) {
  console.error('usage: node tools/embed.mjs FOLDER');
  process.exit(64);
}

const types = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
};
/** Smaller savings are not worth a second copy. */
const worthwhile = 0.9;

mkdirSync(join(folder, 'files'), { recursive: true });
const keep = (name, bytes) => {
  const path = join(folder, name);
  if (!existsSync(path) || !readFileSync(path).equals(bytes)) writeFileSync(path, bytes);
};

const names = readdirSync(dist, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
  .map((entry) => join(entry.parentPath, entry.name).slice(dist.length + 1))
  .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));

const symbols = [];
const rows = [];
const written = new Set();
const data = (symbol, file, bytes) => {
  keep(join('files', file), bytes);
  written.add(file);
  symbols.push(`PAWL_FILE(${symbol}, "${file}");`);
  return `{pawl_web_ui_${symbol}, ${bytes.length}}`;
};
names.forEach((name, index) => {
  const plain = readFileSync(join(dist, name));
  const type = types[extname(name)];
  if (!type) throw new Error(`tools/embed.mjs: no type for ${name}: add its ending to the list`);
  const etag = createHash('sha256').update(plain).digest('hex').slice(0, 16);
  // No time in its head: the same page gives the same binary.
  const zipped = gzipSync(plain, { level: 9 });
  const small = zipped.length < plain.length * worthwhile;
  const immutable = /-[A-Z0-9]{8}\.(js|css)$/.test(name);
  const flat = String(index);
  rows.push(`    {"/${name}", "${type}", "${etag}", ${immutable}, ${data(`plain_${flat}`, flat, plain)}, ` +
    `${small ? data(`gzip_${flat}`, `${flat}.gz`, zipped) : '{}'}},  // ${plain.length}, ${zipped.length} zipped`);
});
for (const old of readdirSync(join(folder, 'files'))) {
  if (!written.has(old)) rmSync(join(folder, 'files', old));
}

// The assembler takes the files in, which is a hundred times faster than an array in C++. Their names are relative to
// a folder that -I gives it, so that no path of this machine gets into the binary.
keep('page.cpp', Buffer.from(`// Written by ui/tools/embed.mjs.
#include "api/assets.hpp"

#include <array>

#define PAWL_FILE(symbol, file)                                            \\
    asm(".section .rodata.pawl_web_ui,\\"a\\"\\n.balign 16\\n"                    \\
        ".hidden pawl_web_ui_" #symbol "\\n.globl pawl_web_ui_" #symbol "\\n"     \\
        "pawl_web_ui_" #symbol ":\\n.incbin \\"" file "\\"\\n.previous\\n");       \\
    extern "C" const std::byte pawl_web_ui_##symbol[]

${symbols.join('\n')}

namespace pawl::ui {
namespace {

const std::array<asset, ${names.length}> table{{
${rows.join('\n')}
}};

}  // namespace

std::span<const asset> assets() noexcept { return table; }

}  // namespace pawl::ui
`));
// For ninja: it has been looked at.
utimesSync(join(folder, 'page.cpp'), new Date(), new Date());
