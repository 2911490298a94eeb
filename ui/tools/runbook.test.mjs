// What the runbook's template must be, whatever the document says: run with `node --test ui/tools`.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { templateOf } from './runbook.mjs';

test('raw HTML of the document comes out as text', () => {
  const { template } = templateOf('## A\n\n<script>alert(1)</script>\n\nin <img src=x onerror=alert(1)> line\n');
  assert.ok(!/<(script|img)/i.test(template), template);
  assert.match(template, /&lt;script&gt;/);
});

test('what means something to a template is escaped, in texts, code and commands', () => {
  const { template } = templateOf('## A {b}\n\n@if {{ x }} `{y}` \n\n```console\n$ pawl jobs run "{a}" @b\n```\n');
  assert.ok(!/[{}@]/.test(template), template);
  assert.match(template, /text="pawl jobs run &quot;&#123;a&#125;&quot; &#64;b"/);
});

test('links within lead to the section through the router, others are told as a path', () => {
  const { template } = templateOf('## Stuck key\n\n[here](#stuck-key), [store](stores/redis.md#x), [far](https://example.org/)\n');
  assert.match(template, /<a routerLink="\/runbook" fragment="stuck-key">here<\/a>/);
  assert.match(template, /store <span class="elsewhere">\(docs\/stores\/redis\.md\)/);
  assert.ok(!/href/.test(template), template);
});

test('a link to a section that is not there is found at build time', () => {
  assert.throws(() => templateOf('## A\n\n[b](#b)\n'), /no section #b/);
});

test('headings have the anchors that they have elsewhere', () => {
  const { anchors } = templateOf('## Lock-debt\n\n## `pawl` & co, twice?\n\n## A\n\n## A\n');
  assert.deepEqual(anchors, ['lock-debt', 'pawl--co-twice', 'a', 'a-1']);
});

test('a former anchor stands before its section, and can be linked to', () => {
  const { anchors, template } = templateOf('<a id="old"></a>\n\n## New\n\n[b](#old)\n\n<a id="old" onclick="x"></a>\n');
  assert.deepEqual(anchors, ['new']);
  assert.match(template, /<a id="old" tabindex="-1"><\/a>\n<h2 id="new" tabindex="-1">New<\/h2>/);
  assert.ok(!/<a [^>]*onclick/.test(template), template);
});

test('the runbook has the sections that pages, the doctor and alerts lead to', () => {
  const { anchors } = templateOf(readFileSync(new URL('../../docs/runbook.md', import.meta.url), 'utf8'));
  for (const check of ['reachability', 'clock', 'quarantine', 'lock-debt']) assert.ok(anchors.includes(check), check);
});
