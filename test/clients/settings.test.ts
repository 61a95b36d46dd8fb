import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createSeal } from '../../src/platform/secrets/seal.ts'
import { createSealedTexts } from '../../src/platform/secrets/sealed-texts.ts'
import { holdIndexer } from '../search/support.ts'
import type { Json } from '../support/client.ts'
import { type Museum, payload, startMuseum } from '../support/seed/museum.ts'

/** Base configuration, settings, pools and events as front ends and administrators' tools send and expect them. */

let museum: Museum
before(async () => {
  museum = await startMuseum()
})
after(() => museum[Symbol.asyncDispose]())

const root = () => museum.svc.as('root')
const config = (sections: object) => ({ system: { config: sections } })

test('the title of the instance is a language map, or one text', async () => {
  const title = { 'de-DE': 'Sammlung', 'en-US': 'Collection' }
  const saved = await root().post('/config', config({ name: { title, internal_name: 'collection-1' } }))
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  assert.deepEqual(saved.body.system.config.name.title, title)
  const settings = await museum.svc.as(null).get('/settings')
  assert.deepEqual([settings.body.name, settings.body.config_name], ['Collection', 'collection-1'])

  await root().post('/config/system/config/name/title', { 'de-DE': 'Sammlung', 'en-US': '' })
  assert.equal((await museum.svc.as(null).get('/settings')).body.name, 'Sammlung')
  await root().post('/config/system/config/name/title', 'Museum')
  assert.equal((await museum.svc.as(null).get('/settings')).body.name, 'Museum')
  for (const wrong of [{ 'de-DE': 5 }, { 'de-DE': 'x'.repeat(201) }, 7, ['a']]) {
    assert.equal((await root().post('/config/system/config/name/title', wrong)).status, 400, JSON.stringify(wrong))
  }
})

test('a secret is shown as ***, and *** sent back keeps it', async () => {
  const webhook = { name: 'site', url: 'https://example.org/', secret: 'of the site' }
  await root().post('/config', config({ transition_webhook: { webhooks: [webhook] } }))
  const shown = (await root().get('/config')).body
  assert.equal(shown.system.config.transition_webhook.webhooks[0].secret, '***')

  // The whole document comes back from the form, with one change.
  shown.system.config.transition_webhook.webhooks[0].send_authorization_header = true
  const saved = await root().post('/config', shown)
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  const stored = async () => {
    const sql = `select value -> 'webhooks' as rows from base_config where section = 'transition_webhook'`
    const rows = (await museum.svc.db.query<{ rows: Json[] }>(sql)).rows[0]?.rows ?? []
    const texts = createSealedTexts(createSeal(museum.svc.config))
    const about = 'base configuration transition_webhook/webhooks/secret'
    return Promise.all(rows.map(async (row) => ({ ...row, secret: await texts.open(row.secret, about) })))
  }
  assert.deepEqual(
    (await stored()).map((row: Json) => [row.url, row.secret, row.send_authorization_header]),
    [['https://example.org/', 'of the site', true]],
  )
  // At another address it would be told to whoever is there.
  shown.system.config.transition_webhook.webhooks[0].url = 'https://new.example.org/'
  assert.equal((await root().post('/config', shown)).status, 400)
  // A row under another name has no secret that could be kept, nor has another instance.
  const renamed = { ...webhook, name: 'other', secret: '***' }
  const refused = await root().post('/config', config({ transition_webhook: { webhooks: [renamed] } }))
  assert.deepEqual([refused.status, refused.body.code], [400, 'ServerGeneric'])
  assert.equal((await stored())[0].name, 'site')
})

test('save, confirm and reindex, as forms send them with the configuration', async () => {
  const languages = (...codes: string[]) => config({ languages: { database: codes.map((value) => ({ value })) } })
  const body = languages('en-US', 'de-DE', 'fr-FR')
  const query = { save: 'ignore_errors', confirm: 'yes', reindex: 'reindex' }
  const saved = await root().post('/config', body, query)
  assert.deepEqual([saved.status, saved.headers['x-svc-ignored']], [200, 'confirm'])
  const strict = await root().post('/config', body, { confirm: 'yes', strict: 1 })
  assert.deepEqual([strict.status, strict.body.parameters.param], [400, 'confirm'])
  await museum.svc.drain()
  for (const reindex of ['skip', 'reindex_block']) {
    const answer = await root().post('/config', languages('en-US'), { reindex })
    assert.deepEqual([answer.status, answer.body.code], [400, 'UrlParameterNotSupported'], reindex)
  }
  for (const wrong of [{ save: 'all' }, { confirm: 'no' }, { reindex: 'now' }]) {
    assert.equal((await root().post('/config', languages('en-US'), wrong)).status, 400, JSON.stringify(wrong))
  }
  assert.equal((await root().post('/config', languages('no language'))).status, 400)
  const now = (await root().get('/config/system/config/languages/database')).body
  assert.deepEqual(
    now.map((row: Json) => row.value),
    ['en-US', 'de-DE', 'fr-FR'],
  )
})

test('save=ignore_errors takes over what fits of a configuration from elsewhere, and names the rest', async () => {
  const section = async (name: string) => (await root().get(`/config/system/config/${name}`)).body
  await root().post(
    '/config',
    config({ email: { from: 'archive@museum.test' }, oauth2: { expirations: { access_token: '2h' } } }),
  )
  const elsewhere = {
    plugin: { 'formula-columns': { config: { api_user: {} } } },
    system: {
      config: {
        appearance: { shoe_size: 44 },
        email: { from: 'new@museum.test', admin_emails: 'nobody' },
        email_server: { server_addr: 'mail.museum.test:25', type: 'pigeon' },
        oauth2: { expirations: { access_token: 'soon', refresh_token: '3h' } },
        languages: 'all',
        license: { license: 'XYZ' },
        loca: { google_csv: [], google_overload_csv: false },
        objectstore: {},
        hovercraft: { eels: true },
      },
    },
  }
  const before = await section('languages')
  assert.equal((await root().post('/config', elsewhere)).status, 400)
  assert.equal((await root().post('/config', elsewhere, { save: 'ignore_errors', strict: 1 })).status, 400)
  assert.equal((await section('email')).from, 'archive@museum.test')
  const taken = await root().post('/config', elsewhere, { save: 'ignore_errors' })
  assert.equal(taken.status, 200, JSON.stringify(taken.body))
  assert.deepEqual(String(taken.headers['x-svc-ignored']).split(', ').map(decodeURIComponent).sort(), [
    'plugin/formula-columns',
    'system/config/appearance/shoe_size',
    'system/config/email/admin_emails',
    'system/config/email_server/type',
    'system/config/hovercraft',
    'system/config/languages',
    'system/config/license',
    'system/config/oauth2/expirations/access_token',
  ])
  assert.equal((await section('email')).from, 'new@museum.test')
  assert.equal((await section('email_server')).server_addr, 'mail.museum.test:25')
  const { expirations } = await section('oauth2')
  assert.deepEqual([expirations.access_token, expirations.refresh_token], ['2h', '3h'])
  assert.deepEqual(await section('languages'), before)
})

test('license, loca and objectstore are known as unavailable, and take nothing but what says nothing', async () => {
  const { defs } = (await root().get('/config/list')).body.system
  const unavailable = defs.filter((one: Json) => one.unavailable).map((one: Json) => one.name)
  assert.deepEqual(unavailable, ['license', 'loca', 'objectstore'])
  const unset = {
    license: {},
    loca: { google_csv: [], google_overload_csv: false },
    objectstore: { server: '', instance: '', uid: '' },
  }
  assert.equal((await root().post('/config', config(unset))).status, 200)
  for (const [name, value] of [
    ['license', { license: 'XYZ' }],
    ['loca', { google_overload_csv: true }],
    ['objectstore', { server: 'x' }],
  ] as const) {
    const refused = await root().post('/config', config({ [name]: value }))
    assert.deepEqual(
      [refused.status, refused.body.parameters],
      [400, { path: `system/config/${name}`, unavailable: true }],
    )
  }
})

test('X-Svc-Status tells whether searches wait', async () => {
  const status = async () => (await museum.svc.as(null).get('/settings')).headers['x-svc-status']
  await root().post('/db/person', [payload('person', { name: 'Ada' })])
  await museum.svc.drain()
  assert.equal(await status(), 'ready')
  assert.equal((await root().get('/system/status')).headers['x-svc-status'], 'ready')
  {
    using _ = await holdIndexer(museum.svc.db)
    assert.equal((await root().post('/system/reindex', undefined, { blockFrontend: 1 })).status, 200)
    assert.equal(await status(), 'reindex')
  }
  await museum.svc.drain()
  assert.equal(await status(), 'ready')
})

test('mappings of a pool are off, or left to the object type', async () => {
  const pool = {
    _basetype: 'pool',
    pool: {
      'lookup:_id_parent': { reference: 'system:root' },
      _version: 1,
      reference: 'migrated_objects',
      name: { 'en-US': 'Migrated' },
      contact: null,
      mapping_image_import: 'objecttype',
      mapping_image_export: 'none',
      mapping_dc_export: 'objecttype',
    },
    _private_acl: false,
    _acl: [],
    _standard_masks: {},
    _tags: [],
    _transitions: [],
  }
  const saved = await root().post('/pool', [pool])
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  const read = (await root().get(`/pool/${saved.body[0].pool._id}`)).body[0].pool
  assert.deepEqual(
    [read.mapping_image_import, read.mapping_image_export, read.mapping_dc_export],
    ['objecttype', 'none', 'objecttype'],
  )
  const unknown = { ...pool, pool: { ...pool.pool, reference: 'other', mapping_dc_export: 'objecttypes' } }
  assert.equal((await root().post('/pool', [unknown])).status, 400)
})

test('events of objects have the basetype object and the name of the type (decisions.md, 33)', async () => {
  const [saved] = (await root().post('/db/person', [payload('person', { _version: 1, name: 'Ada' })])).body
  const id = saved.person._id
  await root().post('/db/person', [payload('person', { _id: id, _version: 1, name: 'Ada L.' })])
  for (const [version, policy] of [
    [2, 'remove'],
    [3, 'undelete'],
    [4, 'remove'],
    [5, 'purge'],
  ] as const) {
    const answer = await root().delete('/db/person', [[id, version, null]], { delete_policy: policy })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
  }
  const query = { system_object_id: saved._system_object_id, basetype: 'object', sort: '_id.ASC' }
  const { objects } = (await root().get('/event/list', query)).body
  assert.deepEqual(
    objects.map(({ event }: Json) => [event.type, event.basetype, event.objecttype]),
    ['OBJECT_INSERT', 'OBJECT_UPDATE', 'OBJECT_DELETE', 'OBJECT_UNDELETE', 'OBJECT_DELETE', 'OBJECT_PURGE'].map(
      (type) => [type, 'object', 'person'],
    ),
  )
  assert.equal((await root().get('/event/list', { basetype: 'person' })).body.count, 0)
})

test('save=ignore_errors keeps no stored secret for another address: the section stays as it is', async () => {
  const auth = { username: 'u', password: 'kept-secret' }
  const server = { server_addr: 'mail.museum.test:25', login_auth: auth }
  assert.equal((await root().post('/config', config({ email_server: server }))).status, 200)
  const moved = { server_addr: 'evil.example.org:25', login_auth: { username: 'u', password: '***' } }
  const taken = await root().post('/config', config({ email_server: moved }), { save: 'ignore_errors' })
  assert.equal(taken.status, 200)
  assert.match(decodeURIComponent(String(taken.headers['x-svc-ignored'])), /system\/config\/email_server/)
  const { server_addr } = (await root().get('/config/system/config/email_server')).body
  assert.equal(server_addr, 'mail.museum.test:25')
})
