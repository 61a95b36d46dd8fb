import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { heapFlags, memorySetting, standardMemory as standardOfLauncher } from '../../../bin/memory.js'
import { loadConfig } from '../../../src/platform/config/load.ts'
import {
  divideMemory,
  leastMemory,
  memoryFor,
  memoryTable,
  standardMemory,
  wholeOf,
} from '../../../src/platform/memory/shares.ts'
import { assertMemory } from '../../../src/platform/memory/start-check.ts'
import { launchService, runCommand, temporaryFolder } from '../../support/process.ts'

const MiB = 1024 * 1024
const sizes = fc.integer({ min: leastMemory, max: 1024 * 1024 })

suite('the setting of memory', () => {
  test('the shares are within the whole, and leave less than a kilobyte of it', () => {
    fc.assert(
      fc.property(sizes, (megabytes) => {
        const left = megabytes * MiB - wholeOf(divideMemory(megabytes))
        assert.ok(left >= 0 && left < 1024, `${left} bytes are left of ${megabytes} MB`)
      }),
    )
  })

  test('each share grows with the whole, and the largest body and answer fit into theirs', () => {
    fc.assert(
      fc.property(sizes, sizes, (one, other) => {
        const [small, large] = [one, other].sort((a, b) => a - b).map(divideMemory)
        assert.ok(small && large)
        for (const [name, bytes] of Object.entries(small)) assert.ok(bytes <= large[name as keyof typeof large], name)
        assert.ok(small.largestBody < small.bodies && small.largestAnswer < small.answers)
      }),
    )
  })

  test('the standard has the limits that are documented', () => {
    const memory = divideMemory(standardMemory)
    assert.deepEqual([memory.largestBody, memory.largestAnswer], [32 * MiB, 64 * MiB])
    assert.equal(memory.heap, 400)
  })

  test('the memory that a share needs is the least that gives it', () => {
    fc.assert(
      fc.property(fc.integer({ min: 32 * MiB, max: 1024 * MiB }), (bytes) => {
        const needed = memoryFor('largestBody', bytes)
        assert.ok(divideMemory(needed).largestBody >= bytes)
        assert.ok(divideMemory(needed - 1).largestBody < bytes)
      }),
    )
  })

  test('the launcher tells V8 the heap of the table', () => {
    assert.equal(standardOfLauncher, standardMemory)
    fc.assert(
      fc.property(sizes, (megabytes) => {
        assert.equal(heapFlags(megabytes)[0], `--max-old-space-size=${divideMemory(megabytes).heap}`)
      }),
    )
  })

  test('the launcher reads it where the program does', async () => {
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'given.yml')
    await writeFile(file, 'svc: { memory: 700 }')
    const cases: [string[], Record<string, string>, number][] = [
      [['start'], {}, standardMemory],
      [['start', '--config', file], {}, 700],
      [[`--config=${file}`, 'start'], {}, 700],
      [['start'], { SVC_CONFIG: file }, 700],
      [['start'], { SVC_CONFIG: file, SVC_MEMORY: '' }, 700],
      [['start'], { SVC_CONFIG: file, SVC_MEMORY: '800' }, 800],
      [['start'], { SVC_MEMORY: 'much' }, standardMemory],
      [['start', '--config', join(folder.path, 'not-there.yml')], {}, standardMemory],
    ]
    for (const [args, env, expected] of cases) {
      assert.equal(await memorySetting({ args, env }), expected, JSON.stringify([args, env]))
    }
  })

  test('the largest body and answer follow it, and what it cannot hold is refused with what would', () => {
    const load = (env: Record<string, string>) => loadConfig({ env, cwd: '/' })
    const small = load({ SVC_MEMORY: '320' })
    const large = load({ SVC_MEMORY: '2048' })
    assert.ok(small.bodyLimit >= 16 * MiB && small.bodyLimit < 32 * MiB)
    assert.ok(large.bodyLimit > 128 * MiB && large.answerLimit > 256 * MiB)
    assert.equal(load({ SVC_MEMORY: '2048', SVC_BODY_LIMIT: '5000' }).bodyLimit, 5000)
    for (const name of ['SVC_BODY_LIMIT', 'SVC_ANSWER_LIMIT', 'SVC_OUTGOING_ANSWER_LIMIT']) {
      let said = ''
      assert.throws(
        () => load({ [name]: `${512 * MiB}` }),
        ({ message }: Error) => {
          said = message
          return new RegExp(
            `^${name}: 536870912 bytes are more than memory holds: SVC_MEMORY \\(512 MB\\) leaves \\d+`,
          ).test(message)
        },
      )
      // What it says helps.
      const [, most, needed] = /set at most (?:that|(\d+)), or SVC_MEMORY to at least (\d+)$/.exec(said) ?? []
      assert.equal(most, undefined)
      assert.equal(load({ SVC_MEMORY: `${needed}`, [name]: `${512 * MiB}` }).memory, Number(needed))
      const leaves = /leaves (\d+) for it/.exec(said)?.[1] as string
      assert.doesNotThrow(() => load({ [name]: leaves }))
      assert.throws(() => load({ [name]: `${Number(leaves) + 1}` }))
    }
  })

  test('a process does not start with less than it needs, nor with more than there is', async () => {
    const refused = await runCommand(['start'], { SVC_MEMORY: '100' })
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /^strongroom: SVC_MEMORY: 100 MB cannot hold the service, .*; set at least 320\n$/)
    const heap = 8192 * MiB
    assert.throws(
      () => assertMemory(4096, { memory: 2048 * MiB, heap }),
      /^Error: SVC_MEMORY: 4096 MB are more than the 2048 MB of this machine or its container; set at most 2048$/,
    )
    assert.doesNotThrow(() => assertMemory(2048, { memory: 2048 * MiB, heap }))
    await using folder = await temporaryFolder()
    const narrow = { SVC_DATA_DIR: folder.path, SVC_PORT: '0', NODE_OPTIONS: '--max-old-space-size=100' }
    const { code, stderr } = await runCommand(['start'], narrow)
    assert.equal(code, 1)
    assert.match(stderr, /^strongroom: SVC_MEMORY: with 512 MB the heap needs 400 MB, and V8 may take \d+; start with /)
  })

  test('the service starts with little and with much, and takes bodies as large as that allows', async () => {
    const answers: Record<number, number> = {}
    for (const megabytes of [leastMemory, 1024]) {
      await using folder = await temporaryFolder()
      await writeFile(join(folder.path, 'svc.yml'), `svc: { memory: ${megabytes} }`)
      // V8 has so little that the service would not start with the flags of another value.
      const env = { SVC_ROOT_PASSWORD: 'root-test-password', NODE_OPTIONS: '--max-old-space-size=100' }
      await using service = await launchService(folder.path, env)
      const body = new URLSearchParams({
        grant_type: 'password',
        client_id: 'web-client',
        username: 'root',
        password: 'root-test-password',
      })
      const token = await fetch(`${service.url}/api/oauth2/token`, { method: 'POST', body })
      const { access_token } = (await token.json()) as { access_token: string }
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${access_token}` }
      const answer = await fetch(`${service.url}/api/v1/db/nothing`, {
        method: 'POST',
        headers,
        body: `[${' '.repeat(20_000_000)}]`,
      })
      answers[megabytes] = answer.status
    }
    assert.deepEqual(answers, { [leastMemory]: 413, 1024: 400 })
  })

  test('the table is in the documentation', async () => {
    const page = await readFile(join(import.meta.dirname, '..', '..', '..', 'docs', 'operations.md'), 'utf8')
    assert.ok(page.includes(memoryTable()), 'run: node scripts/docs.ts')
  })
})
