import { visibleText } from './visible';

describe('visibleText', () => {
  it('shows what is seen as nothing, so that no two names look alike', () => {
    expect(visibleText('job/a\u200b')).toBe('job/a<U+200B>');
    expect(visibleText('\u202eevil\u2066\ufeff\u{e0041}')).toBe('<U+202E>evil<U+2066><U+FEFF><U+E0041>');
  });

  it('leaves all else as it is', () => {
    expect(visibleText('job/täglich שלום 🐊')).toBe('job/täglich שלום 🐊');
  });
});
