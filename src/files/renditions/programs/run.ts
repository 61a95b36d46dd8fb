import { runForeign } from '../../../platform/process/foreign/run.ts'
import { CannotMake, reasonOf } from '../workshop/failure.ts'

/** External programs for tasks that the service itself cannot do. */
export const programNames = ['ffmpeg', 'ffprobe', 'soffice'] as const
export type ProgramName = (typeof programNames)[number]

export interface ProgramLimits {
  /** Seconds that a program may run. */
  readonly seconds: number
  /** Bytes of memory of a program and its child processes. */
  readonly memory: number
  /** Bytes of its output files. */
  readonly output: number
  /** Pixels of the pictures that it reads. */
  readonly pixels: number
}

export interface Run {
  readonly args: readonly string[]
  /** The working folder, the only one that it may write to. */
  readonly folder: string
  readonly signal: AbortSignal
  /** Added to the limit: longer films take longer. */
  readonly moreSeconds?: number
  /** Called with each line of its output. */
  readonly onLine?: (line: string) => void
}

export type RunProgram = (name: ProgramName, run: Run) => Promise<string>

/** Most bytes of its output text. */
const mostSaid = 1_000_000

/** Runs programs of the machine with limits. `isolate` runs them without a network, where the machine supports that. */
export function createRunner(
  found: ReadonlyMap<ProgramName, string>,
  limits: ProgramLimits,
  isolate: readonly string[],
): RunProgram {
  /** Runs a program and answers its output text. @throws {CannotMake} when it is missing, fails, or exceeds a limit. */
  return async function run(name, { args, folder, signal, moreSeconds = 0, onLine }) {
    const program = found.get(name)
    if (program === undefined) {
      const from = name === 'ffprobe' ? ', which comes with ffmpeg' : ''
      throw new CannotMake('unavailable', `it needs the program ${name}${from}`, { needs: name })
    }
    const end = await runForeign({
      program,
      args,
      folder,
      limits: { ...limits, seconds: limits.seconds + moreSeconds, said: mostSaid },
      isolate,
      signal,
      background: true,
      ...(onLine ? { onLine } : {}),
    })
    if (end.kind === 'stopped') throw new Error('the work on media was stopped')
    if (end.kind === 'absent') {
      throw new CannotMake('unavailable', `${name} cannot be started`, { cause: end.cause, needs: name })
    }
    if (end.kind === 'broken') {
      const { limit, reason } = end.broken
      throw new CannotMake('unreadable', `${name} ${reason}`, { late: limit === 'time' })
    }
    if (end.code !== 0) throw new CannotMake('unreadable', failure(name, end.code, end.errors))
    return end.output.toString('utf8')
  }
}

/** The last line of its output is the most informative. */
function failure(name: ProgramName, code: number | null, errors: string): string {
  const last = errors.trim().split('\n').at(-1) ?? ''
  return `${name} cannot read the file (${last === '' ? `exit ${code}` : reasonOf(last).slice(0, 200)})`
}
