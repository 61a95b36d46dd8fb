import type { Model } from '../../../datamodel/model.ts'
import { AppError } from '../../../platform/errors.ts'
import type { Queryable, Tx } from '../../../platform/postgres/db.ts'
import { booleansText, numbersText, textsText } from '../../../platform/postgres/literals.ts'
import { jsonYielding, type Yielder } from '../../../platform/process/cooperative-yield.ts'
import type { LinkTriple } from '../../content/links.ts'
import { showingMasks } from '../../masks/access.ts'
import type { StoredObject } from '../../stored/content.ts'
import { isBulk } from '../../stored/index-lane.ts'
import { hasMoved, type Item, nextVersion } from '../item.ts'
import type { UniqueEntry } from '../rules/unique.ts'

type Row = Omit<StoredObject, 'table' | 'latestVersion'> & { objecttype: number }

/** The source for reading stored objects for a change, and whether they are locked until the transaction ends. */
export interface Reading {
  readonly tx: Tx
  readonly model: Model
  readonly locks: boolean
}

/**
 * Latest versions of objects, locked against other writers until the transaction ends, lowest id first. `forDelete` also keeps
 * others from linking to them. Objects whose type was removed from the datamodel are left out: they cannot be changed. Before
 * callbacks nothing is locked (`Reading`).
 *
 * A statement sees only the versions that existed when it began. If it waits for the lock on an object and the object changes
 * meanwhile, the object is locked but missing from the result; such objects are read by a second statement.
 */
export async function lockObjects(
  reading: Reading,
  systemObjectIds: readonly number[],
  { forDelete = false }: { forDelete?: boolean } = {},
): Promise<Map<number, StoredObject>> {
  const ids = [...new Set(systemObjectIds)]
  const rows = await lockRows(reading, ids, forDelete)
  if (rows.length < ids.length) {
    const found = new Set(rows.map((row) => row.systemObjectId))
    const missing = ids.filter((id) => !found.has(id))
    rows.push(...(await lockRows(reading, missing, forDelete)))
  }
  const result = new Map<number, StoredObject>()
  for (const { objecttype, ...object } of rows) {
    const table = reading.model.tablesById.get(objecttype)
    if (table) result.set(object.systemObjectId, { ...object, table, latestVersion: object.version })
  }
  return result
}

async function lockRows(
  { tx, locks }: Reading,
  systemObjectIds: readonly number[],
  forDelete: boolean,
): Promise<Row[]> {
  if (systemObjectIds.length === 0) return []
  const lock = locks ? `for ${forDelete ? '' : 'no key '}update of o` : ''
  const { rows } = await tx.query<Row>(
    `select o.system_object_id as "systemObjectId", o.objecttype, o.id, o.version, o.uuid, o.pool_id as "poolId",
       o.owner_user as "ownerUser", o.owner_group as "ownerGroup", o.tags, o.acl, o.private_acl as "privateAcl",
       o.parents, o.child_idx as "childIdx",
       o.standard, o.created_at as "createdAt", o.created_by as "createdBy", o.modified_at as "modifiedAt",
       o.deleted_at as "deletedAt", v.operation, v.at, v.by_user as "byUser", v.comment, v.content
     from object o join object_version v on v.system_object_id = o.system_object_id and v.version = o.version
     where o.system_object_id = any($1::bigint[]) order by o.system_object_id
     ${lock}`,
    [systemObjectIds],
    locks ? (forDelete ? 'lock-objects-delete' : 'lock-objects-save') : 'look-at-objects',
  )
  return rows
}

/** The ids that an object needs: one in the instance, one in its object type, or both. */
interface IdsWanted {
  readonly objecttype: number
  readonly system: boolean
  readonly own: boolean
}

/**
 * Draws ids, in order; null where none is needed. They are not returned when the transaction fails, so none is drawn when one of
 * the unique values is already taken.
 * @throws {AppError} `DatabaseUniqueKeyViolation`.
 */
export async function drawIds(
  tx: Queryable,
  wanted: readonly IdsWanted[],
  unique: readonly UniqueChange[],
): Promise<{ systemObjectId: number | null; id: number | null }[]> {
  const keys = [textsText(unique.map(({ entry }) => entry.key.key)), textsText(unique.map(({ entry }) => entry.value))]
  const { rows } = await tx.query<{ systemObjectId: number | null; id: number | null }>(
    `select case when t.system then nextval('system_object_id_seq') end as "systemObjectId",
       case when t.own then nextval(('object_id_' || t.objecttype)::regclass) end as id
     from unnest($1::int[], $2::bool[], $3::bool[]) as t(objecttype, system, own)
     where not exists (select from unnest($4::text[], $5::text[]) as x(key, value) join object_unique u using (key, value))`,
    [
      numbersText(wanted.map(({ objecttype }) => objecttype)),
      booleansText(wanted.map(({ system }) => system)),
      booleansText(wanted.map(({ own }) => own)),
      ...keys,
    ],
    'draw-ids',
  )
  if (rows.length === wanted.length) return rows
  const { rows: taken } = await tx.query<{ index: number }>(
    `select min(x.index)::int as index from unnest($1::text[], $2::text[]) with ordinality as x(key, value, index)
     join object_unique u using (key, value)`,
    keys,
  )
  const change = unique[(taken[0]?.index ?? 1) - 1]
  if (!change) throw new Error('no ids were drawn')
  throw uniqueViolation(change)
}

/**
 * Moves the counters past ids that clients chose. The sequence is locked before it is read, so that no number is drawn twice; this
 * is only done when a chosen id is ahead of the counter.
 * @throws {AppError} when an id is so large that the counter would leave the safe integers.
 */
export async function claimIds(tx: Tx, wanted: ReadonlyMap<string, number>): Promise<void> {
  for (const [sequence, highest] of wanted) {
    if (highest > Number.MAX_SAFE_INTEGER - 1_000_000_000) {
      throw new AppError('InvalidValue', {
        name: sequence === 'system_object_id_seq' ? '_system_object_id' : '_id',
        value: highest,
        expected: 'an id that leaves room for others',
      })
    }
  }
  const names = [...wanted.keys()]
  const { rows } = await tx.query<{ name: string; last: number }>(
    `select n as name, coalesce(pg_sequence_last_value(n::regclass), 0) as last from unnest($1::text[]) as t(n)`,
    [names],
    'claim-ids-last',
  )
  const behind = rows.filter((row) => row.last < (wanted.get(row.name) ?? 0)).map((row) => row.name)
  if (behind.length === 0) return
  // alter sequence takes the lock that nextval waits for; the loop runs over object types of one batch, not objects.
  for (const name of behind.sort()) {
    const next = (wanted.get(name) ?? 0) + 1
    await tx.query(`alter sequence ${quoteSequence(name)} increment by 1`)
    const { rows: now } = await tx.query<{ last: number }>(
      `select coalesce(pg_sequence_last_value($1::regclass), 0) as last`,
      [name],
    )
    if ((now[0]?.last ?? 0) < next) await tx.query(`alter sequence ${quoteSequence(name)} restart with ${next}`)
  }
}

function quoteSequence(name: string): string {
  if (!/^(system_object_id_seq|object_id_\d+)$/.test(name)) throw new Error(`not a sequence of ids: ${name}`)
  return name
}

/** An id that belonged to a purged object, or that a promise reserves. */
interface SpentId {
  readonly systemObjectId: number
  readonly objecttype: number
  readonly id: number | null
  readonly uuid: string
  /** The users who have promised the object; null: it was purged. */
  readonly users: readonly number[] | null
}

/**
 * The ids, of those given, that belonged to purged objects, and the promises of objects with these ids. A promise is locked: no other
 * transaction links to the promised object before this one has created it.
 */
export async function findSpentIds(
  { tx, locks }: Pick<Reading, 'tx' | 'locks'>,
  ids: {
    systemObjectIds: readonly number[]
    objecttypes: readonly number[]
    ids: readonly number[]
    uuids: readonly string[]
  },
): Promise<SpentId[]> {
  const { rows } = await tx.query<SpentId>(
    `with promised as (
       select id, objecttype, uuid, users from object_promise
       where (id = any($1::bigint[]) or uuid = any($4::text[])) and kept_at is null
       order by id ${locks ? 'for update' : ''}
     )
     select system_object_id as "systemObjectId", objecttype, id, uuid, null::bigint[] as users from object_tombstone
     where system_object_id = any($1::bigint[]) or uuid = any($4::text[])
        or (objecttype, id) in (select * from unnest($2::int[], $3::bigint[]))
     union all select id, objecttype, null, uuid, users from promised`,
    [ids.systemObjectIds, ids.objecttypes, ids.ids, ids.uuids],
    locks ? 'find-spent-ids' : 'look-at-spent-ids',
  )
  return rows
}

const operationOf = { create: 'i', update: 'u', delete: 'd', undelete: 'r' } as const

/** Writes all items of a save: head rows, versions and index queue in one statement. */
export async function writeItems(
  tx: Tx,
  items: readonly Item[],
  context: { at: Date; userId: number; datamodelVersion: number; index: boolean; yielder: Yielder },
): Promise<void> {
  if (items.length === 0) return
  const row = (item: Item) => ({
    s: item.systemObjectId,
    t: item.table.id,
    i: item.id,
    v: nextVersion(item),
    u: item.uuid,
    cb: item.createdBy,
    p: item.poolId,
    ou: item.ownerUser,
    og: item.ownerGroup,
    g: item.tags,
    a: item.acl ?? null,
    pa: item.privateAcl,
    r: item.parents,
    o: operationOf[item.mode],
    m: item.comment,
    mv: hasMoved(item),
    d: item.standard,
    c: item.content,
  })
  const rows = await jsonYielding(items, row, context.yielder)
  await tx.query(
    `with input as materialized (
       select * from json_to_recordset($1::json) as x(s bigint, t int, i bigint, v int, u text, cb bigint, p bigint, ou bigint, og bigint,
         g int[], a jsonb, pa boolean, r bigint[], o "char", m text, mv boolean, d jsonb, c jsonb)
     ), created as (
       insert into object (system_object_id, objecttype, id, version, uuid, pool_id, owner_user, owner_group, tags, acl,
         private_acl, parents, standard, created_at, created_by, modified_at)
       select s, t, i, v, u, p, ou, og, g, a, pa, r, d, $2, coalesce(cb, $3), $2 from input where o = 'i'
     ), updated as (
       update object set version = v, pool_id = p, owner_user = ou, owner_group = og, tags = g, acl = a,
         private_acl = pa, parents = r, standard = d, modified_at = $2, deleted_at = case when o = 'd' then $2::timestamptz end
       from input where o <> 'i' and system_object_id = s
     ), queued as (
       insert into index_queue (system_object_id, moved, bulk) select s, mv, ${isBulk} from input where $5 or mv
     )
     insert into object_version (system_object_id, version, operation, at, by_user, comment, datamodel_version, pool_id,
       owner_user, owner_group, tags, acl, private_acl, parents, content)
     select s, v, o, $2, $3, m, $4, p, ou, og, g, a, pa, r, c from input`,
    [rows, context.at, context.userId, context.datamodelVersion, context.index],
    'write-items',
  )
}

/** The values of a violated key, where the object was sent with a mask that contains them: otherwise they may be secret. */
function sentValues({ draft, mask, table }: Item, { key, columns }: UniqueEntry): { values?: UniqueEntry['columns'] } {
  return draft !== null && key.columns.every((column) => showingMasks(table).column(column).has(mask))
    ? { values: columns }
    : {}
}

export async function removeLinks(tx: Tx, links: readonly LinkTriple[]): Promise<void> {
  if (links.length === 0) return
  await tx.query(
    `delete from object_link l using unnest($1::bigint[], $2::int[], $3::bigint[]) as x(to_id, column_id, from_id)
     where l.to_id = x.to_id and l.column_id = x.column_id and l.from_id = x.from_id`,
    columnsOf(links),
    'delete-links',
  )
}

export async function addLinks(tx: Tx, links: readonly LinkTriple[]): Promise<void> {
  if (links.length === 0) return
  await tx.query(
    `insert into object_link (to_id, column_id, from_id)
     select * from unnest($1::bigint[], $2::int[], $3::bigint[]) on conflict do nothing`,
    columnsOf(links),
    'insert-links',
  )
}

function columnsOf(links: readonly LinkTriple[]): string[] {
  return [links.map(({ to }) => to), links.map(({ column }) => column), links.map(({ from }) => from)].map(numbersText)
}

export interface UniqueChange {
  readonly item: Item
  readonly entry: UniqueEntry
}

export async function giveUpUnique(tx: Tx, removed: readonly UniqueChange[]): Promise<void> {
  if (removed.length === 0) return
  await tx.query(
    `delete from object_unique u using unnest($1::text[], $2::text[], $3::bigint[]) as x(key, value, id)
     where u.key = x.key and u.value = x.value and u.system_object_id = x.id`,
    [
      textsText(removed.map((change) => change.entry.key.key)),
      textsText(removed.map((change) => change.entry.value)),
      numbersText(removed.map((change) => change.item.systemObjectId)),
    ],
    'delete-unique',
  )
}

/** Stores unique values; the database decides. @throws {AppError} `DatabaseUniqueKeyViolation`. */
export async function takeUnique(tx: Tx, added: readonly UniqueChange[]): Promise<void> {
  if (added.length === 0) return
  const { rows } = await tx.query<{ key: string; value: string }>(
    `insert into object_unique (key, value, system_object_id)
     select * from unnest($1::text[], $2::text[], $3::bigint[]) on conflict do nothing returning key, value`,
    [
      textsText(added.map((change) => change.entry.key.key)),
      textsText(added.map((change) => change.entry.value)),
      numbersText(added.map((change) => change.item.systemObjectId)),
    ],
    'insert-unique',
  )
  if (rows.length === added.length) return
  const taken = new Set(rows.map((row) => `${row.key}\0${row.value}`))
  const seen = new Set<string>()
  for (const { item, entry } of added) {
    const name = `${entry.key.key}\0${entry.value}`
    if (taken.has(name) && !seen.has(name)) {
      seen.add(name)
      continue
    }
    throw uniqueViolation({ item, entry })
  }
}

function uniqueViolation({ item, entry }: UniqueChange): AppError {
  return new AppError(
    'DatabaseUniqueKeyViolation',
    { name: item.place, objecttype: item.table.name, key: entry.key.name, ...sentValues(item, entry) },
    { message: `${item.place}: the unique key ${entry.key.name} is violated` },
  )
}

/** The uuids, of those given, that objects have, in the trash or not. */
export async function storedUuids(tx: Queryable, uuids: readonly string[]): Promise<ReadonlySet<string>> {
  const { rows } = await tx.query<{ uuid: string }>('select uuid from object where uuid = any($1::text[])', [
    textsText(uuids),
  ])
  return new Set(rows.map(({ uuid }) => uuid))
}
