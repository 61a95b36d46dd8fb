import { invalidValue } from '../../content/values.ts'

type Fields = Readonly<Record<string, unknown>>

interface Parts {
  readonly wire: Record<string, unknown>
  readonly block: Record<string, unknown>
  readonly at: string
  readonly place: string
}

/**
 * Group editing (decision 34): a payload whose block has a list in `_id` stands for the same change of each of these
 * objects. `_version`, when it is sent, is a list beside it. Nothing else may name an object.
 */
export function groupOf(ids: readonly unknown[], parts: Parts, most: number): (Parts & { readonly name: string })[] {
  const { wire, block, at, place } = parts
  if (ids.length === 0 || ids.length > most) throw invalidValue(`${at}._id`, ids, `a list of 1 to ${most} ids`)
  for (const key of ['_system_object_id', '_global_object_id', '_uuid']) refuseName(wire, key, place)
  refuseName(block, 'lookup:_id', at)
  const versions = block._version ?? null
  if (versions !== null && !(Array.isArray(versions) && versions.length === ids.length)) {
    throw invalidValue(`${at}._version`, versions, 'absent, or a list as long as that of _id')
  }
  return ids.map((id, index) => {
    if (id === null || id === undefined) throw invalidValue(`${at}._id.${index}`, id, 'a positive integer')
    const version = versions === null ? null : (versions as unknown[])[index]
    return { ...parts, block: { ...block, _id: id, _version: version }, name: `${place} (_id ${String(id)})` }
  })
}

function refuseName(from: Fields, key: string, place: string): void {
  if (from[key] === undefined || from[key] === null) return
  throw invalidValue(`${place}.${key}`, from[key], 'absent where _id names several objects')
}
