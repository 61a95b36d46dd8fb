import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { parse } from 'csv-parse/sync'
import { readSheet } from 'read-excel-file/node'
import { asActor, refs, type Scene, startScene, written, writtenBytes } from './scene.ts'

type Row = Record<string, string>

suite('tables of objects', () => {
  let scene: Scene
  before(async () => {
    scene = await startScene()
  })
  after(() => scene[Symbol.asyncDispose]())

  const csv = async (ids: readonly number[], options: Parameters<typeof written>[3] = {}) => {
    const text = await written(scene.svc, 'csv', refs(...ids), options)
    return parse(text, { columns: true, bom: true }) as Row[]
  }

  /** Of the work of the scene, as they were sent. */
  const texts = {
    'work.title.en-US': 'The lake\r\nat dawn',
    'work.inventory': 'A1',
    'work.note': 'tab\tquote " comma, semicolon; <b>markup</b> &amp; 中文 😀',
    'work.made': '1851',
    'work.seen': '2020-05-17T10:11:12+02:00',
    'work.period.from': '1851',
    'work.period.to': '1852-05',
    'work.period.text.en-US': 'about then',
    'work.location': '{"type":"Point","coordinates":[8.5,47.3]}',
    'work.creator._standard.en-US': 'Ada <Lovelace> & "Co"',
    'work._nested:work__material[0].name': 'oil',
    'work._nested:work__material[0].origin._standard.de-DE': 'Schweiz',
    'work._nested:work__material[0]._nested:work__material__supplier[0].person._standard.en-US': 'Bo',
    'work._nested:work__material[1].name': 'canvas',
    _objecttype: 'work',
    _owner: 'Root',
    _pool: 'system:standard',
  }

  test('a row for each object in their order, a column for each path that one of them has', async () => {
    const [work, bare, loan, ...more] = await csv([scene.work, scene.bare, scene.loan])
    assert.equal(more.length, 0)
    for (const [path, value] of Object.entries(texts)) assert.equal(work?.[path], value, path)
    assert.equal(work?.['work.width'], '9007199254740991')
    assert.equal(work?.['work.price'], '-0.07')
    assert.equal(Number(work?.['work.weight']), 1.5e-7)
    assert.equal(work?.['work.signed'], 'true')
    assert.equal(work?.['work.creator._system_object_id'], String(scene.artist))
    assert.equal(work?._system_object_id, String(scene.work))
    assert.equal(work?.['work._reverse_nested:loan:work[0]._system_object_id'], String(scene.loan))
    assert.equal(bare?.['work.title.en-US'], 'Bare')
    assert.equal(bare?.['work.inventory'], '')
    assert.equal(loan?.['loan.due'], '2026-12-01')
    assert.equal(loan?.['work.title.en-US'], '')
  })

  test('system fields come first, then fields, then rows; numbers of rows are in the order of numbers', async () => {
    const [first = {}] = await csv([scene.work, scene.bare])
    const names = Object.keys(first)
    const groups = names.map((name) => (name.includes('nested:') ? 2 : name.startsWith('_') ? 0 : 1))
    assert.deepEqual(groups, groups.toSorted())
    assert.equal(names[0], '_objecttype')
    const fields = names.filter((_, index) => groups[index] === 1)
    assert.deepEqual(fields, fields.toSorted())
  })

  test('texts that a program for tables would take for formulas are texts: an apostrophe in CSV, the type of the cell in XLSX', async () => {
    const [work] = await csv([scene.work])
    assert.equal(work?.['work.title.de-DE'], '\'=HYPERLINK("http://evil.example";"Der See")')
    assert.equal(work?.['work._reverse_nested:loan:work[0].loan.borrower'], "'@Museum")
    const bytes = await writtenBytes(scene.svc, 'xlsx', refs(scene.work))
    const [names, values] = (await readSheet(bytes)) as unknown as unknown[][]
    const cell = (name: string) => values?.[names?.indexOf(name) ?? -1]
    assert.equal(cell('work.title.de-DE'), '=HYPERLINK("http://evil.example";"Der See")')
    assert.equal(cell('work._reverse_nested:loan:work[0].loan.borrower'), '@Museum')
  })

  test('what another library reads of the workbook equals what was sent', async () => {
    const bytes = await writtenBytes(scene.svc, 'xlsx', refs(scene.work, scene.bare))
    const [names = [], work, bare, ...more] = (await readSheet(bytes, { trim: false })) as unknown as unknown[][]
    assert.equal(more.length, 0)
    const cell = (row: unknown[] | undefined, name: string) => row?.[names.indexOf(name)]
    for (const [path, value] of Object.entries(texts)) assert.equal(cell(work, path), value, path)
    // More digits than a cell keeps of a number: a text.
    assert.equal(cell(work, 'work.width'), '9007199254740991')
    assert.equal(cell(work, 'work.price'), -0.07)
    assert.equal(cell(work, 'work.weight'), 1.5e-7)
    assert.equal(cell(work, 'work.signed'), true)
    assert.equal(cell(work, '_system_object_id'), scene.work)
    assert.equal(cell(bare, 'work.title.en-US'), 'Bare')
    assert.equal(cell(bare, 'work.width'), null)
  })

  test('delimiter, quote, escape and the byte order mark are those that are asked for', async () => {
    const table = { delimiter: '\t', quote: "'", escape: '\\', useBom: true }
    const text = await written(scene.svc, 'csv', refs(scene.work), { table })
    assert.equal(text[0], '\uFEFF')
    const [row] = parse(text, { columns: true, bom: true, delimiter: '\t', quote: "'", escape: '\\' }) as Row[]
    assert.equal(row?.['work.note'], texts['work.note'])
    for (const table of [
      { delimiter: '"' },
      { delimiter: '' },
      { quote: 'ab' },
      { escape: '\n' },
      { delimiter: '\0' },
    ]) {
      await assert.rejects(written(scene.svc, 'csv', refs(scene.work), { table }), { code: 'ServerGeneric' })
    }
  })

  test('fields are chosen and named, also those of linked objects', async () => {
    const fields = { 'work.title': { displayName: 'Title' }, 'work.creator.person.name': {} }
    const [row] = await csv([scene.work], { fields, mergeLinkedObjects: 'all', mergeMaxDepth: 1 })
    assert.equal(row?.['Title.en-US'], texts['work.title.en-US'])
    assert.equal(row?.['work.creator.person.name'], 'Ada <Lovelace> & "Co"')
    assert.ok(
      !Object.keys(row ?? {}).some((name) => /inventory|material|born|_owner/.test(name)),
      Object.keys(row ?? {}).join(),
    )
  })

  test('a hierarchy is a column for each level, or one for all', async () => {
    const hierarchy = async (asked: 'column' | '>' | '/') =>
      (await csv([scene.city], { table: { hierarchy: asked } }))[0]
    const columns = await hierarchy('column')
    assert.deepEqual([columns?.['_path[0].de-DE'], columns?.['_path[1].de-DE']], ['Schweiz', 'Zürich'])
    assert.equal((await hierarchy('>'))?.['_path.de-DE'], 'Schweiz > Zürich')
    assert.equal((await hierarchy('/'))?.['_path.en-US'], 'Switzerland / Zurich')
    const [plain] = await csv([scene.city])
    assert.ok(!Object.keys(plain ?? {}).some((name) => name.startsWith('_path')))
    const [parents] = await csv([scene.city], { includeParents: true })
    assert.equal(parents?.['_path[0].place.code'], 'CH')
  })

  test('the changelog has a line for each version, with users where that is asked for', async () => {
    const root = scene.svc.as('root')
    const { body } = await root.get(`/db/work/_all_fields/system_object_id/${scene.bare}`)
    const [object] = body
    const sent = {
      ...object,
      _comment: 'second',
      work: { ...object.work, _version: object.work._version, inventory: 'B2' },
    }
    assert.equal((await root.post('/db/work', [sent])).status, 200)
    const log = async (includeChangelog: boolean | { withUser: boolean }) =>
      (await csv([scene.bare], { table: { includeChangelog } }))[0]?._changelog?.split('\n')
    const [newest, oldest, ...more] = (await log(true)) ?? []
    assert.equal(more.length, 0)
    assert.match(newest ?? '', /^2 UPDATE \S+ second$/)
    assert.match(oldest ?? '', /^1 INSERT \S+$/)
    assert.match((await log({ withUser: true }))?.[0] ?? '', /^2 UPDATE \S+ Root second$/)
    assert.equal((await csv([scene.bare]))[0]?._changelog, undefined)
  })

  test('texts are in the languages of the reader, or in all', async () => {
    const german = asActor(1, 'root', { isRoot: true, languages: ['de-DE'] })
    const names = async (options: object) => {
      const text = await written(scene.svc, 'csv', refs(scene.city, scene.bare), options, german)
      return Object.keys((parse(text, { columns: true }) as Row[])[0] ?? {})
    }
    const own = await names({})
    assert.ok(own.includes('place.name.de-DE') && !own.includes('place.name.en-US'))
    // There is none in German.
    assert.ok(own.includes('work.title.en-US'))
    assert.ok((await names({ allLanguages: true })).includes('place.name.en-US'))
  })

  test('each object can have a table of its own', async () => {
    const tables = await Array.fromAsync(
      scene.svc.app.formats.each(asActor(1, 'root', { isRoot: true }), {
        format: 'csv',
        objects: refs(scene.work, scene.loan),
      }),
    )
    assert.deepEqual(
      tables.map(({ systemObjectId, objecttype, version }) => [systemObjectId, objecttype, version]),
      [
        [scene.work, 'work', 1],
        [scene.loan, 'loan', 1],
      ],
    )
    const [, loan] = tables.map(({ bytes }) => parse(bytes, { columns: true }) as Row[])
    assert.equal(loan?.length, 1)
    assert.equal(loan?.[0]?.['loan.due'], '2026-12-01')
  })

  test('no object is a table without rows', async () => {
    assert.equal(await written(scene.svc, 'csv', []), '\r\n')
    const sheet = (await readSheet(await writtenBytes(scene.svc, 'xlsx', []))) as unknown as unknown[][]
    assert.equal(sheet.length, 0)
  })
})
