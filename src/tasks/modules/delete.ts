import type { ObjectService, TaskObject } from '../../objects/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { assertKnown, choiceOf, flagOf, type Params, searchOf, searchParams, type TaskSearch } from '../params.ts'
import { countObjects, runOverObjects, runSummary, type Searching } from './batches.ts'
import type { Run, TaskModule } from './model.ts'
import { changeEach, commentOf, deleting, type TaskDeletePolicy, untilCurrent } from './save.ts'

export interface DeleteModuleDeps {
  readonly search: Searching
  readonly objects: Pick<ObjectService, 'delete'>
  readonly read: (actor: Actor, ids: readonly number[]) => Promise<TaskObject[]>
}

const policies = ['setnull', 'remove', 'purge', 'undelete'] as const satisfies readonly TaskDeletePolicy[]
const known = [...searchParams, 'delete_policy', 'dry_run']

const policyOf = (params: Params): TaskDeletePolicy => choiceOf(params, 'delete_policy', policies, 'setnull')
const isOfTrash = (policy: TaskDeletePolicy): boolean => policy === 'purge' || policy === 'undelete'

/** Objects to purge or restore are in the trash, whether the search includes it or not. */
function foundOf(params: Params): TaskSearch {
  const found = searchOf(params)
  return isOfTrash(policyOf(params)) ? { ...found, request: { ...found.request, include_deleted: true } } : found
}

const done: Readonly<Record<TaskDeletePolicy, string>> = {
  setnull: 'moved to the trash',
  remove: 'moved to the trash, with the objects that link to them',
  purge: 'purged, as far as they are in the trash',
  undelete: 'restored, as far as they are in the trash',
}

export function deleteModule({ search, objects, read }: DeleteModuleDeps): TaskModule {
  async function changeBatch(run: Run, actor: Actor, ids: readonly number[]) {
    const policy = policyOf(run.task.params)
    const dryRun = flagOf(run.task.params, 'dry_run')
    return untilCurrent(ids, async (open) => {
      const due = (await read(actor, open)).filter(({ deleted }) => deleted === isOfTrash(policy))
      const parts = due.map((object) => ({ object, payload: [object.id, object.version, commentOf(run)] }))
      return changeEach(run, parts, { dryRun, change: deleting(objects, actor, { policy, dryRun }) })
    })
  }

  return {
    name: 'delete_objects',
    displayname: { 'de-DE': 'Datensätze löschen', 'en-US': 'Delete objects' },
    description: {
      'de-DE': 'Löscht die Datensätze, die eine Suche findet, oder stellt sie wieder her.',
      'en-US': 'Deletes the objects that a search finds, or restores them.',
    },
    params: [
      { name: 'search', type: 'json' },
      { name: 'incremental', type: 'bool', default: false },
      { name: 'delete_policy', type: 'select', default: 'setnull', options: policies },
      { name: 'dry_run', type: 'bool', default: false },
    ],
    async check(actor, params) {
      assertKnown(params, known)
      policyOf(params)
      flagOf(params, 'dry_run')
      await search.check(actor, searchOf(params).whole)
    },
    async preview(actor, params, deadline) {
      if (flagOf(params, 'dry_run')) return null
      const count = await countObjects(search, actor, foundOf(params), deadline)
      const policy = policyOf(params)
      return { message: `${count} objects will be ${done[policy]}.`, data: { count, delete_policy: policy } }
    },
    async work(run) {
      const change = (actor: Actor, ids: readonly number[]) => changeBatch(run, actor, ids)
      const whole = await runOverObjects(search, run, foundOf(run.task.params), change)
      return whole ? { done: runSummary(run.state, flagOf(run.task.params, 'dry_run')) } : 'later'
    },
  }
}
