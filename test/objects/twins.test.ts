import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Answer, Json } from '../support/client.ts'
import { isEntangled, knowledgeOf } from '../support/hidden/knowledge.ts'
import type { TypeName } from '../support/hidden/model.ts'
import { draws, otherScene, richScene } from '../support/hidden/others.ts'
import { callers, type Scene, type Thing } from '../support/hidden/scene.ts'
import { type Draw, type Generators, maskNames, type Twin, type TwinRequest, twinReads } from './twin-requests.ts'
import { asRuled } from './twin-rules.ts'
import { answer, fillTwin, isBlocked, purgeVault, told } from './twin-worlds.ts'
import { twinWrites } from './twin-writes.ts'

/**
 * What a caller may not know shows in no answer of any endpoint. Two services are filled by the same requests, with other
 * contents wherever the caller knows none; one of them has hidden objects that the other has purged, and more versions of
 * hidden objects. Then the same random requests of that caller are answered alike, and as the rules say that are written
 * down in test/support/hidden/knowledge.ts. `TWIN_REQUESTS`, `TWIN_CALLERS` and `PROPERTY_SEED` look further.
 *
 * What cannot be kept secret, and is not compared:
 * - whether something hidden that links to an object keeps it from being deleted (`mayBeBlocked`);
 * - unique keys and ids in use (test/objects/hidden.test.ts): both services have the same.
 */
const requests = Number(process.env.TWIN_REQUESTS ?? 12)
const twinCallers = (process.env.TWIN_CALLERS ?? 'ann,cleo').split(',')
/** May read the event log, where hidden objects are spoken of. */
const eventReaders = [callers.indexOf('cleo')]

/** Operations that say nothing of objects, or that are refused to all but administrators: sent as they stand. */
const plain: Readonly<Record<string, Omit<TwinRequest, 'path'> & { path?: string }>> = Object.fromEntries(
  [
    'GET /settings',
    'GET /system/status',
    'GET /system/errortest',
    'GET /system/openapi/spec.json',
    'GET /system/openapi/',
    'DELETE /event/list',
    'POST /event/list',
    'DELETE /event/{eventId}',
    'GET /config/list',
    'GET /config',
    'POST /config',
    'GET /config/{path}',
    'POST /config/{path}',
    'DELETE /config/{path}',
    'GET /user',
    'POST /user',
    'PUT /user',
    'POST /user/change_password',
    'GET /user/{id}',
    'DELETE /user/{id}',
    'GET /group',
    'POST /group',
    'PUT /group',
    'GET /group/{id}',
    'DELETE /group/{id}',
    'GET /user/session',
    'GET /schema/user/{version}',
    'POST /schema/user/HEAD',
    'POST /schema/commit',
    'GET /mask/{version}',
    'GET /mask/{version}/{mask}',
    'POST /mask/HEAD',
    'GET /l10n/user/{version}',
    'POST /l10n/user/HEAD',
    'GET /objecttype',
    'POST /objecttype',
    'GET /pool',
    'POST /pool',
    'PUT /pool',
    'GET /tags',
    'GET /task',
    'POST /task',
    'PUT /task',
    'GET /task/modules',
    'GET /task/{taskId}',
    'PATCH /task/{taskId}',
    'DELETE /task/{taskId}',
    'POST /task/{taskId}/cancel',
    'GET /task/{taskId}/log',
    'POST /tags',
    'GET /transitions',
    'POST /transitions',
    'POST /system/reindex',
    'GET /system/index/check',
    'POST /system/index/check',
    'DELETE /search/point_in_time',
    'GET /right/explain',
    'GET /right/invalid',
    'GET /plugin',
    'GET /plugin/manage',
    'PUT /plugin/manage',
    'GET /plugin/manage/{id}',
    'POST /plugin/manage/{id}',
    'DELETE /plugin/manage/{id}',
    'GET /plugin/bundle.js',
    'GET /plugin/bundle.css',
    'GET /plugin/bundle.html',
    'GET /plugin/bundle/l10n/{lang}.json',
    'GET /plugin/static/{plugin}/{path}',
    ...['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method) => `${method} /plugin/extension/{plugin}/{path}`),
    'GET /message',
    'POST /message',
    'PUT /message',
    'GET /message/mine',
    'GET /message/{id}',
    'DELETE /message/{id}',
    'POST /message/{id}/confirm',
    'GET /right',
    'GET /right/{context}/presets',
    'POST /right/{context}/presets',
    'GET /right/{context}/presets/{presetId}',
    'DELETE /right/{context}/presets/{presetId}',
    'GET /system/location/list',
    'GET /system/location/fixity',
    'POST /system/location/new',
    'GET /system/location/{id}',
    'PUT /system/location/{id}',
    'DELETE /system/location/{id}',
    'POST /system/location/{id}/move',
    'GET /system/location/move',
    'DELETE /system/location/move/{moveId}',
    'POST /eas/put',
    'PUT /eas/put',
    'GET /system/backup/list',
    'PUT /system/backup/new',
    'GET /system/backup/{id}',
    'DELETE /system/backup/{id}',
    'GET /system/backup/{id}/download',
    'GET /system/janitor',
    'GET /system/share_link',
    'POST /system/share_link',
    'GET /system/share_link/{id}',
    'DELETE /system/share_link/{id}',
    'GET /export',
    'GET /export/{exportId}',
    'GET /export/{exportId}/file/{path}',
    'GET /export/{exportId}/tar_gz/{path}',
    'GET /export/{exportId}/uuid/{uuid}/file/{path}',
    'GET /export/{exportId}/uuid/{uuid}/tar_gz/{path}',
    'GET /export/{exportId}/uuid/{uuid}/zip/{path}',
    'GET /export/{exportId}/zip/{path}',
    'POST /export',
    'POST /export/{exportId}',
    'POST /export/{exportId}/start',
    'POST /export/{exportId}/stop',
    'PUT /export',
    'DELETE /export/{exportId}',
    'GET /collection/list',
    'PUT /collection/list',
    'GET /collection/list/{parentId}',
    'POST /collection',
    'PUT /collection',
    'GET /collection/{collectionId}',
    'POST /collection/{collectionId}',
    'DELETE /collection/{collectionId}',
    'GET /collection/objects/{collectionId}',
    'POST /collection/objects/{collectionId}',
    'POST /collection/push/{collectionId}',
    'POST /collection/splice/{collectionId}',
    'POST /collection/remove/{collectionId}',
    'GET /formats/xml_native.xsd',
    'GET /xmlmapping/list',
    'GET /xmlmapping/profile/{profile}',
    'GET /xmlmapping/tags',
    'PUT /xmlmapping/mapping',
    'GET /xmlmapping/mapping/{mapping}',
    'POST /xmlmapping/mapping/{mapping}',
    'DELETE /xmlmapping/mapping/{mapping}',
    'GET /publish',
    'POST /publish',
    'GET /publish/{systemObjectId}',
    'DELETE /publish/{publishId}',
    'GET /objects/{path}',
    'GET /collection/iiif/{collectionId}',
    'POST /eas/produce',
    'POST /eas/rput',
    'POST /eas/rput/bulk',
    'POST /eas/tus',
    'PATCH /eas/tus/{uploadId}',
    'DELETE /eas/tus/{uploadId}',
    'GET /eas',
    'GET /eas/{fileId}',
    'GET /eas/{fileId}/similar',
    'POST /eas/{fileId}',
    'POST /eas/resync',
    'GET /eas/iiif/{path}',
    'GET /eas/iiif2/{path}',
    'GET /eas/zoom/{path}',
    'GET /eas/resync',
    'GET /eas/download/{fileId}/{hash}/{version}',
    'GET /eas/download/{fileId}/{hash}/{version}/{path}',
  ].map((name) => {
    const [method, path = ''] = name.split(' ') as [TwinRequest['method'], string]
    const values: Record<string, string> = { version: 'CURRENT', id: '2', eventId: '5', path: 'system', mask: '1' }
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, key: string) => values[key] ?? '1')
    if (path === '/search/point_in_time') return [name, { method, path, body: { pit_id: ['1'] } }]
    return [name, { method, path: filled, ...(/POST|PUT/.test(method) ? { body: [] } : {}) }]
  }),
)
/** Not on behalf of a caller; the stream of events has a test of its own for what it tells (test/events/stream.test.ts). */
const outside = [
  'POST /oauth2/token',
  'POST /oauth2/revoke',
  'GET /event/stream',
  'GET /oauth2/auth',
  'POST /oauth2/auth',
  'DELETE /user/session/list',
  'DELETE /user/session/list/{id}',
  'GET /.well-known/oauth-authorization-server',
  'GET /.well-known/openid-configuration',
  'GET /l10n/static/{lang}.json',
  'GET /logout',
  'GET /oai',
  'POST /oai',
  'GET /oauth2/logout',
  'GET /robots.txt',
  'GET /sitemap.xml',
  'GET /oauth2/userinfo',
  'POST /system/directory/test',
  'POST /system/purgeall',
  'HEAD /eas/tus/{uploadId}',
  'POST /eas/tus/{uploadId}',
  'POST /system/sendmail',
  'POST /system/sendmail/test',
  'GET /user/passkey/list',
  'POST /user/passkey/list/{id}',
  'DELETE /user/passkey/list/{id}',
  'GET /user/session/list',
  'POST /logout',
  'POST /oauth2/introspect',
  'POST /oauth2/logout',
  'POST /oauth2/refresh',
  'POST /oauth2/userinfo',
]

describe('two services that differ only in what the caller may not see', { timeout: 600_000 }, () => {
  for (const login of twinCallers) describe(login, () => twins(login))
})

type World = Awaited<ReturnType<typeof fillTwin>>

function twins(login: string): void {
  const caller = callers.indexOf(login as (typeof callers)[number])
  const scene = richScene(caller)
  const knowledge = knowledgeOf(scene, caller)
  const other = otherScene(scene, caller)
  const entangled = scene.things.map((_, index) => isEntangled([scene, other], knowledge, index))
  let one: World
  let two: World
  const hiddenIds = new Set<number>()
  const open = new AsyncDisposableStack()
  before(async () => {
    for (const index of scene.things.keys()) {
      assert.equal(knowledgeOf(other, caller).mayRead(index), knowledge.mayRead(index))
    }
    const options = (mine: string) => ({
      comment: (index: number) => (knowledge.mayRead(index) ? 'seen' : mine),
      poolName: (pool: number) => (knowledge.mayKnowPool(pool) ? `Pool ${pool}` : `${mine} ${pool}`),
      eventReaders,
    })
    const start = async (of: Scene, mine: string) => open.use(await fillTwin(of, knowledge, options(mine)))
    const started = await Promise.allSettled([start(scene, 'first'), start(other, 'second')])
    for (const each of started) if (each.status === 'rejected') throw each.reason
    ;[one, two] = started.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : [])) as [World, World]
    assert.deepEqual([one.ids, one.objectIds, one.vaulted], [two.ids, two.objectIds, two.vaulted])
    for (const [index, id] of one.ids.entries()) if (!knowledge.mayRead(index)) hiddenIds.add(id)
    for (const { systemObjectId } of one.vaulted) hiddenIds.add(systemObjectId)
    await two.rewrite(other.things, (index) => !knowledge.mayRead(index))
    await purgeVault(one)
    await Promise.all([one.svc.drain(), two.svc.drain()])
  })
  after(() => open.disposeAsync())

  const draw = (): Draw => ({ scene, knowledge, names: one, isEntangled: (index) => entangled[index] === true })
  /** Writes by what they do, and how many of them were carried out. */
  const carriedOut = new Map<string, { of: number; done: number }>()
  /** Reads of objects, and how many of them had something to show. */
  const found = { of: 0, done: 0 }

  async function same(twin: Twin): Promise<void> {
    const send = (change: (request: TwinRequest) => TwinRequest) =>
      Promise.all([one, two].map((world) => answer(world, login, change(twin(world)))))
    const sent = twin(one)
    const what = JSON.stringify(sent)
    const isWrite = sent.kind !== undefined
    if (isWrite) await Promise.all([one.look(), two.look()])
    if (sent.isEntangled) return
    if (sent.mayBeBlocked && !sent.query?.dry_run) {
      // What is blocked here and not there would leave two worlds behind that differ.
      const tried = await send((request) => ({ ...request, query: { ...request.query, dry_run: 1 } }))
      if (tried.some(isBlocked)) return
    }
    const [a, b] = await send((request) => request)
    assert.ok(a && b && a.status < 500, `${what} ${JSON.stringify(a?.body)}`)
    if (sent.kind) tally(sent, a)
    else if (/^\/(db\/|search)/.test(sent.path)) {
      found.of++
      found.done += a.status === 200 && (a.body.objects ?? a.body).length > 0 ? 1 : 0
      assert.notEqual(a.status, 400, `${what} ${JSON.stringify(a.body)}`)
    }
    if (sent.mayBeBlocked && [a, b].some(isBlocked)) return
    const isHidden = (id: number): boolean => hiddenIds.has(id)
    assert.deepEqual(told(a, sent, isHidden), told(b, sent, isHidden), what)
    if (sent.kind === 'create' && a.status === 200 && !sent.query?.dry_run) note(sent, a)
  }

  function tally({ kind = '', query }: TwinRequest, { status }: Answer): void {
    const key = query?.dry_run ? `${kind}, dry` : kind
    const { of, done } = carriedOut.get(key) ?? { of: 0, done: 0 }
    carriedOut.set(key, { of: of + 1, done: done + (status === 200 || status === 202 ? 1 : 0) })
  }

  function note({ path }: TwinRequest, { body }: Answer): void {
    const type = path.split('/').at(-1) as TypeName
    const { _system_object_id: systemObjectId } = body[0]
    const made = { type, id: body[0][type]._id, systemObjectId }
    for (const world of [one, two]) world.created.push(made)
  }

  /** Tells the first difference of each operation. */
  async function all(generators: Generators, more: number, count = requests): Promise<void> {
    const differences: unknown[] = []
    for (const [at, generator] of Object.values(generators).entries()) {
      try {
        for (const twin of draws(generator, count, more + at)) await same(twin)
      } catch (error) {
        differences.push(error)
      }
    }
    if (differences.length > 0) throw new AggregateError(differences, differences.map(String).join('\n'))
  }

  test('every operation of the description is asked', async () => {
    const { paths } = (await one.svc.as('root').get('/system/openapi/spec.json')).body
    const described = Object.entries<Json>(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace(/^\/api(\/v1)?/, '')}`),
    )
    const asked = [twinReads(draw()), twinWrites(draw(), false), plain].flatMap(Object.keys)
    assert.deepEqual(described.sort(), [...asked, ...outside].sort())
  })

  test('questions and dry runs are answered alike', async () => {
    for (const request of Object.values(plain)) await same(() => request as TwinRequest)
    await all(twinReads(draw()), 100 * caller)
    await all(twinWrites(draw(), true), 100 * caller + 50, 2 * requests)
  })

  test('each object in each mask is answered alike', async () => {
    for (const index of scene.things.keys()) {
      const { type } = scene.things[index] as Thing
      for (const mask of maskNames(type)) {
        const query = { format: 'full_inheritance', merge_linked_objects: 'all' }
        await same((world) => ({ method: 'GET', path: `/db/${type}/${mask}/${world.objectIds[index]}`, query }))
      }
    }
  })

  test('answers are those of the rules', () => asRuled(one, login, scene, knowledge))

  test('what is saved is answered alike, and so is what is read then', async () => {
    await all(twinWrites(draw(), false), 100 * caller + 60, 3 * requests)
    await Promise.all([one.svc.drain(), two.svc.drain()])
    await all(twinReads(draw()), 100 * caller + 70)
  })

  test('enough of it was carried out to say something', () => {
    const kinds = [...carriedOut].map(([kind, { of, done }]) => `${kind}: ${done} of ${of}`)
    for (const [kind, { of, done }] of carriedOut) {
      // What is drawn once or twice may well be refused each time.
      if (of >= 4 && !/lookup|asked|dry/.test(kind)) assert.ok(done > 0, `${kind}\n${kinds.join('\n')}`)
    }
    const [of, done] = [...carriedOut.values()].reduce(([a, b], each) => [a + each.of, b + each.done], [0, 0])
    assert.ok(done > of / 2, kinds.join('\n'))
    assert.ok(found.of > 0 && found.done > found.of / 3, `${found.done} of ${found.of} reads found something`)
  })
}
