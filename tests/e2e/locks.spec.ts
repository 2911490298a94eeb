// Users on call: who holds what, for how long, and freeing a stuck key.
import { expect, expectAccessible, expectFitsNarrow, figure, keepScreenshots, live, signIn, test, until } from './harness';

// Only runs that are asked for: an occurrence of its own would be a second, skipped run when the hour strikes.
const sleeper = { name: 'nightly-report', schedule: '0 0 1 1 *', script: 'sleep 300', ttl: '40s' };

test.describe('the locks', () => {
  test.use({ agentOptions: { jobs: [sleeper] } });

  test('appear, run down and go while one looks, without a reload', async ({ page, agent }) => {
    await agent.lease('import/early', 600_000, 'loader-1');
    await signIn(page, agent);
    await page.getByRole('link', { name: 'Locks', exact: true }).click();
    await expect(page).toHaveTitle('Locks · pawl');
    await live(page);
    await expect(page.getByRole('link', { name: 'import/early' })).toBeVisible();

    const token = await agent.lease('import/late', 3_600_000, 'loader-2');
    const row = page.getByRole('row', { name: /import\/late/ });
    await expect(row).toBeVisible();
    await expect(row).toContainText('loader-2');
    await expect(row).toContainText(/5\d min/);

    await agent.api('DELETE', `/leases/import/late/${token}`);
    await expect(row).toBeHidden();
    await expectAccessible(page);
    await expectFitsNarrow(page);
  });

  test('of a job name their node, and lead to the run', async ({ page, agent }) => {
    agent.pawl('jobs', 'run', 'nightly-report');
    await signIn(page, agent);
    await page.goto(`${agent.url}/locks`);
    const row = page.getByRole('row', { name: /job\/nightly-report/ });
    await expect(row).toContainText('node-a');
    await row.getByRole('link', { name: 'job/nightly-report' }).click();
    await expect(page).toHaveTitle('job/nightly-report · Lock · pawl');
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('job/nightly-report');
    await expect(page.getByText('held', { exact: true })).toBeVisible();
    await expect(page.getByRole('link', { name: /^Run / })).toBeVisible();
    await expect(page.getByRole('link', { name: 'nightly-report', exact: true })).toBeVisible();
    await keepScreenshots(page, 'lock');
    await expectAccessible(page);
    await expectFitsNarrow(page);
  });

  test('run down on their own page while others change', async ({ page, agent }) => {
    await agent.lease('import/held', 600_000);
    await signIn(page, agent);
    await page.goto(`${agent.url}/locks/import/held`);
    await live(page);
    await expect(page.locator('.ttl-text')).toContainText(/\d min/);
    const left = async () => (await agent.read<{ remaining_ms: number }>('/locks/import/held')).remaining_ms;
    await until('some seconds of it to pass', async () => (await left()) < 594_000);
    const asOf = page.locator('.page-head .as-of time');
    const before = (await asOf.getAttribute('datetime')) ?? '';
    await agent.lease('import/other', 600_000);
    await expect(asOf).not.toHaveAttribute('datetime', before);
    // It is told in whole seconds, rounded up, and once a second.
    // A browser that stands still for a moment catches up; a text that does not run down never does.
    await expect.poll(async () => {
      const [, minutes, seconds] = /(\d+) min(?: (\d+) s)?/.exec(await page.locator('.ttl-text').innerText()) ?? [];
      return Number(minutes) * 60 + Number(seconds ?? 0) - (await left()) / 1000;
    }).toBeLessThanOrEqual(4);
  });

  test('can be narrowed, sorted and sent as an address', async ({ page, agent }) => {
    for (const name of ['alpha', 'beta', 'gamma']) await agent.lease(`import/${name}`, 600_000, `owner-of-${name}`);
    const freed = await agent.lease('import/freed', 600_000);
    await agent.api('DELETE', `/leases/import/freed/${freed}`);
    await signIn(page, agent);
    await page.goto(`${agent.url}/locks`);
    await page.getByLabel('Search').fill('owner-of-b');
    await expect(page.getByRole('link', { name: 'import/beta' })).toBeVisible();
    await expect(page.getByRole('link', { name: 'import/alpha' })).toBeHidden();
    await expect(page).toHaveURL(/text=owner-of-b/);

    await page.goto(`${agent.url}/locks?prefix=import/&show=all&sort=-key`);
    await expect(page.locator('tbody tr[data-index] a.mono')).toHaveText(['import/gamma', 'import/freed', 'import/beta', 'import/alpha']);
    await expect(page.getByRole('columnheader', { name: 'Key' })).toHaveAttribute('aria-sort', 'descending');

    await page.getByLabel('Search').fill('nothing is called that');
    await expect(page.getByText('No matching lock')).toBeVisible();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await expect(page.getByRole('link', { name: 'import/alpha' })).toBeVisible();
  });

  test('are walked with the keyboard alone', async ({ page, agent }) => {
    for (const name of ['a', 'b', 'c']) await agent.lease(`import/${name}`, 600_000);
    await signIn(page, agent);
    // The agent's own lock, pawl/reconciler, comes when it comes.
    await page.goto(`${agent.url}/locks?prefix=import/`);
    await expect(page.getByRole('link', { name: 'import/c' })).toBeVisible();
    await page.keyboard.press('/');
    await expect(page.getByLabel('Search')).toBeFocused();
    await page.locator('tbody tr[tabindex="0"]').focus();
    await page.keyboard.press('ArrowDown');
    await expect(page.locator('tr:focus')).toContainText('import/b');
    await page.keyboard.press('End');
    await expect(page.locator('tr:focus')).toContainText('import/c');
    await page.keyboard.press('Enter');
    await expect(page).toHaveTitle('import/c · Lock · pawl');
    await expect(page.locator('main')).toBeFocused();
  });

  test('that are none say how one comes to be, and one that is not known says so', async ({ page, agent, watch }) => {
    watch.allowed.push(/404/);
    await signIn(page, agent);
    await page.goto(`${agent.url}/locks?prefix=nobody/`);
    await expect(page.getByText(/No lock yet|No matching lock/)).toBeVisible();
    await page.goto(`${agent.url}/locks/nobody/home.v2`);
    await expect(page.getByText('Lock not found')).toBeVisible();
    await expectAccessible(page);
  });
});

test.describe('a force release', () => {
  test.use({ agentOptions: { jobs: [sleeper], users: ['viewer', 'operator', 'admin'] } });

  test('spells out what follows, asks for the key and a reason, and force-releases', async ({ page, agent }) => {
    agent.pawl('jobs', 'run', 'nightly-report');
    await until('the key is held', async () => {
      const { locks } = await agent.read<{ locks: { held: boolean }[] }>('/locks?prefix=job/nightly-report');
      return locks.some(({ held }) => held);
    });
    await signIn(page, agent, 'admin');
    await page.goto(`${agent.url}/locks/job/nightly-report`);
    await page.getByRole('button', { name: 'Force release…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Force release' });
    await expect(dialog).toContainText('End exactly this lease');
    await expect(dialog).toContainText('its renewals fail, and a fence rejects its writes');
    // A renewal interval of its lease of forty seconds, an answer and its grace: less than what is left.
    await expect(dialog).toContainText(/in cooldown for 2[0-8] s: no client can acquire it until/);
    await keepScreenshots(page, 'force-release');
    await expectAccessible(page);

    const release = dialog.getByRole('button', { name: 'Force release', exact: true });
    await expect(release).toBeDisabled();
    await dialog.getByLabel('Reason').fill('node-a hangs, ticket 4711');
    await dialog.getByLabel('Type the key to confirm').fill('job/nightly');
    await expect(release).toBeDisabled();
    await dialog.getByLabel('Type the key to confirm').fill('job/nightly-report');
    await release.click();

    await expect(page.getByText(/^\s*Released from/)).toContainText('In cooldown for');
    await expect(page.getByText('cooldown', { exact: true })).toBeVisible();
    await expect(page.getByText('an admin may free the lock now')).toBeVisible();
    await expect(page.getByRole('button', { name: 'Force release…' })).toHaveCount(0);
    await keepScreenshots(page, 'lock-cooldown');
    await expectAccessible(page);
    await expectFitsNarrow(page);
    const { audit } = await agent.read<{ audit: { action: string; target: string; actor: string; detail: string }[] }>('/audit');
    const entry = audit.find(({ action }) => action === 'lock.release');
    expect(entry).toMatchObject({ target: 'job/nightly-report', actor: 'admin' });
    expect(entry?.detail).toContain('ticket 4711');
    const run = await until('the run has ended', async () =>
      (await agent.runs<{ status: string }>('job=nightly-report')).find(({ status }) => status !== 'started'));
    expect(run.status).toBe('lost');
  });

  test('of a long lease leaves a cooldown, which an admin can end', async ({ page, agent }) => {
    const token = await agent.lease('import/long', 3_600_000);
    await agent.api('POST', '/locks/release', { key: 'import/long', fence_token: token, reason: 'its node is gone' });
    await signIn(page, agent, 'admin');
    await page.goto(`${agent.url}/locks/import/long`);
    await page.getByRole('button', { name: 'Free now…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Free now' });
    await expect(dialog).toContainText(/Ends the cooldown of import\/long, which has (1 h|5\d min)/);
    await expect(dialog).toContainText('if its former holder has not stopped, two may run');
    await expectAccessible(page);
    await dialog.getByLabel('Reason').fill('the node was switched off');
    await dialog.getByLabel('Type the key to confirm').fill('import/long');
    await dialog.getByRole('button', { name: 'Free now', exact: true }).click();
    await expect(page.getByText('The lock is free now.')).toBeVisible();
    await expect(page.locator('#now').getByText('free')).toBeVisible();
    await expect(page.getByRole('button', { name: 'Free now…' })).toHaveCount(0);
    expect(await agent.lease('import/long', 600_000)).toBeGreaterThan(token + 1);
  });

  test('ends with Esc, which gives the focus back, and changes nothing', async ({ page, agent }) => {
    await agent.lease('import/held', 600_000);
    await signIn(page, agent, 'admin');
    await page.goto(`${agent.url}/locks/import/held`);
    const open = page.getByRole('button', { name: 'Force release…' });
    await open.focus();
    await page.keyboard.press('Enter');
    await expect(page.getByRole('dialog')).toBeVisible();
    await page.keyboard.press('Escape');
    await expect(page.getByRole('dialog')).toBeHidden();
    await expect(open).toBeFocused();
    expect((await agent.read<{ held: boolean }>('/locks/import/held')).held).toBe(true);
  });

  test('does not hit who came after the holder that was shown', async ({ page, agent }) => {
    const first = await agent.lease('import/passing', 600_000, 'the-first');
    await signIn(page, agent, 'admin');
    await page.goto(`${agent.url}/locks/import/passing`);
    await live(page);
    await page.getByRole('button', { name: 'Force release…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill('stuck');
    await dialog.getByLabel('Type the key to confirm').fill('import/passing');
    await agent.api('DELETE', `/leases/import/passing/${first}`);
    await agent.lease('import/passing', 600_000, 'the-second');
    await expect(dialog.getByRole('alert')).toContainText('acquired by another client since token');
    await expect(dialog.getByRole('button', { name: 'Force release', exact: true })).toBeDisabled();
  });

  test('is not offered to an operator, with the reason', async ({ page, agent }) => {
    await agent.lease('import/held', 600_000);
    await signIn(page, agent, 'operator');
    await page.goto(`${agent.url}/locks/import/held`);
    const button = page.getByRole('button', { name: 'Force release…' });
    await expect(button).toHaveAttribute('aria-disabled', 'true');
    await expect(button).toHaveAttribute('title', 'Only an admin may; you are signed in as operator.');
    await button.click({ force: true });
    await expect(page.getByRole('dialog')).toBeHidden();
  });
});

test.describe('ten thousand locks', () => {
  const count = 10_000;
  test.setTimeout(240_000);

  test('scroll without jank, and live changes move nothing that is read', async ({ page, agent }) => {
    const each = 200;
    for (let from = 0; from < count; from += each) {
      await Promise.all(Array.from({ length: each }, (_one, index) =>
        agent.lease(`stock/${String(from + index).padStart(5, '0')}`, 3_600_000, `worker-${index % 40}`)));
    }
    await signIn(page, agent);
    await page.goto('about:blank');
    const begun = Date.now();
    // The agent has a lock of its own.
    await page.goto(`${agent.url}/locks?prefix=stock/`);
    await expect(page.getByRole('link', { name: 'stock/00000' })).toBeVisible();
    await expect(page.locator('.count')).toContainText(`${count} of ${count}`);
    figure('10,000 locks: from the address to all of them', Date.now() - begun, 'ms');
    expect(await page.locator('tbody tr').count()).toBeLessThan(120);
    await keepScreenshots(page, 'locks');

    // As a wheel scrolls, three rows a frame; how long each frame took.
    const frames = await page.evaluate(async () => {
      const box = document.querySelector('.table-box.tall')!;
      const took: number[] = [];
      let last = performance.now();
      const frame = () => new Promise<number>((resolve) => requestAnimationFrame(resolve));
      last = await frame();
      for (let step = 0; step < 240; step += 1) {
        box.scrollTop += 120;
        const now = await frame();
        took.push(now - last);
        last = now;
      }
      return took.sort((a, b) => a - b);
    });
    const at = (share: number) => frames[Math.min(frames.length - 1, Math.floor(frames.length * share))];
    figure('10,000 locks: a frame while scrolling, median', at(0.5), 'ms');
    figure('10,000 locks: a frame while scrolling, 95 %', at(0.95), 'ms');
    figure('10,000 locks: a frame while scrolling, longest', at(1), 'ms');
    // Far above what it takes; what grows with the number of rows would be far above this.
    expect(at(0.5)).toBeLessThan(300);
    const jumped = Date.now();
    await page.locator('.table-box.tall').evaluate((box) => (box.scrollTop = box.scrollHeight));
    await expect(page.getByRole('link', { name: 'stock/09999' })).toBeVisible();
    figure('10,000 locks: a jump to the end', Date.now() - jumped, 'ms');

    // In the middle, with the focus on a row: what comes before it does not move it.
    await page.locator('.table-box.tall').evaluate((box) => (box.scrollTop = 200_020));
    const row = page.getByRole('row', { name: /stock\/05005/ });
    await expect(row).toBeVisible();
    await row.focus();
    const before = (await row.boundingBox())!.y;
    await agent.lease('stock/0', 600_000);
    await expect(page.locator('.count')).toContainText(`${count + 1} of`);
    expect(Math.abs((await row.boundingBox())!.y - before)).toBeLessThan(2);
    await expect(row).toBeFocused();

    const typed = Date.now();
    await page.getByLabel('Search').fill('07777');
    await expect(page.locator('.count')).toContainText(`1 of ${count + 1}`);
    figure('10,000 locks: from a key typed to the filtered list', Date.now() - typed, 'ms');
  });
});
