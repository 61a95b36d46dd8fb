/**
 * The rights of callers. Grants are stored on the resources that they protect. The grants of containers (pools, object types) are
 * compiled once per caller, and kept in memory until one of them changes, begins or ends. See docs/rights-and-pools.md.
 */
import { type Actor, visitorOf } from '../platform/actor.ts'
import { AppError } from '../platform/errors.ts'
import { hasSystemRight } from '../platform/http/system-right.ts'
import { createByteCache } from '../platform/memory/byte-cache.ts'
import type { Queryable } from '../platform/postgres/db.ts'
import { type GrantDraft, parseAcl, renderAcl, tagsOf, toGrant } from './acl.ts'
import type { RightContext, RightDefinition } from './catalogue.ts'
import { type Caller, type Compiled, compile, compiledBytes, type Prepared, prepare } from './compile.ts'
import { coversGrants } from './dominance.ts'
import { callerRights } from './evaluate.ts'
import type { CallerRights, ContainerGrants, Principal, StoredGrant } from './model.ts'
import { madeFrom } from './presets/apply.ts'
import type { PresetTerms } from './presets/model.ts'
import { parseSystemRights } from './right-items.ts'
import type { RightApi } from './schema.ts'
import { type Beyond, beyondOf, type Given } from './shares/beyond.ts'
import { type PreparedShares, prepareShares, type Shares, sharesBytes, sharesOf } from './shares/compile.ts'
import { noShares, type SharedCollections } from './shares/model.ts'
import { keepSticky } from './sticky.ts'
import { newGrantIds } from './store.ts'
import { type FindPeople, type NamedBy, resolveWho, type WhoDraft, whoNames } from './who.ts'

export {
  addedParameterTypes,
  type ContainerRight,
  containerRights,
  type ObjectRight,
  type ParameterType,
  type RightContext,
  type RightDefinition,
  type TagRight,
} from './catalogue.ts'
export { isCaller } from './compile.ts'
export { createExplainService, type ExplainService } from './explain/service.ts'
export {
  all,
  any,
  everything,
  holds,
  inPools,
  isEverything,
  isNothing,
  not,
  nothing,
  ofOpen,
  withoutPool,
} from './expression.ts'
export { type FilePrincipal, filePrincipals } from './file-grants.ts'
export { coversFile } from './file-items.ts'
export { actingRight, requireGivingEverywhere } from './giving.ts'
export {
  inForce,
  inForceSql,
  type MaskId,
  mergeItems,
  poolFits,
  type ReadPrincipal,
  readPrincipals,
  tagsFit,
  typeFits,
} from './grants.ts'
export { createInvalidGrantService } from './invalid/service.ts'
export type {
  CallerRights,
  ContainerGrants,
  DeleteCondition,
  Expression,
  FileGrant,
  FileMark,
  GeneratedRights,
  Guarded,
  MaskGrant,
  MaskUse,
  ObjectSet,
  Person,
  PoolGrants,
  Principal,
  ReadExpression,
  RightItem,
  StoredGrant,
  TagFilter,
} from './model.ts'
export { objectSql } from './object-sql.ts'
export type { PresetTerms, PresetUse } from './presets/model.ts'
export { createPresetService, presetTerms, shareUrls } from './presets/service.ts'
export type { Beyond, Given } from './shares/beyond.ts'
export { sharedRights } from './shares/compile.ts'
export { pinHolder, type SharedCollection, type SharedCollections, type ShareOptions } from './shares/model.ts'
export { mostListed } from './shares/object-set.ts'
export { type FindPeople, type PersonName, parseWho, renderWho, type WhoDraft, type WhoNames } from './who.ts'

export interface RightsOptions {
  /** All grants on pools and object types, from memory; the same lists as long as none has changed. */
  containers: () => ContainerGrants
  findPeople: FindPeople
  /** Collections that share their objects, from memory; the same value as long as none of them has changed. */
  shares?: () => SharedCollections
  /** The existing ones of the given tags. */
  existingTags: (from: Queryable, ids: readonly number[]) => Promise<ReadonlySet<number>>
  /** The content of the existing presets of the context. It cannot change until the transaction ends. */
  presets: (from: Queryable, context: RightContext, ids: readonly number[]) => Promise<ReadonlyMap<number, PresetTerms>>
  /** Added system rights that can be given, by name. */
  addedSystemRights?: () => ReadonlyMap<string, RightDefinition>
  /** Bytes of the rights of all callers in memory, which depend on the number of pools. */
  maxBytes: number
  /**
   * Bytes of data that other capabilities keep beside the rights of one caller as long as these are kept, by the number of pools.
   */
  derivedBytes?: (pools: number) => number
  /** Milliseconds since 1970. */
  now?: () => number
}

export type RightsService = ReturnType<typeof createRightsService>

/** A list to check: as sent, and as stored before (null: none). */
export interface AclChange {
  readonly wire: unknown
  readonly previous: readonly StoredGrant[] | null
  /** Whether the actor may see the stored list, and so may send its principals back. */
  readonly shown: boolean
  /** Whether the actor clears sticky grants with its own rights. */
  readonly own?: boolean
  /** The path in the request, for errors; `_acl` if absent. */
  readonly place?: string
  /** Further principals that the actor may name. */
  readonly known?: readonly Principal[]
}

/** The cached rights of a caller: the rights by containers, and together with those by collections. */
interface KeptCaller {
  readonly compiled: Compiled
  /** The end of validity of the rights by containers. */
  readonly validUntil: number
  readonly bytes: number
  readonly whole: {
    readonly rights: CallerRights
    readonly of: PreparedShares
    /** The browser of the caller, where PINs depend on it. */
    readonly visitor: string | undefined
    readonly signature: string
    readonly validUntil: number
  } | null
}

const nobodyShares = (): SharedCollections => noShares

export function createRightsService({
  containers,
  findPeople,
  shares = nobodyShares,
  existingTags,
  presets,
  addedSystemRights = () => new Map(),
  maxBytes,
  derivedBytes = () => 0,
  now = Date.now,
}: RightsOptions) {
  const callers = createByteCache<string, KeptCaller>({
    name: 'caller_rights',
    maxBytes,
    // With many pools and object types, the rights of one caller take megabytes.
    maxEntryBytes: maxBytes / 3,
    sizeOf: ({ bytes }) => bytes,
  })
  let prepared: { of: ContainerGrants; grants: Prepared } | null = null
  let preparedShares: PreparedShares | null = null

  /** The grants of all containers, prepared when one has changed. */
  function current(): Prepared {
    const now = containers()
    if (prepared?.of.pools === now.pools && prepared.of.objecttypes === now.objecttypes) return prepared.grants
    prepared = { of: now, grants: prepare(now) }
    preparedShares = null
    callers.clear()
    return prepared.grants
  }

  function currentShares({ contents }: Prepared): PreparedShares {
    const now = shares()
    if (preparedShares?.of !== now) preparedShares = prepareShares(now, contents)
    return preparedShares
  }

  function keptOf(grants: Prepared, caller: Caller, at: number): KeptCaller {
    const key = keyOf(caller)
    const known = callers.get(key)
    if (known && at < known.validUntil) return known
    const compiled = compile(grants, caller, at)
    const bytes = compiledBytes(compiled) + derivedBytes(compiled.pools.size)
    const kept = { compiled, validUntil: nextOf(grants.boundaries, at), bytes, whole: null }
    callers.set(key, kept)
    return kept
  }

  /** If the changed collections mean the same for a caller, it keeps its rights and the data derived from them. */
  function rightsOf(grants: Prepared, of: PreparedShares, caller: Caller, at: number): CallerRights {
    const kept = keptOf(grants, caller, at)
    const { whole } = kept
    const { visitor } = caller
    if (whole?.of === of && whole.visitor === visitor && at < whole.validUntil) return whole.rights
    const reaching = sharesOf(of, caller, at)
    const owners = reaching.shares.map(({ owner }) => keptOf(grants, owner, at))
    const validUntil = Math.min(nextOf(of.boundaries, at), ...owners.map((owner) => owner.validUntil))
    if (whole?.signature === reaching.signature && at < whole.validUntil) {
      callers.set(keyOf(caller), { ...kept, whole: { ...whole, of, visitor, validUntil } })
      return whole.rights
    }
    const through = { shares: reaching, ownerOf: ownersOf(reaching, owners) }
    const rights = callerRights(kept.compiled, through, now)
    const { signature } = reaching
    const bytes = kept.bytes + sharesBytes(reaching)
    callers.set(keyOf(caller), { ...kept, bytes, whole: { rights, of, visitor, signature, validUntil } })
    return rights
  }

  function rightsAt(actor: Actor): CallerRights {
    const grants = current()
    const of = currentShares(grants)
    const caller = callerOf(actor)
    const asked = !caller.root && of.of.collections.some(({ pin }) => pin)
    return rightsOf(grants, of, asked ? { ...caller, visitor: visitorOf(actor).toString('hex') } : caller, now())
  }

  const forActor = async (actor: Actor): Promise<CallerRights> => rightsAt(actor)

  /** Checks many lists with a constant number of statements. @see validateAcl */
  async function validateAcls(
    tx: Queryable,
    actor: Actor,
    context: RightContext,
    changes: readonly AclChange[],
  ): Promise<StoredGrant[][]> {
    const lists = changes.map(({ wire, place = '_acl' }) => parseAcl(context, wire, place))
    const drafts = lists.flat()
    if (drafts.length === 0)
      return changes.map(({ previous, own }) => keepSticky(clearing(actor, own), previous ?? [], [], now()))
    const principals = await resolveWho(
      tx,
      findPeople,
      drafts.map((draft) => draft.who),
      {
        actor,
        shown: changes.flatMap(({ previous, shown, known = [] }) => [
          ...known,
          ...(shown ? (previous ?? []).map((grant) => grant.who) : []),
        ]),
      },
    )
    await requireExisting(tx, drafts)
    const terms = await termsOf(tx, context, drafts)
    const known = changes.map(({ previous }) => new Set((previous ?? []).map((grant) => grant.id)))
    const isNew = lists.map((list, index) => list.map(({ id }) => id === null || !known[index]?.has(id)))
    const ids = (await newGrantIds(tx, isNew.flat().filter(Boolean).length)).values()
    const who = principals.values()
    return lists.map((list, index) => {
      const sent = list.map((draft, place) => {
        const id = (isNew[index]?.[place] ? ids.next().value : draft.id) as number
        const grant = toGrant(draft, id, who.next().value as Principal)
        const said = grant.preset === undefined ? undefined : terms.get(grant.preset)
        const before = changes[index]?.previous?.find((one) => one.id === id)
        return said ? madeFrom(said, grant, before, draft.path, now()) : grant
      })
      return keepSticky(clearing(actor, changes[index]?.own), changes[index]?.previous ?? [], sent, now())
    })
  }

  async function requireExisting(tx: Queryable, drafts: readonly GrantDraft[]): Promise<void> {
    const tags = tagsOf(drafts)
    const found = tags.size === 0 ? new Set<number>() : await existingTags(tx, [...tags.keys()])
    for (const [id, path] of tags) if (!found.has(id)) throw new AppError('TagNotFound', { path, id })
  }

  /** The content of the presets that drafts refer to. @throws {AppError} `LookupNotFound` */
  async function termsOf(
    tx: Queryable,
    context: RightContext,
    drafts: readonly GrantDraft[],
  ): Promise<ReadonlyMap<number, PresetTerms>> {
    const named = drafts.filter((draft) => draft.preset !== undefined)
    if (named.length === 0) return new Map()
    const ids = [...new Set(named.map((draft) => draft.preset as number))]
    const found = await presets(tx, context, ids)
    for (const { preset, path } of named) {
      if (found.has(preset as number)) continue
      throw new AppError('LookupNotFound', { path: `${path}._right_preset`, basetype: 'right_preset', id: preset })
    }
    return found
  }

  return {
    /** The compiled rights of the actor: one look-up in memory unless grants changed or the caller is new. */
    forActor,
    /** System rights of a user or group as sent, checked. @throws {AppError} `UnknownRight`, `UnknownRightParam`, `UnknownRightValue`. */
    parseSystemRights: (wire: unknown, path: string) => parseSystemRights(wire, path, addedSystemRights()),
    /**
     * Checks a list of grants as sent and returns its stored form: principals are resolved, new entries get ids, sticky grants that
     * the actor may not clear are kept. The caller of this function must check whether the actor may change the list at all.
     * @throws {AppError} `UnknownRight`, `UnknownRightParam`, `UnknownRightValue`, `LookupNotFound`, `TagNotFound`.
     */
    async validateAcl(
      tx: Queryable,
      actor: Actor,
      context: RightContext,
      wire: unknown,
      previous: readonly StoredGrant[] | null,
    ): Promise<StoredGrant[]> {
      const [list = []] = await validateAcls(tx, actor, context, [{ wire, previous, shown: true }])
      return list
    },
    validateAcls,
    /**
     * Conditions on objects for which grants of collections give more than their holders may pass on. `changed` are grants of
     * containers that are about to be stored.
     */
    beyond(given: readonly Given[], changed: ContainerGrants | null = null): Beyond[] {
      const at = now()
      if (changed === null) {
        const grants = current()
        return beyondOf(given, at, grants.contents, (holder) => keptOf(grants, holder, at).compiled)
      }
      const grants = prepare(changed)
      const compiled = new Map<string, Compiled>()
      return beyondOf(given, at, grants.contents, (holder) => {
        const known = compiled.get(keyOf(holder)) ?? compile(grants, holder, at)
        compiled.set(keyOf(holder), known)
        return known
      })
    },
    /** Whether the actor has, or could give itself, everything that grants on containers give to these users and groups. */
    async coversGrants(actor: Actor, people: ReadonlySet<string>): Promise<boolean> {
      const editor = {
        caller: callerOf(actor),
        rights: await forActor(actor),
        managesPools: hasSystemRight(actor, 'system.poolmanager'),
        managesObjecttypes: hasSystemRight(actor, 'system.objecttypemanager'),
      }
      return coversGrants(current(), editor, now(), people)
    },
    /** Lists of grants as clients see them, names in `languages`; one query for all of them. */
    async renderAcls(
      from: Queryable,
      lists: readonly (readonly StoredGrant[])[],
      languages: readonly string[],
    ): Promise<RightApi[][]> {
      const names = await whoNames(
        from,
        findPeople,
        lists.flat().map((grant) => grant.who),
        languages,
      )
      return lists.map((list) => renderAcl(list, names))
    },
    /** Resolves the users and groups of the drafts. @throws `LookupNotFound` */
    resolveWho: (tx: Queryable, drafts: readonly WhoDraft[], namedBy: NamedBy) =>
      resolveWho(tx, findPeople, drafts, namedBy),
    /** Names for `renderWho`. */
    whoNames: (from: Queryable, who: Iterable<Principal>, languages: readonly string[]) =>
      whoNames(from, findPeople, who, languages),
  }
}

const keyOf = ({ userId, groupIds, root }: Caller): string => `${root ? 'root' : userId}:${groupIds.join()}`

/** The next moment at which a grant begins or ends. */
const nextOf = (moments: readonly number[], at: number): number =>
  moments.find((moment) => moment > at) ?? Number.POSITIVE_INFINITY

function ownersOf({ shares }: Shares, owners: readonly KeptCaller[]): (owner: Caller) => Compiled {
  const compiled = new Map(shares.map(({ owner }, index) => [owner, (owners[index] as KeptCaller).compiled]))
  return (owner) => compiled.get(owner) as Compiled
}

function callerOf(actor: Actor): Caller {
  return { userId: actor.userId, groupIds: actor.groupIds, root: actor.isRoot }
}

function clearing(actor: Actor, own = false): Caller {
  return own ? { ...callerOf(actor), root: true } : callerOf(actor)
}
