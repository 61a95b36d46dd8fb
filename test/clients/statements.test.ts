import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { picture, upload } from '../files/support.ts'
import { pageText } from '../support/documented.ts'
import { type Museum, startMuseum } from '../support/seed/museum.ts'

let museum: Museum
before(async () => {
  museum = await startMuseum()
})
after(() => museum[Symbol.asyncDispose]())

test('LINK-021 signed downloads of assets are served under /eas/download', async () => {
  const { svc } = museum
  const content = await picture()
  const { body } = await upload(svc, 'root', [{ name: 'a.jpg', content }])
  const file = (await svc.as('root').get(`/eas/${body[0]._id}`)).body
  const url = new URL(file.versions.original.url)
  assert.match(url.pathname, /^\/api\/v1\/eas\/download\//)
  const signed = await svc.inject({ method: 'GET', url: url.pathname + url.search })
  assert.deepEqual([signed.statusCode, signed.rawPayload.equals(content)], [200, true])
  const unsigned = (url.pathname + url.search).replace(/tp[\w-]{10,}/, 'tpaaaa-aaaaaaaaaa')
  assert.notEqual(unsigned, url.pathname + url.search)
  assert.equal((await svc.inject({ method: 'GET', url: unsigned })).statusCode, 403)
})

test('SEARCH-014 searches take the token in authorization, which is looked at first, and in Authorization', async () => {
  const { svc } = museum
  const token = await svc.as('root').token()
  const search = (headers: Record<string, string>, query = '') =>
    svc.inject({
      method: 'POST',
      url: `/api/v1/search${query}`,
      headers: { 'content-type': 'application/json', ...headers },
      payload: '{}',
    })
  for (const name of ['authorization', 'Authorization']) {
    assert.equal((await search({ [name]: `Bearer ${token}` })).statusCode, 200, name)
    // Before any other place that a token can stand in.
    assert.equal(
      (await search({ [name]: `Bearer ${token}`, 'x-svc-authorization': 'Bearer wrong' }, '?access_token=wrong'))
        .statusCode,
      200,
      name,
    )
    const wrong = await search(
      { [name]: 'Bearer wrong', 'x-svc-authorization': `Bearer ${token}` },
      `?access_token=${token}`,
    )
    assert.deepEqual([wrong.statusCode, wrong.json().code], [401, 'InvalidToken'], name)
  }
})

/** What the specification's table of event types has of a group; the rest are further ones. */
const listed: Record<string, readonly string[]> = {
  INDEX: ['OBJECT_INDEX', 'OBJECT_INDEX_ERROR', 'OBJECT_INDEX_REQUEUE', 'INDEX_SWITCH'],
  SYSTEM: ['USER_INSERT', 'OBJECT_INSERT', 'EMAIL_SENT', 'POOL_UPDATE', 'JANITOR'],
}

for (const [statement, group, further] of [
  ['EVENT-059', 'INDEX', 'REINDEX_START'],
  ['EVENT-060', 'SYSTEM', 'RIGHT_PRESET_INSERT'],
] as const) {
  test(`${statement} group ${group} has further event types, which are documented and found like the others`, async () => {
    const rows = pageText('events.md').matchAll(new RegExp(`^\\| ${group} \\| \`(\\w+)\` \\|`, 'gm'))
    const documented = [...rows].map(([, type]) => type)
    for (const type of listed[group] ?? []) assert.ok(documented.includes(type), type)
    assert.ok(documented.includes(further), `${further} in ${documented.join()}`)
    const root = museum.svc.as('root')
    if (group === 'SYSTEM') {
      const preset = { displayname: { 'en-US': 'p' }, preset: { rights: { read: {} } } }
      assert.equal((await root.post('/right/object/presets', [{ right_preset: preset }])).status, 200)
    }
    if (group === 'INDEX') {
      assert.equal((await root.post('/system/reindex')).status, 200)
    }
    await museum.svc.drain()
    const { objects } = (await root.get('/event/list', { type: further })).body
    assert.ok(objects.length > 0 && objects.every(({ event }: { event: { type: string } }) => event.type === further))
  })
}
