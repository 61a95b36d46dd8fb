import assert from 'node:assert/strict'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import sharp from 'sharp'
import { CannotMake } from '../../src/files/renditions/workshop/failure.ts'
import type { PictureRecipe } from '../../src/files/renditions/workshop/tasks.ts'
import { createWorkers, type WorkLimits } from '../../src/files/renditions/workshop/workers.ts'
import { temporaryFolder } from '../support/process.ts'

const limits: WorkLimits = { memory: 1_000_000_000, seconds: 60, pixels: 100_000_000, output: 100_000_000 }

const recipe: PictureRecipe = {
  name: 'small',
  recipe: 'image',
  format: 'auto',
  size: 100,
  resize_mode: 'max',
  size_minimum: 0,
  quality: 80,
  strip: true,
  colorprofile: 'srgb',
  animated: false,
}

/** A picture of one colour is small as a file, however large it is. */
const plain = (side: number) =>
  sharp({ create: { width: side, height: side, channels: 3, background: '#369' } })
    .png()
    .toBuffer()

/** What making a picture under these limits ends with; afterwards another picture must be made by the same workers. */
async function problemWith(
  tight: Partial<WorkLimits>,
  side: number,
  more: Partial<PictureRecipe> = {},
): Promise<string> {
  await using folder = await temporaryFolder()
  const workers = createWorkers({ most: 1, limits: { ...limits, ...tight }, background: true })
  const run = async (name: string, size: number, changed: Partial<PictureRecipe>) => {
    const path = join(folder.path, `${name}.png`)
    await writeFile(path, await plain(size))
    const into = join(folder.path, name)
    await mkdir(into)
    const task = { kind: 'pictures', source: { path, extension: 'png' }, folder: into, inspect: false } as const
    return workers.run({ ...task, recipes: [{ ...recipe, ...changed }] })
  }
  try {
    const failure = await run('large', side, more).then(
      () => assert.fail('it was made'),
      (error: unknown) => error,
    )
    assert.ok(failure instanceof CannotMake, String(failure))
    assert.equal(failure.kind, 'unreadable')
    const { made } = await run('next', 60, {})
    assert.equal(made.length, 1)
    assert.deepEqual(await readdir(join(folder.path, 'next')), ['small'])
    return failure.message
  } finally {
    await workers.close()
  }
}

test('a picture with too many pixels is refused before it is read', async () => {
  assert.match(await problemWith({ pixels: 1_000_000 }, 1001), /pixel limit/)
})

test('a process that takes too much memory is ended; the next picture is made by another one', {
  skip: process.platform !== 'linux' && 'only Linux shows what a process takes',
}, async () => {
  // Turned by hand it must be in memory as a whole: 300 MB.
  assert.match(await problemWith({ memory: 250_000_000 }, 10_000, { size: 0, format: 'avif' }), /MB of memory/)
})

test('one that takes too long, too', async () => {
  assert.match(
    await problemWith({ seconds: 3, memory: 8_000_000_000 }, 9000, { size: 0, format: 'avif', quality: 100 }),
    /more than 3 seconds/,
  )
})
