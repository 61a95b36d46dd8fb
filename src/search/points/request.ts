/** `point_in_time` of a request, and the identity of its search. */
import { createHash } from 'node:crypto'
import { badRequest } from '../../platform/errors.ts'
import { canonicalJson } from '../../platform/values/canonical-json.ts'
import { saysSomething } from '../request/known.ts'
import { type Fields, fieldsAt, optional, wrong } from '../request/read.ts'

export interface PointRequest {
  /** null: a new one is opened. */
  readonly id: string | null
  /** As it was sent; null: unchanged, or `standardKeepAlive`. */
  readonly keepAlive: KeepAlive | null
}

export interface KeepAlive {
  readonly text: string
  readonly seconds: number
}

export const standardKeepAlive: KeepAlive = { text: '1m', seconds: 60 }
const longestKeepAlive = 3600
const secondsOf = { s: 1, m: 60, h: 3600 } as const

/** null: the request has none. @throws {AppError} with the path. */
export function pointRequest(request: Fields): PointRequest | null {
  const { point_in_time: point } = request
  if (point === undefined || point === null) return null
  const fields = fieldsAt(point, 'point_in_time')
  const id = optional(fields, 'id', 'string', 'point_in_time') || null
  const text = optional(fields, 'keep_alive', 'string', 'point_in_time')
  if (id !== null && membersOf(request.aggregations) > 0) {
    throw badRequest('aggregations are answered by the request that opens the point in time.', { name: 'aggregations' })
  }
  return { id, keepAlive: text ? keepAliveOf(text) : null }
}

const membersOf = (value: unknown): number =>
  typeof value === 'object' && value !== null ? Object.keys(value).length : 0

function keepAliveOf(text: string): KeepAlive {
  const [, number, unit] = /^(\d{1,5})([smh])$/.exec(text) ?? []
  const seconds = Number(number) * secondsOf[unit as keyof typeof secondsOf]
  if (seconds >= 1 && seconds <= longestKeepAlive) return { text, seconds }
  throw wrong('point_in_time.keep_alive', 'from 1s to 1h, such as 30s, 5m or 1h')
}

/** Seconds in the form for answers. */
export function keepAliveText(seconds: number): string {
  if (seconds % 3600 === 0) return `${seconds / 3600}h`
  return seconds % 60 === 0 ? `${seconds / 60}m` : `${seconds}s`
}

/** The members that decide about the objects and their order. They must be the same for each page. */
const ofTheSearch = ['type', 'objecttypes', 'search', 'sort', 'languages', 'timezone', 'include_deleted'] as const

export function digestOfSearch(request: Fields): string {
  const said = ofTheSearch.filter((name) => saysSomething(request[name])).map((name) => [name, request[name]])
  return createHash('sha256').update(canonicalJson(said)).digest('base64url')
}
