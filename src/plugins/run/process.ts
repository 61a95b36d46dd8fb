import type { ChildProcess } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { endForeign, startForeign } from '../../platform/process/foreign/start.ts'
import { watchForeign } from '../../platform/process/foreign/watch.ts'

export interface ProcessLimits {
  readonly seconds: number
  /** Bytes. */
  readonly memory: number
}

/** How a process ended; `reason` continues after the name of the program. */
export type ProcessEnd =
  | { readonly kind: 'ended'; readonly code: number | null }
  | { readonly kind: 'broken'; readonly reason: string; readonly limit: string }

export interface PluginProcess {
  readonly child: ChildProcess
  readonly output: Readable
  /** The last part of its error output. */
  readonly errors: () => string
  readonly ended: Promise<ProcessEnd>
  /** Ends the process, with its child processes. */
  stop(reason: string): void
}

/** Bytes that a program may write into its working folder. */
const mostFiles = 1_000_000_000
/** The last part of its error output that is kept. */
const mostErrors = 16_000
/** Milliseconds for which output may still arrive after a program has ended. */
const lastOutput = 1000

export interface ProcessStart {
  readonly command: readonly [string, ...string[]]
  readonly folder: string
  readonly limits: ProcessLimits
  /** null: no input. */
  readonly input: Buffer | AsyncIterable<Buffer> | null
  readonly wantsOutput: boolean
}

/** Starts a program of a plugin; it ends when it exceeds a limit, by `stop`, and with the service. */
export function startProcess({ command, folder, limits, input, wantsOutput }: ProcessStart): PluginProcess {
  const child = startForeign({
    command,
    folder,
    limits: { file: mostFiles, processor: (1 + limits.seconds) * availableParallelism() },
    isolate: [],
    online: true,
    stdio: [input === null ? 'ignore' : 'pipe', 'pipe', 'pipe', 'ignore'],
    background: false,
  })
  let broken: ProcessEnd | null = null
  const stop = (reason: string, limit = 'stopped'): void => {
    broken ??= { kind: 'broken', reason, limit }
    endForeign(child)
  }
  const forget = watchForeign(child, { ...limits, output: mostFiles }, folder, ({ reason, limit }) =>
    stop(reason, limit),
  )
  let errors = ''
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    errors = (errors + chunk).slice(-mostErrors)
  })
  child.stderr?.on('error', () => {})
  if (input !== null) feed(child, input, stop)
  const output = child.stdout ?? Readable.from([])
  if (!wantsOutput) output.resume()
  const ended = new Promise<ProcessEnd>((resolve) => {
    child.once('error', (error) => resolve(broken ?? { kind: 'broken', reason: startFailure(error), limit: 'start' }))
    child.once('exit', (code) => {
      // Its child processes end with it; a process that has left its group may hold its streams open.
      endForeign(child)
      const late = setTimeout(() => output.destroy(), lastOutput).unref()
      output.once('close', () => clearTimeout(late))
      resolve(broken ?? { kind: 'ended', code })
    })
  }).finally(forget)
  return { child, output, errors: () => errors, ended, stop }
}

/** A program may stop reading its input. An error of the input itself stops the program. */
function feed({ stdin }: ChildProcess, input: Buffer | AsyncIterable<Buffer>, stop: (reason: string) => void): void {
  if (!stdin) return
  if (Buffer.isBuffer(input)) {
    stdin.on('error', () => {})
    stdin.end(input)
    return
  }
  let brokeOff: unknown = null
  const source = async function* () {
    try {
      yield* input
    } catch (error) {
      brokeOff = error
      throw error
    }
  }
  pipeline(source, stdin).catch(() => {
    if (brokeOff !== null) stop('was stopped, since the request broke off')
  })
}

function startFailure(error: NodeJS.ErrnoException): string {
  if (error.code === 'E2BIG') return 'could not be started: %info.json% is longer than the system lets an argument be'
  return `could not be started (${error.code ?? error.message})`
}
