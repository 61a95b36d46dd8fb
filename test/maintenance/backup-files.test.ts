import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { cp, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import pg from 'pg'
import { pathOf } from '../../src/files/blobs/blob-store.ts'
import { runBackup, runRestore } from '../../src/maintenance/backup-commands.ts'
import { restoreMark } from '../../src/platform/postgres/instance-id.ts'
import { startS3 } from '../files/s3-server.ts'
import { fetched, picture, sha256, upload } from '../files/support.ts'
import type { Json } from '../support/client.ts'
import { createEmptyDatabase } from '../support/postgres.ts'
import { temporaryFolder } from '../support/process.ts'
import { attachService, startService, type TestService, testConfig } from '../support/service.ts'
import { archiveOf, changeJson, type Entry, entriesOf, said } from './archives.ts'

const filesIn = async (folder: string): Promise<string[]> =>
  (await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []))
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name)
    .sort()

async function emptyDatabase() {
  const database = await createEmptyDatabase()
  return { dsn: database.dsn, [Symbol.asyncDispose]: () => database.drop() }
}

async function backup(svc: TestService, file: string, ...more: string[]): Promise<{ code: number; text: string }> {
  const { out, text } = said()
  const code = await runBackup([file, ...more], svc.config, out)
  return { code, text: text() }
}

/** Sends pictures one by one; answers their hashes by the ids of their files. */
async function sendPictures(svc: TestService, sent: Map<number, string>, go: () => boolean): Promise<void> {
  while (go()) {
    const content = await picture(300, 200)
    const { status, body } = await upload(svc, 'root', [{ name: 'a.jpg', content }], { produce_versions: 'true' })
    assert.equal(status, 200)
    sent.set(body[0]._id, sha256(content))
  }
}

const some = (count: number) => {
  let left = count
  return () => left-- > 0
}

async function recordsOf(svc: TestService): Promise<Json[]> {
  const { rows } = await svc.db.query<{ id: number }>('select id from file order by id')
  const { status, body } = await svc.as('root').get('/eas', { ids: JSON.stringify(rows.map(({ id }) => id)) })
  assert.equal(status, 200)
  return Object.values(body as Record<string, Json>)
}

test('pictures in two folders, uploaded until and during the backup, are there after a restore, with their renditions', async () => {
  await using folder = await temporaryFolder()
  const shelf = join(folder.path, 'shelf')
  const sent = new Map<number, string>()
  const file = join(folder.path, 'museum.tar.zst')
  {
    await using svc = await startService({ dataDir: join(folder.path, 'old'), fileFolders: [shelf] })
    await sendPictures(svc, sent, some(2))
    const location = { name: 'shelf', kind: 'file', config: { file: { dir: shelf } } }
    assert.equal((await svc.as('root').post('/system/location/new', location)).status, 200)
    const changed = await svc
      .as('root')
      .post('/config/system/config', { location_defaults: { originals: 'shelf', versions: '' } })
    assert.equal(changed.status, 200)
    await upload(svc, 'root', [{ name: 'empty.txt', content: Buffer.alloc(0) }]).then(({ status, body }) => {
      if (status === 200) sent.set(body[0]._id, sha256(Buffer.alloc(0)))
    })
    await sendPictures(svc, sent, some(2))
    await svc.drain()
    let saving = true
    const late = sendPictures(svc, sent, () => saving)
    const made = await backup(svc, file).finally(() => {
      saving = false
      return late
    })
    assert.equal(made.code, 0, made.text)
    assert.match(made.text, /in it: \d+ contents of files \(.* MB\) of the location file: /)
    assert.match(made.text, /in it: \d+ contents of files \(.* MB\) of the location shelf: /)
    await svc.drain()
  }
  await rename(shelf, `${shelf}-old`)
  await using database = await emptyDatabase()
  const config = testConfig(database.dsn, { dataDir: join(folder.path, 'new'), fileFolders: [shelf] })
  const { out, text } = said()
  assert.equal(await runRestore([file], config, out), 0)
  assert.doesNotMatch(text(), /missing|not restored/)
  assert.match(text(), new RegExp(`contents of files \\(.* MB\\) are in ${shelf}`))
  await assert.rejects(stat(join(config.dataDir, 'restore-unfinished')))
  await using restored = await attachService(database.dsn, { dataDir: config.dataDir, fileFolders: [shelf] })
  await restored.drain()
  const records = await recordsOf(restored)
  assert.ok(records.length >= 4)
  for (const { _id, status, versions } of records) {
    assert.equal(status, 'done')
    for (const [name, version] of Object.entries(versions as Record<string, Json>)) {
      if (!version.url) continue
      const got = await fetched(restored, version.url)
      assert.equal(got.status, 200, name)
      if (name === 'original') assert.equal(sha256(got.content), sent.get(_id))
      assert.equal(String(got.content.length), version.filesize, name)
    }
  }
  const pictures = records.filter(({ versions }) => Object.keys(versions).length > 1)
  assert.ok(pictures.length >= 4, 'renditions are there, or made again')
})

test('a backup without files says so, and takes the copied folder as its files; one that is not there is told', async () => {
  await using folder = await temporaryFolder()
  await using svc = await startService({ dataDir: join(folder.path, 'old') })
  const content = await picture()
  await upload(svc, 'root', [{ name: 'a.jpg', content }])
  await svc.drain()
  const file = join(folder.path, 'rows.tar.zst')
  const made = await backup(svc, file, '--without-files')
  assert.equal(made.code, 0)
  assert.match(made.text, /not in it: 1 contents of files \(.* MB\) in the location file: .*old\/files; copy them now/)
  assert.deepEqual(
    (await entriesOf(file)).filter(({ header }) => header.name.startsWith('contents')),
    [],
  )
  for (const copied of [false, true]) {
    await using database = await emptyDatabase()
    const config = testConfig(database.dsn, { dataDir: join(folder.path, `new-${copied}`) })
    const files = join(config.dataDir, 'files')
    if (copied) await cp(join(svc.config.dataDir, 'files'), files, { recursive: true })
    const { out, text } = said()
    await runRestore([file], config, out)
    if (copied) assert.match(text(), /1 contents of files \(.* MB\) are in /)
    else
      assert.match(
        text(),
        /missing: 1 contents of files .* of the location file; put them into .*files \(they are not in/,
      )
    if (copied) assert.doesNotMatch(text(), /missing/)
    assert.deepEqual(await filesIn(files), copied ? [sha256(content)] : [])
  }
})

test('contents that are missing or damaged where they lie are told by the backup, which has all others', async () => {
  await using folder = await temporaryFolder()
  await using svc = await startService({ dataDir: join(folder.path, 'old') })
  const [gone, damaged, good] = [await picture(), await picture(), await picture()]
  for (const content of [gone, damaged, good]) await upload(svc, 'root', [{ name: 'a.jpg', content }])
  await svc.drain()
  const place = (content: Buffer): string => join(svc.config.dataDir, 'files', pathOf(sha256(content)))
  await rm(place(gone))
  await writeFile(place(damaged), Buffer.alloc(damaged.length, 'x'))
  const file = join(folder.path, 'museum.tar.zst')
  const made = await backup(svc, file)
  assert.equal(made.code, 1)
  assert.match(made.text, /in it: 1 contents of files/)
  const hashes = [gone, damaged].map(sha256).sort().join(', ')
  assert.match(made.text, new RegExp(`missing or damaged: 2 contents of files of the location file: ${hashes}\n`))
  await using database = await emptyDatabase()
  const config = testConfig(database.dsn, { dataDir: join(folder.path, 'new') })
  const { out, text } = said()
  assert.equal(await runRestore([file], config, out), 0)
  assert.match(text(), /missing: 2 contents of files/)
  assert.deepEqual(await filesIn(join(config.dataDir, 'files')), [sha256(good)])
})

test('a backup whose contents somebody has changed, or that is cut in them, puts in nothing; one of an older format says that files are not in it', async () => {
  await using folder = await temporaryFolder()
  await using svc = await startService({ dataDir: join(folder.path, 'old') })
  const contents = [await picture(400, 400), await picture(400, 400)]
  for (const content of contents) await upload(svc, 'root', [{ name: 'a.jpg', content }])
  await svc.drain()
  const file = join(folder.path, 'museum.tar.zst')
  assert.equal((await backup(svc, file)).code, 0)
  const good = await entriesOf(file)
  const isContent = ({ header }: Entry): boolean => header.name.startsWith('contents/')
  const [rows, own, end] = [
    good.filter((entry) => !isContent(entry) && entry.header.name !== 'end.json'),
    good.filter(isContent),
    good.slice(-1),
  ]
  const [first, second] = own as [Entry, Entry]
  assert.equal(own.length, 2)
  const named = (name: string, { content }: Entry): Entry => ({ header: { name }, content })
  const altered = (entry: Entry): Entry => {
    const content = Buffer.from(entry.content)
    content[100] = (content[100] ?? 0) ^ 1
    return named(entry.header.name, { ...entry, content })
  }
  const foreign = await picture()
  const whole = await readFile(file)
  const bad: Record<string, [readonly Entry[] | Buffer, RegExp]> = {
    'an altered byte': [[...rows, altered(first), second, ...end], /is damaged: the contents of files/],
    'a path upwards': [[...rows, named('contents/1/../../../x/0001', first), second, ...end], /does not belong there/],
    'a path upwards for a piece': [
      [...rows, named(`${dirname(first.header.name)}/../../x`, first), second, ...end],
      /does not belong there/,
    ],
    'a content too many': [
      [...rows, first, second, named(`contents/1/${sha256(foreign)}/0001`, { ...first, content: foreign }), ...end],
      /does not belong there/,
    ],
    'a content too few': [[...rows, first, ...end], /is damaged: the contents of files/],
    'no content': [[...rows, ...end], /is damaged: the contents of files/],
    'a content twice': [[...rows, first, first, second, ...end], /does not belong there/],
    'another order': [[...rows, second, first, ...end], /does not belong there/],
    'another size': [
      [
        ...rows,
        named(first.header.name, { ...first, content: Buffer.concat([first.content, foreign]) }),
        second,
        ...end,
      ],
      /does not belong there/,
    ],
    'another location': [
      [...rows, named(first.header.name.replace('/1/', '/2/'), first), second, ...end],
      /does not belong there/,
    ],
    'a location that is not there': [
      [...changeJson(rows, 'manifest.json', (m) => ({ ...m, contents: [1, 77] })), first, second, ...end],
      /no such location/,
    ],
    'rows behind contents': [[...rows.slice(0, -1), first, ...rows.slice(-1), second, ...end], /does not belong there/],
    'cut in the middle': [whole.subarray(0, Math.floor(whole.length * 0.8)), /damaged|cut off/],
    'no end': [[...rows, first, second], /end is missing/],
  }
  await using database = await emptyDatabase()
  const path = join(folder.path, 'bad.tar.zst')
  const config = testConfig(database.dsn, { dataDir: join(folder.path, 'new') })
  for (const [name, [given, reason]] of Object.entries(bad)) {
    await writeFile(path, Buffer.isBuffer(given) ? given : zstdCompressSync(await archiveOf(given)))
    await assert.rejects(runRestore([path], config, said().out), reason, name)
    assert.deepEqual(await filesIn(join(config.dataDir, 'files')), [], name)
    const client = new pg.Client(database.dsn)
    await client.connect()
    assert.deepEqual((await client.query('select from file_blob')).rows, [], name)
    await client.end()
  }
  const old = changeJson(
    changeJson([...rows, ...end], 'manifest.json', ({ contents: _, ...m }) => ({ ...m, format: 1 })),
    'end.json',
    ({ 'contents/1': _, ...sums }) => sums,
  )
  await writeFile(path, zstdCompressSync(await archiveOf(old)))
  const { out, text } = said()
  assert.equal(await runRestore([path], config, out), 0)
  assert.match(text(), /did not copy contents of files into it\n.*missing: 2 contents of files/s)
})

test('a restore goes on in folders that one which was cut off has begun to fill, and touches no others', async () => {
  await using folder = await temporaryFolder()
  await using svc = await startService({ dataDir: join(folder.path, 'old') })
  const content = await picture()
  await upload(svc, 'root', [{ name: 'a.jpg', content }])
  await svc.drain()
  const file = join(folder.path, 'museum.tar.zst')
  await backup(svc, file)
  const left = 'ab'.repeat(32)
  for (const begun of [true, false]) {
    await using database = await emptyDatabase()
    const config = testConfig(database.dsn, { dataDir: join(folder.path, `new-${begun}`) })
    const files = join(config.dataDir, 'files')
    await mkdir(join(files, dirname(pathOf(left))), { recursive: true })
    await writeFile(join(files, pathOf(left)), 'left')
    if (begun) await restoreMark(config.dataDir).set([files])
    const { out, text } = said()
    assert.equal(await runRestore([file], config, out), 0)
    assert.deepEqual(await filesIn(files), begun ? [sha256(content)] : [left])
    if (!begun) assert.match(text(), /missing: 1 contents of files .*the folder had contents already/)
  }
})

test('a content that is announced and not there yet is no loss; one of 66 MB comes back from its pieces', async () => {
  await using folder = await temporaryFolder()
  await using svc = await startService({ dataDir: join(folder.path, 'old') })
  // Three and a bit of its own blocks, so that each piece has other bytes.
  const content = Buffer.alloc(66 * 1024 * 1024 + 7, randomBytes(20 * 1024 * 1024))
  const { status, body } = await upload(svc, 'root', [{ name: 'interview.wav', content }], {
    produce_versions: 'false',
  })
  assert.equal(status, 200)
  await svc.drain()
  const announced = 'cd'.repeat(32)
  await svc.db.query(
    `insert into file_blob (location_id, sha256, size) select id, decode($1, 'hex'), 10 from file_location
    where kind = 'file'`,
    [announced],
  )
  const file = join(folder.path, 'museum.tar.zst')
  const made = await backup(svc, file)
  assert.deepEqual([made.code, /missing/.test(made.text)], [0, false], made.text)
  const entries = (await entriesOf(file)).filter(({ header }) => header.name.startsWith('contents'))
  assert.deepEqual(
    entries.map(({ header }) => header.size),
    [64 * 1024 * 1024, 2 * 1024 * 1024 + 7],
  )
  await using database = await emptyDatabase()
  const config = testConfig(database.dsn, { dataDir: join(folder.path, 'new') })
  const { out, text } = said()
  assert.equal(await runRestore([file], config, out), 0)
  assert.doesNotMatch(text(), /missing/)
  await using restored = await attachService(database.dsn, { dataDir: config.dataDir })
  const [record] = await recordsOf(restored)
  assert.equal(record?._id, body[0]._id)
  const got = await fetched(restored, record?.versions.original.url)
  assert.equal(sha256(got.content), sha256(content))
})

test('what lies in a bucket and at addresses of the web is not in a backup, which says where it is; so does the restore', async () => {
  await using folder = await temporaryFolder()
  await using s3 = await startS3()
  await using svc = await startService({ dataDir: join(folder.path, 'old') })
  const bucket = { name: 'bucket', kind: 's3', prefix: 'museum/', config: { s3: s3.config } }
  assert.equal((await svc.as('root').post('/system/location/new', bucket)).status, 200)
  const changed = await svc
    .as('root')
    .post('/config/system/config', { location_defaults: { originals: 'bucket', versions: '' } })
  assert.equal(changed.status, 200)
  await upload(svc, 'root', [{ name: 'a.jpg', content: await picture() }])
  await svc.drain()
  const file = join(folder.path, 'museum.tar.zst')
  const made = await backup(svc, file)
  assert.equal(made.code, 0, made.text)
  assert.match(
    made.text,
    /not in it: 1 contents of files .* in the location bucket: the bucket files of .* under museum\//,
  )
  assert.ok(!made.text.includes(s3.config.secretkey))
  await using database = await emptyDatabase()
  const config = testConfig(database.dsn, { dataDir: join(folder.path, 'new') })
  const { out, text } = said()
  assert.equal(await runRestore([file], config, out), 0)
  assert.match(
    text(),
    /not restored: 1 contents of files .* of the location bucket; they must be in the bucket files of/,
  )
})
