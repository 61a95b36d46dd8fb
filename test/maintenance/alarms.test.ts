import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { mkdir, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fullDisks } from '../../src/maintenance/alarms/disks.ts'
import { ofServer } from '../signin/directories/certificates.ts'
import { type MailServer, type ReceivedMail, startMailServer } from '../support/mail-server.ts'
import { temporaryFolder } from '../support/process.ts'
import { attachService, startService, type TestService } from '../support/service.ts'

let svc: TestService
let mails: MailServer
let folder: string
const resources = new AsyncDisposableStack()
/** More than any disk has, so that each is too full. */
const leastFreeDisk = 100_000_000
const hour = 3_600_000

before(async () => {
  folder = resources.use(await temporaryFolder()).path
  mails = resources.use(await startMailServer())
  svc = resources.use(await startService({ dataDir: folder, leastFreeDisk }))
  await configure({
    email: { from: 'archive@museum.test', admin_emails: [{ email: 'a@museum.test' }, { email: 'b@museum.test' }] },
    email_server: { server_addr: mails.address, type: 'off' },
  })
})
after(() => resources.disposeAsync())

async function configure(config: object): Promise<void> {
  const { status, body } = await svc.as('root').post('/config', { system: { config } })
  assert.equal(status, 200, JSON.stringify(body))
}

/** The alarms that come of a look at that moment, each once. */
async function told(by: TestService, at: Date): Promise<ReceivedMail[]> {
  mails.mails.length = 0
  await by.app.tidy(at)
  await svc.drain()
  const own = mails.mails.filter(({ to }) => to[0] === 'a@museum.test')
  return own.map((mail) => ({ ...mail, data: mail.data.replaceAll(/=\r?\n/g, '').replaceAll('=3D', '=') }))
}

test('disks with too little room are found, each once, and folders that are not there are no disks', async () => {
  const { bavail, bsize, blocks } = await statfs(folder)
  await mkdir(join(folder, 'below'))
  const found = await fullDisks([folder, join(folder, 'below'), join(folder, 'missing')], blocks * bsize + 1)
  assert.deepEqual(
    found.map(({ folder: path, size }) => [path, size]),
    [[folder, blocks * bsize]],
  )
  assert.ok(Math.abs((found[0]?.free ?? 0) - bavail * bsize) < 1e9)
  assert.deepEqual(await fullDisks([folder], 1), [])
})

test('a full disk is mailed to all administrators, once a day, whichever process looks; with room there is none', async () => {
  const start = Date.now()
  const [first, ...more] = await told(svc, new Date(start))
  assert.deepEqual(more, [])
  assert.match(first?.data ?? '', /Subject: localhost:8080: Little room is left on a disk/)
  assert.ok((first?.data ?? '').includes(folder))
  assert.ok(mails.mails.some(({ to }) => to[0] === 'b@museum.test'))
  assert.deepEqual(await told(svc, new Date(start + hour)), [])
  await using other = await attachService(svc.dsn, { dataDir: folder, leastFreeDisk })
  assert.deepEqual(await told(other, new Date(start + 23 * hour)), [])
  await using roomy = await attachService(svc.dsn, { dataDir: folder, leastFreeDisk: 0 })
  assert.deepEqual(await told(roomy, new Date(start + 25 * hour)), [])
  assert.equal((await told(other, new Date(start + 25 * hour))).length, 1)
})

test('a certificate that ends is mailed once a week, one that has ended each day, and one that lasts never', async () => {
  const { subject, validToDate } = new X509Certificate(ofServer.cert)
  const connections = [{ url: 'ldaps://directory.museum.test', tls_ca_cert: ofServer.cert }]
  const ldap = { ...{ connections, userbasedn: 'ou=people,dc=test', userfilter: '(uid=%(login)s)' } }
  await configure({ ldap: { ...ldap, usermapping: [{ key: 'login', value: '%(uid)s' }], userupdatecolumn: 'login' } })
  await using roomy = await attachService(svc.dsn, { dataDir: folder, leastFreeDisk: 0 })
  const end = validToDate.getTime()
  const day = 24 * hour
  const at = (days: number) => told(roomy, new Date(end + days * day))
  assert.deepEqual(await at(-40), [])
  const [soon, ...others] = await at(-20)
  assert.deepEqual(others, [])
  assert.match(soon?.data ?? '', /Subject: localhost:8080: A certificate ends soon/)
  assert.ok(soon?.data.includes(subject) && soon.data.includes('ldap ldaps://directory.museum.test'))
  assert.deepEqual(await at(-19), [])
  assert.deepEqual(await at(-14), [])
  assert.equal((await at(-12.9)).length, 1)
  const [ended] = await at(0.5)
  assert.match(ended?.data ?? '', /Subject: localhost:8080: A certificate has ended/)
  assert.deepEqual(await at(1.2), [])
  assert.equal((await at(1.6)).length, 1)
})

test('in read-only mode, and without a mail server, nobody is told', async () => {
  const later = new Date(Date.parse('2200-01-01T00:00:00Z'))
  await using reading = await attachService(svc.dsn, { dataDir: folder, leastFreeDisk, readOnly: true })
  assert.deepEqual(await told(reading, later), [])
  await configure({ email_server: { server_addr: '' } })
  assert.deepEqual(await told(svc, later), [])
})
