import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { covers, mergeSystemRights } from '../../src/people/system-rights.ts'

const value = fc.oneof(fc.boolean(), fc.uniqueArray(fc.constantFrom('a', 'b', 'c')), fc.constantFrom('a', 'b'))
const parameters = fc.dictionary(fc.constantFrom('level', 'create', 'get'), value, { maxKeys: 3 })
const rights = fc.dictionary(fc.constantFrom('system.x', 'system.y', 'system.z'), parameters, { maxKeys: 3 })

test('merged rights cover each of their sources, in any order', () => {
  fc.assert(
    fc.property(fc.array(rights, { minLength: 1, maxLength: 4 }), (sources) => {
      for (const order of [sources, sources.toReversed()]) {
        const merged = mergeSystemRights(order)
        for (const source of sources) assert.ok(covers(merged, source), JSON.stringify([order, [...merged]]))
      }
    }),
  )
})

test('merging unites lists, lets one grant set a flag, and lets a source without the flag lift a restriction', () => {
  const merge = (...sources: Record<string, Record<string, unknown>>[]) =>
    Object.fromEntries(mergeSystemRights(sources))
  assert.deepEqual(merge({ r: { level: ['a'] } }, { r: { level: ['b', 'a'] } }), { r: { level: ['a', 'b'] } })
  assert.deepEqual(merge({ r: { level: 'a' } }, { r: { level: 'b' } }), { r: { level: ['a', 'b'] } })
  assert.deepEqual(merge({ r: { create: false } }, { r: { create: true } }), { r: { create: true } })
  assert.deepEqual(merge({ r: { create: false } }, { r: { create: false } }), { r: { create: false } })
  assert.deepEqual(merge({ r: { create: false } }, { r: {} }), { r: {} })
  assert.deepEqual(merge({ r: { get: true } }, { r: {} }, { s: {} }), { r: { get: true }, s: {} })
})

test('nobody covers a right that they lack, a value that they lack, or a restriction lifted', () => {
  const held = mergeSystemRights([
    { 'system.user': { create: false, read: true }, 'system.datamodel': { level: ['development'] } },
  ])
  assert.ok(covers(held, { 'system.user': { create: false } }))
  assert.ok(
    covers(held, { 'system.datamodel': { level: ['development'] }, 'system.user': { create: false, read: true } }),
  )
  assert.equal(covers(held, { 'system.user': {} }), false)
  assert.equal(covers(held, { 'system.user': { create: true } }), false)
  assert.equal(covers(held, { 'system.datamodel': { level: ['development', 'commit'] } }), false)
  assert.equal(covers(held, { 'system.root': {} }), false)
})
