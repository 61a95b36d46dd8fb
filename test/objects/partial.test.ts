import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Json } from '../support/client.ts'
import { inPool, link, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { statementsOf } from '../support/statements.ts'

suite('changing some fields only', () => {
  let museum: Museum
  let person: number
  before(async () => {
    museum = await startMuseum()
    const [saved] = await save('person', [payload('person', { name: 'Ada', reference: 'ada' })])
    person = saved._system_object_id
  })
  after(() => museum[Symbol.asyncDispose]())

  const root = () => museum.svc.as('root')

  async function save(objecttype: string, objects: object[]): Promise<Json[]> {
    const answer = await root().post(`/db/${objecttype}`, objects)
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body
  }
  const patch = (objecttype: string, body: unknown, query = {}) => root().patch(`/db/${objecttype}`, body, query)
  const latest = async (id: number, objecttype = 'work'): Promise<Json> =>
    (await root().get(`/db/${objecttype}/_all_fields/${id}`)).body[0]
  const eventsOf = async (object: Json): Promise<string[]> => {
    const list = await root().get('/event/list', { system_object_id: object._system_object_id, sort: '_id.ASC' })
    return list.body.objects.map((entry: Json) => entry.event.type)
  }

  const work = (rest: object = {}) =>
    payload('work', {
      ...inPool(museum.pool),
      title: { 'en-US': 'Title' },
      note: 'text',
      width: 3,
      creator: link('person', person),
      '_nested:work__material': [{ name: 'oil', amount: 1 }, { name: 'canvas' }],
      '_reverse_nested:loan:work': [payload('loan', { borrower: 'Prado', due: { value: '2020' } })],
      ...rest,
    })

  /** The content without what every save changes. */
  const content = ({ work: { _version, ...block } }: Json): Json => block

  test('what is not sent stays, what is sent changes, null clears', async () => {
    const [created] = await save('work', [work()])
    const before = await latest(created.work._id)
    const answer = await patch('work', [payload('work', { _id: created.work._id, note: 'new', width: null })])
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    assert.equal(answer.headers['x-svc-ignored'], undefined)
    const after = await latest(created.work._id)
    assert.deepEqual(content(after), { ...content(before), note: 'new', width: null })
    assert.equal(after.work._version, 2)
    assert.deepEqual(await eventsOf(created), ['OBJECT_INSERT', 'OBJECT_UPDATE'])
    assert.equal((await latest(before.work['_reverse_nested:loan:work'][0].loan._id, 'loan')).loan._version, 1)
  })

  test('the parameters of a save are those of a change', async () => {
    const [created] = await save('work', [work()])
    const { _id } = created.work
    const change = async (block: object, query: object, status = 200): Promise<void> => {
      const answer = await patch('work', [payload('work', { _id, ...block })], query)
      assert.equal(answer.status, status, JSON.stringify(answer.body))
    }
    await change({ note: 'rehearsed' }, { dry_run: 1 })
    assert.equal((await latest(_id)).work.note, 'text')

    await change({ inventory: 'nope' }, {}, 400)
    await change({ inventory: 'nope' }, { skip_constraints: 1 })
    await change({ inventory: null }, {})

    const told = await eventsOf(created)
    await change({ note: 'untold' }, { skip_events: 1 })
    assert.deepEqual(await eventsOf(created), told)
    const clerk = { user: { login: 'clerk' }, _password: 'clerk-Long-1' }
    assert.equal((await root().post('/user', [clerk])).status, 200)
    const denied = await museum.svc
      .as('clerk', 'clerk-Long-1')
      .patch('/db/person', [payload('person', { _id: 1, name: 'x' })], { skip_plugins: 1 })
    assert.deepEqual([denied.body.code, denied.body.parameters.right], ['SystemRightRequired', 'system.root'])

    await museum.svc.drain()
    const found = async (string: string): Promise<number> =>
      (await root().post('/search', { search: [{ type: 'text', fields: ['work.note'], string, mode: 'token' }] })).body
        .count
    await change({ note: 'unindexed' }, { skip_index: 1 })
    assert.equal((await root().post('/db/work', [work({ note: 'unindexed' })], { skip_index: 1 })).status, 200)
    await museum.svc.drain()
    assert.deepEqual([await found('untold'), await found('unindexed')], [1, 0])

    const [a, b] = await save('person', [payload('person', { name: 'A' }), payload('person', { name: 'B' })])
    const row = { person: link('person', b._system_object_id), active: true, note: 'alone' }
    const alone = payload('person', { _id: a.person._id, '_nested:person__influence': [row] })
    const linked = await patch('person', [alone], { skip_bidirectional_update: 1 })
    assert.equal(linked.status, 200, JSON.stringify(linked.body))
    assert.equal((await latest(b.person._id, 'person')).person._version, 1)
  })

  test('what another writer stores while it is waited for stays as well', async () => {
    const [created] = await save('work', [work()])
    const other = await museum.svc.db.connect()
    let answer: ReturnType<typeof patch>
    try {
      // A version as another save writes it, without the note; not committed yet.
      await other.query('begin')
      const { rows } = await other.query<{ key: string }>(
        `update object set version = 2 where system_object_id = $1 returning (select e.key from object_version v, jsonb_each(v.content) e
         where v.system_object_id = $1 and e.value = '"text"') as key`,
        [created._system_object_id],
      )
      await other.query(
        `insert into object_version (system_object_id, version, operation, at, datamodel_version, pool_id, content)
         select system_object_id, 2, 'u', now(), datamodel_version, pool_id, content - $2
         from object_version where system_object_id = $1`,
        [created._system_object_id, rows[0]?.key],
      )
      answer = patch('work', [payload('work', { _id: created.work._id, width: 4 })])
      const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      while ((await museum.svc.db.query(waiting)).rowCount === 0) await new Promise(setImmediate)
      await other.query('commit')
    } finally {
      other.release()
    }
    const { status, body } = await answer
    assert.equal(status, 200, JSON.stringify(body))
    const { _version, width, note } = await latest(created.work._id).then((object) => object.work)
    assert.deepEqual({ _version, width, note }, { _version: 3, width: 4, note: null })
  })

  test('every field alone: the others stay', async () => {
    const [created] = await save('work', [work()])
    const id = created.work._id
    const [other] = await save('person', [payload('person', { name: 'Bob' })])
    const changes: Record<string, unknown> = {
      title: { 'de-DE': 'Titel' },
      note: 'another',
      price: 100,
      weight: 1.5,
      signed: true,
      made: { value: '1850' },
      period: { from: '1800', to: '1850' },
      location: { type: 'Point', coordinates: [1, 2] },
      vocabulary: { a: 1 },
      creator: link('person', other._system_object_id),
      '_nested:work__material': [{ name: 'ink' }],
      '_nested:work__topic': [],
      '_reverse_nested:loan:work': [payload('loan', { borrower: 'Louvre' })],
    }
    for (const [name, value] of Object.entries(changes)) {
      const before = content(await latest(id))
      const answer = await patch('work', [payload('work', { _id: id, [name]: value })])
      assert.equal(answer.status, 200, `${name}: ${JSON.stringify(answer.body)}`)
      const after = content(await latest(id))
      assert.deepEqual({ ...after, [name]: null }, { ...before, [name]: null }, name)
    }
    const end = content(await latest(id))
    assert.deepEqual(end.title, { 'de-DE': 'Titel' })
    assert.equal(end.creator._system_object_id, other._system_object_id)
    assert.deepEqual(
      end['_nested:work__material'].map((row: Json) => [row.name, row.amount]),
      [['ink', null]],
    )
    assert.deepEqual(
      end['_reverse_nested:loan:work'].map((row: Json) => row.loan.borrower),
      ['Louvre'],
    )
    for (const name of ['_nested:work__material', '_reverse_nested:loan:work', 'creator']) {
      assert.equal((await patch('work', [payload('work', { _id: id, [name]: null })])).status, 200)
    }
    const cleared = content(await latest(id))
    assert.deepEqual(
      [cleared['_nested:work__material'], cleared['_reverse_nested:loan:work'], cleared.creator],
      [[], [], null],
    )
  })

  test('the version is checked when it is sent, and nothing is ever created', async () => {
    const [created] = await save('work', [work()])
    const id = created.work._id
    const stale = await patch('work', [payload('work', { _id: id, _version: 2, note: 'x' })])
    assert.deepEqual([stale.status, stale.body.code, stale.body.parameters.expected], [400, 'VersionMismatch', 1])
    assert.equal((await patch('work', [payload('work', { _id: id, _version: 1, note: 'x' })])).status, 200)
    for (const block of [{ note: 'x' }, { _id: 999_999, note: 'x' }, { _id: 999_999, _version: 1 }]) {
      const answer = await patch('work', [payload('work', block)])
      assert.deepEqual([answer.status, answer.body.code], [404, 'ObjectNotFound'], JSON.stringify(block))
    }
    const unknown = await patch('person', [payload('person', { 'lookup:_id': { reference: 'nobody' }, name: 'x' })])
    assert.deepEqual([unknown.status, unknown.body.code], [400, 'LookupNotFound'])
    const byLookup = await patch('person', [payload('person', { 'lookup:_id': { reference: 'ada' }, name: 'Ada L.' })])
    assert.deepEqual([byLookup.status, byLookup.body[0].person.reference], [200, 'ada'])
  })

  test('rules of a save hold: constraints, unknown fields, masks, dry runs', async () => {
    const [created] = await save('work', [work()])
    const id = created.work._id
    const wrong = await patch('work', [payload('work', { _id: id, inventory: 'nope' })])
    assert.deepEqual([wrong.status, wrong.body.code], [400, 'ConstraintViolation'])
    const masked = await patch('work', [payload('work', { _id: id, note: 'x' }, { _mask: 'work__title_only' })])
    assert.deepEqual([masked.status, masked.headers['x-svc-ignored']], [200, '0.work.note'])
    const strict = await patch('work', [payload('work', { _id: id, notes: 'x' })], { strict: 1 })
    assert.deepEqual([strict.status, strict.body.parameters.nearest], [400, 'note'])
    const before = await latest(id)
    assert.equal((await patch('work', [payload('work', { _id: id, note: 'dry' })], { dry_run: 1 })).status, 200)
    assert.deepEqual(await latest(id), before)
  })

  for (const method of ['POST', 'PATCH'] as const) {
    test(`${method} with a list in _id changes the sent fields of all these objects`, async () => {
      const created = await save('work', [work({ note: 'a' }), work({ note: 'b' }), work({ note: 'c' })])
      const ids = created.map((object) => object.work._id)
      const sent = [payload('work', { _id: ids, width: 7, '_nested:work__topic': [] }, { _comment: 'together' })]
      const answer = method === 'POST' ? await root().post('/db/work', sent) : await patch('work', sent)
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
      assert.deepEqual(
        answer.body.map((object: Json) => [object.work._id, object.work._version, object.work.width]),
        ids.map((id) => [id, 2, 7]),
      )
      for (const [index, id] of ids.entries()) {
        const after = await latest(id)
        assert.deepEqual(
          [after.work.note, after.work.title, after._comment],
          ['abc'[index], { 'en-US': 'Title' }, 'together'],
        )
        assert.equal(after.work['_reverse_nested:loan:work'].length, 1)
        assert.deepEqual(await eventsOf(after), ['OBJECT_INSERT', 'OBJECT_UPDATE'])
      }
    })
  }

  test('a group is changed as a whole or not at all', async () => {
    const created = await save('work', [work({ note: 'a' }), work({ note: 'b' })])
    const ids = created.map((object) => object.work._id)
    const group = (block: object, rest = {}) =>
      root().post('/db/work', [payload('work', { note: 'x', ...block }, rest)])
    for (const [block, rest, code] of [
      [{ _id: [...ids, 999_999] }, {}, 'ObjectNotFound'],
      [{ _id: [ids[0], ids[0]] }, {}, 'InvalidValue'],
      [{ _id: ids, _version: [1, 5] }, {}, 'VersionMismatch'],
      [{ _id: ids, _version: [1] }, {}, 'InvalidValue'],
      [{ _id: ids, _version: 1 }, {}, 'InvalidValue'],
      [{ _id: [] }, {}, 'InvalidValue'],
      [{ _id: [null] }, {}, 'InvalidValue'],
      [{ _id: ['1'] }, {}, 'InvalidValue'],
      [{ _id: Array.from({ length: 10_001 }, (_, index) => index + 1) }, {}, 'InvalidValue'],
      [{ _id: ids }, { _uuid: 'u' }, 'InvalidValue'],
      [{ _id: ids, inventory: 'nope' }, {}, 'ConstraintViolation'],
      [{ _id: ids, inventory: 'A1' }, {}, 'DatabaseUniqueKeyViolation'],
    ] as const) {
      const answer = await group(block, rest)
      const status = code === 'ObjectNotFound' ? 404 : 400
      assert.deepEqual([answer.status, answer.body.code], [status, code], JSON.stringify(answer.body))
    }
    for (const [index, id] of ids.entries()) {
      assert.deepEqual([(await latest(id)).work.note, (await latest(id)).work._version], ['ab'[index], 1])
    }
    const right = await group({ _id: ids, _version: [1, 1] })
    assert.equal(right.status, 200)
    const reported = await group({ _id: ids, nonsense: 1 })
    assert.equal(reported.headers['x-svc-ignored'], '0.work.nonsense')
  })

  test('a group takes as many statements as one object', async () => {
    const created = await save(
      'work',
      Array.from({ length: 30 }, () => work()),
    )
    const ids = created.map((object) => object.work._id)
    const edit = (list: number[]) => async () => {
      assert.equal(
        (await root().post('/db/work', [payload('work', { _id: list, note: 'y' })], { skip_index: 1 })).status,
        200,
      )
    }
    await edit(ids.slice(0, 2))()
    const few = await statementsOf(museum.svc, () => edit(ids.slice(2, 4))())
    const many = await statementsOf(museum.svc, () => edit(ids.slice(4))())
    assert.equal(many, few)
  })
})
