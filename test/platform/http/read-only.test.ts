import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attachService, startService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

/** Everything that changes stored data. A new endpoint is entered here, or below if it changes nothing. */
const writing = `
  DELETE /api/v1/event/list
  DELETE /api/v1/event/:eventId
  POST /api/v1/event/list
  POST /api/v1/config
  POST /api/v1/config/*
  DELETE /api/v1/config/*
  POST /api/v1/user
  PUT /api/v1/user
  POST /api/v1/user/change_password
  DELETE /api/v1/user/:id
  POST /api/v1/group
  PUT /api/v1/group
  DELETE /api/v1/group/:id
  POST /api/v1/schema/user/HEAD
  POST /api/v1/schema/commit
  POST /api/v1/mask/HEAD
  POST /api/v1/l10n/user/HEAD
  POST /api/v1/objecttype
  POST /api/v1/pool
  PUT /api/v1/pool
  DELETE /api/v1/pool/:poolID
  PUT /api/v1/plugin/manage
  POST /api/v1/plugin/manage/:id
  DELETE /api/v1/plugin/manage/:id
  POST /api/v1/collection
  PUT /api/v1/collection
  PUT /api/v1/collection/list
  POST /api/v1/collection/:collectionId
  DELETE /api/v1/collection/:collectionId
  POST /api/v1/collection/objects/:collectionId
  POST /api/v1/collection/push/:collectionId
  POST /api/v1/collection/splice/:collectionId
  POST /api/v1/collection/remove/:collectionId
  PUT /api/v1/xmlmapping/mapping
  POST /api/v1/xmlmapping/mapping/:mapping
  DELETE /api/v1/xmlmapping/mapping/:mapping
  POST /api/v1/publish
  DELETE /api/v1/publish/:publishId
  POST /api/v1/task
  PUT /api/v1/task
  PATCH /api/v1/task/:taskId
  DELETE /api/v1/task/:taskId
  POST /api/v1/task/:taskId/cancel
  PUT /api/v1/system/backup/new
  DELETE /api/v1/system/backup/:id
  POST /api/v1/tags
  POST /api/v1/transitions
  POST /api/v1/transitions/:id/run
  POST /api/v1/db/:objecttype
  PATCH /api/v1/db/:objecttype
  DELETE /api/v1/db/:objecttype
  DELETE /api/v1/user/session/list
  DELETE /api/v1/user/session/list/:id
  POST /api/v1/user/passkey/list/:id
  DELETE /api/v1/user/passkey/list/:id
  POST /api/v1/message
  PUT /api/v1/message
  DELETE /api/v1/message/:id
  POST /api/v1/message/:id/confirm
  POST /api/v1/right/:context/presets
  DELETE /api/v1/right/:context/presets/:presetId
  POST /api/v1/system/location/new
  PUT /api/v1/system/location/:id
  DELETE /api/v1/system/location/:id
  POST /api/v1/system/location/:id/move
  DELETE /api/v1/system/location/move/:moveId
  POST /api/v1/eas/put
  PUT /api/v1/eas/put
  POST /api/v1/eas/produce
  POST /api/v1/eas/rput
  POST /api/v1/eas/tus
  PATCH /api/v1/eas/tus/:uploadId
  POST /api/v1/eas/tus/:uploadId
  DELETE /api/v1/eas/tus/:uploadId
  POST /api/v1/eas/rput/bulk
  POST /api/v1/eas/:fileId
  POST /api/v1/eas/resync
  POST /api/page/confirmEmail
  POST /api/page/forgotPassword
  POST /api/page/register
  POST /api/page/resetPassword
  POST /api/v1/system/directory/test
  POST /api/v1/system/index/check
  POST /api/v1/system/reindex
  POST /api/v1/system/purgeall
  POST /api/v1/system/sendmail
  POST /inspect/*
  PUT /api/v1/WebDAV/:key
  PUT /api/v1/WebDAV/:key/*
  DELETE /api/v1/WebDAV/:key
  DELETE /api/v1/WebDAV/:key/*
  PROPPATCH /api/v1/WebDAV/:key
  PROPPATCH /api/v1/WebDAV/:key/*
  MKCOL /api/v1/WebDAV/:key
  MKCOL /api/v1/WebDAV/:key/*
  MOVE /api/v1/WebDAV/:key
  MOVE /api/v1/WebDAV/:key/*
  LOCK /api/v1/WebDAV/:key
  LOCK /api/v1/WebDAV/:key/*
  UNLOCK /api/v1/WebDAV/:key
  UNLOCK /api/v1/WebDAV/:key/*
  PUT /api/v1/hotfolder/:key
  PUT /api/v1/hotfolder/:key/*
  DELETE /api/v1/hotfolder/:key
  DELETE /api/v1/hotfolder/:key/*
  PROPPATCH /api/v1/hotfolder/:key
  PROPPATCH /api/v1/hotfolder/:key/*
  MKCOL /api/v1/hotfolder/:key
  MKCOL /api/v1/hotfolder/:key/*
  MOVE /api/v1/hotfolder/:key
  MOVE /api/v1/hotfolder/:key/*
  LOCK /api/v1/hotfolder/:key
  LOCK /api/v1/hotfolder/:key/*
  UNLOCK /api/v1/hotfolder/:key
  UNLOCK /api/v1/hotfolder/:key/*
  POST /api/v1/system/share_link
  DELETE /api/v1/system/share_link/:id
  POST /api/v1/export
  PUT /api/v1/export
  POST /api/v1/export/:exportId
  DELETE /api/v1/export/:exportId
  POST /api/v1/system/sendmail/test`

/** What changes nothing although it is no GET. */
const reading = [
  ...['POST', 'PUT', 'PATCH', 'DELETE'].map((method) => `${method} /api/v1/plugin/extension/:plugin/*`),
  'HEAD /api/v1/eas/download/:fileId/:hash/:version',
  'HEAD /api/v1/eas/download/:fileId/:hash/:version/*',
  'HEAD /api/v1/export/:exportId/file/*',
  'HEAD /api/v1/export/:exportId/uuid/:uuid/file/*',
  'HEAD /api/v1/collection/iiif/:collectionId',
  'HEAD /api/v1/eas/iiif/*',
  'HEAD /api/v1/eas/iiif2/*',
  'HEAD /api/v1/eas/zoom/*',
  'HEAD /api/v1/objects/*',
  'HEAD /api/v1/oai',
  'HEAD /robots.txt',
  'HEAD /sitemap.xml',
  'POST /api/v1/oai',
  'POST /api/oauth2/introspect',
  'POST /api/oauth2/userinfo',
  'POST /api/v1/db_info/create',
  'POST /api/v1/db_info/update',
  'POST /api/v1/search',
  'POST /api/v1/search/parse',
  'POST /api/v1/search/query',
  ...['HEAD', 'POST', 'PROPFIND', 'COPY'].flatMap((method) => [
    `${method} /api/v1/WebDAV/:key`,
    `${method} /api/v1/WebDAV/:key/*`,
    `${method} /api/v1/hotfolder/:key`,
    `${method} /api/v1/hotfolder/:key/*`,
  ]),
  'POST /api/v1/suggest',
]

/** Decision 3, and signing in: what works in read-only mode although it changes stored data. */
const allowed = [
  'POST /api/v1/event',
  'POST /api/v1/export/:exportId/start',
  'POST /api/v1/export/:exportId/stop',
  'DELETE /api/v1/search/point_in_time',
  'POST /api/oauth2/auth',
  'POST /api/oauth2/logout',
  'POST /api/oauth2/refresh',
  'POST /api/oauth2/revoke',
  'POST /api/oauth2/token',
  'POST /api/saml/acs',
  'POST /api/page/security',
  'POST /api/page/setPassword',
  'POST /api/page/showMessage',
  'POST /api/page/twoFactor',
  'POST /api/page/twoFactorRecovery',
  'POST /api/page/passkey',
  'POST /api/page/twoFactorSetup',
  'POST /api/page/twoFactorSetupPasskey',
  'POST /inspect/logout/',
  'POST /logout',
]

test('SVC-017 SVC-018 ERR-006 read-only mode refuses everything that writes, and only POST /event goes on', async () => {
  await using svc = await startService({ readOnly: true })
  const root = svc.as('root')
  const headers = { authorization: `Bearer ${await root.token()}` }
  const listed = writing.trim().split(/\n\s*/)
  const routes = svc.app.http.declaredRoutes.map(({ method, url }) => `${method} ${url}`)
  assert.deepEqual(
    routes.filter((route) => !route.startsWith('GET ')).toSorted(),
    [...listed, ...reading, ...allowed].toSorted(),
    'every endpoint stands in one of the lists',
  )
  for (const route of listed) {
    const [method, url = ''] = route.split(' ')
    const answer = await svc.inject({
      method: method as 'POST',
      url: url.replace('/:objecttype', '/work').replaceAll(/:\w+|\*/g, '1'),
      headers,
    })
    assert.deepEqual([answer.statusCode, answer.json().code], [400, 'ReadOnlyMode'], route)
  }
  for (const [path, body] of [
    ['/group', [{ group: { name: 'written' } }]],
    ['/user', [{ user: { login: 'written' } }]],
    ['/pool', [{ pool: { _id_parent: 1 } }]],
    ['/config', { system: { config: { name: { title: 'written' } } } }],
    ['/schema/user/HEAD', { version: 1, tables: [{ name: 'written', columns: [] }] }],
  ] as const) {
    const before = (await root.get(path)).body
    const answer = await root.post(path, body)
    assert.deepEqual([answer.status, answer.body.code], [400, 'ReadOnlyMode'], path)
    assert.deepEqual((await root.get(path)).body, before, path)
  }
  const event = await root.post('/event', { event: { type: 'SEARCH' } })
  assert.equal(event.status, 200)
  assert.equal((await root.get(`/event/${event.body.event._id}`)).body.event.type, 'SEARCH')
  assert.equal((await root.post('/search', {})).status, 200)
  const { id } = (await root.post('/search', { point_in_time: {} })).body.point_in_time
  const ended = await root.delete('/search/point_in_time', { pit_id: [id] })
  assert.deepEqual([ended.status, ended.body], [200, { status: { acknowledged: 'ok' } }])
  assert.equal((await root.post('/search', { point_in_time: { id } })).status, 400)
  assert.equal((await svc.as(null).get('/settings')).body.capabilities.read_only, true)
})

test('readonly.enabled of the base configuration is read-only mode for all processes, and only its end is taken', async () => {
  await using svc = await startService()
  await using other = await attachService(svc.dsn)
  const root = svc.as('root')
  const title = { system: { config: { name: { title: { 'en-US': 'Written' } } } } }
  assert.equal((await root.post('/config', title)).status, 200)
  const before = (await root.get('/config')).body
  assert.deepEqual(before.system.config.readonly, { enabled: false })
  assert.equal((await root.post('/config/system/config/readonly', { enabled: true })).status, 200)

  for (const service of [svc, other]) {
    const client = service.as('root')
    const refused = async () =>
      (await client.post('/group', [{ group: { name: 'written' } }])).body.code === 'ReadOnlyMode'
    await until(refused)
    assert.equal((await client.get('/settings')).body.capabilities.read_only, true)
    assert.equal((await client.post('/event', { event: { type: 'SEARCH' } })).status, 200)
    assert.equal((await client.post('/search', {})).status, 200)
  }
  const enabled = (await root.get('/config')).body
  for (const [method, path, body] of [
    ['post', '/config', { system: { config: { name: { title: { 'en-US': 'Other' } } } } }],
    [
      'post',
      '/config',
      { system: { config: { name: { title: { 'en-US': 'Other' } }, readonly: { enabled: false } } } },
    ],
    ['post', '/config', { system: { config: { readonly: { enabled: true } } } }],
    ['post', '/config?save=ignore_errors', { system: { config: { name: { title: 'Other' } } } }],
    ['post', '/config/system/config/name/title', { 'en-US': 'Other' }],
    ['delete', '/config/system/config/name', undefined],
  ] as const) {
    const { status, body: answer } = await root[method](path, body)
    assert.deepEqual([status, answer.code], [400, 'ReadOnlyMode'], `${method} ${path} ${JSON.stringify(body)}`)
  }
  assert.deepEqual((await root.get('/config')).body, enabled)

  // A client that edits the configuration sends all of it.
  const sent = { system: { config: { ...enabled.system.config, readonly: { enabled: false } } } }
  const ended = await root.post('/config', sent)
  assert.equal(ended.status, 200, JSON.stringify(ended.body))
  assert.deepEqual((await root.get('/config')).body, before)
  assert.equal((await root.post('/group', [{ group: { name: 'written' } }])).status, 200)
})

test('the base configuration does not end the read-only mode of the process', async () => {
  await using svc = await startService({ readOnly: true })
  const ended = await svc.as('root').post('/config/system/config/readonly', { enabled: false })
  assert.deepEqual([ended.status, ended.body.code], [400, 'ReadOnlyMode'])
})
