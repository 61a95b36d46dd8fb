import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import sharp from 'sharp'
import type { Json } from '../support/client.ts'
import { commitModel, defineModel, standardPool } from '../support/seed/model.ts'
import { inPool, payload } from '../support/seed/museum.ts'
import { startService, type TestService } from '../support/service.ts'
import { type Sent, upload } from './support.ts'

/** Photos whose texts are searched, papers whose texts are not. */
function model() {
  const defined = defineModel({
    photo: {
      columns: { title: 'text_oneline', image: 'eas' },
      nested: { page: { columns: { scan: 'eas', number: 'number' } } },
      flags: { pool_link: true, has_tags: true, acl_table: true },
    },
    paper: { columns: { title: 'text_oneline', scan: 'eas', cover: 'eas' }, flags: { pool_link: true } },
  })
  const mask = defined.masks.masks.find(({ name }) => name === 'paper__standard') as Json
  for (const field of mask.fields) field.search = { ...field.search, expert: false }
  return defined
}

suite('files in searches', () => {
  let svc: TestService
  let pool: number
  const people: Record<string, number> = {}
  const ids: Record<string, number> = {}
  const files: Record<string, number> = {}
  const root = () => svc.as('root')

  before(async () => {
    svc = await startService()
    await commitModel(svc, model())
    pool = await standardPool(svc)
    for (const login of ['viewer', 'uploader']) {
      const { body } = await root().post('/user', [{ user: { login }, _password: login }], {
        confirm: 'ignore_password_requirements',
      })
      people[login] = body[0].user._id
    }
    await grant({ uploader: { read: {}, create: {}, write: {}, asset_upload: {} } })
    await put(
      'root',
      'Red_House.jpg',
      await painted(60, 40, { IFD0: { Artist: 'Anna Bauer', Copyright: 'All of it' } }),
    )
    await put('root', 'blue.png', await sharp(blank(20, 30)).png().toBuffer())
    await put('uploader', 'notes.txt', Buffer.from('The quick brown vixen'))
    await put('root', 'grey.jpg', await sharp(blank(200, 100)).greyscale().jpeg().toBuffer())
    ids.house = await save('photo', { title: 'house', image: [{ _id: files['blue.png'] }, preferred('Red_House.jpg')] })
    ids.blue = await save('photo', { title: 'blue', image: [preferred('blue.png')] })
    ids.pages = await save('photo', {
      title: 'pages',
      '_nested:photo__page': [
        { scan: [preferred('grey.jpg')], number: 1 },
        { scan: [preferred('notes.txt')], number: 2 },
      ],
    })
    ids.none = await save('photo', { title: 'none' })
    ids.paper = await save('paper', { title: 'paper', cover: [preferred('grey.jpg')], scan: [preferred('notes.txt')] })
    await svc.drain()
  })
  after(() => svc[Symbol.asyncDispose]())

  const blank = (width: number, height: number) => ({
    create: { width, height, channels: 3, background: { r: width % 256, g: height, b: 90 } } as const,
  })

  async function painted(width: number, height: number, exif: object): Promise<Buffer> {
    return sharp(blank(width, height))
      .withExif(exif as never)
      .jpeg()
      .toBuffer()
  }

  async function put(login: string, name: string, content: Sent['content']): Promise<void> {
    const { status, body } = await upload(svc, login, [{ name, content }], { produce_versions: 'true' })
    assert.equal(status, 200, JSON.stringify(body))
    files[name] = body[0]._id
  }

  const preferred = (name: string) => ({ _id: files[name], preferred: true })

  async function save(objecttype: string, block: object): Promise<number> {
    const object = payload(objecttype, { ...inPool(pool), ...block }, { _mask: `${objecttype}__standard` })
    const { status, body } = await root().post(`/db/${objecttype}`, [object])
    assert.equal(status, 200, JSON.stringify(body))
    return body[0]._system_object_id
  }

  async function grant(rights: Record<string, object>): Promise<void> {
    const { pool: block } = (await root().get(`/pool/${pool}`)).body[0]
    const _acl = Object.entries(rights).map(([login, given]) => ({
      who: { _basetype: 'user', user: { _id: people[login] } },
      rights: given,
    }))
    const saved = await root().post('/pool', [{ pool: { _id: pool, _version: block._version }, _acl }])
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
  }

  async function search(login: string, request: object): Promise<Json> {
    const { status, body } = await svc.as(login).post('/search', request)
    assert.equal(status, 200, JSON.stringify(body))
    return body
  }

  const nameOf = (id: number): string => Object.entries(ids).find(([, each]) => each === id)?.[0] ?? `${id}`

  async function found(login: string, ...elements: object[]): Promise<string[]> {
    const { objects } = await search(login, { search: elements, sort: [{ field: '_system_object_id' }] })
    return objects.map((object: Json) => nameOf(object._system_object_id))
  }

  const text = (field: string, string: string, more: object = {}) => ({
    type: 'text',
    fields: [field],
    string,
    ...more,
  })
  const within = (field: string, ...values: unknown[]) => ({ type: 'in', fields: [field], in: values })

  test('names, classes, sizes, dimensions and dates of the preferred file; all columns by _linked._asset', async () => {
    assert.deepEqual(await found('root', text('photo.image.original_filename', 'red house')), ['house'])
    assert.deepEqual(await found('root', text('photo.image.original_filename', 'hou*', { mode: 'wildcard' })), [
      'house',
    ])
    assert.deepEqual(await found('root', within('photo.image.original_filename', 'Red_House.jpg')), ['house'])
    assert.deepEqual(await found('root', within('photo.image.original_filename_basename', 'blue')), ['blue'])
    assert.deepEqual(await found('root', within('photo.image._id', files['blue.png'])), ['house', 'blue'])
    assert.deepEqual(await found('root', within('_linked._asset.class', 'image')), ['house', 'blue', 'pages', 'paper'])
    assert.deepEqual(await found('root', within('_linked._asset.extension', 'txt')), ['pages', 'paper'])
    assert.deepEqual(await found('root', within('_linked._asset.class_extension', 'image.png')), ['blue'])
    assert.deepEqual(await found('root', within('_linked._asset._id', files['grey.jpg'])), ['pages', 'paper'])
    assert.deepEqual(await found('root', within('_linked._asset.class', null)), ['none'])
    assert.deepEqual(
      await found('root', { type: 'range', field: '_linked._asset.technical_metadata.width', from: 50, to: 100 }),
      ['house'],
    )
    assert.deepEqual(await found('root', within('photo.image.technical_metadata.height', 30)), ['blue'])
    assert.deepEqual(await found('root', within('_linked._asset.technical_metadata.format', 'portrait')), ['blue'])
    assert.deepEqual(await found('root', within('_linked._asset.class_version_status', 'image.small.done')), [
      'house',
      'blue',
      'pages',
      'paper',
    ])
    const today = new Date().toISOString().slice(0, 4)
    assert.deepEqual(await found('root', { type: 'range', field: '_linked._asset.date_uploaded', from: today }), [
      'house',
      'blue',
      'pages',
      'paper',
    ])
    assert.deepEqual(await found('root', within('_linked._asset.upload_user.user._id', people.uploader)), [
      'pages',
      'paper',
    ])
  })

  test('what files say of themselves: words of EXIF, IPTC and XMP', async () => {
    assert.deepEqual(await found('root', text('photo.image.metadata.creator', 'bauer')), ['house'])
    assert.deepEqual(await found('root', within('_linked._asset.metadata.copyright', 'All of it')), ['house'])
    assert.deepEqual(await found('root', text('_linked._asset.metadata_fulltext', 'bauer')), ['house'])
    assert.deepEqual(await found('root', { type: 'text', string: 'bauer' }), [], 'not in _fulltext')
  })

  test('the text of a file is searched where the expert search of its column is on', async () => {
    assert.deepEqual(await found('root', text('_linked._asset.metadata_fulltext', 'quick vixen')), ['pages'])
    const phrase = text('photo._nested:photo__page.scan.metadata_fulltext', 'brown vixen', { phrase: true })
    assert.deepEqual(await found('root', phrase), ['pages'])
    const { body } = await root().post('/search', { search: [text('paper.scan.metadata_fulltext', 'vixen')] })
    assert.equal(body.code, 'SearchFieldUnknown')
  })

  test('conditions on rows: a page and its scan', async () => {
    const page = (...inner: object[]) => ({ type: 'nested', path: 'photo._nested:photo__page', search: inner })
    const scan = 'photo._nested:photo__page.scan'
    const number = (value: number) => within('photo._nested:photo__page.number', value)
    assert.deepEqual(await found('root', page(text(`${scan}.original_filename`, 'grey'), number(1))), ['pages'])
    assert.deepEqual(await found('root', page(text(`${scan}.original_filename`, 'grey'), number(2))), [])
  })

  test('sorting and facets, over all columns', async () => {
    const sorted = async (field: string, order = 'asc', more = {}) => {
      const { objects } = await search('root', { sort: [{ field, order }], ...more })
      return objects.map((object: Json) => nameOf(object._system_object_id))
    }
    assert.deepEqual(await sorted('photo.image.filesize', 'asc', { objecttypes: ['photo'] }), [
      ...(await sorted('photo.image.filesize', 'desc', { objecttypes: ['photo'] })).slice(0, 2).reverse(),
      'pages',
      'none',
    ])
    assert.deepEqual(await sorted('_linked._asset.technical_metadata.width'), [
      'blue',
      'house',
      'pages',
      'paper',
      'none',
    ])
    assert.deepEqual((await sorted('_linked._asset.original_filename')).slice(0, 2), ['blue', 'pages'])
    const { aggregations } = await search('root', {
      limit: 0,
      aggregations: {
        kinds: { type: 'term', field: '_linked._asset.class_extension' },
        one: { type: 'term', field: 'photo.image.class' },
        wide: { type: 'range', field: '_linked._asset.technical_metadata.width', ranges: [{ to: 50 }, { from: 51 }] },
      },
    })
    assert.deepEqual(aggregations.kinds.terms, [
      { term: 'image.jpg', count: 3 },
      { term: 'office.txt', count: 2 },
      { term: 'image.png', count: 1 },
    ])
    assert.deepEqual(aggregations.one.terms, [{ term: 'image', count: 2 }])
    assert.deepEqual(
      aggregations.wide.ranges.map(({ count }: Json) => count),
      [1, 3],
    )
  })

  test('what cannot be asked is refused', async () => {
    const refused = async (request: object) => (await root().post('/search', request)).body.code
    assert.equal(await refused({ search: [text('_linked._asset.nothing', 'x')] }), 'SearchFieldUnknown')
    assert.equal(await refused({ search: [text('photo.title.class', 'x')] }), 'SearchFieldUnknown')
    assert.equal(await refused({ search: [within('photo.image.metadata_fulltext', 'x')] }), 'SearchFieldNotAllowed')
    assert.equal(await refused({ sort: [{ field: 'photo.image.metadata_fulltext' }] }), 'SearchFieldNotAllowed')
    const facet = { aggregations: { a: { type: 'term', field: 'photo.image.filesize' } } }
    assert.equal(await refused(facet), 'UnsupportedInAggregation')
  })

  test('a file that has another name is found by it', async () => {
    assert.equal((await root().post(`/eas/${files['blue.png']}`, { filename: 'azure.png' })).status, 200)
    await svc.drain()
    assert.deepEqual(await found('root', text('photo.image.original_filename', 'azure')), ['blue'])
    assert.deepEqual(await found('root', text('photo.image.original_filename', 'blue')), [])
    assert.equal((await root().post(`/eas/${files['blue.png']}`, { filename: 'blue.png' })).status, 200)
    await svc.drain()
  })

  test('hidden files do not show: what a caller finds by files is what reading shows of them', async () => {
    const settings: Record<string, object>[] = [
      { read: {} },
      { read: {}, asset_show: {} },
      { read: {}, asset_show: { classes: ['office'] } },
      { read: {}, asset_show: { versions: ['image.original'] } },
      { read: {}, asset_download: { versions: ['image.small'] } },
      { read: {}, asset_show: { classes: ['image'], versions: ['office.original'] } },
    ]
    for (const [index, viewer] of settings.entries()) {
      await grant({ viewer, uploader: { read: {}, asset_upload: {} } })
      for (const login of index === 0 ? ['viewer', 'uploader'] : ['viewer']) {
        const { objects } = await search(login, { format: 'long', sort: [{ field: '_system_object_id' }] })
        const sees = (object: Json): Json[] => {
          const block = object[object._objecttype]
          const lists = [block.image, block.scan, block.cover].filter(Boolean)
          const rows = (block['_nested:photo__page'] ?? []).map((row: Json) => row.scan)
          return [...lists, ...rows].flatMap((list: Json[]) => list.filter(({ preferred }: Json) => preferred))
        }
        const where = `${index} ${login}`
        // Of pages all scans must be seen, or none is told.
        const shown = objects.filter((object: Json) => {
          const nested = object.photo?.['_nested:photo__page'] !== undefined
          return sees(object)[nested ? 'every' : 'some']((file) => file.class !== undefined) && sees(object).length > 0
        })
        const names = shown.map((object: Json) => nameOf(object._system_object_id))
        const open = { type: 'range', field: '_linked._asset.filesize', from: 0 }
        assert.deepEqual(await found(login, open), names, where)
        const { aggregations, objects: sorted } = await search(login, {
          aggregations: { kinds: { type: 'term', field: '_linked._asset.class' } },
          sort: [{ field: '_linked._asset.filesize' }],
        })
        if (names.length === 0) assert.deepEqual(aggregations.kinds.terms, [], where)
        const withKey = sorted.filter((object: Json) => object._sort[0] !== null)
        assert.deepEqual(
          withKey.map((object: Json) => nameOf(object._system_object_id)).sort(),
          [...names].sort(),
          where,
        )
        const original = shown.filter((object: Json) => sees(object).every((file) => file.versions?.original))
        const told = await found(login, { type: 'in', fields: ['_linked._asset.metadata.creator'], in: ['Anna Bauer'] })
        assert.deepEqual(
          told,
          original.some((object: Json) => object._system_object_id === ids.house) ? ['house'] : [],
          where,
        )
      }
    }
  })
})
