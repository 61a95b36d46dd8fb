import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, suite, test } from 'node:test'
import type { Answer, Client, Json } from '../support/client.ts'
import { type Museum, startMuseum } from '../support/seed/museum.ts'
import { changePool, type Limited, limitedUser, ok } from './limited.ts'
import { toUser, wireGrant } from './people.ts'

/**
 * Each field of a body that names people, or that grants ask about, and the right that a change of it takes. A new one fails
 * until it stands here, and in the table of docs/rights-and-pools.md.
 */
const asked: Readonly<Record<string, string>> = {
  'PoolInput._acl': 'bag_acl',
  'PoolInput._private_acl': 'bag_acl',
  'PoolInput._owner': 'system.root',
  'PoolInput.pool.contact': 'bag_acl',
  'PoolInput._standard_masks': 'bag_acl',
  'PoolInput._tags': 'bag_acl',
  'PoolInput._private_tags': 'bag_acl',
  'PoolInput._transitions': 'bag_acl',
  'PoolInput._private_transitions': 'bag_acl',
  'PoolInput.pool.caption': 'bag_acl',
  'PoolInput.pool._id_parent': 'bag_acl',
  'PoolInput.pool.lookup:_id_parent': 'bag_acl',
  'CollectionInput._acl': 'bag_acl',
  'CollectionInput._private_acl': 'bag_acl',
  'CollectionInput._owner': 'bag_acl',
  'CollectionInput.collection._id_parent': 'bag_acl',
  'CollectionInput.collection.lookup:_id_parent': 'bag_acl',
  'CollectionCreateObject.tags': 'bag_acl',
  'ObjecttypeInput._acl': 'system.objecttypemanager',
  'ObjecttypeInput._standard_masks': 'bag_acl',
  'ObjecttypeInput._maskfilters': 'bag_acl',
  'ObjecttypeInput._tags': 'bag_acl',
  'ObjecttypeInput.tags': 'bag_acl',
  'ObjecttypeInput._private_tags': 'bag_acl',
  'ObjecttypeInput._transitions': 'bag_acl',
  'ObjecttypeInput.transitions': 'bag_acl',
  'ObjecttypeInput._private_transitions': 'bag_acl',
  'ObjecttypeInput.objecttype.caption': 'bag_acl',
  'ObjecttypeInput.objecttype.contact': 'system.objecttypemanager',
  'ObjecttypeInput._export_asset_filenames': 'system.objecttypemanager',
  'TransitionInput.who': 'system.tagmanager',
  'TransitionInput.actions': 'bag_acl',
  'TagGroupInput._tags._acl': 'system.tagmanager',
  'TagGroupInput._tags.is_default': 'bag_acl',
  'TagInput._acl': 'system.tagmanager',
  'TagInput.is_default': 'bag_acl',
  'RightPresetInput.right_preset.preset': 'bag_acl',
  'RightPresetInput.right_preset.preset.rights': 'bag_acl',
  'RightPresetInput.right_preset.preset.tagfilter': 'bag_acl',
  'ObjectInput._acl': 'acl',
  'ObjectInput._private_acl': 'acl',
  'ObjectInput._owner': 'change_owner',
  'ObjectInput._tags': 'write',
  'ObjectInput._pool': 'unlink',
  'UserInput._owner': 'system.root',
  'UserInput._acl': 'acl',
  'UserInput._system_rights': 'ColumnNeedsSystemRoot',
  'UserInput._groups': 'ColumnNeedsSystemRoot',
  'GroupInput._owner': 'system.root',
  'GroupInput._acl': 'acl',
  'GroupInput._system_rights': 'ColumnNeedsSystemRoot',
  'GroupInput._auth_method_group_maps': 'ColumnNeedsSystemRoot',
  'MessageInput._groups': 'system.message',
  'Table.acl_table': 'system.datamodel[level=commit]',
}

/** Parts of the above, and what only looks like them. */
const parts: Readonly<Record<string, string>> = {
  'Grant.who': 'of an _acl',
  'Grant.rights': 'of an _acl',
  'Grant.tagfilter': 'of an _acl',
  'Grant._right_preset': 'of an _acl',
  'Principal.user': 'of an owner, a contact, a who',
  'Principal.group': 'of an owner, a contact, a who',
  'Principal._owner': 'of a who',
  'Principal._pool_contact': 'of a who',
  'PrincipalInput.user': 'of an owner',
  'PrincipalInput.group': 'of an owner',
  'UserInput._groups.group': 'of _groups',
  'MessageInput._groups.group': 'of _groups',
  'UserInput.user': 'the user itself',
  'GroupInput.group': 'the group itself',
  'PoolTag.is_default': 'of _tags of a pool',
  'TagGroupInput._tags': 'the tags themselves',
  'RemoteFile.id_parent': 'of a file',
  'ExportCsv.include_changelog.with_user': 'columns of a table',
  'ExportXlsx.include_changelog.with_user': 'columns of a table',
  'ExportInput._user': 'answered, and passed over',
  'ExportBlock.user_id': 'has no effect',
  'TaskEmail.recipients': 'get a mail that says how a run ended',
  'ExportTransport.email.recipients': 'get a mail with the address of what its user may fetch',
  'TagSetting.is_default': 'of _tags of an object type',
  'TransitionInput.actions.info': 'of actions',
  'TransitionInput._set_by': 'ignored',
  'ObjectInput._create_user': 'who has created it gets no right by that',
  'RightPresetInput.right_preset': 'the preset itself',
  'GroupInput._pseudonymization.user': 'names fields',
  'Pseudonymization.additional_info': 'names fields',
  'Mask.system_fields.acl': 'whether a mask shows it',
  'Mask.system_fields.owner': 'whether a mask shows it',
  'Mask.system_fields.tags': 'whether a mask shows it',
  'Table.has_tags': 'whether objects have tags',
  'SearchRequest.generate_rights': 'asks for rights to be shown',
  'SearchRequest.sort.number_groups': 'of a number',
  'UniqueKey.group': 'of columns',
}

const name =
  /^_pool$|^_?(who|owner|contact|acl|private_acl|groups?|users?|recipients|transitions|private_transitions|standard_masks|maskfilters|caption|tags|private_tags|is_default|preset|_?right_preset|rights|system_rights|tagfilter|pool_contact|actions|set_by|create_user|id_parent|lookup:_id_parent|(\w+_)?(acl|group|groups|user|users|rights|tags|owner|contact|info)(_(table|maps|id|ids))?|export_asset_filenames|info)$/

/** Fields of bodies by their full names: those whose schema leads to people or grants, and those that are called like one. */
function naming(document: Json): Set<string> {
  const schemas: Json = document.components.schemas
  const reached = new Set<string>()
  const collect = (node: Json): void => {
    if (typeof node !== 'object' || node === null) return
    const ref = typeof node.$ref === 'string' ? node.$ref.split('/').at(-1) : undefined
    if (ref !== undefined && !reached.has(ref)) {
      reached.add(ref)
      collect(schemas[ref])
    }
    for (const member of Object.values(node)) collect(member)
  }
  for (const item of Object.values<Json>(document.paths)) {
    for (const operation of Object.values<Json>(item)) collect(operation?.requestBody)
  }
  const found = new Set<string>()
  const walk = (schema: Json, place: string): void => {
    for (const inner of [schema.anyOf, schema.oneOf, schema.allOf].flatMap((list) => list ?? [])) walk(inner, place)
    if (schema.items) walk(schema.items, place)
    for (const [key, member] of Object.entries<Json>(schema.properties ?? {})) {
      if (member.readOnly === true) continue
      const leads = /schemas\/(Principal|PrincipalInput|Grant|TransitionInput)"/.test(JSON.stringify(direct(member)))
      if (leads || name.test(key)) found.add(`${place}.${key}`)
      walk(member, `${place}.${key}`)
    }
  }
  for (const ref of reached) walk(schemas[ref], ref)
  return found
}

/** Without what stands in its own members. */
function direct({ properties: _, ...schema }: Json): Json {
  return { ...schema, anyOf: schema.anyOf?.map(direct), items: schema.items && direct(schema.items) }
}

/** Members of the base configuration, with those of its tables. */
function configured(list: Json): string[] {
  const paths: string[] = []
  for (const section of list.system.defs) {
    for (const parameter of Object.values<Json>(section.parameters)) {
      paths.push(`${section.name}.${parameter.name}`)
      for (const field of parameter.fields ?? []) paths.push(`${section.name}.${parameter.name}.${field.name}`)
    }
  }
  return paths
}

suite('settings that give rights', () => {
  let museum: Museum
  let root: Client
  let mask: number
  let work: Json
  /** Each has one administrative right, and no other. */
  let writer: Limited
  let typist: Limited
  let tagger: Limited
  let presets: Limited
  let configurer: Limited
  let pool: number
  let tag: number

  before(async () => {
    museum = await startMuseum()
    const { svc } = museum
    root = svc.as('root')
    writer = await limitedUser(svc, 'writer', { 'system.poolmanager': {} })
    typist = await limitedUser(svc, 'typist', { 'system.objecttypemanager': {} })
    tagger = await limitedUser(svc, 'tagger', { 'system.tagmanager': {} })
    presets = await limitedUser(svc, 'presets', { 'system.rightpresetmanager': {} })
    configurer = await limitedUser(svc, 'configurer', { 'system.config': {} })
    const [{ pool: made }] = ok(
      await root.post('/pool', [
        { pool: { _id_parent: museum.pool }, _acl: [wireGrant(toUser(writer.id), 'bag_read bag_write bag_create')] },
      ]),
    )
    pool = made._id
    const [group] = ok(await root.post('tags', [{ taggroup: {}, _tags: [{ reference: 'a' }] }]))
    tag = group._tags[0]._id
    work = ok(await root.get('objecttype')).find(({ objecttype }: Json) => objecttype.name === 'work')
    const { masks } = ok(await root.get('mask/CURRENT'))
    mask = masks.find(({ name: known }: Json) => known === 'work__title_only').mask_id
  })
  after(() => museum[Symbol.asyncDispose]())

  const missing = ({ status, body }: Answer) => [status, body.code, body.parameters?.right]
  const bagAcl = [403, 'RightRequired', 'bag_acl']

  test('every field that names people or gives rights is known, with the right that it takes', async () => {
    const found = naming(ok(await museum.svc.as(null).get('/system/openapi/spec.json')))
    const known = { ...asked, ...parts }
    assert.deepEqual([...found].filter((key) => !(key in known)).toSorted(), [])
    assert.deepEqual(
      Object.keys(known).filter((key) => !found.has(key)),
      [],
    )
    const names = configured(ok(await root.get('config/list'))).filter((path) => /group|user_id|owner|right/.test(path))
    assert.deepEqual(names.toSorted(), Object.keys(inConfiguration).toSorted())
  })

  test('the documentation has each of them, with its right', () => {
    const page = readFileSync(new URL('../../docs/rights-and-pools.md', import.meta.url), 'utf8')
    const table = page.slice(
      page.indexOf('## Settings that give rights'),
      page.indexOf('## What a caller may do with an'),
    )
    for (const [key, right] of Object.entries(asked)) {
      const member = key.split('.').at(-1) as string
      const rows = table
        .split('\n')
        .filter(
          (row) =>
            row.includes(member.replace('lookup:', '')) ||
            /\.(tags|transitions|who|actions|rights|preset|_system_rights|_auth_method_group_maps|_groups)$/.test(key),
        )
      assert.ok(
        rows.some((row) => row.includes(right) || row.includes('the rules above')),
        `${key}: ${right}`,
      )
    }
  })

  test('bag_write on a pool does not make its holder contact, owner or reader of anything in it', async () => {
    const attempts: [string, object, object?][] = [
      ['contact', {}, { contact: toUser(writer.id) }],
      ['_acl', { _acl: [wireGrant(toUser(writer.id), 'read')] }],
      ['_private_acl', { _private_acl: true }],
      [
        '_transitions',
        {
          _transitions: [
            {
              type: 'process',
              operations: ['INSERT'],
              actions: [{ type: 'change_owner', info: { owner: toUser(writer.id) } }],
            },
          ],
        },
      ],
      [
        '_transitions that tag',
        {
          _transitions: [
            {
              type: 'process',
              operations: ['INSERT'],
              actions: [{ type: 'set_tags', info: { tags: [{ _id: tag, set: true }] } }],
            },
          ],
        },
      ],
      ['_private_transitions', { _private_transitions: true }],
      ['_tags', { _tags: [{ _id: tag, is_default: true }] }],
      ['_private_tags', { _private_tags: true }],
      ['_standard_masks', { _standard_masks: { [work.objecttype._id]: [mask] } }],
      ['caption', {}, { caption: { image: { text: '%note%' } } }],
    ]
    for (const [what, beside, block] of attempts) {
      assert.deepEqual(missing(await changePool(writer.client, root, pool, beside, block)), bagAcl, what)
    }
    const owner = await changePool(writer.client, root, pool, { _owner: toUser(writer.id) })
    assert.deepEqual(missing(owner), [403, 'SystemRightRequired', 'system.root'])
    // What is stored may be sent back, and everything else changes.
    const [stored] = ok(await root.get(`/pool/${pool}`))
    const { _acl: _, _owner: __, ...own } = stored
    ok(await writer.client.post('/pool', [{ ...own, pool: { ...own.pool, comment: 'sent back' } }]))
    // With bag_acl all of it is let.
    ok(await changePool(root, root, pool, { _acl: [wireGrant(toUser(writer.id), 'bag_read bag_write bag_acl')] }))
    for (const [what, beside, block] of attempts.filter(([what]) => what !== '_acl' && what !== '_private_acl')) {
      assert.equal((await changePool(writer.client, root, pool, beside, block)).status, 200, what)
    }
  })

  test('system.objecttypemanager alone gives no rights on objects in pools', async () => {
    const change = async (beside: object, block: object = {}) => {
      const types = ok(await root.get('objecttype'))
      const { _id, _version } = types.find(({ objecttype }: Json) => objecttype.name === 'work').objecttype
      return typist.client.post('objecttype', [{ objecttype: { _id, _version: _version + 1, ...block }, ...beside }])
    }
    for (const [beside, block] of [
      [{ _standard_masks: [mask] }],
      [{ _maskfilters: { [mask]: { tagfilter: { all: [tag] } } } }],
      [{ _tags: [{ _id: tag, is_default: true }] }],
      [{ _private_tags: true }],
      [{ _transitions: [{ type: 'process', operations: ['INSERT'] }] }],
      [{ _private_transitions: true }],
      [{}, { caption: { image: { text: '%note%' } } }],
    ] as [object, object?][]) {
      assert.deepEqual(missing(await change(beside, block)), bagAcl, JSON.stringify([beside, block]))
    }
    assert.equal((await change({}, { description: { 'en-US': 'Works' }, contact: toUser(typist.id) })).status, 200)
  })

  test('system.tagmanager alone makes no tag that grants ask for a tag of every new object', async () => {
    const [group] = ok(await tagger.client.get('tags'))
    const [first] = group._tags
    const refused = await tagger.client.post('tags', [{ ...group, _tags: [{ ...first, is_default: true }] }])
    assert.deepEqual(missing(refused), bagAcl)
    assert.equal(ok(await root.get('tags'))[0]._tags[0].is_default, false)
    ok(await tagger.client.post('tags', [{ ...group, _tags: [first, { reference: 'new', is_default: true }] }]))
  })

  test('operations on what is stored give nothing that a save of the whole list would not give', async () => {
    const [hers] = ok(
      await root.post('/pool', [
        { pool: { _id_parent: museum.pool }, _acl: [wireGrant(toUser(tagger.id), 'bag_read read create write mask')] },
      ]),
    )
    const [guarded] = ok(
      await root.post('tags', [
        ...ok(await root.get('tags')),
        { taggroup: {}, _tags: [{ reference: 'guarded', _acl: [wireGrant(toUser(writer.id), 'tag_add tag_remove')] }] },
      ]),
    ).at(-1)._tags
    const block = { _pool: { pool: { _id: hers.pool._id } } }
    const shared = [wireGrant(toUser(writer.id), 'read')]
    const made = { _objecttype: 'work', _mask: '_all_fields', _acl: shared, _tags: [{ _id: guarded._id }], work: block }
    const [{ work: stored }] = ok(await root.post('db/work', [made]))
    const edit = (client: Client, operation: object) =>
      client.patch('db/work', [
        { _objecttype: 'work', _mask: 'work__standard', _operations: [operation], work: { _id: stored._id } },
      ])
    const own = [{ who: toUser(writer.id) }]
    const refusals: [object, string][] = [
      [{ op: 'append', field: '_acl', values: [wireGrant(toUser(tagger.id), 'read write acl')] }, 'acl'],
      [{ op: 'remove', field: '_acl', values: own }, 'acl'],
      [{ op: 'replace', field: '_acl', values: own, with: [wireGrant(toUser(tagger.id), 'acl')] }, 'acl'],
      [{ op: 'remove', field: '_tags', values: [{ _id: guarded._id }] }, 'tag_remove'],
      [{ op: 'replace', field: '_tags', values: [{ _id: guarded._id }], with: [{ _id: tag }] }, 'tag_remove'],
    ]
    for (const [operation, right] of refusals) {
      const { status, body } = await edit(tagger.client, operation)
      assert.deepEqual([status, body.code, body.parameters?.right], [403, 'ObjectInsufficientRights', right])
    }
    ok(await edit(root, { op: 'remove', field: '_tags', values: [{ _id: guarded._id }] }))
    const added = await edit(tagger.client, { op: 'append', field: '_tags', values: [{ _id: guarded._id }] })
    assert.deepEqual([added.status, added.body.parameters?.right], [403, 'tag_add'])
    ok(await edit(tagger.client, { op: 'append', field: '_tags', values: [{ _id: tag }] }))
    const [now] = ok(await root.get(`db/work/_all_fields/${stored._id}`))
    assert.deepEqual([now._acl.length, now._tags.map((one: Json) => one._id)], [1, [tag]])
  })

  test('system.rightpresetmanager alone changes nothing of what is shared', async () => {
    const save = (block: object) => presets.client.post('right/object/presets', [{ right_preset: block }])
    const [{ right_preset: made }] = ok(await save({ preset: { rights: { read: {} } } }))
    const [{ right_preset: changed }] = ok(
      await save({ _id: made._id, _version: made._version, preset: { rights: { read: {}, mask: {} } } }),
    )
    const shared = { who: toUser(presets.id), rights: {}, _right_preset: made._id }
    ok(
      await root.post('db/work', [
        { _objecttype: 'work', _mask: '_all_fields', _acl: [shared], work: { _pool: { pool: { _id: pool } } } },
      ]),
    )
    const next = { _id: made._id, _version: changed._version }
    assert.deepEqual(missing(await save({ ...next, preset: { rights: { read: {}, write: {}, acl: {} } } })), bagAcl)
    assert.equal((await save({ ...next, displayname: { 'en-US': 'Shared' } })).status, 200)
  })

  test('system.config alone puts nobody into a group that gives more', async () => {
    const [{ group }] = ok(
      await root.post('/group', [{ group: { name: 'chiefs' }, _system_rights: { 'system.user': {} } }]),
    )
    const [{ group: plain }] = ok(await root.post('/group', [{ group: { name: 'guests' } }]))
    const register = (...ids: number[]) =>
      configurer.client.post('config/system/config/registration', { groups: ids.map((group_id) => ({ group_id })) })
    const refused = await register(plain._id, group._id)
    assert.deepEqual([refused.status, refused.body.code], [400, 'ColumnNeedsSystemRoot'])
    assert.deepEqual(refused.body.parameters, { column: 'registration.groups', group: group._id })
    ok(await register(plain._id))
    // Nor does it say which directory tells who is in such a group.
    const trust = () => configurer.client.post('config/system/config/ldap', { groupmapping: [{ group: 'chiefs' }] })
    ok(await trust())
    const [{ group: stored }] = ok(await root.get(`/group/${group._id}`))
    const _auth_method_group_maps = { ldap: [{ method: 'eq', value: 'chiefs' }] }
    ok(await root.post('/group', [{ group: { _id: group._id, _version: stored._version }, _auth_method_group_maps }]))
    ok(await trust())
    const other = await configurer.client.post('config/system/config/ldap', { groupmapping: [{ group: 'others' }] })
    assert.deepEqual([other.status, other.body.parameters.column], [400, 'ldap'])
  })
})

/** Members of the configuration that name people or rights. */
const inConfiguration: Readonly<Record<string, string>> = {
  'ldap.groupbasedn': 'what its users have',
  'ldap.groupfilter': 'what its users have',
  'ldap.groupmapping': 'what its users have',
  'ldap.groupmapping.group': 'what its users have',
  'openid_connect.providers.groupmapping': 'what its users have',
  'saml.groupmapping': 'what its users have',
  'saml.groupmapping.group': 'what its users have',
  'saml.providers.groupmapping': 'what its users have',
  'user.user_in_event_group': 'nothing: groups of events',
  'registration.groups': 'what the group gives',
  'registration.groups.group_id': 'what the group gives',
}
