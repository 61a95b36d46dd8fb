import type { Column, Model, Table } from '../../datamodel/model.ts'

/** A stored value with its name in a version of the datamodel. */
export interface StoredField {
  readonly path: string
  /** The type in the shown version; empty when it has no such column. */
  readonly type: string
  readonly value: string
  readonly difference: 'same' | 'renamed' | 'retyped' | 'gone' | 'added'
  /** Name or type in the version with which the object was saved, when they differ. */
  readonly before: string
}

export interface StoredFields {
  readonly fields: readonly StoredField[]
  /** The value is longer than shown. */
  readonly cut: boolean
  /** Objects to which it links. */
  readonly links: readonly number[]
}

/** Maximum number of values on one page, and of characters of each. */
const [mostFields, longestValue] = [1000, 2000]

interface Versions {
  /** The datamodel for the names on the page, and the one with which the object was saved; null: it no longer exists. */
  readonly shown: Model
  readonly saved: Model | null
}

/**
 * The stored fields of an object, with the names of any version of the datamodel, and the differences from the names with which it
 * was saved. Contents have the ids of columns, so each version can name them; a column that a version does not have is shown by its
 * id.
 */
export function storedFields(
  content: Readonly<Record<string, unknown>>,
  type: number,
  versions: Versions,
): StoredFields {
  const fields: StoredField[] = []
  const links = new Set<number>()

  function walk(row: Readonly<Record<string, unknown>>, prefix: string): void {
    for (const [key, value] of Object.entries(row)) {
      if (/^n\d+$/.test(key) && Array.isArray(value)) {
        const name = versions.shown.tablesById.get(Number(key.slice(1)))?.name ?? key
        for (const [index, one] of value.entries()) if (isRow(one)) walk(one, `${prefix}${name}[${index}].`)
      } else if (/^\d+$/.test(key)) add(Number(key), value, prefix)
    }
  }

  function add(id: number, value: unknown, prefix: string): void {
    const [now, then] = [versions.shown.columnsById.get(id), versions.saved?.columnsById.get(id)]
    if ((now ?? then)?.type === 'link' && typeof value === 'number') links.add(value)
    if (fields.length >= mostFields) return
    fields.push({
      path: `${prefix}${now?.name ?? then?.name ?? `#${id}`}`,
      ...differing(now, then),
      value: textOf(value),
    })
  }

  walk(content, '')
  const cut = fields.length >= mostFields
  const added = versions.shown.tablesById.get(type)
  const had = versions.saved?.tablesById.get(type)
  if (added && had) fields.push(...addedColumns(added, had))
  return { fields, cut, links: [...links] }
}

function differing(
  now: Column | undefined,
  then: Column | undefined,
): Pick<StoredField, 'type' | 'difference' | 'before'> {
  if (!now) return { type: '', difference: 'gone', before: then?.typeName ?? '' }
  if (then && then.typeName !== now.typeName)
    return { type: now.typeName, difference: 'retyped', before: then.typeName }
  if (then && then.name !== now.name) return { type: now.typeName, difference: 'renamed', before: then.name }
  return { type: now.typeName, difference: 'same', before: '' }
}

/** Columns that did not exist when the object was saved. */
function addedColumns(now: Table, then: Table): StoredField[] {
  const known = new Set(then.columns.map(({ id }) => id))
  return now.columns
    .filter(({ id }) => !known.has(id))
    .map(({ name, typeName }): StoredField => {
      return { path: name, type: typeName, value: '', difference: 'added', before: '' }
    })
}

const isRow = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return text.length > longestValue ? `${text.slice(0, longestValue)}…` : text
}
