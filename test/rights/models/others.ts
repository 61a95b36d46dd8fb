import assert from 'node:assert/strict'
import type { Json } from '../../support/client.ts'
import { isOf, tagsFit } from './knowledge.ts'
import type { Asking } from './reads.ts'
import type { Thing, Transition } from './world.ts'

/** What else speaks of objects: events, pools, manual transitions, settings and figures of object types. */

/** @param since the last event before the world was built. */
export async function askEvents({ client, world, names, knowledge, who, heard }: Asking, since: number): Promise<void> {
  const spoken = new Map<number, boolean>()
  for (let from = since; ; ) {
    const { status, body } = await client.get(`/event/poll/${from}`, { limit: 1000 })
    assert.equal(status, 200)
    heard(body, `${who} polls events`)
    for (const { event } of body) {
      if (event.basetype === 'object') {
        const said = event.info.standard !== undefined
        spoken.set(event.system_object_id, said || spoken.get(event.system_object_id) === true)
      }
    }
    if (body.length < 1000) break
    from = body.at(-1).event._id
  }
  const expected = new Map(
    world.things.flatMap(({ index, type }) =>
      knowledge.may('read', index) ? [[names.ids[index], knowledge.mayUse(index, type.preferred)] as const] : [],
    ),
  )
  const byId = (map: Map<unknown, boolean>) => [...map].sort(([a], [b]) => Number(a) - Number(b))
  assert.deepEqual(byId(spoken), byId(expected), `${who} hears of objects, and what they are called`)
  for (const path of ['/event/list', `/event/${since}`]) assert.equal((await client.get(path)).status, 403, path)
}

export async function askPools({ client, world, names, knowledge, who, heard }: Asking): Promise<void> {
  const { body } = await client.get('/pool')
  heard(body, `${who} lists pools`)
  const listed = body.map((each: Json) => each.pool._id)
  for (const [index, id] of names.pools.entries()) {
    assert.equal(listed.includes(id), knowledge.knowsPool(index), `${who} lists pool ${id}`)
    const one = await client.get(`/pool/${id}`)
    heard(one.body, `${who} reads pool ${id}`)
    if (knowledge.knowsPool(index)) assert.equal(one.status, 200)
    const tried = await client.delete(`/pool/${id}`, undefined, { dry_run: 1 })
    heard(tried.body, `${who} deletes pool ${id}`)
    assert.ok([400, 403, 404].includes(tried.status), JSON.stringify(tried))
  }
  for (const type of world.types) {
    const stats = await client.get(`/objecttype/${type.table.id}/stats`)
    assert.equal(stats.status, 403, `${who} asks for figures of ${type.name}`)
    heard((await client.get(`/objecttype/${type.table.id}`)).body, `${who} reads the settings of ${type.name}`)
  }
}

export async function askTransitions(asking: Asking): Promise<void> {
  const { client, world, names, knowledge, who, pick, heard } = asking
  const stored: Json[] = names.transitions.map((id) => ({ id }))
  const addressed = (transition: Transition, thing: Pick<Thing, 'type'>): boolean => {
    const named = transition.who.some((each) => isOf(each, knowledge.caller))
    const reached = transition.who.length === 0 || (transition.not ? !named : named)
    return reached && (transition.types.length === 0 || transition.types.includes(thing.type.index))
  }
  for (const type of world.types) {
    const pool = pick([...names.pools.keys()])
    const query = { objecttype_id: type.table.id, ...(type.pool ? { pool_id: names.pools[pool] } : {}) }
    const { status, body } = await client.get('/transitions/manual', query)
    const what = `${who} asks for transitions of ${JSON.stringify(query)} ${JSON.stringify(body)}`
    heard(body, what)
    if (status === 404) assert.ok(type.pool && !knowledge.knowsPool(pool), what)
    else {
      const expected = world.transitions.flatMap((each, at) => (addressed(each, { type }) ? [stored[at].id] : []))
      assert.deepEqual([status, body.map((each: Json) => each._id)], [200, expected], what)
    }
  }
  for (const [at, transition] of world.transitions.entries()) {
    const thing = pick(world.things)
    const target = { _system_object_id: names.ids[thing.index] }
    const { status, body } = await client.post(`/transitions/${stored[at].id}/run`, [target])
    const what = `${who} runs transition ${at} on ${names.ids[thing.index]}: ${JSON.stringify(body)}`
    heard(body, what)
    const there = !thing.trashed && (knowledge.may('read', thing.index) || knowledge.may('write', thing.index))
    const fits = addressed(transition, thing) && tagsFit(transition.filter, thing.tags)
    if (!there) assert.deepEqual([status, body.code], [404, 'ObjectNotFound'], what)
    else if (!knowledge.may('write', thing.index))
      assert.deepEqual([status, body.parameters?.right], [403, 'write'], what)
    else if (!fits) assert.deepEqual([status, body.code], [400, 'TransitionNotApplicable'], what)
    else assert.deepEqual([status, body], [200, [{ ...target, _version: names.versions[thing.index] }]], what)
  }
}
