import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Json } from '../support/client.ts'
import { type Museum, startMuseum } from '../support/seed/museum.ts'

/** A client with another version convention than the instance (decisions.md, 88). */

let museum: Museum
let call: (method: 'GET' | 'POST' | 'PATCH', path: string, body?: unknown, headers?: object) => Promise<Reply>

interface Reply {
  readonly status: number
  readonly body: Json
}

before(async () => {
  museum = await startMuseum({
    oauthClients: [
      { id: 'museum-plus', secret: null, redirectURIs: [], scopes: null, pkce: 'optional', versionConvention: 'next' },
    ],
  })
  const { svc } = museum
  const form = { grant_type: 'password', client_id: 'museum-plus', username: 'root', password: 'root-test-password' }
  const granted = await svc.inject({
    method: 'POST',
    url: '/api/oauth2/token',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams(form).toString(),
  })
  const { access_token } = granted.json() as { access_token: string }
  call = async (method, path, body, headers = {}) => {
    const answer = await svc.inject({
      method,
      url: `/api/v1/${path}`,
      headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
    })
    return { status: answer.statusCode, body: answer.json() }
  }
})
after(() => museum[Symbol.asyncDispose]())

const mismatch = ({ status, body }: Reply) => [status, body.code, body.parameters?.expected]

/** The same record sent with its stored version, which is refused, and with the next one. */
async function updates(path: string, send: (version: number) => unknown, stored: number): Promise<Reply> {
  assert.deepEqual(mismatch(await call('POST', path, send(stored))), [400, 'VersionMismatch', stored + 1], path)
  const saved = await call('POST', path, send(stored + 1))
  assert.equal(saved.status, 200, `${path}: ${JSON.stringify(saved.body)}`)
  return saved
}

describe('a client with versionConvention next, where the instance has stored', () => {
  test('updates objects, and others keep to the convention of the instance', async () => {
    const object = (block: object) => [{ _objecttype: 'person', _mask: '_all_fields', person: block }]
    const made = await call('POST', 'db/person', object({ name: 'Ada' }))
    const { _id } = made.body[0].person
    // Version 1 is a new object where clients send the version that the save makes.
    assert.equal((await call('POST', 'db/person', object({ _id, _version: 1, name: 'Ada' }))).status, 400)
    assert.equal((await call('POST', 'db/person', object({ _id, _version: 2, name: 'Ada L.' }))).status, 200)
    await updates('db/person', (_version) => object({ _id, _version, name: 'Ada L.' }), 2)
    const root = museum.svc.as('root')
    const other = await root.post('/db/person', object({ _id, _version: 4, name: 'x' }))
    assert.deepEqual([other.body.code, other.body.parameters.expected], ['VersionMismatch', 3])
    assert.equal((await root.post('/db/person', object({ _id, _version: 3, name: 'Ada Lovelace' }))).status, 200)
  })

  test('updates users, groups, pools, tags, transitions, presets and messages', async () => {
    const [user] = (await call('POST', 'user', [{ user: { login: 'eva', _version: 1 } }])).body
    await updates('user', (_version) => [{ user: { _id: user.user._id, login: 'eva', _version } }], 1)

    const [group] = (await call('POST', 'group', [{ group: { reference: 'g', _version: 1 } }])).body
    await updates('group', (_version) => [{ group: { _id: group.group._id, reference: 'h', _version } }], 1)

    const [standard] = (await call('GET', 'pool')).body
    const child = { _id_parent: standard.pool._id, name: { 'en-US': 'P' }, _version: 1 }
    const [pool] = (await call('POST', 'pool', [{ pool: child }])).body
    await updates('pool', (_version) => [{ pool: { ...child, _id: pool.pool._id, _version } }], 1)

    const { body: before } = await call('GET', 'tags')
    const { body: tags } = await call('POST', 'tags', [
      ...before,
      { taggroup: { reference: 'own' }, _tags: [{ reference: 'own' }] },
    ])
    const own = tags.at(-1)
    await updates(
      'tags',
      (_version) => [
        ...before.map((one: Json) => ({
          ...one,
          _tags: one._tags.map((tag: Json) => ({ ...tag, _version: tag._version + 1 })),
          taggroup: { ...one.taggroup, _version: undefined },
        })),
        { taggroup: { ...own.taggroup, _version: undefined }, _tags: [{ ...own._tags[0], _version, shortname: 'o' }] },
      ],
      own._tags[0]._version,
    )

    const [transition] = (await call('POST', 'transitions', [{ type: 'process', operations: ['INSERT'], actions: [] }]))
      .body
    await updates('transitions', (_version) => [{ ...transition, _version, comment: 'c' }], 1)

    const preset = { displayname: { 'en-US': 'p' }, preset: { rights: { read: {} } } }
    const made = await call('POST', 'right/object/presets', [{ right_preset: preset }])
    assert.equal(made.status, 200, JSON.stringify(made.body))
    const { _id } = made.body[0].right_preset
    await updates('right/object/presets', (_version) => [{ right_preset: { ...preset, _id, _version } }], 1)

    const text = { title: { 'en-US': 't' }, message: { 'en-US': 'm' } }
    const [message] = (await call('POST', 'message', [{ message: text }])).body
    await updates('message', (_version) => [{ message: { ...text, _id: message.message._id, _version } }], 1)
  })

  test('stores the working copies of schema and masks', async () => {
    for (const path of ['schema/user/HEAD', 'mask/HEAD']) {
      const { body: head } = await call('GET', path)
      const { based_on_version: _, ...rest } = head
      await updates(path, (version) => ({ ...rest, version }), head.version)
    }
  })
})

test('a working copy from elsewhere is taken with overwrite=1 whatever its versions, and the refusal says so', async () => {
  const root = museum.svc.as('root')
  for (const path of ['/schema/user/HEAD', '/mask/HEAD']) {
    const { body: head } = await root.get(path)
    const elsewhere = { ...head, version: 77, ...(path.startsWith('/schema') ? { based_on_version: 76 } : {}) }
    const refused = await root.post(path, elsewhere)
    assert.deepEqual([refused.status, refused.body.code, refused.body.parameters.got], [400, 'VersionMismatch', 77])
    assert.match(refused.body.error, /overwrite=1/)
    const taken = await root.post(path, elsewhere, { overwrite: 1 })
    assert.deepEqual([taken.status, taken.body.version], [200, head.version])
    const stale = await call('POST', `${path.slice(1)}?overwrite=1`, elsewhere, { 'if-match': '"0.0"' })
    assert.deepEqual([stale.status, stale.body.parameters.param], [400, 'If-Match'])
  }
  const names = await root.post('/l10n/user/HEAD', {}, { overwrite: 1 })
  assert.deepEqual([names.status, names.headers['x-svc-ignored']], [200, undefined])
})

describe('what importers send', () => {
  const person = (block: object) => [{ _objecttype: 'person', _mask: '_all_fields', person: block }]

  test('_version:auto_increment updates the named object whatever its version, and creates none', async () => {
    const root = museum.svc.as('root')
    const made = await root.post('/db/person', person({ name: 'Grace' }))
    const { _id } = made.body[0].person
    const send = (block: object) => root.post('/db/person', person({ ...block, '_version:auto_increment': true }))
    for (const [version, block] of [
      [2, { _id }],
      [3, { _id, _version: 1 }],
    ] as const) {
      const saved = await send({ ...block, name: `Grace ${version}` })
      assert.deepEqual([saved.status, saved.body[0]?.person?._version], [200, version], JSON.stringify(saved.body))
    }
    const unknown = await send({ _id: 987654, name: 'Nobody' })
    assert.equal(unknown.status, 404, JSON.stringify(unknown.body))
    const odd = await root.post('/db/person', person({ _id, '_version:auto_increment': 'yes', name: 'x' }))
    assert.deepEqual([odd.status, odd.body.parameters.name], [400, '0.person._version:auto_increment'])
  })

  test('_allow_defer links to what is there, in the request or named by a _uuid to come, and the refusal of anything else names it', async () => {
    const root = museum.svc.as('root')
    const pool = { pool: { 'lookup:_id': { reference: 'system:standard' } } }
    const link = (name: unknown, _allow_defer: unknown = true) => ({
      _objecttype: 'person',
      _mask: '_all_fields',
      person: { 'lookup:_id': { name, _allow_defer } },
    })
    const work = (creator: object) => [{ _objecttype: 'work', _mask: '_all_fields', _pool: pool, work: { creator } }]
    await root.post('/db/person', person({ name: 'Hypatia' }))
    const there = await root.post('/db/work', work(link('Hypatia')))
    assert.equal(there.status, 200, JSON.stringify(there.body))
    const later = await root.post('/db/work', work(link('Somebody later')))
    assert.deepEqual([later.status, later.body.code, later.body.parameters._allow_defer], [400, 'LookupNotFound', true])
    assert.match(later.body.error, /_allow_defer cannot promise it: .*_uuid/)
    const promised = await root.post(
      '/db/work',
      work({
        _objecttype: 'person',
        _mask: '_all_fields',
        person: { 'lookup:_id': { _uuid: 'comes-later', _allow_defer: true } },
      }),
    )
    assert.equal(promised.body[0].work.creator._purged_or_deferred, true, JSON.stringify(promised.body))
    const odd = await root.post('/db/work', work(link('Hypatia', 'yes')))
    assert.deepEqual([odd.status, odd.body.parameters.name], [400, '0.work.creator.person.lookup:_id._allow_defer'])
  })
})
