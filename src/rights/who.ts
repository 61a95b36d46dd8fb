/** Principals on the wire (`WhoApi`): parsing, look-up of their users and groups, rendering. */

import type { Actor } from '../platform/actor.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import type { Queryable } from '../platform/postgres/db.ts'
import { storedReference } from '../platform/values/system-references.ts'
import type { Person, Principal } from './model.ts'
import type { WhoApi } from './schema.ts'

/** A user or group as other records show it. */
export interface PersonName {
  readonly id: number
  readonly reference: string | null
  readonly displayname: string
}

export interface PrincipalLookup {
  readonly userIds: readonly number[]
  readonly userReferences: readonly string[]
  readonly groupIds: readonly number[]
  readonly groupReferences: readonly string[]
  /**
   * The caller who names them. Principals that it may not read are not found, except for the listed ids. Absent: the service
   * itself.
   */
  readonly namedBy?: {
    readonly actor: Actor
    readonly userIds: readonly number[]
    readonly groupIds: readonly number[]
  }
  /** The kinds that cannot be deleted until the transaction ends, as a record that is being written names them. */
  readonly kept?: 'groups' | 'all'
}

/** The caller who names users and groups, and the principals that it has been shown in the same place. */
export interface NamedBy {
  readonly actor: Actor
  readonly shown: Iterable<Principal | null>
}

/** Finds users and groups. The capability that stores them provides it. One call costs a constant number of statements. */
export type FindPeople = (
  from: Queryable,
  wanted: PrincipalLookup,
  languages: readonly string[],
) => Promise<{ users: readonly PersonName[]; groups: readonly PersonName[] }>

/** A principal as sent: resolved, or a user or group that must still be looked up. */
export type WhoDraft = { readonly kind: 'owner' | 'contact' } | NamedWho

/** `by` is an id or a reference; `path` its place in the request. */
interface NamedWho {
  readonly kind: 'user' | 'group'
  readonly by: number | string
  readonly path: string
}

/**
 * Reads a `WhoApi`. `allowed` are the principals accepted beside users and groups.
 * @throws {AppError} `ServerGeneric` with the path and the reason.
 */
export function parseWho(wire: unknown, path: string, allowed: readonly ('owner' | 'contact')[] = []): WhoDraft {
  const who = recordAt(wire, path)
  const synthetic = (
    [
      ['owner', '_owner'],
      ['contact', '_pool_contact'],
    ] as const
  ).filter(([, key]) => who[key] === true)
  const [only, second] = synthetic
  if (second) throw badRequest(`${path} names several principals`, { path })
  if (only) {
    if (!allowed.includes(only[0]))
      throw badRequest(`${path}.${only[1]} cannot be used here`, { path: `${path}.${only[1]}` })
    return { kind: only[0] }
  }
  const kinds = (['user', 'group'] as const).filter((kind) => who[kind] !== undefined && who[kind] !== null)
  const kind = kinds[0]
  if (kind === undefined || kinds.length > 1) throw badRequest(`${path} must name one user or group`, { path })
  if (who._basetype !== undefined && who._basetype !== kind) {
    throw badRequest(`${path}._basetype does not fit ${path}.${kind}`, {
      path: `${path}._basetype`,
      value: who._basetype,
    })
  }
  return { kind, ...personRef(kind, recordAt(who[kind], `${path}.${kind}`), `${path}.${kind}`) }
}

function personRef(
  kind: 'user' | 'group',
  person: Record<string, unknown>,
  path: string,
): { by: number | string; path: string } {
  const id = person._id
  if (id !== undefined && id !== null) {
    if (!Number.isSafeInteger(id) || Number(id) < 1)
      throw badRequest(`${path}._id must be an id`, { path: `${path}._id`, value: id })
    return { by: Number(id), path: `${path}._id` }
  }
  if (person['lookup:_id'] === undefined) throw badRequest(`${path} needs _id or lookup:_id`, { path })
  const reference = referenceOf(person['lookup:_id'], `${path}.lookup:_id`)
  return { by: storedReference(kind, reference), path: `${path}.lookup:_id` }
}

/** The `reference` of a `LookupByReference`. */
export function referenceOf(wire: unknown, path: string): string {
  const { reference } = recordAt(wire, path)
  if (typeof reference !== 'string' || reference === '') {
    throw badRequest(`${path}.reference must be a text`, { path: `${path}.reference`, value: reference })
  }
  return reference
}

export function recordAt(wire: unknown, path: string): Record<string, unknown> {
  if (typeof wire !== 'object' || wire === null || Array.isArray(wire)) {
    throw badRequest(`${path} must be an object`, { path })
  }
  return wire as Record<string, unknown>
}

/**
 * Resolves the principals of the drafts, with one call; the results are in the same order.
 * @throws {AppError} `LookupNotFound`, also for principals that the actor may not read
 */
export async function resolveWho(
  from: Queryable,
  find: FindPeople,
  drafts: readonly WhoDraft[],
  { actor, shown }: NamedBy,
): Promise<Principal[]> {
  const named = drafts.filter(isNamed)
  const wanted = (kind: 'user' | 'group') => [
    ...new Set(named.filter((draft) => draft.kind === kind).map(({ by }) => by)),
  ]
  const [users, groups] = [wanted('user'), wanted('group')]
  const found =
    named.length === 0
      ? { users: [], groups: [] }
      : await find(
          from,
          {
            userIds: users.filter((by) => typeof by === 'number'),
            userReferences: users.filter((by) => typeof by === 'string'),
            groupIds: groups.filter((by) => typeof by === 'number'),
            groupReferences: groups.filter((by) => typeof by === 'string'),
            namedBy: { actor, userIds: idsOf(shown, 'u'), groupIds: idsOf(shown, 'g') },
          },
          [],
        )
  const ids = { user: idsByKey(found.users), group: idsByKey(found.groups) }
  return drafts.map((draft) => (isNamed(draft) ? foundPerson(draft, ids[draft.kind]) : draft.kind))
}

function isNamed(draft: WhoDraft): draft is NamedWho {
  return draft.kind === 'user' || draft.kind === 'group'
}

function foundPerson({ kind, by, path }: NamedWho, ids: ReadonlyMap<number | string, number>): Person {
  const id = ids.get(by)
  if (id !== undefined) return kind === 'user' ? `u${id}` : `g${id}`
  throw new AppError('LookupNotFound', {
    path,
    basetype: kind,
    ...(typeof by === 'number' ? { id: by } : { reference: by }),
  })
}

function idsByKey(people: readonly PersonName[]): Map<number | string, number> {
  const ids = new Map<number | string, number>()
  for (const { id, reference } of people) {
    ids.set(id, id)
    if (reference !== null) ids.set(reference, id)
  }
  return ids
}

function idsOf(principals: Iterable<Principal | null>, letter: 'u' | 'g'): number[] {
  return [...principals].flatMap((who) =>
    who && /^[ug]\d/.test(who) && who[0] === letter ? [Number(who.slice(1))] : [],
  )
}

/** Displaynames of users and groups by principal. */
export type WhoNames = ReadonlyMap<Principal, PersonName>

/** Names of all given principals with one call. */
export async function whoNames(
  from: Queryable,
  find: FindPeople,
  principals: Iterable<Principal>,
  languages: readonly string[],
): Promise<WhoNames> {
  const persons = [...new Set(principals)].filter((who): who is Person => who !== 'owner' && who !== 'contact')
  if (persons.length === 0) return new Map()
  const wanted = {
    userIds: idsOf(persons, 'u'),
    groupIds: idsOf(persons, 'g'),
    userReferences: [],
    groupReferences: [],
  }
  const found = await find(from, wanted, languages)
  return new Map<Principal, PersonName>([
    ...found.users.map((user) => [`u${user.id}`, user] as const),
    ...found.groups.map((group) => [`g${group.id}`, group] as const),
  ])
}

/** A principal as `WhoApi`. */
export function renderWho(who: Principal, names: WhoNames): WhoApi {
  if (who === 'owner') return { _owner: true }
  if (who === 'contact') return { _pool_contact: true }
  const kind = who.startsWith('u') ? 'user' : 'group'
  const id = Number(who.slice(1))
  const name = names.get(who)
  const lookup = name?.reference ? { 'lookup:_id': { reference: name.reference } } : {}
  return { _basetype: kind, [kind]: { _id: id, ...lookup, _generated_displayname: name?.displayname ?? String(id) } }
}
