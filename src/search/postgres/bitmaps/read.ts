/** Reads columns from PostgreSQL: each with one statement through all documents of a type. */
import type { Queryable } from '../../../platform/postgres/db.ts'
import { createYielder, yieldIfDue } from '../../../platform/process/cooperative-yield.ts'
import type { SearchField } from '../../plan/fields.ts'
import { partsSql } from '../query/conditions/key-ranges.ts'
import { microseconds } from '../query/sql/sql.ts'
import { type KeySlot, keySql } from '../slots.ts'
import {
  isBelow,
  type KeyColumn,
  type MatchColumn,
  type NumberColumn,
  newBits,
  type ObjectTable,
  type OrderColumn,
  type Parts,
  placeOf,
  type SetColumn,
  setBit,
} from './column.ts'

/** The highest number of objects of a type whose columns are kept. */
const mostObjects = 2_000_000
/** The highest id that fits in 32 bits. */
const highestId = 2 ** 31 - 1
/** The highest number of sets whose positions fit in 16 bits. */
const mostShort = 65_535

/** null: there are too many. */
export async function readTable(db: Queryable, type: number): Promise<ObjectTable | null> {
  const { rows } = await db.query<{ few: boolean; asOf: number } & Record<'ids' | 'shared' | 'people', Buffer | null>>(
    `with state as materialized (
       select ${microseconds('changed_at')} as as_of,
         (select count(*) from (select from search_document where objecttype = $1 limit $2 + 1) d) <= $2
           and (select coalesce(max(id), 0) from search_document) <= $3 as few
       from search_state
     )
     select few, state.as_of as "asOf", ids, shared, people from state left join (
       select string_agg(int4send(id::int), ''::bytea order by id) as ids,
         string_agg(int4send(access_set), ''::bytea order by id) as shared,
         string_agg(int4send(people_set), ''::bytea order by id) as people
       from search_document where (select few from state) and objecttype = $1 and not deleted
     ) d on state.few`,
    [type, mostObjects, highestId],
    'search-column-objects',
  )
  const row = rows[0]
  if (!row?.few) return null
  const none = Buffer.alloc(0)
  return {
    type,
    asOf: row.asOf,
    ids: new Uint32Array(toNumbers(row.ids ?? none).buffer),
    shared: await setsIn(row.shared ?? none),
    people: await setsIn(row.people ?? none),
  }
}

async function setsIn(bytes: Buffer): Promise<SetColumn> {
  const { places: of, numbers } = await places(toNumbers(bytes), [])
  return { of: numbers.length > mostShort ? of : Uint16Array.from(of), numbers }
}

/** Numbers as positions in a list of the distinct numbers. */
async function places(numbers: Int32Array, first: readonly number[]) {
  const yielder = createYielder()
  const known = new Map<number, number>()
  const list = [...first]
  const found = new Int32Array(numbers.length)
  for (let index = 0; index < numbers.length; index++) {
    const number = numbers[index] as number
    let place = known.get(number)
    if (place === undefined) {
      place = list.push(number) - 1
      known.set(number, place)
    }
    found[index] = place
    if (index % 4096 === 0) await yieldIfDue(yielder)
  }
  return { places: found, numbers: list }
}

/** Objects that fulfil a condition over search_document under the alias `d`. */
export async function readMatches(
  db: Queryable,
  { type, ids }: ObjectTable,
  sql: string,
  values: readonly unknown[],
): Promise<MatchColumn> {
  const { rows } = await db.query<{ ids: Buffer | null }>(
    `select string_agg(int4send(d.id::int), ''::bytea) as ids from search_document d
     where d.objecttype = ${Number(type)} and not d.deleted and ${sql}`,
    values,
  )
  const bits = newBits(ids.length)
  await eachPlace(ids, rows[0]?.ids ?? null, (place) => setBit(bits, place))
  return { kind: 'matches', bits }
}

/** A number of each document. */
export async function readNumbers(db: Queryable, { type, ids }: ObjectTable, sql: string): Promise<NumberColumn> {
  const { rows } = await db.query<{ ids: Buffer | null; numbers: Buffer | null }>(
    `select string_agg(int4send(id::int), ''::bytea) as ids, string_agg(int4send(number), ''::bytea) as numbers
     from (select d.id, ${sql} as number from search_document d where d.objecttype = $1 and not d.deleted) n
     where number is not null`,
    [type],
  )
  const [row] = rows
  const placeOfObject = new Int32Array(ids.length)
  const known = await places(toNumbers(row?.numbers ?? Buffer.alloc(0)), [0])
  await eachPlace(ids, row?.ids ?? null, (place, index) => {
    placeOfObject[place] = known.places[index] as number
  })
  return { kind: 'numbers', placeOf: placeOfObject, numbers: known.numbers }
}

/** Parts of the sort keys of a field of numbers or dates. */
export async function readKeys(
  db: Queryable,
  { type, ids }: ObjectTable,
  { field, place: slot }: { field: SearchField; place: KeySlot },
): Promise<KeyColumn> {
  const { first, last } = partsSql(field, 'key')
  const isOne = field.kind === 'number'
  const { rows } = await db.query<{ ids: Buffer | null; firsts: Buffer | null; lasts: Buffer | null }>(
    `select string_agg(int4send(id::int), ''::bytea) as ids, string_agg(${first}, ''::bytea) as firsts,
       ${isOne ? 'null::bytea' : `string_agg(${last}, ''::bytea)`} as lasts
     from (select d.id, ${keySql(slot, 'd')} as key from search_document d where d.objecttype = $1 and not d.deleted) k
     where key is not null`,
    [type],
  )
  const [row] = rows
  const has = newBits(ids.length)
  const firsts = new Uint32Array(2 * ids.length)
  const lasts = isOne ? firsts : new Uint32Array(2 * ids.length)
  const read = toNumbers(row?.firsts ?? Buffer.alloc(0))
  const readLasts = isOne ? read : toNumbers(row?.lasts ?? Buffer.alloc(0))
  let [highestFirst, lowestLast]: [Parts, Parts] = [
    [0, 0],
    [highest, highest],
  ]
  await eachPlace(ids, row?.ids ?? null, (place, index) => {
    setBit(has, place)
    for (const part of [0, 1]) {
      firsts[2 * place + part] = read[2 * index + part] as number
      lasts[2 * place + part] = readLasts[2 * index + part] as number
    }
    const [first, last] = [partsAt(firsts, place), partsAt(lasts, place)]
    if (isBelow(highestFirst, first)) highestFirst = first
    if (isBelow(last, lowestLast)) lowestLast = last
  })
  return { kind: 'keys', has, firsts, lasts, highestFirst, lowestLast }
}

const highest = 2 ** 32 - 1

const partsAt = (parts: Uint32Array, place: number): Parts => [
  parts[2 * place] as number,
  parts[2 * place + 1] as number,
]

/** Objects in an order. `sql` is their condition with its `order by`, over search_document under the alias `d`. */
export async function readOrder(
  db: Queryable,
  { type, ids }: ObjectTable,
  sql: string,
  values: readonly unknown[],
): Promise<OrderColumn> {
  const { rows } = await db.query<{ ids: Buffer | null }>(
    `select string_agg(int4send(id::int), ''::bytea) as ids from (
       select d.id from search_document d where d.objecttype = ${Number(type)} and not d.deleted and ${sql}) o`,
    values,
  )
  const found = new Uint32Array(ids.length)
  let count = 0
  await eachPlace(ids, rows[0]?.ids ?? null, (place) => {
    found[count++] = place
  })
  return { kind: 'order', places: found.slice(0, count) }
}

/**
 * Calls `act` for each of the read objects that the table has, with its position in the table and its index among the read ones.
 */
async function eachPlace(
  ids: Uint32Array,
  read: Buffer | null,
  act: (place: number, index: number) => void,
): Promise<void> {
  if (!read) return
  const yielder = createYielder()
  const wanted = toNumbers(read)
  for (let index = 0; index < wanted.length; index++) {
    const place = placeOf(ids, wanted[index] as number)
    if (place !== -1) act(place, index)
    if (index % 4096 === 0) await yieldIfDue(yielder)
  }
}

/** Four bytes each, the highest first. */
function toNumbers(bytes: Buffer): Int32Array {
  const own = new Uint8Array(bytes)
  Buffer.from(own.buffer).swap32()
  return new Int32Array(own.buffer)
}
