import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { createCollection, createNotes, entriesOf, ok } from '../collections/support.ts'
import { upload } from '../files/support.ts'
import { toUser, wireGrant } from '../rights/people.ts'
import type { Json } from '../support/client.ts'
import { attachService } from '../support/service.ts'
import { type Answered, ask, configure, grant, harvest, harvester, type Scene, startScene } from './scene.ts'

const list = { verb: 'ListIdentifiers', metadataPrefix: 'oai_dc' }

/** What is told, by system object id: whether as deleted. */
async function told(it: Scene, given: object = {}): Promise<Record<number, boolean>> {
  const answers = await harvest(it, { ...list, ...given })
  const { rows } = await it.svc.db.query<{ uuid: string; id: number }>('select uuid, id from harvest_record')
  const ids = new Map(rows.map(({ uuid, id }) => [`oai:${uuid}`, id]))
  return Object.fromEntries(
    answers.flatMap(({ headers }) =>
      headers.map(({ identifier, deleted }) => [ids.get(identifier) as number, deleted]),
    ),
  )
}

const alive = (ids: readonly number[], deleted = false): Record<number, boolean> =>
  Object.fromEntries(ids.map((id) => [id, deleted]))

async function noteOf(it: Scene, id: number): Promise<Json> {
  return ok(await it.root.get(`/db/note/_all_fields/system_object_id/${id}`))[0]
}

async function save(it: Scene, id: number, more: object = {}, note: object = {}): Promise<void> {
  const { _pool, _tags, note: stored } = await noteOf(it, id)
  const body = { _objecttype: 'note', _mask: 'note__standard', _pool, _tags, ...more }
  ok(await it.root.post('/db/note', [{ ...body, note: { _id: stored._id, _version: stored._version, ...note } }]))
}

/** The next second: what happens from now on has a later datestamp. */
async function later(): Promise<string> {
  const next = Math.floor(Date.now() / 1000) + 1
  await new Promise((resolve) => setTimeout(resolve, next * 1000 - Date.now() + 5))
  return new Date(next * 1000).toISOString().replace('.000Z', 'Z')
}

suite('which records harvesters hear of', () => {
  test('a harvest since a moment has what has changed since, whatever took it out of sight', async () => {
    const before = new Date(Date.now() - 60_000).toISOString().replace(/\.\d+Z$/, 'Z')
    await using it = await startScene()
    const [edited = 0, moved = 0, trashed = 0, tagged = 0, quiet = 0] = it.notes
    await configure(it, { tagfilter_deleted: { any: [it.tag] } })
    assert.deepEqual(await told(it), alive(it.notes))
    const from = await later()
    await save(it, edited, {}, { title: 'edited' })
    await save(it, moved, { _pool: { pool: { _id: it.vault } } })
    await save(it, tagged, { _tags: [{ _id: it.tag }] })
    const { note } = await noteOf(it, trashed)
    ok(await it.root.delete('/db/note', [[note._id, note._version]], { delete_policy: 'remove' }))
    await it.svc.drain()
    const since = { [edited]: false, [moved]: true, [trashed]: true, [tagged]: true }
    assert.deepEqual(await told(it, { from }), since)
    assert.deepEqual(await told(it, { until: before, from: '2000-01-01T00:00:00Z' }).catch(() => ({})), {})
    assert.deepEqual(await told(it), { ...since, [quiet]: false })
    // A deletion is kept for good: also when nothing of the object is left.
    await it.svc.app.tidy(new Date(Date.now() + 400 * 86_400_000))
    await it.svc.drain()
    assert.deepEqual(await told(it), { ...since, [quiet]: false })
    // What comes back is told anew.
    const back = await later()
    await save(it, moved, { _pool: { pool: { _id: it.pool } } })
    await save(it, tagged, { _tags: [] })
    await it.svc.drain()
    assert.deepEqual(await told(it, { from: back }), alive([moved, tagged]))
    const day = back.slice(0, 10)
    assert.deepEqual(Object.keys(await told(it, { from: day, until: day })).length, 5)
  })

  test('rights count at once, whatever is still to be looked at; what was lost and comes back is told again', async () => {
    await using it = await startScene()
    const { token } = await ask(it, { ...list, verb: 'ListRecords', limit: 2 })
    const from = await later()
    await grant(it, '')
    // Within a list, and before anything else has been done about it.
    const next = await ask(it, { verb: 'ListRecords', resumptionToken: token as string })
    assert.deepEqual(
      next.headers.map(({ deleted }) => deleted),
      next.headers.map(() => true),
    )
    assert.equal(next.text.includes('<metadata>'), false)
    const identifier = next.headers[0]?.identifier as string
    const gone = await ask(it, { verb: 'GetRecord', identifier, metadataPrefix: 'oai_dc' })
    assert.deepEqual([gone.status, gone.headers[0]?.deleted, gone.text.includes('<metadata>')], [200, true, false])
    assert.deepEqual(await told(it, { from }), alive(it.notes, true))
    const back = await later()
    await grant(it, 'bag_read read mask')
    assert.deepEqual(await told(it, { from: back }), alive(it.notes))
    // Nobody hears of what harvesters never could see.
    const [hidden = 0] = await createNotes(it.root, it.vault, 1, 'w')
    await it.svc.drain()
    assert.equal((await told(it))[hidden], undefined)
  })

  test('what was told as deleted, and was in sight again before anybody looked, is told anew', async () => {
    await using it = await startScene()
    const { token } = await ask(it, { ...list, limit: 2 })
    const uuidOf: Record<number, string> = {}
    for (const id of it.notes) uuidOf[id] = (await noteOf(it, id))._uuid
    await grant(it, '')
    // Nothing can be looked at without the lists of collections.
    await it.svc.db.query('alter table collection_object rename to collection_object_away')
    const from = await later()
    const { headers } = await ask(it, { verb: list.verb, resumptionToken: token as string })
    await it.svc.db.query('alter table collection_object_away rename to collection_object')
    assert.deepEqual(
      headers.map(({ deleted }) => deleted),
      [true, true],
    )
    await grant(it, 'bag_read read mask')
    const again = await told(it, { from })
    for (const { identifier } of headers) {
      const id = it.notes.find((one) => identifier.endsWith(uuidOf[one] ?? '-')) ?? 0
      assert.equal(again[id], false, identifier)
    }
  })

  test('sets are types, pools, both, collections and tags; what leaves a set is told there as deleted', async () => {
    await using it = await startScene()
    const [first = 0, second = 0] = it.notes
    const tagfilter_sets = [
      { set_name: 'public', tagfilter: { any: [it.tag] } },
      { set_name: 'rest', tagfilter: { not: [it.tag] } },
    ]
    await configure(it, { tagfilter_sets })
    assert.deepEqual(await told(it, { set: 'tagfilter:rest' }), alive(it.notes))
    const _acl = [wireGrant(toUser(harvester), 'bag_read')]
    const seen = await createCollection(it.root, { displayname: { 'en-US': 'Seen' } }, { _acl })
    const unseen = await createCollection(it.root, { displayname: { 'en-US': 'Unseen' } })
    for (const { _id } of [seen, unseen]) {
      ok(await it.root.post(`/collection/push/${_id}`, { objects: entriesOf(it.svc, [first]) }))
    }
    await save(it, second, { _tags: [{ _id: it.tag }] })
    await it.svc.drain()
    const { headers } = await ask(it, list)
    const setsOf = async (id: number): Promise<readonly string[]> => {
      const { _uuid } = await noteOf(it, id)
      return headers.find(({ identifier }) => identifier === `oai:${_uuid}`)?.sets ?? []
    }
    const path = `pool:1:2:${it.pool}`
    const common = ['objecttype:note', `objecttype_pool:note:${path}`, path]
    const ofFirst = await setsOf(first)
    const [collection = ''] = ofFirst
    assert.match(collection, new RegExp(`^collection:1:2:\\d+:${seen._id}$`))
    assert.deepEqual(ofFirst, [collection, ...common, 'tagfilter:rest'])
    assert.deepEqual(await setsOf(second), [...common, 'tagfilter:public'])
    const { text } = await ask(it, { verb: 'ListSets' })
    const listed = [...text.matchAll(/<setSpec>([^<]*)<\/setSpec><setName>([^<]*)</g)].map(([, spec, name]) => [
      spec,
      name,
    ])
    assert.deepEqual(listed, [
      [collection, 'Seen'],
      ['objecttype:note', 'note'],
      [`objecttype_pool:note:${path}`, 'note, Open'],
      [path, 'Open'],
      ['tagfilter:public', 'public'],
      ['tagfilter:rest', 'rest'],
    ])
    const others = it.notes.filter((id) => id !== second)
    const asked: readonly [string, Record<number, boolean>][] = [
      ['objecttype:note', alive(it.notes)],
      [path, alive(it.notes)],
      // A set has what is in those below it.
      ['pool:1', alive(it.notes)],
      [`objecttype_pool:note:${path}`, alive(it.notes)],
      [`objecttype:note:${path}`, alive(it.notes)],
      [collection, alive([first])],
      ['tagfilter:public', alive([second])],
      ['tagset:public', alive([second])],
    ]
    for (const [set, records] of asked) assert.deepEqual(await told(it, { set }), records, set)
    // It is still there for all others.
    await save(it, first, { _tags: [{ _id: it.tag }] })
    ok(await it.root.post(`/collection/remove/${seen._id}`, entriesOf(it.svc, [first])))
    await it.svc.drain()
    assert.deepEqual(await told(it, { set: 'tagfilter:rest' }), { ...alive(others), [first]: true, [second]: true })
    assert.deepEqual(await told(it, { set: 'tagfilter:public' }), alive([first, second]))
    assert.deepEqual(await told(it, { set: collection }), { [first]: true })
    assert.deepEqual(await told(it), alive(it.notes))
    // Other sets are other answers, without a save of the objects.
    await configure(it, { tagfilter_sets: [{ set_name: 'all', tagfilter: {} }] })
    assert.deepEqual(await told(it, { set: 'tagfilter:all' }), alive(it.notes))
    assert.deepEqual(await told(it, { set: 'tagfilter:public' }), alive([first, second], true))
  })

  test('sets come in pages, too', async () => {
    await using it = await startScene()
    const all = [...(await ask(it, { verb: 'ListSets' })).text.matchAll(/<setSpec>([^<]*)/g)].map(([, spec]) => spec)
    const pages = await harvest(it, { verb: 'ListSets', limit: 1 })
    assert.deepEqual(
      pages.flatMap(({ text }) => [...text.matchAll(/<setSpec>([^<]*)/g)].map(([, spec]) => spec)),
      all,
    )
    assert.deepEqual(
      pages.map(({ attributes }) => [attributes.cursor, attributes.completeListSize]),
      all.map((_, index) => [`${index}`, `${all.length}`]),
    )
  })

  test('what changes while a list is read comes at its end, and nothing is left out', async () => {
    await using it = await startScene()
    const answers = [await ask(it, { ...list, limit: 2 })]
    await save(it, it.notes[3] as number, {}, { title: 'again' })
    const added = await createNotes(it.root, it.pool, 1, 'x')
    await it.svc.drain()
    for (let last: Answered | undefined = answers[0]; last?.token; last = answers.at(-1)) {
      answers.push(await ask(it, { verb: list.verb, resumptionToken: last.token }))
    }
    const uuids = await Promise.all([...it.notes, ...added].map(async (id) => `oai:${(await noteOf(it, id))._uuid}`))
    assert.deepEqual(
      answers.flatMap(({ headers }) => headers.map(({ identifier }) => identifier)),
      [uuids[0], uuids[1], uuids[2], uuids[4], uuids[3], uuids[5]],
    )
    const [first] = answers
    const again = await ask(it, { verb: list.verb, resumptionToken: first?.token as string })
    assert.deepEqual(again.headers, answers[1]?.headers)
  })

  test('settings are checked: tags that there are not, names that no set can have', async () => {
    await using it = await startScene()
    const refused = async (more: object, place: RegExp) => {
      const { status, body } = await it.root.post('/config/system/config/oai_pmh', { enabled: true, ...more })
      assert.deepEqual([status, place.test(JSON.stringify(body))], [400, true], JSON.stringify(body))
    }
    await refused({ tagfilter_deleted: { any: [999] } }, /TagNotFound/)
    await refused({ tagfilter_sets: [{ set_name: 'x', tagfilter: { all: [999] } }] }, /TagNotFound/)
    await refused({ tagfilter_sets: [{ set_name: 'a b', tagfilter: {} }] }, /set_name/)
    await refused({ tagfilter_sets: [{ tagfilter: {} }] }, /set_name/)
    await refused({ tagfilter_deleted: { changed: [it.tag] } }, /changed/)
    await refused({ tagfilter_deleted: { any: ['x'] } }, /any/)
    await refused({ namespace_identifier: 'a:b' }, /namespace_identifier/)
    await refused({ records_limit: 0 }, /records_limit/)
    await refused({ records_limit: 10_001 }, /records_limit/)
    await refused({ admin_email: [{ email: 'nobody' }] }, /email/)
    await refused({ merge_linked_objects: 'some' }, /merge_linked_objects/)
    await refused({ merge_max_depth: 10 }, /merge_max_depth/)
    await refused({ nonsense: 1 }, /nonsense/)
    const { status } = await it.root.post('/config/system/config/file_url_expire', { oai_pmh_days: 31 })
    assert.equal(status, 400)
  })

  test('style sheets make the metadata of a page at once; what they make is parted, and belongs to its records', async () => {
    await using it = await startScene()
    const sheetOf = (wrap: string, more = '') =>
      `<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:o="urn:strongroom:objects:1" xmlns:l="urn:l" exclude-result-prefixes="o"><xsl:output method="xml" omit-xml-declaration="yes"/><xsl:template match="/">${wrap.replace('*', '<xsl:for-each select="o:objects/o:note"><l:record of="{count(../o:note)}"><xsl:value-of select="o:title"/></l:record></xsl:for-each>')}</xsl:template>${more}</xsl:stylesheet>`
    const put = async (text: string): Promise<object> => {
      const { body } = await upload(it.svc, 'root', [{ name: 'sheet.xsl', content: Buffer.from(text) }])
      return { _id: body[0]._id }
    }
    const sheets = {
      plain: {
        xslt: await put(sheetOf('*')),
        use_for_oai_pmh: true,
        namespace: 'urn:l',
        schema: 'http://example.org/l.xsd',
      },
      wrapped: { xslt: await put(sheetOf('<l:all>*</l:all>')), use_for_oai_pmh: true, xpath_query: 'l:all/l:record' },
      one: { xslt: await put(sheetOf('<l:all>*</l:all>')), use_for_oai_pmh: true },
      other: { xslt: await put(sheetOf('*')), use_for_api_objects: true },
    }
    const xslts = Object.entries(sheets).map(([oai_pmh_prefix, sheet]) => ({ ...sheet, oai_pmh_prefix }))
    ok(await it.root.post('/config/system/config/export', { xslts }))
    const formats = (await ask(it, { verb: 'ListMetadataFormats' })).text
    assert.deepEqual(
      [...formats.matchAll(/<metadataPrefix>([^<]*)/g)].map(([, prefix]) => prefix),
      ['oai_dc', 'native', 'lido', 'mods', 'xslt-plain', 'xslt-wrapped', 'xslt-one'],
    )
    assert.match(
      formats,
      /xslt-plain<\/metadataPrefix><schema>http:\/\/example.org\/l.xsd<\/schema><metadataNamespace>urn:l</,
    )
    for (const prefix of ['xslt-plain', 'xslt-wrapped']) {
      const pages = await harvest(it, { verb: 'ListRecords', metadataPrefix: prefix, limit: 3 })
      const metadata = pages.flatMap(({ text }) =>
        [...text.matchAll(/<metadata>(.*?)<\/metadata>/gs)].map(([, one]) => one),
      )
      assert.deepEqual(
        metadata,
        [3, 3, 3, 2, 2].map((count, index) => `<l:record xmlns:l="urn:l" of="${count}">n ${index}</l:record>`),
      )
    }
    // Fewer parts than records: the sheet is wrong, and nobody is told something false.
    const failing = await ask(it, { verb: 'ListRecords', metadataPrefix: 'xslt-one' })
    assert.deepEqual([failing.status, failing.errors], [500, ['internalServerError']])
    const [identifier = ''] = (await ask(it, list)).headers.map((header) => header.identifier)
    const single = await ask(it, { verb: 'GetRecord', metadataPrefix: 'xslt-wrapped', identifier })
    assert.match(single.text, /<metadata><l:record xmlns:l="urn:l" of="1">n 0<\/l:record><\/metadata>/)
    const unknown = await ask(it, { verb: 'ListRecords', metadataPrefix: 'xslt-other' })
    assert.deepEqual(unknown.errors, ['cannotDisseminateFormat'])
    await grant(it, '')
    const hidden = await ask(it, { verb: 'ListRecords', metadataPrefix: 'xslt-plain' })
    assert.deepEqual([hidden.status, hidden.text.includes('<metadata>')], [200, false])
    for (const xpath_query of ['l:all/', 'x:all', '"', '//*[', '</xsl:template>']) {
      const wrong = [{ ...sheets.wrapped, oai_pmh_prefix: 'wrapped', xpath_query }]
      const { status, body } = await it.root.post('/config/system/config/export', { xslts: wrong })
      assert.deepEqual([status, body.parameters?.path], [400, 'system/config/export/xslts/0/xpath_query'], xpath_query)
    }
  })
})

suite('harvests beside saves', () => {
  test('of two processes, with several people saving at once, a harvester misses nothing', async () => {
    await using it = await startScene()
    await using other = await attachService(it.svc.dsn, { dataDir: it.svc.config.dataDir })
    const gathered = new Map<string, string>()
    let from: string | undefined
    const round = async (svc: Scene['svc']): Promise<void> => {
      const pages = await harvest({ svc }, { verb: 'ListRecords', metadataPrefix: 'oai_dc', limit: 7, from })
      for (const page of pages) {
        assert.deepEqual(
          page.errors.filter((code) => code !== 'noRecordsMatch'),
          [],
        )
        const titles = [...page.text.matchAll(/<record>.*?<\/record>/gs)].map(
          ([one]) => /<dc:title[^>]*>([^<]*)/.exec(one)?.[1],
        )
        for (const [index, { identifier, deleted }] of page.headers.entries()) {
          if (deleted) gathered.delete(identifier)
          else gathered.set(identifier, titles[index] ?? '')
        }
      }
      from = pages.at(-1)?.date
    }
    let saving = 3
    const save = async (who: number, { svc }: Pick<Scene, 'svc'>): Promise<void> => {
      for (let n = 0; n < 12; n++) {
        const pool = n % 4 === 3 ? it.vault : it.pool
        const [id = 0] = await createNotes(svc.as('root'), pool, 3, `c${who}-${n}-`)
        const moved = n % 3 === 0 ? { _pool: { pool: { _id: pool === it.pool ? it.vault : it.pool } } } : {}
        const body = { _objecttype: 'note', _mask: 'note__standard', ...moved }
        const stored = await noteOf(it, id)
        ok(
          await svc
            .as('root')
            .post('/db/note', [
              { _pool: stored._pool, ...body, note: { _id: stored.note._id, _version: 1, title: `e${who}-${n}` } },
            ]),
        )
      }
      saving--
    }
    const saves = [save(0, it), save(1, { svc: other }), save(2, it)]
    while (saving > 0) await round(saving % 2 === 0 ? it.svc : other)
    await Promise.all(saves)
    await it.svc.drain()
    await other.drain()
    await round(it.svc)
    const { body } = await it.root.post('/search', { search: [], limit: 1000, format: 'long', objecttypes: ['note'] })
    const expected = body.objects
      .filter((one: Json) => (one._pool?.pool ?? one.note._pool.pool)._id === it.pool)
      .map((one: Json) => [`oai:${one._uuid}`, one.note.title])
    assert.ok(expected.length > 70)
    assert.deepEqual([...gathered].toSorted(), expected.toSorted())
  })
})
