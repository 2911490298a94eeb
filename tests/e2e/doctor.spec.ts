// The store's checks.
import { expect, expectAccessible, expectFitsNarrow, keepScreenshots, signIn, test } from './harness';

test('the doctor says each check with its level, the worst first, and checks again', async ({ page, agent }) => {
  await signIn(page, agent);
  await page.goto(`${agent.url}/doctor`);
  await expect(page).toHaveTitle('Doctor · pawl');
  const findings = page.locator('.finding');
  await expect(findings.filter({ hasText: 'reachab' }).first()).toBeVisible();
  const { checks } = await agent.read<{ checks: unknown[] }>('/doctor');
  await expect(findings).toHaveCount(checks.length);
  const levels = await findings.locator('.badge').allInnerTexts();
  const ranks = levels.map((level) => ['FAIL', 'WARN', 'OK'].indexOf(level.trim()));
  expect(ranks).toEqual([...ranks].sort((a, b) => a - b));
  await expect(page.locator('.outcome')).toContainText('sqlite');
  await expect(page.locator('.as-of')).toContainText(/Updated \d\d:\d\d:\d\d/);
  await keepScreenshots(page, 'doctor');
  await expectAccessible(page);
  await expectFitsNarrow(page);

  await page.getByRole('button', { name: 'Check again' }).click();
  await expect(page.getByRole('button', { name: 'Check again' })).toBeEnabled();
  await page.getByRole('link', { name: /^Runbook: / }).first().click();
  await expect(page).toHaveURL(/\/runbook#/);
});
