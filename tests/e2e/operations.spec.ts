import { execFileSync } from 'node:child_process';
import { Agent, everyRow, expect, expectAccessible, expectFitsNarrow, freePort, keepScreenshots, live, signIn, test, until } from './harness';

const yearly = '0 0 1 1 *';
const jobs = [{ name: 'works', schedule: yearly, script: 'while :; do sleep 0.1; done' }];

test.describe('nodes', () => {
  test.use({ agentOptions: { jobs, settings: { max_concurrent_runs: 4 } } });

  test('come and go by themselves, with their load and their own page', async ({ agent, page }) => {
    test.setTimeout(120_000);
    await signIn(page, agent);
    await page.goto(`${agent.url}/nodes`);
    await live(page);
    const first = page.getByRole('row').filter({ hasText: 'node-a' });
    await expect(first).toContainText('this node');
    await expect(first).toContainText('0 of 4');
    // Only a port that the configuration names is told to others.
    const listen = `127.0.0.1:${await freePort()}`;
    const other = await Agent.start({ name: 'node-b', beside: agent, jobs, settings: { listen } });
    try {
      const second = page.getByRole('row').filter({ hasText: 'node-b' });
      await expect(second).toContainText('live');
      await expect(second.getByRole('link', { name: listen })).toHaveAttribute('href', other.url);
      await agent.api('POST', '/jobs/works/runs', {});
      await expect(page.getByText(/^1 of \d+$/)).toBeVisible();
      await expectAccessible(page);
      await expectFitsNarrow(page);
      await keepScreenshots(page, 'nodes');
      await other.kill();
      await expect(second).toContainText('unresponsive', { timeout: 60_000 });
      await second.getByRole('link', { name: 'what to do' }).click();
      await expect(page).toHaveURL(/\/runbook#unresponsive-nodes$/);
    } finally {
      await other.kill();
    }
  });
});

test.describe('the audit', () => {
  test.use({ agentOptions: { jobs } });

  test('shows what was done without a reload, and lets forced releases stand out', async ({ agent, page }) => {
    await signIn(page, agent);
    await page.goto(`${agent.url}/audit`);
    await live(page);
    await agent.api('POST', '/jobs/works/pause', { reason: 'the disk is full' });
    const paused = page.getByRole('row').filter({ hasText: 'job.pause' });
    await expect(paused).toContainText('the disk is full');
    await expect(paused.getByRole('link', { name: 'works' })).toHaveAttribute('href', '/jobs/works');
    const token = await agent.lease('a/key', 60_000);
    await agent.api('POST', '/locks/release', { key: 'a/key', fence_token: token, reason: 'its holder is gone' });
    const released = page.getByRole('row').filter({ hasText: 'lock.release' });
    await expect(released.locator('.badge.warn')).toHaveText('force-released');
    await expect(released).toContainText('its holder is gone');
    await expectAccessible(page);
    await expectFitsNarrow(page);
    await page.getByLabel('Filter').fill('holder is gone');
    await expect(page.getByRole('row')).toHaveCount(2);
    await expect(page).toHaveURL(/\/audit\?q=holder/);
  });

  test('is verified, and a row that was changed in the file is found', async ({ agent, page }) => {
    for (const reason of ['one', 'two', 'three']) await agent.api('POST', '/jobs/works/pause', { reason });
    for (let many = 0; many < 3; many++) {
      await agent.api('POST', '/jobs/works/resume', {});
      await agent.api('POST', '/jobs/works/pause', { reason: `again ${many}` });
    }
    await signIn(page, agent);
    await page.goto(`${agent.url}/audit`);
    await page.getByRole('button', { name: 'Verify hash chain' }).click();
    await expect(page.getByRole('status').filter({ hasText: 'verified' })).toContainText(/All \d+ entries match their hashes/);
    await keepScreenshots(page, 'audit');

    const { audit } = await agent.read<{ audit: { sequence: number; action: string }[] }>('/audit');
    const victim = audit.filter(({ action }) => action === 'job.pause').at(-1)?.sequence ?? 0;
    expect(victim).toBeGreaterThan(0);
    execFileSync('python3', ['-c', tamper, agent.file, String(victim)]);
    // What was found within the last second is found again without walking.
    await expect(async () => {
      await page.getByRole('button', { name: 'Verify hash chain' }).click();
      await expect(page.getByRole('alert')).toContainText(`Entry ${victim} was tampered with`, { timeout: 1_000 });
    }).toPass({ timeout: 30_000 });
    await expect(page.getByRole('row').filter({ hasText: 'tampered' })).toHaveCount(1);
    await expectAccessible(page);
  });

  test('continues beyond its first page, to the first entry', async ({ agent, page }) => {
    const asked = (path: string, body: object) =>
      until(`POST ${path}`, async () => (await agent.api('POST', path, body)).status === 200);
    for (let many = 0; many < 60; many++) {
      await asked('/jobs/works/pause', { reason: `number ${many}` });
      await asked('/jobs/works/resume', {});
    }
    await signIn(page, agent);
    await page.goto(`${agent.url}/audit`);
    const table = page.getByRole('table', { name: 'Audit log' });
    await expect(table).toHaveAttribute('aria-rowcount', '101');
    await page.getByRole('button', { name: 'Load more' }).click();
    await expect(table).not.toHaveAttribute('aria-rowcount', '101');
    await expect(page.getByRole('button', { name: 'Load more' })).toHaveCount(0);
    expect(await page.getByRole('row').count()).toBeLessThan(100);
    const numbers = (await everyRow(page, 'td.column-number')).map(({ text }) => Number(text));
    expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, place) => numbers.length - place));
    expect(numbers.length).toBeGreaterThanOrEqual(120);
  });
});

// Past the page and past pawl, as a user with the file would.
const tamper = `
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], timeout=10)
(table,) = [name for (name,) in database.execute("select name from sqlite_master where type = 'table' and name like '%audit%'")]
for (trigger,) in database.execute("select name from sqlite_master where type = 'trigger' and tbl_name = ?", (table,)).fetchall():
    database.execute(f'drop trigger "{trigger}"')
changed = database.execute(f'update "{table}" set detail = ? where sequence = ?', ("nothing happened", int(sys.argv[2]))).rowcount
database.commit()
assert changed == 1, changed
`;

test.describe('a node that goes away', () => {
  test.use({ agentOptions: { jobs } });

  test('leaves what was read, marked as old', async ({ agent, page, watch }) => {
    watch.allowed.push(/ERR_|Failed to load resource/);
    await signIn(page, agent);
    await page.goto(`${agent.url}/nodes`);
    await live(page);
    await expect(page.getByRole('row')).toHaveCount(2);
    await agent.kill();
    await expect(page.locator('#connection')).toContainText('offline', { timeout: 30_000 });
    await expect(page.getByRole('row')).toHaveCount(2);
    await expect(page.locator('.as-of.stale').first()).toContainText('may be old');
    await expectAccessible(page);
  });
});

test.describe('the runbook', () => {
  test('is on the page, and links lead to its sections and put the focus there', async ({ agent, page }) => {
    await signIn(page, agent);
    await page.goto(`${agent.url}/runbook#quarantine`);
    await expect(page.getByRole('heading', { name: 'Quarantine' })).toBeFocused();
    await page.getByRole('navigation', { name: 'Sections of the runbook' }).getByRole('link', { name: 'Clock', exact: true }).click();
    await expect(page).toHaveURL(/\/runbook#clock$/);
    await expect(page.getByRole('heading', { name: 'Clock', exact: true })).toBeFocused();
    await expect(page.getByRole('heading', { name: 'Clock', exact: true })).toBeInViewport();
    await expectAccessible(page);
    await expectFitsNarrow(page);
    // Much text makes a large picture.
    await page.setViewportSize({ width: 1024, height: 640 });
    await keepScreenshots(page, 'runbook');
  });

  test('has every section that the page leads to', async ({ agent, page }) => {
    await signIn(page, agent);
    await page.goto(`${agent.url}/runbook`);
    await expect(page.getByRole('heading', { level: 1, name: 'Runbook' })).toBeVisible();
    const { checks } = await agent.read<{ checks: { runbook: string }[] }>('/doctor');
    const wanted = ['late-runs', 'unresponsive-nodes', 'stuck-key', 'lost-leases', ...checks.map(({ runbook }) => runbook.replace(/^.*#/, ''))];
    const anchors = await page.locator('.prose [id]').evaluateAll((marks) => marks.map(({ id }) => id));
    for (const one of wanted.filter(Boolean)) expect(anchors, one).toContain(one);
    await until('a copy button', async () => page.getByRole('button', { name: 'Copy the command' }).count());
  });
});
