import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ask, startDrives } from '../drives/support.ts'
import { toUser, wireGrant } from '../rights/people.ts'
import type { Answer, Json } from '../support/client.ts'

let drives: Awaited<ReturnType<typeof startDrives>>
/** Of the object type `photo` and its preferred mask. */
let type: number
let mask: number
before(async () => {
  drives = await startDrives()
  // The owner knows with whom to share.
  for (const id of [drives.ids.stranger, drives.ids.editor]) {
    const [{ user }] = (await drives.svc.as('root').get(`/user/${id}`)).body
    const _acl = [wireGrant({ group: { 'lookup:_id': { reference: ':all' } } }, 'bag_read')]
    await drives.svc.as('root').post('/user', [{ user: { _id: id, _version: user._version }, _acl }])
  }
  const masks = (await drives.svc.as('root').get('mask/CURRENT')).body.masks
  const found = masks.find((one: Json) => one.name === 'photo__standard')
  ;[type, mask] = [found.table_id, found.mask_id]
})
after(() => drives.svc[Symbol.asyncDispose]())

const editor = () => drives.svc.as('editor')
const who = () => toUser(drives.ids.stranger)

/** Another list of grants of a collection. */
async function share(id: number, acl: object[], login = 'editor'): Promise<Answer> {
  const { collection } = (await drives.svc.as('root').get(`/collection/${id}`)).body
  return drives.svc.as(login).post(`/collection/${id}`, { collection: { _version: collection._version }, _acl: acl })
}

async function urls(id: number, login = 'stranger'): Promise<string[] | undefined> {
  const { status, body } = await drives.svc.as(login).get(`/collection/${id}`)
  assert.equal(status, 200, JSON.stringify(body))
  return body._hotfolder_upload_urls?.map((one: Json) => one.url)
}

const creating = (item: object) => ({ who: who(), rights: { bag_read: {}, link: {}, create_in_collection: item } })

test('create_in_collection tells where to upload, together with link, within its object types and masks', async () => {
  const { id } = await drives.collection()
  for (const [item, given] of [
    [{}, true],
    [{ objecttype_ids: [type] }, true],
    [{ objecttype_ids: [type + 1000] }, false],
    [{ objecttype_ids: [] }, false],
    [{ mask_ids: { [type]: [mask] } }, true],
    [{ mask_ids: { [type]: ['standard'] } }, true],
    [{ mask_ids: { [type]: [mask + 1000] } }, false],
    [{ objecttype_ids: [type], mask_ids: { [type]: [] } }, false],
  ] as const) {
    const answer = await share(id, [creating(item)])
    assert.equal(answer.status, 200, JSON.stringify([item, answer.body]))
    assert.equal((await urls(id))?.length, given ? 2 : undefined, JSON.stringify(item))
  }
  // Both limits are of one grant.
  const apart = [{ objecttype_ids: [type], mask_ids: { [type]: [] } }, { objecttype_ids: [type + 1000] }]
  assert.equal((await share(id, apart.map(creating))).status, 200)
  assert.equal(await urls(id), undefined)
  for (const rights of ['bag_read create_in_collection', 'bag_read link', 'bag_read link create']) {
    const answer = await share(id, [wireGrant(who(), rights)])
    if (answer.status === 200) assert.equal(await urls(id), undefined, rights)
    else assert.equal(answer.body.code, 'UnknownRight', JSON.stringify(answer.body))
  }
  assert.equal((await share(id, [creating({})])).status, 200)
  const shown = (await drives.svc.as('stranger').get(`/collection/${id}`)).body
  assert.deepEqual(shown._generated_rights.create_in_collection, {})
  assert.deepEqual((await editor().get(`/collection/${id}`)).body._generated_rights.create_in_collection, {})
})

test('what is uploaded there is made in the name of the owner; by the interface one acts in the own name', async () => {
  const { id } = await drives.collection()
  assert.equal((await share(id, [creating({})])).status, 200)
  const [drive = ''] = (await urls(id)) ?? []
  const put = await ask(`${drives.base}${new URL(drive).pathname}note.txt`, 'PUT', {}, Buffer.from('words'))
  assert.equal(put.status, 201, put.text)
  const [entry] = (await editor().get(`/collection/objects/${id}`)).body.objects
  const systemObjectId = Number(entry._global_object_id.split('@')[0])
  const [photo] = (await editor().get(`/db/photo/photo__standard/system_object_id/${systemObjectId}`)).body
  assert.equal(photo._owner.user._id, drives.ids.editor)
  // By the interface one acts in the own name, and needs the rights oneself.
  const own = { _objecttype: 'photo', _mask: 'photo__standard', photo: { _pool: { pool: { _id: drives.pool } } } }
  const refused = await drives.svc.as('stranger').post('/db/photo', [own], { collection: id })
  assert.deepEqual([refused.status, refused.body.code], [400, 'PoolNotFound'])
})

test('the owner alone gives it: by it others act in the name of the owner', async () => {
  const { id } = await drives.collection()
  const manager = wireGrant(who(), 'bag_read bag_write bag_acl link')
  assert.equal((await share(id, [manager])).status, 200)
  const mine = (await drives.svc.as('stranger').get(`/collection/${id}`)).body._acl[0]
  for (const acl of [
    [{ ...mine, rights: { ...mine.rights, create_in_collection: {} } }],
    [mine, creating({})],
    [mine, { who: { _owner: true }, rights: { create_in_collection: {} } }],
  ]) {
    const { status, body } = await share(id, acl, 'stranger')
    assert.deepEqual([status, body.code, body.parameters.right], [403, 'RightRequired', 'owner'], JSON.stringify(body))
  }
  assert.equal(await urls(id), undefined)
  // Below it, too, and by a new collection.
  const below = await drives.svc.as('root').post('/collection', { collection: { _id_parent: id } })
  assert.equal(below.status, 200, JSON.stringify(below.body))
  const inner = await share(below.body.collection._id, [creating({})], 'stranger')
  assert.deepEqual([inner.status, inner.body.parameters?.right], [403, 'owner'])
  // What the owner has given may be sent back, and taken away.
  assert.equal((await share(id, [manager, creating({})])).status, 200)
  const given = (await drives.svc.as('stranger').get(`/collection/${id}`)).body._acl
  assert.equal((await share(id, given, 'stranger')).status, 200)
  assert.equal((await urls(id))?.length, 2)
  assert.equal((await share(id, [given[0]], 'stranger')).status, 200)
  assert.equal(await urls(id), undefined)
})

test('a preset gives it where the owner has chosen that preset; root alone changes one that is used so that it does', async () => {
  const root = drives.svc.as('root')
  const { id } = await drives.collection()
  const [pool] = (await root.get('/pool')).body
  const login = 'presets'
  const made = await root.post(
    '/user',
    [{ user: { login }, _password: login, _system_rights: { 'system.rightpresetmanager': {} } }],
    { confirm: 'ignore_password_requirements' },
  )
  assert.equal(made.status, 200, JSON.stringify(made.body))
  const _acl = [...(pool._acl ?? []), wireGrant(toUser(made.body[0].user._id), 'bag_read bag_acl')]
  assert.equal((await root.post('/pool', [{ pool: { _id: 1, _version: pool.pool._version }, _acl }])).status, 200)
  const save = (block: object, as = login) =>
    drives.svc.as(as).post('/right/collection/presets', [{ right_preset: block }])
  const rights = { bag_read: {}, link: {} }
  const first = await save({ displayname: { 'en-US': 'Reader' }, preset: { rights } })
  assert.equal(first.status, 200, JSON.stringify(first.body))
  const [{ right_preset: preset }] = first.body
  assert.equal((await share(id, [{ who: who(), rights: {}, _right_preset: preset._id }])).status, 200)
  const acting = {
    _id: preset._id,
    _version: preset._version,
    preset: { rights: { ...rights, create_in_collection: {} } },
  }
  const refused = await save(acting)
  assert.deepEqual(
    [refused.status, refused.body.code, refused.body.parameters.right],
    [403, 'SystemRightRequired', 'system.root'],
  )
  assert.equal(await urls(id), undefined)
  assert.equal((await save({ ...acting, preset: { rights: { ...rights, unlink: {} } } })).status, 200)
  const changed = await save({ ...acting, _version: preset._version + 1 }, 'root')
  assert.equal(changed.status, 200, JSON.stringify(changed.body))
  assert.equal((await urls(id))?.length, 2)
  // It may be taken away again, and an owner may choose one that gives it.
  assert.equal((await save({ ...acting, _version: preset._version + 2, preset: { rights } })).status, 200)
  assert.equal(await urls(id), undefined)
  const [{ right_preset: other }] = (await save({ displayname: {}, preset: { rights: acting.preset.rights } })).body
  assert.equal((await share(id, [{ who: who(), rights: {}, _right_preset: other._id }])).status, 200)
  assert.equal((await urls(id))?.length, 2)
})

test('a collection that is moved below one of somebody else brings nobody along who acts in that name', async () => {
  const { id: target } = await drives.collection()
  const root = drives.svc.as('root')
  const stranger = drives.svc.as('stranger')
  assert.equal((await share(target, [wireGrant(who(), 'bag_read bag_create link')])).status, 200)
  const helper = { who: toUser(drives.ids.editor), rights: { bag_read: {}, link: {}, create_in_collection: {} } }
  const made = async (fields: object, more: object = {}): Promise<Json> => {
    const { status, body } = await stranger.post('/collection', { collection: fields, ...more })
    assert.equal(status, 200, JSON.stringify(body))
    return body.collection
  }
  const outer = await made({})
  const inner = await made({ _id_parent: outer._id }, { _acl: [helper] })
  const move = async (as = 'stranger') => {
    const { collection } = (await root.get(`/collection/${outer._id}`)).body
    return drives.svc.as(as).post(`/collection/${outer._id}`, {
      collection: { _version: collection._version, _id_parent: target },
    })
  }
  const refused = await move()
  assert.deepEqual([refused.status, refused.body.code, refused.body.parameters.right], [403, 'RightRequired', 'owner'])
  assert.equal((await root.get(`/collection/${outer._id}`)).body._owner.user._id, drives.ids.stranger)
  const generation = async () =>
    (
      await drives.svc.db.query<{ n: number }>('select upload_generation as n from collection where id = $1', [
        inner._id,
      ])
    ).rows[0]?.n ?? 0
  const before = await generation()
  assert.equal((await share(inner._id, [], 'stranger')).status, 200)
  assert.equal((await move()).status, 200)
  assert.equal((await root.get(`/collection/${inner._id}`)).body._owner.user._id, drives.ids.editor)
  assert.ok((await generation()) > before, 'addresses that the former owner knows are void')
})
