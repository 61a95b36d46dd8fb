import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { ok } from '../collections/support.ts'
import { upload } from '../files/support.ts'
import type { Json } from '../support/client.ts'
import { everything, type Opened, type Scene, startDeepLinks } from './scene.ts'

suite('files behind deep links', () => {
  let it: Scene
  let files: Json[]
  let object: Json
  const root = () => it.svc.as('root')
  before(async () => {
    it = await startDeepLinks()
    files = await it.pictures(3)
    object = await it.work({ title: { 'en-US': 'Three views' }, inventory: 'F1' }, files)
    await it.grant({
      deep_link: { read: {}, asset_download: {} },
      viewer: { read: {}, asset_show: {} },
      reader: { read: {} },
    })
    await it.access(everything)
  })
  after(() => it[Symbol.asyncDispose]())

  const at = (more: string) => `uuid/${object._uuid}/${more}`
  /** Which of the pictures it is, from 1. */
  const which = (answer: Opened): number => {
    assert.equal(answer.status, 200, answer.content.toString().slice(0, 300))
    return files.findIndex(({ hash }) => `${answer.headers.etag}` === `"${hash}"`) + 1
  }
  const refused = (answer: Opened, status: number, code: string, what = '') =>
    assert.deepEqual([answer.status, answer.code], [status, code], `${what} ${answer.content.toString().slice(0, 300)}`)

  test('LINK-012 a file is named by its place in the standard, among all, by its id or by its column', async () => {
    // The preferred one, which is the second, stands first in the standard.
    assert.equal(which(await it.open(at('file/standard/1'))), 2)
    assert.equal(which(await it.open(at('file/standard/2'))), 1)
    for (const n of [1, 2, 3]) {
      assert.equal(which(await it.open(at(`file/all/${n}`))), n)
      assert.equal(which(await it.open(at(`file/id/${files[n - 1]._id}`))), n)
      assert.equal(which(await it.open(at(`file/column/image/${n}`))), n)
      assert.equal(which(await it.open(at(`file/column/work.image/${n}`))), n)
    }
    assert.equal(which(await it.open(at('file/column/image'))), 1)
    ok(await root().post(`/eas/${files[2]._id}`, { reference: 'third/view' }))
    assert.equal(which(await it.open(at('file/id/eas:third%2Fview'))), 3)
    for (const path of ['file/standard/4', 'file/all/4', 'file/column/image/4', 'file/id/999999', 'file/id/eas:none']) {
      refused(await it.open(at(path)), 404, 'ResourceNotFound', path)
    }
    for (const path of ['file/column/title', 'file/column/none', 'file/column/person.image']) {
      refused(await it.open(at(path)), 400, 'ApiObjectPath', path)
    }
    const elsewhere = await it.work({ title: { 'en-US': 'Other' } }, await it.pictures(1))
    refused(await it.open(at(`file/id/${elsewhere.work.image[0]._id}`)), 404, 'ResourceNotFound', 'of another object')
  })

  test('LINK-013 file_browser is the preferred file, or the n-th, of the column', async () => {
    assert.equal(which(await it.open(at('file_browser/preferred'))), 2)
    for (const n of [1, 2, 3]) assert.equal(which(await it.open(at(`file_browser/${n}`))), n)
    assert.equal(which(await it.open(at('file/column/image/3/file_browser/preferred'))), 2)
    assert.equal(which(await it.open(at('file_browser/3/file/all/1'))), 3)
    refused(await it.open(at('file_browser/4')), 404, 'ResourceNotFound')
  })

  test('LINK-019 LINK-020 the bytes are those of the file, with its type; of documents that of the format', async () => {
    for (const method of ['GET', 'HEAD'] as const) {
      const answer = await it.open(at('file/all/1'), null, { method })
      assert.equal(answer.status, 200)
      assert.equal(answer.headers['content-type'], 'image/jpeg')
      assert.equal(answer.headers['content-length'], `${files[0].filesize}`)
      assert.equal(answer.headers['cache-control'], 'no-cache, must-revalidate')
      assert.equal(answer.content.length, method === 'GET' ? files[0].filesize : 0)
    }
    const { versions } = ok(await root().get(`/eas/${files[0]._id}`))
    const { pathname, search } = new URL(versions.original.url)
    const direct = await it.svc.inject({ method: 'GET', url: pathname + search })
    assert.deepEqual((await it.open(at('file/all/1'))).content, direct.rawPayload)
    const types = { json: /^application\/json/, xml_native: /^application\/xml|^text\/xml/, csv: /^text\/csv/ }
    for (const [format, type] of Object.entries(types)) {
      assert.match(`${(await it.open(at(`format/${format}`))).headers['content-type']}`, type)
    }
    const part = await it.open(at('file/all/1'), null, { headers: { range: 'bytes=2-5' } })
    assert.deepEqual([part.status, part.content], [206, direct.rawPayload.subarray(2, 6)])
    const known = await it.open(at('file/all/1'), null, { headers: { 'if-none-match': `"${files[0].hash}"` } })
    assert.deepEqual([known.status, known.content.length], [304, 0])
  })

  test('LINK-005 ERR-021 a file takes the right to download it', async () => {
    for (const [login, right] of [
      ['viewer', 'asset_show alone'],
      ['reader', 'none'],
    ] as const) {
      for (const path of [
        'file/all/1',
        'file/standard/1',
        `file/id/${files[0]._id}`,
        'file/column/image',
        'file_browser/preferred',
      ]) {
        refused(await it.open(at(path), login), 403, 'ObjectInsufficientAssetDownloadRight', right)
      }
      // A version that there is not, and one that there is, look alike.
      for (const name of ['original', 'preview', 'nothing']) {
        const answer = await it.open(at(`file/all/1/file_version/name/${name}`), login)
        refused(answer, 403, 'ObjectInsufficientAssetDownloadRight', name)
      }
    }
    assert.equal(which(await it.open(at('file/all/1'))), 1)
  })

  test('LINK-014 a version by its name, or the first finished one of a group', async () => {
    const [made] = (
      await upload(
        it.svc,
        'root',
        [{ name: 'large.jpg', content: await (await import('../files/support.ts')).picture(1500, 1000) }],
        { produce_versions: 'true' },
      )
    ).body
    const own = await it.work({ title: { 'en-US': 'With renditions' } }, [made])
    await it.svc.drain()
    const { versions } = ok(await root().get(`/eas/${made._id}`, { await_version: 'huge' }))
    const open = (more: string, login: string | null = null) =>
      it.open(`uuid/${own._uuid}/file/all/1/file_version/${more}`, login)
    const version = async (more: string) => {
      const answer = await open(more)
      assert.equal(answer.status, 200, answer.content.toString().slice(0, 300))
      return Object.keys(versions).find((name) => `"${versions[name].hash}"` === answer.headers.etag)
    }
    assert.equal(await version('name/original'), 'original')
    assert.equal(await version('name/preview'), 'preview')
    assert.equal(await version('group/small'), 'small')
    assert.equal(await version('group/medium'), 'preview')
    assert.equal(await version('group/huge'), 'huge')
    refused(await open('name/nothing'), 400, 'FileVersionNotAvailable')
    refused(await open('group/nothing'), 400, 'FileGroupNotAvailable')
    refused(await it.open(at('file/all/1/file_version/group/small')), 400, 'FileGroupNotAvailable', 'none is made')
    // Rights say which versions: of a group the first that the caller may have.
    await it.grant({ deep_link: { read: {}, asset_download: { versions: ['image.full'] } } })
    assert.equal(await version('group/huge'), 'full')
    refused(await open('group/small'), 403, 'ObjectInsufficientAssetDownloadRight')
    refused(await open('name/original'), 403, 'ObjectInsufficientAssetDownloadRight')
    await it.grant({
      deep_link: { read: {}, asset_download: {} },
      viewer: { read: {}, asset_show: {} },
      reader: { read: {} },
    })
  })

  test('a group is a word that a recipe has in the base configuration', async () => {
    const path = '/config/system/config/produce_config'
    const { value } = ok(await root().get(path))
    const wrong = structuredClone(value)
    wrong.classes.image.versions[0].group = 'Not A Word'
    const answer = await root().post(path, { value: wrong })
    assert.deepEqual(
      [answer.status, answer.body.parameters.path],
      [400, 'system/config/produce_config/value/classes/image/versions/0/group'],
    )
    value.classes.image.versions[1].group = 'web'
    ok(await root().post(path, { value }))
    assert.equal(ok(await root().get(path)).value.classes.image.versions[1].group, 'web')
    ok(await root().delete(path))
  })

  test('LINK-015 a file is saved or shown as the path or the query says, shown only where its type is', async () => {
    const how = async (more: string) => `${(await it.open(at(more))).headers['content-disposition']}`.split(';')[0]
    assert.equal(await how('file/all/1'), 'inline')
    assert.equal(await how('file/all/1/disposition/attachment'), 'attachment')
    assert.equal(await how('file/all/1?disposition=attachment'), 'attachment')
    assert.equal(await how('file/all/1/disposition/inline'), 'inline')
    const [page] = (await upload(it.svc, 'root', [{ name: 'page.html', content: Buffer.from('<script>1</script>') }]))
      .body
    const own = await it.work({ title: { 'en-US': 'Page' } }, [page])
    const path = `uuid/${own._uuid}/file/all/1`
    const saved = await it.open(path)
    assert.equal(`${saved.headers['content-disposition']}`.split(';')[0], 'attachment')
    assert.match(`${saved.headers['content-security-policy']}`, /^sandbox;/)
    refused(await it.open(`${path}/disposition/inline`), 400, 'ApiObjectPath')
    assert.equal((await it.open(`uuid/${object._uuid}/format/json/disposition/attachment`)).status, 200)
  })

  test('files of former versions, and of nested rows', async () => {
    const [first, second] = await it.pictures(2)
    const own = await it.work({ title: { 'en-US': 'Changed' } }, [first])
    const changed = { ...own, work: { ...own.work, image: [{ _id: second._id, preferred: true }] } }
    ok(await root().post('/db/work', [changed]))
    const tag = async (path: string) => (await it.open(`uuid/${own._uuid}${path}`)).headers.etag
    assert.equal(await tag('/file/all/1'), `"${second.hash}"`)
    assert.equal(await tag('/version/1/file/all/1'), `"${first.hash}"`)
    assert.equal(await tag('/latest/file/all/1'), `"${second.hash}"`)
  })

  test('deep_link_url of a version leads to it, where deep links are on and it may be downloaded', async () => {
    const read = async (login = 'root') =>
      (await it.svc.as(login).get(`/db/work/work__standard/${object.work._id}`)).body[0]
    const { deep_link_url: url } = (await read()).work.image[0].versions.original
    const { pathname, origin } = new URL(url)
    assert.equal(origin, new URL(it.svc.config.externalUrl).origin)
    assert.equal(pathname, `/api/v1/objects/uuid/${object._uuid}/file/id/${files[0]._id}/file_version/name/original`)
    assert.equal(which(await it.open(pathname.slice('/api/v1/objects/'.length))), 1)
    assert.equal(
      (await read('viewer')).work.image[0].versions.original.deep_link_url,
      undefined,
      'not to be downloaded',
    )
    await it.access({})
    assert.equal((await read()).work.image[0].versions.original.deep_link_url, undefined)
    await it.access(everything)
    assert.equal((await read()).work.image[0].versions.original.deep_link_url, url)
  })

  test('a download is in the event log', async () => {
    await it.open(at('file/all/2'))
    await it.svc.drain()
    const { rows } = await it.svc.db.query(
      `select object_id as file from event where type = 'FILE_DOWNLOAD' order by id desc limit 1`,
    )
    assert.deepEqual(rows, [{ file: files[1]._id }])
  })

  test('columns that the mask hides have no files', async () => {
    const path = at('mask/work__title_only/file/')
    refused(await it.open(`${path}all/1`), 404, 'ResourceNotFound')
    refused(await it.open(`${path}column/image`), 400, 'ApiObjectPath')
    refused(await it.open(at('mask/work__title_only/file_browser/preferred')), 400, 'ApiObjectPath')
  })
})
