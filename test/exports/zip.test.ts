import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { type Entry, fromBufferPromise } from 'yauzl'
import { type ZipEntry, zipPieces } from '../../src/exports/deliver/zip.ts'
import { inFolder, run } from './support.ts'

suite('ZIP as it is written', () => {
  const entryOf = (
    path: string,
    bytes: Buffer,
    packs: boolean,
    modified = new Date('2026-02-03T04:05:06Z'),
  ): ZipEntry => ({
    path,
    modified,
    packs,
    size: bytes.length,
    content: Readable.from([bytes.subarray(0, 7), bytes.subarray(7)], { objectMode: false }),
  })

  async function* each<T>(list: Iterable<T>): AsyncGenerator<T> {
    yield* list
  }

  const written = async (entries: Iterable<ZipEntry>): Promise<Buffer> => buffer(zipPieces(each(entries)))

  test('another program reads what was written: paths, contents, times', async () => {
    const content = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      // Packed as it streams.
      fc.integer({ min: 256 * 1024 - 1, max: 256 * 1024 + 2 }).map((length) => new Uint8Array(length).fill(length)),
    )
    const path = fc.stringMatching(/^[a-zäß%€😀 ]{1,12}$/u)
    const entry = fc.record({
      path,
      content,
      packs: fc.boolean(),
      at: fc.date({ min: new Date('1980-01-02'), max: new Date('2037-12-31'), noInvalidDate: true }),
    })
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(entry, { selector: (one) => one.path, maxLength: 5 }), async (entries) => {
        const made = entries.map((one) => entryOf(one.path, Buffer.from(one.content), one.packs, one.at))
        const zip = await fromBufferPromise(await written(made), { lazyEntries: true })
        const found: Entry[] = await Array.fromAsync(zip.eachEntry())
        const read = await Promise.all(found.map(async (one) => buffer(await zip.openReadStreamPromise(one))))
        assert.deepEqual(
          found.map((one, index) => [
            one.fileName,
            one.getLastModDate().getTime(),
            one.compressionMethod,
            read[index]?.toString('hex'),
          ]),
          entries.map((one) => [
            one.path,
            Math.floor(one.at.getTime() / 1000) * 1000,
            one.packs ? 8 : 0,
            Buffer.from(one.content).toString('hex'),
          ]),
        )
      }),
      { numRuns: 60 },
    )
  })

  test('an archive of more entries than the usual numbers can say is whole for unzip', async () => {
    const count = 66_000
    const bytes = Buffer.from('x')
    const entries = Array.from({ length: count }, (_, index) => entryOf(`${index}.txt`, bytes, false))
    const { path } = await inFolder('many.zip', await written(entries))
    await run('unzip', ['-tqq', path])
    const { stdout } = await run('unzip', ['-Z1', path], { maxBuffer: 10_000_000 })
    assert.deepEqual(
      stdout.trim().split('\n'),
      entries.map((one) => one.path),
    )
  })

  test('a content of another length than was said, and one that breaks off, end the archive', async () => {
    for (const length of [10, 300_000]) {
      const wrong = { ...entryOf('a', Buffer.alloc(length), true), size: length + 1 }
      await assert.rejects(written([wrong]), /a has \d+ bytes, not \d+/)
      for (const packs of [true, false]) {
        async function* broken(): AsyncGenerator<Buffer> {
          yield Buffer.alloc(5)
          throw new Error('broke off')
        }
        const content = Readable.from(broken(), { objectMode: false })
        await assert.rejects(written([{ ...entryOf('a', Buffer.alloc(length), packs), content }]), /broke off/)
      }
    }
  })
})
