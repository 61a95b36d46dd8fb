import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import sharp from 'sharp'
import { noBrowser, startBrowser } from '../support/browser.ts'
import type { Json } from '../support/client.ts'
import { inPool, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { until } from '../support/until.ts'
import { fetched, upload } from './support.ts'

const [width, height] = [2560, 1280]

/** Red grows to the right, green to the bottom, so that each colour says where it was. */
function gradient(): Promise<Buffer> {
  const pixels = Buffer.alloc(3 * width * height)
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      pixels[at++] = Math.floor((255 * x) / width)
      pixels[at++] = Math.floor((255 * y) / height)
      pixels[at++] = 40
    }
  }
  return sharp(pixels, { raw: { width, height, channels: 3 } })
    .jpeg({ quality: 95 })
    .toBuffer()
}

suite('parts of pictures', () => {
  let museum: Museum
  let file: Json
  let object: Json
  before(async () => {
    museum = await startMuseum()
    const { body } = await upload(museum.svc, 'root', [{ name: 'gradient.jpg', content: await gradient() }], {
      produce_versions: 'true',
    })
    object = (
      await museum.svc
        .as('root')
        .post('/db/work', [
          payload('work', { ...inPool(museum.pool), image: [{ _id: body[0]._id }] }, { _mask: 'work__standard' }),
        ])
    ).body[0]
    await museum.svc.drain()
    file = (await museum.svc.as('root').get(`/eas/${body[0]._id}`)).body
  })
  after(() => museum[Symbol.asyncDispose]())

  const get = (url: string, headers = {}) => fetched(museum.svc, url, headers)

  /** Where in the whole picture the corners of an image come from, from 0 to 1. */
  async function corners(content: Buffer): Promise<{ size: number[]; from: number[]; to: number[] }> {
    const { data, info } = await sharp(content).removeAlpha().raw().toBuffer({ resolveWithObject: true })
    const place = (x: number, y: number): number[] => {
      const at = info.channels * (y * info.width + x)
      return [(data[at] ?? 0) / 255, (data[at + 1] ?? 0) / 255]
    }
    return { size: [info.width, info.height], from: place(0, 0), to: place(info.width - 1, info.height - 1) }
  }

  async function assertShows(url: string, size: number[], from: number[], to: number[]): Promise<void> {
    const { status, content } = await get(url)
    assert.equal(status, 200, `${url}: ${content}`)
    const seen = await corners(content)
    assert.deepEqual(seen.size, size, url)
    const off = [...from, ...to].map((value, index) => Math.abs(value - ([...seen.from, ...seen.to][index] ?? 9)))
    assert.ok(Math.max(...off) < 0.04, `${url}: ${JSON.stringify(seen)} is not ${JSON.stringify([from, to])}`)
  }

  test('IIIF Image 3 and 2: the description, and where it is found', async () => {
    const { iiif_url } = file.versions.original
    const base = await get(iiif_url)
    assert.deepEqual([base.status, base.headers.location], [303, `${iiif_url}/info.json`])
    const { status, headers, content } = await get(`${iiif_url}/info.json`)
    assert.deepEqual([status, headers['access-control-allow-origin']], [200, '*'])
    const info = JSON.parse(content.toString())
    assert.deepEqual(
      [info['@context'], info.id, info.type, info.protocol, info.profile, info.width, info.height],
      [
        'http://iiif.io/api/image/3/context.json',
        iiif_url,
        'ImageService3',
        'http://iiif.io/api/image',
        'level2',
        width,
        height,
      ],
    )
    assert.deepEqual(info.tiles, [{ width: 512, height: 512, scaleFactors: [1, 2, 4, 8] }])
    const old = await get(`${iiif_url}/info.json`, {
      accept: 'application/ld+json;profile="http://iiif.io/api/image/2/context.json"',
    })
    assert.match(String(old.headers['content-type']), /application\/ld\+json/)
    const second = JSON.parse(old.content.toString())
    const own = iiif_url.replace('/eas/iiif/', '/eas/iiif2/')
    assert.deepEqual([second['@id'], second.profile[0]], [own, 'http://iiif.io/api/image/2/level2.json'])
    for (const { width: w, height: h } of info.sizes.slice(0, 2)) {
      assert.equal((await get(`${iiif_url}/full/${w},${h}/0/default.jpg`)).status, 200)
    }
  })

  test('IIIF Image 2 has an address of its own, which names itself, whatever is accepted', async () => {
    const second = file.versions.original.iiif_url.replace('/eas/iiif/', '/eas/iiif2/')
    const base = await get(second)
    assert.deepEqual([base.status, base.headers.location], [303, `${second}/info.json`])
    for (const accept of ['*/*', 'application/ld+json;profile="http://iiif.io/api/image/3/context.json"']) {
      const info = JSON.parse((await get(`${second}/info.json`, { accept })).content.toString())
      assert.deepEqual([info['@context'], info['@id']], ['http://iiif.io/api/image/2/context.json', second])
    }
    await assertShows(`${second}/full/full/0/default.jpg`, [2560, 1280], [0, 0], [1, 1])
    assert.equal((await get(`${second.replace('/eas/iiif2/', '/eas/iiif/')}/full/full/0/default.jpg`)).status, 400)
    // In version 2 a size may be larger than the region without saying so.
    await assertShows(`${second}/0,0,256,128/512,/0/default.jpg`, [512, 256], [0, 0], [0.1, 0.1])
    assert.equal(
      (await get(`${second.replace('/eas/iiif2/', '/eas/iiif/')}/0,0,256,128/512,/0/default.jpg`)).status,
      400,
    )
    const { pathname } = new URL(second)
    const preflight = await museum.svc.inject({
      method: 'OPTIONS',
      url: `${pathname}/info.json`,
      headers: { origin: 'https://viewer.example.org', 'access-control-request-method': 'GET' },
    })
    assert.deepEqual([preflight.statusCode, preflight.headers['access-control-allow-origin']], [204, '*'])
  })

  test('IIIF: a format or quality of any letters is a 400, as other parts are', async () => {
    for (const base of ['iiif', 'iiif2']) {
      const at = file.versions.original.iiif_url.replace('/iiif/', `/${base}/`)
      for (const last of [
        'Default.jpg',
        'default.JPG',
        'default',
        '.jpg',
        'default.',
        'de%20fault.jpg',
        'default.j%C3%BCg',
        'a.b.jpg',
        '%E2%9C%93.%E2%9C%93',
        'default.jpg!',
      ]) {
        const { status, content } = await get(`${at}/full/100,/0/${last}`)
        const { code, parameters } = JSON.parse(content.toString())
        assert.deepEqual([status, code], [400, 'UrlParameterNotSupported'], last)
        assert.ok(['format', 'quality'].includes(parameters.param), last)
      }
    }
  })

  test('IIIF: every region, size, rotation, quality and format of level 2', async () => {
    const at = file.versions.original.iiif_url
    await assertShows(`${at}/full/650,/0/default.jpg`, [650, 325], [0, 0], [1, 1])
    await assertShows(`${at}/full/,130/0/default.png`, [260, 130], [0, 0], [1, 1])
    await assertShows(`${at}/full/!300,300/0/default.jpg`, [300, 150], [0, 0], [1, 1])
    await assertShows(`${at}/full/pct:10/0/default.webp`, [256, 128], [0, 0], [1, 1])
    await assertShows(`${at}/full/100,100/0/default.tif`, [100, 100], [0, 0], [1, 1])
    await assertShows(`${at}/square/max/0/default.jpg`, [1280, 1280], [0.25, 0], [0.75, 1])
    await assertShows(`${at}/1280,640,512,256/max/0/default.jpg`, [512, 256], [0.5, 0.5], [0.7, 0.7])
    await assertShows(`${at}/pct:50,50,50,50/325,/0/default.jpg`, [325, 163], [0.5, 0.5], [1, 1])
    await assertShows(`${at}/2048,1024,9999,9999/max/0/default.jpg`, [512, 256], [0.8, 0.8], [1, 1])
    await assertShows(`${at}/0,0,256,128/^512,/0/default.jpg`, [512, 256], [0, 0], [0.1, 0.1])
    await assertShows(`${at}/full/260,/180/default.jpg`, [260, 130], [1, 1], [0, 0])
    await assertShows(`${at}/full/260,/!0/default.jpg`, [260, 130], [1, 0], [0, 1])
    const quarter = await corners((await get(`${at}/full/260,/90/default.jpg`)).content)
    assert.deepEqual(quarter.size, [130, 260])
    assert.ok(quarter.from[1] !== undefined && quarter.from[1] > 0.97)
    const gray = await sharp((await get(`${at}/full/100,/0/gray.jpg`)).content).metadata()
    assert.equal(gray.space, 'b-w')
    const bits = (await get(`${at}/full/100,/0/bitonal.png`)).content
    assert.deepEqual([...new Set(await sharp(bits).toColourspace('b-w').raw().toBuffer())].toSorted(), [0, 255])
    const first = await get(`${at}/full/100,/0/default.jpg`)
    const again = await get(`${at}/full/100,/0/default.jpg`, { 'if-none-match': String(first.headers.etag) })
    assert.deepEqual([again.status, again.content.length], [304, 0])
    for (const wrong of [
      'full/5000,/0/default.jpg',
      'full/0,/0/default.jpg',
      '9999,0,10,10/max/0/default.jpg',
      '0,0,0,10/max/0/default.jpg',
      'full/max/361/default.jpg',
      'full/max/0/fine.jpg',
      'full/max/0/default.jp2',
      'full/^99999,99999/0/default.jpg',
      'pct:50,50,0,0/max/0/default.jpg',
    ]) {
      assert.equal((await get(`${at}/${wrong}`)).status, 400, wrong)
    }
  })

  test('caches keep parts of pictures for as long as the request says', async () => {
    const { iiif_url, zoom_url } = file.versions.original
    const places = [`${iiif_url}/info.json`, `${iiif_url}/full/64,/0/default.jpg`, `${zoom_url}/zoom650/part2x1.jpg`]
    for (const place of places) {
      const seconds = async (count: number) => (await get(`${place}?cache_seconds=${count}`)).headers['cache-control']
      assert.deepEqual([await seconds(7), await seconds(0)], ['max-age=7, public', 'no-store, no-cache'], place)
    }
  })

  test('tiles of all zooms, in every form of the address', async () => {
    const { versions, _id, hash } = file
    const signature = new URL(versions.original.url).searchParams.get('x-svc-signature')
    const root = { authorization: `Bearer ${await museum.svc.as('root').token()}` }
    const api = `${museum.svc.config.externalUrl}/api/v1/eas/zoom/${_id}/${hash}`
    const [full] = [`${versions.original.zoom_url}/zoom2560/size512`]
    await assertShows(`${full}/part0x0.jpg`, [512, 512], [0, 0], [512 / width, 512 / height])
    await assertShows(`${full}/part4x2.png`, [512, 256], [2048 / width, 1024 / height], [1, 1])
    await assertShows(`${versions.original.zoom_url}/zoom650/part2x1.jpg`, [138, 69], [512 / 650, 256 / 325], [1, 1])
    assert.equal((await get(`${full}/part5x0.jpg`)).status, 404)
    const near = `${versions.original.zoom_url}/zoom10400/avoid_interpolation/part0x0.png`
    const { data, info } = await sharp((await get(near)).content)
      .raw()
      .toBuffer({ resolveWithObject: true })
    assert.deepEqual(data.subarray(0, 3), data.subarray(3 * info.channels, 3 * info.channels + 3))
    const tails = [
      'zoom650/',
      'zoom650/size128/',
      'zoom650/avoid_interpolation/',
      'zoom650/size128/avoid_interpolation/',
    ]
    const { _uuid } = object
    for (const tail of tails.map((one) => `${one}part0x0.jpg`)) {
      for (const [lead, headers] of [
        ['original', root],
        [`${signature}/original`, {}],
        [`obj_uuid/${_uuid}/original`, root],
        [`obj_uuid/${_uuid}/${signature}/original`, {}],
      ] as const) {
        assert.equal((await get(`${api}/${lead}/${tail}`, headers)).status, 200, `${lead}/${tail}`)
      }
    }
    const tile = `${api}/${signature}/original/${tails[0]}part0x0.jpg`
    const stranger = crypto.randomUUID()
    const within = `${api}/obj_uuid/${_uuid}/${signature}/original/${tails[0]}part0x0.jpg`
    for (const [address, obj_uuid, status] of [
      [tile, _uuid, 200],
      [tile, stranger, 404],
      [within, _uuid, 200],
      [within, stranger, 400],
    ]) {
      assert.equal((await get(`${address}?obj_uuid=${obj_uuid}`)).status, status)
    }
    const plain = `${api}/original/${tails[0]}part0x0.jpg`
    for (const [query, status] of [
      ['', 403],
      [`?x-svc-signature=${signature}`, 200],
      [`?x-svc-signature=${signature}x`, 403],
    ] as const) {
      assert.equal((await get(`${plain}${query}`)).status, status, query)
    }
    const iiif = api.replace('/zoom/', '/iiif/')
    for (const tail of ['info.json', 'full/50,/0/default.jpg']) {
      assert.equal((await get(`${iiif}/obj_uuid/${_uuid}/${signature}/original/${tail}`)).status, 200)
      assert.equal((await get(`${iiif}/obj_uuid/${_uuid}/original/${tail}`, root)).status, 200)
      assert.equal((await get(`${iiif}/original/${tail}?x-svc-signature=${signature}`)).status, 200)
      assert.equal((await get(`${iiif}/original/${tail}`, { 'x-svc-signature': `${signature}` })).status, 200)
      const other = crypto.randomUUID()
      assert.equal((await get(`${iiif}/obj_uuid/${other}/${signature}/original/${tail}`)).status, 404)
      assert.equal((await get(`${iiif}/original/${tail}`)).status, 403)
      assert.equal((await get(`${iiif}/${signature}x/original/${tail}`)).status, 403)
      assert.equal((await get(`${iiif}/${signature}/small/${tail}`)).status, 403, 'of another version')
      assert.equal((await get(`${iiif.replace(hash, 'f'.repeat(64))}/${signature}/original/${tail}`)).status, 403)
    }
    const picture = file.versions.preview
    await assertShows(`${picture.iiif_url}/full/200,/0/default.jpg`, [200, 100], [0, 0], [1, 1])
  })

  const code = ({ content }: { content: Buffer }) => JSON.parse(content.toString()).code
  const sizedUrl = (query: Record<string, string | number>, which = 'original') =>
    `${file.versions[which].url}&${new URLSearchParams(query as Record<string, string>)}`

  test('downloads in another size, part and format: each parameter has its effect', async () => {
    const whole = [
      [0, 0],
      [1, 1],
    ] as const
    const cases: [Record<string, string | number>, number[], readonly (readonly number[])[]][] = [
      [{ size: 256 }, [256, 128], whole],
      [{ size: 256, resize_mode: 'max' }, [256, 128], whole],
      [{ size: 64, resize_mode: 'min' }, [128, 64], whole],
      [{ size: 100, resize_mode: 'width' }, [100, 50], whole],
      [{ size: 100, resize_mode: 'height' }, [200, 100], whole],
      [{ width: 100 }, [100, 50], whole],
      [{ height: 100, resize_mode: 'height' }, [200, 100], whole],
      [
        { width: 100, height: 100 },
        [100, 100],
        [
          [0.25, 0],
          [0.75, 1],
        ],
      ],
      [
        { width: 100, height: 25, resize_mode: 'cover' },
        [100, 25],
        [
          [0, 0.25],
          [1, 0.75],
        ],
      ],
      [{ width: 100, height: 100, resize_mode: 'contain' }, [100, 50], whole],
      [{ width: 100, height: 100, resize_mode: 'force' }, [100, 100], whole],
      [
        { crop: '{"left":1280,"top":640,"width":640,"height":640}', size: 64 },
        [64, 64],
        [
          [0.5, 0.5],
          [0.75, 1],
        ],
      ],
      [
        { crop: '{"left":-50,"width":690}', width: 64, height: 64 },
        [64, 64],
        [
          [0, 0.25],
          [0.25, 0.75],
        ],
      ],
      [
        { crop: '{"top":640}', quality: 'low' },
        [2560, 640],
        [
          [0, 0.5],
          [1, 1],
        ],
      ],
      [{ size: 5000 }, [width, height], whole],
      [
        { width: 5000, height: 5000 },
        [1280, 1280],
        [
          [0.25, 0],
          [0.75, 1],
        ],
      ],
      [{ width: 5000, height: 5000, resize_mode: 'force' }, [1280, 1280], whole],
      [{ quality: 100 }, [width, height], whole],
    ]
    for (const [query, size, [from, to]] of cases) {
      const url = sizedUrl(query)
      await assertShows(url, size, [...(from as number[])], [...(to as number[])])
    }
    const types = { jpg: 'jpeg', jpeg: 'jpeg', png: 'png', tif: 'tiff', tiff: 'tiff', gif: 'gif', webp: 'webp' }
    for (const [format, type] of Object.entries(types)) {
      const { headers, content } = await get(sizedUrl({ format, size: 64 }))
      assert.equal(headers['content-type'], `image/${type}`)
      assert.equal((await sharp(content).metadata()).format, type)
      const extension = { jpeg: 'jpg', tiff: 'tif' }[format] ?? format
      const name = extension === 'jpg' ? 'gradient.jpg' : `gradient.jpg.original.${extension}`
      assert.match(String(headers['content-disposition']), new RegExp(`filename="${name}"`))
    }
    const bytes = async (query: Record<string, string | number>) => (await get(sizedUrl(query))).content.length
    const low = await bytes({ size: 500, quality: 'low' })
    assert.deepEqual(
      [await bytes({ size: 500, quality: 'small' }), await bytes({ size: 500, quality: 50 })],
      [low, low],
    )
    assert.ok(low < (await bytes({ size: 500, quality: 'medium' })))
    assert.ok((await bytes({ size: 500, quality: 75 })) < (await bytes({ size: 500, quality: 'maximum' })))
    for (const format of ['jpg', 'png', 'tif']) {
      const { density } = await sharp((await get(sizedUrl({ size: 64, dpi: 300, format }))).content).metadata()
      assert.equal(Math.round(density ?? 0), 300, format)
    }
    assert.equal((await get(sizedUrl({ dpi: 0 }))).headers.etag, (await get(file.versions.original.url)).headers.etag)
  })

  test('what is made for a download is a content like others: ranges, conditions, the log', async () => {
    const url = sizedUrl({ size: 300, format: 'png' })
    const first = await get(url)
    const tag = String(first.headers.etag)
    assert.notEqual(tag, (await get(sizedUrl({ size: 301, format: 'png' }))).headers.etag)
    const part = await get(url, { range: 'bytes=10-19' })
    assert.deepEqual([part.status, part.content], [206, first.content.subarray(10, 20)])
    assert.equal((await get(url, { 'if-none-match': tag })).status, 304)
    const head = await fetched(museum.svc, url, {}, 'HEAD')
    assert.deepEqual([head.status, head.headers['content-length']], [200, `${first.content.length}`])
    assert.equal(head.headers['x-content-type-options'], 'nosniff')
    const { rows } = await museum.svc.db.query<{ info: Json }>(
      `select info from event where type = 'FILE_DOWNLOAD' and info ? 'produce_params' order by id desc limit 1`,
    )
    assert.ok(rows[0]?.info.produce_params, 'the log says what was made')
  })

  test('downloads: a bitmap shows the same as a PNG, row by row from below', async () => {
    for (const size of [64, 61]) {
      const [bitmap, png] = await Promise.all(['bmp', 'png'].map((format) => get(sizedUrl({ format, size, dpi: 254 }))))
      assert.equal(bitmap?.headers['content-type'], 'image/bmp')
      assert.match(String(bitmap?.headers['content-disposition']), /\.original\.bmp"/)
      const bytes = bitmap?.content as Buffer
      const { data, info } = await sharp(png?.content).removeAlpha().raw().toBuffer({ resolveWithObject: true })
      const row = Math.ceil((info.width * 3) / 4) * 4
      assert.deepEqual(
        [bytes.toString('latin1', 0, 2), bytes.readUInt32LE(2), bytes.readUInt32LE(10), bytes.readUInt32LE(14)],
        ['BM', bytes.length, 54, 40],
      )
      assert.deepEqual([bytes.readInt32LE(18), bytes.readInt32LE(22)], [info.width, info.height])
      assert.deepEqual([bytes.readUInt16LE(26), bytes.readUInt16LE(28), bytes.readInt32LE(38)], [1, 24, 10_000])
      assert.equal(bytes.length, 54 + row * info.height)
      const pixels = Buffer.alloc(data.length)
      for (let y = 0; y < info.height; y++) {
        for (let x = 0; x < info.width; x++) {
          const from = 54 + (info.height - 1 - y) * row + 3 * x
          const to = (y * info.width + x) * 3
          for (const channel of [0, 1, 2]) pixels[to + channel] = bytes[from + 2 - channel] as number
        }
      }
      assert.ok(pixels.equals(data), `${size}`)
    }
  })

  test('downloads: what cannot be made is refused by the name of the parameter', async () => {
    const cases: [Record<string, string | number>, string][] = [
      [{ format: 'jp2' }, 'format'],
      [{ format: 'heic' }, 'format'],
      [{ format: 'bmp', quality: 80 }, 'quality'],
      [{ format: 'bmp', size: 10, metadata: 'keep' }, 'metadata'],
      [{ format: 'psd' }, 'format'],
      [{ format: 'exe' }, 'format'],
      [{ format: '__proto__' }, 'format'],
      [{ size: 10, width: 10 }, 'size'],
      [{ size: 10, resize_mode: 'cover' }, 'resize_mode'],
      [{ width: 10, height: 10, resize_mode: 'max' }, 'resize_mode'],
      [{ width: 10, resize_mode: 'height' }, 'resize_mode'],
      [{ resize_mode: 'max' }, 'resize_mode'],
      [{ quality: 'high' }, 'quality'],
      [{ quality: 0 }, 'quality'],
      [{ quality: 101 }, 'quality'],
      [{ quality: 80, format: 'png' }, 'quality'],
      [{ crop: '1,2,3,4' }, 'crop'],
      [{ crop: 'null' }, 'crop'],
      [{ crop: '{"x":1}' }, 'crop'],
      [{ crop: '{"left":1.5}' }, 'crop'],
      [{ crop: '{"left":2560}' }, 'crop'],
      [{ crop: '{"width":0}' }, 'crop'],
      [{ crop: '{"left":-10,"width":10}' }, 'crop'],
      [{ size: 10, metadata: 'keep' }, 'metadata'],
      [{ recipe: 'x' }, 'recipe'],
      [{ recipe_params: '{}' }, 'recipe_params'],
    ]
    for (const [query, param] of cases) {
      const { status, content } = await get(sizedUrl(query))
      const { code: name, parameters } = JSON.parse(content.toString())
      assert.deepEqual(
        [status, name, parameters.param],
        [400, 'UrlParameterNotSupported', param],
        JSON.stringify(query),
      )
    }
    const malformed: Record<string, string | number>[] = [
      { size: 0 },
      { size: 'x' },
      { width: -1 },
      { height: 1.5 },
      { size: 1e9 },
      { resize_mode: 'x', size: 1 },
      { dpi: 1e9 },
      { metadata: 'x' },
    ]
    for (const query of malformed) {
      assert.equal((await get(sizedUrl(query))).status, 400, JSON.stringify(query))
    }
    const { body } = await upload(museum.svc, 'root', [{ name: 'a.txt', content: Buffer.from('no picture') }])
    const text = await get(`${body[0].versions.original.url}&size=10`)
    assert.deepEqual([text.status, code(text)], [400, 'UrlParameterNotSupported'])
  })

  const presetsPath = '/config/system/config/custom_version_presets/value/presets'
  const setPresets = (presets: readonly object[]) => museum.svc.as('root').post(presetsPath, presets)
  const preset = (name: string, custom: object) => ({ name, displayname: { 'en-US': name }, custom })
  const cut = { crop: { top: 640, left: 1280, width: 640, height: 0 } }

  test('presets: pictures that all may ask for by a name, made of the version that the address names, never larger', async () => {
    const presets = [
      preset('max', { size: 'custom', custom_size_pixel: 256 }),
      preset('min', { size: 'custom', custom_size: 'dimension_min', custom_size_pixel: 64 }),
      preset('wide', { size: 'custom', custom_size: 'width', custom_size_pixel: 100 }),
      preset('high', { size: 'custom', custom_size: 'height', custom_size_pixel: 100 }),
      preset('fill', { size: 'custom', custom_size: 'cover', custom_width_pixel: 100, custom_height_pixel: 100 }),
      preset('fit', { size: 'custom', custom_size: 'contain', custom_width_pixel: 100, custom_height_pixel: 100 }),
      preset('part', { transform: cut, size: 'custom', custom_size_pixel: 64 }),
      preset('large', { size: 'custom', custom_size_pixel: 50_000 }),
      preset('print', { format: 'tiff', dpi: 300, size: 'custom', custom_size_pixel: 64 }),
      preset('rough', { quality: 'low', size: 'custom', custom_size_pixel: 500 }),
      preset('fine', { quality: 'high', size: 'custom', custom_size_pixel: 500 }),
      preset('png', { format: 'png', size: 'custom', custom_size_pixel: 500 }),
    ]
    assert.equal((await setPresets(presets)).status, 200)
    const sizes: [string, string, number[]][] = [
      ['max', 'original', [256, 128]],
      ['min', 'original', [128, 64]],
      ['wide', 'original', [100, 50]],
      ['high', 'original', [200, 100]],
      ['fill', 'original', [100, 100]],
      ['fit', 'original', [100, 50]],
      ['part', 'original', [64, 64]],
      ['large', 'original', [width, height]],
      ['large', 'small', [400, 200]],
      ['max', 'small', [256, 128]],
    ]
    for (const [name, which, size] of sizes) {
      const { content } = await get(sizedUrl({ preset: name }, which))
      assert.deepEqual((await corners(content)).size, size, `${name} of ${which}`)
    }
    await assertShows(sizedUrl({ preset: 'part' }), [64, 64], [0.5, 0.5], [0.75, 1])
    const print = await get(sizedUrl({ preset: 'print' }))
    const { format, density } = await sharp(print.content).metadata()
    assert.deepEqual([format, density, print.headers['content-type']], ['tiff', 300, 'image/tiff'])
    assert.match(String(print.headers['content-disposition']), /filename="gradient\.jpg\.print\.tif"/)
    const bytes = async (name: string) => (await get(sizedUrl({ preset: name }))).content.length
    assert.ok((await bytes('rough')) < (await bytes('fine')))
    // What it says may change: nobody keeps it without asking, and it is another content then.
    const { headers } = await get(sizedUrl({ preset: 'max' }))
    assert.equal(headers['cache-control'], 'private, no-cache')
    const tag = { 'if-none-match': String(headers.etag) }
    assert.equal((await get(sizedUrl({ preset: 'max' }), tag)).status, 304)
    assert.equal((await setPresets([preset('max', { size: 'custom', custom_size_pixel: 200 })])).status, 200)
    assert.equal((await get(sizedUrl({ preset: 'max' }), tag)).status, 200)
    // A download is told when it is over, which may be after its answer has arrived.
    let told: Json
    await until(async () => {
      const { rows } = await museum.svc.db.query<{ info: Json }>(
        `select info from event where type = 'FILE_DOWNLOAD' and info->'produce_params' ? 'preset' order by id desc limit 1`,
      )
      told = rows[0]?.info.produce_params
      return told?.size === 200
    })
    assert.deepEqual(told, { preset: 'max', size: 200, resize_mode: 'max' })
    const refused: Record<string, string | number>[] = [
      { preset: 'print' },
      { preset: 'max', size: 10 },
      { preset: 'max', dpi: 10 },
    ]
    for (const query of refused) {
      const { status, content } = await get(sizedUrl(query))
      const { code: name, parameters } = JSON.parse(content.toString())
      assert.deepEqual([status, name, parameters.param], [400, 'UrlParameterNotSupported', 'preset'])
    }
    assert.equal((await get(sizedUrl({ preset: 'max', metadata: 'remove' }))).status, 200)
  })

  test('presets: turned and mirrored as other originals are, and the size is that of what comes out', async () => {
    const max = { size: 'custom', custom_size_pixel: 256 }
    const box = { size: 'custom', custom_width_pixel: 50, custom_height_pixel: 100 }
    const turns: [name: string, custom: object, size: number[], from: number[], to: number[]][] = [
      ['right', { ...max, transform: { 'rotate-z': 90 } }, [128, 256], [0, 1], [1, 0]],
      ['left', { ...max, transform: { 'rotate-z': -90 } }, [128, 256], [1, 0], [0, 1]],
      ['round', { ...max, transform: { 'rotate-z': 180 } }, [256, 128], [1, 1], [0, 0]],
      ['over', { ...max, transform: { 'rotate-x': 180 } }, [256, 128], [0, 1], [1, 0]],
      ['across', { ...max, transform: { 'rotate-y': 180 } }, [256, 128], [1, 0], [0, 1]],
      ['both', { ...max, transform: { 'rotate-y': 180, 'rotate-z': 90 } }, [128, 256], [0, 0], [1, 1]],
      ['wide', { ...max, custom_size: 'width', transform: { 'rotate-z': 90 } }, [256, 512], [0, 1], [1, 0]],
      ['fill', { ...box, custom_size: 'cover', transform: { 'rotate-z': 90 } }, [50, 100], [0, 1], [1, 0]],
      ['fit', { ...box, custom_size: 'contain', transform: { 'rotate-z': 270 } }, [50, 100], [1, 0], [0, 1]],
      ['part', { ...max, transform: { ...cut, 'rotate-z': 90 } }, [256, 256], [0.5, 1], [0.75, 0.5]],
    ]
    const aslant = preset('aslant', { ...max, transform: { 'rotate-z': 45 } })
    const clear = preset('clear', { ...max, format: 'png', transform: { 'rotate-z': 45 } })
    assert.equal(
      (await setPresets([...turns.map(([name, custom]) => preset(name, custom)), aslant, clear])).status,
      200,
    )
    for (const [name, , size, from, to] of turns) await assertShows(sizedUrl({ preset: name }), size, from, to)
    // Around what is turned by another angle there is paper, or nothing.
    const paper = await sharp((await get(sizedUrl({ preset: 'aslant' }))).content)
      .raw()
      .toBuffer({ resolveWithObject: true })
    for (const side of [paper.info.width, paper.info.height]) assert.ok(Math.abs(side - 256) <= 2, `${side}`)
    assert.deepEqual([...paper.data.subarray(0, 3)], [255, 255, 255])
    const nothing = await sharp((await get(sizedUrl({ preset: 'clear' }))).content)
      .raw()
      .toBuffer()
    assert.equal(nothing[3], 0)
  })

  test('presets: in other colours, which the picture says it has, with a profile of the service or an own one', async () => {
    const root = museum.svc.as('root')
    const pixel = sharp({ create: { width: 1, height: 1, channels: 3, background: 'black' } })
    const { icc: p3 } = await sharp(await pixel.withIccProfile('p3').png().toBuffer()).metadata()
    const [own] = (await upload(museum.svc, 'root', [{ name: 'own.icc', content: p3 as Buffer }])).body
    const profilesPath = '/config/system/config/colorprofiles/profiles'
    const setProfiles = (profiles: readonly object[]) => root.post(profilesPath, profiles)
    assert.equal((await setProfiles([{ profilename: 'Own', profile: { _id: own._id } }])).status, 200)
    const max = { size: 'custom', custom_size_pixel: 256 }
    const presets = [
      preset('usual', max),
      preset('web', { ...max, colorspace: 'sRGB' }),
      preset('p3', { ...max, colorprofile: 'Display P3' }),
      preset('own', { ...max, colorprofile: 'Own', dpi: 200 }),
      preset('gray', { ...max, colorspace: 'gray' }),
      preset('inks', { ...max, format: 'jpeg', colorspace: 'cmyk' }),
      preset('print', { ...max, format: 'tiff', colorprofile: 'Generic CMYK Profile', dpi: 300 }),
      preset('turned', { ...max, format: 'png', colorprofile: 'Display P3', transform: { 'rotate-z': 90 } }),
    ]
    assert.equal((await setPresets(presets)).status, 200)
    const made = async (name: string) => (await get(sizedUrl({ preset: name }))).content
    const said = async (name: string) => {
      const { space, format, icc, density } = await sharp(await made(name)).metadata()
      return [space, format, icc === undefined ? null : icc.equals(p3 as Buffer) ? 'P3' : 'another', density]
    }
    assert.deepEqual(await said('usual'), ['srgb', 'jpeg', null, 72])
    assert.deepEqual(await said('web'), ['srgb', 'jpeg', 'another', 72])
    assert.deepEqual(await said('p3'), ['srgb', 'jpeg', 'P3', 72])
    assert.deepEqual(await said('own'), ['srgb', 'jpeg', 'P3', 200])
    assert.deepEqual(await said('gray'), ['b-w', 'jpeg', null, 72])
    assert.deepEqual(await said('inks'), ['cmyk', 'jpeg', 'another', 72])
    assert.deepEqual(await said('print'), ['cmyk', 'tiff', 'another', 300])
    // They look the same where profiles are read, so the numbers are others.
    for (const name of ['usual', 'web', 'p3', 'own']) {
      await assertShows(sizedUrl({ preset: name }), [256, 128], [0, 0], [1, 1])
    }
    await assertShows(sizedUrl({ preset: 'turned' }), [128, 256], [0, 1], [1, 0])
    const numbers = async (name: string) =>
      (
        await sharp(await made(name))
          .keepIccProfile()
          .raw()
          .toBuffer()
      ).subarray(-3)
    assert.notDeepEqual(await numbers('p3'), await numbers('usual'))
    // What a preset names stays, and another file of that name is another picture.
    const gone = await setProfiles([])
    const path = 'system/config/custom_version_presets/value/presets/3/custom/colorprofile'
    assert.deepEqual([gone.status, gone.body.parameters?.path], [400, path])
    const tagOf = async () => (await get(sizedUrl({ preset: 'own' }))).headers.etag
    const tag = await tagOf()
    const [other] = (await upload(museum.svc, 'root', [{ name: 'other.icc', content: p3 as Buffer }])).body
    assert.equal((await setProfiles([{ profilename: 'Own', profile: { _id: other._id } }])).status, 200)
    assert.notEqual(await tagOf(), tag)
    assert.equal((await setPresets([])).status, 200)
    assert.equal((await setProfiles([])).status, 200)
  })

  test('presets: what has no effect, or says two things, is refused by its place, and nothing is changed', async () => {
    const sized = { size: 'custom', custom_size_pixel: 10 }
    const filled = { size: 'custom', custom_size: 'cover', custom_width_pixel: 10, custom_height_pixel: 10 }
    const inks = { ...sized, format: 'jpeg' }
    assert.equal((await setPresets([preset('kept', sized)])).status, 200)
    const before = (await museum.svc.as('root').get(presetsPath)).body
    const cases: [object, string][] = [
      [preset('a', {}), 'custom'],
      [{ name: 'a', custom: sized }, 'displayname'],
      [{ ...preset('a', sized), displayname: { 'en-US': '' } }, 'displayname'],
      [preset('', sized), 'name'],
      [preset('a/b', sized), 'name'],
      [preset('a', { ...sized, format: 'gif' }), 'custom/format'],
      [preset('a', { ...sized, format: 'bmp', quality: '80' }), 'custom/quality'],
      [preset('a', { ...sized, format: 'bmp', colorspace: 'cmyk' }), 'custom/colorspace'],
      [preset('a', { ...sized, format: 'bmp', colorprofile: 'Display P3' }), 'custom/colorprofile'],
      [preset('a', { ...sized, colorspace: 'lab' }), 'custom/colorspace'],
      [preset('a', { ...sized, colorspace: 'cmyk' }), 'custom/colorspace'],
      [preset('a', { ...sized, colorspace: 'cmyk', format: 'png' }), 'custom/colorspace'],
      [preset('a', { ...sized, colorprofile: 'Nobody' }), 'custom/colorprofile'],
      [preset('a', { ...sized, colorprofile: '__proto__' }), 'custom/colorprofile'],
      [preset('a', { ...sized, colorprofile: 'Generic CMYK Profile' }), 'custom/colorprofile'],
      [preset('a', { ...inks, colorprofile: 'Display P3', colorspace: 'cmyk' }), 'custom/colorprofile'],
      [preset('a', { ...inks, colorprofile: 'Generic CMYK Profile', colorspace: 'gray' }), 'custom/colorprofile'],
      [preset('a', { ...sized, transform: { 'rotate-x': 180, 'rotate-y': 180 } }), 'custom/transform/rotate-x'],
      [preset('a', { ...sized, transform: { 'rotate-x': 180, 'rotate-z': 90 } }), 'custom/transform/rotate-x'],
      [preset('a', { ...sized, transform: { 'rotate-y': 361 } }), 'custom/transform/rotate-y'],
      [preset('a', { ...sized, transform: { 'rotate-z': -360 } }), 'custom/transform/rotate-z'],
      [preset('a', { ...filled, transform: { 'rotate-z': 45 } }), 'custom/transform/rotate-z'],
      [preset('a', { colorprofile: '-' }), 'custom'],
      [preset('a', { ...sized, transform: { crop: { top: -1 } } }), 'custom/transform/crop/top'],
      [preset('a', { ...sized, dpi: -1 }), 'custom/dpi'],
      [preset('a', { ...sized, quality: 'best' }), 'custom/quality'],
      [preset('a', { ...sized, format: 'png', quality: '80' }), 'custom/quality'],
      [preset('a', { size: 'custom' }), 'custom/custom_size_pixel'],
      [preset('a', { dpi: 72, custom_size_pixel: 10 }), 'custom/custom_size_pixel'],
      [preset('a', { dpi: 72, custom_size: 'width' }), 'custom/custom_size'],
      [preset('a', { ...sized, custom_width_pixel: 10 }), 'custom/custom_width_pixel'],
      [preset('a', { ...sized, custom_size: 'cover' }), 'custom/custom_size_pixel'],
      [preset('a', { size: 'custom', custom_size: 'contain', custom_width_pixel: 1 }), 'custom/custom_height_pixel'],
      [preset('a', { ...sized, watermark: 'yes' }), 'custom/watermark'],
      [preset('a', { ...sized, sharpen: 1 }), 'custom/sharpen'],
    ]
    for (const [sent, place] of cases) {
      const { status, body } = await setPresets([sent])
      const path = `system/config/custom_version_presets/value/presets/0/${place}`
      assert.deepEqual([status, body.parameters?.path], [400, path], JSON.stringify(sent))
    }
    assert.equal((await setPresets([preset('a', sized), preset('a', sized)])).status, 400)
    assert.deepEqual((await museum.svc.as('root').get(presetsPath)).body, before)
    // As it is answered it may be sent back.
    assert.equal((await setPresets(before)).status, 200)
    assert.deepEqual((await museum.svc.as('root').get(presetsPath)).body, before)
  })

  test('downloads are made within what the right allows: no other version, and never more than it has', async () => {
    const root = museum.svc.as('root')
    const user = (await root.post('/user', [{ user: { login: 'vera' }, _password: 'verav3ra' }])).body[0].user
    const allow = async (right: object) => {
      const { pool } = (await root.get(`/pool/${museum.pool}`)).body[0]
      const rights = { read: {}, asset_download: right }
      const _acl = [{ who: { _basetype: 'user', user: { _id: user._id } }, rights }]
      const saved = await root.post('/pool', [{ pool: { _id: museum.pool, _version: pool._version }, _acl }])
      assert.equal(saved.status, 200, JSON.stringify(saved.body))
    }
    const { headers } = { headers: { authorization: `Bearer ${await museum.svc.as('vera', 'verav3ra').token()}` } }
    const status = async (query: Record<string, string | number>, which = 'original') => {
      const url = sizedUrl(query, which).replace(/x-svc-signature=[^&]+&/, '')
      return (await get(url, headers)).status
    }
    await allow({ versions: ['image.small'] })
    assert.deepEqual([await status({ size: 64 }, 'small'), await status({ size: 64 })], [200, 403])
    await allow({ classes: ['video'] })
    assert.deepEqual([await status({ size: 64 }), await status({ metadata: 'remove' })], [403, 403])
    await assertShows(sizedUrl({ size: 5000 }, 'small'), [400, 200], [0, 0], [1, 1])
  })

  test('OpenSeadragon opens the pyramid by its description and shows the right tiles', {
    skip: noBrowser,
  }, async () => {
    const origin = await museum.svc.listen()
    await using browser = await startBrowser({ localhost: origin })
    const { iiif_url } = file.versions.original
    // A page of another origin than the pictures; a page of none may not fetch from this machine.
    const { page, complaints } = await browser.open(`${origin}${new URL(iiif_url).pathname}/info.json`, {
      viewport: { width: 640, height: 320 },
      bypassCSP: true,
    })
    const answers = new Map<string, number>()
    page.on('response', (response) => answers.set(response.url(), response.status()))
    await page.setContent('<body style="margin: 0"><div id="viewer" style="width: 640px; height: 320px"></div>')
    await page.addScriptTag({ path: fileURLToPath(import.meta.resolve('openseadragon')) })
    await page.evaluate(
      `window.viewer = OpenSeadragon({ id: 'viewer', drawer: 'canvas', showNavigationControl: false, animationTime: 0,
        tileSources: ${JSON.stringify(`${iiif_url}/info.json`)} })`,
    )
    const shown = () => page.waitForFunction('viewer.world.getItemAt(0)?.getFullyLoaded() && !viewer.isAnimating()')

    /** What the viewer shows, in a coarse grid: each colour says where in the whole picture it comes from. */
    async function assertShown(name: string, [left, top, right, bottom]: readonly [number, number, number, number]) {
      await shown()
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
      const path = process.env.SCREENSHOTS ? { path: `${process.env.SCREENSHOTS}/${name}.png` } : {}
      const { data, info } = await sharp(await page.screenshot(path))
        .removeAlpha()
        .raw()
        .toBuffer({ resolveWithObject: true })
      assert.deepEqual([info.width, info.height], [640, 320])
      for (let y = 10; y < info.height; y += 20) {
        for (let x = 10; x < info.width; x += 20) {
          const at = 3 * (y * info.width + x)
          const wanted = [
            255 * (left + ((right - left) * (x + 0.5)) / info.width),
            255 * (top + ((bottom - top) * (y + 0.5)) / info.height),
            40,
          ]
          const off = wanted.map((value, channel) => Math.abs(value - (data[at + channel] ?? 999)))
          assert.ok(Math.max(...off) < 5, `${name} at ${x}, ${y}: ${[...data.subarray(at, at + 3)]} is not ${wanted}`)
        }
      }
    }

    await assertShown('viewer-whole', [0, 0, 1, 1])
    const whole = [...answers.keys()].filter((url) => url.endsWith('.jpg'))
    await page.evaluate('viewer.viewport.fitBounds(new OpenSeadragon.Rect(0.625, 0.125, 0.25, 0.125), true)')
    await assertShown('viewer-part', [0.625, 0.25, 0.875, 0.5])
    const tiles = [...answers.keys()].filter((url) => url.endsWith('.jpg') && !whole.includes(url))
    // A quarter of the picture in its own pixels, of tiles of 512.
    assert.ok(
      tiles.some((url) => url.includes('/1536,0,512,512/512,512/0/default.jpg')) && tiles.length <= 12,
      `${tiles}`,
    )
    assert.deepEqual(new Set(answers.values()), new Set([200]))
    assert.deepEqual(complaints, [])
  })

  test('whatever stands in an address is answered, and never by a failure', async () => {
    const { pathname } = new URL(file.versions.original.iiif_url)
    const zoom = new URL(file.versions.original.zoom_url).pathname
    const number = fc.oneof(
      fc.integer({ min: -5, max: 3000 }).map(String),
      fc.constantFrom('1e9', '0', '00', '-1', '99999999999999999999', 'NaN', '1.5', '.', '', '%00', '٣', '1;2'),
    )
    const part = fc.oneof(
      fc.constantFrom(
        'full',
        'max',
        'square',
        '^max',
        '!',
        '^',
        'pct:',
        '..',
        '%2e%2e',
        '%2F',
        'obj_uuid',
        'info.json',
      ),
      fc.tuple(number, number, number, number).map((all) => all.join(',')),
      fc.tuple(fc.constantFrom('', '!', '^', '^!', 'pct:'), number, number).map(([sign, a, b]) => `${sign}${a},${b}`),
      number,
      fc.string({ maxLength: 12 }).map(encodeURIComponent),
    )
    const last = fc.oneof(
      fc
        .tuple(fc.constantFrom('default', 'gray', 'color', 'x'), fc.constantFrom('jpg', 'png', 'tif', 'jp2', ''))
        .map((all) => all.join('.')),
      part,
    )
    const tile = fc
      .tuple(number, number, number, number, fc.constantFrom('jpg', 'png', 'gif'))
      .map(([viewport, size, x, y, format]) => `zoom${viewport}/size${size}/part${x}x${y}.${format}`)
    const address = fc.oneof(
      fc.tuple(fc.array(part, { maxLength: 3 }), last).map(([parts, end]) => [pathname, ...parts, end].join('/')),
      fc.tuple(part, part, part, last).map((parts) => [pathname, ...parts].join('/')),
      tile.map((end) => `${zoom}/${end}`),
      fc.array(part, { maxLength: 8 }).map((parts) => ['/api/v1/eas/iiif', ...parts].join('/')),
    )
    await fc.assert(
      fc.asyncProperty(address, async (url) => {
        const { statusCode, body } = await museum.svc.inject({ method: 'GET', url })
        assert.ok(statusCode < 500, `${url}: ${statusCode} ${body.slice(0, 300)}`)
      }),
      { numRuns: 150 },
    )
  })
})
