import assert from 'node:assert/strict'
import { poolName } from './house.ts'
import type { Knowledge } from './knowledge.ts'
import type { Field, Mask } from './model.ts'
import type { titlesOf } from './titles.ts'
import type { Row, World } from './world.ts'

export interface Hearing {
  heard(answer: unknown, what: string): void
  readonly known: ReadonlySet<string>
}

/**
 * Words that stand in one place of a world only. Those that a caller may know are in a place that it may know; any other
 * one in an answer, wherever and whatever was asked, is a leak. `before`: what was known of a former state, which history tells.
 */
export function marksKnown(
  world: World,
  knowledge: Knowledge,
  titleOf: ReturnType<typeof titlesOf>,
  before: ReadonlySet<string> = new Set(),
): Hearing {
  const known = new Set<string>(before)
  // Pools of earlier worlds stand beside those of this one.
  const anyMark = new RegExp(`zq[a-z]+qz|${poolName(world, 0).slice(0, -3)}[a-z]qp`, 'g')
  const note = (value: unknown): void => {
    for (const [mark] of JSON.stringify(value ?? null).matchAll(anyMark)) known.add(mark)
  }
  const noteShown = (row: Row, fields: readonly Field[]): void => {
    for (const field of fields) {
      if (field.mode === 'off' || field.is === 'below') continue
      if (field.is === 'column') note(row.values.get(field.column))
      else for (const each of row.rows.get(field.table) ?? []) noteShown(each, field.fields)
    }
  }
  /** Of an object by a mask, and of what that mask shows below it. */
  const noteObject = (index: number, fields: readonly Field[], around: readonly number[]): void => {
    const thing = world.things[index]
    if (!thing || around.includes(index)) return
    noteShown(thing, fields)
    for (const field of fields) {
      if (field.is !== 'below' || field.mode === 'off') continue
      const masks = world.types[field.type]?.masks ?? []
      const inside = typeof field.shows === 'number' ? (masks[field.shows] as Mask).fields : field.shows
      for (const other of world.things) {
        const isBelow = field.column === null ? other.parents.includes(index) : other.values.get(field.column) === index
        if (other.type.index === field.type && isBelow && knowledge.sees(other.index)) {
          noteObject(other.index, inside, [...around, index])
        }
      }
    }
  }
  for (const { index } of world.things) {
    // Who has seen an object is told when it goes to the trash, so that its title is known.
    if (!knowledge.may('read', index)) continue
    note(titleOf(index, 1))
    note(titleOf(index, 2))
    if (knowledge.sees(index)) for (const mask of knowledge.masks(index)) noteObject(index, mask.fields, [])
  }
  for (const pool of world.pools.keys()) if (knowledge.knowsPool(pool)) known.add(poolName(world, pool))
  const heard = (answer: unknown, what: string): void => {
    for (const [mark] of JSON.stringify(answer ?? null).matchAll(anyMark)) {
      // What was asked with is no news.
      assert.ok(known.has(mark) || what.includes(mark), `${what}: tells ${mark}`)
    }
  }
  return { heard, known }
}
