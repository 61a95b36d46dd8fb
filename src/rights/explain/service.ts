/** Explains rights: asks the evaluation that decides requests for its reasons, and lists what is missing where it refuses. */
import type { Actor } from '../../platform/actor.ts'
import { AppError, badRequest } from '../../platform/errors.ts'
import type { Db, Queryable } from '../../platform/postgres/db.ts'
import { renderAcl } from '../acl.ts'
import { type ContainerRight, containerRights, objectRights } from '../catalogue.ts'
import { isCaller } from '../compile.ts'
import type { CallerRights, ContainerGrants, GrantSource, Guarded, Reason, StoredGrant } from '../model.ts'
import { type FindPeople, renderWho, whoNames } from '../who.ts'
import { grantsAtObject, grantsAtPool, type Nearly, nearlyGiving, type SourcedGrant, type Subject } from './needed.ts'
import type { ExplainQuery, Explanation } from './schema.ts'

export interface ExplainDeps {
  readonly db: Db
  readonly forActor: (actor: Actor) => Promise<CallerRights>
  readonly containers: () => ContainerGrants
  readonly findPeople: FindPeople
  /** The actor of a user's requests from an address; null: there is no such user. */
  readonly actorOf: (userId: number, address: string) => Promise<Actor | null>
  readonly objectOf: (from: Queryable, systemObjectId: number) => Promise<{ guard: Guarded; deleted: boolean } | null>
  readonly isObjecttype: (id: number) => boolean
  /** Whether objects of the type can have grants of their own. */
  readonly hasOwnGrants: (objecttypeId: number) => boolean
  readonly now?: () => number
}

export type ExplainService = ReturnType<typeof createExplainService>

interface Explained {
  readonly name: string
  readonly reasons: readonly Reason[]
  readonly nearly: readonly Nearly[]
}

interface Answer {
  readonly rights: readonly Explained[]
  readonly owner: boolean
  readonly deleted?: boolean
  readonly places: readonly GrantSource[]
}

export function createExplainService(deps: ExplainDeps) {
  const { db, containers, now = Date.now } = deps

  async function ofObject(asking: CallerRights, actor: Actor, rights: CallerRights, id: number): Promise<Answer> {
    const found = await deps.objectOf(db, id)
    // To the caller, objects that it may not see do not exist.
    const sees = found && asking.may('read', found.guard) && (!found.deleted || asking.may('delete', found.guard))
    if (!sees) throw new AppError('ObjectNotFound', { system_object_id: id })
    const { guard, deleted } = found
    const pool = containers().pools.find((one) => one.id === guard.poolId)
    const owner =
      isCaller(actor, guard.ownerUserId === null ? null : `u${guard.ownerUserId}`) ||
      isCaller(actor, guard.ownerGroupId === null ? null : `g${guard.ownerGroupId}`)
    const subject = {
      ...subjectOf(actor),
      object: guard,
      objecttypeId: guard.objecttypeId,
      poolId: guard.poolId,
      owns: owner,
      contact: pool?.contact ?? null,
    }
    const placed = grantsAtObject(containers(), guard)
    const container: GrantSource =
      guard.poolId === null ? { kind: 'objecttype', id: guard.objecttypeId } : { kind: 'pool', id: guard.poolId }
    const own: readonly GrantSource[] = deps.hasOwnGrants(guard.objecttypeId)
      ? [{ kind: 'object', id: guard.systemObjectId }]
      : []
    return {
      owner,
      deleted,
      // Private permissions would block a new grant of the container.
      places: guard.privateAcl ? own : [container, ...own],
      rights: objectRights
        .filter((name) => name !== 'create')
        .map((name) => explained(name, rights.reasons(name, guard), placed, subject)),
    }
  }

  function ofContainer(
    asking: CallerRights,
    actor: Actor,
    rights: CallerRights,
    { pool: poolId, objecttype }: ExplainQuery,
  ): Answer {
    if (objecttype !== undefined && !deps.isObjecttype(objecttype)) {
      throw new AppError('ObjecttypeNotFound', { id: objecttype })
    }
    const pool = poolId === undefined ? undefined : containers().pools.find((one) => one.id === poolId)
    if (poolId !== undefined && (!pool || !asking.knowsPool(poolId)))
      throw new AppError('PoolNotFound', { _id: poolId })
    const owner = pool !== undefined && isCaller(actor, pool.owner)
    const subject = {
      ...subjectOf(actor),
      object: null,
      objecttypeId: objecttype ?? null,
      poolId: poolId ?? null,
      owns: owner,
      contact: pool?.contact ?? null,
    }
    const typeGrants = () => containers().objecttypes.get(objecttype as number) ?? []
    const placed: SourcedGrant[] = pool
      ? grantsAtPool(containers().pools, pool.id)
      : typeGrants().map((grant) => ({ grant, place: { kind: 'objecttype', id: objecttype as number } as const }))
    const names: readonly ContainerRight[] = pool ? containerRights : []
    const ofPool = names.map((name) => explained(name, rights.reasonsOnPool(name, pool?.id ?? 0), placed, subject))
    const create =
      objecttype === undefined
        ? []
        : [explained('create', rights.reasonsToCreate(objecttype, pool?.id ?? null), placed, subject)]
    const place: GrantSource = pool ? { kind: 'pool', id: pool.id } : { kind: 'objecttype', id: objecttype as number }
    return { owner, places: [place], rights: [...ofPool, ...create] }
  }

  function subjectOf(actor: Actor): Pick<Subject, 'caller' | 'at'> {
    return { caller: { userId: actor.userId, groupIds: actor.groupIds, root: actor.isRoot }, at: now() }
  }

  async function render(asking: Actor, actor: Actor, query: ExplainQuery, answer: Answer): Promise<Explanation> {
    const grants = answer.rights.flatMap(({ reasons, nearly }): readonly StoredGrant[] => [
      ...reasons.flatMap((reason) => (reason.kind === 'grant' ? reason.grant : [])),
      ...nearly.map(({ grant }) => grant),
    ])
    const groups = actor.groupIds.map((id) => `g${id}` as const)
    const who = [`u${actor.userId}` as const, ...groups, ...grants.map((grant) => grant.who)]
    const names = await whoNames(db, deps.findPeople, who, asking.languages)
    const [user, ...ofGroups] = [`u${actor.userId}` as const, ...groups].map((person) => renderWho(person, names))
    const shown = ({ grant, place }: SourcedGrant) => {
      const [whole] = renderAcl([grant], names)
      return { grant: whole, on: renderSource(place), ...(grant.preset ? { _right_preset: grant.preset } : {}) }
    }
    const { system_object_id, pool, objecttype } = query
    return {
      user: user as object,
      groups: ofGroups,
      ...(system_object_id === undefined ? {} : { system_object_id }),
      ...(pool === undefined ? {} : { pool }),
      ...(objecttype === undefined ? {} : { objecttype }),
      owner: answer.owner,
      ...(answer.deleted === undefined ? {} : { deleted: answer.deleted }),
      rights: answer.rights.map(({ name, reasons, nearly }) => ({
        name,
        holds: reasons.length > 0,
        by: reasons.map((reason) =>
          reason.kind === 'grant' ? { reason: 'grant', ...shown(reason) } : { reason: reason.kind },
        ),
        needed:
          reasons.length > 0
            ? []
            : [
                ...nearly.map((one) => ({ ...shown(one), because: [...one.because] })),
                // Places without obstacles: a new grant there would give the right.
                ...answer.places.map((place) => ({ on: renderSource(place), because: ['no_grant'] })),
              ],
      })),
    }
  }

  return {
    /**
     * Explains which rights the user of the query has on an object, a pool or objects of a type, and why.
     * @throws {AppError} `UserNotFound`, `ObjectNotFound`, `PoolNotFound`, `ObjecttypeNotFound`, also for things that the caller
     * may not see.
     */
    async explain(asking: Actor, query: ExplainQuery): Promise<Explanation> {
      const { user, system_object_id, pool, objecttype, address = '' } = query
      const asked = [system_object_id, pool ?? objecttype].filter((one) => one !== undefined).length
      if (asked !== 1) {
        throw badRequest('Name either system_object_id, or pool, objecttype or both.', { param: 'system_object_id' })
      }
      const actor = await deps.actorOf(user, address)
      if (!actor) throw new AppError('UserNotFound', { _id: user })
      const [own, theirs] = await Promise.all([deps.forActor(asking), deps.forActor(actor)])
      const answer =
        system_object_id === undefined
          ? ofContainer(own, actor, theirs, query)
          : await ofObject(own, actor, theirs, system_object_id)
      return render(asking, actor, query, answer)
    },
  }
}

function explained(
  name: string,
  reasons: readonly Reason[],
  placed: readonly SourcedGrant[],
  subject: Subject,
): Explained {
  return { name, reasons, nearly: reasons.length > 0 ? [] : nearlyGiving(name, placed, subject) }
}

function renderSource({ kind, id }: GrantSource): object {
  if (kind === 'object') return { system_object_id: id }
  return { _basetype: kind, [kind]: { _id: id } }
}
