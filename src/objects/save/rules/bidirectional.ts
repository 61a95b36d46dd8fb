import type { Bidirectional, Column, Table } from '../../../datamodel/model.ts'
import { AppError } from '../../../platform/errors.ts'
import { sameContent } from '../../masks/writer.ts'
import { type Content, type ContentRow, rowsOf } from '../../stored/content.ts'
import type { SaveContext } from '../context.ts'
import { exists, guarded } from '../disclosure.ts'
import { guardBefore, type Item, itemOf } from '../item.ts'
import { lockObjects } from '../write/store.ts'

/** A side of a pair sees the objects that its column links to; the opposite column of those objects must link back. */
interface Side {
  readonly column: Column
  readonly opposite: Column
}

/** Rounds of further changes: a link back can replace another link, whose opposite must then be removed as well. */
const maxRounds = 4

/**
 * Keeps bidirectional links of the datamodel consistent: when A gets a link to B, B gets one to A, and loses it when A does. A side
 * is a link column of the object type or of a table nested directly in it. Where both sides are one nested table, the opposite row
 * also gets the further values of the row. Adds items for objects that change only because of this; one statement a round.
 * @throws {AppError} `ObjectInsufficientRights` when the caller may not write such an object.
 */
export async function syncBidirectional(context: SaveContext, items: Item[]): Promise<void> {
  const byId = new Map(items.map((item) => [item.systemObjectId, item]))
  let changed = items.filter((item) => sidesOf(item.table).length > 0)
  for (let round = 0; changed.length > 0 && round < maxRounds; round++) {
    await loadOpposites(context, items, byId, changed)
    const next = new Set<Item>()
    for (const item of changed) {
      if (context.yielder.due()) await context.yielder.yield()
      for (const side of sidesOf(item.table)) {
        for (const id of changedTargets(item, side)) {
          const other = byId.get(id)
          if (!other || other.mode === 'delete' || other.table !== side.opposite.table.root) continue
          assertKnown(context, item, other, side)
          if (!mirror(item, other, side)) continue
          assertOpposite(context, item, other, side)
          next.add(other)
        }
      }
    }
    changed = [...next]
  }
}

/**
 * The opposite object is saved as well: this requires the right to write it, for removing a link as for a new one. An object that
 * the caller may not read is never changed; the save is refused before the object is looked at.
 */
function assertKnown(context: SaveContext, item: Item, other: Item, side: Side): void {
  if (other.draft || exists(context.rights, { ...guardBefore(other), deleted: false })) return
  throw new AppError(
    'ObjectInsufficientRights',
    { name: item.place, right: 'write', field: side.column.fullName, objecttype: item.table.name },
    { message: `${item.place}: ${side.column.fullName} would change an object that may not be changed` },
  )
}

function assertOpposite({ rights }: SaveContext, item: Item, other: Item, side: Side): void {
  if (other.draft || rights.root || rights.may('write', guarded(guardBefore(other)))) return
  const { systemObjectId } = other
  throw new AppError(
    'ObjectInsufficientRights',
    {
      name: item.place,
      right: 'write',
      field: side.column.fullName,
      objecttype: item.table.name,
      _system_object_id: systemObjectId,
    },
    { message: `${item.place}: ${side.column.fullName} changes object ${systemObjectId}, which may not be changed` },
  )
}

const sides = new WeakMap<Table, readonly Side[]>()

function sidesOf(table: Table): readonly Side[] {
  let found = sides.get(table)
  if (!found) {
    found = [table, ...table.nested].flatMap((owner) =>
      owner.bidirectional.flatMap((pair: Bidirectional) => {
        const here = pair.column.table === owner ? pair : { column: pair.opposite, opposite: pair.column }
        return isReachable(here.opposite) ? [{ column: here.column, opposite: here.opposite }] : []
      }),
    )
    sides.set(table, found)
  }
  return found
}

/** Deeper rows have no address into which a link back could be put. */
function isReachable({ table }: Column): boolean {
  return table.kind === 'object' || table.owner?.kind === 'object'
}

async function loadOpposites(
  context: SaveContext,
  items: Item[],
  byId: Map<number, Item>,
  changed: readonly Item[],
): Promise<void> {
  const missing = new Set<number>()
  for (const item of changed) {
    for (const side of sidesOf(item.table)) {
      for (const id of changedTargets(item, side)) if (!byId.has(id)) missing.add(id)
    }
  }
  for (const object of (await lockObjects(context, [...missing])).values()) {
    if (object.deletedAt) continue
    const item = itemOf(object, 'update')
    byId.set(object.systemObjectId, item)
    items.push(item)
  }
}

/** Rows by target; a link of the object type itself is a row without anything else. */
function rowsByTarget(content: Content, { table, key }: Column): Map<number, Content[]> {
  const result = new Map<number, Content[]>()
  const rows = table.kind === 'object' ? [{ [key]: content[key] }] : rowsOf(content, table)
  for (const row of rows) {
    const target = row[key]
    if (typeof target === 'number') result.set(target, [...(result.get(target) ?? []), row])
  }
  return result
}

/** Objects whose opposite side may have to change: linked now or before, but not in the same way. */
function changedTargets(item: Item, side: Side): number[] {
  if (item.mode === 'delete') return []
  const before = rowsByTarget(item.current?.content ?? {}, side.column)
  const after = rowsByTarget(item.content, side.column)
  const ids = new Set([...before.keys(), ...after.keys()])
  ids.delete(item.systemObjectId)
  const values = (rows: readonly Content[] | undefined) => (rows ?? []).map(({ _u, ...rest }) => rest)
  return [...ids].filter((id) => !sameContent(values(before.get(id)), values(after.get(id))))
}

/** Makes the opposite side of `other` agree with `item`; returns whether anything changed. */
function mirror(item: Item, other: Item, side: Side): boolean {
  const wanted = rowsByTarget(item.content, side.column).get(other.systemObjectId) ?? []
  const { table, key } = side.opposite
  const content = { ...other.content }
  if (table.kind === 'object') {
    if (wanted.length > 0) content[key] = item.systemObjectId
    else if (content[key] === item.systemObjectId) delete content[key]
  } else {
    const rows = rowsOf(content, table)
    const existing = rows.filter((row) => row[key] === item.systemObjectId)
    const mirrored = wanted.map(
      (row, index): ContentRow => ({
        ...(side.column.table === table ? row : (existing[index] ?? {})),
        [key]: item.systemObjectId,
        _u: existing[index]?._u ?? crypto.randomUUID(),
      }),
    )
    const next = [...rows.filter((row) => row[key] !== item.systemObjectId), ...mirrored]
    if (next.length > 0) content[table.key] = next
    else delete content[table.key]
  }
  if (sameContent(content, other.content)) return false
  other.content = content
  other.changed = true
  return true
}
