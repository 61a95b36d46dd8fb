import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { readSheet } from 'read-excel-file/node'
import { ok } from '../collections/support.ts'
import { archiveBytes, exported, fetchedFile, inFolder, run } from '../exports/support.ts'
import { harvest } from '../harvest/scene.ts'
import { toUser, wireGrant } from '../rights/people.ts'
import type { Client, Json } from '../support/client.ts'
import { importSample } from '../support/seed/sample.ts'
import { startService, type TestService } from '../support/service.ts'

/** The users that stand for strangers who follow links, and for harvesters. */
const strangers = [2, 3]

/** What is kept leaves again by every way, and is out of sight by every way once a right is withdrawn. */
suite('works leave the house', { concurrency: false }, () => {
  let svc: TestService
  let root: Client
  let works: Json[]
  let first: Json
  let harvested: string

  before(async () => {
    svc = await startService()
    root = svc.as('root')
    await importSample(svc, 60)
    works = ok(await root.post('/search', { objecttypes: ['artwork'], format: 'long', limit: 100 })).objects
    first = works[0]
    assert.equal(works.length, 60)
    ok(await root.post('/config/system/config/deep_link_access', { enabled: true }))
    ok(await root.post('/config/system/config/oai_pmh', { enabled: true }))
    ok(await root.post('/config/system/config/publish', { collectors: [{ internalname: 'portal' }] }))
    await grant('bag_read read mask')
  })
  after(() => svc?.[Symbol.asyncDispose]())

  /** What strangers may do in the pool of the sample; '': nothing. */
  async function grant(rights: string): Promise<void> {
    const { pool } = ok(await root.get('/pool')).find((one: Json) => one.pool.reference === 'tate:collection')
    const _acl = rights === '' ? [] : strangers.map((id) => wireGrant(toUser(id), rights))
    ok(await root.post('/pool', [{ pool: { _id: pool._id, _version: pool._version }, _acl }]))
    await svc.drain()
  }

  const titleOf = ({ artwork }: Json): string => artwork.title['en-US']
  const titles = (): string[] => works.map(titleOf).sort()
  const search = { objecttypes: ['artwork'] }

  test('as a spreadsheet that another program reads', async () => {
    const one = await exported(svc, { xlsx: true, fields: { 'artwork.title': {} }, search })
    assert.equal(one._state, 'done')
    const rows = await readSheet((await fetchedFile(svc, one.export._id, 'export.xlsx')).rawPayload)
    const column = (rows[0] as unknown[]).findIndex((name) => /title/.test(`${name}`))
    assert.deepEqual(
      rows
        .slice(1)
        .map((row) => `${row[column]}`)
        .sort(),
      titles(),
    )
  })

  test('as a bag whose contents are as its manifest says', async () => {
    const one = await exported(svc, { json: true, json_one_file_per_object: true, search })
    const { folder, path } = await inFolder('bag.zip', await archiveBytes(svc, one.export._id, 'zip', 'root', 'bagit'))
    const out = join(folder, 'out')
    await mkdir(out)
    await run('unzip', ['-q', path, '-d', out])
    const [top = ''] = await readdir(out)
    const bag = join(out, top)
    const lines = (await readFile(join(bag, 'manifest-sha512.txt'), 'utf8')).trimEnd().split('\n')
    assert.equal(lines.length, works.length)
    const found = await Promise.all(
      lines.map(async (line) => {
        const [sum, name = ''] = line.split('  ')
        const bytes = await readFile(join(bag, name))
        assert.equal(createHash('sha512').update(bytes).digest('hex'), sum, name)
        return titleOf([JSON.parse(bytes.toString())].flat()[0])
      }),
    )
    assert.deepEqual(found.sort(), titles())
  })

  test('as a publication that the object tells of', async () => {
    const publish = {
      system_object_id: first._system_object_id,
      collector: 'portal',
      publish_uri: 'https://portal.example/1',
    }
    const [{ publish: made }] = ok(await root.post('/publish', [{ publish }]))
    const [shown] = ok(await root.get(`/db/artwork/_all_fields/system_object_id/${first._system_object_id}`))
    assert.deepEqual(
      shown._published.map((one: Json) => [one.collector, one.publish_uri, one.svc_uri]),
      [['portal', 'https://portal.example/1', made.svc_uri]],
    )
    assert.ok(made.svc_uri.endsWith(first._uuid))
  })

  const open = (format: string) => svc.inject({ url: `/api/v1/objects/uuid/${first._uuid}/format/${format}` })

  test('by links that strangers follow', async () => {
    const json = await open('json')
    assert.equal(json.statusCode, 200, json.body)
    assert.equal(titleOf(JSON.parse(json.body)), titleOf(first))
    const page = await open('html')
    assert.equal(page.statusCode, 200)
    assert.match(page.body, /<h1>/)
  })

  test('to a harvester, each once', async () => {
    const answers = await harvest({ svc }, { verb: 'ListRecords', metadataPrefix: 'oai_dc', limit: 7 })
    harvested = answers[0]?.date ?? ''
    const headers = answers.flatMap((one) => one.headers)
    assert.deepEqual(
      headers.map(({ identifier }) => identifier.split(':').at(-1)).sort(),
      works.map(({ _uuid }) => _uuid).sort(),
    )
    assert.ok(headers.every(({ deleted }) => !deleted))
    const text = answers.map((one) => one.text).join('')
    assert.ok(text.includes(`>${titleOf(first)}</dc:title>`), titleOf(first))
  })

  test('once the right is withdrawn, strangers see nothing, and harvesters hear that all of it is gone', async () => {
    await grant('')
    const closed = await open('json')
    assert.deepEqual([closed.statusCode, closed.json().code], [403, 'ObjectInsufficientRights'])
    const answers = await harvest({ svc }, { verb: 'ListIdentifiers', metadataPrefix: 'oai_dc', from: harvested })
    const headers = answers.flatMap((one) => one.headers)
    assert.equal(new Set(headers.map(({ identifier }) => identifier)).size, works.length)
    assert.ok(headers.every(({ deleted }) => deleted))
    // Nothing was taken away from those who keep it.
    assert.equal(ok(await root.post('/search', { ...search, limit: 1 })).count, works.length)
  })
})
