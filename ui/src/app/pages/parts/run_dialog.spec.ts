import { TestBed } from '@angular/core/testing';
import { provideRouter } from '@angular/router';

import { Api, RequestFailed } from '../../core/api';
import type { Job } from '../../core/types';
import { RunDialog } from './run_dialog';

describe('the dialog that queues a run', () => {
  const runJob = vi.fn();

  beforeEach(() => {
    // jsdom has no modal dialogs.
    HTMLDialogElement.prototype.showModal = function (this: HTMLDialogElement) {
      this.open = true;
    };
    runJob.mockReset();
    const preview = { command: ['true'], runs: [], live_nodes: 1 };
    TestBed.configureTestingModule({
      providers: [provideRouter([]), { provide: Api, useValue: { runJob, dryRunJob: async () => preview } }],
    });
  });

  const asked = async (failure: RequestFailed): Promise<HTMLElement> => {
    runJob.mockRejectedValue(failure);
    const dialog = TestBed.createComponent(RunDialog);
    dialog.componentRef.setInput('job', { name: 'report', partitions: 2, arguments: false } as unknown as Job);
    await dialog.whenStable();
    const element = dialog.nativeElement as HTMLElement;
    element.querySelector('form')?.dispatchEvent(new Event('submit'));
    await dialog.whenStable();
    return element;
  };
  const links = (element: HTMLElement) => [...element.querySelectorAll('a')].map((link) => link.getAttribute('href'));

  it('links runs that may be queued, and does not offer to queue them again', async () => {
    const element = await asked(new RequestFailed(503, 'only some partitions were queued, see ids: no answer', { ids: ['one', 'two'] }));
    expect(links(element)).toEqual(['/runs/one', '/runs/two']);
    expect(element.textContent).toContain('Request failed: only some partitions were queued');
    expect(element.textContent).toContain('Perhaps queued');
    expect(element.textContent).not.toContain('Not queued');
    expect(element.textContent).not.toContain('Run now');
  });

  it('says of what was rejected that it is not queued', async () => {
    const rejected = await asked(new RequestFailed(409, 'the job is not enabled'));
    expect(rejected.textContent).toContain('Not queued: the job is not enabled');
    expect(rejected.textContent).toContain('Run now');
  });

  it('does not say of a request without an answer that nothing is queued', async () => {
    const element = await asked(new RequestFailed(0, 'agent does not respond. It may have taken effect: check before you try again.'));
    expect(element.textContent).toContain('Request failed: agent does not respond.');
    expect(element.textContent).not.toContain('Not queued');
  });
});
