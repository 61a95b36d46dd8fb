import { AppError, badRequest } from '../platform/errors.ts'
import type { TagFilter as GrantTagFilter } from '../rights/model.ts'

/**
 * A condition on the tags of an object. Empty members are ignored, the others must all hold. `changed` is for transitions: at least
 * one of its tags was added or removed.
 */
export interface TagFilter extends GrantTagFilter {
  readonly changed: readonly number[]
}

/** Tags of an object before and after a change; null if there is no object (before an insert). */
export interface TagState {
  readonly before: readonly number[] | null
  readonly after: readonly number[] | null
}

/** Whether the filter matches the `side` of the change; without an object there are no tags. */
export function matchesTagFilter(filter: TagFilter | null, state: TagState, side: keyof TagState = 'after'): boolean {
  if (filter === null) return true
  const tags = state[side] ?? []
  return (
    filter.all.every((id) => tags.includes(id)) &&
    (filter.any.length === 0 || filter.any.some((id) => tags.includes(id))) &&
    !filter.not.some((id) => tags.includes(id)) &&
    (filter.changed.length === 0 || filter.changed.some((id) => hasChanged(id, state)))
  )
}

function hasChanged(id: number, { before, after }: TagState): boolean {
  return (before ?? []).includes(id) !== (after ?? []).includes(id)
}

/** Wire form: every member is optional. */
export interface TagFilterInput {
  all?: readonly number[]
  any?: readonly number[]
  not?: readonly number[]
  changed?: readonly number[]
}

const slots = ['all', 'any', 'not', 'changed'] as const

/**
 * Reads a filter from its wire form; null when it has no condition. `place` is used in errors.
 * @throws {AppError} `TagNotFound`; `ServerGeneric` for a tag that is in a member twice or in two of `all`, `any` and `not`, and
 * for `changed` in conditions on a single state.
 */
export function readTagFilter(
  input: TagFilterInput | null | undefined,
  known: { has(id: number): boolean },
  place: string,
  options: { changed: boolean } = { changed: true },
): TagFilter | null {
  if (!input) return null
  const filter = { all: input.all ?? [], any: input.any ?? [], not: input.not ?? [], changed: input.changed ?? [] }
  if (slots.every((slot) => filter[slot].length === 0)) return null
  if (!options.changed && filter.changed.length > 0) {
    throw badRequest(`${place}: "changed" is for transitions only`, { name: place, slot: 'changed' })
  }
  assertOnce([...filter.all, ...filter.any, ...filter.not], place)
  assertOnce(filter.changed, place)
  for (const slot of slots) {
    for (const id of filter[slot]) if (!known.has(id)) throw new AppError('TagNotFound', { name: place, slot, tag: id })
  }
  return filter
}

function assertOnce(ids: readonly number[], place: string): void {
  const twice = ids.find((id, index) => ids.indexOf(id) !== index)
  if (twice !== undefined)
    throw badRequest(`${place} names the tag ${twice} more than once`, { name: place, tag: twice })
}

/** Converts back to the wire form, without empty members. */
export function renderTagFilter(filter: TagFilter): TagFilterInput {
  return Object.fromEntries(slots.filter((slot) => filter[slot].length > 0).map((slot) => [slot, filter[slot]]))
}

/** All tags of a filter. */
export function tagsOfFilter(filter: TagFilter | null): number[] {
  return filter === null ? [] : slots.flatMap((slot) => filter[slot])
}
