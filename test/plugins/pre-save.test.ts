import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { onStatement } from '../../src/platform/postgres/statements.ts'
import { createPool } from '../pools/support.ts'
import { seedTag, toUser } from '../rights/people.ts'
import type { Answer, Client, Json, Query } from '../support/client.ts'
import { inPool, link, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { until } from '../support/until.ts'
import { archive, callbackManifest, install, nodeScript, putArchive, remove, switched } from './support.ts'

let museum: Museum
let root: Client
let base: string
let folder: string
let pool: number
let probe: Json

/** What the program of the probe does, and what it was told. */
const behave = (body: string): Promise<void> => writeFile(join(folder, 'behaviour.js'), body)
const told = async (): Promise<Json[]> =>
  (await readFile(join(folder, 'told'), 'utf8').catch(() => ''))
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))

/** A program that notes what it is told, and does what the file of the moment says. */
const probeScript = (name: string) =>
  nodeScript(`
    const fs = require('node:fs')
    fs.appendFileSync(process.argv[2] + '/told', JSON.stringify({ plugin: '${name}', ...payload }) + '\\n')
    const code = fs.readFileSync(process.argv[2] + '/behaviour.js', 'utf8')
    const AsyncFunction = (async () => {}).constructor
    await new AsyncFunction('payload', 'answer', 'plugin', code)(payload, answer, '${name}')
  `)

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'plugins-'))
  museum = await startMuseum({ pluginSeconds: 20, pluginOutput: 1 })
  root = museum.svc.as('root')
  base = await museum.svc.listen()
  pool = museum.pool
  probe = await install(museum.svc, 'probe', {
    'manifest.yml': callbackManifest('probe', {
      args: [folder],
      more: { base_config: [{ name: 'settings', parameters: { word: { type: 'text', default: 'usual' } } }] },
    }),
    'run.js': probeScript('probe'),
  })
})
after(async () => {
  await museum[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})
beforeEach(async () => {
  await rm(join(folder, 'told'), { force: true })
  await behave('answer({ objects: [] })')
})

/** Sends back all objects of a type, each changed. */
const changing = (objecttype: string, change: string): string => `
  answer({ objects: payload.objects.filter((object) => object._objecttype === '${objecttype}').map((object) => {
    const block = object['${objecttype}']
    ${change}
    return object
  }) })`

let number = 0
const person = (block: object = {}, rest: object = {}): object =>
  payload('person', { name: `Person ${++number}`, ...block }, rest)
const save = (objecttype: string, objects: readonly object[], query: Query = {}): Promise<Answer> =>
  root.post(`/db/${objecttype}`, objects, { format: 'full', ...query })
async function saved(objecttype: string, object: object, query: Query = {}): Promise<Json> {
  const { status, body } = await save(objecttype, [object], query)
  assert.equal(status, 200, JSON.stringify(body))
  return body[0]
}
async function count(table: string): Promise<number> {
  const { rows } = await museum.svc.db.query<{ n: number }>(`select count(*)::int as n from ${table}`)
  return rows[0]?.n ?? -1
}

test('SVC-016 PRESAVE-009 a step without a filter runs for every save, and sees what is saved', async () => {
  await saved('person', person({ name: 'Ada' }))
  await saved('place', payload('place', { name: { 'en-US': 'Rome' } }))
  const change = await saved('person', person({ name: 'Grace' }), { skip_plugins: 1 })
  await root.patch('/db/person', [payload('person', { _id: change.person._id, _version: 1, name: 'Grace H.' })])
  assert.deepEqual(
    (await told()).map(({ objects }) => objects.map((object: Json) => object._objecttype)),
    [['person'], ['place'], ['person']],
  )
})

test('PRESAVE-012 PRESAVE-013 a program is told of the request, the configuration and whom it acts for', async () => {
  const written = await root.post('/config/plugin/probe/config/settings', { word: 'quiet' })
  assert.equal(written.status, 200, JSON.stringify(written.body))
  await saved('person', person({ name: 'Told' }), { skip_index: 1 })
  const [{ info, objects, plugin, ...rest }] = await told()
  assert.deepEqual([plugin, rest, objects.length], ['probe', {}, 1])
  assert.equal(info.api_url, base)
  assert.equal(info.external_url, 'http://localhost:8080')
  assert.equal(info.tokens.api_user, info.api_user_access_token)
  assert.match(info.api_user_access_token, /^[\w-]{43}$/)
  assert.deepEqual(info.api_user, {
    _basetype: 'user',
    user: {
      ...{ _id: 1, login: 'root', _generated_displayname: 'Root' },
      ...{ reference: 'system:root', 'lookup:_id': { reference: 'system:root' } },
    },
  })
  const { method, url, query, header } = info.request
  assert.deepEqual([method, query], ['POST', { format: 'full', skip_index: '1' }])
  assert.match(url, /\/api\/v1\/db\/person\?format=full&skip_index=1$/)
  assert.equal(header['content-type'], 'application/json')
  assert.ok(!JSON.stringify(info.request).includes(await root.token()), 'the token of the caller')
  assert.deepEqual(info.config.plugin, { probe: { config: { settings: { word: 'quiet' } } } })
  const { body: config } = await root.get('/config/system')
  assert.deepEqual(info.config.system, config)
})

test('PRESAVE-014 PRESAVE-015 PRESAVE-016 PRESAVE-017 objects come with all fields, hashes and what is stored', async () => {
  const before = await saved('person', person({ name: 'Before', born: { value: '1815' } }), { skip_plugins: 1 })
  const [stored] = (await root.get(`/db/person/_all_fields/${before.person._id}`, { format: 'full' })).body
  const update = payload(
    'person',
    { _id: before.person._id, _version: 1, name: 'After', born: { value: '1815' } },
    { _mask: 'person__standard' },
  )
  const { status, body } = await save('person', [person({ name: 'New' }), { ...update }])
  assert.equal(status, 200, JSON.stringify(body))
  const [{ objects }] = await told()
  const [fresh, changed] = objects
  assert.equal(fresh._mask, '_all_fields')
  assert.deepEqual(
    Object.keys(fresh.person)
      .filter((key) => !key.startsWith('_'))
      .sort(),
    ['born', 'name', 'reference'],
  )
  assert.ok(fresh.person.born === null || fresh.person.born === '', JSON.stringify(fresh.person))
  assert.deepEqual(fresh.person['_nested:person__influence'], [])
  for (const key of ['_uuid', '_global_object_id', '_system_object_id']) assert.equal(fresh[key], undefined, key)
  assert.equal(fresh.person._id, undefined)
  assert.equal(fresh._current ?? null, null)
  assert.deepEqual(
    [fresh._callback_context.original_mask, changed._callback_context.original_mask],
    ['_all_fields', 'person__standard'],
  )
  assert.equal(changed._mask, '_all_fields')
  assert.deepEqual([changed.person.name, changed._current.person.name], ['After', 'Before'])
  assert.deepEqual(changed._current.person, { ...stored.person, reference: '' })
  assert.deepEqual([fresh.person.reference, changed.person.reference], ['', ''])
  assert.deepEqual([changed._current._uuid, changed._current._create_user], [stored._uuid, stored._create_user])
  await save('person', [person()])
  const hashes = (await told()).flatMap((one) => one.objects.map((object: Json) => object._callback_context.hash))
  assert.equal(new Set(hashes).size, 3)
  assert.ok(hashes.every((hash) => typeof hash === 'string' && hash !== ''))
})

test('PRESAVE-018 reverse and bidirectional objects are entries of their own', async () => {
  const other = await saved('person', person({ name: 'Other' }), { skip_plugins: 1 })
  const loan = { _objecttype: 'loan', _mask: '_all_fields', loan: { borrower: 'Bank' } }
  await saved('work', payload('work', { ...inPool(pool), '_reverse_nested:loan:work': [loan] }))
  await saved('person', person({ '_nested:person__influence': [{ person: link('person', other._system_object_id) }] }))
  const [works, people] = await told()
  assert.deepEqual(
    works.objects.map((object: Json) => object._objecttype),
    ['work', 'loan'],
  )
  assert.deepEqual(people.objects.map((object: Json) => object.person.name).sort(), ['Other', `Person ${number}`])
  for (const { objects } of [works, people]) {
    assert.equal(new Set(objects.map((object: Json) => object._callback_context.hash)).size, 2)
  }
})

test('PRESAVE-019 of a group that is changed at once each object is there', async () => {
  const [one, two] = [
    await saved('person', person({ name: 'One' }), { skip_plugins: 1 }),
    await saved('person', person({ name: 'Two' }), { skip_plugins: 1 }),
  ]
  const ids = [one, two].map((object) => object.person._id)
  const { status, body } = await save('person', [
    payload('person', { _id: ids, reference: null, born: { value: '1700' } }),
  ])
  assert.equal(status, 200, JSON.stringify(body))
  const [{ objects }] = await told()
  assert.deepEqual(
    objects.map((object: Json) => [
      object.person._id,
      object.person.name,
      object.person.born.value,
      object._current.person.name,
    ]),
    [
      [ids[0], 'One', '1700', 'One'],
      [ids[1], 'Two', '1700', 'Two'],
    ],
  )
})

test('PRESAVE-020 PRESAVE-022 what is returned replaces what was posted, the others stay', async () => {
  await behave(
    changing(
      'person',
      `
    if (block.name !== 'Changed') return null
    delete block.reference
    block.name = 'By the plugin'`,
    )
      .replace('return object', 'return object')
      .replace('}) })', '}).filter(Boolean) })'),
  )
  const { status, body } = await save('person', [
    person({ name: 'Changed', reference: 'gone', born: { value: '1900' } }),
    person({ name: 'Kept', reference: 'kept' }),
  ])
  assert.equal(status, 200, JSON.stringify(body))
  const shown = body.map(({ person: block }: Json) => [block.name, block.reference ?? null, block.born?.value ?? null])
  assert.deepEqual(shown, [
    ['By the plugin', null, '1900'],
    ['Kept', 'kept', null],
  ])
  await behave('answer({ objects: [] })')
  assert.equal((await saved('person', person({ name: 'As sent' }))).person.name, 'As sent')
})

test('PRESAVE-021 an answer names each object once, by its hash and with the mask _all_fields', async () => {
  const answers = {
    'another mask': changing('person', `object._mask = 'person__standard'`),
    'no hash': changing('person', 'delete object._callback_context'),
    'an empty hash': changing('person', `object._callback_context.hash = ''`),
    'another hash': changing('person', `object._callback_context.hash = 'x'`),
    'an object twice': 'answer({ objects: [payload.objects[0], payload.objects[0]] })',
    'no list': 'answer({})',
  }
  const before = await count('object')
  for (const [name, code] of Object.entries(answers)) {
    await behave(code)
    const { status, body } = await save('person', [person()])
    assert.deepEqual([name, status, body.code], [name, 400, 'DbPreSaveFailed'], JSON.stringify(body))
    assert.match(body.message, /probe/)
  }
  assert.equal(await count('object'), before)
})

test('PRESAVE-023 PRESAVE-024 values, comment, tags, pool, grants, owner and the uuid of a new object take effect', async () => {
  const tag = await seedTag(root)
  const other = (await createPool(root, { name: { 'en-US': 'Other' } }))._id
  const owner = (await root.post('/user', [{ user: { login: 'keeper' } }])).body[0].user._id
  const uuid = crypto.randomUUID()
  await behave(
    changing(
      'work',
      `
    block.title = { 'en-US': 'Set' }
    object._comment = 'why'
    object._tags = [{ _id: ${tag} }]
    object._pool = { pool: { _id: ${other} } }
    object._owner = { _basetype: 'user', user: { _id: ${owner} } }
    object._acl = [{ who: { _basetype: 'user', user: { _id: ${owner} } }, rights: { read: {} } }]
    object._uuid = '${uuid}'`,
    ),
  )
  const made = await saved('work', payload('work', { ...inPool(pool), title: { 'en-US': 'Sent' } }))
  await behave('answer({ objects: [] })')
  const [stored] = (await root.get(`/db/work/_all_fields/${made.work._id}`, { format: 'full' })).body
  assert.deepEqual(stored.work.title['en-US'], 'Set')
  assert.equal(stored._comment, 'why')
  assert.deepEqual(
    stored._tags.map(({ _id }: Json) => _id),
    [tag],
  )
  assert.equal((stored._pool ?? stored.work._pool).pool._id, other)
  assert.equal(stored._owner.user._id, owner)
  assert.deepEqual(
    stored._acl.map(({ who }: Json) => who.user._id),
    [owner],
  )
  assert.equal(stored._uuid, uuid)
  assert.ok(toUser(owner))
})

test('PRESAVE-025 PRESAVE-027 ERR-019 what fails in any other way is a DbPreSaveFailed that names the plugin', async () => {
  const failures = {
    'says nothing': '',
    'says blanks': `process.stdout.write('  \\n ')`,
    'ends with a code': 'process.exit(3)',
    'ends with a code and a text': `process.stdout.write('no json'); process.exitCode = 3`,
    throws: `throw new Error('oh')`,
    'half a JSON': `process.stdout.write('{"objects": [')`,
    'no objects': `process.stdout.write('[]')`,
    'an error without a code': `answer({ error: { statuscode: 400 } })`,
    'kills itself': 'process.kill(process.pid)',
    floods: `for (let i = 0; i < 3; i++) process.stdout.write('x'.repeat(1e6))`,
  }
  const before = await count('object')
  for (const [name, code] of Object.entries(failures)) {
    await behave(code)
    const { status, body } = await save('person', [person()])
    assert.deepEqual([name, status, body.code], [name, 400, 'DbPreSaveFailed'], JSON.stringify(body))
    assert.match(body.message, /probe/)
    assert.equal(body.parameters.callback, 'probe:run')
  }
  assert.equal(await count('object'), before)
})

test('PRESAVE-026 PRESAVE-005 a refusal is told as the plugin says it, and nothing is stored', async () => {
  const before = await count('object')
  const said = { code: 'probe.not.allowed', statuscode: 409, realm: 'user', parameters: { field: 'name', n: [1, 2] } }
  for (const code of [
    `answer({ error: ${JSON.stringify(said)} })`,
    `answer(${JSON.stringify(said)}); process.exitCode = 1`,
  ]) {
    await behave(code)
    const { status, body } = await save('person', [person(), person()])
    const { code: named, statuscode, realm, parameters } = body
    assert.deepEqual([status, { code: named, statuscode, realm, parameters }], [409, said])
  }
  // A status that is no error is one of ours.
  await behave(`answer({ error: { code: 'probe.other', statuscode: 200 } })`)
  const { status, body } = await save('person', [person()])
  assert.deepEqual([status, body.code, body.statuscode], [400, 'probe.other', 400])
  assert.equal(await count('object'), before)
})

test('what a callback returns passes the later checks', async () => {
  await behave(changing('person', `block.name = ''`))
  const broken = await save('person', [person()])
  assert.deepEqual([broken.status, broken.body.code], [400, 'ConstraintViolation'], JSON.stringify(broken.body))
  await behave(changing('work', 'object._pool = { pool: { _id: 99999 } }'))
  const nowhere = await save('work', [payload('work', inPool(pool))])
  assert.deepEqual([nowhere.status, nowhere.body.code], [400, 'PoolNotFound'])
})

test('a callback fills what must not be empty', async () => {
  await behave(changing('person', `block.name = 'Filled'`))
  assert.equal((await saved('person', payload('person', { reference: 'no name' }))).person.name, 'Filled')
})

test('PRESAVE-006 PRESAVE-008 PRESAVE-010 PRESAVE-011 steps have filters and an order, and are skipped', async () => {
  const { svc } = museum
  const steps = [
    { name: 'unknown', callback: 'nobody' },
    { name: 'late', callback: 'second', filter: { type: 'objecttype', objecttypes: ['person', 'topic'] } },
    { name: 'early', callback: 'first', filter: { type: 'objecttype', objecttypes: ['person'] } },
    { name: 'never', callback: 'first', filter: { type: 'objecttype', objecttypes: ['no_such_type'] } },
    { name: 'lent', callback: 'second', filter: { type: 'objecttype', objecttypes: ['loan'] } },
  ]
  const exec = (word: string) => ({
    exec: {
      service: 'node',
      commands: [
        {
          ...{ prog: 'node', stdin: { type: 'body' }, stdout: { type: 'body' } },
          args: [{ type: 'value', value: '%_exec.pluginDir%/run.js' }, folder, word],
        },
      ],
    },
  })
  const manifest = (name: string, more: object) =>
    JSON.stringify({
      plugin: { name, version: 1 },
      callbacks: { db_pre_save: { steps, callbacks: { first: exec('first'), second: exec('second') } } },
      ...more,
    })
  const script = probeScript('filled').replace(
    "plugin: 'filled'",
    "plugin: process.argv[3], step: __dirname.split('/').at(-1)",
  )
  const aaa = await install(svc, 'aaa', {
    'manifest.yml': manifest('aaa', { dependencies: ['zzz'] }),
    'run.js': script,
  })
  const zzz = await install(svc, 'zzz', { 'manifest.yml': manifest('zzz', {}), 'run.js': script })
  await switched(svc, probe.id, false)
  try {
    const order = async (): Promise<string[]> => (await told()).map(({ step, plugin }) => `${step} ${plugin}`)
    await saved('person', person())
    assert.deepEqual(await order(), ['zzz second', 'zzz first', 'aaa second', 'aaa first'])
    await rm(join(folder, 'told'))
    await save('topic', [payload('topic', { name: 'Sea' })])
    assert.deepEqual(await order(), ['zzz second', 'aaa second'])
    await rm(join(folder, 'told'))
    // Of a save of several types a step gets the objects of those that it names.
    const loan = { _objecttype: 'loan', _mask: '_all_fields', loan: { borrower: 'Bank' } }
    await saved('work', payload('work', { ...inPool(pool), '_reverse_nested:loan:work': [loan] }))
    assert.deepEqual(
      (await told()).map(({ step, plugin, objects }) => [
        `${step} ${plugin}`,
        objects.map((object: Json) => [object._objecttype, object.loan?.borrower]),
      ]),
      [
        ['zzz second', [['loan', 'Bank']]],
        ['aaa second', [['loan', 'Bank']]],
      ],
    )
    await rm(join(folder, 'told'))
    // No other type of filter exists.
    const other = manifest('other', {
      callbacks: { db_pre_save: { steps: [{ name: 'a', callback: 'first', filter: { type: 'pool', pools: [1] } }] } },
    })
    const refused = await putArchive(svc, archive('other', { 'manifest.yml': other, 'run.js': script }))
    assert.equal(refused.status, 400, JSON.stringify(refused.body))
    assert.match(refused.body.message, /steps\.0\.filter\.type/)
    await switched(svc, zzz.id, false)
    await saved('person', person())
    assert.deepEqual(await order(), ['aaa second', 'aaa first'])
  } finally {
    await remove(svc, aaa.id)
    await remove(svc, zzz.id)
    await switched(svc, probe.id, true)
  }
})

test('PRESAVE-028 DB-028 DB-029 skip_plugins=1 asks nobody, and is root’s', async () => {
  await saved('person', person(), { skip_plugins: 1 })
  assert.deepEqual(await told(), [])
  await root.post('/user', [{ user: { login: 'nobody' }, _password: 'nobody' }], {
    confirm: 'ignore_password_requirements',
  })
  const refused = await museum.svc.as('nobody').post('/db/person', [person()], { skip_plugins: 1 })
  assert.deepEqual(
    [refused.status, refused.body.code, refused.body.parameters.right],
    [403, 'SystemRightRequired', 'system.root'],
  )
})

test('PRESAVE-007 a callback acts as the user that its settings name, else as the caller', async () => {
  const { svc } = museum
  const keeper = (await root.post('/user', [{ user: { login: 'actor' } }])).body[0].user._id
  const base_config = [{ name: 'who.acts', parameters: { api_user: { type: 'user' } } }]
  const plugin = await install(svc, 'acting', {
    'manifest.yml': callbackManifest('acting', {
      args: [folder],
      entry: { plugin_user: { base_config: 'who.acts.api_user' } },
      more: { base_config },
    }),
    'run.js': probeScript('acting'),
  })
  await switched(svc, probe.id, false)
  try {
    const session = `
      const ask = async (token) => (await (await fetch(payload.info.api_url + '/api/v1/user/session', { headers: { authorization: 'Bearer ' + token } })).json()).user.user.login
      const { info } = payload
      require('node:fs').writeFileSync(process.argv[2] + '/asked', JSON.stringify([await ask(info.api_user_access_token), await ask(info.plugin_user_access_token), info.plugin_user.user._id, info.tokens.plugin_user === info.plugin_user_access_token]))
      answer({ objects: [] })`
    await behave(session.replace('require(', 'process.getBuiltinModule('))
    await saved('person', person())
    const asked = async (): Promise<Json> => JSON.parse(await readFile(join(folder, 'asked'), 'utf8'))
    assert.deepEqual(await asked(), ['root', 'root', 1, true])
    const set = await root.post('/config', {
      plugin: { acting: { config: { 'who.acts': { api_user: { _basetype: 'user', user: { _id: keeper } } } } } },
    })
    assert.equal(set.status, 200, JSON.stringify(set.body))
    await saved('person', person())
    assert.deepEqual(await asked(), ['root', 'actor', keeper, true])
    const [, { info }] = await told()
    for (const token of [info.api_user_access_token, info.plugin_user_access_token]) {
      const answer = await svc.inject({ url: '/api/v1/user/session', headers: { authorization: `Bearer ${token}` } })
      assert.equal(answer.statusCode, 401, 'a token holds after its call')
    }
    await until(async () => (await count(`oauth_session where client_id = 'plugin'`)) === 0)
  } finally {
    await remove(svc, plugin.id)
    await switched(svc, probe.id, true)
  }
})

test('tokens that were issued for a call that is not made hold no longer than the answer', async () => {
  const { person: stored } = await saved('person', person({ name: 'Kept' }), { skip_plugins: 1 })
  let issued = 0
  const stop = onStatement((text) => {
    if (text.includes('insert into oauth_session')) issued++
  })
  try {
    const refused = await save('person', [payload('person', { _id: stored._id, _version: 99, name: 'Other' })])
    assert.deepEqual([refused.status, refused.body.code, issued], [400, 'VersionMismatch', 1])
  } finally {
    stop()
  }
  assert.deepEqual([await told(), await count(`oauth_session where client_id = 'plugin'`)], [[], 0])
})

test('a program calls back while its save is open, and may save the same object: then the save is outdated', async () => {
  const object = await saved('person', person({ name: 'Shared' }), { skip_plugins: 1 })
  const write = (body: string): string => `
    const { info } = payload
    const call = (path, body) => fetch(info.api_url + '/api/v1' + path, {
      method: body ? 'POST' : 'GET', body: body && JSON.stringify(body),
      headers: { authorization: 'Bearer ' + info.api_user_access_token, 'content-type': 'application/json' } })
    ${body}`
  await behave(
    write(`
    const found = await call('/search', { type: 'object', objecttypes: ['topic'], search: [] })
    const made = await call('/db/topic?skip_plugins=1', [{ _objecttype: 'topic', _mask: '_all_fields', topic: { name: 'By a plugin' } }])
    const event = await call('/event', { event: { type: 'SEARCH', info: {} } })
    process.stderr.write([found.status, made.status, event.status].join())
    if (found.status !== 200 || made.status !== 200 || event.status !== 200) process.exit(1)
    answer({ objects: [] })`),
  )
  await saved('person', person())
  await behave(
    write(`
    const answered = await call('/db/person?skip_plugins=1', [{ _objecttype: 'person', _mask: '_all_fields', person: { _id: ${object.person._id}, _version: 1, name: 'First' } }])
    if (answered.status !== 200) process.exit(1)
    answer({ objects: [] })`),
  )
  const change = payload('person', { _id: object.person._id, _version: 1, name: 'Second' })
  const outdated = await save('person', [change])
  assert.deepEqual([outdated.status, outdated.body.code], [400, 'VersionMismatch'], JSON.stringify(outdated.body))
  const [stored] = (await root.get(`/db/person/_all_fields/${object.person._id}`)).body
  assert.equal(stored.person.name, 'First')
})
