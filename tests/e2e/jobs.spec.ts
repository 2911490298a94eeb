import { Agent, expect, expectAccessible, expectDialogFits, expectFitsNarrow, keepScreenshots, live, signIn, test, until } from './harness';

const yearly = '0 0 1 1 *';
const jobs = [
  { name: 'every-two-seconds', schedule: '*/2 * * * * *', script: 'echo done' },
  { name: 'nightly-report', schedule: '30 2 * * MON-FRI', zone: 'America/New_York', script: 'true' },
  { name: 'oddly', schedule: '*/7 * * * *', script: 'true' },
  { name: 'rejects', schedule: yearly, script: 'echo no; exit 3' },
  { name: 'report', schedule: yearly, arguments: ['--day', '2026-*'], script: 'echo "arguments: $*"; echo "from: $PAWL_CHECKPOINT"' },
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
    await ranOnce(agent, 'rejects');
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
    const rejects = page.getByRole('row').filter({ hasText: 'rejects' });
    await expect(rejects.getByRole('link', { name: /^Run [0-9a-f]{8}: failed/ })).toBeVisible();
  });

  test('shows new runs without a reload, and leads to them', async ({ agent, page }) => {
    await signIn(page, agent);
    await page.goto(`${agent.url}/jobs`);
    await live(page);
    const cells = page.getByRole('row').filter({ hasText: 'every-two-seconds' }).getByRole('link', { name: /^Run .*: (completed|running)/ });
    const links = () => cells.evaluateAll((all) => all.map((one) => one.getAttribute('href')));
    const before = new Set(await links());
    // Not by their number, which has a ceiling.
    await expect.poll(async () => (await links()).filter((one) => !before.has(one)).length).toBeGreaterThanOrEqual(2);
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
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await expect(page.getByRole('row')).toHaveCount(jobs.length + 1);
  });

  test('is clean for axe, fits a narrow screen, and is walked with the keyboard', async ({ agent, page }) => {
    await ranOnce(agent, 'rejects');
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

test.describe('a job whose key a client beside it holds', () => {
  test.use({ agentOptions: { jobs: [...jobs, { name: 'each-second', schedule: '* * * * * *', script: 'true' }] } });

  test('is blocked, names the true holder in every skipped run, and leads to force release', async ({ agent, page }) => {
    await until('the key is free, and taken', async () =>
      (await agent.api('POST', '/leases', { key: 'job/each-second', owner: 'loader-7', ttl_ms: 3_600_000 })).status === 201);
    const skipped = await until('an occurrence that gave way to it', async () => {
      const runs = await agent.runs<{ reason: string }>('job=each-second&status=skipped');
      return runs.find(({ reason }) => reason.includes('loader-7'));
    });
    expect(skipped.reason).toMatch(/^lock job\/each-second was held by local@loader-7 since 20\S+Z \(token \d+\), until 20\S+Z \(\S+\) unless renewed; it is no run of this job$/);
    await signIn(page, agent);
    await page.goto(`${agent.url}/jobs?state=blocked`);
    await expect(page.getByRole('row')).toHaveCount(2);
    const row = page.getByRole('row').filter({ hasText: 'each-second' });
    await expect(row).toContainText('held by local@loader-7 since');
    await expect(row.getByRole('link', { name: 'Lock job/each-second' })).toHaveAttribute('href', '/locks/job/each-second');
    await expectAccessible(page);
    await keepScreenshots(page, 'jobs-blocked');
    const attention = page.locator('.attention');
    await page.goto(agent.url);
    await expect(attention).toContainText('loader-7 holds its lock job/each-second');
    await expect(attention.getByRole('listitem').filter({ hasText: 'loader-7' }).locator('.badge')).toHaveText('critical');
    await attention.getByRole('link', { name: 'Force release for each-second' }).click();
    const dialog = page.getByRole('dialog', { name: 'Force release' });
    await expect(dialog).toContainText('loader-7');
    await expect(dialog).toContainText(/in cooldown for (1 h|5\d min)/);
    await dialog.getByRole('checkbox', { name: /Free now/ }).check();
    await expect(dialog).toContainText('two may run');
    await dialog.getByLabel('Reason').fill('loader-7 is gone');
    await dialog.getByLabel('Type the key to confirm').fill('job/each-second');
    await dialog.getByRole('button', { name: 'Release and free now' }).click();
    await until('it runs again', async () => {
      const { state, last_run: last } = await agent.read<{ state: string; last_run: { status: string } }>('/jobs/each-second');
      return state !== 'blocked' && last.status === 'completed';
    });
  });
});

test.describe('a job that keeps failing', () => {
  test.use({ agentOptions: { jobs } });

  test('is failing, in the list, its filter and on its page, until it has succeeded', async ({ agent, page }) => {
    for (let times = 0; times < 3; times++) await ranOnce(agent, 'rejects');
    await signIn(page, agent);
    await page.goto(`${agent.url}/jobs`);
    await live(page);
    await page.getByLabel('State').selectOption('failing');
    await expect(page.getByRole('row')).toHaveCount(2);
    const row = page.getByRole('row').filter({ hasText: 'rejects' });
    await expect(row.locator('.badge.fail')).toHaveText('failing');
    await expect(row).toContainText('its last 3 runs failed, the newest on node-a');
    await row.getByRole('link', { name: 'rejects' }).click();
    await expect(page.getByRole('region', { name: 'State' })).toContainText('failing');
    const job = await agent.read('/jobs/rejects');
    expect(job).toMatchObject({ state: 'failing', consecutive_failures: 3, blocked_by: null });
  });
});

test.describe('a job of a thousand partitions', () => {
  test.use({ agentOptions: { jobs: [{ name: 'wide', schedule: yearly, partitions: 1_000, script: 'exit 3' }] } });

  test('is a page that can be read, with all of them on demand', async ({ agent, page }) => {
    await agent.api('POST', '/jobs/wide/runs', { partition: 900 });
    await until('the failure of one', async () =>
      (await agent.runs('job=wide&status=failed')).length);
    await signIn(page, agent);
    await page.goto(`${agent.url}/jobs/wide`);
    await expect(page.getByText('1,000 partitions: 0 running, 0 locks held, 1 failed in their last run.')).toBeVisible();
    await expect(page.getByRole('table', { name: 'Partitions' }).getByRole('row')).toHaveCount(2);
    await expect(page.getByRole('table', { name: 'Partitions' })).toContainText('job/wide/900');
    expect(await page.getByRole('row').count()).toBeLessThan(40);
    await expectAccessible(page);
    await expectFitsNarrow(page);
    await page.getByText('All 1000 partitions').click();
    await expect(page.getByRole('table', { name: 'All partitions' })).toHaveAttribute('aria-rowcount', '1001');
    expect(await page.getByRole('row').count()).toBeLessThan(140);
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
    await expect(question.getByLabel('Reason')).toBeFocused();
    await expect(question.getByRole('button', { name: 'Pause', exact: true })).toBeDisabled();
    await expectAccessible(page);
    await page.keyboard.type('the disk is full');
    await page.keyboard.press('Enter');
    await expect(question).toBeHidden();
    const state = page.getByRole('region', { name: 'State' });
    await expect(state).toContainText('paused');
    await expect(state).toContainText('“the disk is full”');
    await expect(page.getByRole('region', { name: 'Upcoming runs' }).getByText('Paused')).toBeVisible();

    await page.getByRole('button', { name: 'Resume oddly' }).click();
    await expect(page.getByRole('dialog')).toContainText('the disk is full');
    await page.getByRole('button', { name: 'Resume', exact: true }).click();
    await expect(state).not.toContainText('paused');
    const { audit } = await agent.read<{ audit: { action: string; detail: string }[] }>('/audit');
    expect(audit.map(({ action }) => action)).toEqual(expect.arrayContaining(['job.pause', 'job.resume']));
  });

  test('is run with arguments after a look at what would run', async ({ agent, page, watch }) => {
    // The run's page is there before the run is.
    watch.allowed.push(/404/);
    await signIn(page, agent);
    await page.goto(`${agent.url}/jobs/report`);
    await page.getByRole('button', { name: 'Run now: report' }).click();
    const question = page.getByRole('dialog', { name: 'Run report now' });
    const preview = question.getByRole('region', { name: 'Preview' });
    await expect(preview).toContainText('job/report');
    await expect(preview).toContainText('On one of 1 live node');
    await question.getByLabel('Extra arguments, one per line').fill('--day\n2026-11-22 06:00');
    await expect(preview.locator('pre')).toContainText("--day '2026-11-22 06:00'");
    await expectAccessible(page);
    expect(await agent.runs('job=report'), 'a look runs nothing').toEqual([]);
    await question.getByRole('button', { name: 'Run now' }).click();
    await question.getByRole('link', { name: /^Follow run/ }).click();
    await expect(page.getByRole('log')).toContainText('arguments: --day 2026-11-22 06:00');
    await expect(page.getByRole('region', { name: 'State' })).toContainText('completed');
  });

  test('resumes from its checkpoint when told to', async ({ agent, page, watch }) => {
    // The run's page is there before the run is.
    watch.allowed.push(/404/);
    await ranOnce(agent, 'saves');
    await signIn(page, agent);
    await page.goto(`${agent.url}/jobs/saves`);
    await page.getByRole('button', { name: 'Run now: saves' }).click();
    const question = page.getByRole('dialog');
    await question.getByLabel('Resume from last checkpoint').check();
    await expect(question.getByRole('region', { name: 'Preview' })).toContainText('from checkpoint page 5');
    await question.getByRole('button', { name: 'Run now' }).click();
    await question.getByRole('link', { name: /^Follow run/ }).click();
    await expect(page.getByRole('log')).toContainText('from: page 5');
  });

  test('says who is in its way', async ({ agent, page }) => {
    await agent.lease('job/rejects', 600_000, 'another-client');
    await signIn(page, agent);
    await page.goto(`${agent.url}/jobs/rejects`);
    await expect(page.getByRole('table', { name: 'Lock' })).toContainText('another-client');
    await page.getByRole('button', { name: 'Run now: rejects' }).click();
    await expect(page.getByRole('dialog')).toContainText(/is held by .*another-client.*, expires in .*: the run waits/);
    await page.getByRole('dialog').getByRole('button', { name: 'Run now' }).click();
    await page.getByRole('button', { name: 'Close', exact: true }).last().click();
    await expect(page.getByRole('region', { name: 'State' })).toContainText('blocked');
    await expect(page.getByRole('region', { name: 'State' })).toContainText('another-client');
  });

  test('shows its partitions, only the chosen of which runs', async ({ agent, page }) => {
    await signIn(page, agent);
    await page.goto(`${agent.url}/jobs/split`);
    await page.getByRole('button', { name: 'Run now: split' }).click();
    const question = page.getByRole('dialog');
    await expect(question.getByRole('region', { name: 'Preview' }).getByRole('listitem')).toHaveCount(4);
    await question.getByLabel('Partition').selectOption('2');
    await expect(question.getByRole('region', { name: 'Preview' }).getByRole('listitem')).toHaveCount(1);
    await question.getByRole('button', { name: 'Run now' }).click();
    await expect(question.getByRole('link', { name: /^Follow run/ })).toHaveCount(1);
    await page.keyboard.press('Escape');
    const row = page.getByRole('table', { name: 'Partitions' }).getByRole('row').filter({ hasText: 'job/split/2' });
    await expect(row).toContainText('completed');
    await expect(page.getByRole('table', { name: 'Partitions' }).getByRole('row').filter({ hasText: 'none yet' })).toHaveCount(3);
  });

  test('is clean for axe, fits a narrow screen, and has its history as bars that lead to runs', async ({ agent, page }) => {
    await ranOnce(agent, 'rejects');
    await ranOnce(agent, 'rejects');
    await signIn(page, agent);
    await page.goto(`${agent.url}/jobs/rejects`);
    await live(page);
    await expect(page).toHaveTitle('rejects · Job · pawl');
    await expect(page.getByText(/^0 of the last 2 completed\./)).toBeVisible();
    await expect(page.getByRole('link', { name: /^Run [0-9a-f]{8}: failed/ }).first()).toBeVisible();
    await expectAccessible(page);
    await expectFitsNarrow(page);
    await page.goto(`${agent.url}/jobs/every-two-seconds`);
    await expect.poll(() => page.getByRole('link', { name: /^Run .*: completed/ }).count()).toBeGreaterThan(2);
    await keepScreenshots(page, 'job');
  });

  test('of an unknown name is told as that', async ({ agent, page, watch }) => {
    watch.allowed.push(/404/);
    await signIn(page, agent);
    await page.goto(`${agent.url}/jobs/no-such-job`);
    await expect(page.getByText('Job not found')).toBeVisible();
    await expectAccessible(page);
  });
});

test.describe('a run by hand', () => {
  test.use({ agentOptions: { jobs: [...jobs, { name: 'anything', schedule: yearly, arguments: true, script: 'true' }] } });

  test('is offered arguments only where its configuration allows some, and says which', async ({ agent, page, watch }) => {
    // The preview is rejected.
    watch.allowed.push(/403/);
    await signIn(page, agent);
    await page.goto(`${agent.url}/jobs`);
    const question = page.getByRole('dialog');
    const extra = question.getByLabel('Extra arguments, one per line');
    await page.getByRole('button', { name: 'Run now: waits' }).click();
    await expect(question.getByRole('region', { name: 'Preview' })).toContainText('job/waits is free');
    await expect(extra).toHaveCount(0);
    await expect(question).not.toContainText('Allowed:');
    await expectDialogFits(page);
    await page.keyboard.press('Escape');

    await page.getByRole('button', { name: 'Run now: anything' }).click();
    await expect(extra).toBeVisible();
    await expect(question).not.toContainText('Allowed:');
    await page.keyboard.press('Escape');

    await page.getByRole('button', { name: 'Run now: report' }).click();
    await expect(extra).toHaveAccessibleDescription('Allowed: --day, 2026-*');
    await expectDialogFits(page);
    await expectAccessible(page);
    await keepScreenshots(page, 'dialog-run-arguments');
    await extra.fill('--checkpoint-action=exec=sh');
    await expect(question.getByRole('alert')).toContainText("argument '--checkpoint-action=exec=sh' is not allowed");
    await expect(question.getByRole('button', { name: 'Run now' })).toBeDisabled();
    await expectDialogFits(page);
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
