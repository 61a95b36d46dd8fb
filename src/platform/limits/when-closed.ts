import type { ServerResponse } from 'node:http'

type Closing = Pick<ServerResponse, 'once'> & Partial<Pick<ServerResponse, 'closed'>>

const known = new WeakMap<Closing, (() => void)[]>()

/**
 * Runs an action when a response is closed, answered or not; at once when it is closed already. Many parts of the HTTP layer use this:
 * they share one listener, since Node reports more than ten on one response as a leak.
 */
export function whenClosed(response: Closing, action: () => void): void {
  // Its client has gone before: no event follows.
  if (response.closed) {
    action()
    return
  }
  const actions = known.get(response)
  if (actions) {
    actions.push(action)
    return
  }
  const all = [action]
  known.set(response, all)
  response.once('close', () => {
    for (const each of all) each()
  })
}
