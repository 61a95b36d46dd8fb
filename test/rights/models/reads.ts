import assert from 'node:assert/strict'
import type { Client, Json } from '../../support/client.ts'
import type { Mask, ObjectType } from './model.ts'
import { seenOf } from './seen.ts'
import { createShow, formatNames, merges, type Showing, type ShowOptions } from './shown.ts'
import { maskNames } from './wire.ts'
import type { Thing } from './world.ts'

/** Objects by their ids, and lists: each object in each mask. */

type Pick = <T>(list: readonly T[]) => T

export interface Asking extends Showing {
  readonly client: Client
  /** Chooses by the questions of the world, so that a run can be repeated. */
  readonly pick: Pick
  /** Whose answer it is, in the words of a failure. */
  readonly who: string
  /** Looks through an answer for what the caller may not know. */
  readonly heard: (body: unknown, what: string) => void
}

export async function askReads(asking: Asking): Promise<void> {
  const { world, client, names, knowledge, pick, who, heard } = asking
  const { show } = createShow(asking)
  const drawn = (): ShowOptions => ({
    format: pick(formatNames),
    merge: pick(['none', ...merges]),
    depth: pick([1, 1, 2]),
    skipBelow: pick([false, false, true]),
  })
  const query = ({ format, merge, depth, skipBelow }: ShowOptions) => ({
    format,
    merge_linked_objects: merge,
    merge_max_depth: depth,
    ...(skipBelow ? { skip_reverse_nested: 1 } : {}),
  })

  async function one({ index, type }: Thing, mask: Mask): Promise<void> {
    const options = drawn()
    const what = `${who} reads ${type.name} ${names.ids[index]} in ${mask.name} ${JSON.stringify(options)}`
    const path = pick([
      `${names.objectIds[index]}`,
      `system_object_id/${names.ids[index]}`,
      `global_object_id/${names.ids[index]}@test`,
    ])
    const { status, body } = await client.get(`/db/${type.name}/${mask.name}/${path}`, query(options))
    heard(body, what)
    if (!knowledge.sees(index)) assert.deepEqual([status, body], [200, []], what)
    else if (!knowledge.mayUse(index, mask)) assert.deepEqual([status, body.parameters?.right], [403, 'mask'], what)
    else {
      assert.equal(status, 200, `${what} ${JSON.stringify(body)}`)
      assert.deepEqual(
        body.map((each: Json) => plain(seenOf(each, world))),
        [plain(show(index, mask, options))],
        what,
      )
    }
  }

  async function list(type: ObjectType, mask: Mask): Promise<void> {
    const options = drawn()
    const page = pick([{}, {}, { limit: 2, offset: 1 }])
    const what = `${who} lists ${type.name} in ${mask.name} ${JSON.stringify([options, page])}`
    const { status, body } = await client.get(`/db/${type.name}/${mask.name}/list`, { ...query(options), ...page })
    assert.equal(status, 200, `${what} ${JSON.stringify(body)}`)
    heard(body, what)
    const all = world.things
      .filter((thing) => thing.type === type && !thing.trashed && knowledge.mayUse(thing.index, mask))
      .filter((thing) => knowledge.sees(thing.index))
      .map((thing) => thing.index)
      .sort((a, b) => (names.objectIds[a] as number) - (names.objectIds[b] as number))
    const expected = 'limit' in page ? all.slice(1, 3) : all
    assert.deepEqual(
      body.map((each: Json) => plain(seenOf(each, world))),
      expected.map((index) => plain(show(index, mask, options))),
      what,
    )
  }

  /** Of old versions only what they tell: links came with the second one. */
  async function versions(type: ObjectType, mask: Mask): Promise<void> {
    const options = drawn()
    const what = `${who} lists versions of ${type.name} in ${mask.name} ${JSON.stringify(options)}`
    const { status, body } = await client.get(`/db/${type.name}/${mask.name}/list`, {
      ...query(options),
      all_versions: 1,
    })
    assert.equal(status, 200, `${what} ${JSON.stringify(body)}`)
    heard(body, what)
    const shown = new Set(body.map((each: Json) => each._system_object_id))
    for (const { index, type: own, trashed } of world.things) {
      const listed = own === type && !trashed && knowledge.sees(index) && knowledge.mayUse(index, mask)
      assert.equal(shown.has(names.ids[index]), listed, `${what} ${names.ids[index]}`)
    }
  }

  for (const thing of world.things) for (const mask of maskNames(thing.type)) await one(thing, mask)
  for (const type of world.types) for (const mask of maskNames(type)) await list(type, mask)
  for (const type of world.types) await versions(type, pick(maskNames(type)))
}

/** Without members that are not there. */
export const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
