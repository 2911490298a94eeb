// The first page, signing in, and how honest the page is when its node is gone.
import { Agent, expect, expectAccessible, expectFitsNarrow, figure, keepScreenshots, live, Redis, signIn, test } from './harness';

const jobs = [
  { name: 'heartbeat', schedule: '@every 1s', script: 'true' },
  { name: 'broken', schedule: '@every 1s', script: 'echo no space left; exit 3' },
  { name: 'long', schedule: '0 0 1 1 *', script: 'sleep 300' },
];

test.describe('the overview', () => {
  test.use({ agentOptions: { jobs } });

  test('says who runs what, what comes next, and what needs attention', async ({ page, agent }) => {
    agent.pawl('jobs', 'run', 'long');
    await signIn(page, agent);
    await live(page);
    await expect(page).toHaveTitle('Overview · pawl');
    await expect(page.locator('.state-line')).toContainText('node-a');
    await expect(page.locator('.state-line')).toContainText('store sqlite');
    const running = page.getByRole('region', { name: 'Active runs' });
    await expect(running.getByRole('link', { name: 'long', exact: true })).toBeVisible();
    await expect(page.getByRole('link', { name: /Locks held/ })).toContainText(/[1-9]/);
    await expect(page.locator('.upcoming')).toContainText('heartbeat');
    const attention = page.locator('.attention');
    await expect(attention).toContainText('broken', { timeout: 30_000 });
    await expect(attention.getByRole('link', { name: /Runbook for broken/ })).toBeVisible();
    // A sample was taken since, and the chart has it without a reload.
    await expect(page.getByRole('img', { name: /^Lock acquisitions/ })).toHaveAttribute('aria-label', /acquired: latest [1-9]/, { timeout: 30_000 });
    // With something to see on the charts.
    if (process.env.PAWL_SCREENSHOTS === '1') {
      await expect(page.locator('.chart path.look-1[d]').last()).toHaveAttribute('d', /(L.*){4}/, { timeout: 45_000 });
    }
    await keepScreenshots(page, 'overview');
    await expectAccessible(page);
    await expectFitsNarrow(page);

    await attention.getByRole('link', { name: 'broken', exact: true }).click();
    await expect(page.getByRole('heading', { level: 1 })).toContainText('broken');
    await page.goBack();
    await attention.getByRole('link', { name: /Runbook for broken/ }).click();
    await expect(page).toHaveURL(/\/runbook/);
  });

  test('keeps the time that is shown in its address, and has its charts as tables', async ({ page, agent }) => {
    await signIn(page, agent);
    await page.goto(`${agent.url}/?window=1h`);
    await expect(page.getByLabel('last hour')).toBeChecked();
    await page.getByLabel('last 5 minutes').check();
    await expect(page).toHaveURL(/window=5m/);
    await page.getByText('Show data of Lock wait time').click({ timeout: 30_000 });
    await expect(page.getByRole('region', { name: 'Lock wait time, data' }).getByRole('row')).not.toHaveCount(0);
    await expectAccessible(page);
  });

  test('is there soon, and the first load is small', async ({ page, agent }) => {
    await signIn(page, agent);
    await page.goto('about:blank');
    const sizes: Promise<string | null>[] = [];
    page.on('response', (response) => {
      if (/\.(js|css|svg)$|\/$/.test(new URL(response.url()).pathname)) sizes.push(response.headerValue('content-length'));
    });
    const client = await page.context().newCDPSession(page);
    await client.send('Network.setCacheDisabled', { cacheDisabled: true });
    const begun = Date.now();
    await page.goto(agent.url);
    await expect(page.locator('.tile-value').first()).toBeVisible();
    figure('overview: from the address to its figures, nothing cached', Date.now() - begun, 'ms');
    const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + Number(size), 0);
    figure('overview: first load', bytes / 1024, 'KiB');
    expect(bytes).toBeGreaterThan(20_000);
    expect(bytes).toBeLessThan(200 * 1024);

    await client.send('Network.setCacheDisabled', { cacheDisabled: false });
    const again = Date.now();
    await page.goto(agent.url);
    await expect(page.locator('.tile-value').first()).toBeVisible();
    figure('overview: from the address to its figures, cached', Date.now() - again, 'ms');
    for (const [name, heading] of [['Locks', 'Locks'], ['Jobs', 'Jobs'], ['Runs', 'Runs']]) {
      const clicked = Date.now();
      await page.getByRole('navigation', { name: 'Sections' }).getByRole('link', { name }).click();
      await expect(page.getByRole('heading', { level: 1, name: heading })).toBeVisible();
      figure(`from the overview to ${name}`, Date.now() - clicked, 'ms');
      await page.goBack();
      await expect(page.locator('.tile-value').first()).toBeVisible();
    }
  });

  test('says that it is offline and old when its node is gone, and comes back by itself', async ({ page, agent, watch }) => {
    watch.allowed.push(/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|Failed to load resource/);
    await signIn(page, agent);
    await live(page);
    // What has not been read yet cannot be shown as old.
    await expect(page.locator('.tile-value').first()).toBeVisible();
    await agent.kill();
    await expect(page.locator('#connection')).toContainText('offline');
    await expect(page.getByText('data may be old')).toBeVisible();
    await expect(page.locator('.tile-value').first()).toBeVisible();
    await expectAccessible(page);
    await agent.begin();
    // Its sessions are gone with it, and the page says why.
    await expect(page.getByRole('heading', { name: 'Sign in' })).toBeVisible({ timeout: 45_000 });
    await expect(page.getByRole('status').filter({ hasText: 'The agent restarted at' })).toBeVisible();
    await signIn(page, agent);
    await live(page);
  });
});

test.describe('a node that is frozen', () => {
  test.use({ agentOptions: { jobs } });

  test('is told as that within seconds, and is live again with its next word', async ({ page, agent }) => {
    await signIn(page, agent);
    await live(page);
    // What has not been read yet cannot be shown as old.
    await expect(page.locator('.tile-value').first()).toBeVisible();
    agent.signal('SIGSTOP');
    const frozen = Date.now();
    await expect(page.locator('#connection')).toContainText('no response for');
    figure('from the freeze of a node until its page tells it', Date.now() - frozen, 'ms');
    expect(Date.now() - frozen, 'long before a stream counts as dead').toBeLessThan(20_000);
    await expect(page.locator('.as-of.stale').first()).toContainText('may be old');
    agent.signal('SIGCONT');
    await expect(page.locator('#connection')).toContainText('live');
  });
});

test.describe('a node that has not read its control state', () => {
  test('says on every page that it starts no scheduled run, until it has', async ({ page, watch }) => {
    // Lists that need the journal.
    watch.allowed.push(/503/);
    const journal = await Redis.start();
    let agent: Agent | undefined;
    try {
      journal.freeze();
      agent = await Agent.start({ jobs, journal: `${journal.url}?timeout=300ms` });
      const ready = async () => (await fetch(`${agent!.url}/readyz`)).status;
      expect(await ready()).toBe(503);
      await signIn(page, agent);
      await live(page);
      const banner = page.getByRole('alert').filter({ hasText: 'no scheduled run starts until' });
      await expect(banner).toContainText('node-a: this node has not read the control state since it started, so no scheduled run starts');
      await expect(banner.locator('.badge')).toHaveText('critical');
      const row = page.locator('.attention').getByRole('listitem').filter({ hasText: 'starts no scheduled run' });
      await expect(row).toContainText('node-a starts no scheduled run: since it started, its journal has not reported which jobs are paused');
      await expect(row.locator('.badge')).toHaveText('critical');
      await expectAccessible(page);
      await expectFitsNarrow(page);
      await keepScreenshots(page, 'control-state-unread');
      await page.getByRole('link', { name: 'Locks', exact: true }).click();
      await expect(page.getByRole('heading', { level: 1, name: 'Locks' })).toBeVisible();
      await banner.getByRole('link', { name: 'Runbook' }).click();
      await expect(page).toHaveURL(/\/runbook#store-down$/);
      await expect(banner).toBeVisible();

      journal.thaw();
      await expect(banner).toBeHidden();
      await page.goto(agent.url);
      await expect(page.locator('.attention')).toBeVisible();
      await expect(row).toHaveCount(0);
      expect(await ready()).toBe(200);
    } finally {
      journal.thaw();
      await page.goto('about:blank');
      await agent?.end();
      await journal.end();
    }
  });
});

test.describe('signing in', () => {
  test.use({ agentOptions: { users: ['viewer', 'admin'] } });

  test('leads to where one wanted to go, and a wrong token is told in one line', async ({ page, agent, watch }) => {
    watch.allowed.push(/401|429/);
    await page.goto(`${agent.url}/locks?show=all`);
    await expect(page).toHaveURL(/\/sign-in\?to=/);
    await expect(page).toHaveTitle('Sign in · pawl');
    await expectAccessible(page);
    await expectFitsNarrow(page);
    await keepScreenshots(page, 'sign-in');
    await page.getByLabel('Token', { exact: true }).fill('pawl_not-a-token');
    await page.keyboard.press('Enter');
    await expect(page.getByRole('alert')).not.toBeEmpty();
    await page.getByLabel('Token', { exact: true }).fill(agent.tokens.viewer ?? '');
    await page.keyboard.press('Enter');
    await expect(page).toHaveURL(/\/locks\?show=all$/);
    await expect(page.locator('.menu summary')).toContainText('viewer');

    await page.locator('.menu summary').click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await expect(page.getByRole('heading', { name: 'Sign in' })).toBeVisible();
    await page.goto(`${agent.url}/locks`);
    await expect(page.getByRole('heading', { name: 'Sign in' })).toBeVisible();
  });

  test('does not lead to another host', async ({ page, agent, watch }) => {
    watch.allowed.push(/401/);
    await page.goto(`${agent.url}/sign-in?to=//example.invalid/locks`);
    await page.getByLabel('Token', { exact: true }).fill(agent.tokens.viewer ?? '');
    await page.keyboard.press('Enter');
    await expect(page.getByRole('heading', { level: 1, name: 'Overview' })).toBeVisible();
    expect(new URL(page.url()).host).toBe(new URL(agent.url).host);
  });
});

test.describe('the shell', () => {
  test('has a way past the navigation, and keeps the colours that were chosen', async ({ page, agent }) => {
    await signIn(page, agent);
    await page.goto(`${agent.url}/doctor`);
    await expect(page.getByRole('heading', { level: 1, name: 'Doctor' })).toBeVisible();
    await page.keyboard.press('Tab');
    await expect(page.getByRole('link', { name: 'Skip to the content' })).toBeFocused();
    await page.keyboard.press('Enter');
    await expect(page.locator('main')).toBeFocused();

    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await page.emulateMedia({ colorScheme: 'light' });
    const light = await ground();
    await page.getByLabel('Theme').selectOption('dark');
    expect(await ground()).not.toBe(light);
    await page.reload();
    await expect(page.getByLabel('Theme')).toHaveValue('dark');
    expect(await ground()).not.toBe(light);
    await page.getByLabel('Theme').selectOption('system');
    expect(await ground()).toBe(light);
  });

  test('says that there is no such page', async ({ page, agent }) => {
    await signIn(page, agent);
    await page.goto(`${agent.url}/no/such/page`);
    await expect(page.getByRole('heading', { name: 'Page not found' })).toBeVisible();
    await expect(page).toHaveTitle('Not found · pawl');
  });
});
