import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import sharp from 'sharp'
import type { Json } from '../support/client.ts'
import { inPool, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { fetched, upload } from './support.ts'

const plain = (width: number, height: number, background: string, alpha = 1) =>
  sharp({ create: { width, height, channels: 4, background } })
    .png()
    .toBuffer()
    .then((content) => (alpha === 1 ? content : sharp(content).ensureAlpha(alpha).png().toBuffer()))

suite('watermarks and captions', () => {
  let museum: Museum
  let people: Record<string, number>
  const root = () => museum.svc.as('root')
  before(async () => {
    museum = await startMuseum()
    people = {}
    for (const login of ['public', 'keeper']) {
      const { body } = await root().post('/user', [{ user: { login }, _password: login }], {
        confirm: 'ignore_password_requirements',
      })
      people[login] = body[0].user._id
    }
  })
  after(() => museum[Symbol.asyncDispose]())

  async function uploaded(name: string, content: Buffer, login = 'root', produce = 'true'): Promise<Json> {
    const { status, body } = await upload(museum.svc, login, [{ name, content }], { produce_versions: produce })
    assert.equal(status, 200, JSON.stringify(body))
    return body[0]
  }

  const record = async (id: number): Promise<Json> => (await root().get(`/eas/${id}`)).body

  async function put(block: object, query: Json = {}): Promise<Json> {
    const { status, body } = await root().post('/db/work', [payload('work', block, { _mask: 'work__standard' })], query)
    assert.equal(status, 200, JSON.stringify(body))
    return body[0].work
  }

  async function newPool(name: string, parent: number, more: object = {}): Promise<number> {
    const { status, body } = await root().post('/pool', [
      { pool: { name: { 'en-US': name }, _id_parent: parent, ...more } },
    ])
    assert.equal(status, 200, JSON.stringify(body))
    return body[0].pool._id
  }

  async function setPool(id: number, change: object, query: Json = {}, more: object = {}) {
    const { pool } = (await root().get(`/pool/${id}`)).body[0]
    return root().post('/pool', [{ pool: { _id: id, _version: pool._version, ...change }, ...more }], query)
  }

  const isWork = ({ objecttype }: Json) => objecttype.name === 'work'

  async function setType(change: object, query: Json = {}) {
    const types = (await root().get('/objecttype')).body
    const { _id, _version } = types.find(isWork).objecttype
    return root().post('/objecttype', [{ objecttype: { _id, _version: _version + 1, ...change } }], query)
  }

  /** The colour at a part of the width and of the height of a rendition. */
  async function colourAt(url: string, x: number, y: number): Promise<number[]> {
    const { content } = await fetched(museum.svc, url)
    const { data, info } = await sharp(content).removeAlpha().raw().toBuffer({ resolveWithObject: true })
    const at = 3 * (Math.min(info.height - 1, Math.floor(y * info.height)) * info.width + Math.floor(x * info.width))
    return [...data.subarray(at, at + 3)]
  }

  const hashes = (versions: Json) => Object.values<Json>(versions).map(({ version, hash }) => [version, hash])

  const isNear = (got: number[], expected: number[], tolerance = 12) =>
    assert.ok(
      expected.every((value, index) => Math.abs(value - (got[index] ?? Number.NaN)) <= tolerance),
      `${got} is not ${expected}`,
    )

  const red = [255, 0, 0]
  const blue = [0, 0, 255]

  test('a rendition with a watermark is made when an object has the file, as its pool and the pools above say', async () => {
    const mark = await uploaded('mark.png', await plain(40, 20, 'blue'), 'root', 'false')
    const top = await newPool('Marked', museum.pool, {
      watermark: { image: { _id: mark._id }, gravity: 'se', size: '20%' },
    })
    const below = await newPool('Elsewhere', top, { watermark: { gravity: 'nw' } })
    const off = await newPool('Unmarked', top, { watermark: { image: null } })
    const shot = await uploaded(
      'red.jpg',
      await sharp(await plain(800, 400, 'red'))
        .jpeg()
        .toBuffer(),
    )
    await museum.svc.drain()
    assert.deepEqual(Object.keys((await record(shot._id)).versions).sort(), ['full', 'original', 'preview', 'small'])

    const { _id } = await put({ ...inPool(top), image: [{ _id: shot._id }] })
    await museum.svc.drain()
    const { versions } = await record(shot._id)
    const { preview_watermark: marked, preview } = versions
    assert.deepEqual(
      [marked.status, marked.watermark, marked.width, preview.watermark],
      ['done', 'true', '800', undefined],
    )
    // A fifth of 800 pixels wide, half as high, in the corner.
    isNear(await colourAt(marked.url, 0.99, 0.98), blue)
    isNear(await colourAt(marked.url, 0.82, 0.82), blue)
    isNear(await colourAt(marked.url, 0.78, 0.9), red)
    isNear(await colourAt(marked.url, 0.9, 0.78), red)
    isNear(await colourAt(preview.url, 0.99, 0.98), red)
    assert.notEqual(marked.blurhash, undefined)

    // Another pool: another place, by the members that it says itself.
    const version = async () => (await root().get(`/db/work/work__standard/${_id}`)).body[0].work._version
    const move = async (pool: number) =>
      put({ _id, _version: await version(), ...inPool(pool), image: [{ _id: shot._id }] })
    await move(below)
    await museum.svc.drain()
    const moved = (await record(shot._id)).versions.preview_watermark
    isNear(await colourAt(moved.url, 0.01, 0.02), blue)
    isNear(await colourAt(moved.url, 0.99, 0.98), red)

    await move(off)
    await museum.svc.drain()
    assert.equal((await record(shot._id)).versions.preview_watermark, undefined)
    assert.equal((await fetched(museum.svc, moved.url)).status, 404)
  })
  test('OTAPI-014 OTAPI-018 a change of watermark or caption asks what becomes of renditions: resync makes them anew, skip does not', async () => {
    const mark = await uploaded('tile.png', await plain(30, 30, 'lime'), 'root', 'false')
    const pool = await newPool('Asked', museum.pool)
    const { _id: file } = await uploaded('grey.png', await plain(600, 300, '#808080'))
    await put({ ...inPool(pool), image: [{ _id: file }] })
    await museum.svc.drain()
    const grey = [128, 128, 128]
    const watermark = { image: { _id: mark._id }, tile: true, dissolve: 50, size: '10%' }
    const asked = await setPool(pool, { watermark })
    assert.equal(asked.status, 202)
    const { buttons } = asked.body.tasks[0]
    assert.deepEqual(
      buttons.map(({ name, value }: Json) => [name, value]),
      [
        ['confirm', 'resync'],
        ['confirm', 'skip'],
        [undefined, undefined],
      ],
    )
    assert.equal((await root().get(`/pool/${pool}`)).body[0].pool.watermark, undefined)
    assert.equal((await setPool(pool, { watermark }, { confirm: 'now' })).body.code, 'ServerGeneric')

    assert.equal((await setPool(pool, { watermark }, { confirm: 'skip' })).status, 200)
    await museum.svc.drain()
    assert.equal((await record(file)).versions.preview_watermark, undefined)
    // What does not change is not asked about.
    assert.equal((await setPool(pool, { watermark, comment: 'same' })).status, 200)
    assert.equal(
      (await setPool(pool, { watermark: { ...watermark, gravity: 'c' } }, { confirm: 'resync' })).status,
      200,
    )
    await museum.svc.drain()
    const { preview_watermark: tiled, small } = (await record(file)).versions
    for (const [x, y] of [
      [0.02, 0.02],
      [0.5, 0.5],
      [0.97, 0.93],
    ] as const) {
      isNear(await colourAt(tiled.url, x, y), [64, 192, 64])
      isNear(await colourAt(small.url, x, y), grey)
    }
    const [run] = (await root().get('/eas/resync')).body
    assert.deepEqual([run.scope, run.status, run.queued], ['marks', 'done', 1])

    // The object type says it where pools say nothing, and asks the same.
    assert.equal((await setPool(pool, { watermark: null }, { confirm: 'skip' })).status, 200)
    const alone = { watermark: { ...watermark, tile: false, dissolve: 100 } }
    const caption = { image: { text: 'Grey', size: '30' } }
    const stored = async () => (await root().get('/objecttype')).body.find(isWork).objecttype
    const before = await stored()
    for (const change of [alone, { caption }]) {
      const task = await setType(change)
      assert.deepEqual([task.status, task.body.tasks[0].buttons[0].value], [202, 'resync'])
      for (const confirm of ['now', 'resync,skip', 'RESYNC']) {
        const refused = await setType(change, { confirm })
        assert.deepEqual([refused.status, refused.body.code], [400, 'ServerGeneric'], confirm)
      }
    }
    assert.deepEqual(await stored(), before)
    const shown = (await record(file)).versions
    // The same again with the parameter that the task names.
    const [resync, skip] = (await setType({ ...alone, caption })).body.tasks[0].buttons
    assert.deepEqual([resync.name, resync.value, skip.name, skip.value], ['confirm', 'resync', 'confirm', 'skip'])
    assert.equal((await setType({ ...alone, caption }, { [skip.name]: skip.value })).status, 200)
    await museum.svc.drain()
    assert.deepEqual(hashes((await record(file)).versions), hashes(shown))
    assert.equal(
      (await setType({ caption: { image: { ...caption.image, text: 'Greyer' } } }, { confirm: 'resync' })).status,
      200,
    )
    await museum.svc.drain()
    const captioned = (await record(file)).versions
    assert.ok(Number(captioned.preview.height) > Number(shown.preview.height))
    assert.equal(
      (await setType({ watermark: { ...alone.watermark, gravity: 'n' } }, { confirm: 'resync' })).status,
      200,
    )
    assert.equal((await setType({ ...alone, caption: null }, { confirm: 'resync' })).status, 200)
    await museum.svc.drain()
    const single = (await record(file)).versions.preview_watermark
    isNear(await colourAt(single.url, 0.5, 0.5), [0, 255, 0])
    isNear(await colourAt(single.url, 0.02, 0.02), grey)
    assert.equal((await setType({ watermark: null }, { confirm: 'resync' })).status, 200)
    await museum.svc.drain()
    assert.equal((await record(file)).versions.preview_watermark, undefined)
  })

  test('whoever may only have the version with the watermark gets that one and no other', async () => {
    const mark = await uploaded(
      'mark.svg',
      Buffer.from(
        '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><rect width="10" height="10" fill="blue"/></svg>',
      ),
      'root',
      'false',
    )
    const pool = await newPool('Public', museum.pool, { watermark: { image: { _id: mark._id }, size: '50%x50%' } })
    const rights = { read: {}, asset_show: { versions: ['image.preview_watermark'] } }
    const _acl = [{ who: { _basetype: 'user', user: { _id: people.public } }, rights }]
    assert.equal((await setPool(pool, {}, {}, { _acl })).status, 200)
    const shot = await uploaded('red.png', await plain(200, 200, 'red'))
    const alone = await uploaded('alone.png', await plain(200, 200, 'red'))
    const { _id } = await put({ ...inPool(pool), image: [{ _id: shot._id }] })
    await museum.svc.drain()
    const [seen] = (await museum.svc.as('public').get(`/db/work/work__standard/${_id}`)).body
    const { versions } = seen.work.image[0]
    assert.deepEqual(Object.keys(versions), ['preview_watermark'])
    isNear(await colourAt(versions.preview_watermark.url, 0.5, 0.5), blue)
    isNear(await colourAt(versions.preview_watermark.url, 0.1, 0.1), red)
    const { original, small } = (await record(shot._id)).versions
    const custom = { watermark: true, size: 'custom', custom_size_pixel: 100 }
    const presets = [{ name: 'marked', displayname: { 'en-US': 'With watermark' }, custom }]
    const stored = await root().post('/config/system/config/custom_version_presets/value/presets', presets)
    assert.equal(stored.status, 200, JSON.stringify(stored.body))
    for (const { url } of [original, small]) {
      isNear(await colourAt(`${url}&preset=marked`, 0.5, 0.5), blue)
      isNear(await colourAt(`${url}&preset=marked`, 0.1, 0.1), red)
    }
    const unmarked = await fetched(museum.svc, `${alone.versions.original.url}&preset=marked`)
    assert.deepEqual([unmarked.status, JSON.parse(`${unmarked.content}`).parameters.param], [400, 'preset'])
    const stolen = new URL(original.url)
    stolen.search = ''
    const refused = await museum.svc.as('public').get(stolen.pathname.replace('/api/v1', ''))
    assert.equal(refused.status, 403)
  })

  test('the picture of a watermark is one that the caller may download; it stays as long as it is named', async () => {
    const secret = await uploaded('secret.png', await plain(10, 10, 'red'), 'root', 'false')
    const text = await uploaded('note.txt', Buffer.from('no picture'), 'root', 'false')
    const pool = await newPool('Kept', museum.pool)
    const manager = [
      { who: { _basetype: 'user', user: { _id: people.keeper } }, rights: { bag_read: {}, bag_write: {} } },
    ]
    assert.equal((await setPool(pool, {}, {}, { _acl: manager })).status, 200)
    const rights = { _system_rights: { 'system.poolmanager': {} } }
    const { user } = (await root().get(`/user/${people.keeper}`)).body[0]
    const raised = await root().post('/user', [{ user: { _id: user._id, _version: user._version }, ...rights }])
    assert.equal(raised.status, 200, JSON.stringify(raised.body))
    const attempt = async (login: string, image: object) => {
      const { pool: now } = (await root().get(`/pool/${pool}`)).body[0]
      return museum.svc.as(login).post('/pool', [{ pool: { _id: pool, _version: now._version, watermark: { image } } }])
    }
    for (const [login, image] of [
      ['keeper', { _id: secret._id }],
      ['root', { _id: text._id }],
      ['root', { _id: 999_999 }],
      ['root', { _id: -1 }],
      ['root', {}],
    ] as const) {
      const { status, body } = await attempt(login, image)
      assert.deepEqual([status, body.code], [400, 'ServerGeneric'], JSON.stringify(image))
    }
    assert.equal((await attempt('root', { _id: secret._id, filesize: 7 })).status, 200)
    assert.deepEqual((await root().get(`/pool/${pool}`)).body[0].pool.watermark, { image: { _id: secret._id } })
    // Sent back by who may not have it: it was there already.
    assert.equal((await attempt('keeper', { _id: secret._id })).status, 200)
    const held = async () =>
      (await museum.svc.db.query('select from file_holder where file_id = $1', [secret._id])).rows.length
    assert.equal(await held(), 1)
    assert.equal((await attempt('root', null as unknown as object)).status, 200)
    assert.equal(await held(), 0)
    for (const size of ['big', '0', '101%', '20%x', '5x5x5', '1e3']) {
      const { body } = await setPool(pool, { watermark: { size } })
      assert.deepEqual([body.code, body.parameters.path], ['ServerGeneric', 'pool[0].pool.watermark.size'], size)
    }
  })
  test('captions are written below a picture or on it, with what the object says; its change makes them anew', async () => {
    const caption = { image: { text: '%title% / %work.inventory% <&> %nothing%', size: '30', padding: '10' } }
    const pool = await newPool('Captions', museum.pool, { caption })
    const shot = await uploaded('red.png', await plain(600, 300, 'red'))
    const { _id } = await put({
      ...inPool(pool),
      title: { 'en-US': 'Boat' },
      inventory: 'AB12',
      image: [{ _id: shot._id }],
    })
    await museum.svc.drain()
    const { preview, small, preview_watermark: marked } = (await record(shot._id)).versions
    assert.equal(marked, undefined)
    assert.equal(small.height, '200')
    const { content } = await fetched(museum.svc, preview.url)
    const { height = 0 } = await sharp(content).metadata()
    assert.ok(height > 300 + 30 && height < 300 + 80, `${height}`)
    assert.equal(preview.height, `${height}`)
    // Black letters on white paper below the red picture.
    isNear(await colourAt(preview.url, 0.5, 290 / height), red)
    isNear(await colourAt(preview.url, 0.01, 1), [255, 255, 255])
    const inkIn = async (url: string, top: number) => {
      const { content } = await fetched(museum.svc, url)
      const { data } = await sharp(content)
        .extract({ left: 0, top, width: 600, height: 40 })
        .greyscale()
        .raw()
        .toBuffer({ resolveWithObject: true })
      return data.filter((value) => value < 90).length
    }
    const ink = await inkIn(preview.url, 302)
    assert.ok(ink > 300, `${ink}`)
    const texts = async () =>
      (
        await museum.svc.db.query(
          `select metadata->>'caption' as text from file_version where file_id = $1 and name = 'preview'`,
          [shot._id],
        )
      ).rows
    assert.deepEqual(await texts(), [{ text: 'Boat / AB12 <&>' }])

    const { _version } = (await root().get(`/db/work/work__standard/${_id}`)).body[0].work
    await put({
      _id,
      _version,
      ...inPool(pool),
      title: { 'en-US': 'Boat, folded' },
      inventory: 'AB12',
      image: [{ _id: shot._id }],
    })
    await museum.svc.drain()
    assert.deepEqual(await texts(), [{ text: 'Boat, folded / AB12 <&>' }])
    const renewed = (await record(shot._id)).versions
    assert.ok((await inkIn(renewed.preview.url, 302)) > ink)
    assert.equal(renewed.small.hash, small.hash)

    // On the picture: it keeps its size, and the text stands on a shade.
    const overlay = {
      image: { ...caption.image, overlay: true, multiline: true, padding: '0', text: 'a b c d e f g h '.repeat(12) },
    }
    assert.equal((await setPool(pool, { caption: overlay }, { confirm: 'resync' })).status, 200)
    await museum.svc.drain()
    const laid = (await record(shot._id)).versions.preview
    assert.deepEqual([laid.width, laid.height], ['600', '300'])
    isNear(await colourAt(laid.url, 0.002, 0.99), [102, 0, 0])
    isNear(await colourAt(laid.url, 0.002, 0.02), red)
    // More than one line.
    const [, up = 0] = await colourAt(laid.url, 0.002, 0.8)
    isNear(await colourAt(laid.url, 0.002, 0.8), [102, 0, 0])
    assert.equal(up < 20, true)
    // An empty text takes it away again.
    assert.equal((await setPool(pool, { caption: { image: { text: '' } } }, { confirm: 'resync' })).status, 200)
    await museum.svc.drain()
    assert.equal((await record(shot._id)).versions.preview.height, '300')
    assert.deepEqual(await texts(), [{ text: null }])
  })

  test('a caption tells what whoever has set it may read, for as long as they may', async () => {
    const grants = (...rights: string[]) => ({
      _acl: [
        {
          who: { user: { _id: people.captioner } },
          rights: Object.fromEntries(
            ['bag_read', 'bag_write', 'bag_acl', ...rights].map((name) => [name, titleOnly(name)]),
          ),
        },
      ],
    })
    const { masks } = (await root().get('/mask/CURRENT')).body
    const { mask_id: mask, table_id: table } = masks.find(({ name }: Json) => name === 'work__title_only')
    const titleOnly = (name: string) => (name === 'read' ? { mask_ids: { [table]: [mask] } } : {})
    const { body } = await root().post(
      '/user',
      [{ user: { login: 'captioner' }, _password: 'captioner', _system_rights: { 'system.poolmanager': {} } }],
      { confirm: 'ignore_password_requirements' },
    )
    people.captioner = body[0].user._id
    const pool = await newPool('Told', museum.pool)
    assert.equal((await setPool(pool, {}, {}, grants('read'))).status, 200)
    const caption = { image: { text: '%title% / %inventory%' } }
    const { pool: stored } = (await root().get(`/pool/${pool}`)).body[0]
    const set = { pool: { _id: pool, _version: stored._version, caption } }
    const saved = await museum.svc.as('captioner').post('/pool', [set])
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
    assert.equal(saved.body[0].pool.caption_set_by, undefined)

    const shot = await uploaded('told.png', await plain(300, 200, 'green'))
    const { _id } = await put({
      ...inPool(pool),
      title: { 'en-US': 'Boat' },
      inventory: 'ZZ99',
      image: [{ _id: shot._id }],
    })
    const text = async (title: string) => {
      const { _version } = (await root().get(`/db/work/work__standard/${_id}`)).body[0].work
      const block = { title: { 'en-US': title }, inventory: 'ZZ99', image: [{ _id: shot._id }] }
      await put({ _id, _version, ...inPool(pool), ...block })
      await museum.svc.drain()
      const { rows } = await museum.svc.db.query(
        `select metadata->>'caption' as text from file_version where file_id = $1 and name = 'preview'`,
        [shot._id],
      )
      return rows[0]?.text ?? null
    }
    assert.equal(await text('Boat one'), 'Boat one /')
    assert.equal((await setPool(pool, {}, {}, grants())).status, 200)
    assert.equal(await text('Boat two'), '/')
    // Whoever changes it, sets it; sending it back does not.
    assert.equal((await setPool(pool, { caption }, { confirm: 'skip' })).status, 200)
    assert.equal(await text('Boat three'), '/')
    const spaced = { image: { text: '%title% - %inventory%' } }
    assert.equal((await setPool(pool, { caption: spaced }, { confirm: 'skip' })).status, 200)
    assert.equal(await text('Boat four'), 'Boat four - ZZ99')
  })

  test('captions follow what linked objects show of themselves', async () => {
    const people = [payload('person', { name: 'Vera' }), payload('person', { name: 'Ewa' })]
    const saved = await root().post('/db/person', people)
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
    const [vera, ewa] = saved.body as [Json, Json]
    const caption = { image: { text: '© %creator._standard.1.text%' } }
    const pool = await newPool('Creators', museum.pool, { caption })
    const shots = [
      await uploaded('a.png', await plain(60, 60, 'red')),
      await uploaded('b.png', await plain(60, 50, 'red')),
    ]
    for (const [index, creator] of [vera, ewa].entries()) {
      await put({
        ...inPool(pool),
        image: [{ _id: shots[index]?._id }],
        creator: { _objecttype: 'person', _mask: '_all_fields', _system_object_id: creator._system_object_id },
      })
    }
    const texts = async () =>
      (
        await museum.svc.db.query<{ text: string; hash: string }>(
          `select metadata->>'caption' as text, encode(sha256, 'hex') as hash from file_version
           where file_id = any($1) and name = 'preview' order by file_id`,
          [shots.map(({ _id }) => _id)],
        )
      ).rows
    await museum.svc.drain()
    const before = await texts()
    assert.deepEqual(
      before.map(({ text }) => text),
      ['© Vera', '© Ewa'],
    )
    const { _id } = vera.person
    const renamed = await root().post('/db/person', [payload('person', { _id, _version: 1, name: 'Vera Molnár' })])
    assert.equal(renamed.status, 200, JSON.stringify(renamed.body))
    await museum.svc.drain()
    const now = await texts()
    assert.equal(now[0]?.text, '© Vera Molnár')
    assert.notEqual(now[0]?.hash, before[0]?.hash)
    assert.deepEqual(now[1], before[1])
  })

  test('recipes say what bears watermark and caption; films, sounds and animations bear none', async () => {
    const config = '/config/system/config/produce_config/value/classes/'
    const set = (kind: string, row: object) => root().post(`${config}${kind}/versions`, [{ name: 'one', ...row }])
    for (const mark of ['watermark', 'caption']) {
      for (const [kind, row] of [
        ['video', { recipe: 'video', [mark]: true }],
        ['audio', { recipe: 'audio', [mark]: true }],
        ['office', { recipe: 'pdf', [mark]: true }],
        ['image', { recipe: 'image', format: 'webp', animated: true, [mark]: true }],
      ] as const) {
        const { status, body } = await set(kind, row)
        assert.equal(status, 400)
        assert.match(body.parameters.path, new RegExp(`${mark}$`))
      }
    }
    // What is made of a rendition with a watermark is not made without one either.
    const rows = [
      { name: 'marked', size: 100, watermark: true },
      { name: 'of_it', source: 'marked', size: 50 },
      { name: 'tiles', recipe: 'pyramid', watermark: true },
      { name: 'small', size: 60 },
    ]
    const before = (await root().get(`${config}image/versions`)).body
    assert.equal((await root().post(`${config}image/versions`, rows)).status, 200)
    const mark = await uploaded('mark.png', await plain(10, 10, 'blue'), 'root', 'false')
    const pool = await newPool('Chain', museum.pool, { watermark: { image: { _id: mark._id }, size: '80%' } })
    const shot = await uploaded('red.png', await plain(200, 200, 'red'))
    await museum.svc.drain()
    assert.deepEqual(Object.keys((await record(shot._id)).versions), ['original', 'small'])
    await put({ ...inPool(pool), image: [{ _id: shot._id }] })
    await museum.svc.drain()
    const { of_it, tiles, original } = (await record(shot._id)).versions
    assert.deepEqual([of_it.watermark, of_it.width, tiles.watermark], ['true', '50', 'true'])
    isNear(await colourAt(of_it.url, 0.5, 0.5), blue)
    isNear(await colourAt(`${tiles.iiif_url}/full/100,/0/default.jpg`, 0.5, 0.5), blue)
    // The pyramid with the watermark is none of the original.
    isNear(await colourAt(`${original.iiif_url}/full/100,/0/default.jpg`, 0.5, 0.5), red)
    assert.equal((await root().post(`${config}image/versions`, before)).status, 200)
  })
})
