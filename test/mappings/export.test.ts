import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import fc from 'fast-check'
import sharp from 'sharp'
import { archiveBytes, exported, inFolder, run } from '../exports/support.ts'
import { picture, type Sent, sha256, upload } from '../files/support.ts'
import type { Json, Query } from '../support/client.ts'
import { statementsOf } from '../support/statements.ts'
import { tagged, tagsIn, tagsInAll } from './exiftool.ts'
import { type Archive, mapping, photograph, photographs, startArchive, tableId, uploaded } from './support.ts'

const noPhotographs = photographs ? false : 'the photographs lie beside the checkout'

/** Bindings that take each other's values: all shapes of tags, and all kinds of places. */
const bindings = [
  { name: 'title', native: [{ field: 'photo.title' }] },
  { name: 'caption', native: [{ field: 'photo.caption' }] },
  { name: 'rights', native: [{ field: 'photo.rights' }] },
  { name: 'creator', native: [{ field: 'photo.creator.person.name' }] },
  { name: 'city', native: [{ field: 'photo.city' }] },
  { name: 'keywords', native: [{ field: 'photo._nested:photo__keywords.keyword.keyword.name' }] },
  { name: 'persons', native: [{ field: 'photo._nested:photo__persons.name' }] },
  {
    name: 'terms',
    custom: true,
    xml_export: [{ path: 'XMP-plus:Custom1', list: true, l10n: true }],
    xml_import: [{ search: 'XMP-plus:Custom1' }],
    native: [{ field: 'photo._nested:photo__terms.term.term.label' }],
  },
  {
    name: 'day',
    custom: true,
    xml_export: [{ path: 'XMP-photoshop:DateCreated' }],
    xml_import: [{ search: 'XMP-photoshop:DateCreated' }],
    native: [{ field: 'photo.date' }],
  },
  {
    name: 'moment',
    custom: true,
    xml_export: [{ path: 'XMP-xmp:CreateDate' }],
    xml_import: [{ search: 'XMP-xmp:CreateDate' }],
    native: [{ field: 'photo.moment' }],
  },
  {
    name: 'period',
    custom: true,
    xml_export: [{ path: 'XMP-museum:period' }],
    xml_import: [{ search: 'XMP-museum:period' }],
    native: [{ field: 'photo.period' }],
  },
  {
    name: 'headline',
    custom: true,
    xml_export: [{ path: 'XMP-dc:Shelf' }],
    xml_import: [{ search: 'XMP-dc:Shelf' }],
    native: [{ field: 'photo.headline' }],
  },
]

const fields = {
  title: { 'en-US': 'The lake\nat dawn', 'de-DE': 'Der See' },
  caption: { 'en-US': 'A “lake”; & <b>calm</b> \\n 中文 😀', 'de-DE': 'Ein See, ruhig' },
  rights: { 'de-DE': 'Nur deutsch' },
  city: 'Zürich',
  headline: '1.50',
  date: { value: '2020-05' },
  moment: { value: '2020-05-17T10:11:12+02:00' },
  period: { from: '1851', to: '1852-05' },
  '_nested:photo__persons': [{ name: 'Ada; Countess' }, { name: 'Bo' }],
}

suite('objects as metadata of copies', () => {
  let archive: Archive
  let both: number
  let links: Json
  const root = () => archive.svc.as('root')
  before(async () => {
    archive = await startArchive()
    both = await mapping(archive.svc, bindings)
    const create = async (type: string, objects: object[]): Promise<Json[]> => {
      const body = objects.map((object) => ({ _objecttype: type, _mask: `${type}__standard`, [type]: object }))
      const answer = await root().post(`/db/${type}`, body)
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
      return answer.body.map(({ _system_object_id }: Json) => ({ _objecttype: type, _system_object_id }))
    }
    const [person] = await create('person', [{ name: 'Uma' }])
    const keywords = await create('keyword', [{ name: 'lake; blue' }, { name: 'dawn' }])
    const terms = await create('term', [
      { label: { 'de-DE': 'Bank', 'en-US': 'bench' } },
      { label: { 'de-DE': 'Ufer', 'en-US': 'shore' } },
    ])
    links = {
      creator: person,
      '_nested:photo__keywords': keywords.map((keyword) => ({ keyword })),
      '_nested:photo__terms': terms.map((term) => ({ term })),
    }
  })
  after(() => archive[Symbol.asyncDispose]())

  function objectWith(file: number, more: object): object {
    const block = { ...fields, ...links, file: [{ _id: file }], _pool: { pool: { _id: archive.pool } }, ...more }
    return { _objecttype: 'photo', _mask: 'photo__standard', photo: block }
  }

  async function photo(
    content: Buffer,
    name = 'a.jpg',
    more: object = {},
    produce_versions = 'false',
  ): Promise<{ file: Json; object: Json }> {
    const { status, body } = await upload(archive.svc, 'root', [{ name, content }], { produce_versions })
    assert.equal(status, 200, JSON.stringify(body))
    const saved = await root().post('/db/photo', [objectWith(body[0]._id, more)])
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
    return { file: body[0], object: saved.body[0] }
  }

  async function copyOf(file: Json, query: Query, login: string | null = 'root', signed = false) {
    const { pathname, search } = new URL(file.versions.original.url)
    const parameters = new URLSearchParams(signed ? search : '')
    for (const [name, value] of Object.entries(query)) parameters.set(name, `${value}`)
    const headers: Record<string, string> =
      login === null ? {} : { authorization: `Bearer ${await archive.svc.as(login).token()}` }
    const answer = await archive.svc.inject({ method: 'GET', url: `${pathname}?${parameters}`, headers })
    return {
      status: answer.statusCode,
      content: answer.rawPayload,
      headers: answer.headers,
      code: () => answer.json().code,
    }
  }

  /** What another mapping reads of a copy, without what only this object has. */
  async function readBack(copies: readonly Sent[]): Promise<readonly Json[]> {
    const { body } = await upload(archive.svc, 'root', copies, { produce_versions: 'true' })
    await archive.svc.drain()
    const ids = body.map(({ _id }: Json) => _id)
    const id = await mapping(archive.svc, bindings, { displayname: { 'en-US': 'Another' } })
    const answer = await root().get('/eas', { ids: JSON.stringify(ids), mapping: id, pool_id: archive.pool })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return ids.map((one: number) => {
      const { _pool, ...block } = answer.body[one]._mapped_metadata.photo
      return block
    })
  }

  const linksOf = (block: Json) => ({
    creator: block.creator._system_object_id,
    keywords: block['_nested:photo__keywords'].map(({ keyword }: Json) => keyword._system_object_id),
    terms: block['_nested:photo__terms'].map(({ term }: Json) => term._system_object_id),
  })

  function assertSame(block: Json): void {
    const { creator: _, '_nested:photo__keywords': __, '_nested:photo__terms': ___, ...values } = block
    assert.deepEqual(values, {
      ...fields,
      // Of one line, as the columns of IPTC and EXIF are not.
      title: { 'en-US': 'The lake\nat dawn', 'de-DE': 'Der See' },
    })
    assert.deepEqual(linksOf(block), linksOf(links))
  }

  test('what a mapping writes into a copy is there for others, and another mapping reads it back in all languages', async () => {
    const base = await picture(40, 30)
    const copies: Sent[] = []
    for (const format of ['jpg', 'png', 'webp', 'tiff', 'gif', 'avif'] as const) {
      const content = format === 'jpg' ? base : await sharp(base).toFormat(format).toBuffer()
      const name = `a.${format}`
      const { file } = await photo(content, name)
      const copy = await copyOf(file, { metadata: both })
      assert.equal(copy.status, 200, `${format} ${copy.content}`)
      const tags = await tagsIn(copy.content, name)
      assert.deepEqual(tags['XMP-dc:Title-de-DE'], 'Der See', format)
      assert.deepEqual(tags['XMP-dc:Subject'], ['lake; blue', 'dawn'])
      assert.deepEqual([tags['XMP-dc:Creator']].flat(), ['Uma'])
      assert.deepEqual(tags['XMP-dc:Rights'], 'Nur deutsch')
      assert.equal(`${tags['XMP-photoshop:DateCreated']}`, '2020:05')
      if (format === 'jpg' || format === 'tiff' || format === 'png') {
        assert.deepEqual(tags['IPTC:Keywords'], ['lake; blue', 'dawn'])
        assert.equal(tags['IPTC:City'], 'Zürich')
        assert.equal(tags['IFD0:Artist'], 'Uma')
      }
      copies.push({ name, content: copy.content })
      // What is stored stays as it is.
      assert.equal(sha256((await copyOf(file, {})).content), file.hash)
    }
    for (const block of await readBack(copies)) assertSame(block)
  })

  test('photographs of each camera keep what they are, and say what the object says', {
    skip: noPhotographs,
  }, async () => {
    const names = [
      'Canon_40D.jpg',
      'Fujifilm_FinePix_E500.jpg',
      'Kodak_CX7530.jpg',
      'Konica_Minolta_DiMAGE_Z3.jpg',
      'Nikon_D70.jpg',
      'Olympus_C8080WZ.jpg',
      'Panasonic_DMC-FZ30.jpg',
      'Pentax_K10D.jpg',
      'Ricoh_Caplio_RR330.jpg',
      'Samsung_Digimax_i50_MP3.jpg',
      'Sony_HDR-HC3.jpg',
      'WWL_(Polaroid)_ION230.jpg',
      'mobile/jolla.jpg',
      'xmp/BlueSquare.jpg',
      'gps/DSCN0010.jpg',
    ]
    const contents = await Promise.all(names.map(photograph))
    const files = names.map((name, index) => ({ name: name.replace('/', '-'), content: contents[index] as Buffer }))
    const { body } = await upload(archive.svc, 'root', files)
    const saved = await root().post(
      '/db/photo',
      body.map(({ _id }: Json) => objectWith(_id, {})),
    )
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
    const copies: Buffer[] = []
    for (const file of body) {
      const copy = await copyOf(file, { metadata: both })
      assert.equal(copy.status, 200, `${file.original_filename} ${copy.content}`)
      copies.push(copy.content)
    }
    const pixels = async (bytes: Buffer) => sha256(await sharp(bytes, { failOn: 'none' }).raw().toBuffer())
    const [before, now] = [await tagsInAll(contents), await tagsInAll(copies)]
    for (const [index, name] of names.entries()) {
      for (const tag of ['IFD0:Make', 'IFD0:Model', 'ExifIFD:DateTimeOriginal', 'GPS:GPSLatitude']) {
        assert.deepEqual(now[index]?.[tag], before[index]?.[tag], `${name} ${tag}`)
      }
      assert.equal(await pixels(copies[index] as Buffer), await pixels(contents[index] as Buffer), name)
    }
    const again = files.map(({ name }, index) => ({ name, content: copies[index] as Buffer }))
    for (const block of await readBack(again)) assertSame(block)
  })

  test('what a file said under the tags goes, unless fields without a value leave it', async () => {
    const content = await tagged(await picture(), [
      '-XMP-dc:Title=old',
      '-XMP-dc:Title-fr-FR=vieux',
      '-IPTC:Keywords=old',
      '-XMP-photoshop:City=Old town',
      '-XMP-photoshop:Credit=stays',
    ])
    const { file } = await photo(content, 'a.jpg', { city: null })
    const tags = await tagsIn((await copyOf(file, { metadata: both })).content)
    assert.deepEqual(
      ['XMP-dc:Title', 'XMP-dc:Title-fr-FR', 'IPTC:Keywords', 'XMP-photoshop:City', 'XMP-photoshop:Credit'].map(
        (tag) => tags[tag],
      ),
      ['The lake\nat dawn', undefined, ['lake; blue', 'dawn'], undefined, 'stays'],
    )
    const leaving = await mapping(archive.svc, bindings, { profile_type: { exiftool_export_omit_empty: true } })
    const left = await tagsIn((await copyOf(file, { metadata: leaving })).content)
    assert.equal(left['XMP-photoshop:City'], 'Old town')
    // A field that nothing is bound to leaves its tags alone.
    const nothing = await mapping(archive.svc, [{ name: 'title' }])
    const same = await tagsIn((await copyOf(file, { metadata: nothing })).content)
    assert.equal(same['XMP-dc:Title'], 'old')
  })

  test('fixed texts stand around what the fields say; addresses lead to the file', async () => {
    const id = await mapping(archive.svc, [
      {
        name: 'credit',
        native: [
          { type: 'text_fixed', text: '© ' },
          { field: 'photo.creator.person.name' },
          { type: 'text_fixed', text: ' (%_uuid%)' },
        ],
      },
      { name: 'source', native: [{ type: 'deep_link_url' }] },
      { name: 'instructions', native: [{ field: 'photo._uuid' }] },
      { name: 'headline', native: [{ type: 'text_fixed', text: 'Alone' }] },
    ])
    const { file, object } = await photo(await picture())
    const tags = await tagsIn((await copyOf(file, { metadata: id })).content)
    assert.equal(tags['XMP-photoshop:Credit'], `© Uma (${object._uuid})`)
    assert.equal(
      tags['XMP-photoshop:Source'],
      `http://localhost:8080/api/v1/eas/download/${file._id}/${file.hash}/original`,
    )
    assert.equal(tags['XMP-photoshop:Instructions'], object._uuid)
    assert.equal(tags['XMP-photoshop:Headline'], 'Alone')
  })

  test('what the mask of the caller hides is not written, and a signature alone is nobody', async () => {
    const { body: made } = await root().post('/user', [{ user: { login: 'uma' }, _password: 'uma' }], {
      confirm: 'ignore_password_requirements',
    })
    const mask = (await root().get('/mask/CURRENT')).body.masks.find((one: Json) => one.name === 'photo__open')
    const { pool } = (await root().get(`/pool/${archive.pool}`)).body[0]
    const granted = await root().post('/pool', [
      {
        pool: { _id: pool._id, _version: pool._version },
        _acl: [
          {
            who: { _basetype: 'user', user: { _id: made[0].user._id } },
            rights: {
              read: {},
              mask: { mask_ids: { [await tableId(archive.svc, 'photo')]: [mask.mask_id] } },
              asset_download: {},
            },
          },
        ],
      },
    ])
    assert.equal(granted.status, 200, JSON.stringify(granted.body))
    const id = await mapping(archive.svc, [
      { name: 'title', native: [{ field: 'photo.title' }] },
      { name: 'headline', native: [{ field: 'photo.secret' }] },
      { name: 'creator', native: [{ field: 'photo.creator.person.name' }] },
    ])
    const { file, object } = await photo(await picture(), 'a.jpg', { secret: 'for few' })
    const all = await tagsIn((await copyOf(file, { metadata: id })).content)
    assert.deepEqual([all['XMP-photoshop:Headline'], all['XMP-dc:Creator']], ['for few', ['Uma']])
    const own = await copyOf(file, { metadata: id }, 'uma')
    assert.equal(own.status, 200, `${own.content}`)
    const few = await tagsIn(own.content)
    assert.equal(few['XMP-dc:Title-de-DE'], 'Der See')
    // Neither the field, nor anything of an object that uma may not read.
    assert.deepEqual([few['XMP-photoshop:Headline'], few['XMP-dc:Creator']], [undefined, undefined])
    assert.ok(!own.content.includes('for few'))
    assert.notEqual(own.headers.etag, (await copyOf(file, { metadata: id })).headers.etag)
    assert.match(`${own.headers['cache-control']}`, /no-cache/)
    const signed = await copyOf(file, { metadata: id }, null, true)
    assert.deepEqual([signed.status, signed.code()], [403, 'InsufficientRights'])
    assert.equal((await copyOf(file, { metadata: 'keep' }, null, true)).status, 200)
    const elsewhere = await copyOf(file, { metadata: id, obj_uuid: '00000000-0000-4000-8000-000000000000' })
    assert.equal(elsewhere.status, 404)
    assert.equal((await copyOf(file, { metadata: id, obj_uuid: object._uuid })).status, 200)
  })

  test('standard: what the pool says, else the object type; none of them: as it is', async () => {
    const { file } = await photo(await picture())
    assert.equal(sha256((await copyOf(file, { metadata: 'standard' })).content), file.hash)
    const table = await tableId(archive.svc, 'photo')
    const { objecttype } = (await root().get(`/objecttype/${table}`)).body[0]
    const set = await root().post('/objecttype', [
      { objecttype: { _id: table, _version: objecttype._version + 1, mapping_image_export: both } },
    ])
    assert.equal(set.status, 200, JSON.stringify(set.body))
    const tags = await tagsIn((await copyOf(file, { metadata: 'standard' })).content)
    assert.equal(tags['XMP-dc:Title-de-DE'], 'Der See')
    const { pool } = (await root().get(`/pool/${archive.pool}`)).body[0]
    const off = await root().post('/pool', [
      { pool: { _id: pool._id, _version: pool._version, mapping_image_export: 'none' } },
    ])
    assert.equal(off.status, 200)
    assert.equal(sha256((await copyOf(file, { metadata: 'standard' })).content), file.hash)
    await root().post('/pool', [
      { pool: { _id: pool._id, _version: off.body[0].pool._version, mapping_image_export: null } },
    ])
    // The mapping of the service goes by the names of columns.
    const named = await tagsIn((await copyOf(file, { metadata: 1 })).content)
    assert.deepEqual([named['XMP-dc:Title-de-DE'], named['IPTC:Keywords']], ['Der See', ['lake; blue', 'dawn']])
  })

  test('pictures that are made for a download say it too', async () => {
    const { file } = await photo(await picture(400, 300), 'a.jpg', {}, 'true')
    await archive.svc.drain()
    const copy = await copyOf(file, { metadata: both, size: 100, format: 'webp' })
    assert.equal(copy.status, 200, `${copy.content}`)
    const { width, format } = await sharp(copy.content).metadata()
    assert.deepEqual([width, format], [100, 'webp'])
    assert.equal((await tagsIn(copy.content, 'a.webp'))['XMP-dc:Title-de-DE'], 'Der See')
  })

  test('what cannot be written into is refused, and nothing is delivered', async () => {
    const { file } = await photo(await picture())
    const importOnly = await mapping(archive.svc, [], { profile_type: { exiftool_export: false } })
    const forPersons = await mapping(archive.svc, [], { idTable: await tableId(archive.svc, 'person') })
    const free = (await upload(archive.svc, 'root', [{ name: 'b.jpg', content: await picture() }])).body[0]
    const text = (await photo(Buffer.from('plain'), 'a.txt')).file
    const broken = (await photo(Buffer.concat([(await picture()).subarray(0, 30), Buffer.alloc(50)]), 'c.jpg')).file
    for (const [one, metadata, code] of [
      [file, importOnly, 'UrlParameterNotSupported'],
      [file, forPersons, 'UrlParameterNotSupported'],
      [file, 4711, 'ServerGeneric'],
      [file, 'all', 'ServerGeneric'],
      [free, both, 'UrlParameterNotSupported'],
      [text, both, 'UrlParameterNotSupported'],
      [broken, both, 'UrlParameterNotSupported'],
      [broken, 'remove', 'UrlParameterNotSupported'],
    ] as const) {
      const answer = await copyOf(one, { metadata })
      assert.deepEqual([answer.status, answer.code()], [400, code], `${metadata} ${answer.content}`)
    }
    assert.equal(sha256((await copyOf(free, { metadata: 'standard' })).content), free.hash)
  })

  test('columns that are gone are named no more, and the rest goes on', async () => {
    const { file } = await photo(await picture())
    // As a commit of the datamodel leaves it: ids that nothing has.
    const id = await mapping(archive.svc, [
      { name: 'title', native: [{ field: 'photo.title' }, { field: 'photo.caption' }] },
    ])
    await archive.svc.db.query(
      `update mapping set body = jsonb_set(body, '{fields,0,sources,1,path,columns}', '[999999]') where id = $1`,
      [id],
    )
    const { body } = await root().get(`/xmlmapping/mapping/${id}`)
    assert.deepEqual(body.fields[0].native, [{ field: 'photo.title' }])
    const tags = await tagsIn((await copyOf(file, { metadata: id })).content)
    assert.equal(tags['XMP-dc:Title-de-DE'], 'Der See')
    const mapped = await root().get(`/eas/${file._id}`, { mapping: id, pool_id: archive.pool })
    assert.equal(mapped.status, 200)
  })

  test('copies with metadata in an archive: their objects are read together', async () => {
    const counts: { statements: number; lookups: number }[] = []
    for (const count of [1, 6]) {
      const made = await Promise.all(
        Array.from({ length: count }, async (_, index) =>
          photo(await picture(), `${index}.jpg`, { city: `City ${index}` }),
        ),
      )
      await archive.svc.drain()
      const one = await exported(archive.svc, {
        search: {
          search: [
            { type: 'in', fields: ['_system_object_id'], in: made.map(({ object }) => object._system_object_id) },
          ],
        },
        classes: { image: [{ type: 'original', metadata: `${both}` }] },
        eas_fields: { 'photo.file': { files: true } },
        flat: true,
        filename_original: true,
      })
      assert.equal(one._files_count, count, JSON.stringify(one))
      const taken = () => archiveBytes(archive.svc, one.export._id, 'zip')
      const { path } = await inFolder('a.zip', await taken())
      for (const index of made.keys()) {
        const { stdout } = await run('unzip', ['-p', path, `${index}.jpg`], { encoding: 'buffer' })
        assert.equal((await tagsIn(stdout))['IPTC:City'], `City ${index}`)
      }
      // A look-up holds for five seconds (src/exports/deliver/ahead.ts): an archive that takes longer makes another one.
      let longest = 0
      const timed = async (): Promise<void> => {
        const begun = performance.now()
        await taken()
        longest = Math.max(longest, performance.now() - begun)
      }
      // The events of a download, with its files and objects, are written after the answer.
      const aside = /\bfrom export_(file|object)\b|\binsert into event\b/
      const statements = await statementsOf(archive.svc, timed, { aside })
      counts.push({ statements, lookups: 1 + Math.floor(longest / 5000) })
    }
    const [one, six] = counts
    assert.ok(one && six && six.statements <= one.statements * six.lookups, JSON.stringify(counts))
  })

  test('any text comes back as it was written', async () => {
    const { file, object } = await photo(await picture())
    const id = await mapping(archive.svc, [{ name: 'city', native: [{ field: 'photo.city' }] }])
    const letter = fc.oneof(
      fc.constantFrom(...'"\'&<>=#$@%\\-/:; \t`|[]{}', '-execute', '&#10;', '😀', 'é', '中', 'e\u0301'),
      fc.string({ unit: 'grapheme-ascii', maxLength: 3 }),
    )
    const text = fc.array(letter, { minLength: 1, maxLength: 12 }).map((letters) => `x${letters.join('')}x`)
    let version = object.photo._version
    await fc.assert(
      fc.asyncProperty(text, async (city) => {
        const saved = await root().patch('/db/photo', [
          { _objecttype: 'photo', _mask: 'photo__standard', photo: { _id: object.photo._id, _version: version, city } },
        ])
        assert.equal(saved.status, 200, JSON.stringify(saved.body))
        version = saved.body[0].photo._version
        const copy = await copyOf(file, { metadata: id })
        assert.equal(copy.status, 200, `${copy.content}`)
        const { _id } = await uploaded(archive.svc, 'a.jpg', copy.content)
        const { body } = await root().get(`/eas/${_id}`, { mapping: id, pool_id: archive.pool })
        assert.equal(body._mapped_metadata.photo.city, city)
      }),
      { numRuns: 8 },
    )
  })
})
