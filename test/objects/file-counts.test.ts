import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import fc from 'fast-check'
import { pino } from 'pino'
import { createFileCounts } from '../../src/objects/upkeep/file-counts.ts'
import { fileFigures } from '../../src/objects/upkeep/file-stats.ts'
import { upload } from '../files/support.ts'
import type { Json } from '../support/client.ts'
import { invariants } from '../support/invariants.ts'
import { inPool, type Museum, payload, startMuseum } from '../support/seed/museum.ts'

/** The figures by looking at every use of every file. */
async function plainCount(museum: Museum, pools: readonly number[]): Promise<Record<string, [number, number]>> {
  const { rows } = await museum.svc.db.query<{ key: string; count: number; size: number }>(
    `with used as (
       select file_id, min(case when o.deleted_at is not null then 3 when u.latest then 1 else 2 end) as age
       from object o join file_use u using (system_object_id) where pool_id = any($1::bigint[]) group by 1
     )
     select concat_ws(' ', case when v.name = 'original' then 'originals' else 'versions' end,
       (array['latest', 'history', 'deleted'])[age], v.extension) as key, count(*)::int as count, sum(size)::bigint as size
     from used join file_version v using (file_id) group by 1 order by 1`,
    [pools],
  )
  return Object.fromEntries(rows.map(({ key, count, size }) => [key, [count, size]]))
}

suite('counted files', () => {
  let museum: Museum
  let pools: number[]
  let counts: ReturnType<typeof createFileCounts>
  let paused = false
  before(async () => {
    museum = await startMuseum()
    const { body } = await root().post('/pool', [
      { pool: { _id_parent: museum.pool, name: { 'en-US': 'below' } } },
      { pool: { _id_parent: museum.pool, name: { 'en-US': 'beside' } } },
    ])
    pools = [museum.pool, ...body.map(({ pool }: Json) => pool._id)]
    counts = createFileCounts({ db: museum.svc.db, log: pino({ level: 'silent' }), paused: () => paused })
  })
  after(async () => {
    await counts?.close()
    await museum[Symbol.asyncDispose]()
  })

  const root = () => museum.svc.as('root')

  async function told(scope: readonly number[]): Promise<Record<string, [number, number]>> {
    const figures = await fileFigures(museum.svc.db, { pools: scope })
    const lines = (['originals', 'versions'] as const).flatMap((kind) =>
      (['latest', 'history', 'deleted'] as const).flatMap((age) =>
        Object.entries(figures[kind][age].by_extension).map(
          ([extension, { count, size }]): [string, [number, number]] => [`${kind} ${age} ${extension}`, [count, size]],
        ),
      ),
    )
    const [count, size] = lines.reduce(([n, bytes], [, one]) => [n + one[0], bytes + one[1]], [0, 0])
    assert.deepEqual([figures.count, figures.size], [count, size])
    return Object.fromEntries(lines.toSorted(([one], [other]) => (one < other ? -1 : 1)))
  }

  async function agree(what: string): Promise<void> {
    for (const scope of [...pools.map((pool) => [pool]), pools.slice(0, 2), pools]) {
      assert.deepEqual(await told(scope), await plainCount(museum, scope), `${what}: pools ${scope}`)
    }
    for (const [name, text] of Object.entries(invariants)) {
      assert.deepEqual((await museum.svc.db.query(text)).rows, [], `${what}: ${name}`)
    }
  }

  test('figures of files are true at every moment, whatever is done and whenever files are counted', async () => {
    const { body: files } = await upload(
      museum.svc,
      'root',
      ['a.txt', 'b.txt', 'c.txt', 'd.pdf', 'e.bin'].map((name) => ({ name, content: Buffer.from(name.repeat(9)) })),
    )
    const ids: number[] = files.map(({ _id }: Json) => _id)
    const works: Json[] = []
    const images = (picked: readonly number[]) => [...new Set(picked)].map((index) => ({ _id: ids[index] }))
    const save = async (work: object, pool: number, picked: readonly number[]) => {
      const object = payload(
        'work',
        { ...inPool(pools[pool] as number), ...work, image: images(picked) },
        { _mask: 'work__standard' },
      )
      const answer = await root().post('/db/work', [object])
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
      return answer.body[0].work
    }
    const remove = (work: Json, policy: string) =>
      root().delete('/db/work', [[work._id, work._version, '']], { delete_policy: policy })
    const anyWork = (index: number): { at: number; work: Json } | null =>
      works.length === 0 ? null : { at: index % works.length, work: works[index % works.length] as Json }
    const does: Record<string, (n: number, pool: number, picked: readonly number[]) => Promise<unknown>> = {
      add: async (_, pool, picked) => works.push(await save({}, pool, picked)),
      change: async (n, pool, picked) => {
        const found = anyWork(n)
        if (found) works[found.at] = await save({ _id: found.work._id, _version: found.work._version }, pool, picked)
      },
      trash: async (n) => {
        const found = anyWork(n)
        if (found) works.splice(found.at, 1)
        if (found) assert.equal((await remove(found.work, 'remove')).status, 200)
      },
      rendition: (n) =>
        museum.svc.db.query(
          `insert into file_version (file_id, name, location_id, sha256, size, extension, class, mime_type, status)
           select file_id, 'small', location_id, sha256, $2, 'jpg', 'image', 'image/jpeg', 'done' from file_version
           where file_id = $1 and name = 'original'
           on conflict (file_id, name) do update set size = excluded.size`,
          [ids[n % ids.length], n],
        ),
      unmake: (n) =>
        museum.svc.db.query(`delete from file_version where file_id = $1 and name = 'small'`, [ids[n % ids.length]]),
      count: () => counts.run(),
    }
    const step = fc.tuple(
      fc.constantFrom(...Object.keys(does)),
      fc.nat(1000),
      fc.nat(2),
      fc.array(fc.nat(4), { minLength: 0, maxLength: 3 }),
    )
    const [steps] = fc.sample(fc.array(step, { minLength: 40, maxLength: 40 }), {
      numRuns: 1,
      seed: Number(process.env.PROPERTY_SEED ?? 9),
    })
    for (const [index, [name, ...drawn]] of (steps ?? []).entries()) {
      await does[name]?.(...drawn)
      if (index % 4 === 3) await agree(`after ${index}`)
    }
    assert.ok(works.length > 1)
    await Promise.all([
      counts.run(),
      ...works.map((work, index) => save({ _id: work._id, _version: work._version }, index % 3, [index % 5])),
    ])
    await agree('at the same time')
    await counts.run()
    const { rows } = await museum.svc.db.query('select from file_count_due')
    assert.equal(rows.length, 0)
    await agree('at the end')
  })

  test('while nothing may be changed nothing is counted, and figures are true all the same', async () => {
    paused = true
    const before = await told(pools)
    await museum.svc.db.query(`update file_version set size = size + 1 where name = 'original'`)
    await counts.run()
    const { rows } = await museum.svc.db.query('select from file_count_due')
    assert.ok(rows.length > 0)
    assert.notDeepEqual(await told(pools), before)
    await agree('paused')
    paused = false
  })
})
