import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Json } from '../support/client.ts'
import { inPool, payload, startMuseum } from '../support/seed/museum.ts'
import { until } from '../support/until.ts'
import { install } from './support.ts'

const name = 'custom-data-type-test'
const total = 60
const perBatch = 4

/** Counts how often each value was changed, in the value itself, and notes each step. */
const script = `
  const fs = require('node:fs')
  let input = ''
  process.stdin.on('data', (chunk) => { input += chunk })
  process.stdin.on('end', () => {
    const { action, objects = [] } = JSON.parse(input)
    fs.appendFileSync(process.argv[2] + '/told', action + '\\n')
    const payload = objects.map(({ identifier, data }) => ({
      identifier,
      // Each second one turns out to be the one before it.
      data: { ...data, _uuid: identifier.replace(/b$/, 'a'), count: (data.count ?? 0) + 1 },
    }))
    process.stdout.write(JSON.stringify({ payload, log: [action] }))
  })`

test('kill -9 in the middle of an updater: nothing is lost, and nothing is done twice', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'plugins-'))
  await using museum = await startMuseum()
  const { svc } = museum
  const root = svc.as('root')
  const steps = async (): Promise<string[]> =>
    (await readFile(join(folder, 'told'), 'utf8').catch(() => '')).split('\n').filter(Boolean)
  let child: ChildProcess | null = null
  try {
    const exec = {
      service: 'node',
      commands: [
        {
          ...{ prog: 'node', stdin: { type: 'body' }, stdout: { type: 'body' } },
          args: ['%_exec.pluginDir%/update.js', folder],
        },
      ],
    }
    const update = { exec, timeout: 60, batch_size: perBatch, expires_days: 30 }
    const manifest = {
      plugin: { name },
      custom_types: { term: { mapping: { conceptName: { type: 'text' } }, update } },
    }
    await install(svc, name, { 'manifest.yml': JSON.stringify(manifest), 'update.js': script })
    const works = Array.from({ length: total }, (_, index) => {
      const pair = `${String(index >> 1).padStart(2, '0')}${index % 2 === 0 ? 'a' : 'b'}`
      return payload('work', { ...inPool(museum.pool), vocabulary: { _uuid: pair, conceptName: `word ${index >> 1}` } })
    })
    const saved = await root.post('/db/work', works, { format: 'short' })
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
    const active = { custom_data_type_updater: { active: true } }
    assert.equal((await root.post('/config/system/config', active)).status, 200)
    const at = new Date(Date.now() + 31 * 86_400_000)
    // Killed at once, behind some batches, and at the end, where it may just have ended; whatever the step is that it is just at.
    for (const after of [1, 6, 12]) {
      const before = (await steps()).length
      child = spawn(process.execPath, [join(import.meta.dirname, 'updater-process.ts'), svc.dsn, at.toISOString()], {
        stdio: ['ignore', 'inherit', 'inherit'],
      })
      const exited = once(child, 'exit')
      await until(async () => (await steps()).length >= before + after || child?.exitCode !== null, 120)
      assert.equal(child.exitCode, null, 'it has ended before it could be killed')
      child.kill('SIGKILL')
      await exited
      const asked = await steps()
      // As long as it is held, nobody else takes the run.
      await svc.app.tidy(at)
      assert.deepEqual(await steps(), asked)
      // Its time is over, if it has not ended before it was killed.
      await svc.db.query(
        `update custom_datum_run set held_until = now() - interval '1 second' where held_until > '-infinity'`,
      )
    }
    await svc.app.tidy(at)
    assert.equal((await steps()).at(-1), 'end_update')
    const { rows } = await svc.db.query<{ uuid: string; count: number; open: boolean }>(
      `select uuid, (data ->> 'count')::int as count, expires_at <= $1 as open from custom_datum order by 1`,
      [at],
    )
    const pairs = Array.from({ length: total / 2 }, (_, index) => `${String(index).padStart(2, '0')}a`)
    assert.deepEqual(
      rows.map(({ uuid }) => uuid),
      pairs,
      'each second value was merged with the one before it',
    )
    assert.ok(rows.every(({ open }) => !open))
    const { body } = await root.get('/db/work/_all_fields/list', { format: 'long', limit: 1000 })
    const shown = body.map(({ work }: Json) => [work.vocabulary._uuid, work.vocabulary.count, work._version])
    // Each value was changed once, and every object has it, in no new version.
    assert.deepEqual(
      rows.map(({ count }) => count),
      pairs.map(() => 1),
    )
    assert.equal(shown.length, total)
    for (const [uuid, count, version] of shown) assert.deepEqual([pairs.includes(uuid), count, version], [true, 1, 1])
    const { rows: stale } = await svc.db.query('select from custom_datum_use where stale')
    assert.equal(stale.length, 0)
    const events = await root.get('/event/list', { type: 'CUSTOM_DATA_TYPE_UPDATER,CUSTOM_DATA_TYPE_UPDATER_ERROR' })
    assert.deepEqual(
      events.body.objects.map(({ event }: Json) => event.type),
      ['CUSTOM_DATA_TYPE_UPDATER'],
      'a run ends once, however often it is killed',
    )
  } finally {
    if (child?.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await rm(folder, { recursive: true, force: true })
  }
})
