import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Grant, Scene, Thing } from '../support/hidden/scene.ts'
import { startWorld } from '../support/hidden/twins.ts'

/**
 * Ann may read the places of the first pool by their names only, those of the second whole; ben and root see everything.
 * The first place has a note; the others stand below it and have none.
 */
const grant = (who: number, place?: readonly string[]): Grant => ({
  who,
  reach: 'read',
  masks: place ? { place } : {},
  tags: null,
  when: 'always',
  active: true,
  sticky: false,
})
const place = (pool: number, note: string | null, parents: readonly number[]): Thing => ({
  type: 'place',
  pool,
  tags: [],
  owner: null,
  grants: [],
  private: false,
  values: { name: { 'en-US': 'A place' }, ...(note === null ? {} : { note }) },
  rows: [],
  parents,
})
const pool = (grants: readonly Grant[]) => ({ parent: null, grants, standard: null, private: false })
const scene: Scene = {
  pools: [pool([grant(0, ['name_only']), grant(1)]), pool([grant(0), grant(1)])],
  types: {},
  things: [place(0, 'whispered', []), place(1, null, [0]), place(1, null, [1])],
}

test('a value is inherited only where the caller may see it', async () => {
  await using world = await startWorld(scene)
  const read = async (login: string, index: number) => {
    const query = { format: 'full_inheritance' }
    const { status, body } = await world.svc.as(login).get(`/db/place/place__noted/${world.objectIds[index]}`, query)
    assert.equal(status, 200, JSON.stringify(body))
    return [body[0].place.note, body[0].place._inherited]
  }
  for (const index of [1, 2]) {
    assert.deepEqual(await read('ben', index), ['whispered', { note: world.ids[0] }])
    assert.deepEqual(await read('root', index), ['whispered', { note: world.ids[0] }])
    assert.deepEqual(await read('ann', index), [null, undefined])
  }
})
