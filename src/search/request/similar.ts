/** Pictures that look alike. They are looked up before the request is compiled. */
import { mostBits, type Similar } from '../../files/model.ts'
import { listOf } from './cost.ts'
import { deepest, type Fields, integerOf, optional, wrong } from './read.ts'

/** Similar pictures by file, the most similar first. */
export type AlikeFiles = ReadonlyMap<number, readonly Similar[]>

/** The id of the picture of an element. @throws {AppError} for a value that is no id. */
export function pictureOf(element: Fields, place: string): number {
  const id = optional(element, '_id', 'integer', place)
  if (id === undefined || id < 1) throw wrong(`${place}._id`, 'the id of a file')
  return id
}

/** The files in the elements of a request, each once. Elements that are refused later are skipped. */
export function picturesOf(request: Fields): readonly number[] {
  const found = new Set<number>()
  const look = (list: unknown, depth: number): void => {
    if (depth > deepest) return
    for (const element of listOf(list)) {
      if (typeof element !== 'object' || element === null) continue
      const { type, _id, search, subsearch } = element as Fields
      const id = integerOf(_id)
      if (type === 'similar' && id !== null && id > 0) found.add(id)
      look(search, depth + 1)
      if (typeof subsearch === 'object' && subsearch !== null) look((subsearch as Fields).search, depth + 1)
    }
  }
  look(request.search, 0)
  return [...found]
}

/**
 * The similar pictures, grouped by weight: the more similar, the higher the weight. The file itself is in the group of identical
 * pictures.
 */
export function alikeByWeight(
  id: number,
  bits: number,
  alike: AlikeFiles,
): readonly { readonly weight: number; readonly ids: readonly number[] }[] {
  const near = (alike.get(id) ?? []).filter((one) => one.bits <= bits)
  const weight = (one: Similar): number => (one.same ? 1 : (mostBits + 1 - one.bits) / (mostBits + 2))
  const groups = Map.groupBy([{ id, bits: 0, same: true }, ...near], weight)
  return [...groups].map(([each, ones]) => ({ weight: each, ids: ones.map((one) => one.id) }))
}
