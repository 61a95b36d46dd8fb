/**
 * Tags and their groups: one document for the instance. Holders of `system.tagmanager` replace it as a whole. All callers read it
 * from the snapshot in memory, which each process renews when one of them has saved.
 */

import type { EventLog, NewEvent } from '../events/service.ts'
import type { Actor } from '../platform/actor.ts'
import type { ConventionOf } from '../platform/config/versions.ts'
import { AppError } from '../platform/errors.ts'
import { hasRight, type NeededRight, requireRight } from '../platform/http/system-right.ts'
import type { Bus } from '../platform/postgres/bus.ts'
import type { Db, Tx } from '../platform/postgres/db.ts'
import { confirmTask, type Task } from '../platform/values/tasks.ts'
import { assertStorable } from '../platform/values/text.ts'
import { type RightsService, requireGivingEverywhere, type StoredGrant } from '../rights/service.ts'
import { checkTags, type TagCheck } from './check.ts'
import { compareDocument, type DocumentChange, type IdentifiedGroup, identified } from './document.ts'
import { seesTag, tagCaller } from './grants.ts'
import type { Tag, TagGroup } from './model.ts'
import { renderTagGroup } from './render.ts'
import type { TagFields, TagGroupBody } from './schema.ts'
import { type KeptTags, tagTopic } from './snapshot.ts'
import * as store from './store.ts'

export { checkTags, narrowedTags, type TagCheck, withTag } from './check.ts'
export * from './filter.ts'
export { mayTag, tagCaller } from './grants.ts'
export type { EffectiveTag, Tag, TagGroup, TagLayer, TagSnapshot } from './model.ts'
export { renderTagLayers } from './render.ts'
export { type KeptTags, openTags } from './snapshot.ts'

export type TagService = ReturnType<typeof createTagService>

/** A place with references to tags; it is asked before tags are deleted. */
export interface TagUse {
  /** Its name in the answer: `object`, `transition`, `pool_tag`, … */
  readonly context: string
  /** How often each of the tags is used there; unused tags may be missing. */
  count(tx: Tx, tagIds: readonly number[]): Promise<ReadonlyMap<number, number>>
  /** Removes the tags from this place. Without this function, a use prevents the deletion of the tag. */
  remove?(tx: Tx, tagIds: readonly number[]): Promise<void>
}

export interface TagServiceDeps {
  db: Db
  bus: Bus
  events: EventLog
  tags: KeptTags
  rights: Pick<RightsService, 'validateAcls' | 'renderAcls' | 'forActor'>
  /** All places where tags are used. */
  uses: readonly TagUse[]
  conventionOf: ConventionOf
}

export type SaveResult = { kind: 'done' } | { kind: 'confirm'; tasks: Task[] }

export function createTagService({ db, bus, events, tags, rights, uses, conventionOf }: TagServiceDeps) {
  /** Grants as they are to be stored, for the tags whose grants were sent. */
  async function grantsOf(
    tx: Tx,
    actor: Actor,
    body: readonly IdentifiedGroup[],
    stored: readonly TagGroup[],
  ): Promise<ReadonlyMap<TagFields, readonly StoredGrant[]>> {
    const before = new Map(stored.flatMap((group) => group.tags.map((tag) => [tag.id, tag.acl] as const)))
    const said = body.flatMap(({ tags: sent }, group) =>
      sent.flatMap((tag, index) =>
        tag._acl === undefined
          ? []
          : { tag, place: `[${group}]._tags[${index}]._acl`, previous: before.get(tag._id ?? 0) },
      ),
    )
    if (said.length === 0) return new Map()
    const lists = await rights.validateAcls(
      tx,
      actor,
      'tag',
      said.map(({ tag, place, previous = null }) => ({ wire: tag._acl, previous, shown: true, place })),
    )
    return new Map(said.map(({ tag }, index) => [tag, lists[index] ?? []]))
  }

  /**
   * A tag that new objects get by default activates all grants that require it. No grants require a new tag yet.
   * @throws {AppError} `RightRequired`
   */
  async function requireDefaultsGiven(actor: Actor, stored: readonly TagGroup[], { groups }: DocumentChange) {
    const before = new Map(stored.flatMap((group) => group.tags.map((tag) => [tag.id, tag.isDefault] as const)))
    for (const [group, { tags: sent }] of groups.entries()) {
      const index = sent.findIndex(({ row }) => row.is_default !== (before.get(row.id) ?? row.is_default))
      if (index >= 0) await requireGivingEverywhere(rights, actor, `[${group}]._tags[${index}].is_default`)
    }
  }

  return {
    /** The document as the actor may see it: the whole document with grants for managers; only their choices for others. */
    async document(actor: Actor) {
      const { groups } = tags.snapshot()
      const caller = tagCaller(actor)
      const at = Date.now()
      const manages = hasRight(actor, manageTags)
      const shown = groups.flatMap((group) => group.tags)
      const acls = manages
        ? await rights.renderAcls(
            db,
            shown.map((tag) => tag.acl),
            actor.languages,
          )
        : null
      const byTag = acls && new Map(shown.map((tag, index) => [tag.id, acls[index] ?? []]))
      const seen = (tag: Tag): boolean => manages || seesTag(tag, caller, at)
      return groups
        .filter((group) => group.tags.length === 0 || group.tags.some(seen))
        .map((group) => renderTagGroup(group, seen, byTag))
    },

    /** All tags by id, with their groups. */
    snapshot: tags.snapshot,

    /** The tags that an object gets from a save; see `checkTags`. */
    check: (check: TagCheck): number[] => checkTags(tags.snapshot(), check),

    /**
     * Replaces the document. Tags that are used elsewhere are not deleted (`TagsInUse`). If the use can be removed, they are
     * deleted only with `removeTags`.
     */
    async save(actor: Actor, body: readonly TagGroupBody[], { removeTags = false } = {}): Promise<SaveResult> {
      requireTagManager(actor)
      assertStorable(body, 'body')
      const tasks = await db.transaction(async (tx) => {
        await store.lockTags(tx)
        const stored = await store.loadGroups(tx)
        const sent = identified(body, stored)
        const change = compareDocument(sent, stored, conventionOf(actor), await grantsOf(tx, actor, sent, stored))
        await requireDefaultsGiven(actor, stored, change)
        const open = await settleUses(tx, uses, change.deletedTags, removeTags)
        if (open.length > 0) return open
        await assignIds(tx, change)
        const groups = change.groups.map((group) => group.row)
        await store.replaceAll(
          tx,
          groups,
          change.groups.flatMap((group) => group.tags.map((tag) => tag.row)),
        )
        await events.append(tx, eventsOf(actor, change))
        await bus.publish(tx, tagTopic)
        return []
      })
      if (tasks.length > 0) return { kind: 'confirm', tasks }
      await tags.renewed()
      return { kind: 'done' }
    },
  }
}

export const manageTags: NeededRight = { name: 'system.tagmanager' }

/** @throws {AppError} `SystemRightRequired` */
export function requireTagManager(actor: Actor): void {
  requireRight(actor, manageTags)
}

/** Refuses the deletion, removes the uses, or returns the question that must be confirmed first. */
async function settleUses(
  tx: Tx,
  uses: readonly TagUse[],
  deleted: readonly store.TagRow[],
  removeTags: boolean,
): Promise<Task[]> {
  if (deleted.length === 0) return []
  const ids = deleted.map((tag) => tag.id)
  // Before the uses are counted: otherwise a save that is about to use a tag would not be seen.
  await store.lockForDelete(tx, ids)
  const found: { use: TagUse; counts: ReadonlyMap<number, number> }[] = []
  for (const use of uses) {
    const counts = await use.count(tx, ids)
    if (counts.size > 0) found.push({ use, counts })
  }
  const fixed = found.filter(({ use }) => !use.remove)
  if (fixed.length > 0) {
    const used = fixed.flatMap(({ use, counts }) =>
      [...counts].map(([_id, count]) => ({ _id, context: use.context, count })),
    )
    throw new AppError('TagsInUse', { tags: used })
  }
  if (found.length > 0 && !removeTags) return [removeTask(deleted, found)]
  for (const { use } of found) await use.remove?.(tx, ids)
  return []
}

function removeTask(
  deleted: readonly store.TagRow[],
  found: readonly { use: TagUse; counts: ReadonlyMap<number, number> }[],
): Task {
  const lines = found.map(({ use, counts }) => {
    const names = [...counts].map(([id, count]) => `${nameOf(deleted.find((tag) => tag.id === id))} (${count})`)
    return `${use.context}: ${names.join(', ')}`
  })
  return confirmTask({
    title: 'Tags are in use',
    message: `The deleted tags are taken out of these places:\n${lines.join('\n')}`,
    name: 'delete_policy',
    value: 'remove_tags',
  })
}

function nameOf(tag: store.TagRow | undefined): string {
  return tag?.reference ?? Object.values(tag?.displayname ?? {})[0] ?? String(tag?.id)
}

async function assignIds(tx: Tx, change: DocumentChange): Promise<void> {
  const groups = change.groups.filter((group) => group.change === 'insert')
  const groupIds = await store.drawIds(tx, 'tag_group', groups.length)
  groups.forEach(({ row }, index) => {
    row.id = groupIds[index] ?? 0
  })
  for (const { row, tags } of change.groups) for (const tag of tags) tag.row.group_id = row.id
  const tags = change.groups.flatMap((group) => group.tags.filter((tag) => tag.change === 'insert'))
  const tagIds = await store.drawIds(tx, 'tag', tags.length)
  tags.forEach(({ row }, index) => {
    row.id = tagIds[index] ?? 0
  })
}

/** Groups are logged as tags with the basetype `taggroup`: the log has no separate types for them. */
function eventsOf(actor: Actor, change: DocumentChange): NewEvent[] {
  const types = { insert: 'TAG_INSERT', update: 'TAG_UPDATE', delete: 'TAG_DELETE' } as const
  const event = (basetype: string, row: store.GroupRow | store.TagRow, kind: keyof typeof types): NewEvent => ({
    type: types[kind],
    actor,
    basetype,
    schema: 'BASE',
    objectId: row.id,
    objectVersion: row.version,
    info: { displayname: row.displayname, shortname: row.shortname, reference: row.reference },
  })
  return [
    ...change.groups.flatMap((group) => [
      ...(group.change === 'insert' || group.change === 'update' ? [event('taggroup', group.row, group.change)] : []),
      ...group.tags.flatMap((tag) =>
        tag.change === 'insert' || tag.change === 'update' ? [event('tag', tag.row, tag.change)] : [],
      ),
    ]),
    ...change.deletedTags.map((row) => event('tag', row, 'delete')),
    ...change.deletedGroups.map((row) => event('taggroup', row, 'delete')),
  ]
}
