import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, readlink, realpath, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { after, before, suite, test } from 'node:test'
import { crc32, deflateSync } from 'node:zlib'
import { CannotMake } from '../../src/files/renditions/workshop/failure.ts'
import { createWorkers, type Workers } from '../../src/files/renditions/workshop/workers.ts'
import { temporaryFolder } from '../support/process.ts'
import { startService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { createUploaders, picture, upload } from './support.ts'

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data])
  const frame = Buffer.alloc(8)
  frame.writeUInt32BE(data.length)
  frame.writeUInt32BE(crc32(body), 4)
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)])
}

/** Pictures with texts that are small as long as they are packed. */
async function packed(kind: 'zTXt' | 'iTXt', texts: number, unpacked: number): Promise<Buffer> {
  const png = await picture(20, 20, 'png')
  const text = deflateSync(Buffer.alloc(unpacked, 'x'), { level: 9 })
  const behindName = kind === 'zTXt' ? [0] : [1, 0, 0, 0]
  const chunks = Array.from({ length: texts }, (_, index) =>
    chunk(kind, Buffer.concat([Buffer.from(`Comment${index}\0`), Buffer.from(behindName), text])),
  )
  const header = 8 + 25
  return Buffer.concat([png.subarray(0, header), ...chunks, png.subarray(header)])
}

suite('what files say of themselves is read apart', () => {
  let workers: Workers
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  before(async () => {
    folder = await temporaryFolder()
    const limits = { memory: 1e9, seconds: 60, drawingSeconds: 5, pixels: 1e6, output: 1e8 }
    workers = createWorkers({ most: 1, limits, background: true, place: folder.path })
  })
  after(async () => {
    await workers.close()
    await folder[Symbol.asyncDispose]()
  })

  async function tagsOf(name: string, content: Buffer) {
    const path = join(folder.path, name)
    await writeFile(path, content)
    const into = join(folder.path, `for-${name}`)
    await mkdir(into)
    return workers.run({ kind: 'tags', source: { path, extension: name.split('.').at(-1) ?? '' }, folder: into })
  }

  test('a usual picture tells its tags', async () => {
    const tags = await tagsOf('plain.png', await packed('iTXt', 2, 50))
    const found = new Map(tags.map(({ group, name, value }) => [`${group}:${name}`, value]))
    assert.equal(found.get('PNG:ImageWidth'), 20)
    assert.equal(found.get('PNG:Comment1'), 'x'.repeat(50))
    assert.ok(![...found.keys()].some((key) => key.startsWith('System:') || key.startsWith('ExifTool:')))
  })

  test('one program reads many files, each for itself; another one follows when it has ended', {
    skip: process.platform !== 'linux' && 'only Linux shows where a process works',
  }, async () => {
    const here = await realpath(folder.path)
    const programs = async () => {
      const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
      const found = await Promise.all(
        pids.map(async (pid) => {
          const place = await readlink(`/proc/${pid}/cwd`).catch(() => '')
          const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
          return place === here && command.startsWith('perl') ? [Number(pid)] : []
        }),
      )
      return found.flat()
    }
    const commentsOf = async (name: string, content: Buffer) =>
      (await tagsOf(name, content)).filter((tag) => tag.name.startsWith('Comment')).length
    assert.equal(await commentsOf('first.png', await packed('iTXt', 2, 50)), 2)
    const [program, ...others] = await programs()
    assert.ok(program !== undefined && others.length === 0)
    assert.equal(await commentsOf('second.png', await packed('iTXt', 1, 50)), 1)
    assert.equal(await commentsOf('third.png', await picture(5, 5, 'png')), 0)
    // It says of an empty file that it is one, and goes on.
    await tagsOf('fourth.png', Buffer.alloc(0)).catch((error: unknown) => assert.ok(error instanceof CannotMake))
    assert.deepEqual(await programs(), [program])
    process.kill(program, 'SIGKILL')
    await until(async () => !(await programs()).includes(program))
    assert.equal(await commentsOf('fifth.png', await packed('iTXt', 2, 50)), 2)
    const [next, ...more] = await programs()
    assert.ok(next !== undefined && next !== program && more.length === 0)
  })

  test('a path is no further argument', async () => {
    const content = await picture(5, 5, 'png')
    await assert.rejects(tagsOf('a.png\n-o\nb.png', content), /line breaks/)
    assert.ok(!(await readdir(folder.path)).includes('b.png'))
    assert.ok((await tagsOf('c.png', content)).length > 3)
  })

  test('no configuration of the machine or of a folder runs', async () => {
    const ran = join(folder.path, 'ran')
    await writeFile(join(folder.path, '.ExifTool_config'), `open(my $f, '>', '${ran}'); close $f; 1;`)
    await tagsOf('configured.png', await picture(5, 5, 'png'))
    assert.ok(!(await readdir(folder.path)).includes('ran'))
  })

  test('texts that unpack to hundreds of megabytes end in a bounded answer, or in a reason', async () => {
    const hostile = { 'one.png': [1, 100_000_000], 'five.png': [5, 100_000_000], 'many.png': [3000, 20_000] } as const
    for (const [name, [texts, size]] of Object.entries(hostile)) {
      for (const kind of ['zTXt', 'iTXt'] as const) {
        const content = await packed(kind, texts, size)
        assert.ok(content.length < 500_000)
        const outcome = await tagsOf(`${kind}-${name}`, content).then(
          (tags) => tags.length <= 1000 && JSON.stringify(tags).length < 3_000_000,
          (error: unknown) => error instanceof CannotMake && error.message,
        )
        assert.ok(outcome, `${kind} ${name}`)
      }
    }
    // The next one is read.
    assert.ok((await tagsOf('after.png', await picture(5, 5, 'png'))).length > 3)
  })
})

suite('hostile files among others', () => {
  let svc: TestService
  before(async () => {
    svc = await startService({ mediaDrawingSeconds: 1 })
    await createUploaders(svc, 'ada', 'mallory')
  })
  after(() => svc[Symbol.asyncDispose]())

  test('the service answers others while a packed text is read, and says what came of it', async () => {
    const delay = monitorEventLoopDelay({ resolution: 10 })
    const { body } = await upload(
      svc,
      'root',
      [{ name: 'packed.png', content: await packed('zTXt', 5, 100_000_000) }],
      {
        produce_versions: 'true',
      },
    )
    delay.enable()
    await svc.drain()
    delay.disable()
    assert.ok(delay.max < 500e6, `others waited ${delay.max / 1e6} ms`)
    const { rows } = await svc.db.query<{ status: string; reason: string }>(
      `select status, reason from file_rendition where file_id = $1 and name = ':metadata'`,
      [body[0]._id],
    )
    const [told] = rows
    assert.ok(told?.status === 'done' || /metadata cannot be read/.test(told?.reason ?? ''), JSON.stringify(rows))
    assert.deepEqual(await readdir(join(svc.config.dataDir, 'work')).then((names) => names.filter(isTask)), [])
  })

  test('four drawings without end of one person do not keep the picture of another one waiting', async () => {
    const noise =
      '<filter id="f"><feTurbulence baseFrequency="0.9" numOctaves="9"/></filter>' +
      '<rect width="4000" height="4000" filter="url(#f)"/>'.repeat(200)
    const drawing = Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="4000" height="4000">${noise}</svg>`)
    const produce = { produce_versions: 'true' }
    const drawings = Array.from({ length: 4 }, (_, n) => ({ name: `${n}.svg`, content: drawing }))
    const hostile = await upload(svc, 'mallory', drawings, produce)
    assert.equal(hostile.status, 200, JSON.stringify(hostile.body))
    const friendly = await upload(svc, 'ada', [{ name: 'a.jpg', content: await picture() }], produce)
    assert.equal(friendly.status, 200, JSON.stringify(friendly.body))
    /** Renditions of files that are made or have failed, and those that are still to come. */
    const stateOf = async (files: readonly { readonly _id: number }[]) => {
      const { rows } = await svc.db.query<{ ended: number; open: number }>(
        `select count(*) filter (where status in ('done', 'failed', 'not_produced'))::int as ended,
           count(*) filter (where status in ('pending', 'processing'))::int as open
         from file_rendition where file_id = any($1::bigint[])`,
        [files.map(({ _id }) => _id)],
      )
      return rows[0] ?? { ended: 0, open: 0 }
    }
    await until(async () => (await stateOf(friendly.body)).open === 0)
    const { body: wire } = await svc.as('ada').get(`/eas/${friendly.body[0]._id}`)
    assert.equal(wire.versions.preview.status, 'done')
    await svc.drain()
    assert.equal((await stateOf(hostile.body)).open, 0)
    const { rows } = await svc.db.query<{ before: boolean }>(
      `select (select status_at from file_rendition where file_id = $1 and name = 'preview')
         < (select max(status_at) from file_rendition where file_id = any($2::bigint[])) as before`,
      [friendly.body[0]._id, hostile.body.map(({ _id }: { readonly _id: number }) => _id)],
    )
    assert.deepEqual(rows, [{ before: true }], 'the preview was there while the drawings were still being tried')
  })
})

const isTask = (name: string): boolean => /^\d+-/.test(name)
