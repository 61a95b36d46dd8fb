/**
 * The effective configuration of one process: defaults, then `svc.yml`, then the environment. Immutable.
 * Keys in the file stand under `svc` (`svc.http.port`); each has an environment name (`SVC_HTTP_PORT`).
 */
export interface Config {
  readonly dataDir: string
  readonly host: string
  readonly port: number
  /** Port of /metrics and the unauthenticated console; null: not served. */
  readonly backendPort: number | null
  readonly externalUrl: string
  /** Connection string of an external PostgreSQL; null: the embedded one. */
  readonly dbDsn: string | null
  readonly dbMaxConnections: number
  /** The part after `@` in global object ids. */
  readonly databaseName: string
  readonly rootPassword: string | null
  readonly logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'
  readonly readOnly: boolean
  readonly allowPurge: boolean
  /** Largest request body in bytes. */
  readonly bodyLimit: number
  readonly corsOrigins: readonly string[]
  readonly versionConvention: 'stored' | 'next'
  /** Words accepted beside `svc` in header and cookie names (decision 16). */
  readonly identifierAliases: readonly string[]
  /** Milliseconds that a write waits for a lock before 423. */
  readonly lockTimeout: number
  /** Processes webhooks to private addresses too (tests, closed networks). */
  readonly allowPrivateWebhooks: boolean
}
