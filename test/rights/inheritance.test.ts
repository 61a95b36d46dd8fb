import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ContainerGrants, Guarded, StoredGrant } from '../../src/rights/model.ts'
import { id, someObject, someSource } from './arbitraries.ts'
import { noon, rightsOf } from './support.ts'

interface Caller {
  userId: number
  groupIds: number[]
}

/** The rules as the documentation states them, one object at a time, without anything compiled. */
function mayRead({ pools, objecttypes }: ContainerGrants, caller: Caller, object: Guarded): boolean {
  const isCaller = (who: string | null) =>
    who === `u${caller.userId}` || caller.groupIds.some((group) => who === `g${group}`)
  const owned = object.ownerUserId === caller.userId || caller.groupIds.includes(object.ownerGroupId ?? 0)
  if (owned) return true
  const contact = pools.find((pool) => pool.id === object.poolId)?.contact ?? null

  /** From the pool of the object up; below a private pool only sticky grants are left. */
  function* inherited(): Generator<StoredGrant> {
    let cut = object.privateAcl === true
    for (let pool = pools.find((each) => each.id === object.poolId); pool; ) {
      for (const grant of pool.acl) if (!cut || grant.sticky) yield grant
      cut ||= pool.privateAcl
      const above: number | null = pool.parentId
      pool = pools.find((each) => each.id === above)
    }
    if (object.poolId !== null) return
    for (const grant of objecttypes.get(object.objecttypeId) ?? []) if (!cut || grant.sticky) yield grant
  }

  for (const grant of [...inherited(), ...(object.acl ?? [])]) {
    if (grant.active === false) continue
    if (grant.from !== undefined && Date.parse(grant.from) > noon) continue
    if (grant.to !== undefined && Date.parse(grant.to) <= noon) continue
    if (grant.who === 'owner' || (grant.who === 'contact' ? !isCaller(contact) : !isCaller(grant.who))) continue
    const filter = grant.tagfilter
    if (filter) {
      const has = (tag: number) => object.tags.includes(tag)
      if (!filter.all.every(has) || (filter.any.length > 0 && !filter.any.some(has)) || filter.not.some(has)) continue
    }
    const read = grant.rights.read
    if (!(read?.pool_ids?.includes(object.poolId ?? 0) ?? true)) continue
    if (read && (read.objecttype_ids?.includes(object.objecttypeId) ?? true)) return true
  }
  return false
}

test('compiled rights agree with the rules read one by one', () => {
  const caller = fc.record({ userId: id(3), groupIds: fc.uniqueArray(id(3), { maxLength: 2 }) })
  let readable = 0
  let asked = 0
  fc.assert(
    fc.property(
      someSource,
      fc.array(someObject, { minLength: 1, maxLength: 10 }),
      caller,
      (source, objects, caller) => {
        const rights = rightsOf(source, caller)
        const known = new Set(source.pools.map((pool) => pool.id))
        for (const drawn of objects) {
          const object = drawn.poolId !== null && !known.has(drawn.poolId) ? { ...drawn, poolId: null } : drawn
          const expected = mayRead(source, caller, object)
          assert.equal(rights.may('read', object), expected)
          assert.equal('read' in rights.rightsOn(object), expected)
          asked++
          if (expected) readable++
        }
      },
    ),
    { numRuns: 2000 },
  )
  assert.ok(readable > asked / 10 && readable < (asked * 9) / 10, `${readable} of ${asked} are readable`)
})
