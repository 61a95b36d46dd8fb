import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { createPool } from '../pools/support.ts'
import { type People, seedPeople, toGroup, wireGrant } from '../rights/people.ts'
import type { Answer, Client, Json } from '../support/client.ts'
import { inPool, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { callbackManifest, install, nodeScript } from './support.ts'

let museum: Museum
let people: People
let root: Client
let folder: string
let open: number
let closed: number
const tags: Record<string, number> = {}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'plugins-'))
  museum = await startMuseum()
  people = await seedPeople(museum.svc)
  root = people.root
  const names = ['draft', 'checked', 'locked'].map((reference) => ({ reference }))
  const { body } = await root.post('/tags', [{ taggroup: {}, _tags: names }])
  for (const tag of body[0]._tags) tags[tag.reference] = tag._id
  const grant = (rights: string) => wireGrant(toGroup(people.ids.staff), rights, {})
  open = (
    await createPool(root, { name: { 'en-US': 'Open' } }, { _acl: [grant('bag_read read create write link unlink')] })
  )._id
  closed = (await createPool(root, { name: { 'en-US': 'Closed' } }, { _acl: [grant('bag_read read')] }))._id
  await install(museum.svc, 'changing', {
    'manifest.yml': callbackManifest('changing', { args: [folder] }),
    'run.js': nodeScript(`
      const fs = require('node:fs')
      fs.appendFileSync(process.argv[2] + '/told', JSON.stringify(payload.objects) + '\\n')
      const change = JSON.parse(fs.readFileSync(process.argv[2] + '/change', 'utf8'))
      answer({ objects: payload.objects.map((object) => ({ ...object, ...change.object, work: { ...object.work, ...change.work } })) })`),
  })
})
after(async () => {
  await museum[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

const change = (what: object): Promise<void> => writeFile(join(folder, 'change'), JSON.stringify(what))
async function told(): Promise<Json[]> {
  const text = await readFile(join(folder, 'told'), 'utf8').catch(() => '')
  await rm(join(folder, 'told'), { force: true })
  return text
    .split('\n')
    .filter(Boolean)
    .flatMap((line) => JSON.parse(line))
}
async function transitions(list: object[]): Promise<void> {
  const answer = await root.post('/transitions', list)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
}
const save = (client: Client): Promise<Answer> =>
  client.post('/db/work', [
    payload('work', { ...inPool(open), title: { 'en-US': 'Work' } }, { _mask: 'work__standard' }),
  ])

test('PRESAVE-002 access rights come first, then callbacks, then transitions', async () => {
  const tagging = { type: 'set_tags', info: { tags: [{ _id: tags.checked, set: true }] } }
  await transitions([
    {
      type: 'process',
      operations: ['INSERT'],
      who: [toGroup(people.ids.staff)],
      'tagfilter:after': { all: [tags.draft] },
      actions: [tagging],
    },
  ])
  await change({ object: { _tags: [{ _id: tags.draft }] } })
  const stranger = await save(people.stranger)
  assert.ok(stranger.status >= 400, JSON.stringify(stranger.body))
  assert.deepEqual(await told(), [], 'who has no right there asks nobody')
  const { status, body } = await save(people.editor)
  assert.equal(status, 200, JSON.stringify(body))
  // The callback has seen no tag; the transition has seen the one that the callback set.
  assert.deepEqual(
    (await told()).map((object) => object._tags ?? []),
    [[]],
  )
  const [stored] = (await root.get(`/db/work/_all_fields/${body[0].work._id}`)).body
  assert.deepEqual(stored._tags.map(({ _id }: Json) => _id).sort(), [tags.draft, tags.checked].sort())
})

test('PRESAVE-004 transitions, constraints and rights look at what callbacks have made', async () => {
  const { rows: before } = await museum.svc.db.query('select count(*)::int as n from object')
  const rejecting = {
    type: 'reject',
    operations: ['INSERT'],
    who: [toGroup(people.ids.staff)],
    'tagfilter:after': { all: [tags.locked] },
  }
  const locked = { _tags: [{ _id: tags.locked }] }
  const moved = { _pool: { pool: { _id: closed } } }
  const wrong = { inventory: 'no number' }
  const outcome = async (list: object[], what: object): Promise<string> => {
    await transitions(list)
    await change(what)
    const { status, body } = await save(people.editor)
    return `${status} ${body.code ?? 'stored'}`
  }
  // The first would be refused by the constraint as well, which comes behind.
  assert.equal(await outcome([rejecting], { object: locked, work: wrong }), '400 TransitionRejected')
  assert.equal(await outcome([], { object: locked, work: wrong }), '400 ConstraintViolation')
  assert.equal(await outcome([], { object: moved }), '403 ObjectInsufficientRights')
  const { rows: after } = await museum.svc.db.query('select count(*)::int as n from object')
  assert.deepEqual(after, before)
  assert.equal(await outcome([], { object: locked }), '200 stored')
})
