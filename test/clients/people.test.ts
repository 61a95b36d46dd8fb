import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createGroups, createUsers, signIn } from '../signin/support.ts'
import type { Json } from '../support/client.ts'
import { startService, type TestService } from '../support/service.ts'

/** Users, groups and rights as front ends, importers and configuration dumps send them. */

let svc: TestService
before(async () => {
  svc = await startService()
})
after(() => svc[Symbol.asyncDispose]())

const root = () => svc.as('root')
const ref = (reference: string) => ({ 'lookup:_id': { reference } })

test('the rights that front ends give are kept, merged and told in the session', async () => {
  const frontend = {
    'system.frontend_features': {
      download: true,
      export: true,
      editor_bulk: true,
      asset_browser_metadata_tool: false,
      changelog: false,
      print: true,
      show_system_tags: true,
      stored_searches: false,
      collection_presentation: false,
      deep_link_sharing: false,
      acl_manager: [],
      collection: ['sharing'],
      metadata_export: null,
    },
    'system.search': {
      collection_only: false,
      show_system_tags: false,
      show_fixed_searches: true,
      has_own_collections: true,
    },
    'system.user.write_self': { first_name: true, _new_primary_email: true, picture: false },
    'system.user': { create: true, create_acl: false, hide_frontend_app: false },
    'system.group': { create: true, global_custom_bag_read: false, hide_frontend_app: true },
    'system.user.change_password': {},
    'system.datamodel': { level: 'current' },
    'system.objectadmineditor': {},
    'system.ignore_columnfilters': {},
    'system.search_collection_only': {},
    'system.allow_custom_in_right_with_preset': {},
    'system.user.create_new': { login: true, first_name: true, _password: false, require_group: true },
    'system.rightsmanagement': {},
    'system.rights_management': {},
    'system.server.error.self_uuid_detail': {},
    'system.server.error.uuid_detail': {},
    'system.health': {},
    'system.disable_linked_objects_filter': {},
  }
  const [editors] = await createGroups(svc, {
    group: { _version: 1, displayname: { 'en-US': 'Editors' }, reference: 'editors' },
    _system_rights: frontend,
  })
  const { metadata_export: _, ...features } = frontend['system.frontend_features']
  assert.deepEqual(editors._system_rights, {
    ...frontend,
    'system.frontend_features': features,
    'system.datamodel': { level: ['current'] },
  })
  await createUsers(svc, {
    user: { login: 'ada', _version: 1 },
    _system_rights: { 'system.frontend_features': { changelog: true, collection: ['share_anonymous'] } },
    _groups: [{ _basetype: 'group', group: ref('editors') }],
  })
  const session = await svc.as('ada').get('/user/session')
  const told = session.body.system_rights['system.frontend_features']
  assert.deepEqual([told.changelog, told.download, told.print], [true, true, true])
  assert.deepEqual([...told.collection].sort(), ['share_anonymous', 'sharing'])
  assert.deepEqual(Object.keys(session.body.system_rights).sort(), Object.keys(frontend).sort())
  assert.equal((await svc.as('ada').get('/schema/user/CURRENT')).status, 200)
  const head = (await root().get('/schema/user/HEAD')).body
  assert.equal((await svc.as('ada').post('/schema/user/HEAD', head)).status, 403)
})

test('parameters and rights that nobody knows are refused, also among those of front ends', async () => {
  for (const rights of [
    { 'system.frontend_features': { dowload: true } },
    { 'system.frontend_features': { download: 'yes' } },
    { 'system.user.write_self': { shoe_size: true } },
    { 'system.nonsense': {} },
  ]) {
    const group = { group: { displayname: { 'en-US': 'x' } }, _system_rights: rights }
    const answer = await root().post('/group', [group])
    assert.equal(answer.status, 400, JSON.stringify(rights))
    assert.match(answer.body.code, /^UnknownRight/)
  }
})

test('system groups and users are named with and without the word system before the colon (decisions.md, 32)', async () => {
  const grant = (who: object) => ({ who, rights: { bag_read: {} } })
  const [group] = await createGroups(svc, {
    group: { displayname: { 'en-US': 'Shared' } },
    _acl: [
      grant({ _basetype: 'group', group: ref('system::all') }),
      grant({ _basetype: 'group', group: ref(':authenticated') }),
      grant({ _basetype: 'user', user: ref(':root') }),
      grant({ _basetype: 'user', user: ref('system:root') }),
    ],
    _owner: { _basetype: 'user', user: ref(':root') },
  })
  const everybody = (await root().get('/group')).body.find((entry: Json) => entry.group.reference === ':all')
  const people = group._acl.map(({ who }: Json) => who.user?._id ?? who.group?._id)
  assert.equal(people[0], everybody.group._id)
  assert.deepEqual([people[2], people[3], group._owner.user._id], [1, 1, 1])

  // A client that sends a system group back as it knows it.
  const { _id, _version, type } = everybody.group
  const sent = { group: { _id, _version, type, reference: 'system::all', displayname: { 'en-US': 'Everybody' } } }
  const renamed = await root().post('/group', [sent])
  assert.equal(renamed.status, 200, JSON.stringify(renamed.body))
  assert.deepEqual([renamed.body[0].group.reference, renamed.body[0].group._version], [':all', _version + 1])
  const named = await root().post('/group', [
    { group: { ...ref('system::all'), _version: _version + 1, displayname: { 'en-US': 'All' } } },
  ])
  assert.deepEqual([named.status, named.body[0]?.group._id], [200, _id])

  for (const reference of ['system::mine', ':mine', 'system:mine']) {
    const user = await root().post('/user', [{ user: { login: 'mine', reference } }])
    assert.equal(user.status, 400, `${reference} begins like a reference of the service`)
    const own = await root().post('/group', [{ group: { displayname: { 'en-US': 'Mine' }, reference } }])
    assert.equal(own.status, 400)
  }
  const unknown = await root().post('/group', [{ group: {}, _acl: [grant({ group: ref('system::nobody') })] }])
  assert.deepEqual([unknown.status, unknown.body.code], [400, 'LookupNotFound'])
})

test('a user is deleted by the answer to the 202, with the confirm that clients add', async () => {
  const [user] = await createUsers(svc, { user: { login: 'leaver' } })
  const path = `/user/${user.user._id}`
  const asked = await root().delete(path, undefined, { confirm: 'yes' })
  assert.deepEqual([asked.status, asked.headers['x-svc-ignored']], [202, 'confirm'])
  const strict = await root().delete(path, undefined, { confirm: 'yes', strict: 1 })
  assert.deepEqual([strict.status, strict.body.parameters.param], [400, 'confirm'])
  const [task] = asked.body.tasks
  const choice = task.buttons.find((button: Json) => button.value === 'delete')
  assert.equal((await signIn(svc, 'leaver', 'leaver')).status, 200, 'confirm alone chooses nothing')
  const done = await root().delete(path, undefined, { confirm: 'yes', [choice.name]: choice.value })
  assert.deepEqual([done.status, done.body[0].user._id], [200, user.user._id])
  assert.equal((await signIn(svc, 'leaver', 'leaver')).status, 400)
})
