import { parseArgs } from 'node:util'
import { stringify } from 'yaml'
import type { Config } from './platform/config/config.ts'
import { describeConfig, loadConfig } from './platform/config/load.ts'
import { version } from './platform/version.ts'

const help = `Usage: strongroom <command> [options]

Commands
  start                 run the service
  demo                  run the service with a sample collection and searches to try
  import csv <file>     make a spreadsheet into a collection: object types, objects, files (also xlsx)
  import tate <folder>  load the Tate collection through the HTTP interface
  import export <file>  take over an export of another instance: objects, links and files
  backup <file>         write all data and files into one file, also while the service runs
  verify <file>         read a backup and say whether it can be restored
  restore <file>        put the data of a backup into an empty data folder
  files verify          read all contents of files and compare them with their hashes
  user <command>        set passwords, make users, end sessions, reset factors, for the day when nobody can sign in
  config                print the effective configuration, secrets masked

Options
  --config <file>       configuration file (also SVC_CONFIG; default svc.yml where it exists)
  --help                this text
  --version             the version

Settings and their environment names: docs/configuration.md
`

/** Reads the command line, runs the command, answers the exit code. Failures are one line; their stack is for DEBUG. */
async function main(): Promise<number> {
  const [first, ...others] = process.argv.slice(2)
  // These commands have their own options. Each command loads only the modules that it needs.
  if (first === 'import') return importFrom(others)
  if (first === 'demo') return demo(others)
  if (first === 'backup') return (await import('./maintenance/backup-commands.ts')).runBackup(others, ownConfig())
  if (first === 'verify') return (await import('./maintenance/backup-commands.ts')).runVerify(others, ownConfig())
  if (first === 'restore') return (await import('./maintenance/backup-commands.ts')).runRestore(others, ownConfig())
  if (first === 'files') return (await import('./maintenance/file-commands.ts')).runFilesCommand(others, ownConfig())
  if (first === 'user') return (await import('./maintenance/user-commands.ts')).runUserCommand(others, ownConfig())
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { config: { type: 'string' }, help: { type: 'boolean' }, version: { type: 'boolean' } },
  })
  if (values.help) return print(help)
  if (values.version) return print(`${version}\n`)
  const [command, ...args] = positionals
  if (command === undefined) throw new Error('no command; see strongroom --help')
  const config = (): Config => loadConfig({ file: values.config, env: process.env, cwd: process.cwd() })
  switch (command) {
    case 'start':
      expectNoMore(command, args)
      return start(config())
    case 'config':
      expectNoMore(command, args)
      return print(stringify(describeConfig(config())))
    default:
      throw new Error(`unknown command ${JSON.stringify(command)}; see strongroom --help`)
  }
}

function print(text: string): number {
  process.stdout.write(text)
  return 0
}

function expectNoMore(command: string, args: readonly string[]): void {
  if (args.length > 0) throw new Error(`${command} takes no ${JSON.stringify(args[0])}; see strongroom --help`)
}

/**
 * Runs until SIGTERM, SIGINT or SIGHUP. After a second signal, at least a second later, it no longer waits for requests
 * and jobs, but still stops PostgreSQL: no other process would.
 */
async function start(config: Config): Promise<number> {
  const begun = Date.now()
  console.log(`strongroom ${version}, data in ${config.dataDir}`)
  const signal = nextSignal()
  const { startServer } = await import('./server.ts')
  const service = await startServer(config, (step) => console.log(`  ${step}`))
  if (service.app.newRootPassword !== null) {
    console.log(
      `  created the user root with the password ${service.app.newRootPassword} (shown until somebody signs in with it)`,
    )
  }
  console.log(`  ready at ${service.url} after ${((Date.now() - begun) / 1000).toFixed(1)} s`)
  if (process.stdout.isTTY) console.log(nextSteps(service.url))
  console.log(`  stopping on ${await signal}`)
  impatience().then(async () => {
    console.log('  stopping at once')
    await service.abandon().finally(() => process.exit(1))
  })
  await service.stop()
  console.log('  stopped')
  return 0
}

function nextSteps(url: string): string {
  return `
  What next?
    ${url}/                          what runs here, with links
    ${url}/api/v1/system/openapi/    the interface
    README.md, "First steps"                       sign in, describe an object type, save, search
    npm run demo                                   a service with a sample collection, on data of its own
  Ctrl+C stops.
`
}

/** The configuration of commands that have their own options: from SVC_CONFIG or svc.yml, and the environment. */
function ownConfig(): Config {
  return loadConfig({ file: undefined, env: process.env, cwd: process.cwd() })
}

async function importFrom(args: string[]): Promise<number> {
  const { runImport } = await import('./import/commands.ts')
  return runImport(args, {
    out: process.stdout,
    env: process.env,
    input: process.stdin,
    async startService(onStep) {
      const [config, { startServer }] = [ownConfig(), await import('./server.ts')]
      // The import prints messages for people; log lines of requests would hide them.
      const logLevel = config.logLevel === 'info' ? 'warn' : config.logLevel
      const service = await startServer({ ...config, logLevel }, onStep)
      const { newRootPassword } = service.app
      // The import signs in with it, so it will not be shown again.
      if (newRootPassword !== null) onStep(`created the user root with the password ${newRootPassword} (keep it)`)
      const password = newRootPassword ?? config.rootPassword
      return { url: service.url, password, stop: () => service.stop() }
    },
  })
}

/** Reads its configuration like `start`, but keeps its data apart; see src/import/demo.ts. */
async function demo(args: string[]): Promise<number> {
  const [{ runDemo }, { startServer }] = await Promise.all([import('./import/commands.ts'), import('./server.ts')])
  return runDemo(args, { config: ownConfig(), startServer, ended: nextSignal() })
}

/**
 * Waits for a second request to stop. A signal to a whole group of processes (service managers send them) reaches this
 * process twice, as the command that started it passes its own on: that is one request, and PostgreSQL is to be stopped.
 */
async function impatience(): Promise<void> {
  const asked = Date.now()
  do await nextSignal()
  while (Date.now() - asked < 1000)
}

const waiting = new Set<(signal: NodeJS.Signals) => void>()
let listening = false

function nextSignal(): Promise<NodeJS.Signals> {
  if (!listening) {
    listening = true
    // From now on: a signal without a listener ends the process at once, and PostgreSQL would keep running.
    for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(name, tell)
  }
  return new Promise((resolve) => waiting.add(resolve))
}

function tell(signal: NodeJS.Signals): void {
  for (const resolve of waiting) resolve(signal)
  waiting.clear()
}

/** The command that started this process (bin/strongroom.js) may be killed: then no other process would stop this one. */
function endWithLauncher(): void {
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  // The channel alone must not keep the process running.
  process.channel?.unref()
}

endWithLauncher()
main().then(
  (code) => process.exit(code),
  (error: Error) => {
    // Node's message for unknown options continues with advice on `--`.
    console.error(`strongroom: ${error.message.split('. To specify')[0]}`)
    if (process.env.DEBUG) console.error(error)
    process.exit(1)
  },
)
