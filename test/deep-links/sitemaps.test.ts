import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { XmlDocument } from 'libxml2-wasm'
import { ok } from '../collections/support.ts'
import { seedTag } from '../rights/people.ts'
import type { Json } from '../support/client.ts'
import { inPool, payload } from '../support/seed/museum.ts'
import { type Scene, startDeepLinks } from './scene.ts'

const base = 'http://localhost:8080'
const namespace = 'http://www.sitemaps.org/schemas/sitemap/0.9'

interface Answered {
  readonly status: number
  readonly text: string
  readonly headers: Record<string, unknown>
}

async function ask(
  { svc }: Pick<Scene, 'svc'>,
  url: string,
  headers: Record<string, string> = {},
  method: 'GET' | 'HEAD' = 'GET',
): Promise<Answered> {
  const answer = await svc.inject({ method, url, headers })
  const { rawPayload: bytes } = answer
  const text = (answer.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString()
  return { status: answer.statusCode, text, headers: answer.headers }
}

interface Entry {
  readonly loc: string
  readonly lastmod: string
}

/** What a sitemap lists, or an index of them, read by another parser. */
function read(text: string, kind: 'sitemapindex' | 'urlset'): readonly Entry[] {
  using document = XmlDocument.fromString(text)
  const all = (path: string, from: Json = document.root): Json[] => from.find(path, { s: namespace })
  assert.deepEqual([document.root.name, document.root.namespaceUri], [kind, namespace])
  const entries = all(kind === 'urlset' ? '/s:urlset/s:url' : '/s:sitemapindex/s:sitemap')
  assert.equal(all('/*/*').length, entries.length)
  return entries.map((entry) => {
    assert.deepEqual(
      all('*', entry).map(({ name }) => name),
      ['loc', 'lastmod'],
    )
    const [loc = '', lastmod = ''] = ['s:loc', 's:lastmod'].map((path) => all(path, entry)[0]?.content)
    assert.match(lastmod, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    return { loc, lastmod }
  })
}

const pageOf = ({ _uuid }: Json): string => `${base}/api/v1/objects/uuid/${_uuid}/format/html`

/** All that the sitemap lists, part by part, as a search engine goes through it. */
async function listed(it: Pick<Scene, 'svc'>): Promise<readonly Entry[]> {
  const index = await ask(it, '/sitemap.xml')
  if (index.status === 404) return []
  assert.equal(index.status, 200, index.text)
  const entries: Entry[] = []
  for (const { loc, lastmod } of read(index.text, 'sitemapindex')) {
    assert.ok(loc.startsWith(`${base}/sitemap.xml?part=`), loc)
    const part = await ask(it, loc.slice(base.length))
    assert.equal(part.status, 200, part.text)
    const own = read(part.text, 'urlset')
    assert.ok(own.length > 0)
    assert.equal(
      lastmod,
      own
        .map((one) => one.lastmod)
        .toSorted()
        .at(-1),
    )
    entries.push(...own)
  }
  return entries
}

const addresses = async (it: Pick<Scene, 'svc'>): Promise<string[]> => (await listed(it)).map(({ loc }) => loc)

async function settings({ svc }: Pick<Scene, 'svc'>, enabled: boolean): Promise<void> {
  ok(await svc.as('root').post('/config/system/config/sitemaps', { enabled }))
}

suite('sitemaps and robots.txt', () => {
  let it: Scene
  let shown: Json[]
  const root = () => it.svc.as('root')
  before(async () => {
    it = await startDeepLinks({ externalUrl: base })
    shown = [await it.work({ title: { 'en-US': 'First' } }), await it.work({ title: { 'en-US': 'Second' } })]
    const vaulted = { ...inPool(it.vault), title: { 'en-US': 'Hidden' } }
    ok(await root().post('/db/work', [payload('work', vaulted)]))
    await it.grant({ deep_link: { read: {} } })
    await it.access({ enabled: true })
    await settings(it, true)
    await it.svc.drain()
  })
  after(() => it[Symbol.asyncDispose]())

  test('the pages of all objects that a visitor can open are listed, and no others', async () => {
    const trashed = await it.work({ title: { 'en-US': 'Trashed' } })
    ok(await root().delete('/db/work', [[trashed.work._id, trashed.work._version]], { delete_policy: 'remove' }))
    const entries = await listed(it)
    assert.deepEqual(
      entries.map(({ loc }) => loc),
      shown.map(pageOf),
    )
    for (const [index, { loc, lastmod }] of entries.entries()) {
      const page = await ask(it, loc.slice(base.length))
      assert.deepEqual([page.status, page.headers['content-type']], [200, 'text/html; charset=utf-8'], page.text)
      const changed = new Date(String(shown[index]?._last_modified)).getTime()
      assert.equal(Date.parse(lastmod), Math.floor(changed / 1000) * 1000)
    }
  })

  test('the token of the caller does not matter', async () => {
    const asked = await it.svc.inject({
      method: 'GET',
      url: '/sitemap.xml?part=1',
      headers: { authorization: `Bearer ${await it.svc.as('root').token()}` },
    })
    assert.deepEqual(
      read(asked.body, 'urlset').map(({ loc }) => loc),
      shown.map(pageOf),
    )
  })

  test('rights count at once: grants that are over, or limited to masks that there are not, list nothing', async () => {
    const ids = ok(await root().get('/objecttype')) as Json[]
    const type = ids.find(({ objecttype }) => objecttype.name === 'work')?.objecttype._id
    const [stored] = ok(await root().get(`/pool/${it.pool}`))
    const grantOf = (more: object, read: object = {}) => [
      { who: { _basetype: 'user', user: { _id: 2 } }, rights: { read }, ...more },
    ]
    let version = stored.pool._version
    const grant = async (_acl: object[]): Promise<void> => {
      const [saved] = ok(await root().post('/pool', [{ pool: { _id: it.pool, _version: version }, _acl }]))
      version = saved.pool._version
    }
    const open = async (): Promise<number> => (await it.open(`uuid/${shown[0]?._uuid}/format/html`)).status
    const cases: [Json[], number][] = [
      [[], 0],
      [grantOf({ when: { from: '2020-01-01T00:00:00Z', to: '2021-01-01T00:00:00Z' } }), 0],
      [grantOf({ when: { from: '2120-01-01T00:00:00Z' } }), 0],
      [grantOf({ when: { from: '2020-01-01T00:00:00Z', to: '2121-01-01T00:00:00Z' } }), 2],
      [grantOf({}, { mask_ids: { [type]: [] } }), 0],
      [grantOf({}), 2],
    ]
    for (const [acl, count] of cases) {
      await grant(acl)
      assert.equal(await open(), count > 0 ? 200 : 403, JSON.stringify(acl))
      assert.equal((await addresses(it)).length, count, JSON.stringify(acl))
      // What is hidden is answered like what is not there.
      const [hidden, beyond] = [await ask(it, '/sitemap.xml?part=1'), await ask(it, '/sitemap.xml?part=987654321')]
      const bodyOf = ({ status, text }: Answered) => [status, { ...JSON.parse(text), request_id: '' }]
      if (count === 0) assert.deepEqual(bodyOf(hidden), bodyOf(beyond))
      else assert.deepEqual([hidden.status, beyond.status], [200, 404])
    }
  })

  test('whatever grants say of pools, objects, tags and masks, what is listed is what can be opened', async () => {
    const tag = await seedTag(root())
    const types = ok(await root().get('/objecttype')) as Json[]
    const { objecttype } = types.find((one) => one.objecttype.name === 'work') ?? {}
    const mask = (more: object) => ({ mask_ids: { [objecttype._id]: more } })
    const grants: Json[] = [
      { read: {} },
      { read: mask([]) },
      { read: mask(['standard']) },
      { bag_read: {} },
      { read: { objecttype_ids: [] } },
    ]
    const filters = [undefined, { any: [tag] }, { not: [tag] }]
    const aclOf = (rights: Json | undefined, filter: object | undefined) =>
      rights ? [{ who: { _basetype: 'user', user: { _id: 2 } }, rights, ...(filter ? { tagfilter: filter } : {}) }] : []
    const own = [undefined, { read: {} }, { read: mask([]) }, { read: mask(['standard']) }]
    const works: Json[] = [...shown]
    for (const pool of [it.pool, it.vault]) {
      for (const isTagged of [false, true]) {
        for (const rights of own) {
          const content = { ...inPool(pool), title: { 'en-US': 'Granted' } }
          const rest = { _tags: isTagged ? [{ _id: tag }] : [], _acl: aclOf(rights, undefined) }
          works.push(
            ok(await root().post('/db/work', [payload('work', content, { _mask: 'work__standard', ...rest })]))[0],
          )
        }
      }
    }
    const [stored] = ok(await root().get(`/pool/${it.pool}`))
    let version = stored.pool._version
    const counts = new Set<number>()
    for (const rights of grants) {
      for (const filter of filters) {
        const _acl = aclOf(rights, filter)
        const [saved] = ok(await root().post('/pool', [{ pool: { _id: it.pool, _version: version }, _acl }]))
        version = saved.pool._version
        const found = new Set(await addresses(it))
        counts.add(found.size)
        for (const [index, work] of works.entries()) {
          const { status } = await it.open(`uuid/${work._uuid}/format/html`)
          assert.equal(
            found.has(pageOf(work)),
            status === 200,
            `${index} ${JSON.stringify([rights, filter])} ${status}`,
          )
        }
      }
    }
    assert.ok(counts.size > 2, [...counts].join())
    const gone = works.slice(shown.length).map(({ work }) => [work._id, work._version])
    ok(await root().delete('/db/work', gone, { delete_policy: 'remove' }))
    await it.grant({ deep_link: { read: {} } })
    assert.deepEqual(await addresses(it), shown.map(pageOf))
  })

  test('what has not changed is not sent again; a change, a new object and a lost right make another one', async () => {
    for (const url of ['/sitemap.xml', '/sitemap.xml?part=1']) {
      const first = await ask(it, url)
      const tag = String(first.headers.etag)
      assert.match(tag, /^W\/"[0-9a-f]{32}"$/)
      assert.equal(first.headers['cache-control'], 'no-cache, must-revalidate')
      assert.equal(first.headers['content-type'], 'application/xml; charset=utf-8')
      const head = await ask(it, url, {}, 'HEAD')
      assert.deepEqual([head.status, head.text, head.headers.etag], [200, '', tag])
      for (const known of [tag, tag.slice(2), `"x", ${tag}`, '*']) {
        const again = await ask(it, url, { 'if-none-match': known })
        assert.deepEqual([again.status, again.text, again.headers.etag], [304, '', tag])
      }
      assert.equal((await ask(it, url, { 'if-none-match': '"x"' })).status, 200)
    }
    const tagOf = async (): Promise<string> => String((await ask(it, '/sitemap.xml?part=1')).headers.etag)
    const tags = [await tagOf()]
    const added = await it.work({ title: { 'en-US': 'Added' } })
    tags.push(await tagOf())
    const { work } = added
    const [changed] = ok(
      await root().post('/db/work', [
        { ...added, work: { ...work, _version: work._version, title: { 'en-US': 'Changed' } } },
      ]),
    )
    tags.push(await tagOf())
    ok(await root().delete('/db/work', [[work._id, changed.work._version]], { delete_policy: 'remove' }))
    assert.equal(new Set(tags).size, 3)
    assert.equal(await tagOf(), tags[0])
  })

  test('robots.txt lets robots read the pages and the sitemap, and nothing else', async () => {
    const { status, text, headers } = await ask(it, '/robots.txt')
    assert.deepEqual([status, headers['content-type']], [200, 'text/plain; charset=utf-8'])
    assert.equal(
      text,
      [
        'User-agent: *',
        'Allow: /api/v1/objects/uuid/*/format/html$',
        'Allow: /sitemap.xml',
        'Disallow: /',
        '',
        `Sitemap: ${base}/sitemap.xml`,
        '',
      ].join('\n'),
    )
    assert.equal((await ask(it, '/robots.txt', {}, 'HEAD')).text, '')
  })

  test('switched off, or without deep links, there is no sitemap, and robots.txt forbids everything', async () => {
    const closed = async (): Promise<void> => {
      for (const url of ['/sitemap.xml', '/sitemap.xml?part=1']) {
        const { status, text } = await ask(it, url)
        assert.deepEqual([status, JSON.parse(text).code], [404, 'ResourceNotFound'])
      }
      assert.equal((await ask(it, '/robots.txt')).text, 'User-agent: *\nDisallow: /\n')
    }
    await settings(it, false)
    await closed()
    await settings(it, true)
    await it.access({})
    await closed()
    await it.access({ enabled: true })
    assert.equal((await listed(it)).length, 2)
  })

  test('parts that are no numbers are refused', async () => {
    for (const part of ['0', '-1', 'x', '1.5', '99999999999', '', '1&part=2']) {
      const { status, text } = await ask(it, `/sitemap.xml?part=${part}`)
      assert.equal(status, 400, `${part}: ${text}`)
    }
  })

  test('parts are ranges of ids: each page stands in one, also of long parts, and those without any are not named', async () => {
    const { rows } = await it.svc.db.query<{ id: number }>(
      'select system_object_id as id from object where uuid = $1',
      [shown[0]?._uuid],
    )
    // Rows alone: a sitemap reads nothing else of an object.
    const copies = (from: number, count: number, pool: number) =>
      it.svc.db.query(
        `insert into object (system_object_id, objecttype, id, version, uuid, pool_id, tags, parents, standard, created_at, modified_at)
         select n, objecttype, n, version, 'copy <&> ' || n, $4::bigint, tags, parents, standard, created_at, modified_at - n * interval '1 second'
         from object, generate_series($2::bigint, $2::bigint + $3::bigint - 1) as n where system_object_id = $1`,
        [rows[0]?.id, from, count, pool],
      )
    await copies(19_990, 12, it.pool)
    await copies(40_001, 12_000, it.pool)
    // As many in a pool that visitors do not see, in one part with others and in one of their own.
    await copies(55_000, 100, it.vault)
    await copies(80_001, 100, it.vault)
    const index = read((await ask(it, '/sitemap.xml')).text, 'sitemapindex')
    assert.deepEqual(
      index.map(({ loc }) => loc.split('=')[1]),
      ['1', '2', '3'],
    )
    const found = await addresses(it)
    const copied = [19_990, 40_001].flatMap((from, index) =>
      Array.from({ length: [12, 12_000][index] as number }, (_, n) => `copy <&> ${from + n}`),
    )
    const pages = copied.map((uuid) => pageOf({ _uuid: encodeURIComponent(uuid) }))
    assert.deepEqual(found, [...shown.map(pageOf), ...pages])
    const packed = await ask(it, '/sitemap.xml?part=3', { 'accept-encoding': 'gzip' })
    assert.equal(packed.headers['content-encoding'], 'gzip')
    assert.match(String(packed.headers.vary), /accept-encoding/i)
    assert.equal(read(packed.text, 'urlset').length, 12_000)
    await it.svc.db.query('delete from object where system_object_id >= 19990')
  })

  test('who asks too often waits, as at deep links', async () => {
    await using few = await startDeepLinks({ quotaDeepLinks: 230 })
    await few.work({ title: { 'en-US': 'Seldom' } })
    await few.grant({ deep_link: { read: {} } })
    await few.access({ enabled: true })
    await settings(few, true)
    // An index counts as a hundred links, a part as ten.
    for (const part of ['', '', '?part=1', '?part=1', '?part=1']) {
      assert.equal((await ask(few, `/sitemap.xml${part}`)).status, 200)
    }
    const over = await ask(few, '/sitemap.xml?part=1')
    assert.deepEqual([over.status, JSON.parse(over.text).code], [429, 'QuotaExceeded'])
    assert.ok(Number(over.headers['retry-after']) > 0)
    // Rules cost nothing, and a robot without them may read everything.
    assert.equal((await ask(few, '/robots.txt')).status, 200)
  })

  test('where fewer links are allowed than an index counts as, one is answered all the same', async () => {
    await using few = await startDeepLinks({ quotaDeepLinks: 10 })
    await few.work({ title: { 'en-US': 'Seldom' } })
    await few.grant({ deep_link: { read: {} } })
    await few.access({ enabled: true })
    await settings(few, true)
    assert.deepEqual([(await ask(few, '/sitemap.xml')).status, (await ask(few, '/sitemap.xml')).status], [200, 429])
  })
})

test('below another path robots.txt says so', async () => {
  await using it = await startDeepLinks({ externalUrl: 'https://museum.example/archive' })
  assert.equal((await ask(it, '/robots.txt')).text, 'User-agent: *\nDisallow: /archive/\n')
  await it.access({ enabled: true })
  await settings(it, true)
  const { text } = await ask(it, '/robots.txt')
  assert.match(text, /^Allow: \/archive\/api\/v1\/objects\/uuid\/\*\/format\/html\$$/m)
  assert.match(text, /^Allow: \/archive\/sitemap\.xml$/m)
  assert.match(text, /^Disallow: \/archive\/$/m)
  assert.match(text, /^Sitemap: https:\/\/museum\.example\/archive\/sitemap\.xml$/m)
})
