import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Json } from '../support/client.ts'
import { type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { attachService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { addUser, addWorks, draft, exported, fetchedFile, ran, saved } from './support.ts'

suite('runs of exports', () => {
  let museum: Museum
  let works: Json[]
  before(async () => {
    museum = await startMuseum()
    works = await addWorks(
      museum,
      Array.from({ length: 30 }, (_, index) => `work ${index}`),
    )
  })
  after(() => museum[Symbol.asyncDispose]())

  const root = () => museum.svc.as('root')
  const titlesOf = async (one: Json, svc: TestService = museum.svc): Promise<string[]> => {
    const { body } = await fetchedFile(svc, one.export._id, 'export.json')
    return JSON.parse(body).map(({ work }: Json) => work.title['en-US'])
  }
  const change = async (object: Json, title: string) => {
    const { body } = await root().get(`/db/work/_all_fields/system_object_id/${object._system_object_id}`)
    const { _id, _version } = body[0].work
    const answer = await root().patch('/db/work', [payload('work', { _id, _version, title: { 'en-US': title } })], {
      await_index: 60,
    })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
  }

  test('a document has as many objects as the search finds, in its order, and everything there is of them', async () => {
    const search = { objecttypes: ['work'], sort: [{ field: 'work.title', order: 'desc' }] }
    const { body: found } = await root().post('/search', { ...search, limit: 1000 })
    const one = await exported(museum.svc, { json: true, json_one_file_per_object: false, search })
    assert.deepEqual([one._last_relevant_object_count, found.count], [30, 30])
    assert.deepEqual(
      await titlesOf(one),
      found.objects.map(({ work }: Json) => work.title['en-US']),
    )
    const apart = await exported(museum.svc, { json: true, json_one_file_per_object: true })
    assert.equal(apart._files_count, 30)
    const single = JSON.parse((await fetchedFile(museum.svc, apart.export._id, apart._files[7].path)).body)
    assert.equal(apart._files[7].path, `json/${single._system_object_id}.json`)
  })

  test('what changes after the beginning of a run is not in it', async () => {
    const [first] = works
    const { export: own } = await saved(museum.svc, 'root', draft({ json: true }))
    // Stopped behind its list by hand, as a process that dies there.
    await root().post(`/export/${own._id}/start`)
    await museum.svc.drain()
    const { rows } = await museum.svc.db.query<Json>('select run_id as run from export where id = $1', [own._id])
    const { run } = rows[0]
    await museum.svc.db.query(`update export_run set step = 'data:json', position = 0 where id = $1`, [run])
    await museum.svc.db.query('delete from export_file where run_id = $1', [run])
    await museum.svc.db.query(`update export set state = 'processing' where id = $1`, [own._id])
    await change(first as Json, 'changed')
    await using next = await attachService(museum.svc.dsn, { dataDir: museum.svc.config.dataDir })
    await next.drain()
    await museum.svc.drain()
    const { body } = await root().get(`/export/${own._id}`)
    assert.equal(body._state, 'done')
    assert.ok((await titlesOf(body)).includes('work 0'))
    assert.ok((await titlesOf(await ran(museum.svc, 'root', own._id))).includes('changed'))
  })

  test('one user has as many runs at the same time as the quota says; others have theirs', async () => {
    const ids: number[] = []
    for (let index = 0; index < 4; index++)
      ids.push((await saved(museum.svc, 'root', draft({ json: true }))).export._id)
    const blocked = await museum.svc.db.query<Json>(
      `update export set state = 'processing', run_id = null where id = $1 returning id`,
      [ids[0]],
    )
    assert.equal(blocked.rows.length, 1)
    for (const id of ids.slice(1)) await root().post(`/export/${id}/start`)
    await museum.svc.drain()
    const stateOf = async (id: number) => (await root().get(`/export/${id}`, { format: 'short' })).body._state
    assert.deepEqual(await Promise.all(ids.slice(1).map(stateOf)), ['pending', 'pending', 'pending'])
    await addUser(museum.svc, 'ann')
    assert.equal((await exported(museum.svc, { json: true }, {}, 'ann'))._state, 'done')
    // The end of one lets the next begin, and so on.
    assert.equal((await root().post(`/export/${ids[0]}/stop`)).status, 200)
    await museum.svc.drain()
    assert.deepEqual(await Promise.all(ids.slice(1).map(stateOf)), ['done', 'done', 'done'])
  })

  test('a run that is stopped, changed or deleted meanwhile leaves nothing behind', async () => {
    for (const how of ['stop', 'change', 'delete'] as const) {
      const { export: own } = await saved(museum.svc, 'root', draft({ json: true, json_one_file_per_object: true }))
      await root().post(`/export/${own._id}/start`)
      if (how === 'stop') await root().post(`/export/${own._id}/stop`)
      if (how === 'change') await root().post(`/export/${own._id}`, draft({ _id: own._id, _version: 1 }))
      if (how === 'delete') await root().delete(`/export/${own._id}`)
      await museum.svc.drain()
      const { rows } = await museum.svc.db.query<Json>('select state from export where id = $1', [own._id])
      const over: readonly string[] = { stop: ['done', 'failed'], change: ['new'], delete: [] }[how]
      assert.ok(rows.length === 0 ? how === 'delete' : over.includes(rows[0].state), `${how}: ${JSON.stringify(rows)}`)
    }
    await museum.svc.app.tidy()
    await museum.svc.drain()
    const { rows } = await museum.svc.db.query<Json>(
      'select count(*)::int as runs from export_run where export_id is null',
    )
    assert.equal(rows[0].runs, 0)
  })

  test('EXP-022 an incremental export has changed objects alone, counts them, and lists the ones that are not found any more', async () => {
    const { export: own } = await saved(museum.svc, 'root', draft({ type: 'export_incremental', json: true }))
    const run = () => ran(museum.svc, 'root', own._id)
    const all = await run()
    assert.deepEqual([all._last_relevant_object_count, (await titlesOf(all)).length], [30, 30])
    const still = await run()
    assert.deepEqual([still._last_relevant_object_count, still._last_relevant_run_at], [0, all._last_relevant_run_at])
    assert.ok(still._last_run_at > all._last_run_at)
    assert.ok(still._log.some((one: Json) => one.event.type === 'EXPORT_FINISH_EMPTY'))
    await change(works[3] as Json, 'other title')
    const [added] = await addWorks(museum, ['new one'])
    const gone = works[4] as Json
    const trash = await root().delete('/db/work', [[gone.work._id, 1, '']], {
      delete_policy: 'remove',
      await_index: 60,
    })
    assert.equal(trash.status, 200, JSON.stringify(trash.body))
    const some = await run()
    assert.deepEqual((await titlesOf(some)).sort(), ['new one', 'other title'])
    assert.equal(some._last_relevant_object_count, 3)
    const { body: list } = await fetchedFile(museum.svc, own._id, 'deleted.json')
    assert.deepEqual(JSON.parse(list), [
      { _system_object_id: gone._system_object_id, _global_object_id: gone._global_object_id },
    ])
    assert.ok(added)
    // What it was about has changed, so everything is new.
    const { body: changed } = await root().post(
      `/export/${own._id}`,
      draft({ _id: own._id, _version: 1, type: 'export_incremental', json: true }),
    )
    assert.equal(changed._state, 'new')
    assert.equal((await run())._last_relevant_object_count, 30)
  })

  test('EXP-021 schedules: what is due begins once among processes, and what was missed once', async () => {
    const { export: own } = await saved(
      museum.svc,
      'root',
      draft({ json: true }, { _schedules: [{ minutes: [0, 20, 40] }] }),
    )
    const runsOf = async () =>
      (await root().get(`/export/${own._id}`)).body._log.filter((one: Json) => one.event.type === 'EXPORT_START').length
    const nextOf = async (): Promise<string> =>
      (await root().get(`/export/${own._id}`, { format: 'short' })).body._next_run_at
    const due = new Date(new Date(await nextOf()).getTime() + 3 * 3_600_000)
    await using other = await attachService(museum.svc.dsn, { dataDir: museum.svc.config.dataDir })
    await museum.svc.app.tidy(new Date(due.getTime() - 4 * 3_600_000))
    assert.equal(await runsOf(), 0)
    const off = await root().post('/config', { system: { config: { export_scheduler: { active: false } } } })
    assert.equal(off.status, 200, JSON.stringify(off.body))
    // The other process hears of it in a moment.
    const scheduler = '/config/system/config/export_scheduler'
    await until(async () => (await other.as('root').get(scheduler)).body.active === false)
    await Promise.all([museum.svc.app.tidy(due), other.app.tidy(due)])
    await museum.svc.drain()
    assert.equal(await runsOf(), 0)
    await root().post('/config', { system: { config: { export_scheduler: { active: true } } } })
    await until(async () => {
      await Promise.all([museum.svc.app.tidy(due), other.app.tidy(due)])
      await museum.svc.drain()
      return (await runsOf()) > 0
    })
    await Promise.all([museum.svc.app.tidy(due), other.app.tidy(due)])
    await museum.svc.drain()
    await other.drain()
    assert.equal(await runsOf(), 1)
    assert.ok(new Date(await nextOf()) > due)
    const later = new Date(new Date(await nextOf()).getTime() + 1000)
    await museum.svc.app.tidy(later)
    await museum.svc.drain()
    assert.equal(await runsOf(), 2)
  })

  test('schedules end with the sign-in of their user', async () => {
    const id = await addUser(museum.svc, 'leaving')
    const { export: own } = await saved(museum.svc, 'leaving', draft({ json: true }, { _schedules: [{ hours: [1] }] }))
    await museum.svc.db.query('update "user" set login_disabled = true where id = $1', [id])
    await museum.svc.app.tidy(new Date(Date.now() + 3 * 86_400_000))
    await museum.svc.drain()
    const { body } = await root().get(`/export/${own._id}`)
    assert.deepEqual(
      [body._state, body._next_run_at, body._log.at(-1).event.type],
      ['failed', undefined, 'EXPORT_FAILED'],
    )
  })

  test('downloads go after a number of days, other exports stay', async () => {
    const one = await exported(museum.svc, { type: 'download', json: true })
    const other = await exported(museum.svc, { json: true })
    await museum.svc.app.tidy(new Date(Date.now() + 6 * 86_400_000))
    assert.equal((await root().get(`/export/${one.export._id}`)).status, 200)
    await museum.svc.app.tidy(new Date(Date.now() + 8 * 86_400_000))
    assert.equal((await root().get(`/export/${one.export._id}`)).status, 400)
    assert.equal((await root().get(`/export/${other.export._id}`)).status, 200)
    assert.equal((await fetchedFile(museum.svc, other.export._id, 'export.json')).statusCode, 200)
  })
})
