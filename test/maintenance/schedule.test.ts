import assert from 'node:assert/strict'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { pathOf } from '../../src/files/blobs/blob-store.ts'
import { keptBackups } from '../../src/maintenance/retention.ts'
import { createUsers } from '../signin/support.ts'
import type { Client, Json } from '../support/client.ts'
import { type MailServer, startMailServer } from '../support/mail-server.ts'
import { temporaryFolder } from '../support/process.ts'
import { attachService, startService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

let svc: TestService
let root: Client
let mails: MailServer
let folder: string
const resources = new AsyncDisposableStack()

before(async () => {
  folder = resources.use(await temporaryFolder()).path
  mails = resources.use(await startMailServer())
  svc = resources.use(await startService({ dataDir: folder }))
  root = svc.as('root')
  await ok(root.post('/system/location/new', { name: 'safe', kind: 'file', config: { file: { dir: 'files/safe' } } }))
  await configure({
    email: { from: 'archive@museum.test', admin_emails: [{ email: 'admin@museum.test' }] },
    email_server: { server_addr: mails.address, type: 'off' },
    location_defaults: { originals: 'file', versions: '', backups: 'safe' },
  })
})
after(() => resources.disposeAsync())

async function ok(answer: Promise<{ status: number; body: Json }>): Promise<Json> {
  const { status, body } = await answer
  assert.equal(status, 200, JSON.stringify(body))
  return body
}

/** A moment so many days from today. */
const on = (days: number, time: string): Date =>
  new Date(`${new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)}T${time}:00Z`)

const configure = (config: object) => ok(root.post('/config', { system: { config } }))
const list = (): Promise<Json[]> => ok(root.get('/system/backup/list')) as Promise<Json[]>

/** What there is after a look at that moment, when nothing is being made any more. */
async function at(moment: Date, by = svc): Promise<Json[]> {
  await by.app.tidy(moment)
  await until(async () => (await list()).every(({ status }) => status !== 'running'))
  // Once it is made, others go.
  await by.app.tidy(moment)
  return list()
}

const schedule = (more: object) =>
  configure({
    backup_scheduler: { active: true, hour: 2, keep_daily: 7, keep_weekly: 0, keep_monthly: 0, ...more },
  })

const dates = (...days: string[]) => days.map((day, index) => ({ id: index + 1, createdAt: new Date(`${day}:00Z`) }))
const numbers = { daily: 0, weekly: 0, monthly: 0, timezone: '' }

test('the last backup of each of so many days, weeks and months is kept', () => {
  const all = dates(
    ...['2026-01-31T02:00', '2026-02-14T02:00', '2026-02-28T02:00', '2026-03-01T02:00', '2026-03-01T14:00'],
    ...['2026-03-02T02:00', '2026-03-04T02:00'],
  )
  const kept = (more: Partial<typeof numbers>) => [...keptBackups(all, { ...numbers, ...more })].sort((a, b) => a - b)
  assert.deepEqual(kept({ daily: 1 }), [7])
  // A day without one does not count; of two of a day the later one stays.
  assert.deepEqual(kept({ daily: 3 }), [5, 6, 7])
  // Weeks begin on Monday: the 2nd of March is one.
  assert.deepEqual(kept({ weekly: 2 }), [5, 7])
  assert.deepEqual(kept({ monthly: 2 }), [3, 7])
  assert.deepEqual(kept({ monthly: 9 }), [1, 3, 7])
  assert.deepEqual(kept({ daily: 2, weekly: 2, monthly: 3 }), [1, 3, 5, 6, 7])
  assert.deepEqual(kept({}), [])
  // Days are those of the time zone: in Auckland both are of the 2nd.
  const evening = dates('2026-03-01T14:00', '2026-03-02T02:00')
  assert.deepEqual([...keptBackups(evening, { ...numbers, daily: 2, timezone: 'Pacific/Auckland' })], [2])
  assert.equal(keptBackups(evening, { ...numbers, daily: 2 }).size, 2)
})

test('pruning each day keeps what pruning once at the end would keep, and never the wrong one', () => {
  const start = Date.parse('2025-12-20T03:00:00Z')
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 120 }), { minLength: 1, maxLength: 60 }),
      fc.record({ daily: fc.nat(9), weekly: fc.nat(6), monthly: fc.nat(5) }),
      (gaps, most) => {
        let hours = 0
        const all = gaps.map((gap, index) => {
          hours += gap
          return { id: index + 1, createdAt: new Date(start + hours * 3_600_000) }
        })
        const rules = { ...most, timezone: '' }
        let there: typeof all = []
        for (const one of all) {
          there = [...there, one]
          const kept = keptBackups(there, rules)
          assert.ok(kept.size <= most.daily + most.weekly + most.monthly)
          assert.equal(kept.has(one.id), most.daily + most.weekly + most.monthly > 0, 'the latest one stays')
          there = there.filter(({ id }) => kept.has(id))
        }
        assert.deepEqual(new Set(there.map(({ id }) => id)), keptBackups(all, rules))
      },
    ),
  )
})

test('a backup is made once for each day, whichever process looks; what was missed is made once', async () => {
  assert.deepEqual(await at(on(1, '12:00')), [], 'the schedule is off')
  await schedule({})
  const first = await at(on(1, '12:00'))
  assert.equal(first.length, 1)
  const [{ opts, status, create_user: by }] = first as [Json]
  assert.deepEqual([opts.format, opts.include_events, status, by], ['native', true, 'done', undefined])
  await using other = await attachService(svc.dsn, { dataDir: folder })
  await Promise.all([svc, other].map((one) => one.app.tidy(on(1, '23:59'))))
  assert.equal((await at(on(2, '01:59'))).length, 1)
  await Promise.all([svc, other].map((one) => one.app.tidy(on(2, '02:00'))))
  // All are of one real day, of which the last one is kept.
  const second = await at(on(2, '02:01'), other)
  assert.deepEqual(
    second.map(({ id }) => id > (first[0] as Json).id),
    [true],
  )
  const third = await at(on(11, '12:00'))
  assert.deepEqual([third.length, (third[0] as Json).id > (second[0] as Json).id], [1, true])
})

test('the hour is that of the time zone', async () => {
  await schedule({ timezone: 'Asia/Tokyo', hour: 9 })
  const before = (await at(on(12, '00:00')))[0] as Json
  assert.equal(((await at(on(12, '23:59')))[0] as Json).id, before.id)
  assert.ok(((await at(on(13, '00:00')))[0] as Json).id > before.id)
})

test('what the rules do not keep goes with its archive; backups that somebody has asked for stay', async () => {
  await schedule({ keep_daily: 2 })
  const own = await ok(root.put('/system/backup/new', { format: 'native' }))
  await until(async () => (await ok(root.get(`/system/backup/${own.id}`))).status === 'done')
  const kept = (await at(on(15, '12:00')))[0] as Json
  // As if they were made on other days.
  await svc.db.query(
    `insert into backup (created_at, finished_at, status, format, include_events, scheduled, location_id, sha256, size)
     select now() - n * interval '1 day', now() - n * interval '1 day', 'done', 'native', true, true, location_id,
       sha256(n::text::bytea), 1 from backup, generate_series(1, 3) as n where id = $1`,
    [kept.id],
  )
  await svc.db.query(
    `insert into backup (created_at, finished_at, status, format, include_events, scheduled)
     select at, at, 'error', 'native', true, true from unnest($1::timestamptz[]) as a (at)`,
    [[on(-60, '02:00'), on(-3, '02:00')]],
  )
  const archives = await svc.db.query<{ id: number; sha256: string }>(
    `select id, encode(sha256, 'hex') as sha256 from backup where sha256 is not null order by id`,
  )
  const there = async (): Promise<number[]> => {
    const found = await Promise.all(
      archives.rows.map(({ id, sha256 }) =>
        access(join(folder, 'files', 'safe', pathOf(sha256))).then(
          () => [id],
          () => [],
        ),
      ),
    )
    return found.flat()
  }
  assert.ok((await there()).includes(own.id))
  const left = await at(on(15, '13:00'))
  const scheduled = left.filter(({ id }) => id !== own.id && id !== kept.id)
  assert.deepEqual(
    scheduled.map(({ status }) => status).sort(),
    ['done', 'error'],
    'of the days before the last one, and the failure of the last month',
  )
  assert.ok(left.some(({ id }) => id === own.id) && left.some(({ id }) => id === kept.id))
  assert.deepEqual((await there()).sort(), [own.id, kept.id].sort())
  const { body } = await root.get('/event/list', { type: 'JANITOR' })
  const { info } = body.objects[0].event
  assert.deepEqual([info.type, info.count], ['backup_expire', 3])
})

test('a backup of the schedule that fails is an event and told to administrators; the next day it is made again', async () => {
  await configure({ location_defaults: { originals: 'file', versions: '', backups: '' } })
  mails.mails.length = 0
  await svc.app.tidy(on(16, '12:00'))
  await until(async () => {
    await svc.app.idle({ hurry: true })
    return (await list()).every(({ status }) => status !== 'running')
  })
  const [failed] = (await list()) as [Json]
  assert.equal(failed.status, 'error')
  assert.match(failed.log.at(-1).msg, /location_defaults\.backups/)
  await until(() => mails.mails.some(({ data }) => data.includes('A backup has failed')))
  const { body } = await root.get('/event/list', { type: 'BACKUP_FAILED' })
  assert.equal(body.objects.at(-1).event.object_id, failed.id)
  await configure({ location_defaults: { originals: 'file', versions: '', backups: 'safe' } })
  assert.equal((await at(on(16, '13:00')))[0]?.id, failed.id)
  assert.equal((await at(on(17, '13:00')))[0]?.status, 'done')
})

test('the schedule takes the right to make backups, and rules that keep something', async () => {
  await createUsers(
    svc,
    { user: { login: 'setter', _version: 1 }, _system_rights: { 'system.config': {} } },
    { user: { login: 'keeper', _version: 1 }, _system_rights: { 'system.config': {}, 'system.backup': {} } },
  )
  const changed = { system: { config: { backup_scheduler: { active: true, keep_daily: 1 } } } }
  const refused = await svc.as('setter').post('/config', changed)
  assert.deepEqual([refused.status, refused.body.code], [403, 'SystemRightRequired'])
  await ok(svc.as('setter').post('/config', { system: { config: { name: { internal_name: 'museum' } } } }))
  await ok(svc.as('keeper').post('/config', changed))
  const nothing = { active: true, keep_daily: 0, keep_weekly: 0, keep_monthly: 0 }
  for (const wrong of [
    nothing,
    { hour: 24 },
    { hour: -1 },
    { timezone: 'Mars/Olympus' },
    { format: 'pg_dump' },
    { format: 'tar' },
  ]) {
    const answer = await root.post('/config', { system: { config: { backup_scheduler: wrong } } })
    assert.equal(answer.status, 400, JSON.stringify(wrong))
  }
})
