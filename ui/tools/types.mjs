// Writes src/app/core/types.ts from the API's contract, ../src/api/openapi.json.
// With --check it only says whether the file is what it would write.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const contract = join(here, '../../src/api/openapi.json');
const target = join(here, '../src/app/core/types.ts');
const schemas = JSON.parse(readFileSync(contract, 'utf8')).components.schemas;

function comment(text, indent) {
  return text ? `${indent}/** ${text.replaceAll('*/', '* /')} */\n` : '';
}

function typeOf(schema, indent) {
  if (schema.$ref) return schema.$ref.split('/').at(-1);
  if (schema.oneOf) return schema.oneOf.map((one) => typeOf(one, indent)).join(' | ');
  if (schema.allOf) return schema.allOf.map((one) => typeOf(one, indent)).join(' & ');
  if (schema.enum) return schema.enum.map((one) => `'${one}'`).join(' | ');
  if (Array.isArray(schema.type)) {
    return schema.type.map((type) => typeOf({ ...schema, type }, indent)).join(' | ');
  }
  switch (schema.type) {
    case 'integer':
    case 'number':
      return 'number';
    case 'string':
      return 'string';
    case 'boolean':
      return 'boolean';
    case 'null':
      return 'null';
    case 'array': {
      const inner = typeOf(schema.items, indent);
      return /[|&]/.test(inner) && !inner.startsWith('{') ? `(${inner})[]` : `${inner}[]`;
    }
    case 'object':
      return schema.properties ? objectOf(schema, indent) : 'Record<string, unknown>';
    default:
      throw new Error(`${contract}: no type for ${JSON.stringify(schema)}`);
  }
}

function objectOf(schema, indent) {
  const required = new Set(schema.required ?? []);
  const deeper = `${indent}  `;
  const members = Object.entries(schema.properties).map(([name, property]) => {
    const mark = required.has(name) ? '' : '?';
    return `${comment(property.description, deeper)}${deeper}${name}${mark}: ${typeOf(property, deeper)};\n`;
  });
  return `{\n${members.join('')}${indent}}`;
}

let text = '// Written by tools/types.mjs from src/api/openapi.json. Change that, and run `npm run types`.\n';
for (const [name, schema] of Object.entries(schemas)) {
  text += `\n${comment(schema.description, '')}export type ${name} = ${typeOf(schema, '')};\n`;
}

if (process.argv.includes('--check')) {
  if (readFileSync(target, 'utf8') !== text) {
    console.error('src/app/core/types.ts is not what src/api/openapi.json says: run `npm run types` in ui');
    process.exit(1);
  }
} else {
  writeFileSync(target, text);
}
