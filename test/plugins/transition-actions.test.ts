import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { createPool } from '../pools/support.ts'
import { type People, seedPeople, toGroup, wireGrant } from '../rights/people.ts'
import type { Answer, Client, Json, Query } from '../support/client.ts'
import { inPool, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { startWebhookServer, type WebhookServer } from '../support/webhook-server.ts'
import { install, nodeScript, switched } from './support.ts'

let museum: Museum
let people: People
let root: Client
let folder: string
let receiver: WebhookServer
let open: number
let closed: number
let plugin: Json
let tag: number

const exec = (name: string) => ({
  exec: {
    service: 'node',
    commands: [
      {
        ...{ prog: 'node', stdin: { type: 'body' }, stdout: { type: 'body' } },
        args: [{ type: 'value', value: '%_exec.pluginDir%/run.js' }, folder, name],
      },
    ],
  },
})

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'plugins-'))
  receiver = await startWebhookServer()
  museum = await startMuseum()
  people = await seedPeople(museum.svc)
  await museum.svc.listen()
  root = people.root
  const { body } = await root.post('/tags', [{ taggroup: {}, _tags: [{ reference: 'seen' }] }])
  tag = body[0]._tags[0]._id
  const grant = (rights: string) => wireGrant(toGroup(people.ids.staff), rights, {})
  const may = [grant('bag_read read create write delete link unlink')]
  open = (await createPool(root, { name: { 'en-US': 'Open' } }, { _acl: may }))._id
  closed = (await createPool(root, { name: { 'en-US': 'Closed' } }, { _acl: [grant('bag_read read')] }))._id
  plugin = await install(museum.svc, 'flow', {
    'manifest.yml': JSON.stringify({
      plugin: { name: 'flow' },
      callbacks: {
        db_pre_save: { steps: [{ callback: 'step' }], callbacks: { step: exec('step') } },
        transition_db_pre_save: { gate: exec('gate'), second: exec('second') },
      },
    }),
    'run.js': nodeScript(`
      const fs = require('node:fs')
      const [, , folder, name] = process.argv
      fs.appendFileSync(folder + '/told', JSON.stringify({ name, ...payload }) + '\\n')
      const code = JSON.parse(fs.readFileSync(folder + '/behaviour', 'utf8'))[name]
      if (!code) return answer({ objects: [] })
      const AsyncFunction = (async () => {}).constructor
      await new AsyncFunction('payload', 'answer', code)(payload, answer)`),
  })
  const configured = await root.post('/config', {
    system: { config: { transition_webhook: { webhooks: [hook({})] } } },
  })
  assert.equal(configured.status, 200, JSON.stringify(configured.body))
})
after(async () => {
  await museum[Symbol.asyncDispose]()
  await receiver[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})
beforeEach(async () => {
  await rm(join(folder, 'told'), { force: true })
  receiver.calls.length = 0
  receiver.answer = () => ({ body: '{"objects": []}' })
  await behave({})
})

const hook = (more: object) => ({ name: 'hook', url: receiver.url, method: 'POST', secret: 'shared', ...more })
const behave = (code: Readonly<Record<string, string>>): Promise<void> =>
  writeFile(join(folder, 'behaviour'), JSON.stringify(code))

/** Sends back all objects, each changed. */
const changing = (change: string): string => `
  answer({ objects: payload.objects.map((object) => {
    const { work: block } = object
    ${change}
    return object
  }) })`

async function told(): Promise<Json[]> {
  const text = await readFile(join(folder, 'told'), 'utf8').catch(() => '')
  await rm(join(folder, 'told'), { force: true })
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}
const names = async (): Promise<string[]> => (await told()).map(({ name }) => name)

const gate = { type: 'flow:gate', info: { word: 'checked', api_url: 'http://elsewhere' } }
const asking = { type: 'webhook', info: { name: 'hook', callback: 'pre_save' } }

async function define(...list: object[]): Promise<Json[]> {
  const answer = await root.post(
    '/transitions',
    list.map((entry) => ({ type: 'process', operations: ['INSERT', 'UPDATE'], ...entry })),
  )
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

let number = 0
const work = (block: object = {}, rest: object = {}): object =>
  payload(
    'work',
    { ...inPool(open), title: { 'en-US': `Work ${++number}` }, ...block },
    { _mask: 'work__standard', ...rest },
  )
const save = (objects: readonly object[], client: Client = root, query: Query = {}): Promise<Answer> =>
  client.post('/db/work', objects, query)
async function saved(block: object = {}, query: Query = {}): Promise<Json> {
  const { status, body } = await save([work(block)], root, query)
  assert.equal(status, 200, JSON.stringify(body))
  return body[0]
}
const stored = async (object: Json): Promise<Json> =>
  (await root.get(`/db/work/_all_fields/${object.work._id}`)).body[0]
async function count(table: string): Promise<number> {
  const { rows } = await museum.svc.db.query<{ n: number }>(`select count(*)::int as n from ${table}`)
  return rows[0]?.n ?? -1
}
const outcome = ({ status, body }: Answer): string => `${status} ${body.code ?? 'stored'}`

test('an action names a callback of a plugin that is on; what it is told besides is its info', async () => {
  const defined = await define({ actions: [gate] })
  assert.deepEqual(defined[0]?.actions, [gate])
  for (const type of ['flow:step', 'flow:none', 'none:gate', 'flow:', ':gate', 'other']) {
    const { status, body } = await root.post('/transitions', [{ type: 'process', actions: [{ type, info: {} }] }])
    assert.deepEqual([type, status, body.parameters.path], [type, 400, 'body[0].actions[0].type'])
  }
  const object = await saved()
  const [step, action] = await told()
  assert.deepEqual([step?.name, action?.name], ['step', 'gate'])
  const { word, api_url, ...info } = action?.info ?? {}
  // The contract stays what it is, whatever an action says.
  assert.deepEqual([word, api_url, info.api_user.user.login], ['checked', step?.info.api_url, 'root'])
  assert.deepEqual(
    Object.keys(info).sort(),
    Object.keys(step?.info)
      .filter((key) => key !== 'api_url')
      .sort(),
  )
  const [shown] = action?.objects ?? []
  assert.equal(shown._mask, '_all_fields')
  assert.equal(shown.work.title['en-US'], object.work.title['en-US'])
  assert.match(shown._callback_context.hash, /./)
})

test('it runs behind all steps, for the objects that the transition fires for, and changes them', async () => {
  await define({ 'tagfilter:after': { all: [tag] }, actions: [gate, { type: 'flow:second', info: {} }] })
  await behave({
    step: changing(`if (block.note === 'by tag') object._tags = [{ _id: ${tag} }]`),
    gate: changing(`block.note = 'gate'; object._comment = payload.info.word`),
    second: changing(`block.note += ' and second'`),
  })
  const { status, body } = await save([work({ note: 'by tag' }), work({ note: 'left alone' })])
  assert.equal(status, 200, JSON.stringify(body))
  const calls = await told()
  assert.deepEqual(
    calls.map(({ name, objects }) => [name, objects.map((object: Json) => object.work.note)]),
    [
      ['step', ['by tag', 'left alone']],
      ['gate', ['by tag']],
      ['second', ['gate']],
    ],
  )
  const [one, two] = await Promise.all(body.map(stored))
  assert.deepEqual([one.work.note, one._comment], ['gate and second', 'checked'])
  assert.deepEqual([two.work.note, two._comment ?? null], ['left alone', null])
  // What a callback makes of an object may be what another transition waits for: each is asked once of each.
  await define({ actions: [gate] }, { 'tagfilter:after': { all: [tag] }, actions: [{ type: 'flow:second', info: {} }] })
  await behave({ gate: changing(`object._tags = [{ _id: ${tag} }]`) })
  await saved()
  assert.deepEqual(await names(), ['step', 'gate', 'second'])
})

test('it refuses in its own words, and nothing is stored; a plugin that is off lets nothing pass', async () => {
  const objects = await count('object')
  await define({ actions: [gate] })
  await behave({
    gate: `answer({ error: { code: 'flow.no', statuscode: 409, parameters: { word: payload.info.word } } })`,
  })
  const { status, body } = await save([work(), work()])
  assert.deepEqual([status, body.code, body.parameters], [409, 'flow.no', { word: 'checked' }])
  await behave({ gate: 'process.exit(2)' })
  const failed = await save([work()])
  assert.deepEqual(
    [failed.status, failed.body.code, failed.body.parameters.callback],
    [400, 'DbPreSaveFailed', 'flow:gate'],
  )
  await behave({})
  await switched(museum.svc, plugin.id, false)
  try {
    assert.equal(outcome(await save([work()])), '400 DbPreSaveFailed')
    // The list with it may be saved on, and a new one may not have it.
    const [transition] = (await root.get('/transitions')).body
    assert.equal((await root.post('/transitions', [{ ...transition, comment: 'changed' }])).status, 200)
    assert.equal((await root.post('/transitions', [{ type: 'process', actions: [gate] }])).status, 400)
  } finally {
    await switched(museum.svc, plugin.id, true)
  }
  assert.equal(await count('object'), objects)
  assert.equal(outcome(await save([work()])), '200 stored')
  await told()
  await saved({}, { skip_plugins: 1 })
  assert.deepEqual(await names(), [], 'skip_plugins skips all callbacks')
})

test('a deletion and a transition that somebody runs may be refused; a deletion takes no changes', async () => {
  const [manual] = await define(
    { trigger: 'manual', operations: [], displayname: { 'en-US': 'Check' }, actions: [gate] },
    { operations: ['DELETE'], actions: [{ type: 'flow:second', info: {} }] },
  )
  const object = await saved({}, { skip_plugins: 1 })
  const run = (): Promise<Answer> =>
    root.post(`/transitions/${manual?._id}/run`, [{ _system_object_id: object._system_object_id }])
  const remove = (): Promise<Answer> => root.delete('/db/work', [[object.work._id, 1]], { delete_policy: 'remove' })
  const no = `answer({ error: { code: 'flow.no', statuscode: 400 } })`
  await behave({ gate: no, second: no })
  assert.deepEqual([outcome(await run()), outcome(await remove())], ['400 flow.no', '400 flow.no'])
  await behave({ second: changing('') })
  assert.equal(outcome(await remove()), '400 DbPreSaveFailed')
  await behave({})
  await told()
  assert.deepEqual([outcome(await run()), outcome(await remove())], ['200 stored', '200 stored'])
  const calls = await told()
  assert.deepEqual(
    calls.map(({ name, objects }) => [name, objects[0]._current.work._id]),
    [
      ['gate', object.work._id],
      ['second', object.work._id],
    ],
  )
})

test('a transition that somebody runs stores what its callbacks make of the objects, all or nothing', async () => {
  const [manual] = await define({
    trigger: 'manual',
    operations: [],
    displayname: { 'en-US': 'Check' },
    actions: [gate, { type: 'flow:second', info: {} }, asking],
  })
  const list = [
    await saved({ note: 'one' }, { skip_plugins: 1 }),
    await saved({ note: 'two' }, { skip_plugins: 1 }),
    await saved({ note: 'three' }, { skip_plugins: 1 }),
  ]
  const run = (client: Client, objects: readonly Json[] = list): Promise<Answer> =>
    client.post(
      `/transitions/${manual?._id}/run`,
      objects.map(({ _system_object_id }) => ({ _system_object_id })),
    )
  const notes = async (): Promise<Json[]> =>
    Promise.all(list.map(stored)).then((all) => all.map(({ work: { note, _version } }) => `${note} ${_version}`))
  await told()
  // One is changed by all of them, one is sent back as it was, one is left alone.
  await behave({
    gate: `answer({ objects: payload.objects.filter((object) => object.work.note !== 'three').map((object) => {
      if (object.work.note === 'one') { object.work.note = 'gate'; object._comment = payload.info.word; object._tags = [{ _id: ${tag} }] }
      return object
    }) })`,
    second: changing(`if (block.note === 'gate') block.note += ' and second'`),
  })
  receiver.answer = ({ body }) => ({
    body: JSON.stringify({
      objects: body.objects.flatMap((object: Json) =>
        object.work.note.startsWith('gate')
          ? { ...object, work: { ...object.work, note: `${object.work.note}, hook` } }
          : [],
      ),
    }),
  })
  const { status, body } = await run(people.editor)
  assert.deepEqual(
    [status, body.map(({ _version }: Json) => _version)],
    [200, [2, 1, 1]],
    'an object that comes to what it was gets no new version',
  )
  assert.deepEqual(await notes(), ['gate and second, hook 2', 'two 1', 'three 1'])
  const [one] = list
  const changed = await stored(one as Json)
  assert.equal(changed._comment, 'checked')
  assert.deepEqual(
    changed._tags.map(({ _id }: Json) => _id),
    [tag],
  )
  const shown = (await told()).map(({ name, objects }) => [name, objects.map((object: Json) => object.work.note)])
  assert.deepEqual(shown, [
    ['gate', ['one', 'two', 'three']],
    ['second', ['gate', 'two', 'three']],
  ])
  // What they make of it passes all that a save passes, and a refusal does not tell values that nobody has sent.
  receiver.answer = () => ({ body: '{"objects": []}' })
  const before = await notes()
  for (const [change, expected] of [
    [`if (block.note === 'three') block.inventory = 'no number'`, '400 ConstraintViolation'],
    [`Object.assign(block, ${JSON.stringify(inPool(closed))})`, '403 ObjectInsufficientRights'],
    [`object._mask = 'work__standard'`, '400 DbPreSaveFailed'],
    [`block.title = null; block._id = 1`, '400 DbPreSaveFailed'],
  ] as const) {
    await behave({ gate: changing(change) })
    const answer = await run(people.editor)
    assert.equal(outcome(answer), expected, change)
    assert.ok(!JSON.stringify(answer.body).includes('no number'), 'a value is told')
  }
  assert.deepEqual(await notes(), before)
  // Another one saves an object meanwhile.
  await behave({
    gate: `
      const headers = { authorization: 'Bearer ' + payload.info.api_user_access_token, 'content-type': 'application/json' }
      for (const { work } of payload.objects.filter((object) => object.work.note === 'two')) {
        const part = { _objecttype: 'work', _mask: 'work__standard', work: { _id: work._id, _version: 1, note: 'between' } }
        await fetch(payload.info.api_url + '/api/v1/db/work', { method: 'PATCH', headers, body: JSON.stringify([part]) })
      }
      answer({ objects: payload.objects.map((object) => ({ ...object, work: { ...object.work, note: 'late' } })) })`,
  })
  const late = await run(people.editor)
  assert.deepEqual([outcome(late), late.body.parameters.expected], ['400 VersionMismatch', 2])
  assert.deepEqual(await notes(), [before[0], 'between 2', before[2]])
})

test('PRESAVE-003 transitions come first, then constraints, then save rights, then the write', async () => {
  await define({
    type: 'reject',
    operations: ['INSERT'],
    who: [toGroup(people.ids.staff)],
    'tagfilter:after': { all: [tag] },
    actions: [],
  })
  const taken = 'A1'
  await saved({ inventory: taken })
  const [objects, events] = [await count('object'), await count(`event where type like 'OBJECT%'`)]
  const wrong = { inventory: 'no number' }
  const tagged = { _tags: [{ _id: tag }] }
  const foreign = inPool(closed)
  const tried = async (block: object, rest: object = {}): Promise<string> => {
    const change = { ...block, ...rest }
    await behave({
      step: changing(`Object.assign(block, ${JSON.stringify(block)}); Object.assign(object, ${JSON.stringify(rest)})`),
    })
    const answer = await save([work()], people.editor)
    return `${outcome(answer)} ${Object.keys(change).length}`
  }
  // Each of them would be refused by all that comes behind as well.
  assert.equal(await tried({ ...wrong, ...foreign }, tagged), '400 TransitionRejected 3')
  assert.equal(await tried({ ...wrong, ...foreign }), '400 ConstraintViolation 2')
  assert.equal(await tried({ inventory: taken, ...foreign }), '403 ObjectInsufficientRights 2')
  assert.equal(await tried({ inventory: taken }), '400 DatabaseUniqueKeyViolation 1')
  assert.deepEqual(
    [await count('object'), await count(`event where type like 'OBJECT%'`)],
    [objects, events],
    'nothing is written',
  )
  // Constraints and rights look at what actions of transitions have made, and rights at what constraints have let pass.
  await define({ actions: [gate] })
  for (const [made, expected] of [
    [wrong, '400 ConstraintViolation'],
    [{ ...wrong, ...foreign }, '400 ConstraintViolation'],
    [foreign, '403 ObjectInsufficientRights'],
    [{ inventory: 'A2' }, '200 stored'],
  ] as const) {
    // What is sent and what the step makes of it would be refused.
    await behave({
      step: changing(`block.inventory = 'no number'`),
      gate: changing(`block.inventory = null; Object.assign(block, ${JSON.stringify(made)})`),
    })
    assert.equal(outcome(await save([work()], people.editor)), expected, JSON.stringify(made))
  }
})

test('PRESAVE-001 each save asks in one with its write: all is stored or nothing, and nobody sees it before', async () => {
  await define()
  const [one, two] = [await saved({ note: 'one' }), await saved({ note: 'two' })]
  const update = (object: Json, version: number, note: string) =>
    work({ _id: object.work._id, _version: version, note })
  await told()
  // Every way in: an insert, an update, a part of an object, a group.
  await save([work()])
  await save([update(one, 1, 'update')])
  await root.patch('/db/work', [payload('work', { _id: two.work._id, _version: 1, note: 'part' })])
  await save([payload('work', { _id: [one.work._id, two.work._id], note: 'group' })])
  await save([work()], root, { dry_run: 1 })
  assert.deepEqual(
    (await told()).map(({ name, objects }) => `${name} ${objects.length}`),
    ['step 1', 'step 1', 'step 1', 'step 2', 'step 1'],
  )
  // Meanwhile others see what was; a callback reads and writes, and what it writes of others stays.
  const call = `
    const call = (path, body) => fetch(payload.info.api_url + '/api/v1' + path, { method: body ? 'POST' : 'GET',
      body: body && JSON.stringify(body), headers: { authorization: 'Bearer ' + payload.info.api_user_access_token, 'content-type': 'application/json' } })
      .then((response) => response.json())`
  const events = await count(`event where type like 'OBJECT%'`)
  await behave({
    step: `${call}
      const [seen] = await call('/db/work/_all_fields/${one.work._id}')
      const all = await call('/db/work/_all_fields/list?limit=1000')
      const made = await call('/db/topic?skip_plugins=1', [{ _objecttype: 'topic', _mask: '_all_fields', topic: { name: 'Made' } }])
      answer({ error: { code: 'flow.seen', statuscode: 400, parameters: { note: seen.work.note, works: all.length, made: made[0].topic.name } } })`,
  })
  const works = async (): Promise<number> => (await root.get('/db/work/_all_fields/list', { limit: 1000 })).body.length
  const before = await works()
  const seen = await save([work(), update(one, 3, 'not seen yet')])
  assert.deepEqual(
    [outcome(seen), seen.body.parameters],
    ['400 flow.seen', { note: 'group', works: before, made: 'Made' }],
  )
  // The refusal has undone all of the request: no object, no version, no event but that of the topic.
  assert.deepEqual([await works(), (await stored(one)).work._version], [before, 3])
  assert.equal((await stored(one)).work.note, 'group')
  assert.equal(await count(`event where type like 'OBJECT%'`), events + 1)
  // What fails behind the callback undoes it as well.
  await behave({ step: changing(`if (block.note === 'broken') block.inventory = 'no number'`) })
  assert.equal(outcome(await save([work({ note: 'fine' }), work({ note: 'broken' })])), '400 ConstraintViolation')
  assert.equal(await works(), before)
  // The write is the one that the callback has seen: whatever comes between ends the request.
  await behave({
    step: `${call}
      const now = payload.objects[0]._current
      if (now?.work._version === 3) await call('/db/work?skip_plugins=1', [{ _objecttype: 'work', _mask: '_all_fields', work: { ...now.work, _version: 3, note: 'between' } }])
      answer({ objects: [] })`,
  })
  assert.equal(outcome(await save([update(one, 3, 'late'), work()])), '400 VersionMismatch')
  assert.deepEqual([await works(), (await stored(one)).work.note], [before, 'between'])
})

test('a webhook with callback pre_save is asked by the same contract', async () => {
  const [defined] = await define({ actions: [asking] })
  assert.deepEqual(defined?.actions, [asking])
  receiver.answer = ({ body }) => ({
    body: JSON.stringify({
      objects: body.objects.map((object: Json) => ({ ...object, work: { ...object.work, note: 'by the receiver' } })),
    }),
  })
  const object = await saved()
  assert.equal((await stored(object)).work.note, 'by the receiver')
  const [call] = receiver.calls
  assert.deepEqual(Object.keys(call?.body).sort(), ['info', 'objects'])
  const { info, objects } = call?.body ?? {}
  assert.deepEqual(Object.keys(info).sort(), ['api_url', 'api_user', 'external_url', 'request'])
  assert.equal(objects[0]._mask, '_all_fields')
  assert.match(String(call?.headers['x-hub-signature-256']), /^sha256=[0-9a-f]{64}$/)
  assert.equal(call?.headers.authorization, undefined)
  const before = await count('object')
  const answers: [string, () => ReturnType<WebhookServer['answer']>, string][] = [
    ['no change', () => ({ body: '{"objects": []}' }), '200 stored'],
    ['empty', () => ({ body: '' }), '400 DbPreSaveFailed'],
    ['half', () => ({ body: '{"objects": [' }), '400 DbPreSaveFailed'],
    ['no list', () => ({ body: '{"ok": true}' }), '400 DbPreSaveFailed'],
    ['a status', () => ({ status: 500, body: '{"objects": []}' }), '400 DbPreSaveFailed'],
    [
      'a redirect',
      () => ({ status: 302, headers: { location: receiver.url }, body: '{"objects": []}' }),
      '400 DbPreSaveFailed',
    ],
    ['an error', () => ({ body: '{"error": {"code": "hook.no", "statuscode": 418}}' }), '418 hook.no'],
    ['an error with a status', () => ({ status: 400, body: '{"error": {"code": "hook.no"}}' }), '400 hook.no'],
    ['foreign', () => ({ body: '{"objects": [{"_callback_context": {"hash": "x"}}]}' }), '400 DbPreSaveFailed'],
  ]
  for (const [name, answer, expected] of answers) {
    receiver.answer = answer
    assert.equal(outcome(await save([work()])), expected, name)
  }
  assert.equal(await count('object'), before + 1)
  receiver.answer = () => 'hang'
  await root.post('/config', { system: { config: { transition_webhook: { webhooks: [hook({ timeout: 1 })] } } } })
  assert.equal(outcome(await save([work()])), '400 DbPreSaveFailed')
})

test('a receiver gets a token of the caller where its settings say so, for as long as it is asked', async () => {
  const settings = hook({ send_authorization_header: true, include_access_token: true })
  await root.post('/config', { system: { config: { transition_webhook: { webhooks: [settings] } } } })
  await define({ actions: [asking] })
  receiver.answer = () => ({ body: '{"objects": []}' })
  assert.equal(outcome(await save([work()], people.editor)), '200 stored')
  const [call] = receiver.calls
  const token = call?.body.info.api_user_access_token
  assert.equal(call?.headers.authorization, `Bearer ${token}`)
  assert.equal(call?.body.info.api_user.user.login, 'editor')
  const late = await museum.svc.inject({ url: '/api/v1/user/session', headers: { authorization: `Bearer ${token}` } })
  assert.equal(late.statusCode, 401, 'a token holds after its call')
  const { rows } = await museum.svc.db.query<{ info: Json }>(`select info from event where type like 'WEBHOOK%'`)
  assert.ok(rows.length > 0 && !JSON.stringify(rows).includes(token))
})

test('who may not see all may let nobody be asked of all: that webhook is for root to set', async () => {
  await define()
  const rights = { 'system.tagmanager': {} }
  const made = await root.post('/user', [{ user: { login: 'tagger' }, _password: 'tagger', _system_rights: rights }], {
    confirm: 'ignore_password_requirements',
  })
  assert.equal(made.status, 200, JSON.stringify(made.body))
  const tagger = museum.svc.as('tagger')
  const list = (action: object) => [{ type: 'process', operations: ['INSERT'], actions: [action] }]
  const refused = await tagger.post('/transitions', list(asking))
  assert.deepEqual([refused.status, refused.body.code], [403, 'SystemRightRequired'])
  assert.equal((await tagger.post('/transitions', list(gate))).status, 200)
  // A plugin is asked all the same, and may refuse; it changes nothing that whoever has set the action may not change.
  await told()
  await saved()
  assert.deepEqual(await names(), ['step', 'gate'])
  await behave({ gate: changing(`block.note = 'changed'`) })
  const changed = await save([work()])
  assert.equal(outcome(changed), '400 DbPreSaveFailed')
  assert.match(changed.body.message, /flow:gate: the user who has set the transition may not change the object/)
  // A receiver is asked for as long as whoever has set that is root.
  await behave({})
  const give = async (_system_rights: object): Promise<void> => {
    const [{ user }] = (await root.get(`/user/${made.body[0].user._id}`)).body
    const answer = await root.post('/user', [{ user: { _id: user._id, _version: user._version }, _system_rights }])
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
  }
  await give({ 'system.root': {} })
  assert.equal((await tagger.post('/transitions', list(asking))).status, 200)
  assert.equal(outcome(await save([work()])), '200 stored')
  await give(rights)
  const calls = receiver.calls.length
  const untold = await save([work()])
  assert.deepEqual([outcome(untold), receiver.calls.length], ['400 DbPreSaveFailed', calls])
  assert.match(untold.body.message, /the user who has set the transition/)
})
