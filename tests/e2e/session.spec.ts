// Who is signed in: over a reload, in several windows, and what a server at another port of the host can do with it.
import { expect, signIn, test, type Agent } from './harness';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from '@playwright/test';

const jobs = [{ name: 'nightly', schedule: '0 0 1 1 *', script: 'true' }];

async function pause(page: Page, agent: Agent): Promise<void> {
  await page.goto(`${agent.url}/jobs/nightly`);
  await page.getByRole('button', { name: 'Pause nightly' }).click();
  await page.getByLabel('Reason').fill('a test');
  await page.getByRole('button', { name: 'Pause', exact: true }).click();
  await expect(page.getByRole('region', { name: 'State' })).toContainText('paused');
}

test.describe('a session by a login link', () => {
  test.use({ agentOptions: { jobs } });

  test('stands in no address, and acts after a reload', async ({ page, agent }) => {
    await signIn(page, agent);
    expect(page.url()).toBe(`${agent.url}/`);
    await page.reload();
    await pause(page, agent);
  });

  test('is read and not used by a server on another port of the host', async ({ page, agent }) => {
    await signIn(page, agent);
    let stolen = '';
    const server = createServer((request, answer) => {
      stolen ||= request.headers.cookie ?? '';
      answer.setHeader('Content-Type', 'text/html').end('<title>another port</title>');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
      await expect(page).toHaveTitle('another port');
      expect(stolen).toContain('pawl_session');
      expect(await page.evaluate(() => localStorage.length)).toBe(0);
      const told = await fetch(`${agent.url}/api/v1/session`, { headers: { Cookie: stolen } });
      expect(await told.json()).toMatchObject({ name: 'local', csrf: '' });
      const tried = await fetch(`${agent.url}/api/v1/jobs/nightly/pause`, {
        method: 'POST', headers: { Cookie: stolen, 'Content-Type': 'application/json' }, body: '{"reason":"theft"}',
      });
      expect(tried.status).toBe(403);
      await pause(page, agent);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});

test.describe('a session by a token', () => {
  test.use({ agentOptions: { jobs, users: ['viewer', 'admin'] } });

  test('is that of all windows of a browser', async ({ page, agent, context, watch }) => {
    watch.allowed.push(/401/);
    await signIn(page, agent, 'viewer');
    const other = await context.newPage();
    await other.goto(agent.url);
    await expect(other.locator('.menu summary')).toContainText('viewer');

    await other.locator('.menu summary').click();
    await other.getByRole('button', { name: 'Sign out' }).click();
    await expect(page.getByRole('heading', { name: 'Sign in' })).toBeVisible();
    await expect(page.getByRole('status').filter({ hasText: 'Your session has ended' })).toBeVisible();

    await signIn(other, agent, 'admin');
    await expect(page.locator('.menu summary')).toContainText('admin');
    await pause(page, agent);
    await other.close();
  });

  test('is asked for anew in one line where the browser has lost its key', async ({ page, agent, watch }) => {
    watch.allowed.push(/401/);
    await signIn(page, agent, 'admin');
    await page.evaluate(() => localStorage.clear());
    await page.goto(`${agent.url}/jobs/nightly`);
    await expect(page.getByText('This browser no longer has the key to your session. Sign in again to continue.')).toBeVisible();
    await page.getByLabel('Token', { exact: true }).fill(agent.tokens.admin ?? '');
    await page.keyboard.press('Enter');
    await expect(page).toHaveURL(/\/jobs\/nightly$/);
    await pause(page, agent);
  });
});
