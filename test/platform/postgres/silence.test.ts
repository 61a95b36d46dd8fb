import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { from as copyFrom } from 'pg-copy-streams'
import { pino } from 'pino'
import { createBus } from '../../../src/platform/postgres/bus.ts'
import { type Db, onConnection, openDb } from '../../../src/platform/postgres/db.ts'
import { openPipelinedReads } from '../../../src/platform/postgres/pipelined-reads.ts'
import { type Network, startNetwork } from '../../support/network.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'

const log = pino({ level: 'silent' })

const open = (dsn: string): Db =>
  openDb({
    connectionString: dsn,
    maxConnections: 4,
    applicationName: 'silence test',
    lockTimeout: 60_000,
    onError: () => {},
  })

/** A database behind a network, a process that has it directly, and one that has it over that network. */
async function behindNetwork() {
  const opened = new AsyncDisposableStack()
  const database = await createTestDatabase()
  opened.defer(() => database.drop())
  const network: Network = opened.use(await startNetwork(database.dsn))
  const near = open(database.dsn)
  opened.defer(() => near.close())
  const far = open(network.dsn)
  opened.defer(() => far.close())
  const nearBus = await createBus({ db: near, log })
  opened.defer(() => nearBus.close())
  const bus = await createBus({ db: far, log })
  opened.defer(() => bus.close())
  const heard: string[] = []
  bus.subscribe('topic', (payload) => heard.push(payload))
  const publish = (payload: string) => near.transaction((tx) => nearBus.publish(tx, 'topic', payload))
  return { database, network, near, far, bus, heard, publish, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

// They mostly wait.
describe('a database behind a network that loses things', { concurrency: true }, () => {
  test('a message that the network loses is noticed within seconds, and everything is read again', async () => {
    await using world = await behindNetwork()
    const { network, heard, publish } = world
    await publish('first')
    await until(() => heard.includes('first'))
    let lost = 0
    network.toClient = ({ type }) => {
      if (type !== 'A') return 'on'
      lost++
      return 'lost'
    }
    await publish('second')
    await until(() => heard.length === 2, 10)
    assert.equal(lost, 1)
    network.toClient = null
    await publish('third')
    await until(() => heard.length === 3)
    assert.deepEqual(heard, ['first', '', 'third'])
  })

  test('messages that come, be it late or of transactions that overtake each other, count as lost by nobody', async () => {
    await using world = await behindNetwork()
    const { heard, near, publish } = world
    const slow = await near.connect()
    try {
      const tx = onConnection(slow)
      await tx.query('begin')
      await tx.query('insert into bus_message default values')
      await publish('overtakes')
      await until(() => heard.includes('overtakes'))
      // The number above has no message: rolled back, it never had.
      await sleep(2500)
      await tx.query('rollback')
      for (const payload of ['a', 'b', 'c']) await publish(payload)
      await sleep(3500)
      assert.deepEqual(heard, ['overtakes', 'a', 'b', 'c'])
    } finally {
      slow.release(true)
    }
  })

  test('connections that fall silent are given up: what waits on them fails, what comes then is answered', async () => {
    await using world = await behindNetwork()
    const { network, far, heard, publish } = world
    const reads = openPipelinedReads({ db: far, connections: 1 })
    try {
      await reads.query('select 1')
      await Promise.all([far.query('select 1'), far.query('select 2')])
      const holder = await far.connect()
      const inTransaction = far.transaction(async (tx) => {
        await tx.query('select 1')
        network.silence()
        await publish('lost')
        await tx.query('select 2')
      })
      await assert.rejects(inTransaction, { code: 'ServiceUnavailable' })
      await until(() => heard.includes(''), 15)
      // What lay idle was replaced; nobody is the first to find it silent.
      for (let n = 0; n < 4; n++) assert.equal((await far.query<{ n: number }>(`select ${n} as n`)).rows[0]?.n, n)
      assert.equal((await reads.query<{ n: number }>('select 7 as n')).rows[0]?.n, 7)
      holder.release(true)
      await publish('again')
      await until(() => heard.includes('again'))
    } finally {
      await reads.close()
    }
  })

  test('answers that get lost alone are noticed as well', async () => {
    await using world = await behindNetwork()
    const { network, far } = world
    await far.query('select 1')
    const answer = far.query('select pg_sleep(0.5)')
    network.silenceAnswers()
    await assert.rejects(answer, { code: 'ServiceUnavailable' })
    assert.equal((await far.query<{ n: number }>('select 1 as n')).rows[0]?.n, 1)
  })

  test('a statement that takes long is not silent: it is waited for, also while the bus is replaced', async () => {
    await using world = await behindNetwork()
    const { far, near } = world
    const long = far.query<{ n: number }>('select 5 as n, pg_sleep(14)')
    const reads = openPipelinedReads({ db: far, connections: 1 })
    const rather = reads.alone.query<{ n: number }>('select 6 as n, pg_sleep(9)')
    await near.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
     where query like '%bus_message%' and datname = current_database() and pid <> pg_backend_pid()`,
    )
    assert.equal((await rather).rows[0]?.n, 6)
    assert.equal((await long).rows[0]?.n, 5)
    await reads.close()
  })

  test('a COPY whose source pauses goes on; one that falls silent fails', async () => {
    await using world = await behindNetwork()
    const { network, far } = world
    await far.query('create table line (text text)')
    async function* slowly(): AsyncGenerator<string> {
      yield 'one\n'
      await sleep(9000)
      yield 'two\n'
    }
    async function* silently(): AsyncGenerator<string> {
      yield 'three\n'
      await sleep(300)
      network.silence()
      yield 'four\n'
    }
    const copy = async (lines: AsyncIterable<string>): Promise<void> => {
      const client = await far.connect()
      try {
        await pipeline(Readable.from(lines), client.query(copyFrom('copy line from stdin')))
      } finally {
        client.release(true)
      }
    }
    await copy(slowly())
    await assert.rejects(copy(silently()), /Connection terminated/)
    assert.equal((await far.query('select from line')).rowCount, 2)
  })

  test('of a COMMIT without an answer nobody says that it is done, or that it is not', async () => {
    await using world = await behindNetwork()
    const { network, far, near, bus, heard } = world
    await far.query('create table line (text text)')
    const isCommit = ({ type, body }: { type: string; body: Buffer }): boolean =>
      (type === 'Q' || type === 'P') && /\bcommit\b/.test(body.toString())
    for (const fate of ['on, then silent', 'silent'] as const) {
      network.toServer = (message) => (isCommit(message) ? fate : 'on')
      let told = false
      const saved = far.transaction(async (tx) => {
        await tx.query('insert into line values ($1)', [fate])
        await bus.publish(tx, 'topic', fate)
        tx.afterCommit(() => {
          told = true
        })
      })
      await assert.rejects(saved, { code: 'ServiceUnavailable', message: /has not answered whether this is stored/ })
      assert.equal(told, false)
      network.toServer = null
    }
    // Whatever this process keeps in memory is read again.
    assert.ok(heard.filter((payload) => payload === '').length >= 2)
    const { rows } = await near.query<{ text: string }>('select text from line')
    assert.deepEqual(rows, [{ text: 'on, then silent' }])
  })

  test('while nothing can be reached statements fail in time, and soon after all is as before', async () => {
    await using world = await behindNetwork()
    const { network, far, heard, publish } = world
    await far.query('select 1')
    network.silence()
    network.swallow(true)
    await publish('lost')
    for (let n = 0; n < 2; n++) await assert.rejects(far.query('select 1'), { code: 'ServiceUnavailable' })
    network.swallow(false)
    assert.equal((await far.query<{ n: number }>('select 1 as n')).rows[0]?.n, 1)
    await until(() => heard.includes(''), 20)
  })

  test('a new connection of the bus tells another database from the same one', async () => {
    await using world = await behindNetwork()
    const { network, bus, heard } = world
    const other = await createTestDatabase()
    try {
      let another = 0
      bus.onAnotherServer(() => another++)
      network.silence()
      await until(() => heard.length === 1, 30)
      assert.equal(another, 0)
      network.lead(other.dsn)
      network.silence()
      await until(() => heard.length === 2, 30)
      assert.equal(another, 1)
    } finally {
      await other.drop()
    }
  })
})
