import pg from 'pg'

/**
 * How `pg_dump` reaches the database of a connection string, as variables of its environment: an argument could be seen by
 * everybody on the machine. It connects in the way of the service's own connections.
 */
export function connectionVariables(connectionString: string): Record<string, string> {
  const { host, port, user, password, database } = new pg.Client({ connectionString })
  const given = new URLSearchParams(connectionString.split('?')[1] ?? '')
  const variables = {
    PGHOST: host,
    PGPORT: String(port),
    PGUSER: user,
    PGPASSWORD: password,
    PGDATABASE: database,
    PGSSLCERT: given.get('sslcert'),
    PGSSLKEY: given.get('sslkey'),
    ...encryption(given),
    PGAPPNAME: 'strongroom backup',
    PGCONNECT_TIMEOUT: '30',
    // Files in the home folder have no effect.
    PGPASSFILE: '/dev/null',
  }
  return Object.fromEntries(Object.entries(variables).filter((one): one is [string, string] => Boolean(one[1])))
}

/** The driver looks at certificates whenever it encrypts, unless it is told not to. */
function encryption(given: URLSearchParams): Record<string, string | null> {
  const mode = given.get('ssl') === 'true' ? 'require' : given.get('sslmode')
  const root = given.get('sslrootcert')
  if (mode === null) return {}
  if (mode === 'disable' || given.get('uselibpqcompat') === 'true') return { PGSSLMODE: mode, PGSSLROOTCERT: root }
  if (mode === 'no-verify') return { PGSSLMODE: 'require' }
  return { PGSSLMODE: 'verify-full', PGSSLROOTCERT: root ?? 'system' }
}
