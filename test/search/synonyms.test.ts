import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { upload } from '../files/support.ts'
import type { Json } from '../support/client.ts'
import { attachService } from '../support/service.ts'
import { type SearchScene, startScene, text } from './support.ts'

let scene: SearchScene
before(async () => {
  scene = await startScene()
})
after(() => scene[Symbol.asyncDispose]())

const place = '/config/system/config/languages/database'

async function setRules(english: string, german = ''): Promise<{ status: number; body: Json }> {
  const row = (value: string, synonyms: string) => ({ value, analyzer: { synonyms } })
  return scene.svc.as('root').post(place, [row('en-US', english), row('de-DE', german)])
}

test('terms of a line stand for each other, those before an arrow find what stands behind it', async () => {
  const rules = '# works\n\ntyger, tiger, big cat\r\nfog => dawn, mist\n'
  assert.equal((await setRules(rules)).status, 200)
  const stored = (await scene.svc.as('root').get(`${place}/0/analyzer`)).body
  assert.deepEqual(stored, { icu_folding: true, synonyms: rules, synonyms_file: null })
  assert.deepEqual(await scene.works(text('TIGER')), ['tyger'])
  assert.deepEqual(await scene.works(text('the big cat')), ['tyger'])
  assert.deepEqual(await scene.works(text('big the cat')), [])
  assert.deepEqual(await scene.works(text('fog river')), ['dawn'])
  assert.deepEqual(await scene.works(text('dawn')), ['bridge', 'dawn'])
  assert.deepEqual(await scene.works(text('fog')), ['bridge', 'dawn'])
  assert.deepEqual(await scene.works(text('tiger', { fields: ['work.title'] })), ['tyger'])
})

test('a term of several words is found side by side', async () => {
  assert.equal((await setRules('aquarelle, watercolour on paper\nnonsense, paper on watercolour')).status, 200)
  assert.deepEqual(await scene.works(text('aquarelle')), ['dawn'])
  assert.deepEqual(await scene.works(text('nonsense')), [])
  assert.deepEqual(await scene.works(text('aquarelle', { fields: ['work.note'] })), ['dawn'])
})

test('what is looked for as it is goes past synonyms', async () => {
  assert.equal((await setRules('tyger, tiger')).status, 200)
  for (const more of [{ mode: 'token' }, { mode: 'wildcard' }, { mode: 'exact' }, { phrase: true }])
    assert.deepEqual(await scene.works(text('tiger', more)), [], JSON.stringify(more))
  const parsed = await scene.svc.as('root').get('/search/parse', { query: "'tiger'", syntax: 'words', search: 'true' })
  assert.equal(parsed.body.count, 0)
})

test('rules count for the languages that a search names, else all do', async () => {
  assert.equal((await setRules('feline => tyger', 'katze => tyger')).status, 200)
  assert.deepEqual(await scene.works(text('katze')), ['tyger'])
  assert.deepEqual(await scene.works(text('katze', { languages: ['de-DE'] })), [])
  assert.deepEqual(await scene.works(text('katze', { languages: ['en-US'] })), [])
  assert.deepEqual(await scene.works(text('feline', { languages: ['en-US'] })), ['tyger'])
  assert.deepEqual(await scene.works(text('feline', { fields: ['work.title.en-US'] })), ['tyger'])
})

test('a change has its effect at once, on results that were kept too, and hits show what was found', async () => {
  assert.equal((await setRules('tyger, tiger')).status, 200)
  // The index in memory shows nothing of what it found.
  const highlight = !process.env.TEST_SEARCH_INDEX
  const request = { objecttypes: ['work'], search: [text('tiger')], ...(highlight ? { highlight } : {}) }
  const first = await scene.search(request)
  assert.equal(first.body.count, 1)
  if (highlight) assert.deepEqual(first.body.objects[0]._highlight, { 'work.title': ['The <em>Tyger</em>'] })
  assert.equal((await setRules('')).status, 200)
  assert.equal((await scene.search(request)).body.count, 0)
})

test('rules that make no sense are refused with their line, and nothing changes', async () => {
  assert.equal((await setRules('tyger, tiger')).status, 200)
  const refused: [rules: string, why: RegExp][] = [
    ['a, b\n\n# comment\na,, b', /line 4 has an empty term/],
    ['alone', /line 1 has a single term/],
    ['a => b => c', /line 1 has more than one =>/],
    ['=> b', /line 1 has an empty term/],
    ['a => ', /line 1 has an empty term/],
    ['a, ---', /line 1 has a term without letters/],
    [`a, ${'b '.repeat(11)}`, /line 1 has a term of more than 10 words/],
    [Array.from({ length: 51 }, (_, n) => `t${n}`).join(), /line 1 has more than 50 terms/],
    ['a, b\n'.repeat(2001), /at most 2000 rules/],
    ['x'.repeat(100_001), /at most 100000 characters/],
  ]
  for (const [rules, why] of refused) {
    const { status, body } = await setRules(rules)
    assert.equal(status, 400, rules.slice(0, 50))
    assert.match(body.message, why)
    assert.equal(body.parameters.path, 'system/config/languages/database/0/analyzer/synonyms')
  }
  const unfolded = [{ value: 'en-US', analyzer: { icu_folding: false } }]
  const { status, body } = await scene.svc.as('root').post(place, unfolded)
  assert.deepEqual([status, body.code], [400, 'ServerGeneric'])
  assert.match(body.message, /has no effect/)
  assert.deepEqual(await scene.works(text('tiger')), ['tyger'])
})

test('rules stand in a file of a language, too, beside those that are typed', async () => {
  const root = scene.svc.as('root')
  const put = async (content: string | Buffer): Promise<number> => {
    const answer = await upload(scene.svc, 'root', [{ name: 'words.txt', content: Buffer.from(content) }])
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body[0]._id
  }
  const id = await put('\ufeff# cats\r\ntyger, tiger\nfog => dawn\n')
  const rows = (file: number | null, synonyms = '') => [
    { value: 'en-US', analyzer: { synonyms, synonyms_file: file === null ? null : { _id: file } } },
    { value: 'de-DE' },
  ]
  const saved = await root.post(place, rows(id, 'feline => tyger'))
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  assert.deepEqual(saved.body[0].analyzer.synonyms_file, { _id: id })
  assert.deepEqual(await scene.works(text('tiger')), ['tyger'])
  assert.deepEqual(await scene.works(text('feline')), ['tyger'])
  assert.deepEqual(await scene.works(text('fog river')), ['dawn'])
  assert.deepEqual(await scene.works(text('tiger', { languages: ['de-DE'] })), [])
  // An index in memory is one of its process.
  if (!process.env.TEST_SEARCH_INDEX) {
    await using other = await attachService(scene.svc.dsn)
    const elsewhere = await other.as('root').post('/search', { objecttypes: ['work'], search: [text('tiger')] })
    assert.equal(elsewhere.body.count, 1)
  }

  // It is held as long as it is named, so that it does not go with uploads that nobody has.
  const { rows: held } = await scene.svc.db.query('select section from file_holder where file_id = $1', [id])
  assert.deepEqual(held, [{ section: 'languages' }])

  const at = 'system/config/languages/database/0/analyzer/synonyms_file'
  for (const [content, why] of [
    ['a, b\nalone', /line 2 has a single term/],
    [Buffer.from([0x61, 0xff, 0x62]), /UTF-8/],
    ['a, b\0', /UTF-8/],
    ['a, b\n'.repeat(2001), /at most 2000 rules/],
    ['x, y\n'.repeat(100_000), /at most 400000 bytes/],
  ] as const) {
    const { status, body } = await root.post(place, rows(await put(content)))
    assert.deepEqual([status, body.code, body.parameters?.path], [400, 'ServerGeneric', at], JSON.stringify(body))
    assert.match(body.message, why)
  }
  for (const wrong of [999_999, 0, 'x']) {
    const { status, body } = await root.post(place, rows(wrong as number))
    assert.deepEqual([status, String(body.parameters?.path).startsWith(at)], [400, true], JSON.stringify(body))
  }
  assert.deepEqual(await scene.works(text('tiger')), ['tyger'])
  // What fits is taken over, and what does not stays as it is.
  const taken = await root.post(
    '/config',
    { system: { config: { languages: { database: rows(await put('alone')) }, name: { internal_name: 'taken' } } } },
    { save: 'ignore_errors' },
  )
  assert.deepEqual(
    [taken.status, decodeURIComponent(String(taken.headers['x-svc-ignored']))],
    [200, 'system/config/languages'],
  )
  assert.equal(taken.body.system.config.name.internal_name, 'taken')
  assert.deepEqual(await scene.works(text('tiger')), ['tyger'])

  assert.equal((await root.post(place, rows(null))).status, 200)
  assert.deepEqual(await scene.works(text('tiger')), [])
  const { rows: free } = await scene.svc.db.query('select section from file_holder where file_id = $1', [id])
  assert.deepEqual(free, [])
})
