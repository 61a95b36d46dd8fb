import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planTests } from '../../scripts/test-plan.ts'

const file = (name: string, text = '') => ({ name, text })
const many = Array.from({ length: 400 }, (_, index) => file(`test/${String(index).padStart(3, '0')}.test.ts`))
const lengthOf = (durations: Record<string, number>) => (group: readonly string[]) =>
  group.reduce((sum, name) => sum + (durations[name] ?? 0), 0)

test('files that took long begin first; neighbours share a process', () => {
  const files = ['test/a.test.ts', 'test/b.test.ts', 'test/c.test.ts', 'test/d.test.ts'].map((name) => file(name))
  const durations = {
    'test/a.test.ts': 1000,
    'test/b.test.ts': 60_000,
    'test/c.test.ts': 2000,
    'test/d.test.ts': 90_000,
  }
  assert.deepEqual(planTests(files, durations, 2), [
    ['test/d.test.ts'],
    ['test/b.test.ts'],
    ['test/a.test.ts', 'test/c.test.ts'],
  ])
})

test('the first processes run many files, each further one at most as many, down to half a minute; no file is lost', () => {
  const durations = Object.fromEntries(many.map(({ name }) => [name, 9000]))
  const plan = planTests(many, durations, 4)
  const lengths = plan.map(lengthOf(durations))
  assert.deepEqual(
    lengths.slice(0, -1),
    lengths.slice(0, -1).toSorted((one, other) => other - one),
  )
  // 400 files of 9 seconds in 4 processes, three times as many parts.
  assert.ok((lengths[0] as number) > 280_000 && (lengths[0] as number) <= 300_000, JSON.stringify(lengths))
  assert.ok(lengths.slice(0, -1).every((length) => length > 20_000 && length <= 300_000))
  assert.ok(plan.length < 60, String(plan.length))
  assert.deepEqual(
    plan.flat().toSorted(),
    many.map(({ name }) => name),
  )
})

test('a file longer than any group has a process of its own, and the others are planned as before', () => {
  const files = [file('test/a.test.ts'), file('test/b.test.ts'), file('test/c.test.ts')]
  const durations = { 'test/a.test.ts': 900_000, 'test/b.test.ts': 10, 'test/c.test.ts': 10 }
  assert.deepEqual(planTests(files, durations, 4), [['test/a.test.ts'], ['test/b.test.ts', 'test/c.test.ts']])
})

test('a file that says so is alone; what runs processes is guessed to take longer', () => {
  const files = [
    file('test/a.test.ts', 'short'),
    file('test/b.test.ts', '// alone: it measures memory\n'),
    file('test/c.test.ts', 'x'),
  ]
  assert.deepEqual(planTests(files, {}, 4), [['test/b.test.ts'], ['test/a.test.ts', 'test/c.test.ts']])
  const long = [
    file('test/a.test.ts', 'x'.repeat(20_000)),
    file('test/b.test.ts', `process.kill(1, 'SIGKILL')${'x'.repeat(20_000)}`),
  ]
  assert.deepEqual(planTests(long, {}, 4), [['test/b.test.ts'], ['test/a.test.ts']])
})
