import { link, payload } from '../test/support/seed/museum.ts'
import { chessboard } from './picture.ts'
import { addWork, deepLinkOf, harvested, type Scene, type Seed, type SeedRequest } from './seeds.ts'

const en = (text: string) => ({ 'en-US': text })
const search = (body: (scene: Scene) => object): Seed => ({ make: (scene) => ({ body: body(scene) }) })

/** The address of a version of the picture of the bridge: the end of one of its signed addresses. */
async function addressOf({ root, world }: Scene, version: string, kind: 'url' | 'iiif_url' | 'zoom_url') {
  const { versions } = await root.call('GET', `/eas/${world.pictures.bridge.id}`)
  const { pathname, searchParams } = new URL(versions[version][kind])
  return {
    steps: pathname.split('/').slice(pathname.split('/').indexOf('eas') + 2),
    signature: searchParams.get('x-svc-signature') ?? '',
  }
}

const part = (kind: 'iiif_url' | 'zoom_url', version: string, tail: string, headers = {}): Seed => ({
  make: async (scene) => {
    const { steps } = await addressOf(scene, version, kind)
    return { path: { path: [...steps, ...tail.split('/')].join('/') }, headers }
  },
})

/** Without a signature: only by the rights of the caller. */
const ownPart = (version: string, tail: string): Seed => ({
  make: async (scene) => {
    const [id, hash] = (await addressOf(scene, version, 'url')).steps
    return { path: { path: `${id}/${hash}/${version}/${tail}` } }
  },
})

const download = (version: string, headers: Record<string, string> = {}): Seed => ({
  make: async (scene) => {
    const { steps, signature } = await addressOf(scene, version, 'url')
    const [fileId = '', hash = ''] = steps
    const signed: SeedRequest = { path: { fileId, hash, version }, query: { 'x-svc-signature': signature }, headers }
    return scene.fresh() % 2 === 0 ? signed : { ...signed, query: {} }
  },
})

const webPreset = {
  name: 'web',
  displayname: en('For the web'),
  custom: { format: 'jpeg', quality: 'high', dpi: 72, size: 'custom', custom_size_pixel: 320 },
}

const harvests: readonly Record<string, string | number>[] = [
  {},
  { verb: 'ListSets', limit: 5 },
  { verb: 'ListMetadataFormats' },
  { verb: 'ListIdentifiers', metadataPrefix: 'oai_dc', from: '2020-01-01', until: '2030-01-01', offset: 2 },
  { verb: 'ListRecords', metadataPrefix: 'native', set: 'pool:1', 'event.info': '{"portal": "fuzz"}' },
]

/** Valid requests of operations that have more than one way to be used; the first of each is in fuzz/seeds.ts. */
export const moreSeeds: Record<string, readonly Seed[]> = {
  openDeepLink: [
    '/latest/format/xml_native',
    '/version/1/format/csv/disposition/attachment',
    '/format/iiif/v3/manifest.json',
    '/file/all/1/file_version/name/original',
    '/file_browser/preferred/disposition/inline',
    '/mask/_all_fields/format/json',
    '/format/lido',
    '/format/mods',
  ].map((more) => ({ make: (scene) => deepLinkOf(scene, more) })),
  harvest: harvests.map((query) => ({
    make: async (scene) => {
      await harvested(scene)
      return { query }
    },
  })),
  saveObjects: [
    {
      make: async (scene) => {
        const made = await addWork(scene)
        const [stored] = await scene.root.call('GET', `/db/work/_all_fields/${made.work._id}?format=long`)
        return { path: { objecttype: 'work' }, query: { format: 'short' }, body: [stored] }
      },
    },
    {
      make: async (scene) => {
        const made = await addWork(scene)
        const loan = { borrower: 'Louvre', due: { value: '2031-05' } }
        const rows = [{ _objecttype: 'loan', _mask: '_all_fields', loan }]
        const block = { _id: made.work._id, _version: 1, title: en('Lent'), '_reverse_nested:loan:work': rows }
        return { path: { objecttype: 'work' }, query: { dry_run: '1' }, body: [payload('work', block)] }
      },
    },
    {
      make: ({ world, fresh }) => {
        const influence = { person: link('person', world.objects.blake ?? 0), active: true, note: 'met in London' }
        const block = { name: 'Palmer', reference: `palmer${fresh()}`, '_nested:person__influence': [influence] }
        return { path: { objecttype: 'person' }, body: [payload('person', block)] }
      },
    },
    {
      make: ({ world, fresh }) => {
        const block = { name: en('Soho'), code: `S${fresh()}`, 'lookup:_id_parent': { code: 'LON' } }
        const parents = [link('topic', world.objects.people ?? 0), link('topic', world.objects.nature ?? 0)]
        return fresh() % 2 === 0
          ? { path: { objecttype: 'place' }, body: [payload('place', block)] }
          : { path: { objecttype: 'topic' }, body: [payload('topic', { name: 'rower', _parents: parents })] }
      },
    },
  ],
  changeObjects: [
    {
      make: async (scene) => {
        const made = [await addWork(scene), await addWork(scene)]
        const material = '_nested:work__material'
        const rows = [
          { op: 'append', field: material, values: [{ name: 'chalk', amount: 2 }], unless_present: true },
          { op: 'replace', field: material, values: [{ name: 'oil' }], with: { amount: 3 } },
          { op: 'remove', field: material, values: [{ origin: link('place', scene.world.objects.europe ?? 0) }] },
        ]
        const block = { _id: made.map(({ work }) => work._id) }
        return {
          path: { objecttype: 'work' },
          query: scene.fresh() % 2 === 0 ? { dry_run: '1' } : {},
          body: [payload('work', block, { _operations: rows })],
        }
      },
    },
    {
      make: async (scene) => {
        const made = await addWork(scene)
        const text = { search: 'snow', with: 'rain', whole_words: true, match_case: false, languages: ['en-US'] }
        const operations = [
          { op: 'replace_text', field: 'title', ...text },
          { op: 'remove', field: '_tags', values: [{ _id: scene.world.tags.draft }] },
          { op: 'append', field: '_acl', values: [{ who: { _owner: true }, rights: { read: {} } }] },
        ]
        return {
          path: { objecttype: 'work' },
          body: [payload('work', { _id: made.work._id, _version: 1 }, { _operations: operations })],
        }
      },
    },
  ],
  deleteObjects: [
    {
      make: async (scene) => {
        const made = await addWork(scene)
        await scene.root.call('DELETE', '/db/work?delete_policy=remove', [[made.work._id, 1, null]])
        return {
          path: { objecttype: 'work' },
          query: { delete_policy: scene.fresh() % 2 === 0 ? 'undelete' : 'purge' },
          body: [[made.work._id, 2, 'back again']],
        }
      },
    },
    {
      make: ({ world }) => ({
        path: { objecttype: 'place' },
        query: { delete_policy: 'setnull', dry_run: '1' },
        body: [[world.ids.london, 1, null]],
      }),
    },
  ],
  search: [
    {
      make: ({ world }) => ({
        body: {
          type: 'pool',
          search: [
            {
              type: 'text',
              string: 'cl?sed w*',
              mode: 'wildcard',
              fields: ['pool.name.en-US', '_fulltext'],
              bool: 'should',
            },
            { type: 'in', fields: ['_path.pool._id', 'pool._id'], in: [world.pools.root, null], bool: 'should' },
            { type: 'complex', search: [{ type: 'range', field: '_level', from: 1, to: 3 }], bool: 'must_not' },
          ],
          sort: [{ field: 'pool.name', order: 'desc', language: 'en-US' }],
          aggregations: { levels: { type: 'term', field: '_level', sort: 'term', limit: 3, offset: 1 } },
          limit: 5,
          offset: 0,
        },
      }),
    },
    {
      make: ({ world }) => ({
        body: {
          type: 'acl',
          search: [
            { type: 'text', string: 'hidden', query: 'match_phrase', bool: 'should' },
            {
              type: 'in',
              fields: ['user._id', 'group._id'],
              in: [world.users.limited, world.groups.staff],
              bool: 'should',
            },
          ],
          sort: [{ field: '_basetype' }, { field: '_created_at', order: 'desc' }],
          aggregations: { types: { type: 'term', field: 'user.type' } },
        },
      }),
    },
    {
      make: ({ world }) => ({
        body: {
          type: 'user',
          search: [
            { type: 'in', fields: ['_groups.group._id'], in: [world.groups.staff] },
            {
              type: 'text',
              string: 'n*',
              mode: 'exact',
              fields: ['user.login'],
              languages: ['en-US'],
              bool: 'must_not',
            },
          ],
        },
      }),
    },
    { make: () => ({ body: { type: 'group', search: [{ type: 'text', string: 'staff', mode: 'token' }] } }) },
    {
      make: () => ({
        body: { type: 'collection', search: [{ type: 'range', field: '_created_at', from: '2020-01', to: '2099' }] },
      }),
    },
    {
      make: () => ({
        body: {
          type: 'message',
          search: [
            { type: 'range', field: 'message.start_time.value', to: '2099', to_equals: false, bool: 'must_not' },
          ],
          timezone: 'Europe/Berlin',
        },
      }),
    },
    {
      make: ({ world }) => ({
        body: {
          type: 'event',
          search: [
            { type: 'in', fields: ['event.type'], in: ['OBJECT_INSERT', 'POOL_INSERT'] },
            { type: 'in', fields: ['event.object_id'], in: [world.pools.open], bool: 'should' },
            { type: 'text', string: 'insert', fields: ['event.type'], phrase: true, bool: 'should' },
          ],
          aggregations: { types: { type: 'term', field: 'event.type' } },
          limit: 10,
        },
      }),
    },
    search(({ world }) => ({
      search: [
        { type: 'text', string: '*bri?ge* OR da*', mode: 'wildcard', fields: ['work.title', '_fulltext'], boost: 2 },
        { type: 'changelog_range', from: '2020-01-01', to: '2999-01-01', operation: 'INSERT', user: 1, bool: 'should' },
        { type: 'range', field: 'work.made', from: '1700', to: '1900', to_equals: false, bool: 'should' },
        {
          type: 'in',
          fields: ['work.place'],
          subsearch: { objecttypes: ['place'], search: [{ type: 'text', string: 'london' }] },
          bool: 'should',
        },
        { type: 'in', fields: ['_pool'], in: [world.pools.root, null], include_path: true, bool: 'should' },
      ],
      include_deleted: true,
      generate_rights: true,
      best_mask_filter: true,
      timezone: 'Europe/London',
      languages: ['de-DE', 'en-US'],
      include_fields: ['_system_object_id', 'work.title'],
      format: 'long',
    })),
    search(() => ({
      objecttypes: ['work', 'place', 'person'],
      aggregations: {
        titles: { type: 'term', field: 'work.title', language: 'en-US', limit: 3, sort: 'term' },
        notes: { type: 'term', field: 'work.note', limit: 3 },
        people: { type: 'linked_object', field: 'work.creator', limit: 3 },
        made: { type: 'date_range', field: 'work.made', ranges: [{ from: '1800', to: '1850' }] },
        width: { type: 'range', field: 'work.width', ranges: [{ to: 50 }, { from: 50 }] },
      },
      sort: [{ field: '_standard', language: 'de-DE' }],
      limit: 0,
    })),
    search(({ world: { pictures } }) => ({
      objecttypes: ['work'],
      search: [
        { type: 'similar', _id: pictures.bridge.id, bits: 5, fields: ['work.image'] },
        { type: 'similar', _id: pictures.bridge.id, bool: 'should', boost: 2 },
        { type: 'text', string: 'bridge', bool: 'should' },
      ],
      sort: [{ field: '_score', order: 'desc' }],
    })),
    search(({ world: { pictures } }) => ({ search: [{ type: 'similar', _id: pictures.hidden.id, bool: 'must_not' }] })),
    {
      make: ({ masked }) => {
        const fields = ['note', 'width', 'price', 'inventory', '_nested:work__material.name']
        const counted = fields.map((field) => [field, { type: 'term', field: `work.${field}`, limit: 5 }])
        return {
          body: {
            objecttypes: ['work'],
            search: [{ type: 'text', string: 'half', bool: 'should' }],
            aggregations: Object.fromEntries(counted),
            sort: [{ field: 'work.note' }, { field: 'work.made' }],
            format: 'full',
            generate_rights: true,
          },
          by: masked,
        }
      },
    },
  ],
  searchCacheable: [
    {
      make: ({ masked }) => {
        const fields = ['note', 'width', 'price', 'made', 'seen', 'inventory', '_nested:work__material.name']
        const sort = fields.map((field) => ({ field: `work.${field}` }))
        return { query: { BODY: JSON.stringify({ objecttypes: ['work'], sort, format: 'full' }) }, by: masked }
      },
    },
  ],
  savePools: [
    {
      make: async ({ root, world }) => {
        const [{ pool }] = await root.call('GET', `/pool/${world.pools.half}`)
        const removal = { keep_days_history_versions: 30, keep_count: 2, min_object_deleted_days: null }
        const janitor_policy = { file_link_delete: removal, object_purge: { min_deleted_days: 60 } }
        const watermark = { image: { _id: world.pictures.bridge.id }, gravity: 'se', size: '20%', dissolve: 50 }
        return {
          query: { confirm: 'skip' },
          body: [{ pool: { _id: pool._id, _version: pool._version, janitor_policy, watermark } }],
        }
      },
    },
    {
      make: async ({ root, world }) => {
        const [stored] = await root.call('GET', `/pool/${world.pools.open}`)
        const { _acl, _tags, _private_acl } = stored
        return { body: [{ pool: { _id: stored.pool._id, _version: stored.pool._version }, _acl, _tags, _private_acl }] }
      },
    },
  ],
  saveObjecttypes: [
    {
      make: async ({ root, world }) => {
        const [{ objecttype }] = await root.call('GET', `/objecttype/${world.objecttypes.person}`)
        const janitor_policy = {
          file_link_delete: { keep_days_history_versions: null, keep_count: 1, min_object_deleted_days: 7 },
          object_purge: { min_deleted_days: 14 },
        }
        const { _id, _version } = objecttype
        return { body: [{ objecttype: { _id, _version: _version + 1, janitor_policy } }] }
      },
    },
  ],
  replaceConfig: [
    {
      make: () => {
        const object_and_file_removal = {
          allow_overwrite: true,
          file_link_delete: { keep_count_history_versions: 3, keep_days_history_versions: 365 },
          object_purge: { min_deleted_days: 365 },
        }
        return { body: { system: { config: { janitor: { active: true, object_and_file_removal } } } } }
      },
    },
  ],
  setConfigValue: [
    {
      make: () => ({
        path: { path: 'system/config/custom_version_presets/value' },
        body: {
          presets: [
            webPreset,
            {
              name: 'square',
              displayname: en('Square'),
              custom: {
                size: 'custom',
                custom_size: 'cover',
                custom_width_pixel: 64,
                custom_height_pixel: 64,
                watermark: true,
                transform: { crop: { top: 10, left: 20, width: 500, height: 400 } },
              },
            },
          ],
        },
      }),
    },
  ],
  saveTags: [
    {
      make: async ({ root }) => {
        const stored = await root.call('GET', '/tags')
        const group = { displayname: en('Colour'), type: 'choice' }
        return { body: [...stored, { taggroup: group, _tags: [{ displayname: en('Red'), is_default: true }] }] }
      },
    },
  ],
  saveTransitions: [
    {
      make: async ({ root, world }) => {
        const stored = await root.call('GET', '/transitions')
        const added = {
          type: 'process',
          trigger: 'automatic',
          operations: ['UPDATE'],
          objecttype_ids: [world.objecttypes.topic],
          'tagfilter:before': { all: [world.tags.draft], not: [world.tags.done] },
          who: [{ _basetype: 'user', user: { _id: world.users.limited } }],
          confirm: en('Sure?'),
          actions: [
            { type: 'set_tags', info: { tags: [{ _id: world.tags.done, set: true }] } },
            { type: 'email', info: { subject: en('Done'), recipients: [{ _owner: true }], batchable: true } },
          ],
        }
        return { body: [...stored, added] }
      },
    },
  ],
  listEvents: [
    {
      make: () => ({
        query: { format: 'csv', csv_explode: '1', csv_delimiter: ';', csv_max_length: 20, limit: 5, pollable: 'true' },
      }),
    },
  ],
  logout: [{ make: () => ({ headers: { accept: 'text/html' } }) }],
  postLogoutHere: [{ make: () => ({ headers: { accept: 'text/html', 'sec-fetch-site': 'cross-site' }, body: {} }) }],
  uploadFiles: [
    {
      make: ({ fresh }) => ({
        query: { filenames: `["${fresh()}.png"]`, check_for_duplicates: 'true' },
        headers: { 'content-type': 'image/png' },
        body: chessboard(200, 120, `${fresh()}`),
      }),
    },
  ],
  readFiles: [
    {
      make: ({ world: { pictures } }) => ({
        query: { ids: `[${pictures.bridge.id},${pictures.hidden.id}]`, format: 'long' },
      }),
    },
    {
      make: ({ world: { pictures } }) => ({
        query: { ids: `[${pictures.bridge.id}]`, mapping: 1, objecttype: 'work', mapping_recipe_configs: '{}' },
      }),
    },
  ],
  readFile: [
    { make: ({ world }) => ({ path: { fileId: world.pictures.bridge.id }, query: { format: 'long' } }) },
    { make: ({ world }) => ({ path: { fileId: world.pictures.hidden.id }, query: { check_for_duplicates: 'true' } }) },
    {
      make: ({ world }) => ({
        path: { fileId: world.pictures.bridge.id },
        query: { mapping: 'standard', objecttype: 'work', mask: 'work__standard', pool_id: world.pools.open },
      }),
    },
  ],
  similarFiles: [{ make: ({ world }) => ({ path: { fileId: world.pictures.hidden.id }, query: { bits: 0 } }) }],
  downloadFile: [
    download('original', { range: 'bytes=100-299' }),
    {
      make: async (scene) => {
        const [fileId = '', hash = ''] = (await addressOf(scene, 'small', 'url')).steps
        return { path: { fileId, hash, version: 'small' }, query: { metadata: '1' } }
      },
    },
    {
      make: async (scene) => {
        const { steps, signature } = await addressOf(scene, 'original', 'url')
        const [fileId = '', hash = ''] = steps
        await scene.root.call('POST', '/config/system/config/custom_version_presets/value', { presets: [webPreset] })
        return {
          path: { fileId, hash, version: 'original' },
          query: { 'x-svc-signature': signature, preset: 'web' },
        }
      },
    },
    download('small'),
    download('preview'),
    download('zoom'),
    {
      make: ({ world: { pictures } }) => ({
        path: { fileId: pictures.hidden.id, hash: pictures.hidden.hash, version: 'original' },
      }),
    },
  ],
  iiifImage: [
    part('iiif_url', 'original', 'info.json', {
      accept: 'application/ld+json;profile="http://iiif.io/api/image/2/context.json"',
    }),
    part('iiif_url', 'original', 'pct:10,10,50,50/!300,300/90/gray.png'),
    part('iiif_url', 'preview', 'full/max/!0/bitonal.png'),
    ownPart('small', 'square/^500,/180/color.webp'),
    {
      make: ({ world: { pictures } }) => ({
        path: { path: `${pictures.hidden.id}/${pictures.hidden.hash}/original/full/100,/0/default.jpg` },
      }),
    },
  ],
  zoomTile: [
    part('zoom_url', 'original', 'zoom2080/size256/avoid_interpolation/part1x1.jpg'),
    part('zoom_url', 'small', 'zoom400/part0x0.png'),
    ownPart('original', 'zoom520/size64/part2x3.jpg'),
    {
      make: ({ world: { pictures } }) => ({
        path: { path: `${pictures.hidden.id}/${pictures.hidden.hash}/original/zoom520/part0x0.jpg` },
      }),
    },
  ],
  getSchema: [{ make: () => ({ path: { version: 'HEAD' } }) }],
  listObjects: [
    {
      make: () => ({
        path: { objecttype: 'work', mask: 'work__standard' },
        query: { format: 'full_inheritance', merge_linked_objects: 'all', merge_max_depth: 3, all_versions: '1' },
      }),
    },
  ],
}
