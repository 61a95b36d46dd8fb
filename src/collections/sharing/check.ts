/**
 * Checks whether the grants of collections give more than their owners may pass on. The excess has no effect. A save asks
 * for a confirmation of such grants, and the collection is marked with `_invalid_acl`.
 */
import type { Model } from '../../datamodel/model.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError } from '../../platform/errors.ts'
import type { Queryable, Tx } from '../../platform/postgres/db.ts'
import { numbersText } from '../../platform/postgres/literals.ts'
import { Unconfirmed } from '../../platform/values/questions.ts'
import { confirmTask, type Task } from '../../platform/values/tasks.ts'
import {
  type Beyond,
  type ContainerGrants,
  type Given,
  objectSql,
  type RightsService,
  type ShareOptions,
  type StoredGrant,
  sharedRights,
} from '../../rights/service.ts'
import { accessTo, type Chains, grantsOn } from '../access.ts'
import type { Collection } from '../model.ts'
import * as collections from '../store.ts'
import { type OwnerRow, ownerRows } from './store.ts'

export interface ShareDeps {
  readonly rights: Pick<RightsService, 'beyond'>
  readonly datamodel: { current(): Model }
  readonly clock: () => Date
}

/** The entries to check: whole lists, or for collections without excess so far only the new entries. */
export interface Checked {
  readonly ids: readonly number[]
  readonly added?: readonly number[]
  /** Grants of pools and object types that are about to be stored. */
  readonly containers?: ContainerGrants
}

export type ShareCheck = ReturnType<typeof createShareCheck>

export function createShareCheck({ rights, datamodel, clock }: ShareDeps) {
  const now = (): number => clock().getTime()

  async function sharing(tx: Queryable, ids: readonly number[]) {
    const found = await collections.findCollections(tx, ids)
    const chains = await collections.findChains(
      tx,
      found.map(({ id }) => id),
      null,
    )
    return { found, chains, grants: new Map(found.map((one) => [one.id, sharedBy(one, chains)])) }
  }

  /** Finds the collections whose grants give too much on an object. */
  async function tooWide(
    tx: Queryable,
    given: readonly Given[],
    { added, containers }: Pick<Checked, 'added' | 'containers'>,
  ): Promise<Set<number>> {
    const found = new Set<number>()
    const groups = rights.beyond(given, containers)
    for (let start = 0; start < groups.length; start += mostGroups) {
      const part = groups.slice(start, start + mostGroups)
      for (const id of await beyondIn(tx, datamodel.current(), part, added ?? null)) found.add(id)
    }
    return found
  }

  return {
    /** Collections that share something: all, or only the given ones and those below them. */
    shared: sharedIds,

    /**
     * After a change: updates the marks of the collections, and asks for a confirmation of new excess.
     * @throws {AppError} `UrlParameterNotSupported` without `bag_acl`. @throws {Unconfirmed}
     */
    async settle(
      tx: Tx,
      actor: Actor | null,
      { ids, added, containers }: Checked,
      options: ShareOptions,
    ): Promise<void> {
      if (ids.length === 0) return
      const { found, chains, grants } = await sharing(tx, ids)
      const owners = await ownersOf(tx, found)
      const given = found.flatMap((one): Given[] => {
        const holder = owners.get(one.ownerId)
        const own = grants.get(one.id) ?? []
        return holder && own.length > 0 && one.objectCount > 0 ? [{ id: one.id, grants: own, holder }] : []
      })
      const wrong = new Set(found.flatMap(({ id, invalidAcl }) => (invalidAcl ? id : [])))
      const beyond = (wanted: (id: number) => boolean, ofAdded?: readonly number[]) =>
        tooWide(
          tx,
          given.filter(({ id }) => wanted(id)),
          { ...(ofAdded ? { added: ofAdded } : {}), ...(containers ? { containers } : {}) },
        )
      const invalid = added
        ? new Set([...(await beyond((id) => wrong.has(id))), ...(await beyond((id) => !wrong.has(id), added))])
        : await beyond(() => true)
      const fresh = found.filter(({ id, invalidAcl }) => invalid.has(id) && !invalidAcl)
      if (fresh.length > 0 && actor && !options.background) requireAllowed(actor, { fresh, chains, at: now() }, options)
      await store(tx, found, invalid)
    },

    /**
     * A caller who adds objects to a collection shared by another user, without the right to share it, must be able to
     * pass on the shared rights. @throws {AppError} `CollectionObjectInsufficientRights`
     */
    async requirePassing(
      tx: Queryable,
      actor: Actor,
      ids: readonly number[],
      added?: readonly number[],
    ): Promise<void> {
      if (actor.isRoot || ids.length === 0 || added?.length === 0) return
      const { found, chains, grants } = await sharing(tx, ids)
      const holder = { userId: actor.userId, groupIds: actor.groupIds, root: false }
      const others = found.filter((one) => !accessTo(actor, one, chains, now()).may('bag_acl'))
      const given = others.flatMap(({ id }): Given[] => {
        const own = grants.get(id) ?? []
        return own.length > 0 ? [{ id, grants: own, holder }] : []
      })
      const [collection] = await tooWide(tx, given, added ? { added } : {})
      if (collection === undefined) return
      throw new AppError(
        'CollectionObjectInsufficientRights',
        { right: '_grantable', collection },
        {
          message:
            'The collection shares its objects: to add some, you must be able to pass on the rights that it gives.',
        },
      )
    },
  }
}

/** Conditions in one statement. */
const mostGroups = 50

/** Grants that give rights on objects, own and inherited. */
export function sharedBy(collection: Collection, chains: Chains): StoredGrant[] {
  return grantsOn(collection, chains).filter(({ rights }) => Object.keys(rights).some((name) => sharedRights.has(name)))
}

async function ownersOf(q: Queryable, found: readonly Collection[]): Promise<ReadonlyMap<number, OwnerRow>> {
  const owners = await ownerRows(q, [...new Set(found.map(({ ownerId }) => ownerId))])
  return new Map(owners.map((owner) => [owner.userId, owner]))
}

/** @throws {AppError} `UrlParameterNotSupported`. @throws {Unconfirmed} */
function requireAllowed(
  actor: Actor,
  { fresh, chains, at }: { readonly fresh: readonly Collection[]; readonly chains: Chains; readonly at: number },
  { allow }: ShareOptions,
): void {
  if (!allow) throw new Unconfirmed([invalidTask(fresh.length)])
  if (fresh.every((one) => accessTo(actor, one, chains, at).may('bag_acl'))) return
  throw new AppError(
    'UrlParameterNotSupported',
    { param: 'allow_invalid_acl', value: true },
    { message: 'allow_invalid_acl takes the right bag_acl on all collections whose grants become too wide' },
  )
}

function invalidTask(count: number): Task {
  return confirmTask({
    title: 'Shared collections',
    message:
      `Grants of ${count} ${count === 1 ? 'collection' : 'collections'} say more than the owner may pass on. ` +
      'For the objects that this is about they give nothing.',
    name: 'allow_invalid_acl',
    value: 'true',
  })
}

async function beyondIn(
  q: Queryable,
  model: Model,
  groups: readonly Beyond[],
  added: readonly number[] | null,
): Promise<number[]> {
  const values: unknown[] = []
  const parameter = (value: unknown, type: string): string => `$${values.push(value)}::${type}`
  const withGrants = [...model.tablesById.values()].filter((table) => table.aclTable).map((table) => table.id)
  const amongAdded = added === null ? '' : `and e.object_id = any(${parameter(numbersText(added), 'bigint[]')})`
  const parts = groups.map(({ when, ids }) => {
    const wanted = parameter(numbersText(ids), 'bigint[]')
    const sql = objectSql(when, { alias: 'o', withGrants, parameter })
    return `select c.id from unnest(${wanted}) as c (id) where exists (
      select from collection_object e join object o on o.system_object_id = e.object_id
      where e.collection_id = c.id ${amongAdded} and o.deleted_at is null and ${sql})`
  })
  const { rows } = await q.query<{ id: number }>(parts.join(' union '), values)
  return rows.map(({ id }) => id)
}

/** Collections that share something: all, or only the given ones and those below them. */
async function sharedIds(q: Queryable, above: readonly number[] | null): Promise<number[]> {
  const { rows } = await q.query<{ id: number }>(
    `with sharing as materialized (select id from collection where acl <> '[]' and gives_on_objects(acl))
     select id from collection
     where (path && (select coalesce(array_agg(id), '{}') from sharing) or invalid_acl)
       and ($1::bigint[] is null or path && $1::bigint[]) order by id`,
    [above === null ? null : numbersText(above)],
    'collections-sharing',
  )
  return rows.map(({ id }) => id)
}

async function store(tx: Tx, found: readonly Collection[], invalid: ReadonlySet<number>): Promise<void> {
  const changed = found.filter(({ id, invalidAcl }) => invalid.has(id) !== invalidAcl)
  if (changed.length === 0) return
  await tx.query(
    'update collection set invalid_acl = n.invalid from unnest($1::bigint[], $2::boolean[]) as n (id, invalid) where collection.id = n.id',
    [numbersText(changed.map(({ id }) => id)), `{${changed.map(({ id }) => invalid.has(id))}}`],
    'collections-invalid',
  )
}
