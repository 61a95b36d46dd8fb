/** PINs of collections: only users who know the PIN see the content (decision 84; docs/collections.md, *PINs*). */
import type { CollectionPinCode, PinHooks } from '../../people/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError, badRequest } from '../../platform/errors.ts'
import { networkOf, siteOf } from '../../platform/limits/callers.ts'
import type { Db, Tx } from '../../platform/postgres/db.ts'
import { refundHourly, useHourly } from '../../platform/postgres/hourly-quotas.ts'
import { accessTo } from '../access.ts'
import type { KeptShares } from '../sharing/snapshot.ts'
import { findChains, findCollections } from '../store.ts'
import * as store from './store.ts'

/** Hashing as for passwords: off the event loop, one after the other. */
export interface PinHashes {
  hash(pin: string, share: string): Promise<string>
  verify(pin: string, hash: string, watch: { readonly share: string }): Promise<boolean>
}

/** PINs that one request may try or set. */
const mostPins = 20
/** Wrong PINs within an hour, for one collection and network. */
const mostWrong = 10
const quota = { rows: 'collection PINs' }

const shortest = 3
const longest = 100

export type Pins = ReturnType<typeof createPins>

export interface PinDeps {
  readonly db: Db
  readonly hashes: PinHashes
  readonly clock: () => Date
  /** The shares of collections depend on which users have entered a PIN. */
  readonly sharing: Pick<KeptShares, 'changed'>
}

export function createPins({ db, hashes, clock, sharing }: PinDeps) {
  /** The PINs to be checked: of collections that the caller may know, and whose PIN it has not entered yet. */
  async function tried(actor: Actor, codes: ReadonlyMap<number, string>) {
    const pins = await store.pinsOf(db, [...codes.keys()])
    if (pins.length === 0) return []
    const ids = pins.map(({ id }) => id)
    const chains = await findChains(db, ids, actor)
    const at = clock().getTime()
    const collections = await findCollections(db, ids)
    const known = collections.filter((one) => accessTo(actor, one, chains, at).known).map(({ id }) => id)
    return pins.filter(({ id }) => known.includes(id) && chains.get(id)?.locked)
  }

  /** Counts an attempt before it is checked, so that concurrent attempts count, too. @throws {AppError} `TooManyAttempts` */
  async function admit(callers: readonly string[]): Promise<void> {
    const shares = callers.map((caller) => ({ caller, mostRows: Number.POSITIVE_INFINITY }))
    const used = await useHourly(db, quota, shares, { rows: 1 })
    const over = [...used.values()].filter(({ rows }) => rows > mostWrong)
    if (over.length > 0)
      throw new AppError('TooManyAttempts', { retry_after: Math.max(...over.map(({ seconds }) => seconds)) })
  }

  /**
   * Checks entered PINs. The returned function must run in the transaction that stores the right ones. A wrong PIN is no
   * error: `pin_ok` of the collection reports it.
   * @throws {AppError} `TooManyAttempts`
   */
  async function enter(
    actor: Actor,
    codes: readonly CollectionPinCode[],
    path: string,
  ): Promise<(tx: Tx) => Promise<void>> {
    const typed = new Map(codes.flatMap(({ collection_id: id, pin_code: pin }) => (pin ? [[id, pin] as const] : [])))
    if (typed.size > mostPins)
      throw badRequest(`${path}: ${mostPins} PINs at a time at most`, { path, value: typed.size, most: mostPins })
    const forgotten = codes.flatMap(({ collection_id: id, pin_code: pin }) => (pin === null ? id : []))
    const pins = typed.size === 0 ? [] : await tried(actor, typed)
    const callerOf = (id: number): string => `collection ${id} ${networkOf(actor.remoteAddr)}`
    if (pins.length > 0) await admit(pins.map(({ id }) => callerOf(id)))
    const share = siteOf(actor.remoteAddr)
    const fits = await Promise.all(pins.map(({ id, hash }) => hashes.verify(typed.get(id) ?? '', hash, { share })))
    const right = pins.filter((_, index) => fits[index])
    await refundHourly(
      db,
      quota,
      right.map(({ id }) => callerOf(id)),
    )
    return async (tx) => {
      await store.forget(tx, actor, forgotten)
      await store.remember(tx, actor, right)
      if (forgotten.length + right.length > 0) await sharing.changed(tx)
    }
  }

  return {
    enter,
    enteredBy: store.enteredBy,
    remember: store.remember,

    /** Hashes of the PINs that a request sets, by their place in it. @throws {AppError} for an invalid PIN */
    async hashesOf(
      actor: Actor,
      sent: readonly { readonly pin: string | null | undefined; readonly path: string }[],
    ): Promise<readonly (string | null)[]> {
      const set = sent.filter(({ pin }) => pin)
      if (set.length > mostPins)
        throw badRequest(`${mostPins} PINs are set at a time at most`, { path: set[mostPins]?.path, most: mostPins })
      for (const { pin, path } of set) {
        const length = [...(pin ?? '')].length
        if (length < shortest || length > longest)
          throw badRequest(`${path}: a PIN has ${shortest} to ${longest} characters`, { path })
      }
      return Promise.all(sent.map(({ pin }) => (pin ? hashes.hash(pin, siteOf(actor.remoteAddr)) : null)))
    },
  } satisfies PinHooks & Record<string, unknown>
}
