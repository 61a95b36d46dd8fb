import { parseArgs } from 'node:util'
import { createProgress, type ProgressOutput } from '../platform/progress.ts'
import { createServiceClient } from './client.ts'
import { importTate, type TateImportSummary } from './tate/import.ts'

export { runDemo } from './demo.ts'

const help = `Usage: strongroom import tate <folder> [options]

Loads the Tate collection (artists.jsonl.gz and artworks.jsonl.gz in <folder>) into a running service.
The same command goes on where an interrupted import has stopped.

Options
  --url <address>       the service (default http://localhost:8080)
  --login <name>        who imports; needs rights on the datamodel and pools (default root)
  --password <text>     better given as SVC_ROOT_PASSWORD in the environment
  --limit <n>           at most n artworks, and what they refer to
  --batch <n>           objects per request (default 500)
  --connections <n>     requests at the same time (default 2)
`

interface Io {
  out: ProgressOutput & NodeJS.WritableStream
  env: NodeJS.ProcessEnv
}

/**
 * `strongroom import …`: answers the exit code.
 * @throws {Error} whose message is one line for the person at the terminal.
 */
export async function runImport(args: string[], io: Io = { out: process.stdout, env: process.env }): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      url: { type: 'string', default: 'http://localhost:8080' },
      login: { type: 'string', default: 'root' },
      password: { type: 'string' },
      limit: { type: 'string' },
      batch: { type: 'string' },
      connections: { type: 'string' },
      help: { type: 'boolean' },
    },
  })
  if (values.help) {
    io.out.write(help)
    return 0
  }
  const [source, folder, ...rest] = positionals
  if (source !== 'tate' || folder === undefined || rest.length > 0) {
    throw new Error('import needs what and from where: strongroom import tate <folder>; see strongroom import --help')
  }
  const password = values.password ?? io.env.SVC_ROOT_PASSWORD
  if (!password) throw new Error(`no password for ${values.login}: set SVC_ROOT_PASSWORD, or give --password`)
  const stop = interruption()
  const progress = createProgress(io.out)
  try {
    const client = createServiceClient({ url: httpUrl(values.url), login: values.login, password })
    const summary = await importTate({
      client,
      folder,
      limit: count('limit', values.limit),
      batch: count('batch', values.batch, 10_000),
      connections: count('connections', values.connections, 64),
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
 * The first Ctrl+C lets the requests in flight finish; a second one, a second later or more, ends the process. The command
 * that started this process hands the signals of a terminal on, so one Ctrl+C arrives twice.
 */
function interruption(): { signal: AbortSignal; release: () => void } {
  const controller = new AbortController()
  let first = 0
  const abort = (): void => {
    if (controller.signal.aborted && Date.now() - first >= 1000) process.exit(130)
    first ||= Date.now()
    controller.abort()
  }
  process.on('SIGINT', abort)
  return { signal: controller.signal, release: () => process.off('SIGINT', abort) }
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
