import { RequestFailed } from '../../core/api';

/** The server answered that there is no such thing. */
export function isMissing(failure: unknown): boolean {
  return failure instanceof RequestFailed && failure.status === 404;
}
