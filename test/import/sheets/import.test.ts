import assert from 'node:assert/strict'
import { cp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { createServiceClient } from '../../../src/import/client.ts'
import { runImport } from '../../../src/import/commands.ts'
import { importSheet, type SheetImportOptions } from '../../../src/import/sheets/load/import.ts'
import { parseMapping } from '../../../src/import/sheets/plan/mapping.ts'
import { openSheet } from '../../../src/import/sheets/read/sheet.ts'
import { silentProgress } from '../../../src/platform/process/progress.ts'
import type { Json } from '../../support/client.ts'
import { startCommand } from '../../support/process.ts'
import { startService, type TestService } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { readSheet, sheetFolder, sheetXml, xlsx } from './files.ts'

const sample = join(import.meta.dirname, '..', '..', '..', 'examples', 'museum-sample')

/** Runs the command line in this process; what it says and its exit code. */
async function command(svc: TestService, url: string, ...args: string[]): Promise<{ code: number; said: string }> {
  let said = ''
  const out = new Writable({
    write(chunk: Buffer, _encoding, done) {
      said += chunk.toString()
      done()
    },
  })
  const env = { SVC_ROOT_PASSWORD: svc.config.rootPassword ?? '' }
  const code = await runImport([...args, '--url', url], { out, env })
  return { code, said }
}

async function objectsOf(svc: TestService, type: string): Promise<Json[]> {
  const answer = await svc.as('root').get(`/db/${type}/_all_fields/list`, { limit: 10_000, format: 'long' })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

const texts = (rows: Json[] | undefined, link: string): string[] =>
  (rows ?? []).map((row) => row[link]._standard[1].text['en-US'])

describe('the sample of a museum', () => {
  let svc: TestService
  let url: string
  let folder: Awaited<ReturnType<typeof sheetFolder>>
  before(async () => {
    svc = await startService()
    url = await svc.listen()
    folder = await sheetFolder()
    await cp(sample, folder.path, { recursive: true })
    const { code, said } = await command(svc, url, 'csv', join(folder.path, 'werke.csv'), '--yes')
    assert.equal(code, 0, said)
    assert.match(said, /40 created, 0 updated, 0 as they were, 0 wrong, and 40 values of lists/)
  })
  after(async () => {
    await svc[Symbol.asyncDispose]()
    await folder[Symbol.asyncDispose]()
  })

  test('objects have what the rows say', async () => {
    const works = await objectsOf(svc, 'werke')
    assert.equal(works.length, 40)
    const { werke: work, _standard } = works.find((each) => each.werke.inventarnummer === 'HM-0003') ?? {}
    assert.deepEqual(work.titel, { 'de-DE': 'Markt am Überlinger Tor', 'en-US': 'Market at the Überlingen Gate' })
    assert.deepEqual(texts(work['_nested:werke__kuenstler'], 'kuenstler'), ['Johann Söllner', 'Elias Brückner'])
    assert.deepEqual(work.datierung, { from: '1874', to: '1876', text: { 'en-US': '1874–1876' } })
    assert.deepEqual([work.hoehe_cm, work.breite_cm], [3100, 4420])
    assert.equal(work.material._standard[1].text['en-US'], 'Lithografie')
    assert.deepEqual(work.zugang, { value: '1921-11-12' })
    assert.equal(work.ausgestellt, false)
    assert.equal(work.beschreibung, 'Zweiter Zustand von drei.')
    assert.equal(work.bild[0].original_filename, 'HM-0003.jpg')
    assert.equal(_standard[1].text['de-DE'], 'Markt am Überlinger Tor')
    assert.equal(_standard[2].text['de-DE'], 'Johann Söllner, Elias Brückner')
    const first = works.find((each) => each.werke.inventarnummer === 'HM-0001')?.werke
    assert.deepEqual(first.datierung, { from: '1890', to: '1890', text: { 'en-US': 'um 1890' } })
    assert.equal(first.beschreibung, 'Blick von der Mühle nach Osten.\nAuf der Rückseite: „Weiher, im Herbst“.')
    assert.equal((await objectsOf(svc, 'kuenstler')).length, 7)
  })

  test('the same again changes nothing, other cells change their objects alone', async () => {
    const file = join(folder.path, 'werke.csv')
    const again = await command(svc, url, 'csv', file, '--yes')
    await assert.rejects(
      command(svc, url, 'csv', file, '--yes', '--type', 'other'),
      /--type and --language are for proposals/,
    )
    assert.match(again.said, /uses the mapping .*werke\.mapping\.yml/)
    assert.match(again.said, /0 created, 0 updated, 40 as they were, 0 wrong/)
    const csv = await readFile(file, 'utf8')
    await writeFile(
      file,
      csv.replace('Alte Mühle;Old Mill', 'Die alte Mühle;').replace(';bilder/HM-0002.jpg', ';bilder/HM-0001.jpg'),
    )
    const changed = await command(svc, url, 'csv', file, '--mapping', join(folder.path, 'werke.mapping.yml'))
    assert.match(changed.said, /0 created, 2 updated, 38 as they were, 0 wrong/)
    const works = await objectsOf(svc, 'werke')
    const mill = works.find((each) => each.werke.inventarnummer === 'HM-0017')?.werke
    // An empty cell says nothing, so the other language stays.
    assert.deepEqual([mill.titel, mill._version], [{ 'de-DE': 'Die alte Mühle', 'en-US': 'Old Mill' }, 2])
    const [one, two] = ['HM-0001', 'HM-0002'].map(
      (key) => works.find((each) => each.werke.inventarnummer === key)?.werke,
    )
    assert.equal(two.bild[0]._id, one.bild[0]._id, 'a file of the same content is there once')
  })

  test('rows that are wrong are told, and can be corrected and imported again', async () => {
    const lines = [
      'Inventarnummer;Titel (de);Titel (en);Künstler;Datierung;Material;Höhe (cm);Breite (cm);Schlagwörter;Abteilung;Zugang;Ausgestellt;Beschreibung;Bild',
      'N-1;Gut;Good;Anna Neu;1900;Öl;1;2;;;;ja;;',
      'N-2;Datum;Date;;quatsch;;1;2;;;;ja;;',
      'N-3;Zahl;Number;;1900;;1,234;2;;;;vielleicht;;',
      'N-1;Doppelt;Twice;;1900;;1;2;;;;;;',
      ';Ohne;Without;;1900;;1;2;;;;;;',
      'N-6;Bild;Picture;;1900;;1;2;;;;;;../secret.jpg',
      'N-7;Bild;Picture;;1900;;1;2;;;;;;bilder/none.jpg',
      'N-8;Link;Link;;1900;;1;2;;;;;;bilder/outside.jpg',
      'N-9;=HYPERLINK(1);Formula;;1900-x;;1;2;;;;;;',
      'N-10;Zu;viele;;1900;;1;2;;;;;;;Zellen',
      'N-11;Auch gut;Fine;Anna Neu;1900;Öl;1;2;;;;ja;=1+1;',
    ]
    await folder.write('../secret.jpg', 'x').catch(() => {})
    await symlink(join(sample, 'bilder', 'HM-0001.jpg'), join(folder.path, 'bilder', 'outside.jpg'))
    const file = await folder.write('neu.csv', lines.join('\n'))
    const mapping = join(folder.path, 'werke.mapping.yml')
    const { code, said } = await command(svc, url, 'csv', file, '--mapping', mapping)
    assert.equal(code, 2)
    assert.match(said, /2 created, 0 updated, 0 as they were, 9 wrong/)
    const works = await objectsOf(svc, 'werke')
    assert.deepEqual(
      works.filter((each) => each.werke.inventarnummer.startsWith('N-')).map((each) => each.werke.inventarnummer),
      ['N-1', 'N-11'],
    )
    assert.equal(works.find((each) => each.werke.inventarnummer === 'N-11')?.werke.beschreibung, '=1+1')
    const { headings, rows } = await readSheet(join(folder.path, 'neu.errors.csv'))
    assert.deepEqual(headings.slice(-3), ['_row', '_columns', '_reason'])
    const told = rows.map(({ cells }) => cells.slice(-3))
    assert.deepEqual(
      told.map(([row, columns]) => [row, columns]),
      [
        ['3', 'Datierung'],
        ['4', 'Höhe (cm); Ausgestellt'],
        ['5', ''],
        ['6', 'Inventarnummer'],
        ['7', 'Bild'],
        ['8', 'Bild'],
        ['9', 'Bild'],
        ['10', 'Datierung'],
        ['11', ''],
      ],
    )
    const reasons = [
      /"quatsch" is no date/,
      /"1,234" is no number.*"vielleicht" is neither/,
      /further up has the same key/,
      /key is empty/,
      /lies outside/,
      /is not there/,
      /lies outside/,
      /"1900-x" is no date/,
      /has 15 cells or more/,
    ]
    for (const [index, pattern] of reasons.entries()) assert.match(told[index]?.[2] ?? '', pattern)
    const errors = await readFile(join(folder.path, 'neu.errors.csv'), 'utf8')
    assert.match(errors, /;'=HYPERLINK\(1\);/)
    const corrected = errors
      .replaceAll(/quatsch|1900-x/g, '1901')
      .replace('1,234', '1,23')
      .replace('vielleicht', 'ja')
    const again = await command(svc, url, 'csv', await folder.write('besser.csv', corrected), '--mapping', mapping)
    // A row whose key came twice changes the object of the first one; cells without heading are left out.
    assert.match(again.said, /4 created, 1 updated, 0 as they were, 4 wrong/)
    const titles = (await objectsOf(svc, 'werke')).map((each) => each.werke.titel['de-DE'])
    assert.ok(titles.includes('=HYPERLINK(1)'))
  })

  test('an XLSX goes into the object type that is there', async () => {
    const sheet = sheetXml([
      ['Inventarnummer', 'Titel', 'Datierung', 'Material', 'Fremdes'],
      ['X-1', 'Aus Excel', 'um 1950', 'Öl auf Leinwand', 'x'],
      ['HM-0040', 'Geändert', '1893', 'Öl auf Holz', 'y'],
    ])
    const file = await folder.write('mehr.xlsx', xlsx({ sheet }))
    const { code, said } = await command(svc, url, 'xlsx', file, '--type', 'werke', '--yes')
    assert.equal(code, 0, said)
    assert.match(said, /Fremdes +\(left out\)/)
    assert.match(said, /1 created, 1 updated, 0 as they were, 0 wrong/)
    const works = await objectsOf(svc, 'werke')
    const work = works.find((each) => each.werke.inventarnummer === 'HM-0040')?.werke
    assert.deepEqual(work.datierung, { from: '1893', to: '1893' })
    assert.equal(work.material._standard[1].text['en-US'], 'Öl auf Holz')
    assert.equal(work.hoehe_cm, 6000)
  })
})

interface Run {
  readonly svc: TestService
  readonly url: string
  readonly file: string
}

async function imported({ svc, url, file }: Run, mappingText: string, options: Partial<SheetImportOptions> = {}) {
  const client = createServiceClient({ url, login: 'root', password: svc.config.rootPassword ?? '', patience: 5000 })
  const sheet = await openSheet(file, { format: 'csv' })
  let rows = 0
  for await (const _ of sheet.rows()) rows++
  const mapping = parseMapping(mappingText, 'mapping')
  return importSheet({ client, file, sheet, mapping, rows, progress: silentProgress, ...options })
}

const things = `
mapping: 1
file: {name: things.csv, format: csv}
type: thing
language: de-DE
key: {column: nr}
columns:
  - {heading: nr, column: nr, type: string}
  - {heading: title, column: title, type: text_oneline}
  - {heading: tags, column: thing__tag, type: link, separator: "|", list: {type: tag, column: name, link: tag}}
`

const thingRows = (count: number): string =>
  `nr,title,tags\n${Array.from({ length: count }, (_, index) => `T-${index},Thing ${index},tag ${index % 7}|tag ${index % 50}`).join('\n')}\n`

describe('an import that breaks', () => {
  test('by kill -9 goes on where it was, and makes nothing twice', async () => {
    await using svc = await startService()
    await using folder = await sheetFolder()
    const url = await svc.listen()
    const file = await folder.write('things.csv', thingRows(3000))
    await folder.write('things.mapping.yml', things)
    const args = ['import', 'csv', file, '--yes', '--batch', '50', '--url', url]
    const env = { SVC_ROOT_PASSWORD: svc.config.rootPassword ?? '' }
    const stored = async (): Promise<number> => {
      const { rows } = await svc.db.query<{ count: number }>('select count(*) as count from object')
      return rows[0]?.count ?? 0
    }
    for (const least of [150, 600]) {
      const first = startCommand(args, env)
      await until(async () => (await stored()) > least)
      first.child.kill('SIGKILL')
      await first.exited
    }
    assert.ok((await stored()) < 3050, 'it was killed before its end')
    const last = startCommand(args, env)
    assert.equal(await last.exited, 0, last.output.stderr)
    assert.match(last.output.stdout, /goes on behind row \d+/)
    const keys = (await objectsOf(svc, 'thing')).map((each) => each.thing.nr)
    assert.deepEqual([keys.length, new Set(keys).size], [3000, 3000])
    assert.equal((await objectsOf(svc, 'tag')).length, 50)
    await assert.rejects(readFile(`${file}.import-state.json`), /ENOENT/)
  })

  test('goes on without what it wrote down, by the keys alone; two at once make nothing twice', async () => {
    await using svc = await startService()
    await using folder = await sheetFolder()
    const file = await folder.write('things.csv', thingRows(600))
    const copy = await folder.write('copy.csv', thingRows(600))
    const url = await svc.listen()
    const run = { svc, url, file }
    const stop = new AbortController()
    let advanced = 0
    const progress = {
      ...silentProgress,
      advance: (count: number) => {
        advanced += count
        if (advanced > 100) stop.abort()
      },
    }
    const first = await imported(run, things, { batch: 40, progress, signal: stop.signal })
    assert.ok(first.interrupted && first.created < 600)
    await rm(`${file}.import-state.json`)
    const both = await Promise.all([
      imported(run, things, { batch: 30 }),
      imported({ ...run, file: copy }, things, { batch: 70 }),
    ])
    assert.equal(first.created + (both[0]?.created ?? 0) + (both[1]?.created ?? 0), 600)
    assert.deepEqual(
      both.map(({ refused }) => refused),
      [0, 0],
    )
    assert.equal((await objectsOf(svc, 'thing')).length, 600)
    assert.equal((await objectsOf(svc, 'tag')).length, 50)
  })
})

describe('what the service refuses', () => {
  const mapping = things.replace(/ {2}- \{heading: tags.*\n/, '')

  /** A service with an object type whose titles begin with a capital letter, and how often it was asked to save some. */
  async function picky() {
    const svc = await startService()
    const root = svc.as('root')
    const head = (await root.get('/schema/user/HEAD')).body
    const columns = [
      { kind: 'column', name: 'nr', type: 'string' },
      { kind: 'column', name: 'title', type: 'text_oneline', check_regexp: '^[A-Z]' },
    ]
    const table = { name: 'thing', columns, unique_keys: [{ columns: [{ column_name_hint: 'nr' }] }] }
    assert.equal((await root.post('/schema/user/HEAD', { ...head, tables: [table] })).status, 200)
    assert.equal((await root.post('/schema/commit', undefined, { confirm: 'yes', reindex: 'skip' })).status, 200)
    const url = await svc.listen()
    let requests = 0
    svc.app.http.server.on('request', (request) => {
      if (request.method === 'POST' && request.url?.startsWith('/api/v1/db/thing')) requests++
    })
    return { svc, url, requests: () => requests, [Symbol.asyncDispose]: () => svc[Symbol.asyncDispose]() }
  }

  const titled = (count: number, title: (index: number) => string): string =>
    `nr,title\n${Array.from({ length: count }, (_, index) => `T-${index},${title(index)}`).join('\n')}\n`

  test('costs the row alone, with a bounded number of requests', async () => {
    await using service = await picky()
    await using folder = await sheetFolder()
    const bad = new Set([0, 1, 2, 17, 18, 60, 99])
    const file = await folder.write(
      'things.csv',
      titled(100, (index) => (bad.has(index) ? 'small' : 'Large')),
    )
    const summary = await imported({ ...service, file }, mapping, { batch: 100, connections: 1 })
    assert.deepEqual([summary.created, summary.refused], [93, 7])
    assert.ok(service.requests() <= 2 * bad.size + 1, `${service.requests()} requests`)
    const errors = await readSheet(join(folder.path, 'things.errors.csv'))
    assert.deepEqual(
      errors.rows.map(({ cells }) => cells[2]),
      [...bad].map((index) => String(index + 2)),
    )
    for (const { cells } of errors.rows) assert.equal(cells[3], 'title')
  })

  test('is the end when it takes no row at all', async () => {
    await using service = await picky()
    await using folder = await sheetFolder()
    const file = await folder.write(
      'things.csv',
      titled(5000, () => 'small'),
    )
    const run = imported({ ...service, file }, mapping, { batch: 100, connections: 1 })
    await assert.rejects(run, /the service takes no row: /)
    assert.ok(service.requests() <= 210, `${service.requests()} requests`)
  })
})

test('object types that do not fit are refused before anything is written, all at once', async () => {
  await using svc = await startService()
  await using folder = await sheetFolder()
  const root = svc.as('root')
  const head = (await root.get('/schema/user/HEAD')).body
  const tables = [
    {
      name: 'thing',
      columns: [
        { kind: 'column', name: 'nr', type: 'string' },
        { kind: 'column', name: 'title', type: 'number' },
      ],
    },
    { name: 'tag', columns: [{ kind: 'column', name: 'name', type: 'text_oneline' }] },
  ]
  assert.equal((await root.post('/schema/user/HEAD', { ...head, tables })).status, 200)
  const url = await svc.listen()
  const file = await folder.write('things.csv', thingRows(3))
  await assert.rejects(
    imported({ svc, url, file }, things),
    /working copy of the datamodel has changes that are not committed/,
  )
  assert.equal((await root.post('/schema/commit', undefined, { confirm: 'yes', reindex: 'skip' })).status, 200)
  const before = (await root.get('/schema/user/HEAD')).body
  const error = await imported({ svc, url, file }, things).catch((caught: Error) => caught)
  assert.ok(error instanceof Error)
  for (const fault of [
    /"thing" has no unique key of the column "nr"/,
    /"thing" has no column "title" for text_oneline: it is number/,
    /"thing" has no nested table "thing__tag"/,
    /"tag" has no text "name" that is unique/,
  ]) {
    assert.match(error.message, fault)
  }
  assert.deepEqual((await root.get('/schema/user/HEAD')).body, before)
})

test('rows without a key are found again by their numbers, parents stand above, whatever their order', async () => {
  await using svc = await startService()
  await using folder = await sheetFolder()
  const url = await svc.listen()
  const numbered = await folder.write('notes.csv', 'title\nOne thing\nAnother thing\nOne thing\n')
  for (const created of [3, 0]) {
    const { said } = await command(svc, url, 'csv', numbered, '--yes')
    assert.match(said, new RegExp(`${created} created, 0 updated, ${3 - created} as they were`))
  }
  const places = await folder.write(
    'places.csv',
    'id,parent_id,name\np1,p2,Town\np2,p3,County\np3,,Country\np4,p2,Village\np5,p9,Nowhere\n',
  )
  const first = await command(svc, url, 'csv', places, '--yes')
  assert.match(first.said, /5 created, 0 updated, 0 as they were, 1 wrong/)
  const objects = await objectsOf(svc, 'place')
  const byKey = new Map(objects.map(({ place }) => [place.id, place]))
  const above = ['p1', 'p2', 'p3', 'p4', 'p5'].map((key) => byKey.get(key)?._id_parent ?? null)
  assert.deepEqual(
    above,
    ['p2', 'p3', null, 'p2', null].map((key) => (key ? byKey.get(key)?._id : null)),
  )
  const errors = await readSheet(join(folder.path, 'places.errors.csv'))
  assert.match(errors.rows[0]?.cells.at(-1) ?? '', /"p9" there is no object with this id/)
  await command(svc, url, 'csv', places, '--yes')
  const versions = (await objectsOf(svc, 'place')).map(({ place }) => place._version)
  assert.deepEqual(
    versions,
    objects.map(({ place }) => place._version),
  )
})

test('files come from addresses, once', async () => {
  await using svc = await startService()
  await using folder = await sheetFolder()
  const picture = await readFile(join(sample, 'bilder', 'HM-0001.jpg'))
  let fetched = 0
  const remote = createServer((request, response) => {
    if (request.method === 'GET') fetched++
    if (request.url === '/none.jpg') response.writeHead(404).end()
    else response.writeHead(200, { 'content-type': 'image/jpeg' }).end(picture)
  })
  await new Promise<void>((resolve) => remote.listen(0, '127.0.0.1', resolve))
  try {
    const address = `http://127.0.0.1:${(remote.address() as AddressInfo).port}`
    const url = await svc.listen()
    const file = await folder.write(
      'works.csv',
      `nr,image\nA1,${address}/a.jpg\nA2,${address}/b.jpg\nA3,${address}/none.jpg\n`,
    )
    const { code, said } = await command(svc, url, 'csv', file, '--yes')
    assert.equal(code, 2)
    assert.match(said, /2 created, 0 updated, 0 as they were, 1 wrong/)
    assert.match(said, /works\.errors\.csv/)
    const before = fetched
    assert.match((await command(svc, url, 'csv', file, '--yes')).said, /0 created, 0 updated, 2 as they were, 1 wrong/)
    assert.equal(fetched, before + 1, 'only what is missing is asked for again')
    assert.equal((await objectsOf(svc, 'work')).length, 2)
  } finally {
    remote.closeAllConnections()
    remote.close()
  }
})

test('a dry run shows what would be, and leaves no trace', async () => {
  await using svc = await startService()
  await using folder = await sheetFolder()
  const url = await svc.listen()
  await folder.write('a.jpg', 'x')
  const rows = Array.from({ length: 30 }, (_, index) => `A${index},${1900 + index},a.jpg`)
  const file = await folder.write('works.csv', `nr,year,image\n${rows.join('\n')}\nA30,x,a.jpg\nA31,1931,../a.jpg\n`)
  const { code, said } = await command(svc, url, 'csv', file, '--dry-run')
  assert.equal(code, 2)
  assert.match(said, /year +year: date +dates; 1 cell does not fit: row 32 "x"/)
  assert.match(said, /row 32, year: x is no date/)
  assert.match(said, /row 33, image: \.\.\/a\.jpg lies outside of the folder/)
  assert.equal((await svc.as('root').get('/schema/user/CURRENT')).body.version, 0)
  await assert.rejects(readFile(join(folder.path, 'works.mapping.yml')), /ENOENT/)
  // Nobody can be asked, and nobody has agreed.
  const unasked = await command(svc, url, 'csv', file)
  assert.equal(unasked.code, 1)
  assert.match(unasked.said, /nothing is imported: say --yes/)
  assert.equal((await svc.as('root').get('/schema/user/CURRENT')).body.version, 0)
})

test('what is wrong with the command is told in one line', async () => {
  await using folder = await sheetFolder()
  const file = await folder.write('a.csv', 'a\n')
  const cases: [string[], RegExp][] = [
    [['csv'], /import needs what and from where/],
    [['ods', file], /import needs what and from where/],
    [['csv', join(folder.path, 'none.csv'), '--dry-run'], /ENOENT/],
    [['csv', folder.path, '--dry-run'], /it is no file/],
    [['csv', file, '--dry-run'], /it has headings, and no rows/],
    [['csv', file, '--sheet', 'x'], /--sheet is no option of import csv/],
    [['csv', file, '--limit', '1'], /--limit is no option of import csv/],
    [['csv', file, '--type', 'Wörk'], /--type "Wörk": names are small letters/],
    [['csv', file, '--delimiter', '::'], /--delimiter is one character/],
    [['csv', file, '--start', '--url', 'http://localhost:1'], /--start and --url exclude each other/],
    [['csv', file], /no password for root/],
    [['tate', folder.path, '--yes'], /--yes is no option of import tate/],
  ]
  for (const [args, message] of cases) {
    const started = startCommand(['import', ...args], {})
    assert.equal(await started.exited, 1, args.join(' '))
    assert.match(started.output.stderr, message)
    assert.equal(started.output.stderr.trim().split('\n').length, 1, started.output.stderr)
  }
})
