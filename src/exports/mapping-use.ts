import type { Tx } from '../platform/postgres/db.ts'

/** As the mapping of the documents, or as what is written into versions of files: an id is a number, or a text of digits. */
const names = `(e.body -> 'mapping' = to_jsonb($1::bigint) or ${['$.classes.*[*]', '$.assets.*.versions[*]']
  .map(
    (versions) =>
      `jsonb_path_exists(e.body, '${versions}.metadata ? (@ == $id || @ == $text)', jsonb_build_object('id', $1::bigint, 'text', $1::bigint::text))`,
  )
  .join(' or ')})`

/** Where exports name mappings: with the mapping the name goes. Documents are then made as where none is named, and copies by the standard. */
export const exportMappingUse = {
  name: 'exports',

  async count(tx: Tx, id: number): Promise<number> {
    const { rows } = await tx.query<{ count: number }>(`select count(*)::int as count from export e where ${names}`, [
      id,
    ])
    return rows[0]?.count ?? 0
  },

  async remove(tx: Tx, id: number): Promise<void> {
    const { rows } = await tx.query<{ id: number; body: Body }>(
      `select e.id, e.body from export e where ${names} order by e.id for update`,
      [id],
    )
    await tx.query(
      `update export e set version = e.version + 1, body = x.body
       from jsonb_to_recordset($1::jsonb) as x(id bigint, body jsonb) where e.id = x.id`,
      [JSON.stringify(rows.map((one) => ({ id: one.id, body: withoutMapping(one.body, id) })))],
    )
  },
}

type Version = Readonly<Record<string, unknown>>

interface Body {
  readonly mapping?: unknown
  readonly classes?: Readonly<Record<string, readonly Version[]>>
  readonly assets?: Readonly<Record<string, boolean | { readonly versions?: readonly Version[] }>>
}

function withoutMapping({ mapping, classes, assets, ...body }: Body, id: number): Body {
  const plain = ({ metadata, ...version }: Version): Version =>
    metadata === undefined || `${metadata}` === `${id}` ? version : { ...version, metadata }
  const each = <T>(all: Readonly<Record<string, T>>, change: (one: T) => T): Readonly<Record<string, T>> =>
    Object.fromEntries(Object.entries(all).map(([name, one]) => [name, change(one)]))
  return {
    ...body,
    ...(mapping === undefined || mapping === id ? {} : { mapping }),
    ...(classes ? { classes: each(classes, (list) => list.map(plain)) } : {}),
    ...(assets
      ? {
          assets: each(assets, (one) =>
            typeof one === 'object' && one.versions ? { ...one, versions: one.versions.map(plain) } : one,
          ),
        }
      : {}),
  }
}
