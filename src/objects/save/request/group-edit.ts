import { invalidValue, isRecord } from '../../content/values.ts'
import { editLimits } from '../edits/model.ts'
import { valuesOf } from '../edits/parse.ts'

type Fields = Readonly<Record<string, unknown>>

interface Parts {
  readonly wire: Record<string, unknown>
  readonly block: Record<string, unknown>
  readonly at: string
  readonly place: string
}

/**
 * Group editing (decision 34): a payload whose block has a list in `_id` is the same change for each of these objects. `_version`,
 * when it is sent, is a list of the same length. No other member may identify an object.
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
  assertModerate(ids.length, parts)
  return ids.map((id, index) => {
    if (id === null || id === undefined) throw invalidValue(`${at}._id.${index}`, id, 'a positive integer')
    const version = versions === null ? null : (versions as unknown[])[index]
    return { ...parts, block: { ...block, _id: id, _version: version }, name: `${place} (_id ${String(id)})` }
  })
}

/** Total characters of the values of all objects of a group. */
const mostCharacters = 128 * 1024 * 1024

/** A value that is sent once counts as often as there are objects, as if it had been sent for each of them. */
function assertModerate(objects: number, { wire, block, at, place }: Parts): void {
  const values = valuesOf(wire._operations) * objects
  if (values > editLimits.groupValues) {
    const expected = `at most ${editLimits.groupValues} rows, tags and grants for all objects together`
    throw invalidValue(`${place}._operations`, values, expected)
  }
  const { _id: _, _version: __, ...fields } = block
  const beside = Object.entries(wire).filter(([, value]) => value !== block)
  const most = Math.floor(mostCharacters / objects)
  if (charactersOf([fields, beside], most) <= most) return
  throw invalidValue(at, `${objects} objects`, `at most ${most} characters for each of so many objects`)
}

/** Characters of the texts of a value, and a few for everything else; counting ends beyond `most`. */
function charactersOf(value: unknown, most: number): number {
  let count = 0
  const open = [value]
  while (open.length > 0 && count <= most) {
    const next = open.pop()
    count += typeof next === 'string' ? next.length + 2 : 4
    if (Array.isArray(next)) for (const member of next) open.push(member)
    else if (isRecord(next)) for (const [key, member] of Object.entries(next)) open.push(key, member)
  }
  return count
}

function refuseName(from: Fields, key: string, place: string): void {
  if (from[key] === undefined || from[key] === null) return
  throw invalidValue(`${place}.${key}`, from[key], 'absent where _id names several objects')
}
