import { TestBed } from '@angular/core/testing';
import { Router } from '@angular/router';

import { jobLink, lockLink, webUiHref } from './links';

/** What the router makes of the address that a browser makes of a link. */
function opened(link: string[]): string[] {
  const router = TestBed.inject(Router);
  const { pathname } = new URL(router.serializeUrl(router.createUrlTree(link)), 'http://agent');
  return router.parseUrl(pathname).root.children['primary'].segments.map(({ path }) => path);
}

describe('a link to a lock or a job', () => {
  it('leads there in a new tab as well', () => {
    for (const key of ['a', 'job/report/0', 'x/../job/pay', './a', '../a', 'a/.', 'a//b', '/a', 'a/', 'a b/ü?#%;(=', '...', 'a..b']) {
      const [page, ...parts] = opened(lockLink(key) ?? []);
      expect([page, parts.join('/')]).toEqual(['locks', key]);
    }
    expect(lockLink('job/report/0')).toEqual(['/locks', 'job', 'report', '0']);
    expect(opened(jobLink('a/../b') ?? [])).toEqual(['jobs', 'a/../b']);
  });

  it('is none where no URL can have the name', () => {
    for (const name of ['.', '..']) {
      expect(lockLink(name)).toBeNull();
      expect(jobLink(name)).toBeNull();
    }
  });
});

describe('a link to the web UI of a node', () => {
  it('leads to the host that is shown', () => {
    expect(webUiHref('http://127.0.0.1:7295')).toBe('http://127.0.0.1:7295');
    expect(webUiHref('https://[2001:db8::1]:7295/')).toBe('https://[2001:db8::1]:7295/');
    expect(webUiHref('agent_1.example:7295')).toBe('http://agent_1.example:7295');
  });

  it('is none where the address could hide where it leads', () => {
    for (const address of ['', 'https://agent.example@evil.example', 'https://agent.example:7295@evil.example', 'https://evil.example/agent.example',
                           'https://evil.example?agent.example', 'https://evil.example#x', 'https://\u0430gent.example', 'https://evil.example\u202emoc',
                           'https:\\\\evil.example', 'javascript:alert(1)', 'data:text/html,x', '//evil.example', 'https:///evil.example']) {
      expect(webUiHref(address), address).toBe('');
    }
  });
});
