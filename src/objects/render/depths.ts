/** Loads the objects that one depth of an answer waits for, with a few statements for all of them. */

import { type LoadedReverse, loadAsOf, loadChildren, loadLatest, loadReverses } from '../stored/load.ts'
import type { Head, Loaded } from '../stored/rows.ts'
import { loadInheritance } from './inheritance.ts'
import { asOfKey, type ReverseWant, type Run, reverseKey, type Want } from './run.ts'

/** Maximum number of linked objects that one statement loads. */
const mostAtOnce = 1000

/** Loads the objects that the places of the last depth wait for, and fills the places. */
export async function nextDepth(run: Run): Promise<void> {
  const { wants, reverses } = run
  run.wants = []
  run.reverses = []
  const [first = [], ...rest] = inGroups(wants)
  const [below] = await Promise.all([loadBelow(run, reverses), loadWanted(run, first)])
  await fill(run, first, below)
  for (const [index, want] of reverses.entries()) {
    if (run.yielder.due()) await run.yielder.yield()
    want.done(below[index] ?? [])
  }
  for (const group of rest) {
    await loadWanted(run, group)
    await fill(run, group, [])
  }
}

/** Fills places with the objects that were loaded for them. */
async function fill(run: Run, wants: readonly Want[], below: readonly (readonly Loaded[])[]): Promise<void> {
  if (run.options.format.inherited) {
    const arrived = wants.filter((want) => want.content).flatMap((want) => run.loaded.get(want.id) ?? [])
    await loadInheritance(run, [...arrived, ...below.flat()])
  }
  for (const want of wants) {
    if (run.yielder.due()) await run.yielder.yield()
    want.done(found(run, want))
  }
}

/** Wants in their order, so that no group asks for very many contents: the contents are in memory until all places are filled. */
function inGroups(wants: readonly Want[]): (readonly Want[])[] {
  if (wants.length <= mostAtOnce) return [wants]
  const groups: Want[][] = [[]]
  let contents = new Set<number>()
  for (const want of wants) {
    if (want.content) contents.add(want.id)
    if (contents.size > mostAtOnce) {
      contents = new Set([want.id])
      groups.push([])
    }
    groups.at(-1)?.push(want)
  }
  return groups
}

function found(run: Run, { id, asOf }: Want): Head | Loaded | undefined {
  if (asOf !== null) return run.past.get(asOfKey(id, asOf))
  return run.loaded.get(id) ?? run.heads.get(id)
}

async function loadWanted(run: Run, wants: readonly Want[]): Promise<void> {
  const contents = new Set<number>()
  const heads = new Set<number>()
  const past = new Map<string, { id: number; asOf: number }>()
  for (const { id, asOf, content } of wants) {
    if (asOf !== null) {
      if (!run.past.has(asOfKey(id, asOf))) past.set(asOfKey(id, asOf), { id, asOf })
    } else if (content && run.parts.hasRoom) {
      if (!run.loaded.has(id)) contents.add(id)
    } else if (!run.heads.has(id) && !run.loaded.has(id)) heads.add(id)
  }
  for (const id of contents) heads.delete(id)
  const moments = [...past.values()]
  const [loaded, headsFound, pastFound] = await Promise.all([
    loadLatest(run.q, run.model, [...contents]),
    run.headsOf([...heads]),
    loadAsOf(
      run.q,
      run.model,
      moments.map(({ id }) => id),
      moments.map(({ asOf }) => new Date(asOf)),
    ),
  ])
  for (const object of loaded) run.loaded.set(object.systemObjectId, object)
  for (const head of headsFound) run.heads.set(head.systemObjectId, head)
  for (const { asOf, object } of pastFound) run.past.set(asOfKey(object.systemObjectId, asOf), object)
}

/** The objects for each reverse field, in the order of the wants. */
async function loadBelow(run: Run, wants: readonly ReverseWant[]): Promise<(readonly Loaded[])[]> {
  if (wants.length === 0) return []
  const groups = new Map<string, readonly Loaded[]>()
  const open: ReverseWant[] = []
  for (const want of wants) {
    const key = reverseKey(want.column, want.to)
    const known = run.below.get(key)
    if (known) groups.set(key, known)
    else open.push(want)
  }
  for (const [key, group] of Map.groupBy(await loadReverse(run, open), ({ to, column }) => reverseKey(column, to)))
    groups.set(
      key,
      group.map(({ object }) => object),
    )
  const found = wants.map((want) => groups.get(reverseKey(want.column, want.to)) ?? [])
  if (found.reduce((sum, group) => sum + group.length, 0) > run.parts.mostObjects) throw run.parts.tooLarge()
  return asTheyWere(run, wants, found)
}

async function loadReverse(run: Run, wants: readonly ReverseWant[]): Promise<LoadedReverse[]> {
  if (wants.length === 0) return []
  const links = wants.filter((want) => want.column !== null)
  const children = wants.filter((want) => want.column === null)
  const distinct = (values: readonly number[]) => [...new Set(values)]
  const [byLink, byParent] = await Promise.all([
    links.length === 0
      ? []
      : loadReverses(
          run.q,
          run.model,
          distinct(links.map((want) => want.to)),
          distinct(links.map((want) => want.column as number)),
          run.parts.mostObjects + 1,
        ),
    children.length === 0
      ? []
      : loadChildren(run.q, run.model, distinct(children.map((want) => want.to)), run.parts.mostObjects + 1),
  ])
  if (byLink.length + byParent.length > run.parts.mostObjects) throw run.parts.tooLarge()
  return [...byLink, ...byParent]
}

/** Below an old version: the objects of today that already existed then, in their versions of that time. */
async function asTheyWere(
  run: Run,
  wants: readonly ReverseWant[],
  groups: (readonly Loaded[])[],
): Promise<(readonly Loaded[])[]> {
  const past = wants.flatMap(({ asOf }, index) =>
    asOf === null ? [] : (groups[index] ?? []).map((object) => ({ id: object.systemObjectId, asOf })),
  )
  if (past.length === 0) return groups
  const found = await loadAsOf(
    run.q,
    run.model,
    past.map(({ id }) => id),
    past.map(({ asOf }) => new Date(asOf)),
  )
  for (const { asOf, object } of found) run.past.set(asOfKey(object.systemObjectId, asOf), object)
  return wants.map(({ asOf }, index) => {
    const group = groups[index] ?? []
    if (asOf === null) return group
    return group.flatMap((object) => {
      const then = run.past.get(asOfKey(object.systemObjectId, asOf))
      return then && then.at.getTime() <= asOf && then.operation !== 'd' ? [then] : []
    })
  })
}
