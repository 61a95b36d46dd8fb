import assert from 'node:assert/strict'
import { after, before, beforeEach, suite, test } from 'node:test'
import fc from 'fast-check'
import { placesOf, replacedAt } from '../../src/objects/save/edits/texts.ts'
import type { SaveCallback } from '../../src/objects/service.ts'
import { someFiles } from '../files/support.ts'
import { createPool } from '../pools/support.ts'
import { type People, seedPeople, toGroup, toUser, wireGrant } from '../rights/people.ts'
import type { Answer, Client, Json } from '../support/client.ts'
import { inPool, link, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { statementsOf } from '../support/statements.ts'

const material = '_nested:work__material'
const topics = '_nested:work__topic'
const supplier = '_nested:work__material__supplier'

suite('operations on what is stored', () => {
  let museum: Museum
  let people: People
  let root: Client
  /** Read and written by the staff; read by the stranger. */
  let pool: number
  let callback: SaveCallback['call'] | null = null
  const callbacks: SaveCallback[] = [
    { name: 'one', kinds: ['save'], objecttypes: ['work'], call: async (change) => (await callback?.(change)) ?? [] },
  ]
  before(async () => {
    museum = await startMuseum({ saveCallbacks: () => (callback ? callbacks : []) })
    people = await seedPeople(museum.svc)
    root = people.root
    const staff = wireGrant(toGroup(people.ids.staff), 'read create write mask')
    pool = (await createPool(root, {}, { _acl: [staff] }))._id
  })
  after(() => museum[Symbol.asyncDispose]())
  beforeEach(() => {
    callback = null
  })

  const ok = ({ status, body }: Answer): Json => {
    assert.equal(status, 200, JSON.stringify(body))
    return body
  }
  const work = (block: object = {}, rest: object = {}): object =>
    payload('work', { ...inPool(pool), title: { 'en-US': 'Norham Castle' }, ...block }, rest)

  async function create(objects: object[], objecttype = 'work'): Promise<number[]> {
    return ok(await root.post(`/db/${objecttype}`, objects)).map((object: Json) => object[objecttype]._id)
  }
  const latest = async (id: number): Promise<Json> => (await root.get(`/db/work/_all_fields/${id}`)).body[0]
  const edit = (ids: number | number[], operations: unknown, { client = root, query = {}, rest = {} } = {}) =>
    client.patch(
      '/db/work',
      [payload('work', { _id: ids }, { _mask: 'work__standard', _operations: operations, ...rest })],
      query,
    )
  const names = async (id: number): Promise<string[]> => (await latest(id)).work[material].map((row: Json) => row.name)

  test('rows come at the end or the beginning of a nested table, in all objects of a group', async () => {
    const ids = await create([work({ [material]: [{ name: 'oil' }] }), work()])
    ok(await edit(ids, [{ op: 'append', field: material, values: [{ name: 'canvas', amount: 2 }, { name: 'frame' }] }]))
    ok(await edit(ids, [{ op: 'prepend', field: material, values: [{ name: 'chalk' }] }]))
    assert.deepEqual(await names(ids[0] as number), ['chalk', 'oil', 'canvas', 'frame'])
    assert.deepEqual(await names(ids[1] as number), ['chalk', 'canvas', 'frame'])
    const rows = await Promise.all(ids.map(async (id) => (await latest(id)).work[material]))
    assert.equal(rows[0][2].amount, 2)
    const uuids = rows.flat().map((row: Json) => row._uuid)
    assert.equal(new Set(uuids).size, uuids.length)
    assert.deepEqual((await latest(ids[0] as number)).work._version, 3)
  })

  test('rows are added where none has their values, when that is asked', async () => {
    const ids = await create([work({ [material]: [{ name: 'oil', amount: 5 }] }), work()])
    const add = { op: 'append', field: material, values: [{ name: 'oil' }], unless_present: true }
    const answer = ok(await edit(ids, [add]))
    assert.deepEqual(
      answer.map((object: Json) => object.work._version),
      [1, 2],
    )
    assert.deepEqual(await Promise.all(ids.map(names)), [['oil'], ['oil']])
    const again = await edit(ids[0] as number, [{ ...add, unless_present: false }])
    assert.deepEqual([again.status, again.body.code], [400, 'DatabaseUniqueKeyViolation'])
  })

  test('files come into lists, go, and take the place of others; one of a list is preferred', async () => {
    const [a, b, c, d] = (await someFiles(museum.svc, 4)) as [number, number, number, number]
    const ids = await create([work({ image: [{ _id: a }, { _id: b }] }), work()])
    const [first, second] = ids as [number, number]
    const files = async (id: number): Promise<[number, boolean][]> =>
      ((await latest(id)).work.image ?? []).map((file: Json) => [file._id, file.preferred])
    const op = (kind: string, values: object[], more: object = {}) => ({ op: kind, field: 'image', values, ...more })
    ok(await edit(ids, [op('append', [{ _id: b }, { _id: c }])]))
    assert.deepEqual(await files(first), [
      [a, true],
      [b, false],
      [c, false],
    ])
    assert.deepEqual(await files(second), [
      [b, true],
      [c, false],
    ])
    ok(await edit(ids, [op('prepend', [{ _id: d, preferred: true }])]))
    assert.deepEqual(await files(second), [
      [d, true],
      [b, false],
      [c, false],
    ])
    ok(await edit(ids, [op('remove', [{ _id: d }])]))
    ok(await edit(ids, [op('replace', [{ _id: a }], { with: [{ _id: d, name: 'front' }] })]))
    assert.deepEqual(await files(first), [
      [d, true],
      [b, false],
      [c, false],
    ])
    assert.equal((await latest(first)).work.image[0].name, 'front')
    assert.deepEqual(await files(second), [
      [b, true],
      [c, false],
    ])
    const answer = ok(await edit(ids, [op('remove', [{ _id: a }]), op('append', [{ _id: b }])]))
    assert.deepEqual(
      answer.map((object: Json) => object.work._version),
      [5, 4],
      'nothing changes, so there is no version',
    )
    ok(await edit(ids, [op('remove', [{ _id: b }, { _id: c }, { _id: d }])]))
    assert.deepEqual([await files(first), await files(second)], [[], []])
  })

  test('files are added and taken out with the rights of every save, and all objects change or none', async () => {
    const [a] = await someFiles(museum.svc, 1)
    const ids = await create([work({ image: [{ _id: a }] }), work({ note: 'stays' })])
    const add = { op: 'append', field: 'image', values: [{ _id: a }] }
    for (const operation of [add, { ...add, op: 'remove' }, { ...add, values: [{ _id: 999_999 }] }]) {
      const { status, body } = await edit(ids, [operation], { client: people.reader })
      assert.deepEqual([status, body.code], [403, 'ObjectInsufficientRights'], JSON.stringify(body))
    }
    const unknown = await edit(ids, [{ ...add, values: [{ _id: 999_999 }] }])
    assert.equal(unknown.body.code, 'LookupNotFound')
    assert.deepEqual((await latest(ids[1] as number)).work._version, 1)
  })

  test('rows go, or get other values, by what they have or by their _uuid', async () => {
    const topic = ok(
      await root.post('/db/topic', [payload('topic', { name: 'sea' }), payload('topic', { name: 'sky' })]),
    )
    const [sea, sky] = topic.map((object: Json) => object._system_object_id)
    const rows = [{ topic: link('topic', sea) }, { topic: link('topic', sky) }]
    const ids = await create([
      work({
        [material]: [
          { name: 'oil', amount: 1 },
          { name: 'ink', amount: 1 },
        ],
        [topics]: rows,
      }),
      work({ [material]: [{ name: 'oil', amount: 2 }], [topics]: [{ topic: link('topic', sky) }] }),
    ])
    const [first, second] = ids as [number, number]
    ok(
      await edit(ids, [
        { op: 'replace', field: material, values: [{ amount: 1 }, { name: 'oil' }], with: { amount: 9 } },
      ]),
    )
    assert.deepEqual(
      (await latest(first)).work[material].map(({ name, amount }: Json) => [name, amount]),
      [
        ['oil', 9],
        ['ink', 9],
      ],
    )
    const [oil] = (await latest(first)).work[material]
    ok(await edit(ids, [{ op: 'remove', field: material, values: [{ name: 'oil', amount: 9 }] }]))
    assert.deepEqual([await names(first), await names(second)], [['ink'], []])
    ok(await edit(ids, [{ op: 'remove', field: topics, values: [{ topic: link('topic', sea) }] }]))
    const linked = async (id: number) => (await latest(id)).work[topics].map((row: Json) => row.topic._system_object_id)
    assert.deepEqual([await linked(first), await linked(second)], [[sky], [sky]])
    ok(
      await edit(ids, [
        { op: 'replace', field: topics, values: [{ topic: link('topic', sky) }], with: { topic: link('topic', sea) } },
      ]),
    )
    assert.deepEqual([await linked(first), await linked(second)], [[sea], [sea]])
    const [ink] = (await latest(first)).work[material]
    assert.notEqual(ink._uuid, oil._uuid)
    ok(await edit(ids, [{ op: 'replace', field: material, values: [{ _uuid: ink._uuid }], with: { name: 'sepia' } }]))
    const [sepia] = (await latest(first)).work[material]
    assert.deepEqual([sepia._uuid, sepia.name, sepia.amount], [ink._uuid, 'sepia', 9])
    ok(await edit(ids, [{ op: 'remove', field: material, values: [{ amount: null }] }]))
    assert.deepEqual(await names(first), ['sepia'])
  })

  test('tables inside of rows are reached by their path', async () => {
    const [id] = await create([
      work({ [material]: [{ name: 'oil', [supplier]: [{ since: { value: '1801' } }] }, { name: 'ink' }] }),
    ])
    const field = `${material}.${supplier}`
    ok(await edit(id as number, [{ op: 'append', field, values: [{ since: { value: '1802' } }] }]))
    ok(await edit(id as number, [{ op: 'remove', field, values: [{ since: { value: '1801' } }] }]))
    const since = (await latest(id as number)).work[material].map((row: Json) =>
      row[supplier].map((inner: Json) => inner.since.value),
    )
    assert.deepEqual(since, [['1802'], ['1802']])
  })

  test('operations come over the fields of the payload, in their order', async () => {
    const [id] = await create([work({ note: 'old', [material]: [{ name: 'oil' }] })])
    const sent = payload(
      'work',
      { _id: id, note: 'a red boat', [material]: [{ name: 'ink' }] },
      {
        _operations: [
          { op: 'replace_text', field: 'note', search: 'red', with: 'green' },
          { op: 'replace_text', field: 'note', search: 'green boat', with: 'green ship' },
          { op: 'append', field: material, values: [{ name: 'chalk' }] },
          { op: 'remove', field: material, values: [{ name: 'ink' }] },
        ],
      },
    )
    ok(await root.patch('/db/work', [sent]))
    assert.equal((await latest(id as number)).work.note, 'a green ship')
    assert.deepEqual(await names(id as number), ['chalk'])
  })

  test('texts are searched and replaced, with or without case, as whole words, by language, in rows', async () => {
    const [id] = await create([
      work({
        title: { 'en-US': 'Cat and catalogue', 'de-DE': 'Katze, CAT' },
        note: 'cat Cat concat cat.',
        [material]: [{ name: 'cat hair' }, { name: 'oil' }],
      }),
    ])
    const replace = async (operation: object) => {
      ok(await edit(id as number, [{ op: 'replace_text', search: 'cat', with: 'dog', ...operation }]))
      const { note, title, [material]: rows } = (await latest(id as number)).work
      return { note, title, rows: rows.map((row: Json) => row.name) }
    }
    assert.equal((await replace({ field: 'note', match_case: true, whole_words: true })).note, 'dog Cat concat dog.')
    assert.equal((await replace({ field: 'note', whole_words: true })).note, 'dog dog concat dog.')
    assert.equal((await replace({ field: 'note' })).note, 'dog dog condog dog.')
    assert.deepEqual((await replace({ field: 'title', languages: ['de-DE'] })).title, {
      'en-US': 'Cat and catalogue',
      'de-DE': 'Katze, dog',
    })
    assert.deepEqual((await replace({ field: 'title' })).title, { 'en-US': 'dog and dogalogue', 'de-DE': 'Katze, dog' })
    assert.deepEqual((await replace({ field: `${material}.name` })).rows, ['dog hair', 'oil'])
    assert.deepEqual(await replace({ field: 'title', search: 'Katze, dog', with: '' }), {
      note: 'dog dog condog dog.',
      title: { 'en-US': 'dog and dogalogue' },
      rows: ['dog hair', 'oil'],
    })
    assert.equal((await replace({ field: 'note', search: 'DOG DOG CONDOG DOG.', with: '' })).note, null)
  })

  test('places of a text are those of a naive search', () => {
    const letters = fc.constantFrom('a', 'A', 'b', ' ', 'ß', 'İ', 'i', 'Σ', 'ς', 'é', '😀', '_')
    const texts = fc.array(letters, { maxLength: 12 }).map((list) => list.join(''))
    const small = (letter: string): string => (letter === 'İ' ? 'i' : letter === 'ς' ? 'σ' : letter.toLowerCase())
    fc.assert(
      fc.property(texts, texts.filter(Boolean), fc.boolean(), fc.boolean(), (text, search, matchCase, wholeWords) => {
        const [within, sought] = [Array.from(text), Array.from(search)]
        const same = (a: string, b: string): boolean => (matchCase ? a === b : small(a) === small(b))
        const isWord = (letter: string | undefined): boolean => letter !== undefined && /[\p{L}\p{N}_]/u.test(letter)
        let expected = ''
        for (let index = 0; index < within.length; ) {
          const end = index + sought.length
          const fits = end <= within.length && sought.every((one, at) => same(one, within[index + at] as string))
          const inside = [index, end].some((at) => isWord(within[at - 1]) && isWord(within[at]))
          const found = fits && !(wholeWords && inside)
          expected += found ? '#' : within[index]
          index = found ? end : index + 1
        }
        const replacing = { search, text: '#', wholeWords, matchCase }
        assert.equal(replacedAt(text, placesOf(text, replacing, 100) ?? [], replacing), expected)
      }),
      { numRuns: 500 },
    )
  })

  test('any operations on rows come to what they come to on a list', async () => {
    const [id] = await create([work()])
    const name = fc.constantFrom<string[]>('a', 'b', 'c', 'd')
    const amount = fc.integer({ min: 1, max: 3 })
    const some = fc.uniqueArray(name, { minLength: 1, maxLength: 2 })
    const operations = fc.array(
      fc.oneof(
        fc.record({ op: fc.constant('append'), names: some, amount }),
        fc.record({ op: fc.constant('prepend'), names: some, amount }),
        fc.record({ op: fc.constant('remove'), names: some, amount }),
        fc.record({ op: fc.constant('replace'), names: some, amount }),
      ),
      { minLength: 1, maxLength: 6 },
    )
    type Row = [string, number]
    let model: Row[] = []
    await fc.assert(
      fc.asyncProperty(operations, async (list) => {
        let next = model
        const sent = list.map(({ op, names: wanted, amount: count }) => {
          const rows = wanted.map((one): Row => [one, count])
          if (op === 'append') next = [...next, ...rows.filter(([one]) => !next.some((row) => row[0] === one))]
          if (op === 'prepend') next = [...rows.filter(([one]) => !next.some((row) => row[0] === one)), ...next]
          if (op === 'remove') next = next.filter(([one, n]) => !(wanted.includes(one) && n === count))
          if (op === 'replace') next = next.map(([one, n]): Row => [one, wanted.includes(one) ? count : n])
          const adds = op === 'append' || op === 'prepend'
          if (op === 'remove')
            return { op, field: material, values: wanted.map((one) => ({ name: one, amount: count })) }
          if (op === 'replace')
            return { op, field: material, values: wanted.map((one) => ({ name: one })), with: { amount: count } }
          assert.ok(adds)
          // The name is unique in the table, and what is there already has it.
          return { op, field: material, values: wanted.map((one) => ({ name: one })), unless_present: true, count }
        })
        // Those that come new get their amount by an operation of their own.
        const flat = sent.flatMap(({ count, ...operation }: Json) => [
          operation,
          ...(count === undefined
            ? []
            : operation.values.map((value: Json) => ({
                op: 'replace',
                field: material,
                values: [{ ...value, amount: null }],
                with: { amount: count },
              }))),
        ])
        ok(await edit(id as number, flat))
        const rows = (await latest(id as number)).work[material].map((row: Json): Row => [row.name, row.amount])
        assert.deepEqual(rows, next)
        model = next
      }),
      { numRuns: 40 },
    )
  })

  test('an object in which nothing changes keeps its version; a dry run shows which would change, and changes none', async () => {
    const ids = await create([work({ note: 'a boat' }), work({ note: 'a ship' })])
    const before = await Promise.all(ids.map(latest))
    const operations = [{ op: 'replace_text', field: 'note', search: 'boat', with: 'ferry' }]
    const rest = { _comment: 'boats are ferries' }
    const preview = ok(await edit(ids, operations, { query: { dry_run: 1 }, rest }))
    const shown = (list: Json[]) => list.map(({ work: { _version, note } }) => [_version, note])
    const expected = [
      [2, 'a ferry'],
      [1, 'a ship'],
    ]
    assert.deepEqual(shown(preview), expected)
    assert.deepEqual(await Promise.all(ids.map(latest)), before)
    assert.deepEqual(shown(ok(await edit(ids, operations, { rest }))), expected)
    assert.deepEqual(await latest(ids[1] as number), before[1])
    const { body } = await root.get('/event/list', { type: 'OBJECT_UPDATE', object_id: ids.join(',') })
    assert.deepEqual(
      body.objects.map(({ event }: Json) => event.object_id),
      [ids[0]],
    )
    for (const kind of [
      { op: 'append', field: material, values: [{ name: 'oil' }] },
      { op: 'append', field: '_acl', values: [wireGrant(toUser(people.ids.reader), 'read')] },
    ]) {
      ok(await edit(ids, [kind], { query: { dry_run: 1 } }))
      assert.equal((await latest(ids[1] as number)).work._version, 1)
      assert.deepEqual((await latest(ids[1] as number))._acl ?? [], before[1]._acl ?? [])
    }
  })

  suite('tags and grants', () => {
    let free: number
    let guarded: number
    let red: number
    let blue: number
    before(async () => {
      const tags = ok(
        await root.post('/tags', [
          {
            taggroup: { type: 'checkbox' },
            _tags: [
              { reference: 'free' },
              { reference: 'guarded', _acl: [wireGrant(toUser(people.ids.stranger), 'tag_add tag_remove')] },
            ],
          },
          { taggroup: { type: 'choice' }, _tags: [{ reference: 'red' }, { reference: 'blue' }] },
        ]),
      ).flatMap((group: Json) => group._tags.map((tag: Json) => tag._id))
      ;[free, guarded, red, blue] = tags as [number, number, number, number]
    })
    const tagsOf = async (id: number): Promise<number[]> =>
      (await latest(id))._tags.map((tag: Json) => tag._id).toSorted()
    const tag = (...ids: number[]) => ids.map((_id) => ({ _id }))

    test('tags are added, removed and replaced; one of a choice takes the place of another', async () => {
      const ids = await create([work({}, { _tags: tag(free) }), work({}, { _tags: tag(red) })])
      const [first, second] = ids as [number, number]
      ok(await edit(ids, [{ op: 'append', field: '_tags', values: [{ 'lookup:_id': { reference: 'blue' } }] }]))
      assert.deepEqual([await tagsOf(first), await tagsOf(second)], [[free, blue].toSorted(), [blue]])
      ok(await edit(ids, [{ op: 'replace', field: '_tags', values: tag(free), with: tag(red) }]))
      assert.deepEqual([await tagsOf(first), await tagsOf(second)], [[red], [blue]])
      ok(await edit(ids, [{ op: 'remove', field: '_tags', values: tag(blue, free) }]))
      assert.deepEqual([await tagsOf(first), await tagsOf(second)], [[red], []])
    })

    test('a tag takes the right to give it, and to take it off', async () => {
      const ids = await create([work({}, { _tags: tag(guarded) }), work()])
      const { reader } = people
      for (const [operation, right] of [
        [{ op: 'append', field: '_tags', values: tag(guarded) }, 'tag_add'],
        [{ op: 'remove', field: '_tags', values: tag(guarded) }, 'tag_remove'],
        [{ op: 'replace', field: '_tags', values: tag(guarded), with: tag(free) }, 'tag_remove'],
      ] as const) {
        const { status, body } = await edit(ids, [operation], { client: reader })
        assert.deepEqual([status, body.code, body.parameters.right], [403, 'ObjectInsufficientRights', right])
      }
      assert.deepEqual([await tagsOf(ids[0] as number), await tagsOf(ids[1] as number)], [[guarded], []])
      ok(await edit(ids, [{ op: 'append', field: '_tags', values: tag(free) }], { client: reader }))
      const unknown = await edit(ids, [{ op: 'remove', field: '_tags', values: tag(999_999) }])
      assert.deepEqual([unknown.status, unknown.body.code], [400, 'TagNotFound'])
    })

    const grants = async (id: number): Promise<Json[]> =>
      ((await latest(id))._acl ?? []).map((grant: Json) => [
        grant.who.user?._id ?? grant.who.group?._id,
        Object.keys(grant.rights).join(' '),
      ])

    test('grants are added, removed and replaced, by the right acl', async () => {
      const { stranger, reader, staff } = people.ids
      const ids = await create([
        work({}, { _acl: [wireGrant(toUser(stranger), 'read'), wireGrant(toGroup(staff), 'read')] }),
        work(),
      ])
      const [first, second] = ids as [number, number]
      const add = { op: 'append', field: '_acl', values: [wireGrant(toUser(stranger), 'read')] }
      const refused = await edit(ids, [add], { client: people.reader })
      assert.deepEqual([refused.status, refused.body.parameters.right], [403, 'acl'])
      const answer = ok(await edit(ids, [add]))
      assert.deepEqual(
        answer.map((object: Json) => object.work._version),
        [1, 2],
        'what is there is not added again',
      )
      const given = (await latest(first))._acl.map((grant: Json) => grant._id)
      ok(await edit(ids, [{ ...add, values: [wireGrant(toUser(reader), 'read write')] }]))
      assert.deepEqual(await grants(second), [
        [stranger, 'read'],
        [reader, 'read write'],
      ])
      assert.deepEqual(
        (await latest(first))._acl.slice(0, 2).map((grant: Json) => grant._id),
        given,
        'the others stay',
      )
      ok(
        await edit(ids, [
          {
            op: 'replace',
            field: '_acl',
            values: [{ who: toGroup(staff) }],
            with: [wireGrant(toGroup(staff), 'write')],
          },
        ]),
      )
      assert.deepEqual(await grants(first), [
        [stranger, 'read'],
        [reader, 'read write'],
        [staff, 'write'],
      ])
      assert.equal((await latest(second)).work._version, 3)
      ok(
        await edit(ids, [
          { op: 'remove', field: '_acl', values: [{ who: toUser(stranger) }, { who: toUser(reader) }] },
        ]),
      )
      assert.deepEqual([await grants(first), await grants(second)], [[[staff, 'write']], []])
    })

    test('losing the own access is asked', async () => {
      const { reader } = people.ids
      const secret = (await createPool(root, {}))._id
      const [id] = await create([
        work({ ...inPool(secret) }, { _acl: [wireGrant(toUser(reader), 'read write acl mask')] }),
      ])
      const remove = [{ op: 'remove', field: '_acl', values: [{ who: toUser(reader) }] }]
      const asked = await edit(id as number, remove, { client: people.reader })
      assert.deepEqual([asked.status, asked.body.tasks?.length], [202, 1], JSON.stringify(asked.body))
      assert.equal((await grants(id as number)).length, 1)
      assert.equal((await edit(id as number, remove, { client: people.reader, query: { revoke: 'yes' } })).status, 200)
      assert.equal((await grants(id as number)).length, 0)
    })
  })

  test('operations look at an object, so they take the right to read it in the mask', async () => {
    const blind = (await createPool(root, {}, { _acl: [wireGrant(toUser(people.ids.stranger), 'write')] }))._id
    const [id] = await create([work({ ...inPool(blind), note: 'a secret', [material]: [{ name: 'gold' }] })])
    for (const operation of [
      { op: 'replace_text', field: 'note', search: 'secret', with: 'x' },
      { op: 'remove', field: material, values: [{ name: 'gold' }] },
      { op: 'append', field: material, values: [{ name: 'gold' }], unless_present: true },
    ]) {
      const { status, body } = await edit(id as number, [operation], { client: people.stranger })
      assert.deepEqual([status, body.code, body.parameters.right], [403, 'ObjectInsufficientRights', 'read'])
    }
    assert.equal((await latest(id as number)).work._version, 1)
    const gone = await edit(id as number, [{ op: 'replace_text', field: 'note', search: 'a', with: 'b' }], {
      client: people.reader,
    })
    assert.deepEqual([gone.status, gone.body.code], [404, 'ObjectNotFound'])
  })

  test('a row is not looked for by a target that the caller may not see', async () => {
    const [hidden] = await create([work({ ...inPool((await createPool(root, {}))._id) })])
    const [place] = ok(await root.post('/db/place', [payload('place', { name: { 'en-US': 'Attic' } })]))
    const [id] = await create([work({ [material]: [{ name: 'oil', origin: link('place', place._system_object_id) }] })])
    assert.ok(hidden)
    const byPlace = (target: number) => [{ op: 'remove', field: material, values: [{ origin: link('place', target) }] }]
    for (const target of [place._system_object_id, 999_999_999]) {
      const { status, body } = await edit(id as number, byPlace(target), { client: people.reader })
      assert.deepEqual([status, body.code, body.parameters.right], [403, 'ObjectInsufficientRights', 'read'])
    }
    assert.deepEqual(await names(id as number), ['oil'])
    ok(await edit(id as number, byPlace(place._system_object_id)))
    assert.deepEqual(await names(id as number), [])
  })

  test('callbacks are shown what operations come to, and what they make of it is not edited again', async () => {
    const [id] = await create([work({ note: 'one', [material]: [{ name: 'oil' }] })])
    const seen: Json[] = []
    callback = async ({ objects }) =>
      objects.map(({ key, object }) => {
        const block = object.work as Json
        seen.push([block.note, block[material].map((row: Json) => row.name)])
        return { key, object: { ...object, work: { ...block, width: 7 } } }
      })
    const operations = [
      { op: 'replace_text', field: 'note', search: 'one', with: 'one one' },
      { op: 'append', field: material, values: [{ name: 'ink' }] },
    ]
    ok(await edit(id as number, operations))
    assert.deepEqual(seen, [['one one', ['oil', 'ink']]])
    const { note, width, _version } = (await latest(id as number)).work
    assert.deepEqual([note, width, _version, await names(id as number)], ['one one', 7, 2, ['oil', 'ink']])
    seen.length = 0
    ok(await edit(id as number, [{ op: 'replace_text', field: 'note', search: 'absent', with: 'x' }]))
    assert.deepEqual(seen, [], 'of what does not change nobody is asked')
  })

  test('what is wrong is refused by its place, and nothing changes', async () => {
    const [id] = await create([work({ note: 'stays', [material]: [{ name: 'oil' }] })])
    const append = (values: unknown, more: object = {}) => [{ op: 'append', field: material, values, ...more }]
    const text = (more: object) => [{ op: 'replace_text', field: 'note', search: 'stays', with: 'x', ...more }]
    const long = 'x'.repeat(20_000)
    for (const [operations, place] of [
      ['all', ''],
      [{}, ''],
      [[null], '.0'],
      [[{ field: 'note' }], '.0.op'],
      [[{ op: 'toString', field: 'note' }], '.0.op'],
      [[{ op: 'append' }], '.0.field'],
      [[{ op: 'append', field: 5 }], '.0.field'],
      [[{ op: 'append', field: 'note', values: [{}] }], '.0.field'],
      [[{ op: 'append', field: 'nothing', values: [{}] }], '.0.field'],
      [[{ op: 'append', field: '__proto__', values: [{}] }], '.0.field'],
      [[{ op: 'append', field: `${material}.nothing`, values: [{}] }], '.0.field'],
      [[{ op: 'append', field: '_reverse_nested:loan:work', values: [{ borrower: 'x' }] }], '.0.field'],
      [[{ op: 'append', field: 'image', values: [{ 'lookup:_id': { reference: 'a' } }] }], '.0.values.0'],
      [[{ op: 'append', field: 'image', values: [] }], '.0.values'],
      [[{ op: 'append', field: 'image', values: [{ _id: 'x' }] }], '.0.values'],
      [[{ op: 'append', field: 'image', values: [{ _id: 1 }, { _id: 1 }] }], '.0.values'],
      [[{ op: 'append', field: 'image', values: [{ _id: 1 }], unless_present: true }], '.0.unless_present'],
      [[{ op: 'replace', field: 'image', values: [{ _id: 1 }] }], '.0.with'],
      [[{ op: 'replace_text', field: 'image', search: 'a', with: 'b' }], '.0.field'],
      [append(undefined), '.0.values'],
      [append([]), '.0.values'],
      [append('oil'), '.0.values'],
      [append(['oil']), '.0.values.0'],
      [append([{}]), '.0.values.0'],
      [append([{ nmae: 'ink' }]), '.0.values.0.nmae'],
      [append([{ name: 'ink', [supplier]: [{ sinze: 1 }] }]), `.0.values.0.${supplier}.0.sinze`],
      [append([{ name: 5 }]), '.0.values.0.name'],
      [append([{ name: 'ink', _uuid: 'a' }]), '.0.values.0._uuid'],
      [append([{ name: 'ink' }], { with: {} }), '.0.with'],
      [append([{ name: 'ink' }], { unless_present: 'yes' }), '.0.unless_present'],
      [[{ op: 'remove', field: material, values: [{}] }], '.0.values.0'],
      [[{ op: 'remove', field: material, values: [{ nmae: 'oil' }] }], '.0.values.0.nmae'],
      [[{ op: 'remove', field: material, values: [{ [supplier]: [] }] }], `.0.values.0.${supplier}`],
      [[{ op: 'remove', field: material, values: [{ _uuid: 7 }] }], '.0.values.0._uuid'],
      [[{ op: 'replace', field: material, values: [{ name: 'oil' }] }], '.0.with'],
      [[{ op: 'replace', field: material, values: [{ name: 'oil' }], with: {} }], '.0.with'],
      [[{ op: 'replace', field: material, values: [{ name: 'oil' }], with: { nmae: 'ink' } }], '.0.with.nmae'],
      [text({ field: 'width' }), '.0.field'],
      [text({ field: material }), '.0.field'],
      [text({ search: '' }), '.0.search'],
      [text({ search: undefined }), '.0.search'],
      [text({ search: 'x'.repeat(1001) }), '.0.search'],
      [text({ with: undefined }), '.0.with'],
      [text({ with: long }), '.0.with'],
      [text({ with: 'a\0' }), '.0.with'],
      [text({ languages: [] }), '.0.languages'],
      [text({ languages: [5] }), '.0.languages'],
      [text({ match_case: 1 }), '.0.match_case'],
      [text({ values: [] }), '.0.values'],
      [[{ op: 'prepend', field: '_tags', values: [{ _id: 1 }] }], '.0.op'],
      [[{ op: 'append', field: '_tags', values: [1] }], '.0.values.0'],
      [[{ op: 'append', field: '_tags', values: [{ _id: 1 }], unless_present: true }], '.0.unless_present'],
      [[{ op: 'remove', field: '_acl', values: [{ _id: 1 }] }], '.0.values.0'],
      [[{ op: 'remove', field: '_acl', values: [{ who: { user: { login: 'x' } } }] }], '.0.values.0.who'],
      [[{ op: 'append', field: '_acl', values: [{ _id: 1, who: {}, rights: {} }] }], '.0.values.0._id'],
      [Array.from({ length: 51 }, () => text({})[0]), ''],
      [append(Array.from({ length: 1001 }, (_, index) => ({ name: `n${index}` }))), ''],
    ] as [unknown, string][]) {
      const { status, body } = await edit(id as number, operations)
      const said = JSON.stringify([operations, body]).slice(0, 400)
      assert.deepEqual([status, body.code], [400, 'InvalidValue'], said)
      assert.equal(body.parameters.name, `0._operations${place}`, said)
    }
    const broken = await edit(id as number, [{ op: 'append', field: '_acl', values: [{ who: {}, rights: {} }] }])
    assert.equal(broken.status, 400)
    const beside = await edit(id as number, [...text({}), ...append([{ nmae: 'x' }])])
    assert.equal(beside.status, 400)
    assert.deepEqual([(await latest(id as number)).work._version, await names(id as number)], [1, ['oil']])
  })

  test('constraints hold, and one object that breaks one keeps all of them', async () => {
    const ids = await create([work({ note: 'x' }), work({ note: 'x'.repeat(1500) })])
    const grow = [{ op: 'replace_text', field: 'note', search: 'x', with: 'yy' }]
    const { status, body } = await edit(ids, grow)
    assert.deepEqual([status, body.code], [400, 'ConstraintViolation'])
    assert.equal((await latest(ids[0] as number)).work.note, 'x')
  })

  test('they change what is there: saves of whole objects, new ones and rows below have none', async () => {
    const [id] = await create([work({ note: 'x' })])
    const operations = [{ op: 'replace_text', field: 'note', search: 'x', with: 'y' }]
    for (const answer of [
      await root.post('/db/work', [work({ _id: id, _version: 1 }, { _operations: operations })]),
      await root.post('/db/work', [work({}, { _operations: operations })]),
      await root.patch('/db/work', [
        payload('work', {
          _id: id,
          '_reverse_nested:loan:work': [payload('loan', { borrower: 'Prado' }, { _operations: operations })],
        }),
      ]),
    ]) {
      assert.deepEqual([answer.status, answer.body.code], [400, 'InvalidValue'], JSON.stringify(answer.body))
      assert.match(answer.body.parameters.name, /_operations$/)
    }
    const group = await root.post('/db/work', [payload('work', { _id: [id] }, { _operations: operations })])
    assert.equal(group.status, 200, JSON.stringify(group.body))
    assert.equal((await latest(id as number)).work.note, 'y')
    const none = await edit(id as number, [])
    assert.deepEqual([none.status, none.headers['x-svc-ignored']], [200, undefined])
  })

  test('a group with more than it could be sent with one by one is refused', async () => {
    const ids = Array.from({ length: 10_000 }, (_, index) => index + 1)
    const values = Array.from({ length: 21 }, (_, index) => ({ name: `n${index}` }))
    const many = await edit(ids, [{ op: 'append', field: material, values }])
    assert.deepEqual([many.status, many.body.parameters.name], [400, '0._operations'])
    const large = await root.patch('/db/work', [payload('work', { _id: ids, note: 'x'.repeat(20_000) })])
    assert.deepEqual([large.status, large.body.parameters.name], [400, '0.work'])
  })

  test('texts and tables that would take long are refused, and others take their turn', async () => {
    const long = `${'ab '.repeat(400_000)}`
    const [id] = ok(await root.post('/db/work', [work({ note: long })], { skip_constraints: 1 })).map(
      (object: Json) => object.work._id,
    )
    const many = await edit(id, [{ op: 'replace_text', field: 'note', search: 'a', with: 'c' }])
    assert.equal(many.status, 400, 'the field has a length')
    const short = [{ op: 'replace_text', field: 'note', search: 'ab ', with: '' }]
    ok(await edit(id, short))
    assert.equal((await latest(id)).work.note, null)
    assert.equal(
      placesOf('a'.repeat(600_000), { search: 'a', text: '', wholeWords: false, matchCase: true }, 500_000),
      null,
    )
    assert.equal(
      placesOf('a'.repeat(600_000), { search: 'a', text: '', wholeWords: true, matchCase: true }, 500_000),
      null,
    )
    const rows = Array.from({ length: 1500 }, (_, index) => ({ name: `n${index}` }))
    const [wide] = await create([work({ [material]: rows })])
    const values = rows.slice(0, 900)
    const refused = await edit(wide as number, [{ op: 'remove', field: material, values }])
    assert.deepEqual([refused.status, refused.body.parameters.name], [400, '0._operations.0.values'])
    ok(await edit(wide as number, [{ op: 'remove', field: material, values: values.slice(0, 600) }]))
    assert.equal((await names(wide as number)).length, 900)
  })

  test('a group takes as many statements as two of its objects', async () => {
    const ids = await create(Array.from({ length: 30 }, () => work({ note: 'x', [material]: [{ name: 'oil' }] })))
    const operations = (round: number) => [
      { op: 'replace_text', field: 'note', search: 'x', with: 'xy' },
      { op: 'append', field: material, values: [{ name: `n${round}` }] },
      {
        op: 'append',
        field: '_acl',
        values: [wireGrant(toUser(people.ids.reader), 'read', { when: { to: `20${30 + round}-01-01T00:00:00Z` } })],
      },
    ]
    let count = 0
    const change = (list: number[]) => async () => {
      // A save of grants would wake the indexer, whose statements would count.
      ok(await edit(list, operations(++count), { query: { dry_run: 1 } }))
    }
    await change(ids.slice(0, 2))()
    const few = await statementsOf(museum.svc, change(ids.slice(2, 4)))
    const many = await statementsOf(museum.svc, change(ids.slice(4)))
    assert.equal(many, few)
  })
})
