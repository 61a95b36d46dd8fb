import { setImmediate as breathe } from 'node:timers/promises'

/** Milliseconds after which building makes room for requests. */
const longestTurn = 4

/** Maps a list, giving way to requests every few milliseconds. */
export async function inTurns<T, R>(list: readonly T[], map: (member: T) => R): Promise<R[]> {
  const results: R[] = []
  let turn = performance.now()
  for (const member of list) {
    results.push(map(member))
    if (performance.now() - turn > longestTurn) {
      await breathe()
      turn = performance.now()
    }
  }
  return results
}
