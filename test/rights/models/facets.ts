import assert from 'node:assert/strict'
import type { Json } from '../../support/client.ts'
import type { Drawing } from './elements.ts'
import { rootOf } from './elements.ts'
import type { Column } from './model.ts'
import { drawPath, type Path } from './paths.ts'
import { aboveOf, columnsOf, poolsAbove, valuesOf } from './values.ts'
import type { Thing } from './world.ts'

/** Aggregations: each with what it counts for a caller among the objects that were found. */

export interface Facet {
  readonly wire: object
  check(found: readonly Thing[], answer: Json, what: string): void
}

type Counts = Map<string | number, number>

export function drawFacet(drawing: Drawing): Facet {
  const { pick } = drawing
  const columns = drawing.types.flatMap(columnsOf)
  const terms = columns.filter(({ kind }) => !/link|l10n|daterange/.test(kind))
  const links = columns.filter(({ kind }) => kind === 'link')
  const kind = pick(['term', 'link', 'link', 'path', 'path', 'pool', 'tags', 'type', 'owner'] as const)
  const path = kind === 'path' ? drawPath(drawing, (column) => !/l10n|daterange/.test(column.kind)) : null
  if (path)
    return path.column.kind === 'link' ? linkFacet(drawing, path.column, path) : termFacet(drawing, path.column, path)
  if (kind === 'link' && links.length > 0) return linkFacet(drawing, pick(links))
  if (kind === 'pool') return poolFacet(drawing)
  if (kind === 'term' && terms.length > 0) return termFacet(drawing, pick(terms))
  return systemFacet(drawing, pick(['tags', 'type', 'owner'] as const))
}

function counted(found: readonly Thing[], of: (thing: Thing) => Iterable<string | number>): Counts {
  const counts: Counts = new Map()
  for (const thing of found) for (const value of new Set(of(thing))) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts
}

function assertTerms(answer: Json, counts: Counts, what: string): void {
  const told = new Map(answer.terms.map(({ term, count }: Json) => [term, count]))
  assert.deepEqual(
    told,
    new Map([...counts].map(([term, count]) => [String(term), count])),
    `${what} ${JSON.stringify(answer)}`,
  )
  assert.equal(answer.count, counts.size, what)
}

/** `path`: of the objects that it leads to. */
function termFacet(drawing: Drawing, column: Column, path?: Path): Facet {
  const { pick, knowledge } = drawing
  const termsOf = (thing: Thing): string[] => {
    const values = valuesOf(drawing, thing, column)
    if (column.kind === 'date') return values.map((value) => (value as { value: string }).value)
    const own = rootOf(column.table) === thing.type.table && knowledge.knows(thing.index, column)
    if (column.kind === 'boolean' && own && values.length === 0) return ['false']
    return values.map(String)
  }
  return {
    wire: { type: 'term', field: path?.name ?? column.fullName, limit: 100, sort: pick(['count', 'term']) },
    check(found, answer, what) {
      const counts = counted(found, (thing) => (path?.reached(thing) ?? [thing]).flatMap(termsOf))
      assertTerms(answer, counts, what)
    },
  }
}

function systemFacet({ pick, knowledge, names }: Drawing, kind: 'tags' | 'type' | 'owner'): Facet {
  const field = { tags: '_tags', type: '_objecttype', owner: '_owner' }[kind]
  return {
    wire: { type: 'term', field, limit: 100, sort: pick(['count', 'term']) },
    check(found, answer, what) {
      const counts = counted(found, ({ index, type, tags, owner }) => {
        if (kind === 'type') return [type.name]
        if (!knowledge.knowsSystem(index, kind)) return []
        if (kind === 'tags') return tags.map((tag) => names.tags[tag] as number)
        if (owner === null) return ['u1']
        const n = Number(owner.slice(1))
        return [owner.startsWith('u') ? `u${names.users[n]}` : `g${names.groups[n]}`]
      })
      assertTerms(answer, counts, what)
    },
  }
}

function poolFacet({ world, knowledge, names, pick }: Drawing): Facet {
  const rootPool = 1
  return {
    wire: { type: 'linked_object', field: '_pool', limit: 100, sort: pick(['count', 'term']) },
    check(found, answer, what) {
      const counts = counted(found, ({ index, pool }) => {
        if (pool === null || !knowledge.knowsSystem(index, 'pool')) return []
        if (!knowledge.knowsPool(pool)) return [names.pools[pool] as number]
        return [...poolsAbove(world, pool).map((each) => names.pools[each] as number), rootPool]
      })
      const told = new Map(answer.linked_objects.map(({ _id, count }: Json) => [_id, count]))
      assert.deepEqual(told, counts, `${what} ${JSON.stringify(answer)}`)
      for (const { _id, _path } of answer.linked_objects) {
        const pool = names.pools.indexOf(_id)
        if (pool === -1) continue
        const path = knowledge.knowsPool(pool)
          ? [
              rootPool,
              ...poolsAbove(world, pool)
                .reverse()
                .map((each) => names.pools[each]),
            ]
          : [_id]
        assert.deepEqual(
          _path.map((each: Json) => each.pool._id),
          path,
          what,
        )
      }
    },
  }
}

/** `path`: of the objects that it leads to. */
function linkFacet(drawing: Drawing, column: Column, path?: Path): Facet {
  const { world, knowledge, names, pick, titleOf } = drawing
  const targets = world.things.filter(({ type }) => type.index === column.target)
  const parent = targets.length === 0 ? undefined : pick([undefined, undefined, 0, pick(targets).index + 1])
  const filter = parent === undefined ? {} : { filter_parent: parent === 0 ? 0 : names.ids[parent - 1] }
  return {
    wire: {
      type: 'linked_object',
      field: path?.name ?? column.fullName,
      limit: 100,
      sort: pick(['count', 'term']),
      ...filter,
    },
    check(found, answer, what) {
      const all = counted(found, (thing) =>
        (path?.reached(thing) ?? [thing])
          .flatMap((each) => valuesOf(drawing, each, column) as number[])
          .flatMap((to) => (knowledge.sees(to) ? [to, ...aboveOf(world, to)] : [to])),
      )
      // Where an object stands only its readers know.
      const inPlace = (to: number): boolean => {
        if (parent === undefined) return true
        const { parents = [] } = world.things[to] ?? {}
        return knowledge.sees(to) && (parent === 0 ? parents.length === 0 : parents.includes(parent - 1))
      }
      const counts = new Map(
        [...all].flatMap(([to, count]) => (inPlace(to as number) ? [[names.ids[to as number], count]] : [])),
      )
      const told = new Map(answer.linked_objects.map((each: Json) => [each._system_object_id, each.count]))
      assert.deepEqual(told, counts, `${what} ${JSON.stringify(answer)}`)
      assert.equal(answer.count, counts.size, what)
      for (const each of answer.linked_objects) assertNamed(each, names.ids.indexOf(each._system_object_id), what)
    },
  }

  function assertNamed(each: Json, to: number, what: string): void {
    const sees = knowledge.sees(to)
    assert.equal(each._linked_object._not_allowed === true, !sees, what)
    assert.equal(each._id, sees ? names.objectIds[to] : null, what)
    assert.equal(each._linked_object._standard === undefined, !sees, what)
    const path = sees ? firstWay(to) : [to]
    assert.deepEqual(
      each._path.map((step: Json) => step._system_object_id),
      path.map((at) => names.ids[at]),
      what,
    )
    for (const [at, step] of each._path.entries()) {
      const index = path[at] as number
      assert.equal(step._not_allowed === true, !knowledge.sees(index), what)
      if (knowledge.sees(index)) assert.deepEqual(step._standard['1'].text, titleOf(index, 1) ?? {}, what)
    }
  }

  function firstWay(index: number): number[] {
    const [parent] = world.things[index]?.parents ?? []
    return parent === undefined ? [index] : [...firstWay(parent), index]
  }
}
