/** The records of one kind that a search reads, with the fields as the caller may see them. */
import type { Actor } from '../../platform/actor.ts'
import type { Bind, FieldKind, RecordAccess, RecordField, RecordKeepers, RecordKind } from './model.ts'

/** A searchable field. */
export interface SourceField {
  readonly name: string
  readonly kind: FieldKind
  readonly list: boolean
  /** SQL of the value; null where the caller may not see it. */
  readonly sql: string
  /** Whether it is null in all rows: the caller sees it in none, or the records have no such field. */
  readonly empty: boolean
  /** SQL: its different texts as rows `(value)`, where they are few and an index has them. */
  readonly different: string | null
  /** Whether each record has a value, and an index has the order of them. */
  readonly ordered: boolean
}

export interface Source {
  readonly basetype: string
  /** Of the rows `t`, in SQL. */
  readonly table: string
  /** SQL: whether the caller may see a row. */
  readonly readable: string
  readonly id: string
  readonly fields: ReadonlyMap<string, SourceField>
  /** The order if the request has none. */
  readonly order: RecordKind['order']
  readonly words: SourceWords | null
  /** Whether a search that no index can answer is refused. */
  readonly large: boolean
}

/** The index of the words of the records. */
export interface SourceWords {
  /** SQL: whether a row has the words in any of its texts; it may be true without them. */
  readonly find: (words: string) => string
  /** SQL: whether that is so exactly for a row, and the caller sees all of its texts; null: for no row. */
  readonly whole: string | null
}

/** One source for each kind; all of them have the fields of all kinds. */
export async function sourcesOf(
  kinds: readonly RecordKind[],
  actor: Actor,
  keepers: RecordKeepers,
  bind: Bind,
): Promise<readonly Source[]> {
  const sources: Source[] = []
  for (const kind of kinds) {
    const keeper = keepers[kind.basetype]
    if (!keeper) throw new Error(`nobody keeps records of the kind ${kind.basetype}`)
    sources.push(sourceOf(kind, kinds, await keeper.access(actor, bind)))
  }
  return sources
}

/** The alias of the table in all statements. */
const row = 't'

function sourceOf(kind: RecordKind, all: readonly RecordKind[], access: RecordAccess): Source {
  const { basetype, table, order, words, large = false } = kind
  // Together with others a record has its basetype as a text, too, which is in no index.
  const indexed = (sent: string) => (all.length > 1 ? `array_remove(${sent}, '${basetype}')` : sent)
  return {
    basetype,
    table,
    readable: access.condition,
    id: `${row}.id`,
    fields: fieldsOf(kind, all, access),
    order,
    words: words && { find: (sent) => words.find(row, indexed(sent)), whole: wholeSql(kind, access, words.whole(row)) },
    large,
  }
}

function fieldsOf(
  kind: RecordKind,
  all: readonly RecordKind[],
  access: RecordAccess,
): ReadonlyMap<string, SourceField> {
  const found = new Map<string, SourceField>()
  for (const { fields } of all)
    for (const field of fields) found.set(field.name, sourceField(field, nothing(field), true))
  for (const field of kind.fields) {
    const shown = shownTo(field, access)
    const value = field.sql(row)
    const sql = shown === true ? value : shown ? `(case when ${shown(row)} then ${value} end)` : nothing(field)
    found.set(field.name, sourceField(field, sql, shown === false, field.repeats ? differentTexts(kind, field) : null))
  }
  if (all.length > 1) {
    const name = '_basetype'
    found.set(name, sourceField({ name, kind: 'text' }, `'${kind.basetype}'::text`, false))
  }
  return found
}

function sourceField(
  { name, kind, list, ordered }: Omit<RecordField, 'sql'>,
  sql: string,
  empty: boolean,
  different: string | null = null,
): SourceField {
  return { name, kind, list: list === true, sql, empty, different, ordered: ordered === true }
}

const types: Readonly<Record<FieldKind, string>> = {
  text: 'text',
  l10n: 'jsonb',
  number: 'bigint',
  id: 'bigint',
  boolean: 'boolean',
  date: 'timestamptz',
}

const nothing = ({ kind, list }: RecordField): string => `null::${types[kind]}${list ? '[]' : ''}`

function shownTo({ audience }: RecordField, { shown }: RecordAccess): boolean | ((t: string) => string) {
  return audience === undefined ? true : (shown[audience] ?? false)
}

function wholeSql({ fields }: RecordKind, access: RecordAccess, whole: string): string | null {
  const conditions = new Set([whole])
  for (const field of fields) {
    if (field.kind !== 'text' && field.kind !== 'l10n') continue
    const shown = shownTo(field, access)
    if (shown === false) return null
    if (shown !== true) conditions.add(shown(row))
  }
  conditions.delete('true')
  return conditions.size === 0 ? 'true' : `(${[...conditions].join(' and ')})`
}

/**
 * Each text is looked up behind the one before, so that the index is not read as a whole. By a comparison PostgreSQL knows that there
 * is a text, for indexes that have no others; `is not null` of the collated column does not tell it so.
 */
function differentTexts({ table }: RecordKind, { sql }: RecordField): string {
  const column = sql('r')
  return `(with recursive v (value) as (
      select min(${column}) from ${table} r where ${column} >= ''
      union all
      select (select min(${column}) from ${table} r where ${column} > v.value) from v where v.value is not null
    ) select value from v where value is not null) v`
}
