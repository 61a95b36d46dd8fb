import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Json } from '../support/client.ts'
import { commitModel, defineModel, standardPool } from '../support/seed/model.ts'
import { inPool, link, payload } from '../support/seed/museum.ts'
import { startService, type TestService } from '../support/service.ts'

const model = () =>
  defineModel(
    {
      person: { columns: { name: 'text_oneline', reference: 'string' }, unique: [['reference']] },
      work: {
        columns: {
          title: 'text_l10n_oneline',
          inventory: 'string',
          note: 'text',
          secret: 'string',
          made: 'date',
          period: 'daterange',
          location: 'geo_json',
          creator: 'link:person',
          patron: 'link:person',
        },
        nested: {
          material: {
            columns: { name: 'text_oneline', amount: 'number', origin: 'link:person' },
            nested: { supplier: { columns: { since: 'date', remark: 'text_oneline' } } },
          },
          stamp: { columns: { text: 'text_oneline' } },
        },
        flags: { pool_link: true, has_tags: true, is_hierarchical: true },
      },
      loan: {
        columns: { borrower: 'text_oneline', work: { type: 'link:work', reverse_edit: true, on_delete: 'cascade' } },
      },
    },
    {
      work__editor: {
        table: 'work',
        shape: (field, name) => {
          if (name === 'work.secret') return null
          const shown = [
            'work.inventory',
            'work.made',
            'work.patron',
            'work__material.amount',
            'work__stamp',
            'loan:work',
          ]
          return shown.some((end) => name.endsWith(end)) ? { ...field, edit: { mode: 'show' } } : field
        },
      },
      work__tags_shown: {
        table: 'work',
        shape: (field) => field,
        settings: { system_fields: { tags: { edit: { mode: 'show' } } } },
      },
    },
  )

suite('what of a payload has no effect', () => {
  let svc: TestService
  let pool: number
  let person: number
  before(async () => {
    svc = await startService()
    await commitModel(svc, model())
    pool = await standardPool(svc)
    const [saved] = await save([payload('person', { name: 'Ada', reference: 'ada' })], 'person')
    person = saved._system_object_id
  })
  after(() => svc[Symbol.asyncDispose]())

  const root = () => svc.as('root')

  async function save(objects: object[], type = 'work'): Promise<Json[]> {
    const answer = await root().post(`/db/${type}`, objects)
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    assert.equal(answer.headers['x-svc-ignored'], undefined)
    return answer.body
  }

  const block = (rest: object = {}) => ({
    ...inPool(pool),
    title: { 'en-US': 'Title' },
    note: 'text',
    period: { from: '1800', to: '1850', text: { 'en-US': 'early' } },
    location: { type: 'Point', coordinates: [1, 2] },
    creator: { ...link('person', person), person: { 'lookup:_id': { reference: 'ada' } } },
    '_nested:work__material': [
      {
        name: 'oil',
        origin: link('person', person),
        '_nested:work__material__supplier': [{ since: { value: '1849' }, remark: 'late' }],
      },
    ],
    ...rest,
  })

  /** A work with a value in every field. */
  const full = () =>
    payload('work', {
      ...block(),
      secret: 's',
      inventory: 'A1',
      made: { value: '1850' },
      patron: link('person', person),
      '_nested:work__stamp': [{ text: 'seen' }],
      '_reverse_nested:loan:work': [payload('loan', { borrower: 'Prado' })],
    })

  async function ignored(objects: object[], query = {}): Promise<string[]> {
    const answer = await root().post('/db/work', objects, { dry_run: 1, ...query })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    const text = answer.headers['x-svc-ignored']
    return text === undefined ? [] : decodeURIComponent(String(text)).split(', ')
  }

  test('what GET answers can be sent back, in every format and mask, and nothing is reported', async () => {
    const [parent] = await save([payload('work', block())])
    const [work] = await save([
      payload('work', { ...(full() as Json).work, _id_parent: parent.work._id }, { _comment: 'why' }),
    ])
    for (const mask of ['_all_fields', 'work__editor']) {
      for (const format of ['standard', 'standard_extended', 'long', 'long_inheritance', 'full', 'full_inheritance']) {
        const { body } = await root().get(`/db/work/${mask}/${work.work._id}`, { format })
        assert.deepEqual(await ignored(body, { strict: 1 }), [], `${mask} ${format}`)
      }
    }
    await svc.drain()
    const hits = await root().post('/search', { objecttypes: ['work'], format: 'long', best_mask_filter: false })
    assert.deepEqual(await ignored(hits.body.objects, { strict: 1 }), [])
  })

  /** Values that are free inside, or whose keys are languages. */
  const free = ['location', 'title', 'text', '_tags', '_pool', '_owner', 'lookup:_id']
  /** Keys that a save cannot do without: misspelled, they are refused. */
  const named = ['_objecttype', '_mask', '_system_object_id']

  function* places(value: Json, path: (string | number)[] = []): Generator<(string | number)[]> {
    if (typeof value !== 'object' || value === null) return
    for (const [key, inner] of Object.entries(value)) {
      const at = [...path, Array.isArray(value) ? Number(key) : key]
      if (!Array.isArray(value)) yield at
      if (!free.includes(key)) yield* places(inner, at)
    }
  }

  test('whichever key of a payload is misspelled, it is refused or reported with its path', async () => {
    const sent = [full()]
    let reported = 0
    for (const path of places(sent)) {
      const copy = structuredClone(sent)
      let holder: Json = copy
      for (const step of path.slice(0, -1)) holder = holder[step]
      const key = String(path.at(-1))
      holder[`${key}x`] = holder[key]
      delete holder[key]
      const answer = await root().post('/db/work', copy, { dry_run: 1 })
      const at = `${path.join('.')}x`
      const header = decodeURIComponent(String(answer.headers['x-svc-ignored'] ?? ''))
      if (answer.status === 400) continue
      assert.equal(answer.status, 200, `${at}: ${JSON.stringify(answer.body)}`)
      assert.ok(header.split(', ').includes(at), `${at} is not in "${header}"`)
      assert.ok(!named.includes(key) || path.length > 2, `${at} is not refused`)
      reported++
      const strict = await root().post('/db/work', copy, { dry_run: 1, strict: 1 })
      assert.deepEqual([strict.status, strict.body.parameters.name], [400, at])
    }
    assert.ok(reported > 20, `${reported}`)
  })

  test('fields that the mask only shows are reported when they are sent otherwise than they are stored', async () => {
    const [work] = await save([full() as Json])
    const { body } = await root().get(`/db/work/work__editor/${work.work._id}`)
    const changed = async (change: (block: Json) => void): Promise<string[]> => {
      const copy = structuredClone(body)
      change(copy[0].work)
      return ignored(copy)
    }
    const at = '0.work'
    assert.deepEqual(
      await changed((block) => {
        block.inventory = 'B2'
      }),
      [`${at}.inventory`],
    )
    assert.deepEqual(
      await changed((block) => {
        block.inventory = null
      }),
      [`${at}.inventory`],
    )
    assert.deepEqual(
      await changed((block) => {
        block.made.value = '1851'
      }),
      [`${at}.made`],
    )
    assert.deepEqual(
      await changed((block) => {
        block.patron = { _objecttype: 'person', _system_object_id: 999 }
      }),
      [`${at}.patron`],
    )
    assert.deepEqual(
      await changed((block) => {
        block['_nested:work__material'][0].amount = 3
      }),
      [`${at}._nested:work__material.0.amount`],
    )
    assert.deepEqual(
      await changed((block) => {
        block['_nested:work__stamp'] = []
      }),
      [`${at}._nested:work__stamp`],
    )
    assert.deepEqual(
      await changed((block) => {
        block['_nested:work__stamp'][0].text = 'x'
      }),
      [`${at}._nested:work__stamp`],
    )
    assert.deepEqual(
      await changed((block) => {
        block['_reverse_nested:loan:work'].push(payload('loan', { borrower: 'New' }))
      }),
      [`${at}._reverse_nested:loan:work`],
    )
    const created = await ignored([payload('work', { ...block(), inventory: 'C3' }, { _mask: 'work__editor' })])
    assert.deepEqual(created, [`${at}.inventory`])
  })

  test('tags that the mask only shows are not written, which is reported', async () => {
    const { body } = await root().post('/tags', [{ taggroup: {}, _tags: [{ reference: 'done' }] }])
    const tagged = (_mask: string) => [payload('work', block(), { _mask, _tags: [{ _id: body[0]._tags[0]._id }] })]
    assert.deepEqual(await ignored(tagged('work__editor')), [])
    assert.deepEqual(await ignored(tagged('work__tags_shown')), ['0._tags'])
    const saved = await root().post('/db/work', tagged('work__tags_shown'))
    assert.deepEqual([saved.status, saved.body[0]._tags], [200, []], JSON.stringify(saved.body))
  })

  test('of a field outside the mask the report never tells what is stored', async () => {
    const [work] = await save([full() as Json])
    const { body } = await root().get(`/db/work/work__editor/${work.work._id}`)
    for (const guess of ['s', 'wrong', null]) {
      const copy = structuredClone(body)
      copy[0].work.secret = guess
      assert.deepEqual(await ignored(copy), ['0.work.secret'], `${guess}`)
    }
  })

  test('strict=1 writes nothing and names the field that was meant', async () => {
    const answer = await root().post('/db/work', [payload('work', { ...block(), titel: { 'en-US': 'x' } })], {
      strict: 1,
    })
    const { name, nearest, ignored: all } = answer.body.parameters
    assert.deepEqual([answer.status, name, nearest, all], [400, '0.work.titel', 'title', ['0.work.titel']])
    assert.match(answer.body.message, /0\.work\.titel would have no effect; did you mean title\?/)
  })

  test('a payload that is all wrong has a short report', async () => {
    const junk = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`junk${index}`, index]))
    const paths = await ignored([payload('work', { ...block(), ...junk })])
    assert.deepEqual([paths.length, paths[0], paths.at(-1)], [21, '0.work.junk0', '+980'])
  })

  test('what the object type does not have is reported', async () => {
    const sent = payload('person', { name: 'Bob', ...inPool(pool), _id_parent: 5 }, { _tags: [{ _id: 1 }], _acl: [{}] })
    const answer = await root().post('/db/person', [sent], { dry_run: 1 })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    assert.equal(answer.headers['x-svc-ignored'], '0._tags, 0.person._pool, 0._acl, 0.person._id_parent')
  })
})
