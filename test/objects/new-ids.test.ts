import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { createUsers } from '../signin/support.ts'
import type { Answer, Json } from '../support/client.ts'
import { type Museum, startMuseum } from '../support/seed/museum.ts'

/** Refused saves and dry runs take no ids; what new objects of one request say of each other holds. */
suite('ids of new objects', () => {
  let museum: Museum
  before(async () => {
    museum = await startMuseum()
  })
  after(() => museum[Symbol.asyncDispose]())

  const root = () => museum.svc.as('root')
  const of = (type: string, block: object, rest: object = {}) => ({
    _objecttype: type,
    _mask: '_all_fields',
    [type]: block,
    ...rest,
  })
  const link = (type: string, _uuid: string) => ({ _objecttype: type, _mask: '_all_fields', _uuid })
  const counters = async () =>
    (
      await museum.svc.db.query(`select sequencename, last_value from pg_sequences
       where sequencename = 'system_object_id_seq' or sequencename like 'object_id_%' order by 1`)
    ).rows
  const takesNone = async (what: string, status: number, work: () => Promise<Answer>): Promise<Json> => {
    const before = await counters()
    const answer = await work()
    assert.equal(answer.status, status, `${what}: ${JSON.stringify(answer.body)}`)
    assert.deepEqual(await counters(), before, what)
    return answer.body
  }

  test('a save that is refused takes none, whatever refuses it', async () => {
    const stored = await root().post('/db/person', [of('person', { name: 'Stored', reference: 'taken' })])
    assert.equal(stored.status, 200, JSON.stringify(stored.body))
    const post = (type: string, ...objects: object[]) => root().post(`/db/${type}`, objects)
    const good = of('person', { name: 'Good' })
    await takesNone('a unique value that is taken', 400, () =>
      post('person', good, of('person', { name: 'x', reference: 'taken' })),
    )
    await takesNone('a constraint', 400, () => post('person', good, of('person', {})))
    await takesNone('a link to nothing', 400, () => post('work', of('work', { creator: link('person', 'no') })))
    await takesNone('no pool', 400, () => post('work', of('work', {})))
    const loop = [
      of('place', { code: 'a', 'lookup:_id_parent': { code: 'b' } }),
      of('place', { code: 'b', 'lookup:_id_parent': { code: 'a' } }),
    ]
    await takesNone('a circle', 400, () => post('place', ...loop))
    await createUsers(museum.svc, { user: { login: 'editor' } })
    await takesNone('a user without rights', 403, () =>
      museum.svc.as('editor').post('/db/person', [of('person', { name: 'x' })]),
    )
    const owner = { user: { 'lookup:_id': { reference: 'nobody' } } }
    await takesNone('an owner that there is not', 400, () =>
      museum.svc.as('editor').post('/db/person', [of('person', { name: 'x' }, { _owner: owner })]),
    )
  })

  test('a value that goes from one object to a new one in one request is free for it', async () => {
    const [first] = (await root().post('/db/person', [of('person', { name: 'First', reference: 'moves' })])).body
    const given = of('person', { _id: first.person._id, _version: 1, name: 'First', reference: 'other' })
    const saved = await root().post('/db/person', [of('person', { name: 'Second', reference: 'moves' }), given])
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
  })

  test('a dry run takes none, tells none, and dry runs do not wait for each other', async () => {
    const person = crypto.randomUUID()
    const parent = crypto.randomUUID()
    const requests: [type: string, objects: object[]][] = [
      [
        'person',
        [
          of('person', { name: 'A' }, { _uuid: person }),
          of('person', { name: 'B', '_nested:person__influence': [{ person: link('person', person) }] }),
        ],
      ],
      ['place', [of('place', { code: parent }), of('place', { 'lookup:_id_parent': { code: parent } })]],
    ]
    for (const format of ['short', 'standard', 'long', 'full', 'standard_extended', 'full_inheritance']) {
      for (const [type, objects] of requests) {
        const body = await takesNone(`${type}, ${format}`, 200, async () => {
          const query = { dry_run: 1, format }
          const [one, other] = await Promise.all([1, 2].map(() => root().post(`/db/${type}`, objects, query)))
          assert.equal(other?.status, 200)
          return one as Answer
        })
        assert.equal(body.length, 2)
        assert.doesNotMatch(JSON.stringify(body), /[:[,#]"?-\d/, 'a number below zero')
      }
    }
  })

  test('new objects of one request link to each other, are parents of each other, and hold keys below each other', async () => {
    const [a, b] = [crypto.randomUUID(), crypto.randomUUID()]
    const influence = (uuid: string) => ({ '_nested:person__influence': [{ person: link('person', uuid) }] })
    const people = await root().post(
      '/db/person',
      [of('person', { name: 'A', ...influence(b) }, { _uuid: a }), of('person', { name: 'B' }, { _uuid: b })],
      { format: 'full' },
    )
    assert.equal(people.status, 200, JSON.stringify(people.body))
    const linked = people.body.map(({ person }: Json) => person['_nested:person__influence'][0].person)
    assert.deepEqual(
      linked.map(({ _system_object_id }: Json) => _system_object_id),
      people.body.map(({ _system_object_id }: Json) => _system_object_id).toReversed(),
    )
    const { rows } = await museum.svc.db.query('select from object_link where to_id < 0 or from_id < 0')
    assert.equal(rows.length, 0)
    const places = await root().post('/db/place', [
      of('place', { code: 'above' }),
      of('place', { code: 'below', 'lookup:_id_parent': { code: 'above' } }),
    ])
    assert.equal(places.status, 200, JSON.stringify(places.body))
    assert.equal(places.body[1].place._id_parent, places.body[0].place._id)
    const chosen = places.body[1].place._id + 50
    const both = await root().post('/db/place', [
      of('place', { code: 'drawn' }),
      of('place', { _id: chosen, code: 'c' }),
    ])
    assert.equal(both.status, 200, JSON.stringify(both.body))
    assert.equal(both.body[1].place._id, chosen)
    assert.ok(both.body[0].place._id > 0 && both.body[0].place._id !== chosen)
  })
})
