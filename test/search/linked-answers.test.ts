import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLinkedAnswers } from '../../src/search/postgres/query/linked/linked-answers.ts'

test('what was found out about linked objects is good for one moment of the index', () => {
  const answers = createLinkedAnswers(1_000_000)
  answers.keep('one', [3, 4], 100)
  answers.keep('too many', null, 100)
  answers.keep('none', [], 101)
  assert.deepEqual(
    ['one', 'too many', 'none', 'never asked'].map((query) => answers.get(query, 100)),
    [[3, 4], null, undefined, undefined],
  )
  answers.keep('one', [4], 101)
  assert.deepEqual(
    ['one', 'too many', 'none'].map((query) => answers.get(query, 101)),
    [[4], undefined, []],
  )
})
