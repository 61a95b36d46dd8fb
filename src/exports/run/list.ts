/** The objects of a run: found once, with their versions at that time. */
import type { Followed } from '../model.ts'
import { addObjects, countObjects, forgetObjects, type RunFacts } from '../runs.ts'
import { inRun } from './hold.ts'
import type { Done, RunDeps, Running } from './model.ts'
import { stepAfter } from './steps.ts'

/** Ids that are written with one statement. */
const batch = 5000

/** Begins the search again at each attempt: an interrupted list would have gaps. */
export async function listObjects(deps: RunDeps, running: Running): Promise<Done> {
  const { stored, run } = running
  await inRun(deps, run, (tx) => forgetObjects(tx, run.id))
  const { total, facts } =
    stored.type === 'export_incremental'
      ? await listChanges(deps, running)
      : { total: await listAll(deps, running), facts: {} }
  return { step: stepAfter(stored.body, 'list'), position: 0, total, facts }
}

/**
 * In any order other than by id, an object that changes its place meanwhile may come twice or not at all. Repeated
 * objects are skipped, and a second walk by id adds missing ones at the end.
 */
async function listAll(deps: RunDeps, { stored, run, actor }: Running): Promise<number> {
  const { sort = [], ...request } = stored.body.search ?? {}
  let position = 0
  for (const walked of sort.length > 0 ? [{ ...request, sort }, request] : [request]) {
    for await (const ids of deps.search.walk(actor, walked, { batch })) {
      const from = position
      await inRun(deps, run, (tx) => addObjects(tx, run.id, from, ids))
      position += ids.length
    }
  }
  return countObjects(deps.db, run.id)
}

/**
 * Objects changed since the last run, and objects that its user no longer finds. Where other rights change the whole
 * view, or deletions are no longer known, all objects are new.
 */
async function listChanges(deps: RunDeps, running: Running): Promise<{ total: number; facts: RunFacts }> {
  const { stored } = running
  const since = stored.followed
  const first = await changesOf(deps, running, since)
  if (first) return first
  // The basis has changed: begin again.
  const { run } = running
  await inRun(deps, run, (tx) => forgetObjects(tx, run.id))
  const anew = await changesOf(deps, running, null)
  if (!anew) throw new Error('the rights of the user of an export change all the time')
  return anew
}

async function changesOf(deps: RunDeps, { stored, run, actor }: Running, since: Followed | null) {
  let total = 0
  let gone = 0
  let after: { readonly at: number; readonly id: number } | null = null
  let until: number | null = null
  let basis = since?.basis ?? null
  for (;;) {
    // Each batch of the index has its own moment; the batch of that moment was exported already.
    const window = { since: since ? since.until + 1 : null, until, after, limit: batch }
    const page = await deps.search.changes(actor, stored.body.search ?? {}, window)
    if (basis !== null && page.basis !== basis) return null
    basis = page.basis
    until ??= page.until
    const lost = new Set(page.objects.filter(({ there }) => !there).map(({ id }) => id))
    const ids = page.objects.map(({ id }) => id)
    const from = total
    await inRun(deps, run, (tx) => addObjects(tx, run.id, from, ids, lost))
    total += ids.length
    gone += lost.size
    if (page.next === null) return { total, facts: { followed: { basis, until }, gone } }
    after = page.next
  }
}
