import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { namesIn, startDrives } from '../drives/support.ts'
import { picture, upload } from '../files/support.ts'
import { install, nodeScript, switched } from '../plugins/support.ts'
import type { Json } from '../support/client.ts'
import type { TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

const program = (file: string) => ({
  exec: {
    service: 'node',
    commands: [
      {
        prog: 'node',
        stdin: { type: 'body' },
        stdout: { type: 'body' },
        args: [{ type: 'value', value: `%_exec.pluginDir%/${file}` }],
      },
    ],
  },
})

const manifest = JSON.stringify({
  plugin: { name: 'titles', version: '1', displayname: { 'en-US': 'Titles' } },
  collection_upload: {
    filename_copy: {
      config: [{ name: 'filename_copy', parameters: { filename_target: { type: 'text' } } }],
      callbacks: { objects: program('copy.js') },
    },
    refuses: { config: [], callbacks: { objects: program('refuse.js') } },
    floods: { config: [], callbacks: { objects: program('flood.js') } },
  },
})

const copy = nodeScript(`
  const { file, collection, collection_config: config } = payload.info
  const upload_log = []
  const objects = payload.objects.map((object) => {
    upload_log.push({ file: file.original_filename, filesize: file.filesize, status: 'done', msg: 'title set', file_eas_id: file._id })
    upload_log.push({ msg: collection.collection.uuid, status: 'noted', system_object_id: 4711 })
    const block = object[object._objecttype]
    return { ...object, _mask: '_all_fields', [object._objecttype]: { ...block, [config.filename_copy.filename_target]: file.original_filename } }
  })
  answer({ objects, upload_log })`)
const refuse = nodeScript(`
  if (payload.info.file.original_filename === 'bad.jpg') answer({ error: { code: 'titles.bad', statuscode: 400, realm: 'api', error: 'Not this one' } })
  else answer({ objects: [] })`)
const flood = nodeScript(`answer({ objects: [], upload_log: Array.from({ length: 101 }, () => ({})) })`)

suite('plugins in uploads into collections', () => {
  let svc: TestService
  let drives: Awaited<ReturnType<typeof startDrives>>
  let installed: Json
  const root = () => svc.as('root')
  before(async () => {
    drives = await startDrives()
    svc = drives.svc
    installed = await install(svc, 'titles', {
      'manifest.yml': manifest,
      'copy.js': copy,
      'refuse.js': refuse,
      'flood.js': flood,
    })
  })
  after(() => svc[Symbol.asyncDispose]())

  async function send(names: readonly string[], collection: number) {
    const files = await Promise.all(names.map(async (name) => ({ name, content: await picture() })))
    return upload(svc, 'editor', files, { collection })
  }
  const config = { filename_copy: { filename_target: 'title' } }

  async function objectsOf(collection: number): Promise<Json[]> {
    const { body } = await root().get(`/collection/objects/${collection}`)
    const ids = body.objects.map((one: Json) => one._global_object_id.split('@')[0])
    return Promise.all(
      ids.map(async (id: string) => (await root().get(`/db/photo/_all_fields/system_object_id/${id}`)).body[0]),
    )
  }

  test('EVENT-043: a plugin changes what is made of each file, and each entry of its log is an event', async () => {
    const made = await drives.collection({ plugin: 'titles:filename_copy', plugin_config: config })
    const { status, body } = await send(['one.jpg', 'two.jpg'], made.id)
    assert.equal(status, 200, JSON.stringify(body))
    const objects = await objectsOf(made.id)
    assert.deepEqual(
      objects.map(({ photo }) => [photo.title, photo.image[0].original_filename]),
      [
        ['one.jpg', 'one.jpg'],
        ['two.jpg', 'two.jpg'],
      ],
    )
    const listed = await root().get('/event/list', { type: 'COLLECTION_UPLOAD', object_id: made.id, limit: 20 })
    const told = listed.body.objects
      .map(({ event }: Json) => event.info)
      .filter(({ log_entry }: Json) => log_entry !== undefined)
      .toSorted((one: Json, other: Json) => one.file_eas_id - other.file_eas_id || (one.status < other.status ? -1 : 1))
    const records = body as unknown as Json[]
    const expected = records.flatMap((record, index) => {
      const common = {
        path: '',
        plugin: 'titles:filename_copy',
        file: ['one.jpg', 'two.jpg'][index],
        file_eas_id: record._id,
        filesize: record.filesize,
      }
      return [
        { ...common, msg: 'title set', status: 'done', system_object_id: objects[index]?._system_object_id },
        { ...common, msg: made.uuid, status: 'noted', system_object_id: 4711 },
      ]
    })
    assert.deepEqual(
      told.map(({ log_entry: _, ...rest }: Json) => rest),
      expected,
    )
    assert.deepEqual(told.map(({ log_entry }: Json) => log_entry).toSorted(), [0, 1, 2, 3])
  })

  test('the hotfolder asks the plugin too, and keeps what it says in its log', async () => {
    const made = await drives.collection({ plugin: 'titles:filename_copy', plugin_config: config })
    const folder = join(svc.config.dataDir, 'hotfolder', made.uuid)
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'dropped.jpg'), await picture())
    await until(async () => (await readdir(folder)).join() === 'hotfolder.log')
    assert.equal((await objectsOf(made.id))[0]?.photo.title, 'dropped.jpg')
    const [, row] = (await readFile(join(folder, 'hotfolder.log'), 'utf8')).split('\n')
    assert.equal(row?.split('\t')[8], `title set; ${made.uuid}`)
  })

  test('what a plugin refuses is refused in its words, and stops no other file of the hotfolder', async () => {
    const made = await drives.collection({ plugin: 'titles:refuses' })
    const refused = await send(['good.jpg', 'bad.jpg'], made.id)
    assert.deepEqual([refused.status, refused.body.code], [400, 'titles.bad'], JSON.stringify(refused.body))
    assert.deepEqual(await namesIn(svc, made.id), [])
    const folder = join(svc.config.dataDir, 'hotfolder', made.uuid)
    await mkdir(folder, { recursive: true })
    for (const name of ['good.jpg', 'bad.jpg', 'fine.jpg']) await writeFile(join(folder, name), await picture())
    await until(async () => (await readdir(folder)).sort().join() === 'ERROR-bad.jpg,bad.jpg.log,hotfolder.log')
    assert.deepEqual((await namesIn(svc, made.id)).flat().sort(), ['fine.jpg', 'good.jpg'])
    assert.match(await readFile(join(folder, 'bad.jpg.log'), 'utf8'), /titles\.bad|Not this one/)
  })

  test('a plugin that is not there or off, an entry that it has not, and an answer without end are refused', async () => {
    const cases: [plugin: string, code: string][] = [
      ['nobody:filename_copy', 'PluginNotFound'],
      ['titles:nothing', 'PluginNotFound'],
      ['titles:floods', 'DbPreSaveFailed'],
    ]
    for (const [plugin, code] of cases) {
      const made = await drives.collection({ plugin })
      const answer = await send(['a.jpg'], made.id)
      assert.equal(answer.body.code, code, JSON.stringify(answer.body))
      assert.ok(answer.status >= 400 && answer.status < 500)
      assert.deepEqual(await namesIn(svc, made.id), [])
    }
    const made = await drives.collection({ plugin: 'titles:filename_copy', plugin_config: config })
    await switched(svc, installed.id, false)
    const off = await send(['a.jpg'], made.id)
    assert.deepEqual([off.status, off.body.code], [400, 'PluginDisabled'])
    await switched(svc, installed.id, true)
  })
})
