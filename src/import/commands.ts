import { parseArgs } from 'node:util'
import { createProgress, type ProgressOutput } from '../platform/process/progress.ts'
import { createServiceClient, type ServiceClient } from './client.ts'
import { importExport } from './exports/load.ts'
import { PackageProblem } from './exports/problem.ts'
import { importSheetFile } from './sheets/command.ts'
import type { SheetOptions } from './sheets/read/model.ts'
import { importTate, type TateImportSummary } from './tate/import.ts'
import { askSecret, confirm, type Terminal } from './terminal.ts'

export { runDemo } from './demo.ts'

const help = `Usage: strongroom import tate <folder> [options]
       strongroom import csv <file> [options]
       strongroom import xlsx <file> [options]
       strongroom import export <file or folder> [options]

tate   loads the Tate collection (artists.jsonl.gz and artworks.jsonl.gz in <folder>) into a running service.
csv    proposes object types for a spreadsheet, makes them, and imports its rows; what was decided stands in
xlsx   a mapping file beside it, to be edited and used again. See docs/import-spreadsheet.md.
export takes over an export of another instance (docs/exports.md): a folder, ZIP, TAR.GZ or its JSON; all of it or nothing.
The same command goes on where an interrupted import has stopped.

Options
  --url <address>       the service (default http://localhost:8080)
  --login <name>        who imports; needs rights on the datamodel and pools (default root)
  --password <text>     better given as SVC_ROOT_PASSWORD in the environment; else it is asked for
  --token <text>        an access token in place of login and password; also STRONGROOM_TOKEN in the environment
  --batch <n>           objects per request (default 500)
  --connections <n>     requests at the same time (default 2)

Of tate
  --limit <n>           at most n artworks, and what they refer to

Of export
  --pool <reference>    a pool for all objects, in place of those with the references that they have
  --without-files       objects without their files
  --most-bytes <n>      most bytes that an archive may have unpacked (default 20000000000)

Of csv and xlsx
  --start               start the service for as long as the import takes, on the data of strongroom start
  --dry-run             show the proposal and the rows that would be refused, change nothing
  --mapping <file>      import by this mapping, and ask nothing
  --yes                 import by the proposal, and ask nothing
  --type <name>         object type of the rows (default: after the name of the file); may be one that is there
  --language <name>     of texts whose heading names none, as de-DE (default: the first language of the instance)
  --encoding <name>     of a CSV: utf-8, windows-1252, utf-16le, … (default: found by looking)
  --delimiter <char>    of a CSV: what stands between cells (default: found by looking)
  --quote <char>        of a CSV: what stands around cells (default: found by looking)
  --sheet <name>        of an XLSX: which sheet (default: the first)
`

/** A service that runs for the duration of an import. */
export interface StartedService {
  readonly url: string
  readonly password: string | null
  stop(): Promise<void>
}

interface Io {
  out: ProgressOutput & NodeJS.WritableStream
  env: NodeJS.ProcessEnv
  /** A person at a terminal who can answer questions. */
  input?: NodeJS.ReadStream
  startService?: (onStep: (step: string) => void) => Promise<StartedService>
}

const options = {
  url: { type: 'string' },
  login: { type: 'string', default: 'root' },
  password: { type: 'string' },
  token: { type: 'string' },
  limit: { type: 'string' },
  batch: { type: 'string' },
  connections: { type: 'string' },
  start: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
  mapping: { type: 'string' },
  yes: { type: 'boolean' },
  type: { type: 'string' },
  language: { type: 'string' },
  encoding: { type: 'string' },
  delimiter: { type: 'string' },
  quote: { type: 'string' },
  sheet: { type: 'string' },
  pool: { type: 'string' },
  'without-files': { type: 'boolean' },
  'most-bytes': { type: 'string' },
  help: { type: 'boolean' },
} as const

type Values = ReturnType<typeof parsed>['values']

function parsed(args: string[]) {
  return parseArgs({ args, allowPositionals: true, options })
}

/** The sources to which an option applies, unless it applies to all. */
const only: Readonly<Partial<Record<keyof typeof options, readonly string[]>>> = {
  limit: ['tate'],
  encoding: ['csv'],
  delimiter: ['csv'],
  quote: ['csv'],
  sheet: ['xlsx'],
  pool: ['export'],
  'without-files': ['export'],
  'most-bytes': ['export'],
  connections: ['tate', 'csv', 'xlsx'],
  ...Object.fromEntries(
    ['start', 'dry-run', 'mapping', 'yes', 'type', 'language'].map((name) => [name, ['csv', 'xlsx']]),
  ),
}

/**
 * `strongroom import …`: returns the exit code.
 * @throws {Error} whose message is one line for the person at the terminal.
 */
export async function runImport(args: string[], io: Io = { out: process.stdout, env: process.env }): Promise<number> {
  const { values, positionals } = parsed(args)
  if (values.help) {
    io.out.write(help)
    return 0
  }
  const [source, place, ...rest] = positionals
  if (!['tate', 'csv', 'xlsx', 'export'].includes(source ?? '') || place === undefined || rest.length > 0) {
    throw new Error(
      'import needs what and from where: strongroom import tate <folder>, or csv <file>; see strongroom import --help',
    )
  }
  for (const [name, sources] of Object.entries(only)) {
    if (values[name as keyof Values] !== undefined && !sources?.includes(source ?? '')) {
      throw new Error(`--${name} is no option of import ${source}; see strongroom import --help`)
    }
  }
  const stop = interruption(values.start === true)
  const progress = createProgress(io.out)
  try {
    if (source === 'export') return await runExport(place, values, { io, progress, stop: stop.signal })
    if (source !== 'tate')
      return await runSheet(source as 'csv' | 'xlsx', place, values, { io, progress, stop: stop.signal })
    const client = await clientFor(values, io, null)
    const summary = await importTate({
      client,
      folder: place,
      limit: count('limit', values.limit),
      ...sizes(values),
      progress,
      signal: stop.signal,
    })
    progress.say(describe(summary))
    return summary.interrupted ? 130 : 0
  } finally {
    progress.stop()
    stop.release()
  }
}

/** Default maximum bytes of an unpacked archive. */
const usualMostBytes = 20_000_000_000

async function runExport(file: string, values: Values, { io, progress, stop }: SheetRun): Promise<number> {
  const begun = Date.now()
  const client = await clientFor(values, io, null)
  try {
    const { created, files } = await importExport({
      client,
      file,
      progress,
      signal: stop,
      mostBytes: count('most-bytes', values['most-bytes']) ?? usualMostBytes,
      pool: values.pool,
      withoutFiles: values['without-files'] === true,
      batch: count('batch', values.batch, 10_000),
    })
    const list = Object.entries(created).map(([type, number]) => `${number} ${type}`)
    progress.say(`created ${list.join(', ')}, with ${files} files, in ${((Date.now() - begun) / 1000).toFixed(1)} s`)
    return 0
  } catch (error) {
    if (error instanceof PackageProblem) throw new Error(`${file}: ${error.message}`, { cause: error })
    if (!stop.aborted) throw error
    progress.say('interrupted, and nothing is left of it')
    return 130
  }
}

interface SheetRun {
  readonly io: Io
  readonly progress: ReturnType<typeof createProgress>
  readonly stop: AbortSignal
}

async function runSheet(
  format: 'csv' | 'xlsx',
  file: string,
  values: Values,
  { io, progress, stop }: SheetRun,
): Promise<number> {
  const { mapping, type, language } = values
  if (type !== undefined && !/^[a-z][a-z0-9_]{0,49}$/.test(type)) {
    throw new Error(`--type ${JSON.stringify(type)}: names are small letters, digits and _, a letter first, at most 50`)
  }
  if (language !== undefined && !/^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$/.test(language)) {
    throw new Error(`--language ${JSON.stringify(language)} is no language such as de-DE`)
  }
  for (const name of ['delimiter', 'quote'] as const) {
    const told = values[name] === '\\t' ? '\t' : values[name]
    if (told !== undefined && told.length !== 1) throw new Error(`--${name} is one character`)
    values[name] = told
  }
  if (values.start && values.url !== undefined) throw new Error('--start and --url exclude each other')
  const command = {
    file,
    options: sheetOptions(format, values),
    dryRun: values['dry-run'] === true,
    yes: values.yes === true,
    mapping,
    type,
    language,
    ...sizes(values),
  }
  const service = values.start ? ((await io.startService?.((step) => progress.say(`  ${step}`))) ?? null) : null
  try {
    const client = await clientOf(values, io, service, command.dryRun)
    const terminal = terminalOf(io)
    return await importSheetFile(command, {
      client,
      progress,
      signal: stop,
      confirm: terminal && ((question) => confirm(terminal, question)),
    })
  } finally {
    await service?.stop()
  }
}

function sheetOptions(format: 'csv' | 'xlsx', { encoding, delimiter, quote, sheet }: Values): SheetOptions {
  return format === 'xlsx' ? { format, sheet } : { format, encoding, delimiter, quote }
}

/** A dry run works without the service, if there are no credentials. */
async function clientOf(
  values: Values,
  io: Io,
  service: StartedService | null,
  dryRun: boolean,
): Promise<ServiceClient | null> {
  const said = values.password ?? io.env.SVC_ROOT_PASSWORD ?? values.token ?? io.env.STRONGROOM_TOKEN
  if (dryRun && said === undefined && !service) return null
  return clientFor(values, io, service)
}

async function clientFor(values: Values, io: Io, service: StartedService | null): Promise<ServiceClient> {
  const { login } = values
  const url = service?.url ?? httpUrl(values.url ?? 'http://localhost:8080')
  const token = values.token ?? io.env.STRONGROOM_TOKEN
  if (token) return createServiceClient({ url, login, password: '', token })
  const terminal = terminalOf(io)
  const password =
    values.password ??
    io.env.SVC_ROOT_PASSWORD ??
    service?.password ??
    (terminal ? await askSecret(terminal, `Password of ${login}: `) : undefined)
  if (!password) throw new Error(`no password for ${login}: set SVC_ROOT_PASSWORD, or give --password`)
  return createServiceClient({ url, login, password })
}

function terminalOf({ input, out }: Io): Terminal | null {
  return input?.isTTY && out.isTTY ? { input, output: out } : null
}

function sizes(values: Values): { batch?: number; connections?: number } {
  return { batch: count('batch', values.batch, 10_000), connections: count('connections', values.connections, 64) }
}

/** Two sentences for the end of an import. */
export function describe({ created, total, seconds, interrupted }: TateImportSummary): string {
  const parts = Object.entries(created).filter(([, number]) => number > 0)
  const sum = parts.reduce((all, [, number]) => all + number, 0)
  if (interrupted) return `interrupted after ${sum} new objects; the same command goes on from here`
  if (sum === 0) return `nothing to do: all ${total} objects are there and searchable`
  const list = parts.map(([name, number]) => `${number} ${name}`).join(', ')
  const rate = Math.round(sum / Math.max(seconds, 0.001))
  return `created ${sum} objects (${list}) in ${seconds.toFixed(1)} s: ${rate} objects/s until all were searchable`
}

/**
 * The first Ctrl+C lets the requests in flight finish; a second one, a second later or more, ends the process, unless a service
 * runs in it, which stops PostgreSQL first. The parent command forwards the signals of a terminal, so one Ctrl+C arrives twice.
 */
function interruption(withService: boolean): { signal: AbortSignal; release: () => void } {
  const controller = new AbortController()
  let first = 0
  const abort = (): void => {
    if (!withService && controller.signal.aborted && Date.now() - first >= 1000) process.exit(130)
    first ||= Date.now()
    controller.abort()
  }
  const signals = withService ? (['SIGINT', 'SIGTERM'] as const) : (['SIGINT'] as const)
  for (const name of signals) process.on(name, abort)
  const release = (): void => {
    for (const name of signals) process.off(name, abort)
  }
  return { signal: controller.signal, release }
}

function httpUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:/.test(text)) throw new Error(`--url ${JSON.stringify(text)} is no http address`)
  return text
}

function count(name: string, text: string | undefined, most = Number.MAX_SAFE_INTEGER): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < 1 || value > most) {
    throw new Error(`--${name} ${JSON.stringify(text)} is no number from 1${most < 1e9 ? ` to ${most}` : ' on'}`)
  }
  return value
}
