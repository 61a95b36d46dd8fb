import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planTests } from '../../scripts/test-plan.ts'

const file = (name: string, text = '') => ({ name, text })

test('files that took long begin first, each in a process of its own; neighbours that took moments share one', () => {
  const files = ['test/a.test.ts', 'test/b.test.ts', 'test/c.test.ts', 'test/d.test.ts'].map((name) => file(name))
  const durations = {
    'test/a.test.ts': 1000,
    'test/b.test.ts': 60_000,
    'test/c.test.ts': 2000,
    'test/d.test.ts': 90_000,
  }
  assert.deepEqual(planTests(files, durations), [
    ['test/d.test.ts'],
    ['test/b.test.ts'],
    ['test/a.test.ts', 'test/c.test.ts'],
  ])
})

test('a process ends when its files together took long enough, and no file is lost', () => {
  const files = Array.from({ length: 40 }, (_, index) => file(`test/${String(index).padStart(2, '0')}.test.ts`))
  const plan = planTests(files, Object.fromEntries(files.map(({ name }) => [name, 3000])))
  assert.ok(plan.length > 1 && plan.every((group) => group.length <= 7), JSON.stringify(plan))
  assert.deepEqual(
    plan.flat().toSorted(),
    files.map(({ name }) => name),
  )
})

test('a file that says so is alone, and begins early where nothing is known of it', () => {
  const files = [
    file('test/a.test.ts', 'short'),
    file('test/b.test.ts', '// alone: it measures memory\n'),
    file('test/c.test.ts', 'x'),
  ]
  assert.deepEqual(planTests(files, {}), [['test/b.test.ts'], ['test/a.test.ts', 'test/c.test.ts']])
  const known = planTests(files, { 'test/a.test.ts': 9000, 'test/b.test.ts': 10, 'test/c.test.ts': 10 })
  assert.deepEqual(known, [['test/a.test.ts', 'test/c.test.ts'], ['test/b.test.ts']])
})
