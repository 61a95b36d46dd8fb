import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { unescapeHtml } from '../signin/sign-in-browser.ts'
import { link, type Museum, payload, startMuseum } from '../support/seed/museum.ts'
import { consoleCookie, consoleOf, formFor } from './support.ts'

suite('pages of the console', () => {
  let museum: Museum
  let root: ReturnType<typeof consoleOf>
  let person: number
  let place: number

  before(async () => {
    museum = await startMuseum({ debugSqlQuery: true })
    const { svc } = museum
    root = consoleOf(svc, await consoleCookie(svc))
    const saved = await svc
      .as('root')
      .post('/db/person', [
        payload('person', { name: 'Ada', reference: 'ada' }),
        payload('person', { name: 'Ben', reference: 'ben', '_nested:person__influence': [] }),
      ])
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
    person = saved.body[0]._system_object_id
    const places = await svc.as('root').post('/db/place', [payload('place', { name: { 'en-US': 'Ulm' }, code: 'u' })])
    place = places.body[0]._system_object_id
    const ben = saved.body[1]._system_object_id
    const changed = await svc.as('root').post('/db/person', [
      {
        ...payload('person', {
          ...{ _id: saved.body[1].person._id, _version: 1, name: 'Ben', reference: 'ben' },
          '_nested:person__influence': [{ person: link('person', person), note: 'a friend' }],
        }),
      },
    ])
    assert.equal(changed.status, 200, JSON.stringify(changed.body))
    assert.ok(ben > 0)
    await svc.drain()
  })
  after(() => museum[Symbol.asyncDispose]())

  /** The members that each page has in its JSON form, from the interface that clients know. */
  const listed: readonly (readonly [statement: string, path: () => string, members: readonly string[]])[] = [
    ['INSP-005', () => '/', ['BaseConfig', 'Backends']],
    ['INSP-006', () => '/config/', ['Config', 'BaseConfigList']],
    ['INSP-007', () => '/plugins/', ['Plugins']],
    ['INSP-008', () => '/tags/', ['Tags']],
    ['', () => '/users/', ['Users']],
    ['INSP-009', () => '/objecttypes/person/', ['OtStats']],
    ['INSP-010', () => '/pools/1/', ['PoolStats', 'PoolStatsSubpools']],
    [
      'INSP-011',
      () => '/objects/?objecttype=person&offset=0&limit=1',
      [
        ...['SystemObjectIds', 'Objecttype', 'Filter', 'Versions', 'Index', 'Order'],
        ...['Offset', 'Limit', 'Prev', 'Next', 'ParseErr'],
      ],
    ],
    ['INSP-012', () => '/objects/list/', ['IndexedByTableNameRead']],
    [
      'INSP-013',
      () => `/objects/${person}/`,
      [
        ...['ReindexSystemObjectIds', 'DatamodelSelect', 'CurrentDatamodelId', 'RenderingDatamodelId'],
        ...['ObjectDatamodelId', 'LatestLinked', 'Warning'],
      ],
    ],
    [
      'INSP-014',
      () => '/collections/?search=a&owner=root&offset=0&limit=2',
      [
        ...['ColInfos', 'Filter', 'Markers', 'UserType', 'Order', 'Offset', 'Limit', 'TotalCount'],
        ...['LoadParents', 'LoadChildren', 'Prev', 'Next'],
      ],
    ],
    ['INSP-015', () => '/customdata/gnd/', ['Event']],
    ['INSP-016', () => '/system/status/', ['Stats']],
    ['INSP-017', () => '/system/janitor/', ['Event', 'Query']],
    ['INSP-018', () => '/sqlquery/?query=select%201', ['SqlQuery']],
    ['INSP-019', () => '/recalcterms/', ['RecalcTerms']],
    ['INSP-020', () => '/migration/', ['Backups']],
    ['INSP-021', () => '/migration/night.tar.zst/', ['Backup', 'Files', 'SubPath']],
  ]

  async function prepare(): Promise<void> {
    const { svc } = museum
    await mkdir(join(svc.config.dataDir, 'backups'), { recursive: true })
    await writeFile(join(svc.config.dataDir, 'backups', 'night.tar.zst'), 'no archive')
    await svc.db.query(
      `insert into event (type, pollable, at, info) values ('CUSTOM_DATA_TYPE_UPDATER', false, now(), '{"type": "gnd", "stats": {"updated": 3}}')`,
    )
  }

  test('SVC-003 INSP-001 INSP-002 pages are HTML by default, and JSON with exactly the listed members where that is asked for', async () => {
    await prepare()
    for (const [, path, members] of listed) {
      const url = path()
      for (const accept of ['text/html,application/xhtml+xml,*/*;q=0.8', '*/*']) {
        const page = await root.get(url, { accept })
        assert.equal(page.statusCode, 200, `${url}: ${page.body.slice(0, 300)}`)
        assert.match(String(page.headers['content-type']), /^text\/html/, url)
        assert.match(page.body, /^<!doctype html>/, url)
      }
      const asked = await root.get(url, { accept: 'application/json' })
      const named = await root.get(`${url}${url.includes('?') ? '&' : '?'}accept=application/json`, {})
      for (const answer of [asked, named]) {
        assert.equal(answer.statusCode, 200, url)
        assert.match(String(answer.headers['content-type']), /^application\/json/, url)
        assert.deepEqual(Object.keys(answer.json()), members, url)
      }
      const below = await museum.svc.inject({ method: 'GET', url: `/api/v1/inspect${url}` })
      assert.equal(below.json().code, 'UnknownEndpointMethod', 'and nowhere else')
    }
  })

  test('INSP-005 the first page tells of the configuration and of what the service stands on', async () => {
    const { BaseConfig, Backends } = (await root.json('/')) as {
      BaseConfig: Record<string, object>
      Backends: { name: string; kind: string; status: string }[]
    }
    assert.deepEqual(Object.keys(BaseConfig.name ?? {}).sort(), ['description', 'internal_name', 'title'])
    assert.deepEqual(
      Backends.map(({ name, status }) => [name, status]),
      [
        ['PostgreSQL', 'connected'],
        ['file', 'connected'],
        ['Node.js', 'connected'],
      ],
    )
  })

  test('INSP-006 INSP-007 INSP-008 configuration, plugins and tags as they are', async () => {
    const { svc } = museum
    const { Config, BaseConfigList } = (await root.json('/config/')) as {
      Config: { svc: Record<string, unknown> }
      BaseConfigList: { section: string; value: object }[]
    }
    assert.equal(Config.svc.databaseName, svc.config.databaseName)
    const wire = (await svc.as('root').get('/config')).body.system.config
    assert.deepEqual(Object.fromEntries(BaseConfigList.map(({ section, value }) => [section, value])), wire)
    assert.deepEqual((await root.json('/plugins/')).Plugins, (await svc.as('root').get('/plugin/manage')).body.plugins)
    const group = {
      taggroup: { displayname: { 'en-US': 'State' }, type: 'checkbox' },
      _tags: [{ tag: { displayname: { 'en-US': 'Ready' }, type: 'individual', displaytype: 'facet' } }],
    }
    const made = await svc.as('root').post('/tags', [group])
    assert.equal(made.status, 200, JSON.stringify(made.body))
    const { Tags } = (await root.json('/tags/')) as { Tags: { _tags: { displayname: object }[] }[] }
    assert.deepEqual(
      Tags.map((one) => one._tags.map(({ displayname }) => displayname)),
      [[{ 'en-US': 'Ready' }]],
    )
    assert.match((await root.html('/tags/')).body, /Ready/)
  })

  test('users are listed a page at a time, narrowed by words and type', async () => {
    const { svc } = museum
    const made = await svc
      .as('root')
      .post('/user', [{ user: { login: 'carla', email: 'c@example.org' } }, { user: { login: 'dora' } }])
    assert.equal(made.status, 200)
    type Users = { Users: { id: number; login: string; groups: string[]; has_password: boolean }[] }
    const names = async (query: string) =>
      ((await root.json(`/users/${query}`)) as Users).Users.map(({ login }) => login)
    assert.deepEqual(await names('?search=CARLA'), ['carla'])
    assert.deepEqual(await names('?search=example.org'), ['carla'])
    assert.deepEqual(await names('?type=native'), ['carla', 'dora'])
    assert.deepEqual(await names('?type=native&offset=1&limit=1'), ['dora'])
    const all = await names('')
    assert.ok(all.includes('root') && all.includes('dora'))
    const page = unescapeHtml((await root.html('/users/?type=native&limit=1')).body)
    assert.ok(page.includes('href="/inspect/users/?type=native&offset=1&limit=1"'), 'the way to the next page')
  })

  test('INSP-009 INSP-010 INSP-012 counts of object types and pools', async () => {
    const { OtStats } = (await root.json('/objecttypes/person/')) as {
      OtStats: { name: string; live: number; waiting: number }
    }
    assert.deepEqual([OtStats.name, OtStats.live, OtStats.waiting], ['person', 2, 0])
    const { IndexedByTableNameRead } = (await root.json('/objects/list/')) as {
      IndexedByTableNameRead: Record<string, { live: number; indexed: number }>
    }
    assert.deepEqual([IndexedByTableNameRead.person?.live, IndexedByTableNameRead.person?.indexed], [2, 2])
    assert.deepEqual([IndexedByTableNameRead.place?.live, IndexedByTableNameRead.loan?.live], [1, 0])
    const { PoolStats, PoolStatsSubpools } = (await root.json('/pools/1/')) as {
      PoolStats: { pool_id: number; files: { count: number } }
      PoolStatsSubpools: { pool_id: number }[]
    }
    assert.deepEqual([PoolStats.pool_id, PoolStats.files.count], [1, 0])
    const pools = (await museum.svc.as('root').get('/pool')).body as {
      pool: { _id: number; _id_parent: number | null }
    }[]
    assert.deepEqual(
      PoolStatsSubpools.map(({ pool_id }) => pool_id),
      pools.filter(({ pool }) => pool._id_parent === 1).map(({ pool }) => pool._id),
    )
    for (const path of ['/objecttypes/nothing/', '/pools/999999/', '/pools/0/', '/pools/1e1/'])
      assert.equal((await root.get(path, { accept: 'application/json' })).statusCode, 404, path)
  })

  test('INSP-011 objects by type, pool, trash, index and ids, a page at a time', async () => {
    type Objects = {
      SystemObjectIds: number[]
      Versions: Record<string, number>
      Prev: number | null
      Next: number | null
      ParseErr: string
    }
    const list = async (query: string) => (await root.json(`/objects/?${query}`)) as Objects
    const persons = await list('objecttype=person')
    assert.equal(persons.SystemObjectIds.length, 2)
    assert.ok(persons.SystemObjectIds.includes(person))
    // Both: the link is kept in step on the other side.
    assert.deepEqual(Object.values(persons.Versions), [2, 2])
    const first = await list('objecttype=person&limit=1')
    assert.deepEqual([first.SystemObjectIds, first.Prev, first.Next], [[persons.SystemObjectIds[0]], null, 1])
    const second = await list('objecttype=person&limit=1&offset=1')
    assert.deepEqual([second.SystemObjectIds, second.Prev, second.Next], [[persons.SystemObjectIds[1]], 0, null])
    assert.deepEqual((await list('objecttype=person&order=-id')).SystemObjectIds, persons.SystemObjectIds.toReversed())
    assert.deepEqual(
      (await list(`ids=${place},${person}`)).SystemObjectIds,
      [person, place].sort((a, b) => a - b),
    )
    assert.deepEqual((await list('index=failed')).SystemObjectIds, [])
    assert.deepEqual((await list('trash=deleted')).SystemObjectIds, [])
    assert.deepEqual((await list('pool=1')).SystemObjectIds, [])
    const wrong = await list('ids=12,abc')
    assert.deepEqual(wrong.SystemObjectIds, [])
    assert.match(wrong.ParseErr, /ids/)
    assert.match((await root.html('/objects/?ids=12,abc')).body, /role="alert"/)
    await museum.svc.db.query('insert into search_failure (id, error) values ($1, $2)', [place, 'why'])
    assert.deepEqual((await list('index=failed')).SystemObjectIds, [place])
    assert.match((await root.html(`/objects/${place}/`)).body, /why/)
    await museum.svc.db.query('delete from search_failure')
  })

  test('INSP-013 an object is shown by any version of the datamodel, with what differs', async () => {
    const { svc } = museum
    type Shown = {
      ReindexSystemObjectIds: number[]
      DatamodelSelect: { version: number; current: boolean; of_object: boolean }[]
      LatestLinked: Record<string, { objecttype: string; title: string }>
      CurrentDatamodelId: number
      RenderingDatamodelId: number
      ObjectDatamodelId: number
      Warning: string
    }
    const before = (await root.json(`/objects/${person}/`)) as Shown
    const old = before.ObjectDatamodelId
    assert.equal(before.CurrentDatamodelId, old)
    const ben = (
      (await root.json('/objects/?objecttype=person')) as { SystemObjectIds: number[] }
    ).SystemObjectIds.find((id) => id !== person)
    assert.deepEqual(before.ReindexSystemObjectIds.slice(0, 2), [person, ben])
    const linked = (await root.json(`/objects/${ben}/`)) as Shown
    assert.deepEqual(
      Object.entries(linked.LatestLinked).map(([id, { objecttype, title }]) => [Number(id), objecttype, title]),
      [[person, 'person', 'Ada']],
    )
    // Another name for a column, and a column more.
    const head = (await svc.as('root').get('/schema/user/HEAD')).body
    const table = head.tables.find(({ name }: { name: string }) => name === 'place')
    table.columns.find(({ name }: { name: string }) => name === 'code').name = 'sign'
    const saved = await svc.as('root').post('/schema/user/HEAD', head)
    assert.equal(saved.status, 200, JSON.stringify(saved.body))
    const committed = await svc.as('root').post('/schema/commit', undefined, { confirm: 'yes', reindex: 'reindex' })
    assert.equal(committed.status, 200, JSON.stringify(committed.body))
    await svc.drain()
    const now = (await root.json(`/objects/${place}/`)) as Shown
    assert.deepEqual([now.CurrentDatamodelId, now.RenderingDatamodelId, now.ObjectDatamodelId], [old + 1, old + 1, old])
    assert.deepEqual(
      now.DatamodelSelect.filter(({ current }) => current).map(({ version }) => version),
      [old + 1],
    )
    assert.deepEqual(
      now.DatamodelSelect.filter((one) => one.of_object).map(({ version }) => version),
      [old],
    )
    assert.match((await root.html(`/objects/${place}/`)).body, /was called code/)
    const then = await root.html(`/objects/${place}/?datamodel=${old}`)
    assert.doesNotMatch(then.body, /was called/)
    assert.match(then.body, /<div>code<\/div>/)
    assert.equal(((await root.json(`/objects/${place}/?datamodel=${old}`)) as Shown).RenderingDatamodelId, old)
    const gone = await root.get(`/objects/${place}/?datamodel=999`, { accept: 'application/json' })
    assert.equal(gone.json().code, 'DatamodelVersionNotFound')
    await svc.db.query('update object_version set datamodel_version = 900 where system_object_id = $1', [place])
    assert.match(((await root.json(`/objects/${place}/`)) as Shown).Warning, /900/)
    assert.equal((await root.html(`/objects/${place}/`)).statusCode, 200)
  })

  test('INSP-014 collections by words and owner, with those above and below on request', async () => {
    const { svc } = museum
    const made = await svc.as('root').post('/collection', { collection: { displayname: { 'en-US': 'Night watch' } } })
    assert.equal(made.status, 200, JSON.stringify(made.body))
    type Collections = {
      ColInfos: Record<string, unknown>[]
      TotalCount: number
      Markers: Record<string, number>
      Filter: object
      LoadParents: boolean
    }
    const found = (await root.json('/collections/?search=night&owner=root&load_parents=1')) as Collections
    assert.deepEqual([found.TotalCount, found.ColInfos.length, found.LoadParents], [1, 1, true])
    assert.ok(Array.isArray(found.ColInfos[0]?.parents))
    assert.deepEqual(found.Filter, { search: 'night', owner: 'root' })
    assert.equal(((await root.json('/collections/?owner=nobody')) as Collections).TotalCount, 0)
    const all = (await root.json('/collections/?limit=1')) as Collections & { Next: number | null }
    assert.equal(all.Markers.all, all.TotalCount)
    assert.equal(all.Next, 1)
    assert.equal('parents' in (all.ColInfos[0] ?? {}), false)
  })

  test('INSP-015 INSP-017 the last event of an updater and of the janitors; the janitors can be run', async () => {
    const { Event } = (await root.json('/customdata/gnd/')) as { Event: { event: { type: string; info: object } } }
    assert.deepEqual(
      [Event.event.type, Event.event.info],
      ['CUSTOM_DATA_TYPE_UPDATER', { type: 'gnd', stats: { updated: 3 } }],
    )
    assert.equal((await root.get('/customdata/other/', { accept: 'application/json' })).statusCode, 404)
    const none = await root.json('/system/janitor/?type=JANITOR_ERROR&limit=5')
    assert.deepEqual(none, { Event: {}, Query: { type: 'JANITOR_ERROR', offset: 0, limit: 5 } })
    const page = await root.html('/system/janitor/')
    const ran = await root.post('/system/janitor/', formFor(page.body, 'run'))
    assert.deepEqual([ran.statusCode, ran.headers.location], [303, '/inspect/system/janitor/?done=done.janitor'])
    assert.match((await root.html('/system/janitor/?done=done.janitor', 'de')).body, /Die Aufräumdienste laufen/)
    await museum.svc.db.query(
      `insert into event (type, pollable, at, info) values ('JANITOR', false, now(), '{"type": "purge", "count": 7}')`,
    )
    const last = (await root.json('/system/janitor/')) as { Event: { event: { info: object } } }
    assert.deepEqual(last.Event.event.info, { type: 'purge', count: 7 })
  })

  test('INSP-016 INSP-019 status and word indexes; both can be renewed', async () => {
    const { svc } = museum
    assert.deepEqual((await root.json('/system/status/')).Stats, (await svc.as('root').get('/system/status')).body)
    const { RecalcTerms } = (await root.json('/recalcterms/')) as {
      RecalcTerms: { state: string; indexes: { name: string }[] }
    }
    assert.equal(RecalcTerms.state, 'idle')
    const names = RecalcTerms.indexes.map(({ name }) => name)
    assert.ok(names.includes('search_document_lexemes_idx'))
    const nodes = async () =>
      (
        await svc.db.query<{ node: number }>(
          `select pg_relation_filenode(n::regclass)::int8 as node from unnest($1::text[]) n`,
          [names],
        )
      ).rows
    const before = await nodes()
    const page = await root.html('/recalcterms/')
    const begun = await root.post('/recalcterms/', formFor(page.body, 'renew'))
    assert.equal(begun.statusCode, 303)
    await svc.drain()
    assert.notDeepEqual(await nodes(), before, 'they were built anew')
    const ended = async () => (await svc.db.query(`select from event where type = 'REINDEX_DONE'`)).rowCount
    const earlier = await ended()
    const all = await root.post('/system/status/', formFor((await root.html('/system/status/')).body, 'reindex'))
    assert.equal(all.statusCode, 303)
    await svc.drain()
    assert.equal(await ended(), earlier + 1)
  })

  test('INSP-018 the database is asked by SQL only where a setting allows it, reading, with bounded answers', async () => {
    const { svc } = museum
    type Answer = { SqlQuery: { columns: string[]; rows: (string | null)[][]; error: string; cut: boolean } }
    const ask = async (query: string) =>
      ((await root.json(`/sqlquery/?query=${encodeURIComponent(query)}`)) as Answer).SqlQuery
    const two = await ask('select 1 as a, null as b, 9007199254740993 as c -- all of it')
    assert.deepEqual([two.columns, two.rows], [['a', 'b', 'c'], [['1', null, '9007199254740993']]])
    const many = await ask('select generate_series(1, 10000) as n')
    assert.deepEqual([many.rows.length, many.cut], [200, true])
    const long = await ask("select repeat('x', 100000) as x")
    assert.equal(long.rows[0]?.[0]?.length, 2000)
    for (const query of [
      'delete from event',
      'with gone as (delete from event returning 1) select * from gone',
      'select 1; delete from event',
      "copy (select 1) to program 'true'",
      "select nextval('event_id_seq')",
      'select pg_read_file($$/etc/passwd$$)',
      'select 1) q; delete from event; --',
      'drop table event',
      'not sql',
    ]) {
      const { error, rows } = await ask(query)
      assert.notEqual(error, '', query)
      assert.deepEqual(rows, [], query)
    }
    assert.ok((await svc.db.query('select from event limit 1')).rowCount > 0)
    assert.deepEqual((await ask(`select current_setting('statement_timeout')`)).rows, [['5s']])
    assert.match((await root.html('/sqlquery/?query=select%20%27%3Cscript%3E%27')).body, /&#60;script&#62;/)
  })

  test('INSP-020 INSP-021 backups of the folder, and what is in one', async () => {
    const { Backups } = (await root.json('/migration/')) as { Backups: { name: string; filesize: number }[] }
    assert.deepEqual(
      Backups.map(({ name, filesize }) => [name, filesize]),
      [['night.tar.zst', 10]],
    )
    const { Backup, Files } = (await root.json('/migration/night.tar.zst/?path=tables')) as {
      Backup: { status: string }
      Files: object[]
    }
    assert.deepEqual([Backup.status, Files], ['unreadable', []])
    for (const name of [
      'other.tar.zst',
      '..%2Fnight.tar.zst',
      '%2e%2e%2f%2e%2e%2fetc%2fpasswd',
      'night.tar.zst%00',
      '.tar.zst',
    ])
      assert.equal((await root.get(`/migration/${name}/`, { accept: 'application/json' })).statusCode, 404, name)
  })

  test('objects are indexed anew from their page', async () => {
    const { svc } = museum
    const changed = async () =>
      (await svc.db.query<{ at: Date }>('select changed_at as at from search_document where id = $1', [person])).rows[0]
        ?.at
    const before = await changed()
    const page = await root.html(`/objects/${person}/`)
    const answer = await root.post(`/objects/${person}/`, formFor(page.body, 'reindexLinked'))
    assert.deepEqual(
      [answer.statusCode, answer.headers.location],
      [303, `/inspect/objects/${person}/?done=done.reindex`],
    )
    await svc.drain()
    assert.notDeepEqual(await changed(), before)
  })

  test('jobs that were given up are tried again or dropped', async () => {
    const { svc } = museum
    await svc.db.query(
      `select graphile_worker.add_job('nobody.knows', '{"password": "planted"}'::json, max_attempts => 1)`,
    )
    const giveUp = () =>
      svc.db.query(
        `update graphile_worker._private_jobs set attempts = 1, last_error = 'cannot reach http://u:planted@h/'
         where task_id in (select id from graphile_worker._private_tasks where identifier = 'nobody.knows')`,
      )
    await giveUp()
    const page = await root.html('/queues/?state=given_up')
    assert.match(page.body, /nobody\.knows/)
    assert.doesNotMatch(page.body, /planted/)
    type Queues = { Jobs: { name: string; state: string; attempts: number }[] }
    const states = async () =>
      ((await root.json('/queues/')) as Queues).Jobs.filter(({ name }) => name === 'nobody.knows').map(
        ({ state, attempts }) => [state, attempts],
      )
    assert.deepEqual(await states(), [['given_up', 1]])
    const form = formFor(page.body, 'retry')
    assert.equal((await root.post('/queues/', form)).statusCode, 303)
    assert.deepEqual(await states(), [['due', 0]])
    assert.equal((await root.post('/queues/', form)).statusCode, 404, 'it is not given up any more')
    await giveUp()
    const dropped = await root.post('/queues/', formFor((await root.html('/queues/')).body, 'drop'))
    assert.equal(dropped.statusCode, 303)
    assert.deepEqual(await states(), [])
  })
})
