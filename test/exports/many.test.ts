import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import { onStatement } from '../../src/platform/postgres/statements.ts'
import { startS3 } from '../files/s3-server.ts'
import { upload } from '../files/support.ts'
import type { Json } from '../support/client.ts'
import { inPool, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { statementsOf } from '../support/statements.ts'
import { until } from '../support/until.ts'
import { addUser, archiveBytes, exported, fetchedFile, inFolder, picture, run } from './support.ts'

suite('exports of many objects', () => {
  let museum: Museum
  before(async () => {
    museum = await startMuseum()
  })
  after(() => museum[Symbol.asyncDispose]())

  async function addPeople(count: number): Promise<number[]> {
    const people = Array.from({ length: count }, (_, index) => payload('person', { name: `Person ${index}` }))
    const { status, body } = await museum.svc
      .as('root')
      .post('/db/person', people, { await_index: 60, format: 'short' })
    assert.equal(status, 200)
    return body.map((one: Json) => one._system_object_id)
  }

  const single = (ids: readonly number[]) => ({
    json_one_file_per_object: true,
    search: { search: [{ type: 'in', fields: ['_system_object_id'], in: ids }] },
  })

  /** Statements that this process sends meanwhile. */
  async function statementsFor(work: () => Promise<unknown>): Promise<number> {
    let count = 0
    const stop = onStatement(() => count++)
    await work().finally(stop)
    return count
  }

  test('documents of objects are parts of one content, and delivered each as what it is', async () => {
    const ids = await addPeople(230)
    const one = await exported(museum.svc, single(ids))
    assert.deepEqual([one._state, one._files_count], ['done', 230])
    const texts: string[] = []
    const stop = onStatement((text) => texts.push(text))
    await museum.svc.as('root').get(`/export/${one.export._id}`)
    stop()
    assert.deepEqual(
      texts.filter((text) => /count\(.*export_file/s.test(text)),
      [],
    )
    const { rows } = await museum.svc.db.query<Json>(
      `select count(distinct k.sha256)::int as contents, count(*)::int as parts, sum(k.size)::int as size
       from export_file f join kept_content k on k.id = f.content_id join export e on e.run_id = f.run_id where e.id = $1`,
      [one.export._id],
    )
    assert.deepEqual([rows[0]?.contents, rows[0]?.parts], [2, 230])
    for (const id of [ids[0], ids[199], ids[200], ids[229]]) {
      const path = `json/${id}.json`
      const whole = await fetchedFile(museum.svc, one.export._id, path)
      assert.equal(whole.json()._system_object_id, id)
      assert.equal(whole.headers.etag, `"${createHash('sha256').update(whole.rawPayload).digest('hex')}"`)
      const part = await fetchedFile(museum.svc, one.export._id, path, 'root', { range: 'bytes=2-20' })
      assert.deepEqual([part.statusCode, part.body], [206, whole.body.slice(2, 21)])
      const end = await fetchedFile(museum.svc, one.export._id, path, 'root', { range: 'bytes=-3' })
      assert.deepEqual([end.statusCode, end.body], [206, whole.body.slice(-3)])
      const behind = await fetchedFile(museum.svc, one.export._id, path, 'root', {
        range: `bytes=${whole.body.length}-`,
      })
      assert.equal(behind.statusCode, 416)
    }
    const zip = await inFolder('a.zip', await archiveBytes(museum.svc, one.export._id, 'zip'))
    for (const id of [ids[7], ids[211]]) {
      const { stdout } = await run('unzip', ['-p', zip.path, `json/${id}.json`])
      assert.equal(stdout, (await fetchedFile(museum.svc, one.export._id, `json/${id}.json`)).body)
    }
  })

  test('documents in a bucket stand in archives as they are fetched one by one', async () => {
    await using s3 = await startS3()
    const root = museum.svc.as('root')
    const bucket = { name: 'bucket', kind: 's3', prefix: 'museum/', config: { s3: s3.config } }
    const { body } = await root.post('/system/location/new', bucket)
    assert.equal(body.status, 'connected', body.status_msg)
    const keepIn = async (versions: string) => {
      const location_defaults = { originals: 'file', versions }
      const answer = await root.post('/config/system/config', { location_defaults })
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
    }
    await keepIn('bucket')
    try {
      const ids = await addPeople(3)
      const one = await exported(museum.svc, single(ids))
      for (const kind of ['zip', 'tar_gz'] as const) {
        const { path } = await inFolder(`a.${kind}`, await archiveBytes(museum.svc, one.export._id, kind))
        for (const id of ids) {
          const name = `json/${id}.json`
          const args = kind === 'zip' ? ['-p', path, name] : ['-xzOf', path, name]
          const { stdout } = await run(kind === 'zip' ? 'unzip' : 'tar', args)
          assert.equal(JSON.parse(stdout)._system_object_id, id)
          assert.equal(stdout, (await fetchedFile(museum.svc, one.export._id, name)).body)
        }
      }
    } finally {
      await keepIn('')
    }
  })

  test('the parts of a content go one by one; the content when none is left', async () => {
    const ids = await addPeople(3)
    const one = await exported(museum.svc, single(ids))
    const { rows: kept } = await museum.svc.db.query<{ id: number; hash: string }>(
      `select k.id, encode(k.sha256, 'hex') as hash from export_file f join kept_content k on k.id = f.content_id
       join export e on e.run_id = f.run_id where e.id = $1`,
      [one.export._id],
    )
    assert.deepEqual([kept.length, new Set(kept.map(({ hash }) => hash)).size], [3, 1])
    const count = async (sql: string, parameter: unknown): Promise<number> =>
      (await museum.svc.db.query<{ count: number }>(`select count(*)::int as count from ${sql}`, [parameter])).rows[0]
        ?.count ?? 0
    const parts = () =>
      count(
        'kept_content where id = any($1::bigint[])',
        kept.map(({ id }) => id),
      )
    const contents = () => count(`file_blob where encode(sha256, 'hex') = $1`, kept[0]?.hash)
    const later = new Date(Date.now() + 3 * 86_400_000)
    // While a part is used the content stays.
    await museum.svc.db.query('update export_file set content_id = null where content_id = $1', [kept[0]?.id])
    await museum.svc.db.query('delete from kept_content where id = $1', [kept[0]?.id])
    await museum.svc.app.tidy(later)
    assert.deepEqual([await parts(), await contents()], [2, 1])
    const deleted = await museum.svc.as('root').delete(`/export/${one.export._id}`)
    assert.equal(deleted.status, 200, JSON.stringify(deleted.body))
    await museum.svc.drain()
    await until(async () => (await parts()) === 0)
    await museum.svc.app.tidy(later)
    assert.equal(await contents(), 0)
  })

  test('statements do not grow with the entries of an archive, nor with the documents of an export', async () => {
    const [few, many] = [await addPeople(2), await addPeople(180)]
    const counts: number[][] = []
    for (const ids of [few, many]) {
      let one: Json = {}
      const made = await statementsFor(async () => {
        one = await exported(museum.svc, single(ids))
      })
      const { export: own } = one
      await archiveBytes(museum.svc, own._id, 'zip')
      const zip = await statementsOf(museum.svc, () => archiveBytes(museum.svc, own._id, 'zip'))
      const tar = await statementsOf(museum.svc, () => archiveBytes(museum.svc, own._id, 'tar_gz'))
      counts.push([made, zip, tar])
    }
    const [first = [], second = []] = counts
    // What the work wakes up counts, too: fewer than one for some of the 178 more.
    for (const [index, count] of second.entries()) assert.ok(count < (first[index] ?? 0) + 60, `${counts}`)
  })

  test('statements do not grow with the files of objects in an archive, also for a user with few rights', async () => {
    const ann = await addUser(museum.svc, 'ann')
    const { pool } = (await museum.svc.as('root').get(`/pool/${museum.pool}`)).body[0]
    const rights = { bag_read: {}, read: {}, asset_show: {}, asset_download: {} }
    const _acl = [{ who: { _basetype: 'user', user: { _id: ann } }, rights }]
    const granted = await museum.svc
      .as('root')
      .post('/pool', [{ pool: { _id: museum.pool, _version: pool._version }, _acl }])
    assert.equal(granted.status, 200, JSON.stringify(granted.body))
    const counts: number[][] = []
    for (const count of [2, 60]) {
      const ids = await addFiles(count)
      const one = await exported(
        museum.svc,
        {
          eas_fields: { 'work.image': { files: true } },
          search: { search: [{ type: 'in', fields: ['_system_object_id'], in: ids }] },
        },
        {},
        'ann',
      )
      assert.deepEqual([one._state, one._files_count], ['done', count], JSON.stringify(one._log.at(-2)))
      const taken = (kind: 'zip' | 'tar_gz') => archiveBytes(museum.svc, one.export._id, kind, 'ann')
      const zip = await inFolder('a.zip', await taken('zip'))
      assert.equal((await run('unzip', ['-Z1', zip.path])).stdout.match(/\.(jpg|txt)\n/g)?.length, count)
      counts.push([
        await statementsOf(museum.svc, () => taken('zip')),
        await statementsOf(museum.svc, () => taken('tar_gz')),
      ])
    }
    const [first = [], second = []] = counts
    // An archive that takes long looks files up again, since rights may be lost: fewer than one for some of the 58 more.
    for (const [index, count] of second.entries()) assert.ok(count < (first[index] ?? 0) + 15, `${counts}`)
  })

  /** Works with a file each: every other one a picture, into which metadata could be written. */
  async function addFiles(count: number): Promise<number[]> {
    const files = await Promise.all(
      Array.from({ length: count }, async (_, index) =>
        index % 2 === 0
          ? { name: `${index}.jpg`, content: await picture(index) }
          : { name: `${index}.txt`, content: Buffer.from(`${index}`) },
      ),
    )
    const { body, status } = await upload(museum.svc, 'root', files)
    assert.equal(status, 200, JSON.stringify(body))
    const works = body.map(({ _id }: Json) => payload('work', { image: [{ _id }] }, inPool(museum.pool)))
    const saved = await museum.svc.as('root').post('/db/work', works, { await_index: 60, format: 'short' })
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
    return saved.body.map((one: Json) => one._system_object_id)
  }

  test('somebody who takes an archive slowly holds nothing of the database', async () => {
    const ids = await addPeople(20)
    const one = await exported(museum.svc, { ...single(ids), eas_fields: {} })
    // Longer than what streams and sockets take before they wait.
    await museum.svc.db.query(
      `insert into export_file (run_id, folder, name, path_key, kind, content_id, mime_type, size)
       select f.run_id, 'more', n || '.json', 'more/' || n || '.json', 'data', f.content_id, f.mime_type, f.size
       from export e join export_file f on f.run_id = e.run_id, generate_series(1, 500) n
       where e.id = $1 and f.system_object_id = $2`,
      [one.export._id, ids[0]],
    )
    await museum.svc.db.query(
      `insert into export_file (run_id, folder, name, path_key, kind, content_id, mime_type, size)
       select f.run_id, 'more' || m, n || '.json', 'more' || m || '/' || n || '.json', 'data', f.content_id, f.mime_type, f.size
       from export e join export_file f on f.run_id = e.run_id, generate_series(1, 500) n, generate_series(1, 40) m
       where e.id = $1 and f.system_object_id = $2`,
      [one.export._id, ids[0]],
    )
    await museum.svc.drain()
    const { pool } = museum.svc.db
    // Some connections stay with what listens for all the service.
    const busy = (): number => pool.totalCount - pool.idleCount
    let resting = busy()
    await until(async () => {
      const before = resting
      resting = Math.min(resting, busy())
      await new Promise((resolve) => setTimeout(resolve, 100))
      return before === resting
    })
    const url = await museum.svc.listen()
    const headers = { authorization: `Bearer ${await museum.svc.as('root').token()}` }
    const stop = new AbortController()
    const response = await fetch(`${url}/api/v1/export/${one.export._id}/zip/`, { headers, signal: stop.signal })
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    assert.equal((await reader.read()).done, false)
    // It waits when nothing more is asked of the database.
    let last = -1
    let sent = 0
    const quiet = onStatement((text) => {
      if (text.includes('from export_file')) sent++
    })
    await until(async () => {
      const before = last
      last = sent
      await new Promise((resolve) => setTimeout(resolve, 100))
      return before === sent
    })
    quiet()
    await until(() => busy() <= resting && pool.waitingCount === 0)
    const { rows } = await museum.svc.db.query<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
    )
    assert.equal(rows[0]?.count, 0)
    stop.abort()
    await reader.cancel().catch(() => {})
  })

  test('what says that a file could not be had stands at a path that no file has', async () => {
    const files: number[] = []
    const names = ['a.jpg', 'a.jpg.error.txt', 'A.JPG.error-2.txt']
    for (const [index, name] of names.entries()) {
      const content = name.endsWith('.txt') ? Buffer.from(name) : await picture(index)
      const { body, status } = await upload(museum.svc, 'root', [{ name, content }])
      assert.equal(status, 200, JSON.stringify(body))
      files.push(body[0]._id)
    }
    const image = files.map((_id) => ({ _id }))
    const made = await museum.svc
      .as('root')
      .post('/db/work', [payload('work', { title: { 'en-US': 'x' }, image }, inPool(museum.pool))], { await_index: 60 })
    assert.equal(made.status, 200, JSON.stringify(made.body))
    const search = { search: [{ type: 'in', fields: ['_system_object_id'], in: [made.body[0]._system_object_id] }] }
    const one = await exported(museum.svc, {
      search,
      flat: true,
      filename_original: true,
      eas_fields: { 'work.image': { files: true, include_non_preferred: true } },
    })
    assert.deepEqual(one._files.map(({ path }: Json) => path).sort(), [...names].sort())
    // The first file is not what was exported any more.
    await museum.svc.db.query(
      `update export_file set source = source || '{"hash": "0"}' where name = 'a.jpg' and run_id = (select run_id from export where id = $1)`,
      [one.export._id],
    )
    for (const packaging of [undefined, 'bagit'] as const) {
      const zip = await inFolder('a.zip', await archiveBytes(museum.svc, one.export._id, 'zip', 'root', packaging))
      await run('unzip', ['-tq', zip.path])
      const { stdout } = await run('unzip', ['-Z1', zip.path])
      const listed = stdout
        .trim()
        .split('\n')
        .map((path) => path.replace(/^.*\//, ''))
      assert.deepEqual(
        listed.filter((path) => /^a/i.test(path)).sort(),
        [...names.slice(1), 'a.jpg.error-3.txt'].sort(),
      )
    }
  })

  test('a page shows 10,000 entries of a folder, and says so where there are more', async () => {
    const one = await exported(museum.svc, single(await addPeople(1)))
    const add = async (from: number, to: number): Promise<void> => {
      await museum.svc.db.query(
        `insert into export_file (run_id, folder, name, path_key, kind, mime_type)
         select run_id, 'full', n || '.txt', 'full/' || n || '.txt', 'data', 'text/plain' from export, generate_series($2::int, $3::int) n
         where id = $1`,
        [one.export._id, from, to],
      )
    }
    const shown = async () => {
      const { body } = await fetchedFile(museum.svc, one.export._id, 'full/')
      return [body.split('<li>').length - 2, body.includes('There are more')]
    }
    await add(1, 10_000)
    assert.deepEqual(await shown(), [10_000, false])
    await add(10_001, 10_001)
    assert.deepEqual(await shown(), [10_000, true])
  })
})
