import assert from 'node:assert/strict'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { picture } from '../files/support.ts'
import { attachService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { ask, type Collected, namesIn, setShares, startDrives } from './support.ts'

suite('what one caller may drop', () => {
  let drives: Awaited<ReturnType<typeof startDrives>>
  before(async () => {
    drives = await startDrives({ quotaHotfolderFiles: 4, quotaHotfolderBytes: 5000 })
  })
  after(() => drives.svc[Symbol.asyncDispose]())

  const put = async ({ hotfolder }: Collected, name: string, bytes: number) => {
    const { status, text } = await ask(`${hotfolder}${name}`, 'PUT', {}, Buffer.alloc(bytes, 1))
    return status === 201 ? status : [status, JSON.parse(text).code]
  }

  test('files and bytes of a collection have an end, which takes nothing from another one', async () => {
    const [one, two] = [await drives.collection(), await drives.collection()]
    await setShares(drives.svc, { read_write_access: true, hotfolder: true, hotfolder_wait_sec: 3600 })
    assert.equal(await put(one, 'a.bin', 3000), 201)
    assert.deepEqual(await put(one, 'b.bin', 3000), [507, 'HotfolderFull'])
    assert.deepEqual(await put(one, 'b.bin', 6000), [400, 'FileLimitExceeded'])
    assert.equal(await put(one, 'b.bin', 10), 201)
    assert.equal(await put(one, 'c.bin', 10), 201)
    assert.equal(await put(one, 'd.bin', 10), 201)
    assert.deepEqual(await put(one, 'e.bin', 10), [507, 'HotfolderFull'])
    assert.equal(await put(two, 'a.bin', 3000), 201)
    const place = join(drives.svc.config.dataDir, 'hotfolder')
    assert.deepEqual((await readdir(join(place, one.uuid))).sort(), ['a.bin', 'b.bin', 'c.bin', 'd.bin'])
    assert.deepEqual(await readdir(join(place, '.arriving')), [])
    // What goes makes room, as soon as it is counted anew.
    for (const name of ['a.bin', 'b.bin', 'c.bin']) await ask(`${one.hotfolder}${name}`, 'DELETE')
    await drives.svc.db.query("update hotfolder_usage set measured_at = '-infinity'")
    assert.equal(await put(one, 'e.bin', 10), 201)
  })

  test('the reserve of the disk is left alone', async () => {
    const { svc } = drives
    await using full = await attachService(svc.dsn, { dataDir: svc.config.dataDir, hotfolderReserve: 1_000_000 })
    const base = await full.listen()
    const made = await drives.collection()
    const address = base + new URL(made.hotfolder).pathname
    const answer = await ask(`${address}a.bin`, 'PUT', {}, 'x')
    assert.deepEqual([answer.status, JSON.parse(answer.text).code], [507, 'HotfolderFull'])
  })

  test('two processes on one folder bring each file in once', async () => {
    const { svc } = drives
    await setShares(svc, { read_write_access: true, hotfolder: true, hotfolder_wait_sec: 1 })
    await using _second = await attachService(svc.dsn, { dataDir: svc.config.dataDir })
    const made = await drives.collection()
    const folder = join(svc.config.dataDir, 'hotfolder', made.uuid)
    await mkdir(folder, { recursive: true })
    for (let at = 0; at < 30; at++) await writeFile(join(folder, `${at}.jpg`), await picture())
    await until(async () => (await readdir(folder)).join() === 'hotfolder.log')
    const names = (await namesIn(svc, made.id)).flat()
    assert.deepEqual([names.length, new Set(names).size], [30, 30])
  })
})
