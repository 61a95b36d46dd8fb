import type { ChildProcess } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { endForeign, type ForeignStart, startForeign } from './start.ts'
import { type Broken, type WatchLimits, watchForeign } from './watch.ts'

export interface ForeignRun {
  /** The path of the program. */
  readonly program: string
  readonly args: readonly string[]
  /** The working folder, which is writable; empty except for the input. */
  readonly folder: string
  readonly limits: WatchLimits & {
    /** Bytes of its output. More ends the program, unless only the beginning is wanted. */
    readonly said: number
    readonly addresses?: number
  }
  readonly isolate: readonly string[]
  readonly environment?: ForeignStart['environment']
  readonly signal?: AbortSignal
  readonly background?: boolean
  /** Called with each line of its output as it arrives. */
  readonly onLine?: (line: string) => void
}

/** The end of a program, with its output. */
export type ForeignEnd =
  | { readonly kind: 'ended'; readonly code: number | null; readonly output: Buffer; readonly errors: string }
  | { readonly kind: 'broken'; readonly broken: Broken | { readonly limit: 'said'; readonly reason: string } }
  | { readonly kind: 'absent'; readonly cause: unknown }
  | { readonly kind: 'stopped' }

/** Number of characters at the end of the error output that are kept. */
const mostErrors = 4000

/** Runs an external program on untrusted data until it ends, exceeds a limit or is stopped; none of its processes remain then. */
export async function runForeign(run: ForeignRun): Promise<ForeignEnd> {
  const { program, args, folder, limits, isolate, environment = {}, signal, background = false, onLine } = run
  if (signal?.aborted) return { kind: 'stopped' }
  const child = startForeign({
    command: [program, ...args],
    folder,
    // It may use all processors at once.
    limits: {
      file: limits.output,
      processor: (1 + limits.seconds) * availableParallelism(),
      ...(limits.addresses === undefined ? {} : { addresses: limits.addresses }),
    },
    isolate,
    environment,
    stdio: ['ignore', 'pipe', 'pipe', 'ignore'],
    background,
  })
  let early: ForeignEnd | null = null
  const end = (how: ForeignEnd): void => {
    early ??= how
    endForeign(child)
  }
  const onAbort = (): void => end({ kind: 'stopped' })
  signal?.addEventListener('abort', onAbort, { once: true })
  const forget = watchForeign(child, limits, folder, (broken) => end({ kind: 'broken', broken }))
  const said = listen(child, limits.said, onLine, () =>
    end({ kind: 'broken', broken: { limit: 'said', reason: `said more than ${limits.said} bytes` } }),
  )
  try {
    const ended = await new Promise<ForeignEnd>((resolve) => {
      child.once('error', (cause) => resolve({ kind: 'absent', cause }))
      // Processes that it has started may hold its streams open.
      child.once('exit', () => endForeign(child))
      child.once('close', (code) => resolve({ kind: 'ended', code, output: said.output(), errors: said.errors() }))
    })
    return early ?? ended
  } finally {
    forget()
    signal?.removeEventListener('abort', onAbort)
    endForeign(child)
  }
}

function listen({ stdout, stderr }: ChildProcess, most: number, onLine: ForeignRun['onLine'], tooMuch: () => void) {
  const chunks: Buffer[] = []
  let bytes = 0
  let errors = ''
  let line = ''
  stdout?.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (onLine) {
      const lines = (line + chunk.toString('utf8')).split('\n')
      line = lines.pop()?.slice(-1000) ?? ''
      for (const each of lines) onLine(each)
    } else if (bytes > most) tooMuch()
    else chunks.push(chunk)
  })
  stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    errors = (errors + chunk).slice(-mostErrors)
  })
  return { output: () => Buffer.concat(chunks), errors: () => errors }
}
