import { defineConfig } from '@playwright/test';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// One after another: each test has an agent of its own, and some measure time.
export default defineConfig({
  testDir: '.',
  testMatch: '*.spec.ts',
  workers: 1,
  // Bounds for what should be there at once, on a machine that is busy with something else.
  timeout: 120_000,
  expect: { timeout: 30_000 },
  forbidOnly: true,
  retries: 0,
  reporter: [['list']],
  outputDir: join(tmpdir(), `pawl-e2e-${process.pid}`),
  preserveOutput: 'failures-only',
  use: {
    viewport: { width: 1280, height: 800 },
    locale: 'en-GB',
    timezoneId: 'Europe/Paris',
    launchOptions: {
      executablePath: process.env.PAWL_CHROMIUM ?? '/usr/bin/chromium',
      args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-smooth-scrolling'],
    },
  },
});
