import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { parseArgs } from 'node:util'
import { pino } from 'pino'
import { createRecovery, initialPassword, makePassword } from '../auth/service.ts'
import { openBaseConfig } from '../config/service.ts'
import { createEventLog } from '../events/service.ts'
import { createBus } from '../platform/bus.ts'
import type { Config } from '../platform/config.ts'
import { openDb } from '../platform/db.ts'
import { withOwnDatabase } from '../platform/own-database.ts'
import { createSnapshots } from '../platform/snapshot.ts'

const help = `Usage: strongroom user set-password <login or email> [--generate]

Gives a user a new password, for the day when nobody can sign in. Works while the service runs and while it does not.
The password is asked for, or read from standard input; with --generate it is made up and printed.
All sessions of the user end.
`

interface Io {
  in: NodeJS.ReadStream
  out: NodeJS.WritableStream
}

/** `strongroom user …`: answers the exit code. @throws {Error} with one line for the person at the terminal. */
export async function runUserCommand(
  args: string[],
  config: Config,
  io: Io = { in: process.stdin, out: process.stdout },
): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { generate: { type: 'boolean' }, help: { type: 'boolean' } },
  })
  if (values.help) {
    io.out.write(help)
    return 0
  }
  const [action, login, ...rest] = positionals
  if (action !== 'set-password' || login === undefined || rest.length > 0) {
    throw new Error('user needs what and whom: strongroom user set-password <login>; see strongroom user --help')
  }
  const password = values.generate ? makePassword() : await askPassword(login, io)
  await setPassword(config, login, password)
  io.out.write(
    values.generate ? `the new password of ${login} is ${password}\n` : `the password of ${login} is changed\n`,
  )
  return 0
}

function setPassword(config: Config, login: string, password: string): Promise<void> {
  return withOwnDatabase(config, async (dsn) => {
    await using opened = new AsyncDisposableStack()
    const log = pino({ level: 'silent' })
    const db = openDb({
      connectionString: dsn,
      maxConnections: 3,
      applicationName: 'strongroom user',
      lockTimeout: config.lockTimeout,
      onError: () => {},
    })
    opened.defer(() => db.close())
    const bus = await createBus({ db, log })
    opened.defer(() => bus.close())
    const events = createEventLog()
    const snapshots = createSnapshots({ bus, reads: db, log })
    opened.defer(async () => snapshots.close())
    const baseConfig = await openBaseConfig({ snapshots, log })
    const recovery = createRecovery({ db, bus, events, baseConfig, initial: initialPassword(config.dataDir) })
    opened.defer(async () => recovery.close())
    await recovery.setPassword(login, password)
  })
}

/** Twice and unseen on a terminal; from anything else the first line. */
async function askPassword(login: string, { in: input, out }: Io): Promise<string> {
  if (!input.isTTY) return firstLine(input)
  out.write(`New password of ${login}: `)
  const first = await unseenLine(input)
  out.write('\nOnce more: ')
  const second = await unseenLine(input)
  out.write('\n')
  if (first !== second) throw new Error('the two are not the same')
  return first
}

async function firstLine(input: NodeJS.ReadStream): Promise<string> {
  const reader = createInterface({ input })
  try {
    for await (const line of reader) return line
    throw new Error('no password on standard input')
  } finally {
    reader.close()
  }
}

async function unseenLine(input: NodeJS.ReadStream): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const reader = createInterface({ input, output: nowhere, terminal: true })
  try {
    return await reader.question('')
  } finally {
    reader.close()
  }
}
