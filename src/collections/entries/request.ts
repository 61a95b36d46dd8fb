import type { NamedObject } from '../../objects/service.ts'
import { AppError, badRequest } from '../../platform/errors.ts'
import { createYielder } from '../../platform/process/cooperative-yield.ts'
import { isRecord } from '../../platform/values/records.ts'
import { assertStorable } from '../../platform/values/text.ts'

/** The object named by one entry of a request. */
export interface SentEntry {
  readonly path: string
  readonly named: NamedObject | { readonly by: 'remote'; readonly globalId: string }
  /** undefined: not said. */
  readonly props: object | null | undefined
}

/** Reads the value of `lookup:_global_object_id`; null: it names no object. */
export type ReadLookup = (lookup: Readonly<Record<string, unknown>>, path: string) => NamedObject | null

/**
 * Reads the entries of a list, and lets other work run in between: there may be a hundred thousand.
 * @throws {AppError} naming the entry
 */
export async function readEntries(
  sent: readonly unknown[],
  place: string,
  { databaseName, readLookup }: { readonly databaseName: string; readonly readLookup: ReadLookup },
): Promise<SentEntry[]> {
  const yielder = createYielder()
  const entries: SentEntry[] = []
  for (const [index, wire] of sent.entries()) {
    if (yielder.due()) await yielder.yield()
    const path = `${place}[${index}]`
    if (!isRecord(wire)) throw badRequest(`${path} must be an object`, { path })
    entries.push({ path, named: nameOf(wire, path, databaseName, readLookup), props: propsOf(wire, path) })
  }
  return entries
}

const globalId = /^([1-9]\d{0,15})@(.{1,250})$/s

function nameOf(
  { _global_object_id: id, 'lookup:_global_object_id': lookup }: Readonly<Record<string, unknown>>,
  path: string,
  databaseName: string,
  readLookup: ReadLookup,
): SentEntry['named'] {
  if (id !== undefined && id !== null) {
    const at = `${path}._global_object_id`
    const parts = typeof id === 'string' ? globalId.exec(id) : null
    const number = Number(parts?.[1])
    if (!parts || !Number.isSafeInteger(number))
      throw badRequest(`${at} must be <system object id>@<database>`, { path: at, value: shortened(id) })
    if (parts[2] === databaseName) return { by: 'system', id: number }
    assertStorable(id, at)
    return { by: 'remote', globalId: parts[0] }
  }
  const at = `${path}.lookup:_global_object_id`
  if (!isRecord(lookup)) throw badRequest(`${path} needs _global_object_id or lookup:_global_object_id`, { path })
  if (lookup._allow_defer) {
    throw badRequest(`${at}._allow_defer: an object that comes later cannot be in a list`, {
      path: `${at}._allow_defer`,
    })
  }
  const named = readLookup(lookup, at)
  if (!named) throw badRequest(`${at} must name an object type and one column, or an object by its id`, { path: at })
  return named
}

function propsOf({ webfrontend_props: props }: Readonly<Record<string, unknown>>, path: string): SentEntry['props'] {
  if (props === undefined || props === null) return props
  const at = `${path}.webfrontend_props`
  if (!isRecord(props)) throw badRequest(`${at} must be an object`, { path: at })
  assertStorable(props, at)
  return props
}

function shortened(value: unknown): unknown {
  return typeof value === 'string' ? value.slice(0, 300) : null
}

/** @throws {AppError} when an object is in the request twice */
export function assertOnce(entries: readonly { readonly objectId: number; readonly path: string }[]): void {
  const seen = new Set<number>()
  for (const { objectId, path } of entries) {
    if (seen.has(objectId)) throw badRequest(`${path}: the object is in the request twice`, { path })
    seen.add(objectId)
  }
}

export function objectNotFound(path: string): AppError {
  return new AppError('LookupNotFound', { path, basetype: 'object' })
}
