import type { Column } from '../../../datamodel/model.ts'
import type { EventType } from '../../../events/service.ts'
import { AppError } from '../../../platform/errors.ts'
import { mapYielding, type Yielder } from '../../../platform/process/cooperative-yield.ts'
import { filesByColumn } from '../../content/file-links.ts'
import { formerLinks, type LinkTriple, linkTriples } from '../../content/links.ts'
import { standardText } from '../../standard/compute.ts'
import type { SaveContext } from '../context.ts'
import { keepCustomData } from '../custom-data.ts'
import { hasMoved, type Item, nextVersion } from '../item.ts'
import { settlePromises } from '../promises/keep.ts'
import type { GivenIds } from '../promises/model.ts'
import { keysHoldIds, uniqueEntries } from '../rules/unique.ts'
import { applyStandards } from '../standards.ts'
import { type FileChange, type FileTaken, putFiles, returnFiles, takeFiles } from './files.ts'
import { giveIds } from './new-ids.ts'
import { addLinks, giveUpUnique, removeLinks, takeUnique, type UniqueChange, writeItems } from './store.ts'

export interface WriteOptions {
  readonly dryRun: boolean
  readonly skipIndex: boolean
  readonly skipEvents: boolean
}

const eventOf: Record<Item['mode'], EventType> = {
  create: 'OBJECT_INSERT',
  update: 'OBJECT_UPDATE',
  delete: 'OBJECT_DELETE',
  undelete: 'OBJECT_UNDELETE',
}

/**
 * Writes the items in their final state: ids and standards of new objects, heads and versions, links, unique values, index queue
 * and events, each with a constant number of statements. A dry run takes no ids and logs nothing.
 */
export async function writeAll(context: SaveContext, items: readonly Item[], options: WriteOptions): Promise<void> {
  const { tx, deps, model, actor, at, yielder } = context
  const written = items.filter((item) => item.changed)
  if (written.length === 0) return context.current
  const before = await uniqueChanges(written, yielder)
  // The locks on records that must exist until the save is written, and the ids, in one round trip.
  const [given] = await Promise.all([
    drawn(context, written, before, options.dryRun),
    lockPools(context, written),
    lockTags(context, written),
    context.current,
  ])
  const unique =
    given.final.size > 0 && written.some(({ table }) => keysHoldIds(table))
      ? await uniqueChanges(written, yielder)
      : before
  const links = await linkChanges(written, yielder)
  const files = await fileChanges(written, yielder)
  await applyStandards(context, items)
  const version = { at, yielder, userId: actor.userId, datamodelVersion: model.version, index: !options.skipIndex }
  // Links are removed before others are added; the other statements do not depend on each other.
  await Promise.all([
    takeUnique(tx, unique.added),
    removeLinks(tx, links.removed),
    addLinks(tx, links.added),
    writeItems(tx, written, version),
    takeFiles(tx, files.taken),
    putFiles(tx, files.put),
    returnFiles(tx, files.returned),
    options.dryRun ? null : deps.files.renewMarks(tx, withFiles(written)),
    options.skipEvents || options.dryRun ? null : appendEvents(context, written),
    options.dryRun ? null : settlePromises(context, given),
  ])
  if (!options.dryRun) await keepCustomData(context, written)
  const gone = written.flatMap(({ mode, systemObjectId }) => (mode === 'delete' ? systemObjectId : []))
  if (gone.length > 0) await deps.collections.leave(tx, gone)
  if (!options.skipIndex || written.some(hasMoved)) tx.afterCommit(deps.wakeIndex)
}

/** Values are released before ids are drawn, since the statement for ids checks whether values are taken. */
async function drawn(
  context: SaveContext,
  items: readonly Item[],
  unique: { readonly removed: readonly UniqueChange[]; readonly added: readonly UniqueChange[] },
  dryRun: boolean,
): Promise<GivenIds> {
  const [, given] = await Promise.all([
    giveUpUnique(context.tx, unique.removed),
    dryRun ? { final: new Map(), kept: [] } : giveIds(context, items, unique.added),
  ])
  return given
}

/** The new pools of objects must exist when the transaction ends. */
async function lockPools({ deps, tx }: SaveContext, items: readonly Item[]): Promise<void> {
  const entered = items.flatMap((item) =>
    item.poolId !== null && item.poolId !== item.current?.poolId ? [item.poolId] : [],
  )
  if (entered.length > 0) await deps.pools.lockForUse(tx, [...new Set(entered)])
}

/**
 * Tags that are new on an object must exist when the transaction ends, whatever adds them. Tags that objects already have need no
 * lock: the deletion of a tag removes it from the objects, and waits for this transaction.
 */
async function lockTags({ tx, deps }: SaveContext, items: readonly Item[]): Promise<void> {
  const introduced = (item: Item) => item.tags.filter((id) => !item.current?.tags.includes(id))
  const ids = new Set(items.flatMap(introduced))
  if (ids.size === 0) return
  const found = await deps.tags.lockForUse(tx, [...ids])
  for (const item of items) {
    const gone = introduced(item).find((id) => !found.has(id))
    if (gone !== undefined) throw new AppError('TagNotFound', { name: `${item.place}._tags`, _id: gone })
  }
}

/** Objects in the trash have no unique values, so that other objects can use them. */
async function uniqueChanges(
  items: readonly Item[],
  yielder: Yielder,
): Promise<{ removed: UniqueChange[]; added: UniqueChange[] }> {
  const removed: UniqueChange[] = []
  const added: UniqueChange[] = []
  for (const item of items) {
    if (yielder.due()) await yielder.yield()
    const before =
      item.current && item.mode !== 'undelete' ? uniqueEntries(item.table, item.current.content, item.current) : []
    const after = item.mode === 'delete' ? [] : uniqueEntries(item.table, item.content, item)
    const name = ({ key, value }: { key: { key: string }; value: string }) => `${key.key}\0${value}`
    const had = new Set(before.map(name))
    const has = new Set(after.map(name))
    for (const entry of before) if (!has.has(name(entry))) removed.push({ item, entry })
    const taken = new Set<string>()
    for (const entry of after) {
      // The same value twice in one object (two rows of a nested table) must be refused as well.
      if (!had.has(name(entry)) || taken.has(name(entry))) added.push({ item, entry })
      taken.add(name(entry))
    }
  }
  return { removed, added }
}

async function linkChanges(
  items: readonly Item[],
  yielder: Yielder,
): Promise<{ removed: LinkTriple[]; added: LinkTriple[] }> {
  const removed: LinkTriple[] = []
  const added: LinkTriple[] = []
  const name = (link: LinkTriple) => `${link.column}:${link.to}`
  for (const item of items) {
    if (yielder.due()) await yielder.yield()
    if (item.mode === 'delete' || item.mode === 'undelete') continue
    const after = linkTriples(item.table, item.content, item.systemObjectId)
    if (!item.current) {
      added.push(...after)
      continue
    }
    const before = linkTriples(item.table, item.current.content, item.systemObjectId)
    const had = new Set(before.map(name))
    // Links in a removed column, which are deleted with their row, are reported as well.
    const has = new Set([...after, ...formerLinks(item.table, item.content, item.systemObjectId)].map(name))
    const former = formerLinks(item.table, item.current.content, item.systemObjectId)
    removed.push(...[...before, ...former].filter((link) => !has.has(name(link))))
    added.push(...after.filter((link) => !had.has(name(link))))
  }
  return { removed, added }
}

/** Files that are added to objects, files that return with restored objects, and files that only old versions have from now on. */
async function fileChanges(
  items: readonly Item[],
  yielder: Yielder,
): Promise<{ readonly put: FileChange[]; readonly returned: FileChange[]; readonly taken: FileTaken[] }> {
  const put: FileChange[] = []
  const returned: FileChange[] = []
  const taken: FileTaken[] = []
  for (const item of items) {
    if (yielder.due()) await yielder.yield()
    if (item.mode === 'delete') continue
    const { table, systemObjectId } = item
    const after = filesByColumn(table, item.content)
    if (item.mode === 'undelete') {
      for (const [column, ids] of after) {
        for (const fileId of ids) returned.push({ fileId, systemObjectId, columnId: column.id })
      }
      continue
    }
    const before = item.current ? filesByColumn(table, item.current.content) : new Map<Column, Set<number>>()
    for (const [column, ids] of after) {
      for (const fileId of ids) {
        if (!before.get(column)?.has(fileId)) put.push({ fileId, systemObjectId, columnId: column.id })
      }
    }
    for (const [column, ids] of before) {
      for (const fileId of ids) {
        if (after.get(column)?.has(fileId)) continue
        taken.push({ fileId, systemObjectId, columnId: column.id, version: nextVersion(item) })
      }
    }
  }
  return { put, returned, taken }
}

/** Objects that have or had files. */
function withFiles(items: readonly Item[]): number[] {
  return items
    .filter(({ table, content, current }) =>
      [content, current?.content].some((one) => one !== undefined && filesByColumn(table, one).size > 0),
    )
    .map(({ systemObjectId }) => systemObjectId)
}

async function appendEvents({ tx, deps, actor, yielder }: SaveContext, items: readonly Item[]): Promise<void> {
  const languages = deps.languages()
  const events = await mapYielding(
    items,
    (item) => ({
      type: eventOf[item.mode],
      actor,
      schema: 'user',
      basetype: 'object',
      objecttype: item.table.name,
      objectId: item.id,
      objectVersion: nextVersion(item),
      systemObjectId: item.systemObjectId,
      info: { standard: standardText(item.standard, languages) },
    }),
    yielder,
  )
  await deps.events.append(tx, events)
}
