import { setTimeout as sleep } from 'node:timers/promises'
import type { Json } from '../test/support/client.ts'
import { link, payload } from '../test/support/seed/museum.ts'
import type { Caller } from './caller.ts'
import { addPlugin, pluginArchive, pluginThatIsOn } from './plugins.ts'
import { password, type World } from './world.ts'

/** A valid request of an operation, by its parts. */
export interface SeedRequest {
  path?: Record<string, string | number>
  query?: Record<string, string | number>
  headers?: Record<string, string>
  body?: unknown
  /** The caller for whom it is valid; `root` by default. */
  by?: Caller
}

export interface Scene {
  readonly world: World
  readonly root: Caller
  /** Limited by masks. */
  readonly masked: Caller
  /** A new number: for names that must be unique. */
  fresh(): number
  /** Signs in a user whose session may end. */
  signIn(login: string, password: string): Promise<Caller>
}

export interface Seed {
  /** Makes the request; data that it needs is made through the API. */
  make(scene: Scene): SeedRequest | Promise<SeedRequest>
}

const en = (text: string) => ({ 'en-US': text })
const nothing: Seed = { make: () => ({}) }
const noPasskey = '00000000-0000-4000-8000-000000000000'

const work = (scene: Scene) =>
  payload(
    'work',
    {
      _pool: { pool: { _id: scene.world.pools.open } },
      title: { 'en-US': 'Snow Storm', 'de-DE': 'Schneesturm' },
      inventory: `F${scene.fresh()}`,
      note: 'Steam-boat off a harbour’s mouth',
      width: 121,
      price: 9900,
      weight: 1.5,
      signed: false,
      made: { value: '1842' },
      seen: { value: '2024-05-01T12:00:00Z' },
      period: { from: '1840', to: '1842' },
      location: { type: 'Point', coordinates: [-1.4, 50.9] },
      place: link('place', scene.world.objects.london ?? 0),
      '_nested:work__material': [{ name: 'oil', amount: 1, origin: link('place', scene.world.objects.europe ?? 0) }],
      '_nested:work__topic': [{ topic: link('topic', scene.world.objects.nature ?? 0) }],
    },
    { _tags: [{ _id: scene.world.tags.draft }], _comment: 'first entry' },
  )

export const addWork = async (scene: Scene): Promise<Json> =>
  (await scene.root.call('POST', '/db/work', [work(scene)]))[0]

const presetOf = ({ world, fresh }: Scene) => ({
  _basetype: 'right_preset',
  right_preset: {
    _position: 1,
    displayname: en(`preset ${fresh()}`),
    description: en('May read drafts.'),
    preset: {
      default_expiration_hours: 24,
      rights: { read: { _grantable: false }, asset_show: { classes: ['image'] } },
      tagfilter: { any: [world.tags.draft] },
    },
  },
})

const addPreset = async (scene: Scene): Promise<number> =>
  (await scene.root.call('POST', '/right/object/presets', [presetOf(scene)]))[0].right_preset._id

/** A file as the body itself. */
const uploaded = (number: number): SeedRequest => ({ query: { filenames: `["${number}.json"]` }, body: { number } })

const addFile = async ({ root, fresh }: Scene): Promise<Json> => {
  const name = encodeURIComponent(`["${fresh()}.json"]`)
  return (await root.call('POST', `/eas/put?produce_versions=false&filenames=${name}`, { number: fresh() }))[0]
}

/** A picture of one pixel. */
const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

const addPicture = async ({ root, fresh }: Scene): Promise<number> => {
  const target = `/api/v1/eas/put?produce_versions=false&filenames=${encodeURIComponent(`["${fresh()}.png"]`)}`
  const headers = { authorization: `Bearer ${root.token}`, 'content-type': 'image/png' }
  const answer = await root.send({ method: 'POST', target, headers, body: pixel })
  return JSON.parse(answer.body.toString())[0]._id
}

/** An archive with one entry, `notes.txt`. */
const archive = Buffer.from(
  'UEsDBBQAAAAIAIMYIlxpW/sSEwAAACoAAAAJAAAAbm90ZXMudHh0C89ILFHILFEoTqws1uMKx8MDAFBLAQIUAxQAAAAIAIMYIlxpW/sSEwAAACoAAAAJAAAAAAAAAAAAAACAAQAAAABub3Rlcy50eHRQSwUGAAAAAAEAAQA3AAAAOgAAAAAA',
  'base64',
)

const addArchive = async ({ root, fresh }: Scene): Promise<{ fileId: number; hash: string; version: string }> => {
  const target = `/api/v1/eas/put?produce_versions=false&filenames=${encodeURIComponent(`["${fresh()}.zip"]`)}`
  const headers = { authorization: `Bearer ${root.token}`, 'content-type': 'application/zip' }
  const answer = await root.send({ method: 'POST', target, headers, body: archive })
  const [{ _id: fileId, hash }] = JSON.parse(answer.body.toString())
  return { fileId, hash, version: 'original' }
}

/** A reference of an existing file: nothing is fetched from the web. */
const known = async ({ root, fresh }: Scene): Promise<{ url: string; reference: string }> => {
  const number = fresh()
  const query = new URLSearchParams({ filenames: `["${number}.json"]`, references: `["known:${number}"]` })
  await root.call('POST', `/eas/put?${query}`, { number })
  return { url: `https://www.example.org/${number}.json`, reference: `known:${number}` }
}

const tus = { 'tus-resumable': '1.0.0' }
const pieces = { ...tus, 'content-type': 'application/offset+octet-stream' }

const begunUpload = ({ fresh }: Scene): Record<string, string> => ({
  ...tus,
  'upload-length': '13',
  'upload-metadata': `filename ${Buffer.from(`${fresh()}.json`).toString('base64')}`,
})

/** The id of an upload in pieces without any piece. */
const addUpload = async (scene: Scene): Promise<string> => {
  const { root } = scene
  const headers = { ...begunUpload(scene), authorization: `Bearer ${root.token}` }
  const answer = await root.send({ method: 'POST', target: '/api/v1/eas/tus', headers })
  return String(answer.headers.location).split('/').at(-1) ?? ''
}

/** The address of the picture of the bridge, for callers who may see it. */
const picturePlace = ({ world: { pictures } }: Scene, part: string): string =>
  `${pictures.bridge.id}/${pictures.bridge.hash}/${part}`

/** A move without contents; always the same one, so that it may be in progress. */
const startMove = async ({ root }: Scene) => {
  const known = (await root.call('GET', '/system/location/list')) as Json[]
  const find = async (name: string): Promise<number> => {
    const made = known.find((location) => location.name === name)
    if (made) return made.id
    const config = { file: { dir: `files/${name}` } }
    return (await root.call('POST', '/system/location/new', { name, kind: 'file', config })).id
  }
  const id = await find('move-from')
  await find('move-to')
  return { path: { id }, body: { to: 'move-to', contents: 'originals' } }
}

const readWork = (by: string): SeedRequest => ({
  path: { objecttype: 'work', mask: '_all_fields', id: by },
  query: { format: 'long' },
})

const searchRequest = ({ world }: Scene) => ({
  objecttypes: ['work'],
  search: [
    { type: 'text', string: 'bridge', fields: ['work.title'], mode: 'token', bool: 'should' },
    { type: 'in', fields: ['_tags._id'], in: [world.tags.draft] },
    {
      type: 'geo_bounding_box',
      fields: ['work.location'],
      geo_bounding_box: { top_left: { lat: 60, lon: 170 }, bottom_right: { lat: 40, lon: -170 } },
      bool: 'must_not',
    },
    {
      type: 'geo_shape',
      fields: ['work.location'],
      geo_shape: {
        points: [
          { lat: 40, lon: -10 },
          { lat: 60, lon: -10 },
          { lat: 60, lon: 10 },
        ],
      },
      bool: 'should',
    },
    { type: 'text', string: 'N1*', fields: ['work.inventory'], mode: 'exact', bool: 'should' },
    {
      type: 'in',
      fields: ['work.creator'],
      subsearch: { objecttypes: ['work'], field: 'work.creator', search: [{ type: 'text', string: 'bridge' }] },
      bool: 'should',
    },
    { type: 'range', field: 'work.width', from: 10, to: 200 },
    {
      type: 'complex',
      search: [{ type: 'in', fields: ['work.place._system_object_id'], in: [world.objects.london], bool: 'must_not' }],
    },
    {
      type: 'nested',
      path: 'work._nested:work__material',
      search: [{ type: 'text', string: 'oil', fields: ['work._nested:work__material.name'] }],
    },
  ],
  sort: [
    { field: 'work.made', width: 'month' },
    { field: 'work.place', with_path: true },
    { field: 'work.inventory', numeric: false, number_groups: [2, 1] },
    { field: 'work.title', order: 'ASC', language: 'en-US' },
    { field: '_system_object_id' },
  ],
  fields: [
    { key: 'place', field: 'work.place._standard.1.text', with_path: true, language: 'en-US' },
    { field: 'work.period', mode: 'from' },
  ],
  aggregations: {
    years: { type: 'term', field: 'work.made.range_year', limit: 5 },
    stats: { type: 'term_stats', field: 'work.title', value_field: 'work.width', limit: 5 },
    extent: { type: 'geo_bounds', field: 'work.location' },
    cells: {
      type: 'geohash_grid',
      field: 'work.location',
      precision: 4,
      bounds: { top_left: { lat: 60, lon: -10 }, bottom_right: { lat: 40, lon: 20 } },
    },
    tiles: { type: 'geotile_grid', field: 'work.location', precision: 8 },
    places: { type: 'linked_object', field: 'work.place', limit: 5 },
    signed: { type: 'term', field: 'work.signed', limit: 5 },
  },
  limit: 5,
  offset: 0,
  format: 'standard',
})

const saveUser = async ({ fresh }: Scene) => ({
  body: [
    {
      user: {
        login: `visitor${fresh()}`,
        email: `visitor${fresh()}@example.org`,
        first_name: 'Vera',
        database_languages: ['de-DE'],
        login_valid_from: '2020-01-01',
        frontend_prefs: { theme: 'dark' },
        mail_schedule: { hours: [8], weekdays: ['mon'] },
      },
      _password: password,
      _groups: [{ group: { _id: 1 } }],
      _acl: [{ who: { group: { _id: 1 } }, rights: { bag_read: {} } }],
      _system_rights: { 'system.datamodel': { level: ['development'] } },
    },
  ],
})

const saveGroup = async ({ fresh }: Scene) => ({
  body: [
    {
      group: { name: `team${fresh()}`, displayname: en('Team'), comment: 'made for an example' },
      _acl: [{ who: { group: { _id: 1 } }, rights: { bag_read: {} } }],
      _system_rights: { 'system.search': {} },
      _ip_subnet_filter: ['10.0.0.0/8'],
    },
  ],
})

const saveMessage = ({ world, fresh }: Scene) => ({
  body: [
    {
      message: {
        title: en('Reading room'),
        message: en('Closed on Monday.'),
        confirmation: en('I have read this'),
        reference: `room${fresh()}`,
        webfrontend_type: 'banner',
        webfrontend_props: { icon: 'clock' },
        show_always: true,
        start_time: { value: '2020-01-01T00:00:00Z' },
        end_time: { value: '2999-01-01T00:00:00Z' },
      },
      _groups: [{ group: { _id: world.groups.staff } }],
    },
  ],
})

const savePool = async ({ world, fresh }: Scene) => ({
  body: [
    {
      pool: {
        _id_parent: world.pools.open,
        name: en('Prints'),
        shortname: en('prints'),
        reference: `prints${fresh()}`,
      },
      _acl: [{ who: { _basetype: 'group', group: { _id: world.groups.staff } }, rights: { bag_read: {}, read: {} } }],
      _tags: [{ _id: world.tags.draft, is_default: true }],
    },
  ],
})

const collectionOf = ({ world, fresh }: Scene) => ({
  _basetype: 'collection',
  collection: {
    displayname: en('Press kit'),
    description: en('For the papers'),
    reference: `kit${fresh()}`,
    shortname: `k${fresh()}`,
    type: 'workfolder',
    webfrontend_props: { view: 'table' },
    create_object: {
      objecttype: 'work',
      pool_id: world.pools.open,
      update_mode: 'insert',
      tags: [{ _id: world.tags.draft }],
    },
  },
  _acl: [{ who: { _basetype: 'group', group: { _id: world.groups.staff } }, rights: { bag_read: {}, link: {} } }],
  _private_acl: false,
})

const mappingOf = ({ world, fresh }: Scene): Json => ({
  profile: 'file-metadata.yml',
  displayname: en(`Pictures ${fresh()}`),
  idTable: world.objecttypes.work,
  profile_type: { exiftool_import: true, exiftool_export: true, exiftool_export_omit_empty: true },
  limited_extensions: ['jpg', 'png'],
  recipe_configs: {},
  fields: [
    {
      name: 'title',
      native: [{ field: 'work.title', type: 'text_l10n_oneline' }],
      strategy_import: 'append',
      x: 1,
      y: 2,
    },
    { _id: 'creator', native: [{ type: 'text_fixed', text: '© ' }, { field: 'work.creator.person.name' }] },
    {
      name: 'number',
      custom: true,
      text: en('Number'),
      type: 'Output',
      xml_import: [{ search: 'XMP-museum:Number' }],
      xml_export: [{ path: 'XMP-museum:Number', list: true, l10n: false }],
      native: [{ field: 'work._nested:work__material.name' }],
    },
  ],
})

const addMapping = async (scene: Scene): Promise<{ mapping: string }> => ({
  mapping: `${(await scene.root.call('PUT', '/xmlmapping/mapping', mappingOf(scene))).id}`,
})

/** A publication of a picture of the world; its target is in the base configuration. */
async function publicationOf({ root, world }: Scene): Promise<Json> {
  const collectors = [{ internalname: 'portal', displayname: { 'en-US': 'Portal' }, url: 'https://portal.example/' }]
  await root.call('POST', '/config/system/config/publish', { collectors })
  const publish = {
    _id: 0,
    version: 0,
    system_object_id: world.objects.dawn,
    collector: 'portal',
    publish_uri: 'https://portal.example/dawn',
    svc_uri: 'https://archive.example/dawn',
  }
  return { _basetype: 'publish', publish }
}

async function addPublication(scene: Scene): Promise<number> {
  const [{ publish }] = await scene.root.call('POST', '/publish', [await publicationOf(scene)])
  return publish._id
}

/** The path of an object in deep links, after these are switched on. */
/** Harvesters get the objects that the user `oai_pmh` may read. */
export async function harvested({ root }: Scene): Promise<void> {
  await root.call('POST', '/config/system/config/oai_pmh', { enabled: true, records_limit: 10 })
}

export async function deepLinkOf({ root, world }: Scene, more: string): Promise<{ path: { path: string } }> {
  await root.call('POST', '/config/system/config/deep_link_access', {
    enabled: true,
    allow_access_by_id: true,
    allow_access_by_column: true,
  })
  return { path: { path: `id/${world.objects.bridge}${more}` } }
}

/** Visitors may read it, and nothing else of its pool, which is its own. */
async function addPublicWork({ root, world }: Scene): Promise<void> {
  const _acl = [{ who: { _basetype: 'user', user: { _id: 2 } }, rights: { read: {} } }]
  const own = { _id_parent: world.pools.open, name: en('Public') }
  const [{ pool }] = await root.call('POST', '/pool', [{ pool: own, _acl }])
  const content = { _pool: { pool: { _id: pool._id } }, title: en('Public') }
  await root.call('POST', '/db/work', [payload('work', content)])
}

const entriesOf = ({ world }: Scene): Json[] => [
  { 'lookup:_global_object_id': { _objecttype: 'work', _system_object_id: world.objects.dawn } },
  { _global_object_id: '7@another', webfrontend_props: { slide: 1 } },
]

async function addCollection(scene: Scene): Promise<number> {
  const { collection } = await scene.root.call('POST', '/collection', {
    ...collectionOf(scene),
    objects: entriesOf(scene),
  })
  return collection._id
}

/** An export that has not run, with a transport. */
async function addExport({ root, fresh }: Scene): Promise<Json> {
  return root.call('POST', '/export', {
    _basetype: 'export',
    export: { type: 'export', name: `kit-export-${fresh()}`, search: { objecttypes: ['work'] }, json: true },
    _transports: [{ plugin: '', options: { type: 'download' } }],
  })
}

/** The path of an export; `uuid`: also the uuid of its transport. With a path, it has run. */
async function exportPath(scene: Scene, path?: string, uuid = false): Promise<Json> {
  const made = await addExport(scene)
  if (path !== undefined) {
    await scene.root.call('POST', `/export/${made.export._id}/start`)
    for (let state = 'pending'; state === 'pending' || state === 'processing'; ) {
      state = (await scene.root.call('GET', `/export/${made.export._id}?format=short`))._state
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  return {
    exportId: made.export._id,
    ...(uuid ? { uuid: made._transports[0].uuid } : {}),
    ...(path === undefined ? {} : { path }),
  }
}

/** An export with all its members. */
function exportBody(fresh: () => string | number): Json {
  return {
    _basetype: 'export',
    export: {
      type: 'download',
      name: `kit-export-${fresh()}`,
      search: { objecttypes: ['work'], sort: [{ field: '_system_object_id' }] },
      fields: { 'work.title': { display_name: 'Title' } },
      eas_fields: {
        'work.image': { files: true, include_non_preferred: true, data: [{ type: 'original', format: 'long' }] },
      },
      classes: { image: [{ type: 'version', version: 'small', metadata: 'keep' }] },
      assets: {
        '1': false,
        '2': { versions: [{ type: 'custom', custom: { size: 'custom', custom_size_pixel: 50 } }] },
      },
      csv: { delimiter: ';', quote: '"', use_bom: true, hierarchy: '>' },
      xlsx: { localized_column_names: true },
      xml: true,
      mapping: 'native',
      json_one_file_per_object: true,
      merge_linked_objects: 'all',
      merge_max_depth: 1,
      include_parents: true,
      file_url_expire_days: 3,
      batch_size: 10,
      filename_template: '%work.title%',
    },
    _transports: [
      { plugin: '', options: { type: 'webdav', url: 'https://example.org/in/', username: 'u', password: 'p' } },
    ],
    _schedules: [{ weekdays: ['mon'], hours: [3], minutes: [0], timezone: 'Europe/Berlin' }],
  }
}

/** It has no schedule. */
const taskOf = () => ({
  _basetype: 'task',
  task: {
    task_module: 'set_unset_tags',
    task_params: { search: { objecttypes: ['work'], search: [] }, set_tags: [1], dry_run: true },
    task_timeout_sec: 60,
    description: 'Fuzz',
    next_run_at: '2099-01-01T00:00:00Z',
    frontend_prefs: { app: { open: true } },
    email: { recipients: [{ email: 'ada@museum.test', problems_only: true }] },
    schedules: [{ weekdays: ['monday'], hours: [3], minutes: [30], days_of_month: [], timezone: 'Europe/Berlin' }],
  },
})

async function addTask(scene: Scene): Promise<{ taskId: number }> {
  return { taskId: (await scene.root.call('POST', '/task', taskOf())).task._id }
}

/** Only one backup can be made at a time. */
async function readyForBackup({ root }: Scene): Promise<void> {
  const places = { originals: 'file', versions: '', backups: 'file' }
  await root.call('POST', '/config/system/config/location_defaults', places)
  while ((await root.call('GET', '/system/backup/list')).some(({ status }: Json) => status === 'running'))
    await sleep(50)
}

async function addBackup(scene: Scene): Promise<{ id: number }> {
  await readyForBackup(scene)
  const { id } = await scene.root.call('PUT', '/system/backup/new', { format: 'native' })
  await readyForBackup(scene)
  return { id }
}

async function addShareLink({ root }: Scene): Promise<string> {
  const { share_id: id } = await root.call('POST', '/system/share_link', { path: '/collection/1' })
  return id
}

/** The stored document of the working copy or of settings, sent back unchanged. */
const echoed = (path: string): Seed => ({ make: async ({ root }) => ({ body: await root.call('GET', path) }) })

const headOf = (path: string): Seed => ({
  make: async ({ root }) => {
    const head = await root.call('GET', path)
    return { body: head }
  },
})

/** One valid request for each operation; a new endpoint without one fails the tool. */
/** A request of the default client for the sign-in page. */
const authorization = {
  client_id: 'web-client',
  response_type: 'code',
  state: 'what-the-client-knows',
  redirect_uri: 'http://localhost:8080/callback',
  scope: 'offline read',
  code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  code_challenge_method: 'S256',
  auth_method: 'native',
}

export const seeds: Record<string, Seed> = {
  getSettings: nothing,
  getSystemStatus: nothing,
  getErrorTest: nothing,
  purgeAll: { make: () => ({ query: { set_password: 'a new password of root' } }) },
  getOpenApi: nothing,
  getOpenApiPage: nothing,

  getSession: nothing,
  createToken: {
    make: () => ({
      body: { grant_type: 'password', client_id: 'web-client', username: 'changer', password, scope: 'offline read' },
    }),
  },
  authorize: { make: () => ({ query: authorization }) },
  authorizeWithForm: { make: () => ({ body: authorization }) },
  introspectToken: { make: async ({ signIn }) => ({ body: { token: (await signIn('changer', password)).token } }) },
  getAuthorizationServer: nothing,
  getOpenIdConfiguration: nothing,
  getUserInfo: nothing,
  postUserInfo: nothing,
  logout: nothing,
  logoutHere: nothing,
  postLogout: { make: async ({ signIn }) => ({ body: { by: 'form' }, by: await signIn('changer', password) }) },
  postLogoutHere: { make: async ({ signIn }) => ({ body: { by: 'form' }, by: await signIn('changer', password) }) },
  refreshBrowserSession: {
    make: async ({ root }) => {
      const headers = { cookie: `svc-browser-id=${'b'.repeat(43)}` }
      const form = { grant_type: 'password', client_id: 'web-client', username: 'changer', password, scope: 'offline' }
      const answer = await root.send({
        method: 'POST',
        target: '/api/oauth2/token',
        headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
        body: Buffer.from(new URLSearchParams(form).toString()),
      })
      return { headers, body: { refresh_token: JSON.parse(answer.body.toString()).refresh_token } }
    },
  },
  endOtherSessions: { make: async ({ signIn }) => ({ by: await signIn('changer', password) }) },
  endOneSession: {
    make: async ({ signIn }) => {
      await signIn('changer', password)
      const by = await signIn('changer', password)
      const sessions: { _id: string; current: boolean }[] = await by.call('GET', '/user/session/list')
      return { path: { id: sessions.find(({ current }) => !current)?._id ?? '' }, by }
    },
  },
  listPasskeys: { make: () => ({ query: { user_id: 1 } }) },
  // Making one needs a device.
  renamePasskey: { make: () => ({ path: { id: noPasskey }, body: { name: 'my key' } }) },
  removePasskey: { make: () => ({ path: { id: noPasskey } }) },
  // The tested service has no mail server.
  sendMail: { make: () => ({ body: { to: ['ada@example.org'], subject: 'Hello', text: 'It is here.' } }) },
  sendTestMail: { make: () => ({ body: { to: 'ada@example.org' } }) },
  createShareLink: {
    make: ({ fresh }) => ({
      body: { path: '/collection/1', alias: `kit-${fresh()}`, expires_at: new Date(Date.now() + 1e9).toISOString() },
    }),
  },
  listShareLinks: { make: () => ({ query: { limit: 10, offset: 0 } }) },
  followShareLink: { make: async (scene) => ({ path: { id: await addShareLink(scene) } }) },
  deleteShareLink: { make: async (scene) => ({ path: { id: await addShareLink(scene) } }) },
  listExports: {
    make: () => ({ query: { limit: 10, offset: 0, filter: 'type:export|download+status:new,status:done' } }),
  },
  createExport: { make: ({ fresh }) => ({ body: exportBody(fresh) }) },
  putExport: { make: ({ fresh }) => ({ body: exportBody(fresh) }) },
  readExport: { make: async (scene) => ({ path: await exportPath(scene), query: { format: 'standard' } }) },
  updateExport: {
    make: async (scene) => {
      const { export: own } = await addExport(scene)
      const body = exportBody(scene.fresh)
      return { path: { exportId: own._id }, body: { ...body, export: { ...body.export, _id: own._id, _version: 1 } } }
    },
  },
  deleteExport: { make: async (scene) => ({ path: await exportPath(scene) }) },
  startExport: { make: async (scene) => ({ path: await exportPath(scene) }) },
  stopExport: { make: async (scene) => ({ path: await exportPath(scene) }) },
  readExportFile: { make: async (scene) => ({ path: await exportPath(scene, 'export.json') }) },
  readExportFileByUuid: { make: async (scene) => ({ path: await exportPath(scene, 'export.json', true) }) },
  zipExport: { make: async (scene) => ({ path: await exportPath(scene, '') }) },
  tarExport: { make: async (scene) => ({ path: await exportPath(scene, ''), query: { package: 'bagit' } }) },
  zipExportByUuid: {
    make: async (scene) => ({ path: await exportPath(scene, '', true), query: { package: 'ro_crate' } }),
  },
  tarExportByUuid: { make: async (scene) => ({ path: await exportPath(scene, '', true) }) },
  getRobots: { make: () => ({}) },
  getSitemap: {
    make: async (scene) => {
      await deepLinkOf(scene, '')
      await scene.root.call('POST', '/config/system/config/sitemaps', { enabled: true })
      await addPublicWork(scene)
      return {}
    },
  },
  getXmlSchema: { make: () => ({}) },
  testDirectory: { make: () => ({ body: { kind: 'ldap', login: 'somebody' } }) },
  listSessions: { make: () => ({ query: { user_id: 1 } }) },
  revokeToken: {
    make: async ({ signIn }) => {
      const { token } = await signIn('changer', password)
      return { body: { token, token_type_hint: 'access_token', client_id: 'web-client' } }
    },
  },

  listUsers: { make: () => ({ query: { limit: 10, offset: 0, type: 'native', changed_since: '2020-01-01' } }) },
  saveUsers: { make: saveUser },
  putUsers: {
    make: async ({ root, world }) => {
      const [stored] = await root.call('GET', `/user/${world.users.changer}`)
      return { body: [{ user: { _id: stored.user._id, _version: stored.user._version, company: 'Tate' } }] }
    },
  },
  getUser: { make: ({ world }) => ({ path: { id: world.users.limited } }) },
  deleteUser: {
    make: async (scene) => {
      const [made] = await scene.root.call('POST', '/user', (await saveUser(scene)).body)
      return { path: { id: made.user._id }, query: { delete_policy: 'archive' } }
    },
  },
  changePassword: {
    make: async ({ root, signIn, fresh }) => {
      const login = `changer${fresh()}`
      await root.call('POST', '/user', [
        { user: { login }, _password: password, _system_rights: { 'system.user.change_password': {} } },
      ])
      return { body: { password, new_password: `${password}2` }, by: await signIn(login, password) }
    },
  },

  listGroups: { make: () => ({ query: { limit: 10, offset: 0, type: 'native' } }) },
  saveGroups: { make: saveGroup },
  putGroups: {
    make: async ({ root, world }) => {
      const [stored] = await root.call('GET', `/group/${world.groups.staff}`)
      return { body: [{ group: { _id: stored.group._id, _version: stored.group._version, category_a: 'a' } }] }
    },
  },
  getGroup: { make: ({ world }) => ({ path: { id: world.groups.staff } }) },
  deleteGroup: {
    make: async (scene) => {
      const [made] = await scene.root.call('POST', '/group', (await saveGroup(scene)).body)
      return { path: { id: made.group._id } }
    },
  },

  uploadFiles: { make: ({ fresh }) => uploaded(fresh()) },
  putFiles: { make: ({ fresh }) => uploaded(fresh()) },
  fetchFile: {
    make: async (scene) => ({ query: { ...(await known(scene)), skip_duplicate_reference: 'true' }, body: {} }),
  },
  fetchFiles: {
    make: async (scene) => ({
      query: { skip_duplicate_reference: 'true' },
      body: [await known(scene), { ...(await known(scene)), filename: 'own.json', leave: true }],
    }),
  },
  createUpload: { make: (scene) => ({ headers: { ...begunUpload(scene), ...pieces }, body: { number: 12 } }) },
  continueUpload: {
    make: async (scene) => ({
      path: { uploadId: await addUpload(scene) },
      headers: { ...pieces, 'upload-offset': '0' },
      body: { number: 12 },
    }),
  },
  readUpload: { make: async (scene) => ({ path: { uploadId: await addUpload(scene) }, headers: tus }) },
  overrideUploadMethod: {
    make: async (scene) => ({
      path: { uploadId: await addUpload(scene) },
      headers: { ...pieces, 'x-http-method-override': 'PATCH', 'upload-offset': '0' },
      body: { number: 12 },
    }),
  },
  cancelUpload: { make: async (scene) => ({ path: { uploadId: await addUpload(scene) }, headers: tus }) },
  readFiles: { make: async (scene) => ({ query: { ids: `[${(await addFile(scene))._id}]`, format: 'long' } }) },
  readFile: {
    make: async (scene) => ({ path: { fileId: (await addFile(scene))._id }, query: { format: 'standard' } }),
  },
  similarFiles: {
    make: async ({ world }) => ({ path: { fileId: world.pictures.bridge.id }, query: { bits: 7, limit: 1 } }),
  },
  changeFile: {
    make: async (scene) => ({
      path: { fileId: (await addFile(scene))._id },
      body: { filename: 'new.txt', reference: `file:${scene.fresh()}` },
    }),
  },
  downloadFile: {
    make: async (scene) => {
      const { _id, hash, versions } = await addFile(scene)
      const signature = new URL(versions.original.url).searchParams.get('x-svc-signature') ?? ''
      return { path: { fileId: _id, hash, version: 'original' }, query: { 'x-svc-signature': signature } }
    },
  },
  downloadFromArchive: {
    make: async (scene) => ({ path: { ...(await addArchive(scene)), path: 'notes.txt' } }),
  },
  iiifImage: {
    make: (scene) => ({ path: { path: picturePlace(scene, 'original/64,32,512,256/256,/0/default.jpg') } }),
  },
  iiifImageSecond: {
    make: (scene) => ({ path: { path: picturePlace(scene, 'original/64,32,512,256/full/0/default.jpg') } }),
  },
  zoomTile: {
    make: (scene) => ({ path: { path: picturePlace(scene, 'original/zoom1040/size512/part1x0.png') } }),
  },
  deriveFile: {
    make: async (scene) => ({
      body: {
        eas_parent_id: await addPicture(scene),
        format: 'png',
        transform: { 'rotate-z': 90, crop: { top: 0, left: 0, width: 10, height: 10 } },
        colorspace: 'gray',
        colorprofile: '-',
      },
    }),
  },
  resyncFiles: nothing,
  listResyncs: nothing,
  listLocations: nothing,
  getFixity: nothing,
  readLocation: { make: () => ({ path: { id: 1 } }) },
  createLocation: {
    make: ({ fresh }) => {
      const name = `folder${fresh()}`
      return { body: { name, kind: 'file', prefix: 'p/', config: { file: { dir: `files/${name}` } } } }
    },
  },
  changeLocation: {
    make: async ({ root, fresh }) => {
      const config = { file: { dir: `files/f${fresh()}` } }
      const made = await root.call('POST', '/system/location/new', { name: `moved${fresh()}`, kind: 'file', config })
      const { id, name } = made
      return { path: { id }, body: { id, name, kind: 'file', config, prefix: 'p/', allow_purge: true } }
    },
  },
  deleteLocation: {
    make: async ({ root, fresh }) => {
      const config = { file: { dir: `files/d${fresh()}` } }
      const made = await root.call('POST', '/system/location/new', { name: `gone${fresh()}`, kind: 'file', config })
      return { path: { id: made.id } }
    },
  },
  moveContents: { make: startMove },
  listMoves: nothing,
  stopMove: {
    make: async (scene) => {
      const { path, body } = await startMove(scene)
      const run = await scene.root.call('POST', `/system/location/${path.id}/move`, body)
      return { path: { moveId: run.id } }
    },
  },
  listPlugins: nothing,
  getJSBundle: nothing,
  getCSSBundle: nothing,
  getHTMLBundle: nothing,
  getPluginTexts: { make: () => ({ path: { lang: 'en-US' } }) },
  getPluginFile: { make: async (scene) => ({ path: { plugin: await pluginThatIsOn(scene), path: 'page.js' } }) },
  listInstalledPlugins: nothing,
  installPlugin: {
    make: async (scene) => ({ body: { type: 'zip', zip_file: { _id: await pluginArchive(scene) } } }),
  },
  getInstalledPlugin: { make: async (scene) => ({ path: { id: await addPlugin(scene) } }) },
  updatePlugin: {
    make: async (scene) => {
      const id = await addPlugin(scene)
      return { path: { id }, body: { id, enabled: false, update_policy: 'never' } }
    },
  },
  removePlugin: { make: async (scene) => ({ path: { id: await addPlugin(scene) } }) },
  ...Object.fromEntries(
    ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method): [string, Seed] => [
      `callExtensionBy${method}`,
      {
        make: async (scene) => ({
          path: { plugin: await pluginThatIsOn(scene), path: 'echo' },
          ...(method === 'GET' ? {} : { body: { number: 1 } }),
        }),
      },
    ]),
  ),
  listMessages: { make: () => ({ query: { limit: 10, offset: 0 } }) },
  saveMessages: { make: saveMessage },
  putMessages: {
    make: async (scene) => {
      const [made] = await scene.root.call('POST', '/message', saveMessage(scene).body)
      return { body: [{ message: { _id: made.message._id, _version: 1, show_always: false } }] }
    },
  },
  listOwnMessages: nothing,
  getMessage: {
    make: async (scene) => {
      const [made] = await scene.root.call('POST', '/message', saveMessage(scene).body)
      return { path: { id: made.message._id } }
    },
  },
  listPublishRecords: { make: () => ({ query: { limit: 10, offset: 0 } }) },
  savePublishRecords: { make: async (scene) => ({ body: [await publicationOf(scene)] }) },
  getPublishRecord: { make: async (scene) => ({ path: { systemObjectId: await addPublication(scene) } }) },
  deletePublishRecord: { make: async (scene) => ({ path: { publishId: await addPublication(scene) } }) },
  openDeepLink: {
    make: async (scene) => ({ ...(await deepLinkOf(scene, '')), query: { disposition: 'inline' } }),
  },
  harvest: {
    make: async (scene) => {
      await harvested(scene)
      return { query: { verb: 'ListRecords', metadataPrefix: 'oai_dc', limit: 10 } }
    },
  },
  harvestByForm: {
    make: async (scene) => {
      await harvested(scene)
      return { body: { verb: 'ListIdentifiers', metadataPrefix: 'native', set: 'objecttype:work', from: '2020-01-01' } }
    },
  },
  listTasks: {
    make: async (scene) => {
      await addTask(scene)
      return { query: { limit: 10, offset: 0 } }
    },
  },
  createTask: { make: () => ({ body: taskOf() }) },
  putTask: { make: () => ({ body: taskOf(), query: { confirm: 'yes' } }) },
  listTaskModules: nothing,
  getTask: { make: async (scene) => ({ path: await addTask(scene) }) },
  changeTask: {
    make: async (scene) => ({ path: await addTask(scene), body: { task: { _version: 1, description: 'Other' } } }),
  },
  deleteTask: { make: async (scene) => ({ path: await addTask(scene) }) },
  cancelTask: { make: async (scene) => ({ path: await addTask(scene) }) },
  getTaskLog: { make: async (scene) => ({ path: await addTask(scene), query: { limit: 10, offset: 0 } }) },
  createBackup: {
    make: async (scene) => {
      await readyForBackup(scene)
      return { body: { format: 'native', include_events: false } }
    },
  },
  listBackups: nothing,
  getBackup: { make: async (scene) => ({ path: await addBackup(scene) }) },
  deleteBackup: { make: async (scene) => ({ path: await addBackup(scene) }) },
  downloadBackup: { make: async (scene) => ({ path: await addBackup(scene) }) },
  previewJanitors: nothing,
  listMappingProfiles: nothing,
  getMappingProfile: { make: () => ({ path: { profile: 'file-metadata.yml' } }) },
  listMetadataTags: nothing,
  createMapping: { make: (scene) => ({ body: mappingOf(scene) }) },
  getMapping: { make: async (scene) => ({ path: await addMapping(scene) }) },
  updateMapping: { make: async (scene) => ({ path: await addMapping(scene), body: mappingOf(scene) }) },
  deleteMapping: { make: async (scene) => ({ path: await addMapping(scene), query: { delete_policy: 'delete' } }) },
  deleteMessage: {
    make: async (scene) => {
      const [made] = await scene.root.call('POST', '/message', saveMessage(scene).body)
      return { path: { id: made.message._id } }
    },
  },
  confirmMessage: {
    make: async (scene) => {
      const [message] = saveMessage(scene).body
      const [made] = await scene.root.call('POST', '/message', [{ ...message, _groups: [{ group: { _id: 1 } }] }])
      return { path: { id: made.message._id }, body: { version: 1 } }
    },
  },

  listConfigDefinitions: nothing,
  getConfig: nothing,
  replaceConfig: { make: () => ({ body: { system: { config: { name: { title: 'Fuzz' } } } } }) },
  getConfigValue: { make: () => ({ path: { path: 'system/config/languages/database' } }) },
  setConfigValue: {
    make: () => ({ path: { path: 'system/config/languages/frontend' }, body: ['de-DE', 'en-US'] }),
  },
  resetConfigValue: { make: () => ({ path: { path: 'system/config/languages/frontend' } }) },

  getSchema: { make: () => ({ path: { version: 'CURRENT' } }) },
  saveSchema: headOf('/schema/user/HEAD'),
  commitSchema: { make: () => ({ query: { reindex: 'skip', confirm: 'yes' } }) },
  getMasks: { make: () => ({ path: { version: 'CURRENT' } }) },
  getMask: { make: () => ({ path: { version: 'CURRENT', mask: 'place__standard' } }) },
  saveMasks: headOf('/mask/HEAD'),
  getStaticTexts: { make: () => ({ path: { lang: 'de-DE' } }) },
  getLocalization: { make: () => ({ path: { version: 'CURRENT' } }) },
  saveLocalization: headOf('/l10n/user/HEAD'),

  listObjecttypes: { make: () => ({ query: { format: 'short' } }) },
  getObjecttype: { make: ({ world }) => ({ path: { id: world.objecttypes.work ?? 0 } }) },
  getObjecttypeStats: { make: ({ world }) => ({ path: { id: world.objecttypes.work ?? 0 } }) },
  saveObjecttypes: {
    make: async ({ root, world }) => {
      const [{ objecttype }] = await root.call('GET', `/objecttype/${world.objecttypes.topic}`)
      return {
        body: [
          {
            objecttype: {
              _id: objecttype._id,
              _version: objecttype._version + 1,
              show_in_collections: true,
              description: en('What works show'),
            },
            _tags: [],
            _transitions: [],
          },
        ],
      }
    },
  },

  listPools: { make: () => ({ query: { limit: 10, offset: 0 } }) },
  savePools: { make: savePool },
  putPools: {
    make: async ({ root, world }) => {
      const [stored] = await root.call('GET', `/pool/${world.pools.open}`)
      return { body: [{ pool: { _id: stored.pool._id, _version: stored.pool._version, comment: 'for everybody' } }] }
    },
  },
  getPool: { make: ({ world }) => ({ path: { poolID: world.pools.open } }) },
  getPoolStats: {
    make: ({ world }) => ({ path: { poolID: world.pools.open }, query: { include_subpools: 'true' } }),
  },
  deletePool: {
    make: async (scene) => {
      const [made] = await scene.root.call('POST', '/pool', (await savePool(scene)).body)
      return { path: { poolID: made.pool._id } }
    },
  },

  listCollections: { make: () => ({ query: { limit: 10, offset: 0 } }) },
  listChildCollections: { make: () => ({ path: { parentId: 'null' }, query: { limit: 10 } }) },
  saveCollections: { make: (scene) => ({ body: [collectionOf(scene)] }) },
  saveCollection: { make: (scene) => ({ body: { ...collectionOf(scene), objects: entriesOf(scene) } }) },
  putCollection: { make: (scene) => ({ body: collectionOf(scene) }) },
  getCollection: { make: async (scene) => ({ path: { collectionId: await addCollection(scene) } }) },
  updateCollection: {
    make: async (scene) => ({
      path: { collectionId: await addCollection(scene) },
      body: { collection: { _version: 1, type: 'search', webfrontend_props: { slides: [1] } } },
    }),
  },
  deleteCollection: { make: async (scene) => ({ path: { collectionId: await addCollection(scene) } }) },
  getCollectionObjects: {
    make: async (scene) => ({ path: { collectionId: await addCollection(scene) }, query: { limit: 2, offset: 0 } }),
  },
  getIiifCollection: {
    make: async (scene) => {
      await deepLinkOf(scene, '')
      const bridge = { _objecttype: 'work', _system_object_id: scene.world.objects.bridge }
      const { collection } = await scene.root.call('POST', '/collection', {
        ...collectionOf(scene),
        objects: [{ 'lookup:_global_object_id': bridge }],
      })
      return { path: { collectionId: collection._id } }
    },
  },
  replaceCollectionObjects: {
    make: async (scene) => ({
      path: { collectionId: await addCollection(scene) },
      body: { objects: entriesOf(scene) },
    }),
  },
  pushCollectionObjects: {
    make: async (scene) => ({
      path: { collectionId: await addCollection(scene) },
      body: { objects: entriesOf(scene) },
    }),
  },
  spliceCollectionObjects: {
    make: async (scene) => ({
      path: { collectionId: await addCollection(scene) },
      body: { index: 0, count: -1, objects: entriesOf(scene) },
    }),
  },
  removeCollectionObjects: {
    make: async (scene) => ({ path: { collectionId: await addCollection(scene) }, body: entriesOf(scene).slice(1) }),
  },

  listTags: nothing,
  saveTags: echoed('/tags'),

  listTransitions: nothing,
  saveTransitions: echoed('/transitions'),
  listManualTransitions: {
    make: ({ world }) => ({ query: { objecttype_id: world.objecttypes.work ?? 0, pool_id: world.pools.open } }),
  },
  runTransition: {
    make: async ({ world, root, signIn }) => {
      const stored = await root.call('GET', `/db/work/_all_fields/system_object_id/${world.objects.dawn}?format=short`)
      return {
        path: { id: world.transition },
        body: [{ _system_object_id: world.objects.dawn, _version: stored[0].work._version }],
        by: await signIn('limited', password),
      }
    },
  },

  getCreateInfo: {
    make: ({ world }) => ({ body: { objecttype: 'work', pool_id: world.pools.open, tag_ids: [] } }),
  },
  getUpdateInfo: {
    make: async ({ world, root }) => {
      const stored = await root.call('GET', `/db/work/_all_fields/system_object_id/${world.objects.dawn}?format=short`)
      return { body: { objecttype: 'work', object_ids: [stored[0].work._id], pool_id: world.pools.open, tag_ids: [] } }
    },
  },
  getRights: nothing,
  explainRights: { make: ({ world }) => ({ query: { user: 1, pool: world.pools.open } }) },
  listInvalidGrants: { make: () => ({ query: { limit: 2 } }) },
  listRightPresets: { make: () => ({ path: { context: 'object' } }) },
  saveRightPresets: { make: (scene) => ({ path: { context: 'object' }, body: [presetOf(scene)] }) },
  getRightPreset: {
    make: async (scene) => ({ path: { context: 'object', presetId: await addPreset(scene) } }),
  },
  deleteRightPreset: {
    make: async (scene) => ({
      path: { context: 'object', presetId: await addPreset(scene) },
      query: { confirm: 'delete' },
    }),
  },
  // Without a WebSocket it is refused; test/events/stream.test.ts listens.
  streamEvents: { make: () => ({ query: { from: 0 } }) },
  pollEvents: { make: () => ({ path: { fromEventId: 0 }, query: { limit: 2 } }) },
  listEvents: {
    make: () => ({
      query: {
        type: 'OBJECT_INSERT',
        limit: 2,
        offset: 0,
        sort: '_id.DESC',
        date_from: '2020-01-01',
        objecttype: 'place',
      },
    }),
  },
  deleteEvents: { make: () => ({ query: { type: 'DETAIL_VIEW', date_to: '2020-01-01', limit: 1 } }) },
  getEvent: {
    make: async (scene) => {
      const written = await scene.root.call('POST', '/event', { event: { type: 'SEARCH', info: { text: 'snow' } } })
      return { path: { eventId: written.event._id } }
    },
  },
  deleteEvent: {
    make: async (scene) => {
      const written = await scene.root.call('POST', '/event', { event: { type: 'SEARCH', info: { text: 'snow' } } })
      return { path: { eventId: written.event._id } }
    },
  },
  createEvent: {
    make: ({ world }) => ({
      body: {
        event: {
          type: 'DETAIL_VIEW',
          system_object_id: world.objects.bridge,
          objecttype: 'work',
          info: { seconds: 3 },
        },
      },
    }),
  },
  createEvents: { make: () => ({ body: [{ event: { type: 'SEARCH', info: { text: 'snow' } } }] }) },

  saveObjects: {
    make: async (scene) => ({ path: { objecttype: 'work' }, query: { format: 'long' }, body: [work(scene)] }),
  },
  changeObjects: {
    make: async (scene) => {
      const made = await addWork(scene)
      const { _id, _version } = made.work
      const change = { _objecttype: 'work', _mask: '_all_fields', work: { _id, _version, note: 'seen again' } }
      return { path: { objecttype: 'work' }, body: [change] }
    },
  },
  deleteObjects: {
    make: async (scene) => {
      const made = await addWork(scene)
      return {
        path: { objecttype: 'work' },
        query: { delete_policy: 'remove' },
        body: [[made.work._id, made.work._version, 'entered twice']],
      }
    },
  },
  getObject: { make: ({ world }) => readWork(`${world.ids.bridge}`) },
  getObjectBySystemId: { make: ({ world }) => readWork(`${world.objects.bridge}`) },
  getObjectByGlobalId: {
    make: async ({ world, root }) => {
      const stored = await root.call(
        'GET',
        `/db/work/_all_fields/system_object_id/${world.objects.bridge}?format=short`,
      )
      return readWork(stored[0]._global_object_id)
    },
  },
  listObjects: {
    make: () => ({
      path: { objecttype: 'place', mask: '_all_fields' },
      query: { format: 'short', limit: 2, offset: 0 },
    }),
  },

  search: { make: (scene) => ({ body: searchRequest(scene) }) },
  searchCacheable: {
    make: ({ world }) => ({
      query: {
        BODY: JSON.stringify({
          objecttypes: ['place'],
          search: [{ type: 'in', fields: ['_system_object_id'], in: [world.objects.london] }],
          limit: 2,
        }),
        cache_seconds: 60,
      },
    }),
  },
  parseQuery: {
    make: () => ({
      body: {
        query:
          '(work.title =@ "bridge" || work.made >= "$startOfYear-300y") && !work.place == ?( place.code == "LON" ) ' +
          '&& work.width <= 200 && work.inventory =^ "N" && work.creator != null',
        objecttypes: ['work'],
        search: true,
        limit: 5,
        offset: 0,
        format: 'short',
        timezone: 'Europe/Berlin',
        syntax: 'query',
      },
    }),
  },
  parseQueryCacheable: {
    make: () => ({
      query: {
        query: `"on the" OR 'bridge' -(tyger, \`Wes*\`)`,
        objecttypes: 'work',
        search: '1',
        syntax: 'words',
        limit: 5,
      },
    }),
  },
  writeQuery: {
    make: ({ world }) => ({
      body: {
        search: [
          { type: 'in', fields: ['_tags._id'], in: [world.tags.draft] },
          { type: 'range', field: 'work.width', from: 10, to: 200 },
          { type: 'complex', search: [{ type: 'text', string: 'bridge', bool: 'should' }], bool: 'must_not' },
        ],
      },
    }),
  },
  suggest: {
    make: ({ world }) => ({
      body: {
        query: 'the bri',
        tokens: true,
        tokens_dont_split_query: false,
        tokens_mode: 'ngram',
        analyze_wildcards: false,
        fields: ['work.title', 'work.inventory'],
        fields_suggest: true,
        objecttypes: ['work'],
        pool_ids: [world.pools.open],
        languages: ['en-US'],
        linked_objecttypes: ['place'],
        linked_objects_referenced_by_objecttypes: ['work'],
        timeout: 500,
        limit: 5,
      },
    }),
  },
  suggestCacheable: {
    make: () => ({
      query: {
        BODY: JSON.stringify({ query: 'br*e', analyze_wildcards: true, linked_objecttypes: ['person'], limit: 3 }),
        cache_seconds: 5,
      },
    }),
  },
  endPointsInTime: {
    make: async ({ root }) => {
      const { point_in_time } = await root.call('POST', '/search', { limit: 1, point_in_time: { keep_alive: '10s' } })
      return { body: { pit_id: [point_in_time.id] } }
    },
  },
  reindex: { make: () => ({ query: { blockFrontend: 'false' } }) },
  getIndexCheck: { make: () => ({}) },
  beginIndexCheck: { make: () => ({}) },
}
