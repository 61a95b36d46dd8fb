import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { suite, test } from 'node:test'
import { createSignatures } from '../../src/files/addresses/signatures.ts'
import { openSigningKeys } from '../../src/files/addresses/signing-keys.ts'
import { createSeal } from '../../src/platform/secrets/seal.ts'
import { attachService, startService } from '../support/service.ts'
import { fetched, upload } from './support.ts'

const other = 'another key, of thirty-two letters'
const signed = { fileId: 1, hash: 'h', version: 'original' }
const sealOf = (secretKey: string, secretKeyBefore: string | null = null) =>
  createSeal({ dataDir: '/nowhere', secretKey, secretKeyBefore })

suite('keys of signed addresses', () => {
  test('a key that a release before has stored as it is: its addresses hold, and none for longer than addresses may', async () => {
    await using svc = await startService()
    const { body } = await upload(svc, 'root', [{ name: 'a.bin', content: randomBytes(1000) }])
    const [file] = body
    const { url } = file.versions.original
    const plain = randomBytes(32)
    await svc.db.query('delete from file_key')
    await svc.db.query('insert into file_key (id, key) values (1, $1)', [plain])
    const hash = new URL(url).pathname.split('/').at(-2)
    const withPlain = (days: number): string => {
      const until = Math.ceil((Date.now() / 1000 + days * 86_400) / 3600) * 3600
      const mac = createHmac('sha256', plain)
        .update(JSON.stringify([file._id, hash, 'original', until]))
        .digest()
      const signature = `${until.toString(36)}-${mac.subarray(0, 24).toString('base64url')}`
      return `${String(url).split('?')[0]}?x-svc-signature=${signature}`
    }
    const { dataDir } = svc.config
    const [one, two] = await Promise.all([attachService(svc.dsn, { dataDir }), attachService(svc.dsn, { dataDir })])
    const nodes = [one, two]
    try {
      for (const node of nodes) {
        assert.equal((await fetched(node, withPlain(7))).status, 200)
        assert.equal((await fetched(node, withPlain(30))).status, 200, 'as long as addresses may hold')
        assert.equal((await fetched(node, withPlain(3650))).status, 403, 'forged with the key of a backup')
      }
      const { versions } = (await one.as('root').get(`/eas/${file._id}`)).body
      for (const node of nodes) assert.equal((await fetched(node, versions.original.url)).status, 200)
      const { rows } = await svc.db.query<{ key: Buffer; until: Date | null }>('select key, until from file_key')
      assert.deepEqual(rows.map(({ until }) => until === null).sort(), [false, true])
      assert.ok(rows.every(({ key }) => !key.includes(plain)))
    } finally {
      for (const node of nodes) await node[Symbol.asyncDispose]()
    }
  })

  test('another secret key: addresses of before hold while the one before is given, and come back with it', async () => {
    await using svc = await startService()
    const options = (seal: ReturnType<typeof sealOf>) => ({ db: svc.db, seal, mostDays: () => 30 })
    const keysWith = async (seal: ReturnType<typeof sealOf>) => createSignatures(await openSigningKeys(options(seal)))
    const [present, lost] = [sealOf(svc.config.secretKey ?? ''), sealOf(other)]
    const first = await keysWith(present)
    const signature = first.sign(signed, first.until(86_400))
    const without = await keysWith(lost)
    assert.equal(without.left(signed, signature), null)
    assert.ok(without.left(signed, without.sign(signed, without.until(86_400))), 'new addresses are given out')
    assert.ok((await keysWith(present)).left(signed, signature), 'nothing was lost')
    const changed = await keysWith(sealOf(other, svc.config.secretKey))
    assert.ok(changed.left(signed, signature))
    assert.ok((await keysWith(lost)).left(signed, signature), 'sealed anew')
  })

  test('what has ended goes, and processes that start at the same time have one key', async () => {
    await using svc = await startService()
    await svc.db.query('delete from file_key')
    const seal = sealOf(svc.config.secretKey ?? '')
    await svc.db.query(`insert into file_key (key, until) values ($1, now() - interval '1 hour')`, [randomBytes(32)])
    const opened = await Promise.all([1, 2, 3].map(() => openSigningKeys({ db: svc.db, seal, mostDays: () => 30 })))
    assert.equal(new Set(opened.map(([{ key }]) => key.toString('hex'))).size, 1)
    assert.ok(opened.every((keys) => keys.length === 1))
  })
})
