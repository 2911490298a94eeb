// Turns ../docs/runbook.md into the template of the page /runbook, at each build. A template and no HTML at run time:
// nothing needs to be trusted then, and links lead through the router. Raw HTML of the document comes out as text.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Marked } from 'marked';

const here = dirname(fileURLToPath(import.meta.url));
const source = join(here, '../../docs/runbook.md');
const target = join(here, '../src/app/pages/runbook/runbook.generated.html');

const entities = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', '{': '&#123;', '}': '&#125;', '@': '&#64;' };

/** As text of a template, where braces and @ have a meaning, too. */
function escaped(text) {
  return text.replace(/[&<>"{}@]/g, (one) => entities[one]);
}

/** The anchor that a heading has on every page that shows Markdown. */
export function anchorOf(heading) {
  return heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').trim().replace(/\s/g, '-');
}

// A former anchor of the section that follows: documents, alerts and answers of the API lead to it.
const formerAnchor = /^<a id="([\w-]+)"><\/a>\s*$/;

function plainOf(tokens) {
  return tokens.map((token) => (token.tokens ? plainOf(token.tokens) : (token.text ?? ''))).join('');
}

/** The template, and the anchors that it has. Throws where a link leads to no section. */
export function templateOf(markdown) {
  const anchors = new Map();
  const wanted = new Set();
  const contents = [];

  const renderer = {
    heading({ tokens, depth }) {
      const title = plainOf(tokens);
      const base = anchorOf(title);
      const many = anchors.get(base) ?? 0;
      anchors.set(base, many + 1);
      const anchor = many === 0 ? base : `${base}-${many}`;
      if (depth === 2) contents.push({ anchor, title });
      if (depth === 1) return `<h1>${this.parser.parseInline(tokens)}</h1>\n`;
      return `<h${depth} id="${escaped(anchor)}" tabindex="-1">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
    paragraph({ raw }) {
      const former = formerAnchor.exec(raw);
      if (!former) return false;
      anchors.set(former[1], 1);
      return `<a id="${former[1]}" tabindex="-1"></a>\n`;
    },
    link({ href, tokens }) {
      const inside = this.parser.parseInline(tokens);
      if (href.startsWith('#')) {
        wanted.add(href.slice(1));
        return `<a routerLink="/runbook" fragment="${escaped(href.slice(1))}">${inside}</a>`;
      }
      // Other documents are beside the source, not on this page; nor does the page lead to other hosts.
      const where = /^[a-z]+:/i.test(href) ? href : join('docs', href.replace(/#.*$/, ''));
      return `${inside} <span class="elsewhere">(${escaped(where)})</span>`;
    },
    code({ text }) {
      const command = text.split('\n').find((line) => line.startsWith('$ '));
      const copy = command ? `<pawl-copy-button what="the command" text="${escaped(command.slice(2))}" />` : '';
      return `<div class="listing"><pre><code>${escaped(text)}</code></pre>${copy}</div>\n`;
    },
    codespan({ text }) {
      return `<code>${escaped(text)}</code>`;
    },
    table(token) {
      const cell = (one, tag) => `<${tag}>${this.parser.parseInline(one.tokens)}</${tag}>`;
      const row = (cells) => `<tr>${cells.map((one) => cell(one, 'td')).join('')}</tr>`;
      const head = token.header.map((one) => cell(one, one.tokens.length === 0 ? 'td' : 'th')).join('');
      return `<div class="table-frame" tabindex="0" role="group" aria-label="Table"><table><thead><tr>${head}</tr></thead><tbody>${token.rows.map(row).join('')}</tbody></table></div>\n`;
    },
    image({ text }) {
      return escaped(text);
    },
    html({ text }) {
      return escaped(text);
    },
    text(token) {
      return token.tokens ? this.parser.parseInline(token.tokens) : escaped(unescaped(token.text));
    },
  };

  const body = new Marked({ renderer, gfm: true }).parse(markdown);
  for (const anchor of wanted) {
    if (!anchors.has(anchor) && !contents.some((one) => one.anchor === anchor)) throw new Error(`runbook: no section #${anchor}`);
  }
  const links = contents.map(({ anchor, title }) => `<li><a routerLink="/runbook" fragment="${escaped(anchor)}">${escaped(title)}</a></li>`);
  return {
    anchors: contents.map(({ anchor }) => anchor),
    template: `<nav class="contents" aria-label="Sections of the runbook"><ul>\n${links.join('\n')}\n</ul></nav>\n<article class="prose">\n${body}</article>\n`,
  };
}

// The lexer has turned entities of the source into none of its own; what it left is what was written.
function unescaped(text) {
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name) => ({ amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" })[name]);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, templateOf(readFileSync(source, 'utf8')).template);
}
