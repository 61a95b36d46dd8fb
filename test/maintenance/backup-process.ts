/**
 * A service on a database, in a process of its own, that makes backups: for a test that kills it. Arguments: the database, the data
 * folder, the program for dumps; `begin` and the address of a mail server: it begins a backup.
 */
import assert from 'node:assert/strict'
import { attachService } from '../support/service.ts'

const [dsn = '', dataDir = '', pgDump = '', begin, mails] = process.argv.slice(2)
const svc = await attachService(dsn, { dataDir, pgDump })
if (begin === 'begin') {
  const root = svc.as('root')
  const place = { location_defaults: { originals: 'file', versions: '', backups: 'file' } }
  const email = { from: 'archive@museum.test', admin_emails: [{ email: 'admin@museum.test' }] }
  assert.equal(
    (
      await root.post('/config', {
        system: { config: { ...place, email, email_server: { server_addr: mails, type: 'off' } } },
      })
    ).status,
    200,
  )
  assert.equal((await root.put('/system/backup/new', { format: 'pg_dump' })).status, 200)
}
