import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import sharp from 'sharp'
import { onStatement } from '../../src/platform/postgres/statements.ts'
import type { Json } from '../support/client.ts'
import { assertNamed } from '../support/documented.ts'
import { assertEventFlags } from '../support/event-flags.ts'
import { startService, type TestService } from '../support/service.ts'
import { fetched, notePriorities, sha256, upload } from './support.ts'

suite('renditions', () => {
  let svc: TestService
  before(async () => {
    svc = await startService({ mediaPixels: 30 })
  })
  after(() => svc[Symbol.asyncDispose]())

  /** A picture of four fields, each of one colour. */
  function fields(width: number, height: number, colours = ['#d01010', '#10a010', '#1010d0', '#e0e010']) {
    const [half, middle] = [width >> 1, height >> 1]
    const parts = colours.map((background, index) => ({
      input: { create: { width: half, height: middle, channels: 3 as const, background } },
      left: index % 2 ? half : 0,
      top: index > 1 ? middle : 0,
    }))
    return sharp({ create: { width, height, channels: 3, background: 'white' } }).composite(parts)
  }

  async function uploaded(name: string, content: Buffer, query = {}): Promise<Json> {
    const { status, body } = await upload(svc, 'root', [{ name, content }], { produce_versions: 'true', ...query })
    assert.equal(status, 200, JSON.stringify(body))
    return body[0]
  }

  async function produced(name: string, content: Buffer, query = {}): Promise<Json> {
    const { _id } = await uploaded(name, content, query)
    await svc.drain()
    return (await svc.as('root').get(`/eas/${_id}`)).body
  }

  /** The colours in the middle of the four fields of a rendition. */
  async function colours(url: string): Promise<number[][]> {
    const { content } = await fetched(svc, url)
    const { data, info } = await sharp(content).removeAlpha().raw().toBuffer({ resolveWithObject: true })
    return [0.25, 0.75].flatMap((y) =>
      [0.25, 0.75].map((x) => {
        const at = info.channels * (Math.floor(y * info.height) * info.width + Math.floor(x * info.width))
        return [...data.subarray(at, at + 3)]
      }),
    )
  }

  function assertNear(actual: number[][], expected: number[][], tolerance: number): void {
    for (const [index, colour] of expected.entries()) {
      for (const [channel, value] of colour.entries()) {
        const got = actual[index]?.[channel] ?? Number.NaN
        assert.ok(Math.abs(got - value) <= tolerance, `${JSON.stringify(actual)} is not ${JSON.stringify(expected)}`)
      }
    }
  }

  const events = async (type: string, id: number): Promise<Json[]> =>
    (await svc.as('root').get('/event/list', { type, object_id: id })).body.objects.map(({ event }: Json) => event)

  const isMetadata = ({ event }: Json): boolean => event.type === 'FILE_METADATA'

  test('SVC-009 an upload becomes renditions, told with its record and served at signed addresses', async () => {
    const content = await fields(1600, 1200).jpeg().toBuffer()
    const answered = await uploaded('fields.jpg', content)
    assert.equal(answered.status, 'pending')
    assert.deepEqual(
      Object.entries(answered.versions).map(([name, { status, url }]: Json) => [name, status, url !== undefined]),
      [
        ['original', 'done', true],
        ...['full', 'huge', 'preview', 'small', 'zoom'].map((name) => [name, 'pending', false]),
      ],
    )
    await svc.drain()
    const record = (await svc.as('root').get(`/eas/${answered._id}`)).body
    assert.deepEqual([record.status, record.class_version_status], ['done', 'image.original.done'])
    const sizes = Object.fromEntries(
      Object.entries(record.versions).map(([name, version]: Json) => [
        name,
        [version.status, version.width, version.height, version.extension],
      ]),
    )
    assert.deepEqual(sizes, {
      original: ['done', '1600', '1200', 'jpg'],
      full: ['done', '1600', '1200', 'jpg'],
      huge: ['done', '1600', '1200', 'jpg'],
      preview: ['done', '1000', '750', 'jpg'],
      small: ['done', '400', '300', 'jpg'],
      zoom: ['done', '1600', '1200', 'tif'],
    })
    const { small } = record.versions
    const delivered = await fetched(svc, small.url)
    assert.deepEqual([delivered.status, delivered.headers['content-type']], [200, 'image/jpeg'])
    assert.deepEqual([sha256(delivered.content), `${delivered.content.length}`], [small.hash, small.filesize])
    assertNear(await colours(small.url), await colours(record.versions.original.url), 3)
    for (const { url } of Object.values<Json>(record.versions)) {
      const signed = new URL(url)
      assert.equal((await fetched(svc, url)).status, 200)
      // Without token: it is the signature that opens it.
      signed.search = ''
      assert.equal((await fetched(svc, signed.href)).status, 403, 'none')
      const other = new URL(small.url === url ? record.versions.original.url : small.url)
      assert.equal((await fetched(svc, signed.href + other.search)).status, 403, 'that of another version')
    }
    const { technical_metadata: known } = record
    assert.deepEqual(
      [known.width, known.height, known.aspect_ratio, known.format, known.colorspace, known.colordepth],
      [1600, 1200, 1.333, 'landscape', 'RGB', 8],
    )
    assert.match(known.blurhash, /^.{28,34}$/)
    assert.equal(small.blurhash, known.blurhash)
    const made = (await events('FILE_PRODUCE', answered._id)).map(({ info }) => [info.recipe.name, info.receipt.width])
    assert.deepEqual(Object.fromEntries(made), { small: 400, preview: 1000, huge: 1600, full: 1600, zoom: 1600 })
  })

  test('await_version: an upload, or a record, is answered when the version is there, or will not be', async () => {
    const content = await fields(900, 700).jpeg().toBuffer()
    for (const method of ['POST', 'PUT'] as const) {
      const query = { produce_versions: 'true', await_version: 'small' }
      const files = [
        { name: 'one.jpg', content: Buffer.concat([content, Buffer.from(method)]) },
        { name: 'broken.jpg', content: Buffer.concat([content.subarray(0, 20), Buffer.from(method)]) },
      ]
      const { body } = await upload(svc, 'root', files, query, method)
      assert.deepEqual(
        body.map(({ versions }: Json) => versions.small.status),
        ['done', 'failed'],
      )
      const { url, hash } = body[0].versions.small
      assert.equal(sha256((await fetched(svc, url)).content), hash)
    }
    const { _id, versions } = await uploaded('later.jpg', Buffer.concat([content, Buffer.from('later')]))
    assert.equal(versions.preview.status, 'pending')
    const root = svc.as('root')
    assert.equal((await root.get(`/eas/${_id}`, { await_version: 'preview' })).body.versions.preview.status, 'done')
    // Of what nobody makes there is nothing to wait for.
    assert.equal((await root.get(`/eas/${_id}`, { await_version: 'nothing' })).body._id, _id)
    await svc.drain()
  })

  test('orientation, transparency, 16 bit, CMYK, animation: renditions are what the eye sees', async () => {
    const upright = await colours(
      (await produced('plain.png', await fields(200, 100).png().toBuffer())).versions.small.url,
    )
    // Stored turned to the left, as the camera was held.
    const turned = await fields(200, 100).png().toBuffer()
    const stored = await sharp(turned).rotate(-90).withMetadata({ orientation: 6 }).jpeg({ quality: 100 }).toBuffer()
    const rotated = await produced('turned.jpg', stored)
    assert.deepEqual([rotated.versions.small.width, rotated.versions.small.height], ['200', '100'])
    assert.deepEqual([rotated.technical_metadata.width, rotated.technical_metadata.orientation], [200, '6'])
    assertNear(await colours(rotated.versions.small.url), upright, 6)

    const clear = await sharp({ create: { width: 50, height: 50, channels: 4, background: '#ff000080' } })
      .png()
      .toBuffer()
    const transparent = await produced('clear.png', clear)
    assert.equal(transparent.versions.small.extension, 'png')

    const deep = await produced('deep.png', await sharp(turned).toColourspace('rgb16').png().toBuffer())
    assert.equal(deep.technical_metadata.colordepth, 16)
    assert.equal(deep.versions.small.extension, 'jpg')
    assertNear(await colours(deep.versions.small.url), upright, 6)

    const ink = await produced(
      'ink.jpg',
      await fields(200, 100).toColourspace('cmyk').jpeg({ quality: 100 }).toBuffer(),
    )
    assert.equal(ink.technical_metadata.colorspace, 'CMYK')
    const shown = await sharp((await fetched(svc, ink.versions.small.url)).content).metadata()
    assert.deepEqual([shown.space, shown.channels], ['srgb', 3])
    // What ink can show of red, green and blue is less.
    assertNear(await colours(ink.versions.small.url), upright, 80)

    const frames = await Promise.all(
      ['red', 'blue'].map((colour) => fields(60, 40, [colour, colour, colour, colour]).png().toBuffer()),
    )
    const moving = await sharp(frames, { join: { animated: true } })
      .gif({ delay: [100, 100] })
      .toBuffer()
    const film = await produced('moving.gif', moving)
    assert.deepEqual([film.versions.small.height, film.technical_metadata.pages], ['40', 2])
  })

  test('REC-012 what a file says of itself: technical metadata, the best date, places, tags', async () => {
    const content = await fields(600, 300)
      .jpeg()
      .withMetadata({ density: 254 })
      .withExif({
        IFD0: { Make: 'Zeiss', Model: 'Ikon 7', ImageDescription: 'Four fields', Copyright: 'Nobody' },
        IFD2: { DateTimeOriginal: '1936:07:14 10:30:00', ISOSpeedRatings: '400' },
        IFD3: {
          GPSLatitudeRef: 'S',
          GPSLatitude: '33/1 51/1 0/1',
          GPSLongitudeRef: 'E',
          GPSLongitude: '151/1 12/1 0/1',
        },
      })
      .toBuffer()
    const record = await produced('camera.jpg', content)
    const { gps_location, ...technical } = record.technical_metadata
    assert.deepEqual([technical.camera_scanner, technical.date_time_original], ['Zeiss Ikon 7', '1936-07-14T10:30:00'])
    assert.deepEqual([technical.dpi, technical.dimensions], [254, { width: 6, height: 3, unit: 'cm' }])
    assert.ok(Math.abs(gps_location.latitude + 33.85) < 1e-6 && Math.abs(gps_location.longitude - 151.2) < 1e-6)
    assert.equal(record.best_date, '1936-07-14T10:30:00')
    assert.ok(record.metadata.groupnames.includes('IFD0'))
    assert.deepEqual(
      record.metadata.groups.IFD0.find(({ name }: Json) => name === 'ImageDescription'),
      { group: 'IFD0', name: 'ImageDescription', value: 'Four fields', print: 'Four fields' },
    )
    const standard = (await svc.as('root').get(`/eas/${record._id}`, { format: 'standard' })).body
    assert.deepEqual([standard.metadata, standard.best_date], [undefined, record.best_date])
    const [event] = await events('FILE_METADATA', record._id)
    assert.equal(event.info.metadata.technical.camera_scanner, 'Zeiss Ikon 7')
    assertNamed('files.md', [...Object.keys(record), 'gps_location'])
  })

  test('EVENT-018 what was read of a file is an event of whoever uploaded it, with the receipt of the job', async () => {
    const root = svc.as('root')
    const groups = (list: string[]) => root.post('/config/system/config/user/user_in_event_group', list)
    const before = (await root.get('/config/system/config/user/user_in_event_group')).body
    const person = {
      user: { login: 'photographer' },
      _password: 'photographer',
      _system_rights: { 'system.root': {} },
    }
    assert.equal((await root.post('/user', [person], { confirm: 'ignore_password_requirements' })).status, 200)
    const logged = async (): Promise<Json> => {
      const content = await fields(20, 20).png().toBuffer()
      const { body } = await upload(svc, 'photographer', [{ name: 'seen.png', content }], { produce_versions: 'true' })
      await svc.drain()
      const { objects } = (await root.get('/event/list', { type: 'FILE_METADATA', object_id: body[0]._id })).body
      assert.equal(objects.length, 1)
      return objects[0]
    }
    assert.equal((await groups(['SYSTEM'])).status, 200)
    const { event, user } = await logged()
    assert.deepEqual(
      [user.user._generated_displayname, event.user_generated_displayname, event.basetype, event.pollable],
      ['photographer', 'photographer', 'file', false],
    )
    assert.deepEqual(Object.keys(event.info), ['metadata'])
    assert.ok(event.info.metadata.tags > 0)
    assert.deepEqual((await root.get('/event/poll/0', { limit: 1000 })).body.filter(isMetadata), [])
    // As of all events that are logged with their user, the configuration says of which groups.
    assert.equal((await groups([])).status, 200)
    assert.equal((await logged()).user, undefined)
    assert.equal((await groups(before)).status, 200)
  })

  test('recipes of the base configuration: what they may be, and what a change of them does', async () => {
    const root = svc.as('root')
    const place = '/config/system/config/produce_config/value/classes/image/versions'
    const set = (versions: object[]) => root.post(place, versions as Json)
    for (const wrong of [
      [{ name: 'original' }],
      [{ name: 'A' }],
      [{ name: 'a' }, { name: 'a' }],
      [{ name: 'a', source: 'b' }, { name: 'b' }],
      [
        { name: 'a', standard: true },
        { name: 'b', standard: true },
      ],
      [{ name: 'a', animated: true }],
      [{ name: 'a', recipe: 'video' }],
      [{ name: 'a', size: -1 }],
      [{ name: 'a', colours: 1 }],
    ]) {
      assert.equal((await set(wrong)).status, 400, JSON.stringify(wrong))
    }
    const moving = await sharp(
      await Promise.all(
        ['red', 'blue'].map((colour) => fields(60, 40, [colour, colour, colour, colour]).png().toBuffer()),
      ),
      { join: { animated: true } },
    )
      .gif()
      .toBuffer()
    assert.equal(
      (
        await set([
          { name: 'wide', size: 300, resize_mode: 'width', format: 'webp' },
          { name: 'icon', size: 20, source: 'wide', priority: 6, rights_management: false },
          { name: 'only_gif', extensions: ['gif'], animated: true, format: 'webp' },
          { name: 'large', size_minimum: 5000 },
        ])
      ).status,
      200,
    )
    const { versions, _id } = await produced('a.png', await fields(400, 300).png().toBuffer())
    const shape = ({ extension, width, height }: Json) => [extension, width, height]
    assert.deepEqual(Object.keys(versions), ['original', 'icon', 'wide'])
    assert.deepEqual(
      [shape(versions.wide), shape(versions.icon)],
      [
        ['webp', '300', '225'],
        ['jpg', '20', '15'],
      ],
    )
    const film = await produced('b.gif', moving)
    const frames = await sharp((await fetched(svc, film.versions.only_gif.url)).content, { animated: true }).metadata()
    assert.deepEqual([frames.pages, frames.pageHeight], [2, 40])

    const resync = async () => {
      const begun = await root.post('/eas/resync')
      assert.equal(begun.status, 200, JSON.stringify(begun.body))
      await svc.drain()
      return (await root.get('/eas/resync')).body[0]
    }
    await set([
      { name: 'wide', size: 200, resize_mode: 'width', format: 'webp' },
      { name: 'next', size: 50 },
    ])
    const stale = (await root.get(`/eas/${_id}`)).body
    assert.equal(stale.versions.wide.hash, versions.wide.hash)
    const first = await resync()
    assert.deepEqual([first.status, first.percent_done, first.checked], ['done', 100, first.total])
    assert.ok(first.queued >= 2 && first.removed >= 2)
    const renewed = (await root.get(`/eas/${_id}`)).body.versions
    assert.deepEqual(Object.keys(renewed), ['original', 'next', 'wide'])
    assert.deepEqual(shape(renewed.wide), ['webp', '200', '150'])
    assert.equal((await fetched(svc, versions.icon.url)).status, 404)
    // Nothing has changed: nothing is made again.
    const { queued, removed } = await resync()
    assert.deepEqual([queued, removed], [0, 0])
    assert.equal((await root.get(`/eas/${_id}`)).body.versions.wide.date_created, renewed.wide.date_created)
    assert.equal((await root.delete(place)).status, 200)
  })

  test('without produce_versions there are no renditions until a resync', async () => {
    const file = await produced('later.png', await fields(50, 50).png().toBuffer(), { produce_versions: 'false' })
    assert.deepEqual([file.status, Object.keys(file.versions)], ['done', ['original']])
    await svc.as('root').post('/eas/resync')
    await svc.drain()
    const { versions } = (await svc.as('root').get(`/eas/${file._id}`)).body
    assert.equal(versions.small.status, 'done')
  })

  test('an upload by PUT takes what one by POST does', async () => {
    const content = await fields(52, 52).png().toBuffer()
    const put = async (query: object): Promise<Json> => {
      const { status, body } = await upload(svc, 'root', [{ name: 'put.png', content }], { ...query }, 'PUT')
      assert.equal(status, 200, JSON.stringify(body))
      return body[0]
    }
    const file = await put({ filenames: ['named.png'], references: ['by-put'], produce_versions: 'false' })
    assert.deepEqual([file.original_filename, file.reference], ['named.png', 'by-put'])
    const child = await put({ id_parents: [file._id], check_for_duplicates: 'true' })
    assert.equal(child.eas_parent_id, file._id)
    assert.deepEqual(
      child._duplicates.map(({ _id }: Json) => _id),
      [file._id],
    )
    const version = await put({ id_parents: [file._id], version_names: ['put'] })
    assert.deepEqual([version._id, version.versions.put.status], [file._id, 'done'])
    await svc.drain()
    assert.deepEqual(Object.keys((await svc.as('root').get(`/eas/${file._id}`)).body.versions).toSorted(), [
      'original',
      'put',
    ])
  })

  test('priority of an upload is that of its work', async () => {
    await using priorities = await notePriorities(svc)
    for (const [method, size] of [
      ['POST', 20],
      ['PUT', 22],
    ] as const) {
      const content = await fields(size, size).png().toBuffer()
      const query = { produce_versions: 'true', priority: -7 }
      assert.equal((await upload(svc, 'root', [{ name: 'first.png', content }], query, method)).status, 200)
      // The others are queued when the first ones are there.
      await svc.drain()
      assert.deepEqual(await priorities.taken(), [-7, -6, -4, -2, 2], method)
    }
  })

  test('EVENT-020 what is made and what cannot be is told, of nobody, and not to those who poll', async () => {
    const { rows } = await svc.db.query<{ id: number }>('select max(id) as id from event')
    const since = rows[0]?.id ?? 0
    const good = await produced('told.png', await fields(40, 40).png().toBuffer())
    const broken = await produced('told.pdf', Buffer.from('%PDF-1.7\nnothing of a document'))
    for (const [type, id] of [
      ['FILE_PRODUCE', good._id],
      ['FILE_PRODUCE_ERROR', broken._id],
    ]) {
      const { objects } = (await svc.as('root').get('/event/list', { type, object_id: id })).body
      assert.ok(objects.length > 0, type)
      for (const { event, ...rest } of objects as Json[]) {
        assert.deepEqual(Object.keys(event.info).sort(), ['connInfos', 'receipt', 'recipe'])
        assert.equal(event.info.receipt.version, event.info.recipe.name)
        assert.ok(event.info.connInfos[0].host.length > 0)
        assert.deepEqual([event.pollable, rest.user, event.user], [false, undefined, undefined])
      }
    }
    const polled = (await svc.as('root').get(`/event/poll/${since}`, { limit: 1000 })).body
    assert.ok(polled.every((each: Json) => !each.event.type.startsWith('FILE_PRODUCE')))
    const types = ['FILE_PRODUCE', 'FILE_PRODUCE_ERROR'] as const
    await assertEventFlags(svc, types, { userLogged: false, pollable: false })
  })

  test('own profiles: colours are converted to them, and they are embedded', async () => {
    const flat = (background: string) => sharp({ create: { width: 60, height: 40, channels: 3, background } })
    const { icc } = await sharp(await flat('red').withIccProfile('p3').png().toBuffer()).metadata()
    // That of Display P3 with red and blue exchanged: nobody has it by chance.
    const own = Buffer.from(icc as Buffer)
    const tag = (name: string): number => own.indexOf(name, 132, 'latin1') + 4
    const [red, blue] = [own.readUInt32BE(tag('rXYZ')), own.readUInt32BE(tag('bXYZ'))]
    own.writeUInt32BE(blue, tag('rXYZ'))
    own.writeUInt32BE(red, tag('bXYZ'))
    const [file] = (await upload(svc, 'root', [{ name: 'own.icc', content: own }])).body
    const [other] = (await upload(svc, 'root', [{ name: 'text.icc', content: Buffer.alloc(500, 'acsp') }])).body
    const root = svc.as('root')
    const profiles = (rows: object[]) => root.post('/config/system/config/colorprofiles', { profiles: rows })
    const table = '/config/system/config/produce_config/value/classes/image/versions'
    const recipe = (row: object) => root.post(table, [{ name: 'print', format: 'jpg', quality: 100, ...row }])
    const before = (await root.get(table)).body
    for (const [row, place] of [
      [{ profilename: 'Ours', profile: { _id: other._id } }, '0/profile'],
      [{ profilename: 'Ours', profile: { _id: 999_999 } }, '0/profile'],
      [{ profilename: 'Ours', profile: { _id: 'x' } }, '0/profile/_id'],
      [{ profilename: 'Ours' }, '0/profile'],
      [{ profilename: 'Display P3', profile: { _id: file._id } }, '0/profilename'],
    ] as const) {
      const { status, body } = await profiles([row])
      assert.equal(status, 400)
      assert.ok(body.parameters.path.endsWith(`colorprofiles/profiles/${place}`), body.parameters.path)
    }
    const said = [{ profilename: 'Ours', profile: { _id: file._id, frontend_prefs: { a: 1 } } }]
    assert.equal((await profiles(said)).status, 200)
    assert.deepEqual((await root.get('/config/system/config/colorprofiles')).body, { profiles: said })
    for (const row of [
      { colorprofile: 'Theirs' },
      { colorprofile: 'Generic CMYK Profile', format: 'png' },
      { colorprofile: 'Ours', recipe: 'pyramid' },
    ]) {
      assert.match((await recipe(row)).body.parameters?.path, /versions\/0\/colorprofile$/)
    }
    assert.equal((await recipe({ colorprofile: 'Ours' })).status, 200)
    assert.equal((await profiles([])).status, 400)

    const pixel = async (content: Buffer) => [
      ...(await sharp(content, { ignoreIcc: true }).raw().toBuffer()).subarray(0, 3),
    ]
    const made = await produced('red.png', await flat('red').png().toBuffer())
    const { content } = await fetched(svc, made.versions.print.url)
    assert.deepEqual((await sharp(content).metadata()).icc, own)
    assertNear([await pixel(content)], [[35, 51, 234]], 4)
    assertNear(await colours(made.versions.print.url), [[255, 0, 0]], 4)

    const derived = await root.post('/eas/produce', { eas_parent_id: made._id, format: 'png', colorprofile: 'Ours' })
    assert.equal(derived.status, 200, JSON.stringify(derived.body))
    const copy = (await fetched(svc, derived.body.versions.original.url)).content
    assert.deepEqual((await sharp(copy).metadata()).icc, own)
    assertNear([await pixel(copy)], [[35, 51, 234]], 4)
    const unknown = await root.post('/eas/produce', { eas_parent_id: made._id, colorprofile: 'Theirs' })
    assert.deepEqual([unknown.status, unknown.body.parameters.path], [400, 'colorprofile'])

    assert.equal((await recipe({ colorprofile: 'Generic CMYK Profile' })).status, 200)
    const ink = (await produced('ink.png', await flat('red').png().toBuffer())).versions.print
    assert.equal((await sharp((await fetched(svc, ink.url)).content).metadata()).space, 'cmyk')
    assert.equal((await root.post(table, before)).status, 200)
    assert.equal((await profiles([])).status, 200)
  })

  test('drawings are drawn, without what they name beside them', async () => {
    const beside = join(svc.config.dataDir, 'beside.png')
    await writeFile(beside, await fields(20, 20).png().toBuffer())
    const svg = (inner: string) =>
      Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40">${inner}</svg>`)
    const drawn = await produced(
      'drawing.svg',
      svg(`<rect width="40" height="40" fill="#1010d0"/><image href="file://${beside}" width="40" height="40"/>`),
    )
    assert.equal(drawn.versions.small.status, 'done')
    assertNear(
      await colours(drawn.versions.small.url),
      Array.from({ length: 4 }, () => [16, 16, 208]),
      6,
    )
  })

  test('what cannot be made says why, once; it holds nobody up', async () => {
    const noise = await fields(40, 40).png().toBuffer()
    const hostile: [string, Buffer, RegExp][] = [
      // Says that it has 60,000 x 60,000 pixels.
      ['bomb.png', bomb(noise), /pixel limit|corrupt|header|expected/i],
      ['cut.webp', (await fields(300, 300).webp().toBuffer()).subarray(0, 60), /.+/],
      [
        'empty.svg',
        Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/passwd"/></svg>'),
        /.*/,
      ],
      ['broken.pdf', Buffer.from('%PDF-1.7\nnothing of a document'), /.+/],
      ['film.mp4', Buffer.from('00000018667479706d703432000000006d7034326d703431', 'hex'), /ffmpeg/],
    ]
    const ids: number[] = []
    for (const [name, content] of hostile) ids.push((await uploaded(name, content))._id)
    const good = await produced('good.png', noise)
    assert.equal(good.versions.small.status, 'done')
    for (const [index, [name, , reason]] of hostile.entries()) {
      const { versions, status } = (await svc.as('root').get(`/eas/${ids[index]}`)).body
      assert.equal(status, 'done', name)
      if (name === 'empty.svg') continue
      const { status: own, reason: told, url } = versions.small
      assert.equal(own, name === 'film.mp4' ? 'not_produced' : 'failed', name)
      assert.match(told, reason, name)
      assert.equal(url, undefined)
      assert.doesNotMatch(told, /\/(tmp|work|home|root)\//)
      const failures = await events('FILE_PRODUCE_ERROR', ids[index] as number)
      assert.equal(failures.filter(({ info }) => info.recipe.name === 'small').length, 1, name)
    }
    const { rows } = await svc.db.query(
      'select count(*)::int as jobs from graphile_worker.jobs where task_identifier = $1',
      ['files.produce'],
    )
    assert.equal(rows[0]?.jobs, 0)
  })

  test('the rendition that somebody waits for is stored first: before other sizes, metadata, and what the picture looks like', async () => {
    const content = await fields(1700, 1300).jpeg().toBuffer()
    const statements: string[] = []
    const stop = onStatement((text) => statements.push(text))
    const { _id } = await uploaded('awaited.jpg', content, { await_version: 'small' })
    await svc.drain()
    stop()
    const stored = statements.findIndex((text) => text.startsWith('with input as materialized ('))
    const committed = statements.indexOf('commit', stored)
    const looked = statements.findIndex((text) => text.startsWith('insert into file_likeness'))
    assert.ok(stored >= 0 && committed > stored && looked > committed, `${[stored, committed, looked]}`)
    const { objects } = (await svc.as('root').get('/event/list', { object_id: _id })).body
    const told = objects
      .map(({ event }: Json) => event)
      .filter(({ type }: Json) => type === 'FILE_PRODUCE' || type === 'FILE_METADATA')
      .toSorted((one: Json, other: Json) => one._id - other._id)
    assert.deepEqual([told.length, told[0].info.recipe?.name], [6, 'small'])
    const record = (await svc.as('root').get(`/eas/${_id}`)).body
    assert.match(record.technical_metadata.blurhash, /^.{28,34}$/)
  })

  test('where the one that is waited for is the only rendition, a picture is looked at with its metadata', async () => {
    const root = svc.as('root')
    const place = '/config/system/config/produce_config/value/classes/image/versions'
    const before = (await root.get(place)).body
    assert.equal((await root.post(place, [{ name: 'small', size: 400, priority: 0 }])).status, 200)
    const one = await produced('alone.jpg', await fields(1750, 1300).jpeg().toBuffer())
    const other = await produced('alone-too.jpg', await fields(1500, 1120).jpeg().toBuffer())
    assert.equal((await root.post(place, before)).status, 200)
    const { width, height, blurhash } = one.technical_metadata
    assert.deepEqual([width, height], [1750, 1300])
    assert.match(blurhash, /^.{28,34}$/)
    const similar = (await root.get(`/eas/${one._id}/similar`)).body
    assert.ok(JSON.stringify(similar).includes(`"_id":${other._id}`), JSON.stringify(similar))
  })
})

/** A small picture whose header speaks of 60,000 x 60,000 pixels. */
function bomb(png: Buffer): Buffer {
  const content = Buffer.from(png)
  content.writeUInt32BE(60_000, 16)
  content.writeUInt32BE(60_000, 20)
  return content
}
