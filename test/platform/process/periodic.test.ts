import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPeriodic, type PeriodicOptions } from '../../../src/platform/process/periodic.ts'

const hour = 3_600_000

const periodic = (options: Partial<PeriodicOptions>) =>
  createPeriodic({ every: hour, paused: () => false, work: async () => {}, onFailure: () => {}, ...options })

test('whoever comes while it runs waits for that run; the end waits for it, and nothing runs behind it', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const runs: string[] = []
  const one = periodic({
    async work(stopped) {
      runs.push('begun')
      await promise
      runs.push(`ended, stopped: ${stopped()}`)
    },
  })
  const both = Promise.all([one.run(), one.run()])
  const closed = one.close().then(() => runs.push('closed'))
  resolve()
  await Promise.all([both, closed])
  await one.run()
  assert.deepEqual(runs, ['begun', 'ended, stopped: true', 'closed'])
})

test('a failure is told and the next run tries again; paused runs are left out', async () => {
  const told: string[] = []
  let paused = true
  let tries = 0
  const one = periodic({
    paused: () => paused,
    work: async () => {
      if (++tries === 1) throw new Error('no connection')
    },
    onFailure: ({ message }) => void told.push(message),
  })
  await one.run()
  assert.equal(tries, 0)
  paused = false
  await one.run()
  await one.run()
  await one.close()
  assert.deepEqual([tries, told], [2, ['no connection']])
})

test('it comes again by itself, one run after the other', async () => {
  let running = 0
  const enough = Promise.withResolvers<void>()
  let tries = 0
  const one = periodic({
    every: 1,
    async work() {
      running++
      await new Promise(setImmediate)
      if (running > 1) enough.reject(new Error('two at once'))
      running--
      if (++tries === 3) enough.resolve()
    },
  })
  // Its timer keeps no process alive.
  const alive = setInterval(() => {}, hour)
  await enough.promise.finally(() => clearInterval(alive))
  await one.close()
})
