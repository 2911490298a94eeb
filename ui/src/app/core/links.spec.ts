import { webUiHref } from './links';

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
