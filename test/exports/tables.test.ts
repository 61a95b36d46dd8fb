import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { parse } from 'csv-parse/sync'
import readSheet from 'read-excel-file/node'
import type { Json } from '../support/client.ts'
import { type Museum, startMuseum } from '../support/seed/museum.ts'
import { addWorks, codeOf, draft, exported, fetchedFile, saved } from './support.ts'

suite('tables in exports', () => {
  let museum: Museum
  before(async () => {
    museum = await startMuseum()
    await addWorks(museum, ['a, "b"', '=1+1', 'c'])
  })
  after(() => museum[Symbol.asyncDispose]())

  const csvOf = async (csv: Json, more: Json = {}): Promise<string> => {
    const one = await exported(museum.svc, { csv, fields: { 'work.title': {}, ...more } })
    assert.equal(one._state, 'done', JSON.stringify(one._log.at(-2)))
    return (await fetchedFile(museum.svc, one.export._id, 'export.csv')).rawPayload.toString('utf8')
  }
  const rowsOf = (text: string, options = {}): string[][] => parse(text, { bom: true, ...options })

  test('EXP-014 csv has a row for each object, read back by another library', async () => {
    const rows = rowsOf(await csvOf(true))
    assert.equal(rows.length, 1 + 3)
    const column = (rows[0] as string[]).findIndex((name) => /title/.test(name))
    assert.deepEqual(
      rows.slice(1).map((row) => (row[column] as string).replace(/^'/, '')),
      ['a, "b"', '=1+1', 'c'],
    )
  })

  test('csv is written as its options say', async () => {
    const plain = await csvOf({})
    const semicolons = await csvOf({ delimiter: ';', quote: "'", escape: '\\' })
    assert.equal(rowsOf(semicolons, { delimiter: ';', quote: "'", escape: '\\' }).length, 4)
    assert.notEqual(semicolons, plain)
    assert.deepEqual([plain.startsWith('\ufeff'), (await csvOf({ use_bom: true })).startsWith('\ufeff')], [false, true])
    const headings = (text: string): string[] => rowsOf(text)[0] as string[]
    const changes = headings(await csvOf({ include_changelog: true }))
    const users = headings(await csvOf({ include_changelog: { with_user: true } }))
    assert.ok(changes.length > headings(plain).length, `${changes}`)
    assert.equal(users.length, changes.length)
    assert.match(await csvOf({ include_changelog: { with_user: true } }), /Root/)
    assert.doesNotMatch(await csvOf({ include_changelog: true }), /Root/)
    assert.equal(rowsOf(await csvOf({ localized_column_names: true })).length, 4)
    const named = headings(await csvOf({}, { 'work.title': { display_name: 'What it is called' } }))
    assert.ok(
      named.some((name) => name.startsWith('What it is called')),
      `${named}`,
    )
    for (const csv of [{ delimiter: ';;' }, { hierarchy: '|' }, { use_bom: 1 }, 'yes', { quote: 5 }]) {
      assert.deepEqual(codeOf(await museum.svc.as('root').post('/export', draft({ csv }))), [400, 'ServerGeneric'])
    }
  })

  test('EXP-014 xlsx is a sheet that another library reads', async () => {
    for (const xlsx of [
      true,
      {
        localized_column_names: true,
        include_changelog: { with_user: true },
        hierarchy: 'column',
        include_thumbnail: true,
      },
    ]) {
      const one = await exported(museum.svc, { xlsx })
      assert.equal(one._state, 'done', JSON.stringify(one._log.at(-2)))
      const { rawPayload, headers } = await fetchedFile(museum.svc, one.export._id, 'export.xlsx')
      assert.match(`${headers['content-type']}`, /spreadsheetml/)
      const sheets = (await readSheet(rawPayload)) as Json
      const rows: Json[] = Array.isArray(sheets[0]) ? sheets : sheets[0].data
      assert.ok(
        rows.some((row: Json[]) => row.includes('=1+1')),
        JSON.stringify(rows).slice(0, 500),
      )
    }
  })

  test('a run tells how far it is', async () => {
    const { export: own } = await saved(museum.svc, 'root', draft({ json: true }))
    await museum.svc.db.query(
      `with made as (insert into export_run (export_id, step, position, total) values ($1, 'files', 5, 9) returning id)
       update export set state = 'processing', run_id = made.id from made where export.id = $1`,
      [own._id],
    )
    const { body } = await museum.svc.as('root').get(`/export/${own._id}`)
    assert.deepEqual(body._progress, { step: 'files', done: 5, total: 9 })
    assert.equal((await museum.svc.as('root').post(`/export/${own._id}/stop`)).body._progress, undefined)
  })
})
