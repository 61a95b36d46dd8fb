import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { GrantNames } from '../../../src/people/schema.ts'
import { RightApi } from '../../../src/rights/schema.ts'
import type { Answer, Json } from '../../support/client.ts'
import { commitModel } from '../../support/seed/model.ts'
import { museum, payload } from '../../support/seed/museum.ts'
import { startService, type TestService } from '../../support/service.ts'

suite('members of a body that nobody knows', () => {
  let svc: TestService
  let tag: number
  /** The working copies as they were: a misspelled member changes them. */
  let heads: Json[]
  before(async () => {
    svc = await startService()
    await commitModel(svc, museum())
    const group = { taggroup: { displayname: { 'en-US': 'G' } }, _tags: [{ displayname: { 'en-US': 'T' } }] }
    const tags = await root().post('/tags', [group])
    tag = tags.body[0]._tags[0]._id
    const made = await root().post('/group', [{ group: { name: 'g', displayname: { 'en-US': 'g' } } }])
    assert.equal(made.status, 200)
    heads = [await get('/schema/user/HEAD'), await get('/mask/HEAD')]
  })
  after(() => svc[Symbol.asyncDispose]())

  const root = () => svc.as('root')
  const get = async (path: string): Promise<Json> => {
    const { status, body } = await root().get(path)
    assert.equal(status, 200, JSON.stringify(body))
    return body
  }

  let made = 0
  const fresh = (): string => `n${made++}`
  const who = { user: { _id: 1 } }
  const grant = { who, rights: {}, when: { from: '2020-01-01T00:00:00Z' }, tagfilter: { any: [] } }
  const transition = () => ({
    type: 'resolve',
    trigger: 'automatic',
    operations: ['UPDATE'],
    who: [who],
    comment: 'c',
    confirm: { 'en-US': 'sure?' },
    'tagfilter:before': { any: [tag] },
    actions: [{ type: 'set_tags', info: { tags: [{ _id: tag, set: true }] } }],
  })
  const profile = { first_name: 'Ada', custom_data: { any: 'thing' }, mail_schedule: { hours: [1] } }

  /** A body of each endpoint that writes records, with what it may say. */
  const seeds: Record<string, () => Promise<Json>> = {
    '/user': async () => [
      {
        _basetype: 'user',
        user: { login: fresh(), email: '', ...profile },
        _password: 'secret-Long-1',
        _groups: [],
        _acl: [grant],
      },
    ],
    '/group': async () => [
      {
        _basetype: 'group',
        group: { name: fresh(), comment: 'c' },
        _acl: [grant],
        _ip_subnet_filter: [],
        _system_rights: {},
      },
    ],
    '/pool': async () => [
      {
        _basetype: 'pool',
        pool: { _id_parent: 1, reference: fresh(), name: { 'en-US': 'P' }, comment: 'c', contact: who },
        _acl: [grant],
        _tags: [{ _id: tag, enabled: true }],
        _transitions: [transition()],
        _standard_masks: {},
      },
    ],
    '/tags': async () => {
      const tags = await get('/tags')
      for (const group of tags) for (const each of group._tags) each.enabled = true
      return [...tags, { taggroup: { reference: fresh(), displayname: {} }, _tags: [{ reference: fresh(), _acl: [] }] }]
    },
    '/transitions': async () => [transition()],
    '/objecttype': async () => {
      const all = await get('/objecttype')
      const { objecttype } = all.find((each: Json) => each.objecttype.name === 'person')
      return [
        {
          _basetype: 'objecttype',
          objecttype: { _id: objecttype._id, _version: objecttype._version + 1, description: { 'en-US': 'd' } },
          _acl: [grant],
          _tags: [{ _id: tag, enabled: true }],
          _transitions: [transition()],
          _private_tags: false,
        },
      ]
    },
    '/event': async () => ({ event: { type: 'SEARCH', info: { any: 'thing' } } }),
    '/schema/user/HEAD': async () => heads[0],
    '/mask/HEAD': async () => heads[1],
  }

  /** Members that are maps or free, so that any name in them is right. */
  const free = ['custom_data', 'info', 'displayname', 'name', 'confirm', 'rights', '_system_rights', '_standard_masks']
  const maps = ['description', 'frontend_prefs', 'custom_settings', 'name_localized']

  /** One path of each kind: the places of a list are alike. */
  function places(value: Json, found = new Map<string, (string | number)[]>(), path: (string | number)[] = []) {
    if (typeof value !== 'object' || value === null) return found
    for (const [key, inner] of Object.entries(value)) {
      const at = [...path, Array.isArray(value) ? Number(key) : key]
      if (!Array.isArray(value)) {
        const kind = at.filter((step) => typeof step === 'string').join('.')
        if (!found.has(kind)) found.set(kind, at)
      }
      if (![...free, ...maps].includes(key) || (key === 'name' && Array.isArray(inner))) places(inner, found, at)
    }
    return found
  }

  test('records that are sent back as they were read are not reported', async () => {
    for (const [path, from] of [
      ['/user', '/user'],
      ['/group', '/group'],
      ['/pool', '/pool'],
      ['/tags', '/tags'],
      ['/transitions', '/transitions'],
      ['/schema/user/HEAD', '/schema/user/HEAD'],
      ['/mask/HEAD', '/mask/HEAD'],
    ] as const) {
      const body = await get(from)
      const answer = await root().post(path, body)
      assert.equal(answer.headers['x-svc-ignored'], undefined, path)
    }
    const objecttypes = await get('/objecttype')
    for (const each of objecttypes) each.objecttype._version++
    const answer = await root().post('/objecttype', objecttypes)
    assert.deepEqual([answer.status, answer.headers['x-svc-ignored']], [200, undefined])
  })

  for (const [path, seed] of Object.entries(seeds)) {
    test(`whichever member of a body of POST ${path} is misspelled, it is refused or reported`, async () => {
      const right = await root().post(path, await seed())
      assert.equal(right.status, 200, JSON.stringify(right.body))
      assert.equal(right.headers['x-svc-ignored'], undefined)
      let reported = 0
      for (const place of places(await seed()).values()) {
        const body = structuredClone(await seed())
        let holder = body
        for (const step of place.slice(0, -1)) holder = holder[step]
        const key = String(place.at(-1))
        // Null says nothing in the working copies.
        if (holder[key] === undefined || holder[key] === null) continue
        holder[`${key}x`] = holder[key]
        delete holder[key]
        const answer: Answer = await root().post(path, body)
        const at = `${place.join('.')}x`
        if (answer.status === 400) continue
        assert.equal(answer.status, 200, `${at}: ${JSON.stringify(answer.body)}`)
        assert.ok(
          decodeURIComponent(String(answer.headers['x-svc-ignored'])).split(', ').includes(at),
          `${at} is silent`,
        )
        reported++
      }
      assert.ok(reported > 0)
    })
  }

  test('strict=1 refuses what would only be reported, and changes nothing', async () => {
    const body = [{ group: { nam: 'x', name: 'strict' } }]
    const answer = await root().post('/group', body, { strict: 1 })
    assert.deepEqual([answer.status, answer.body.parameters.name], [400, '0.group.nam'])
    assert.match(answer.body.message, /did you mean name\?/)
    assert.ok(!(await get('/group')).some((each: Json) => each.group.name === 'strict'))
  })

  test('strict=1 refuses in every request that writes what its body says too much', async () => {
    const { paths, components } = await get('/system/openapi/spec.json')
    /** A small body of the described shape. */
    const small = (schema: Json): Json => {
      if (schema.$ref) return small(components.schemas[schema.$ref.split('/').at(-1)])
      const choice = (schema.anyOf ?? schema.oneOf)?.find((one: Json) => one.type !== 'null')
      if (choice) return small(choice)
      if (schema.const !== undefined || schema.enum) return schema.const ?? schema.enum[0]
      if (schema.type === 'array') return [small(schema.items)]
      if (schema.type !== 'object')
        return { integer: schema.minimum ?? 1, boolean: true, string: 'a' }[String(schema.type)]
      const required = (schema.required ?? []).map((name: string) => [name, small(schema.properties[name])])
      return Object.fromEntries(required)
    }
    const authorization = `Bearer ${await root().token()}`
    const [{ person }] = (await root().post('/db/person', [payload('person', { name: 'Ada' })])).body
    let seen = 0
    for (const [path, methods] of Object.entries<Json>(paths)) {
      for (const [method, { parameters = [], requestBody }] of Object.entries<Json>(methods)) {
        const strict = parameters.find(({ name }: Json) => name === 'strict')
        const schema = requestBody?.content?.['application/json']?.schema
        if (!schema || strict.schema['x-always'] || /oauth2|logout|db_info|search|suggest/.test(path)) continue
        const named = method === 'patch' ? { _id: person._id, _version: person._version } : { name: 'Eve' }
        const body = path === '/api/v1/db/{objecttype}' ? [payload('person', named)] : small(schema)
        const holder = Array.isArray(body) ? body[0] : body
        assert.equal(typeof holder, 'object', `${method} ${path} ${JSON.stringify(schema)}`)
        holder.no_such_member = 'x'
        const url = path
          .replace('{objecttype}', 'person')
          .replace('{context}', 'object')
          .replaceAll(/\{[^}]+\}/g, path.includes('passkey') ? '00000000-0000-4000-8000-000000000000' : '1')
        const from = path === '/api/v1/eas/rput' ? '&url=https://www.example.org/a.txt' : ''
        const request = { method: method.toUpperCase() as 'POST', url: `${url}?strict=1${from}`, payload: body }
        const answer = await svc.inject({ ...request, headers: { authorization } })
        assert.deepEqual([answer.statusCode, answer.json().code], [400, 'ServerGeneric'], `${method} ${path}`)
        assert.match(answer.json().message, /no_such_member would have no effect/, `${method} ${path}: ${answer.body}`)
        seen++
      }
    }
    assert.ok(seen >= 30, `${seen}`)
  })

  test('strict=1 refuses what a form says too much', async () => {
    const form = new URLSearchParams({ password: svc.config.rootPassword ?? '', new_password: 'Another-1', old: 'x' })
    const { statusCode, body } = await svc.inject({
      method: 'POST',
      url: '/api/v1/user/change_password?strict=1',
      payload: String(form),
      headers: {
        authorization: `Bearer ${await root().token()}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
    })
    assert.equal(statusCode, 400, body)
    assert.match(body, /old would have no effect/)
    assert.equal((await root().get('/user/session')).status, 200, 'the password is what it was')
  })

  test('what earlier folders say of shapes of later ones is what these are', () => {
    assert.deepEqual(Object.keys(GrantNames.properties), Object.keys(RightApi.properties))
  })
})
