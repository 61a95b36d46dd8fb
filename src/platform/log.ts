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

function fileOfLines(): DestinationStream {
  const destination = pino.destination({ dest: 2, sync: false })
  process.once('exit', () => destination.flushSync())
  return destination
}

function placesOf(name: string): string[] {
  return [`["${name}"]`, `*["${name}"]`, `headers["${name}"]`, `*.headers["${name}"]`]
}
