import pg from 'pg'
import { createServiceClient } from '../src/import/client.ts'
import type { Context } from './context.ts'

const pools = 20
const login = 'bench-reader'
const password = 'bench-reader-password'

interface Named {
  readonly name: string
}

const readers = new WeakMap<Context, Promise<Record<string, string>>>()

/**
 * A caller as institutions have them: artworks are in 20 pools, which it reads by grants with a mask; in half of the
 * pools only artworks with a tag. Returns the headers of its requests.
 */
export function signInReader(context: Context): Promise<Record<string, string>> {
  const reader = readers.get(context) ?? makeReader(context)
  readers.set(context, reader)
  return reader
}

async function makeReader(context: Context): Promise<Record<string, string>> {
  const reader = createServiceClient({ url: context.service.url, login, password })
  if (!(await isKnown(context))) await createReader(context)
  return { authorization: `Bearer ${await reader.token()}`, 'content-type': 'application/json' }
}

/** Whether an earlier run on the same data has made it. */
async function isKnown({ dsn }: Context): Promise<boolean> {
  const db = new pg.Client({ connectionString: dsn })
  await db.connect()
  try {
    return (await db.query('select from "user" where login = $1', [login])).rowCount === 1
  } finally {
    await db.end()
  }
}

async function createReader(context: Context): Promise<void> {
  const { client } = context
  const { tables } = await client.get<{ tables: (Named & { table_id: number })[] }>('/schema/user/CURRENT')
  const { masks } = await client.get<{ masks: (Named & { mask_id: number })[] }>('/mask/CURRENT')
  const artwork = tables.find(({ name }) => name === 'artwork')?.table_id
  const mask = masks.find(({ name }) => name === 'artwork')?.mask_id
  const groups = await client.get<object[]>('/tags')
  const stored = await client.post<{ taggroup: { reference: string }; _tags: { _id: number }[] }[]>('/tags', [
    ...groups,
    { taggroup: { reference: 'bench-state' }, _tags: [{ reference: 'bench-cleared' }] },
  ])
  const tag = stored.find(({ taggroup }) => taggroup.reference === 'bench-state')?._tags[0]?._id
  const [group] = await client.post<{ group: { _id: number } }[]>('/group', [{ group: { name: 'bench readers' } }])
  const who = { group: { _id: group?.group._id } }
  await client.post('/user', [
    { user: { login }, _password: password, _groups: [{ group: { _id: group?.group._id } }] },
  ])
  const read = { read: { objecttype_ids: [artwork], mask_ids: { [String(artwork)]: [mask] } } }
  const created = await client.post<{ pool: { _id: number } }[]>(
    '/pool',
    Array.from({ length: pools }, (_, index) => ({
      pool: { name: { 'en-US': `Bench ${index}` }, 'lookup:_id_parent': { reference: 'system:root' } },
      _acl: [
        { who, rights: { bag_read: {} } },
        { who, rights: read, ...(index % 2 === 0 ? {} : { tagfilter: { all: [tag] } }) },
      ],
    })),
  )
  const types = await client.get<{ objecttype: { _id: number; _version: number } }[]>('/objecttype')
  await client.post(
    '/objecttype',
    types
      .filter(({ objecttype }) => objecttype._id !== artwork)
      .map(({ objecttype: { _id, _version } }) => ({
        _basetype: 'objecttype',
        objecttype: { _id, _version: _version + 1 },
        _acl: [{ who, rights: { read: {} } }],
      })),
  )
  await spread(
    context,
    created.map(({ pool }) => pool._id),
    tag ?? 0,
    artwork ?? 0,
  )
}

/**
 * Puts the artworks into the pools and gives half of them the tag, directly in the database: saves of the service are
 * measured elsewhere.
 */
async function spread({ dsn, client, say }: Context, poolIds: number[], tag: number, artwork: number): Promise<void> {
  const db = new pg.Client({ connectionString: dsn })
  await db.connect()
  try {
    await db.query(
      `update object set pool_id = ($1::bigint[])[1 + id % $2],
         tags = case when hashint8(id) % 2 = 0 then array[$3::int] else '{}' end
       where objecttype = $4`,
      [poolIds, poolIds.length, tag, artwork],
    )
    await client.post('/system/reindex', undefined)
    const begun = performance.now()
    for (;;) {
      const { rowCount } = await db.query('select from index_queue limit 1')
      if (rowCount === 0) break
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
    await db.query('vacuum analyze object')
    // The indexes are rebuilt afterwards.
    while ((await db.query('select from graphile_worker.jobs where run_at <= now() limit 1')).rowCount !== 0) {
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
    say(`  artworks in ${poolIds.length} pools, indexed again in ${Math.round((performance.now() - begun) / 1000)} s`)
  } finally {
    await db.end()
  }
}
