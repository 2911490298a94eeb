import { Agent, expect, expectAccessible, expectFitsNarrow, keepScreenshots, live, signIn, test, until } from './harness';

const yearly = '0 0 1 1 *';
const jobs = [
  { name: 'every-two-seconds', schedule: '*/2 * * * * *', script: 'echo done' },
  { name: 'nightly-report', schedule: '30 2 * * MON-FRI', zone: 'America/New_York', script: 'echo "arguments: $*"; echo "from: $PAWL_CHECKPOINT"' },
  { name: 'oddly', schedule: '*/7 * * * *', script: 'true' },
  { name: 'refuses', schedule: yearly, script: 'echo no; exit 3' },
  { name: 'saves', schedule: yearly, script: '"$PAWL_BINARY" checkpoint "page 5"; echo "from: $PAWL_CHECKPOINT"' },
  { name: 'split', schedule: yearly, partitions: 4, script: 'echo "partition $PAWL_PARTITION"' },
  { name: 'waits', schedule: yearly, script: 'while :; do echo working; sleep 0.2; done' },
];

interface Asked { ids: string[] }

async function ended(agent: Agent, id: string): Promise<string> {
  return until(`the end of run ${id}`, async () => {
    const { status, body } = await agent.api<{ status: string }>('GET', `/runs/${id}`);
    return status === 200 && body.status !== 'started' ? body.status : undefined;
  });
}

async function ranOnce(agent: Agent, name: string): Promise<void> {
  const { body } = await agent.api<Asked>('POST', `/jobs/${name}/runs`, {});
  for (const id of body.ids) await ended(agent, id);
}

test.describe('the list of jobs', () => {
  test.use({ agentOptions: { jobs } });

  test('says when each runs, in words and in both zones, and how it went', async ({ agent, page }) => {
    await ranOnce(agent, 'refuses');
    await signIn(page, agent);
    await page.goto(`${agent.url}/jobs`);
    await expect(page).toHaveTitle('Jobs · pawl');
    const nightly = page.getByRole('row').filter({ hasText: 'nightly-report' });
    await expect(nightly).toContainText('At 02:30, Monday to Friday');
    await expect(nightly).toContainText('30 2 * * MON-FRI');
    // The viewer is in Paris, six hours ahead of New York, but for the weeks in which only one of them has summer time.
    await expect(nightly).toContainText(/0[78]:30:00 \(in [\s\S]*02:30:00 in America\/New_York/);
    const oddly = page.getByRole('row').filter({ hasText: 'oddly' });
    await expect(oddly).toContainText('*/7 * * * *');
    await expect(oddly).not.toContainText('Every 7');
    const refuses = page.getByRole('row').filter({ hasText: 'refuses' });
    await expect(refuses.getByRole('link', { name: /^Run [0-9a-f]{8}: failed/ })).toBeVisible();
  });

  test('shows new runs without a reload, and leads to them', async ({ agent, page }) => {
    await signIn(page, agent);
    await page.goto(`${agent.url}/jobs`);
    await live(page);
    const cells = page.getByRole('row').filter({ hasText: 'every-two-seconds' }).getByRole('link', { name: /^Run .*: (completed|running)/ });
    const before = await cells.count();
    await expect.poll(() => cells.count()).toBeGreaterThanOrEqual(before + 2);
    await cells.first().click();
    await expect(page.getByRole('heading', { level: 1 })).toContainText('of every-two-seconds');
  });

  test('is narrowed by text and state, which the address keeps', async ({ agent, page }) => {
    await agent.api('POST', '/jobs/oddly/pause', { reason: 'the disk is full' });
    await signIn(page, agent);
    await page.goto(`${agent.url}/jobs?state=paused`);
    await expect(page.getByRole('row')).toHaveCount(2);
    await expect(page.getByRole('row').nth(1)).toContainText('the disk is full');
    await page.getByLabel('State').selectOption('');
    await page.getByLabel('Filter').fill('nightly');
    await expect(page.getByRole('row')).toHaveCount(2);
    await expect(page).toHaveURL(/\/jobs\?q=nightly$/);
    await page.getByLabel('Filter').fill('no such job');
    await page.getByRole('button', { name: 'Show all of them' }).click();
    await expect(page.getByRole('row')).toHaveCount(jobs.length + 1);
  });

  test('is clean for axe, fits a narrow screen, and is walked with the keyboard', async ({ agent, page }) => {
    await ranOnce(agent, 'refuses');
    await ranOnce(agent, 'split');
    await agent.api('POST', '/jobs/oddly/pause', { reason: 'the disk is full' });
    await signIn(page, agent);
    await page.goto(`${agent.url}/jobs`);
    await live(page);
    await expect(page.getByRole('row')).toHaveCount(jobs.length + 1);
    await expectAccessible(page);
    await expectFitsNarrow(page);
    await keepScreenshots(page, 'jobs');
    await page.getByRole('row').nth(1).focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await expect(page.getByRole('heading', { level: 1, name: 'nightly-report' })).toBeVisible();
  });
});

test.describe('without a job', () => {
  test.use({ agentOptions: { jobs: [] } });

  test('the list says how to get one', async ({ agent, page }) => {
    await signIn(page, agent);
    await page.goto(`${agent.url}/jobs`);
    await expect(page.getByText('No job yet')).toBeVisible();
    await expectAccessible(page);
  });
});

test.describe('a job', () => {
  test.use({ agentOptions: { jobs } });

  test('is paused with a reason, and resumed, without a reload', async ({ agent, page }) => {
    await signIn(page, agent);
    await page.goto(`${agent.url}/jobs/oddly`);
    await live(page);
    await page.getByRole('button', { name: 'Pause oddly' }).click();
    const question = page.getByRole('dialog', { name: 'Pause oddly' });
    await expect(question.getByLabel('Why, for those who wonder')).toBeFocused();
    await expect(question.getByRole('button', { name: 'Pause', exact: true })).toBeDisabled();
    await expectAccessible(page);
    await page.keyboard.type('the disk is full');
    await page.keyboard.press('Enter');
    await expect(question).toBeHidden();
    const state = page.getByRole('region', { name: 'State' });
    await expect(state).toContainText('paused');
    await expect(state).toContainText('“the disk is full”');
    await expect(page.getByText('None while it is paused.')).toBeVisible();

    await page.getByRole('button', { name: 'Resume oddly' }).click();
    await expect(page.getByRole('dialog')).toContainText('the disk is full');
    await page.getByRole('button', { name: 'Resume', exact: true }).click();
    await expect(state).not.toContainText('paused');
    const { body } = await agent.api<{ audit: { action: string; detail: string }[] }>('GET', '/audit');
    expect(body.audit.map(({ action }) => action)).toEqual(expect.arrayContaining(['job.pause', 'job.resume']));
  });

  test('is run with arguments after a look at what would run', async ({ agent, page, watch }) => {
    // The run's page is there before the run is.
    watch.allowed.push(/404/);
    await signIn(page, agent);
    await page.goto(`${agent.url}/jobs/nightly-report`);
    await page.getByRole('button', { name: 'Run now: nightly-report' }).click();
    const question = page.getByRole('dialog', { name: 'Run nightly-report now' });
    const preview = question.getByRole('region', { name: 'What would run' });
    await expect(preview).toContainText('job/nightly-report');
    await expect(preview).toContainText('On one of 1 live node');
    await question.getByLabel('Further arguments, one on each line').fill('--day\n2026-11-22 06:00');
    await expect(preview.locator('pre')).toContainText("--day '2026-11-22 06:00'");
    await expectAccessible(page);
    const { body: before } = await agent.api<{ runs: unknown[] }>('GET', '/runs?job=nightly-report');
    expect(before.runs, 'a look runs nothing').toEqual([]);
    await question.getByRole('button', { name: 'Run now' }).click();
    await question.getByRole('link', { name: /^Follow run/ }).click();
    await expect(page.getByRole('log')).toContainText('arguments: --day 2026-11-22 06:00');
    await expect(page.getByRole('region', { name: 'State' })).toContainText('completed');
  });

  test('goes on from its checkpoint when told to', async ({ agent, page, watch }) => {
    // The run's page is there before the run is.
    watch.allowed.push(/404/);
    await ranOnce(agent, 'saves');
    await signIn(page, agent);
    await page.goto(`${agent.url}/jobs/saves`);
    await page.getByRole('button', { name: 'Run now: saves' }).click();
    const question = page.getByRole('dialog');
    await question.getByLabel('Go on from the last checkpoint').check();
    await expect(question.getByRole('region', { name: 'What would run' })).toContainText('from checkpoint page 5');
    await question.getByRole('button', { name: 'Run now' }).click();
    await question.getByRole('link', { name: /^Follow run/ }).click();
    await expect(page.getByRole('log')).toContainText('from: page 5');
  });

  test('says who is in its way', async ({ agent, page }) => {
    await agent.lease('job/refuses', 600_000, 'somebody-else');
    await signIn(page, agent);
    await page.goto(`${agent.url}/jobs/refuses`);
    await expect(page.getByRole('table', { name: 'The lock' })).toContainText('somebody-else');
    await page.getByRole('button', { name: 'Run now: refuses' }).click();
    await expect(page.getByRole('dialog')).toContainText(/is held by .*somebody-else.* for another .*: it waits/);
    await page.getByRole('dialog').getByRole('button', { name: 'Run now' }).click();
    await page.getByRole('button', { name: 'Close', exact: true }).last().click();
    await expect(page.getByRole('region', { name: 'State' })).toContainText('waiting');
    await expect(page.getByRole('region', { name: 'State' })).toContainText('somebody-else');
  });

  test('shows its partitions, only the chosen of which runs', async ({ agent, page }) => {
    await signIn(page, agent);
    await page.goto(`${agent.url}/jobs/split`);
    await page.getByRole('button', { name: 'Run now: split' }).click();
    const question = page.getByRole('dialog');
    await expect(question.getByRole('region', { name: 'What would run' }).getByRole('listitem')).toHaveCount(4);
    await question.getByLabel('Partition').selectOption('2');
    await expect(question.getByRole('region', { name: 'What would run' }).getByRole('listitem')).toHaveCount(1);
    await question.getByRole('button', { name: 'Run now' }).click();
    await expect(question.getByRole('link', { name: /^Follow run/ })).toHaveCount(1);
    await page.keyboard.press('Escape');
    const row = page.getByRole('table', { name: 'Partitions' }).getByRole('row').filter({ hasText: 'job/split/2' });
    await expect(row).toContainText('completed');
    await expect(page.getByRole('table', { name: 'Partitions' }).getByRole('row').filter({ hasText: 'none yet' })).toHaveCount(3);
  });

  test('is clean for axe, fits a narrow screen, and has its history as bars that lead to runs', async ({ agent, page }) => {
    await ranOnce(agent, 'refuses');
    await ranOnce(agent, 'refuses');
    await signIn(page, agent);
    await page.goto(`${agent.url}/jobs/refuses`);
    await live(page);
    await expect(page).toHaveTitle('refuses · Job · pawl');
    await expect(page.getByText(/^0 of the last 2 completed\./)).toBeVisible();
    await expect(page.getByRole('link', { name: /^Run [0-9a-f]{8}: failed/ }).first()).toBeVisible();
    await expectAccessible(page);
    await expectFitsNarrow(page);
    await page.goto(`${agent.url}/jobs/every-two-seconds`);
    await expect.poll(() => page.getByRole('link', { name: /^Run .*: completed/ }).count()).toBeGreaterThan(2);
    await keepScreenshots(page, 'job');
  });

  test('of a name that nobody has is told as that', async ({ agent, page, watch }) => {
    watch.allowed.push(/404/);
    await signIn(page, agent);
    await page.goto(`${agent.url}/jobs/no-such-job`);
    await expect(page.getByText('There is no job of this name')).toBeVisible();
    await expectAccessible(page);
  });
});

test.describe('a viewer', () => {
  test.use({ agentOptions: { jobs, users: ['viewer', 'operator'] } });

  test('sees what he may not do, and who may', async ({ agent, page }) => {
    await signIn(page, agent, 'viewer');
    await page.goto(`${agent.url}/jobs/waits`);
    for (const name of ['Run now: waits', 'Pause waits']) {
      const button = page.getByRole('button', { name });
      await expect(button).toHaveAttribute('aria-disabled', 'true');
      await expect(button).toHaveAttribute('title', /Only an operator or admin may; you are signed in as viewer/);
      await button.click({ force: true });
    }
    await expect(page.getByRole('dialog')).toHaveCount(0);
    await expectAccessible(page);
  });
});
