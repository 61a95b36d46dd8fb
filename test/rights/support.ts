import { compile, prepare } from '../../src/rights/compile.ts'
import { callerRights } from '../../src/rights/evaluate.ts'
import type { CallerRights, ContainerGrants, Guarded, PoolGrants, StoredGrant } from '../../src/rights/model.ts'
import type { ThroughCollections } from '../../src/rights/read-right.ts'
import { prepareShares, sharesOf } from '../../src/rights/shares/compile.ts'
import { noShares } from '../../src/rights/shares/model.ts'

let lastId = 0

/** No collections. */
export const throughNothing: ThroughCollections = {
  shares: sharesOf(prepareShares(noShares, new Map()), { userId: 0, groupIds: [], root: false }, 0),
  ownerOf: () => {
    throw new Error('nobody shares')
  },
}

/** A grant with what a test cares about. */
export function grant(
  who: StoredGrant['who'],
  rights: string | StoredGrant['rights'],
  more: Partial<StoredGrant> = {},
) {
  const map = typeof rights === 'string' ? Object.fromEntries(rights.split(' ').map((name) => [name, {}])) : rights
  return { id: ++lastId, who, rights: map, ...more } satisfies StoredGrant
}

export function pool(id: number, parentId: number | null, acl: StoredGrant[] = [], more: Partial<PoolGrants> = {}) {
  const usual = { privateAcl: false, owner: null, contact: null, holdsObjects: parentId !== null }
  return { id, parentId, acl, ...usual, ...more } satisfies PoolGrants
}

export function object(more: Partial<Guarded> = {}): Guarded {
  const nobody = { ownerUserId: null, ownerGroupId: null, acl: null, privateAcl: false }
  return { systemObjectId: 1, objecttypeId: 10, poolId: 2, tags: [], ...nobody, ...more }
}

export const noon = Date.parse('2026-06-01T12:00:00Z')

interface As {
  userId?: number
  groupIds?: number[]
  root?: boolean
  at?: number
}

/** The rights of user 5 in the groups 3 and 4, at noon. */
export function rightsOf(source: Partial<ContainerGrants>, as: As = {}): CallerRights {
  const { userId = 5, groupIds = [3, 4], root = false, at = noon } = as
  const prepared = prepare({ pools: source.pools ?? [], objecttypes: source.objecttypes ?? new Map() })
  const caller = { userId, groupIds, root }
  return callerRights(compile(prepared, caller, at), throughNothing, () => at)
}
