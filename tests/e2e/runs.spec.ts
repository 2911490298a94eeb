import { readFileSync } from 'node:fs';
import { Agent, everyRow, expect, expectAccessible, expectFitsNarrow, figure, keepScreenshots, live, signIn, test, until } from './harness';

const yearly = '0 0 1 1 *';
const jobs = [
  { name: 'counts', schedule: yearly, script: 'i=0; while :; do i=$((i+1)); echo "line $i"; sleep 0.05; done' },
  { name: 'greets', schedule: yearly, script: 'printf "\\033[32mhello\\033[0m <b>world</b>\\n"' },
  { name: 'rejects', schedule: yearly, script: 'echo no; exit 3' },
  { name: 'wide', schedule: yearly, partitions: 21, script: 'true' },
  { name: 'floods', schedule: yearly, script: 'seq 1 60000; sleep 60' },
  { name: 'retries', schedule: yearly, retries: { max: 1, backoff: '100ms', factor: 1, max_backoff: '1s' }, script: '"$PAWL_BINARY" checkpoint "attempt $PAWL_ATTEMPT"; exit 3' },
];

async function begun(agent: Agent, job: string): Promise<string> {
  const { body } = await agent.api<{ ids: string[] }>('POST', `/jobs/${job}/runs`, {});
  const [id] = body.ids;
  await until(`the begin of run ${id}`, async () => (await agent.api('GET', `/runs/${id}`)).status === 200);
  return id;
}

async function over(agent: Agent, id: string): Promise<string> {
  return until(`the end of run ${id}`, async () => {
    const { status } = await agent.read<{ status: string }>(`/runs/${id}`);
    return status === 'started' ? undefined : status;
  });
}

async function ran(agent: Agent, job: string, times = 1): Promise<string[]> {
  const ids: string[] = [];
  for (let time = 0; time < times; time++) {
    ids.push(await begun(agent, job));
    await over(agent, ids[time]);
  }
  return ids;
}

test.describe('the list of runs', () => {
  test.use({ agentOptions: { jobs } });

  test('shows a run begin and end without a reload', async ({ agent, page }) => {
    await signIn(page, agent);
    await page.goto(`${agent.url}/runs`);
    await live(page);
    await expect(page.getByText('No run yet')).toBeVisible();
    const id = await begun(agent, 'counts');
    const row = page.getByRole('row').filter({ hasText: id.slice(0, 8) });
    await expect(row).toContainText('running');
    await agent.api('POST', `/runs/${id}/cancel`);
    await expect(row).toContainText('cancelled');
  });

  test('is narrowed by job, status and node, and a link says the same', async ({ agent, page }) => {
    const [failed] = await ran(agent, 'rejects');
    const [good] = await ran(agent, 'greets');
    await signIn(page, agent);
    await page.goto(`${agent.url}/runs?status=failed`);
    await expect(page.getByRole('row').filter({ hasText: failed.slice(0, 8) })).toBeVisible();
    await expect(page.getByRole('row')).toHaveCount(2);
    await page.getByLabel('Status').selectOption('');
    await expect(page.getByRole('row')).toHaveCount(3);
    await page.getByLabel('Job').fill('greets');
    await page.getByLabel('Job').press('Enter');
    await expect(page.getByRole('row')).toHaveCount(2);
    await expect(page.getByRole('row').filter({ hasText: good.slice(0, 8) })).toBeVisible();
    await expect(page).toHaveURL(/\/runs\?job=greets$/);
    await page.goto(`${agent.url}/runs?node=nobody`);
    await expect(page.getByText('No matching run')).toBeVisible();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await expect(page.getByRole('row')).toHaveCount(3);
  });

  test('does not move what is being read when runs come in', async ({ agent, page }) => {
    await ran(agent, 'greets', 3);
    await signIn(page, agent);
    await page.goto(`${agent.url}/runs`);
    await live(page);
    await expect(page.getByRole('row')).toHaveCount(4);
    const read = page.getByRole('row').nth(2);
    await read.focus();
    const [words, place] = [await read.getByRole('link').first().innerText(), await read.boundingBox()];
    await ran(agent, 'rejects');
    await expect(page.getByRole('button', { name: 'Show 1 new run' })).toBeVisible();
    await expect(read).toBeFocused();
    expect(await read.getByRole('link').first().innerText()).toBe(words);
    await page.getByRole('button', { name: 'Show 1 new run' }).click();
    await expect(page.getByRole('row')).toHaveCount(5);
    expect(place).not.toBeNull();
  });

  test('continues beyond its first page, to the end, each run once', async ({ agent, page }) => {
    // They begin as the machine has time for them; what the page does is held to its own limits.
    test.setTimeout(240_000);
    const ids = new Set<string>();
    for (let many = 0; many < 5; many++) {
      const { body } = await agent.api<{ ids: string[] }>('POST', '/jobs/wide/runs', {});
      body.ids.forEach((id) => ids.add(id));
    }
    const wanted = ids.size;
    expect(wanted).toBe(105);
    await until('all runs', async () => {
      const runs = await agent.runs<{ status: string }>('limit=1000');
      return runs.filter(({ status }) => status === 'completed').length >= wanted;
    }, 120_000);
    await signIn(page, agent);
    await page.goto(`${agent.url}/runs`);
    const table = page.getByRole('table', { name: 'Runs' });
    await expect(table).toHaveAttribute('aria-rowcount', '101');
    await page.getByRole('button', { name: 'Load more' }).click();
    await expect(table).toHaveAttribute('aria-rowcount', String(wanted + 1));
    await expect(page.getByRole('button', { name: 'Load more' })).toHaveCount(0);
    expect(await page.getByRole('row').count()).toBeLessThan(100);
    const shown = (await everyRow(page, 'td.column-run a')).map(({ href }) => href.replace('/runs/', ''));
    expect(shown.length).toBe(wanted);
    expect(new Set(shown)).toEqual(ids);
  });

  test('is clean for axe and fits a narrow screen', async ({ agent, page }) => {
    await ran(agent, 'rejects');
    await ran(agent, 'greets', 2);
    await ran(agent, 'retries');
    await begun(agent, 'counts');
    await signIn(page, agent);
    await page.goto(`${agent.url}/runs`);
    await live(page);
    await expect(page.getByRole('row')).toHaveCount(6);
    await expectAccessible(page);
    await expectFitsNarrow(page);
    await keepScreenshots(page, 'runs');
  });
});

test.describe('a run', () => {
  test.use({ agentOptions: { jobs } });

  test('shows its output while it writes, and is cancelled', async ({ agent, page }) => {
    const id = await begun(agent, 'counts');
    await signIn(page, agent);
    await page.goto(`${agent.url}/runs/${id}`);
    await live(page);
    const log = page.getByRole('log');
    await expect(log).toContainText('line 20');
    const cancel = page.getByRole('button', { name: 'Cancel…' });
    await cancel.click();
    const question = page.getByRole('dialog');
    await expect(question).toContainText('SIGTERM');
    await expect(question.getByLabel('Reason')).toBeFocused();
    await expect(question.getByRole('button', { name: 'Cancel run' })).toBeDisabled();
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await expect(question).toBeHidden();
    await expect(cancel).toBeFocused();
    await page.keyboard.press('Enter');
    await question.getByLabel('Reason').fill('counts the wrong lines');
    await question.getByRole('button', { name: 'Cancel run' }).click();
    await expect(page.getByRole('region', { name: 'State' })).toContainText('cancelled');
    await expect(page.getByText('Finished.')).toBeVisible();
    await expect(page.getByRole('button', { name: 'Cancel…' })).toHaveAttribute('aria-disabled', 'true');
    expect(await over(agent, id)).toBe('cancelled');
    await expect(page.getByRole('region', { name: 'Attempts' })).toContainText('counts the wrong lines');
    const { audit } = await agent.read<{ audit: { action: string; detail: string }[] }>('/audit');
    expect(audit.find(({ action }) => action === 'run.cancel')?.detail).toContain('counts the wrong lines');
  });

  test('follows the end until the user scrolls up, and holds still while paused', async ({ agent, page }) => {
    const id = await begun(agent, 'counts');
    await signIn(page, agent);
    await page.goto(`${agent.url}/runs/${id}`);
    const log = page.getByRole('log');
    const follows = page.getByLabel('Auto-scroll');
    await expect(log).toContainText('line 60');
    await expect(follows).toBeChecked();
    await expect.poll(() => log.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight)).toBeLessThan(30);
    await log.hover();
    await page.mouse.wheel(0, -2_000);
    await expect(follows).not.toBeChecked();
    const place = await log.evaluate((box) => box.scrollTop);
    const lines = await log.locator('div').count();
    await expect.poll(() => log.locator('div').count()).toBeGreaterThan(lines + 5);
    expect(await log.evaluate((box) => box.scrollTop)).toBe(place);
    await follows.check();
    await expect.poll(() => log.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight)).toBeLessThan(30);

    await page.getByRole('button', { name: 'Pause' }).click();
    await expect(page.getByText('Paused: new output is shown when you resume.')).toBeVisible();
    const still = await log.innerText();
    const size = async () => (await agent.read<{ output_size: number }>(`/runs/${id}`)).output_size;
    const before = await size();
    await until('more output', async () => (await size()) > before + 200);
    expect(await log.innerText()).toBe(still);
    await page.getByRole('button', { name: 'Resume' }).click();
    await expect.poll(async () => (await log.innerText()).length).toBeGreaterThan(still.length);
  });

  test('of a flood shows the last lines, in a document of bounded size, and the whole as a download', async ({ agent, page }) => {
    const id = await begun(agent, 'floods');
    await signIn(page, agent);
    const start = Date.now();
    await page.goto(`${agent.url}/runs/${id}`);
    const log = page.getByRole('log');
    await expect(log).toContainText('60000');
    figure('page of a run with 60,000 lines of output, until the last is shown', Date.now() - start, 'ms');
    await expect(log.getByText('earlier lines are not shown')).toBeVisible();
    expect(await log.locator('div').count()).toBeLessThanOrEqual(5_002);
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download' }).click()]);
    const text = readFileSync(await download.path(), 'utf8');
    expect(text.startsWith('1\n2\n3\n')).toBe(true);
    expect(text.trimEnd().endsWith('\n60000')).toBe(true);
  });

  test('writes no markup and no colours into the page', async ({ agent, page }) => {
    const [id] = await ran(agent, 'greets');
    await signIn(page, agent);
    await page.goto(`${agent.url}/runs/${id}`);
    await expect(page.getByRole('log')).toHaveText(/^\s*hello <b>world<\/b>\s*$/);
  });

  test('tells its attempts, tokens and checkpoints as a list', async ({ agent, page }) => {
    const [id] = await ran(agent, 'retries');
    await signIn(page, agent);
    await page.goto(`${agent.url}/runs/${id}`);
    const attempts = page.getByRole('region', { name: 'Attempts' }).locator('ol > li');
    await expect(attempts).toHaveCount(2);
    await expect(attempts.nth(0)).toContainText('failed, retried');
    await expect(attempts.nth(0)).toContainText('checkpoint 9 bytes');
    await expect(page.getByRole('region', { name: 'Last checkpoint' })).toHaveText('attempt 2');
    await expect(attempts.nth(0)).toContainText('exit 3');
    await expect(attempts.nth(1)).toContainText('Attempt 2 on node-a');
    await expectAccessible(page);
  });

  test('is clean for axe, fits a narrow screen, and leads to its job, lock and node', async ({ agent, page }) => {
    const id = await begun(agent, 'counts');
    await signIn(page, agent);
    await page.goto(`${agent.url}/runs/${id}`);
    await expect(page).toHaveTitle(`counts ${id.slice(0, 8)} · Run · pawl`);
    await expect(page.getByRole('log')).toContainText('line 30');
    await expectAccessible(page);
    await expectFitsNarrow(page);
    // It was not scrolled, its room has changed.
    await expect(page.getByLabel('Auto-scroll')).toBeChecked();
    await keepScreenshots(page, 'run');
    await page.getByRole('link', { name: 'job/counts' }).click();
    await expect(page).toHaveURL(/\/locks\/job\/counts$/);
    await page.goBack();
    await page.getByRole('heading', { level: 1 }).getByRole('link', { name: 'counts' }).click();
    await expect(page).toHaveURL(/\/jobs\/counts$/);
  });

  test('that has not begun comes by itself when it does', async ({ agent, page, watch }) => {
    watch.allowed.push(/404/);
    const token = await agent.lease('job/greets', 600_000);
    const { body } = await agent.api<{ ids: string[] }>('POST', '/jobs/greets/runs', {});
    await signIn(page, agent);
    await page.goto(`${agent.url}/runs/${body.ids[0]}`);
    await expect(page.getByText('Run not found, or not started yet')).toBeVisible();
    await expectAccessible(page);
    await live(page);
    await agent.api('DELETE', `/leases/job/greets/${token}`);
    await expect(page.getByRole('log')).toContainText('hello');
  });
});

test.describe('a run of several users', () => {
  test.use({ agentOptions: { jobs: [...jobs, { name: 'each-second', schedule: '* * * * * *', script: 'true' }], users: ['operator', 'admin'] } });

  test('says who triggered it, who cancelled it and why', async ({ agent, page }) => {
    const id = await begun(agent, 'counts');
    await signIn(page, agent, 'operator');
    await page.goto(`${agent.url}/runs/${id}`);
    await live(page);
    const state = page.getByRole('region', { name: 'State' });
    const fact = (name: string) => state.locator('.facts > div').filter({ has: page.getByText(name, { exact: true }) }).locator('dd');
    await expect(fact('Triggered by')).toHaveText('admin');
    await expect(fact('Cancelled by')).toHaveCount(0);
    await page.getByRole('button', { name: 'Cancel…' }).click();
    await page.getByRole('dialog').getByLabel('Reason').fill('wrong input, ticket 4711');
    await page.getByRole('button', { name: 'Cancel run' }).click();
    await expect(fact('Cancelled by')).toHaveText('operator');
    await expect(page.getByRole('region', { name: 'Attempts' }).getByRole('listitem').filter({ hasText: 'triggered by' }).last()).toContainText('triggered by admin');
    await expect(fact('Cancel reason')).toHaveText('wrong input, ticket 4711');
    await expect(fact('Triggered by')).toHaveText('admin');
    await expect(state.locator('.badge')).toHaveText('cancelled');
    await expectAccessible(page);
    await expectFitsNarrow(page);
    await keepScreenshots(page, 'run-cancelled');

    const scheduled = await until('a scheduled run', async () =>
      (await agent.runs<{ id: string }>('job=each-second&status=completed'))[0]?.id);
    await page.goto(`${agent.url}/runs/${scheduled}`);
    await expect(fact('Trigger')).toHaveText('schedule');
    await expect(fact('Scheduled for').locator('time')).toBeVisible();
    await expect(fact('Triggered by')).toHaveCount(0);
    await expect(fact('Cancelled by')).toHaveCount(0);
  });
});

test.describe('a run whose node is killed', () => {
  const job = {
    name: 'moves', schedule: '*/5 * * * * *', occurrence: 'at-least-once', ttl: '12s', grace: '500ms',
    script: '"$PAWL_BINARY" checkpoint "done by $PAWL_NODE"; echo "on $PAWL_NODE from $PAWL_CHECKPOINT"; while [ "$PAWL_ATTEMPT" = 1 ]; do sleep 0.1; done',
  };
  test.use({ agentOptions: { jobs: [job] } });

  test('is taken over by another, and its page tells both, live', async ({ agent, page }) => {
    test.setTimeout(180_000);
    const second = await Agent.start({ name: 'node-b', beside: agent, jobs: [job] });
    try {
      const id = await until('an occurrence that runs', async () => {
        return (await agent.runs<{ id: string }>('job=moves&status=started'))[0]?.id;
      });
      const { node } = await agent.read<{ node: string }>(`/runs/${id}`);
      const [gone, stays] = node === 'node-a' ? [agent, second] : [second, agent];
      await signIn(page, stays);
      await page.goto(`${stays.url}/runs/${id}`);
      await live(page);
      await expect(page.getByRole('region', { name: 'Attempts' })).toContainText('checkpoint 14 bytes');
      await expect(page.getByRole('region', { name: 'Last checkpoint' })).toHaveText(`done by ${gone.name}`);
      await gone.kill();
      const attempts = page.getByRole('region', { name: 'Attempts' }).locator('ol > li');
      await expect(attempts).toHaveCount(2, { timeout: 60_000 });
      await expect(attempts.nth(1)).toContainText(`Taken over from ${gone.name} by ${stays.name}`);
      await expect(page.getByRole('region', { name: 'State' })).toContainText('completed');
      await expect(page.getByRole('log')).toContainText(`on ${stays.name} from done by ${gone.name}`);
      const tokens = await attempts.locator('.attempt-head .mono').allInnerTexts();
      expect(Number(tokens[1])).toBeGreaterThan(Number(tokens[0]));
      await expectAccessible(page);
      await keepScreenshots(page, 'takeover');
    } finally {
      await page.goto('about:blank');
      await second.kill();
    }
  });
});
