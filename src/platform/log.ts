import { type DestinationStream, type Logger, pino } from 'pino'
import type { Config } from './config.ts'
import { terminalLine } from './log-terminal.ts'

/** Header and field names whose values are credentials. */
const secrets = [
  'authorization',
  'x-svc-authorization',
  'cookie',
  'set-cookie',
  'access_token',
  'refresh_token',
  'password',
  'client_secret',
]

/**
 * The process's logger: JSON lines on standard error, written without waiting; short lines for a person where that is a
 * terminal.
 * Credentials are removed wherever they stand up to two levels deep; that they do not get there in the first place
 * (paths are logged without query string) is the callers' duty.
 */
export function createLog(config: Pick<Config, 'logLevel'>): Logger {
  const destination = process.stderr.isTTY ? terminal : fileOfLines()
  return pino(
    {
      level: config.logLevel,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: secrets.flatMap(placesOf), censor: '***' },
    },
    destination,
  )
}

const terminal: DestinationStream = { write: (json) => void process.stderr.write(terminalLine(json)) }

/** Milliseconds that the lines of requests wait for more, and letters from which on they do not. */
const mostWait = 20
const mostLetters = 16_000
/** The level from which on a line is written at once. */
const warning = Number(pino.levels.values.warn)

/**
 * Each write costs a request a thirtieth of its processor time, so lines are written some at a time; warnings and errors at once,
 * with whatever waits. Only a process that is killed loses the last milliseconds of them.
 */
function fileOfLines(): DestinationStream {
  const destination = pino.destination({ dest: 2, sync: false })
  let waiting: string[] = []
  let letters = 0
  const write = (): void => {
    if (waiting.length === 0) return
    destination.write(waiting.join(''))
    waiting = []
    letters = 0
  }
  process.on('beforeExit', write)
  process.once('exit', () => {
    destination.flushSync()
    if (waiting.length > 0) pino.destination({ dest: 2, sync: true }).write(waiting.join(''))
  })
  const lines = {
    // Tells the level of each line.
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 0,
    write(line: string): void {
      if (waiting.length === 0) setTimeout(write, mostWait).unref()
      waiting.push(line)
      letters += line.length
      if (letters > mostLetters || lines.lastLevel >= warning) write()
    },
  }
  return lines
}

function placesOf(name: string): string[] {
  return [`["${name}"]`, `*["${name}"]`, `headers["${name}"]`, `*.headers["${name}"]`]
}
