import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { before, test } from 'node:test'
import { describeSchema, schemaFile } from '../../support/schema-text.ts'

let schema: string

before(async () => {
  schema = await describeSchema()
})

test('docs/schema.sql is the schema that the migrations make', async () => {
  assert.equal(await readFile(schemaFile, 'utf8'), schema, 'node scripts/schema.ts writes it anew')
})

test('every table says what it is for', () => {
  const silent = [...schema.matchAll(/(?<=\n\n)create table (\S+)/g)].map(([, name]) => name)
  assert.deepEqual(silent, [])
  assert.ok(schema.split('create table').length > 25, 'tables are listed')
})
