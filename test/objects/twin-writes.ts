import fc from 'fast-check'
import {
  columnsOf,
  filteredMask,
  loansField,
  masks,
  nestedOf,
  someValue,
  type TypeName,
  targets,
  typeNames,
  words,
} from '../support/hidden/model.ts'
import { hasGrants, hasPool, homePool, keyOf } from '../support/hidden/scene.ts'
import {
  type Draw,
  flag,
  format,
  type Generators,
  indexesOf,
  maskNames,
  mostly,
  nobody,
  some,
  type Twin,
  type TwinWorld,
} from './twin-requests.ts'

/**
 * Random requests that change objects of a scene. Most of them ask for nothing that the caller may not do, so that they are
 * carried out; the others name what is hidden in every place where something can be named.
 */

type Part = (world: TwinWorld) => unknown
type Block = (world: TwinWorld) => Record<string, unknown>

/** @param dry changes nothing. */
export function twinWrites(draw: Draw, dry: boolean): Generators {
  const { scene, knowledge, names } = draw
  // What changes who sees the object would show what is not the same there.
  const mayMove = (index: number): boolean => dry || knowledge.mayKnowAll(index) || !knowledge.mayRead(index)
  const { things } = scene
  const dryRun = dry ? { dry_run: 1 } : {}
  const typed = fc.constantFrom(...typeNames)
  const all = (type: TypeName) => indexesOf(scene, type)

  /** Ways to name an object in a payload. */
  const named = (type: TypeName, wild: boolean, usable: (index: number) => boolean): fc.Arbitrary<Part> => {
    const known = all(type).filter(usable)
    if (!wild && known.length === 0) return fc.constant(() => null)
    const index = fc.constantFrom(...(wild ? all(type) : known))
    return fc
      .record({ index, how: fc.nat(wild ? 6 : 3), word: fc.constantFrom(...words) })
      .map(({ index: at, how, word }) => (world) => {
        const id = world.ids[at]
        if (how === 0) return { _uuid: world.uuids[at] }
        if (how === 1) return { _global_object_id: `${id}@test` }
        if (how === 2) return { [type]: { _id: world.objectIds[at] } }
        if (how === 4) return { [type]: { 'lookup:_id': { [type === 'person' ? 'note' : 'code']: word } } }
        if (how === 5) return { [type]: { 'lookup:_id': { reference: keyOf(at) } } }
        return { _system_object_id: id }
      })
  }

  function block(type: TypeName, nested: boolean, wild: boolean): fc.Arbitrary<Block> {
    const fields = columnsOf(type, nested).map(([name, kind]) => {
      const both = nested && type === 'person'
      const usable = (index: number) => (both ? knowledge.mayWrite(index) : knowledge.mayRead(index))
      const value: fc.Arbitrary<Part> = kind.startsWith('link:')
        ? named(kind.slice('link:'.length) as TypeName, wild, usable)
        : kind === 'key'
          ? keys(wild).map((plain) => () => plain)
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

  /** Keys that nobody has, or those of the things of the scene. */
  const keys = (wild: boolean) =>
    wild ? fc.nat(things.length - 1).map(keyOf) : fc.nat(99_999_999).map((n) => `new-${n}`)

  /** The loans below a work: those that the caller sees sent back, and a new one. */
  const loans = (index: number | null): fc.Arbitrary<Part> =>
    fc
      .record({ kept: fc.boolean(), added: flag, borrower: fc.constantFrom(...words) })
      .map(({ kept, added, borrower }) => (world) => {
        const below = things.flatMap((thing, at) =>
          index !== null && thing.type === 'loan' && thing.values.work === index && knowledge.mayRead(at) ? [at] : [],
        )
        const stored = below.map((at) => ({
          loan: { _id: world.objectIds[at], _version: world.versions[at], borrower },
        }))
        return [...(kept ? stored : []), ...(added ? [{ loan: { borrower } }] : [])]
      })

  /** What is done to what is stored: rows of the nested table and words of texts. */
  const operations = (type: TypeName, wild: boolean): fc.Arbitrary<Part> => {
    const nested = nestedOf[type]
    const table = `_nested:${type}__${nested}`
    const texts = columnsOf(type, false).flatMap(([name, kind]) => (kind.startsWith('text') ? [name] : []))
    const inRows = nested
      ? columnsOf(type, true).flatMap(([name, kind]) => (kind.startsWith('text') ? [name] : []))
      : []
    const word = fc.constantFrom(...words)
    const text = fc
      .record({
        field: fc.constantFrom(...texts, ...inRows.map((name) => `${table}.${name}`)),
        search: word,
        with: word,
        whole_words: flag,
      })
      .map(
        (one): Part =>
          () => ({ op: 'replace_text', ...one }),
      )
    const row = block(type, true, wild)
    const rows = fc
      .record({ op: some('append', 'prepend', 'remove', 'replace'), row, other: row, unless_present: flag })
      .map(
        ({ op, row: made, other, unless_present }): Part =>
          (world) => ({
            op,
            field: table,
            values: [made(world)],
            ...(op === 'replace' ? { with: other(world) } : {}),
            ...(unless_present && op === 'append' ? { unless_present: true } : {}),
          }),
      )
    return fc
      .array(nested ? fc.oneof(text, rows, rows) : text, { minLength: 1, maxLength: 2 })
      .map((list) => (world) => list.map((one) => one(world)))
  }

  const target = (type: TypeName, wild: boolean) => {
    const usable = (index: number) => knowledge.mayRead(index) && knowledge.mayWrite(index)
    const known = all(type).filter(usable)
    const index = wild || known.length === 0 ? fc.constantFrom(...all(type)) : fc.constantFrom(...known)
    return index.chain((at) => {
      const fits = (mask: string) =>
        knowledge.mayWrite(at, mask) && (mask !== filteredMask || (things[at]?.tags.includes(1) ?? false))
      const given = ['standard', ...Object.keys(masks[type])].filter(fits).map((mask) => `${type}__${mask}`)
      const mask = wild || given.length === 0 ? fc.constantFrom(...maskNames(type)) : fc.constantFrom(...given)
      return mask.map((each) => ({ index: at, mask: each }))
    })
  }

  const saveOf = (
    type: TypeName,
    wild: boolean,
    how: 'create' | 'update' | 'lookup' | 'group',
    method: 'POST' | 'PATCH',
  ) =>
    fc
      .record({
        target: target(type, wild),
        second: target(type, wild),
        values: block(type, false, wild),
        rows: nestedOf[type] ? fc.array(block(type, true, wild), { maxLength: 2 }) : fc.constant<Block[]>([]),
        version: fc.constantFrom(1, 1, 2),
        word: fc.constantFrom(...words),
        pool: wild ? fc.option(fc.nat(names.pools.length - 1)) : some(null, null, null, null, homePool),
        tags: fc.option(fc.subarray([...names.tags]), { freq: 2 }),
        owner: wild ? fc.option(fc.constantFrom(...names.users), { freq: 3 }) : fc.constant(null),
        above: fc.option(fc.uniqueArray(fc.nat(20), { minLength: 1, maxLength: 2 })),
        acl: flag,
        format,
        strict: wild ? flag : fc.constant(undefined),
        loans: fc.option(fc.nat(99)),
        operations: fc.option(operations(type, wild), { freq: 2 }),
        // What the fields of the payload set is not what is stored.
        alone: flag,
      })
      .chain((made) => {
        const at = how === 'create' ? null : made.target.index
        return loans(at).map((rows) => ({ ...made, loanRows: rows }))
      })
      .map((made): Twin => {
        const { target: it, second, values, rows, version, word, tags, owner } = made
        const mask = how === 'create' && !wild ? `${type}__standard` : it.mask
        return (world) => {
          const stored = (index: number) => (knowledge.mayRead(index) && !wild ? world.versions[index] : version)
          // Whatever else has that value makes it ambiguous, unless the caller may not know.
          const key = { person: 'reference', topic: 'reference', loan: 'borrower', place: 'code', work: 'code' }[type]
          const value = wild ? word : (things[it.index]?.values[key] ?? word)
          const identity = {
            create: {},
            update: { _id: world.objectIds[it.index], _version: stored(it.index) },
            lookup: { 'lookup:_id': { [key]: value }, _version: stored(it.index) },
            group: { _id: [...new Set([world.objectIds[it.index], world.objectIds[second.index]])] },
          }[how]
          const edits = (method === 'PATCH' || how === 'group') && made.operations?.(world)
          const alone = edits && made.alone
          const moves = how === 'create' || (how === 'update' && mayMove(it.index))
          const poolId = made.pool === null && how === 'create' ? names.pools[homePool] : names.pools[made.pool ?? -1]
          const body = {
            _objecttype: type,
            _mask: mask,
            ...(type === 'work' && tags && moves ? { _tags: tags.map((_id) => ({ _id })) } : {}),
            ...(owner && moves ? { _owner: { _basetype: 'user', user: { _id: owner } } } : {}),
            ...(made.acl && how === 'create' && hasGrants(type)
              ? { _acl: [{ who: { user: { _id: names.users[1] } }, rights: { read: {} } }] }
              : {}),
            ...(edits ? { _operations: edits } : {}),
            [type]: {
              ...identity,
              ...(hasPool(type) && poolId && moves ? { _pool: { pool: { _id: poolId } } } : {}),
              ...(alone ? {} : values(world)),
              ...(nestedOf[type] && !alone
                ? { [`_nested:${type}__${nestedOf[type]}`]: rows.map((row) => row(world)) }
                : {}),
              ...(made.above ? parents(type, world, made.above, wild ? things.length : it.index) : {}),
              ...(type === 'work' && made.loans !== null && made.loans % 2 === 0
                ? { [`_reverse_nested:${loansField}`]: made.loanRows(world) }
                : {}),
            },
          }
          const query = {
            format: made.format,
            strict: made.strict,
            ...(type === 'work' && made.loans === null ? { skip_reverse_nested: 1 } : {}),
            ...dryRun,
          }
          return { method, path: `/db/${type}`, query, body: [body], kind: method === 'POST' ? how : `PATCH ${how}` }
        }
      })

  /** Parents are earlier ones, so that there is no circle. */
  function parents(type: TypeName, world: TwinWorld, picks: readonly number[], before: number): object {
    const known = all(type).filter((index) => index < before && (before === things.length || knowledge.mayRead(index)))
    const [first, ...more] = [...new Set(picks.map((pick) => known[pick % known.length]))]
    if (first === undefined) return {}
    if (type === 'place') return { _id_parent: world.objectIds[first] }
    if (type !== 'topic') return {}
    return { _parents: [first, ...more].map((index) => ({ _system_object_id: world.ids[index as number] })) }
  }

  const wild = fc.constantFrom(false, false, false, true)
  const usableTypes = typeNames.filter((type) =>
    all(type).some((index) => knowledge.mayRead(index) && knowledge.mayWrite(index)),
  )
  const saves = (method: 'POST' | 'PATCH', ...hows: ('create' | 'update' | 'lookup' | 'group')[]) =>
    fc
      .record({ isWild: wild, how: fc.constantFrom(...hows) })
      .chain(({ isWild, how }) =>
        (how === 'create' || isWild ? typed : fc.constantFrom(...usableTypes)).chain((type) =>
          saveOf(type, isWild, how, method),
        ),
      )

  const remove = fc
    .record({
      type: fc.constantFrom(...usableTypes),
      isWild: wild,
      pick: fc.nat(999),
      version: fc.constantFrom(1, 1, 2),
      drawn: some(undefined, 'setnull', 'remove', 'remove', 'undelete', 'purge'),
    })
    .map(({ type, isWild, pick, version, drawn }): Twin => {
      const indexes = all(type).filter((index) => isWild || (knowledge.mayRead(index) && knowledge.mayWrite(index)))
      return (world) => {
        const { created } = world
        // What the caller has made itself is what nothing hidden links to.
        const own = !dry && !isWild && created.length > 0 ? created[pick % created.length] : undefined
        const index = indexes[pick % indexes.length] ?? (all(type)[0] as number)
        const known = own ?? { type, id: world.objectIds[index] as number, systemObjectId: world.ids[index] as number }
        const stored = own || (knowledge.mayRead(index) && !isWild)
        const inTrash = world.isTrashed(known.systemObjectId)
        const policy = isWild || dry ? drawn : inTrash ? (pick % 2 ? 'undelete' : 'purge') : drawn
        return {
          method: 'DELETE',
          path: `/db/${known.type}`,
          query: { delete_policy: policy, ...dryRun },
          body: [[known.id, stored ? world.versionOf(known.systemObjectId) : version, null]],
          mayBeBlocked: policy !== undefined,
          isEntangled: !own && draw.isEntangled(index),
          kind: `DELETE ${policy ?? 'asked'}`,
        }
      }
    })

  const run = fc
    .record({
      index: mostly(
        things.flatMap((_, index) => (knowledge.mayKnowAll(index) && knowledge.mayWrite(index) ? [index] : [])),
        things.flatMap((_, index) => (mayMove(index) ? [index] : [])),
        3,
      ),
      transition: mostly(names.transitions, [nobody]),
      version: mostly<string | number | undefined>([undefined, 'stored'], [1, 2]),
    })
    .map(
      ({ index, transition, version }): Twin =>
        (world) => ({
          method: 'POST',
          path: `/transitions/${transition}/run`,
          body: [
            {
              _system_object_id: world.ids[index],
              ...(version ? { _version: version === 'stored' ? world.versions[index] : version } : {}),
            },
          ],
          kind: 'run',
        }),
    )

  const event = fc.record({ index: fc.nat(things.length - 1), type: some('DETAIL_VIEW', 'SEARCH') }).map(
    ({ index, type }): Twin =>
      (world) => ({
        method: 'POST',
        path: '/event',
        body: { event: { type, system_object_id: world.ids[index], objecttype: things[index]?.type, info: {} } },
        kind: 'event',
      }),
  )

  const saved = {
    'POST /db/{objecttype}': saves('POST', 'create', 'create', 'update', 'update', 'update', 'lookup', 'group'),
    'PATCH /db/{objecttype}': saves('PATCH', 'update', 'update', 'group', 'lookup'),
    'DELETE /db/{objecttype}': remove,
  }
  // What a run does and an event is cannot be tried without being done.
  return dry ? saved : { ...saved, 'POST /transitions/{id}/run': run, 'POST /event': event }
}
