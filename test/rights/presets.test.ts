import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Answer, Client, Json } from '../support/client.ts'
import { assertNamed } from '../support/documented.ts'
import { commitModel, standardPool } from '../support/seed/model.ts'
import { inPool, museum, payload } from '../support/seed/museum.ts'
import { attachService, startService, type TestService } from '../support/service.ts'

describe('the catalogue of rights and its presets', () => {
  let svc: TestService
  let root: Client
  let guest: Client
  let guestId: number
  let pool: number
  let works = 0

  before(async () => {
    svc = await startService()
    root = svc.as('root')
    await commitModel(svc, museum())
    pool = await standardPool(svc)
    guest = await user('guest')
    guestId = (await guest.get('/user/session')).body.user.user._id
  })
  after(() => svc[Symbol.asyncDispose]())

  const user = async (login: string, rights: object = {}): Promise<Client> => {
    const wire = { user: { login, reference: login }, _password: login, _system_rights: rights }
    ok(await root.post('/user', [wire], { confirm: 'ignore_password_requirements' }))
    return svc.as(login)
  }

  const ok = (answer: Answer): Json => {
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body
  }

  const refused = (answer: Answer, status: number, code: string, path?: string): void => {
    assert.deepEqual([answer.status, answer.body.code], [status, code], JSON.stringify(answer.body))
    if (path !== undefined) assert.equal(answer.body.parameters.path, path)
  }

  const save = async (preset: object, more: object = {}, context = 'object'): Promise<Json> => {
    const [saved] = ok(await root.post(`/right/${context}/presets`, [{ right_preset: { preset, ...more } }]))
    return saved.right_preset
  }

  const presetOf = async (id: number): Promise<Json> =>
    ok(await guest.get(`/right/object/presets/${id}`))[0].right_preset

  /** A work with these grants. */
  const work = async (acl: object[]): Promise<Json> => {
    const title = { 'en-US': `work ${++works}` }
    const rest = { ...inPool(pool), _acl: acl }
    return ok(await root.post('/db/work', [payload('work', { title }, rest)], { format: 'long', await_index: 30 }))[0]
  }

  const toGuest = (grant: object) => ({ who: { _basetype: 'user', user: { _id: guestId } }, rights: {}, ...grant })

  const stored = async (id: number, client: Client = root): Promise<Json> =>
    ok(await client.get(`/db/work/_all_fields/system_object_id/${id}`, { format: 'long' }))[0]

  const found = async (client: Client): Promise<number[]> => {
    await svc.drain()
    const { objects } = ok(await client.post('/search', { objecttypes: ['work'], format: 'short', limit: 100 }))
    return objects.map((hit: Json) => hit._system_object_id)
  }

  test('RGT-001, RGT-002, RGT-003, RGT-004, READ-002 the catalogue has all contexts, with what their grants can carry', async () => {
    refused(await svc.as(null).get('/right'), 401, 'UserRequired')
    const catalogue = ok(await guest.get('/right'))
    const further = ['group', 'objecttype-without-pool']
    assert.deepEqual(
      Object.keys(catalogue).sort(),
      ['collection', 'object', 'pool', 'system', 'tag', 'user', ...further].sort(),
    )
    assertNamed('rights-and-pools.md', further)
    const capable = new Set<string>()
    for (const context of Object.keys(catalogue)) {
      const { capabilities, rights } = catalogue[context]
      for (const name of ['active', 'preset', 'tagfilter', 'valid', 'sticky']) {
        assert.ok(capabilities[name] !== null && typeof capabilities[name] === 'object', `${context} ${name}`)
        assert.ok(!Array.isArray(capabilities[name]), `${context} ${name}`)
        const values = Object.values(capabilities[name])
        assert.ok(values.every((value) => typeof value === 'string'))
        if (values.length > 0) capable.add(name)
      }
      assert.ok(rights.length > 0, context)
      for (const right of rights) {
        for (const name of ['type', 'name', 'comment', 'group']) assert.equal(typeof right[name], 'string')
        assert.equal(typeof right.has_grantable, 'boolean')
      }
    }
    assert.deepEqual([...capable].toSorted(), ['active', 'preset', 'sticky', 'tagfilter', 'valid'])
    const { pool: ofPools, tag, system } = catalogue
    assert.deepEqual(ofPools.capabilities.preset, {}, 'pools are given rights one by one')
    assert.notDeepEqual(catalogue.object.capabilities.preset, {})
    assert.deepEqual(
      tag.rights.map(({ name }: Json) => name),
      ['tag_see', 'tag_add', 'tag_remove'],
    )
    assert.deepEqual(ok(await guest.get('/right', { context: 'tag' })), catalogue, 'there is no filter')
    assert.deepEqual(ok(await root.get('/right')), catalogue, 'nobody gets more of it')
    assert.ok(system.rights.some(({ name }: Json) => name === 'system.root'))
  })

  test('RGT-005 rights have parameters with their choices, and rights below them', async () => {
    const catalogue = ok(await guest.get('/right'))
    const { system, pool: ofPools } = catalogue
    const datamodel = system.rights.find(({ name }: Json) => name === 'system.datamodel')
    const [level] = datamodel.parameters
    assert.deepEqual([level.name, level.choices], ['level', ['current', 'development', 'commit']])
    const upload = ofPools.rights.find(({ name }: Json) => name === 'asset_upload')
    const replace = upload.parameters.find(({ name }: Json) => name === 'allow_update_and_remove')
    assert.deepEqual([replace.type, replace.choices, replace.merge_policy], ['bool', [], ''])
    assert.ok(datamodel.parameters.length > 0 && upload.parameters.length > 1)
    for (const right of Object.values<Json>(catalogue).flatMap(({ rights }) => rights)) {
      assert.ok(Array.isArray(right.rights), right.name)
      for (const parameter of right.parameters) {
        for (const name of ['name', 'type', 'comment', 'merge_policy']) {
          assert.equal(typeof parameter[name], 'string', `${right.name} ${parameter.name} ${name}`)
        }
        assert.ok(parameter.choices.every((choice: unknown) => typeof choice === 'string'))
      }
    }
  })

  test('RGT-006, RGT-007, RGT-008, RGT-009, RGT-010 a preset stands in its context with all that it says', async () => {
    const rights = {
      read: { _grantable: true, mask_ids: { 1: [1, 'standard'] }, objecttype_ids: [1, 2], pool_ids: [pool] },
      asset_upload: {
        _grantable: false,
        allow_update_and_remove: true,
        classes: ['image'],
        extensions: ['jpg', 'png'],
        limit: 5000,
        column_ids: [7],
      },
      asset_show: { versions: ['image.preview'] },
    }
    const group = ok(
      await root.post('/tags', [
        {
          taggroup: { displayname: { 'en-US': 'state' }, type: 'checkbox' },
          _tags: ['x', 'y', 'z'].map((name) => ({ tag: { displayname: { 'en-US': name } } })),
        },
      ]),
    )
    const [{ _tags }] = group
    const [one, two, three] = _tags.map((each: Json) => each.tag?._id ?? each._id)
    const sent = {
      default_expiration_hours: 24,
      share_url: 'https://example.com/shared',
      rights,
      // No grant asks for a change of tags, so nothing can stand in the last one.
      tagfilter: { all: [one], any: [one, two], not: [three], changed: [] },
    }
    const names = {
      displayname: { 'en-US': 'Curators', 'de-DE': 'Kuratoren' },
      description: { 'en-US': 'May see it.' },
    }
    const { _id } = await save(sent, { ...names, _position: 3 })
    const first = await save({ rights: { read: {} } }, { _position: -1 })
    const catalogue = ok(await guest.get('/right'))
    for (const context of Object.keys(catalogue)) assert.ok(Array.isArray(catalogue[context].presets), context)
    const { presets } = catalogue.object
    assert.deepEqual(
      presets.map(({ right_preset }: Json) => right_preset._id),
      [first._id, _id],
    )
    const [, shown] = presets
    assert.equal(shown._basetype, 'right_preset')
    assert.deepEqual(shown.right_preset, { _id, _version: 1, _position: 3, ...names, preset: sent })
    for (const at of [shown._created_at, shown._updated_at]) assert.equal(new Date(at).toISOString(), at)
    assert.deepEqual(ok(await guest.get('/right/object/presets')), presets)
    assert.deepEqual(ok(await guest.get('/right/collection/presets')), [])
    const collection = await save({ rights: { bag_read: {} } }, {}, 'collection')
    assert.deepEqual(ok(await root.get('/right')).collection.presets[0].right_preset, collection)
    for (const none of [collection._id, 999_999])
      assert.deepEqual(ok(await guest.get(`/right/object/presets/${none}`)), [])
    for (const id of [_id, first._id]) ok(await root.delete(`/right/object/presets/${id}`))
    ok(await root.delete(`/right/collection/presets/${collection._id}`))
  })

  test('RGT-012 everybody gets the same document', async () => {
    const { _id } = await save({ rights: { read: {} } }, { displayname: { 'de-DE': 'Lesen' } })
    await user('manager', { 'system.rightpresetmanager': {}, 'system.datamodel': { level: ['commit'] } })
    const documents = await Promise.all(['root', 'guest', 'manager'].map((login) => svc.as(login).get('/right')))
    for (const each of documents) assert.deepEqual(ok(each), ok(documents[0] as Answer))
    assert.equal(documents[0]?.body.object.presets.length, 1)
    ok(await svc.as('manager').delete(`/right/object/presets/${_id}`))
  })

  test('what cannot be saved is refused with its place, and changes nothing', async () => {
    const { _id } = await save({ rights: { read: {} } })
    const post = (entry: object, client = root, context = 'object') =>
      client.post(`/right/${context}/presets`, [{ right_preset: { preset: { rights: { write: {} } } } }, entry])
    const said = (rights: object, more: object = {}) => ({ right_preset: { preset: { rights, ...more } } })
    const at = '[1].right_preset'
    refused(await post(said({ fly: {} })), 400, 'UnknownRight', `${at}.preset.rights.fly`)
    refused(await post(said({ read: { classes: [] } })), 400, 'UnknownRightParam', `${at}.preset.rights.read.classes`)
    refused(await post(said({ bag_read: {} })), 400, 'UnknownRight')
    const wrong = { read: { objecttype_ids: ['a'] } }
    refused(await post(said(wrong)), 400, 'UnknownRightValue', `${at}.preset.rights.read.objecttype_ids`)
    const twice = { asset_show: { classes: ['image', 'image'] } }
    refused(await post(said(twice)), 400, 'ChoiceNotUnique', `${at}.preset.rights.asset_show.classes`)
    for (const slot of ['all', 'any', 'not', 'changed']) {
      const code = slot === 'changed' ? 'ServerGeneric' : 'TagNotFound'
      refused(await post(said({}, { tagfilter: { [slot]: [999] } })), 400, code)
    }
    refused(await post(said({}, { tagfilter: { any: [999] } })), 400, 'TagNotFound', `${at}.preset.tagfilter`)
    refused(await post({ ...said({}), _basetype: 'right' }), 400, 'ServerGeneric')
    refused(await post(said({}, { tagfilter: { changed: [1] } })), 400, 'ServerGeneric')
    refused(await post({ right_preset: { _id: 999, _version: 1 } }), 400, 'LookupNotFound', at)
    refused(await post({ right_preset: { _id, _version: 2 } }), 400, 'VersionMismatch')
    refused(await post({ right_preset: { _version: 2 } }), 400, 'ServerGeneric')
    refused(await post(said({}), root, 'pool'), 400, 'ServerGeneric')
    refused(await post(said({}), guest), 403, 'SystemRightRequired')
    refused(await guest.delete(`/right/object/presets/${_id}`), 403, 'SystemRightRequired')
    // An unknown preset counts as deleted.
    for (const none of ['object/presets/999', `collection/presets/${_id}`]) {
      assert.deepEqual(ok(await root.delete(`/right/${none}`)), { status: { acknowledged: 'ok' } })
    }
    refused(await root.post('/right/object/presets', [], { allow_invalid_acl: true }), 400, 'UrlParameterNotSupported')
    await using asleep = await attachService(svc.dsn, { readOnly: true })
    refused(await post(said({}), asleep.as('root')), 400, 'ReadOnlyMode')
    refused(await asleep.as('root').delete(`/right/object/presets/${_id}`), 400, 'ReadOnlyMode')
    assert.equal(ok(await root.get('/right/object/presets')).length, 1)
    await using next = await attachService(svc.dsn, { versionConvention: 'next' })
    const preset = { right_preset: { _id, _version: 2, _position: 7 } }
    const [changed] = ok(await next.as('root').post('/right/object/presets', [preset]))
    assert.deepEqual([changed.right_preset._version, changed.right_preset._position], [2, 7])
    assert.deepEqual(changed.right_preset.preset.rights, { read: {} }, 'what is absent stays')
    ok(await root.delete(`/right/object/presets/${_id}`))
  })

  test('a change of a preset changes the grants made from it, for reads and searches, in all processes', async () => {
    await using other = await attachService(svc.dsn)
    const { _id } = await save({ rights: { read: {} } })
    const made = await work([toGuest({ _right_preset: _id })])
    const own = await work([toGuest({ rights: { read: {} } })])
    assert.deepEqual([made._acl[0].rights, made._acl[0]._right_preset], [{ read: {} }, _id])
    const [one, two] = [made._system_object_id, own._system_object_id]
    assert.deepEqual(await found(guest), [one, two])
    const readElsewhere = async () =>
      ok(await other.as('guest').get(`/db/work/work__title_only/system_object_id/${one}`)).length
    assert.equal(await readElsewhere(), 1)
    const change = async (preset: object, version: number) =>
      ok(await root.post('/right/object/presets', [{ right_preset: { _id, _version: version, preset } }]))
    await change({ rights: { write: {} } }, 1)
    assert.equal(await readElsewhere(), 0)
    assert.deepEqual(await found(guest), [two])
    const { _acl, work: block } = await stored(one)
    assert.deepEqual([_acl[0].rights, block._version], [{ write: {} }, 1], 'nobody has edited the object')
    await change({ rights: { read: {}, link: {} } }, 2)
    assert.equal(await readElsewhere(), 1)
    assert.deepEqual(await found(guest), [one, two])
    ok(
      await root.post('/right/object/presets', [{ right_preset: { _id, _version: 3, displayname: { 'en-US': 'n' } } }]),
    )
    assert.deepEqual((await presetOf(_id)).preset.rights, { read: {}, link: {} })
    const { body: asked, status } = await root.delete(`/right/object/presets/${_id}`)
    assert.equal(status, 202)
    const [{ buttons }] = asked.tasks
    assert.deepEqual([buttons[0].name, buttons[0].value], ['confirm', 'delete'])
    assert.equal((await stored(one))._acl.length, 1)
    ok(await root.delete(`/right/object/presets/${_id}`, undefined, { confirm: 'delete' }))
    assert.deepEqual([await readElsewhere(), await found(guest)], [0, [two]])
    assert.deepEqual((await stored(one))._acl, [])
    assert.equal((await stored(two))._acl.length, 1)
    const events = ok(await root.get('/event/list', { basetype: 'right_preset', object_id: _id, sort: '_id.ASC' }))
    assert.deepEqual(
      events.objects.map(({ event }: Json) => [event.type, event.object_version, event.pollable]),
      [
        ['RIGHT_PRESET_INSERT', 1, true],
        ['RIGHT_PRESET_UPDATE', 2, true],
        ['RIGHT_PRESET_UPDATE', 3, true],
        ['RIGHT_PRESET_UPDATE', 4, true],
        ['RIGHT_PRESET_DELETE', 4, true],
      ],
    )
  })

  test('a grant says what its preset says, and ends when that says so', async () => {
    const { _id } = await save({ rights: { read: {}, link: {} }, default_expiration_hours: 48 })
    const begun = Date.now()
    const made = await work([
      toGuest({ _right_preset: _id }),
      toGuest({ _right_preset: _id, when: { to: '2100-01-01T00:00:00Z' } }),
    ])
    const [first, second] = made._acl
    const hours = (Date.parse(first.when.to) - begun) / 3_600_000
    assert.ok(hours >= 48 && hours < 48.1, first.when.to)
    assert.equal(second.when.to, '2100-01-01T00:00:00.000Z')
    const post = (acl: object[], version = 1) =>
      root.post('/db/work', [
        payload('work', { _id: made.work._id, _version: version }, { ...inPool(pool), _acl: acl }),
      ])
    const own = toGuest({ _right_preset: _id, rights: { write: {} } })
    refused(await post([own]), 400, 'ServerGeneric', '0._acl[0].rights')
    refused(await post([toGuest({ _right_preset: 999 })]), 400, 'LookupNotFound', '0._acl[0]._right_preset')
    ok(
      await root.post('/right/object/presets', [
        { right_preset: { _id, _version: 1, preset: { rights: { read: {} } } } },
      ]),
    )
    ok(
      await post([{ ...first, rights: { read: {}, link: {} } }, toGuest({ _right_preset: _id, rights: { read: {} } })]),
    )
    const { _acl } = await stored(made._system_object_id)
    assert.deepEqual(
      _acl.map(({ rights, when }: Json) => [rights, when?.to]),
      [
        [{ read: {} }, first.when.to],
        [{ read: {} }, undefined],
      ],
      'as it was read before, without a new end',
    )
    ok(await root.delete(`/right/object/presets/${_id}`, undefined, { confirm: 'delete' }))
  })

  test('saves and changes of a preset at once end with grants that say what it says', async () => {
    const { _id } = await save({ rights: { read: {} } })
    const kinds = ['read', 'link', 'write', 'delete', 'acl']
    const changes = (async () => {
      for (const [index, name] of kinds.entries()) {
        const right_preset = { _id, _version: index + 1, preset: { rights: { [name]: {} } } }
        ok(await root.post('/right/object/presets', [{ right_preset }]))
      }
    })()
    const saves = Array.from({ length: 12 }, () => work([toGuest({ _right_preset: _id })]))
    const made = await Promise.all(saves)
    await changes
    const now = await Promise.all(made.map((one) => stored(one._system_object_id)))
    assert.deepEqual(new Set(now.map(({ _acl }) => Object.keys(_acl[0].rights).join())), new Set(['acl']))
    ok(await root.delete(`/right/object/presets/${_id}`, undefined, { confirm: 'delete' }))
    assert.deepEqual((await stored(made[0]._system_object_id))._acl, [])
  })
})
