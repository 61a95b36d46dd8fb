import pg from 'pg'
import { maskDsn } from '../config/forms.ts'

/** Oldest major version that supports our SQL. */
const oldestSupported = 18

/**
 * Checks that the configured server can be reached and is new enough.
 * @throws {Error} with one readable line that shows no password.
 */
export async function checkExternalPostgres(dsn: string, oldest = oldestSupported): Promise<void> {
  const client = new pg.Client({
    connectionString: dsn,
    connectionTimeoutMillis: 10_000,
    application_name: 'strongroom',
  })
  client.on('error', () => {})
  try {
    await client.connect()
  } catch (cause) {
    throw new Error(`cannot reach PostgreSQL at ${maskDsn(dsn)}: ${reasonOf(cause)}`, { cause })
  }
  try {
    const { rows } = await client.query<{ number: string; name: string; encoding: string }>(
      `select current_setting('server_version_num') as number, current_setting('server_version') as name,
        current_setting('server_encoding') as encoding`,
    )
    const [server] = rows
    if (!server || Number(server.number) < oldest * 10_000) {
      throw new Error(`PostgreSQL at ${maskDsn(dsn)} is version ${server?.name}; ${oldest} or newer is needed`)
    }
    if (server.encoding !== 'UTF8') {
      throw new Error(`the database at ${maskDsn(dsn)} has the encoding ${server.encoding}; UTF8 is needed`)
    }
  } finally {
    await client.end()
  }
}

/** Node gives an AggregateError without a message when a name has several addresses. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map((inner: Error) => inner.message).join(', ')
  return (error as Error).message || String(error)
}
