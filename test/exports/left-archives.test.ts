import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ArchiveEntry, archiveOf } from '../../src/exports/deliver/archive.ts'
import { until } from '../support/until.ts'

/** Short contents are written at once, longer ones as they come. */
const sizes = [500, 100_000, 300_000, 2_000_000]

for (const kind of ['zip', 'tar_gz'] as const) {
  for (const size of sizes) {
    test(`${kind}: a reader who leaves among entries of ${size} bytes ends them, and nothing else`, async () => {
      const bytes = randomBytes(size)
      const counts = { opened: 0, ended: 0, walked: 0 }
      let isOver = false
      async function* entries(): AsyncGenerator<ArchiveEntry> {
        try {
          for (let index = 0; index < 100_000; index++) {
            counts.walked++
            yield {
              path: `${index}`,
              modified: new Date(0),
              packs: false,
              pathOfError: async () => `${index}.error.txt`,
              async open() {
                counts.opened++
                return {
                  size,
                  content: Readable.from([bytes], { objectMode: false }),
                  end: () => counts.ended++,
                }
              },
            }
          }
        } finally {
          isOver = true
        }
      }
      const unexpected: unknown[] = []
      const note = (error: unknown): void => void unexpected.push(error)
      process.on('uncaughtException', note)
      try {
        const archive = archiveOf(kind, entries())
        await once(archive, 'readable')
        archive.read()
        // It waits for its reader when no further entry begins.
        for (let before = -1; before !== counts.walked; await sleep(50)) before = counts.walked
        archive.on('error', () => {})
        archive.destroy()
        await until(async () => isOver)
        assert.equal(counts.ended, counts.opened)
        assert.ok(counts.opened > 0 && counts.walked < 100_000)
        await sleep(50)
        assert.deepEqual(unexpected, [])
      } finally {
        process.off('uncaughtException', note)
      }
    })
  }
}
