import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { mkdir, readdir, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, before, suite, test } from 'node:test'
import { BlobMissing, type BlobStore, pathOf } from '../../src/files/blobs/blob-store.ts'
import { createFileSystemStore } from '../../src/files/blobs/file-system.ts'
import { createS3Store } from '../../src/files/blobs/s3.ts'
import { receiveFile } from '../../src/files/upload/receive.ts'
import { release, transfer } from '../../src/platform/memory/buffer-ownership.ts'
import { temporaryFolder } from '../support/process.ts'
import { startS3 } from './s3-server.ts'

const sha256 = (content: Buffer): string => createHash('sha256').update(content).digest('hex')
const chunks = (...list: Buffer[]): AsyncIterable<Buffer> => Readable.from(list)

async function whole(stream: Readable): Promise<Buffer> {
  const read: Buffer[] = []
  for await (const chunk of stream) read.push(chunk as Buffer)
  return Buffer.concat(read)
}

/** Without showing where they differ, which takes for ever. */
function assertSame(actual: Buffer, expected: Buffer): void {
  assert.equal(actual.length, expected.length)
  assert.ok(actual.equals(expected))
}

async function stored(store: BlobStore, content: Buffer): Promise<string> {
  const received = await store.receive(chunks(content))
  await received.keep(sha256(content))
  return sha256(content)
}

async function all(store: BlobStore): Promise<Map<string, number>> {
  const found = new Map<string, number>()
  for await (const { sha256: hash, size } of store.list()) found.set(hash, size)
  return found
}

const kinds: Record<string, (resources: AsyncDisposableStack) => Promise<BlobStore>> = {
  'file system': async (resources) => {
    const folder = resources.use(await temporaryFolder())
    return createFileSystemStore(join(folder.path, 'not there yet'))
  },
  S3: async (resources) => createS3Store(resources.use(await startS3()).config, 'some/where/'),
}

for (const [kind, open] of Object.entries(kinds)) {
  suite(`contents in ${kind}`, () => {
    const resources = new AsyncDisposableStack()
    let store: BlobStore
    before(async () => {
      store = await open(resources)
    })
    after(async () => {
      store.close()
      await resources.disposeAsync()
    })

    test('what is stored comes back, whole and in parts', async () => {
      const content = randomBytes(300_000)
      const hash = await stored(store, content)
      assert.equal(await store.size(hash), content.length)
      assertSame(await whole(await store.read(hash)), content)
      assertSame(await whole(await store.read(hash, { start: 0, end: 9 })), content.subarray(0, 10))
      assertSame(await whole(await store.read(hash, { start: 1000, end: 299_999 })), content.subarray(1000))
    })

    test('a content of more than one part, and an empty one', async () => {
      const content = randomBytes(17 * 1024 * 1024)
      const received = await store.receive(chunks(content.subarray(0, 5), content.subarray(5)))
      assert.equal(received.size, content.length)
      await received.keep(sha256(content))
      assert.equal(sha256(await whole(await store.read(sha256(content)))), sha256(content))
      const empty = await stored(store, Buffer.alloc(0))
      assert.equal(await store.size(empty), 0)
      assert.equal((await whole(await store.read(empty))).length, 0)
    })

    test('the same content twice is there once; kept at once by two it stays whole', async () => {
      const content = randomBytes(1000)
      const two = await Promise.all([store.receive(chunks(content)), store.receive(chunks(content))])
      await Promise.all(two.map((received) => received.keep(sha256(content))))
      assertSame(await whole(await store.read(sha256(content))), content)
      assert.equal([...(await all(store))].filter(([hash]) => hash === sha256(content)).length, 1)
    })

    test('a source that fails in the middle leaves nothing, and its failure is told', async () => {
      const before = await all(store)
      async function* broken(): AsyncIterable<Buffer> {
        yield randomBytes(100_000)
        throw new Error('the client has gone')
      }
      await assert.rejects(store.receive(broken()), /the client has gone/)
      assert.deepEqual(await all(store), before)
      assert.equal(await store.sweep(new Date(Date.now() + 60_000)), 0)
    })

    test('many senders that stop in the middle, or send single bytes, take little memory', async () => {
      const senders = 200
      const pieces: Buffer[] = []
      const stop = Promise.withResolvers<void>()
      const allWait = Promise.withResolvers<void>()
      let waiting = 0
      async function* slow(sizes: readonly number[]): AsyncIterable<Buffer> {
        for (const size of sizes) {
          // The store empties it when it is written.
          const piece = transfer(Buffer.alloc(size, 1))
          pieces.push(piece)
          yield piece
        }
        if (++waiting === senders) allWait.resolve()
        await stop.promise
      }
      const tiny = Array.from({ length: 2000 }, () => 1)
      const received = Array.from({ length: senders }, (_, index) =>
        store.receive(slow(index === 0 ? tiny : [100_000, 100_000])),
      )
      await allWait.promise
      const inMemory = pieces.filter(({ length }) => length > 0)
      assert.ok(inMemory.reduce((sum, { length }) => sum + length, 0) <= 17 * 1024 * 1024)
      assert.ok(inMemory.filter(({ length }) => length === 1).length <= 256)
      stop.resolve()
      const all = await Promise.all(received)
      assert.deepEqual(new Set(all.map(({ size }) => size)), new Set([2000, 200_000]))
      await Promise.all(all.map((one) => one.discard()))
    })

    test('what was received and not kept is not there; it is swept away once it is old', async () => {
      const content = randomBytes(500)
      await store.receive(chunks(content))
      assert.equal(await store.size(sha256(content)), null)
      assert.equal(await store.sweep(new Date(Date.now() - 60_000)), 0)
      assert.equal(await store.sweep(new Date(Date.now() + 60_000)), 1)
      const discarded = await store.receive(chunks(content))
      await discarded.discard()
      assert.equal(await store.sweep(new Date(Date.now() + 60_000)), 0)
    })

    test('what is missing or removed says so', async () => {
      const hash = await stored(store, randomBytes(10))
      await store.remove(hash)
      await store.remove(hash)
      assert.equal(await store.size(hash), null)
      await assert.rejects(store.read(hash), BlobMissing)
      assert.equal((await all(store)).has(hash), false)
    })

    test('only hashes are names', () => {
      for (const name of ['../../etc/passwd', 'AB'.repeat(32), 'ab'.repeat(31), `${'ab'.repeat(32)}/..`, '']) {
        assert.throws(() => pathOf(name), /not a hash/)
      }
    })

    test('a place that works is told from one that does not', async () => {
      await store.probe({ readOnly: false })
      await store.probe({ readOnly: true })
      assert.equal(await store.sweep(new Date(Date.now() + 60_000)), 0)
    })
  })
}

test('the type of a file is found by its beginning, also where the store releases each piece at once', async () => {
  const content = Buffer.from(`%PDF-1.7\n${'% a line of a comment\n'.repeat(400)}`)
  async function* pieces(): AsyncIterable<Buffer> {
    for (let at = 0; at < content.length; at += 10) {
      const piece = Buffer.allocUnsafeSlow(Math.min(10, content.length - at))
      content.copy(piece, 0, at)
      yield transfer(piece)
    }
  }
  const store = {
    async receive(source: AsyncIterable<Buffer>) {
      let size = 0
      for await (const piece of source) {
        size += piece.length
        release([piece])
      }
      return { size, keep: async () => {}, discard: async () => {} }
    },
  }
  const permission = { check: () => {}, most: () => content.length, largest: content.length }
  const { type, sha256: hash } = await receiveFile({ name: 'letter', content: pieces() }, store, permission)
  assert.equal(type.extension, 'pdf')
  assert.equal(hash, sha256(content))
})

test('what else lies in the folder is no content and is left alone', async () => {
  await using folder = await temporaryFolder()
  const store = createFileSystemStore(folder.path)
  const hash = await stored(store, Buffer.from('one'))
  await writeFile(join(folder.path, 'notes.txt'), 'a note')
  await mkdir(join(folder.path, 'ab', 'cd'), { recursive: true })
  await writeFile(join(folder.path, 'ab', 'cd', 'ef'.repeat(32)), 'not in its folder')
  await symlink('/etc/passwd', join(folder.path, 'ab', 'cd', `abcd${'0'.repeat(60)}`))
  assert.deepEqual([...(await all(store))], [[hash, 3]])
  assert.equal(await store.sweep(new Date(Date.now() + 60_000)), 0)
  assert.ok((await readdir(folder.path)).includes('notes.txt'))
})

test('a temporary name that somebody still writes to is not swept away', async () => {
  await using folder = await temporaryFolder()
  const store = createFileSystemStore(folder.path)
  await store.receive(chunks(Buffer.from('old')))
  await store.receive(chunks(Buffer.from('new')))
  const [first] = await readdir(join(folder.path, 'tmp'))
  await utimes(join(folder.path, 'tmp', String(first)), new Date(0), new Date(0))
  assert.equal(await store.sweep(new Date(Date.now() - 3_600_000)), 1)
  assert.equal((await readdir(join(folder.path, 'tmp'))).length, 1)
})

test('S3: parts that a process left go with the sweep; a server that hangs or stops in the middle is not waited for', async () => {
  await using s3 = await startS3()
  const store = createS3Store(s3.config, 'where/')
  const impatient = createS3Store(s3.config, 'where/', { patience: 300 })
  const content = randomBytes(40 * 1024 * 1024)
  // The process ends: nobody says that the upload is given up.
  s3.fault = ({ method }) => (method === 'DELETE' ? 'error' : null)
  async function* breaking(): AsyncIterable<Buffer> {
    yield content.subarray(0, 33 * 1024 * 1024)
    throw new Error('the process ends')
  }
  await assert.rejects(store.receive(breaking()))
  s3.fault = () => null
  assert.equal((await s3.unfinished()).length, 1)
  assert.equal(await store.sweep(new Date(Date.now() - 60_000)), 0)
  assert.equal((await s3.unfinished()).length, 1, 'it may still go on')
  assert.equal(await store.sweep(new Date(Date.now() + 60_000)), 1)
  assert.deepEqual(await s3.unfinished(), [])
  const hash = await stored(store, content.subarray(0, 100_000))
  s3.fault = () => 'hang'
  await assert.rejects(impatient.read(hash))
  await assert.rejects(impatient.receive(chunks(content.subarray(0, 10))))
  impatient.close()
  s3.fault = () => 'cut'
  await assert.rejects(store.read(hash).then(whole))
  s3.fault = () => null
  assertSame(await whole(await store.read(hash)), content.subarray(0, 100_000))
  assert.equal(await store.sweep(new Date(Date.now() + 60_000)), 0)
  store.close()
})

test('a bucket or a server that is not there is an error that says so', async () => {
  await using s3 = await startS3()
  const wrong = createS3Store({ ...s3.config, bucket: 'others' }, '')
  await assert.rejects(wrong.probe({ readOnly: false }), /bucket/i)
  wrong.close()
  const nobody = createS3Store({ ...s3.config, endpoint: '127.0.0.1:1' }, '')
  await assert.rejects(nobody.probe({ readOnly: true }))
  nobody.close()
})
