import { setImmediate as nextTurn } from 'node:timers/promises'

/** Milliseconds that one piece of work runs before all other requests get their turn. */
const longestTurn = 10

export interface Pauses {
  /** It is time to let others pass; cheap enough to be asked for each of many objects. */
  due(): boolean
  take(): Promise<void>
}

/**
 * Long work on the event loop in short turns: `if (pauses.due()) await pauses.take()` in its loops. `check` throws when
 * nobody waits for the result any more.
 */
export function createPauses(check?: () => void): Pauses {
  let since = performance.now()
  return {
    due: () => performance.now() - since > longestTurn,
    async take() {
      await nextTurn()
      check?.()
      since = performance.now()
    },
  }
}
