import type { ObjectService, TaskObject } from '../../objects/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError } from '../../platform/errors.ts'
import { noDeadline } from '../../platform/limits/deadline.ts'
import { assertKnown, flagOf, idOf, idsOf, type Params, wrong } from '../params.ts'
import { runSummary } from './batches.ts'
import type { Run, TaskModule } from './model.ts'
import { type Change, changeEach, commentOf, deleting } from './save.ts'

export interface ConsolidateDeps {
  readonly objects: Pick<ObjectService, 'relink' | 'countLinking' | 'linking' | 'linked' | 'parents' | 'delete'>
  readonly read: (actor: Actor, ids: readonly number[]) => Promise<TaskObject[]>
  readonly readable: (actor: Actor, ids: readonly number[]) => Promise<ReadonlySet<number>>
}

const known = [
  'source_objects',
  'source_system_object_ids',
  'target_object',
  'target_system_object_id',
  'dry_run',
  'delete_sources',
]
const mostSources = 1000
/** Maximum number of objects that a preview looks at. */
const mostLookedAt = 1000

function sourcesOf(params: Params): number[] {
  const name = params.source_objects === undefined ? 'source_system_object_ids' : 'source_objects'
  const ids = idsOf(params[name], name, { key: '_system_object_id', most: mostSources })
  if (ids.length === 0) throw wrong('source_objects', 'a list of system object ids')
  return ids
}

/** Null: it is not set yet. */
function targetOf(params: Params, sources: readonly number[]): number | null {
  const name = params.target_object === undefined ? 'target_system_object_id' : 'target_object'
  const value = params[name] ?? null
  if (value === null) return null
  const named = typeof value === 'object' ? (value as Params)._system_object_id : value
  const id = idOf(named, name)
  if (sources.includes(id)) throw wrong(name, 'another object than the sources')
  return id
}

const isDryRun = (params: Params): boolean => flagOf(params, 'dry_run', true)
const deletesSources = (params: Params): boolean => flagOf(params, 'delete_sources', true)

export function consolidateModule({ objects, read, readable }: ConsolidateDeps): TaskModule {
  /** @throws {AppError} `ObjectNotFound` for an object that does not exist for the actor */
  async function existing(actor: Actor, ids: readonly number[], name: string): Promise<TaskObject[]> {
    const seen = await readable(actor, ids)
    const found = (await read(actor, ids)).filter(({ systemObjectId, deleted }) => seen.has(systemObjectId) && !deleted)
    const missing = ids.find((id) => !found.some(({ systemObjectId }) => systemObjectId === id))
    if (missing === undefined) return found
    throw new AppError('ObjectNotFound', { name: `task.task_params.${name}`, _system_object_id: missing })
  }

  /** The actor must be allowed to delete the sources, before anything is relinked. @throws {AppError} `ObjectInsufficientRights` */
  function assertMayGo(params: Params, sources: readonly TaskObject[]): void {
    const kept = deletesSources(params) ? sources.find(({ mayDelete }) => !mayDelete) : undefined
    if (!kept) return
    const { systemObjectId: id, table } = kept
    throw new AppError(
      'ObjectInsufficientRights',
      { right: 'delete', name: 'task.task_params.source_objects', _system_object_id: id, objecttype: table.name },
      { message: `The right delete on the source ${id} is missing: without it the sources stay (delete_sources).` },
    )
  }

  async function check(actor: Actor, params: Params, { confirmed }: { readonly confirmed: boolean }): Promise<void> {
    assertKnown(params, known)
    const sources = sourcesOf(params)
    const target = targetOf(params, sources)
    isDryRun(params)
    assertMayGo(params, await existing(actor, sources, 'source_objects'))
    if (target === null) {
      if (confirmed) throw wrong('target_object', 'a system object id')
      return
    }
    await existing(actor, [target], 'target_object')
    const [linking] = await objects.linking(sources, { after: target - 1, limit: 1 })
    if (linking === target) {
      throw new AppError('ConsolidateTargetLinksSources', { name: 'task.task_params.target_object', target })
    }
  }

  /** Sources with the type of the target that still exist. */
  async function usable(run: Run, actor: Actor, target: number): Promise<TaskObject[]> {
    const [to] = await existing(actor, [target], 'target_object')
    const ids = sourcesOf(run.task.params)
    const seen = await readable(actor, ids)
    const found = await read(actor, ids)
    return found.filter(({ systemObjectId: id, table, deleted }) => {
      if (!seen.has(id) || deleted) return false
      if (table === to?.table) return true
      if (run.state.after === undefined) run.log('warning', `object ${id} is no ${to?.table.name}: it is left out`)
      return false
    })
  }

  async function relink(run: Run, actor: Actor, sources: ReadonlySet<number>, target: number, ids: readonly number[]) {
    const dryRun = isDryRun(run.task.params)
    let kept = 0
    const change: Change = async (parts, within) => {
      const systemObjectIds = parts.map(({ object }) => object.systemObjectId)
      const request = { systemObjectIds, sources, target, comment: commentOf(run), dryRun, deadline: noDeadline }
      const result = await objects.relink(actor, request, (tx, { changed }) => within(tx, changed.length))
      kept += result.kept.length
      for (const id of result.kept) run.log('warning', `object ${id} keeps a link: it may not be changed`)
      return result.changed.length
    }
    const parts = (await read(actor, ids)).map((object) => ({ object, payload: null }))
    const { failed } = await changeEach(run, parts, { dryRun, change: () => change })
    return failed + kept
  }

  /** False: another job must continue. */
  async function relinkAll(run: Run, target: number): Promise<boolean> {
    for (;;) {
      await run.check()
      if (run.isLong()) return false
      const actor = await run.actor()
      const found = await usable(run, actor, target)
      assertMayGo(run.task.params, found)
      const sources = new Set(found.map(({ systemObjectId }) => systemObjectId))
      const { after = 0 } = run.state
      const ids = await objects.linking([...sources], { after, limit: await run.nextBatch() })
      const last = ids.at(-1)
      if (last === undefined) return true
      const failed = await relink(run, actor, sources, target, ids)
      const { done = 0, failed: before = 0 } = run.state
      await run.note({ after: last, done: done + ids.length, failed: before + failed })
    }
  }

  async function deleteSources(run: Run, target: number): Promise<string> {
    const actor = await run.actor()
    const all = await usable(run, actor, target)
    // Objects below them would have no parent: users must decide where these belong.
    const parents = new Set(await objects.parents(all.map(({ systemObjectId }) => systemObjectId)))
    for (const id of parents) run.log('warning', `source ${id} stays: other objects stand below it`)
    const sources = all.filter(({ systemObjectId }) => !parents.has(systemObjectId))
    if (isDryRun(run.task.params)) return ` ${sources.length} sources would be deleted.`
    const linked = new Set(await objects.linked(sources.map(({ systemObjectId }) => systemObjectId)))
    const free = sources.filter(({ systemObjectId }) => !linked.has(systemObjectId))
    for (const id of linked) run.log('warning', `source ${id} stays: another object still links to it`)
    const parts = free.map((object) => ({ object, payload: [object.id, object.version, commentOf(run)] }))
    const { failed, stale } = await changeEach(run, parts, {
      dryRun: false,
      change: deleting(objects, actor, { policy: 'setnull', dryRun: false }),
    })
    await run.note()
    return ` ${parts.length - failed - stale.length} sources deleted.`
  }

  return {
    name: 'consolidate_objects',
    displayname: { 'de-DE': 'Datensätze zusammenführen', 'en-US': 'Consolidate objects' },
    description: {
      'de-DE': 'Lässt alles, was auf die Quellen verweist, auf das Ziel verweisen, und löscht die Quellen.',
      'en-US': 'Lets everything that links to the sources link to the target, and deletes the sources.',
    },
    params: [
      { name: 'source_objects', type: 'int-list' },
      { name: 'target_object', type: 'int' },
      { name: 'dry_run', type: 'bool', default: true },
      { name: 'delete_sources', type: 'bool', default: true },
    ],
    check,
    async preview(actor, params, deadline) {
      const sources = sourcesOf(params)
      const data = await objects.countLinking(actor, { sources, most: mostLookedAt, deadline })
      const { references, relink: free, capped } = data
      const least = capped ? 'At least ' : ''
      const message = `${least}${references} objects link to the sources; ${free} of them can be changed.`
      return { message, data: { references, relink: free, denied: references - free, capped } }
    },
    async work(run) {
      const { params } = run.task
      const target = targetOf(params, sourcesOf(params)) as number
      if (run.state.step === undefined && !(await relinkAll(run, target))) return 'later'
      await run.note({ step: 'delete' })
      const relinked = runSummary(run.state, isDryRun(params))
      const deleted = deletesSources(params) ? await deleteSources(run, target) : ''
      return { done: `${relinked}${deleted}` }
    },
  }
}
