import assert from 'node:assert/strict'
import type { House } from './house.ts'
import type { Column, Mask } from './model.ts'
import type { Asking } from './reads.ts'
import { maskNames, type Names } from './wire.ts'
import { linksOf, type Thing, type World } from './world.ts'

/**
 * Writes that are carried out. Each comes to what the naive reading of the rules says, and changes what it says and
 * nothing else: versions and the trash are those of the world after it. Gives that world.
 */
export async function carryOut(house: House, asking: Asking, attempts: number): Promise<World> {
  let world = asking.world
  for (let n = 0; n < attempts; n++) {
    const now = { ...asking, world }
    const alone = world.things.filter((thing) => standsAlone(world, thing))
    if (alone.length === 0) break
    const thing = asking.pick(alone)
    // What may be done is done more often than it would be met by chance.
    const allowed = alone.filter(({ index, trashed }) => !trashed && asking.knowledge.may('write', index))
    const chosen = allowed.length > 0 && n % 3 > 0 ? asking.pick(allowed) : thing
    const after = n % 3 === 2 ? await remove(now, thing) : await change(now, chosen, n)
    if (after !== null) world = replaced(world, after)
    await assertStored(house, world, asking.names)
  }
  return world
}

/** Nothing links to it, it stands below nothing, and nothing below it: nothing else is written with it. */
function standsAlone({ things }: World, { index, parents, values }: Thing): boolean {
  const linked = things.some((other) => other.parents.includes(index) || linksOf(other).some(({ to }) => to === index))
  return !linked && parents.length === 0 && ![...values.keys()].some(({ reverse }) => reverse)
}

const replaced = (world: World, after: Thing): World => ({ ...world, things: world.things.with(after.index, after) })

const isThere = ({ knowledge }: Asking, { index, trashed }: Thing, right: 'write' | 'delete'): boolean =>
  !trashed && (knowledge.may('read', index) || knowledge.may(right, index))

const editable = (mask: Mask): Column[] =>
  mask.fields.flatMap((field) =>
    field.is === 'column' && field.mode === 'edit' && !field.column.unique && isPlain(field.column)
      ? [field.column]
      : [],
  )

const isPlain = ({ kind }: Column): boolean => kind === 'number' || kind === 'text_oneline' || kind === 'string'

async function change(asking: Asking, thing: Thing, n: number): Promise<Thing | null> {
  const { client, heard, knowledge, names, pick, who } = asking
  const { index, type } = thing
  const choices = maskNames(type).flatMap((mask) => editable(mask).map((column) => ({ mask, column })))
  if (choices.length === 0) return null
  const { mask, column } = pick(choices)
  const value = column.kind === 'number' ? 41 + n : `harbour${n}`
  const block = { _id: names.objectIds[index], [column.name]: value }
  const what = `${who} sets ${column.name} of ${type.name} ${names.ids[index]} in ${mask.name}`
  const body = [{ _objecttype: type.name, _mask: mask.name, [type.name]: block }]
  const answer = await client.patch(`/db/${type.name}`, body)
  heard(answer.body, what)
  const got = [answer.status, answer.body.parameters?.right ?? answer.body.code]
  if (!isThere(asking, thing, 'write')) assert.deepEqual(got, [404, 'ObjectNotFound'], what)
  else if (!knowledge.may('write', index)) assert.deepEqual(got, [403, 'write'], what)
  else if (!knowledge.maySaveWith(index, mask, 'write')) assert.deepEqual(got, [403, 'mask'], what)
  else {
    assert.equal(answer.status, 200, `${what} ${JSON.stringify(answer.body)}`)
    const versions = names.versions as number[]
    versions[index] = (versions[index] as number) + 1
    return { ...thing, values: new Map([...thing.values, [column, value]]) }
  }
  return null
}

async function remove(asking: Asking, thing: Thing): Promise<Thing | null> {
  const { client, heard, knowledge, names, who } = asking
  const { index, type } = thing
  const triple = [names.objectIds[index], names.versions[index], null]
  const what = `${who} deletes ${type.name} ${names.ids[index]}`
  const answer = await client.delete(`/db/${type.name}`, [triple], { delete_policy: 'remove' })
  heard(answer.body, what)
  const got = [answer.status, answer.body.parameters?.right ?? answer.body.code]
  if (!isThere(asking, thing, 'delete')) assert.deepEqual(got, [404, 'ObjectNotFound'], what)
  else if (!knowledge.may('delete', index)) assert.deepEqual(got, [403, 'delete'], what)
  else {
    assert.equal(answer.status, 200, `${what} ${JSON.stringify(answer.body)}`)
    const versions = names.versions as number[]
    versions[index] = (versions[index] as number) + 1
    return { ...thing, trashed: true }
  }
  return null
}

/** What is created belongs to who created it, in the pool that was named; what may not be is not there. */
export async function create(house: House, asking: Asking): Promise<void> {
  const { client, heard, knowledge, names, pick, who, world } = asking
  const type = pick(world.types)
  const mask = pick(maskNames(type))
  const pool = type.pool ? pick([...names.pools.keys()]) : null
  const inPool = pool === null ? {} : { _pool: { pool: { _id: names.pools[pool] } } }
  const what = `${who} creates ${type.name} in ${mask.name}, pool ${pool}`
  const count = async () =>
    (await house.svc.db.query<{ n: number }>('select count(*)::int as n from object')).rows[0]?.n ?? 0
  const before = await count()
  const tags = type.tags ? { _tags: [] } : {}
  const body = [{ _objecttype: type.name, _mask: mask.name, ...tags, [type.name]: inPool }]
  const answer = await client.post(`/db/${type.name}`, body)
  heard(answer.body, what)
  const may = knowledge.mayCreate(type, pool, [], mask)
  assert.equal(await count(), before + (answer.status === 200 ? 1 : 0), what)
  const said = `${what} ${JSON.stringify(answer.body)}`
  if (!may) assert.ok(answer.status >= 400, said)
  // Pools, tags and fields that the mask does not have may be in the way of what rights would let.
  else assert.ok(answer.status === 200 || answer.body.parameters?.right === undefined, said)
}

async function assertStored({ svc }: House, { things }: World, { ids, versions }: Names): Promise<void> {
  const { rows } = await svc.db.query<{ id: number; version: number; trashed: boolean }>(
    'select system_object_id as id, version, deleted_at is not null as trashed from object where system_object_id = any($1)',
    [ids],
  )
  const stored = new Map(rows.map((row) => [Number(row.id), [row.version, row.trashed]]))
  for (const { index, trashed, type } of things)
    assert.deepEqual(stored.get(ids[index] as number), [versions[index], trashed], `${type.name} ${ids[index]}`)
}
