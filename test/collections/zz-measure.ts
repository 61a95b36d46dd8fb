import { createCollection, createNotes, entriesOf, ok, startScene } from './support.ts'

const it = await startScene()
const notes = await createNotes(it.root, it.pool, 300)
const { _id } = await createCollection(it.reader)
await it.svc.db.query(
  `insert into collection_object (collection_id, object_id, rank) select $1, 1000000 + g, g::bigint * 1048576 from generate_series(1, 100000) g`,
  [_id],
)
await it.svc.db.query('update collection set object_count = 100000 where id = $1', [_id])
const stats = process.argv[2] === 'analyze'
if (stats) await it.svc.db.query('vacuum analyze collection_object')
const time = async (name: string, work: (n: number) => Promise<any>) => {
  const all: number[] = []
  for (let n = 0; n < 15; n++) {
    const t = performance.now()
    const a = await work(n)
    all.push(performance.now() - t)
    ok(a)
  }
  all.sort((a, b) => a - b)
  console.log(name, 'median', all[7]!.toFixed(1), 'max', all[14]!.toFixed(1))
}
const one = (n: number) => entriesOf(it.svc, [notes[n] as number])
await time('push', (n) => it.reader.post(`/collection/push/${_id}`, { objects: one(n) }))
await time('splice 50000', (n) =>
  it.reader.post(`/collection/splice/${_id}`, { index: 50000, count: 1, objects: one(20 + n) }),
)
await time('splice 50000 same place, insert only', (n) =>
  it.reader.post(`/collection/splice/${_id}`, { index: 50000, count: 0, objects: one(50 + n) }),
)
await time('splice 50000 again (makes room)', (n) =>
  it.reader.post(`/collection/splice/${_id}`, { index: 50000, count: 0, objects: one(80 + n) }),
)
await time('last page', () => it.reader.get(`/collection/objects/${_id}`, { offset: 99900, limit: 100 }))
await time('middle page', () => it.reader.get(`/collection/objects/${_id}`, { offset: 50000, limit: 100 }))
await time('first page', () => it.reader.get(`/collection/objects/${_id}`, { offset: 0, limit: 100 }))
await time('read', () => it.reader.get(`/collection/${_id}`))
await time('remove', (n) => it.reader.post(`/collection/remove/${_id}`, one(n)))
for (const [name, sql, values] of [
  [
    'page',
    `explain (analyze, buffers) select e.object_id from collection_object e left join foreign_object f on f.id = -e.object_id
     where e.collection_id = $1 and e.rank >= (select rank from collection_object where collection_id = $1 order by rank desc limit 1 offset 50000) order by e.rank limit 100`,
    [_id],
  ],
  [
    'put',
    `explain (analyze) insert into collection_object (collection_id, object_id, rank, webfrontend_props)
     select n.collection_id, n.object_id, n.rank, case when n.props is null then e.webfrontend_props else nullif(n.props::jsonb, 'null') end
     from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[]) as n (collection_id, object_id, rank, props)
     left join collection_object e on e.collection_id = n.collection_id and e.object_id = n.object_id
     on conflict (object_id, collection_id) do update set rank = excluded.rank, webfrontend_props = excluded.webfrontend_props`,
    [[_id], [notes[0]], [7], [null]],
  ],
  [
    'among',
    `explain (analyze) select object_id as id from collection_object where collection_id = $1 and object_id = any($2::bigint[])`,
    [_id, notes],
  ],
] as const)
  console.log(name, (await it.svc.db.query(sql, values as any)).rows.map((r: any) => r['QUERY PLAN']).join('\n'))
await it[Symbol.asyncDispose]()
