import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { fewestConnections } from '../../src/platform/config/connections.ts'
import { namesIn, startDrives } from '../drives/support.ts'
import { picture, upload } from '../files/support.ts'
import type { Json } from '../support/client.ts'
import type { TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

suite('folders of uploads as objects of a hierarchy', () => {
  let svc: TestService
  let drives: Awaited<ReturnType<typeof startDrives>>
  const root = () => svc.as('root')

  before(async () => {
    // Each upload of several at the same moment holds a connection, and its saves need another one.
    drives = await startDrives(
      { dbMaxConnections: fewestConnections },
      {
        place: { columns: { name: 'text_oneline' }, flags: { is_hierarchical: true } },
        flat: { columns: { name: 'text_oneline' } },
        shot: {
          columns: { image: 'eas', at: 'link:place', near: 'link:flat' },
          nested: { found: { columns: { at: 'link:place' } } },
          flags: {},
        },
        roll: {
          columns: { title: 'text_oneline' },
          nested: { frame: { columns: { scan: 'eas', at: 'link:place' } } },
        },
      },
    )
    svc = drives.svc
  })
  after(() => svc[Symbol.asyncDispose]())

  const collect = (settings: object) => drives.collection({ pool_id: undefined, ...settings }, 'root')

  async function send(names: readonly string[], collection: number) {
    const files = await Promise.all(names.map(async () => ({ name: 'x.jpg', content: await picture() })))
    return upload(svc, 'root', files, { collection, filenames: names })
  }

  /** Places from the top down to the one that a link names. */
  async function pathOf(link: Json): Promise<string> {
    const { body } = await root().get(`/db/place/_all_fields/system_object_id/${link._system_object_id}`, {
      format: 'long',
    })
    const own = body[0]
    const above = own.place._id_parent
    if (above === null || above === undefined) return own.place.name
    const parent = await root().get(`/db/place/_all_fields/${above}`)
    return `${await pathOf(parent.body[0])}/${own.place.name}`
  }

  async function shots(collection: number): Promise<Json[]> {
    const { body } = await root().get(`/collection/objects/${collection}`, { limit: 100 })
    const ids = body.objects.map((one: Json) => one._global_object_id.split('@')[0])
    return Promise.all(
      ids.map(async (id: string) => (await root().get(`/db/shot/_all_fields/system_object_id/${id}`)).body[0].shot),
    )
  }

  const places = async (): Promise<number> =>
    (await root().get('/db/place/_all_fields/list', { limit: 1000 })).body.length

  test('EVENT-042: each new object links to the object of its folder, which is made once; each link is told', async () => {
    const settings = {
      objecttype: 'shot',
      eas_field: 'image',
      hierarchy_linked_object: { field: 'shot.at.place.name' },
    }
    const made = await collect(settings)
    const first = await send(['Europe/Berlin/a.jpg', 'Europe/Rome/b.jpg', 'c.jpg'], made.id)
    assert.equal(first.status, 200, JSON.stringify(first.body))
    const [a, b, c] = await shots(made.id)
    assert.deepEqual([await pathOf(a.at), await pathOf(b.at)], ['Europe/Berlin', 'Europe/Rome'])
    assert.equal(c.at ?? null, null)
    assert.equal(await places(), 3)
    // Another collection, and a folder of the same name somewhere else.
    const other = await collect(settings)
    const second = await send(['Europe/Berlin/d.jpg', 'Rome/e.jpg'], other.id)
    assert.equal(second.status, 200, JSON.stringify(second.body))
    const [d, e] = await shots(other.id)
    assert.deepEqual([d.at._system_object_id, await pathOf(e.at)], [a.at._system_object_id, 'Rome'])
    assert.equal(await places(), 4)
    const { body } = await root().get('/event/list', { type: 'COLLECTION_UPLOAD', object_id: made.id, limit: 20 })
    const told = body.objects
      .map(({ event }: Json) => event.info)
      .filter((info: Json) => info.object_in_batch === undefined)
      .toSorted((one: Json, next: Json) => one.file_eas_id - next.file_eas_id)
    const records = first.body as unknown as Json[]
    assert.deepEqual(
      told,
      ['Europe/Berlin', 'Europe/Rome'].map((path, index) => ({
        file_eas_id: records[index]?._id,
        path,
        file: ['a.jpg', 'b.jpg'][index],
        filesize: records[index]?.filesize,
      })),
    )
  })

  test('uploads at the same moment make each folder once', async () => {
    const settings = { objecttype: 'shot', eas_field: 'image', hierarchy_linked_object: { field: 'at.place.name' } }
    const made = await Promise.all([collect(settings), collect(settings)])
    const before = await places()
    const answers = await Promise.all([...made, ...made].map(({ id }, index) => send([`Asia/Kyoto/${index}.jpg`], id)))
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200, 200],
    )
    assert.equal(await places(), before + 2)
  })

  test('sub-folders of the hotfolder become links, in a nested table of their own too', async () => {
    const made = await collect({
      objecttype: 'shot',
      eas_field: 'image',
      hierarchy_linked_object: { field: '_nested:shot__found.at.place.name' },
    })
    const folder = join(svc.config.dataDir, 'hotfolder', made.uuid)
    await mkdir(join(folder, 'Africa', 'Cairo'), { recursive: true })
    await writeFile(join(folder, 'Africa', 'Cairo', 'pyramid.jpg'), await picture())
    await until(async () => (await namesIn(svc, made.id)).length === 1)
    const [shot] = await shots(made.id)
    assert.deepEqual(await Promise.all(shot['_nested:shot__found'].map((row: Json) => pathOf(row.at))), [
      'Africa/Cairo',
    ])
  })

  test('in a row of the file the link stands beside it, also where the object is there already', async () => {
    const made = await collect({
      objecttype: 'roll',
      eas_field: '_nested:roll__frame.scan',
      recognize_series: true,
      hierarchy_linked_object: { field: '_nested:roll__frame.at.place.name' },
    })
    for (const names of [['North/f-1.jpg', 'South/f-2.jpg'], ['West/f-3.jpg']]) {
      const { status, body } = await send(names, made.id)
      assert.equal(status, 200, JSON.stringify(body))
    }
    const { body } = await root().get(`/collection/objects/${made.id}`)
    assert.equal(body.count, 1)
    const id = body.objects[0]._global_object_id.split('@')[0]
    const { roll } = (await root().get(`/db/roll/_all_fields/system_object_id/${id}`)).body[0]
    const rows = await Promise.all(
      roll['_nested:roll__frame'].map(async (row: Json) => [row.scan[0].original_filename, await pathOf(row.at)]),
    )
    assert.deepEqual(rows.toSorted(), [
      ['f-1.jpg', 'North'],
      ['f-2.jpg', 'South'],
      ['f-3.jpg', 'West'],
    ])
  })

  test('a field that cannot take folders is refused, and nothing is made', async () => {
    const fields: [field: string, code: string][] = [
      ['shot.nothing.place.name', 'UnknownField'],
      ['shot.at.place.nothing', 'UnknownField'],
      ['shot.at', 'UnknownField'],
      ['shot.near.flat.name', 'ServerGeneric'],
    ]
    const before = await places()
    for (const [field, code] of fields) {
      const made = await collect({ objecttype: 'shot', eas_field: 'image', hierarchy_linked_object: { field } })
      const { status, body } = await send(['Oceania/z.jpg'], made.id)
      assert.deepEqual([status, body.code], [400, code], field)
    }
    // Places have no pools.
    const pooled = await drives.svc.as('root').post('/collection', {
      collection: {
        create_object: {
          objecttype: 'shot',
          eas_field: 'image',
          hierarchy_linked_object: { field: 'at.place.name' },
          linked_object_pools: { at: { pool: { _id: drives.pool } } },
        },
      },
    })
    assert.deepEqual(
      [pooled.status, pooled.body.parameters.path],
      [400, 'body.collection.create_object.linked_object_pools.at'],
    )
    assert.equal(await places(), before)
  })
})
