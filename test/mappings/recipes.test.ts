import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, suite, test } from 'node:test'
import { picture, upload } from '../files/support.ts'
import { install, switched, uploadArchive, archive as zipOf } from '../plugins/support.ts'
import { createUsers } from '../signin/support.ts'
import type { Answer, Json } from '../support/client.ts'
import { attachService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { type Archive, startArchive } from './support.ts'

const name = 'teller:book:tell'

/** What the recipe says that it gives. */
const gives = {
  params: {
    tone: {
      type: 'select',
      options: ['dry', 'rich'],
      default: 'dry',
      description: 'How it is told',
      usereditable: true,
    },
    words: { type: 'int', min: 1, max: 50, usereditable: true },
    short: { type: 'bool', usereditable: true },
    key: { type: 'string', usereditable: false },
  },
  mapping: {
    import: {
      json_error: 'teller.error',
      fields: [
        {
          name: 'title',
          displayname: { 'en-US': 'Title' },
          json_import: 'teller.fields.title',
          json_import_type: 'text_l10n',
        },
        { name: 'headline', json_import: 'teller.fields.head\\.line', json_import_type: 'text' },
        { name: 'keywords', json_import: 'teller.fields.words.#.word', json_import_type: 'text' },
        { name: 'moment', json_import: 'teller.fields.moment', json_import_type: 'datetime' },
        { name: 'iso', json_import: 'teller.fields.numbers.1', json_import_type: 'number' },
        { name: 'period', json_import: 'teller.fields.period', json_import_type: 'daterange' },
        { name: 'position', json_import: 'teller.fields.place', json_import_type: 'geo_json' },
      ],
    },
  },
}

const said = {
  teller: {
    fields: {
      title: { 'en-US': 'The lake', 'de-DE': 'Der See', 'fr-FR': '' },
      'head.line': 'At the lake',
      words: [{ word: 'lake' }, { word: '' }, { word: 'dawn' }],
      moment: { value: '1972-06-27 05:10' },
      numbers: [1, 200],
      period: { from: '1851', to: '1852' },
      place: { type: 'Point', coordinates: [8.5, 47.4] },
    },
  },
}

suite('recipes of plugins in mappings', () => {
  let it: Archive
  let folder: string
  let plugin: Json
  let mapping: number
  const root = () => it.svc.as('root')

  const args = (...more: unknown[]) => ['%_exec.pluginDir%/run.js', folder, ...more]
  const recipe = (more: object = {}) => ({
    class: '_metadata',
    displayname: { 'en-US': 'Teller' },
    extensions: ['jpg'],
    metadata: [{ file: 'told.json' }],
    execs: [
      {
        service: 'node',
        commands: [
          { prog: 'node', args: args('tell', '%info.json%', { type: 'file_out', file: { name: 'told.json' } }) },
        ],
      },
    ],
    dynamic: {
      exec: {
        service: 'node',
        commands: [{ prog: 'node', stdout: { type: 'body' }, args: args('gives', '%info.json%') }],
      },
    },
    ...more,
  })
  const files = (produce: object, recipes: object) => ({
    'manifest.yml': JSON.stringify({
      plugin: { name: 'teller' },
      fas_config: { produce_config: 'produce.yml', cookbooks: ['book.yml'] },
    }),
    'produce.yml': JSON.stringify(produce),
    'book.yml': JSON.stringify({ name: 'book', recipes }),
    'run.js': `
      const fs = require('node:fs')
      const [, , folder, what, info, to] = process.argv
      const { recipe, recipe_params: params } = JSON.parse(info)
      if (what === 'gives') {
        fs.appendFileSync(folder + '/asked', 'x')
        while (fs.existsSync(folder + '/wait')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
        process.stdout.write(fs.readFileSync(folder + '/gives.json'))
      }
      else {
        fs.appendFileSync(folder + '/told', JSON.stringify({ recipe, params }) + '\\n')
        fs.writeFileSync(to, fs.readFileSync(folder + '/said.json'))
      }`,
  })
  const usual = () =>
    files(
      {
        custommetadata: [
          {
            recipename: name,
            extensions: ['jpg', 'png'],
            metadata_request_only: true,
            params: { key: 'of the plugin' },
          },
        ],
      },
      { tell: recipe() },
    )
  const say = (value: object): Promise<void> => writeFile(join(folder, 'said.json'), JSON.stringify(value))
  const give = (value: unknown): Promise<void> => writeFile(join(folder, 'gives.json'), JSON.stringify(value))

  /** With what the recipe was told, since it was last asked for. */
  async function told(): Promise<Json[]> {
    const text = await readFile(join(folder, 'told'), 'utf8').catch(() => '')
    await rm(join(folder, 'told'), { force: true })
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line).params)
  }

  const native = (...fields: string[]) => fields.map((field) => ({ field }))
  const bound = (): Json[] => [
    { name: `${name}:title`, recipe_name: name, native: native('photo.title') },
    { name: `${name}:headline`, recipe_name: name, native: native('photo.headline') },
    { name: `${name}:keywords`, recipe_name: name, native: native('photo._nested:photo__persons.name') },
    { name: `${name}:moment`, recipe_name: name, native: native('photo.moment', 'photo.date') },
    { name: `${name}:iso`, recipe_name: name, native: native('photo.iso') },
    { name: `${name}:period`, recipe_name: name, native: native('photo.period') },
    { name: `${name}:position`, recipe_name: name, native: native('photo.position') },
  ]
  const body = (more: object = {}) => ({
    profile: 'file-metadata.yml',
    displayname: { 'en-US': 'Told' },
    fields: bound(),
    ...more,
  })
  async function made(more: object = {}): Promise<Json> {
    const answer = await root().put('/xmlmapping/mapping', body(more))
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body
  }
  async function sent(file = 'photo.jpg'): Promise<number> {
    const content = await picture(20, 20, file.endsWith('png') ? 'png' : 'jpeg')
    const { status, body } = await upload(it.svc, 'root', [{ name: file, content }], { produce_versions: 'true' })
    assert.equal(status, 200, JSON.stringify(body))
    await it.svc.drain()
    return body[0]._id
  }
  const list = (id: number, query: object = {}, login = 'root'): Promise<Answer> =>
    it.svc.as(login).get('/eas', { ids: `[${id}]`, mapping, objecttype: 'photo', pool_id: it.pool, ...query })
  async function mapped(id: number, query: object = {}): Promise<Json> {
    const answer = await list(id, query)
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body[id]._mapped_metadata?.photo
  }
  const configs = (params: object, recipe = name) => JSON.stringify({ [recipe]: { params } })

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'recipes-'))
    await give(gives)
    await say(said)
    it = await startArchive({ quotaHeavyRequests: 2 })
    plugin = await install(it.svc, 'teller', usual())
    mapping = (await made()).id
  })
  after(async () => {
    await it[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })
  beforeEach(async () => {
    await give(gives)
    await say(said)
    await told()
  })

  test('one caller who lists profiles all the time is refused, and others have their turn', async () => {
    await createUsers(it.svc, { user: { login: 'busy', _version: 1 } }, { user: { login: 'other', _version: 1 } })
    const path = '/xmlmapping/profile/file-metadata.yml'
    const asked = async (): Promise<number> => (await readFile(join(folder, 'asked'), 'utf8').catch(() => '')).length
    await Promise.all(['busy', 'other'].map((login) => it.svc.as(login).token()))
    await rm(join(folder, 'asked'), { force: true })
    await writeFile(join(folder, 'wait'), '')
    const busy = Array.from({ length: 6 }, () => it.svc.as('busy').get(path))
    const first = await Promise.any(busy)
    const { quota, most, retry_after } = first.body.parameters
    assert.deepEqual([first.status, first.body.code], [429, 'TooManyHeavyRequests'])
    assert.deepEqual([quota, most, retry_after], ['svc.quotas.heavyRequests', 2, 5])
    await until(async () => (await asked()) === 2)
    const other = it.svc.as('other').get(path)
    await until(async () => (await asked()) === 3)
    // A list without recipes needs no turn.
    assert.equal((await it.svc.as('busy').get('/xmlmapping/profile/lido.yml')).status, 200)
    await rm(join(folder, 'wait'))
    assert.equal((await other).body._compiled_recipes[name].extensions[0], 'jpg')
    const statuses = (await Promise.all(busy)).map(({ status }) => status)
    assert.deepEqual(statuses.sort(), [200, 200, 200, 200, 429, 429])
  })

  test('what a recipe gives stands in the profiles that take plugins, and mappings name the recipes that they need', async () => {
    assert.deepEqual(plugin.unsupported, [])
    const { body: profiles } = await root().get('/xmlmapping/list')
    const own = profiles.find((one: Json) => one.profile === 'file-metadata.yml')
    assert.equal(own.profile_type.plugins_import, true)
    const tab = own.tabs.at(-1)
    assert.deepEqual([tab.tab, tab.text], [name, { 'en-US': 'Teller' }])
    assert.deepEqual(tab.fields[0], {
      _id: `${name}:title`,
      name: `${name}:title`,
      text: { 'en-US': 'Title' },
      xml_import: [],
      xml_export: [],
      json_import: 'teller.fields.title',
      json_import_type: 'text_l10n',
      recipe_name: name,
    })
    const compiled = own._compiled_recipes[name]
    assert.deepEqual(compiled.extensions, ['jpg'])
    assert.deepEqual(compiled.params.tone, { ...gives.params.tone, mandatory: false })
    assert.equal(compiled.mapping.import.json_error, 'teller.error')
    assert.deepEqual(own.mappings.find(({ id }: Json) => id === mapping)._recipes_required, [name])
    assert.deepEqual(own.mappings.find(({ id }: Json) => id === 1)._recipes_required, [])
    for (const other of profiles.filter(({ profile }: Json) => profile !== 'file-metadata.yml')) {
      assert.deepEqual(other._compiled_recipes, {}, other.profile)
    }
    const { body: one } = await root().get('/xmlmapping/profile/file-metadata.yml')
    assert.deepEqual(one, own)
    // What was answered can be sent back, also while the plugin is off.
    const { body: stored } = await root().get(`/xmlmapping/mapping/${mapping}`)
    assert.equal(stored.fields[0].recipe_name, name)
    await switched(it.svc, plugin.id, false)
    const again = await root().post(`/xmlmapping/mapping/${mapping}`, stored)
    assert.deepEqual([again.status, again.body], [200, stored])
    const fresh = await root().put('/xmlmapping/mapping', body())
    assert.deepEqual([fresh.status, fresh.body.parameters.path], [400, 'body.fields[0].recipe_name'])
    assert.deepEqual((await root().get('/xmlmapping/profile/file-metadata.yml')).body._compiled_recipes, {})
    await switched(it.svc, plugin.id, true)
  })

  test('a mapping asks its recipe for the fields that it binds, and the same question once', async () => {
    const id = await sent()
    assert.deepEqual(await told(), [], 'it is asked when a mapping needs it')
    assert.deepEqual(await mapped(id), {
      _pool: { pool: { _id: it.pool } },
      title: { 'en-US': 'The lake', 'de-DE': 'Der See' },
      headline: 'At the lake',
      '_nested:photo__persons': [{ name: 'lake' }, { name: 'dawn' }],
      moment: { value: '1972-06-27T05:10:00' },
      date: { value: '1972-06-27' },
      iso: 200,
      period: { from: '1851', to: '1852' },
      position: { type: 'Point', coordinates: [8.5, 47.4] },
    })
    assert.deepEqual(await told(), [{ tone: 'dry', key: 'of the plugin' }])
    await mapped(id)
    const other = await it.svc.as('root').get(`/eas/${id}`, { mapping, objecttype: 'photo' })
    assert.equal(other.body._mapped_metadata.photo.headline, 'At the lake')
    assert.deepEqual(await told(), [])
    assert.equal((await mapped(id, { mapping_recipe_configs: configs({ tone: 'rich' }) })).headline, 'At the lake')
    assert.deepEqual(await told(), [{ tone: 'rich', key: 'of the plugin' }])
    // A mapping without its fields asks nobody, and neither does one for a file that the recipe does not take.
    await mapped(id, { mapping: 1 })
    await mapped(await sent('drawing.png'))
    assert.deepEqual(await told(), [])
    // The content has changed, and the plugin.
    const renewed = zipOf('teller', { ...usual(), more: 'changed' })
    const changed = await root().post(`/plugin/manage/${plugin.id}`, {
      zip_file: { _id: await uploadArchive(it.svc, renewed) },
    })
    assert.equal(changed.status, 200, JSON.stringify(changed.body))
    await mapped(id)
    assert.equal((await told()).length, 1)
    // Nothing is stored where nothing may be.
    await using reader = await attachService(it.svc.dsn, { readOnly: true, dataDir: it.svc.config.dataDir })
    const query = { mapping, objecttype: 'photo', mapping_recipe_configs: configs({ words: 3 }) }
    assert.equal((await reader.as('root').get(`/eas`, { ids: `[${id}]`, ...query })).status, 200)
    const { rows } = await it.svc.db.query('select answer from file_recipe_answer where file_id = $1', [id])
    assert.deepEqual(rows, [{ answer: said }])
  })

  test('a recipe is told what a request says, else its object type, its mapping, its plugin, itself', async () => {
    const id = await sent()
    const own = (
      await made({ recipe_configs: { [name]: { params: { tone: 'rich', words: '7', key: 'of the mapping' } } } })
    ).id
    const stored = (await root().get(`/xmlmapping/mapping/${own}`)).body
    assert.deepEqual(stored.recipe_configs, { [name]: { params: { tone: 'rich', words: 7, key: 'of the mapping' } } })
    await mapped(id, { mapping: own })
    const set = async (fields: object): Promise<void> => {
      const { objecttypes } = (await root().get('/objecttype')).body
      const found = (objecttypes ?? (await root().get('/objecttype')).body).find(
        ({ objecttype }: Json) => objecttype.name === 'photo',
      )
      const { _id, _version } = found.objecttype
      const answer = await root().post('/objecttype', [
        { _basetype: 'objecttype', objecttype: { _id, _version: _version + 1, ...fields } },
      ])
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
    }
    await set({
      mapping_image_import: own,
      mapping_image_import_recipe_configs: { [name]: { params: { words: 9, short: true, key: null } } },
    })
    await mapped(id, { mapping: 'standard' })
    await mapped(id, { mapping: own, mapping_recipe_configs: configs({ words: 11, short: 'yes' }) })
    await mapped(id)
    assert.deepEqual(await told(), [
      { tone: 'rich', words: 7, key: 'of the mapping' },
      { tone: 'rich', words: 9, short: true, key: 'of the mapping' },
      { tone: 'rich', words: 11, short: true, key: 'of the mapping' },
      { tone: 'dry', key: 'of the plugin' },
    ])
    await set({ mapping_image_import: null, mapping_image_import_recipe_configs: null })
  })

  test('OTAPI-008 OT-005 an object type keeps recipes beside a real mapping for imports, and beside nothing else', async () => {
    const { id } = await made({})
    const photo = async () =>
      (await root().get('/objecttype')).body.find(({ objecttype }: Json) => objecttype.name === 'photo').objecttype
    const save = async (fields: object) => {
      const { _id, _version } = await photo()
      return root().post('/objecttype', [{ objecttype: { _id, _version: _version + 1, ...fields } }])
    }
    const mapping_image_import_recipe_configs = { [name]: { params: { words: 9 } } }
    const { mapping_image_import: standard } = await photo()
    for (const beside of [{ mapping_image_import: 'none' }, { mapping_image_import: 999_999 }]) {
      const refused = await save({ ...beside, mapping_image_import_recipe_configs })
      assert.equal(refused.status, 400, JSON.stringify(beside))
    }
    assert.deepEqual(
      [(await photo()).mapping_image_import, 'mapping_image_import_recipe_configs' in (await photo())],
      [standard, false],
    )
    const saved = await save({ mapping_image_import: id, mapping_image_import_recipe_configs })
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
    for (const shown of [saved.body[0].objecttype, await photo()]) {
      assert.equal(shown.mapping_image_import, id)
      assert.deepEqual(shown.mapping_image_import_recipe_configs, mapping_image_import_recipe_configs)
    }
    const cleared = await save({ mapping_image_import: null, mapping_image_import_recipe_configs: null })
    assert.equal(cleared.status, 200, JSON.stringify(cleared.body))
  })

  test('parameters that a recipe does not have, or not like that, are refused by name wherever they are said', async () => {
    const id = await sent()
    const wrong: [params: object, parameter: string][] = [
      [{ tone: 'loud' }, 'tone'],
      [{ tone: 5 }, 'tone'],
      [{ words: 0 }, 'words'],
      [{ words: 51 }, 'words'],
      [{ words: 1.5 }, 'words'],
      [{ words: '1e3' }, 'words'],
      [{ short: 1 }, 'short'],
      [{ other: 'x' }, 'other'],
    ]
    // People do not set it, whoever may change mappings does.
    const users: typeof wrong = [...wrong, [{ key: 'x' }, 'key']]
    for (const [params, parameter] of users) {
      const asked = await list(id, { mapping_recipe_configs: configs(params) })
      const path = `${name}.params.${parameter}`
      assert.deepEqual([asked.status, asked.body.parameters.path], [400, `mapping_recipe_configs.${path}`])
      const create_object = { objecttype: 'photo', mapping, mapping_recipe_configs: JSON.parse(configs(params)) }
      const collected = await root().post('/collection', { collection: { create_object } })
      const at = `body.collection.create_object.mapping_recipe_configs.${path}`
      assert.deepEqual([collected.status, collected.body.parameters.path], [400, at])
    }
    for (const [params, parameter] of wrong) {
      const answer = await root().put('/xmlmapping/mapping', body({ recipe_configs: JSON.parse(configs(params)) }))
      assert.deepEqual(
        [answer.status, answer.body.parameters.path],
        [400, `body.recipe_configs.${name}.params.${parameter}`],
      )
    }
    assert.deepEqual(await told(), [])
    for (const [value, path] of [
      ['{"other:book:tell": {}}', 'mapping_recipe_configs.other:book:tell'],
      [`{"${name}": []}`, `mapping_recipe_configs.${name}`],
      [`{"${name}": {"params": 1}}`, `mapping_recipe_configs.${name}.params`],
      [`{"${name}": {"parameters": {}}}`, `mapping_recipe_configs.${name}.parameters`],
    ] as const) {
      const answer = await list(id, { mapping_recipe_configs: value })
      assert.deepEqual([answer.status, answer.body.parameters.path], [400, path], value)
    }
    for (const [field, path] of [
      [{ name: `${name}:nothing`, recipe_name: name }, 'name'],
      [{ name: 'title', recipe_name: name }, 'name'],
      [{ name: `${name}:title`, recipe_name: 'teller:book:other' }, 'recipe_name'],
      [{ name: `${name}:title` }, 'name'],
      [{ ...bound()[0], json_import: 'elsewhere' }, 'json_import'],
      [{ ...bound()[0], json_import_type: 'text' }, 'json_import_type'],
      [{ ...bound()[0], xml_import: [{ search: 'XMP-dc:Title' }] }, 'xml_import'],
      [{ ...bound()[0], type: 'Output' }, 'type'],
      [{ ...bound()[0], custom: true }, 'custom'],
    ] as const) {
      const answer = await root().put('/xmlmapping/mapping', body({ fields: [field] }))
      assert.deepEqual(
        [answer.status, answer.body.parameters.path],
        [400, `body.fields[0].${path}`],
        JSON.stringify(field),
      )
    }
    const dc = { profile: 'dc.yml', fields: [{ ...bound()[0] }] }
    assert.equal((await root().put('/xmlmapping/mapping', dc)).status, 400)
  })

  test('a recipe that fails says nothing, which stands in the log, and is asked again', async () => {
    const id = await sent()
    const reasons = async (): Promise<string[]> => {
      const { body } = await root().get('/event/list', { type: 'FILE_METADATA_ERROR', object_id: id, basetype: 'file' })
      return body.objects.map(({ event }: Json) => `${event.info.recipe}: ${event.info.receipt.reason}`)
    }
    await say({ teller: { error: 'Nothing to be seen', fields: said.teller.fields } })
    assert.deepEqual(await mapped(id), { _pool: { pool: { _id: it.pool } } })
    assert.deepEqual(await reasons(), [`${name}: Nothing to be seen`])
    await say([] as object)
    assert.equal((await mapped(id)).headline, undefined)
    assert.equal((await reasons()).length, 2)
    await say(said)
    assert.equal((await mapped(id)).headline, 'At the lake')
    assert.equal((await told()).length, 3)
    // What it gives is looked at, too.
    for (const broken of [
      'x',
      [],
      { mapping: { import: { fields: [{ name: 'a b', json_import: 'x' }] } } },
      { params: 5 },
      { mapping: { import: { fields: [{ name: 'a', displayname: { 'en-US': 'a\0' }, json_import: 'x' }] } } },
    ]) {
      await give(broken)
      assert.deepEqual(
        (await root().get('/xmlmapping/profile/file-metadata.yml')).body._compiled_recipes,
        {},
        JSON.stringify(broken),
      )
    }
  })

  test('what must be said is asked for, where nobody says it', async () => {
    await give({
      ...gives,
      params: { ...gives.params, constructor: { type: 'string', mandatory: true, usereditable: true } },
    })
    const id = await sent()
    const own = (await made()).id
    const refused = await list(id, { mapping: own })
    assert.deepEqual(
      [refused.status, refused.body.parameters.path],
      [400, `mapping_recipe_configs.${name}.params.constructor`],
    )
    await mapped(id, { mapping: own, mapping_recipe_configs: configs({ constructor: 'Lakes' }) })
    assert.deepEqual(await told(), [{ tone: 'dry', key: 'of the plugin', constructor: 'Lakes' }])
  })

  test('uploads into a collection tell the recipe what the collection says', async () => {
    const create_object = {
      objecttype: 'photo',
      eas_field: 'file',
      pool_id: it.pool,
      mapping,
      mapping_recipe_configs: JSON.parse(configs({ tone: 'rich' })),
    }
    const { status, body } = await root().post('/collection', { collection: { create_object } })
    assert.equal(status, 200, JSON.stringify(body))
    assert.deepEqual(body.collection.create_object.mapping_recipe_configs, create_object.mapping_recipe_configs)
    const content = await picture(30, 30)
    const sent = await upload(it.svc, 'root', [{ name: 'a.jpg', content }], {
      collection: body.collection._id,
      produce_versions: 'true',
    })
    assert.equal(sent.status, 200, JSON.stringify(sent.body))
    assert.deepEqual(await told(), [{ tone: 'rich', key: 'of the plugin' }])
    const [{ _system_object_id: id }] = sent.body[0]._linked_objects
    const object = await root().get(`/db/photo/_all_fields/system_object_id/${id}`)
    assert.equal(object.body[0].photo.headline, 'At the lake')
    // Also where uploads look for objects, which they do one after the other.
    const upserting = await root().post('/collection', {
      collection: { create_object: { ...create_object, update_mode: 'upsert', update_search_field: 'photo.secret' } },
    })
    assert.equal(upserting.status, 200, JSON.stringify(upserting.body))
    const once = await upload(it.svc, 'root', [{ name: 'b.jpg', content: await picture(31, 31) }], {
      collection: upserting.body.collection._id,
      produce_versions: 'true',
    })
    assert.equal(once.status, 200, JSON.stringify(once.body))
    assert.equal((await told()).length, 1)
    for (const other of ['standard', 'none', undefined]) {
      const refused = await root().post('/collection', {
        collection: { create_object: { ...create_object, mapping: other } },
      })
      assert.deepEqual(
        [refused.status, refused.body.parameters.path],
        [400, 'body.collection.create_object.mapping_recipe_configs'],
      )
    }
  })

  test('only files that the caller may see are told of', async () => {
    await createUsers(it.svc, { user: { login: 'stranger', _version: 1 } })
    const id = await sent()
    const answer = await list(id, {}, 'stranger')
    assert.notEqual(answer.body[id]?._mapped_metadata?.photo?.headline, 'At the lake', JSON.stringify(answer.body))
    assert.deepEqual(await told(), [])
  })
})
