/** Processes the objects of a task, a batch at a time, from the current position of the run. */
import type { Actor } from '../../platform/actor.ts'
import { type Deadline, noDeadline } from '../../platform/limits/deadline.ts'
import type { SearchService } from '../../search/service.ts'
import type { TaskSearch } from '../params.ts'
import type { Run } from './model.ts'

/** Ids that are read together. */
const stride = 10_000
const changesPage = 1000

export type Searching = Pick<SearchService, 'walk' | 'changes' | 'check' | 'count'>

/** The change of a batch; returns how many objects could not be changed. */
export type ChangeBatch = (actor: Actor, ids: readonly number[]) => Promise<{ readonly failed: number }>

/** False: another job must continue. */
export async function runOverObjects(
  search: Searching,
  run: Run,
  found: TaskSearch,
  change: ChangeBatch,
): Promise<boolean> {
  if (run.state.total === undefined) await run.note({ total: await totalOf(search, run, found) })
  return found.incremental ? throughChanges(search, run, found, change) : throughAll(search, run, found, change)
}

/** The number of changed objects is unknown before they are read. */
async function totalOf(search: Searching, run: Run, { request, incremental }: TaskSearch): Promise<number | undefined> {
  if (incremental && (run.state.since ?? null) !== null) return undefined
  return search.count(await run.actor(), request, noDeadline)
}

async function throughAll(search: Searching, run: Run, { request }: TaskSearch, change: ChangeBatch): Promise<boolean> {
  for (;;) {
    const { after = 0, upTo = Number.MAX_SAFE_INTEGER } = run.state
    const ids = await firstBatch(search, await run.actor(), request, after)
    const due = ids.filter((id) => id <= upTo)
    if (due.length === 0) return true
    if (!(await inBatches(run, due, change, (last) => ({ after: last })))) return false
    if (ids.length < stride || due.length < ids.length) return true
  }
}

async function firstBatch(search: Searching, actor: Actor, request: TaskSearch['request'], behind: number) {
  for await (const ids of search.walk(actor, { ...request, sort: [] }, { batch: stride, behind })) return ids
  return []
}

async function throughChanges(
  search: Searching,
  run: Run,
  { request }: TaskSearch,
  change: ChangeBatch,
): Promise<boolean> {
  for (;;) {
    const { since = null, until = null, at, after = 0 } = run.state
    const position = at === undefined ? null : { at, id: after }
    const window = { since, until, after: position, limit: changesPage }
    const page = await search.changes(await run.actor(), request, window)
    if (until === null) await run.note({ until: page.until })
    const due = page.objects.filter(({ there }) => there)
    const places = new Map(page.objects.map((object) => [object.id, object.at]))
    const ids = due.map(({ id }) => id)
    const position_ = (last: number) => ({ at: places.get(last) as number, after: last })
    if (!(await inBatches(run, ids, change, position_))) return false
    if (!page.next) return true
    await run.note({ at: page.next.at, after: page.next.id })
  }
}

async function inBatches(
  run: Run,
  ids: readonly number[],
  change: ChangeBatch,
  positionOf: (last: number) => { readonly after: number; readonly at?: number },
): Promise<boolean> {
  for (let start = 0; start < ids.length; ) {
    await run.check()
    if (run.isLong()) return false
    const batch = ids.slice(start, start + (await run.nextBatch()))
    start += batch.length
    const { failed } = await change(await run.actor(), batch)
    const { done = 0, failed: before = 0 } = run.state
    await run.note({ ...positionOf(batch.at(-1) as number), done: done + batch.length, failed: before + failed })
  }
  return true
}

/** Number of objects that a search finds, for a preview. */
export function countObjects(
  search: Searching,
  actor: Actor,
  { request }: TaskSearch,
  deadline: Deadline,
): Promise<number> {
  return search.count(actor, request, deadline)
}

/** The text about the objects of a run. */
export function runSummary({ done = 0, changed = 0, failed = 0 }: Run['state'], dryRun: boolean): string {
  const what = dryRun ? 'would be changed' : 'changed'
  return `${done} objects found, ${changed} ${what}, ${failed} failed.`
}
