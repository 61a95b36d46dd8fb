import assert from 'node:assert/strict'
import type { Json } from '../support/client.ts'
import type { Knowledge } from '../support/hidden/knowledge.ts'
import { columns, masks, typeNames } from '../support/hidden/model.ts'
import type { Scene, Thing } from '../support/hidden/scene.ts'
import type { World } from '../support/hidden/twins.ts'

/** Reads, lists and totals beside what the records of the scene say of this caller. */
export async function asRuled(world: World, login: string, scene: Scene, knowledge: Knowledge) {
  const { svc, ids, objectIds } = world
  const { things } = scene
  const client = svc.as(login)
  const found: string[] = []
  for (const type of typeNames) {
    const indexes = [...things.keys()].filter((index) => things[index]?.type === type)
    for (const mask of ['standard', ...Object.keys(masks[type])]) {
      for (const index of indexes) {
        const { status, body } = await client.get(`/db/${type}/${type}__${mask}/${objectIds[index]}`)
        const usable = knowledge.mayUse(index, mask)
        const at = `${login} ${type} ${index} ${mask}`
        if (!knowledge.mayRead(index)) assert.deepEqual([status, body], [200, []], at)
        else if (!usable) assert.deepEqual([status, body.parameters?.right], [403, 'mask'], at)
        else {
          assert.equal(status, 200, at)
          const shown = Object.keys(body[0][type]).filter((key) => key in columns[type])
          const has = (column: string) => mask === 'standard' || masks[type][mask]?.includes(column)
          const inMask = Object.keys(columns[type]).filter((column) => !column.includes('.') && has(column))
          assert.deepEqual(shown.sort(), inMask.sort(), at)
          found.push(at)
        }
      }
      const { body } = await client.get(`/db/${type}/${type}__${mask}/list`, { format: 'short' })
      const listed = indexes.filter((index) => knowledge.mayUse(index, mask))
      assert.deepEqual(
        body.map((object: Json) => object._system_object_id),
        listed.map((index) => ids[index]),
        `${login} list ${type} ${mask}`,
      )
    }
    for (const [column, kind] of Object.entries<string>(columns[type])) {
      if (!['string', 'number', 'integer.2', 'key'].includes(kind) || column.includes('.')) continue
      for (const value of new Set(indexes.map((index) => things[index]?.values[column]))) {
        if (value === undefined) continue
        const search = [{ type: 'in', fields: [`${type}.${column}`], in: [value] }]
        const { body } = await client.post('/search', { objecttypes: [type], search, limit: 0 })
        const count = indexes.filter(
          (index) => knowledge.mayKnow(index, column) && things[index]?.values[column] === value,
        )
        assert.equal(body.count, count.length, `${login} ${type}.${column} ${value}`)
      }
    }
  }
  assert.ok(found.length > 0)
  await linksAsRuled(world, login, scene, knowledge)
  await eventsAsRuled(world, login, knowledge)
}

/** What an object links to and what is below it, in the standard mask: whoever may not read it is told its id alone. */
async function linksAsRuled({ svc, ids, objectIds }: World, login: string, { things }: Scene, knowledge: Knowledge) {
  for (const [index, thing] of things.entries()) {
    if (!knowledge.mayUse(index, 'standard')) continue
    const { type, parents } = thing
    const { status, body } = await svc.as(login).get(`/db/${type}/${type}__standard/${objectIds[index]}`)
    const at = `${login} ${type} ${index}`
    assert.equal(status, 200, at)
    const [object] = body
    const told = (link: Json, target: number) => {
      assert.equal(link._system_object_id, ids[target], at)
      assert.equal(link._not_allowed === true, !knowledge.mayRead(target), at)
      assert.equal(link._standard !== undefined, knowledge.mayRead(target), at)
    }
    for (const [column, kind] of Object.entries<string>(columns[type])) {
      const target = thing.values[column]
      if (kind.startsWith('link:') && target !== undefined) told(object[type][column], target as number)
    }
    if (type === 'topic') for (const [nth, parent] of parents.entries()) told(object.topic._parents[nth], parent)
    if (type === 'person') {
      const rows = object.person['_nested:person__influence']
      for (const [nth, row] of thing.rows.entries()) told(rows[nth].person, row.person as number)
    }
    const below = (of: string, isBelow: (other: Thing) => boolean) =>
      things.flatMap((other, n) => (other.type === of && isBelow(other) && knowledge.mayRead(n) ? [ids[n]] : []))
    if (type === 'work') {
      const loans = object.work['_reverse_nested:loan:work'].map((loan: Json) => loan._system_object_id)
      assert.deepEqual(
        loans.sort((a: number, b: number) => a - b),
        below('loan', ({ values }) => values.work === index),
        at,
      )
    }
    if (type === 'place' || type === 'topic') {
      assert.equal(object._has_children, below(type, (other) => other.parents.includes(index)).length > 0, at)
    }
  }
}

/** Readers of the log hear of everything; others of what they may read, and each hears what it was called only of that. */
async function eventsAsRuled({ svc, ids }: World, login: string, knowledge: Knowledge): Promise<void> {
  const { body } = await svc.as(login).get('/event/poll/0', { limit: 1000 })
  const readsLog = (await svc.as(login).get('/event/list', { limit: 1 })).status === 200
  const spoken = new Map<number, boolean>()
  for (const { event } of body) {
    const id = event.system_object_id
    if (id !== undefined) spoken.set(id, spoken.get(id) === true || Object.keys(event.info).length > 0)
  }
  for (const [index, id] of ids.entries()) {
    assert.equal(spoken.has(id), readsLog || knowledge.mayRead(index), `${login} events of ${index}`)
    if (!knowledge.mayRead(index)) assert.equal(spoken.get(id) ?? false, false, `${login} events of ${index}`)
  }
}
