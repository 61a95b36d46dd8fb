import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Json } from '../support/client.ts'
import { commitModel, defineModel } from '../support/seed/model.ts'
import { link, payload } from '../support/seed/museum.ts'
import { startService, type TestService } from '../support/service.ts'

let svc: TestService

/** No mask prepares a column for facets, so all of them are counted from stored values. */
before(async () => {
  svc = await startService()
  const model = defineModel({
    maker: { columns: { name: 'text_oneline', trade: 'text_l10n_oneline', works_alone: 'boolean' } },
    thing: {
      columns: {
        name: 'text_oneline',
        title: 'text_l10n_oneline',
        made: 'date',
        width: 'number',
        sold: 'boolean',
        maker: 'link:maker',
      },
      nested: { part: { columns: { label: 'text_l10n_oneline' } } },
    },
  })
  await commitModel(svc, JSON.parse(JSON.stringify(model).replaceAll('"facet":true', '"facet":false')))
  const root = svc.as('root')
  const save = async (type: string, blocks: object[]): Promise<number[]> => {
    const { status, body } = await root.post(
      `/db/${type}`,
      blocks.map((block) => payload(type, block)),
    )
    assert.equal(status, 200, JSON.stringify(body))
    return body.map((one: Json) => one._system_object_id)
  }
  const [smith, miller] = await save('maker', [
    { name: 'Smith', trade: { 'en-US': 'smith', 'de-DE': 'Schmied' }, works_alone: true },
    { name: 'Miller', trade: { 'en-US': 'miller' } },
  ])
  const label = (en: string | null, de: string | null) => ({
    label: { ...(en && { 'en-US': en }), ...(de && { 'de-DE': de }) },
  })
  await save('thing', [
    {
      name: 'a',
      title: { 'en-US': 'Bridge', 'de-DE': 'Brücke' },
      made: { value: '1803' },
      width: 5,
      sold: true,
      maker: link('maker', smith as number),
      '_nested:thing__part': [label('arch', 'Bogen'), label('pier', null)],
    },
    {
      name: 'b',
      title: { 'de-DE': 'Brücke' },
      made: { value: '1803' },
      width: 5,
      maker: link('maker', miller as number),
      '_nested:thing__part': [label('arch', 'Bogen'), label('arch', 'Gewölbe')],
    },
    { name: 'c', title: { 'fr-FR': 'Pont' }, maker: link('maker', smith as number) },
    { name: 'd' },
  ])
  await svc.drain()
})
after(() => svc[Symbol.asyncDispose]())

async function counted(field: string, more: object = {}): Promise<unknown[]> {
  const it = { type: 'term', field, sort: 'term', ...more }
  const { status, body } = await svc.as('root').post('/search', { objecttypes: ['thing'], aggregations: { it } })
  assert.equal(status, 200, JSON.stringify(body))
  return body.aggregations.it.terms.map(({ term, count }: Json) => [term, count])
}

test('a localized text counts once, in the first database language that it has', async () => {
  assert.deepEqual(await counted('thing.title'), [
    ['Bridge', 1],
    ['Brücke', 1],
    ['Pont', 1],
  ])
  assert.deepEqual(await counted('thing.title', { language: 'de-DE' }), [
    ['Brücke', 2],
    ['Pont', 1],
  ])
  assert.deepEqual(await counted('thing.title.fr-FR'), [['Pont', 1]])
  assert.deepEqual(await counted('thing._nested:thing__part.label'), [
    ['arch', 2],
    ['pier', 1],
  ])
  assert.deepEqual(await counted('thing._nested:thing__part.label', { language: 'de-DE' }), [
    ['Bogen', 2],
    ['Gewölbe', 1],
    ['pier', 1],
  ])
})

test('texts of linked objects count in the same way', async () => {
  assert.deepEqual(await counted('thing.maker.maker.trade'), [
    ['miller', 1],
    ['smith', 2],
  ])
  assert.deepEqual(await counted('thing.maker.maker.trade', { language: 'de-DE' }), [
    ['miller', 1],
    ['Schmied', 2],
  ])
  assert.deepEqual(await counted('thing.maker.maker.trade.de-DE'), [['Schmied', 2]])
  assert.deepEqual(await counted('thing.maker.maker.works_alone'), [
    ['false', 1],
    ['true', 2],
  ])
})

test('other columns count by their values', async () => {
  assert.deepEqual(await counted('thing.made'), [['1803', 2]])
  assert.deepEqual(await counted('thing.width'), [['5', 2]])
  assert.deepEqual(await counted('thing.sold'), [
    ['false', 3],
    ['true', 1],
  ])
})
