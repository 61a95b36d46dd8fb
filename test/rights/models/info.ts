import assert from 'node:assert/strict'
import type { Json } from '../../support/client.ts'
import type { Asking } from './reads.ts'
import { maskNames } from './wire.ts'
import { tagCount } from './world.ts'

/** What editors ask before they send anything: what can be created where, and what may be done with an object. */

const rights = ['read', 'write', 'delete', 'unlink', 'link', 'acl'] as const
/** All sets of tags. */
const taggings = Array.from({ length: 2 ** tagCount }, (_, bits) =>
  Array.from({ length: tagCount }, (_, tag) => tag).filter((tag) => (bits >> tag) % 2 === 1),
)
const named = (masks: readonly { readonly name: string }[] = []) => masks.map(({ name }) => name).sort()

export async function askInfo(asking: Asking): Promise<void> {
  await askCreatable(asking)
  await askCreate(asking)
  await askUpdate(asking)
}

async function askCreatable({ client, heard, knowledge, names, who, world }: Asking): Promise<void> {
  const { status, body } = await client.post('/db_info/create', {})
  const what = `${who} asks what can be created`
  assert.equal(status, 200, what)
  heard(body, what)
  for (const type of world.types) {
    const may = (pool: number | null): boolean =>
      (type.tags ? taggings : [[]]).some((tags) =>
        maskNames(type).some((mask) => knowledge.mayCreate(type, pool, tags, mask)),
      )
    const pools = type.pool ? [...names.pools.keys()].filter(may).map((pool) => names.pools[pool]) : []
    const found = body._available_objecttypes.find(({ name }: Json) => name === type.name)
    // Other worlds of the same house have pools too.
    const told = found?.pool_ids.filter((id: number) => names.pools.includes(id))
    if (type.pool ? pools.length > 0 : may(null)) assert.deepEqual(told?.sort(), pools.sort(), `${what} ${type.name}`)
    else assert.ok(!found || (type.pool && told.length === 0), `${what} ${type.name}`)
  }
}

async function askCreate({ client, heard, knowledge, names, pick, who, world }: Asking): Promise<void> {
  for (const type of world.types) {
    const pool = type.pool ? pick([...names.pools.keys()]) : null
    const tags = type.tags ? pick(taggings) : []
    const asked = {
      objecttype: type.name,
      ...(pool === null ? {} : { pool_id: names.pools[pool] }),
      tag_ids: tags.map((tag) => names.tags[tag]),
    }
    const what = `${who} asks what to create with ${JSON.stringify(asked)}`
    const { status, body } = await client.post('/db_info/create', asked)
    heard(body, what)
    const masks = maskNames(type).filter((mask) => knowledge.mayCreate(type, pool, tags, mask))
    if (!knowledge.mayCreate(type, pool, tags, null)) {
      if (status !== 200) assert.deepEqual([status, body.code], [400, 'PoolNotFound'], what)
      else assert.deepEqual(body, { _available_objecttypes: [] }, what)
    } else if (masks.length === 0) assert.deepEqual([status, body.code], [400, 'NoMasksForCreate'], what)
    else assert.deepEqual(named(body._available_masks), named(masks), what)
  }
}

async function askUpdate({ client, heard, knowledge, names, who, world }: Asking): Promise<void> {
  for (const { index, type, trashed } of world.things) {
    const what = `${who} asks what to do with ${type.name} ${names.ids[index]}`
    const asked = { objecttype: type.name, object_ids: [names.objectIds[index]] }
    const { status, body } = await client.post('/db_info/update', asked)
    heard(body, what)
    if (trashed || !(knowledge.may('read', index) || knowledge.may('write', index))) {
      assert.deepEqual([status, body.code], [404, 'ObjectNotFound'], what)
      continue
    }
    assert.equal(status, 200, `${what} ${JSON.stringify(body)}`)
    const writes = knowledge.may('write', index)
    const told = rights.filter((right) => right in body._generated_rights)
    const held = rights.filter((right) => knowledge.may(right, index) && (writes || right === 'read'))
    assert.deepEqual(told, held, what)
    const masks = writes ? maskNames(type).filter((mask) => knowledge.maySaveWith(index, mask, 'write')) : []
    assert.deepEqual(named(body._available_masks), named(masks), what)
  }
}
