import { type ChildProcess, spawn } from 'node:child_process'
import { constants, setPriority } from 'node:os'
import { CannotMake, reasonOf } from '../workshop/failure.ts'
import { megabytes, memoryOfTree, sizeOf } from '../workshop/usage.ts'

/** Programs of the machine that make what nothing inside of the service does. */
export const programNames = ['ffmpeg', 'ffprobe', 'soffice'] as const
export type ProgramName = (typeof programNames)[number]

export interface ProgramLimits {
  /** Seconds that one may work. */
  readonly seconds: number
  /** Bytes of memory of a program and what it starts. */
  readonly memory: number
  /** Bytes of what it makes. */
  readonly output: number
  /** Pixels of what is read. */
  readonly pixels: number
}

export interface Run {
  readonly args: readonly string[]
  /** Where it works and may write. */
  readonly folder: string
  readonly signal: AbortSignal
  /** Beyond the limit: films take longer the longer they are. */
  readonly moreSeconds?: number
  /** Told each line of its output. */
  readonly onLine?: (line: string) => void
}

export type RunProgram = (name: ProgramName, run: Run) => Promise<string>

/** Characters of output that are kept. */
const mostOutput = 1_000_000
/** Milliseconds between two looks at what it takes. */
const watchEvery = 250

/**
 * Runs programs with limits of time, memory and output, each in a group of processes that ends as a whole. `isolate` is the
 * beginning of a command line that cuts them off the network, where the machine has one.
 */
export function createRunner(
  found: ReadonlyMap<ProgramName, string>,
  limits: ProgramLimits,
  isolate: readonly string[],
): RunProgram {
  /** What it writes to its output. @throws {CannotMake} when it is not there, fails, or takes more than it may. */
  return async function run(name, { args, folder, signal, moreSeconds = 0, onLine }) {
    const path = found.get(name)
    if (path === undefined) {
      const from = name === 'ffprobe' ? ', which comes with ffmpeg' : ''
      throw new CannotMake('unavailable', `it needs the program ${name}${from}`, { needs: name })
    }
    if (signal.aborted) throw stopped()
    const [command = path, ...before] = [...isolate, path]
    const child = spawn(command, [...before, ...args], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      // Nothing of the service's environment, and a way to nowhere for whoever asks for a proxy.
      env: { PATH: process.env.PATH, HOME: folder, TMPDIR: folder, LANG: 'C.UTF-8', ...nowhere },
      // A group of its own, so that what it starts ends with it.
      detached: true,
    })
    lowerPriority(child)
    let problem: Error | null = null
    const end = (error: Error): void => {
      problem ??= error
      kill(child)
    }
    const onAbort = (): void => end(stopped())
    signal.addEventListener('abort', onAbort, { once: true })
    const seconds = limits.seconds + moreSeconds
    const deadline = setTimeout(
      () => end(new CannotMake('unreadable', `${name} took more than ${Math.round(seconds)} seconds`)),
      1000 * seconds,
    )
    const watch = setInterval(async () => {
      if (child.pid !== undefined && (await memoryOfTree(child.pid)) > limits.memory) {
        end(new CannotMake('unreadable', `${name} took more than ${megabytes(limits.memory)} MB of memory`))
      } else if ((await sizeOf(folder)) > limits.output) {
        end(new CannotMake('unreadable', `${name} made more than ${megabytes(limits.output)} MB`))
      }
    }, watchEvery)
    const output = reading(child, onLine)
    try {
      const code = await new Promise<number | null>((resolve, reject) => {
        child.once('error', (cause) =>
          reject(new CannotMake('unavailable', `${name} cannot be started`, { cause, needs: name })),
        )
        child.once('close', resolve)
      })
      if (problem) throw problem
      if (code !== 0) throw new CannotMake('unreadable', failure(name, code, output.errors()))
      return output.text()
    } finally {
      clearTimeout(deadline)
      clearInterval(watch)
      signal.removeEventListener('abort', onAbort)
      // What it may have left running.
      kill(child)
    }
  }
}

const nowhere = { http_proxy: 'http://127.0.0.1:9', https_proxy: 'http://127.0.0.1:9', all_proxy: 'http://127.0.0.1:9' }

function stopped(): Error {
  return new Error('the work on media was stopped')
}

function reading({ stdout, stderr }: ChildProcess, onLine: Run['onLine']) {
  let text = ''
  let errors = ''
  let line = ''
  stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    if (text.length < mostOutput) text += chunk
    if (!onLine) return
    const lines = (line + chunk).split('\n')
    line = lines.pop()?.slice(-1000) ?? ''
    for (const each of lines) onLine(each)
  })
  stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    errors = (errors + chunk).slice(-4000)
  })
  return { text: () => text, errors: () => errors }
}

/** The last thing that it said tells most. */
function failure(name: ProgramName, code: number | null, errors: string): string {
  const last = errors.trim().split('\n').at(-1) ?? ''
  return `${name} cannot read the file (${last === '' ? `exit ${code}` : reasonOf(last).slice(0, 200)})`
}

function lowerPriority({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // It has ended already, or the system does not let us.
  }
}

function kill({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // All of it has ended by itself.
  }
}
