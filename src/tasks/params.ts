import { badRequest } from '../platform/errors.ts'
import type { WalkRequest } from '../search/service.ts'

export type Params = Readonly<Record<string, unknown>>

const at = (name: string): string => `task.task_params.${name}`

export function wrong(name: string, expected: string): Error {
  const path = at(name)
  return badRequest(`${path} must be ${expected}.`, { name: path, expected })
}

/** @throws {AppError} for a parameter that the module does not have */
export function assertKnown(params: Params, known: readonly string[]): void {
  const unknown = Object.keys(params).find((name) => !known.includes(name) && params[name] !== null)
  if (unknown === undefined) return
  const path = at(unknown.slice(0, 100))
  throw badRequest(`${path}: the module has no such parameter.`, { name: path, known })
}

export function flagOf(params: Params, name: string, otherwise = false): boolean {
  const value = params[name] ?? otherwise
  if (typeof value !== 'boolean') throw wrong(name, 'true or false')
  return value
}

export function choiceOf<const T extends string>(params: Params, name: string, choices: readonly T[], otherwise: T): T {
  const value = params[name] ?? otherwise
  if (!choices.includes(value as T)) throw wrong(name, `one of ${choices.join(', ')}`)
  return value as T
}

export function idOf(value: unknown, name: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1) throw wrong(name, 'a positive integer')
  return value
}

/** Ids of a list, each once; entries are ids, or objects that contain one. */
export function idsOf(value: unknown, name: string, { key, most }: { key: string; most: number }): number[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value) || value.length > most) throw wrong(name, `a list of at most ${most} ids`)
  const ids = value.map((entry, index) => idOf(named(entry, key), `${name}[${index}]`))
  if (new Set(ids).size < ids.length) throw wrong(name, 'a list with each id once')
  return ids
}

const named = (entry: unknown, key: string): unknown =>
  typeof entry === 'object' && entry !== null ? (entry as Params)[key] : entry

const mostTags = 100

export interface TagChange {
  readonly set: readonly number[]
  readonly unset: readonly number[]
}

export const tagParams = ['set_tags', 'unset_tags', 'set_unset_tags'] as const

/** `set_tags` and `unset_tags`, or both in one list: `set_unset_tags: {tags: [{_id, set}]}`. */
export function tagsOf(params: Params): TagChange {
  const options = { key: '_id', most: mostTags }
  const set = idsOf(params.set_tags, 'set_tags', options)
  const unset = idsOf(params.unset_tags, 'unset_tags', options)
  const both = params.set_unset_tags ?? null
  if (both !== null) {
    const list = typeof both === 'object' ? (both as Params).tags : both
    const ids = idsOf(list, 'set_unset_tags.tags', options)
    for (const [index, id] of ids.entries()) {
      const { set: sets } = (list as Params[])[index] ?? {}
      if (typeof sets !== 'boolean') throw wrong(`set_unset_tags.tags[${index}].set`, 'true or false')
      if (sets) set.push(id)
      else unset.push(id)
    }
  }
  const twice = set.find((id) => unset.includes(id))
  if (twice !== undefined) throw wrong('unset_tags', `without the tag ${twice}, which is set`)
  return { set: [...new Set(set)], unset: [...new Set(unset)] }
}

/** The objects of a task. */
export interface TaskSearch {
  readonly request: WalkRequest
  /** The request as it was sent: parts of it that do not affect which objects are found are checked all the same. */
  readonly whole: Params
  /** Only objects that have changed since the last completed run. */
  readonly incremental: boolean
}

export const searchParams = ['search', 'incremental'] as const

export function searchOf(params: Params): TaskSearch {
  const { search } = params
  if (typeof search !== 'object' || search === null || Array.isArray(search)) throw wrong('search', 'a search request')
  const { incremental: within, ...whole } = search as Params
  if ((whole.type ?? '') !== '' && whole.type !== 'object')
    throw wrong('search.type', 'absent: tasks are about objects')
  for (const name of ['point_in_time', 'search_after'] as const) {
    if ((whole[name] ?? null) !== null) throw wrong(`search.${name}`, 'absent: a task goes through all that is found')
  }
  const incremental = flagOf(params, 'incremental') || flagOf({ 'search.incremental': within }, 'search.incremental')
  const { search: elements, objecttypes, languages, timezone, include_deleted } = whole as WalkRequest
  const said = { search: elements, objecttypes, languages, timezone, include_deleted }
  const request = Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined && value !== null))
  return { request, whole: { ...whole, type: undefined }, incremental }
}
