import { AppError, badRequest } from '../platform/errors.ts'
import type { Form } from '../platform/http/form.ts'

/** Default and maximum number of rows on a page. */
const [usualRows, mostRows] = [50, 500]
/** Maximum offset: the database counts up to each row, so further rows need a narrower filter. */
const farthest = 1_000_000
const longestText = 500
const mostIds = 200

/** Reads the parameters of an address, and checks the form of each. @throws {AppError} `ServerGeneric` that names it. */
export interface Query {
  has(name: string): boolean
  text(name: string, most?: number): string | null
  integer(name: string, range: { readonly least: number; readonly most: number }): number | null
  id(name: string): number | null
  ids(name: string): readonly number[] | null
  choice<T extends string>(name: string, values: readonly T[]): T | null
  flag(name: string): boolean
  page(): Paging
}

export interface Paging {
  readonly offset: number
  readonly limit: number
}

export function readQuery(form: Form): Query {
  function text(name: string, most = longestText): string | null {
    const value = form.get(name)?.trim()
    if (!value) return null
    if (value.length > most) throw badRequest(`${name} has at most ${most} characters.`, { name })
    return value
  }

  function integer(name: string, { least, most }: { readonly least: number; readonly most: number }): number | null {
    const value = text(name, 20)
    if (value === null) return null
    const number = /^\d+$/.test(value) ? Number(value) : Number.NaN
    if (number >= least && number <= most) return number
    throw badRequest(`${name} must be a whole number from ${least} to ${most}.`, { name, value })
  }

  return {
    has: (name) => form.has(name),
    text,
    integer,
    id: (name) => integer(name, { least: 1, most: Number.MAX_SAFE_INTEGER }),
    ids(name) {
      const value = text(name, 20 * mostIds)
      if (value === null) return null
      const parts = value.split(/[\s,]+/).filter((part) => part !== '')
      const ids = parts.map((part) => idIn(part))
      if (parts.length > mostIds || ids.includes(null)) {
        throw badRequest(`${name} must be up to ${mostIds} ids, separated by commas.`, { name })
      }
      return ids.filter((id) => id !== null)
    },
    choice(name, values) {
      const value = text(name)
      if (value === null) return null
      const known = values.find((one) => one === value)
      if (known === undefined) throw badRequest(`${name} must be one of ${values.join(', ')}.`, { name, value })
      return known
    },
    flag(name) {
      const value = text(name)
      if (value === null || value === '0' || value === 'false') return false
      if (value === '1' || value === 'true') return true
      throw badRequest(`${name} must be 1 or 0.`, { name, value })
    },
    page: () => ({
      offset: integer('offset', { least: 0, most: farthest }) ?? 0,
      limit: integer('limit', { least: 1, most: mostRows }) ?? usualRows,
    }),
  }
}

/** A safe integer from 1 on; null: the text is none. */
export function idIn(text: string): number | null {
  const number = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN
  return number <= Number.MAX_SAFE_INTEGER ? number : null
}

/** A part of a path that must be an id. @throws {AppError} `ResourceNotFound`: no record can have such an id. */
export function pathId(text: string | undefined, name: string): number {
  const id = idIn(text ?? '')
  if (id === null) throw notThere({ [name]: text })
  return id
}

export const notThere = (parameters: Record<string, unknown>): AppError => new AppError('ResourceNotFound', parameters)

/** Offsets of the previous and next page, null where there is none; `found` includes one more row than requested. */
export function neighbours({ offset, limit }: Paging, found: number) {
  return {
    Offset: offset,
    Limit: limit,
    Prev: offset === 0 ? null : Math.max(0, offset - limit),
    Next: found > limit ? offset + limit : null,
  }
}
