import fc from 'fast-check'
import { someRequest } from '../search/requests.ts'
import type { Query } from '../support/client.ts'
import {
  columnsOf,
  masks,
  type Scene,
  someValue,
  type TypeName,
  targets,
  typeNames,
  words,
} from '../support/hidden/scene.ts'
import type { World } from '../support/hidden/twins.ts'

/** Random requests about the objects of a scene, one generator for each operation that answers anything about them. */

export interface TwinRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly query?: Query
  readonly body?: unknown
  /** What goes ahead of it cannot be kept secret: something hidden may link to what is to be deleted. */
  readonly mayBeBlocked?: boolean
}

/** A request for each of two worlds: uuids differ. */
export type Twin = (world: World) => TwinRequest

const nobody = 800_000_001
const some = <T>(...values: T[]) => fc.constantFrom<T>(...values)
const flag = some(undefined, undefined, 1)
const format = some(
  undefined,
  'short',
  'standard',
  'standard_extended',
  'long',
  'full',
  'long_inheritance',
  'full_inheritance',
)

const maskNames = (type: TypeName) => [
  `${type}__standard`,
  '_all_fields',
  ...Object.keys(masks[type]).map((mask) => `${type}__${mask}`),
]

export interface TwinGenerators {
  /** By `METHOD /path` of the interface description, below `/api/v1`. */
  readonly reads: Readonly<Record<string, fc.Arbitrary<Twin>>>
  /** These change something when `dry` is off. */
  writes(dry: boolean): Readonly<Record<string, fc.Arbitrary<Twin>>>
}

export function twinGenerators({ things }: Scene, names: World, transitions: readonly number[]): TwinGenerators {
  const indexesOf = (type: TypeName) => things.flatMap((thing, index) => (thing.type === type ? index : []))
  const typed = fc.constantFrom(...typeNames)
  const target = typed.chain((type) =>
    fc.record({
      type: fc.constant(type),
      index: fc.constantFrom(...indexesOf(type)),
      mask: fc.constantFrom(...maskNames(type)),
    }),
  )
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
    .map(
      ({ type, mask, query }): Twin =>
        () => ({ method: 'GET', path: `/db/${type}/${maskNames(type)[mask % maskNames(type).length]}/list`, query }),
    )
  const search = someRequest(names, { subsearches: true })

  /** Ways to name an object in a payload. */
  const named = (type: TypeName) =>
    fc
      .record({ index: fc.constantFrom(...indexesOf(type)), how: fc.nat(5), word: fc.constantFrom(...words) })
      .map(({ index, how, word }) => (world: World): Record<string, unknown> => {
        const id = world.ids[index]
        const column = type === 'person' ? 'note' : 'code'
        switch (how) {
          case 0:
            return { _uuid: world.uuids[index] }
          case 1:
            return { _global_object_id: `${id}@test` }
          case 2:
            return { [type]: { _id: world.objectIds[index] } }
          case 3:
            return { [type]: { 'lookup:_id': { [column]: word } } }
          default:
            return { _system_object_id: id }
        }
      })

  type Part = (world: World) => unknown
  type Block = (world: World) => Record<string, unknown>

  function block(type: TypeName, nested: boolean): fc.Arbitrary<Block> {
    const fields = columnsOf(type, nested).map(([name, kind]) => {
      const value: fc.Arbitrary<Part> = kind.startsWith('link:')
        ? named(kind.slice('link:'.length) as TypeName)
        : someValue(kind, targets).map((plain) => () => plain)
      return fc.option(value, { nil: undefined, freq: 2 }).map((made) => [name, made] as const)
    })
    return fc
      .tuple(...fields)
      .map(
        (list) => (world) =>
          Object.fromEntries(list.flatMap(([name, made]) => (made ? [[name, made(world) ?? null]] : []))),
      )
  }

  const save = (dry: boolean): fc.Arbitrary<Twin> =>
    target.chain(({ type, index, mask }) =>
      fc
        .record({
          values: block(type, false),
          rows: type === 'work' ? fc.array(block(type, true), { maxLength: 2 }) : fc.constant<Block[]>([]),
          how: some('create', 'create', 'update', 'update', 'update', 'lookup'),
          version: fc.constantFrom(1, 1, 2),
          word: fc.constantFrom(...words),
          pool: fc.option(fc.constantFrom(...names.pools)),
          tags: fc.option(fc.subarray([...names.tags])),
          owner: fc.option(fc.constantFrom(...names.users), { freq: 6 }),
          parent: fc.option(fc.constantFrom(...indexesOf('place')), { freq: 2 }),
          format,
          strict: flag,
        })
        .map(({ values, rows, how, version, word, pool, tags, owner, parent, format: form, strict }) => (world) => {
          const identity =
            how === 'create'
              ? {}
              : how === 'update'
                ? { _id: world.objectIds[index], _version: version }
                : { 'lookup:_id': { [type === 'person' ? 'note' : 'code']: word }, _version: version }
          const body = {
            _objecttype: type,
            _mask: mask,
            ...(type === 'work' && tags ? { _tags: tags.map((_id) => ({ _id })) } : {}),
            ...(owner ? { _owner: { _basetype: 'user', user: { _id: owner } } } : {}),
            [type]: {
              ...identity,
              ...(type !== 'person' && (pool || how === 'create')
                ? { _pool: { pool: { _id: pool ?? names.pools[0] } } }
                : {}),
              ...values(world),
              ...(type === 'work' ? { '_nested:work__part': rows.map((row) => row(world)) } : {}),
              ...(type === 'place' && parent !== null ? { _id_parent: world.objectIds[parent] } : {}),
            },
          }
          const query = { format: form, strict, ...(dry ? { dry_run: 1 } : {}) }
          return { method: 'POST', path: `/db/${type}`, query, body: [body] }
        }),
    )
  const remove = (dry: boolean): fc.Arbitrary<Twin> =>
    fc
      .record({
        target,
        version: fc.constantFrom(1, 1, 2),
        // Without dry run only what changes nothing of the scene: a question, and what is not in the trash.
        policy: dry
          ? some(undefined, undefined, 'setnull', 'remove', 'undelete', 'purge')
          : some(undefined, 'undelete', 'purge'),
      })
      .map(({ target: { type, index }, version, policy }) => (world) => ({
        method: 'DELETE',
        path: `/db/${type}`,
        query: { delete_policy: policy, ...(dry ? { dry_run: 1 } : {}) },
        body: [[world.objectIds[index], version, null]],
        mayBeBlocked: policy === 'setnull' || policy === 'remove',
      }))

  return {
    reads: {
      'GET /db/{objecttype}/{mask}/{id}': one((world, index) => world.objectIds[index]),
      'GET /db/{objecttype}/{mask}/system_object_id/{id}': one((world, index) => world.ids[index]),
      'GET /db/{objecttype}/{mask}/global_object_id/{id}': one((world, index) => `${world.ids[index]}@test`),
      'GET /db/{objecttype}/{mask}/list': list,
      'POST /search': search.map(
        (body): Twin =>
          () => ({ method: 'POST', path: '/search', body }),
      ),
      'GET /search': search.map(
        (body): Twin =>
          () => ({ method: 'GET', path: '/search', query: { BODY: JSON.stringify(body) } }),
      ),
      'GET /event/poll/{fromEventId}': fc.constantFrom(3, 1000).map(
        (limit): Twin =>
          () => ({ method: 'GET', path: '/event/poll/0', query: { limit } }),
      ),
      'GET /transitions/manual': fc
        .record({ objecttype_id: fc.constantFrom(1, 2, 3), pool_id: fc.constantFrom(...names.pools) })
        .map(
          (query): Twin =>
            () => ({ method: 'GET', path: '/transitions/manual', query }),
        ),
      'GET /objecttype/{id}/stats': fc.constantFrom(1, 2, 3, 90).map(
        (id): Twin =>
          () => ({ method: 'GET', path: `/objecttype/${id}/stats` }),
      ),
      'GET /objecttype/{id}': fc.constantFrom(1, 2, 3, 90).map(
        (id): Twin =>
          () => ({ method: 'GET', path: `/objecttype/${id}` }),
      ),
      'GET /pool/{poolID}': fc.constantFrom(...names.pools, nobody).map(
        (id): Twin =>
          () => ({ method: 'GET', path: `/pool/${id}` }),
      ),
      'DELETE /pool/{poolID}': fc.constantFrom(...names.pools).map(
        (id): Twin =>
          () => ({ method: 'DELETE', path: `/pool/${id}` }),
      ),
    },
    writes: (dry) => ({
      'POST /db/{objecttype}': save(dry),
      'PATCH /db/{objecttype}': save(dry).map(
        (twin): Twin =>
          (world) => ({ ...twin(world), method: 'PATCH' }),
      ),
      'DELETE /db/{objecttype}': remove(dry),
      'POST /transitions/{id}/run': fc
        .record({
          index: fc.nat(things.length - 1),
          transition: fc.constantFrom(...transitions, nobody),
          version: some(undefined, 1, 2),
        })
        .map(({ index, transition, version }) => (world) => ({
          method: 'POST',
          path: `/transitions/${transition}/run`,
          body: [{ _system_object_id: world.ids[index], ...(version ? { _version: version } : {}) }],
        })),
    }),
  }
}
