import { AppError } from '../errors.ts'
import type { Deadline } from './deadline.ts'

/** A signal that aborts when no caller waits any more. */
export function signalOf(deadline: Deadline): Disposable & { readonly signal: AbortSignal } {
  const stop = new AbortController()
  const gone = (): Error => deadline.over ?? new AppError('ClientClosedRequest')
  if (deadline.over) stop.abort(gone())
  const forget = deadline.onOver(() => stop.abort(gone()))
  return { signal: stop.signal, [Symbol.dispose]: forget }
}
