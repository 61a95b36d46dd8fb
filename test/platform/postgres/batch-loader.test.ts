import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createBatchLoader } from '../../../src/platform/postgres/batch-loader.ts'

function asked(most: number, sizeOf?: (question: number) => number) {
  const statements: (readonly number[])[] = []
  const ask = createBatchLoader(
    async (questions: readonly number[]) => {
      statements.push([...questions])
      if (questions.includes(13)) throw new Error('thirteen')
      return new Set(questions)
    },
    sizeOf ? { most, sizeOf } : { most },
  )
  return { ask, statements }
}

describe('batch loader', () => {
  test('who asks within a turn shares a statement, who asks later does not', async () => {
    const { ask, statements } = asked(100)
    const first = [ask(1), ask(2)]
    await nextTurn()
    const second = ask(3)
    assert.deepEqual(await Promise.all(first), [new Set([1, 2]), new Set([1, 2])])
    assert.deepEqual(await second, new Set([3]))
    assert.deepEqual(statements, [[1, 2], [3]])
  })

  test('a statement that has been asked enough is left alone', async () => {
    const { ask, statements } = asked(2)
    const answers = await Promise.all([ask(1), ask(2), ask(3)])
    assert.deepEqual(statements, [[1, 2], [3]])
    assert.deepEqual(answers[2], new Set([3]))
    const sized = asked(10, (question) => question)
    await Promise.all([sized.ask(4), sized.ask(9), sized.ask(1)])
    assert.deepEqual(sized.statements, [[4, 9], [1]])
  })

  test('what fails, fails for those who asked it, and for nobody after them', async () => {
    const { ask } = asked(100)
    const failed = await Promise.allSettled([ask(12), ask(13)])
    assert.deepEqual(
      failed.map(({ status }) => status),
      ['rejected', 'rejected'],
    )
    assert.deepEqual(await ask(14), new Set([14]))
  })
})
