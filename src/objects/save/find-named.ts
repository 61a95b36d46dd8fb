import type { Actor } from '../../platform/actor.ts'
import type { Tx } from '../../platform/postgres/db.ts'
import { numbersText, textsText } from '../../platform/postgres/literals.ts'
import type { CallerRights, Guarded } from '../../rights/service.ts'
import { parseLookup } from '../content/link-ref.ts'
import { isUuid } from '../content/values.ts'
import type { ObjectDeps } from './context.ts'
import { exists, guarded } from './disclosure.ts'
import { asGuarded, type ExistingObject, guardColumns } from './existing-object.ts'
import { isLookup, type LookupRef, lookupName, mayFind, resolveLookups } from './lookups.ts'

/** The ways in which other records refer to an object. */
export type NamedObject =
  | { readonly by: 'system'; readonly id: number }
  | { readonly by: 'uuid'; readonly uuid: string }
  | LookupRef

/** The object for a reference. */
export interface FoundObject {
  readonly systemObjectId: number
  readonly guard: Guarded
  /** It is not in the trash, and the caller may read it. */
  readonly readable: boolean
}

/**
 * Finds objects to which other records refer, for the caller; null where there is none. With `lock` none of them is deleted until
 * the transaction ends. A constant number of statements.
 */
export async function findNamedObjects(
  deps: ObjectDeps,
  tx: Tx,
  actor: Actor,
  named: readonly NamedObject[],
  { lock }: { readonly lock: boolean },
): Promise<(FoundObject | null)[]> {
  if (named.length === 0) return []
  const model = deps.datamodel.current()
  const rights = await deps.rights.forActor(actor)
  const context = { deps, tx, model, rights }
  const lookups = await resolveLookups(
    context,
    named.filter((one) => one.by === 'lookup'),
  )
  const ids = named.flatMap((one) => (one.by === 'system' ? one.id : []))
  const uuids = named.flatMap((one) => (one.by === 'uuid' ? one.uuid : []))
  const { rows } = await tx.query<ExistingObject>(
    `select ${guardColumns}, o.uuid from object o
     where o.system_object_id = any($1::bigint[] || array(select system_object_id from object where uuid = any($2::text[])))
     order by o.system_object_id ${lock ? 'for key share' : ''}`,
    [numbersText(new Set([...ids, ...lookups.values()])), textsText(uuids)],
    lock ? 'named-objects-lock' : 'named-objects',
  )
  const objects = rows.map((row) => asGuarded(model.tablesById, row))
  const byId = new Map(objects.map((object) => [object.systemObjectId, object]))
  const byUuid = new Map(objects.map((object) => [object.uuid, object]))
  return named.map((one) => {
    if (one.by === 'system') return found(rights, byId.get(one.id))
    if (one.by === 'uuid') return found(rights, byUuid.get(one.uuid))
    const object = byId.get(lookups.get(lookupName(one)) ?? 0)
    return found(rights, object && mayFind(context, one, object) ? object : undefined)
  })
}

function found(rights: CallerRights, object: ExistingObject | undefined): FoundObject | null {
  if (!object) return null
  const readable = !object.deleted && exists(rights, object)
  return { systemObjectId: object.systemObjectId, guard: guarded(object), readable }
}

/** Reads the reference of a record to an object of a type: by `_system_object_id`, `_uuid`, or one column of it. */
export function readNamedObject(
  deps: Pick<ObjectDeps, 'datamodel'>,
  { _objecttype: name, ...lookup }: Readonly<Record<string, unknown>>,
  path: string,
): NamedObject | null {
  if (name === undefined || name === null) {
    const { _system_object_id: id, _uuid: uuid } = lookup
    if (Number.isSafeInteger(id) && (id as number) > 0) return { by: 'system', id: id as number }
    return isUuid(uuid) ? { by: 'uuid', uuid } : null
  }
  const table = typeof name === 'string' ? deps.datamodel.current().objecttypes.get(name) : undefined
  if (!table) return null
  const ref = parseLookup(table, lookup, path)
  if (isLookup(ref)) return ref
  if (ref.by === 'system') return { by: 'system', id: ref.id }
  return ref.by === 'uuid' ? { by: 'uuid', uuid: ref.uuid } : null
}
