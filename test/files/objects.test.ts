import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import sharp from 'sharp'
import { perceptualHashOf } from '../../src/files/renditions/workshop/perceptual-hash.ts'
import type { Json, Query } from '../support/client.ts'
import { assertDocumented } from '../support/documented.ts'
import { inPool, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { fetched, picture, type Sent, sha256, upload } from './support.ts'

/** Eight by six pixels, always the same of a word, neither black nor white. */
function shapes(word: string): Buffer {
  const bytes = Array.from({ length: 5 }, (_, part) => [...Buffer.from(sha256(Buffer.from(`${word} ${part}`)), 'hex')])
  return Buffer.from(
    bytes
      .flat()
      .slice(0, 8 * 6 * 3)
      .map((byte) => 40 + Math.round((byte * 160) / 255)),
  )
}

suite('files in objects', () => {
  let museum: Museum
  const people: Record<string, number> = {}
  const root = () => museum.svc.as('root')
  before(async () => {
    museum = await startMuseum()
    for (const login of ['reader', 'writer', 'viewer']) {
      const { body } = await root().post('/user', [{ user: { login }, _password: login }], {
        confirm: 'ignore_password_requirements',
      })
      people[login] = body[0].user._id
    }
    await grant({
      reader: { read: {} },
      viewer: { read: {}, asset_show: { versions: ['image.original'] } },
      writer: { read: {}, create: {}, write: {}, asset_upload: { classes: ['image'] } },
    })
  })
  after(() => museum[Symbol.asyncDispose]())

  async function grant(rights: Record<string, object>): Promise<void> {
    const { pool } = (await root().get(`/pool/${museum.pool}`)).body[0]
    const _acl = Object.entries(rights).map(([login, given]) => ({
      who: { _basetype: 'user', user: { _id: people[login] } },
      rights: given,
    }))
    const saved = await root().post('/pool', [{ pool: { _id: museum.pool, _version: pool._version }, _acl }])
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
  }

  async function sent(login: string, count = 1, extension = 'jpg'): Promise<Json[]> {
    const files: Sent[] = []
    for (let n = 0; n < count; n++) files.push({ name: `${n}.${extension}`, content: await picture() })
    const { status, body } = await upload(museum.svc, login, files)
    assert.equal(status, 200, JSON.stringify(body))
    return body
  }

  const work = (block: object, more: object = {}) =>
    payload('work', { ...inPool(museum.pool), ...block }, { _mask: 'work__standard', ...more })

  async function save(login: string, object: object, query = {}): Promise<Json> {
    return museum.svc.as(login).post('/db/work', [object], query)
  }

  async function saved(login: string, object: object): Promise<Json> {
    const { status, body } = await save(login, object)
    assert.equal(status, 200, JSON.stringify(body))
    return body[0]
  }

  const read = async (login: string, id: number, query: Query = {}) =>
    (await museum.svc.as(login).get(`/db/work/work__standard/${id}`, query)).body[0]

  const maskId = async (name: string): Promise<number> =>
    (await root().get('/mask/CURRENT')).body.masks.find((mask: Json) => mask.name === name).mask_id

  const uses = async () =>
    (
      await museum.svc.db.query(
        'select file_id::int as file, system_object_id::int as object, latest from file_use order by 1, 2',
      )
    ).rows

  test('an object shows its files: order, preferred, names, preferences, records and signed addresses', async () => {
    const [first, second] = await sent('root', 2)
    const image = [
      { _id: second._id, name: 'back', frontend_prefs: { app: { x: 1 } } },
      { _id: first._id, preferred: true },
    ]
    const { work: block, _system_object_id } = await saved('root', work({ image }))
    assert.deepEqual(
      block.image.map(({ _id, preferred, name, frontend_prefs }: Json) => ({ _id, preferred, name, frontend_prefs })),
      [
        { _id: second._id, preferred: false, name: 'back', frontend_prefs: { app: { x: 1 } } },
        { _id: first._id, preferred: true, name: undefined, frontend_prefs: undefined },
      ],
    )
    const [{ versions, class: kind, original_filename, hash, technical_metadata }] = (await read('root', block._id))
      .work.image
    assert.deepEqual([kind, original_filename, hash], ['image', '1.jpg', second.hash])
    assert.equal(technical_metadata.sha256_hash, second.hash)
    assert.equal((await fetched(museum.svc, versions.original.url)).status, 200)
    const list = (await root().get('/db/work/_all_fields/list', { format: 'standard' })).body
    assert.equal(list.at(-1).work.image[0].versions.original.url, versions.original.url)
    const found = (
      await root().post('/search', {
        search: [{ type: 'in', fields: ['_system_object_id'], in: [_system_object_id] }],
        format: 'long',
      })
    ).body
    assert.ok(found.count === 0 || found.objects[0].work.image[0].versions.original.url)
    const again = await saved('root', await read('root', block._id))
    assert.deepEqual([again.work._version, again.work.image[0].name], [2, 'back'])
  })

  test('a file is named by its reference, too', async () => {
    const { body } = await upload(museum.svc, 'root', [{ name: 'a.jpg', content: await picture() }], {
      references: ['by:reference'],
    })
    const { work: block } = await saved('root', work({ image: [{ 'lookup:_id': { reference: 'by:reference' } }] }))
    assert.deepEqual([block.image[0]._id, block.image[0].preferred], [body[0]._id, true])
    const twice = work({ image: [{ 'lookup:_id': { reference: 'by:reference' } }, { _id: body[0]._id }] })
    assert.equal((await save('root', twice)).body.code, 'InvalidValue')
    const wrong = await save('root', work({ image: [{ 'lookup:_id': { reference: 'nothing' } }] }))
    assert.deepEqual([wrong.body.code, wrong.body.parameters.reference], ['LookupNotFound', 'nothing'])
    const two = ['by:reference', 'neither'].map((reference) => ({ 'lookup:_id': { reference } }))
    const { parameters } = (await save('root', work({ image: two }))).body
    assert.equal(parameters.reference, 'neither')
    for (const entry of [5, {}, { _id: 0 }, { _id: '1' }, { _id: 1, name: 5 }, { _id: 1, frontend_prefs: [] }]) {
      assert.equal((await save('root', work({ image: [entry] }))).body.code, 'InvalidValue', JSON.stringify(entry))
    }
  })

  test('a file comes into an object when it is there and the caller’s to give; both alike if not', async () => {
    const [own] = await sent('writer')
    const [others] = await sent('root')
    const inside = await saved('root', work({ image: [{ _id: others._id }] }))
    assert.equal((await save('writer', work({ image: [{ _id: own._id }] }))).status, 200)
    const refusals = await Promise.all(
      [others._id, 999_999].map(async (_id) => (await save('writer', work({ image: [{ _id }] }))).body),
    )
    for (const { code, message, parameters } of refusals) {
      assert.deepEqual([code, parameters.right], ['ObjectInsufficientRights', 'asset_download'])
      assert.equal(message, refusals[0].message)
    }
    const reference = await save('writer', work({ image: [{ 'lookup:_id': { reference: 'by:reference' } }] }))
    assert.equal(reference.body.message, refusals[0].message)
    // Nor do several references in a list tell which of them there are, and of which file.
    const byReference = (name: string) => ({ 'lookup:_id': { reference: name } })
    for (const image of [
      [byReference('by:reference'), byReference('no such')],
      [byReference('no such'), byReference('none either')],
      [byReference('by:reference'), { _id: others._id }],
    ]) {
      const { code, message } = (await save('writer', work({ image }))).body
      assert.deepEqual([code, message], ['ObjectInsufficientRights', refusals[0].message], JSON.stringify(image))
    }
    assert.equal((await save('root', work({ image: [{ _id: 999_999 }] }))).body.code, 'LookupNotFound')
    // What the object has may stay, whoever saves it.
    const kept = await saved(
      'writer',
      work({ _id: inside.work._id, _version: 1, note: 'n', image: [{ _id: others._id }] }),
    )
    assert.equal(kept.work._version, 2)
  })

  test('asset_upload says which files come into an object, and whether they may be taken out', async () => {
    const [own, another] = await sent('writer', 2)
    await grant({
      reader: { read: {} },
      viewer: { read: {}, asset_show: { versions: ['image.original'] } },
      writer: { read: {}, create: {}, write: {}, asset_upload: { classes: ['video'] } },
    })
    const refused = await save('writer', work({ image: [{ _id: own._id }] }))
    assert.deepEqual([refused.body.code, refused.body.parameters.right], ['ObjectInsufficientRights', 'asset_upload'])
    await grant({
      reader: { read: {} },
      viewer: { read: {}, asset_show: { versions: ['image.original'] } },
      writer: { read: {}, create: {}, write: {}, asset_upload: { classes: ['image'], limit: 50_000 } },
    })
    const object = await saved('root', work({ image: [{ _id: own._id }] }))
    const change = (image: object[], version: number) =>
      save('writer', work({ _id: object.work._id, _version: version, image }))
    assert.equal((await change([], 1)).body.parameters.right, 'asset_upload')
    assert.equal((await change([{ _id: own._id }, { _id: another._id }], 1)).status, 200)
    await grant({
      reader: { read: {} },
      viewer: { read: {}, asset_show: { versions: ['image.original'] } },
      writer: {
        read: {},
        create: {},
        write: {},
        asset_upload: { classes: ['image'], allow_update_and_remove: true },
      },
    })
    assert.equal((await change([], 2)).status, 200)
  })

  test('READ-018 READ-020 ERR-022 who may see a file: by the objects that have it, its versions and columns', async () => {
    const [file] = await sent('root')
    const { work: block } = await saved('root', work({ image: [{ _id: file._id }] }))
    const shown = (await read('viewer', block._id)).work.image[0]
    assert.deepEqual([shown.versions.original._show_allowed, shown.versions.original._download_allowed], [true, false])
    assert.deepEqual((await read('reader', block._id)).work.image, [{ _id: file._id, preferred: true }])
    const path = `/eas/${file._id}`
    assert.equal((await museum.svc.as('viewer').get(path)).body.hash, file.hash)
    assert.equal((await museum.svc.as('viewer').get('/eas', { ids: `[${file._id}]` })).body[file._id].hash, file.hash)
    for (const login of ['reader', null]) {
      for (const answer of [
        await museum.svc.as(login).get(path),
        await museum.svc.as(login).get('/eas', { ids: `[${file._id}]` }),
      ]) {
        assert.deepEqual([answer.status, answer.body.code], [403, 'InsufficientRights'])
      }
    }
    const bare = file.versions.original.url.split('?')[0]
    const bearer = async (login: string) => ({ authorization: `Bearer ${await museum.svc.as(login).token()}` })
    assert.equal((await fetched(museum.svc, bare, await bearer('viewer'))).status, 200)
    assert.equal((await fetched(museum.svc, bare, await bearer('reader'))).status, 403)
    await grant({
      reader: { read: {}, asset_download: { classes: ['video'] } },
      viewer: { read: {}, asset_show: { versions: ['image.preview'] } },
      writer: { read: {}, mask: {}, asset_show: {}, asset_download: { column_ids: [999_999] } },
    })
    for (const login of ['reader', 'viewer']) {
      assert.equal((await museum.svc.as(login).get(path)).status, 403, login)
      assert.equal((await fetched(museum.svc, bare, await bearer(login))).status, 403, login)
    }
    const { _show_allowed, _download_allowed } = (await museum.svc.as('writer').get(path)).body.versions.original
    assert.deepEqual([_show_allowed, _download_allowed], [true, false])
    // Either right is enough.
    await grant({ reader: { read: {}, asset_download: { versions: ['image.original'] } } })
    assert.equal((await museum.svc.as('reader').get(path)).body.hash, file.hash)
    const records = (await museum.svc.as('reader').get('/eas', { ids: `[${file._id}]` })).body
    assert.equal(records[file._id].hash, file.hash)
    // A version is enough, too, to be shown or to be downloaded; and another version is not.
    const small = { id_parents: [file._id], version_names: ['small'] }
    const added = await upload(museum.svc, 'root', [{ name: 's.png', content: await picture(30, 20, 'png') }], small)
    assert.equal(added.status, 200, JSON.stringify(added.body))
    await grant({
      viewer: { read: {}, asset_show: { versions: ['image.small'] } },
      reader: { read: {}, asset_download: { versions: ['image.small'] } },
      writer: { read: {}, asset_show: { versions: ['image.preview'] } },
    })
    for (const login of ['viewer', 'reader']) {
      const one = await museum.svc.as(login).get(path)
      const list = await museum.svc.as(login).get('/eas', { ids: `[${file._id}]` })
      for (const [{ status }, record] of [
        [one, one.body],
        [list, list.body[file._id]],
      ] as const) {
        assert.deepEqual([status, record._id, Object.keys(record.versions)], [200, file._id, ['small']], login)
      }
    }
    for (const answer of [
      await museum.svc.as('writer').get(path),
      await museum.svc.as('writer').get('/eas', { ids: `[${file._id}]` }),
    ]) {
      assert.deepEqual([answer.status, answer.body.code], [403, 'InsufficientRights'])
    }
  })

  test('renditions: objects show them as soon as they are made; rights name them, or leave them to all', async () => {
    const { body } = await upload(museum.svc, 'root', [{ name: 'a.png', content: await picture(60, 40, 'png') }], {
      produce_versions: 'true',
    })
    const { work: block } = await saved('root', work({ image: [{ _id: body[0]._id }] }))
    await museum.svc.drain()
    const { versions } = (await read('root', block._id)).work.image[0]
    assert.deepEqual([versions.small.status, versions.small.width], ['done', '60'])
    await grant({
      viewer: { read: {}, asset_show: { versions: ['image.small'] } },
      reader: { read: {}, asset_download: { classes: ['video'] } },
    })
    const seen = async (login: string) => Object.keys((await read(login, block._id)).work.image[0].versions ?? {})
    assert.deepEqual([await seen('viewer'), await seen('reader')], [['small'], []])
    const [ofViewer, ofReader] = await Promise.all(
      ['viewer', 'reader'].map((login) => museum.svc.as(login).get(`/eas/${body[0]._id}`)),
    )
    assert.deepEqual([ofViewer?.status, ofReader?.status], [200, 403], 'a version is enough')
    const bearer = { authorization: `Bearer ${await museum.svc.as('viewer').token()}` }
    const bare = (name: string): string => versions[name].url.split('?')[0]
    const info = (name: string): string => bare(name).replace('/download/', '/iiif/').concat('/info.json')
    assert.equal((await fetched(museum.svc, bare('small'), bearer)).status, 200)
    assert.equal((await fetched(museum.svc, info('small'), bearer)).status, 200)
    for (const name of ['preview', 'full', 'original']) {
      assert.equal((await fetched(museum.svc, bare(name), bearer)).status, 403, name)
      assert.equal((await fetched(museum.svc, info(name), bearer)).status, 403, name)
    }
    const place = '/config/system/config/produce_config/value/classes/image/versions'
    const recipes = (await root().get(place)).body
    const free = recipes.map((recipe: Json) => ({ ...recipe, rights_management: recipe.name !== 'preview' }))
    assert.equal((await root().post(place, free)).status, 200)
    assert.deepEqual([await seen('viewer'), await seen('reader')], [['preview', 'small'], ['preview']])
    const unrelated = await fetched(museum.svc, bare('preview'), {
      authorization: `Bearer ${await museum.svc.as('writer').token()}`,
    })
    assert.equal(unrelated.status, 403, 'who may not see the object')
    assert.equal((await root().delete(place)).status, 200)
  })

  test('what is known of files from earlier answers is neither out of date nor told to others', async () => {
    const [one, other] = await sent('root', 2)
    const image = [{ _id: one._id, name: 'cover' }, { _id: other._id }]
    const { work: block } = await saved('root', work({ image }))
    await museum.svc.drain()
    await grant({ viewer: { read: {}, asset_show: { versions: ['image.small'] } }, reader: { read: {} } })
    /** What a list says of both files. */
    const shown = async (login: string): Promise<Json[]> => {
      const { body } = await museum.svc.as(login).get('/db/work/work__standard/list', { format: 'long' })
      return body.find((object: Json) => object.work._id === block._id).work.image
    }
    const names = async (login: string) =>
      (await shown(login)).map(({ versions = {} }) => Object.keys(versions).toSorted().join(' '))
    const states = async () =>
      (await shown('root')).map(({ original_filename, name, status, reference }) => [
        original_filename,
        name,
        status,
        reference,
      ])
    for (let round = 0; round < 2; round++) {
      assert.deepEqual(await names('root'), ['original', 'original'])
      assert.deepEqual(await names('viewer'), ['', ''])
      assert.deepEqual(await names('reader'), ['', ''])
    }
    assert.deepEqual(await states(), [
      ['0.jpg', 'cover', 'done', null],
      ['1.jpg', undefined, 'done', null],
    ])
    assert.equal((await root().post(`/eas/${one._id}`, { filename: 'ä “new”.jpg', reference: 'new' })).status, 200)
    assert.deepEqual((await states())[0], ['ä “new”.jpg', 'cover', 'done', 'new'])
    const more = { id_parents: [other._id], version_names: ['small'] }
    const added = await upload(museum.svc, 'root', [{ name: 's.png', content: await picture(30, 20, 'png') }], more)
    assert.equal(added.status, 200, JSON.stringify(added.body))
    for (let round = 0; round < 2; round++) {
      assert.deepEqual(await names('root'), ['original', 'original small'])
      assert.deepEqual(await names('viewer'), ['', 'small'])
      assert.deepEqual(await names('reader'), ['', ''])
    }
    const plan = `insert into file_rendition (file_id, name, status, percent) values ($1, 'preview', 'processing', $2)
      on conflict (file_id, name) do update set percent = excluded.percent`
    for (const percent of [20, 60]) {
      await museum.svc.db.query(plan, [other._id, percent])
      assert.equal((await shown('root'))[1]?.versions.preview.percent_done, `${percent}`)
    }
    await museum.svc.db.query('delete from file_rendition where file_id = $1', [other._id])
    assert.deepEqual(await names('root'), ['original', 'original small'])
    const { user } = (await root().get(`/user/${people.writer}`)).body[0]
    await museum.svc.db.query('update file set upload_user = $2 where id = $1', [one._id, user._id])
    const uploader = async () => (await shown('root'))[0]?.upload_user.user._generated_displayname
    assert.equal(await uploader(), 'writer')
    const renamed = await root().post('/user', [{ user: { ...user, first_name: 'Wilma', last_name: 'Writer' } }])
    assert.equal(renamed.status, 200, JSON.stringify(renamed.body))
    assert.equal(await uploader(), renamed.body[0].user._generated_displayname)
    assert.notEqual(await uploader(), 'writer')
  })

  test('what no mask of the caller shows is not to be had by guessing numbers', async () => {
    const [file] = await sent('root')
    await saved('root', work({ image: [{ _id: file._id }] }))
    const { masks } = (await root().get('/mask/CURRENT')).body
    const { mask_id } = masks.find(({ name }: Json) => name === 'work__title_only')
    const tables = (await root().get('/schema/user/CURRENT')).body.tables
    const { table_id } = tables.find(({ name }: Json) => name === 'work')
    await grant({ viewer: { read: { mask_ids: { [table_id]: [mask_id] } }, asset_show: {}, asset_download: {} } })
    assert.equal((await museum.svc.as('viewer').get(`/eas/${file._id}`)).status, 403)
    await grant({ viewer: { read: {}, asset_show: {}, asset_download: {} } })
    assert.equal((await museum.svc.as('viewer').get(`/eas/${file._id}`)).status, 200)
  })

  test('READ-019 without a token: the user deep_link, where that is switched on and has the right', async () => {
    const [file] = await sent('root')
    await saved('root', work({ image: [{ _id: file._id }] }))
    people.deep_link = 2
    await grant({ deep_link: { read: {}, asset_show: {} } })
    const ask = () => museum.svc.as(null).get('/eas', { ids: `[${file._id}]` })
    const withBadToken = () =>
      museum.svc.inject({ url: `/api/v1/eas?ids=[${file._id}]`, headers: { authorization: 'Bearer nothing' } })
    const off = await ask()
    assert.deepEqual([off.status, off.body.code], [403, 'InsufficientRights'])
    const badToken = await withBadToken()
    assert.deepEqual([badToken.statusCode, badToken.json().code], [403, 'InsufficientRights'])
    const enable = (enabled: boolean) => root().post('/config/system/config/deep_link_access', { enabled })
    assert.equal((await enable(true)).status, 200)
    assert.equal((await ask()).body[file._id]._id, file._id)
    const rejected = await withBadToken()
    assert.deepEqual([rejected.statusCode, rejected.json()[file._id]._id], [200, file._id])
    await grant({ deep_link: { read: {} } })
    const denied = await ask()
    assert.deepEqual([denied.status, denied.body.code], [403, 'InsufficientRights'])
    await enable(false)
  })

  test('READ-022 the record changes for its uploader and for whoever may write an object that has the file', async () => {
    const [file] = await sent('root')
    await saved('root', work({ image: [{ _id: file._id }] }))
    const change = async (login: string) => {
      const { status, body } = await museum.svc.as(login).post(`/eas/${file._id}`, { filename: `${login}.jpg` })
      if (status !== 200) assert.deepEqual([status, body.code], [403, 'InsufficientRights'])
      const { original_filename } = (await root().get(`/eas/${file._id}`)).body
      assert.equal(original_filename === `${login}.jpg`, status === 200, login)
      return status
    }
    await grant({ reader: { read: {}, asset_show: {} }, writer: { read: {}, write: {} } })
    assert.deepEqual([await change('reader'), await change('writer'), await change('root')], [403, 200, 200])
    await grant({ writer: { read: {}, create: {}, asset_upload: {} } })
    const [own] = await sent('writer')
    await saved('root', work({ image: [{ _id: own._id }] }))
    await grant({ reader: { read: {}, asset_show: {} }, writer: { read: {} } })
    const rename = async (login: string) =>
      (await museum.svc.as(login).post(`/eas/${own._id}`, { filename: `by ${login}.jpg` })).status
    assert.deepEqual([await rename('reader'), await rename('writer')], [403, 200], 'the uploader')
    assert.equal((await root().get(`/eas/${own._id}`)).body.original_filename, 'by writer.jpg')
  })

  test('files are called as their object type says, by what the caller may read of the object', async () => {
    const content = await picture()
    const { body } = await upload(museum.svc, 'root', [{ name: 'IMG_1.jpg', content }], { produce_versions: 'true' })
    const { _id, versions } = body[0]
    const creator = (await root().post('/db/person', [payload('person', { name: 'Ann / Bob' })])).body[0]
    const values = {
      title: { 'en-US': 'The\u202E Bridge', 'de-DE': 'Die Bru\u0308cke' },
      inventory: 'A12',
      note: 'two\nlines',
      width: 30,
      price: 1234,
      weight: 1.5,
      made: { value: '1851' },
      seen: { value: '2020-02-03T04:05:06Z' },
      period: { from: '1851', to: '1852' },
      creator: { _objecttype: 'person', _mask: '_all_fields', _system_object_id: creator._system_object_id },
    }
    const object = await saved('root', work({ image: [{ _id }], ...values }))
    await museum.svc.drain()
    const [{ objecttype }] = (await root().get('/objecttype')).body.filter(
      (each: Json) => each.objecttype.name === 'work',
    )
    let version = objecttype._version
    const set = async (_export_asset_filenames: unknown) => {
      const block = { _id: objecttype._id, _version: ++version }
      const { status, body } = await root().post('/objecttype', [
        { _basetype: 'objecttype', objecttype: block, _export_asset_filenames },
      ])
      assert.equal(status, 200, JSON.stringify(body))
    }
    const bearer = async (login: string | null): Promise<Record<string, string>> =>
      login === null ? {} : { authorization: `Bearer ${await museum.svc.as(login).token()}` }
    const uuid = object._uuid
    const nameAt = async (url: string, login: string | null) => {
      const { status, headers } = await fetched(museum.svc, url, await bearer(login), 'HEAD')
      assert.equal(status, 200)
      return decodeURIComponent(String(headers['content-disposition']).split("filename*=UTF-8''")[1] ?? '')
    }
    const name = (login: string | null = 'root', which = 'original') =>
      nameAt(`${versions[which]?.url ?? small}&obj_uuid=${uuid}`, login)
    const small = (await read('root', object.work._id)).work.image[0].versions.small.url
    assert.equal(await name(), 'IMG_1.jpg', 'there is no template')
    await grant({
      reader: { read: {}, asset_show: {} },
      viewer: { read: { mask_ids: { [objecttype._id]: [await maskId('work__title_only')] } }, asset_show: {} },
    })

    const system = '_objecttype _system_object_id _global_object_id _uuid _version _created _last_modified'
    const asset = '_asset.class _asset.extension _asset.id _asset.original_filename _asset.version'
    const pool = '_pool.name _pool.name.de-DE _pool.shortname _standard.1.text _standard.1.text.de-DE _standard.2.text'
    const columns =
      'title title.de-DE title.fr-FR inventory note width price weight made seen period creator._standard.1.text'
    const replaced = [...`${system} ${asset} ${pool}`.split(' '), ...columns.split(' ').map((each) => `work.${each}`)]
    const descriptor = (await root().get(`/objecttype/${objecttype._id}`)).body[0]
    const offered: string[] = descriptor._filename_replacements['work.image']
    for (const each of replaced) if (!each.endsWith('fr-FR')) assert.ok(offered.includes(`%${each}%`), each)
    const today = new Date().toISOString().slice(0, 10)
    const [{ pool: poolBefore }] = (await root().get(`/pool/${museum.pool}`)).body
    const shortname = { 'en-US': 'STD', 'de-DE': 'STA' }
    const named = { _id: museum.pool, _version: poolBefore._version, shortname }
    assert.equal((await root().post('/pool', [{ pool: named }])).status, 200)
    const expected: Record<string, string> = {
      _objecttype: 'work',
      _system_object_id: `${object._system_object_id}`,
      _global_object_id: object._global_object_id,
      _uuid: uuid,
      _version: '1',
      _created: today,
      _last_modified: today,
      '_asset.class': 'image',
      '_asset.extension': 'jpg',
      '_asset.id': `${_id}`,
      '_asset.original_filename': 'IMG_1.jpg',
      '_asset.version': 'original',
      '_pool.name': poolBefore.name['en-US'],
      '_pool.name.de-DE': poolBefore.name['de-DE'] ?? '',
      '_pool.shortname': 'STD',
      '_standard.1.text': 'The Bridge',
      '_standard.1.text.de-DE': 'Die Brücke',
      '_standard.2.text': '',
      'work.title': 'The Bridge',
      'work.title.de-DE': 'Die Brücke',
      'work.title.fr-FR': '',
      'work.inventory': 'A12',
      'work.note': 'two lines',
      'work.width': '30',
      'work.price': '12.34',
      'work.weight': '1.5',
      'work.made': '1851',
      'work.seen': '2020-02-03T04_05_06Z',
      'work.period': '1851 – 1852',
      'work.creator._standard.1.text': 'Ann _ Bob',
    }
    for (let at = 0; at < replaced.length; at += 5) {
      const some = replaced.slice(at, at + 5)
      await set({ 'work.image': { 'en-US': some.map((each) => `[%${each}%]`).join('') } })
      assert.equal(await name(), `${some.map((each) => `[${expected[each]}]`).join('')}.jpg`)
    }

    await set({ default: { 'en-US': 'all' }, 'work.image': { 'de-DE': 'Bild %work.title%', 'en-US': '%work.title%' } })
    assert.equal(await name(), 'The Bridge.jpg', 'the language of the caller, the field before all')
    await set('%work.title%.%_asset.original_filename%')
    assert.equal(await name('root', 'small'), 'The Bridge.IMG_1.jpg', 'a rendition, too')
    await set('%work.inventory%%work.title%')
    assert.deepEqual(
      [await name('reader'), await name('viewer'), await name(null)],
      ['A12The Bridge.jpg', 'The Bridge.jpg', 'IMG_1.jpg'],
      'the masks that the caller may use; a signature alone shows none',
    )
    await grant({ reader: { asset_show: {} } })
    assert.equal(await name('reader'), 'IMG_1.jpg', 'whoever may not read the object')
    await set('%_standard.3.text%%_standard.2.text%')
    assert.equal(await name(), 'IMG_1.jpg', 'nothing is left')

    const shown = (await read('root', object.work._id)).work.image[0].versions.original.url
    assert.ok(shown.endsWith(`&obj_uuid=${uuid}`), 'objects give the addresses that have the name')
    const record = (await root().get(`/eas/${_id}`, { obj_uuid: uuid })).body
    assert.equal(record.versions.original.url, shown)
    const other = await saved('root', work({}))
    const wrong = await fetched(museum.svc, `${versions.original.url}&obj_uuid=${other._uuid}`)
    assert.equal(wrong.status, 404)
    for (const answer of [
      await root().get(`/eas/${_id}`, { obj_uuid: other._uuid }),
      await root().get('/eas', { ids: `[${_id}]`, obj_uuid: other._uuid }),
    ]) {
      assert.deepEqual([answer.status, answer.body.code], [403, 'InsufficientRights'])
    }
    const listed = (await root().get('/eas', { ids: `[${_id}]`, obj_uuid: uuid })).body
    assert.equal(listed[_id].versions.original.url, shown)
    await set(null)
    assert.ok(!(await read('root', object.work._id)).work.image[0].versions.original.url.includes('obj_uuid'))
  })

  test('history keeps files; a purge gives them up', async () => {
    const [first, second] = await sent('root', 2)
    const { work: block, _system_object_id: object } = await saved('root', work({ image: [{ _id: first._id }] }))
    await saved('root', work({ _id: block._id, _version: 1, image: [{ _id: second._id }] }))
    const own = async () => (await uses()).filter((use) => (use as Json).object === object)
    assert.deepEqual(await own(), [
      { file: first._id, object, latest: false },
      { file: second._id, object, latest: true },
    ])
    const old = await read('root', block._id, { version: 1 })
    assert.equal((await fetched(museum.svc, old.work.image[0].versions.original.url)).status, 200)
    await saved('root', work({ _id: block._id, _version: 2, image: [{ _id: first._id }, { _id: second._id }] }))
    assert.ok((await own()).every((use) => (use as Json).latest))
    const dry = await save('root', work({ _id: block._id, _version: 3 }), { dry_run: 1 })
    assert.equal(dry.status, 200)
    assert.equal((await own()).length, 2)
    const triple = (version: number) => [[block._id, version, 'bye']]
    const trash = await root().delete('/db/work', triple(3), { delete_policy: 'remove' })
    assert.equal(trash.status, 200, JSON.stringify(trash.body))
    assert.equal((await own()).length, 2)
    const purged = await root().delete('/db/work', triple(4), { delete_policy: 'purge' })
    assert.equal(purged.status, 200, JSON.stringify(purged.body))
    assert.equal((await own()).length, 0)
    const { rows } = await museum.svc.db.query<{ free: boolean }>(
      'select unlinked_at is not null as free from file where id = any($1)',
      [[first._id, second._id]],
    )
    assert.deepEqual(rows, [{ free: true }, { free: true }])
  })

  test('DB-017 DB-018 DB-044 DB-045 SR-019 file_url_expire: days of validity in saves, reads, lists and searches; never from a cached response', async () => {
    await assertDocumented(museum.svc, 'post /db/{objecttype}', ['file_url_expire'], 'objects-saving.md')
    await assertDocumented(museum.svc, 'get /db/{objecttype}/{mask}/{id}', ['file_url_expire'], 'objects-reading.md')
    const [file] = await sent('root')
    const expires = (object: Json): number => {
      const signature = new URL(object.work.image[0].versions.original.url).searchParams.get('x-svc-signature') ?? ''
      return Number.parseInt(signature.split('-')[0] ?? '', 36)
    }
    const inDays = (seconds: number) => Math.floor((seconds - Date.now() / 1000) / 86_400)
    const made = await save('root', work({ image: [{ _id: file._id }] }), { file_url_expire: 3 })
    assert.equal(inDays(expires(made.body[0])), 3)
    const usual = await save('root', work({ image: [{ _id: file._id }] }))
    assert.equal(inDays(expires(usual.body[0])), 7)
    const id = made.body[0].work._id
    for (const [days, expected] of [
      [undefined, 7],
      [2, 2],
      [30, 30],
      [undefined, 7],
    ] as const) {
      assert.equal(inDays(expires(await read('root', id, { file_url_expire: days }))), expected)
    }
    for (const place of [
      `system_object_id/${made.body[0]._system_object_id}`,
      `global_object_id/${made.body[0]._global_object_id}`,
    ]) {
      const [object] = (await root().get(`/db/work/_all_fields/${place}`, { file_url_expire: 2 })).body
      assert.equal(inDays(expires(object)), 2, place)
    }
    const { _id, _version } = usual.body[0].work
    const patched = await root().patch('/db/work', [payload('work', { _id, _version })], { file_url_expire: 6 })
    assert.equal(inDays(expires(patched.body[0])), 6)
    const list = await root().get('/db/work/_all_fields/list', { file_url_expire: 4, format: 'long' })
    assert.equal(inDays(expires(list.body.find(({ work: { _id } }: Json) => _id === id))), 4)
    await museum.svc.drain()
    const search = await root().post('/search', { search: [], format: 'long', limit: 1000, file_url_expire: 5 })
    assert.equal(inDays(expires(search.body.objects.find(({ work: one }: Json) => one?._id === id))), 5)
    assert.equal((await save('root', work({}), { file_url_expire: 31 })).body.code, 'UrlParameterNotSupported')
    assert.equal(
      (await root().post('/search', { search: [], file_url_expire: 31 })).body.code,
      'UrlParameterNotSupported',
    )
    const below = async (query: Json) =>
      Object.keys((await read('root', id, query)).work).filter((key) => key.startsWith('_reverse_nested:'))
    assert.deepEqual([await below({}), await below({ skip_reverse_nested: 1 })], [['_reverse_nested:loan:work'], []])
    await root().post('/config/system/config/file_url_expire', { default_days: 1 })
    assert.equal(inDays(expires(await read('root', id))), 1)
    assert.equal(inDays(expires(await saved('root', work({ image: [{ _id: file._id }] })))), 1)
    await root().post('/config/system/config/file_url_expire', { default_days: 7 })
  })

  test('others with the same content are told to whoever may see them, with the objects that have them', async () => {
    await grant({ writer: { read: {}, create: {}, write: {}, asset_upload: {} } })
    const content = await picture()
    const put = async (login: string, query = {}) =>
      (await upload(museum.svc, login, [{ name: 'same.jpg', content }], query)).body[0]
    const mine = await put('root')
    const { _system_object_id } = await saved('root', work({ image: [{ _id: mine._id }] }))
    const theirs = await put('writer', { check_for_duplicates: true })
    assert.equal(theirs._duplicates, undefined, 'not to whoever may not see the file')
    const again = await put('root', { check_for_duplicates: true })
    const column = (await root().get('/schema/user/CURRENT')).body.tables
      .find(({ name }: Json) => name === 'work')
      .columns.find(({ name }: Json) => name === 'image').column_id
    const expected = [
      {
        _id: mine._id,
        certainty: 1,
        linked_system_objects: [{ _system_object_id, _column_id: column }],
      },
      { _id: theirs._id, certainty: 1, linked_system_objects: [] },
    ]
    assert.deepEqual(again._duplicates, expected)
    const query = { check_for_duplicates: true }
    assert.deepEqual((await root().get(`/eas/${again._id}`, query)).body._duplicates, expected)
    const listed = (await root().get('/eas', { ids: `[${again._id}]`, ...query })).body
    assert.deepEqual(listed[again._id]._duplicates, expected)
    await grant({ writer: { read: {}, asset_show: {} } })
    const seen = (await museum.svc.as('writer').get(`/eas/${theirs._id}`, query)).body._duplicates
    assert.deepEqual(
      seen.map(({ _id }: Json) => _id),
      [mine._id],
    )
    assert.equal((await root().get(`/eas/${again._id}`)).body._duplicates, undefined)
  })

  test('pictures that look like a file are told, the most similar first, to whoever may see them', async () => {
    await grant({ reader: { read: {} }, writer: { read: {}, create: {}, asset_upload: {}, asset_show: {} } })
    const scene = () => sharp(shapes('scene'), { raw: { width: 8, height: 6, channels: 3 } })
    const large = await scene().resize(320, 240, { kernel: 'cubic' }).png().toBuffer()
    const plain = (background: string) =>
      sharp({ create: { width: 90, height: 60, channels: 3, background } })
        .png()
        .toBuffer()
    const contents = {
      large,
      smaller: await sharp(large).resize(211).jpeg().toBuffer(),
      poorer: await sharp(large).jpeg({ quality: 25 }).toBuffer(),
      brighter: await sharp(large).linear(1.05, 12).webp().toBuffer(),
      turned: await sharp(await sharp(large).rotate(-90).toBuffer())
        .withMetadata({ orientation: 6 })
        .jpeg()
        .toBuffer(),
      same: large,
      mirrored: await sharp(large).flop().png().toBuffer(),
      another: await sharp(shapes('another'), { raw: { width: 8, height: 6, channels: 3 } })
        .resize(320, 240, { kernel: 'cubic' })
        .png()
        .toBuffer(),
      red: await plain('#d01010'),
      blue: await plain('#1010d0'),
    }
    const files = Object.entries(contents).map(([name, content]) => ({ name, content }))
    // One of them is looked at with its renditions, as all are; what the others look like is put there.
    const looked = [true, ...files.slice(1).map(() => false)]
    const { body } = await upload(museum.svc, 'root', files, { produce_versions: looked })
    const ids = Object.fromEntries(files.map(({ name }, index) => [name, body[index]._id]))
    const own = { name: 'theirs.jpg', content: await sharp(large).jpeg({ quality: 60 }).toBuffer() }
    ids.theirs = (await upload(museum.svc, 'writer', [own])).body[0]._id
    const others = [...files.slice(1), own].map(({ content }) => perceptualHashOf(sharp(content)))
    const hashes = await Promise.all(others)
    await museum.svc.db.query(
      `insert into file_likeness (file_id, made_of, hash)
       select v.file_id, v.sha256, x.h from unnest($1::bigint[], $2::bigint[]) as x(f, h)
       join file_version v on v.file_id = x.f and v.name = 'original'`,
      [[...files.slice(1).map(({ name }) => ids[name]), ids.theirs], hashes.map((hash) => hash?.toString() ?? null)],
    )
    const nameOf = (id: number) => Object.keys(ids).find((name) => ids[name] === id)
    await museum.svc.drain()
    const similar = async (name: string, query: Query = {}, login = 'root') =>
      (await museum.svc.as(login).get(`/eas/${ids[name]}/similar`, query)).body
    const found = await similar('large')
    const copies = ['brighter', 'poorer', 'same', 'smaller', 'theirs', 'turned']
    assert.deepEqual(found.map(({ _id }: Json) => nameOf(_id)).sort(), copies)
    assert.deepEqual([nameOf(found[0]._id), found[0].certainty, found[0].differing_bits], ['same', 1, 0])
    for (const [index, { certainty, differing_bits }] of found.slice(1).entries()) {
      assert.ok(certainty < 1 && certainty > 0.8 && certainty <= found[index].certainty, `${certainty}`)
      assert.ok(differing_bits <= 7 && differing_bits >= found[index].differing_bits, `${differing_bits}`)
    }
    assert.deepEqual(await similar('large', { limit: 2 }), found.slice(0, 2))
    assert.deepEqual(
      await similar('large', { bits: 0 }),
      found.filter(({ differing_bits }: Json) => differing_bits === 0),
    )
    for (const query of [{ bits: 8 }, { limit: 0 }, { limit: 101 }]) {
      assert.equal((await root().get(`/eas/${ids.large}/similar`, query)).status, 400)
    }
    for (const alone of ['mirrored', 'another', 'red', 'blue']) assert.deepEqual(await similar(alone), [], alone)
    const told = (await root().get(`/eas/${ids.large}`, { check_for_duplicates: true })).body._duplicates
    assert.deepEqual(
      told,
      found.map(({ differing_bits: _, ...one }: Json) => one),
    )

    const { _system_object_id } = await saved('root', work({ image: [{ _id: ids.smaller }] }))
    assert.deepEqual(
      (await similar('theirs', {}, 'writer')).map(({ _id, linked_system_objects: [use, ...more] }: Json) => [
        nameOf(_id),
        use._system_object_id,
        more,
      ]),
      [['smaller', _system_object_id, []]],
    )
    for (const hidden of ['large', 'theirs']) {
      assert.equal((await similar(hidden, {}, 'reader')).code, 'InsufficientRights')
    }

    // As before there were hashes.
    await museum.svc.db.query('delete from file_likeness where file_id = $1', [ids.large])
    await museum.svc.db.query(
      `update file_rendition set recipe_hash = 'tags-2' where file_id = $1 and name = ':metadata'`,
      [ids.large],
    )
    assert.deepEqual(await similar('large'), [])
    await root().post('/eas/resync', {})
    await museum.svc.drain()
    assert.deepEqual((await similar('large')).map(({ _id }: Json) => nameOf(_id)).sort(), copies)
  })

  test('OTAPI-022 files of an object type and of pools are counted by class and extension, each once', async () => {
    const { body: pools } = await root().post('/pool', [
      { pool: { _id_parent: museum.pool, name: { 'en-US': 'below' } } },
    ])
    const below = pools[0].pool._id
    const images = await sent('root', 3)
    const pngs = (
      await upload(museum.svc, 'root', [{ name: 'a.png', content: await picture(9, 9, 'png') }], {
        produce_versions: [false],
      })
    ).body
    const inside = (files: Json[], more: object = {}) =>
      payload(
        'work',
        { ...inPool(below), ...more, image: files.map(({ _id }: Json) => ({ _id })) },
        { _mask: 'work__standard' },
      )
    const { table_id } = (await root().get('/schema/user/CURRENT')).body.tables.find(
      ({ name }: Json) => name === 'work',
    )
    const ofType = async (): Promise<Json> => {
      const { status, body } = await root().get(`/objecttype/${table_id}/stats`)
      assert.equal(status, 200, JSON.stringify(body))
      return body.files.originals
    }
    const others = await ofType()
    const first = await saved('root', inside([images[0], images[1]]))
    await saved('root', inside([images[0]]))
    const { _version, _id } = first.work
    await saved('root', inside([images[0]], { _id, _version }))
    const gone = await saved('root', inside([images[2], pngs[0]]))
    const stats = async (query: Query = {}) => (await root().get(`/pool/${below}/stats`, query)).body
    await museum.svc.drain()
    const before = await stats()
    assert.equal(before.pool_id, below)
    assert.ok(Date.parse(before.created_at))
    const size = (...files: Json[]) => files.reduce((sum, file) => sum + file.filesize, 0)
    const jpgs = (...files: Json[]) => ({ size: size(...files), count: files.length })
    assert.deepEqual(before.files.originals.latest, {
      size: size(images[0], images[2], pngs[0]),
      count: 3,
      by_extension: { jpg: jpgs(images[0], images[2]), png: jpgs(pngs[0]) },
      by_class: { image: jpgs(images[0], images[2], pngs[0]) },
    })
    assert.deepEqual(before.files.originals.history.by_extension, { jpg: jpgs(images[1]) })
    assert.equal(before.files.originals.deleted.count, 0)
    const deletion = await museum.svc.as('root').delete('/db/work', [[gone.work._id, gone.work._version, '']], {
      delete_policy: 'remove',
    })
    assert.equal(deletion.status, 200, JSON.stringify(deletion.body))
    const after = (await stats()).files
    assert.deepEqual(after.originals.deleted.by_extension, { jpg: jpgs(images[2]), png: jpgs(pngs[0]) })
    assert.deepEqual(after.originals.latest.by_extension, { jpg: jpgs(images[0]) })
    const { originals, versions } = after
    const buckets = [originals, versions].flatMap(({ latest, history, deleted }: Json) => [latest, history, deleted])
    for (const figure of ['count', 'size']) {
      assert.equal(
        after[figure],
        buckets.reduce((sum, bucket) => sum + bucket[figure], 0),
      )
    }
    const whole = async (query: Query) => (await root().get(`/pool/${museum.pool}/stats`, query)).body.files.count
    assert.equal(await whole({ include_subpools: true }), (await whole({})) + after.count)
    const added = await ofType()
    for (const [state, files] of [
      ['latest', { jpg: jpgs(images[0]), png: jpgs() }],
      ['history', { jpg: jpgs(images[1]), png: jpgs() }],
      ['deleted', { jpg: jpgs(images[2]), png: jpgs(pngs[0]) }],
    ] as const) {
      const more = (of: (bucket: Json) => Json) =>
        Object.fromEntries(
          ['size', 'count'].map((figure) => [
            figure,
            (of(added[state])?.[figure] ?? 0) - (of(others[state])?.[figure] ?? 0),
          ]),
        )
      const { jpg, png } = files
      const all = { size: jpg.size + png.size, count: jpg.count + png.count }
      assert.deepEqual([more((bucket) => bucket), more(({ by_class }) => by_class.image)], [all, all], state)
      assert.deepEqual(
        [more(({ by_extension }) => by_extension.jpg), more(({ by_extension }) => by_extension.png)],
        [jpg, png],
        state,
      )
    }
    const { files } = (await root().get(`/objecttype/${table_id}/stats`)).body
    const { files: ofPools } = (await root().get(`/pool/${museum.pool}/stats`, { include_subpools: true })).body
    assert.deepEqual(files, ofPools, 'all of this type are in these pools')
    assert.deepEqual(
      [files.originals.deleted.by_extension.png.count, files.originals.deleted.by_class.image.count > 1],
      [1, true],
    )
    assert.equal((await museum.svc.as('reader').get(`/pool/${below}/stats`)).body.code, 'SystemRightRequired')
    assert.equal((await root().get('/pool/99999/stats')).status, 404)
  })
})
