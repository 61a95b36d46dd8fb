import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { lockNames } from '../../src/objects/save/promises/store.ts'
import { onConnection } from '../../src/platform/postgres/db.ts'
import { type People, seedPeople, toUser, wireGrant } from '../rights/people.ts'
import type { Answer, Client, Json, Query } from '../support/client.ts'
import { invariants } from '../support/invariants.ts'
import { commitModel, defineModel, standardPool } from '../support/seed/model.ts'
import { inPool, payload } from '../support/seed/museum.ts'
import { attachService, startService, type TestService } from '../support/service.ts'
import { statementsOf } from '../support/statements.ts'

/** Links to objects that come later (decisions.md, 93): cards wait for notes and papers. */
const model = () =>
  defineModel({
    note: {
      columns: { text: 'text_oneline', code: 'string', next: 'link:note' },
      unique: [['code']],
      nested: { friend: { columns: { note: 'link:note' }, bidirectional: ['note'] } },
    },
    topic: { columns: { name: 'text_oneline' }, flags: { is_hierarchical: true } },
    paper: { columns: { text: 'text_oneline' }, flags: { pool_link: true, acl_table: true } },
    card: {
      columns: {
        title: 'text_oneline',
        front: { type: 'link:note', on_delete: 'setnull' },
        sign: 'link:note',
        paper: 'link:paper',
      },
      unique: [['sign']],
      nested: { row: { columns: { left: 'link:note', word: 'text_oneline' } } },
    },
    part: { columns: { name: 'text_oneline', card: { type: 'link:card', reverse_edit: true, on_delete: 'cascade' } } },
  })

let svc: TestService
let people: People
let pool: number
before(async () => {
  svc = await startService()
  await commitModel(svc, model())
  people = await seedPeople(svc)
  pool = await standardPool(svc)
  await grant('card', wireGrant(toUser(people.ids.editor), 'read write create mask'))
})
after(() => svc[Symbol.asyncDispose]())

async function grant(objecttype: string, ...acl: object[]): Promise<void> {
  const types = (await people.root.get('/objecttype')).body
  const { _id, _version } = types.find((entry: Json) => entry.objecttype.name === objecttype).objecttype
  const answer = await people.root.post('/objecttype', [{ objecttype: { _id, _version: _version + 1 }, _acl: acl }])
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
}

const later = (uuid: string, objecttype = 'note', more: object = {}): object => ({
  _objecttype: objecttype,
  _mask: '_all_fields',
  [objecttype]: { 'lookup:_id': { _uuid: uuid, _allow_defer: true, ...more } },
})

async function save(objecttype: string, block: object, rest: object = {}, query: Query = {}): Promise<Answer> {
  return people.root.post(`/db/${objecttype}`, [payload(objecttype, block, rest)], query)
}

async function saved(objecttype: string, block: object, rest: object = {}): Promise<Json> {
  const answer = await save(objecttype, block, rest)
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  return answer.body[0]
}

const card = async (id: number, client: Client = people.root, mask = '_all_fields'): Promise<Json> =>
  (await client.get(`/db/card/${mask}/${id}`)).body[0]?.card

async function promised(): Promise<number> {
  const { rows } = await svc.db.query<{ n: number }>(
    'select count(*)::int as n from object_promise where kept_at is null',
  )
  return rows[0]?.n ?? 0
}

async function assertSound(): Promise<void> {
  for (const [name, statement] of Object.entries(invariants)) {
    assert.deepEqual((await svc.db.query(statement)).rows, [], name)
  }
}

describe('a promise', () => {
  test('is answered as _purged_or_deferred, and is a link once the object is created', async () => {
    const uuid = randomUUID()
    const made = await saved('card', {
      title: 'Waiting',
      front: later(uuid),
      '_nested:card__row': [{ left: later(uuid) }],
    })
    const { front } = made.card
    assert.deepEqual(Object.keys(front).toSorted(), [
      '_global_object_id',
      '_objecttype',
      '_purged_or_deferred',
      '_system_object_id',
    ])
    assert.deepEqual(made.card['_nested:card__row'][0].left, front, 'one name, one promise')
    assert.deepEqual((await card(made.card._id)).front, front)
    await svc.drain()
    const note = await saved('note', { text: 'Here' }, { _uuid: uuid })
    assert.equal(note._system_object_id, front._system_object_id)
    const linked = await card(made.card._id)
    assert.equal(linked._version, 1, 'the linking object is not written again')
    assert.equal(linked.front._uuid, uuid)
    assert.equal(linked['_nested:card__row'][0].left.note._id, note.note._id)
    await svc.drain()
    assert.equal(await promised(), 0)
    const { rows } = await svc.db.query('select from object_promise')
    assert.deepEqual(rows, [], 'nothing is left of it')
    await assertSound()
  })

  test('is found through the object once that is there, and shows its name', async () => {
    const uuid = randomUUID()
    const made = await saved('card', { title: 'Through', front: later(uuid) })
    await svc.drain()
    const find = async (): Promise<number[]> => {
      const answer = await people.root.post('/search', {
        objecttypes: ['card'],
        search: [{ type: 'match', fields: ['card.front.note.text'], string: 'zeppelin', mode: 'token' }],
      })
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
      return answer.body.objects.map((hit: Json) => hit._system_object_id)
    }
    assert.deepEqual(await find(), [])
    await saved('note', { text: 'Zeppelin' }, { _uuid: uuid })
    await svc.drain()
    assert.deepEqual(await find(), [made._system_object_id])
    await saved('note', { text: 'Unrelated' })
    const [again] = (await people.root.get(`/db/card/_all_fields/${made.card._id}`)).body
    assert.match(JSON.stringify(again.card.front._standard), /Zeppelin/)
  })

  test('can be sent back as it is, to the same place and to another', async () => {
    const uuid = randomUUID()
    const made = await saved('card', { title: 'First', front: later(uuid) })
    const { front, _id } = made.card
    const same = await saved('card', { _id, _version: 1, title: 'Second', front })
    assert.deepEqual(same.card.front, front)
    const patched = await people.root.patch('/db/card', [payload('card', { _id, _version: 2, title: 'Third' })])
    assert.equal(patched.status, 200, JSON.stringify(patched.body))
    assert.deepEqual((await card(_id)).front, front)
    const other = await saved('card', { title: 'Copy', front: { ...front, _mask: '_all_fields' } })
    assert.deepEqual(other.card.front, front)
    const old = (await people.root.get(`/db/card/_all_fields/${_id}`, { version: 1 })).body[0]
    assert.deepEqual(old.card.front, front)
    await saved('card', { _id, _version: 3, title: 'Fourth', front: null })
    await saved('note', { text: 'Late' }, { _uuid: uuid })
    assert.equal((await card(_id)).front, null)
    assert.equal((await card(other.card._id)).front._uuid, uuid)
  })

  test('comes true in the same request, for the own type, and for several objects', async () => {
    const [first, second] = [randomUUID(), randomUUID()]
    const answer = await people.root.post('/db/note', [
      payload('note', { text: 'One', next: later(second) }, { _uuid: first }),
      payload('note', { text: 'Two', next: later(first) }, { _uuid: second }),
    ])
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    assert.deepEqual(
      answer.body.map((one: Json) => one.note.next._uuid),
      [second, first],
    )
    assert.equal(await promised(), 0)
    const third = randomUUID()
    const waiting = await saved('note', { text: 'Three', next: later(third) }, { _uuid: randomUUID() })
    const own = await saved('note', { text: 'Four', next: later(third) }, { _uuid: third })
    assert.equal(waiting.note.next._system_object_id, own._system_object_id)
    assert.equal(own.note.next._system_object_id, own._system_object_id)
    await assertSound()
  })

  test('is not stored by a dry run or a refused save', async () => {
    const before = await promised()
    const dry = await save('card', { title: 'Dry', front: later(randomUUID()) }, {}, { dry_run: 1 })
    assert.equal(dry.status, 200, JSON.stringify(dry.body))
    assert.equal(dry.body[0].card.front._purged_or_deferred, true)
    assert.equal(dry.body[0].card.front._system_object_id, undefined)
    assert.equal(dry.body[0].card.front.note['lookup:_id']._allow_defer, true, 'it can be sent as it is')
    const sent = await save('card', { title: 'Dry', front: dry.body[0].card.front })
    assert.equal(sent.status, 200, JSON.stringify(sent.body))
    const refused = await people.root.post('/db/card', [
      payload('card', { title: 'A', front: later(randomUUID()) }),
      payload('card', { title: 'B', front: { _objecttype: 'note', _system_object_id: 987654321 } }),
    ])
    assert.equal(refused.status, 400)
    assert.equal(await promised(), before + 1)
  })

  test('fills a unique key, and ends with the link to it', async () => {
    const uuid = randomUUID()
    const made = await saved('card', { title: 'Only', sign: later(uuid) })
    const second = await save('card', { title: 'Twice', sign: later(uuid) })
    assert.deepEqual([second.status, second.body.code], [400, 'DatabaseUniqueKeyViolation'])
    await saved('note', { text: 'Sign' }, { _uuid: uuid })
    const third = await save('card', { title: 'Thrice', sign: later(uuid) })
    assert.equal(third.body.code, 'DatabaseUniqueKeyViolation')
    assert.equal((await card(made.card._id)).sign._uuid, uuid)
    await assertSound()
  })

  test('stays through the trash, and goes with a target that is deleted', async () => {
    const uuid = randomUUID()
    const made = await saved('card', { title: 'Trash', front: later(uuid) })
    const { _id } = made.card
    assert.equal((await people.root.delete('/db/card', [[_id, 1, null]], { delete_policy: 'remove' })).status, 200)
    const note = await saved('note', { text: 'Meanwhile' }, { _uuid: uuid })
    const back = await people.root.delete('/db/card', [[_id, 2, null]], { delete_policy: 'undelete' })
    assert.equal(back.status, 200, JSON.stringify(back.body))
    assert.equal((await card(_id)).front._uuid, uuid)
    const gone = await people.root.delete('/db/note', [[note.note._id, 1, null]], { delete_policy: 'remove' })
    assert.equal(gone.status, 200, JSON.stringify(gone.body))
    assert.equal((await card(_id)).front, null)
    await assertSound()
  })

  test('is made, looked for and removed by operations on a group', async () => {
    const uuid = randomUUID()
    const ids: number[] = []
    for (const title of ['G1', 'G2']) ids.push((await saved('card', { title })).card._id)
    const group = (operations: object[]) =>
      people.root.post('/db/card', [
        { _objecttype: 'card', _mask: '_all_fields', _operations: operations, card: { _id: ids.map((_id) => _id) } },
      ])
    const added = await group([
      { op: 'append', field: '_nested:card__row', values: [{ left: later(uuid), word: 'x' }] },
    ])
    assert.equal(added.status, 200, JSON.stringify(added.body))
    const [one, two] = await Promise.all(ids.map((id) => card(id)))
    const { left } = one['_nested:card__row'][0]
    assert.equal(left._purged_or_deferred, true)
    assert.deepEqual(two['_nested:card__row'][0].left, left)
    const removed = await group([{ op: 'remove', field: '_nested:card__row', values: [{ left }] }])
    assert.equal(removed.status, 200, JSON.stringify(removed.body))
    assert.deepEqual((await card(ids[0] as number))['_nested:card__row'], [])
  })

  test('costs a save without promises no statement', async () => {
    const plain = () => saved('card', { title: 'Plain' }, { _uuid: randomUUID() })
    const linking = await saved('note', { text: 'Linked' })
    const link = { _objecttype: 'note', _mask: '_all_fields', _uuid: linking._uuid }
    const without = await statementsOf(svc, plain)
    const known = await statementsOf(svc, () => saved('card', { title: 'With', front: link }, { _uuid: randomUUID() }))
    assert.ok(known <= without + 3, `${without} without a link, ${known} with one`)
  })
})

describe('a promise is refused', () => {
  test('where the link could not be whole, with the reason', async () => {
    const uuid = randomUUID()
    const gone = await saved('note', { text: 'Purged' })
    for (const policy of ['remove', 'purge']) {
      const version = policy === 'remove' ? 1 : 2
      const answer = await people.root.delete('/db/note', [[gone.note._id, version, null]], { delete_policy: policy })
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
    }
    const front = (lookup: object) => ({
      front: { _objecttype: 'note', _mask: '_all_fields', note: { 'lookup:_id': { _allow_defer: true, ...lookup } } },
    })
    const cases: [string, string, object][] = [
      ['a value', 'card', front({ code: 'later' })],
      ['a value without unique key', 'card', front({ text: 'later' })],
      ['an _id', 'card', front({ _id: 987654 })],
      ['a system object id', 'card', front({ _system_object_id: 987654321 })],
      ['a global object id', 'card', front({ _global_object_id: '987654321@test' })],
      ['another instance', 'card', front({ _global_object_id: '1@elsewhere' })],
      ['a purged object', 'card', front({ _uuid: gone._uuid })],
      ['a reverse link', 'part', { name: 'P', card: later(uuid, 'card') }],
      ['a link back', 'note', { text: 'N', '_nested:note__friend': [{ note: later(uuid) }] }],
      ['a parent', 'topic', { name: 'T', 'lookup:_id_parent': { _uuid: uuid, _allow_defer: true } }],
    ]
    // Names that are promised already, which change nothing.
    const open = (await saved('card', { front: later(uuid) })).card.front
    const parent = randomUUID()
    const holder = await saved('note', { text: 'H', next: later(parent) })
    cases.push(
      ['a link back to what is promised', 'note', { text: 'N', '_nested:note__friend': [{ note: later(parent) }] }],
      ['the same by its id', 'note', { text: 'N', '_nested:note__friend': [{ note: holder.note.next }] }],
    )
    const asParent = await save('topic', {
      name: 'T',
      'lookup:_id_parent': { _system_object_id: open._system_object_id },
    })
    assert.deepEqual([asParent.status, asParent.body.code], [400, 'LookupNotFound'])
    const before = await promised()
    for (const [what, objecttype, block] of cases) {
      const { status, body } = await save(objecttype, block)
      assert.deepEqual([status, body.code, body.parameters._allow_defer], [400, 'LookupNotFound', true], what)
      assert.match(body.error, /_allow_defer/, what)
    }
    for (const odd of ['yes', 1, {}]) {
      const { status, body } = await save('card', { front: later(uuid, 'note', { _allow_defer: odd }) })
      assert.deepEqual([status, body.parameters.name], [400, '0.card.front.note.lookup:_id._allow_defer'])
    }
    assert.equal((await save('card', { front: { ...later(uuid), _uuid: 7 } })).status, 400)
    assert.equal(await promised(), before)
  })

  test('in numbers without end', async () => {
    const rows = Array.from({ length: 1001 }, () => ({ left: later(randomUUID()) }))
    const many = await save('card', { '_nested:card__row': rows })
    assert.deepEqual([many.status, many.body.code], [400, 'InvalidValue'])
    assert.match(many.body.error, /1000/)
    await using small = await attachService(svc.dsn, { quotaPromises: (await promised()) + 2 })
    const client = small.as('root')
    const two = [later(randomUUID()), later(randomUUID())]
    const fits = await client.post('/db/card', [
      payload('card', { title: 'Two', '_nested:card__row': two.map((left) => ({ left })) }),
    ])
    assert.equal(fits.status, 200, JSON.stringify(fits.body))
    await svc.db.query('delete from object_promise p where not exists (select from object_link where to_id = p.id)')
    await using full = await attachService(svc.dsn, { quotaPromises: await promised() })
    const third = (): Promise<Answer> =>
      full.as('root').post('/db/card', [payload('card', { front: later(randomUUID()) })])
    const refused = await third()
    assert.deepEqual([refused.status, refused.body.code], [429, 'QuotaExceeded'])
    assert.equal(refused.body.parameters.quota, 'svc.quotas.promises')
    const { _id } = fits.body[0].card
    await saved('card', { _id, _version: 1, title: 'None', '_nested:card__row': [] })
    const freed = await third()
    assert.equal(freed.status, 200, 'promises without a link make room')
    await assertSound()
  })

  test('when its id is chosen by someone else', async () => {
    const uuid = randomUUID()
    const { front } = (await saved('card', { front: later(uuid) })).card
    const id = front._system_object_id
    const taken = await save('note', { text: 'Thief' }, { _system_object_id: id })
    assert.deepEqual([taken.status, taken.body.code], [400, 'DatabaseUniqueKeyViolation'])
    const chosen = await save('note', { text: 'Chosen' }, { _uuid: uuid, _system_object_id: id + 100_000 })
    assert.deepEqual([chosen.status, chosen.body.parameters.name], [400, '0._system_object_id'])
    const wrong = await saved('topic', { name: 'Wrong' }, { _uuid: uuid })
    assert.notEqual(wrong._system_object_id, id, 'an object of another type is not the promised one')
    await assertSound()
  })
})

describe('a promise and rights', () => {
  const asEditor = (block: object, uuid?: string): Promise<Answer> =>
    people.editor.post('/db/card', [
      payload('card', block, { _mask: 'card__standard', ...(uuid ? { _uuid: uuid } : {}) }),
    ])

  test('is for callers to whom every object of the type is shown; a hidden one and none are answered alike', async () => {
    const hidden = await saved('note', { text: 'Hidden' })
    const answers = []
    for (const uuid of [hidden._uuid, randomUUID()]) {
      const { status, body } = await asEditor({ title: 'Guess', front: later(uuid) })
      answers.push([status, body.code, body.parameters, body.error])
    }
    assert.equal(answers[0]?.[0], 403)
    assert.deepEqual(answers[0], answers[1])
    const open = randomUUID()
    const promise = (await saved('card', { front: later(open) })).card.front
    const { status, body } = await asEditor({ title: 'Guess', front: later(open) })
    assert.deepEqual([status, body.code, body.parameters, body.error], answers[0], 'nor may it join that of another')
    const byId = await asEditor({
      title: 'Guess',
      front: { _objecttype: 'note', _system_object_id: promise._system_object_id },
    })
    assert.deepEqual([byId.status, byId.body.code, byId.body.parameters, byId.body.error], answers[0])
    await grant('note', wireGrant(toUser(people.ids.editor), 'read'))
    const allowed = await asEditor({ title: 'Now', front: later(randomUUID()) })
    assert.equal(allowed.status, 200, JSON.stringify(allowed.body))
    await grant('note')
  })

  test('that a caller finds in an object it may keep', async () => {
    const { _id, front } = (await saved('card', { title: 'Root', front: later(randomUUID()) })).card
    const kept = await asEditor({ _id, _version: 1, title: 'Editor', front })
    assert.equal(kept.status, 200, JSON.stringify(kept.body))
    assert.deepEqual((await card(_id)).front, front)
    const moved = await asEditor({ _id, _version: 2, title: 'Editor', front, '_nested:card__row': [{ left: front }] })
    assert.equal(moved.status, 403)
  })

  test('leads to no object that one of those who wait for it may not read', async () => {
    const paper = (uuid: string, text: string) => saved('paper', { text }, { _uuid: uuid, ...inPool(pool) })
    const grantPool = async (...acl: object[]): Promise<void> => {
      const [found] = (await people.root.get(`/pool/${pool}`)).body
      const answer = await people.root.post('/pool', [{ ...found, _acl: acl }])
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
    }
    const all = wireGrant(toUser(people.ids.editor), 'read')
    await grantPool({ ...all, sticky: true })
    const [shown, hidden] = [randomUUID(), randomUUID()]
    const one = await asEditor({ title: 'Shown', paper: later(shown, 'paper') })
    assert.equal(one.status, 200, JSON.stringify(one.body))
    const two = await asEditor({ title: 'Hidden', paper: later(hidden, 'paper') })
    await paper(shown, 'Shown to all')
    assert.equal((await card(one.body[0].card._id, people.editor, 'card__standard')).paper._uuid, shown)
    await grantPool()
    const secret = await paper(hidden, 'Secret words')
    await svc.drain()
    const seen = await people.editor.get(`/db/card/card__standard/${two.body[0].card._id}`)
    assert.equal(seen.body[0].card.paper._purged_or_deferred, true)
    assert.doesNotMatch(JSON.stringify(seen.body), /Secret/)
    assert.notEqual(secret._system_object_id, seen.body[0].card.paper._system_object_id)
    // Who may read it links to it as to any other.
    const { _id } = two.body[0].card
    const resolved = await saved('card', { _id, _version: 1, title: 'Root', paper: later(hidden, 'paper') })
    assert.equal(resolved.card.paper._uuid, hidden)
    await assertSound()
  })
})

describe('promises and others at the same time', () => {
  test('objects that are promised and created at once: every link leads to its object', async () => {
    for (let round = 0; round < 12; round++) {
      const uuids = Array.from({ length: 3 }, () => randomUUID())
      const waiting = (order: readonly string[]): Promise<Answer> =>
        save('card', { title: `Race ${round}`, '_nested:card__row': order.map((uuid) => ({ left: later(uuid) })) })
      const create = (order: readonly string[]): Promise<Answer> =>
        people.root.post(
          '/db/note',
          order.map((uuid) => payload('note', { text: uuid, next: later(order[0] as string) }, { _uuid: uuid })),
        )
      const reversed = uuids.toReversed()
      const answers = await Promise.all([
        waiting(uuids),
        waiting(reversed),
        round % 2 === 0 ? create(uuids) : Promise.all([create(uuids.slice(0, 2)), create(uuids.slice(2))]),
        waiting(uuids.slice(1)),
        waiting(reversed),
      ])
      for (const answer of answers.flat()) assert.equal(answer.status, 200, JSON.stringify(answer.body))
      const cards = [0, 1, 3, 4].map((index) => (answers[index] as Answer).body[0].card._id)
      for (const id of cards) {
        const rows: Json[] = (await card(id))['_nested:card__row']
        for (const { left } of rows) assert.equal(left.note?.text ?? left._uuid, left._uuid)
        assert.ok(
          rows.every(({ left }) => uuids.includes(left._uuid)),
          JSON.stringify(rows),
        )
      }
    }
    await svc.drain()
    await assertSound()
  })

  test('the creation of an object waits for a transaction that promises its name', async () => {
    await using other = await attachService(svc.dsn, { lockTimeout: 300 })
    const uuid = randomUUID()
    const client = await svc.db.connect()
    const create = (): Promise<Answer> =>
      other.as('root').post('/db/note', [payload('note', { text: 'Waits' }, { _uuid: uuid })])
    try {
      await client.query('begin')
      await lockNames({ query: onConnection(client).query, afterCommit: () => {} }, [uuid])
      const refused = await create()
      assert.deepEqual([refused.status, refused.body.code], [423, 'DatabaseLockError'])
    } finally {
      await client.query('rollback')
      client.release()
    }
    assert.equal((await create()).status, 200)
  })

  test('several of them promise the same names', async () => {
    const uuids = Array.from({ length: 20 }, () => randomUUID())
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        save('card', {
          title: `Same ${n}`,
          '_nested:card__row': (n % 2 === 0 ? uuids : uuids.toReversed()).map((uuid) => ({ left: later(uuid) })),
        }),
      ),
    )
    for (const answer of answers) assert.equal(answer.status, 200, JSON.stringify(answer.body))
    const { rows } = await svc.db.query<{ n: number }>(
      'select count(*)::int as n from object_promise where uuid = any($1::text[])',
      [uuids],
    )
    assert.equal(rows[0]?.n, 20)
    await assertSound()
  })
})

test('the console lists promises: who, since when, from which objects; none that nothing links to', async () => {
  const uuid = randomUUID()
  const { _system_object_id: id, card: block } = await saved('card', { title: 'Listed', front: later(uuid) })
  const listed = async (): Promise<Json> => {
    const answer = await svc.inject({
      method: 'GET',
      url: '/inspect/promises/?limit=500',
      headers: { accept: 'application/json', authorization: `Bearer ${await people.root.token()}` },
    })
    assert.equal(answer.statusCode, 200, answer.body)
    return answer.json().Promises.find((one: Json) => one.uuid === uuid)
  }
  const { created_at, ...found } = await listed()
  assert.deepEqual(found, {
    system_object_id: block.front._system_object_id,
    objecttype: 'note',
    uuid,
    users: [{ id: 1, name: found.users[0].name }],
    links: 1,
    objects: [{ id, objecttype: 'card', field: 'card.front', deleted: false }],
  })
  assert.ok(Math.abs(Date.now() - Date.parse(created_at)) < 600_000)
  await saved('card', { _id: block._id, _version: 1, title: 'Listed', front: null })
  assert.equal(await listed(), undefined)
})
