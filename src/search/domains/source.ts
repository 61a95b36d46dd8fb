/** The data that a search in records reads: one table, or a union of several, with the fields as the caller may see them. */
import type { Actor } from '../../platform/actor.ts'
import type { Bind, FieldKind, RecordAccess, RecordField, RecordKeepers, RecordKind } from './model.ts'

/** A searchable field. */
export interface SourceField {
  readonly name: string
  readonly kind: FieldKind
  readonly list: boolean
  /** SQL of the value; null if the caller may not see it. */
  readonly sql: string
}

export interface Source {
  /** `from … where …`: the records that the caller may see. */
  readonly sql: string
  readonly basetype: string
  readonly id: string
  readonly fields: ReadonlyMap<string, SourceField>
  /** The order if the request has none. */
  readonly order: readonly { readonly field: string; readonly descending: boolean }[]
  /** SQL: whether a row contains the words, by the index of the table; null: there is no such index. */
  readonly words: ((words: string) => string) | null
  /** Whether a search that no index can answer is refused. */
  readonly large: boolean
}

export async function sourceOf(
  kinds: readonly RecordKind[],
  actor: Actor,
  keepers: RecordKeepers,
  bind: Bind,
): Promise<Source> {
  const parts: Part[] = []
  for (const kind of kinds) {
    const keeper = keepers[kind.basetype]
    if (!keeper) throw new Error(`nobody keeps records of the kind ${kind.basetype}`)
    parts.push({
      kind,
      access: await keeper.access(actor, bind),
      row: kinds.length === 1 ? 't' : `(r.${kind.basetype}_row)`,
    })
  }
  const [only, ...others] = parts
  const fields = fieldsOf(parts)
  const order = kinds.map((kind) => kind.order)
  if (only && others.length === 0) {
    const { kind, access } = only
    const words = kind.words
    return {
      sql: `from ${kind.table} t where ${access.condition}`,
      basetype: `'${kind.basetype}'`,
      id: 't.id',
      fields,
      order,
      words: words && ((sent) => words('t', sent)),
      large: kind.large === true,
    }
  }
  return {
    sql: `from (${together(parts)}) r where true`,
    basetype: 'r.basetype',
    id: 'r.id',
    fields,
    order: [],
    words: null,
    large: false,
  }
}

interface Part {
  readonly kind: RecordKind
  readonly access: RecordAccess
  /** The row in SQL. */
  readonly row: string
}

/** Rows of several tables, each in a column of its own. */
function together(parts: readonly Part[]): string {
  return parts
    .map(({ kind: { basetype, table }, access }) => {
      const rows = parts.map(({ kind }) =>
        kind.basetype === basetype ? `t as ${basetype}_row` : `null::${kind.table} as ${kind.basetype}_row`,
      )
      return `select '${basetype}' as basetype, t.id, ${rows.join(', ')} from ${table} t where ${access.condition}`
    })
    .join(' union all ')
}

function fieldsOf(parts: readonly Part[]): ReadonlyMap<string, SourceField> {
  const found = new Map<string, SourceField>()
  for (const part of parts) {
    for (const field of part.kind.fields) {
      const { name, kind, list = false } = field
      const sql = shownSql(field, part)
      const before = found.get(name)
      found.set(name, { name, kind, list, sql: before ? `coalesce(${before.sql}, ${sql})` : sql })
    }
  }
  if (parts.length > 1) found.set('_basetype', { name: '_basetype', kind: 'text', list: false, sql: 'r.basetype' })
  return found
}

const types: Readonly<Record<FieldKind, string>> = {
  text: 'text',
  l10n: 'jsonb',
  number: 'bigint',
  id: 'bigint',
  boolean: 'boolean',
  date: 'timestamptz',
}

function shownSql({ kind, list, audience, sql }: RecordField, { access, row }: Part): string {
  const value = sql(row)
  const shown = audience === undefined ? true : (access.shown[audience] ?? false)
  if (shown === true) return value
  if (shown === false) return `null::${types[kind]}${list ? '[]' : ''}`
  return `(case when ${shown(row)} then ${value} end)`
}
