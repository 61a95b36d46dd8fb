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
 * The process's logger: JSON lines on standard output. Credentials are removed wherever they stand one or two levels
 * deep; that they do not get there in the first place (paths are logged without query string) is the callers' duty.
 */
export function createLog(config: Pick<Config, 'logLevel'>): Logger {
  return pino({
    level: config.logLevel,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: {
      paths: secrets.flatMap((name) => [`["${name}"]`, `*["${name}"]`, `*.headers["${name}"]`, `headers["${name}"]`]),
      censor: '***',
    },
  })
}
