import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { createServiceClient } from '../../src/import/client.ts'
import { sampleFolder } from '../../src/import/demo.ts'
import { importTate, type TateImportOptions } from '../../src/import/tate/import.ts'
import { silentProgress } from '../../src/platform/process/progress.ts'
import type { Json } from '../support/client.ts'
import { startService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

const sample = { movement: 106, subject: 1595, artist: 391, artwork: 500 }

interface Target {
  svc: TestService
  url: string
}

function run({ svc, url }: Target, options: Partial<TateImportOptions> = {}) {
  const client = createServiceClient({ url, login: 'root', password: svc.config.rootPassword ?? '', patience: 5000 })
  return importTate({ client, folder: sampleFolder, progress: silentProgress, ...options })
}

async function countOf(svc: TestService, objecttype: string): Promise<number> {
  const { rows } = await svc.db.query<{ count: number }>(
    `select count(*) as count from object o join objecttype t on t.id = o.objecttype where t.name = $1`,
    [objecttype],
  )
  return rows[0]?.count ?? 0
}

describe('importing the sample', () => {
  let svc: TestService
  let url: string
  before(async () => {
    svc = await startService()
    url = await svc.listen()
    const summary = await run({ svc, url })
    assert.deepEqual(summary.created, sample)
  })
  after(() => svc[Symbol.asyncDispose]())

  const search = async (body: object): Promise<Json> => {
    const answer = await svc.as('root').post('/search', body)
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body
  }

  const artwork = async (title: string): Promise<Json> => {
    const found = await search({
      objecttypes: ['artwork'],
      search: [{ type: 'match', mode: 'fulltext', phrase: true, fields: ['artwork.title'], string: title }],
      format: 'long',
    })
    return found.objects.find((object: Json) => object.artwork.title['en-US'] === title)
  }

  test('an artwork has everything that the record says', async () => {
    const { artwork: work, _standard, _pool } = await artwork('Ophelia')
    assert.deepEqual(_pool.pool.name, { 'de-DE': 'Sammlung Tate', 'en-US': 'Tate collection' })
    assert.equal(_standard[1].text['en-US'], 'Ophelia')
    assert.equal(_standard[2].text['en-US'], 'Millais, Sir John Everett, Bt')
    assert.match(_standard[3].text['en-US'], /N01506/)
    assert.deepEqual(
      [work.accession_number, work.classification, work.medium, work.acquisition_year, work.width, work.height],
      ['N01506', 'painting', 'Oil paint on canvas', 1894, 111_800, 76_200],
    )
    assert.deepEqual([work.date.from, work.date.to], ['1851', '1852'])
    const [contributor] = work['_nested:artwork__contributor']
    assert.deepEqual([contributor.role, contributor.position], ['artist', 1])
    assert.ok(work['_nested:artwork__movement'].length > 0)
  })

  test('subjects form a hierarchy, movements stand below their eras', async () => {
    const { artwork: work } = await artwork('Ophelia')
    const subjects = work['_nested:artwork__subject'].map((row: Json) => row.subject._system_object_id)
    const leaf = await svc.as('root').get(`/db/subject/subject/system_object_id/${subjects[0]}`, { format: 'long' })
    assert.equal(leaf.body[0]._level, 3)
    const paths = JSON.stringify(leaf.body[0])
    assert.match(paths, /"subject"/)
    const { rows } = await svc.db.query<{ parents: number }>(
      `select count(*) filter (where parents = '{}') as parents from object o
       join objecttype t on t.id = o.objecttype where t.name = 'movement'`,
    )
    assert.equal(rows[0]?.parents, 5, 'the eras')
  })

  test('influences that the data shows stand on both sides', async () => {
    const list = await svc.as('root').get('/db/artist/artist/list', { limit: 1000, format: 'standard' })
    const of = (name: string): Json => list.body.find((object: Json) => object.artist.name === name)?.artist
    const names = (rows: Json[] = []): string[] => rows.map((row) => row.artist._standard[1].text['en-US'])
    assert.deepEqual(names(of('Nicholson, Isaac')?.['_nested:artist__influenced_by']), ['Bewick, Thomas'])
    assert.deepEqual(names(of('Bewick, Thomas')?.['_nested:artist__influence_on']), ['Nicholson, Isaac'])
  })

  test('names are in two languages, masks are of three kinds', async () => {
    const root = svc.as('root')
    const schema = (await root.get('/schema/user/CURRENT')).body
    const title = schema.tables
      .find((table: Json) => table.name === 'artwork')
      .columns.find((column: Json) => column.name === 'medium')
    assert.deepEqual(title.name_localized, { 'de-DE': 'Material und Technik', 'en-US': 'Medium' })
    const first = (await search({ objecttypes: ['artist'], limit: 1, format: 'standard' })).objects[0]
    assert.deepEqual(first._objecttype_display_name, { 'de-DE': 'Künstler*in', 'en-US': 'Artist' })
    assert.deepEqual(first._mask_display_name, { 'de-DE': 'Alle Angaben', 'en-US': 'All details' })
    const { body: masks } = await root.get('/mask/CURRENT')
    const names = masks.masks.map((mask: Json) => mask.name)
    for (const name of ['artwork', 'artwork_short', 'artwork_public']) assert.ok(names.includes(name), name)
  })

  test('the public mask is for reading only', async () => {
    const { _system_object_id, artwork: work } = await artwork('Ophelia')
    const [shown] = (
      await svc.as('root').get(`/db/artwork/artwork_public/system_object_id/${_system_object_id}`, { format: 'long' })
    ).body
    assert.equal(shown.artwork.tate_id, undefined)
    const saved = await svc.as('root').post('/db/artwork', [
      {
        _objecttype: 'artwork',
        _mask: 'artwork_public',
        _system_object_id,
        artwork: { _id: work._id, _version: work._version, title: { 'en-US': 'changed' } },
      },
    ])
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
    assert.ok(await artwork('Ophelia'), 'the title is as it was')
  })

  test('facets count kinds of works and artists', async () => {
    const { aggregations } = await search({
      objecttypes: ['artwork'],
      search: [],
      aggregations: {
        classification: { type: 'term', field: 'artwork.classification', limit: 10 },
        artist: {
          type: 'linked_object',
          field: 'artwork._nested:artwork__contributor.artist',
          objecttype: 'artist',
          limit: 5,
        },
      },
      limit: 1,
      format: 'short',
    })
    assert.match(JSON.stringify(aggregations.classification), /"painting".*203|203.*"painting"/)
    assert.match(JSON.stringify(aggregations.artist), /Turner/)
  })

  test('the same import again finds nothing to do, and keeps what people have changed', async () => {
    const before = await artwork('Ophelia')
    const [object] = (
      await svc.as('root').get(`/db/artwork/artwork/system_object_id/${before._system_object_id}`, { format: 'long' })
    ).body
    object.artwork.title = { 'en-US': 'Ophelia', 'de-DE': 'Ophelia (Millais)' }
    assert.equal((await svc.as('root').post('/db/artwork', [object], { await_index: 30 })).status, 200)
    const { created, total } = await run({ svc, url })
    assert.deepEqual(created, { movement: 0, subject: 0, artist: 0, artwork: 0 })
    assert.equal(total, 2592)
    assert.equal((await artwork('Ophelia')).artwork.title['de-DE'], 'Ophelia (Millais)')
  })
})

test('loans come from a file of their own and show below their artwork', async () => {
  await using svc = await startService()
  const target = { svc, url: await svc.listen() }
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-loans-'))
  try {
    await run(target, { limit: 30 })
    const [work] = (await svc.as('root').get('/db/artwork/artwork_short/list', { limit: 1 })).body
    const { accession_number: acno } = work.artwork
    const lines = [
      {
        loan_number: 'L1',
        acno,
        borrower: 'A museum',
        exhibition: 'A show',
        from: '2027-03',
        to: '2027-06',
        insurance_value: 10.5,
      },
      { loan_number: 'L2', acno, borrower: 'Another museum' },
    ]
    await writeFile(join(folder, 'loans.jsonl'), lines.map((line) => JSON.stringify(line)).join('\n'))
    for (const name of ['artists', 'artworks']) await writeFile(join(folder, `${name}.jsonl`), '')
    assert.equal((await run(target, { folder })).created.loan, 2)
    assert.equal((await run(target, { folder })).created.loan, 0)
    const [shown] = (
      await svc.as('root').get(`/db/artwork/artwork/system_object_id/${work._system_object_id}`, { format: 'long' })
    ).body
    const loans = shown.artwork['_reverse_nested:loan:artwork']
    assert.deepEqual(
      loans.map((object: Json) => [object.loan.loan_number, object.loan.insurance_value]),
      [
        ['L1', 1050],
        ['L2', undefined],
      ],
    )
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

describe('interruptions', () => {
  const main = join(import.meta.dirname, '..', '..', 'src', 'main.ts')

  interface Started {
    child: ChildProcess
    /** The exit code; null after a signal. */
    exited: Promise<number | null>
    output: () => string
  }

  function startImport({ svc, url }: Target, args: string[] = []): Started {
    const child = spawn(process.execPath, [main, 'import', 'tate', sampleFolder, '--url', url, ...args], {
      env: { ...process.env, SVC_ROOT_PASSWORD: svc.config.rootPassword ?? '' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let text = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        text += chunk.toString()
      })
    }
    return { child, exited: once(child, 'close').then(([code]) => code as number | null), output: () => text }
  }

  /** An address on which nobody listens. */
  async function nobodyThere(): Promise<string> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    return `http://127.0.0.1:${port}`
  }

  async function everythingOnce(svc: TestService): Promise<void> {
    for (const [objecttype, count] of Object.entries(sample))
      assert.equal(await countOf(svc, objecttype), count, objecttype)
    const { rows } = await svc.db.query<{ twice: number }>(
      `select count(*) - count(distinct (objecttype, id)) as twice from object`,
    )
    assert.equal(rows[0]?.twice, 0)
  }

  test('an import killed in the middle of the subjects, and again in the middle of the artworks, goes on', async () => {
    await using svc = await startService()
    const target = { svc, url: await svc.listen() }
    for (const [objecttype, many] of [
      ['subject', 400],
      ['artwork', 100],
    ] as const) {
      const { child, exited } = startImport(target, ['--batch', '20'])
      await until(async () => (await countOf(svc, objecttype)) > many)
      child.kill('SIGKILL')
      await exited
      const there = await countOf(svc, objecttype)
      assert.ok(there < sample[objecttype], `${there} of ${sample[objecttype]} ${objecttype}`)
    }
    const { exited, output } = startImport(target)
    assert.equal(await exited, 0, output())
    assert.match(output(), /created \d+ objects/)
    await everythingOnce(svc)
  })

  test('Ctrl+C lets the requests in flight finish and says how to go on', async () => {
    await using svc = await startService()
    const target = { svc, url: await svc.listen() }
    const { child, exited, output } = startImport(target, ['--batch', '10'])
    await until(async () => (await countOf(svc, 'subject')) > 100)
    child.kill('SIGINT')
    assert.equal(await exited, 130, output())
    assert.match(output(), /interrupted after \d+ new objects; the same command goes on from here/)
  })

  test('two imports at once create nothing twice', async () => {
    await using svc = await startService()
    const target = { svc, url: await svc.listen() }
    await run(target, { limit: 1 })
    await Promise.all([run(target, { batch: 150 }), run(target, { batch: 70 })])
    await everythingOnce(svc)
  })

  test('what is wrong is told in one line', async () => {
    await using svc = await startService()
    const url = await svc.listen()
    const cases: [Target, string[], RegExp][] = [
      [{ svc, url: await nobodyThere() }, [], /the service at http:\/\/127\.0\.0\.1:\d+ does not answer: ECONNREFUSED/],
      [{ svc, url }, ['--password', 'wrong'], /cannot sign in to .* as root: /],
      [{ svc, url }, ['--limit', '0'], /--limit "0" is no number/],
      [{ svc, url: 'localhost' }, [], /--url "localhost" is no http address/],
    ]
    for (const [target, args, message] of cases) {
      const { exited, output } = startImport(target, args)
      assert.equal(await exited, 1)
      assert.match(output(), message)
      assert.equal(output().trim().split('\n').length, 1, output())
    }
  })

  test('another model of the same names is refused before anything is written', async () => {
    await using svc = await startService()
    const root = svc.as('root')
    const head = (await root.get('/schema/user/HEAD')).body
    const table = { name: 'artist', columns: [{ kind: 'column', name: 'nickname', type: 'text_oneline' }] }
    await root.post('/schema/user/HEAD', { ...head, tables: [...head.tables, table] })
    assert.equal((await root.post('/schema/commit', undefined, { confirm: 'yes', reindex: 'skip' })).status, 200)
    const url = await svc.listen()
    await assert.rejects(run({ svc, url }), /object type "artist" of its own, without name/)
  })
})
