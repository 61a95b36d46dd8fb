import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import sharp from 'sharp'
import type { Json } from '../support/client.ts'
import { commitModel, defineModel, standardPool } from '../support/seed/model.ts'
import { inPool, payload } from '../support/seed/museum.ts'
import { startService, type TestService } from '../support/service.ts'
import { statementsOf } from '../support/statements.ts'
import { until } from '../support/until.ts'
import { upload } from './support.ts'

/** A picture of large patches, never the same twice: fine noise alone may show too little to be compared. */
function drawing(): Promise<Buffer> {
  return sharp(randomBytes(12 * 9 * 3), { raw: { width: 12, height: 9, channels: 3 } })
    .resize(600, 450)
    .jpeg()
    .toBuffer()
}

/** What is told of files to those who may not have them, or a rendition alone. */
suite('hidden files and hidden originals', () => {
  let svc: TestService
  let pool: number
  let shown: Json
  let hidden: Json
  const people: Record<string, number> = {}
  const root = () => svc.as('root')
  const absent = 999_999

  before(async () => {
    svc = await startService()
    const flags = { pool_link: true }
    await commitModel(svc, defineModel({ photo: { columns: { title: 'text_oneline', image: 'eas' }, flags } }))
    pool = await standardPool(svc)
    for (const login of ['viewer', 'owner', 'stranger']) {
      const { body } = await root().post('/user', [{ user: { login }, _password: login }], {
        confirm: 'ignore_password_requirements',
      })
      people[login] = body[0].user._id
    }
    const content = await drawing()
    const sent = [
      { name: 'shown.jpg', content },
      { name: 'twin.jpg', content },
      { name: 'hidden.jpg', content: await drawing() },
    ]
    const { status, body } = await upload(svc, 'root', sent, { produce_versions: 'true' })
    assert.equal(status, 200, JSON.stringify(body))
    await svc.drain()
    // What pictures look like is compared when it has been computed for both.
    await until(async () => (await root().get(`/eas/${body[0]._id}/similar`)).body.length > 0)
    const twin = body[1]
    shown = (await root().get(`/eas/${body[0]._id}`)).body
    hidden = (await root().get(`/eas/${body[2]._id}`)).body
    const save = async (title: string, file: Json) => {
      const object = payload('photo', { ...inPool(pool), title, image: [{ _id: file._id, preferred: true }] })
      const saved = await root().post('/db/photo', [object])
      assert.equal(saved.status, 200, JSON.stringify(saved.body))
    }
    await save('shown', shown)
    await save('twin', twin)
    await svc.drain()
    await grant({
      viewer: { read: {}, asset_show: { versions: ['image.small'] } },
      owner: { read: {}, asset_download: {} },
    })
  })
  after(() => svc[Symbol.asyncDispose]())

  async function grant(rights: Record<string, object>): Promise<void> {
    const { pool: block } = (await root().get(`/pool/${pool}`)).body[0]
    const _acl = Object.entries(rights).map(([login, given]) => ({
      who: { _basetype: 'user', user: { _id: people[login] } },
      rights: given,
    }))
    const saved = await root().post('/pool', [{ pool: { _id: pool, _version: block._version }, _acl }])
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
  }

  async function get(login: string | null, path: string, method: 'GET' | 'HEAD' = 'GET') {
    const headers = login === null ? {} : { authorization: `Bearer ${await svc.as(login).token()}` }
    const { statusCode, headers: sent, body } = await svc.inject({ method, url: `/api/v1${path}`, headers })
    const { date: _, 'x-request-id': __, ...rest } = sent
    return { status: statusCode, headers: rest, body: body.replaceAll(/"request_id":"[^"]*"/g, '') }
  }

  /** Addresses of a file by its number, as anybody can count them. */
  const addresses = (id: number, version = 'original', { hash } = hidden): string[] => {
    const place = `${id}/${hash}/${version}`
    return [
      `/eas/download/${place}`,
      `/eas/download/${place}?size=100`,
      `/eas/download/${place}/`,
      `/eas/download/${place}/some/entry.txt`,
      `/eas/download/${id}/${'0'.repeat(64)}/${version}`,
      `/eas/download/${place}?x-svc-signature=none`,
      `/eas/download/${place}?obj_uuid=00000000-0000-4000-8000-000000000000`,
      `/eas/iiif/${place}/info.json`,
      `/eas/iiif/${place}/full/max/0/default.jpg`,
      `/eas/iiif/${place}`,
      `/eas/zoom/${place}/zoom512/part0x0.jpg`,
      `/eas/${id}`,
      `/eas/${id}?check_for_duplicates=true`,
      `/eas/${id}?obj_uuid=00000000-0000-4000-8000-000000000000`,
      `/eas/${id}/similar`,
      `/eas?ids=[${id}]`,
    ]
  }

  test('a file that is not the caller’s to see is answered as one that is not there, after as many statements', async () => {
    for (const login of ['stranger', 'viewer', null]) {
      for (const version of ['original', 'small', 'nothing']) {
        const pairs = addresses(hidden._id, version).map((path, index) => [
          path,
          addresses(absent, version)[index] ?? '',
        ])
        for (const [there = '', not = ''] of pairs) {
          const where = `${login} ${there}`
          for (const method of ['GET', 'HEAD'] as const) {
            const [one, other] = [await get(login, there, method), await get(login, not, method)]
            assert.deepEqual(one, other, where)
            if (method === 'GET') assert.equal(one.status, 403, where)
          }
        }
      }
    }
    // One that nobody has, and one of an object of others.
    const paths = [hidden, shown].flatMap((file) => {
      const others = addresses(absent, 'original', file)
      return addresses(file._id, 'original', file).map((path, index) => [path, others[index] ?? ''] as const)
    })
    for (const [path, other] of paths) {
      assert.deepEqual(await get('stranger', path), await get('stranger', other), path)
      if (path.includes('signature')) continue
      const one = await statementsOf(svc, () => get('stranger', path))
      assert.equal(await statementsOf(svc, () => get('stranger', other)), one, path)
    }
  })

  test('who may see all is told what is not there', async () => {
    assert.equal((await get('root', `/eas/download/${absent}/${hidden.hash}/original`)).status, 404)
    assert.equal((await get('root', `/eas/download/${hidden._id}/${hidden.hash}/nothing`)).status, 404)
    assert.equal((await get('root', `/eas/download/${hidden._id}/${hidden.hash}/original`)).status, 200)
    assert.equal((await get('viewer', `/eas/download/${shown._id}/${shown.hash}/nothing`)).status, 404)
  })

  test('what the original is and says of itself is for those who may have it', async () => {
    const secrets = [shown.hash, '"technical_metadata"', '"metadata"', '600 x 450', 'sha256_hash']
    const places = [
      `/eas/${shown._id}`,
      `/eas/${shown._id}?format=standard`,
      `/eas/${shown._id}?format=short`,
      `/eas/${shown._id}?check_for_duplicates=true`,
      `/eas?ids=[${shown._id}]`,
      ...['short', 'standard', 'long', 'full', 'standard_extended', 'long_inheritance', 'full_inheritance'].map(
        (format) => `/db/photo/photo__standard/list?format=${format}`,
      ),
      '/db/photo/photo__standard/1?all_versions=true',
    ]
    for (const path of places) {
      const { status, body } = await get('viewer', path)
      assert.equal(status, 200, `${path} ${body}`)
      for (const secret of secrets) assert.ok(!body.includes(secret), `${path} ${secret}`)
    }
    for (const format of ['short', 'standard', 'long', 'full']) {
      const { body } = await svc.as('viewer').post('/search', { format })
      assert.equal(body.count, 2)
      for (const secret of secrets) assert.ok(!JSON.stringify(body).includes(secret), `${format} ${secret}`)
    }
    const theirs = (await svc.as('viewer').get(`/eas/${shown._id}`)).body
    assert.deepEqual(Object.keys(theirs.versions), ['small'])
    assert.ok(theirs.versions.small.hash && theirs.versions.small.width, 'of the rendition all is told')
    assert.equal(theirs.best_date, theirs.date_uploaded)
    const whole = (await svc.as('owner').get(`/eas/${shown._id}`)).body
    assert.deepEqual([whole.hash, whole.technical_metadata.width], [shown.hash, 600])
    assert.equal(whole.compiled_props.dimensions, '600 x 450 px')
  })

  test('nor does a search tell it, by conditions, facets, ranges or orders', async () => {
    const field = '_linked._asset.technical_metadata.width'
    const asked = async (login: string) => {
      const found = await svc.as(login).post('/search', { search: [{ type: 'range', field, from: 500, to: 700 }] })
      const exact = await svc.as(login).post('/search', {
        search: [{ type: 'in', fields: ['_linked._asset.technical_metadata.mime_type'], in: ['image/jpeg'] }],
      })
      const counted = await svc.as(login).post('/search', {
        aggregations: {
          format: { type: 'term', field: '_linked._asset.technical_metadata.format' },
          width: { type: 'range', field, ranges: [{ from: 500 }] },
        },
        sort: [{ field: '_linked._asset.best_date' }],
      })
      const { aggregations, objects } = counted.body
      return [
        found.body.count,
        exact.body.count,
        aggregations.format.terms.length,
        aggregations.width.ranges[0].count,
        objects.filter((object: Json) => object._sort[0] !== null).length,
      ]
    }
    assert.deepEqual(await asked('owner'), [2, 2, 1, 2, 2])
    assert.deepEqual(await asked('viewer'), [0, 0, 0, 0, 0])
    const byName = { search: [{ type: 'text', fields: ['_linked._asset.original_filename'], string: 'shown' }] }
    assert.equal((await svc.as('viewer').post('/search', byName)).body.count, 1, 'the name goes with the file')
  })

  test('that two originals are the same is told to those who may have both', async () => {
    const certainty = async (login: string) => {
      const similar = (await svc.as(login).get(`/eas/${shown._id}/similar`)).body
      const { _duplicates } = (await svc.as(login).get(`/eas/${shown._id}`, { check_for_duplicates: true })).body
      return [similar[0]?.certainty ?? similar.objects?.[0]?.certainty, _duplicates[0].certainty]
    }
    assert.deepEqual(await certainty('owner'), [1, 1])
    for (const told of await certainty('viewer')) assert.ok(told < 1, `${told}`)
  })
})
