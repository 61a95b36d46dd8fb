/** An object that others may need before they can be created. */
export interface Definition {
  /** Its catalogue, and its number there. */
  readonly key: string
  readonly oid: number
  readonly text: string
}

/** Puts each definition after all that it needs; otherwise keeps the given order. @throws {Error} for circular dependencies. */
export function inOrderOfNeed(
  definitions: readonly Definition[],
  needs: readonly { readonly from: string; readonly to: string }[],
): Definition[] {
  const known = new Map(definitions.map((one) => [one.key, one]))
  const needed = Map.groupBy(needs, ({ from }) => from)
  const placed: Definition[] = []
  const state = new Map<string, 'begun' | 'placed'>()

  for (const first of definitions) {
    // Depth first without recursion: a chain of dependencies may be long.
    const path = [first]
    for (let top = path.at(-1); top; top = path.at(-1)) {
      if (state.get(top.key) === 'placed') {
        path.pop()
        continue
      }
      state.set(top.key, 'begun')
      const open = (needed.get(top.key) ?? [])
        .map(({ to }) => to)
        .filter((key) => known.has(key) && state.get(key) !== 'placed')
      const [next] = open
      if (next === undefined) {
        state.set(top.key, 'placed')
        placed.push(top)
        path.pop()
      } else if (state.get(next) === 'begun') throw new Error(`${top.key} and ${next} need each other`)
      else path.push(known.get(next) as Definition)
    }
  }
  return placed
}
