import { type DestinationStream, type Logger, pino } from 'pino'
import type { Config } from '../config/config.ts'
import { scrubText } from '../secrets/secrets.ts'
import { terminalLine } from './log-terminal.ts'

/**
 * The end of each line of the request log: such a line is made of values without secrets (http/request-log.ts), and there are many
 * of them.
 */
const requestEnd = '"msg":"request"}\n'

/**
 * The process's logger: JSON lines on standard error, written without waiting; short lines for a person where that is a terminal.
 * Secrets are removed from each line (secrets/secrets.ts).
 */
export function createLog(config: Pick<Config, 'logLevel'>, destination: DestinationStream = ownDestination()): Logger {
  return pino(
    {
      level: config.logLevel,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      hooks: { streamWrite: (line) => (line.endsWith(requestEnd) ? line : scrubText(line)) },
    },
    destination,
  )
}

const ownDestination = (): DestinationStream => (process.stderr.isTTY ? terminal : fileOfLines())

const terminal: DestinationStream = { write: (json) => void process.stderr.write(terminalLine(json)) }

/** Milliseconds for which lines of requests are collected, and the number of characters from which they are written at once. */
const mostWait = 20
const mostLetters = 16_000
/** The level from which a line is written at once. */
const warning = Number(pino.levels.values.warn)

/**
 * Each write costs a request a thirtieth of its processor time, so lines are written some at a time; warnings and errors at once,
 * with all waiting lines. Only a killed process loses the lines of its last milliseconds.
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
    // Makes pino pass the level of each line.
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
