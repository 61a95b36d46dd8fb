import type { Table } from '../../datamodel/model.ts'
import { CallbackFailed, type PendingObject, type Replacement } from '../../objects/service.ts'
import { createYielder, mapYielding } from '../../platform/process/cooperative-yield.ts'
import { isObject } from '../manifest/reader.ts'
import { withEmptyTexts, withoutEmptyTexts } from './empty-texts.ts'

export type TableOf = (objecttype: string) => Table | undefined

/** The input of a program, as bytes: the objects of a change, and further information. */
export async function payloadOf(info: object, objects: readonly PendingObject[], tableOf: TableOf): Promise<Buffer> {
  const parts = await mapYielding(
    objects,
    ({ key, mask, object, current }) =>
      JSON.stringify({
        ...inBlock(object, tableOf, withEmptyTexts),
        _callback_context: { hash: key, original_mask: mask },
        _current: current && inBlock(current, tableOf, withEmptyTexts),
      }),
    createYielder(),
  )
  return Buffer.from(`{"info":${JSON.stringify(info)},"objects":[${parts.join()}]}`)
}

type Wire = Record<string, unknown>

function inBlock(object: Wire, tableOf: TableOf, map: typeof withEmptyTexts): Wire {
  const name = object._objecttype
  const table = typeof name === 'string' ? tableOf(name) : undefined
  const block = table && object[table.name]
  return table && isObject(block) ? { ...object, [table.name]: map(table, block) } : object
}

/** The objects of an answer by their hashes. @throws {Error} with a text that continues after the name of the callback. */
export function replacementsIn(body: unknown, tableOf: TableOf): Replacement[] {
  if (isObject(body) && isObject(body.error)) throw new CallbackFailed('its error has no code')
  if (!isObject(body) || !Array.isArray(body.objects)) throw new CallbackFailed('its answer has no list objects')
  return body.objects.map((object: unknown, index) => {
    const context = isObject(object) ? object._callback_context : undefined
    const hash = isObject(context) ? context.hash : undefined
    if (!isObject(object) || typeof hash !== 'string' || hash === '') {
      throw new CallbackFailed(`objects.${index} of its answer has no _callback_context.hash`)
    }
    const { _callback_context: _context, _current, ...rest } = object
    return { key: hash, object: inBlock(rest, tableOf, withoutEmptyTexts) }
  })
}
