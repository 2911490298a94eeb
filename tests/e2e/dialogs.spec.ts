// Every dialog, as a whole: what one has to scroll for, or cannot reach, is as good as absent.
import type { Page } from '@playwright/test';
import { Agent, expect, expectAccessible, expectDialogFits, keepScreenshots, live, signIn, test, until } from './harness';

const yearly = '0 0 1 1 *';
const jobs = [
  {
    name: 'nightly-report', schedule: yearly,
    command: ['/bin/sh', '-c', 'exec sleep 600', 'report', '--from', '2026-11-01T00:00:00Z', '--to', '2026-11-30T23:59:59Z', '--format', 'application/vnd.example.report+json'],
  },
  { name: 'reindex-the-catalogue-of-every-customer-by-region', schedule: yearly, partitions: 40, script: 'true' },
  { name: 'waits', schedule: yearly, script: 'exec sleep 600' },
];
const reason = 'the disk of the report host is full, ticket 4711: wait until the storage team has replaced it before this is resumed';

async function opened(page: Page, button: string): Promise<void> {
  await page.getByRole('button', { name: button }).click();
  await expect(page.getByRole('dialog')).toBeVisible();
}

async function closed(page: Page): Promise<void> {
  await page.keyboard.press('Escape');
  await expect(page.getByRole('dialog')).toHaveCount(0);
}

async function begun(agent: Agent, job: string): Promise<string> {
  const { body } = await agent.api<{ ids: string[] }>('POST', `/jobs/${job}/runs`, {});
  const [id] = body.ids;
  await until(`the begin of run ${id}`, async () => (await agent.api('GET', `/runs/${id}`)).status === 200);
  return id;
}

test.describe('every control lies within its dialog and within the window', () => {
  test.use({ agentOptions: { jobs } });

  // From a row of the list, whose cells do not wrap, and from the page of one job.
  for (const [place, path] of [['the list', '/jobs'], ['its page', '/jobs/nightly-report']]) {
    test(`of a job that is run, paused and resumed from ${place}`, async ({ agent, page }) => {
      await signIn(page, agent);
      await page.goto(`${agent.url}${path}`);
      await live(page);
      await opened(page, 'Run now: nightly-report');
      await expect(page.locator('.preview pre')).toContainText('--format');
      await expectDialogFits(page);
      await expectAccessible(page);
      if (path === '/jobs') await keepScreenshots(page, 'dialog-run');
      await closed(page);

      await opened(page, 'Pause nightly-report');
      await page.getByRole('dialog').getByRole('textbox').fill(reason);
      await expectDialogFits(page);
      if (path === '/jobs') await keepScreenshots(page, 'dialog-pause');
      await page.keyboard.press('Enter');
      await expect(page.getByRole('dialog')).toHaveCount(0);

      await opened(page, 'Resume nightly-report');
      await expect(page.getByRole('dialog')).toContainText('ticket 4711');
      await expectDialogFits(page);
      await expectAccessible(page);
      if (path === '/jobs') await keepScreenshots(page, 'dialog-resume');
      await closed(page);
    });
  }

  test('of a job with many partitions, before and after it was asked for', async ({ agent, page }) => {
    await signIn(page, agent);
    await page.goto(`${agent.url}/jobs`);
    await live(page);
    await opened(page, 'Run now: reindex-the-catalogue');
    await expect(page.locator('.preview .leases li').first()).toBeVisible();
    await expectDialogFits(page);
    await page.getByRole('dialog').getByRole('button', { name: 'Run now' }).click();
    await expect(page.getByRole('link', { name: /^Follow run/ })).toHaveCount(40);
    await expectDialogFits(page);
    await expectAccessible(page);
  });

  test('of a run that is cancelled', async ({ agent, page }) => {
    const id = await begun(agent, 'waits');
    await signIn(page, agent);
    await page.goto(`${agent.url}/runs/${id}`);
    await live(page);
    await opened(page, 'Cancel…');
    await expectDialogFits(page);
    await expectAccessible(page);
    await keepScreenshots(page, 'dialog-cancel');
  });

  test('of a lock that is released by force, with all that it may have to say', async ({ agent, page }) => {
    const key = 'import/customers/eu-west/2026-11-22/part-00017';
    const token = await agent.lease(key, 1_200_000, 'loader-17.import.example.com:40217:6f1c');
    await signIn(page, agent);
    await page.goto(`${agent.url}/locks/${key}`);
    await live(page);
    await opened(page, 'Force release…');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox').first().fill(reason);
    await dialog.getByRole('textbox').last().fill(key);
    await expectDialogFits(page);
    await expectAccessible(page);
    await keepScreenshots(page, 'dialog-force-release');
    await dialog.getByRole('checkbox').check();
    await expectDialogFits(page);
    await agent.api('POST', '/locks/release', { key, fence_token: token, reason });
    await expect(dialog.getByRole('alert')).toBeVisible();
    await expectDialogFits(page);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    // In cooldown, for what was left of the lease.
    await opened(page, 'Free now…');
    await expectDialogFits(page);
    await expectAccessible(page);
    await keepScreenshots(page, 'dialog-free-now');
    await closed(page);
  });
});
