import pg from 'pg'
import type { State } from './record.ts'
import type { Scene } from './scene.ts'

export interface StoredVersion extends State {
  readonly version: number
  readonly code: string
}

export interface StoredThing {
  readonly objecttype: string
  readonly id: number
  readonly version: number
  readonly deleted: boolean
  readonly versions: StoredVersion[]
  /** System object ids that it links to. */
  readonly links: number[]
  readonly uniques: string[]
  readonly indexed: boolean
}

export interface Stored {
  readonly things: ReadonlyMap<number, StoredThing>
  /** Objects changed by tasks, by their ids. */
  readonly leaves: ReadonlyMap<number, { readonly version: number; readonly tags: readonly number[] }>
  readonly tombstones: ReadonlySet<number>
  /** `type id version`, as often as it is stored. */
  readonly events: readonly string[]
}

/** All stored data of objects, directly from the database. */
export async function readStored(dsn: string, { columns }: Scene): Promise<Stored> {
  const client = new pg.Client({ connectionString: dsn })
  client.on('error', () => {})
  await client.connect()
  try {
    const rows = async <T extends object>(text: string): Promise<T[]> => (await client.query<T>(text)).rows
    await client.query('begin isolation level repeatable read read only')
    const objects = await rows<{
      so: string
      type: string
      id: string
      version: number
      deleted: boolean
      indexed: boolean
    }>(
      `select o.system_object_id as so, t.name as type, o.id, o.version, o.deleted_at is not null as deleted,
         exists (select from search_document d where d.id = o.system_object_id and not d.deleted) as indexed
       from object o join objecttype t on t.id = o.objecttype`,
    )
    const leafIds = new Set(objects.filter(({ type }) => type === 'leaf').map(({ so }) => so))
    const leaves = new Map<number, { version: number; tags: number[] }>()
    const things = new Map<number, StoredThing>(
      objects
        .filter(({ so }) => !leafIds.has(so))
        .map(({ so, type, id, version, deleted, indexed }) => [
          Number(so),
          { objecttype: type, id: Number(id), version, deleted, indexed, versions: [], links: [], uniques: [] },
        ]),
    )
    const versions = await rows<{
      so: string
      version: number
      op: State['operation']
      content: Record<string, unknown>
      tags: number[]
    }>('select system_object_id as so, version, operation as op, content, tags from object_version order by 1, 2')
    for (const { so, version, op, content, tags } of versions) {
      if (leafIds.has(so)) {
        leaves.set(Number(so), { version, tags: [...tags].sort((a, b) => a - b) })
        continue
      }
      const thing = things.get(Number(so))
      const value = (name: string) => content[columns[`${thing?.objecttype}.${name}`] as string]
      thing?.versions.push({
        version,
        operation: op,
        mark: String(value('mark')).replace('torture ', ''),
        code: String(value('code')),
        author: (value('author') as number | undefined) ?? null,
        tags: [...tags].sort((a, b) => a - b),
      })
    }
    for (const { to, from } of await rows<{ to: string; from: string }>(
      'select to_id as to, from_id as from from object_link',
    ))
      things.get(Number(from))?.links.push(Number(to))
    for (const { so, value } of await rows<{ so: string; value: string }>(
      'select system_object_id as so, value from object_unique',
    ))
      things.get(Number(so))?.uniques.push(value)
    const events = await rows<{ so: string; line: string }>(
      `select system_object_id as so, type || ' ' || system_object_id || ' ' || object_version as line from event
       where type like 'OBJECT\\_%' and system_object_id is not null order by 2`,
    )
    const tombstones = await rows<{ so: string }>('select system_object_id as so from object_tombstone')
    return {
      things,
      leaves,
      tombstones: new Set(tombstones.map(({ so }) => Number(so))),
      events: events.flatMap(({ so, line }) => (leafIds.has(so) ? [] : [line])),
    }
  } finally {
    await client.end()
  }
}
