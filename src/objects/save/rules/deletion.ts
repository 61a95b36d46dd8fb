import type { Column, Model } from '../../../datamodel/model.ts'
import { AppError } from '../../../platform/errors.ts'
import type { Queryable } from '../../../platform/postgres/db.ts'
import { eachYielding, mapYielding } from '../../../platform/process/cooperative-yield.ts'
import { withoutLinks } from '../../content/links.ts'
import type { StoredObject } from '../../stored/content.ts'
import { loadHeads } from '../../stored/load.ts'
import type { SaveContext } from '../context.ts'
import { showsLink } from '../disclosure.ts'
import { guardOf, type Item, itemOf } from '../item.ts'
import { lockObjects } from '../write/store.ts'

/** The fate of objects that link to a deleted one through a column that does not define it. */
export type LinkPolicy = 'remove' | 'setnull' | 'refuse'

export interface DeletePlan {
  /** Objects that are moved to the trash: the requested ones and those that are deleted with them. */
  readonly deleted: Item[]
  /** Objects that lose a link, or a parent. */
  readonly cleared: Item[]
}

/** A live object that points to another one. */
export interface Linker {
  readonly from: number
  readonly to: number
  /** Null: it is a child in the hierarchy. */
  readonly column: number | null
}

/** Live objects that link to any of the given ones, and their children in hierarchies. */
export async function findLinkers(q: Queryable, systemObjectIds: readonly number[]): Promise<Linker[]> {
  if (systemObjectIds.length === 0) return []
  // Without statistics the planner would assume that hardly any object is live, and scan all of them.
  const { rows } = await q.query<Linker>(
    `select l.from_id as "from", l.to_id as "to", l.column_id as "column"
     from object_link l cross join lateral (
       select deleted_at from object where system_object_id = l.from_id limit 1
     ) o
     where l.to_id = any($1::bigint[]) and o.deleted_at is null
     union all
     select o.system_object_id, p.id, null
     from (
       select system_object_id, parents, deleted_at from object
       where parents && $1::bigint[] and parents <> '{}' offset 0
     ) o cross join lateral unnest(o.parents) as p(id)
     where o.deleted_at is null and p.id = any($1::bigint[])`,
    [systemObjectIds],
    'find-linkers',
  )
  return rows
}

/** The rule of a column for objects that link through it when their target is deleted. */
export function fateOf(model: Model, linker: Linker): 'remove' | 'setnull' | 'open' {
  if (linker.column === null) return 'open'
  const column = model.columnsById.get(linker.column)
  // The column was removed from the datamodel, but contents still have the link: it would have no target when the column comes
  // back.
  if (!column) return 'setnull'
  if (column.reverseEdit || column.onDelete === 'cascade') return 'remove'
  const linksBack = column.table.bidirectional.some((pair) => pair.column === column || pair.opposite === column)
  return column.onDelete === 'setnull' || linksBack ? 'setnull' : 'open'
}

/**
 * Determines which objects are moved to the trash and which are cleared when `roots` are deleted, and locks all of them.
 * Reverse-nested objects are deleted with their master, links with `on_delete` follow it, all others follow `policy`. One round of
 * statements per level of links, however many objects.
 * @throws {AppError} `ConstraintViolation` (rule `on_delete`) when `policy` is `refuse` and an object links to a root.
 */
export async function planDelete(
  context: SaveContext,
  roots: readonly StoredObject[],
  policy: LinkPolicy,
  exempt: ReadonlySet<number> = new Set(),
): Promise<DeletePlan> {
  const { tx, model, yielder } = context
  const deleted = new Map(roots.map((object) => [object.systemObjectId, object]))
  const dropped: Linker[] = []
  const followed: Linker[] = []
  let level = [...deleted.keys()]
  while (level.length > 0) {
    const next = new Set<number>()
    for (const linker of await findLinkers(tx, level)) {
      if (yielder.due()) await yielder.yield()
      if (deleted.has(linker.from) || exempt.has(linker.from)) continue
      const fate = fateOf(model, linker)
      const decided = fate === 'open' ? policy : fate
      if (decided === 'refuse') throw await stillLinked(context, linker, deleted.get(linker.to))
      if (decided === 'remove') {
        next.add(linker.from)
        followed.push(linker)
      } else dropped.push(linker)
    }
    const locked = await lockObjects(context, [...next], { forDelete: true })
    level = []
    for (const object of locked.values()) {
      if (object.deletedAt) continue
      deleted.set(object.systemObjectId, object)
      level.push(object.systemObjectId)
    }
  }
  const toClear = dropped.filter((linker) => !deleted.has(linker.from))
  const lost = Map.groupBy(toClear, (linker) => linker.from)
  const stored = await lockObjects(context, [...lost.keys()])
  const known = new Set(roots.map((object) => object.systemObjectId))
  const learn = (linker: Linker): void => {
    const object = deleted.get(linker.from) ?? stored.get(linker.from)
    if (object && showsLink(context, object.table, guardOf(object), columnOf(model, linker))) known.add(linker.from)
  }
  await eachYielding([...followed, ...toClear], learn, yielder)
  const untold = (object: StoredObject): boolean => !known.has(object.systemObjectId)
  return {
    deleted: await mapYielding(
      [...deleted.values()],
      (object) => ({ ...itemOf(object, 'delete'), untold: untold(object) }),
      yielder,
    ),
    cleared: await mapYielding(
      [...stored.values()],
      (object) => ({ ...clearItem(object, lost.get(object.systemObjectId) ?? []), untold: untold(object) }),
      yielder,
    ),
  }
}

async function stillLinked(context: SaveContext, linker: Linker, target: StoredObject | undefined): Promise<AppError> {
  const column = linker.column === null ? null : context.model.columnsById.get(linker.column)
  const known = (await knownLinkers(context, [linker])).length > 0
  return new AppError(
    'ConstraintViolation',
    {
      rule: 'on_delete',
      objecttype: target?.table.name,
      _system_object_id: linker.to,
      ...(known ? { field: column?.fullName ?? '_id_parent', linked_by: linker.from } : {}),
    },
    {
      message: `object ${linker.to} cannot be deleted: ${known ? `object ${linker.from}` : 'another object'} links to it`,
    },
  )
}

/** The linkers that the caller may see, both the object and the link. */
export async function knownLinkers(context: SaveContext, linkers: readonly Linker[]): Promise<readonly Linker[]> {
  const { tx, model, rights } = context
  if (rights.root || linkers.length === 0) return linkers
  const heads = await loadHeads(tx, model, [...new Set(linkers.map((linker) => linker.from))])
  const byId = new Map(heads.map((head) => [head.systemObjectId, head]))
  return linkers.filter((linker) => {
    const head = byId.get(linker.from)
    return head !== undefined && showsLink(context, head.table, head.guard, columnOf(model, linker))
  })
}

function columnOf(model: Model, { column }: Linker): Column | null | undefined {
  return column === null ? null : model.columnsById.get(column)
}

function clearItem(object: StoredObject, dropped: readonly Linker[]): Item {
  const item = itemOf(object, 'update')
  const links = new Set(dropped.map((linker) => `${linker.column}:${linker.to}`))
  item.content = withoutLinks(object.table, object.content, (column, to) => links.has(`${column}:${to}`))
  item.parents = object.parents.filter((id) => !links.has(`null:${id}`))
  return item
}
