import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFolder } from './support/process.ts'
import { until } from './support/until.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..')

/** What the package is said to be made of. */
const made = { BUILD_COMMIT: '0123456789abcdef0123456789abcdef01234567', BUILD_COMMIT_TIME: '2026-01-02T03:04:05.000Z' }

/** Bytes that the files of a folder take. */
async function sizeOf(folder: string): Promise<number> {
  const { stdout } = await run('du', ['-sk', folder])
  return Number.parseInt(stdout, 10) * 1024
}

test('the package installs elsewhere from its tarball, starts with npx, serves and stops; it is small', {
  timeout: 600_000,
}, async () => {
  await using folder = await temporaryFolder()
  // The Node of these tests is the one that the package wants; what npm says of our own settings is not its business.
  const { NODE_TEST_CONTEXT: _, NODE_OPTIONS: __, ...inherited } = process.env
  const env = {
    ...Object.fromEntries(Object.entries(inherited).filter(([name]) => !/^(npm_|SVC_)/i.test(name))),
    PATH: `${join(process.execPath, '..')}:${process.env.PATH}`,
    ...made,
  }
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', folder.path], { cwd: root, env })
  const tarball = join(folder.path, stdout.trim().split('\n').at(-1) ?? '')
  const elsewhere = join(folder.path, 'elsewhere')
  await run('mkdir', [elsewhere])
  await writeFile(join(elsewhere, 'package.json'), '{"private":true}')
  const install = ['install', '--omit=dev', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error', tarball]
  await run('npm', install, { cwd: elsewhere, env })
  const packages = await readdir(join(elsewhere, 'node_modules'))
  for (const development of ['node', 'typescript', '@biomejs', 'fast-check']) assert.ok(!packages.includes(development))
  // PostgreSQL and libvips are half of it.
  assert.ok((await sizeOf(join(elsewhere, 'node_modules'))) < 170 * 1024 * 1024)

  const settings = { SVC_DATA_DIR: join(folder.path, 'data'), SVC_PORT: '0' }
  const service = spawn('npx', ['--no-install', 'strongroom', 'start'], {
    cwd: elsewhere,
    env: { ...env, ...settings },
    // A group of its own, so that whatever npx starts ends with it.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(service, 'exit')
  let output = ''
  try {
    const ready = Promise.withResolvers<string>()
    for (const stream of [service.stdout, service.stderr]) {
      stream.on('data', (chunk) => {
        output += chunk
        const url = /ready at (\S+)/.exec(output)?.[1]
        if (url) ready.resolve(url)
      })
    }
    ended.then(() => ready.reject(new Error(output)))
    const url = await ready.promise
    // What the compiled code reads beside itself: pages, examples. Read to the end, or the stop waits for readers.
    for (const path of ['/api/v1/settings', '/', '/api/v1/system/openapi/spec.json', '/api/v1/system/openapi/']) {
      const answer = await fetch(url + path, { headers: { accept: 'text/html' } })
      assert.equal(answer.status, 200, `${path}: ${await answer.text()}`)
    }
    const told = (await (await fetch(`${url}/api/v1/settings`)).json()) as Record<string, unknown>
    assert.match(String(told.version_release_date), /^\d{4}-\d\d-\d\d$/)
    assert.deepEqual([told.build_commit, told.build_commit_time], [made.BUILD_COMMIT, made.BUILD_COMMIT_TIME])
  } finally {
    // As service managers do: everybody in the group, also the command that hands its signal on.
    process.kill(-(service.pid ?? 0), 'SIGTERM')
    await ended
    const server = join(settings.SVC_DATA_DIR, 'postgres', 'data', 'postmaster.pid')
    // npx does not wait for the service, which stops PostgreSQL before it goes.
    await until(async () => (await stat(server).catch(() => null)) === null, 180).catch((error: Error) => {
      throw new Error(output, { cause: error })
    })
  }
})
