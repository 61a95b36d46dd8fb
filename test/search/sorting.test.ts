import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Json } from '../support/client.ts'
import { link, payload } from '../support/seed/museum.ts'
import { type SearchScene, startScene } from './support.ts'

let scene: SearchScene
const names = new Map<number, string>()
before(async () => {
  scene = await startScene()
  const root = scene.svc.as('root')
  const save = async (objecttype: string, blocks: object[]) => {
    const { status, body } = await root.post(
      `/db/${objecttype}`,
      blocks.map((block) => payload(objecttype, block)),
    )
    assert.equal(status, 200, JSON.stringify(body))
    return body.map((each: Json) => each._system_object_id)
  }
  const texts = ['Box 2, sheet 10', 'Box 10, sheet 1', 'Box 10, sheet 02', 'Box 9', 'Box', 'box 1000']
  for (const [index, id] of (
    await save(
      'loan',
      texts.map((borrower) => ({ borrower })),
    )
  ).entries()) {
    names.set(id, texts[index] as string)
  }
  const due = ['2020-12-31', '2021-01-01', '2021-01-03', '2021-01-04', '2021-02', '-0044-03-15', '1000']
  for (const [index, id] of (
    await save(
      'loan',
      due.map((value) => ({ borrower: `due ${value}`, due: { value } })),
    )
  ).entries()) {
    names.set(id, due[index] as string)
  }
  const { ids } = scene
  await save('place', [
    { name: { 'en-US': 'Englandia' }, code: 'EI', 'lookup:_id_parent': { _system_object_id: ids.europe } },
    { name: { 'en-US': 'Asia' }, code: 'AS' },
  ])
  await save('topic', [{ name: 'zebra', _parents: [link('topic', ids.people as number)] }])
  await scene.svc.drain()
})
after(() => scene[Symbol.asyncDispose]())

async function sorted(request: object): Promise<string[]> {
  const { status, body } = await scene.search(request)
  assert.equal(status, 200, JSON.stringify(body))
  // The pages behind each hit are what the whole order says.
  const { objects } = body
  for (const [index, { _sort: after }] of objects.entries()) {
    const rest = await scene.search({ ...request, search_after: after })
    assert.deepEqual(
      rest.body.objects?.map((each: Json) => each._system_object_id),
      objects.slice(index + 1).map((each: Json) => each._system_object_id),
      JSON.stringify(after),
    )
  }
  return objects.map(
    (object: Json) =>
      names.get(object._system_object_id) ??
      object._standard?.['1']?.text['en-US'] ??
      Object.values(object._standard?.['1']?.text ?? {})[0],
  )
}

const boxes = { objecttypes: ['loan'], search: [{ type: 'text', string: 'box', fields: ['loan.borrower'] }] }
const dues = { objecttypes: ['loan'], search: [{ type: 'text', string: 'due', fields: ['loan.borrower'] }] }

test('SR-009 mode, numeric, number_groups and width each decide about the order', async () => {
  const byText = (more: object = {}) => sorted({ ...boxes, sort: [{ field: 'loan.borrower', ...more }] })
  assert.deepEqual(await byText(), [
    'Box',
    'Box 2, sheet 10',
    'Box 9',
    'Box 10, sheet 1',
    'Box 10, sheet 02',
    'box 1000',
  ])
  assert.deepEqual(await byText({ numeric: true }), await byText())
  assert.deepEqual(await byText({ numeric: false }), [
    'Box',
    'Box 10, sheet 02',
    'Box 10, sheet 1',
    'box 1000',
    'Box 2, sheet 10',
    'Box 9',
  ])
  assert.deepEqual(await byText({ number_groups: [2, 1] }), [
    'Box 10, sheet 1',
    'Box 10, sheet 02',
    'Box 2, sheet 10',
    'Box 9',
    'box 1000',
    'Box',
  ])
  assert.deepEqual(await byText({ number_groups: [2], order: 'desc' }), [
    'Box 2, sheet 10',
    'Box 10, sheet 02',
    'Box 10, sheet 1',
    'box 1000',
    'Box 9',
    'Box',
  ])
  const byDate = (more: object) =>
    sorted({
      ...dues,
      sort: [
        { field: 'loan.due', ...more },
        { field: 'loan.borrower', order: 'desc' },
      ],
    })
  const [caesar, thousand] = ['-0044-03-15', '1000']
  assert.deepEqual(await byDate({}), [
    caesar,
    thousand,
    '2020-12-31',
    '2021-01-01',
    '2021-01-03',
    '2021-01-04',
    '2021-02',
  ])
  assert.deepEqual(await byDate({ width: 'day' }), await byDate({}))
  // The 31st of December 2020 was a Thursday.
  assert.deepEqual(await byDate({ width: 'week' }), [
    caesar,
    thousand,
    '2021-01-03',
    '2021-01-01',
    '2020-12-31',
    '2021-01-04',
    '2021-02',
  ])
  assert.deepEqual(await byDate({ width: 'month' }), [
    caesar,
    thousand,
    '2020-12-31',
    '2021-01-04',
    '2021-01-03',
    '2021-01-01',
    '2021-02',
  ])
  assert.deepEqual(await byDate({ width: 'year' }), [
    caesar,
    thousand,
    '2020-12-31',
    '2021-02',
    '2021-01-04',
    '2021-01-03',
    '2021-01-01',
  ])
  assert.deepEqual((await byDate({ width: 'year', order: 'desc' })).slice(-1), [caesar])
  const byPeriod = (mode: string) =>
    scene.found({
      objecttypes: ['work'],
      search: [{ type: 'in', fields: ['work.period'], in: [null], bool: 'must_not' }],
      sort: [{ field: 'work.period', mode }],
    })
  assert.deepEqual(await byPeriod('from'), ['dawn', 'bridge'])
  assert.deepEqual(await byPeriod('to'), ['bridge', 'dawn'])
  assert.deepEqual((await byDate({ mode: 'to', width: 'month' })).slice(-4), [
    '2021-01-04',
    '2021-01-03',
    '2021-01-01',
    '2021-02',
  ])
})

test('SR-008 with_path sorts by the titles from the top down, and language and order count', async () => {
  const places = { objecttypes: ['place'] }
  const english = { language: 'en-US' }
  assert.deepEqual(await sorted({ ...places, sort: [{ field: '_standard', ...english }] }), [
    'Asia',
    'England',
    'Englandia',
    'Europe',
    'London',
  ])
  const path = ['Asia', 'Europe', 'England', 'London', 'Englandia']
  assert.deepEqual(await sorted({ ...places, sort: [{ field: '_standard', with_path: true, ...english }] }), path)
  assert.deepEqual(
    await sorted({ ...places, sort: [{ field: '_standard', with_path: true, order: 'desc', ...english }] }),
    path.toReversed(),
  )
  assert.deepEqual(await sorted({ ...places, sort: [{ field: '_standard', with_path: false, ...english }] }), [
    'Asia',
    'England',
    'Englandia',
    'Europe',
    'London',
  ])
  const works = { objecttypes: ['work'], search: [{ type: 'in', fields: ['work.inventory'], in: ['N10', 'N2'] }] }
  const byPlace = (more: object) => sorted({ ...works, sort: [{ field: 'work.place', ...english, ...more }] })
  assert.deepEqual(await byPlace({}), ['Dawn over the river', 'Westminster Bridge'])
  assert.deepEqual(await byPlace({ with_path: true, order: 'asc' }), ['Dawn over the river', 'Westminster Bridge'])
  assert.deepEqual(await byPlace({ with_path: true, order: 'desc' }), ['Westminster Bridge', 'Dawn over the river'])
  const byTitle = async (language: string) => {
    const sort = [{ field: 'work.title', language }]
    return scene.found({ objecttypes: ['work'], sort })
  }
  assert.deepEqual(await byTitle('en-US'), ['dawn', 'beast', 'tyger', 'bridge', 'blank'])
  assert.deepEqual(await byTitle('de-DE'), ['beast', 'dawn', 'bridge', 'tyger', 'blank'])
})

test('_standard_parent and _standard_parents sort by what stands above', async () => {
  const places = { objecttypes: ['place'], sort: [{ field: '_standard_parent' }, { field: '_standard' }] }
  assert.deepEqual(await sorted(places), ['London', 'England', 'Englandia', 'Asia', 'Europe'])
  assert.deepEqual(await sorted({ ...places, sort: [{ field: '_standard_parents' }, { field: '_standard' }] }), [
    'England',
    'Englandia',
    'London',
    'Asia',
    'Europe',
  ])
})

test('what makes no sense for a field is refused', async () => {
  for (const [key, name] of [
    [{ field: 'loan.due', with_path: true }, 'with_path'],
    [{ field: 'loan.borrower', width: 'year' }, 'width'],
    [{ field: 'loan.due', width: 'century' }, 'width'],
    [{ field: 'loan.due', numeric: false }, 'numeric'],
    [{ field: 'loan.due', number_groups: [1] }, 'number_groups'],
    [{ field: 'loan.borrower', number_groups: [0] }, 'number_groups[0]'],
    [{ field: 'loan.borrower', number_groups: [11] }, 'number_groups[0]'],
    [{ field: '_standard_parent', mode: 'to' }, 'mode'],
  ] as const) {
    const { status, body } = await scene.search({ sort: [key] })
    assert.deepEqual([status, body.parameters.name], [400, `sort[0].${name}`], JSON.stringify(key))
  }
})
