import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { ok } from '../collections/support.ts'
import type { Json } from '../support/client.ts'
import { attachService } from '../support/service.ts'
import { type Answered, ask, configure, harvest, type Scene, startScene } from './scene.ts'

const settings = {
  repository_name: 'Notes & more',
  namespace_identifier: 'notes.example',
  admin_email: [{ email: 'a@example.org' }, { email: 'b@example.org' }],
}

suite('harvesting by OAI-PMH', () => {
  let it: Scene
  let identifiers: string[]
  before(async () => {
    it = await startScene(settings)
    const all = await Promise.all(it.notes.map((id) => it.root.get(`/db/note/_all_fields/system_object_id/${id}`)))
    identifiers = all.map((one) => `oai:notes.example:${ok(one)[0]._uuid}`)
  })
  after(() => it[Symbol.asyncDispose]())

  const valuesOf = ({ text }: Answered, name: string): string[] =>
    [...text.matchAll(new RegExp(`<${name}(?: [^>]*)?>([^<]*)</${name}>`, 'g'))].map(([, value = '']) => value)
  const identifiersOf = (...answers: readonly Answered[]): string[] =>
    answers.flatMap(({ headers }) => headers.map(({ identifier }) => identifier))

  test('Identify says what the repository is, also where no verb is said', async () => {
    for (const given of [{ verb: 'Identify' }, {}]) {
      const answer = await ask(it, given)
      assert.equal(answer.status, 200)
      assert.deepEqual(
        ['repositoryName', 'baseURL', 'protocolVersion', 'adminEmail', 'deletedRecord', 'granularity'].map((name) =>
          valuesOf(answer, name),
        ),
        [
          ['Notes &amp; more'],
          ['http://localhost:8080/api/v1/oai'],
          ['2.0'],
          ['a@example.org', 'b@example.org'],
          ['persistent'],
          ['YYYY-MM-DDThh:mm:ssZ'],
        ],
      )
      assert.match(answer.text, /<request verb="Identify">http:\/\/localhost:8080\/api\/v1\/oai<\/request>/)
      assert.match(valuesOf(answer, 'earliestDatestamp')[0] ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    }
  })

  test('formats are those of the service and style sheets for harvests; all records have all of them', async () => {
    for (const more of [{}, { identifier: identifiers[0] as string }]) {
      const answer = await ask(it, { verb: 'ListMetadataFormats', ...more })
      assert.deepEqual(valuesOf(answer, 'metadataPrefix'), ['oai_dc', 'native', 'lido', 'mods'])
      assert.deepEqual(valuesOf(answer, 'metadataNamespace'), [
        'http://www.openarchives.org/OAI/2.0/oai_dc/',
        'urn:strongroom:objects:1',
        'http://www.lido-schema.org',
        'http://www.loc.gov/mods/v3',
      ])
    }
    const unknown = await ask(it, { verb: 'ListMetadataFormats', identifier: `${identifiers[0]}0` })
    assert.deepEqual([unknown.status, unknown.errors], [404, ['idDoesNotExist']])
  })

  test('GetRecord gives one record, with what the user may read', async () => {
    const identifier = identifiers[1] as string
    const native = await ask(it, { verb: 'GetRecord', identifier, metadataPrefix: 'native' })
    assert.deepEqual(identifiersOf(native), [identifier])
    assert.match(native.text, /<metadata><note xmlns="urn:strongroom:objects:1">.*<title [^>]*>n 1<\/title>/)
    const dc = await ask(it, { verb: 'GetRecord', identifier, metadataPrefix: 'oai_dc' })
    assert.match(dc.text, /<dc:title>n 1<\/dc:title>.*<dc:identifier>urn:uuid:[\w-]{36}<\/dc:identifier>/)
    assert.match(dc.text, new RegExp(`<request verb="GetRecord" identifier="${identifier}" metadataPrefix="oai_dc">`))
    const { body } = await it.root.post('/search', { search: [{ type: 'match', string: 'v 0' }], format: 'short' })
    const hidden = `oai:notes.example:${body.objects[0]._uuid}`
    for (const unknown of [hidden, 'nonsense', 'oai:notes.example:', identifier.replace('notes.', 'other.')]) {
      const refused = await ask(it, { verb: 'GetRecord', identifier: unknown, metadataPrefix: 'oai_dc' })
      assert.deepEqual([refused.status, refused.errors], [404, ['idDoesNotExist']], unknown)
    }
  })

  test('lists have all records in pages; a token goes on where the page ended, also after a restart', async () => {
    for (const verb of ['ListRecords', 'ListIdentifiers']) {
      const pages = await harvest(it, { verb, metadataPrefix: 'oai_dc', limit: 2 })
      assert.deepEqual(
        pages.map(({ headers }) => headers.length),
        [2, 2, 1],
      )
      assert.deepEqual(identifiersOf(...pages).toSorted(), identifiers.toSorted())
      assert.deepEqual(
        pages.map(({ attributes }) => [attributes.completeListSize, attributes.cursor]),
        [
          ['5', '0'],
          ['5', '2'],
          ['5', '4'],
        ],
      )
      const days = (Date.parse(pages[0]?.attributes.expirationDate ?? '') - Date.now()) / 86_400_000
      assert.ok(days > 6.9 && days < 7.1)
      // The end of a list that went on is an empty token; a list of one page has none.
      assert.equal(pages.at(-1)?.token, '')
      assert.equal((await ask(it, { verb, metadataPrefix: 'oai_dc' })).token, null)
      await using other = await attachService(it.svc.dsn, { dataDir: it.svc.config.dataDir })
      const resumed = await ask({ svc: other }, { verb, resumptionToken: pages[0]?.token as string })
      assert.deepEqual(identifiersOf(resumed), identifiersOf(pages[1] as Answered))
      assert.deepEqual(resumed.text.includes('<dc:title>'), verb === 'ListRecords')
    }
  })

  test('tokens are for the list that they came with, and for nobody who changes them', async () => {
    const verb = 'ListRecords'
    const { token } = await ask(it, { verb, metadataPrefix: 'oai_dc', limit: 2 })
    assert.ok(token)
    const [text = '', signature = ''] = token.split('.')
    const forged = Buffer.from(
      JSON.stringify({ ...JSON.parse(Buffer.from(text, 'base64url').toString()), set: 'pool:1' }),
    ).toString('base64url')
    const wrong = [
      '',
      '.',
      'nonsense',
      token.slice(0, -1),
      `${token}A`,
      `${token}.`,
      `${text.slice(0, -1)}.${signature}`,
      `${forged}.${signature}`,
      `${text}.${signature.toLowerCase()}`,
      'x'.repeat(9000),
    ]
    for (const resumptionToken of wrong) {
      const answer = await ask(it, { verb, resumptionToken })
      assert.deepEqual([answer.status, answer.errors], [400, ['badResumptionToken']], resumptionToken)
    }
    const other = await ask(it, { verb: 'ListIdentifiers', resumptionToken: token })
    assert.deepEqual([other.status, other.errors], [400, ['badResumptionToken']])
    for (const more of [{ metadataPrefix: 'oai_dc' }, { limit: 2 }, { from: '2026-01-01' }, { set: 'pool:1' }]) {
      const answer = await ask(it, { verb, resumptionToken: token, ...more })
      assert.deepEqual([answer.status, answer.errors], [400, ['badArgument']], JSON.stringify(more))
    }
  })

  test('limit and offset are ours: as many records as asked for, 10,000 at most, behind as many left out', async () => {
    const verb = 'ListIdentifiers'
    const all = identifiersOf(await ask(it, { verb, metadataPrefix: 'native' }))
    const some = await ask(it, { verb, metadataPrefix: 'native', limit: 2, offset: 2 })
    assert.deepEqual(identifiersOf(some), all.slice(2, 4))
    assert.equal(some.attributes.cursor, '2')
    for (const limit of [10_000, 10_001, 999_999_999]) {
      assert.equal((await ask(it, { verb, metadataPrefix: 'native', limit })).headers.length, 5)
    }
    await configure(it, { ...settings, records_limit: 3 })
    assert.equal((await ask(it, { verb, metadataPrefix: 'native' })).headers.length, 3)
    await configure(it, { ...settings, records_limit: 100 })
    for (const more of [
      { limit: 0 },
      { limit: -1 },
      { limit: 'x' },
      { offset: -1 },
      { offset: 1e12 },
      { limit: 1.5 },
    ]) {
      const answer = await ask(it, { verb, metadataPrefix: 'native', ...more })
      assert.deepEqual([answer.status, answer.errors], [400, ['badArgument']], JSON.stringify(more))
    }
  })

  test('what is wrong with a request is told as the protocol has it', async () => {
    const list = { verb: 'ListRecords', metadataPrefix: 'oai_dc' }
    const wrong: readonly [object, number, string][] = [
      [{ verb: 'Nonsense' }, 400, 'badVerb'],
      [{ verb: 'identify' }, 400, 'badVerb'],
      [{ verb: '' }, 400, 'badVerb'],
      [{ verb: 'Identify', identifier: 'x' }, 400, 'badArgument'],
      [{ verb: 'Identify', nonsense: 'x' }, 400, 'badArgument'],
      [{ verb: 'ListRecords' }, 400, 'badArgument'],
      [{ verb: 'ListIdentifiers' }, 400, 'badArgument'],
      [{ verb: 'GetRecord', metadataPrefix: 'oai_dc' }, 400, 'badArgument'],
      [{ verb: 'GetRecord', identifier: identifiers[0] }, 400, 'badArgument'],
      [{ ...list, metadataPrefix: 'nonsense' }, 400, 'cannotDisseminateFormat'],
      [{ ...list, metadataPrefix: 'xslt-nonsense' }, 400, 'cannotDisseminateFormat'],
      [{ verb: 'GetRecord', identifier: identifiers[0], metadataPrefix: 'dc' }, 400, 'cannotDisseminateFormat'],
      [{ ...list, from: '2026-02-30' }, 400, 'badArgument'],
      [{ ...list, from: '0000-01-01' }, 400, 'badArgument'],
      [{ ...list, from: '10000-01-01' }, 400, 'badArgument'],
      [{ ...list, from: '2026-01-01T00:00Z' }, 400, 'badArgument'],
      [{ ...list, from: '2026-01-01T24:00:00Z' }, 400, 'badArgument'],
      [{ ...list, until: '2026' }, 400, 'badArgument'],
      [{ ...list, from: '2026-01-01', until: '2026-01-01T00:00:00Z' }, 400, 'badArgument'],
      [{ ...list, from: '2026-01-02', until: '2026-01-01' }, 400, 'badArgument'],
      [{ ...list, from: '0001-01-01', until: '1999-12-31' }, 200, 'noRecordsMatch'],
      [{ ...list, from: '9999-12-31' }, 200, 'noRecordsMatch'],
      [{ ...list, set: 'nonsense' }, 200, 'noRecordsMatch'],
      [{ ...list, set: 'pool:' }, 400, 'badArgument'],
      [{ ...list, set: 'a b' }, 400, 'badArgument'],
      [{ ...list, 'event.info': '{' }, 400, 'badArgument'],
      [{ ...list, 'event.info': '[1]' }, 400, 'badArgument'],
      [{ ...list, 'event.info': `{"x": "${'x'.repeat(1000)}"}` }, 400, 'badArgument'],
    ]
    for (const [given, status, code] of wrong) {
      for (const form of [false, true]) {
        const answer = await ask(it, given as Record<string, string>, form)
        assert.deepEqual([answer.status, answer.errors], [status, [code]], JSON.stringify(given))
        // What is not understood is not repeated.
        const repeats = !['badVerb', 'badArgument'].includes(code)
        assert.equal(/<request verb=/.test(answer.text), repeats, answer.text)
      }
    }
    const repeated = await it.svc.inject({ method: 'GET', url: '/api/v1/oai?verb=Identify&verb=Identify' })
    assert.match(repeated.body, /code="badVerb"/)
    const twice = `/api/v1/oai?verb=ListRecords&metadataPrefix=oai_dc&metadataPrefix=native`
    assert.match((await it.svc.inject({ method: 'GET', url: twice })).body, /code="badArgument"/)
    const both = await it.svc.inject({ method: 'POST', url: '/api/v1/oai?verb=Identify' })
    assert.deepEqual([both.statusCode, /code="badArgument"/.test(both.body)], [400, true], both.body)
  })

  test('a form is as good as an address, and HEAD has the status without the document', async () => {
    const given = { verb: 'ListIdentifiers', metadataPrefix: 'oai_dc' }
    assert.deepEqual((await ask(it, given, true)).headers, (await ask(it, given)).headers)
    const { headers } = await ask(it, { ...given, from: '0001-01-01', until: '9999-12-31' })
    assert.equal(headers.length, 5)
    for (const [query, status] of [
      ['verb=Identify', 200],
      ['verb=ListRecords&metadataPrefix=oai_dc', 200],
      ['verb=Nonsense', 400],
      ['verb=GetRecord&metadataPrefix=oai_dc&identifier=x', 404],
    ] as const) {
      const head = await it.svc.inject({ method: 'HEAD', url: `/api/v1/oai?${query}` })
      assert.deepEqual([head.statusCode, head.body], [status, ''])
    }
  })

  test('each record that is given is an event, with the request and what the harvester adds', async () => {
    const downloads = async (): Promise<Json[]> =>
      ok(await it.root.get('/event/list', { type: 'OBJECT_DOWNLOAD', limit: 1000 })).objects.map(
        ({ event }: Json) => event,
      )
    const known = new Set((await downloads()).map(({ _id }) => _id))
    await ask(it, {
      verb: 'ListRecords',
      metadataPrefix: 'oai_dc',
      limit: 2,
      'event.info': '{"portal": "P", "url": "x"}',
    })
    await ask(it, { verb: 'ListIdentifiers', metadataPrefix: 'oai_dc', limit: 2 })
    const events = (await downloads()).filter(({ _id }) => !known.has(_id))
    assert.deepEqual(events.map(({ system_object_id: id }) => id).toSorted(), it.notes.slice(0, 2))
    for (const { info } of events) {
      assert.equal(info.portal, 'P')
      // What a harvester adds is beside what the service says, not in place of it.
      assert.match(info.url, /^\/api\/v1\/oai\?verb=ListRecords/)
      assert.deepEqual([info.oai_pmh.verb, info.oai_pmh.limit], ['ListRecords', '2'])
    }
  })

  test('when it is switched off, every request is refused', async () => {
    ok(await it.root.post('/config/system/config/oai_pmh', { ...settings, enabled: false }))
    for (const url of ['/api/v1/oai', '/api/v1/oai?verb=Nonsense']) {
      const { statusCode, headers, body } = await it.svc.inject({ method: 'GET', url })
      assert.equal(statusCode, 400)
      assert.match(String(headers['content-type']), /^application\/json/)
      assert.deepEqual((({ code, package: part, realm }) => ({ code, part, realm }))(JSON.parse(body)), {
        code: 'OAIpmhNotEnabled',
        part: 'api',
        realm: 'api',
      })
    }
    await configure(it, settings)
    assert.equal((await ask(it, {})).status, 200)
  })
})
