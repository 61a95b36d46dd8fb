import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { words } from '../../src/search/document/analyze.ts'
import { foldedText, marked, spanOf, wordsIn } from '../../src/search/document/marks.ts'
import type { Json } from '../support/client.ts'
import { payload } from '../support/seed/museum.ts'
import { type SearchScene, startScene, text } from './support.ts'

let scene: SearchScene
before(async () => {
  scene = await startScene()
})
after(() => scene[Symbol.asyncDispose]())

async function highlighted(search: object[], more: object = {}): Promise<Json[]> {
  const { status, body } = await scene.search({
    objecttypes: ['work'],
    search,
    highlight: true,
    sort: [{ field: '_system_object_id' }],
    ...more,
  })
  assert.equal(status, 200, JSON.stringify(body))
  return body.objects.map((hit: Json) => hit._highlight)
}

test('hits show the texts in which words were found, marked and escaped', async () => {
  assert.deepEqual(await highlighted([text('bear')]), [{ 'work.title': ['The beast and the <em>bear</em>'] }])
  assert.deepEqual(await highlighted([text('BAR')]), [{ 'work.title': ['Das Tier &amp; der <em>Bär</em>'] }])
  assert.deepEqual(await highlighted([text('car 11', { mode: 'token' })]), [
    { 'work.note': ['100% wool, §5, &quot;<em>Car</em> <em>11</em>&quot;'] },
  ])
  assert.deepEqual(await highlighted([text('11 car', { mode: 'fulltext' })]), [
    { 'work.note': ['100% wool, §5, &quot;<em>Car</em> <em>11</em>&quot;'] },
  ])
})

test('patterns mark the words that they stand for, in string columns whole values', async () => {
  assert.deepEqual(await highlighted([text('t?ger', { mode: 'wildcard' })]), [{ 'work.title': ['The <em>Tyger</em>'] }])
  assert.deepEqual(await highlighted([text('N1*', { mode: 'wildcard', fields: ['work.inventory'] })]), [
    { 'work.inventory': ['<em>N10</em>'] },
    { 'work.inventory': ['<em>N100</em>'] },
  ])
})

test('phrases are marked as such, and nothing that must not match or was not looked for', async () => {
  const [title] = await highlighted([text('over the river', { phrase: true }), text('oil', { bool: 'must_not' })])
  assert.deepEqual(title, { 'work.title': ['Dawn <em>over</em> <em>the</em> <em>river</em>'] })
  assert.deepEqual(await highlighted([text('bear', { fields: ['work.note'], bool: 'must_not' }), text('tyger')]), [
    { 'work.title': ['The <em>Tyger</em>'] },
  ])
  assert.deepEqual(await highlighted([text('bear', { languages: ['en-US'] })]), [
    { 'work.title': ['The beast and the <em>bear</em>'] },
  ])
  const [found] = await highlighted([
    { type: 'complex', search: [text('tyger', { bool: 'should' }), text('nothing', { bool: 'should' })] },
  ])
  assert.deepEqual(found, { 'work.title': ['The <em>Tyger</em>'] })
  const [row] = await highlighted([
    {
      type: 'nested',
      path: 'work._nested:work__material',
      search: [text('canvas', { fields: ['work._nested:work__material.name'] })],
    },
  ])
  assert.deepEqual(row, { 'work._nested:work__material.name': ['<em>canvas</em>'] })
})

test('a search without words marks nothing, and one that does not ask answers nothing of it', async () => {
  assert.deepEqual(await highlighted([{ type: 'in', fields: ['work.inventory'], in: ['X1'] }]), [{}])
  const { body } = await scene.search({ search: [text('bear')] })
  assert.ok(!('_highlight' in body.objects[0]))
})

test('of long texts a part is answered, and of a page at most 200 hits are looked at', async () => {
  const root = scene.svc.as('root')
  const note = `${'filler <b> '.repeat(80)}needle ${'more & '.repeat(90)}`
  const saved = await root.post('/db/work', [
    payload('work', { _pool: { pool: { _id: scene.pool } }, inventory: 'L1', note }),
  ])
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  await scene.svc.drain()
  const [found] = await highlighted([text('needle')])
  const [part] = found['work.note']
  assert.match(part, /^….*<em>needle<\/em>.*…$/)
  assert.ok(part.length < 600, part)
  assert.ok(!part.includes('<b>'), part)
  const refused = await scene.search({ highlight: true, limit: 201 })
  assert.deepEqual([refused.status, refused.body.parameters.name], [400, 'limit'])
})

test('what is marked is what was looked for, and the text is as it was', () => {
  const char = fc.oneof(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
    fc.constantFrom('½', 'ﬀ', '㎞', 'é', '&', '<', ' '),
  )
  fc.assert(
    fc.property(fc.array(char, { maxLength: 30 }), (chars) => {
      const original = chars.join('')
      const folded = foldedText(original)
      const found = wordsIn(folded)
      const html = marked(
        original,
        found.map(({ at, word }) => spanOf(folded, at, word.length)),
        'em',
      )
      assert.equal(unescaped(html.replaceAll(/<\/?em>/g, '')), original)
      if (/^[\x00-\x7fäöüßé½]*$/.test(original))
        assert.deepEqual(
          found.map(({ word }) => word),
          words(original),
        )
    }),
  )
})

function unescaped(html: string): string {
  return html
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
}
