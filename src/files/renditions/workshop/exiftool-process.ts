import type { ChildProcess } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { endForeign, startForeign } from '../../../platform/process/foreign/start.ts'
import { type Broken, type WatchLimits, watchForeign } from '../../../platform/process/foreign/watch.ts'

type BrokenLimit = Broken | { readonly limit: 'said'; readonly reason: string }

/**
 * How a command ended: with a status, which is that of the program where it has ended itself (not `answered`); with a limit; or
 * there is no such program.
 */
export type CommandEnd =
  | {
      readonly kind: 'ended'
      readonly answered: boolean
      readonly code: number | null
      readonly output: Buffer
      readonly errors: string
    }
  | { readonly kind: 'broken'; readonly broken: BrokenLimit }
  | { readonly kind: 'absent' }

export interface CommandLimits extends WatchLimits {
  /** Bytes of the output. */
  readonly said: number
  /** Bytes of address space, of the program as a whole. */
  readonly addresses: number
}

interface Running {
  readonly child: ChildProcess
  /** The exit code, when the program has ended. */
  readonly gone: Promise<number | null>
}

/** The exit code of a shell that has not found the program. */
const absent = 127
/** Milliseconds without a command after which the program ends: it takes 30 MB, and some 150 ms to start. */
const longestIdle = 5000
/** Characters at the end of the error output that are kept. */
const mostErrors = 4000

/**
 * ExifTool, kept running: it reads commands from its input (`-stay_open`), one argument on each line, and says when a
 * command has ended. To load its modules takes ten times as long as to read a photograph. One command at a time; a program
 * that broke a limit ends, and the next command starts another one.
 */
export function createExiftoolProcess() {
  let running: Running | null = null
  let idle: NodeJS.Timeout | undefined

  function start(command: readonly [string, ...string[]], { output, addresses }: CommandLimits): Running {
    const child = startForeign({
      command,
      // It reads nothing there, and writes only beside files that it changes.
      folder: process.cwd(),
      limits: { file: output, addresses },
      // This process has no network already.
      isolate: [],
      stdio: ['pipe', 'pipe', 'pipe', 'ignore'],
      background: false,
    })
    child.stdout?.on('error', () => {})
    child.stderr?.setEncoding('utf8').on('error', () => {})
    child.stdin?.on('error', () => {})
    const forget = (): void => {
      if (running?.child === child) running = null
    }
    child.once('exit', () => {
      forget()
      // The shell beside it holds its last stream open.
      endForeign(child)
    })
    const gone = new Promise<number | null>((resolve) => {
      child.once('close', resolve)
      child.once('error', () => {
        forget()
        resolve(absent)
      })
    })
    return { child, gone }
  }

  /** @param args none contains a line break */
  async function run(
    command: readonly [string, ...string[]],
    args: readonly string[],
    limits: CommandLimits,
  ): Promise<CommandEnd> {
    clearTimeout(idle)
    const known = running
    running ??= start(command, limits)
    try {
      const ended = await perform(running, args, limits)
      if (!known || ended.kind !== 'ended' || ended.answered) return ended
      // It may have ended before the command came, and for another reason.
      running = start(command, limits)
      return await perform(running, args, limits)
    } finally {
      idle = setTimeout(end, longestIdle).unref()
    }
  }

  function end(): void {
    if (running) endForeign(running.child)
    running = null
  }

  return { run, end }
}

/** Passes a command to the program, and waits for its end, a broken limit or the end of the program. */
async function perform({ child, gone }: Running, args: readonly string[], limits: CommandLimits) {
  // Output that a file determines cannot contain a number that was not known before.
  const number = randomInt(2 ** 47)
  const mark = `{ready${number}}`
  const said = listen(child, mark, limits.said)
  let broken: BrokenLimit | null = null
  const breakOff = (why: BrokenLimit): void => {
    broken ??= why
    endForeign(child)
  }
  const forget = watchForeign(child, limits, null, breakOff)
  said.tooMuch.then(() => breakOff({ limit: 'said', reason: `said more than ${limits.said} bytes` }))
  child.stdin?.write([...args, '-echo4', `${mark} \${status}`, `-execute${number}`, ''].join('\n'))
  try {
    const ended = gone.then((code): CommandEnd => {
      if (broken) return { kind: 'broken', broken }
      return code === absent ? { kind: 'absent' } : { kind: 'ended', answered: false, code, ...said.soFar() }
    })
    return await Promise.race([said.answer, ended])
  } finally {
    forget()
    said.forget()
  }
}

/** Reads what the program says to a command: each of its two streams has a mark at its end, that of errors with a status. */
function listen({ stdout, stderr }: ChildProcess, mark: string, most: number) {
  const answer = Promise.withResolvers<CommandEnd>()
  const tooMuch = Promise.withResolvers<void>()
  const chunks: Buffer[] = []
  const lastLine = `${mark}\n`
  let bytes = 0
  let tail = ''
  let errors = ''
  const soFar = () => ({ output: Buffer.concat(chunks), errors })
  const check = (): void => {
    const at = errors.lastIndexOf(`${mark} `)
    if (at < 0 || !errors.endsWith('\n') || tail !== lastLine) return
    const output = Buffer.concat(chunks).subarray(0, bytes - lastLine.length)
    const code = Number(errors.slice(at + mark.length))
    answer.resolve({ kind: 'ended', answered: true, code, output, errors: errors.slice(0, at) })
  }
  const onOutput = (chunk: Buffer): void => {
    bytes += chunk.length
    if (bytes > most) {
      tooMuch.resolve()
      return
    }
    chunks.push(chunk)
    tail = (tail + chunk.toString('latin1', Math.max(0, chunk.length - lastLine.length))).slice(-lastLine.length)
    check()
  }
  const onErrors = (text: string): void => {
    errors = (errors + text).slice(-mostErrors)
    check()
  }
  stdout?.on('data', onOutput)
  stderr?.on('data', onErrors)
  const forget = (): void => {
    stdout?.off('data', onOutput)
    stderr?.off('data', onErrors)
  }
  return { answer: answer.promise, tooMuch: tooMuch.promise, soFar, forget }
}
