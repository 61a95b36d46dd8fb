import { isDeepStrictEqual } from 'node:util'
import type { Column, Mask } from '../../datamodel/model.ts'
import type { FoundByValue, WantedValues } from '../../objects/service.ts'
import type { LinkRequest } from './assemble.ts'
import type { Value } from './convert.ts'

export interface LinkDeps {
  readonly find: (wanted: readonly WantedValues[]) => Promise<readonly (readonly FoundByValue[])[]>
  /** The mask that new objects of the type are made with in a pool. */
  readonly maskOf: (target: LinkRequest['target'], pool: number | null) => Mask
  /** Where new objects behind the link go; null: they have no pool, so those of types with pools cannot be made. */
  readonly poolOf: (link: Column) => number | null
}

type Texts = Readonly<Record<string, string>>

/**
 * Finds the objects named by a file, and makes missing ones: the first column is the key. Found objects are not changed,
 * whatever the file has in the other columns. If several have the same key, the other columns decide. Files that are
 * mapped together share new objects.
 */
export async function resolveLinks(links: readonly LinkRequest[], deps: LinkDeps): Promise<void> {
  const named = links.filter(({ values }) => values[0] !== undefined)
  const groups = [...Map.groupBy(named, ({ columns }) => columns[0] as Column)]
  const wanted = groups.map(([column, list]) => ({
    column,
    texts: [...new Set(list.flatMap(({ values }) => textsOf(values[0])))],
  }))
  const found = await deps.find(wanted)
  const made = new Map<string, Record<string, unknown>>()
  for (const [index, [column, list]] of groups.entries()) {
    const byText = candidatesByText(column, found[index] ?? [])
    for (const link of list) {
      const match = chosen(link, byText)
      if (match) link.put(existing(link, match))
      else {
        const wire = created(link, deps, made)
        if (wire) link.put(wire)
      }
    }
  }
}

function textsOf(value: Value): readonly string[] {
  if (typeof value === 'string') return [value]
  if (typeof value === 'number') return [`${value}`]
  if (typeof value !== 'object' || value === null) return []
  return Object.values(value).filter((text) => typeof text === 'string')
}

function candidatesByText(column: Column, found: readonly FoundByValue[]): ReadonlyMap<string, FoundByValue[]> {
  const byText = new Map<string, FoundByValue[]>()
  for (const one of found) {
    for (const text of new Set(textsOf(one.valueOf(column)))) {
      const list = byText.get(text) ?? []
      byText.set(text, list)
      list.push(one)
    }
  }
  return byText
}

function chosen(link: LinkRequest, byText: ReadonlyMap<string, FoundByValue[]>): FoundByValue | undefined {
  const [key] = link.columns
  const candidates = new Set(textsOf(link.values[0]).flatMap((text) => byText.get(text) ?? []))
  const fitting = [...candidates].filter((one) => key && agrees(link.values[0], one.valueOf(key), true))
  const same = (one: FoundByValue): boolean =>
    link.columns.every((column, index) => agrees(link.values[index], one.valueOf(column), false))
  return fitting.find(same) ?? fitting[0]
}

/** Texts in several languages are compared in the languages that both have: exports fill missing ones with others. */
function agrees(value: Value, stored: unknown, isKey: boolean): boolean {
  if (value === undefined || (stored === undefined && !isKey)) return true
  if (!isTexts(value) || !isTexts(stored)) return isTexts(value) === isTexts(stored) && isDeepStrictEqual(value, stored)
  const languages = Object.keys(value)
  const both = languages.filter((language) => stored[language] !== undefined)
  // A text without a language in the file may match any language.
  if (languages.length === 1) return Object.values(stored).includes(value[languages[0] as string] as string)
  return both.every((language) => value[language] === stored[language])
}

function isTexts(value: unknown): value is Texts {
  return typeof value === 'object' && value !== null && Object.values(value).every((one) => typeof one === 'string')
}

function existing({ target }: LinkRequest, { systemObjectId, id }: FoundByValue): Record<string, unknown> {
  return { _objecttype: target.name, _system_object_id: systemObjectId, [target.name]: { _id: id } }
}

/** Null where the mask does not allow writing the columns, or the object would have no pool. */
function created(
  { link, target, columns, values }: LinkRequest,
  { maskOf, poolOf }: LinkDeps,
  made: Map<string, Record<string, unknown>>,
): Record<string, unknown> | null {
  const name = `${columns[0]?.id} ${JSON.stringify(values[0])}`
  const known = made.get(name)
  if (known) return known
  const pool = poolOf(link)
  const mask = maskOf(target, pool)
  const writable = (column: Column): boolean => mask.fieldByColumn.get(column.name)?.mode === 'edit'
  if (!columns.every(writable) || (target.poolLink && pool === null)) return null
  const fields = columns.flatMap((column, index) =>
    values[index] === undefined ? [] : [[column.name, values[index]] as const],
  )
  const wire = {
    _objecttype: target.name,
    _mask: mask.name,
    _uuid: crypto.randomUUID(),
    _mapped_metadata_created: true,
    [target.name]: { ...(target.poolLink ? { _pool: { pool: { _id: pool } } } : {}), ...Object.fromEntries(fields) },
  }
  made.set(name, wire)
  return wire
}
