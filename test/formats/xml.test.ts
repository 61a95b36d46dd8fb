import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, suite, test } from 'node:test'
import fc from 'fast-check'
import { XmlDocument, XsdValidator } from 'libxml2-wasm'
import { schemaOf } from '../../src/formats/xml/schema.ts'
import { picture, upload } from '../files/support.ts'
import { commitModel, defineModel, type TableSeed } from '../support/seed/model.ts'
import { inPool, link, payload } from '../support/seed/museum.ts'
import { startService, type TestService } from '../support/service.ts'
import { actingRoot, refs, type Scene, startScene, written } from './scene.ts'

/** @throws {Error} of the validator, which names the first thing that is wrong */
function assertValid(xsd: string, ...documents: readonly string[]): void {
  using schema = XmlDocument.fromString(xsd)
  using validator = XsdValidator.fromDoc(schema)
  for (const text of documents) {
    using document = XmlDocument.fromString(text)
    validator.validate(document)
  }
}

const served = async (svc: TestService): Promise<string> => {
  const answer = await svc.inject({
    url: '/api/v1/formats/xml_native.xsd',
    headers: { authorization: `Bearer ${await svc.as('root').token()}` },
  })
  assert.deepEqual([answer.statusCode, answer.headers['content-type']], [200, 'application/xml; charset=utf-8'])
  return answer.body
}

const o = { o: 'urn:strongroom:objects:1' }

suite('objects as XML', () => {
  let scene: Scene
  before(async () => {
    scene = await startScene()
  })
  after(() => scene[Symbol.asyncDispose]())

  test('documents of all options are valid by the schema that is served', async () => {
    const { body: files } = await upload(scene.svc, 'root', [{ name: 'a <b> & "c".jpg', content: await picture() }])
    const root = scene.svc.as('root')
    const image = [{ _id: files[0]._id, preferred: true }]
    const sent = payload('work', { title: { 'en-US': 'Pictured' }, image }, inPool(scene.pool))
    const { body } = await root.post('/db/work', [sent])
    const all = refs(
      scene.work,
      scene.bare,
      scene.artist,
      scene.patron,
      scene.city,
      scene.loan,
      ...scene.topics,
      body[0]._system_object_id,
    )
    const xsd = await served(scene.svc)
    const options = [
      {},
      { allLanguages: true, noInheritance: true },
      { mergeLinkedObjects: 'all', mergeMaxDepth: 3, includeParents: true, fileMetadata: true },
      { flat: true },
      { fields: { 'work.title': {}, 'work.creator.person.name': {} } },
      { fileOf: () => ({ versions: { original: { path: 'files/a b.jpg' } } }) },
    ] as const
    for (const one of options) assertValid(xsd, await written(scene.svc, 'xml_native', all, one))
    const each = await Array.fromAsync(scene.svc.app.formats.each(actingRoot, { format: 'xml_native', objects: all }))
    assertValid(xsd, ...each.map(({ bytes }) => bytes.toString()))
    // The validator does say so when a document is not.
    const document = await written(scene.svc, 'xml_native', refs(scene.work))
    assert.throws(() => assertValid(xsd, document.replace('<_version>1<', '<_version>one<')))
    assert.throws(() => assertValid(xsd, document.replaceAll('inventory', 'nothing')))
  })

  test('a parser gives back every value as it was sent', async () => {
    using document = XmlDocument.fromString(await written(scene.svc, 'xml_native', refs(scene.work, scene.bare)))
    const at = (path: string): string | undefined => document.get(`/o:objects/o:work[1]/${path}`, o)?.content
    const expected: Record<string, string> = {
      'o:title/o:en-US': 'The lake\r\nat dawn',
      'o:title/o:de-DE': '=HYPERLINK("http://evil.example";"Der See")',
      'o:note': 'tab\tquote " comma, semicolon; <b>markup</b> &amp; 中文 😀',
      'o:width': '9007199254740991',
      'o:price': '-0.07',
      'o:signed': 'true',
      'o:made': '1851',
      'o:period/o:from': '1851',
      'o:period/o:to': '1852-05',
      'o:period/o:text/o:en-US': 'about then',
      'o:location': '{"type":"Point","coordinates":[8.5,47.3]}',
      'o:creator/@type': 'link',
      'o:creator/o:person/o:_standard/o:en-US': 'Ada <Lovelace> & "Co"',
      'o:_nested__work__material/o:work__material[1]/o:name': 'oil',
      'o:_nested__work__material/o:work__material[2]/o:name': 'canvas',
      'o:_nested__work__material/o:work__material[1]/o:_nested__work__material__supplier/o:work__material__supplier/o:person/o:person/o:_standard/o:en-US':
        'Bo',
      'o:_reverse_nested__loan__work/o:loan/o:borrower': '@Museum',
      'o:_pool/@reference': 'system:standard',
      'o:_system_object_id': String(scene.work),
    }
    for (const [path, value] of Object.entries(expected)) assert.equal(at(path), value, path)
    // Booleans always stand there, other fields only with a value.
    assert.equal(document.get('/o:objects/o:work[2]/o:signed', o)?.content, 'false')
    assert.equal(document.get('/o:objects/o:work[2]/o:inventory', o), null)
  })

  test('files are told with their versions by address, or as the caller of the writer tells them', async () => {
    const { body: files } = await upload(scene.svc, 'root', [{ name: 'lake.jpg', content: await picture() }])
    const sent = payload('work', { title: { 'en-US': 'Lake' }, image: [{ _id: files[0]._id }] }, inPool(scene.pool))
    const { body } = await scene.svc.as('root').post('/db/work', [sent])
    const objects = refs(body[0]._system_object_id)
    const file = '/o:objects/o:work/o:image/o:files/o:file'
    {
      using document = XmlDocument.fromString(await written(scene.svc, 'xml_native', objects))
      assert.equal(document.get(`${file}/o:name`, o)?.content, 'lake.jpg')
      assert.equal(document.get(`${file}/o:eas-id`, o)?.content, String(files[0]._id))
      assert.equal(document.get(`${file}/o:technical_metadata/o:mime_type`, o)?.content, 'image/jpeg')
      assert.match(document.get(`${file}/o:versions/o:version[@name='original']/o:url`, o)?.content ?? '', /^http:/)
    }
    const asked: unknown[] = []
    const fileOf = (_file: unknown, place: unknown) => {
      asked.push(place)
      return { versions: { original: { path: 'files/lake.jpg' } } }
    }
    const text = await written(scene.svc, 'xml_native', objects, { fileOf })
    using document = XmlDocument.fromString(text)
    assert.equal(document.get(`${file}/o:versions/o:version/o:path`, o)?.content, 'files/lake.jpg')
    assert.ok(!text.includes('http://localhost'))
    const object = { systemObjectId: body[0]._system_object_id, version: 1, objecttype: 'work' }
    assert.deepEqual(asked, [{ object, field: 'work.image', path: 'work.image' }])
    assert.ok(!(await written(scene.svc, 'xml_native', objects, { fileOf: () => null })).includes('lake.jpg'))
    assert.ok(!(await written(scene.svc, 'json', objects, { fileOf: () => null })).includes('lake.jpg'))
  })

  test('an object is written in the version that is asked for', async () => {
    const root = scene.svc.as('root')
    const { body } = await root.post('/db/person', [payload('person', { name: 'First' })])
    const [{ person, _system_object_id: systemObjectId }] = body
    const { status } = await root.post('/db/person', [
      payload('person', { _id: person._id, _version: person._version, name: 'Second' }),
    ])
    assert.equal(status, 200)
    const names = async (objects: readonly { systemObjectId: number; version?: number }[]) => {
      using document = XmlDocument.fromString(await written(scene.svc, 'xml_native', objects))
      return document.find('/o:objects/o:person/o:name', o).map((node) => node.content)
    }
    assert.deepEqual(await names([{ systemObjectId }, { systemObjectId, version: 1 }]), ['Second', 'First'])
    assert.deepEqual(await names([{ systemObjectId, version: 9 }]), [])
  })

  test('what all documents share stands in the documentation', async () => {
    const [own, printed] = await Promise.all(
      ['src/formats/xml/schema-types.xsd', 'docs/xml_native.xsd'].map((path) => readFile(path, 'utf8')),
    )
    assert.equal(printed, own)
  })
})

/** Values that the type takes, in the forms of the interface. */
const texts = fc
  .string({ unit: 'binary', minLength: 1, maxLength: 20 })
  .filter((text) => !text.includes('\0') && text.isWellFormed())
const localized = fc.dictionary(fc.constantFrom('de-DE', 'en-US', 'fr'), texts, { minKeys: 1 })
const dates = fc.constantFrom('1851', '1851-05', '2020-05-17', '-0500', '2020-05-17T10:11:12+02:00')
const valuesByType: Record<string, fc.Arbitrary<unknown>> = {
  text: texts,
  text_oneline: texts,
  text_l10n: localized,
  number: fc.maxSafeInteger(),
  'integer.2': fc.maxSafeInteger(),
  double: fc.double({ noNaN: true, noDefaultInfinity: true }),
  boolean: fc.boolean(),
  date: dates.map((value) => ({ value })),
  daterange: fc.record({ from: fc.constant('1851'), text: localized }, { requiredKeys: ['from'] }),
  geo_json: fc.constant({ type: 'Point', coordinates: [1, 2] }),
  'custom:base.custom-data-type-test.term': fc.record({ conceptName: texts }),
}
const types = Object.keys(valuesByType)

/** Names that could be taken for something else. */
const names = fc.constantFrom('objects', 'object', 'file', 'files', 'type', 'field', 'xml', 'name', 'path', 'a_b', 'x1')

interface Drawn {
  readonly tables: readonly {
    readonly name: string
    readonly columns: readonly Column[]
    readonly rows: readonly Column[]
  }[]
  readonly hierarchical: boolean
}
interface Column {
  readonly name: string
  readonly type: string
}

const columns = fc.uniqueArray(fc.record({ name: names, type: fc.constantFrom(...types) }), {
  selector: ({ name }) => name,
  minLength: 1,
  maxLength: 5,
})
const drawn: fc.Arbitrary<Drawn> = fc.record({
  tables: fc.uniqueArray(fc.record({ name: names, columns, rows: columns }), {
    selector: ({ name }) => name,
    minLength: 1,
    maxLength: 3,
  }),
  hierarchical: fc.boolean(),
})

test('documents of any datamodel are valid by the schema of it', async () => {
  const property = fc.asyncProperty(drawn, fc.gen(), async (model, gen) => {
    await using svc = await startService()
    const seeds = Object.fromEntries(
      model.tables.map(({ name, columns, rows }, index): [string, TableSeed] => [
        name,
        {
          columns: {
            ...Object.fromEntries(columns.map((column) => [column.name, column.type])),
            below: { type: `link:${model.tables[0]?.name}`, reverse_edit: index > 0 },
          },
          nested: { rows: { columns: Object.fromEntries(rows.map((column) => [column.name, column.type])) } },
          flags: index === 0 && model.hierarchical ? { is_hierarchical: true } : {},
        },
      ]),
    )
    await commitModel(svc, defineModel(seeds))
    const root = svc.as('root')
    const valuesOf = (list: readonly Column[]) =>
      Object.fromEntries(list.map(({ name, type }) => [name, gen(() => valuesByType[type] as fc.Arbitrary<unknown>)]))
    const ids: number[] = []
    for (const { name, columns, rows } of model.tables) {
      const block = { ...valuesOf(columns), [`_nested:${name}__rows`]: [valuesOf(rows), valuesOf(rows)] }
      const [first] = ids
      const below = first === undefined ? {} : { below: link(model.tables[0]?.name ?? '', first) }
      const { status, body } = await root.post(`/db/${name}`, [payload(name, { ...block, ...below })])
      assert.equal(status, 200, JSON.stringify(body))
      ids.push(body[0]._system_object_id)
    }
    const xsd = await served(svc)
    for (const options of [
      { allLanguages: true },
      { mergeLinkedObjects: 'all', mergeMaxDepth: 2 },
      { flat: true },
    ] as const) {
      assertValid(xsd, await written(svc, 'xml_native', refs(...ids), options))
    }
  })
  await fc.assert(property, { numRuns: 4 })
})

test('the schema of a datamodel without object types is one', () => {
  const model = { objecttypes: new Map() } as unknown as Parameters<typeof schemaOf>[0]
  assertValid(schemaOf(model), '<objects xmlns="urn:strongroom:objects:1"/>')
})
