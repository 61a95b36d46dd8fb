import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import sharp from 'sharp'
import { picture, upload } from '../files/support.ts'
import type { Json, Query } from '../support/client.ts'
import { tagged, tagsIn } from './exiftool.ts'
import { type Archive, mapping, photograph, photographs, startArchive, tableId, uploaded } from './support.ts'

const noPhotographs = photographs ? false : 'the photographs lie beside the checkout'

suite('metadata of files as objects', () => {
  let archive: Archive
  const root = () => archive.svc.as('root')
  before(async () => {
    archive = await startArchive()
  })
  after(() => archive[Symbol.asyncDispose]())

  const file = async (args: readonly string[], name = 'a.jpg') =>
    uploaded(archive.svc, name, await tagged(await picture(), args, name))

  async function mapped(id: number, query: Query): Promise<Json> {
    const answer = await root().get(`/eas/${id}`, { objecttype: 'photo', pool_id: archive.pool, ...query })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body._mapped_metadata
  }

  /** Saves it as it was answered. */
  async function saved(object: Json): Promise<Json> {
    const answer = await root().post(`/db/${object._objecttype}`, [object], { strict: 1, format: 'long' })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body[0]
  }

  test('caption, creator, rights, date, place and keywords come in without any set-up, from XMP, IPTC and EXIF', async () => {
    const expected = {
      title: { 'en-US': 'The lake' },
      caption: { 'en-US': 'A lake at dawn; calm' },
      rights: { 'en-US': '© 2020 Uma' },
      date: { value: '2020-05-17' },
      city: 'Zürich',
    }
    const cases: readonly string[][] = [
      [
        '-XMP-dc:Title=The lake',
        '-XMP-dc:Description=A lake at dawn; calm',
        '-XMP-dc:Creator=Uma',
        '-XMP-dc:Rights=© 2020 Uma',
        '-XMP-photoshop:DateCreated=2020:05:17',
        '-XMP-photoshop:City=Zürich',
        '-XMP-dc:Subject=lake; blue',
        '-XMP-dc:Subject=dawn',
      ],
      [
        '-IPTC:CodedCharacterSet=UTF8',
        '-IPTC:ObjectName=The lake',
        '-IPTC:Caption-Abstract=A lake at dawn; calm',
        '-IPTC:By-line=Uma',
        '-IPTC:CopyrightNotice=© 2020 Uma',
        '-IPTC:DateCreated=2020:05:17',
        '-IPTC:City=Zürich',
        '-IPTC:Keywords=lake; blue',
        '-IPTC:Keywords=dawn',
      ],
    ]
    for (const args of cases) {
      const { _id } = await file(args)
      const object = await mapped(_id, { mapping: 'standard' })
      const { _pool, creator, '_nested:photo__keywords': keywords, ...values } = object.photo
      assert.deepEqual(values, expected)
      assert.deepEqual(
        [object._objecttype, object._mask, _pool],
        ['photo', 'photo__standard', { pool: { _id: archive.pool } }],
      )
      assert.deepEqual(
        keywords.map(({ keyword }: Json) => keyword.keyword.name ?? keyword._system_object_id > 0),
        args === cases[0] ? ['lake; blue', 'dawn'] : [true, true],
      )
      const { photo } = await saved(object)
      assert.equal(photo.creator._standard['1'].text['en-US'], 'Uma')
      assert.deepEqual(
        photo['_nested:photo__keywords'].map(({ keyword }: Json) => keyword._standard['1'].text['en-US']),
        ['lake; blue', 'dawn'],
      )
      assert.equal(creator.person.name ?? 'Uma', 'Uma')
    }
    const { _id } = await file([
      '-IFD0:ImageDescription=From EXIF',
      '-IFD0:Artist=Uma',
      '-IFD0:Copyright=© EXIF',
      '-ExifIFD:DateTimeOriginal=2019:01:02 03:04:05',
    ])
    const { photo } = await mapped(_id, { mapping: 'standard' })
    assert.deepEqual(
      [photo.caption, photo.rights, photo.date],
      [{ 'en-US': 'From EXIF' }, { 'en-US': '© EXIF' }, { value: '2019-01-02' }],
    )
  })

  test('texts come in all database languages, lists with all entries, and texts that look like numbers as they are', async () => {
    const id = await mapping(archive.svc, [
      { name: 'title', native: [{ field: 'photo.title' }] },
      { name: 'persons', native: [{ field: 'photo._nested:photo__persons.name' }] },
    ])
    const { _id } = await file([
      '-XMP-dc:Title=Ein See',
      '-XMP-dc:Title-de-DE=Ein See',
      '-XMP-dc:Title-en-US=A lake\nat dawn',
      '-XMP-dc:Title-tlh=bIQ',
      '-XMP-iptcExt:PersonInImage=1.50',
      '-XMP-iptcExt:PersonInImage=007',
      '-XMP-iptcExt:PersonInImage=a; b',
    ])
    const object = await mapped(_id, { mapping: id })
    assert.deepEqual(object.photo, {
      title: { 'de-DE': 'Ein See', 'en-US': 'A lake\nat dawn' },
      '_nested:photo__persons': [{ name: '1.50' }, { name: '007' }, { name: 'a; b' }],
      _pool: { pool: { _id: archive.pool } },
    })
    await saved(object)
  })

  test('values of each type of column; what cannot be one is left out', async () => {
    const tag = (name: string, search: string, field: string) => ({
      name,
      custom: true,
      xml_import: [{ search }],
      native: [{ field }],
    })
    const id = await mapping(archive.svc, [
      tag('a', 'ExifIFD:DateTimeOriginal', 'photo.moment'),
      tag('b', 'XMP-dc:Coverage', 'photo.period'),
      tag('c', 'Composite:GPSPosition', 'photo.position'),
      tag('d', 'ExifIFD:ISO', 'photo.iso'),
      tag('e', 'ExifIFD:FNumber', 'photo.f_number'),
      tag('f', 'XMP-dc:Source', 'photo.headline'),
    ])
    const gps = ['-GPS:GPSLatitude=54.5', '-GPS:GPSLatitudeRef=S', '-GPS:GPSLongitude=1.25', '-GPS:GPSLongitudeRef=W']
    const { _id } = await file([
      '-ExifIFD:DateTimeOriginal=2019:01:02 03:04:05',
      '-XMP-dc:Coverage=1851 - 1852-05',
      '-ExifIFD:ISO=200',
      '-ExifIFD:FNumber=2.8',
      '-XMP-dc:Source=one\ntwo',
      ...gps,
    ])
    const { _pool, ...photo } = (await mapped(_id, { mapping: id })).photo
    assert.deepEqual(photo, {
      moment: { value: '2019-01-02T03:04:05' },
      period: { from: '1851', to: '1852-05' },
      position: { type: 'Point', coordinates: [-1.25, -54.5] },
      iso: 200,
      f_number: 2.8,
      headline: 'one two',
    })
    for (const [text, period] of [
      ['1851 -', { from: '1851' }],
      ['- 1852', { to: '1852' }],
      ['1851', { from: '1851', to: '1851' }],
      ['about 1851', undefined],
      ['1851 - soon', undefined],
    ] as const) {
      const other = await file([`-XMP-dc:Coverage=${text}`])
      assert.deepEqual((await mapped(other._id, { mapping: id })).photo.period, period, text)
    }
  })

  test('strategies say what becomes of values that an earlier field gave', async () => {
    const field = (name: string, search: string, more: object = {}) => ({
      name,
      custom: true,
      xml_import: [{ search }],
      native: [{ field: 'photo._nested:photo__persons.name' }, { field: 'photo.headline' }],
      ...more,
    })
    const { _id } = await file(['-XMP-dc:Subject=a', '-XMP-dc:Subject=b', '-XMP-dc:Publisher=b', '-XMP-dc:Publisher=c'])
    for (const [strategy_import, names, headline] of [
      ['replace', ['b', 'c'], 'b; c'],
      ['append', ['a', 'b', 'b', 'c'], 'a; b; b; c'],
      ['merge', ['a', 'b', 'c'], 'a; b; c'],
      ['skip_if_present', ['a', 'b'], 'a; b'],
    ] as const) {
      const id = await mapping(archive.svc, [
        field('a', 'XMP-dc:Subject'),
        field('b', 'XMP-dc:Publisher', { strategy_import }),
      ])
      const { photo } = await mapped(_id, { mapping: id })
      assert.deepEqual(
        photo['_nested:photo__persons'].map(({ name }: Json) => name),
        names,
        strategy_import,
      )
      assert.equal(photo.headline, headline)
    }
  })

  test('columns of a linked object zip by position: the first is the key; a match links, no match creates', async () => {
    const made = await root().post('/db/keyword', [
      { _objecttype: 'keyword', _mask: 'keyword__standard', keyword: { name: 'house', label: { 'de-DE': 'Haus' } } },
    ])
    const known = made.body[0]._system_object_id
    const tag = (name: string, search: string, field: string) => ({
      name,
      custom: true,
      xml_import: [{ search }],
      native: [{ field: `photo._nested:photo__keywords.${field}` }],
    })
    const id = await mapping(archive.svc, [
      tag('key', 'XMP-dc:Subject', 'keyword.keyword.name'),
      tag('note', 'XMP-dc:Publisher', 'keyword.keyword.note'),
      tag('remark', 'XMP-dc:Contributor', 'remark'),
    ])
    const { _id } = await file([
      ...['house', 'garden', 'garden'].map((text) => `-XMP-dc:Subject=${text}`),
      ...['from the file', 'green', 'green'].map((text) => `-XMP-dc:Publisher=${text}`),
      ...['first', 'second', 'third', 'fourth'].map((text) => `-XMP-dc:Contributor=${text}`),
    ])
    const object = await mapped(_id, { mapping: id })
    const rows = object.photo['_nested:photo__keywords']
    assert.deepEqual(
      rows.map(({ keyword, remark }: Json) => [
        keyword?._system_object_id,
        keyword?.keyword.name,
        keyword?.keyword.note,
        keyword?._mapped_metadata_created,
        remark,
      ]),
      [
        [known, undefined, undefined, undefined, 'first'],
        [undefined, 'garden', 'green', true, 'second'],
        [undefined, 'garden', 'green', true, 'third'],
        [undefined, undefined, undefined, undefined, 'fourth'],
      ],
    )
    assert.equal(rows[1].keyword._uuid, rows[2].keyword._uuid)
    const { photo } = await saved(object)
    const links = photo['_nested:photo__keywords'].map(({ keyword }: Json) => keyword?._system_object_id)
    assert.equal(links[0], known)
    assert.equal(links[1], links[2])
    const keywords = (await root().get('/db/keyword/_all_fields/list', { format: 'long' })).body
    // A file never edits a shared record, and what is made has all that the file says.
    assert.deepEqual(
      keywords
        .map(({ keyword }: Json) => [keyword.name, keyword.note])
        .filter(([name]: [string]) => ['house', 'garden'].includes(name)),
      [
        ['house', undefined],
        ['garden', 'green'],
      ],
    )
    // Once it is there, the next file links to it; and what was mapped before can be saved as well.
    const again = await mapped(_id, { mapping: id })
    assert.equal(again.photo['_nested:photo__keywords'][1].keyword._system_object_id, links[1])
    const later = await saved(object)
    assert.equal(later.photo['_nested:photo__keywords'][1].keyword._system_object_id, links[1])
  })

  test('of several objects with the same key the other columns tell which one is meant, in the languages that both have', async () => {
    const terms = [
      { label: { 'de-DE': 'Bank', 'en-US': 'bank' }, code: 'money' },
      { label: { 'de-DE': 'Bank', 'en-US': 'bench' }, code: 'seat' },
    ]
    const { body } = await root().post(
      '/db/term',
      terms.map((term) => ({ _objecttype: 'term', _mask: 'term__standard', term })),
    )
    const [money, seat] = body.map((one: Json) => one._system_object_id)
    const tag = (name: string, search: string, field: string) => ({
      name,
      custom: true,
      xml_import: [{ search }],
      native: [{ field: `photo._nested:photo__terms.term.term.${field}` }],
    })
    const id = await mapping(archive.svc, [
      tag('label', 'XMP-plus:Custom1', 'label'),
      tag('code', 'XMP-dc:Publisher', 'code'),
    ])
    const links = async (args: readonly string[]) => {
      const { _id } = await file(args)
      const { photo } = await mapped(_id, { mapping: id })
      return photo['_nested:photo__terms'].map(({ term }: Json) => term._system_object_id ?? term.term.label)
    }
    assert.deepEqual(await links(['-XMP-plus:Custom1=Bank']), [money])
    assert.deepEqual(await links(['-XMP-plus:Custom1=Bank', '-XMP-dc:Publisher=seat']), [seat])
    assert.deepEqual(await links(['-XMP-plus:Custom1-de-DE=Bank', '-XMP-plus:Custom1-en-US=bench']), [seat])
    assert.deepEqual(await links(['-XMP-plus:Custom1-de-DE=Bank', '-XMP-plus:Custom1-en-US=shore']), [
      { 'de-DE': 'Bank', 'en-US': 'shore' },
    ])
  })

  test('the mask says what comes in, and pools and object types which mapping holds', async () => {
    const id = await mapping(archive.svc, [
      { name: 'title', native: [{ field: 'photo.secret' }, { field: 'photo.headline' }] },
    ])
    const other = await mapping(archive.svc, [{ name: 'title', native: [{ field: 'photo.city' }] }], {
      limited_extensions: ['png'],
    })
    const { _id } = await file(['-XMP-dc:Title=Secret'])
    const { photo } = await mapped(_id, { mapping: id, mask: 'photo__open' })
    assert.deepEqual([photo.secret, photo.headline], [undefined, 'Secret'])
    assert.equal((await mapped(_id, { mapping: id })).photo.secret, 'Secret')
    // It is for other files.
    assert.equal(await mapped(_id, { mapping: other }), undefined)
    const table = await tableId(archive.svc, 'photo')
    const set = async (mapping_image_import: unknown) => {
      const { objecttype } = (await root().get(`/objecttype/${table}`)).body[0]
      const answer = await root().post('/objecttype', [
        { objecttype: { _id: table, _version: objecttype._version + 1, mapping_image_import } },
      ])
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
    }
    const setPool = async (mapping_image_import: unknown) => {
      const { pool } = (await root().get(`/pool/${archive.pool}`)).body[0]
      const answer = await root().post('/pool', [
        { pool: { _id: pool._id, _version: pool._version, mapping_image_import } },
      ])
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
    }
    const standard = async () => (await mapped(_id, { mapping: 'standard' }))?.photo
    await set('none')
    assert.equal(await standard(), undefined)
    await set(id)
    assert.equal((await standard()).headline, 'Secret')
    await setPool('none')
    assert.equal(await standard(), undefined)
    await setPool(1)
    assert.deepEqual([(await standard()).headline, (await standard()).title], [undefined, { 'en-US': 'Secret' }])
    await setPool('objecttype')
    assert.equal((await standard()).headline, 'Secret')
    await setPool(null)
    await set(null)
  })

  test('requests that cannot be met are refused by their parameter', async () => {
    const { _id } = await file(['-XMP-dc:Title=x'])
    const exportOnly = await mapping(archive.svc, [], { profile_type: { exiftool_import: false } })
    const forPersons = await mapping(archive.svc, [], { idTable: await tableId(archive.svc, 'person') })
    for (const [query, code] of [
      [{ objecttype: 'photo' }, 'UrlParameterNotSupported'],
      [{ pool_id: 1 }, 'UrlParameterNotSupported'],
      [{ mapping: 'some' }, 'ServerGeneric'],
      [{ mapping: 4711, objecttype: 'photo' }, 'ServerGeneric'],
      [{ mapping: 'standard' }, 'ServerGeneric'],
      [{ mapping: 1, objecttype: 'nothing' }, 'UnknownObjecttype'],
      [{ mapping: 1, objecttype: 'photo', mask: 'nothing' }, 'MaskNotFound'],
      [{ mapping: 1, objecttype: 'photo', pool_id: 4711 }, 'PoolNotFound'],
      [{ mapping: exportOnly, objecttype: 'photo' }, 'ServerGeneric'],
      [{ mapping: forPersons, objecttype: 'photo' }, 'ServerGeneric'],
    ] as const) {
      const answer = await root().get(`/eas/${_id}`, query as Query)
      assert.deepEqual([answer.status, answer.body.code], [400, code], JSON.stringify([query, answer.body]))
    }
    const list = async (query: Query) => root().get('/eas', { ids: `[${_id}]`, objecttype: 'photo', ...query })
    assert.equal(
      (await list({ mapping: 1, mapping_recipe_configs: '{}' })).body[_id]._mapped_metadata.photo.title['en-US'],
      'x',
    )
    for (const query of [
      { mapping: 1, mapping_recipe_configs: '[' },
      { mapping: 'standard', mapping_recipe_configs: '{}' },
    ]) {
      assert.equal((await list(query)).body.code, 'UrlParameterNotSupported', JSON.stringify(query))
    }
    const recipe = await list({ mapping: 1, mapping_recipe_configs: '{"ocr": {}}' })
    assert.deepEqual([recipe.status, recipe.body.parameters.path], [400, 'mapping_recipe_configs.ocr'])
    const nobody = await archive.svc.as(null).get(`/eas/${_id}`, { mapping: 1, objecttype: 'photo' })
    assert.deepEqual([nobody.status, nobody.body.code], [403, 'InsufficientRights'])
  })

  test('metadata that mean harm are read as far as they are texts, or not at all', async () => {
    const packet = (inside: string, before = '') =>
      `${before}<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">` +
      `<rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/">${inside}</rdf:Description></rdf:RDF></x:xmpmeta>`
    const alt = (text: string) =>
      `<dc:title><rdf:Alt><rdf:li xml:lang="x-default">${text}</rdf:li></rdf:Alt></dc:title>`
    const bag = (count: number) =>
      `<dc:subject><rdf:Bag>${Array.from({ length: count }, (_, n) => `<rdf:li>k${n}</rdf:li>`).join('')}</rdf:Bag></dc:subject>`
    const contents: readonly string[] = [
      packet(alt('&x;&lol;'), '<!DOCTYPE x [<!ENTITY x SYSTEM "file:///etc/passwd"><!ENTITY lol "lollol">]>'),
      packet(`${alt('unclosed')}<dc:creator><rdf:Seq><rdf:li>`),
      packet(bag(100_000)),
      packet(alt('y'.repeat(1_000_000))),
      packet(alt('a&#0;b\u0007c')),
    ]
    const id = await mapping(archive.svc, [
      { name: 'title', native: [{ field: 'photo.title' }] },
      { name: 'keywords', native: [{ field: 'photo._nested:photo__persons.name' }] },
    ])
    for (const [index, text] of contents.entries()) {
      const { status, body } = await upload(
        archive.svc,
        'root',
        [
          {
            name: `${index}.png`,
            content: await sharp(await picture())
              .png()
              .withXmp(text)
              .toBuffer(),
          },
        ],
        {
          produce_versions: 'true',
        },
      )
      assert.equal(status, 200)
      await archive.svc.drain()
      const object = await mapped(body[0]._id, { mapping: id })
      if (index > 1) assert.ok(object, text.slice(0, 300))
      const said = JSON.stringify(object ?? null)
      assert.ok(!said.includes('root:'), 'no file of the machine')
      assert.ok(said.length < 100_000, `${said.length}`)
      if (object) await saved(object)
    }
  })

  test('what photographs of several cameras say can be saved as it is mapped', { skip: noPhotographs }, async () => {
    const names = [
      'Canon_40D_photoshop_import.jpg',
      'xmp/BlueSquare.jpg',
      'gps/DSCN0010.jpg',
      'long_description.jpg',
      'Nikon_D70.jpg',
      'Pentax_K10D.jpg',
      'tests/30-type_error.jpg',
    ]
    const sent = await Promise.all(
      names.map(async (name) => ({ name: name.replace('/', '-'), content: await photograph(name) })),
    )
    const { body } = await upload(archive.svc, 'root', sent, { produce_versions: 'true' })
    await archive.svc.drain()
    const ids = body.map(({ _id }: Json) => _id)
    const answer = await root().get('/eas', {
      ids: JSON.stringify(ids),
      mapping: 'standard',
      objecttype: 'photo',
      pool_id: archive.pool,
      format: 'short',
    })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    const objects = ids.map((id: number) => answer.body[id]._mapped_metadata)
    assert.ok(objects.every((object: Json) => object))
    const answers = await root().post('/db/photo', objects, { strict: 1, format: 'long' })
    assert.equal(answers.status, 200, JSON.stringify(answers.body))
    const photos = answers.body.map(({ photo }: Json) => photo)
    for (const [index, { content }] of sent.entries()) {
      const original = `${(await tagsIn(content))['ExifIFD:DateTimeOriginal'] ?? ''}`
      const day = /^(\d{4}):(\d\d):(\d\d) /.exec(original)?.slice(1).join('-')
      if (day) assert.deepEqual(photos[index].date, { value: day }, `${names[index]}`)
    }
    assert.match(photos[1].caption['en-US'], /^XMPFiles BlueSquare test file/)
    assert.deepEqual(
      photos[1]['_nested:photo__keywords'].map(({ keyword }: Json) => keyword._standard['1'].text['en-US']),
      ['XMP', 'Blue Square', 'test file', 'Photoshop', '.jpg'],
    )
    assert.deepEqual(photos[2].date, { value: '2008-10-22' })
    assert.deepEqual(
      photos[2].position.coordinates.map((n: number) => Math.round(n * 1000)),
      [11_885, 43_467],
    )
  })
})
