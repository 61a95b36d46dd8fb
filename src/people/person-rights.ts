import type { Actor } from '../platform/actor.ts'
import type { Queryable } from '../platform/postgres/db.ts'
import { inForceSql } from '../rights/service.ts'
import { principalsOf } from './readable.ts'

/** A right on a user or a group itself, by a grant on it or by owning it. */
export type PersonRight = 'bag_read' | 'bag_write' | 'acl' | 'delete' | 'link' | 'sessions'

/** The owner of a user or a group reads, changes and deletes it. The other rights are given by grants. */
const owning: readonly PersonRight[] = ['bag_read', 'bag_write', 'delete']

export interface HeldRights {
  readonly id: number
  readonly reference: string | null
  readonly rights: readonly PersonRight[]
}

/** As records show them (`_generated_rights`). */
export function shownRights(rights: readonly PersonRight[]): Record<string, object> {
  return Object.fromEntries(rights.map((right) => [right, {}]))
}

export const noRights: ReadonlySet<PersonRight> = new Set()

/**
 * The actor's rights on each existing user or group of the given ones, by grants and ownership. System rights are not considered.
 */
export async function personRights(
  from: Queryable,
  kind: 'user' | 'group',
  named: { readonly ids: readonly number[]; readonly references?: readonly string[] },
  actor: Actor,
): Promise<HeldRights[]> {
  if (named.ids.length + (named.references?.length ?? 0) === 0) return []
  const owned = `(coalesce(t.owner_user = $3, false) or coalesce('g' || t.owner_group = any($4), false))`
  const { rows } = await from.query<HeldRights>(
    `select t.id, t.reference, array(
       select jsonb_object_keys(a->'rights') from jsonb_array_elements(t.acl) as a
       where ${inForceSql('a')} and (a->>'who' = any($4) or (a->>'who' = 'owner' and ${owned}))
       union select unnest($5::text[]) where ${owned}) as rights
     from "${kind}" t where t.id = any($1) or t.reference = any($2)`,
    [named.ids, named.references ?? [], actor.userId, principalsOf(actor), owning],
    `person_rights_${kind}`,
  )
  return rows
}

/** The same by id. */
export async function rightsById(
  from: Queryable,
  kind: 'user' | 'group',
  ids: readonly number[],
  actor: Actor,
): Promise<ReadonlyMap<number, ReadonlySet<PersonRight>>> {
  return new Map((await personRights(from, kind, { ids }, actor)).map(({ id, rights }) => [id, new Set(rights)]))
}

/** Whether the actor holds the right on one of them. */
export async function mayPerson(
  from: Queryable,
  kind: 'user' | 'group',
  id: number,
  right: PersonRight,
  actor: Actor,
): Promise<boolean> {
  return (await rightsById(from, kind, [id], actor)).get(id)?.has(right) === true
}
