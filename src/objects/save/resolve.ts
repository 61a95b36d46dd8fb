import type { Table } from '../../datamodel/model.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import { textsText } from '../../platform/postgres/literals.ts'
import type { LinkRef } from '../content/link-ref.ts'
import type { SaveContext } from './context.ts'
import { asGuarded, type ExistingObject, existingColumns } from './existing-object.ts'
import { isLookup, lookupName, mayFind, resolveLookups } from './lookups.ts'
import { withNamesShared } from './promises/store.ts'
import type { Draft } from './request/payload.ts'

/** Resolves references: to objects of the same request first, then to stored ones. */
export interface Resolver {
  /**
   * The stored object of a reference, trash included; `undefined` when there is none. A reference by id finds the object even if
   * the caller may not read it; a look-up by a value finds only objects that the caller may find by it.
   */
  stored(ref: LinkRef): ExistingObject | undefined
  /** The object of this request that a reference names. */
  drafted(ref: LinkRef): Draft | undefined
}

/** Key of a reference: equal keys name the same object. The key of an object of another database matches no object here. */
function keyOf(ref: LinkRef, databaseName: string): string {
  switch (ref.by) {
    case 'system':
      return (ref.database ?? databaseName) === databaseName ? `s${ref.id}` : `g${ref.id}@${ref.database}`
    case 'uuid':
      return `u${ref.uuid}`
    case 'id':
      return `i${ref.table.id}:${ref.id}`
    case 'lookup':
      return lookupName(ref)
  }
}

/**
 * Resolves all references of a request with a constant number of statements, and locks the objects found against deletion (`for key
 * share`) until the transaction ends, unless `locks` is off.
 * @throws {AppError} `LookupFoundTooMany` when a lookup is ambiguous.
 */
export async function createResolver(
  context: Pick<SaveContext, 'deps' | 'tx' | 'model' | 'rights' | 'yielder' | 'locks'>,
  refs: readonly LinkRef[],
  drafts: readonly Draft[],
): Promise<Resolver> {
  const { tx, deps, model, yielder, locks } = context
  const nameOf = (ref: LinkRef) => keyOf(ref, deps.config.databaseName)
  const distinct = new Map<string, LinkRef>()
  for (const ref of refs) {
    if (yielder.due()) await yielder.yield()
    distinct.set(nameOf(ref), ref)
  }
  const lookups = await resolveLookups(context, [...distinct.values()].filter(isLookup))
  const found = await findObjects(tx, [...distinct.values()], [...lookups.values()])
  const byDraft = indexDrafts(drafts, [...distinct.values()])
  return {
    stored(ref) {
      if (!isLookup(ref)) return found.get(nameOf(ref))
      const systemObjectId = lookups.get(lookupName(ref))
      const object = systemObjectId === undefined ? undefined : found.get(`s${systemObjectId}`)
      return object && mayFind(context, ref, object) ? object : undefined
    },
    drafted: (ref) => byDraft.get(nameOf(ref)),
  }

  /** Names of objects that may be created: nobody promises them until the transaction ends. */
  function newNames(): string[] {
    if (!locks) return []
    return drafts.flatMap(({ uuid, version }) => (uuid !== undefined && (version ?? 1) === 1 ? uuid : []))
  }

  async function findObjects(
    q: Tx,
    all: readonly LinkRef[],
    lookedUp: readonly number[],
  ): Promise<Map<string, ExistingObject>> {
    const systemIds = new Set(lookedUp)
    const uuids: string[] = []
    const tables: number[] = []
    const ids: number[] = []
    for (const ref of all) {
      if (ref.by === 'system') systemIds.add(ref.id)
      else if (ref.by === 'uuid') uuids.push(ref.uuid)
      else if (ref.by === 'id') {
        tables.push(ref.table.id)
        ids.push(ref.id)
      }
    }
    const result = new Map<string, ExistingObject>()
    if (systemIds.size + uuids.length + ids.length === 0) return result
    const names = newNames()
    const named = names.length > 0
    const { rows } = await q.query<ExistingObject>(
      `select ${existingColumns}
       from object o
       where o.system_object_id = any($1::bigint[] || array(
         select system_object_id from object where uuid = any($2::text[])
         union
         select n.system_object_id from unnest($3::int[], $4::bigint[]) as x(objecttype, id)
         join object n on n.objecttype = x.objecttype and n.id = x.id))
         ${named ? `and ${withNamesShared('$5')}` : ''}
       order by o.system_object_id ${locks ? 'for key share' : ''}`,
      [[...systemIds], uuids, tables, ids, ...(named ? [textsText(names)] : [])],
      locks ? `resolve-objects${named ? '-new' : ''}` : 'look-up-objects',
    )
    for (const stored of rows) {
      const row = asGuarded(model.tablesById, stored)
      result.set(`s${row.systemObjectId}`, row)
      result.set(`u${row.uuid}`, row)
      result.set(`i${row.objecttypeId}:${row.id}`, row)
    }
    return result
  }

  /** Objects of the request by every name that a reference of the request uses. */
  function indexDrafts(all: readonly Draft[], wanted: readonly LinkRef[]): Map<string, Draft> {
    const index = new Map<string, Draft>()
    const columns = new Map<Table, Set<string>>()
    for (const ref of wanted) {
      if (ref.by === 'lookup') columns.set(ref.table, (columns.get(ref.table) ?? new Set()).add(ref.column.key))
    }
    for (const draft of all) {
      if (draft.systemObjectId !== undefined) index.set(`s${draft.systemObjectId}`, draft)
      if (draft.uuid !== undefined) index.set(`u${draft.uuid}`, draft)
      if (draft.shownAs !== undefined) index.set(`u${draft.shownAs}`, draft)
      if (draft.id !== undefined) index.set(`i${draft.table.id}:${draft.id}`, draft)
      for (const key of columns.get(draft.table) ?? []) {
        const value = draft.written[key]
        if (value !== undefined && value !== null) index.set(`l${key}:${JSON.stringify(value)}`, draft)
      }
    }
    return index
  }
}
