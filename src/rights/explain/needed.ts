import { type Caller, isCaller } from '../compile.ts'
import { inForce, poolFits, tagsFit, typeFits, windowOf } from '../grants.ts'
import type { ContainerGrants, GrantSource, Guarded, Person, PoolGrants, StoredGrant } from '../model.ts'

/** Reasons why a grant with a right does not give it here. */
export const obstacles = ['principal', 'inactive', 'not_yet', 'ended', 'tags', 'objecttype', 'pool', 'private'] as const
export type Obstacle = (typeof obstacles)[number]

export interface SourcedGrant {
  readonly grant: StoredGrant
  readonly place: GrantSource
}

/** A grant that would give the right without these obstacles. */
export interface Nearly extends SourcedGrant {
  readonly because: readonly Obstacle[]
}

/** The subject that grants are checked for; `object` null: the pool itself. */
export interface Subject {
  readonly caller: Caller
  readonly at: number
  readonly object: Guarded | null
  readonly objecttypeId: number | null
  /** The pool of the object, or the pool itself; null: without pool. */
  readonly poolId: number | null
  /** Whether the caller is the owner of the object, or of the pool. */
  readonly owns: boolean
  readonly contact: Person | null
}

/** Grants that apply to a pool: its own and, unless it is private, those of the pools above. */
export function grantsAtPool(pools: readonly PoolGrants[], id: number): SourcedGrant[] {
  const byId = new Map(pools.map((pool) => [pool.id, pool]))
  const found: SourcedGrant[] = []
  let stickyOnly = false
  for (let pool = byId.get(id); pool; pool = pool.parentId === null ? undefined : byId.get(pool.parentId)) {
    const place = { kind: 'pool', id: pool.id } as const
    for (const grant of pool.acl) if (!stickyOnly || grant.sticky) found.push({ grant, place })
    stickyOnly ||= pool.privateAcl
  }
  return found
}

/** Grants on the object, and on its containers. */
export function grantsAtObject({ pools, objecttypes }: ContainerGrants, object: Guarded): SourcedGrant[] {
  const container =
    object.poolId === null
      ? (objecttypes.get(object.objecttypeId) ?? []).map(
          (grant): SourcedGrant => ({
            grant,
            place: { kind: 'objecttype', id: object.objecttypeId },
          }),
        )
      : grantsAtPool(pools, object.poolId)
  const place = { kind: 'object', id: object.systemObjectId } as const
  return [...container, ...(object.acl ?? []).map((grant): SourcedGrant => ({ grant, place }))]
}

/** Grants with the right that do not give it here, those with the fewest obstacles first. */
export function nearlyGiving(right: string, grants: readonly SourcedGrant[], subject: Subject): Nearly[] {
  return grants
    .filter(({ grant }) => grant.rights[right] !== undefined)
    .map((placed) => ({ ...placed, because: obstaclesOf(right, placed, subject) }))
    .filter(({ because }) => because.length > 0)
    .sort((a, b) => a.because.length - b.because.length)
    .slice(0, mostNamed)
}

const mostNamed = 20

function obstaclesOf(right: string, { grant, place }: SourcedGrant, subject: Subject): Obstacle[] {
  const { object, at, objecttypeId, poolId } = subject
  const found: Obstacle[] = []
  if (!isAddressed(grant, subject, right)) found.push('principal')
  if (grant.active === false) found.push('inactive')
  else if (!inForce(grant, at)) found.push(at < windowOf(grant).from ? 'not_yet' : 'ended')
  // A grant with a tag filter does not apply to the pool itself.
  if (object ? !tagsFit(grant.tagfilter, object.tags) : grant.tagfilter && right !== 'create') found.push('tags')
  const item = grant.rights[right]
  if (item && objecttypeId !== null && !typeFits(item, objecttypeId)) found.push('objecttype')
  if (item && !poolFits(item, poolId)) found.push('pool')
  if (object?.privateAcl && place.kind !== 'object' && !grant.sticky) found.push('private')
  return found
}

function isAddressed({ who }: StoredGrant, { caller, owns, contact }: Subject, right: string): boolean {
  if (who === 'owner') return owns || right === 'create'
  return isCaller(caller, who === 'contact' ? contact : who)
}
