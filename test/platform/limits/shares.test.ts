import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { createShares } from '../../../src/platform/limits/shares.ts'

/** Numbers that look random and are the same each time (Park and Miller). */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
}

interface Work {
  readonly who: string
  readonly at: number
  end(): void
}

/** Shares beside a list of who runs and who waits, which only this test keeps. */
function watched(places: number) {
  const shares = createShares(places)
  const running: Work[] = []
  const waiting: { readonly who: string; readonly at: number; readonly stop: AbortController }[] = []
  let arrivals = 0
  const begun: string[] = []
  return {
    shares,
    running,
    waiting,
    begun,
    add(who: string): Promise<void> {
      const entry = { who, at: arrivals++, stop: new AbortController() }
      waiting.push(entry)
      const work = shares.run(
        who,
        () => {
          waiting.splice(waiting.indexOf(entry), 1)
          begun.push(who)
          const { promise, resolve } = Promise.withResolvers<void>()
          const own = {
            who,
            at: entry.at,
            end: () => {
              running.splice(running.indexOf(own), 1)
              resolve()
            },
          }
          running.push(own)
          return promise
        },
        entry.stop.signal,
      )
      return work.catch(() => {
        waiting.splice(waiting.indexOf(entry), 1)
      })
    },
  }
}

test('over thousands of steps nobody holds more than the places, and one who has none never waits for a single other', async () => {
  for (let seed = 1; seed <= 40; seed++) {
    const next = numbers(seed * 7919)
    const places = 1 + next(4)
    const { shares, running, waiting, add } = watched(places)
    const all: Promise<void>[] = []
    const held = (who: string): number => running.filter((one) => one.who === who).length
    for (let step = 0; step < 150; step++) {
      const what = next(10)
      if (what < 5) all.push(add(`p${next(next(2) === 0 ? 1 : 5)}`))
      else if (what < 9) running[next(Math.max(1, running.length))]?.end()
      else waiting[next(Math.max(1, waiting.length))]?.stop.abort()
      await turn()
      const about = `seed ${seed}, step ${step}`
      const people = new Set([...running, ...waiting].map(({ who }) => who))
      assert.deepEqual([shares.running, shares.waiting], [running.length, waiting.length], about)
      assert.ok(running.length <= places + 1, about)
      for (const who of people) assert.ok(held(who) <= places, about)
      for (const { who } of waiting) {
        assert.ok(running.length >= places, `${about}: a place is free and ${who} waits`)
        const others = new Set(running.map((one) => one.who))
        assert.ok(held(who) > 0 || others.size > 1, `${about}: ${who} waits for a single other`)
      }
    }
    while (running.length > 0) {
      running[0]?.end()
      await turn()
    }
    await Promise.all(all)
    assert.deepEqual([shares.running, shares.waiting, shares.of('p0')], [0, 0, 0])
  }
})

test('those who wait take turns, however much one of them asked for first', async () => {
  const { running, begun, add } = watched(1)
  const all = Array.from({ length: 20 }, () => add('greedy'))
  for (const who of ['b', 'c', 'd']) all.push(add(who), add(who))
  while (running.length > 0) {
    running[0]?.end()
    await turn()
  }
  await Promise.all(all)
  // The first ones ran before anybody else was there.
  const last = (who: string): number => begun.lastIndexOf(who)
  for (const who of ['b', 'c', 'd']) assert.ok(last(who) < 12, begun.join(' '))
  assert.equal(begun.length, 26)
})
