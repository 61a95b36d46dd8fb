import type { Client, Json } from '../test/support/client.ts'
import { commitModel, defineModel, standardPool } from '../test/support/seed/model.ts'

/** Ids for the writers and the comparison. */
export interface Scene {
  readonly pool: number
  /** `checked` is set by a transition with each save, `wanted` by some of the writers. */
  readonly tags: { readonly checked: number; readonly wanted: number }
  /** Keys of the columns in stored content. */
  readonly columns: Readonly<Record<string, string>>
}

const flags = { pool_link: true, has_tags: true }

/** Makes the datamodel, tags and a transition on a new service. */
export async function setScene(client: Client): Promise<Scene> {
  const svc = { as: () => client }
  await commitModel(
    svc,
    defineModel({
      author: { columns: { mark: 'text_oneline', code: 'string' }, unique: [['code']], flags },
      book: { columns: { mark: 'text_oneline', code: 'string', author: 'link:author' }, unique: [['code']], flags },
      leaf: { columns: { mark: 'text_oneline', code: 'string' }, flags },
    }),
  )
  const { body: groups } = await client.post('tags', [
    { taggroup: {}, _tags: [{ reference: 'checked' }, { reference: 'wanted' }] },
  ])
  const tag = (reference: string): number =>
    groups.flatMap((group: Json) => group._tags).find((each: Json) => each.reference === reference)._id
  const tags = { checked: tag('checked'), wanted: tag('wanted') }
  const transition = {
    type: 'process',
    operations: ['INSERT', 'UPDATE'],
    actions: [{ type: 'set_tags', info: { tags: [{ _id: tags.checked, set: true }] } }],
  }
  const stored = await client.post('transitions', [transition])
  if (stored.status !== 200) throw new Error(JSON.stringify(stored.body))
  const place = { location_defaults: { originals: 'file', versions: '', backups: 'file' } }
  const configured = await client.post('config', { system: { config: place } })
  if (configured.status !== 200) throw new Error(JSON.stringify(configured.body))
  const { body: schema } = await client.get('schema/user/CURRENT')
  const columns: Record<string, string> = {}
  for (const table of schema.tables)
    for (const column of table.columns)
      if (column.name) columns[`${table.name}.${column.name}`] = String(column.column_id)
  return { pool: await standardPool(svc), tags, columns }
}
