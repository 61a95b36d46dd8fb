import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import type { PendingChange } from '../../src/objects/service.ts'
import { AppError } from '../../src/platform/errors.ts'
import { upload } from '../files/support.ts'
import { createPool } from '../pools/support.ts'
import type { Client, Json } from '../support/client.ts'
import { assertEventFlags } from '../support/event-flags.ts'
import { inPool, link, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { attachService } from '../support/service.ts'

let museum: Museum
let root: Client
/** What is done when a purge is announced. */
let asked: (change: PendingChange) => Promise<unknown> = async () => {}
const saveCallbacks = () => [
  {
    name: 'archive',
    kinds: ['purge'] as const,
    async call(change: PendingChange) {
      await asked(change)
      return []
    },
  },
]

before(async () => {
  museum = await startMuseum({ saveCallbacks })
  root = museum.svc.as('root')
})
after(() => museum[Symbol.asyncDispose]())
beforeEach(async () => {
  asked = async () => {}
  await say(null)
  await sayOf('person', null)
})

const day = 86_400_000
const tidy = (days: number) => museum.svc.app.tidy(new Date(Date.now() + days * day))
const purge = (min_deleted_days: number | null) => ({ object_purge: { min_deleted_days } })

/** What the base configuration says. */
async function say(days: number | null, more: object = { allow_overwrite: true }): Promise<void> {
  const object_and_file_removal = { ...purge(days), ...more }
  const { status, body } = await root.post('/config/system/config', { janitor: { object_and_file_removal } })
  assert.equal(status, 200, JSON.stringify(body))
}

async function sayOf(name: string, janitor_policy: object | null): Promise<void> {
  const all: Json[] = (await root.get('/objecttype')).body
  const { _id, _version } = all.find(({ objecttype }) => objecttype.name === name)?.objecttype ?? {}
  const { status, body } = await root.post('/objecttype', [
    { objecttype: { _id, _version: _version + 1, janitor_policy } },
  ])
  assert.equal(status, 200, JSON.stringify(body))
}

async function save(objecttype: string, objects: object[]): Promise<Json[]> {
  const answer = await root.post(`/db/${objecttype}`, objects)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body
}

async function toTrash(objecttype: string, objects: readonly Json[]): Promise<void> {
  const triples = objects.map((object) => [object[objecttype]._id, object[objecttype]._version])
  const { status, body } = await root.delete(`/db/${objecttype}`, triples, { delete_policy: 'setnull' })
  assert.equal(status, 200, JSON.stringify(body))
}

const ids = (objects: readonly Json[]): number[] => objects.map(({ _system_object_id }) => _system_object_id)

/** Which of them are there, in the trash or not. */
async function there(objects: readonly Json[]): Promise<boolean[]> {
  const { rows } = await museum.svc.db.query<{ there: boolean }>(
    `select exists (select from object where system_object_id = x) as there
     from unnest($1::bigint[]) with ordinality as t(x, n) order by n`,
    [ids(objects)],
  )
  return rows.map((row) => row.there)
}

async function told(type: string): Promise<Json[]> {
  const { body } = await root.get('/event/list', { type, sort: '_id.ASC', limit: 1000 })
  return body.objects.filter(({ event }: Json) => event.type === 'OBJECT_PURGE' || event.info.type === 'objects_purge')
}

const person = (name: string) => payload('person', { name })

test('objects are purged after the days in the trash that their pool or object type says, as if somebody did it', async () => {
  const pool = async (parent: number, janitor_policy: object | undefined) =>
    (await createPool(root, { _id_parent: parent, janitor_policy }))._id
  const [short, long] = [await pool(1, purge(3)), await pool(1, undefined)]
  const [below, never] = [await pool(short, undefined), await pool(short, purge(null))]
  const [file] = (await upload(museum.svc, 'root', [{ name: 'a.txt', content: Buffer.from('net') }])).body
  const work = (id: number, block: object = {}) => payload('work', { ...inPool(id), ...block })
  const creators = await save('person', [person('Vera'), person('Ewa')])
  const works = await save('work', [
    work(short, { title: { 'en-US': 'Net' }, image: [{ _id: file._id }] }),
    work(below, { creator: link('person', creators[0]?._system_object_id) }),
    work(never),
    work(long),
    work(short, { creator: link('person', creators[0]?._system_object_id) }),
  ])
  const [net, , , , kept] = works as [Json, Json, Json, Json, Json]
  await sayOf('person', purge(5))
  await toTrash('work', works.slice(0, 4))
  await toTrash('person', creators.slice(0, 1))
  await tidy(2.9)
  assert.deepEqual(await there([...works, ...creators]), Array(7).fill(true))
  {
    await using other = await attachService(museum.svc.dsn, { allowPurge: false })
    await other.app.tidy(new Date(Date.now() + 10 * day))
  }
  assert.deepEqual(await there([...works, ...creators]), Array(7).fill(true))
  await tidy(3.1)
  assert.deepEqual(await there([...works, ...creators]), [false, false, true, true, true, true, true])
  const purged = await told('OBJECT_PURGE')
  assert.deepEqual(
    purged.map(({ event }) => [event.system_object_id, event.objecttype, event.object_version, event.info.standard]),
    [
      [net._system_object_id, 'work', 2, 'Net'],
      [works[1]?._system_object_id, 'work', 2, ''],
    ],
  )
  const stones = await museum.svc.db.query<{ purged_by: number }>('select purged_by from object_tombstone')
  assert.deepEqual(stones.rows, [{ purged_by: 1 }, { purged_by: 1 }])
  const [report] = await told('JANITOR')
  const { run_time, log, ...info } = report?.event.info ?? {}
  assert.deepEqual(info, {
    type: 'objects_purge',
    batch_size: 200,
    count: 2,
    system_object_ids: ids(works.slice(0, 2)),
  })
  assert.deepEqual([typeof run_time, log.length, report?.user], ['number', 2, undefined])
  const { rows } = await museum.svc.db.query('select unlinked_at from file where id = $1', [file._id])
  assert.notEqual(rows[0]?.unlinked_at, null)
  const again = await root.post('/db/work', [work(short, { _id: net.work._id })])
  assert.equal(again.status, 400, 'ids are not used twice')
  // An old version of what is still there links to somebody who is gone.
  await tidy(5.1)
  assert.deepEqual(await there(creators), [false, true])
  const former = (await root.get(`/db/work/_all_fields/${kept.work._id}`, { version: 1 })).body[0]
  assert.equal(former.work.creator._purged_or_deferred, true)
  await museum.svc.drain()
  const { body } = await root.post('/search', {
    search: [{ type: 'in', fields: ['_system_object_id'], in: ids([...works, ...creators]) }],
    include_deleted: true,
  })
  assert.equal(body.count, 4)
})

test('the base configuration says it where nothing else does, and alone where nothing else may', async () => {
  const refused = await root.post('/config/system/config', { janitor: { object_and_file_removal: purge(0) } })
  assert.equal(refused.status, 400)
  const people = await save('person', [person('a'), person('b')])
  await toTrash('person', people.slice(0, 1))
  await say(2)
  await sayOf('person', purge(null))
  await tidy(100)
  assert.deepEqual(await there(people), [true, true], 'the object type keeps its own')
  await say(2, { allow_overwrite: false })
  await tidy(1)
  assert.deepEqual(await there(people), [true, true])
  await tidy(2.1)
  assert.deepEqual(await there(people), [false, true])
})

test('kill -9 in the middle leaves whole batches; the next run does the rest, one process at a time', async () => {
  const people = await save(
    'person',
    Array.from({ length: 203 }, (_, n) => person(`n${n}`)),
  )
  await toTrash('person', people)
  await sayOf('person', purge(1))
  const { db } = museum.svc
  await db.query(`create function process_ends() returns trigger language plpgsql as $$ begin
    if new.type = 'JANITOR' and (new.info->>'count')::int < 200 then raise 'the process ends'; end if; return new; end $$`)
  await db.query('create trigger process_ends before insert on event for each row execute function process_ends()')
  const [reports, purges] = [(await told('JANITOR')).length, (await told('OBJECT_PURGE')).length]
  await tidy(2)
  await db.query('drop trigger process_ends on event')
  const left = async () => (await there(people)).filter(Boolean).length
  assert.equal(await left(), 3)
  assert.match((await told('JANITOR_ERROR')).at(-1)?.event.info.error, /the process ends/)
  await using other = await attachService(museum.svc.dsn)
  await Promise.all([tidy(2), other.app.tidy(new Date(Date.now() + 2 * day))])
  await tidy(2)
  assert.equal(await left(), 0)
  const counts = (await told('JANITOR')).slice(reports).map(({ event }) => event.info.count)
  assert.deepEqual(counts, [200, 3])
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::int as count from event where type = 'OBJECT_PURGE' and system_object_id = any($1::bigint[])`,
    [ids(people)],
  )
  assert.deepEqual([rows[0]?.count, purges > 0], [203, true])
})

test('what a callback keeps stays alone, and what comes out of the trash meanwhile does too', async () => {
  const people = await save('person', [person('kept'), person('back'), person('gone'), person('gone too')])
  const [keeper, back] = people as [Json, Json]
  await toTrash('person', people)
  await sayOf('person', purge(1))
  let undeleted = 0
  asked = async ({ kind, objects }) => {
    assert.equal(kind, 'purge')
    if (undeleted++ === 0) {
      const answer = await root.delete('/db/person', [[back.person._id, 2]], { delete_policy: 'undelete' })
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
    }
    if (objects.some(({ object }) => object._system_object_id === keeper._system_object_id)) {
      throw new AppError('ServerGeneric', { name: 'archive' }, { message: 'not before it is archived' })
    }
  }
  await tidy(2)
  assert.deepEqual(await there(people), [true, true, false, false])
  assert.equal((await root.get(`/db/person/_all_fields/${back.person._id}`)).status, 200)
  const { info } = (await told('JANITOR_ERROR')).at(-1)?.event ?? {}
  assert.deepEqual([info.error, info.system_object_ids], ['not before it is archived', [keeper._system_object_id]])
  assert.deepEqual([info.type, info.batch_size, info.log.length], ['objects_purge', 200, 1])
  assert.deepEqual([typeof info.run_time, info.count], ['number', 0], 'of four objects it is the first')
  asked = async () => {}
  await tidy(2)
  assert.deepEqual(await there(people), [false, true, false, false])
})

test('EVENT-046 EVENT-047 janitors tell what they did and what stopped them, of nobody, not to those who poll, and not of nothing', async () => {
  // Even where everything of the group may carry its user.
  const logged = await root.post('/config/system/config', { user: { user_in_event_group: ['SYSTEM'] } })
  assert.equal(logged.status, 200)
  const { rows } = await museum.svc.db.query<{ id: number }>('select max(id) as id from event')
  const since = rows[0]?.id ?? 0
  const all = async (type: string): Promise<Json[]> =>
    (await root.get('/event/list', { type, sort: '_id.ASC', limit: 1000 })).body.objects.filter(
      ({ event }: Json) => event._id > since,
    )
  await sayOf('person', purge(1))
  await tidy(2)
  const before = (await all('JANITOR')).length
  await tidy(2)
  assert.equal((await all('JANITOR')).length, before, 'nothing was done')
  const people = await save('person', [person('one'), person('two'), person('three')])
  await toTrash('person', people)
  asked = async ({ objects }) => {
    if (objects.some(({ object }) => object._system_object_id === people[2]?._system_object_id)) {
      throw new AppError('ServerGeneric', { name: 'archive' }, { message: 'not this one' })
    }
  }
  await tidy(3)
  asked = async () => {}
  const [done, failed] = [await all('JANITOR'), await all('JANITOR_ERROR')]
  assert.deepEqual(
    done.slice(before).flatMap(({ event }) => event.info.system_object_ids),
    ids(people.slice(0, 2)),
  )
  for (const { event, user } of done) {
    const { run_time, log, ...info } = event.info
    const { length } = info.system_object_ids
    assert.deepEqual(Object.keys(info).sort(), ['batch_size', 'count', 'system_object_ids', 'type'])
    assert.deepEqual([info.type, info.batch_size, info.count, log.length], ['objects_purge', 200, length, length])
    assert.ok(run_time >= 0 && length > 0)
    assert.deepEqual([event.pollable, event.user, user], [false, undefined, undefined])
  }
  assert.equal(failed.length, 1)
  const { run_time, ...info } = failed[0]?.event.info ?? {}
  assert.ok(run_time >= 0)
  assert.deepEqual(info, {
    type: 'objects_purge',
    batch_size: 200,
    count: 2,
    log: [`object ${people[2]?._system_object_id} stays`],
    error: 'not this one',
    system_object_ids: ids(people.slice(2)),
  })
  assert.deepEqual([failed[0]?.event.pollable, failed[0]?.event.user, failed[0]?.user], [false, undefined, undefined])
  const polled = (await root.get(`/event/poll/${since}`, { limit: 1000 })).body as Json[]
  assert.ok(polled.every(({ event }) => !event.type.startsWith('JANITOR')))
  assert.ok(polled.some(({ event }) => event.type === 'OBJECT_PURGE'))
  await assertEventFlags(museum.svc, ['JANITOR', 'JANITOR_ERROR'], { userLogged: false, pollable: false })
})
