import assert from 'node:assert/strict'
import { test } from 'node:test'
import sharp from 'sharp'
import { graphDot } from '../../src/datamodel/graph/dot.ts'
import { startService } from '../support/service.ts'
import { commitModel, everyType, modelOf } from './support.ts'

const sixty = Array.from({ length: 60 }, (_, index) => ({
  name: `type_${index}`,
  columns: [
    ...Array.from({ length: 8 }, (_unused, at) => ({ name: `field_${at}`, type: 'text' })),
    { name: 'next', type: 'link', other_table_name_hint: `type_${(index * 7 + 1) % 60}` },
  ],
}))

test('SCHEMA-002 the graph comes as SVG and as PNG, inline and with a file name', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  await commitModel(root, everyType)
  const get = async (version: string, format: string) =>
    svc.inject({
      method: 'GET',
      url: `/api/v1/schema/user/${version}?format=${format}`,
      headers: { authorization: `Bearer ${await root.token()}` },
    })
  const svg = await get('CURRENT', 'svg')
  assert.equal(svg.statusCode, 200)
  assert.match(String(svg.headers['content-type']), /^image\/svg\+xml/)
  assert.equal(svg.headers['content-disposition'], 'inline; filename="datamodel-v1.svg"')
  for (const name of ['thing', 'thing__part', 'place', 'where_it_is'])
    assert.ok(svg.body.includes(`>${name}</text>`), name)
  const png = await get('HEAD', 'png')
  assert.equal(png.statusCode, 200)
  assert.equal(png.headers['content-type'], 'image/png')
  assert.equal(png.headers['content-disposition'], 'inline; filename="datamodel-head.png"')
  const { format, width, height } = await sharp(png.rawPayload).metadata()
  assert.equal(format, 'png')
  assert.ok((width ?? 0) > 300 && (height ?? 0) > 300)
  assert.equal((await get('9', 'svg')).json().code, 'DatamodelVersionNotFound')
})

test('a large graph is drawn in seconds, every box with its links only', async () => {
  await using svc = await startService()
  const root = svc.as('root')
  await root.post('/schema/user/HEAD', { version: 1, tables: sixty })
  const start = performance.now()
  const answer = await root.get('/schema/user/HEAD', { format: 'svg' })
  assert.equal(answer.status, 200)
  assert.ok(performance.now() - start < 20_000)
  assert.equal([...String(answer.body).matchAll(/>8 more fields</g)].length, 60)
})

test('an empty datamodel has a graph too', async () => {
  await using svc = await startService()
  const answer = await svc.as('root').get('/schema/user/CURRENT', { format: 'svg' })
  assert.match(String(answer.body), /There are no object types/)
})

test('arrows start at their column; links that own are bold', () => {
  const model = modelOf(everyType)
  const dot = graphDot(model)
  const thing = model.objecttypes.get('thing')!
  const loan = model.objecttypes.get('loan')!
  const place = model.objecttypes.get('place')!
  const id = (name: string) => thing.columnByName.get(name)?.id
  assert.ok(dot.includes(`t${thing.id}:c${id('where_it_is')} -> t${place.id}:head\n`))
  assert.ok(dot.includes(`t${loan.id}:c${loan.columns[1]?.id} -> t${thing.id}:head [penwidth=2`))
  assert.match(dot, /<b>a_string<\/b>/)
})
