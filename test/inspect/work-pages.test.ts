import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import type { SaveCallback } from '../../src/objects/service.ts'
import { createUsers } from '../signin/support.ts'
import type { Client, Json } from '../support/client.ts'
import { type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { until } from '../support/until.ts'
import { now, titled, works } from '../tasks/support.ts'
import { consoleCookie, consoleOf, formFor } from './support.ts'

/** While it is set, changes wait for it before they are written. */
let gate: { readonly reached: () => void; readonly opened: Promise<unknown> } | null = null
const saveCallbacks: SaveCallback[] = [
  {
    name: 'gate',
    kinds: ['save'],
    async call() {
      gate?.reached()
      await gate?.opened
      return []
    },
  },
]

suite('pages of what people have the service do', () => {
  let museum: Museum
  let client: Client
  let root: ReturnType<typeof consoleOf>

  before(async () => {
    museum = await startMuseum({ slowStatement: 200, saveCallbacks: () => (gate ? saveCallbacks : []) })
    client = museum.svc.as('root')
    root = consoleOf(museum.svc, await consoleCookie(museum.svc))
  })
  after(() => museum[Symbol.asyncDispose]())

  async function ok(answer: Promise<{ status: number; body: Json }>): Promise<Json> {
    const { status, body } = await answer
    assert.equal(status, 200, JSON.stringify(body))
    return body
  }

  test('tasks of all users, one with the log of its latest run', async () => {
    const { svc } = museum
    await createUsers(svc, { user: { login: 'tasker', _version: 1 }, _system_rights: { 'system.task': {} } })
    const tasker = svc.as('tasker')
    const params = { search: { objecttypes: ['person'], search: [] } }
    const base = { task_module: 'search', task_params: params }
    await ok(client.post('/task', { task: { ...base, description: 'Report\nof each week' } }, { confirm: 'yes' }))
    const own = await ok(tasker.post('/task', { task: { ...base, next_run_at: now } }, { confirm: 'yes' }))
    await svc.drain()
    const list = await root.json('/tasks/')
    assert.deepEqual(list.Tasks, (await ok(client.get('/task'))).objects)
    assert.deepEqual([list.TotalCount, list.Prev, list.Next], [2, null, null])
    const page = await root.json('/tasks/?limit=1')
    assert.deepEqual([(page.Tasks as Json[]).length, page.Next], [1, 1])
    const one = await root.json(`/tasks/${own.task._id}/`)
    assert.deepEqual(one.Task, await ok(tasker.get(`/task/${own.task._id}`)))
    assert.deepEqual(
      (one.Log as Json[]).map(({ msg }) => msg),
      ['0 objects found.'],
    )
    const html = (await root.html('/tasks/')).body
    assert.match(html, /Report/)
    assert.doesNotMatch(html, /of each week/, 'a list has the first line')
    assert.match((await root.html('/tasks/', 'de')).body, /Aufgaben aller Benutzer/)
    for (const id of ['999', '0', 'x']) {
      assert.equal((await root.get(`/tasks/${id}/`, { accept: 'application/json' })).statusCode, 404, id)
    }
  })

  test('a run is canceled from the page of its task', async () => {
    await works(museum, 'Held', 2)
    const [group] = await ok(
      client.post('/tags', [{ taggroup: { reference: 'held' }, _tags: [{ reference: 'seen' }] }]),
    )
    const [reached, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    gate = { reached: reached.resolve, opened: opened.promise }
    const params = { search: titled('Held'), set_tags: [(group as Json)._tags[0].tag?._id ?? group._tags[0]._id] }
    const task = { task_module: 'set_unset_tags', task_params: params, next_run_at: now }
    const { _id: id } = (await ok(client.post('/task', { task }, { confirm: 'yes' }))).task
    await reached.promise
    gate = null
    const form = formFor((await root.html(`/tasks/${id}/`)).body, 'cancel')
    const done = await root.post(`/tasks/${id}/`, form)
    opened.resolve()
    assert.deepEqual([done.statusCode, done.headers.location], [303, `/inspect/tasks/${id}/?done=done.cancel`])
    assert.equal((await ok(client.get(`/task/${id}`))).task.status, 'canceled')
    const page = (await root.html(`/tasks/${id}/`)).body
    assert.match(page, /badge bad">canceled/)
    assert.throws(() => formFor(page, 'cancel'))
    assert.equal((await root.post(`/tasks/${id}/`, form)).statusCode, 400, 'it does not run any more')
    await museum.svc.drain()
  })

  test('publish records, messages and mappings as the interface has them', async () => {
    const [person] = await ok(client.post('/db/person', [payload('person', { name: 'Ada' })]))
    const config = { publish: { collectors: [{ internalname: 'portal', displayname: { 'en-US': 'Portal' } }] } }
    await ok(client.post('/config', { system: { config } }))
    const id = person._system_object_id
    const publish = {
      system_object_id: id,
      collector: 'portal',
      publish_uri: 'javascript:alert(1)',
      svc_uri: 'http://x/',
    }
    await ok(client.post('/publish', [{ publish }, { publish: { ...publish, version: 1 } }]))
    const records = await root.json('/publish/?limit=1')
    assert.deepEqual(records.Publications, (await ok(client.get('/publish'))).slice(0, 1))
    assert.equal(records.Next, 1)
    const html = (await root.html('/publish/')).body
    assert.match(html, new RegExp(`href="/inspect/objects/${id}/"`))
    assert.doesNotMatch(html, /href="javascript/)

    const title = { 'en-US': '<b>House</b> rules' }
    const message = { title, message: title, end_time: { value: '2020-01-01T00:00:00Z' } }
    await ok(
      client.post('/message', [{ message }, { message: { title, message: title }, _groups: [{ group: { _id: 2 } }] }]),
    )
    assert.deepEqual((await root.json('/messages/')).Messages, await ok(client.get('/message')))
    const messages = (await root.html('/messages/')).body
    assert.doesNotMatch(messages, /<b>House/)
    assert.deepEqual(messages.match(/class="badge[^"]*">\w+/g), ['class="badge ">off', 'class="badge good">on'])

    const profiles = await ok(client.get('/xmlmapping/list'))
    assert.deepEqual((await root.json('/mappings/')).Profiles, profiles)
    assert.deepEqual((await root.json('/mappings/1/')).Mapping, await ok(client.get('/xmlmapping/mapping/1')))
    assert.match((await root.html('/mappings/')).body, /href="\/inspect\/mappings\/1\/"/)
    assert.equal((await root.get('/mappings/999/', { accept: 'application/json' })).statusCode, 404)
  })

  test('slow statements of the process, with their plans and without what was asked for', async () => {
    const { svc } = museum
    await svc.db.query(`select $1::text as planted, pg_sleep(0.3)`, ['planted secret'])
    // Its plan is asked for before it is told.
    const found = async () => {
      const told = await root.json('/statements/')
      return { told, one: (told.Statements as Json[]).find(({ text }) => text.includes('as planted')) }
    }
    await until(async () => (await found()).one !== undefined)
    const { told, one } = await found()
    assert.equal(told.From, 200)
    assert.ok(one.milliseconds >= 200 && one.plan.includes('Result'), JSON.stringify(one))
    const html = (await root.html('/statements/')).body
    assert.match(html, /pg_sleep/)
    assert.doesNotMatch(html + JSON.stringify(told), /planted secret/)
  })

  test('INSP-020 INSP-021 backups of the interface and archives of the folder in one list, and what each says of itself', async () => {
    const { svc } = museum
    const place = { location_defaults: { originals: 'file', versions: '', backups: 'file' } }
    await ok(client.post('/config', { system: { config: place } }))
    const made: Json[] = []
    for (const format of ['native', 'postgres']) {
      const { id } = await ok(client.put('/system/backup/new', { format }))
      await until(async () => (await ok(client.get(`/system/backup/${id}`))).status === 'done')
      made.push(await ok(client.get(`/system/backup/${id}`)))
    }
    const [native, script] = made as [Json, Json]
    await mkdir(join(svc.config.dataDir, 'backups'), { recursive: true })
    await writeFile(join(svc.config.dataDir, 'backups', 'night.tar.zst'), 'no archive')
    await svc.db.query(
      `insert into backup (status, format, include_events, log) values ('error', 'native', true, $1)`,
      [JSON.stringify([{ at: '2026-01-01T00:00:00Z', msg: 'the <disk> is full' }])],
    )
    const { Backups } = (await root.json('/migration/')) as { Backups: Json[] }
    const told = Backups.map(({ name, kind, format, status, filesize }) => [name, kind, format, status, filesize])
    const failed = String(script.id + 1)
    assert.deepEqual(
      told.toSorted(),
      [
        [String(native.id), 'stored', 'native', 'done', native.stats.filesize],
        [String(script.id), 'stored', 'postgres', 'done', script.stats.filesize],
        [failed, 'stored', 'native', 'error', null],
        ['night.tar.zst', 'archive', 'native', 'done', 10],
      ].toSorted(),
    )
    const times = Backups.map(({ created_at: at }) => at)
    assert.deepEqual(times, times.toSorted().reverse(), 'newest first')
    type Page = { Backup: Json; Files: Json[]; SubPath: string }
    const one = (await root.json(`/migration/${native.id}/?path=tables`)) as Page
    assert.deepEqual([one.Backup.status, one.Backup.instance, one.SubPath], ['done', 'test', 'tables'])
    assert.deepEqual(one.Backup.log, native.log)
    assert.ok(one.Files.some(({ path }) => path === 'tables/public.object'))
    const other = (await root.json(`/migration/${script.id}/`)) as Page
    assert.deepEqual([other.Backup.status, other.Files, other.Backup.log], ['done', [], script.log])
    const page = (await root.html(`/migration/${failed}/`)).body
    assert.match(page, /badge bad">failed/)
    assert.match(page, /the &#60;disk&#62; is full/)
    for (const name of ['999', '0', '-1'])
      assert.equal((await root.get(`/migration/${name}/`, { accept: 'application/json' })).statusCode, 404, name)
  })

  test('all janitors run from their page, those of exports and backups too', async () => {
    const { svc } = museum
    const config = { backup_scheduler: { active: true, keep_daily: 1, keep_weekly: 0, keep_monthly: 0 } }
    await svc.db.query(
      `insert into backup (created_at, finished_at, status, format, include_events, scheduled)
       select now() - n * interval '1 day', now(), 'done', 'native', true, true from generate_series(1, 3) as n`,
    )
    await svc.db.query(`insert into backup_schedule (moment) values (now())`)
    await ok(client.post('/config', { system: { config } }))
    const form = formFor((await root.html('/system/janitor/')).body, 'run')
    assert.equal((await root.post('/system/janitor/', form)).statusCode, 303)
    const left = async () => (await svc.db.query('select from backup where scheduled')).rowCount
    await until(async () => (await left()) === 1)
  })
})
