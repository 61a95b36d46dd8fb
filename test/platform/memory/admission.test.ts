import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAdmission } from '../../../src/platform/memory/admission.ts'

function asked(admission: ReturnType<typeof createAdmission>, id: number, times: number): void {
  for (let time = 0; time < times; time++) admission.note(id)
}

test('a cache takes in what is asked for a second time', () => {
  const admission = createAdmission()
  assert.equal(admission.admits(7, undefined), false)
  asked(admission, 7, 1)
  assert.equal(admission.admits(7, undefined), false)
  asked(admission, 7, 1)
  assert.equal(admission.admits(7, undefined), true)
  assert.equal(admission.admits(8, undefined), false)
})

test('a full cache takes in what is asked for more than twice as often as what would go', () => {
  const admission = createAdmission()
  asked(admission, 1, 5)
  asked(admission, 2, 10)
  assert.equal(admission.admits(2, 1), false)
  asked(admission, 2, 1)
  assert.equal(admission.admits(2, 1), true)
  // What is known of nothing goes first.
  assert.equal(admission.admits(2, 3), true)
})

test('what was wanted long ago goes in the end', () => {
  const admission = createAdmission()
  asked(admission, 1, 250)
  for (let other = 2; !admission.admits(2, 1); other++) {
    assert.ok(other < 4_000_000, 'never forgotten')
    asked(admission, 2, 1)
    asked(admission, 1000 + (other % 60_000), 10)
  }
})

test('what was wanted thousands of times goes as soon as what was wanted often', () => {
  const admission = createAdmission()
  asked(admission, 1, 10_000)
  for (let id = 1_000; id < 601_000; id++) admission.note(id)
  asked(admission, 2, 40)
  assert.equal(admission.admits(2, 1), true)
})

test('many ids that are asked for once do not push out what is known of a few', () => {
  const admission = createAdmission()
  const wanted = 262_144 * 3 + 11
  asked(admission, wanted, 200)
  // One of them that shares its place, too.
  for (let id = 1; id <= 1_000_000; id++) if (id % 262_144 !== 11 || id < 262_144) admission.note(id)
  for (let id = 2_000_000; id < 2_100_000; id++) {
    admission.note(id)
    assert.equal(admission.admits(id, undefined), false)
  }
  assert.equal(admission.admits(wanted, undefined), true)
})
