import type { ObjectService, TaskObject } from '../../objects/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { type ConventionOf, expectedVersion } from '../../platform/config/versions.ts'
import { AppError } from '../../platform/errors.ts'
import type { TagSnapshot } from '../../tags/service.ts'
import { assertKnown, flagOf, searchOf, searchParams, type TagChange, tagParams, tagsOf, wrong } from '../params.ts'
import { countObjects, runOverObjects, runSummary, type Searching } from './batches.ts'
import type { Run, TaskModule } from './model.ts'
import { changeEach, commentOf, saving, untilCurrent } from './save.ts'

export interface TagModuleDeps {
  readonly search: Searching
  readonly objects: Pick<ObjectService, 'save'>
  readonly read: (actor: Actor, ids: readonly number[]) => Promise<TaskObject[]>
  readonly tags: () => TagSnapshot
  readonly conventionOf: ConventionOf
}

const known = [...searchParams, ...tagParams, 'dry_run']

/** @throws {AppError} `TagNotFound` */
export function assertTags(snapshot: TagSnapshot, { set, unset }: TagChange): void {
  const unknown = [...set, ...unset].find((id) => !snapshot.has(id))
  if (unknown !== undefined) throw new AppError('TagNotFound', { name: 'task.task_params', _id: unknown })
}

/** The new tags; null: they are already like this. A tag of a choice replaces the other tags of its group. */
export function changedTags(
  snapshot: TagSnapshot,
  tags: readonly number[],
  { set, unset }: TagChange,
): number[] | null {
  const groups = new Set(
    set.flatMap((id) => (snapshot.get(id)?.groupType === 'choice' ? snapshot.get(id)?.groupId : [])),
  )
  const replaced = (id: number): boolean => !set.includes(id) && groups.has(snapshot.get(id)?.groupId)
  const kept = tags.filter((id) => !unset.includes(id) && !replaced(id))
  const after = [...kept, ...set.filter((id) => !kept.includes(id))]
  return after.length === tags.length && after.every((id) => tags.includes(id)) ? null : after
}

export function tagModule(deps: TagModuleDeps): TaskModule {
  const { search, objects, read, tags, conventionOf } = deps

  async function changeBatch(run: Run, actor: Actor, ids: readonly number[]) {
    const change = tagsOf(run.task.params)
    const dryRun = flagOf(run.task.params, 'dry_run')
    return untilCurrent(ids, async (open) => {
      const convention = conventionOf(actor)
      const parts = (await read(actor, open)).flatMap((object) => {
        const { table, id, version, mask, deleted } = object
        const after = deleted || !table.hasTags ? null : changedTags(tags(), object.tags, change)
        if (after === null) return []
        const block = { _id: id, _version: expectedVersion(version, convention) }
        const payload = {
          _objecttype: table.name,
          _mask: (mask ?? table.preferredMask).name,
          _comment: commentOf(run),
          _tags: after.map((_id) => ({ _id })),
          [table.name]: block,
        }
        return { object, payload }
      })
      return changeEach(run, parts, { dryRun, change: saving(objects, actor, { dryRun }) })
    })
  }

  return {
    name: 'set_unset_tags',
    displayname: { 'de-DE': 'Tags setzen und entfernen', 'en-US': 'Set and remove tags' },
    description: {
      'de-DE': 'Setzt und entfernt Tags an den Datensätzen, die eine Suche findet.',
      'en-US': 'Sets and removes tags of the objects that a search finds.',
    },
    params: [
      { name: 'search', type: 'json' },
      { name: 'incremental', type: 'bool', default: false },
      { name: 'set_tags', type: 'tag-select', default: [] },
      { name: 'unset_tags', type: 'tag-select', default: [] },
      { name: 'dry_run', type: 'bool', default: false },
    ],
    async check(actor, params) {
      assertKnown(params, known)
      const change = tagsOf(params)
      if (change.set.length + change.unset.length === 0) throw wrong('set_tags', 'a list of tags, or unset_tags')
      assertTags(tags(), change)
      flagOf(params, 'dry_run')
      await search.check(actor, searchOf(params).whole)
    },
    async preview(actor, params, deadline) {
      if (flagOf(params, 'dry_run')) return null
      const count = await countObjects(search, actor, searchOf(params), deadline)
      return { message: `The tags of ${count} objects will be changed.`, data: { count } }
    },
    async work(run) {
      const change = (actor: Actor, ids: readonly number[]) => changeBatch(run, actor, ids)
      const whole = await runOverObjects(search, run, searchOf(run.task.params), change)
      return whole ? { done: runSummary(run.state, flagOf(run.task.params, 'dry_run')) } : 'later'
    },
  }
}
