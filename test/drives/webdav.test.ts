import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { createClient, type WebDAVClient } from 'webdav'
import { picture } from '../files/support.ts'
import { seedPeople, toUser, wireGrant } from '../rights/people.ts'
import type { Json } from '../support/client.ts'
import { commitModel, defineModel, standardPool } from '../support/seed/model.ts'
import { startService, type TestService } from '../support/service.ts'

suite('WebDAV', () => {
  let svc: TestService
  let pool: number
  let ids: Record<string, number>
  let base: string
  const root = () => svc.as('root')

  before(async () => {
    svc = await startService()
    await commitModel(
      svc,
      defineModel({
        photo: {
          columns: { title: 'text_oneline', image: 'eas' },
          flags: { pool_link: true, has_tags: true },
        },
      }),
    )
    const people = await seedPeople(svc)
    ids = people.ids
    const rights = 'bag_read read link mask create write delete asset_upload asset_show asset_download'
    const made = await root().post('/pool', [
      { pool: { _id_parent: await standardPool(svc), name: { 'en-US': 'Open' } }, _acl: [wireGrant(toUser(ids.editor as number), rights)] },
    ])
    assert.equal(made.status, 200, JSON.stringify(made.body))
    pool = made.body[0].pool._id
    base = await svc.listen()
    await setDrives(true)
  })
  after(() => svc[Symbol.asyncDispose]())

  async function setDrives(on: boolean): Promise<void> {
    const { status, body } = await root().post('/config', { system: { config: { webdav: { read_write_access: on } } } })
    assert.equal(status, 200, JSON.stringify(body))
  }

  let count = 0
  async function drive(settings: object = {}): Promise<{ id: number; url: string; client: WebDAVClient; collection: Json }> {
    const create_object = { objecttype: 'photo', eas_field: 'image', pool_id: pool, ...settings }
    const { status, body } = await svc
      .as('editor')
      .post('/collection', { collection: { displayname: { 'en-US': `Drive ${count++}` }, create_object } })
    assert.equal(status, 200, JSON.stringify(body))
    const [address] = body._hotfolder_upload_urls
    assert.equal(address.type, 'webdav')
    const url = base + new URL(address.url).pathname
    return { id: body.collection._id, url, client: createClient(url), collection: body }
  }

  test('a client uploads, lists, reads, overwrites and deletes files', async () => {
    const { client, id } = await drive()
    const [one, two] = [await picture(), await picture()]
    assert.equal(await client.putFileContents('/a b.jpg', one), true)
    const listed = await client.getDirectoryContents('/')
    assert.deepEqual(
      (listed as Json[]).map(({ basename, type, size, mime }) => [basename, type, size, mime]),
      [['a b.jpg', 'file', one.length, 'image/jpeg']],
    )
    assert.deepEqual(await client.getFileContents('/a b.jpg'), one)
    await client.putFileContents('/a b.jpg', two)
    assert.deepEqual(await client.getFileContents('/a b.jpg'), two)
    const { body } = await svc.as('editor').get(`/collection/objects/${id}`)
    assert.equal(body.count, 1)
    await client.deleteFile('/a b.jpg')
    assert.equal(await client.exists('/a b.jpg'), false)
    const after = await svc.as('editor').get(`/collection/objects/${id}`)
    assert.equal(after.body.count, 0)
  })
})
