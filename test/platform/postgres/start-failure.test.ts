import assert from 'node:assert/strict'
import { pbkdf2 } from 'node:crypto'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { startEmbeddedPostgres } from '../../../src/platform/postgres/embedded.ts'
import { temporaryFolder } from '../../support/process.ts'

/** Keeps the threads busy that open and close files, so that each such call takes some 100 ms. */
function slowFiles(): Disposable {
  let ended = false
  const work = async (): Promise<void> => {
    while (!ended) await promisify(pbkdf2)('a', 'b', 100_000, 64, 'sha512')
  }
  for (let thread = 0; thread < 8; thread++) void work()
  return {
    [Symbol.dispose]() {
      ended = true
    },
  }
}

test('a server that ends before its log is closed is told like any other that does not start', {
  timeout: 60_000,
}, async () => {
  await using folder = await temporaryFolder()
  const options = { dataDir: folder.path, database: 'strongroom', onStep: () => {}, onTrouble: () => {} }
  const server = await startEmbeddedPostgres(options)
  await server.stop()
  await appendFile(join(folder.path, 'postgres', 'data', 'postgresql.conf'), '\nnonsense = 1\n')
  using _ = slowFiles()
  await assert.rejects(startEmbeddedPostgres(options), /PostgreSQL does not start: .*contains errors/)
})
