import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { createServiceClient, type ServiceClient } from '../../src/import/client.ts'
import { runDemo } from '../../src/import/commands.ts'
import { ensurePool } from '../../src/import/tate/setup.ts'
import { tateTables } from '../../src/import/tate/tables.ts'
import { loadConfig } from '../../src/platform/config/load.ts'
import { startServer } from '../../src/server.ts'

/** Starts the demo on a folder; ends it when the work with its output is done. */
async function withDemo(folder: string, work: (output: string) => Promise<void>): Promise<string> {
  const ended = Promise.withResolvers<void>()
  const printed = Promise.withResolvers<void>()
  let output = ''
  const out = new Writable({
    write(chunk: Buffer, _encoding, done) {
      output += chunk.toString()
      if (output.includes('Ctrl+C ends the demo')) printed.resolve()
      done()
    },
  })
  const config = loadConfig({ file: undefined, env: { SVC_LOG_LEVEL: 'silent' }, cwd: folder })
  const demo = runDemo(['--data', join(folder, 'data'), '--port', '0'], {
    config,
    startServer,
    ended: ended.promise,
    out,
  })
  try {
    await Promise.race([printed.promise, demo])
    await work(output)
  } finally {
    ended.resolve()
    assert.equal(await demo, 0)
  }
  return output
}

test('the demo loads its sample in a folder of any name, and the searches that it prints work as printed', async () => {
  const folder = await mkdtemp(join(tmpdir(), "strongroom demo's Größe $x -"))
  // Run as root, the database belongs to another user, who must be able to walk here.
  await chmod(folder, 0o755)
  try {
    const first = await withDemo(folder, async (output) => {
      assert.match(output, /Artworks: 500 of 500/)
      assert.match(output, /address {3}http:\/\/\S+\n {2}login {5}root\n {2}password {2}\S+/)
      if (spawnSync('curl', ['--version']).error) return
      const script = output.slice(output.indexOf('TOKEN='), output.indexOf('Ctrl+C ends'))
      const { stdout } = await promisify(execFile)('sh', ['-c', script], { maxBuffer: 10_000_000 })
      const answers = stdout
        .split(/(?<=\})(?=\{"(?:type|count|objecttypes|language)")/)
        .map((text) => JSON.parse(text) as { count: number; objects: unknown[]; aggregations?: object })
      assert.equal(answers.length, 4)
      for (const answer of answers) assert.ok(answer.count > 0 && answer.objects.length > 0, JSON.stringify(answer))
      assert.ok(answers[0]?.aggregations && answers[1]?.aggregations)
      assert.equal(answers[2]?.count, 24, 'artworks with pictures')
    })
    assert.match(first, /applied \d+ migrations/)
    const second = await withDemo(folder, async () => {})
    assert.match(second, /runs with 2592 objects/)
    assert.doesNotMatch(second, /committed the datamodel/)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

/** Starts a service on the folder, as a person would, for a piece of work by root. */
async function withServer(dataDir: string, rootPassword: string, work: (client: ServiceClient) => Promise<void>) {
  const env = { SVC_LOG_LEVEL: 'silent', SVC_PORT: '0', SVC_DATA_DIR: dataDir, SVC_ROOT_PASSWORD: rootPassword }
  const service = await startServer(loadConfig({ file: undefined, env, cwd: dataDir }), () => {})
  try {
    await work(createServiceClient({ url: service.url, login: 'root', password: rootPassword }))
  } finally {
    await service.stop()
  }
}

interface Tables {
  tables: { name: string; columns: { name?: string }[] }[]
}

/** The datamodel of the collection as an older release had it: artworks without pictures. */
async function commitOlder(client: ServiceClient): Promise<void> {
  const head = await client.get<object>('/schema/user/HEAD')
  const tables = tateTables.map(({ opposite: _, ...table }) => ({
    ...table,
    columns: table.columns.filter(({ name }) => name !== 'image'),
  }))
  await client.post('/schema/user/HEAD', { ...head, tables })
  await client.post('/schema/commit', undefined, { confirm: 'yes' })
}

test('a demo of an older release gets what its types lack; data that are no demo are refused before anything is changed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'strongroom demo ä -'))
  await chmod(folder, 0o755)
  try {
    const data = join(folder, 'data')
    await mkdir(data)
    await withServer(data, 'password-of-mine', commitOlder)
    await assert.rejects(
      withDemo(folder, async () => {}),
      /data has data that are not those of a demo; choose another folder with --data/,
    )
    // The demo would have given root a password of its own.
    await withServer(data, 'password-of-mine', async (client) => {
      const { tables } = await client.get<Tables>('/schema/user/CURRENT')
      assert.ok(!tables.find(({ name }) => name === 'artwork')?.columns.some(({ name }) => name === 'image'))
      await ensurePool(client)
    })
    const output = await withDemo(folder, async () => {})
    assert.match(output, /committed the datamodel/)
    assert.match(output, /painted pictures for 24 artworks/)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
