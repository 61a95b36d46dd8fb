import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createResponseCache } from '../../src/objects/read/response-cache.ts'
import { createAdmission } from '../../src/platform/memory/admission.ts'
import type { Queryable } from '../../src/platform/postgres/db.ts'
import { createUsers } from '../signin/support.ts'
import { payload, startMuseum } from '../support/seed/museum.ts'
import { startService } from '../support/service.ts'
import { openMemory } from '../support/snapshots.ts'

test('whatever comes to be read from memory, a change of it makes answers go, and nobody lists it', async () => {
  await using svc = await startService()
  await using memory = await openMemory(svc.db)
  const { snapshots } = memory
  await svc.db.query('create table novelty (text text)')
  await svc.db.query(`insert into novelty values ('old')`)
  // What no part of the service knows of.
  const novelty = await snapshots.open({
    name: 'a novelty',
    topics: ['novelty'],
    read: async (from: Queryable) => (await from.query<{ text: string }>('select text from novelty')).rows,
    build: (rows) => rows[0]?.text ?? '',
  })
  const admission = createAdmission()
  // It is asked for again and again.
  for (let n = 0; n < 5; n++) admission.note(1)
  const answers = createResponseCache(admission, 1_000_000)
  const render = (): Buffer => Buffer.from(novelty.get())
  const object = {}
  const answer = (): string => {
    const sources = { world: snapshots.world(), own: [object] }
    const kept = answers.find('question', sources)
    if (kept) return `kept ${kept}`
    answers.keep('question', 1, sources, render)
    return `${render()}`
  }
  assert.equal(answer(), 'old')
  assert.equal(answer(), 'kept old')
  const before = snapshots.world()
  await novelty.renewed()
  assert.equal(snapshots.world(), before, 'what is equal changes nothing')
  await svc.db.query(`update novelty set text = 'new'`)
  await novelty.renewed()
  assert.ok(snapshots.world().number > before.number)
  assert.equal(answer(), 'new')
  assert.equal(answer(), 'kept new')
  // A request that began before neither finds what is of the world after it, nor leaves something there.
  assert.equal(answers.find('question', { world: before, own: [object] }), undefined)
  answers.keep('question', 1, { world: before, own: [object] }, () => Buffer.from('late'))
  assert.equal(answer(), 'kept new')
  // What is kept by itself says so.
  snapshots.turn()
  assert.equal(answer(), 'new')
  assert.ok(Object.isFrozen(snapshots.world()))
})

test('the name of an owner in an answer is that of now, however often it was asked for', async () => {
  await using museum = await startMuseum({ readOnly: false })
  const { svc } = museum
  const root = svc.as('root')
  const [{ user }] = await createUsers(svc, { user: { login: 'owner', first_name: 'Before' } })
  const owned = { _owner: { _basetype: 'user', user: { _id: user._id } } }
  const saved = await root.post('/db/person', [payload('person', { name: 'Painter' }, owned)])
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  const id = saved.body[0]._system_object_id
  const read = async (): Promise<string> => {
    let text = ''
    for (let n = 0; n < 3; n++) {
      const { status, body } = await root.get(`/db/person/_all_fields/system_object_id/${id}`, { format: 'full' })
      assert.equal(status, 200)
      text = JSON.stringify(body)
    }
    return text
  }
  assert.match(await read(), /Before/)
  const [stored] = (await root.get(`/user/${user._id}`)).body
  const renamed = { _basetype: 'user', user: { _id: user._id, _version: stored.user._version, first_name: 'After' } }
  assert.equal((await root.post('/user', [renamed])).status, 200)
  const after = await read()
  assert.match(after, /After/)
  assert.doesNotMatch(after, /Before/)
})
