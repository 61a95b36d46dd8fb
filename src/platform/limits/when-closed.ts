import type { ServerResponse } from 'node:http'

type Closing = Pick<ServerResponse, 'once'> & Partial<Pick<ServerResponse, 'closed'>>

const known = new WeakMap<Closing, (() => void)[]>()

/**
 * Does something when a response is closed, answered or not; at once when it is. Much of the HTTP layer waits for that: they share one listener,
 * since Node takes more than ten on one response for a leak.
 */
export function whenClosed(response: Closing, action: () => void): void {
  // Its client has gone before: nothing would tell.
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
