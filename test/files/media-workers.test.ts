import assert from 'node:assert/strict'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import sharp from 'sharp'
import { createPrecedence } from '../../src/files/renditions/recipes/precedence.ts'
import { CannotMake } from '../../src/files/renditions/workshop/failure.ts'
import { displayP3, saysDisplayP3, withProfile } from '../../src/files/renditions/workshop/profiled.ts'
import type { PictureRecipe } from '../../src/files/renditions/workshop/tasks.ts'
import { createWorkers, type WorkLimits } from '../../src/files/renditions/workshop/workers.ts'
import { temporaryFolder } from '../support/process.ts'

const limits: WorkLimits = {
  memory: 1_000_000_000,
  seconds: 60,
  drawingSeconds: 5,
  pixels: 100_000_000,
  output: 100_000_000,
}

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
  const workers = createWorkers({ most: 1, limits: { ...limits, ...tight }, background: true, place: folder.path })
  const run = async (name: string, size: number, changed: Partial<PictureRecipe>) => {
    const path = join(folder.path, `${name}.png`)
    await writeFile(path, await plain(size))
    const into = join(folder.path, name)
    await mkdir(into)
    const task = { kind: 'pictures', source: { path, extension: 'png' }, folder: into, inspect: 'nothing' } as const
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
    // It is small: it comes with the answer.
    const sizes = await Promise.all(
      made.map(async (one) => ('content' in one ? (await sharp(one.content).metadata()).width : one.path)),
    )
    assert.deepEqual(sizes, [60])
    assert.deepEqual(await readdir(join(folder.path, 'next')), [])
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

test('colours of Display P3 are shown as what they are in sRGB', async () => {
  // As far in P3 as it goes in sRGB: by the primaries of both (SMPTE EG 432-1, IEC 61966-2-1).
  const p3 = [200, 100, 50] as const
  const linear = p3.map((value) => ((value / 255 + 0.055) / 1.055) ** 2.4) as [number, number, number]
  const toSrgb = [
    [1.2249, -0.2247, 0],
    [-0.0421, 1.0421, 0],
    [-0.0196, -0.0786, 1.0979],
  ]
  const expected = toSrgb.map((row) => {
    const value = row.reduce((sum, factor, index) => sum + factor * (linear[index] ?? 0), 0)
    return Math.round(255 * (1.055 * Math.max(0, value) ** (1 / 2.4) - 0.055))
  })
  const [width, height] = [6, 4]
  for (const channels of [3, 4] as const) {
    const data = Buffer.from(Array.from({ length: width * height }, () => [...p3, 128].slice(0, channels)).flat())
    const tagged = withProfile({ data, width, height, channels }, await displayP3())
    const { data: shown, info } = await sharp(tagged).toColourspace('srgb').raw().toBuffer({ resolveWithObject: true })
    assert.deepEqual([info.width, info.height, info.channels], [width, height, channels])
    for (const [index, value] of expected.entries()) {
      assert.ok(Math.abs((shown[index] ?? 0) - value) <= 2, `${[...shown.subarray(0, 3)]} is not ${expected}`)
    }
    if (channels === 4) assert.equal(shown[3], 128)
  }
  const numbers = (primaries: number) =>
    Buffer.concat([Buffer.from('colrnclx'), Buffer.from([0, primaries, 0, 13, 0, 6])])
  assert.deepEqual(
    [saysDisplayP3(numbers(12)), saysDisplayP3(numbers(1)), saysDisplayP3(Buffer.alloc(9))],
    [true, false, false],
  )
})

test('what somebody waits for goes first; the rest waits for it, though not for ever', async () => {
  const { signal } = new AbortController()
  const order: string[] = []
  const precedence = createPrecedence({ pause: 1, longest: 60_000 })
  const urgent = Promise.withResolvers<void>()
  const first = precedence.ahead(() => urgent.promise).then(() => order.push('first'))
  const second = precedence.turn(signal).then(() => order.push('second'))
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(order, [])
  urgent.resolve()
  await Promise.all([first, second])
  assert.deepEqual(order, ['first', 'second'])
  const impatient = createPrecedence({ pause: 1, longest: 5 })
  const never = Promise.withResolvers<void>()
  const held = impatient.ahead(() => never.promise)
  await impatient.turn(signal)
  never.resolve()
  await held
})

test('other renditions do not begin when urgent ones are about to come', async () => {
  const precedence = createPrecedence({ pause: 60_000, longest: 60_000 })
  await precedence.turn(new AbortController().signal)
  precedence.expect()
  const stop = new AbortController()
  let isTurn = false
  const turn = precedence.turn(stop.signal).then(() => {
    isTurn = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(isTurn, false)
  stop.abort()
  await turn
})
