import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import type { Client, Json } from '../support/client.ts'
import { inPool, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { install } from './support.ts'

let museum: Museum
let root: Client
let folder: string

const name = 'custom-data-type-test'
/** A program that notes what it is asked, and answers as the file of the moment says. */
const script = `
  const fs = require('node:fs')
  const info = JSON.parse(process.argv[2])
  const folder = process.argv[3]
  let input = ''
  process.stdin.on('data', (chunk) => { input += chunk })
  process.stdin.on('end', () => {
    const payload = JSON.parse(input)
    fs.appendFileSync(folder + '/told', JSON.stringify({ ...payload, acts: info.plugin_user?.user.login }) + '\\n')
    const say = (body, status_code = 200) => process.stdout.write(JSON.stringify({ status_code, body }))
    new Function('payload', 'say', fs.readFileSync(folder + '/behaviour', 'utf8'))(payload, say)
  })`

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'plugins-'))
  museum = await startMuseum()
  root = museum.svc.as('root')
  await install(museum.svc, name, {
    'manifest.yml': JSON.stringify({
      plugin: { name },
      base_config: [{ name: 'every', parameters: { days: { type: 'int', min: 0, default: 3 } } }],
      custom_types: {
        term: {
          mapping: { conceptName: { type: 'text' }, rank: { type: 'number' } },
          update: {
            plugin_user: { reference: 'system:root' },
            exec: {
              service: 'node',
              commands: [
                {
                  ...{ prog: 'node', stdin: { type: 'body' }, stdout: { type: 'body' } },
                  args: ['%_exec.pluginDir%/update.js', '%info.json%', folder],
                },
              ],
            },
            ...{ timeout: 60, batch_size: 2, expires_days: 3, interval_base_config: 'every.days' },
          },
        },
      },
    }),
    'update.js': script,
  })
  await activate(true)
  // Events of a user-logged type name the user where the instance wants that.
  const logged = await root.post('/config/system/config', { user: { user_in_event_group: ['SYSTEM'] } })
  assert.equal(logged.status, 200, JSON.stringify(logged.body))
})
after(async () => {
  await museum[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})
beforeEach(async () => {
  await rm(join(folder, 'told'), { force: true })
  await afresh()
})

async function activate(active: boolean): Promise<void> {
  const answer = await root.post('/config/system/config', { custom_data_type_updater: { active } })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
}
const behave = (code: string): Promise<void> => writeFile(join(folder, 'behaviour'), code)
async function told(): Promise<Json[]> {
  const text = await readFile(join(folder, 'told'), 'utf8').catch(() => '')
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}
const actions = async (): Promise<string[]> => (await told()).map(({ action }) => action)
const later = (days: number): Date => new Date(Date.now() + days * 86_400_000)

async function save(vocabulary: object | null, block: object = {}): Promise<Json> {
  const answer = await root.post('/db/work', [payload('work', { ...inPool(museum.pool), vocabulary, ...block })], {
    format: 'full',
  })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body[0]
}
const stored = async (object: Json): Promise<Json> =>
  (await root.get(`/db/work/_all_fields/${object.work._id}`, { format: 'full' })).body[0].work
async function events(): Promise<Json[]> {
  const { body } = await root.get('/event/list', { type: 'CUSTOM_DATA_TYPE_UPDATER,CUSTOM_DATA_TYPE_UPDATER_ERROR' })
  return body.objects.map(({ event }: Json) => event)
}
async function found(conceptName: string): Promise<number> {
  await museum.svc.drain()
  const search = [{ type: 'in', fields: ['work.vocabulary.conceptName'], in: [conceptName] }]
  return (await root.post('/search', { type: 'object', objecttypes: ['work'], search })).body.count
}
/** Forgets all values, and what was logged of them. */
async function afresh(): Promise<void> {
  await museum.svc.db.query('delete from custom_datum_use')
  await museum.svc.db.query('delete from custom_datum')
  await museum.svc.db.query(`delete from event where type like 'CUSTOM_DATA%'`)
}

test('a value is stored once for its identifier, and gets one where it has none', async () => {
  const one = (await save({ conceptName: 'Lion', rank: 1 })).work.vocabulary
  const two = (await save({ rank: 1, conceptName: 'Lion' })).work.vocabulary
  assert.match(one._uuid, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  assert.deepEqual(two, one)
  assert.notEqual((await save({ conceptName: 'Lion', rank: 2 })).work.vocabulary._uuid, one._uuid)
  const given = { _uuid: 'lion', conceptName: 'Lion of the north' }
  assert.deepEqual((await save(given)).work.vocabulary, given)
  // What is sent with a known one stands for what is stored.
  assert.deepEqual((await save({ _uuid: 'lion', conceptName: 'Tiger' })).work.vocabulary, given)
  const exact = await save(JSON.parse('{"conceptName": "exact", "rank": 3}'))
  assert.equal((await stored(exact)).vocabulary.rank, 3)
})

test('EVENT-014 an updater is asked for values that are due, in steps, and the log tells of the run', async () => {
  const [lion, again, bear, wolf] = [
    await save({ _uuid: 'lion', conceptName: 'Felis' }),
    await save({ _uuid: 'lion', conceptName: 'Felis' }),
    await save({ _uuid: 'bear', conceptName: 'Bear' }),
    await save({ _uuid: 'wolf', conceptName: 'Wolf', _expires_at: later(10).toISOString() }),
  ]
  await behave(`
    if (payload.action === 'start_update') return say({ state: { begun: true }, log: ['begun'] })
    if (payload.action === 'end_update') return say({ state: { theend: 2 }, log: ['ended'] })
    for (const object of payload.objects) {
      if (object.data.conceptName === 'Felis') Object.assign(object.data, { conceptName: 'Panthera leo', rank: 5 })
    }
    say({ payload: payload.objects, log: [payload.objects.length + ' objects'] })`)
  await museum.svc.app.tidy(later(2))
  assert.deepEqual(await actions(), [], 'nothing is due')
  await activate(false)
  await museum.svc.app.tidy(later(4))
  assert.deepEqual(await actions(), [], 'updaters are off')
  await activate(true)
  await museum.svc.app.tidy(later(4))
  const calls = await told()
  assert.deepEqual(
    calls.map(({ action, state, acts, batch_info = null }) => [action, state, acts, batch_info]),
    [
      ['start_update', {}, 'root', null],
      ['update', { begun: true }, 'root', { offset: 0, total: 2 }],
      ['end_update', { begun: true }, 'root', null],
    ],
  )
  assert.deepEqual(calls[1]?.objects.map(({ identifier, data }: Json) => [identifier, data.conceptName]).sort(), [
    ['bear', 'Bear'],
    ['lion', 'Felis'],
  ])
  // Objects show what the value says now; no new version of them has come of it.
  for (const object of [lion, again]) {
    const { vocabulary, _version } = await stored(object)
    assert.deepEqual([vocabulary, _version], [{ _uuid: 'lion', conceptName: 'Panthera leo', rank: 5 }, 1])
  }
  assert.equal((await stored(bear)).vocabulary.conceptName, 'Bear')
  assert.equal((await stored(wolf)).vocabulary.conceptName, 'Wolf')
  assert.deepEqual([await found('Panthera leo'), await found('Felis')], [2, 0])
  const [event, ...others] = await events()
  assert.deepEqual(others, [])
  assert.equal(event.type, 'CUSTOM_DATA_TYPE_UPDATER')
  const { log, stats } = event.info
  assert.deepEqual(log, ['begun', '2 objects', 'ended'])
  assert.deepEqual(stats, { total: 2, updated: 1, de_duplicated: 0 })
  const polled = (await root.get('/event/poll/0', { limit: 1000 })).body
  assert.ok(
    polled.every((one: Json) => one.event.type !== 'CUSTOM_DATA_TYPE_UPDATER'),
    'it is not pollable',
  )
  const { rows } = await museum.svc.db.query<Json>(`select pollable, user_id from event where type = $1`, [event.type])
  assert.deepEqual(rows, [{ pollable: false, user_id: 1 }], 'it names the user')
})

test('batches are of the size that the manifest says; values that turn out to be one are merged', async () => {
  const objects: Json[] = []
  for (const word of ['a', 'b', 'c', 'd', 'e']) objects.push(await save({ _uuid: word, conceptName: word }))
  await behave(`
    if (payload.action !== 'update') return say({})
    const merged = payload.objects.map(({ identifier }) => ({ identifier, data: { _uuid: identifier < 'c' ? 'a' : identifier, conceptName: identifier < 'c' ? 'ab' : identifier } }))
    say({ payload: merged })`)
  await museum.svc.app.tidy(later(4))
  assert.deepEqual(
    (await told()).flatMap(({ objects: given }) => (given ? [given.length] : [])),
    [2, 2, 1],
  )
  const now = await Promise.all(objects.map(async (object) => (await stored(object)).vocabulary))
  assert.deepEqual(
    now.map(({ _uuid, conceptName }) => [_uuid, conceptName]),
    [
      ['a', 'ab'],
      ['a', 'ab'],
      ['c', 'c'],
      ['d', 'd'],
      ['e', 'e'],
    ],
  )
  assert.deepEqual((await events()).at(-1)?.info.stats, { total: 5, updated: 1, de_duplicated: 1 })
  assert.equal(await found('ab'), 2)
  // They are asked for again when their time is over, and not before.
  await rm(join(folder, 'told'))
  await museum.svc.app.tidy(later(6))
  assert.deepEqual(await actions(), [])
  await museum.svc.app.tidy(later(8))
  assert.deepEqual((await told())[1]?.objects.length, 2)
})

test('EVENT-015 a run that fails is logged with why, and what was done stays', async () => {
  const before = await save({ _uuid: 'x1', conceptName: 'one' })
  await save({ _uuid: 'x2', conceptName: 'two' })
  await save({ _uuid: 'x3', conceptName: 'three' })
  const failures: [string, RegExp][] = [
    [`say({ error: 'no contact' }, 400)`, /no contact/],
    ['process.exit(3)', /ended with the code 3/],
    [`process.stdout.write('{"status_code": 2')`, /no JSON/],
    [`say({ payload: [{ identifier: 'other', data: {} }] })`, /was not given/],
    [`say({ payload: 'x' })`, /no list/],
  ]
  for (const [code, reason] of failures) {
    await museum.svc.db.query(`delete from event where type like 'CUSTOM_DATA%'`)
    await behave(`if (payload.action !== 'update') return say({ log: [payload.action] })\n${code}`)
    await museum.svc.app.tidy(later(4))
    const [event, ...others] = await events()
    assert.deepEqual([event?.type, others], ['CUSTOM_DATA_TYPE_UPDATER_ERROR', []], code)
    assert.deepEqual([event.info.log, event.info.stats], [['start_update'], { total: 3, updated: 0, de_duplicated: 0 }])
    assert.match(event.info.error, reason)
    const { rows } = await museum.svc.db.query<Json>(`select pollable, user_id from event where type = $1`, [
      event.type,
    ])
    assert.deepEqual(rows, [{ pollable: false, user_id: 1 }])
  }
  // The first batch is done, the second one fails.
  await museum.svc.db.query(`delete from event where type like 'CUSTOM_DATA%'`)
  await behave(`
    if (payload.action !== 'update') return say({})
    if (payload.batch_info.offset > 0) process.exit(1)
    for (const { data } of payload.objects) data.conceptName += ' new'
    say({ payload: payload.objects })`)
  await museum.svc.app.tidy(later(4))
  const [event] = await events()
  assert.deepEqual(event.info.stats, { total: 3, updated: 2, de_duplicated: 0 })
  assert.equal((await stored(before)).vocabulary.conceptName, 'one new')
  // A program that says nothing of what it was given is not asked any further.
  await rm(join(folder, 'told'))
  await behave('say({ state: {}, log: ["not now"] })')
  await museum.svc.app.tidy(later(4))
  assert.deepEqual(await actions(), ['start_update', 'update', 'end_update'])
})

test('a setting of the plugin says after how many days values are asked for; with 0 none are', async () => {
  const days = async (count: number): Promise<void> => {
    const answer = await root.post(`/config/plugin/${name}/config/every/days`, count)
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
  }
  await save({ _uuid: 'usual', conceptName: 'usual' })
  await save({ _uuid: 'own', conceptName: 'own', _expires_at: later(20).toISOString() })
  await behave('say({ payload: [] })')
  const asked = async (after: number): Promise<string[]> => {
    await rm(join(folder, 'told'), { force: true })
    await museum.svc.app.tidy(later(after))
    return (await told()).flatMap(({ objects = [] }) => objects.map(({ identifier }: Json) => identifier))
  }
  await days(0)
  assert.deepEqual(await asked(100), [])
  await days(10)
  assert.deepEqual(await asked(9), [], 'longer than the manifest says')
  await days(1)
  assert.deepEqual(await asked(0.5), [])
  // One that says when it is over keeps its time.
  assert.deepEqual(await asked(2), ['usual'])
  assert.deepEqual(await asked(2.5), [], 'asked for a moment ago')
  assert.deepEqual(await asked(21), ['usual', 'own'])
  await days(3)
})

test('identifiers that are passed on, and values that are merged with others, leave every object with its own', async () => {
  const [a, b, c] = [
    await save({ _uuid: 'a', conceptName: 'A' }),
    await save({ _uuid: 'b', conceptName: 'B' }),
    await save({ _uuid: 'c', conceptName: 'C', _expires_at: later(50).toISOString() }),
  ]
  const shown = async (...objects: Json[]): Promise<string[]> => {
    const all = await Promise.all(objects.map(stored))
    return all.map(({ vocabulary: { _uuid, conceptName } }) => `${_uuid} ${conceptName}`)
  }
  await behave(`
    if (payload.action !== 'update') return say({})
    const next = { a: 'b', b: 'd' }
    say({ payload: payload.objects.map(({ identifier, data }) => ({ identifier, data: { ...data, _uuid: next[identifier] } })) })`)
  await museum.svc.app.tidy(later(4))
  assert.deepEqual(await shown(a as Json, b as Json, c as Json), ['b A', 'd B', 'c C'])
  // The value that another one turns out to be has taken over what was said of that, in all objects.
  await behave(`
    if (payload.action !== 'update') return say({})
    say({ payload: payload.objects.filter(({ identifier }) => identifier === 'd')
      .map(({ identifier }) => ({ identifier, data: { _uuid: 'c', conceptName: 'C and D' } })) })`)
  await museum.svc.app.tidy(later(10))
  assert.deepEqual(await shown(a as Json, b as Json, c as Json), ['b A', 'c C and D', 'c C and D'])
})

test('of two values of one save with one identifier the first one counts', async () => {
  const block = (conceptName: string) =>
    payload('work', { ...inPool(museum.pool), vocabulary: { _uuid: 'twice', conceptName } })
  const answer = await root.post('/db/work', [block('first'), block('second')], { format: 'full' })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  const both = [
    { _uuid: 'twice', conceptName: 'first' },
    { _uuid: 'twice', conceptName: 'first' },
  ]
  assert.deepEqual(
    answer.body.map(({ work }: Json) => work.vocabulary),
    both,
  )
  assert.deepEqual(await Promise.all(answer.body.map(async (object: Json) => (await stored(object)).vocabulary)), both)
})

test('values that no object uses are deleted after a day, unless a save takes them over meanwhile', async () => {
  const [gone, taken] = [
    await save({ _uuid: 'gone', conceptName: 'x' }),
    await save({ _uuid: 'taken', conceptName: 'y' }),
  ]
  await save({ _uuid: 'kept', conceptName: 'z' })
  for (const object of [gone, taken] as Json[]) {
    const block = { _id: object.work._id, _version: 1, vocabulary: null }
    const answer = await root.patch('/db/work', [payload('work', block)])
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
  }
  const left = async (): Promise<string[]> => {
    const { rows } = await museum.svc.db.query<{ uuid: string }>('select uuid from custom_datum order by 1')
    return rows.map(({ uuid }) => uuid)
  }
  await behave('say({})')
  await museum.svc.app.tidy(new Date())
  assert.deepEqual(await left(), ['gone', 'kept', 'taken'], 'not before')
  await museum.svc.db.query(`update custom_datum set created_at = now() - interval '2 days'`)
  // As a save does it: it holds the value, and its object has it when it is written.
  const saving = await museum.svc.db.connect()
  try {
    await saving.query('begin')
    await saving.query(`select from custom_datum where uuid = 'taken' for share`)
    await museum.svc.app.tidy(new Date())
    assert.deepEqual(await left(), ['kept', 'taken'])
    await saving.query(
      `insert into custom_datum_use (system_object_id, type, written, uuid) values ($1, $2, 'taken', 'taken')`,
      [(taken as Json)._system_object_id, `${name}.term`],
    )
    await saving.query('commit')
  } finally {
    saving.release()
  }
  await museum.svc.app.tidy(new Date())
  assert.deepEqual(await left(), ['kept', 'taken'])
})
