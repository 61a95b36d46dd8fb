import type { Column } from '../../datamodel/model.ts'
import type { Actor } from '../../platform/actor.ts'
import { currentDeadline } from '../../platform/limits/deadline.ts'
import { createYielder } from '../../platform/process/cooperative-yield.ts'
import type { ObjectDeps } from './context.ts'
import { exists, showsColumn } from './disclosure.ts'
import { asGuarded, type ExistingObject, guardColumns } from './existing-object.ts'
import { lookupKey, uniqueValue } from './rules/unique.ts'

/** A search for objects by the value of a column; of a localized one in any language. */
export interface WantedValues {
  readonly column: Column
  /** Texts, and numbers as texts. */
  readonly texts: readonly string[]
}

export interface FoundByValue {
  readonly systemObjectId: number
  /** `_id`. */
  readonly id: number
  /** Stored values of the object by column key, only those that the caller may see. */
  readonly valueOf: (column: Column) => unknown
}

type Row = Omit<ExistingObject, 'version' | 'uuid' | 'parents' | 'standard' | 'deletedAt'> & {
  readonly n: number
  readonly content: Readonly<Record<string, unknown>>
}

/** Maximum number of objects found through one column. */
const most = 5000

/**
 * Objects with one of the texts in the column, by wanted column and in the order of their ids: only objects that the caller may
 * read in a mask that shows the column. A constant number of statements: through the unique key where there is one, else through
 * the contents of the object type.
 */
export async function findObjectsByValues(
  deps: ObjectDeps,
  actor: Actor,
  wanted: readonly WantedValues[],
): Promise<readonly (readonly FoundByValue[])[]> {
  if (wanted.length === 0) return []
  const model = deps.datamodel.current()
  const rights = await deps.rights.forActor(actor)
  const [byKey, byContent] = await Promise.all([throughKeys(deps, wanted), throughContents(deps, wanted)])
  const context = { deps, rights }
  const yielder = createYielder()
  const found: FoundByValue[][] = wanted.map(() => [])
  for (const stored of [...byKey, ...byContent]) {
    if (yielder.due()) await yielder.yield()
    const column = wanted[stored.n - 1]?.column
    const row = asGuarded(model.tablesById, stored)
    if (!column || !exists(rights, row) || !showsColumn(context, column.table, row, column)) continue
    found[stored.n - 1]?.push({
      systemObjectId: row.systemObjectId,
      id: row.id,
      valueOf: (other) => (showsColumn(context, column.table, row, other) ? row.content[other.key] : undefined),
    })
  }
  return found
}

/** Only plain texts and numbers have unique keys; translated ones are looked for in the contents. */
const plain = new Set<Column['type']>(['text', 'text_oneline', 'string', 'number', 'integer.2'])

const keyOf = (column: Column) => (plain.has(column.type) ? lookupKey(column) : undefined)

async function throughKeys({ db }: ObjectDeps, wanted: readonly WantedValues[]): Promise<readonly Row[]> {
  const values = wanted.flatMap(({ column, texts }, index) => {
    const key = keyOf(column)
    const isNumber = column.type === 'number' || column.type === 'integer.2'
    return key
      ? texts.map((text) => ({ n: index + 1, key: key.key, value: uniqueValue([isNumber ? Number(text) : text]) }))
      : []
  })
  if (values.length === 0) return []
  const { rows } = await db.query<Row>(
    `select x.n, ${guardColumns}, v.content from unnest($1::int[], $2::text[], $3::text[]) as x(n, key, value)
     join object_unique u on u.key = x.key and u.value = x.value
     join object o on o.system_object_id = u.system_object_id and o.deleted_at is null
     join object_version v on v.system_object_id = o.system_object_id and v.version = o.version
     order by x.n, o.id`,
    [values.map(({ n }) => n), values.map(({ key }) => key), values.map(({ value }) => value)],
    'objects-by-unique-values',
  )
  return rows
}

async function throughContents(
  { db, heavyRequests }: ObjectDeps,
  wanted: readonly WantedValues[],
): Promise<readonly Row[]> {
  const asked = wanted.flatMap(({ column, texts }, index) =>
    keyOf(column) || texts.length === 0 ? [] : [{ n: index + 1, column, texts }],
  )
  if (asked.length === 0) return []
  // Scans all contents of the type: 15 microseconds each, whatever the value.
  const looking = (): Promise<{ rows: Row[] }> =>
    db.query<Row>(
      // Keys of jsonb are found by binary search, elements of arrays one by one.
      `select f.* from unnest($1::int[], $2::int[], $3::text[], $4::jsonb[]) as x(n, objecttype, column_key, texts)
     cross join lateral (
       select x.n, ${guardColumns}, v.content from object o
       join object_version v on v.system_object_id = o.system_object_id and v.version = o.version
       where o.objecttype = x.objecttype and o.deleted_at is null
         and case jsonb_typeof(v.content -> x.column_key)
           when 'object' then exists (
             select from jsonb_each_text(v.content -> x.column_key) t where x.texts ? t.value)
           else x.texts ? (v.content ->> x.column_key) end
       order by o.objecttype, o.id limit ${most}) f
     order by f.n, f.id`,
      [
        asked.map(({ n }) => n),
        asked.map(({ column }) => column.table.id),
        asked.map(({ column }) => column.key),
        asked.map(({ texts }) => JSON.stringify(Object.fromEntries(texts.map((text) => [text, 1])))),
      ],
      'objects-by-values',
    )
  const { rows } = await heavyRequests.run(currentDeadline(), looking)
  return rows
}
