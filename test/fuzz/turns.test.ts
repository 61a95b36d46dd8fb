import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { longText } from '../../fuzz/hostile.ts'
import { mutate } from '../../fuzz/mutate.ts'
import type { Turn } from '../../fuzz/probe.ts'
import { createRandom } from '../../fuzz/random.ts'
import type { FuzzRequest } from '../../fuzz/request.ts'

const probe = join(import.meta.dirname, '..', '..', 'fuzz', 'probe.ts')

/** Works in one turn, or in many, or waits, as it is told. */
const script = `
  const work = (milliseconds) => {
    const begun = process.threadCpuUsage()
    const worked = () => (process.threadCpuUsage().user - begun.user) / 1000
    while (worked() < milliseconds) for (let at = 0; at < 100_000; at++) Math.sqrt(at)
  }
  process.on('message', async (what) => {
    if (what === 'turn') return
    if (what === 'long') work(600)
    if (what === 'short') for (let at = 0; at < 60; at++) { work(10); await new Promise((resolve) => setTimeout(resolve, 6)) }
    if (what === 'other') await new Promise((resolve) => setTimeout(resolve, 900))
    process.send('done')
  })
  setInterval(() => {}, 1000)
  process.send('ready')`

test('a long turn of the event loop is told, many short ones and waiting are none', async () => {
  const child = spawn(process.execPath, ['--import', probe, '-e', script], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  try {
    await once(child, 'message')
    const turn = async (): Promise<Turn> => {
      child.send('turn')
      const [answer] = await once(child, 'message')
      return (answer as { turn: Turn }).turn
    }
    const after = async (what: string): Promise<Turn> => {
      await turn()
      child.send(what)
      await once(child, 'message')
      return turn()
    }
    assert.ok((await after('long')).worked >= 590)
    // It is asked for the time since the last question.
    assert.ok((await turn()).worked < 400)
    assert.ok((await after('short')).worked < 400)
    assert.ok((await after('other')).worked < 400)
  } finally {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
})

test('every text of a request is made long now and then, with every piece', () => {
  const request = (): FuzzRequest => ({
    operationId: 'x',
    method: 'POST',
    template: '/x/{id}',
    path: { id: '1' },
    query: [['q', 'a']],
    headers: {},
    body: { a: 'x', b: [{ c: 'y' }, 1], d: null },
    type: 'application/json',
    late: [],
  })
  const long = new Set<string>()
  const words = { keys: ['k'], parameters: ['q'], values: [1], paths: ['p'], steps: ['s'] }
  for (let number = 0; number < 3000; number++) {
    const one = request()
    mutate(one, createRandom(1, number), words)
    const { a, b } = (one.body ?? {}) as { a?: unknown; b?: { c?: unknown }[] }
    const texts = { a, c: b?.[0]?.c, q: one.query[0]?.[1], id: one.path.id, cookie: one.headers.cookie }
    for (const [name, text] of Object.entries(texts)) {
      if (typeof text === 'string' && text.length > 3000) long.add(name)
    }
  }
  assert.deepEqual([...long].sort(), ['a', 'c', 'cookie', 'id', 'q'])
  const begun = new Set(Array.from({ length: 3000 }, (_, at) => longText(createRandom(2, at), 1000)))
  assert.ok([...begun].every((text) => text.length <= 1002))
  for (const run of ['.', '<', '(', 'a', ' ']) assert.ok(begun.has(run.repeat(1000)), run)
})
