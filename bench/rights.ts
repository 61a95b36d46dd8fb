import pg from 'pg'
import { createServiceClient, type ServiceClient } from '../src/import/client.ts'
import { type Context, openContext } from './context.ts'
import { createMeter, type Spent } from './cpu.ts'
import { noise, stored } from './pictures.ts'
import { atMost, figureOnly, type Row } from './report.ts'
import { commitTypes, field, value } from './types.ts'

/** Number of objects of a world. */
const objects = 20_000
/** Pairs of turns, one of each caller within a fifth of a second; a turn has so many searches. Each word is searched three times. */
const pairs = 100
const searches = 12
/** Pairs before anything is measured, until V8 knows the code and PostgreSQL the statements. */
const warmUp = 15
const password = 'bench-reader-password'

/** The numbers that are large; the others are those of a small institution. */
interface World {
  readonly name: string
  readonly types: number
  readonly pools: number
  /** Number of groups; the reader is in every third one. */
  readonly groups: number
  readonly owners: number
  readonly tags: number
  readonly uploaders: number
  /** Collections that have all objects and are shared with a group of the reader, which has no rights by pools then. */
  readonly collections: number
  /** Grants limit masks: then it depends on where an object is what is shown of it. */
  readonly masks: boolean
}

const small: Omit<World, 'name'> = {
  types: 3,
  pools: 20,
  groups: 9,
  owners: 5,
  tags: 4,
  uploaders: 0,
  collections: 0,
  masks: false,
}

const worlds: readonly World[] = [
  { ...small, name: 'a small house' },
  { ...small, name: '3,000 owners', owners: 3000 },
  { ...small, name: '200 tags', tags: 200 },
  { ...small, name: '500 uploaders', uploaders: 500 },
  { ...small, name: '3,000 pools', pools: 3000 },
  { ...small, name: '3,000 pools, masks by grants', pools: 3000, masks: true },
  { ...small, name: '1,000 groups', groups: 1000, pools: 500 },
  { ...small, name: '200 types', types: 200 },
  { ...small, name: '200 types, 3,000 pools', types: 200, pools: 3000 },
  { ...small, name: '500 shared collections', collections: 500 },
]

/**
 * The cost of a search by a caller with rights by grants, beside the same search by root: processor time, as other programs use the machine, too.
 * `only`: names of worlds; null: all.
 */
export async function measureWorlds(say: (line: string) => void, only: readonly string[] | null): Promise<Row[]> {
  const rows: Row[] = []
  for (const world of worlds.filter(({ name }) => only?.includes(name) ?? true)) {
    say(`  ${world.name} …`)
    const context = await openContext('', say)
    try {
      rows.push(...(await measureWorld(context, world)))
    } finally {
      await context.close()
    }
  }
  return rows
}

async function measureWorld(context: Context, world: World): Promise<Row[]> {
  await build(context, world)
  const reader = createServiceClient({ url: context.service.url, login: 'bench-reader', password })
  const rows: Row[] = []
  for (const [kind, body] of Object.entries(kinds)) {
    const { root, other, ratio } = await compare(context, reader, (turn) => body(turn, world))
    rows.push(
      atMost(`${world.name}: ${kind}, a reader beside root`, world.collections > 0 ? 1.3 : 1.5, ratio, 'times'),
      figureOnly('  root: the service', root.service, 'ms'),
      figureOnly('  root: PostgreSQL', root.postgres, 'ms'),
      figureOnly('  a reader: the service', other.service, 'ms'),
      figureOnly('  a reader: PostgreSQL', other.postgres, 'ms'),
      figureOnly(`  matches of the last search: root ${root.matches}, a reader`, other.matches, ''),
    )
  }
  return rows
}

let times = 0

/** A condition that all objects fulfil and no other search has: no cached result answers it. */
const unseen = () => ({
  type: 'in',
  bool: 'must_not',
  fields: ['_system_object_id'],
  in: [1_000_000_000 + times++],
})

/** Searches by the number of a word, which is the same for both callers. */
const kinds: Record<string, (word: number, world: World) => object> = {
  'search for a word': (word) => ({
    search: [{ type: 'match', mode: 'fulltext', string: wordOf(word) }, unseen()],
    limit: 20,
    format: 'short',
  }),
  'search of a type, facet': (word) => ({
    objecttypes: ['bench_0'],
    search: [{ type: 'match', mode: 'fulltext', string: wordOf(word) }, unseen()],
    sort: [{ field: 'bench_0.name', order: 'asc' }],
    aggregations: { notes: { type: 'term', field: 'bench_0.note', limit: 10 } },
    limit: 20,
    format: 'short',
  }),
}

interface Cost extends Spent {
  readonly matches: number
}

/** Processor time, in milliseconds, of a search by root and by a reader, and the ratio of all of it. */
async function compare(
  { client, service, dsn }: Context,
  reader: ServiceClient,
  body: (word: number) => object,
): Promise<{ root: Cost; other: Cost; ratio: number }> {
  const meter = await createMeter(service.pid, dsn)
  const turn = async (caller: ServiceClient, pair: number): Promise<Cost> => {
    const before = await meter()
    let matches = 0
    for (let n = 0; n < searches; n++)
      matches = (await caller.post<{ count: number }>('/search', body(pair * searches + n))).count
    const after = await meter()
    return { service: after.service - before.service, postgres: after.postgres - before.postgres, matches }
  }
  const spent: [Cost, Cost][] = []
  for (let pair = -warmUp; pair < pairs; pair++) {
    // Who begins changes, as the second one finds pages that the first one has read.
    const [first, second] = pair % 2 === 0 ? [client, reader] : [reader, client]
    const [one, other] = [await turn(first, pair + warmUp), await turn(second, pair + warmUp)]
    if (pair >= 0) spent.push(pair % 2 === 0 ? [one, other] : [other, one])
  }
  const [root, other] = [meanOf(spent.map(([own]) => own)), meanOf(spent.map(([, own]) => own))]
  return { root, other, ratio: (other.service + other.postgres) / (root.service + root.postgres) }
}

/** The cost of one search. */
function meanOf(turns: readonly Cost[]): Cost {
  const mean = (of: (turn: Cost) => number): number =>
    turns.reduce((sum, turn) => sum + of(turn), 0) / (turns.length * searches)
  return {
    service: mean((turn) => turn.service),
    postgres: mean((turn) => turn.postgres),
    matches: turns.at(-1)?.matches ?? 0,
  }
}

/** 400 words; the first ones are in many objects. */
const wordOf = (number: number): string => `word${(number * 7919) % 400}`

function nameOf(number: number): string {
  const words = Array.from({ length: 6 }, (_, place) => wordOf((number * (place + 3)) % (place < 2 ? 20 : 400)))
  return `Object ${number} ${words.join(' ')}`
}

async function build(context: Context, world: World): Promise<void> {
  const { client, dsn, say } = context
  const begun = performance.now()
  const names = Array.from({ length: world.types }, (_, number) => `bench_${number}`)
  await commitTypes(
    context,
    names.map((name) => ({
      name,
      in_main_search: true,
      pool_link: true,
      has_tags: true,
      acl_table: true,
      columns: [value('name', 'text_oneline'), value('note', 'text_oneline'), value('image', 'eas')],
    })),
    names.map((name) => ({
      name,
      table_name_hint: name,
      is_preferred: true,
      require_comment: 'never',
      fields: [field('name', true), { ...field('note'), search: { expert: true, facet: true } }, field('image')],
    })),
  )
  const db = new pg.Client({ connectionString: dsn })
  await db.connect()
  try {
    const people = await addPeople(client, db, world)
    await addPools(context, world)
    for (const [number, name] of names.entries()) {
      const own = Array.from({ length: objects }, (_, n) => n).filter((n) => n % names.length === number)
      for (let start = 0; start < own.length; start += 1000) {
        await client.post(
          `/db/${name}`,
          own.slice(start, start + 1000).map((n) => ({
            _objecttype: name,
            _mask: name,
            _pool: { pool: { 'lookup:_id': { reference: 'system:standard' } } },
            [name]: { name: nameOf(n), note: wordOf(n) },
          })),
          { format: 'short', skip_index: true },
        )
      }
    }
    if (world.uploaders > 0) await addFiles(context, db, world)
    await spread(db, world, people)
    await addCollections(client, db, world)
    await client.post('/system/reindex', undefined)
    while ((await db.query('select from index_queue limit 1')).rowCount !== 0) await pause()
    await db.query('vacuum analyze')
    while ((await db.query('select from graphile_worker.jobs where run_at <= now() limit 1')).rowCount !== 0)
      await pause()
    say(`  built in ${Math.round((performance.now() - begun) / 1000)} s`)
  } finally {
    await db.end()
  }
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 300))

const first = 100_000

/** Adds groups, the reader in every third of them, and other users who own and upload. Answers the id of the reader. */
async function addPeople(client: ServiceClient, db: pg.Client, { groups, owners, uploaders }: World): Promise<number> {
  const [made] = await client.post<{ user: { _id: number } }[]>('/user', [
    { user: { login: 'bench-reader' }, _password: password },
  ])
  const reader = made?.user._id as number
  await db.query(
    `insert into "group" (id, type, name, displayname, system_rights)
     select $1 + n, 'native', 'bench ' || n, '{}', '{}' from generate_series(1, $2::int) as n`,
    [first, groups],
  )
  await db.query(
    `insert into user_group (user_id, group_id) select $1, $2 + n from generate_series(1, $3::int) as n where n % 3 = 0`,
    [reader, first, groups],
  )
  await db.query(
    `insert into "user" (id, type, login, login_key, generated_displayname)
     select $1 + n, 'native', 'bench' || n, 'bench' || n, 'Bench ' || n from generate_series(1, $2::int) as n`,
    [first, Math.max(owners, uploaders)],
  )
  return reader
}

/** Collections of root, each with a part of the objects. */
async function addCollections(client: ServiceClient, db: pg.Client, { collections }: World): Promise<void> {
  if (collections === 0) return
  const [any] = await client.get<{ _global_object_id: string }[]>('/db/bench_0/bench_0/list', { limit: 1 })
  const database = any?._global_object_id.split('@')[1]
  const { rows } = await db.query<{ id: string }>('select system_object_id as id from object where deleted_at is null')
  const _acl = [{ who: { group: { _id: first + 3 } }, rights: { bag_read: {}, read: {} } }]
  for (let number = 0; number < collections; number++) {
    const objects = rows
      .filter((_, place) => place % collections === number)
      .map(({ id }) => ({ _global_object_id: `${id}@${database}` }))
    await client.post('/collection', { collection: {}, objects, _acl })
  }
}

/** Half of the pools are for groups of the reader, half of these for what has a tag. */
async function addPools({ client }: Context, world: World): Promise<void> {
  const tags = await addTags(client, world)
  const { masks } = await client.get<{ masks: { name: string; mask_id: number }[] }>('/mask/CURRENT')
  const { tables } = await client.get<{ tables: { name: string; table_id: number }[] }>('/schema/user/CURRENT')
  const type = tables.find(({ name }) => name === 'bench_0')?.table_id
  const mask = masks.find(({ name }) => name === 'bench_0')?.mask_id
  const limited = world.masks ? { mask_ids: { [String(type)]: [mask] } } : {}
  const groupOf = (number: number): number => {
    const own = 3 * Math.floor(number / 2) + (number % 2 === 0 && world.collections === 0 ? 3 : 1)
    return first + 1 + ((own - 1) % (world.groups - (world.groups % 3)))
  }
  const pools = Array.from({ length: world.pools }, (_, number) => {
    const who = { group: { _id: groupOf(number) } }
    const some = Array.from({ length: Math.ceil(tags.length / 2) }, (__, place) => tags[(place + number) % tags.length])
    const tagfilter = number % 4 === 0 ? {} : { tagfilter: { any: some } }
    return {
      pool: { name: { 'en-US': `Bench ${number}` }, 'lookup:_id_parent': { reference: 'system:root' } },
      _acl: [
        { who, rights: { bag_read: {} } },
        { who, rights: { read: number % 8 === 0 ? {} : limited, asset_show: {} }, ...tagfilter },
      ],
    }
  })
  for (let start = 0; start < pools.length; start += 200) await client.post('/pool', pools.slice(start, start + 200))
}

async function addTags(client: ServiceClient, world: World): Promise<number[]> {
  const groups = await client.get<object[]>('/tags')
  const saved = await client.post<{ taggroup: { reference: string }; _tags: { _id: number }[] }[]>('/tags', [
    ...groups,
    {
      taggroup: { reference: 'bench' },
      _tags: Array.from({ length: world.tags }, (_, number) => ({ reference: `bench-${number}` })),
    },
  ])
  const made = saved.find(({ taggroup }) => taggroup.reference === 'bench')
  return made?._tags.map(({ _id }) => _id) ?? []
}

/** Puts the objects into pools, with owners and tags, directly in the database: saves of the service are measured elsewhere. */
async function spread(db: pg.Client, { owners, tags }: World, reader: number): Promise<void> {
  await db.query(
    `with pools as (select array_agg(id order by id) as ids from pool where name::text like '%Bench %'),
       labels as (select array_agg(id order by id) as ids from tag where reference like 'bench-%')
     update object o set pool_id = pools.ids[1 + (hashint8(o.system_object_id) & 2147483647) % cardinality(pools.ids)],
       owner_user = case when o.system_object_id % 500 = 0 then $1 else $2 + 1 + o.system_object_id % $3 end,
       owner_group = null,
       tags = case o.system_object_id % 3 when 0 then '{}'
         when 1 then array[labels.ids[1 + o.system_object_id % $4]]
         else (select array_agg(distinct t order by t) from unnest(array[labels.ids[1 + o.system_object_id % $4],
           labels.ids[1 + (o.system_object_id * 7 + 1) % $4]]) t) end
     from pools, labels where o.deleted_at is null`,
    [reader, first, owners, tags],
  )
}

/** A picture for every second object, uploaded by one of the uploaders. */
async function addFiles(context: Context, db: pg.Client, { uploaders }: World): Promise<void> {
  const record = await stored(context, 'one.jpg', await noise(60, 40, 2, 80), ['small'])
  await db.query(
    `with column_of as (
       select t ->> 'table_id' as type, c ->> 'column_id' as id from datamodel_version d,
         jsonb_array_elements(d.schema -> 'tables') t, jsonb_array_elements(t -> 'columns') c
       where c ->> 'name' = 'image' and d.version = (select max(version) from datamodel_version)
     ), chosen as (
       select o.system_object_id as id, o.version, c.id as column_id, nextval('file_id_seq') as file_id
       from object o join column_of c on c.type::int = o.objecttype where o.system_object_id % 2 = 0
     ), files as (
       insert into file (id, upload_user, filepath, unlinked_at)
       select file_id, $1 + 1 + id % $2, id || '.jpg', null from chosen
     ), originals as (
       insert into file_version (file_id, name, location_id, sha256, size, extension, class, mime_type, status)
       select c.file_id, name, location_id, sha256, size, extension, class, mime_type, status
       from file_version, chosen c where file_version.file_id = $3 and name = 'original'
     ), uses as (
       insert into file_use (file_id, system_object_id, column_id, latest)
       select file_id, id, column_id::int, true from chosen
     )
     update object_version v set content = v.content || jsonb_build_object(c.column_id, jsonb_build_array(
       jsonb_build_object('_id', c.file_id, 'preferred', true)))
     from chosen c where v.system_object_id = c.id and v.version = c.version`,
    [first, uploaders, record._id],
  )
}
