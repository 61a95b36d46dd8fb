import type { Actor } from '../platform/actor.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import { type ByteCache, createByteCache, heapBytes } from '../platform/memory/byte-cache.ts'
import type { Shares } from '../platform/memory/shares.ts'
import type { Bus } from '../platform/postgres/bus.ts'
import type { Queryable, Tx } from '../platform/postgres/db.ts'
import { storedReference } from '../platform/values/system-references.ts'
import type { Owner, PrincipalName } from './model.ts'
import { groupReadable, principalsOf, readsAllGroups, readsAllUsers, userReadable } from './readable.ts'
import type { Who, WhoInput } from './schema.ts'

/** Users and groups to find, by id or reference. */
export interface WantedPrincipals {
  readonly userIds: readonly number[]
  readonly userReferences: readonly string[]
  readonly groupIds: readonly number[]
  readonly groupReferences: readonly string[]
  /** The caller who names them; absent: the service itself. */
  readonly namedBy?: NamedBy
  /** The kinds that cannot be deleted until the transaction ends, as a record that is being written names them. */
  readonly kept?: 'groups' | 'all'
}

/** A caller who names users and groups. Principals that it may not read are not found, except for the listed ids. */
export interface NamedBy {
  readonly actor: Actor
  readonly userIds: readonly number[]
  readonly groupIds: readonly number[]
}

export interface FoundPrincipals {
  readonly users: readonly PrincipalName[]
  readonly groups: readonly PrincipalName[]
}

/** Names by id, for rendering owners and authors. */
export interface PrincipalNames {
  readonly users: ReadonlyMap<number, PrincipalName>
  readonly groups: ReadonlyMap<number, PrincipalName>
}

export type Principals = ReturnType<typeof createPrincipals>

/** Messages of this topic mean that users or groups changed: their names, or memberships. */
export const principalsTopic = 'principals'

interface GroupRow {
  id: number
  reference: string | null
  name: string | null
  displayname: Readonly<Record<string, string>>
}

/** Users and groups by id or reference, with the names that other records show. Names are kept in memory until one changes. */
export function createPrincipals({
  bus,
  memory,
  onChange = () => {},
}: {
  bus: Bus
  /** Bytes of the names of users, and of groups. */
  memory: Pick<Shares, 'userNames' | 'groupNames'>
  onChange?: () => void
}) {
  const users = createByteCache<number, PrincipalName>({
    name: 'user_names',
    maxBytes: memory.userNames,
    sizeOf: heapBytes,
  })
  const groups = createByteCache<number, GroupRow>({
    name: 'group_names',
    maxBytes: memory.groupNames,
    sizeOf: heapBytes,
  })
  let generation = 0
  const unsubscribe = bus.subscribe(principalsTopic, () => {
    generation++
    users.clear()
    groups.clear()
    onChange()
  })

  /** Reads what is not in memory yet: no statement when everything is. */
  async function load(from: Queryable, userIds: readonly number[], groupIds: readonly number[]) {
    const before = generation
    const missing = {
      userIds: userIds.filter((id) => !users.has(id)),
      groupIds: groupIds.filter((id) => !groups.has(id)),
      userReferences: [],
      groupReferences: [],
    }
    // Taken before waiting: a change meanwhile empties the memory.
    const known = { users: cached(users, userIds), groups: cached(groups, groupIds) }
    const fresh = await findRows(from, missing)
    if (before === generation) {
      remember(users, fresh.users)
      remember(groups, fresh.groups)
    }
    return {
      users: new Map([...known.users, ...byId(fresh.users)]),
      groups: new Map([...known.groups, ...byId(fresh.groups)]),
    }
  }

  /**
   * Names of users and groups; ids that do not exist are missing. Usually answered from memory. In a transaction, pass it as
   * `from`: if callers waited for a second connection while holding one, they could block each other.
   */
  async function names(
    from: Queryable,
    ids: { userIds: readonly number[]; groupIds: readonly number[] },
    languages: readonly string[],
  ): Promise<PrincipalNames> {
    const known = await load(from, [...new Set(ids.userIds)], [...new Set(ids.groupIds)])
    return {
      users: known.users,
      groups: new Map([...known.groups].map(([id, row]) => [id, groupName(row, languages)])),
    }
  }

  return {
    /** The wanted principals that exist, read in the caller's transaction: at most two statements. */
    async find(from: Queryable, wanted: WantedPrincipals, languages: readonly string[]): Promise<FoundPrincipals> {
      const rows = await findRows(from, wanted)
      return { users: rows.users, groups: rows.groups.map((row) => groupName(row, languages)) }
    },

    names,

    /** Names of the owners of records. */
    ownerNames(
      from: Queryable,
      records: readonly { readonly owner: Owner }[],
      languages: readonly string[],
    ): Promise<PrincipalNames> {
      const ids = {
        userIds: records.flatMap(({ owner }) => owner.userId ?? []),
        groupIds: records.flatMap(({ owner }) => owner.groupId ?? []),
      }
      return names(from, ids, languages)
    },

    /** Makes all processes read names again after the commit. */
    changed: (tx: Tx): Promise<void> => bus.publish(tx, principalsTopic),

    close: unsubscribe,
  }
}

/** An owner as clients see it; undefined when there is none. */
export function renderWho(owner: Owner, names: PrincipalNames): Who | undefined {
  if (owner.groupId !== null) return { _basetype: 'group', group: renderName(owner.groupId, names.groups) }
  if (owner.userId !== null) return { _basetype: 'user', user: renderName(owner.userId, names.users) }
  return undefined
}

function renderName(id: number, names: ReadonlyMap<number, PrincipalName>) {
  const name = names.get(id)
  return {
    _id: id,
    ...(name?.reference ? { 'lookup:_id': { reference: name.reference } } : {}),
    _generated_displayname: name?.displayname ?? String(id),
  }
}

/** A reference in a request, before it is looked up. */
export interface Reference {
  readonly kind: 'user' | 'group'
  readonly by: number | string
  readonly path: string
}

interface RefInput {
  _id?: number | null
  'lookup:_id'?: { reference: string } | null
}

/** The reference of a record to a user or group: by `_id`, else by `lookup:_id`; `null` when it has neither. */
export function referenceOf(kind: 'user' | 'group', ref: RefInput, path: string): Reference | null {
  if (ref._id !== undefined && ref._id !== null) return { kind, by: ref._id, path: `${path}._id` }
  const lookup = ref['lookup:_id']
  return lookup ? { kind, by: storedReference(kind, lookup.reference), path: `${path}.lookup:_id` } : null
}

/** @throws {AppError} `ServerGeneric` when the input names neither or both a user and a group, or another `_basetype`. */
export function ownerReference(who: WhoInput, path: string): Reference {
  const named = [
    who.user ? referenceOf('user', who.user, `${path}.user`) : null,
    who.group ? referenceOf('group', who.group, `${path}.group`) : null,
  ].filter((reference) => reference !== null)
  const [only, second] = named
  if (!only || second) throw badRequest(`${path} must name one user or group`, { path })
  if (who._basetype !== undefined && who._basetype !== only.kind) {
    throw badRequest(`${path}._basetype does not fit ${path}.${only.kind}`, { path: `${path}._basetype` })
  }
  return only
}

/**
 * Ids of all references, with at most two statements; the groups are kept until the transaction ends.
 * @throws {AppError} `LookupNotFound` with the path, also for principals that the actor may not read.
 */
export async function resolveReferences(
  tx: Queryable,
  references: readonly Reference[],
  namedBy: NamedBy,
): Promise<ReadonlyMap<Reference, number>> {
  const ids = (kind: string) => references.filter((r) => r.kind === kind && typeof r.by === 'number').map((r) => r.by)
  const texts = (kind: string) => references.filter((r) => r.kind === kind && typeof r.by === 'string').map((r) => r.by)
  const found = await findRows(tx, {
    userIds: ids('user') as number[],
    userReferences: texts('user') as string[],
    groupIds: ids('group') as number[],
    groupReferences: texts('group') as string[],
    namedBy,
    kept: 'groups',
  })
  const known = { user: keys(found.users), group: keys(found.groups) }
  return new Map(
    references.map((reference) => {
      const id = known[reference.kind].get(reference.by)
      if (id === undefined) throw notFound(reference)
      return [reference, id]
    }),
  )
}

export function notFound({ kind, by, path }: Reference): AppError {
  const named = typeof by === 'number' ? { id: by } : { reference: by }
  return new AppError('LookupNotFound', { path, basetype: kind, ...named })
}

const keepRows = 'order by t.id for key share of t'

async function findRows(
  from: Queryable,
  wanted: WantedPrincipals,
): Promise<{ users: PrincipalName[]; groups: GroupRow[] }> {
  const { namedBy, kept } = wanted
  const keptUsers = kept === 'all'
  const keptGroups = kept !== undefined
  const users =
    wanted.userIds.length + wanted.userReferences.length === 0
      ? []
      : (
          await from.query<PrincipalName>(
            `select t.id, t.reference, t.generated_displayname as displayname from "user" t
             where (t.id = any($1) or t.reference = any($2))
               and ($3 or t.id = any($4) or ${userReadable('$5', '$6')})
             ${keptUsers ? keepRows : ''}`,
            [
              wanted.userIds,
              wanted.userReferences,
              !namedBy || readsAllUsers(namedBy.actor),
              namedBy?.userIds ?? [],
              namedBy ? principalsOf(namedBy.actor) : [],
              namedBy?.actor.userId ?? 0,
            ],
            keptUsers ? 'principals_users_kept' : 'principals_users',
          )
        ).rows
  const groups =
    wanted.groupIds.length + wanted.groupReferences.length === 0
      ? []
      : (
          await from.query<GroupRow>(
            `select t.id, t.reference, t.name, t.displayname from "group" t
             where (t.id = any($1) or t.reference = any($2))
               and ($3 or t.id = any($4) or ${groupReadable('$5', '$6', '$7')})
             ${keptGroups ? keepRows : ''}`,
            [
              wanted.groupIds,
              wanted.groupReferences,
              !namedBy || readsAllGroups(namedBy.actor),
              namedBy?.groupIds ?? [],
              namedBy ? principalsOf(namedBy.actor) : [],
              namedBy?.actor.userId ?? 0,
              namedBy?.actor.groupIds ?? [],
            ],
            keptGroups ? 'principals_groups_kept' : 'principals_groups',
          )
        ).rows
  return { users, groups }
}

/** A group in the first of the languages that it has a name in. */
export function groupName(row: GroupRow, languages: readonly string[]): PrincipalName {
  const named = languages.map((language) => row.displayname[language]).find(Boolean)
  const displayname = named ?? Object.values(row.displayname).find(Boolean) ?? row.name ?? `Group ${row.id}`
  return { id: row.id, reference: row.reference, displayname }
}

function cached<T extends object>(cache: ByteCache<number, T>, ids: readonly number[]): [number, T][] {
  return ids.flatMap((id) => {
    const value = cache.get(id)
    return value === undefined ? [] : [[id, value] as [number, T]]
  })
}

function byId<T extends { id: number }>(rows: readonly T[]): [number, T][] {
  return rows.map((row) => [row.id, row])
}

function remember<T extends { id: number }>(cache: ByteCache<number, T>, rows: readonly T[]): void {
  for (const row of rows) cache.set(row.id, row)
}

function keys(rows: readonly { id: number; reference: string | null }[]): Map<number | string, number> {
  const map = new Map<number | string, number>()
  for (const { id, reference } of rows) {
    map.set(id, id)
    if (reference !== null) map.set(reference, id)
  }
  return map
}
