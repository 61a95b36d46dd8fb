import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Json } from '../support/client.ts'
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
  const request = { objecttypes: ['work'], search: [text('tiger')], highlight: true }
  const first = await scene.search(request)
  assert.equal(first.body.count, 1)
  assert.deepEqual(first.body.objects[0]._highlight, { 'work.title': ['The <em>Tyger</em>'] })
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
  for (const analyzer of [{ icu_folding: false }, { synonyms_file: { _id: 1 } }]) {
    const { status, body } = await scene.svc.as('root').post(place, [{ value: 'en-US', analyzer }])
    assert.deepEqual([status, body.code], [400, 'ServerGeneric'])
    assert.match(body.message, /has no effect/)
  }
  assert.deepEqual(await scene.works(text('tiger')), ['tyger'])
})
