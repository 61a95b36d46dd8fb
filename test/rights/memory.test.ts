// alone: it measures the memory of its process
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { compileModel } from '../../src/datamodel/compile/model.ts'
import type { Mask, Table } from '../../src/datamodel/model.ts'
import { currentVersion, readVersion } from '../../src/datamodel/store.ts'
import { maskAccess } from '../../src/objects/masks/access.ts'
import type { MaskDeps } from '../../src/objects/masks/preference.ts'
import type { Actor } from '../../src/platform/actor.ts'
import { cacheSizes } from '../../src/platform/memory/byte-cache.ts'
import { divideMemory, standardMemory } from '../../src/platform/memory/shares.ts'
import type { CallerRights } from '../../src/rights/model.ts'
import { createRightsService } from '../../src/rights/service.ts'
import {
  createFieldVisibility,
  type FieldVisibility,
  fieldVisibilityBytes,
} from '../../src/search/plan/field-visibility.ts'
import { fieldsOf } from '../../src/search/plan/fields.ts'
import { startMuseum } from '../support/seed/museum.ts'
import { grant, pool } from './support.ts'

/** What the rights of callers take in memory, with what searches keep beside them. */

const maxBytes = divideMemory(standardMemory).callerRights
const pools = 500
const groups = 200

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

function heap(): number {
  gc()
  gc()
  return process.memoryUsage().heapUsed
}

/** Every pool grants several groups something, some of it by tags and masks: no two callers have the same. */
function manyPools(pools: number) {
  const readers = (number: number) => [
    grant(`g${1 + (number % groups)}`, 'bag_read read write'),
    grant(`g${1 + ((number * 7) % groups)}`, { read: { mask_ids: { 1: ['standard'] } } }),
    grant(`g${1 + ((number * 13) % groups)}`, 'read', { tagfilter: { all: [1 + (number % 5)], any: [], not: [] } }),
  ]
  const list = Array.from({ length: pools }, (_, number) =>
    pool(2 + number, number < 50 ? 1 : 2 + Math.floor(number / 20), readers(number)),
  )
  return [pool(1, null), ...list]
}

const actor = (userId: number): Actor => ({
  userId,
  login: `u${userId}`,
  displayname: '',
  reference: null,
  groupIds: Array.from({ length: 8 }, (_, index) => 1 + ((userId * 31 + index * 17) % groups)),
  isRoot: false,
  systemRights: new Map(),
  remoteAddr: '',
  languages: [],
  session: null,
})

test('rights of 1,000 callers in 500 pools, with all that searches keep of them, stay within the budget', async () => {
  await using museum = await startMuseum()
  const { db } = museum.svc
  const snapshot = await readVersion(db, await currentVersion(db))
  assert.ok(snapshot)
  const model = compileModel(snapshot)
  const containers = { pools: manyPools(pools), objecttypes: new Map() }
  const rights = createRightsService({
    containers: () => containers,
    findPeople: async () => ({ users: [], groups: [] }),
    existingTags: async () => new Set(),
    presets: async () => new Map(),
    maxBytes,
    derivedBytes: (count) => fieldVisibilityBytes(model.objecttypes.size, count),
  })
  const deps = {
    pools: { byId: () => undefined },
    objecttypeMasks: () => null,
    maskFilters: () => ({}),
  } as unknown as MaskDeps
  const fieldVisibilities = new WeakMap<CallerRights, FieldVisibility>()

  /** What a search asks of every field. */
  async function search(userId: number): Promise<void> {
    const caller = await rights.forActor(actor(userId))
    const fieldVisibility = createFieldVisibility({
      caller,
      fileAccess: () => () => 'always',
      maskAccess: maskAccess(deps, caller),
      poolPath: (id) => [1, id],
    })
    fieldVisibilities.set(caller, fieldVisibility)
    for (const field of fieldsOf(model).byName.values()) fieldVisibility.column(field)
    for (const table of model.objecttypes.values()) {
      fieldVisibility.any(table)
      fieldVisibility.titles(table)
    }
    fieldVisibility.poolsWithin(1)
  }

  const size = () => cacheSizes().get('caller_rights') ?? { bytes: 0, entries: 0 }
  await search(100_000)
  const [before, counted] = [heap(), size().bytes]
  for (let user = 1; user <= 60; user++) await search(user)
  const [taken, said] = [heap() - before, size().bytes - counted]
  assert.ok(taken < said * 1.1, `60 callers take ${taken} bytes, which count as ${said}`)
  for (let user = 61; user <= 1000; user++) await search(user)
  const all = heap() - before
  assert.ok(all < 64_000_000 * 1.1, `${all} bytes`)
  assert.ok(size().bytes <= 64_000_000)
  assert.ok(size().entries >= 50, `${size().entries} callers are kept`)
})

/** An object type with `_all_fields` and one mask. */
function tableOf(id: number): Table {
  const table = { id, aclTable: true, poolLink: true } as { -readonly [K in keyof Table]: Table[K] }
  const masks = [0, 1].map(
    (number) =>
      ({ id: 10 * id + number, table, isAllFields: number === 0, isInline: false, name: `m${number}` }) as Mask,
  )
  table.masks = new Map(masks.map((mask) => [mask.name, mask]))
  table.preferredMask = masks[1] as Mask
  return table
}

test('with 3,000 pools and 200 object types rights are kept, and pools are gone through for a caller, not for each type', async () => {
  const containers = { pools: manyPools(3000), objecttypes: new Map() }
  const tables = Array.from({ length: 200 }, (_, number) => tableOf(1 + number))
  const rights = createRightsService({
    containers: () => containers,
    findPeople: async () => ({ users: [], groups: [] }),
    existingTags: async () => new Set(),
    presets: async () => new Map(),
    maxBytes,
    derivedBytes: (count) => fieldVisibilityBytes(tables.length, count),
  })
  let looked = 0
  const shared = { effectiveMasks: {} }
  const byId = (): typeof shared => {
    looked++
    return shared
  }
  const deps = {
    pools: { byId },
    objecttypeMasks: () => null,
    maskFilters: () => ({}),
  } as unknown as MaskDeps
  const caller = await rights.forActor(actor(1))
  assert.equal(await rights.forActor(actor(1)), caller, 'it is not compiled again')
  const before = heap()
  const access = maskAccess(deps, caller)
  const seen = tables.map((table) => {
    const own = access(table)
    return [own, [...table.masks.values()].map((mask) => own.where(new Set([mask])))]
  })
  const taken = heap() - before
  assert.equal(seen.length, tables.length)
  assert.ok(looked < 20_000, `${looked} pools are looked at`)
  assert.ok(taken < fieldVisibilityBytes(tables.length, 3000), `${taken} bytes`)
})
