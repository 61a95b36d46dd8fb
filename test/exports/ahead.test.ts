import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lookAhead } from '../../src/exports/deliver/ahead.ts'

const numbers = Array.from({ length: 250 }, (_, number) => ({ number }))

function watched() {
  const asked: number[] = []
  const at = { now: 0 }
  const find = async (entries: readonly { readonly number: number }[]) => {
    asked.push(entries.length)
    return entries.map(({ number }) => `found ${number} at ${at.now}`)
  }
  return { asked, at, look: lookAhead(numbers, { find, now: () => at.now }) }
}

test('entries are looked up together, each gets its own result', async () => {
  const { asked, look } = watched()
  for (const entry of numbers) assert.equal(await look(entry), `found ${entry.number} at 0`)
  assert.deepEqual(asked, [100, 100, 50])
})

test('a reader who is slow gets what holds then, for the entries that are left', async () => {
  const { asked, at, look } = watched()
  const [first, second, third] = numbers as [Entry, Entry, Entry]
  assert.equal(await look(first), 'found 0 at 0')
  at.now = 4999
  assert.equal(await look(second), 'found 1 at 0')
  at.now = 5000
  assert.equal(await look(third), 'found 2 at 5000')
  assert.deepEqual(asked, [100, 100])
})

test('entries that are left out are not looked up', async () => {
  const { asked, look } = watched()
  assert.equal(await look(numbers[120] as Entry), 'found 120 at 0')
  assert.equal(await look(numbers[219] as Entry), 'found 219 at 0')
  assert.equal(await look(numbers[220] as Entry), 'found 220 at 0')
  assert.deepEqual(asked, [100, 30])
})

type Entry = (typeof numbers)[number]
