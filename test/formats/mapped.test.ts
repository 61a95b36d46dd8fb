import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import fc from 'fast-check'
import { XmlBufferInputProvider, XmlDocument, XsdValidator, xmlRegisterInputProvider } from 'libxml2-wasm'
import { createDocument } from '../../src/formats/mapped/document.ts'
import { lido } from '../../src/mappings/xml/lido.ts'
import { mods } from '../../src/mappings/xml/mods.ts'
import { readXmlPath, type XmlElement, type XmlStructure } from '../../src/mappings/xml/structure.ts'
import { ok } from '../collections/support.ts'
import { draft, exported, fetchedFile, ran, saved } from '../exports/support.ts'
import { picture, upload } from '../files/support.ts'
import type { Json } from '../support/client.ts'
import { inPool, payload } from '../support/seed/museum.ts'
import { statementsOf } from '../support/statements.ts'
import { actingRoot, asActor, refs, type Scene, startScene, written } from './scene.ts'

const folder = join(import.meta.dirname, 'schemas')
const names = ['lido-1.1.xsd', 'mods-3.8.xsd', 'gml.xsd', 'xlink.xsd', 'xml.xsd']
const texts = new Map(await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name))] as const)))
xmlRegisterInputProvider(new XmlBufferInputProvider(Object.fromEntries(texts)))

const validatorOf = (name: string): XsdValidator =>
  XsdValidator.fromDoc(XmlDocument.fromBuffer(texts.get(name) as Buffer, { url: name }))
const validators = { lido: validatorOf('lido-1.1.xsd'), mods: validatorOf('mods-3.8.xsd') }

const spaces = { l: 'http://www.lido-schema.org', m: 'http://www.loc.gov/mods/v3' }

/** The texts at a path of a valid document. */
function read(format: 'lido' | 'mods', text: string): (path: string) => string[] {
  const document = XmlDocument.fromString(text)
  validators[format].validate(document)
  return (path) => document.find(path, spaces).map((node) => node.content)
}

suite('objects as LIDO and MODS', () => {
  let scene: Scene
  let pictured: number
  const root = () => scene.svc.as('root')
  const mapping = async (body: Json): Promise<Json> => ok(await root().put('/xmlmapping/mapping', body))
  const all = () => refs(scene.work, scene.bare, scene.artist, scene.patron, scene.city, scene.loan, pictured)
  before(async () => {
    scene = await startScene()
    ok(await root().post('/config/system/config/deep_link_access', { enabled: true, allow_access_by_id: true }))
    const { body: files } = await upload(scene.svc, 'root', [{ name: 'a <b> & "c".jpg', content: await picture() }])
    const image = [{ _id: files[0]._id, preferred: true }]
    const sent = payload('work', { title: { 'en-US': 'Pictured' }, image }, inPool(scene.pool))
    pictured = ok(await root().post('/db/work', [sent]))[0]._system_object_id
  })
  after(() => scene[Symbol.asyncDispose]())

  test('without a mapping columns go by their names, and every object is a valid record', async () => {
    const text = await written(scene.svc, 'lido', all(), { allLanguages: true })
    const at = read('lido', text)
    const work = '/l:lidoWrap/l:lido[1]'
    const { body } = await root().get(`/db/work/_all_fields/system_object_id/${scene.work}`)
    assert.deepEqual(at(`${work}/l:lidoRecID`), [body[0]._uuid])
    assert.deepEqual(at(`${work}//l:titleSet/l:appellationValue[@xml:lang="en-US"]`), ['The lake\r\nat dawn'])
    assert.deepEqual(at(`${work}//l:titleSet/l:appellationValue[@xml:lang="de-DE"]`), [
      '=HYPERLINK("http://evil.example";"Der See")',
    ])
    const production = `${work}//l:event[l:eventType/l:term="Production"]`
    assert.deepEqual(at(`${production}//l:nameActorSet/l:appellationValue`), ['Ada <Lovelace> & "Co"'])
    assert.deepEqual(at(`${production}//l:displayDate`), ['1851'])
    assert.deepEqual(at(`${production}//l:earliestDate | ${production}//l:latestDate`), ['1851', '1851'])
    assert.deepEqual(at(`${work}//l:displayMaterialsTech`), ['oil', 'canvas'])
    assert.deepEqual(at(`${work}//l:subjectConcept/l:term`), ['Lakes', '=1+1'])
    assert.deepEqual(at(`${work}//l:workID`), ['A1'])
    assert.deepEqual(at('//l:lido').length, all().length)
    const [resource] = at(`/l:lidoWrap/l:lido[${all().length}]//l:linkResource`)
    assert.ok(`${resource}`.startsWith(`${scene.svc.config.externalUrl}/api/v1/eas/download/`), `${resource}`)
    // The validator does say so when a document is not.
    assert.throws(() => read('lido', text.replaceAll('lido:recordType', 'lido:recordKind')))
  })

  test('MODS has the same in its own words', async () => {
    const at = read('mods', await written(scene.svc, 'mods', all(), { allLanguages: true }))
    const work = '/m:modsCollection/m:mods[1]'
    assert.deepEqual(at(`${work}/m:titleInfo[@xml:lang="en-US"]/m:title`), ['The lake\r\nat dawn'])
    assert.deepEqual(at(`${work}/m:name/m:namePart`), ['Ada <Lovelace> & "Co"'])
    assert.deepEqual(at(`${work}/m:originInfo/m:dateCreated`), ['1851'])
    assert.deepEqual(at(`${work}/m:subject/m:topic`), ['Lakes', '=1+1'])
    assert.deepEqual(at(`${work}/m:physicalDescription/m:form`), ['oil', 'canvas'])
    assert.deepEqual(at(`${work}/m:location/m:shelfLocator`), ['A1'])
    assert.match(`${at(`${work}/m:identifier`)}`, /^urn:uuid:/)
  })

  test('the document of one object is its element, also by a deep link; readers see what they may read', async () => {
    const lake = ok(await root().get(`/db/work/_all_fields/system_object_id/${scene.work}`))[0]
    for (const [format, path] of [
      ['lido', '/l:lido//l:titleSet/l:appellationValue[1]'],
      ['mods', '/m:mods/m:titleInfo[1]/m:title'],
    ] as const) {
      const url = `/api/v1/objects/uuid/${lake._uuid}/format/${format}`
      const headers = { authorization: `Bearer ${await root().token()}` }
      const answer = await scene.svc.inject({ url, headers })
      assert.deepEqual([answer.statusCode, answer.headers['content-type']], [200, 'application/xml; charset=utf-8'])
      assert.deepEqual(read(format, answer.body)(path), ['The lake\r\nat dawn'])
      assert.equal((await scene.svc.inject({ url })).statusCode, 403)
    }
    const nobody = read(
      'lido',
      `${await written(scene.svc, 'lido', refs(scene.work), {}, asActor(99, 'nobody'))}`.replace(
        '</lido:lidoWrap>',
        // A list of nothing has no record, which the schema asks for.
        `${(await written(scene.svc, 'lido', refs(scene.bare))).match(/<lido:lido>.*<\/lido:lido>/s)?.[0]}</lido:lidoWrap>`,
      ),
    )
    assert.deepEqual(nobody('//l:titleSet/l:appellationValue'), ['Bare'])
  })

  test('a mapping says what is taken: that for the object type, with texts around and roles beside names', async () => {
    const [table] = ok(await root().get('/objecttype')).filter((one: Json) => one.objecttype.name === 'work')
    const made = await mapping({
      profile: 'lido.yml',
      idTable: table?.objecttype._id,
      displayname: { 'en-US': 'Works' },
      fields: [
        { name: 'title', native: [{ field: 'work.inventory' }] },
        { name: 'creator', native: [{ field: 'work._nested:work__material.name' }] },
        { name: 'creator_role', native: [{ field: 'work._nested:work__material.origin.place.name' }] },
        { name: 'description', native: [{ type: 'text_fixed', text: 'No. ' }, { field: 'work.width' }] },
        { name: 'credit', native: [{ type: 'deep_link_url' }] },
        {
          name: 'found',
          custom: true,
          xml_export: [{ path: 'descriptiveMetadata/eventWrap/eventSet[finding]/event/eventDate/displayDate' }],
          native: [{ field: 'work.seen' }],
        },
      ],
    })
    assert.equal(made.xml_base, spaces.l)
    assert.deepEqual(made.profile_type, { exiftool_import: false, exiftool_export: false, xml_export: true })
    assert.deepEqual(ok(await root().post(`/xmlmapping/mapping/${made.id}`, made)), made, 'it can be sent back')
    const objects = refs(scene.work, scene.artist)
    const at = read('lido', await written(scene.svc, 'lido', objects))
    assert.deepEqual(at('//l:lido[1]//l:titleSet/l:appellationValue'), ['A1'])
    const roles = at('//l:lido[1]//l:actorInRole').length
    assert.equal(roles, 2)
    assert.deepEqual(at('//l:lido[1]//l:actorInRole[l:roleActor]//l:appellationValue'), ['oil'])
    assert.deepEqual(at('//l:lido[1]//l:descriptiveNoteValue'), ['No. 9007199254740991'])
    assert.match(`${at('//l:lido[1]//l:creditLine')}`, /\/api\/v1\/objects\/uuid\//)
    assert.deepEqual(at('//l:lido[1]//l:event[l:eventType/l:term="Finding"]//l:displayDate'), [
      '2020-05-17T10:11:12+02:00',
    ])
    assert.deepEqual(at('//l:lido[2]//l:titleSet/l:appellationValue'), ['Ada <Lovelace> & "Co"'], 'others by names')
    // Where deep links lead nowhere, none is named.
    const linksAre = async (enabled: boolean) =>
      ok(await root().post('/config/system/config/deep_link_access', { enabled, allow_access_by_id: true }))
    await linksAre(false)
    assert.deepEqual(read('lido', await written(scene.svc, 'lido', objects))('//l:lido[1]//l:creditLine'), [])
    await linksAre(true)
    ok(await root().delete(`/xmlmapping/mapping/${made.id}`))
  })

  test('an export names a format, or the mapping by its id', async () => {
    const made = await mapping({
      profile: 'mods.yml',
      displayname: { 'en-US': 'Notes' },
      fields: [{ name: 'note', native: [{ field: 'work.inventory' }] }],
    })
    for (const [wanted, format, notes] of [
      [made.id, 'mods', ['A1']],
      ['lido', 'lido', []],
    ] as const) {
      const search = { objecttypes: ['work'], sort: [{ field: '_system_object_id' }] }
      const done = await exported(scene.svc, { search, xml: true, mapping: wanted })
      assert.deepEqual([done._state, done.export.mapping], ['done', wanted], JSON.stringify(done._log))
      const answer = await fetchedFile(scene.svc, done.export._id, done._files[0].path)
      assert.deepEqual(
        read(format, answer.body)('//m:note').filter((note) => note !== ''),
        notes,
      )
    }
    const refused = async (wanted: unknown) =>
      (
        await root().post('/export', {
          _basetype: 'export',
          export: {
            type: 'export',
            name: `wrong ${wanted}`,
            search: { objecttypes: ['work'] },
            xml: true,
            mapping: wanted,
          },
        })
      ).status
    assert.deepEqual(
      await Promise.all([1, 999_999, 'lide', `xmlmapping/${made.id}`, 'html'].map(refused)),
      [400, 400, 400, 400, 400],
    )
    const { export: stored } = await saved(scene.svc, 'root', draft({ xml: true, mapping: made.id }))
    // Its deletion asks first; the exports then name none, and are written as the service does itself.
    assert.equal((await root().delete(`/xmlmapping/mapping/${made.id}`)).status, 202)
    ok(await root().delete(`/xmlmapping/mapping/${made.id}`, undefined, { delete_policy: 'delete' }))
    const plain = await ran(scene.svc, 'root', stored._id)
    assert.deepEqual([plain._state, plain.export.mapping], ['done', undefined], JSON.stringify(plain._log))
  })

  test('what a format does not have is refused with its place', async () => {
    const refused = async (body: Json): Promise<unknown> => {
      const answer = await root().put('/xmlmapping/mapping', { profile: 'lido.yml', ...body })
      assert.equal(answer.status, 400, JSON.stringify(answer.body))
      return answer.body.parameters.path
    }
    const custom = (path: string) => ({
      fields: [{ name: 'own', custom: true, xml_export: [{ path }], native: [{ field: 'work.note' }] }],
    })
    const at = 'body.fields[0].xml_export[0].path'
    for (const path of [
      '',
      'descriptiveMetadata',
      'descriptiveMetadata/objectIdentificationWrap/titleWrap/titleSet',
      'descriptiveMetadata/eventWrap/eventSet/displayEvent',
      'descriptiveMetadata/eventWrap/eventSet[party]/displayEvent',
      'descriptiveMetadata[x]/eventWrap/eventSet[use]/displayEvent',
      'lidoRecID/x',
      'constructor',
      '../lidoRecID',
      `${'a/'.repeat(150)}b`,
    ]) {
      assert.equal(await refused(custom(path)), at, path)
    }
    assert.equal(
      await refused({
        profile: 'mods.yml',
        fields: [{ name: 'o', custom: true, xml_export: [{ path: 'name/namePart', l10n: true }], native: [] }],
      }),
      at,
    )
    assert.equal(await refused({ xml_base: 'http://example.org' }), 'body.xml_base')
    assert.equal(await refused({ limited_extensions: ['jpg'] }), 'body.limited_extensions')
    assert.equal(
      await refused({ fields: [{ name: 'title', xml_import: [{ search: 'XMP-dc:Title' }], native: [] }] }),
      'body.fields[0]',
    )
    assert.equal(await refused({ profile_type: { exiftool_export: true } }), 'body.profile_type.exiftool_export')
    assert.equal((await root().put('/xmlmapping/mapping', { profile: 'mods.yml', xml_base: spaces.m })).status, 200)
  })

  test('documents of more objects cost no more statements', async () => {
    const works = Array.from({ length: 40 }, (_, n) =>
      payload('work', { title: { 'en-US': `W ${n}` } }, inPool(scene.pool)),
    )
    const ids = ok(await root().post('/db/work', works)).map((one: Json) => one._system_object_id)
    const cost = (count: number) =>
      statementsOf(scene.svc, async () => {
        const request = { format: 'lido', objects: refs(...ids.slice(0, count)) }
        const each = await Array.fromAsync(scene.svc.app.formats.each(actingRoot, request))
        assert.equal(each.length, count)
        for (const { bytes } of each.slice(0, 2)) read('lido', bytes.toString())
      })
    const [few, many] = [await cost(2), await cost(40)]
    assert.ok(many <= few, `${few} for 2, ${many} for 40`)
  })
})

/** Paths of all elements with a text, with a group where one must be said. */
function leafPaths({ children }: XmlElement, before: readonly string[] = []): string[] {
  return children.flatMap((child) => {
    const groups = child.groups ? Object.keys(child.groups) : child.unit ? ['', 'other'] : ['']
    return groups.flatMap((group) => {
      const path = [...before, group === '' ? child.name : `${child.name}[${group}]`]
      return child.children.length === 0 ? [path.join('/')] : leafPaths(child, path)
    })
  })
}

test('a record that would be too long is refused before it is put together', () => {
  const document = createDocument(lido, ['en-US'])
  const path = readXmlPath(lido, 'descriptiveMetadata/objectRelationWrap/subjectWrap/subjectSet/displaySubject', '')
  const texts = Array.from({ length: 15_000 }, (_, n) => `subject ${n}`)
  document.add({ path, texts, list: true, l10n: false })
  assert.throws(() => document.add({ path, texts, list: true, l10n: false }), { code: 'ServerGeneric' })
})

test('whatever a mapping says at whichever elements, the record is valid', () => {
  const value = fc.oneof(
    fc.constantFrom(
      '1851',
      '1851 - 1852',
      '- 1852',
      'about then',
      '',
      'https://a.example/x[1]?q={a b}#é|',
      '<b> & "c"',
      '\u0000\u0001x',
      'a\r\nb',
    ),
    fc.dictionary(fc.constantFrom('en-US', 'de-DE', 'no language'), fc.string({ minLength: 1, maxLength: 5 }), {
      minKeys: 1,
      maxKeys: 3,
    }),
  )
  const required: Record<string, readonly [path: string, text: string][]> = {
    lido: [
      ['lidoRecID', '1'],
      ['descriptiveMetadata/objectClassificationWrap/objectWorkTypeWrap/objectWorkType/term', 'x'],
      ['descriptiveMetadata/objectIdentificationWrap/titleWrap/titleSet/appellationValue', 'x'],
      ['administrativeMetadata/recordWrap/recordID', '1'],
      ['administrativeMetadata/recordWrap/recordType/term', 'item'],
      ['administrativeMetadata/recordWrap/recordSource/legalBodyName/appellationValue', 'x'],
    ],
    mods: [['titleInfo/title', 'x']],
  }
  for (const [name, structure] of [
    ['lido', lido],
    ['mods', mods],
  ] as const satisfies [string, XmlStructure][]) {
    const paths = leafPaths(structure.root)
    const field = fc.record({
      path: fc.constantFrom(...paths),
      texts: fc.array(value, { maxLength: 3 }),
      list: fc.boolean(),
      l10n: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(field, { maxLength: 12 }), (fields) => {
        const document = createDocument(structure, ['en-US', 'de-DE'])
        for (const { path, ...rest } of fields) document.add({ path: readXmlPath(structure, path, ''), ...rest })
        for (const [path, text] of required[name] ?? []) document.say(path, text)
        const space = structure.prefix === '' ? 'xmlns' : 'xmlns:lido'
        validators[name].validate(XmlDocument.fromString(document.toXml({ [space]: structure.base })))
      }),
      { numRuns: 300 },
    )
  }
})
