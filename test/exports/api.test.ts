import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import type { Json } from '../support/client.ts'
import { pageText } from '../support/documented.ts'
import { type Museum, startMuseum } from '../support/seed/museum.ts'
import { attachService } from '../support/service.ts'
import { addUser, addWorks, codeOf, draft, exported, ran, saved } from './support.ts'

suite('addresses of exports', () => {
  let museum: Museum
  before(async () => {
    museum = await startMuseum()
    await addWorks(museum, ['a', 'b', 'c'], 1)
    for (const login of ['ann', 'bob', 'cyd', 'dan', 'eve']) await addUser(museum.svc, login)
  })
  after(() => museum[Symbol.asyncDispose]())

  const as = (login: string) => museum.svc.as(login)

  /** All addresses of one export, and what is sent there. */
  const addresses = (id: number): [method: string, path: string, body?: Json][] => [
    ['GET', `/export/${id}`],
    ['POST', `/export/${id}`, draft({ _id: id, _version: 1 })],
    ['POST', '/export', draft({ _id: id, _version: 1 })],
    ['PUT', '/export', draft({ _id: id, _version: 1 })],
    ['POST', `/export/${id}/start`],
    ['POST', `/export/${id}/stop`],
    ['GET', `/export/${id}/tar_gz/`],
    ['GET', `/export/${id}/zip/`],
    ['GET', `/export/${id}/file/`],
    ['HEAD', `/export/${id}/file/`],
    ['GET', `/export/${id}/file/export.json`],
    ['HEAD', `/export/${id}/file/export.json`],
    ['DELETE', `/export/${id}`],
  ]
  const ask = async (login: string | null, [method, path, body]: [string, string, Json?]) => {
    const authorization = login === null ? {} : { authorization: `Bearer ${await as(login).token()}` }
    const headers = { ...authorization, ...(body ? { 'content-type': 'application/json' } : {}) }
    return museum.svc.inject({
      method: method as 'GET',
      url: `/api/v1${path}`,
      headers,
      ...(body ? { payload: JSON.stringify(body) } : {}),
    })
  }

  test('EXPAPI-001 are for users, and one export for its user and root alone', async () => {
    const own = await exported(museum.svc, { json: true }, {}, 'ann')
    const { _id } = own.export
    for (const address of [...addresses(_id), ['GET', '/export'] as [string, string]]) {
      const answer = await ask(null, address)
      assert.equal(answer.statusCode, 401, address.join(' '))
    }
    for (const address of addresses(_id)) {
      const answer = await ask('bob', address)
      assert.equal(answer.statusCode, 403, address.join(' '))
      if (address[0] === 'HEAD') continue
      assert.deepEqual([answer.json().code, answer.json().parameters.resource], ['InsufficientRights', 'export'])
      // Of one that is not there is told the same.
      const unknown = await ask('bob', [
        address[0],
        address[1].replace(`${_id}`, '4711'),
        address[2] && draft({ _id: 4711, _version: 1 }),
      ])
      assert.deepEqual([unknown.statusCode, unknown.json().code], [403, 'InsufficientRights'], address.join(' '))
    }
    assert.deepEqual((await as('ann').get(`/export/${_id}`)).body, own)
    for (const login of ['ann', 'root']) {
      for (const path of [`/export/${_id}`, `/export/${_id}/zip/`, `/export/${_id}/file/export.json`]) {
        assert.equal((await ask(login, ['GET', path])).statusCode, 200, path)
      }
    }
    assert.deepEqual(codeOf(await as('root').get('/export/4711')), [400, 'ServerGeneric'])
    assert.equal((await ask('root', ['POST', `/export/${_id}/start`])).statusCode, 200)
    await museum.svc.drain()
  })

  test('EXPAPI-002 EXPAPI-007 LIM-005 the list has the exports of the caller, a hundred at a time', async () => {
    const names: string[] = []
    for (let index = 0; index < 103; index++) {
      const { body } = await as('bob').post('/export', draft())
      names.push(body.export.name)
    }
    await as('cyd').post('/export', draft())
    const named = ({ objects }: Json): string[] => objects.map((one: Json) => one.export.name)
    const { body: first } = await as('bob').get('/export')
    assert.deepEqual([first.limit, first.offset, first.count, first.objects.length], [100, 0, 103, 100])
    assert.deepEqual(Object.keys(first).sort(), ['count', 'limit', 'objects', 'offset'])
    assert.deepEqual(named(first), names.toReversed().slice(0, 100))
    const { body: rest } = await as('bob').get('/export', { offset: 100 })
    assert.deepEqual([rest.limit, rest.offset, rest.count, named(rest)], [100, 100, 103, names.toReversed().slice(100)])
    const { body: some } = await as('bob').get('/export', { limit: 2, offset: 1 })
    assert.deepEqual([some.limit, some.offset, some.count, named(some)], [2, 1, 103, names.toReversed().slice(1, 3)])
    for (const query of [{ limit: -1 }, { limit: 'x' }, { offset: -1 }, { limit: 1001 }]) {
      assert.equal((await as('bob').get('/export', query)).status, 400, JSON.stringify(query))
    }
    const { body: one } = await as('bob').get(`/export/${rest.objects[0].export._id}`, { format: 'short' })
    assert.deepEqual(rest.objects[0], one)
  })

  test('EXPAPI-003 EXPAPI-004 EXPAPI-005 EXPAPI-006 the filter asks for types and states', async () => {
    for (const type of ['export', 'export_incremental', 'download']) {
      for (const state of ['new', 'done', 'failed', 'done_with_warnings', 'pending', 'processing']) {
        const { body } = await as('dan').post('/export', draft({ type }))
        // Set as it is: what leads there is tested elsewhere.
        await museum.svc.db.query('update export set state = $2 where id = $1', [body.export._id, state])
      }
    }
    const found = async (filter: string): Promise<string[]> => {
      const { status, body } = await as('dan').get('/export', { filter })
      assert.equal(status, 200, JSON.stringify(body))
      assert.equal(body.count, body.objects.length)
      return body.objects.map((one: Json) => `${one.export.type} ${one._state}`).sort()
    }
    const states = ['new', 'pending', 'processing', 'done', 'done_with_warnings', 'failed']
    const all = ['export', 'export_incremental', 'download'].flatMap((type) =>
      states.map((state) => `${type} ${state}`),
    )
    const where = (test: (type: string, state: string) => boolean) =>
      all.filter((one) => test(...(one.split(' ') as [string, string]))).sort()
    assert.deepEqual(
      await found(''),
      where(() => true),
    )
    for (const one of ['export', 'export_incremental', 'download']) {
      assert.deepEqual(
        await found(`type:${one}`),
        where((type) => type === one),
      )
    }
    for (const one of states)
      assert.deepEqual(
        await found(`status:${one}`),
        where((_, state) => state === one),
      )
    assert.deepEqual(
      await found('type:export|download'),
      where((type) => type !== 'export_incremental'),
    )
    assert.deepEqual(await found('type:export+status:done'), ['export done'])
    assert.deepEqual(
      await found('type:export,status:done'),
      where((type, state) => type === 'export' || state === 'done'),
    )
    assert.deepEqual(await found('type:export+status:done|failed,type:download+status:new'), [
      'download new',
      'export done',
      'export failed',
    ])
    assert.deepEqual(await found('type:export+type:download'), [])
    // As a browser sends it that does not know what a plus sign is.
    const { body } = await as('dan').get('//api/v1/export?filter=type:export+status:done')
    assert.equal(body.count, 1)
    const unknown = await as('dan').get('/export', { filter: 'name:x' })
    assert.deepEqual(codeOf(unknown), [400, 'ServerGeneric'])
    assert.match(unknown.body.message, /Unknown column/)
    for (const filter of [
      'state:new',
      'type:export+name:x',
      'constructor:x',
      'type',
      'type:',
      'type:nothing',
      'status:open',
      'type:export:x',
      ',',
      "type:export' or 1=1",
    ]) {
      assert.deepEqual(codeOf(await as('dan').get('/export', { filter })), [400, 'ServerGeneric'], filter)
    }
  })

  test('EXPAPI-008 EXP-030 POST and PUT create an export for the caller, which has not run', async () => {
    for (const method of ['post', 'put'] as const) {
      const sent = draft({ json: true })
      const { status, body } = await as('eve')[method]('/export', sent)
      assert.equal(status, 200)
      assert.equal(body._state, 'new')
      assert.equal(body._user.user._generated_displayname.includes('eve'), true)
      assert.deepEqual({ ...body.export, ...sent.export }, body.export)
      assert.equal((await as('eve').get(`/export/${body.export._id}`)).status, 200)
    }
  })

  test('EXPAPI-011 ERR-012 a stale version is told with the stored one', async () => {
    const { body: first } = await as('eve').post('/export', draft())
    const { _id } = first.export
    assert.equal((await as('eve').post(`/export/${_id}`, draft({ _id, _version: 1 }))).body.export._version, 2)
    for (const [method, path] of [
      ['post', `/export/${_id}`],
      ['post', '/export'],
      ['put', '/export'],
    ] as const) {
      for (const _version of [0, 1, 3, undefined]) {
        const answer = await as('eve')[method](path, draft({ _id, _version }))
        assert.deepEqual(codeOf(answer), [400, 'VersionMismatch'])
        assert.deepEqual([answer.body.parameters.got, answer.body.parameters.expected], [_version ?? null, 2])
      }
    }
    for (const method of ['post', 'put'] as const) {
      const answer = await as('eve')[method]('/export', draft({ _version: 5 }))
      assert.deepEqual(
        [...codeOf(answer), answer.body.parameters.got, answer.body.parameters.expected],
        [400, 'VersionMismatch', 5, 1],
      )
    }
    assert.equal((await as('eve').put('/export', draft({ _id, _version: 2 }))).body.export._version, 3)
    const [type] = (await as('root').get('/objecttype')).body
    const { _version: current } = type.objecttype
    const early = await as('root').post('/objecttype', [type])
    assert.deepEqual(
      [...codeOf(early), early.body.parameters.got, early.body.parameters.expected],
      [400, 'VersionMismatch', current, current + 1],
    )
    await using other = await attachService(museum.svc.dsn, { versionConvention: 'next' })
    assert.equal((await other.as('eve').post(`/export/${_id}`, draft({ _id, _version: 4 }))).body.export._version, 4)
    const stale = await other.as('eve').post(`/export/${_id}`, draft({ _id, _version: 4 }))
    assert.deepEqual([...codeOf(stale), stale.body.parameters.expected], [400, 'VersionMismatch', 5])
  })

  test('EXPAPI-013 reading one tells of its log as much as is asked for', async () => {
    const first = await exported(museum.svc, { json: true }, {}, 'root')
    const { _id } = first.export
    await ran(museum.svc, 'root', _id)
    const typesOf = async (format?: string) =>
      (await as('root').get(`/export/${_id}`, { format })).body._log.map(({ event }: Json) => event.type)
    const run = ['OBJECT_UPDATE', 'EXPORT_START', 'OBJECT_UPDATE', 'EXPORT_FINISH', 'OBJECT_UPDATE']
    assert.deepEqual(await typesOf(), ['OBJECT_INSERT', ...run, ...run])
    assert.deepEqual(await typesOf('long'), ['OBJECT_INSERT', ...run, ...run])
    assert.deepEqual(await typesOf('standard'), run)
    assert.deepEqual(await typesOf('short'), [])
    assert.equal((await as('root').get(`/export/${_id}`, { format: 'full' })).status, 400)
  })

  test('EXPAPI-014 EXP-030 a change replaces everything, and nothing has run then', async () => {
    const first = await exported(museum.svc, { json: true }, { _schedules: [{ hours: [1] }] }, 'eve')
    const { _id } = first.export
    const sent = draft({ _id, _version: 1, xml: true })
    const { body } = await as('eve').post(`/export/${_id}`, sent)
    assert.deepEqual([body._state, body._schedules, body.export.json, body.export.xml], ['new', [], undefined, true])
    const file = await ask('eve', ['GET', `/export/${_id}/file/export.json`])
    assert.deepEqual([file.statusCode, file.json().code], [400, 'FileNotDone'])
    const other = await as('eve').post(`/export/${_id}`, draft({ _id: _id + 1, _version: 2 }))
    assert.equal(other.status, 400)
    assert.deepEqual(
      (await ran(museum.svc, 'eve', _id))._files.map(({ path }: Json) => path),
      ['export.xml'],
    )
    let version = 2
    for (const state of ['new', 'pending', 'processing', 'done', 'done_with_warnings', 'failed']) {
      await museum.svc.db.query('update export set state = $2 where id = $1', [_id, state])
      const again = await as('eve').post(`/export/${_id}`, draft({ _id, _version: version++ }))
      assert.deepEqual([again.status, again.body._state], [200, 'new'], state)
    }
  })

  test('EXPAPI-015 a deleted export is gone with all that it has made', async () => {
    const first = await exported(museum.svc, { json: true }, {}, 'eve')
    const { _id } = first.export
    const { status, body } = await as('eve').delete(`/export/${_id}`)
    assert.deepEqual([status, body], [200, { status: { acknowledged: 'ok' } }])
    assert.equal((await as('eve').get(`/export/${_id}`)).status, 403)
    await museum.svc.drain()
    const { rows } = await museum.svc.db.query<Json>(
      `select (select count(*)::int from export_run where export_id is null) as runs,
         (select count(*)::int from kept_content k where not exists (select from export_file f where f.content_id = k.id)) as contents`,
    )
    assert.deepEqual(rows, [{ runs: 0, contents: 0 }])
  })

  test('EXP-029 EXP-031 EXP-032 EXP-036 EXPAPI-016 EXPAPI-017 VER-009 a run waits, goes on, and ends', async () => {
    const log = async (id: number) =>
      (await as('cyd').get(`/export/${id}`)).body._log
        .filter(({ event }: Json) => event.type === 'OBJECT_UPDATE')
        .map(({ event }: Json) => event.info.state)
    const fresh = await saved(museum.svc, 'cyd', draft({ json: true }))
    assert.equal(fresh._state, 'new')
    const { export: one } = fresh
    await museum.svc.db.query(`update export set plugin_log = '{old}' where id = $1`, [one._id])
    const { body: started } = await as('cyd').post(`/export/${one._id}/start`)
    assert.equal(started._state === 'pending' || started._state === 'processing', true)
    await museum.svc.drain()
    const { body: done } = await as('cyd').get(`/export/${one._id}`)
    assert.deepEqual([done._state, done._plugin_log], ['done', []])
    assert.deepEqual(await log(one._id), ['pending', 'processing', 'done'])
    for (const state of ['new', 'done', 'done_with_warnings', 'failed']) {
      await museum.svc.db.query('update export set state = $2 where id = $1', [one._id, state])
      assert.deepEqual(codeOf(await as('cyd').post(`/export/${one._id}/stop`)), [400, 'ServerGeneric'], state)
      assert.equal((await as('cyd').get(`/export/${one._id}`)).body._state, state)
    }
    for (const state of ['pending', 'processing']) {
      await museum.svc.db.query('update export set state = $2 where id = $1', [one._id, state])
      const again = await as('cyd').post(`/export/${one._id}/start`)
      assert.deepEqual([again.status, again.body._state], [200, state])
      const { status, body } = await as('cyd').post(`/export/${one._id}/stop`)
      assert.deepEqual([status, body._state], [200, 'failed'])
      assert.equal(body._log.at(-2).event.type, 'EXPORT_CANCELED')
    }
    assert.equal((await ran(museum.svc, 'cyd', one._id))._state, 'done')
    // There is no other state: neither stored nor described.
    await assert.rejects(museum.svc.db.query(`update export set state = 'paused' where id = $1`, [one._id]))
    const { components } = (await as('cyd').get('/system/openapi/spec.json')).body
    assert.deepEqual(components.schemas.Export.properties._state.enum, [
      ...['new', 'pending', 'processing', 'done', 'done_with_warnings', 'failed'],
    ])
    // A schedule starts runs, too.
    const { body: changed } = await as('cyd').post(
      `/export/${one._id}`,
      draft({ _id: one._id, _version: 1, json: true }, { _schedules: [{ hours: [3] }] }),
    )
    assert.equal(changed._state, 'new')
    await museum.svc.app.tidy(new Date(changed._next_run_at))
    await museum.svc.drain()
    const { body: scheduled } = await as('cyd').get(`/export/${one._id}`)
    assert.deepEqual(
      [scheduled._state, await log(one._id).then((all) => all.slice(-3))],
      ['done', ['pending', 'processing', 'done']],
    )
  })

  test('EXP-034 files that cannot be had make a warning, EXP-035 and what the user may not do a failure', async () => {
    const eas_fields = { 'work.image': { files: true } }
    const classes = { image: [{ type: 'version', version: 'nothing' }] }
    const warned = await exported(museum.svc, { eas_fields, classes }, {}, 'root')
    assert.equal(warned._state, 'done_with_warnings')
    const { event } = warned._log.find((one: Json) => one.event.type === 'EXPORT_FINISH')
    assert.deepEqual(
      [event.info.state, event.info.warnings.length, event.info.totalCount],
      ['done_with_warnings', 1, 3],
    )
    await museum.svc.db.query(`update export set state = 'processing' where id = $1`, [warned.export._id])
    assert.equal((await as('root').post(`/export/${warned.export._id}/stop`)).body._state, 'failed')
    const id = await addUser(museum.svc, 'gone')
    const { export: own } = await saved(museum.svc, 'gone', draft({ json: true }))
    await museum.svc.db.query('update "user" set login_disabled = true where id = $1', [id])
    await as('root').post(`/export/${own._id}/start`)
    await museum.svc.drain()
    const { body: failed } = await as('root').get(`/export/${own._id}`)
    assert.equal(failed._state, 'failed')
    assert.deepEqual(
      failed._log.slice(-2).map((one: Json) => [one.event.type, one.event.info.state]),
      [
        ['EXPORT_FAILED', 'failed'],
        ['OBJECT_UPDATE', 'failed'],
      ],
    )
  })

  test('EVENT-055 what happens to exports is logged in a group of its own', async () => {
    const documented = [...pageText('events.md').matchAll(/^\| EXPORT \| `(\w+)` \|/gm)].map(([, type]) => type)
    for (const type of ['START', 'FINISH', 'FINISH_EMPTY', 'FAILED', 'CANCELED', 'TRANSPORT']) {
      assert.ok(documented.includes(`EXPORT_${type}`), type)
    }
    const eas_fields = { 'work.image': { files: true } }
    const first = await exported(museum.svc, { json: true, eas_fields }, {}, 'root')
    const id = first.export._id
    await ask('root', ['GET', `/export/${id}/zip/`])
    await ask('root', ['GET', `/export/${id}/file/export.json`])
    const empty = await exported(museum.svc, { search: { objecttypes: ['loan'] } }, { _transports: [{}] })
    assert.deepEqual(
      [empty._state, empty._last_relevant_object_count, empty._last_relevant_run_at],
      ['done', 0, undefined],
    )
    const typesOf = async (of: number) => {
      const { rows } = await museum.svc.db.query<Json>(
        `select type, info from event where object_id = $1 and basetype = 'export' order by id`,
        [of],
      )
      return rows
    }
    assert.ok((await typesOf(empty.export._id)).some(({ type }: Json) => type === 'EXPORT_FINISH_EMPTY'))
    const told = await typesOf(id)
    const start = told.find(({ type }: Json) => type === 'EXPORT_START')
    assert.deepEqual(Object.keys(start.info).sort(), ['lastRunAt', 'state'])
    await museum.svc.drain()
    const fetched = (await typesOf(id)).filter(({ type }: Json) => type === 'EXPORT_DOWNLOAD')
    const downloads = fetched.map(({ info }: Json) => [info.state, info.bytes_count > 100, info.export])
    // Each is logged when its last byte is sent, so the order of two is open.
    assert.deepEqual(
      downloads.toSorted(([, , one], [, , other]) => one.format.localeCompare(other.format)),
      [
        ['done', true, { name: first.export.name, is_archive: false, format: 'file' }],
        ['done', true, { name: first.export.name, is_archive: true, format: 'zip' }],
      ],
    )
    const document = first._files.find(({ path }: Json) => path === 'export.json')
    const asset = first._files.find(({ path }: Json) => path !== 'export.json')
    const byPath = (files: Json[]) => files.toSorted((a, b) => (a.path < b.path ? -1 : 1))
    const { body: works } = await as('root').get('/db/work/_all_fields/system_object_id/1')
    const expected = [
      { path: 'export.json', bytes: document.size },
      // Its size is not known before it is made: metadata may be written into it.
      { path: asset.path, _id: works[0].work.image[0]._id },
    ]
    assert.deepEqual(byPath(fetched[0]?.info.files), byPath(expected))
    assert.deepEqual(fetched[1]?.info.files, [expected[0]])
    const { rows } = await museum.svc.db.query<Json>(
      `select system_object_id as id, info from event where type = 'OBJECT_DOWNLOAD' and (info->>'export_id')::bigint = $1 order by 1`,
      [id],
    )
    assert.deepEqual(
      rows.map(({ id: object, info }: Json) => [
        object,
        info.export_type,
        info.export_producer,
        info.export_has_schedules,
      ]),
      [
        [1, 'export', 'zip', false],
        [2, 'export', 'zip', false],
        [3, 'export', 'zip', false],
      ],
    )
  })

  test('who polls the log hears of no exports but the own ones', async () => {
    const { export: own } = await saved(museum.svc, 'ann', draft())
    const heard = async (login: string) =>
      (await as(login).get('/event/poll/1', { limit: 1000 })).body.filter(
        ({ event }: Json) => event.basetype === 'export' && event.object_id === own._id,
      )
    assert.equal((await heard('ann')).length, 1)
    assert.equal((await heard('bob')).length, 0)
  })

  test('one user has as many exports as the quota says', async () => {
    await using few = await attachService(museum.svc.dsn, { quotaExports: 104 })
    assert.equal((await few.as('bob').post('/export', draft())).status, 200)
    const answer = await few.as('bob').post('/export', draft())
    assert.deepEqual([...codeOf(answer), answer.body.parameters.quota], [429, 'QuotaExceeded', 'svc.quotas.exports'])
  })

  test('exports start in read-only mode, and nothing else of them is changed there', async () => {
    const { export: own } = await saved(museum.svc, 'eve', draft({ json: true }))
    await using still = await attachService(museum.svc.dsn, { readOnly: true })
    assert.deepEqual(codeOf(await still.as('eve').post('/export', draft())), [400, 'ReadOnlyMode'])
    assert.deepEqual(codeOf(await still.as('eve').delete(`/export/${own._id}`)), [400, 'ReadOnlyMode'])
    assert.equal((await still.as('eve').post(`/export/${own._id}/start`)).status, 200)
    await still.drain()
    await museum.svc.drain()
    assert.equal((await still.as('eve').get(`/export/${own._id}`)).body._state, 'done')
  })

  test('a transport that is not there opens nothing', async () => {
    const { export: own } = await exported(museum.svc, { json: true })
    for (const uuid of [randomUUID(), 'x', '']) {
      const answer = await ask(null, ['GET', `/export/${own._id}/uuid/${uuid}/zip/`])
      assert.ok(answer.statusCode >= 400 && answer.statusCode < 500, `${uuid}: ${answer.statusCode}`)
    }
  })
})
