import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { createPool } from '../pools/support.ts'
import { type People, seedPeople, toGroup, toUser, wireGrant } from '../rights/people.ts'
import type { Answer, Client, Json, Query } from '../support/client.ts'
import { assertNamed } from '../support/documented.ts'
import { inPool, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { statementsOf } from '../support/statements.ts'

let museum: Museum
let people: People
let root: Client
let pool: number
const tags: Record<string, number> = {}

before(async () => {
  museum = await startMuseum()
  people = await seedPeople(museum.svc)
  root = people.root
  const names = (...references: string[]) => references.map((reference) => ({ reference }))
  const { body } = await root.post('tags', [
    { taggroup: { type: 'choice' }, _tags: names('draft', 'review', 'published') },
    { taggroup: {}, _tags: names('checked', 'locked') },
  ])
  for (const tag of body.flatMap((group: Json) => group._tags)) tags[tag.reference] = tag._id
  const everything = wireGrant(toGroup(people.ids.staff), 'bag_read read create write delete change_owner', {})
  pool = (await createPool(root, { name: { 'en-US': 'Workshop' } }, { _acl: [everything] }))._id
})
after(() => museum[Symbol.asyncDispose]())
beforeEach(() => define([]))

async function define(list: object[]): Promise<Json[]> {
  const answer = await root.post('transitions', list)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

const tagged = (...names: string[]) => names.map((name) => ({ _id: tags[name] }))
const filter = (slot: string, ...names: string[]) => ({ [slot]: names.map((name) => tags[name]) })
const setTags = (changes: Record<string, boolean>) => ({
  type: 'set_tags',
  info: { tags: Object.entries(changes).map(([name, set]) => ({ _id: tags[name], set })) },
})

let number = 0
const post = (object: Json, query: Query = {}, client = people.editor): Promise<Answer> =>
  client.post('db/work', [object], query)
const work = (names: string[], block: object = {}): Json =>
  payload(
    'work',
    { ...inPool(pool), title: { 'en-US': `Work ${++number}` }, ...block },
    { _tags: tagged(...names), _mask: 'work__standard' },
  )

async function create(names: string[]): Promise<Json> {
  const answer = await post(work(names), {}, root)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body[0]
}

const edited = (stored: Json, names: string[]): Json =>
  work(names, { _id: stored.work._id, _version: stored.work._version })

async function stored(object: Json): Promise<Json> {
  const { body } = await root.get(`db/work/_all_fields/${object.work._id}`)
  return body[0]
}

const namesOf = (object: Json): string[] =>
  (object._tags ?? []).map((tag: Json) => Object.keys(tags).find((name) => tags[name] === tag._id)).sort()

test('TRASH-005 a transition is defined by what docs/workflow.md names: it fires where all its conditions hold', async () => {
  const types = (await root.get('objecttype')).body
  const typeId = (name: string) => types.find((entry: Json) => entry.objecttype.name === name).objecttype._id
  const definition = {
    type: 'reject',
    trigger: 'automatic',
    operations: ['UPDATE'],
    displayname: { 'en-US': 'No way back' },
    comment: 'published works stay published',
    confirm: { 'en-US': 'It is published.' },
    sticky: true,
    who: [toUser(people.ids.editor)],
    who_not: false,
    objecttype_ids: [typeId('work')],
    'tagfilter:before': filter('all', 'published'),
    'tagfilter:after': filter('any', 'draft', 'review'),
    actions: [],
  }
  const names = [...Object.keys(definition), 'event_types', 'all', 'any', 'not', 'changed']
  assertNamed('workflow.md', names)
  await define([definition])
  const [shown] = (await root.get('transitions')).body
  for (const [name, value] of Object.entries(definition)) {
    if (name !== 'who') assert.deepEqual(shown[name], value, name)
  }
  assert.equal(shown.who[0].user._id, people.ids.editor)

  const outcome = async (change: object) => {
    await define([])
    const object = await create(['published'])
    await define([{ ...definition, ...change }])
    const { status, body } = await post(edited(object, ['draft']))
    assert.ok(status === 200 || body.code === 'TransitionRejected', JSON.stringify(body))
    return status
  }
  assert.equal(await outcome({}), 400, 'all conditions hold')
  assert.equal(await outcome({ who: [], objecttype_ids: [] }), 400, 'nobody and no type named: everybody, all types')
  const unfit: Record<string, object> = {
    'another operation': { operations: ['INSERT', 'DELETE'] },
    'switched off': { operations: [] },
    'other people': { who: [toUser(people.ids.reader)] },
    'everybody else': { who_not: true },
    'another object type': { objecttype_ids: [typeId('person')] },
    'another state before': { 'tagfilter:before': filter('all', 'published', 'locked') },
    'another state after': { 'tagfilter:after': filter('any', 'review') },
    'no such change': { 'tagfilter:after': filter('changed', 'locked') },
    'not by itself': { trigger: 'manual', type: 'process', confirm: {} },
    'no refusal': { type: 'resolve', confirm: {} },
  }
  for (const [name, change] of Object.entries(unfit)) assert.equal(await outcome(change), 200, name)
})

test('a transition that fires changes tags and owner of what is saved, in the same version', async () => {
  await define([
    {
      type: 'process',
      operations: ['INSERT'],
      'tagfilter:after': filter('all', 'draft'),
      actions: [
        setTags({ review: true, checked: true }),
        { type: 'change_owner', info: { owner: toUser(people.ids.reader) } },
      ],
    },
  ])
  const object = await create(['draft'])
  assert.equal(object.work._version, 1)
  assert.deepEqual(namesOf(await stored(object)), ['checked', 'review'], 'review replaces draft in its choice group')
  assert.equal((await stored(object))._owner.user._id, people.ids.reader)
  assert.deepEqual(namesOf(await create(['published'])), ['published'])
})

test('a transition changes the owner also for callers who may not', async () => {
  await define([
    {
      type: 'process',
      operations: ['UPDATE'],
      'tagfilter:after': filter('changed', 'review'),
      actions: [{ type: 'change_owner', info: { owner: toGroup(people.ids.staff) } }],
    },
  ])
  const own = wireGrant(toUser(people.ids.stranger), 'bag_read read write')
  const place = (await createPool(root, { name: { 'en-US': 'Desk' } }, { _acl: [own] }))._id
  const { body } = await post(work([], inPool(place)), {}, root)
  const submitted = work(['review'], { ...inPool(place), _id: body[0].work._id, _version: 1 })
  const done = await post(submitted, {}, people.stranger)
  assert.equal(done.status, 200, JSON.stringify(done.body))
  assert.equal((await stored(body[0]))._owner.group._id, people.ids.staff)
})

test('a rejecting transition refuses the whole request with its text, and nothing is written', async () => {
  const [reject] = await define([
    {
      type: 'reject',
      operations: ['UPDATE'],
      who: [toGroup(people.ids.staff)],
      'tagfilter:before': filter('all', 'locked'),
      confirm: { 'en-US': 'Locked works stay as they are.' },
    },
  ])
  const [open, locked] = [await create([]), await create(['locked'])]
  const answer = await people.editor.post('db/work', [edited(open, ['checked']), edited(locked, ['locked', 'checked'])])
  assert.deepEqual([answer.status, answer.body.code], [400, 'TransitionRejected'], JSON.stringify(answer.body))
  assert.equal(answer.body.message, 'Locked works stay as they are.')
  assert.deepEqual(answer.body.parameters, {
    transition: reject._id,
    objects: [{ _system_object_id: locked._system_object_id }],
  })
  assert.deepEqual([(await stored(open)).work._version, (await stored(locked)).work._version], [1, 1])
  const byRoot = await post(edited(locked, ['checked']), {}, root)
  assert.equal(byRoot.status, 200, 'root is not in the group that it is for')
})

test('a confirmation is a 202 that writes nothing; the same request with confirmTransition is carried out', async () => {
  await define([
    {
      type: 'process',
      operations: ['UPDATE'],
      'tagfilter:after': filter('changed', 'published'),
      confirm: { 'de-DE': 'Veröffentlichen?', 'en-US': 'Publish?' },
      actions: [setTags({ checked: true })],
    },
  ])
  const object = await create([])
  const request = edited(object, ['published'])
  const asked = await post(request)
  assert.equal(asked.status, 202, JSON.stringify(asked.body))
  const [task] = asked.body.tasks
  assert.equal(task.message, 'Publish?')
  assert.equal(task.buttons[0].name, 'confirmTransition')
  assert.deepEqual(namesOf(await stored(object)), [])

  assert.equal((await post(request, { confirmTransition: 'made-up' })).status, 202)
  const query = { confirmTransition: task.buttons[0].value }
  const other = await post(edited(await create([]), ['published']), query)
  assert.equal(other.status, 202, 'the token confirms one object only')
  const done = await post(request, query)
  assert.equal(done.status, 200, JSON.stringify(done.body))
  assert.deepEqual(namesOf(await stored(object)), ['checked', 'published'])
  const unasked = await post(edited(await stored(object), ['published', 'checked']))
  assert.equal(unasked.status, 200, 'the tag did not change, so nobody is asked')
})

test('the confirmation of a new object holds although its ids are drawn anew', async () => {
  await define([{ type: 'process', operations: ['INSERT'], confirm: { 'en-US': 'Create?' } }])
  const request = work([])
  const asked = await post(request)
  assert.equal(asked.status, 202, JSON.stringify(asked.body))
  const done = await post(request, { confirmTransition: asked.body.tasks[0].buttons[0].value })
  assert.equal(done.status, 200, JSON.stringify(done.body))
})

test('when the transition has changed since, its new text is shown', async () => {
  const [ask] = await define([{ type: 'process', operations: ['INSERT'], confirm: { 'en-US': 'Old text?' } }])
  const request = work([])
  const asked = await post(request)
  await define([{ ...ask, confirm: { 'en-US': 'New text?' } }])
  const again = await post(request, { confirmTransition: asked.body.tasks[0].buttons[0].value })
  assert.deepEqual([again.status, again.body.tasks[0].message], [202, 'New text?'])
})

test('deleting asks, too, and the chosen delete_policy is carried over', async () => {
  const [object] = [await create([])]
  await define([{ type: 'resolve', operations: ['DELETE'], confirm: { 'en-US': 'Really delete?' } }])
  const body = [[object.work._id, 1, null]]
  const asked = await root.delete('db/work', body, { delete_policy: 'remove' })
  assert.equal(asked.status, 202, JSON.stringify(asked.body))
  const query = Object.fromEntries(
    asked.body.tasks[0].buttons.flatMap((button: Json) => (button.name ? [[button.name, button.value]] : [])),
  )
  assert.equal(query.delete_policy, 'remove')
  const done = await root.delete('db/work', body, query)
  assert.equal(done.status, 200, JSON.stringify(done.body))
})

test('transitions of a pool come after those of the instance; a private pool keeps sticky ones only', async () => {
  const mark = (name: string, more: object = {}) => ({
    type: 'process',
    operations: ['INSERT'],
    actions: [setTags({ [name]: true })],
    ...more,
  })
  await define([mark('draft'), mark('locked', { sticky: true })])
  const own = { _transitions: [mark('checked')] }
  const shared = await createPool(root, { name: { 'en-US': 'Shared' } }, own)
  const alone = await createPool(root, { name: { 'en-US': 'Alone' } }, { ...own, _private_transitions: true })
  const tagsIn = async (id: number) => {
    const answer = await post(work([], inPool(id)), {}, root)
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return namesOf(await stored(answer.body[0]))
  }
  assert.deepEqual(await tagsIn(shared._id), ['checked', 'draft', 'locked'])
  assert.deepEqual(await tagsIn(alone._id), ['checked', 'locked'])
  const { body } = await root.get(`pool/${shared._id}`)
  assert.equal(body[0]._transitions[0].actions[0].info.tags[0]._id, tags.checked)
})

test('a manual transition is offered to those who may run it, asks, and runs on stored objects', async () => {
  const [publish] = await define([
    {
      type: 'process',
      trigger: 'manual',
      displayname: { 'en-US': 'Publish' },
      who: [toUser(people.ids.editor)],
      'tagfilter:before': filter('all', 'review'),
      confirm: { 'en-US': 'Publish?' },
      actions: [setTags({ published: true })],
    },
  ])
  const { body: types } = await root.get('objecttype')
  const objecttype = types.find((entry: Json) => entry.objecttype.name === 'work').objecttype._id
  const offered = async (client: Client) => {
    const { body } = await client.get('transitions/manual', { objecttype_id: objecttype, pool_id: pool })
    return body.map((entry: Json) => entry._id)
  }
  assert.deepEqual(await offered(people.editor), [publish._id])
  assert.deepEqual(await offered(people.reader), [])
  const own = {
    type: 'process',
    trigger: 'manual',
    displayname: { 'en-US': 'Own' },
    actions: [setTags({ locked: true })],
  }
  const { _id } = await createPool(root, { name: { 'en-US': 'With its own' } }, { _transitions: [own] })
  const here = (await root.get('transitions/manual', { objecttype_id: objecttype, pool_id: _id })).body
  assert.ok(here.some((entry: Json) => entry.displayname['en-US'] === 'Own'))

  const [ready, unready] = [await create(['review', 'locked']), await create(['draft'])]
  const ref = (object: Json, more: object = {}) => ({ _system_object_id: object._system_object_id, ...more })
  const run = (body: object[], query: Query = {}, client = people.editor) =>
    client.post(`transitions/${publish._id}/run`, body, query)
  const asked = await run([ref(ready)])
  assert.equal(asked.status, 202, JSON.stringify(asked.body))
  const query = { confirmTransition: asked.body.tasks[0].buttons[0].value }
  const done = await run([ref(ready, { _version: 1 })], query)
  assert.deepEqual([done.status, done.body], [200, [{ _system_object_id: ready._system_object_id, _version: 2 }]])
  assert.deepEqual(namesOf(await stored(ready)), ['locked', 'published'])

  const refusals: [string, Promise<Answer>, number, string][] = [
    ['wrong state', run([ref(unready)]), 400, 'TransitionNotApplicable'],
    ['one of two', run([ref(await create(['review'])), ref(unready)]), 400, 'TransitionNotApplicable'],
    ['not for this user', run([ref(unready)], {}, people.reader), 400, 'TransitionNotApplicable'],
    ['not to be seen', run([ref(unready)], {}, people.stranger), 404, 'ObjectNotFound'],
    ['stale version', run([ref(ready, { _version: 1 })]), 400, 'VersionMismatch'],
    ['no object', run([{ _system_object_id: 999_999 }]), 404, 'ObjectNotFound'],
    ['twice', run([ref(ready), ref(ready)]), 400, 'ServerGeneric'],
    ['nothing', run([]), 400, 'ServerGeneric'],
    ['no transition', people.editor.post('transitions/99999/run', [ref(ready)]), 404, 'TransitionNotFound'],
  ]
  for (const [what, answer, status, code] of refusals) {
    const { status: got, body } = await answer
    assert.deepEqual([what, got, body.code], [what, status, code], JSON.stringify(body))
  }
})

test('skip_constraints, dry_run: a dry run shows the outcome and writes nothing', async () => {
  await define([{ type: 'process', operations: ['INSERT'], actions: [setTags({ checked: true })] }])
  const answer = await post(work([]), { dry_run: true }, root)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  assert.deepEqual(namesOf(answer.body[0]), ['checked'])
  assert.equal(answer.body[0]._system_object_id, undefined)
})

test('several tags of one choice group: refused, with skip_constraints stored', async () => {
  const object = work(['draft', 'published'])
  const refused = await post(object, {}, root)
  assert.deepEqual([refused.status, refused.body.code], [400, 'ConstraintViolation'], JSON.stringify(refused.body))
  assert.equal(refused.body.parameters.rule, 'choice')
  const done = await post(object, { skip_constraints: true }, root)
  assert.equal(done.status, 200, JSON.stringify(done.body))
  assert.deepEqual(namesOf(await stored(done.body[0])), ['draft', 'published'])
})

// A longer answer is read and written in portions of a hundred objects and more, by their size: two statements each.
test('two runs of the engine over a big batch: one statement count for 5 and for 100 objects', async () => {
  await define([{ type: 'process', operations: ['INSERT'], actions: [setTags({ checked: true })] }])
  const save = (count: number, enough = 0) => {
    const request = async () => {
      const answer = await root.post(
        'db/work',
        Array.from({ length: count }, () => work([])),
        { skip_index: true },
      )
      assert.equal(answer.status, 200, JSON.stringify(answer.body).slice(0, 500))
    }
    return statementsOf(museum.svc, request, { enough })
  }
  await save(5)
  const few = await save(5)
  assert.equal(await save(100, few), few)
  assert.ok((await save(500, few + 2 * 4)) <= few + 2 * 4)
})
