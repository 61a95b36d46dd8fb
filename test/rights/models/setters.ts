import assert from 'node:assert/strict'
import type { Json } from '../../support/client.ts'
import { changeUser } from '../limited.ts'
import type { House } from './house.ts'
import { knowledgeOf } from './knowledge.ts'
import type { Names } from './wire.ts'
import { callers, type World } from './world.ts'

/**
 * A transition that one of the callers has set, as a manager of tags, and that root runs on everything: it tags what that
 * caller may write, and nothing else. An owner the caller cannot set. Replaces the transitions of the world.
 */
export async function askSetters(house: House, world: World, names: Names, caller: number): Promise<void> {
  const root = house.svc.as('root')
  const client = house.svc.as(callers[caller] as string)
  const user = names.users[caller] as number
  const tag = names.tags[0] as number
  const things = world.things.filter(({ trashed, type, tags }) => !trashed && type.tags && !tags.includes(0))
  await changeUser(root, user, {}, { _system_rights: { 'system.tagmanager': {} } })
  const manual = { type: 'process', trigger: 'manual', displayname: { 'en-US': 'Tag' } }
  const owner = { type: 'change_owner', info: { owner: { user: { _id: user } } } }
  const refused = await client.post('/transitions', [{ ...manual, actions: [owner] }])
  assert.deepEqual([refused.status, refused.body.parameters?.right], [403, 'bag_acl'])
  const set = { type: 'set_tags', info: { tags: [{ _id: tag, set: true }] } }
  const { status, body } = await client.post('/transitions', [{ ...manual, actions: [set] }])
  assert.equal(status, 200, JSON.stringify(body))
  if (things.length > 0) {
    const targets = things.map(({ index }) => ({ _system_object_id: names.ids[index] as number }))
    const ran = await root.post(`/transitions/${body[0]._id}/run`, targets)
    assert.equal(ran.status, 200, JSON.stringify(ran.body))
    const { rows } = await house.svc.db.query<{ id: number; tags: number[] }>(
      'select system_object_id as id, tags from object where system_object_id = any($1)',
      [targets.map((target) => target._system_object_id)],
    )
    const tagged = new Set(rows.flatMap(({ id, tags }: Json) => (tags.includes(tag) ? [Number(id)] : [])))
    const knowledge = knowledgeOf(world, caller)
    for (const { index, type } of things) {
      const id = names.ids[index] as number
      const what = `a transition of ${callers[caller]} tags ${type.name} ${id}`
      assert.equal(tagged.has(id), knowledge.may('write', index), what)
    }
  }
  await changeUser(root, user, {}, { _system_rights: {} })
}
