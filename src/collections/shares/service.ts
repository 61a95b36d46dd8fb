/**
 * Shares of collections with people who have no account: anonymous links, each with a user of type `collection` that
 * belongs to one grant, and users of type `email` (decision 41; docs/collections.md, *Sharing*).
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { linkUsers, makeSharedUsers, type SharedUserDeps } from '../../people/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { badRequest } from '../../platform/errors.ts'
import { callerOf } from '../../platform/limits/callers.ts'
import type { Db, Queryable, Tx } from '../../platform/postgres/db.ts'
import { useHourly } from '../../platform/postgres/hourly-quotas.ts'
import type { Seal } from '../../platform/secrets/seal.ts'
import { withoutEnd } from '../../platform/values/text.ts'
import type { RightApi } from '../../rights/schema.ts'
import type { StoredGrant } from '../../rights/service.ts'
import type { CollectionInput } from '../schema.ts'
import { findByReference, findCollections } from '../store.ts'
import { namedUser, requireMaking, shareUserOf, type WantedShare, withUser } from './share-users.ts'
import * as store from './store.ts'

export interface ShareDeps extends SharedUserDeps {
  readonly db: Db
  readonly seal: Pick<Seal, 'seal' | 'open' | 'prefix'>
  /** Users that one user may make within an hour. */
  readonly most: number
  readonly externalUrl: string
  readonly shareUrls: (from: Queryable, presetIds: readonly number[]) => Promise<ReadonlyMap<number, string>>
}

/** Users that have been made for grants of a request. */
export interface CreatedShareUsers {
  readonly ids: readonly number[]
  /** The list of grants of a collection of the request, with the new users in it. */
  wireOf(index: number, wire: unknown): unknown
}

export type Shares = ReturnType<typeof createShares>

/** The purpose that a sealed secret is bound to. */
const about = (userId: number): string => `collection share ${userId}`

const idsOf = (acl: readonly StoredGrant[]): number[] =>
  acl.flatMap(({ who }) => (/^u\d+$/.test(who) ? Number(who.slice(1)) : []))

export function createShares(deps: ShareDeps) {
  const { db, seal, most } = deps

  /** Stored grants of the collections, by their place in the request. */
  async function previousOf(inputs: readonly CollectionInput[]): Promise<(readonly StoredGrant[])[]> {
    const reference = ({ collection }: CollectionInput) => collection['lookup:_id']?.reference
    const found = await findByReference(db, [...new Set(inputs.flatMap((one) => reference(one) ?? []))])
    const ids = inputs.map((one) => one.collection._id ?? found.get(reference(one) ?? '') ?? null)
    const stored = new Map(
      (
        await findCollections(
          db,
          ids.flatMap((id) => id ?? []),
        )
      ).map(({ id, acl }) => [id, acl]),
    )
    return ids.map((id) => (id === null ? [] : (stored.get(id) ?? [])))
  }

  return {
    /**
     * The users that grants of a request ask for. Rights and quotas are checked before anything is stored.
     * @throws {AppError} `SystemRightRequired`, `QuotaExceeded`
     */
    async wanted(
      actor: Actor,
      inputs: readonly CollectionInput[],
      placeOf: (index: number) => string,
    ): Promise<readonly WantedShare[]> {
      const named = inputs.flatMap(({ _acl }) => (_acl ?? []).flatMap((grant) => namedUser(grant) ?? []))
      if (named.length === 0) return []
      const links = await linkUsers(
        db,
        named.flatMap(({ by }) => by ?? []),
      )
      const previous = await previousOf(inputs)
      const wanted = inputs.flatMap(({ _acl }, index) =>
        (_acl ?? []).flatMap((grant, entry): WantedShare[] => {
          const path = `${placeOf(index)}._acl[${entry}]`
          const user = shareUserOf(grant, path, { previous: previous[index] ?? [], links })
          return user ? [{ index, entry, user }] : []
        }),
      )
      if (wanted.length === 0) return []
      requireMaking(actor, wanted)
      const share = { caller: callerOf(actor, actor.remoteAddr), mostRows: most }
      await useHourly(db, { rows: 'svc.quotas.shares' }, [share], { rows: wanted.length })
      return wanted
    },

    /** Makes the users. @throws {AppError} as `makeSharedUsers` */
    async make(tx: Tx, actor: Actor, wanted: readonly WantedShare[]): Promise<CreatedShareUsers> {
      const ids = await makeSharedUsers(
        deps,
        tx,
        actor,
        wanted.map(({ user }) => user),
      )
      const made = new Map(wanted.map(({ index, entry }, at) => [`${index} ${entry}`, ids[at] as number]))
      return {
        ids,
        wireOf: (index, wire) =>
          Array.isArray(wire)
            ? wire.map((grant, entry) => {
                const id = made.get(`${index} ${entry}`)
                return id === undefined ? grant : withUser(grant, id)
              })
            : wire,
      }
    },

    /** Gives new links their secrets, and removes links that no grant names any more. */
    async settle(
      tx: Tx,
      saved: readonly { readonly id: number; readonly acl: readonly StoredGrant[] }[],
      { ids }: CreatedShareUsers,
    ): Promise<void> {
      const made = await linkUsers(tx, ids)
      const fresh = saved.flatMap(({ id, acl }) =>
        idsOf(acl).flatMap((userId) => (made.has(userId) ? [{ userId, collectionId: id }] : [])),
      )
      await store.insertShares(
        tx,
        await Promise.all(
          fresh.map(async (one) => {
            const secret = randomBytes(24).toString('base64url')
            const sealed = await seal.seal(Buffer.from(secret), about(one.userId))
            return { ...one, secret: sealed, hash: store.secretHash(secret) }
          }),
        ),
      )
      const owners = new Map(saved.flatMap(({ id, acl }) => idsOf(acl).map((userId) => [userId, id] as const)))
      const stray = (await store.findShares(tx, [...owners.keys()])).find(
        ({ userId, collectionId }) => owners.get(userId) !== collectionId,
      )
      if (stray) throw badRequest('A link belongs to one grant of one collection.', { user: stray.userId })
      await store.deleteUnnamed(
        tx,
        saved.map(({ id }) => id),
      )
    },

    /** Grants for callers who may change them: with the link, and with the login for people who open it. */
    async shown(
      q: Queryable,
      collections: readonly { readonly uuid: string }[],
      acls: readonly (readonly RightApi[])[],
    ): Promise<RightApi[][]> {
      const ids = acls.flat().flatMap(({ who }) => who.user?._id ?? [])
      const secrets = new Map(
        await Promise.all(
          (await store.findShares(q, ids)).map(async ({ userId, secret }) => {
            const opened = await seal.open(secret, about(userId))
            return [userId, opened?.toString() ?? null] as const
          }),
        ),
      )
      const addresses = await store.addressesOf(q, ids)
      const urls = await deps.shareUrls(
        q,
        acls.flat().flatMap(({ _right_preset: preset }) => preset ?? []),
      )
      return acls.map((acl, index) =>
        acl.map((shown): RightApi => {
          const { user } = shown.who
          const url = shareUrl(urls.get(shown._right_preset ?? 0) ?? deps.externalUrl, collections[index]?.uuid ?? '')
          const secret = secrets.get(user?._id ?? 0)
          const grant = { ...shown, _share_url: url + (secret ? linkFragment(secret) : '') }
          if (!user?._id) return grant
          const { _id: id } = user
          const address = addresses.get(id)
          const more = secrets.has(id)
            ? { type: 'collection', ...withLogin(secrets.get(id)) }
            : address === undefined
              ? {}
              : { type: 'email', login: address }
          return { ...grant, who: { ...grant.who, user: { ...user, ...more } } }
        }),
      )
    },

    /** For the sign-in: the user of the link with this secret, and whether the password is the UUID of its collection. */
    async find(secret: string): Promise<{ readonly userId: number; isRight(password: string): boolean } | null> {
      const found = await store.findBySecret(db, secret)
      if (!found) return null
      const { userId, uuid } = found
      return { userId, isRight: (password) => isSame(password.trim().toLowerCase(), uuid) }
    },

    /** Seals all unsealed secrets with the present key. Answers how many secrets none of the keys here can open. */
    async reseal(): Promise<number> {
      return db.transaction(async (tx) => {
        // Without secrets to seal, no key is needed.
        if (!(await store.hasShares(tx))) return 0
        const stored = await store.sealedOtherwise(tx, await seal.prefix())
        const renewed = await Promise.all(
          stored.map(async ({ userId, secret }) => {
            const opened = await seal.open(secret, about(userId))
            return opened ? [{ userId, secret: await seal.seal(opened, about(userId)) }] : []
          }),
        )
        await store.replaceSecrets(tx, renewed.flat())
        return stored.length - renewed.flat().length
      })
    },
  }
}

/** The address of the collection; behind the base, it is the same for all bases. */
export const shareUrl = (base: string, uuid: string): string => `${withoutEnd(base, '/')}/collection/${uuid}`

/** Behind the `#`: it appears in no server log and in no referrer. */
const linkFragment = (secret: string): string => `#auth_method=collection&login=${secret}`

const withLogin = (secret: string | null | undefined) => (secret ? { login: secret } : {})

function isSame(one: string, other: string): boolean {
  const hashed = (text: string): Buffer => hash('sha256', text, 'buffer')
  return timingSafeEqual(hashed(one), hashed(other))
}
