import { parseArgs } from 'node:util'
import { createEventLog } from '../events/service.ts'
import { verifyAll } from '../files/service.ts'
import type { Config } from '../platform/config/config.ts'
import { openDb } from '../platform/postgres/db.ts'
import { withOwnDatabase } from '../platform/postgres/own-database.ts'

const help = `Usage: strongroom files verify [--location <name>]

Reads every content of every file, or those of one location, and compares it with its hash, while the service runs or
while it does not. What is damaged or missing is restored from another location that has it, and else listed; the exit
code is then 1.
`

/** `strongroom files …`: returns the exit code. @throws {Error} with one line for the person at the terminal. */
export async function runFilesCommand(
  args: string[],
  config: Config,
  out: NodeJS.WritableStream = process.stdout,
): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { location: { type: 'string' }, help: { type: 'boolean' } },
  })
  if (values.help) {
    out.write(help)
    return 0
  }
  if (positionals.join(' ') !== 'verify') throw new Error('files needs a command: strongroom files verify')
  let [read, bytes, restored, wrong, unread] = [0, 0, 0, 0, 0]
  const log = {
    warn(about: { err?: Error; location?: number }) {
      unread++
      out.write(`the location ${about.location} cannot be read: ${about.err?.message}\n`)
    },
  }
  await withOwnDatabase(config, async (dsn) => {
    const db = openDb({
      connectionString: dsn,
      maxConnections: 2,
      applicationName: 'strongroom maintenance',
      lockTimeout: config.lockTimeout,
      onError: () => {},
    })
    try {
      const events = createEventLog()
      for await (const results of verifyAll({ db, events, log, config }, values.location ?? null)) {
        for (const { blob, fixity, restored: again, location } of results) {
          read++
          bytes += blob.size
          if (again) restored++
          if (fixity !== 'ok') wrong++
          if (again) out.write(`${blob.sha256} in ${location} was wrong and has been restored\n`)
          else if (fixity !== 'ok') out.write(`${blob.sha256} in ${location} is ${fixity}\n`)
        }
      }
    } finally {
      await db.close()
    }
  })
  out.write(`${read} contents read (${(bytes / 1e6).toFixed(1)} MB): ${wrong} wrong, ${restored} restored\n`)
  return wrong + unread === 0 ? 0 : 1
}
