import assert from 'node:assert/strict'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { runCommand, temporaryFolder } from '../../support/process.ts'
import { sheetFolder } from './files.ts'

const sample = join(import.meta.dirname, '..', '..', '..', 'examples', 'museum-sample')

test('an import starts the service where none runs, and tells the password that it made up', async () => {
  await using data = await temporaryFolder()
  await using folder = await sheetFolder()
  await cp(sample, folder.path, { recursive: true })
  const args = ['import', 'csv', join(folder.path, 'werke.csv'), '--yes', '--start']
  const env = { SVC_DATA_DIR: data.path, SVC_PORT: '0' }
  const first = await runCommand(args, env)
  assert.equal(first.code, 0, first.stdout + first.stderr)
  assert.match(first.stdout, /40 created/)
  const password = /created the user root with the password (\S+)/.exec(first.stdout)?.[1] ?? ''
  const second = await runCommand(args, { ...env, SVC_ROOT_PASSWORD: password })
  assert.equal(second.code, 0, second.stdout + second.stderr)
  assert.match(second.stdout, /0 created, 0 updated, 40 as they were/)
})
