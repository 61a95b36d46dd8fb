import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { picture, upload } from '../files/support.ts'
import { consoleCookie } from '../inspect/support.ts'
import { install } from '../plugins/support.ts'
import { TestVisitor } from '../signin/sign-in-browser.ts'
import { requestToken } from '../signin/support.ts'
import type { Client, Json } from '../support/client.ts'
import { inPool, type Museum, payload, startMuseum } from '../support/seed/museum.ts'

/** What the service has, each part made by one request and read by another. */
suite('the service', () => {
  let museum: Museum
  let root: Client
  before(async () => {
    museum = await startMuseum()
    root = museum.svc.as('root')
  })
  after(() => museum[Symbol.asyncDispose]())

  async function ok(answer: Promise<{ status: number; body: Json }>): Promise<Json> {
    const { status, body } = await answer
    assert.equal(status, 200, JSON.stringify(body))
    return body
  }

  const work = async (more: object = {}): Promise<Json> => {
    const body = [payload('work', { ...inPool(museum.pool), title: { 'en-US': 'Kept' }, ...more })]
    const [stored] = await ok(root.post('/db/work', body))
    return stored
  }

  test('SVC-010 it manages collections, exports, publish records, groups and messages', async () => {
    const { collection } = await ok(root.post('/collection', { collection: { displayname: { 'en-US': 'Kit' } } }))
    assert.deepEqual((await ok(root.get(`/collection/${collection._id}`))).collection.displayname, { 'en-US': 'Kit' })
    const search = { objecttypes: ['work'] }
    const made = await ok(root.post('/export', { export: { type: 'export', name: 'all', search, json: true } }))
    assert.equal((await ok(root.get(`/export/${made.export._id}`))).export.name, 'all')
    await ok(
      root.post('/config/system/config/publish', {
        collectors: [{ internalname: 'portal', displayname: { 'en-US': 'Portal' }, url: 'https://portal.example.org' }],
      }),
    )
    const { _system_object_id: system_object_id } = await work()
    const publish = { system_object_id, collector: 'portal', publish_uri: 'https://portal.example.org/1' }
    const [record] = await ok(root.post('/publish', [{ publish }]))
    const [read] = await ok(root.get(`/publish/${record.publish._id}`))
    assert.equal(read.publish.publish_uri, 'https://portal.example.org/1')
    const [{ group }] = await ok(root.post('/group', [{ group: { name: 'staff' } }]))
    assert.equal((await ok(root.get(`/group/${group._id}`)))[0].group.name, 'staff')
    const texts = { title: { 'en-US': 'Hello' }, message: { 'en-US': 'Read this' } }
    const [{ message }] = await ok(root.post('/message', [{ message: texts }]))
    assert.deepEqual((await ok(root.get(`/message/${message._id}`)))[0].message.title, { 'en-US': 'Hello' })
  })

  test('SVC-011 it manages a catalogue of rights, settings of object types, mappings and plugins', async () => {
    const rights = await ok(root.get('/right'))
    assert.ok(JSON.stringify(rights).includes('"bag_read"'))
    const [{ objecttype }] = (await ok(root.get('/objecttype'))).filter((one: Json) => one.objecttype.name === 'work')
    const more = { comment: 'Works of art' }
    const changed = await ok(
      root.post('/objecttype', [
        { objecttype: { _id: objecttype._id, _version: objecttype._version + 1, name: 'work', ...more } },
      ]),
    )
    assert.equal(changed[0].objecttype._version, objecttype._version + 1)
    const mapping = { profile: 'file-metadata.yml', idTable: objecttype._id, displayname: { 'en-US': 'Photographs' } }
    const fields = [{ name: 'title', native: [{ field: 'work.title' }] }]
    const { id } = await ok(root.put('/xmlmapping/mapping', { ...mapping, fields }))
    assert.deepEqual((await ok(root.get(`/xmlmapping/mapping/${id}`))).displayname, { 'en-US': 'Photographs' })
    await install(museum.svc, 'kept', { 'manifest.yml': JSON.stringify({ plugin: { name: 'kept' } }) })
    const { plugins } = await ok(root.get('/plugin'))
    assert.deepEqual(
      plugins.map(({ name }: Json) => name),
      ['kept'],
    )
  })

  test('SVC-015 it offers collections by WebDAV, deep links to objects and files, and a console', async () => {
    const uploaded = await upload(museum.svc, 'root', [{ name: 'a.png', content: await picture() }])
    const object = await work({ image: [{ _id: uploaded.body[0]._id, preferred: true }] })
    await ok(root.post('/config/system/config/webdav', { read_write_access: true }))
    await ok(root.post('/config/system/config/deep_link_access', { enabled: true }))
    const create_object = { objecttype: 'work', eas_field: 'work.image', pool_id: museum.pool }
    const { collection } = await ok(
      root.post('/collection', {
        collection: { displayname: { 'en-US': 'Drive' }, create_object },
        objects: [{ _global_object_id: object._global_object_id }],
      }),
    )
    const listed = await museum.svc.inject({
      method: 'PROPFIND' as 'GET',
      url: `/api/v1/WebDAV/${collection.uuid}/`,
      headers: { depth: '1' },
    })
    assert.equal(listed.statusCode, 207)
    assert.match(listed.body, /a\.png/)
    const headers = { authorization: `Bearer ${await root.token()}` }
    const open = (path: string) =>
      museum.svc.inject({ method: 'GET', url: `/api/v1/objects/uuid/${object._uuid}${path}`, headers })
    const told = await open('')
    assert.deepEqual([told.statusCode, told.json()._uuid ?? told.json()[0]?._uuid], [200, object._uuid])
    const file = await open('/file/all/1')
    assert.equal(file.statusCode, 200)
    assert.match(`${file.headers['content-type']}`, /^image\//)
    const cookie = await consoleCookie(museum.svc)
    const page = await museum.svc.inject({ method: 'GET', url: '/inspect/', headers: { cookie, accept: 'text/html' } })
    assert.equal(page.statusCode, 200)
    assert.match(`${page.headers['content-type']}`, /^text\/html/)
  })

  test('SVC-005 names say svc, and values native, where a product name would stand', async () => {
    const script =
      'process.stdout.write(JSON.stringify({ error: { code: "error.no", statuscode: 409, parameters: {} } }))'
    const commands = [
      { prog: 'node', stdout: { type: 'body' }, args: [{ type: 'value', value: '%_exec.pluginDir%/no.js' }] },
    ]
    const extensions = { fails: { exec: { service: 'node', commands } } }
    await install(museum.svc, 'failing', {
      'manifest.yml': JSON.stringify({ plugin: { name: 'failing' }, extensions }),
      'no.js': script,
    })
    const failed = await root.get('/plugin/extension/failing/fails')
    assert.equal(failed.headers['x-svc-error-code'], 'error.no')
    assert.equal(typeof failed.headers['x-svc-error'], 'string')
    const visitor = new TestVisitor(museum.svc)
    await visitor.signIn('root', `${museum.svc.config.rootPassword}`, { auth_method: 'native' })
    assert.ok(visitor.cookies.has('svc-browser-id'))
    const { rootPassword: password } = museum.svc.config
    const native = { grant_type: 'password', client_id: 'svc-web-frontend', username: 'root', password: `${password}` }
    assert.equal((await requestToken(museum.svc, { ...native, auth_method: 'native' })).status, 200)
    await ok(root.post('/config/system/config/deep_link_access', { enabled: true }))
    const object = await work()
    const xml = await museum.svc.inject({
      method: 'GET',
      url: `/api/v1/objects/uuid/${object._uuid}/format/xml_native`,
      headers: { authorization: `Bearer ${await root.token()}` },
    })
    assert.deepEqual([xml.statusCode, /xml/.test(`${xml.headers['content-type']}`)], [200, true])
    // Everywhere: names of headers, parameters, members and values that begin with a word of somebody's own.
    const description = JSON.stringify((await museum.svc.as(null).get('/system/openapi/spec.json')).body)
    const headers = new Set(description.match(/\b[Xx]-[A-Z][\w-]+/g))
    const own = [...headers].filter(
      (name) => !/^x-(svc-|request-id|hub-signature|forwarded|http-method-override|shown-as)/i.test(name),
    )
    assert.deepEqual(own, [])
    assert.ok(!/\b(easydb|fylr)/i.test(description))
  })
})
