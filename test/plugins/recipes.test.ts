import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { fetched, picture, upload } from '../files/support.ts'
import type { Client, Json } from '../support/client.ts'
import { inPool, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { startService, type TestService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { archive, install, type PluginFiles, switched, uploadArchive } from './support.ts'

let museum: Museum
let svc: TestService
let root: Client
let folder: string
let plugin: Json

const source = { type: 'file_in', file: { url: '%_source.url%', name: '%_source.generatedname%' } }
const target = (name: string) => ({ type: 'file_out', file: { url: '%_target.url%', name } })
const node = (...args: unknown[]) => ({
  service: 'node',
  commands: [{ prog: 'node', args: ['%_exec.pluginDir%/run.js', folder, ...args] }],
})

/** Notes what it is told, and does what the file of the moment says. */
const script = `
  const fs = require('node:fs')
  const [, , folder, name, info, ...paths] = process.argv
  const told = JSON.parse(info)
  fs.appendFileSync(folder + '/told', JSON.stringify({ name, info: told, paths }) + '\\n')
  const code = JSON.parse(fs.readFileSync(folder + '/behaviour', 'utf8'))[name] ?? ''
  new Function('fs', 'info', 'from', 'to', 'word', code)(fs, told, ...paths)`

const made = (extra: object = {}) => ({
  class: 'image',
  execs: [
    { match: {}, timeoutSec: 0, extension: 'jpg', ...node('make', '%info.json%', source, target('out.jpg'), '%word%') },
  ],
  params: { word: { type: 'string' } },
  ...extra,
})
const says = (name: string, extra: object = {}) => ({
  class: '_metadata',
  metadata: [{ file: 'found.json' }, { file: 'found.txt', fulltext: true }],
  execs: [
    {
      service: 'node',
      commands: [
        {
          prog: 'node',
          stdout: { type: 'file', file: 'found.txt' },
          args: [
            '%_exec.pluginDir%/run.js',
            folder,
            name,
            '%info.json%',
            { ...source, file: { url: '%_source.url%' } },
            target('found.json'),
          ],
        },
      ],
    },
  ],
  ...extra,
})

function files(produce: object, recipes: object, more: PluginFiles = {}): PluginFiles {
  return {
    'manifest.yml': JSON.stringify({
      plugin: { name: 'maker' },
      fas_config: { produce_config: 'fas/produce.yml', cookbooks: ['fas/book.yml'] },
    }),
    'fas/produce.yml': JSON.stringify(produce),
    'fas/book.yml': JSON.stringify({ name: 'book', recipes }),
    'run.js': script,
    ...more,
  }
}
const version = (more: object = {}) => ({
  name: 'extra',
  recipename: 'maker:book:make',
  params: { word: 'one' },
  ...more,
})
const usual = () =>
  files(
    {
      classes: {
        image: {
          versions: [
            version({ extensions: ['jpg'], displayname: { 'en-US': 'Extra' }, group: 'own' }),
            version({ name: 'free', extensions: ['jpg'], rightsmanagement: false, sourceversion: 'small' }),
            version({ name: 'nowhere', extensions: ['png'], recipename: 'maker:book:nowhere', params: {} }),
            // The base configuration has one of that name.
            version({ name: 'small' }),
          ],
        },
      },
      custommetadata: [{ recipename: 'maker:book:say', extensions: ['jpg'], includeversions: false }],
    },
    {
      make: made(),
      say: says('say'),
      nowhere: made({
        execs: [{ service: 'convert', commands: [{ prog: 'convert', args: [source, target('out.jpg')] }] }],
        params: {},
      }),
    },
  )

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'plugins-'))
  museum = await startMuseum()
  svc = museum.svc
  root = svc.as('root')
  await behave({})
  plugin = await install(svc, 'maker', usual())
})
after(async () => {
  await museum[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})
beforeEach(async () => {
  await rm(join(folder, 'told'), { force: true })
  await behave({})
})

const copy = 'fs.copyFileSync(from, to)'
const behave = (code: Readonly<Record<string, string>>): Promise<void> =>
  writeFile(
    join(folder, 'behaviour'),
    JSON.stringify({ make: copy, say: `fs.writeFileSync(to, '{}'); console.log('none')`, ...code }),
  )
async function told(): Promise<Json[]> {
  const text = await readFile(join(folder, 'told'), 'utf8').catch(() => '')
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}

async function sent(name: string, content?: Buffer, login = 'root'): Promise<number> {
  const file = { name, content: content ?? (await picture(600, 400, name.endsWith('png') ? 'png' : 'jpeg')) }
  const { status, body } = await upload(svc, login, [file], { produce_versions: 'true' })
  assert.equal(status, 200, JSON.stringify(body))
  await svc.drain()
  return body[0]._id
}
const record = async (id: number): Promise<Json> =>
  (await root.get('/eas', { ids: JSON.stringify([id]), format: 'long' })).body[id]
async function states(id: number): Promise<Record<string, string>> {
  const { rows } = await svc.db.query<{ name: string; status: string; reason: string | null }>(
    `select name, status, reason from file_rendition where file_id = $1 and name = any('{extra,free,nowhere,:metadata}')`,
    [id],
  )
  return Object.fromEntries(
    rows.map(({ name, status, reason }) => [name, reason === null ? status : `${status}: ${reason}`]),
  )
}
async function events(type: string, id: number): Promise<Json[]> {
  const { body } = await root.get('/event/list', { type, object_id: id, basetype: 'file', limit: 100 })
  return body.objects.map(({ event }: Json) => event)
}
async function resync(): Promise<void> {
  assert.equal((await root.post('/eas/resync')).status, 200)
  await svc.drain()
}

test('a recipe of a plugin makes renditions beside those of the service, and is told its parameters', async () => {
  const content = await picture(600, 400)
  const id = await sent('one.jpg', content)
  const { versions } = await record(id)
  assert.deepEqual(
    [versions.extra.class, versions.extra.extension, versions.extra.width, versions.extra.status],
    ['image', 'jpg', '600', 'done'],
  )
  assert.deepEqual((await fetched(svc, versions.extra.url)).content, content)
  // Made of another rendition, which is smaller.
  assert.equal(versions.free.width, '400')
  assert.equal(versions.small.width, '400', 'one of the same name stays that of the service')
  const calls = (await told()).filter(({ name }) => name === 'make')
  assert.equal(calls.length, 2)
  for (const { info, paths } of calls) {
    assert.deepEqual([info.recipe, info.recipe_params], ['maker:book:make', { word: 'one' }])
    assert.match(info.api_user_access_token, /./)
    assert.deepEqual([paths.length, paths[2]], [3, 'one'])
    assert.match(paths[0], /source\.(jpg|webp|png)$/)
  }
  const [produced] = (await events('FILE_PRODUCE', id)).filter(({ info }) => info.recipe.name === 'extra')
  assert.equal(produced.info.recipe.program.name, 'maker:book:make')
  // Another extension, and a program that is not on this machine.
  const other = await states(await sent('two.png'))
  assert.deepEqual(Object.keys(other).sort(), [':metadata', 'nowhere'])
  assert.match(
    other.nowhere ?? '',
    /^not_produced: maker:book:nowhere: exec\.service: there is no service convert here/,
  )
})

test('rights name such renditions unless their plugin says that none is needed', async () => {
  const made = await root.post('/user', [{ user: { login: 'ann' }, _password: 'ann' }], {
    confirm: 'ignore_password_requirements',
  })
  assert.equal(made.status, 200, JSON.stringify(made.body))
  const who = { _basetype: 'user', user: { _id: made.body[0].user._id } }
  const grant = async (rights: object): Promise<void> => {
    const { pool } = (await root.get(`/pool/${museum.pool}`)).body[0]
    const saved = await root.post('/pool', [
      { pool: { _id: pool._id, _version: pool._version }, _acl: [{ who, rights: { read: {}, ...rights } }] },
    ])
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
  }
  const id = await sent('three.jpg')
  const block = { ...inPool(museum.pool), title: { 'en-US': 'Three' }, image: [{ _id: id }] }
  const saved = await root.post('/db/work', [payload('work', block, { _mask: 'work__standard' })])
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  await svc.drain()
  const seen = async (): Promise<string[]> => {
    const { body } = await svc.as('ann').get(`/db/work/work__standard/${saved.body[0].work._id}`)
    return Object.keys(body[0].work.image[0].versions ?? {}).sort()
  }
  await grant({ asset_show: { versions: ['image.extra'] } })
  assert.deepEqual(await seen(), ['extra', 'free'])
  await grant({})
  assert.deepEqual(await seen(), ['free'])
  // Nobody says any more that it is free.
  await switched(svc, plugin.id, false)
  assert.deepEqual(await seen(), [])
  await switched(svc, plugin.id, true)
  assert.deepEqual(await seen(), ['free'])
})

test('what a program breaks breaks its rendition alone, and says why', async () => {
  for (const [code, expected] of [
    ['process.exit(3)', 'failed: maker:book:make: its program ended with the code 3'],
    ['', 'failed: maker:book:make: its program has written no out.jpg'],
    [`fs.writeFileSync(to, '')`, 'failed: maker:book:make: its program has written no out.jpg'],
    [`fs.mkdirSync(to)`, 'failed: maker:book:make: its program has written no out.jpg'],
    // A page that is called a picture is none.
    [`fs.writeFileSync(to, '<script></script>')`, 'failed: maker:book:make: what its program has written is no jpg'],
  ] as const) {
    await behave({ make: code })
    const id = await sent('broken.jpg')
    const { extra, free } = await states(id)
    assert.deepEqual([extra, free], [expected, expected], code)
    const { versions } = await record(id)
    assert.equal(versions.small.status, 'done')
    const failures = (await events('FILE_PRODUCE_ERROR', id)).map(({ info }) => info.receipt.reason)
    assert.deepEqual(failures, [expected.slice(8), expected.slice(8)])
  }
  // It works on a copy.
  const content = await picture(600, 400)
  await behave({ make: `${copy}; fs.writeFileSync(from, 'gone')` })
  const kept = await record(await sent('kept.jpg', content))
  assert.deepEqual((await fetched(svc, kept.versions.original.url)).content, content)
})

test('a recipe that hangs keeps no rendition of the service waiting', async () => {
  await behave({
    make: `setInterval(() => { if (fs.existsSync(process.argv[2] + '/go')) { ${copy}; process.exit() } }, 20)`,
  })
  const content = await picture(1200, 800)
  const { body } = await upload(svc, 'root', [{ name: 'waits.jpg', content }], { produce_versions: 'true' })
  const id = body[0]._id
  const done = async (): Promise<string[]> => {
    const { rows } = await svc.db.query<{ name: string }>(
      `select name from file_rendition where file_id = $1 and status = 'done' order by 1`,
      [id],
    )
    return rows.map(({ name }) => name)
  }
  const own = ['full', 'huge', 'preview', 'small', 'zoom']
  await until(async () => (await done()).filter((name) => own.includes(name)).length === own.length)
  assert.ok(!(await done()).includes('extra'))
  await writeFile(join(folder, 'go'), '')
  await svc.drain()
  assert.ok((await done()).includes('extra'))
  await rm(join(folder, 'go'))
})

test('a resync follows plugins: renditions go with them, come with them, and are made anew when they change', async () => {
  await svc.db.query('delete from file_use')
  await svc.db.query('delete from file')
  const id = await sent('followed.jpg')
  await rm(join(folder, 'told'), { force: true })
  await resync()
  assert.deepEqual(await told(), [], 'nothing is made twice')
  await switched(svc, plugin.id, false)
  await resync()
  assert.deepEqual(Object.keys(await states(id)), [':metadata'])
  assert.equal((await record(id)).versions.extra, undefined)
  await switched(svc, plugin.id, true)
  await resync()
  assert.deepEqual((await told()).map(({ name }) => name).sort(), ['make', 'make', 'say'])
  await rm(join(folder, 'told'), { force: true })
  const changed = archive('maker', { ...usual(), 'more.txt': 'changed' })
  const answer = await root.post(`/plugin/manage/${plugin.id}`, {
    zip_file: { _id: await uploadArchive(svc, changed) },
  })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  await resync()
  assert.deepEqual((await told()).map(({ name }) => name).sort(), ['make', 'make', 'say'])
})

test('what a recipe says of a file is among its tags, its technical metadata and its words, and goes with the plugin', async () => {
  await behave({
    say: `
      fs.writeFileSync(to, JSON.stringify({
        Zoo: { Animal: 'okapi', legs: 4, names: ['a', 'b'], deep: { er: { yet: true } } },
        _fulltext: { text: ['stripes behind'] },
        _technical_metadata: { shutter: { noise: 'low' }, width: 1 },
      }))
      console.log('and a long tongue')`,
  })
  const id = await sent('okapi.jpg')
  const read = async () => ({
    tags: (await record(id)).metadata?.groups?.Zoo ?? [],
    technical: (await record(id)).technical_metadata,
    words: (await svc.db.query<{ text: string }>('select text from file_text where file_id = $1', [id])).rows.map(
      ({ text }) => text,
    ),
  })
  const { tags, technical, words } = await read()
  assert.deepEqual(
    tags.map(({ name, value, values }: Json) => [name, value, values ?? null]),
    [
      ['Animal', 'okapi', null],
      ['legs', 4, null],
      ['names', 'a; b', ['a', 'b']],
      ['deep.er.yet', true, null],
    ],
  )
  assert.deepEqual([technical.shutter, technical.width, technical.said], [{ noise: 'low' }, 600, undefined])
  assert.deepEqual(words, ['and a long tongue\n\nstripes behind'])
  await switched(svc, plugin.id, false)
  await resync()
  const gone = await read()
  assert.deepEqual([gone.tags, gone.technical.shutter, gone.words], [[], undefined, []])
  await switched(svc, plugin.id, true)
})

test('EVENT-019 a recipe that fails is an event with recipe and receipt, and with its body where that cannot be parsed', async () => {
  await root.post('/config/system/config', { user: { user_in_event_group: ['SYSTEM'] } })
  const failed = async (say: string): Promise<Json> => {
    await behave({ say })
    const id = await sent('failing.jpg')
    const [event, ...more] = await events('FILE_METADATA_ERROR', id)
    assert.deepEqual(more, [])
    assert.equal((await states(id))[':metadata'], 'done', 'what the file says of itself is read all the same')
    return event
  }
  const half = await failed(`fs.writeFileSync(to, '{"Zoo": {'); console.log('x')`)
  const reason = 'it has written no JSON object'
  assert.deepEqual(half.info, { recipe: 'maker:book:say', receipt: { status: 'failed', reason }, body: '{"Zoo": {' })
  assert.equal(half.basetype, 'file')
  // User-logged: it names who uploaded the file, where the instance wants that of its group.
  assert.equal(half.user_generated_displayname, 'Root')
  const ended = await failed('process.exit(1)')
  assert.deepEqual(Object.keys(ended.info).sort(), ['receipt', 'recipe'])
  assert.equal(ended.info.receipt.reason, 'maker:book:say: its program ended with the code 1')
  // Not pollable.
  assert.equal(half.pollable, false)
  const polled = (await root.get('/event/poll/0', { limit: 1000 })).body
  assert.ok(polled.every((one: Json) => one.event.type !== 'FILE_METADATA_ERROR'))
})

test('whatever a recipe says of a file, the file is read, and nothing of it is lost or out of bounds', async () => {
  const said = async (say: string) => {
    await behave({ say })
    const id = await sent('odd.jpg')
    const { metadata, technical_metadata: technical } = await record(id)
    const failures = (await events('FILE_METADATA_ERROR', id)).map(({ info }) => info.receipt.reason)
    assert.equal((await states(id))[':metadata'], 'done', say)
    assert.equal(technical.width, 600)
    assert.ok(metadata.groupnames.includes('JFIF') || metadata.groupnames.length > 0, say)
    return { metadata, technical, failures, id }
  }
  const write = (value: string) => `fs.writeFileSync(to, ${value}); console.log('x')`
  for (const [value, expected] of [
    [`'{"Zoo": {"a": "' + String.raw\`\\u0000\` + '"}}'`, 'character that cannot be stored'],
    [`'{"Zoo": {"a": "' + String.raw\`\\ud800\` + '"}}'`, 'character that cannot be stored'],
    [`'{"Zoo": {"a": 1e400}}'`, 'out of range'],
    [`'{"Zoo": ' + '['.repeat(50000) + ']'.repeat(50000) + '}'`, 'nested too deep'],
    [`'{"Zoo": "' + 'x'.repeat(1000000) + '"}'`, 'found.json is longer than 1000000 bytes'],
    [`'[]'`, 'it has written no JSON object'],
    [`Buffer.from([0xff, 0, 1])`, 'it has written no JSON object'],
  ] as const) {
    const { failures } = await said(write(value))
    assert.equal(failures.length, 1, value)
    assert.ok(failures[0].includes(expected), `${value}: ${failures[0]}`)
  }
  const many = await said(
    write(`JSON.stringify({
      Zoo: Object.fromEntries(Array.from({ length: 50000 }, (_, index) => ['k' + index, index])),
      __proto__: 1, constructor: { prototype: 'x' }, Text: 'no group', Empty: { a: null, b: '', c: [] },
      _technical_metadata: { ['__proto__']: { polluted: true }, filesize: 1, file_type_extension: 'exe', said: 5 },
    })`),
  )
  assert.deepEqual(many.failures, [])
  assert.ok(many.metadata.groups.Zoo.length <= 1000)
  const { filesize, file_type_extension, polluted } = many.technical
  assert.deepEqual([filesize > 1, file_type_extension, polluted], [true, 'jpg', undefined])
  const words = await said(
    `fs.writeFileSync(to, '{}'); fs.writeSync(1, Buffer.concat([Buffer.from('lynx '), Buffer.from([0, 0xff]), Buffer.alloc(2000000, 'y ')]))`,
  )
  const { rows } = await svc.db.query<{ text: string; cut: boolean }>(
    'select text, cut from file_text where file_id = $1',
    [words.id],
  )
  assert.deepEqual([rows[0]?.text.startsWith('lynx '), rows[0]?.text.length, rows[0]?.cut], [true, 1_000_000, true])
})

test('whatever of recipes is for another service is named, and keeps no plugin from being installed', async () => {
  const svc = await startService()
  try {
    const plugin = await install(
      svc,
      'maker',
      files(
        {
          custommetadata: [
            { recipename: 'maker:book:dynamic', metadata_request_only: true },
            { recipename: 'maker:book:say', includeversions: true },
            { recipename: 'maker:book:make' },
          ],
          classes: {
            image: {
              versions: [
                version({ zoomable: true, custommetadata: [{ recipename: 'maker:book:say' }] }),
                version({ name: 'original' }),
                version({ name: 'built_in', recipename: 'imageconverter:preview' }),
                version({ name: 'params', params: { other: 1 } }),
                version({ name: 'class', recipename: 'maker:book:say', params: {} }),
                version({ name: 'path', recipename: 'maker:book:path' }),
                version({ name: 'match', recipename: 'maker:book:match' }),
              ],
            },
            vector3d: { versions: [] },
          },
        },
        {
          make: made(),
          say: says('say'),
          dynamic: says('say', { dynamic: { exec: {} } }),
          path: made({ execs: [node('make', source, target('../out.jpg'))] }),
          match: made({ execs: [{ ...node(source, target('out.jpg')), match: { format: 'tif' } }] }),
        },
      ),
    )
    const config = 'fas_config.produce_config'
    assert.deepEqual(plugin.unsupported.toSorted(), [
      'fas_config.cookbooks.0.recipes.dynamic.dynamic.exec.commands',
      'fas_config.cookbooks.0.recipes.match.execs.0.match',
      'fas_config.cookbooks.0.recipes.path.execs.0.commands.0.args.4.file.name',
      `${config}.classes.image.versions.0.custommetadata`,
      `${config}.classes.image.versions.0.zoomable`,
      `${config}.classes.image.versions.1.name`,
      `${config}.classes.image.versions.2.recipename`,
      `${config}.classes.image.versions.3.params.other`,
      `${config}.classes.image.versions.4.recipename`,
      `${config}.classes.image.versions.5.recipename`,
      `${config}.classes.image.versions.6.recipename`,
      `${config}.classes.vector3d`,
      `${config}.custommetadata.0.recipename`,
      `${config}.custommetadata.1.includeversions`,
      `${config}.custommetadata.2.recipename`,
    ])
    // Files that are not there, or are no YAML, are refused like a manifest.
    const refusals: [fas: object, more: PluginFiles, expected: RegExp][] = [
      [{ cookbooks: ['none.yml'] }, {}, /^manifest\.yml: fas_config\.cookbooks\.0 must be the path/],
      [{ cookbooks: ['../maker/fas/book.yml'] }, {}, /^manifest\.yml: fas_config\.cookbooks\.0 must be the path/],
      [{ cookbooks: 'fas/book.yml' }, {}, /^manifest\.yml: fas_config\.cookbooks must be a list/],
      [{ produce_config: { classes: {} } }, {}, /^manifest\.yml: fas_config\.produce_config must be the path/],
      [{ cookbooks: ['broken.yml'] }, { 'broken.yml': 'name: [' }, /^broken\.yml: line 1/],
      [
        { cookbooks: ['long.yml'] },
        { 'long.yml': `name: "${'x'.repeat(70_000)}"` },
        /^long\.yml: it is longer than 65536/,
      ],
    ]
    for (const [fas, more, expected] of refusals) {
      const all = files({}, {}, more)
      const manifest = JSON.stringify({ plugin: { name: 'other' }, fas_config: fas })
      const content = archive('other', { ...all, 'manifest.yml': manifest })
      const answer = await svc
        .as('root')
        .put('/plugin/manage', { type: 'zip', zip_file: { _id: await uploadArchive(svc, content) } })
      assert.equal(answer.status, 400)
      assert.match(answer.body.error ?? answer.body.message ?? JSON.stringify(answer.body), expected)
    }
  } finally {
    await svc[Symbol.asyncDispose]()
  }
})
