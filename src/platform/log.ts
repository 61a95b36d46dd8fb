import { type Logger, pino } from 'pino'
import type { Config } from './config.ts'

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
 * The process's logger: JSON lines on standard error, written without waiting; standard output is for people.
 * Credentials are removed wherever they stand up to two levels deep; that they do not get there in the first place
 * (paths are logged without query string) is the callers' duty.
 */
export function createLog(config: Pick<Config, 'logLevel'>): Logger {
  const destination = pino.destination({ dest: 2, sync: false })
  process.once('exit', () => destination.flushSync())
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

function placesOf(name: string): string[] {
  return [`["${name}"]`, `*["${name}"]`, `headers["${name}"]`, `*.headers["${name}"]`]
}
