import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Json, Query } from '../support/client.ts'
import { assertDocumented } from '../support/documented.ts'
import { attachService, type TestService } from '../support/service.ts'
import { statementsOf } from '../support/statements.ts'
import { link, type Scene, startScene } from './read-scene.ts'

let scene: Scene
before(async () => {
  scene = await startScene()
})
after(() => scene[Symbol.asyncDispose]())

const root = () => scene.svc.as('root')

async function remove(objecttype: string, id: number, policy = 'remove'): Promise<void> {
  const object = await scene.read(objecttype, id, { format: 'short' })
  const { _id, _version } = object[objecttype]
  const answer = await root().delete(`/db/${objecttype}`, [[_id, _version, null]], { delete_policy: policy })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
}

/** Saves an object again with changes to its block. */
async function change(objecttype: string, id: number, block: object, rest: object = {}): Promise<Json> {
  const object = await scene.read(objecttype, id, { format: 'standard' })
  const [saved] = await scene.save(objecttype, [
    { ...object, ...rest, [objecttype]: { ...object[objecttype], ...block } },
  ])
  return saved
}

describe('targets of links', () => {
  test('in the trash: a thin wrapper that says since when and can be sent back', async () => {
    const person = await scene.add('person', { name: 'Gone' })
    const pupil = await scene.add('person', { name: 'Pupil', teacher: link('person', person) })
    const { rows } = await scene.svc.db.query<{ at: Date }>(
      'update object set deleted_at = now() where system_object_id = $1 returning deleted_at as at',
      [person],
    )
    for (const format of ['standard', 'long', 'full']) {
      const { teacher } = (await scene.read('person', pupil, { format })).person
      assert.deepEqual(Object.keys(teacher).toSorted(), [
        '_global_object_id',
        '_latest_version_deleted_at',
        '_mask',
        '_objecttype',
        '_standard',
        '_system_object_id',
        '_uuid',
      ])
      assert.equal(teacher._latest_version_deleted_at, rows[0]?.at.toISOString())
    }
    const saved = await change('person', pupil, { name: 'Pupil II' })
    assert.equal(saved.person.teacher._system_object_id, person)
  })

  test('purged: a marker with the number that was linked', async () => {
    const person = await scene.add('person', { name: 'Purged' })
    const pupil = await scene.add('person', { name: 'Pupil', teacher: link('person', person) })
    await scene.svc.db.query('delete from object where system_object_id = $1', [person])
    for (const format of ['standard', 'long']) {
      assert.deepEqual((await scene.read('person', pupil, { format })).person.teacher, {
        _objecttype: 'person',
        _system_object_id: person,
        _global_object_id: `${person}@test`,
        _purged_or_deferred: true,
      })
    }
  })

  test('the object itself, in a circle: short instead of without end', async () => {
    const [a] = await scene.save('person', [{ _objecttype: 'person', _mask: '_all_fields', person: { name: 'A' } }])
    const b = await scene.add('person', { name: 'B', teacher: link('person', a._system_object_id) })
    await change('person', a._system_object_id, { teacher: link('person', b) })
    const object = await scene.read('person', a._system_object_id, {
      format: 'long',
      merge_linked_objects: 'all',
      merge_max_depth: 10,
    })
    assert.equal(object.person.teacher.person.name, 'B')
    assert.deepEqual(object.person.teacher.person.teacher.person, { _id: a.person._id, _version: 2 })
    assert.equal(object.person.teacher.person.teacher._format, undefined)
  })
})

test('what is read is never out of date, neither the object nor what it links to, on every node', async () => {
  const person = await scene.add('person', { name: 'Before' })
  const pupil = await scene.add('person', { name: 'Pupil', teacher: link('person', person) })
  await using other = await attachService(scene.svc.dsn)
  const teacher = async (svc: TestService) =>
    (await svc.as('root').get(`/db/person/_all_fields/system_object_id/${pupil}`, { format: 'standard' })).body[0]
      .person.teacher
  const name = async (svc: TestService) =>
    (await svc.as('root').get(`/db/person/_all_fields/system_object_id/${person}`)).body[0].person.name
  for (const svc of [scene.svc, other, other]) {
    assert.deepEqual([(await teacher(svc))._standard['1'].text['en-US'], await name(svc)], ['Before', 'Before'])
  }
  await change('person', person, { name: 'After' })
  for (const svc of [scene.svc, other]) {
    assert.deepEqual([(await teacher(svc))._standard['1'].text['en-US'], await name(svc)], ['After', 'After'])
  }
  await scene.svc.db.query('update object set deleted_at = now() where system_object_id = $1', [person])
  for (const svc of [scene.svc, other]) assert.equal(typeof (await teacher(svc))._latest_version_deleted_at, 'string')
})

test('reading one object in standard is one statement once its links are known', async () => {
  const person = await scene.add('person', { name: 'Known' })
  const work = await scene.add('work', { inventory: 'Q1', creator: link('person', person) })
  const read = () => scene.read('work', work, { format: 'standard' })
  await scene.svc.drain()
  await read()
  assert.equal(await statementsOf(scene.svc, read), 1)
})

test('objects that are read at the same time are asked for together, and each answer is of its own', async () => {
  const person = await scene.add('person', { name: 'Shared' })
  const works = await scene.save(
    'work',
    Array.from({ length: 500 }, (_, index) => ({
      _objecttype: 'work',
      _mask: '_all_fields',
      work: { _pool: { pool: { _id: scene.pool } }, inventory: `M${index}`, creator: link('person', person) },
    })),
  )
  const ids = works.map((object) => object._system_object_id)
  const readAll = async (): Promise<void> => {
    const objects = await Promise.all(ids.map((id) => scene.read('work', id, { format: 'standard' })))
    assert.deepEqual(
      objects.map((object) => [object._system_object_id, object.work.creator._standard['1'].text['en-US']]),
      ids.map((id) => [id, 'Shared']),
    )
  }
  await readAll()
  const statements = await statementsOf(scene.svc, readAll)
  assert.ok(statements <= 100, `${statements} statements`)
})

describe('objects below', () => {
  test('DB-046 reverse-nested objects are shown whole, to any depth, unless they are skipped', async () => {
    const operation = 'get /db/{objecttype}/{mask}/{id}'
    await assertDocumented(scene.svc, operation, ['skip_reverse_nested'], 'objects-reading.md')
    const author = await scene.add('person', { name: 'Author' })
    const work = await scene.add('work', {
      inventory: 'R1',
      '_reverse_nested:loan:work': [
        {
          _objecttype: 'loan',
          _mask: '_all_fields',
          loan: {
            borrower: 'Louvre',
            '_reverse_nested:report:loan': [
              { _objecttype: 'report', _mask: '_all_fields', report: { text: 'Fine', author: link('person', author) } },
            ],
          },
        },
        { _objecttype: 'loan', _mask: '_all_fields', loan: { borrower: 'Prado' } },
      ],
    })
    const object = await scene.read('work', work, { format: 'standard' })
    const [louvre, prado] = object.work['_reverse_nested:loan:work']
    assert.deepEqual([louvre.loan.borrower, prado.loan.borrower], ['Louvre', 'Prado'])
    assert.equal(louvre._format, 'standard')
    assert.equal(louvre.loan._version, 1)
    const [report] = louvre.loan['_reverse_nested:report:loan']
    assert.equal(report.report.text, 'Fine')
    assert.equal(report.report.author._standard['1'].text['en-US'], 'Author')
    assert.equal(report.report.author.person.name, undefined, 'standard shows links short')
    const skipped = await scene.read('work', work, { format: 'standard', skip_reverse_nested: 1 })
    assert.equal('_reverse_nested:loan:work' in skipped.work, false)
    const byId = await root().get(`/db/work/_all_fields/${object.work._id}`, {
      format: 'standard',
      skip_reverse_nested: 1,
    })
    assert.deepEqual(byId.body, [skipped])
  })

  test('in the trash they are only shown below an object that is there too', async () => {
    const work = await scene.add('work', {
      inventory: 'R2',
      '_reverse_nested:loan:work': [{ _objecttype: 'loan', _mask: '_all_fields', loan: { borrower: 'A' } }],
    })
    const names = async () =>
      (await scene.read('work', work, { format: 'standard' })).work['_reverse_nested:loan:work'].map(
        (entry: Json) => entry.loan.borrower,
      )
    const [loan] = await loansOf(work)
    await scene.svc.db.query('update object set deleted_at = now() where system_object_id = $1', [loan])
    assert.deepEqual(await names(), [])
    await scene.svc.db.query('update object set deleted_at = now() where system_object_id = $1', [work])
    assert.deepEqual(await names(), ['A'])
  })

  test('linked objects do not bring what is below them', async () => {
    const inner = await scene.add('work', {
      inventory: 'R3',
      '_reverse_nested:loan:work': [{ _objecttype: 'loan', _mask: '_all_fields', loan: { borrower: 'A' } }],
    })
    const [loan] = await loansOf(inner)
    const object = await scene.read('loan', loan as number, { format: 'long' })
    assert.equal(object.loan.work.work.inventory, 'R3')
    assert.equal('_reverse_nested:loan:work' in object.loan.work.work, false)
  })

  async function loansOf(work: number): Promise<number[]> {
    const { rows } = await scene.svc.db.query<{ id: number }>(
      'select from_id as id from object_link where to_id = $1',
      [work],
    )
    return rows.map((row) => row.id)
  }
})

describe('merge_linked_objects', () => {
  let work: number
  before(async () => {
    const master = await scene.add('person', { name: 'Master' })
    const teacher = await scene.add('person', { name: 'Teacher', teacher: link('person', master) })
    const creator = await scene.add('person', { name: 'Creator', teacher: link('person', teacher) })
    const material = await scene.add('material', { name: 'oil', supplier: link('person', master) })
    work = await scene.add('work', {
      inventory: 'M1',
      creator: link('person', creator),
      '_nested:work__part': [{ rank: 1, material: link('material', material) }],
      '_reverse_nested:loan:work': [
        {
          _objecttype: 'loan',
          _mask: '_all_fields',
          loan: {
            '_reverse_nested:report:loan': [
              {
                _objecttype: 'report',
                _mask: '_all_fields',
                report: { text: 'x', author: link('person', master), medium: link('material', material) },
              },
            ],
          },
        },
      ],
    })
  })

  async function merged(mode: string, depth: number): Promise<Record<string, boolean>> {
    const object = await scene.read('work', work, {
      format: 'standard',
      merge_linked_objects: mode,
      merge_max_depth: depth,
    })
    const { creator } = object.work
    const { material } = object.work['_nested:work__part'][0]
    const { author, medium } = object.work['_reverse_nested:loan:work'][0].loan['_reverse_nested:report:loan'][0].report
    const whole = (entry: Json) => entry?._format === 'standard'
    return {
      creator: whole(creator),
      teacher: whole(creator.person.teacher),
      master: whole(creator.person.teacher?.person.teacher),
      material: whole(material),
      supplier: whole(material.material.supplier),
      author: whole(author),
      medium: whole(medium),
    }
  }

  const people = { creator: true, author: true }
  const nothing = {
    creator: false,
    teacher: false,
    master: false,
    material: false,
    supplier: false,
    author: false,
    medium: false,
  }
  for (const [mode, depth, expected] of [
    ['none', 5, {}],
    ['all', 0, {}],
    ['all', 1, { ...people, material: true, medium: true }],
    ['all', 2, { ...people, teacher: true, material: true, supplier: true, medium: true }],
    ['all', 1000, { ...people, teacher: true, master: true, material: true, supplier: true, medium: true }],
    ['in_main_search', 2, { ...people, teacher: true }],
    ['not_in_main_search', 2, { material: true, medium: true }],
    ['not_in_main_search_unless_reverse', 2, { material: true }],
  ] as const) {
    test(`${mode} to depth ${depth}`, async () => {
      assert.deepEqual(await merged(mode, depth), { ...nothing, ...expected })
    })
  }
})

describe('versions', () => {
  let person: number
  let work: number
  before(async () => {
    person = await scene.add('person', { name: 'Old name' })
    work = await scene.add(
      'work',
      { title: { 'en-US': 'Old title' }, creator: link('person', person) },
      { _comment: 'one' },
    )
    await change('person', person, { name: 'New name' })
    await change('work', work, { title: { 'en-US': 'New title' } }, { _comment: 'two' })
  })

  test('DB-043 all_versions answers each version, newest first', async () => {
    const answer = await root().get(`/db/work/_all_fields/system_object_id/${work}`, {
      all_versions: 1,
      format: 'full',
    })
    assert.deepEqual(
      answer.body.map((object: Json) => [
        object.work._version,
        object.work.title['en-US'],
        object._latest_version,
        object._comment,
        object._standard['1'].text['en-US'],
        object._changelog.map((entry: Json) => [entry.version, entry.current_version, entry.latest_version]),
      ]),
      [
        [
          2,
          'New title',
          true,
          'two',
          'New title',
          [
            [2, true, true],
            [1, false, false],
          ],
        ],
        [1, 'Old title', false, 'one', 'Old title', [[1, true, false]]],
      ],
    )
    const byId = await root().get(`/db/work/_all_fields/${answer.body[0].work._id}`, { all_versions: 1 })
    assert.deepEqual(byId.body, answer.body)
  })

  test('version answers one of them, an unknown one nothing', async () => {
    const one = await scene.read('work', work, { version: 1, format: 'standard' })
    assert.equal(one.work.title['en-US'], 'Old title')
    const none = await root().get(`/db/work/_all_fields/system_object_id/${work}`, { version: 3 })
    assert.deepEqual([none.status, none.body], [200, []])
  })

  test('latest_linked: an old version shows what it links to as it was then, or as it is now', async () => {
    const then = await scene.read('work', work, { version: 1, format: 'long' })
    assert.equal(then.work.creator.person.name, 'Old name')
    assert.equal(then.work.creator.person._version, 1)
    assert.equal(then.work.creator._standard['1'].text['en-US'], 'Old name')
    const short = await scene.read('work', work, { version: 1, format: 'standard' })
    assert.equal(short.work.creator._standard['1'].text['en-US'], 'Old name')
    const now = await scene.read('work', work, { version: 1, format: 'long', latest_linked: 1 })
    assert.equal(now.work.creator.person.name, 'New name')
    const latest = await scene.read('work', work, { format: 'long' })
    assert.equal(latest.work.creator.person.name, 'New name')
  })

  test('the list can show all versions too', async () => {
    const answer = await root().get('/db/work/_all_fields/list', { all_versions: 1, format: 'short', limit: 1000 })
    const versions = answer.body.filter((object: Json) => object._system_object_id === work)
    assert.deepEqual(
      versions.map((object: Json) => object.work._version),
      [2, 1],
    )
  })

  test('an old version of an object in the trash says that it is there', async () => {
    const id = await scene.add('term', { name: 'Trashed' })
    await remove('term', id)
    const answer = await root().get(`/db/term/_all_fields/system_object_id/${id}`, { all_versions: 1, format: 'full' })
    assert.deepEqual(
      answer.body.map((object: Json) => [object.term._version, typeof object._latest_version_deleted_at]),
      [
        [2, 'string'],
        [1, 'string'],
      ],
    )
    assert.deepEqual(
      answer.body[0]._changelog.map((entry: Json) => entry.operation),
      ['DELETE', 'INSERT'],
    )
  })
})

/** What all addresses that answer objects take means the same at each of them. */
describe('parameters of every answer with objects', () => {
  const borrowed = '_reverse_nested:loan:work'
  const loans = [{ _objecttype: 'loan', _mask: '_all_fields', loan: { borrower: 'Uffizi' } }]
  /** Of two versions, with a link to one that has changed since the first, and one below it. */
  let work: Json
  before(async () => {
    const creator = await scene.add('person', { name: 'As it was' })
    const id = await scene.add('work', { inventory: 'P1', creator: link('person', creator), [borrowed]: loans })
    await change('person', creator, { name: 'As it is' })
    await change('work', id, { inventory: 'P2' })
    work = await scene.read('work', id, { format: 'standard' })
  })

  const addresses: Record<string, (object: Json) => string> = {
    '{id}': (object) => `${object.work._id}`,
    'system_object_id/{id}': (object) => `system_object_id/${object._system_object_id}`,
    'global_object_id/{id}': (object) => `global_object_id/${object._global_object_id}`,
    list: () => 'list',
  }
  for (const [name, address] of Object.entries(addresses)) {
    test(`read by ${name}: versions, pages, what is linked, what is below, and format`, async () => {
      const ask = async (query: Query): Promise<Json[]> => {
        const page = name === 'list' ? { limit: 1000 } : {}
        const answer = await root().get(`/db/work/_all_fields/${address(work)}`, { ...page, ...query })
        assert.deepEqual([answer.status, answer.headers['x-svc-ignored']], [200, undefined])
        return answer.body.filter((object: Json) => object._system_object_id === work._system_object_id)
      }
      const versions = (objects: Json[]) => objects.map((object) => object.work._version)
      const creators = (objects: Json[]) => objects.map((object) => object.work.creator.person?.name)
      assert.deepEqual(versions(await ask({})), [2])
      assert.deepEqual(versions(await ask({ all_versions: 1 })), [2, 1])
      assert.deepEqual(creators(await ask({ format: 'standard' })), [undefined])
      assert.deepEqual(creators(await ask({ format: 'long' })), ['As it is'])
      const all = { format: 'long', all_versions: 1 }
      assert.deepEqual(creators(await ask(all)), ['As it is', 'As it was'])
      assert.deepEqual(creators(await ask({ ...all, latest_linked: 1 })), ['As it is', 'As it is'])
      if (name !== 'list') assert.deepEqual(versions(await ask({ version: 1 })), [1])
      else {
        const page = async (query: Query): Promise<number[]> =>
          (await root().get('/db/work/_all_fields/list', query)).body.map((object: Json) => object._system_object_id)
        const two = await page({ limit: 2 })
        assert.equal(two.length, 2)
        assert.deepEqual(await page({ limit: 1, offset: 1 }), two.slice(1))
      }
      const merged = (depth: number) => ({
        format: 'standard',
        merge_linked_objects: 'all',
        merge_max_depth: depth,
      })
      assert.deepEqual(creators(await ask(merged(1))), ['As it is'])
      assert.deepEqual(creators(await ask(merged(0))), [undefined])
      const shows = async (query: Query) => borrowed in (await ask({ format: 'standard', ...query }))[0].work
      assert.deepEqual([await shows({}), await shows({ skip_reverse_nested: 1 })], [true, false])
    })
  }

  for (const method of ['post', 'patch'] as const) {
    test(`of ${method}: skip_reverse_nested leaves what is below as it is, format shapes the answer`, async () => {
      const { _id } = work.work
      const { _system_object_id } = work
      const save = async (query: Query): Promise<Json> => {
        const { _version } = (await scene.read('work', _system_object_id, { format: 'short' })).work
        const pool = { _pool: { pool: { _id: scene.pool } } }
        const block = { ...pool, _id, _version, creator: work.work.creator, [borrowed]: [] }
        const object = { _objecttype: 'work', _mask: '_all_fields', work: block }
        const answer = await root()[method]('/db/work', [object], { confirmTransition: 'ALL', ...query })
        assert.equal(answer.status, 200, JSON.stringify(answer.body))
        return answer.body[0].work
      }
      const below = async (): Promise<string[]> =>
        (await scene.read('work', _system_object_id, { format: 'standard' })).work[borrowed].map(
          ({ loan }: Json) => loan.borrower,
        )
      const short = await save({ skip_reverse_nested: 1, format: 'standard' })
      assert.deepEqual([await below(), short.creator.person.name], [['Uffizi'], undefined])
      const long = await save({ skip_reverse_nested: 1, format: 'long' })
      assert.deepEqual([await below(), long.creator.person.name], [['Uffizi'], 'As it is'])
    })
  }
})

test('reading costs a constant number of statements: 10 and 100 objects in full, merged two deep', async () => {
  const add = async (count: number): Promise<void> => {
    const persons = await scene.save(
      'person',
      Array.from({ length: count }, (_, index) => ({
        _objecttype: 'person',
        _mask: '_all_fields',
        person: { name: `P${index}` },
      })),
    )
    const materials = await scene.save(
      'material',
      Array.from({ length: count }, (_, index) => ({
        _objecttype: 'material',
        _mask: '_all_fields',
        material: { name: `M${index}`, supplier: link('person', persons[index]._system_object_id) },
      })),
    )
    await scene.save(
      'work',
      Array.from({ length: count }, (_, index) => ({
        _objecttype: 'work',
        _mask: '_all_fields',
        work: {
          _pool: { pool: { _id: scene.pool } },
          inventory: `S${count}-${index}`,
          creator: link('person', persons[index]._system_object_id),
          '_nested:work__part': [{ rank: 1, material: link('material', materials[index]._system_object_id) }],
          '_reverse_nested:loan:work': [{ _objecttype: 'loan', _mask: '_all_fields', loan: { borrower: `B${index}` } }],
        },
      })),
    )
  }
  await add(110)
  const statements = (limit: number): Promise<number> =>
    statementsOf(scene.svc, async () => {
      const answer = await root().get('/db/work/_all_fields/list', {
        limit,
        offset: 10,
        format: 'full',
        merge_linked_objects: 'all',
        merge_max_depth: 2,
      })
      assert.equal(answer.body.length, limit)
    })
  await scene.svc.drain()
  const ten = await statements(10)
  const hundred = await statements(100)
  assert.equal(hundred, ten)
  assert.ok(hundred <= 14, `${hundred} statements`)
})
