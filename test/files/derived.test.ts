import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import sharp from 'sharp'
import type { Json } from '../support/client.ts'
import { startService, type TestService } from '../support/service.ts'
import { fetched, sha256, upload } from './support.ts'

/** 60 x 40 pixels: red on top left, green on top right, blue below left, yellow below right. */
const corners = ['red', 'green', 'blue', 'yellow'] as const
const rgb = { red: '#d01010', green: '#10a010', blue: '#1010d0', yellow: '#e0e010' }
const picture = (width = 60, height = 40) =>
  sharp({ create: { width, height, channels: 3, background: 'white' } }).composite(
    corners.map((colour, index) => ({
      input: { create: { width: width / 2, height: height / 2, channels: 3 as const, background: rgb[colour] } },
      left: index % 2 ? width / 2 : 0,
      top: index > 1 ? height / 2 : 0,
    })),
  )

/** The names of the colours in the four corners. */
async function cornersOf(content: Buffer): Promise<string[]> {
  const { data, info } = await sharp(content)
    .toColourspace('srgb')
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true })
  return [0.25, 0.75].flatMap((y) =>
    [0.25, 0.75].map((x) => {
      const at = info.channels * (Math.floor(y * info.height) * info.width + Math.floor(x * info.width))
      const pixel = data.subarray(at, at + 3)
      const near = corners.find((colour) =>
        [1, 3, 5].every(
          (from, index) => Math.abs(Number.parseInt(rgb[colour].slice(from, from + 2), 16) - (pixel[index] ?? 0)) < 40,
        ),
      )
      return near ?? [...pixel].join()
    }),
  )
}

suite('other originals and uploaded versions', () => {
  let svc: TestService
  before(async () => {
    svc = await startService()
  })
  after(() => svc[Symbol.asyncDispose]())

  async function uploaded(name: string, content: Buffer, query: Record<string, unknown> = {}): Promise<Json> {
    const { status, body } = await upload(svc, 'root', [{ name, content }], query)
    assert.equal(status, 200, JSON.stringify(body))
    return body[0]
  }
  const record = async (id: number): Promise<Json> => (await svc.as('root').get(`/eas/${id}`)).body
  const produce = (body: Json, query: Json = {}) => svc.as('root').post('/eas/produce', body, query)

  async function derived(body: Json) {
    const answer = await produce(body)
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    const { content } = await fetched(svc, answer.body.versions.original.url)
    return { file: answer.body, content, corners: await cornersOf(content), ...(await sharp(content).metadata()) }
  }

  test('metadata=remove: a copy that says nothing of itself and shows the same; the stored content stays', async () => {
    const camera = () =>
      picture()
        .withExif({
          IFD0: { Make: 'Zeiss', Artist: 'Nobody', ImageDescription: 'secret', Orientation: '6' },
          IFD3: { GPSLatitudeRef: 'S', GPSLatitude: '33/1 51/1 0/1' },
        })
        .withXmp(
          '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">' +
            '<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" dc:source="secret"/></rdf:RDF></x:xmpmeta>',
        )
        .withIccProfile('p3')
    const contents = {
      'a.jpg': await camera().jpeg({ quality: 95 }).toBuffer(),
      'a.png': await camera().png().toBuffer(),
      'a.tif': await camera().tiff().toBuffer(),
      'a.webp': await camera().webp({ quality: 95 }).toBuffer(),
    }
    for (const [name, content] of Object.entries(contents)) {
      const { versions } = await uploaded(name, content)
      const { url } = versions.original
      const before = await sharp(content).metadata()
      assert.ok(content.includes('secret'), `${name} has something to hide`)
      const bare = await fetched(svc, `${url}&metadata=remove`)
      assert.equal(bare.status, 200, `${name}: ${bare.content}`)
      const after = await sharp(bare.content).metadata()
      for (const word of ['secret', 'Zeiss', 'Nobody']) assert.ok(!bare.content.includes(word), `${name}: ${word}`)
      assert.deepEqual([after.width, after.height, after.xmp], [60, 40, undefined], name)
      assert.deepEqual(after.icc, before.icc, name)
      assert.equal(after.orientation, before.orientation, name)
      const pixels = (picture: Buffer) => sharp(picture).raw().toBuffer()
      assert.ok((await pixels(bare.content)).equals(await pixels(content)), name)
      assert.notEqual(bare.headers.etag, (await fetched(svc, url)).headers.etag)
      for (const kept of [url, `${url}&metadata=keep`]) {
        assert.equal(sha256((await fetched(svc, kept)).content), sha256(content), 'the stored content stays')
      }
      assert.match(String(bare.headers['content-disposition']), new RegExp(`filename="${name}"`))
      const known = { 'if-none-match': String(bare.headers.etag) }
      assert.equal((await fetched(svc, `${url}&metadata=remove`, known)).status, 304)
    }
    for (const name of ['a.pdf', 'a.bin']) {
      const { versions } = await uploaded(name, Buffer.from('%PDF-1.4\nsecret'))
      const refused = await fetched(svc, `${versions.original.url}&metadata=remove`)
      const { code, parameters } = JSON.parse(refused.content.toString())
      assert.deepEqual([refused.status, code, parameters.param], [400, 'UrlParameterNotSupported', 'metadata'], name)
    }
  })

  test('a picture turned, mirrored and cut is another original', async () => {
    const parent = await uploaded('four.png', await picture().png().toBuffer())
    const eas_parent_id = parent._id
    const turned = await derived({ eas_parent_id, transform: { 'rotate-z': 90 } })
    assert.deepEqual([turned.width, turned.height, turned.format], [40, 60, 'png'])
    assert.deepEqual(turned.corners, ['blue', 'red', 'yellow', 'green'])
    const { file } = turned
    assert.deepEqual(
      [file.eas_parent_id, file.original_filename, file.is_original, file.class, file.status],
      [eas_parent_id, 'four.png', true, 'image', 'done'],
    )
    assert.notEqual(file._id, eas_parent_id)
    assert.deepEqual((await derived({ eas_parent_id, transform: { 'rotate-x': 1 } })).corners, [
      'blue',
      'yellow',
      'red',
      'green',
    ])
    // First turned, then mirrored.
    const both = await derived({ eas_parent_id, transform: { 'rotate-z': 90, 'rotate-y': 1 } })
    assert.deepEqual(both.corners, ['red', 'blue', 'green', 'yellow'])
    const cut = await derived({
      eas_parent_id,
      transform: { 'rotate-z': 180, crop: { top: 0, left: 30, width: 100, height: 20 } },
    })
    assert.deepEqual([cut.width, cut.height, new Set(cut.corners)], [30, 20, new Set(['blue'])])
    const beside = await derived({ eas_parent_id, transform: { crop: { top: 500, left: 500, width: 9, height: 9 } } })
    assert.deepEqual([beside.width, beside.height], [1, 1])
    // What comes into the corners is nothing, or black where the format has no nothing.
    const slanted = await derived({ eas_parent_id, transform: { 'rotate-z': 45 } })
    assert.equal((await sharp(slanted.content).raw().toBuffer())[3], 0)
    const black = await derived({ eas_parent_id, format: 'jpg', transform: { 'rotate-z': 45 } })
    assert.deepEqual(
      [...(await sharp(black.content).raw().toBuffer()).subarray(0, 3)].map((value) => value < 20),
      [true, true, true],
    )
    assert.equal(black.file.original_filename, 'four.jpg')
  })

  test('formats, colours and depth of another original; it is upright', async () => {
    const plain = await picture().png().toBuffer()
    const stored = await sharp(plain).rotate(-90).withMetadata({ orientation: 6 }).jpeg({ quality: 100 }).toBuffer()
    const { _id: held } = await uploaded('held.jpg', stored)
    const upright = await derived({
      eas_parent_id: held,
      format: 'tif',
      transform: { crop: { top: 0, left: 0, width: 60, height: 40 } },
    })
    assert.deepEqual([upright.width, upright.height, upright.orientation ?? 1], [60, 40, 1])
    assert.deepEqual(upright.corners, [...corners])
    const { _id: deep } = await uploaded('deep.png', await picture().toColourspace('rgb16').png().toBuffer())
    const still = await derived({ eas_parent_id: deep, transform: { 'rotate-z': 180 } })
    assert.deepEqual([still.depth, still.corners], ['ushort', [...corners].reverse()])
    assert.equal((await derived({ eas_parent_id: deep, colorspace: 'gray' })).space, 'b-w')
    const ink = await derived({ eas_parent_id: deep, format: 'jpeg', colorspace: 'cmyk' })
    assert.deepEqual([ink.space, ink.channels], ['cmyk', 4])
    const wide = await derived({ eas_parent_id: deep, colorprofile: 'Display P3' })
    assert.ok((wide.icc?.length ?? 0) > 100)
    assert.deepEqual(wide.corners, [...corners])
  })

  test('renditions are made of it where its parent has some', async () => {
    const parent = await uploaded('made.png', await picture().png().toBuffer(), { produce_versions: 'true' })
    await svc.drain()
    const { body } = await produce({ eas_parent_id: parent._id, transform: { 'rotate-z': 90 } })
    await svc.drain()
    const { small } = (await record(body._id)).versions
    assert.deepEqual([small.status, small.width, small.height], ['done', '40', '60'])
  })

  test('what cannot be derived is refused, and leaves nothing', async () => {
    const { _id: eas_parent_id, versions } = await uploaded('base.png', await picture().png().toBuffer())
    const { _id: words } = await uploaded('words.txt', Buffer.from('words'))
    const { _id: broken } = await uploaded('broken.png', (await picture(600, 400).png().toBuffer()).subarray(0, 20))
    const count = async () => (await svc.db.query<{ n: number }>('select count(*)::int as n from file')).rows[0]?.n
    const before = await count()
    const refused: [Json, number, string][] = [
      [{}, 400, 'EasNoParentID'],
      [{ eas_parent_id: 0 }, 400, 'EasNoParentID'],
      [{ eas_parent_id: 999_999 }, 400, 'EasNoParentID'],
      [{ eas_parent_id: words }, 400, 'ProduceExtensionNotSupported'],
      [{ eas_parent_id: broken, transform: { 'rotate-z': 90 } }, 400, 'ProduceExtensionNotSupported'],
      [{ eas_parent_id, format: 'psd' }, 400, 'ProduceFormatNotSupported'],
      [{ eas_parent_id, transform: { 'rotate-z': 361 } }, 400, 'ServerGeneric'],
      [{ eas_parent_id, transform: { 'rotate-x': 1, 'rotate-z': 90 } }, 400, 'ServerGeneric'],
      [{ eas_parent_id, transform: { 'rotate-x': 1, 'rotate-y': 1 } }, 400, 'ServerGeneric'],
      [{ eas_parent_id, colorprofile: 'Nothing' }, 400, 'ServerGeneric'],
      [{ eas_parent_id, colorspace: 'cmyk' }, 400, 'ServerGeneric'],
      [{ eas_parent_id, colorspace: 'gray', colorprofile: 'Generic CMYK Profile' }, 400, 'ServerGeneric'],
    ]
    for (const [body, status, code] of refused) {
      const answer = await produce(body)
      assert.deepEqual([answer.status, answer.body.code], [status, code], JSON.stringify(body))
    }
    const elsewhere = await produce({ eas_parent_id }, { obj_uuid: 'b5b1a2f0-0000-4000-8000-000000000000' })
    assert.equal(elsewhere.body.code, 'EasNoParentID')
    assert.equal(await count(), before)
    assert.ok(versions.original.url)
  })

  test('versions are uploaded to a file, looked at, and not replaced by recipes', async () => {
    const { _id } = await uploaded('base.png', await picture(200, 100).png().toBuffer())
    const red = await sharp({ create: { width: 30, height: 20, channels: 3, background: 'red' } })
      .png()
      .toBuffer()
    const answered = await uploaded('retouched.png', red, { id_parents: [_id], version_names: ['small'] })
    assert.equal(answered._id, _id)
    const { small, original } = answered.versions
    assert.deepEqual([small.status, small.extension, small.width, small.height], ['done', 'png', '30', '20'])
    assert.equal(small.hash, sha256(red))
    assert.deepEqual((await fetched(svc, small.url)).content, red)
    assert.equal(answered.original_filename, 'base.png')
    // A resync makes the others.
    await svc.as('root').post('/eas/resync')
    await svc.drain()
    const after = await record(_id)
    assert.deepEqual([after.versions.small.hash, after.versions.preview.status], [small.hash, 'done'])
    const made = await upload(svc, 'root', [{ name: 'x.png', content: red }], {
      id_parents: [_id],
      version_names: ['preview'],
    })
    assert.deepEqual([made.status, made.body.code], [400, 'UploadError'])
    for (const [query, code] of [
      [{ version_names: ['extra'] }, 'EasNoParentID'],
      [{ version_names: ['extra'], id_parents: [999_999] }, 'EasNoParentID'],
      [{ version_names: ['../x'], id_parents: [_id] }, 'ServerGeneric'],
      [{ version_names: ['extra', 'more'], id_parents: [_id, _id] }, 'ServerGeneric'],
    ] as const) {
      const wrong = await upload(svc, 'root', [{ name: 'x.png', content: red }], query)
      assert.deepEqual([wrong.status, wrong.body.code], [400, code], JSON.stringify(query))
    }
    const { versions } = await record(_id)
    assert.deepEqual(Object.keys(versions), ['original', 'full', 'preview', 'small'])
    assert.equal(versions.original.hash, original.hash)
    const { objects } = (await svc.as('root').get('/event/list', { type: 'FILE_UPLOAD', object_id: _id })).body
    assert.ok(objects.some(({ event }: Json) => event.info.file.version === 'small'))
  })

  test('a version of the name original replaces the upload, and renditions follow', async () => {
    const first = await uploaded('first.png', await picture().png().toBuffer(), { produce_versions: 'true' })
    await svc.drain()
    const before = (await record(first._id)).versions
    const content = await picture(100, 300).jpeg().toBuffer()
    const query = { id_parents: [first._id], version_names: ['original'], produce_versions: 'true' }
    const answered = await uploaded('second.jpg', content, query)
    assert.deepEqual(
      [answered._id, answered.original_filename, answered.hash],
      [first._id, 'second.jpg', sha256(content)],
    )
    await svc.drain()
    const { versions, technical_metadata, extension } = await record(first._id)
    assert.deepEqual([technical_metadata.width, technical_metadata.height, extension], [100, 300, 'jpg'])
    assert.deepEqual([versions.small.width, versions.small.height], ['100', '300'])
    assert.notEqual(versions.small.hash, before.small.hash)
    assert.equal((await fetched(svc, before.original.url)).status, 403)
  })
})
