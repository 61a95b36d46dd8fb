import assert from 'node:assert/strict'
import { chmod, chown, lstat, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { startEmbeddedPostgres } from '../../../src/platform/postgres/embedded.ts'
import { createEmptyDatabase } from '../../support/postgres.ts'
import { runCommand, spawnService, temporaryFolder } from '../../support/process.ts'

const quiet = { database: 'strongroom', onStep: () => {}, onTrouble: () => {} }
const env = { SVC_ROOT_PASSWORD: 'root-test-password' }
const root = process.getuid?.() === 0

/** Names of all that a folder has, with its kind and owner. */
async function contentOf(path: string): Promise<string[]> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true })
  const lines = entries.map(async ({ parentPath, name }) => {
    const { uid, mode } = await lstat(join(parentPath, name))
    return `${join(parentPath, name)} ${uid} ${mode}`
  })
  return (await Promise.all(lines)).filter((line) => !/\/run\b|start\.log|\/server-/.test(line)).sort()
}

/** A folder in which a service has been. */
async function usedFolder() {
  const folder = await temporaryFolder()
  const service = await spawnService(folder.path, env)
  await service[Symbol.asyncDispose]()
  return folder
}

async function refused(dataDir: string, reason: RegExp): Promise<void> {
  const before = await contentOf(dataDir)
  const { code, stderr } = await runCommand(['start'], { ...env, SVC_DATA_DIR: dataDir, SVC_PORT: '0' })
  assert.equal(code, 1)
  assert.match(stderr, reason)
  assert.equal(stderr.trim().split('\n').length, 1)
  assert.deepEqual(await contentOf(dataDir), before, 'nothing was changed')
}

test('a folder whose database cannot be read, is of another release or is not mounted starts nothing and loses nothing', async () => {
  await using folder = await usedFolder()
  const home = join(folder.path, 'postgres')
  const data = join(home, 'data')
  const path = join(data, 'PG_VERSION')
  assert.match(await readFile(join(folder.path, 'instance-id'), 'utf8'), /^[0-9a-f-]{36}\n$/)

  await rename(path, `${path}.away`)
  await refused(folder.path, /has no data of PostgreSQL: mount the volume/)
  await mkdir(path)
  await refused(folder.path, /cannot read the data of PostgreSQL/)
  await rm(path, { recursive: true })
  await writeFile(path, '17\n')
  await refused(folder.path, /made by PostgreSQL "17", this release has 18: .*backup.*restore/)
  await rm(path)
  await rename(`${path}.away`, path)

  await rename(data, `${data}.away`)
  await mkdir(data)
  await refused(folder.path, /has no data of PostgreSQL: mount the volume/)
  await rm(data, { recursive: true })
  await refused(folder.path, /has instance-id.* of an instance, but not its database/)
  await rename(home, join(folder.path, 'elsewhere'))
  const away = await runCommand(['start'], { ...env, SVC_DATA_DIR: folder.path, SVC_PORT: '0' })
  assert.equal(away.code, 1)
  assert.match(away.stderr, /but not its database/)
  await rm(home, { recursive: true, force: true })
  await rename(join(folder.path, 'elsewhere'), home)

  await rename(`${data}.away`, data)
  await using service = await spawnService(folder.path, env)
  assert.equal((await fetch(`${service.url}/api/v1/settings`)).status, 200)
})

test('files beside an empty database, a database of something else and one of another instance are refused', async () => {
  await using folder = await temporaryFolder()
  await mkdir(join(folder.path, 'files'))
  await writeFile(join(folder.path, 'files', 'content'), 'x')
  const start = (dsn: string) =>
    runCommand(['start'], { ...env, SVC_DATA_DIR: folder.path, SVC_PORT: '0', SVC_DB_DSN: dsn })
  const [one, two] = [await createEmptyDatabase(), await createEmptyDatabase()]
  try {
    assert.match((await start(one.dsn)).stderr, /has files of an instance, but not its database/)
    await rm(join(folder.path, 'files'), { recursive: true })
    for (const { dsn } of [one, two]) {
      await using other = await temporaryFolder()
      await using _ = await spawnService(dsn === one.dsn ? folder.path : other.path, { ...env, SVC_DB_DSN: dsn })
    }
    assert.match((await start(two.dsn)).stderr, /belongs to the instance [0-9a-f-]+, the database to [0-9a-f-]+: check/)
    await using again = await spawnService(folder.path, { ...env, SVC_DB_DSN: one.dsn })
    assert.ok(again.url)
  } finally {
    await one.drop()
    await two.drop()
  }
})

test('a database that has tables of something else gets none of ours', async () => {
  await using folder = await temporaryFolder()
  const database = await createEmptyDatabase()
  try {
    const { default: pg } = await import('pg')
    const client = new pg.Client(database.dsn)
    await client.connect()
    await client.query('create table accounts ()')
    const started = await runCommand(['start'], { ...env, SVC_DATA_DIR: folder.path, SVC_DB_DSN: database.dsn })
    assert.match(started.stderr, /the database has tables of something else/)
    const { rows } = await client.query(`select relname from pg_class where relnamespace = 'public'::regnamespace`)
    assert.deepEqual(rows, [{ relname: 'accounts' }])
    await client.end()
  } finally {
    await database.drop()
  }
})

test('what a start that was cut off has left is not taken away, and does not hold up the next one', async () => {
  await using folder = await temporaryFolder()
  const left = join(folder.path, 'postgres', 'data.new-0a1b2c3d')
  await mkdir(left, { recursive: true })
  await writeFile(join(left, 'mine'), 'x')
  const server = await startEmbeddedPostgres({ ...quiet, dataDir: folder.path })
  await server.stop()
  assert.equal(await readFile(join(left, 'mine'), 'utf8'), 'x')
})

test('as root nothing that the user of PostgreSQL puts anywhere is followed', {
  skip: !root && 'needs root',
}, async () => {
  await using folder = await temporaryFolder()
  await using victims = await temporaryFolder()
  const server = await startEmbeddedPostgres({ ...quiet, dataDir: folder.path })
  await server.stop()
  const home = join(folder.path, 'postgres')
  const { uid } = await stat(join(home, 'data'))
  assert.notEqual(uid, 0)
  const { uid: owner, mode } = await stat(home)
  assert.deepEqual([owner, mode & 0o777], [0, 0o711], 'the parent folder is no place of theirs')

  // A folder of an earlier release belongs to that user, who may have been busy.
  const file = join(victims.path, 'file')
  const private_ = join(victims.path, 'private')
  await writeFile(file, 'precious', { mode: 0o600 })
  await mkdir(private_, { mode: 0o700 })
  await chmod(home, 0o700)
  await chown(home, uid, uid)
  const plant = async (name: string, target: string): Promise<void> => {
    const path = join(home, name)
    await rm(path, { recursive: true, force: true })
    await symlink(target, path)
    const { lchown } = await import('node:fs/promises')
    await lchown(path, uid, uid)
  }
  await plant('start.log', file)
  await plant('run-folder', file)
  await plant('run-folder.new', file)
  await plant('run', private_)
  await assert.rejects(
    startEmbeddedPostgres({ ...quiet, dataDir: folder.path }),
    /run is a link of the user .* not followed/,
  )
  assert.equal((await stat(private_)).uid, 0)
  await rm(join(home, 'run'))
  await rename(join(home, 'data'), join(home, 'data.real'))
  await plant('data', private_)
  await assert.rejects(
    startEmbeddedPostgres({ ...quiet, dataDir: folder.path }),
    /data is a link of the user .* not followed/,
  )
  await rm(join(home, 'data'))
  await rename(join(home, 'data.real'), join(home, 'data'))
  await rm(join(home, 'data', 'postmaster.pid'), { force: true })
  await writeFile(join(home, 'data', 'postmaster.pid'), `${process.pid}\n`)
  const again = await startEmbeddedPostgres({ ...quiet, dataDir: folder.path })
  await again.stop()
  assert.equal(await readFile(file, 'utf8'), 'precious')
  assert.deepEqual([(await stat(file)).uid, (await stat(private_)).uid], [0, 0])
  assert.equal((await stat(home)).uid, 0)
})
