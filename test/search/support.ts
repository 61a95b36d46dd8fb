import assert from 'node:assert/strict'
import type { Db } from '../../src/platform/postgres/db.ts'
import type { Answer, Json } from '../support/client.ts'
import { inPool, link, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import type { TestServiceOptions } from '../support/service.ts'

/** A museum with objects to look for, all of them indexed. */
export interface SearchScene extends Museum {
  /** System object ids by a name of the test's own. */
  readonly ids: Readonly<Record<string, number>>
  search(request: object): Promise<Answer>
  /** Names of the hits in order. */
  found(request: object): Promise<string[]>
  /** Names of the works that these elements find, sorted. */
  works(...elements: object[]): Promise<string[]>
}

const en = (text: string) => ({ 'en-US': text })

export async function startScene(options: TestServiceOptions = {}): Promise<SearchScene> {
  const museum = await startMuseum(options)
  const { svc, pool } = museum
  const root = svc.as('root')
  const ids: Record<string, number> = {}
  const names = new Map<number, string>()

  async function save(objecttype: string, blocks: Record<string, { block: object; rest?: object }>): Promise<void> {
    const body = Object.values(blocks).map(({ block, rest }) => payload(objecttype, block, rest))
    const answer = await root.post(`/db/${objecttype}`, body)
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    for (const [index, name] of Object.keys(blocks).entries()) {
      ids[name] = answer.body[index]._system_object_id
      names.set(ids[name] as number, name)
    }
  }
  const id = (name: string): number => ids[name] as number

  await save('person', {
    blake: { block: { name: 'Blake, William', reference: 'blake-1', born: { value: '1757' } } },
    turner: { block: { name: 'Turner, Joseph Mallord William', reference: 'turner-1', born: { value: '1775-04-23' } } },
    baer: { block: { name: 'Bär, Ägidius', reference: 'A$5667', born: { value: '1900-05' } } },
  })
  await save('place', { europe: { block: { name: { 'en-US': 'Europe', 'de-DE': 'Europa' }, code: 'EU' } } })
  await save('place', {
    england: { block: { name: en('England'), code: 'GB', 'lookup:_id_parent': { _system_object_id: id('europe') } } },
  })
  await save('place', {
    london: { block: { name: en('London'), code: 'LON', 'lookup:_id_parent': { _system_object_id: id('england') } } },
  })
  await save('topic', { people: { block: { name: 'people' } }, nature: { block: { name: 'nature' } } })
  await save('topic', {
    swimmer: { block: { name: 'swimmer', _parents: [link('topic', id('people')), link('topic', id('nature'))] } },
  })
  const work = (block: object, rest?: object) => ({ block: { ...inPool(pool), ...block }, ...(rest ? { rest } : {}) })
  await save('work', {
    bridge: work({
      title: { 'en-US': 'Westminster Bridge', 'de-DE': 'Die Brücke von Westminster' },
      inventory: 'N10',
      note: 'Oil paint on canvas, shows the bridge at dawn',
      width: 100,
      price: 1250,
      weight: 0.5,
      signed: true,
      made: { value: '1803' },
      seen: { value: '2020-03-01T10:00:00+01:00' },
      period: { from: '1803', to: '1805' },
      creator: link('person', id('turner')),
      place: link('place', id('london')),
      '_nested:work__material': [
        { name: 'oil', amount: 3, origin: link('place', id('england')) },
        { name: 'canvas', amount: 1, origin: link('place', id('europe')) },
      ],
      '_nested:work__topic': [{ topic: link('topic', id('swimmer')) }],
      location: { type: 'Point', coordinates: [-0.12, 51.5] },
    }),
    dawn: work({
      title: en('Dawn over the river'),
      inventory: 'N2',
      note: 'Watercolour on paper',
      width: 20,
      weight: -2.25,
      made: { value: '1801-05' },
      period: { from: '1790' },
      creator: link('person', id('turner')),
      place: link('place', id('england')),
      '_nested:work__material': [
        { name: 'watercolour', amount: 1, origin: link('place', id('europe')) },
        { name: 'paper', amount: 3, origin: link('place', id('england')) },
      ],
      '_nested:work__topic': [{ topic: link('topic', id('nature')) }, { topic: link('topic', id('people')) }],
    }),
    tyger: work({
      title: en('The Tyger'),
      inventory: 'N100',
      note: 'Relief etching, hand coloured; burning bright',
      width: 7,
      signed: true,
      made: { value: '1794' },
      creator: link('person', id('blake')),
      '_nested:work__material': [{ name: 'paper', amount: 1 }],
    }),
    beast: work({
      title: { 'de-DE': 'Das Tier & der Bär', 'en-US': 'The beast and the bear' },
      inventory: 'N9',
      note: '100% wool, §5, "Car 11"',
      made: { value: '1900-12-31' },
      seen: { value: '2020-03-01T10:30' },
      creator: link('person', id('baer')),
    }),
    blank: work({ inventory: 'X1' }),
  })
  const found = async (request: object): Promise<string[]> => {
    const answer = await root.post('/search', request)
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body.objects.map(
      (object: Json) => names.get(object._system_object_id) ?? `${object._system_object_id}`,
    )
  }
  await svc.drain()
  return {
    ...museum,
    ids,
    search: (request) => root.post('/search', request),
    found,
    works: async (...search) => (await found({ objecttypes: ['work'], search })).sort(),
  }
}

/** A text element with what it is about. */
export function text(string: string, more: object = {}): object {
  return { type: 'text', string, ...more }
}

/** Another indexer that does not get on: nobody indexes until `release`, or the block's end. */
export async function holdIndexer(db: Db) {
  return hold(db, 'select pg_advisory_lock(7310041)')
}

/** Locks something until `release`, or the block's end. */
export async function hold(db: Db, statement: string) {
  const client = await db.connect()
  await client.query('begin')
  await client.query(statement)
  let held = true
  const release = (): void => {
    // Closing the connection ends its transaction and gives its locks back.
    if (held) client.release(true)
    held = false
  }
  return { release, [Symbol.dispose]: release }
}
