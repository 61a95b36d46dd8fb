import assert from 'node:assert/strict'
import type { Json } from '../support/client.ts'
import type { Knowledge } from '../support/hidden/knowledge.ts'
import { columns, masks, typeNames } from '../support/hidden/model.ts'
import type { Scene } from '../support/hidden/scene.ts'
import type { World } from '../support/hidden/twins.ts'

/** Reads, lists and totals beside what the records of the scene say of this caller. */
export async function asRuled({ svc, ids, objectIds }: World, login: string, { things }: Scene, knowledge: Knowledge) {
  const client = svc.as(login)
  const found: string[] = []
  for (const type of typeNames) {
    const indexes = [...things.keys()].filter((index) => things[index]?.type === type)
    for (const mask of ['standard', ...Object.keys(masks[type])]) {
      for (const index of indexes) {
        const { status, body } = await client.get(`/db/${type}/${type}__${mask}/${objectIds[index]}`)
        const usable = knowledge.mayUse(index, mask)
        const at = `${login} ${type} ${index} ${mask}`
        if (!knowledge.mayRead(index)) assert.deepEqual([status, body], [200, []], at)
        else if (!usable) assert.deepEqual([status, body.parameters?.right], [403, 'mask'], at)
        else {
          assert.equal(status, 200, at)
          const shown = Object.keys(body[0][type]).filter((key) => key in columns[type])
          const has = (column: string) => mask === 'standard' || masks[type][mask]?.includes(column)
          const inMask = Object.keys(columns[type]).filter((column) => !column.includes('.') && has(column))
          assert.deepEqual(shown.sort(), inMask.sort(), at)
          found.push(at)
        }
      }
      const { body } = await client.get(`/db/${type}/${type}__${mask}/list`, { format: 'short' })
      const listed = indexes.filter((index) => knowledge.mayUse(index, mask))
      assert.deepEqual(
        body.map((object: Json) => object._system_object_id),
        listed.map((index) => ids[index]),
        `${login} list ${type} ${mask}`,
      )
    }
    for (const [column, kind] of Object.entries<string>(columns[type])) {
      if (!['string', 'number', 'integer.2', 'key'].includes(kind) || column.includes('.')) continue
      for (const value of new Set(indexes.map((index) => things[index]?.values[column]))) {
        if (value === undefined) continue
        const search = [{ type: 'in', fields: [`${type}.${column}`], in: [value] }]
        const { body } = await client.post('/search', { objecttypes: [type], search, limit: 0 })
        const count = indexes.filter(
          (index) => knowledge.mayKnow(index, column) && things[index]?.values[column] === value,
        )
        assert.equal(body.count, count.length, `${login} ${type}.${column} ${value}`)
      }
    }
  }
  assert.ok(found.length > 0)
}
