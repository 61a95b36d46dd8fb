import fc from 'fast-check'
import { someQuery, someRequest, someSuggestion } from '../search/requests.ts'
import type { Query } from '../support/client.ts'
import type { Knowledge } from '../support/hidden/knowledge.ts'
import { masks, type TypeName, tableIds, typeNames } from '../support/hidden/model.ts'
import type { Scene } from '../support/hidden/scene.ts'
import type { World } from '../support/hidden/twins.ts'

/** Random requests that read objects of a scene, one generator for each operation that answers anything about them. */

export interface TwinRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly query?: Query
  readonly body?: unknown
  /** What goes ahead of it cannot be kept secret: something hidden may link to what is to be deleted. */
  readonly mayBeBlocked?: boolean
  /** What it comes to depends on links that the caller does not know: not done, and not compared. */
  readonly isEntangled?: boolean
  /** Of writes: what they do. Some of each kind must be carried out. */
  readonly kind?: string
}

/** Somewhere to send requests to. */
export interface TwinWorld extends World {
  readonly transitions: readonly number[]
  /** What requests have made. */
  readonly created: { readonly type: TypeName; readonly id: number; readonly systemObjectId: number }[]
}

/** A request for each of two worlds: uuids and ids of events differ. */
export type Twin = (world: TwinWorld) => TwinRequest

/** What requests are drawn for: whose they are, and what of the scene that caller knows. */
export interface Draw {
  readonly scene: Scene
  readonly knowledge: Knowledge
  readonly names: TwinWorld
  isEntangled(index: number): boolean
}

export const nobody = 800_000_001
export const some = <T>(...values: T[]) => fc.constantFrom<T>(...values)
export const flag = some(undefined, undefined, 1)
export const format = some(
  undefined,
  'short',
  'standard',
  'standard_extended',
  'long',
  'full',
  'long_inheritance',
  'full_inheritance',
)

/** A search in records, which know nothing of objects that the caller may not read. */
const someRecords: fc.Arbitrary<object> = fc
  .record({
    type: some('pool', 'collection', 'user', 'group', 'acl'),
    string: some('*', 'vault', 'pool', 'reader'),
    bool: some(undefined, 'must_not'),
    limit: some(undefined, 3),
  })
  .map(({ type, string, bool, limit }) => ({
    type,
    search: [{ type: 'text', string, bool }],
    sort: [{ field: '_created_at', order: 'desc' }],
    limit,
  }))

/** One of the second list now and then, of the first one otherwise; of what there is when one is empty. */
export function mostly<T>(usual: readonly T[], others: readonly T[], weight = 5): fc.Arbitrary<T> {
  if (usual.length === 0) return fc.constantFrom(...others)
  if (others.length === 0) return fc.constantFrom(...usual)
  return fc.oneof(
    { weight, arbitrary: fc.constantFrom(...usual) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  )
}

export const indexesOf = ({ things }: Scene, type: TypeName): number[] =>
  things.flatMap((thing, index) => (thing.type === type ? index : []))

export const maskNames = (type: TypeName): string[] => [
  `${type}__standard`,
  '_all_fields',
  ...Object.keys(masks[type]).map((mask) => `${type}__${mask}`),
]

/** By `METHOD /path` of the interface description, below `/api/v1`. */
export type Generators = Readonly<Record<string, fc.Arbitrary<Twin>>>

export function twinReads({ scene, knowledge, names }: Draw): Generators {
  const typed = fc.constantFrom(...typeNames)
  const target = typed
    .chain((type) => {
      const indexes = indexesOf(scene, type)
      return mostly(
        indexes.filter((index) => knowledge.mayRead(index)),
        indexes.filter((index) => !knowledge.mayRead(index)),
        3,
      ).map((index) => ({ type, index }))
    })
    .chain(({ type, index }) => {
      const usable = (mask: string) => knowledge.mayUse(index, mask.replace(`${type}__`, ''))
      const all = maskNames(type)
      return mostly(
        all.filter(usable),
        all.filter((mask) => !usable(mask)),
      ).map((mask) => ({ type, index, mask }))
    })
  const reading = {
    format,
    all_versions: flag,
    latest_linked: flag,
    skip_reverse_nested: flag,
    merge_linked_objects: some(undefined, undefined, 'all', 'not_in_main_search'),
    merge_max_depth: some(undefined, 2),
  }
  const one = (path: (world: World, index: number) => string | number | undefined): fc.Arbitrary<Twin> =>
    fc
      .record({ target, query: fc.record({ ...reading, version: some(undefined, undefined, 1, 2, 3) }) })
      .map(({ target: { type, index, mask }, query: { version, ...query } }) => (world) => ({
        method: 'GET',
        path: `/db/${type}/${mask}/${path(world, index)}`,
        query: { ...query, ...(query.all_versions ? {} : { version }) },
      }))
  const list = fc
    .record({
      type: typed,
      mask: fc.nat(4),
      query: fc.record({ ...reading, limit: some(undefined, 3), offset: some(undefined, 2) }),
    })
    .map(({ type, mask, query: { all_versions: _, ...query } }): Twin => {
      const path = `/db/${type}/${maskNames(type)[mask % maskNames(type).length]}/list`
      return () => ({ method: 'GET', path, query })
    })
  const search = fc.oneof({ weight: 9, arbitrary: someRequest(names, { subsearches: true, more: true }) }, someRecords)
  const anything = fc.nat(scene.things.length - 1)
  const get = (path: string, query?: Query): TwinRequest => ({ method: 'GET', path, query })
  const typeIds = [...Object.values(tableIds), 90]
  return {
    'GET /db/{objecttype}/{mask}/{id}': one((world, index) => world.objectIds[index]),
    'GET /db/{objecttype}/{mask}/system_object_id/{id}': one((world, index) => `system_object_id/${world.ids[index]}`),
    'GET /db/{objecttype}/{mask}/global_object_id/{id}': one(
      (world, index) => `global_object_id/${world.ids[index]}@test`,
    ),
    'GET /db/{objecttype}/{mask}/list': list,
    'POST /search': search.map(
      (body): Twin =>
        () => ({ method: 'POST', path: '/search', body }),
    ),
    'GET /search': search.map(
      (body): Twin =>
        () =>
          get('/search', { BODY: JSON.stringify(body) }),
    ),
    'POST /search/parse': someQuery.map(
      (body): Twin =>
        () => ({ method: 'POST', path: '/search/parse', body: { ...body, search: true } }),
    ),
    'GET /search/parse': someQuery.map(
      (query): Twin =>
        () =>
          get('/search/parse', { ...query, search: 'true' }),
    ),
    'POST /suggest': someSuggestion.map(
      (body): Twin =>
        () => ({ method: 'POST', path: '/suggest', body }),
    ),
    'GET /suggest': someSuggestion.map(
      (body): Twin =>
        () =>
          get('/suggest', { BODY: JSON.stringify(body) }),
    ),
    'POST /search/query': fc.constant(() => ({
      method: 'POST',
      path: '/search/query',
      body: { search: [{ type: 'text', string: 'dawn' }] },
    })),
    'POST /db_info/create': fc
      .record(
        { objecttype: typed, pool_id: fc.constantFrom(...names.pools, nobody), tag_ids: some(null, []) },
        { requiredKeys: [] },
      )
      .map(
        (body): Twin =>
          () => ({ method: 'POST', path: '/db_info/create', body }),
      ),
    'POST /db_info/update': fc
      .record({ target, more: anything, pool_id: some(undefined, ...names.pools) })
      .map(({ target: { type, index }, more, pool_id }): Twin => {
        const indexes = scene.things[more]?.type === type ? [index, more] : [index]
        return (world) => {
          const object_ids = indexes.map((each) => world.objectIds[each])
          return { method: 'POST', path: '/db_info/update', body: { objecttype: type, object_ids, pool_id } }
        }
      }),
    'GET /event/poll/{fromEventId}': fc.record({ limit: some(1, 3, 1000), from: anything }).map(
      ({ limit, from }): Twin =>
        // Of those that a reader of the log sees some are about hidden objects, more here than there.
        (world) =>
          get(`/event/poll/${limit === 3 ? (world.eventOf(from) ?? 0) : 0}`, { limit: limit === 3 ? 1000 : limit }),
    ),
    'GET /event/list': fc
      .record({
        objecttype: some(undefined, ...typeNames),
        type: some(undefined, undefined, 'OBJECT_INSERT', 'OBJECT_UPDATE', 'DETAIL_VIEW'),
        sort: some(undefined, 'timestamp.ASC', 'object_id.DESC,_id.ASC'),
        of: fc.option(anything),
      })
      .map(
        ({ of, ...query }): Twin =>
          (world) =>
            get('/event/list', { ...query, limit: 1000, ...(of === null ? {} : { system_object_id: world.ids[of] }) }),
      ),
    'GET /event/{eventId}': anything.map(
      (index): Twin =>
        (world) =>
          get(`/event/${world.eventOf(index) ?? nobody}`),
    ),
    'GET /transitions/manual': fc
      .record({ objecttype_id: fc.constantFrom(...typeIds), pool_id: fc.constantFrom(...names.pools) })
      .map(
        (query): Twin =>
          () =>
            get('/transitions/manual', query),
      ),
    'GET /objecttype/{id}/stats': fc.constantFrom(...typeIds).map(
      (id): Twin =>
        () =>
          get(`/objecttype/${id}/stats`),
    ),
    'GET /objecttype/{id}': fc.constantFrom(...typeIds).map(
      (id): Twin =>
        () =>
          get(`/objecttype/${id}`),
    ),
    'GET /pool/{poolID}': fc.constantFrom(...names.pools, nobody).map(
      (id): Twin =>
        () =>
          get(`/pool/${id}`),
    ),
    'GET /pool/{poolID}/stats': fc.constantFrom(...names.pools, nobody).map(
      (id): Twin =>
        () =>
          get(`/pool/${id}/stats`, { include_subpools: true }),
    ),
    'DELETE /pool/{poolID}': fc.constantFrom(...names.pools, nobody).map(
      (id): Twin =>
        () => ({ method: 'DELETE', path: `/pool/${id}` }),
    ),
  }
}
