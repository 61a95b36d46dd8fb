/** Values of hits that a request asks for in `fields`, as far as the caller sees them. */

import type { ShownObject } from '../objects/service.ts'
import type { Localized } from '../platform/values/localized.ts'
import { createSteps, stepsKey } from './collect-steps.ts'
import { type CollectContext, readStored, whoShows } from './collect-stored.ts'
import { customLabel } from './document/values.ts'
import type { SearchField } from './plan/fields.ts'
import type { FieldRequest } from './request/fields.ts'

export type CollectedFields = Readonly<Record<string, readonly unknown[]>>

export async function collectFields(
  requests: readonly FieldRequest[],
  ids: readonly number[],
  context: CollectContext,
): Promise<ReadonlyMap<number, CollectedFields>> {
  if (requests.length === 0 || ids.length === 0) return new Map()
  const groups = Map.groupBy(requests, ({ steps }) => stepsKey(steps))
  const values = new Map<number, Record<string, readonly unknown[]>>(ids.map((id) => [id, {}]))
  const followed = createSteps(context)
  for (const group of groups.values()) {
    const reached = await followed(group[0]?.steps ?? [], ids)
    const own = await collectOwn(group, [...new Set([...reached.values()].flat())], context)
    for (const [id, among] of values) {
      const targets = reached.get(id) ?? []
      for (const { key } of group) among[key] = targets.flatMap((target) => own.get(target)?.[key] ?? [])
    }
  }
  // In the order of the request.
  const inOrder = (found: CollectedFields): CollectedFields =>
    Object.fromEntries(requests.map(({ key }) => [key, found[key] ?? []]))
  return new Map([...values].map(([id, found]) => [id, inOrder(found)]))
}

/** Values of the hits themselves. */
async function collectOwn(
  requests: readonly FieldRequest[],
  ids: readonly number[],
  context: CollectContext,
): Promise<ReadonlyMap<number, CollectedFields>> {
  if (ids.length === 0) return new Map()
  const columns = [...new Set(requests.flatMap(({ field }) => field ?? []))]
  const [stored, visible] = await Promise.all([readStored(columns, ids, context), whoShows(columns, ids, context)])
  const valuesOf = (field: SearchField, id: number): readonly unknown[] =>
    visible.get(field)?.has(id) ? (stored.get(id)?.values[columns.indexOf(field)] ?? []) : []
  const objects = await context.withAncestors(context.actor, objectsIn(requests, ids, valuesOf))
  return new Map(
    ids.map((id) => [
      id,
      Object.fromEntries(
        requests.map((request) => {
          const { field, part } = request
          const values = field === null ? [id] : valuesOf(field, id)
          return [
            request.key,
            part === null
              ? storedValues(request, values, context)
              : values.flatMap((each) =>
                  ofObject(each as number, request, stored.get(id)?.uuid ?? null, objects, context),
                ),
          ]
        }),
      ),
    ]),
  )
}

/** Objects that must be read for values which the hits do not contain themselves. */
function objectsIn(
  requests: readonly FieldRequest[],
  ids: readonly number[],
  valuesOf: (field: SearchField, id: number) => readonly unknown[],
): readonly number[] {
  const wanted = requests.filter(
    ({ part, withPath }) => part !== null && (withPath || !['id', 'globalId', 'uuid'].includes(part)),
  )
  const found = wanted.flatMap(({ field }) =>
    field === null ? ids : ids.flatMap((id) => valuesOf(field, id) as readonly number[]),
  )
  return [...new Set(found)]
}

function storedValues(request: FieldRequest, values: readonly unknown[], context: CollectContext): readonly unknown[] {
  const shown = values.flatMap((value) => storedValue(request, value, context))
  return request.withPath ? shown.map((value) => [value]) : shown
}

function storedValue({ field, end, language }: FieldRequest, value: unknown, { languages }: CollectContext): unknown[] {
  if (field?.kind === 'l10n') return inLanguage(value as Localized, language, languages)
  if (field?.kind === 'custom') return [customLabel(value) ?? []].flat()
  if (field?.kind !== 'date') return [value]
  const { value: whole, ...range } = value as { value?: string; from?: string; to?: string }
  if (whole !== undefined) return [whole]
  if (end !== null) return [range[end] ?? []].flat()
  return [`${range.from ?? '..'}/${range.to ?? '..'}`]
}

function inLanguage(text: Localized, language: string | null, languages: readonly string[]): string[] {
  if (language !== null) return text[language] === undefined ? [] : [text[language]]
  const first = languages.find((each) => text[each] !== undefined)
  return first === undefined ? Object.values(text).slice(0, 1) : [text[first] as string]
}

/** The requested part of an object, or of the object and all objects above it. */
function ofObject(
  id: number,
  request: FieldRequest,
  uuid: string | null,
  objects: ReadonlyMap<number, ShownObject>,
  context: CollectContext,
): unknown[] {
  const show = (each: number): unknown[] => partOf(each, request, uuid, objects.get(each), context)
  if (!request.withPath) return show(id)
  // Only readers of an object may know the objects above it.
  return [pathTo(objects, id).flatMap(show)]
}

function pathTo(objects: ReadonlyMap<number, ShownObject>, id: number): readonly number[] {
  const path: number[] = []
  for (let at: number | undefined = id; at !== undefined && !path.includes(at); ) {
    path.unshift(at)
    const object: ShownObject | undefined = objects.get(at)
    at = object?.readable ? object.parents[0] : undefined
  }
  return path
}

function partOf(
  id: number,
  { part, objecttype, language }: FieldRequest,
  uuid: string | null,
  object: ShownObject | undefined,
  { plan, languages, databaseName }: CollectContext,
): unknown[] {
  if (part === 'id') return [id]
  if (part === 'globalId') return [`${id}@${databaseName}`]
  if (part === 'uuid') return uuid === null ? [] : [uuid]
  if (!object?.readable) return []
  if (part === 'title') return inLanguage(object.text, language, languages)
  if (part === 'objecttype') return [object.objecttype]
  const type = objecttype === null ? null : plan.model.tablesById.get(objecttype)?.name
  return type === null || type === object.objecttype ? [object.ownId] : []
}
