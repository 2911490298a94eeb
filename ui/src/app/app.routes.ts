import { Routes, UrlMatchResult, UrlSegment } from '@angular/router';

import { signedIn } from './core/guards';

// Keys have slashes: /locks/job/report/0 is the lock job/report/0.
function lockPath(segments: UrlSegment[]): UrlMatchResult | null {
  if (segments.length < 2 || segments[0].path !== 'locks') return null;
  const key = segments.slice(1).map(({ path }) => path).join('/');
  return { consumed: segments, posParams: { key: new UrlSegment(key, {}) } };
}

export const routes: Routes = [
  { path: 'sign-in', title: 'Sign in', loadComponent: () => import('./pages/sign-in/sign_in.page').then((m) => m.SignInPage) },
  {
    path: '',
    canActivate: [signedIn],
    children: [
      { path: '', pathMatch: 'full', title: 'Overview', loadComponent: () => import('./pages/overview/overview.page').then((m) => m.OverviewPage) },
      { path: 'locks', title: 'Locks', loadComponent: () => import('./pages/locks/locks.page').then((m) => m.LocksPage) },
      { matcher: lockPath, title: 'Lock', loadComponent: () => import('./pages/lock/lock.page').then((m) => m.LockPage) },
      { path: 'jobs', title: 'Jobs', loadComponent: () => import('./pages/jobs/jobs.page').then((m) => m.JobsPage) },
      { path: 'jobs/:name', title: 'Job', loadComponent: () => import('./pages/job/job.page').then((m) => m.JobPage) },
      { path: 'runs', title: 'Runs', loadComponent: () => import('./pages/runs/runs.page').then((m) => m.RunsPage) },
      { path: 'runs/:id', title: 'Run', loadComponent: () => import('./pages/run/run.page').then((m) => m.RunPage) },
      { path: 'nodes', title: 'Nodes', loadComponent: () => import('./pages/nodes/nodes.page').then((m) => m.NodesPage) },
      { path: 'audit', title: 'Audit log', loadComponent: () => import('./pages/audit/audit.page').then((m) => m.AuditPage) },
      { path: 'doctor', title: 'Doctor', loadComponent: () => import('./pages/doctor/doctor.page').then((m) => m.DoctorPage) },
      { path: 'runbook', title: 'Runbook', loadComponent: () => import('./pages/runbook/runbook.page').then((m) => m.RunbookPage) },
      { path: '**', title: 'Not found', loadComponent: () => import('./pages/missing/missing.page').then((m) => m.MissingPage) },
    ],
  },
];
