import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { parseArgs } from 'node:util'
import { pino } from 'pino'
import { openBaseConfig } from '../config/service.ts'
import { createEventLog } from '../events/service.ts'
import type { Config } from '../platform/config/config.ts'
import { createBus } from '../platform/postgres/bus.ts'
import { openDb } from '../platform/postgres/db.ts'
import { withOwnDatabase } from '../platform/postgres/own-database.ts'
import { createSnapshots } from '../platform/postgres/snapshot.ts'
import { createSeal } from '../platform/secrets/seal.ts'
import { createRecovery, initialPassword, makePassword } from '../signin/service.ts'

const help = `Usage: strongroom user <command> <login or email>

For the day when nobody can sign in. Works while the service runs and while it does not.

  set-password <login> [--generate]       a new password; all sessions of the user end
  create <login> [--email <address>] [--root] [--generate]
                                          a new user; with --root one that may do everything
  sessions <login>                        where the user is signed in
  end-sessions <login>                    signs the user out everywhere
  reset-factors <login>                   takes authenticator app and recovery codes away

A password is asked for, or read from standard input; with --generate it is made up and printed.
`

type Input = NodeJS.ReadableStream & { readonly isTTY?: boolean }

interface Io {
  in: Input
  out: NodeJS.WritableStream
}

/** `strongroom user …`: returns the exit code. @throws {Error} with one line for the person at the terminal. */
export async function runUserCommand(
  args: string[],
  config: Config,
  io: Io = { in: process.stdin, out: process.stdout },
): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      generate: { type: 'boolean' },
      email: { type: 'string' },
      root: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  })
  if (values.help) {
    io.out.write(help)
    return 0
  }
  const [action = '', login, ...rest] = positionals
  const command = commands[action]
  if (!command || login === undefined || rest.length > 0) {
    throw new Error('user needs what and whom: strongroom user set-password <login>; see strongroom user --help')
  }
  const foreign = (['generate', 'email', 'root'] as const).find(
    (option) => values[option] !== undefined && !command.options.includes(option),
  )
  if (foreign) throw new Error(`user ${action} has no option --${foreign}; see strongroom user --help`)
  // Asked for before the database is opened, so that a slow answer blocks no one.
  const takesPassword = command.options.includes('generate')
  const password = !takesPassword ? '' : values.generate ? makePassword() : await askPassword(login, io)
  const given = { login, password, email: values.email ?? null, root: values.root ?? false }
  const told = await withRecovery(config, (recovery) => command.run(recovery, given))
  io.out.write(values.generate ? `the ${told.what} of ${login} is ${password}\n` : `${told.text}\n`)
  return 0
}

type Recovery = ReturnType<typeof createRecovery>
type Given = Parameters<Recovery['create']>[0]
type Option = 'generate' | 'email' | 'root'

interface Command {
  readonly options: readonly Option[]
  /** Returns the text to print; `what` is the password when it was generated. */
  run(recovery: Recovery, given: Given): Promise<{ what: string; text: string }>
}

const commands: Readonly<Record<string, Command>> = {
  'set-password': {
    options: ['generate'],
    async run(recovery, { login, password }) {
      await recovery.setPassword(login, password)
      return { what: 'new password', text: `the password of ${login} is changed` }
    },
  },
  create: {
    options: ['generate', 'email', 'root'],
    async run(recovery, given) {
      await recovery.create(given)
      return { what: 'password', text: `there is a user ${given.login}` }
    },
  },
  sessions: {
    options: [],
    async run(recovery, { login }) {
      const open = await recovery.sessions(login)
      const lines = open.map((one) =>
        [one.since.toISOString(), one.lastUsed.toISOString(), one.clientId, one.method, one.address, one.device ?? '']
          .map(printable)
          .join('\t'),
      )
      const head = ['since', 'last used', 'client', 'method', 'address', 'device'].join('\t')
      return { what: '', text: open.length === 0 ? `${login} is not signed in` : [head, ...lines].join('\n') }
    },
  },
  'reset-factors': {
    options: [],
    async run(recovery, { login }) {
      await recovery.resetFactors(login)
      return { what: '', text: `the second factors of ${login} are gone` }
    },
  },
  'end-sessions': {
    options: [],
    async run(recovery, { login }) {
      const count = await recovery.endSessions(login)
      return { what: '', text: `${count} ${count === 1 ? 'session has' : 'sessions have'} ended` }
    },
  },
}

/** The user agent of a browser must not reach the terminal as control characters. */
function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?')
}

function withRecovery<T>(config: Config, work: (recovery: Recovery) => Promise<T>): Promise<T> {
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
    const baseConfig = await openBaseConfig({ snapshots, seal: createSeal(config), log })
    const recovery = createRecovery({ db, bus, events, baseConfig, initial: initialPassword(config.dataDir) })
    opened.defer(async () => recovery.close())
    return await work(recovery)
  })
}

/** Asked for twice and not shown on a terminal; from any other input the first line. */
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

async function firstLine(input: Input): Promise<string> {
  const reader = createInterface({ input })
  try {
    for await (const line of reader) return line
    throw new Error('no password on standard input')
  } finally {
    reader.close()
  }
}

async function unseenLine(input: Input): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const reader = createInterface({ input, output: nowhere, terminal: true })
  try {
    return await reader.question('')
  } finally {
    reader.close()
  }
}
