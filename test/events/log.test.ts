import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import pg from 'pg'
import { createEventLog, createEventService, type EventLogOptions, type NewEvent } from '../../src/events/service.ts'
import type { Actor } from '../../src/platform/actor.ts'
import { openDb } from '../../src/platform/postgres/db.ts'
import { onStatement } from '../../src/platform/postgres/statements.ts'
import { actingRoot } from '../support/event-flags.ts'
import { createTestDatabase } from '../support/postgres.ts'

const root: Actor = { ...actingRoot, userId: 7 }

/** The log on a database of its own, without HTTP: these tests are about transactions. */
async function openLog(options: EventLogOptions = {}) {
  const database = await createTestDatabase()
  const db = openDb({
    connectionString: database.dsn,
    maxConnections: 5,
    applicationName: 'event test',
    lockTimeout: 2000,
    onError: () => {},
  })
  const log = createEventLog(options)
  const service = createEventService({
    db,
    log,
    databaseName: 'test',
    users: { ofGroups: async () => [], ofTypes: async () => [], byReference: async () => new Map() },
    seen: {
      objects: async () => () => new Map(),
      pools: async () => () => new Set(),
      users: async () => () => new Set(),
      groups: async () => () => new Set(),
      messages: async () => () => new Set(),
      tasks: async () => () => new Set(),
      collections: async () => () => new Set(),
      exports: async () => () => new Set(),
    },
    quotas: { eventBytes: 65_536, events: 10_000, eventStorage: 1_000_000 },
  })
  return {
    db,
    log,
    append: (...events: NewEvent[]) => db.transaction((tx) => log.append(tx, events)),
    poll: async (from = 0) => (await service.poll(root, from, 1000)).map(({ event }) => event._id),
    read: async (id: number) => service.get(root, id),
    [Symbol.asyncDispose]: async () => {
      await db.close()
      await database.drop()
    },
  }
}

function signal(): { done: Promise<void>; give: () => void } {
  let give = (): void => {}
  const done = new Promise<void>((resolve) => {
    give = resolve
  })
  return { done, give }
}

const insert = (systemObjectId: number): NewEvent => ({ type: 'OBJECT_INSERT', actor: root, systemObjectId })

test('a batch is one statement, and the ids come back in its order', async () => {
  await using log = await openLog()
  await log.append(insert(1))
  let statements = 0
  const stop = onStatement((text) => {
    if (text.includes('insert into event')) statements++
  })
  const ids = await log.append(...Array.from({ length: 1000 }, (_, index) => insert(index + 1)))
  stop()
  assert.equal(statements, 1)
  for (const index of [0, 499, 999]) {
    assert.equal((await log.read(ids[index] ?? 0)).event.system_object_id, index + 1)
  }
})

test('an event is written with the change: a transaction that fails leaves none', async () => {
  await using log = await openLog()
  const failing = log.db.transaction(async (tx) => {
    await log.log.append(tx, [insert(1)])
    throw new Error('the change fails')
  })
  await assert.rejects(failing)
  assert.deepEqual(await log.poll(), [])
})

test('a poller that has seen an id never misses a lower one that commits later', async () => {
  await using log = await openLog()
  const [first] = await log.append(insert(1))
  const started = signal()
  const drawn = signal()
  const mayCommit = signal()
  // `late` has the higher transaction id and the lower event id: comparing transaction ids would skip its event.
  const early = log.db.transaction(async (tx) => {
    await tx.query('select pg_current_xact_id()')
    started.give()
    await drawn.done
    return log.log.append(tx, [insert(2)])
  })
  await started.done
  const late = log.db.transaction(async (tx) => {
    const ids = await log.log.append(tx, [insert(3), insert(4)])
    drawn.give()
    await mayCommit.done
    return ids
  })
  const [committedFirst] = await early
  assert.deepEqual(await log.poll(), [first], 'the committed event waits for the one with a lower id')
  mayCommit.give()
  const lower = await late
  assert.ok((lower[1] ?? 0) < (committedFirst ?? 0))
  assert.deepEqual(await log.poll(), [first, ...lower, committedFirst])
})

test('an aborted writer and transactions without events hold back nobody', async () => {
  await using log = await openLog()
  const drawn = signal()
  const mayFail = signal()
  const reader = await log.db.connect()
  await reader.query('begin')
  await reader.query('select pg_current_xact_id()')
  const failing = log.db.transaction(async (tx) => {
    await log.log.append(tx, [insert(1)])
    drawn.give()
    await mayFail.done
    throw new Error('aborted')
  })
  await drawn.done
  const [id] = await log.append(insert(2))
  assert.deepEqual(await log.poll(), [])
  mayFail.give()
  await assert.rejects(failing)
  assert.deepEqual(await log.poll(), [id])
  await reader.query('rollback')
  reader.release()
})

test('under many writers at once, a poller that goes on from its last id sees every event once', async () => {
  await using log = await openLog()
  let writing = true
  const written: number[] = []
  const writers = Array.from({ length: 3 }, async (_, writer) => {
    for (let round = 0; round < 40; round++) {
      await log.db.transaction(async (tx) => {
        const ids = await log.log.append(
          tx,
          Array.from({ length: 1 + ((round + writer) % 3) }, () => insert(round)),
        )
        await tx.query('select pg_sleep($1)', [Math.random() * 0.004])
        written.push(...ids, ...(await log.log.append(tx, [insert(round)])))
      })
    }
  })
  const seen: number[] = []
  const poller = (async () => {
    while (writing) seen.push(...(await log.poll(seen.at(-1) ?? 0)))
  })()
  await Promise.all(writers)
  writing = false
  await poller
  seen.push(...(await log.poll(seen.at(-1) ?? 0)))
  assert.deepEqual(
    seen,
    written.sort((a, b) => a - b),
  )
})

test('EVENT-002 the acting user is stored for user-logged types of enabled groups only', async () => {
  await using log = await openLog({ userInEventGroup: () => ['SYSTEM', 'INDEX'] })
  const [pool, commit, index] = await log.append(
    { type: 'POOL_UPDATE', actor: root },
    { type: 'DATAMODEL_COMMIT', actor: root },
    { type: 'INDEX_SWITCH', actor: root },
  )
  assert.deepEqual((await log.read(pool ?? 0)).user, {
    _basetype: 'user',
    user: { _id: 7, 'lookup:_id': { reference: 'system:root' }, _generated_displayname: 'Root' },
  })
  assert.equal((await log.read(commit ?? 0)).user, undefined, 'ADMIN is not enabled')
  assert.equal((await log.read(index ?? 0)).user, undefined, 'INDEX_SWITCH is not user-logged')
})

test('login events store the user whatever the configuration says', async () => {
  await using log = await openLog({ userInEventGroup: () => [] })
  const [id] = await log.append({ type: 'USER_LOGIN', actor: root, info: { method: 'native' } })
  const { event, user } = await log.read(id ?? 0)
  assert.equal(user?.user._id, 7)
  assert.equal(event.user_generated_displayname, 'Root')
})

test('EVENT-004 chosen user fields are copied into info as flat keys', async () => {
  await using log = await openLog({
    copyToEvent: () => ['department', 'town', 'phone'],
    userFields: async (_tx, ids) =>
      new Map(ids.map((id) => [id, { department: 'Prints', town: 'London', phone: null }])),
  })
  const [object, mail] = await log.append(
    { type: 'OBJECT_INSERT', actor: root, info: { standard: { 'en-US': 'A' } } },
    { type: 'EMAIL_SENT', actor: root, info: { To: ['a@example.org'] } },
  )
  assert.deepEqual((await log.read(object ?? 0)).event.info, {
    standard: { 'en-US': 'A' },
    'user.department': 'Prints',
    'user.town': 'London',
  })
  assert.deepEqual((await log.read(mail ?? 0)).event.info, { To: ['a@example.org'] }, 'not a user-logged type')
})

test('the clock is given, so that times can be tested', async () => {
  await using log = await openLog({ clock: () => new Date('2026-01-02T03:04:05.678Z') })
  const [id] = await log.append(insert(1))
  assert.equal((await log.read(id ?? 0)).event.timestamp, '2026-01-02T03:04:05.678Z')
})

test('rows that an earlier release wrote under another name are renamed, and what transitions wait for', async () => {
  const database = await createTestDatabase()
  const db = new pg.Client({ connectionString: database.dsn })
  await db.connect()
  try {
    await db.query(`insert into event (type, pollable, at, info) select type, false, now(), '{"kept": 1}'
      from unnest('{LOGIN,LOGIN_FAILED,LOGOUT,DOWNLOAD_FILE,TASK_DONE,POOL_UPDATE}'::text[]) with ordinality t (type, n) order by n`)
    await db.query(`insert into transition (position, settings) values
      (0, '{"eventTypes": ["LOGIN", "POOL_UPDATE"], "comment": "kept"}'), (1, '{"eventTypes": []}')`)
    const file = join(import.meta.dirname, '..', '..', 'migrations', '0075_event_type_names.sql')
    await db.query(await readFile(file, 'utf8'))
    const events = await db.query('select type from event where info = \'{"kept": 1}\' order by id')
    assert.deepEqual(
      events.rows.map(({ type }) => type),
      ['USER_LOGIN', 'USER_LOGIN_FAILED', 'USER_LOGOUT', 'FILE_DOWNLOAD', 'TASK', 'POOL_UPDATE'],
    )
    const transitions = await db.query('select settings from transition order by position')
    assert.deepEqual(
      transitions.rows.map(({ settings }) => settings),
      [{ eventTypes: ['POOL_UPDATE', 'USER_LOGIN'], comment: 'kept' }, { eventTypes: [] }],
    )
  } finally {
    await db.end()
    await database.drop()
  }
})
