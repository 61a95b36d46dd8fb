/** Finds, counts and orders objects by columns in memory: nanoseconds for each, where PostgreSQL takes microseconds. */
import { createYielder, type Yielder } from '../../../platform/process/cooperative-yield.ts'
import { type AccessSetCondition, isAmong, type KnownSets } from '../query/access/access-sets.ts'
import {
  clearBit,
  hasBit,
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

/** All conditions on an object. */
export interface Question {
  readonly table: ObjectTable
  readonly conditions: readonly MatchColumn[]
  readonly among: readonly { readonly ids: readonly number[]; readonly not: boolean }[]
  readonly ranges: readonly {
    readonly keys: KeyColumn
    readonly atLeast: bigint | null
    readonly atMost: bigint | null
  }[]
  /** Objects that have changed since. They are matched in PostgreSQL instead. */
  readonly without: readonly number[]
}

/** Words of bits that are processed before other work gets its turn. */
const stretch = 1024

export async function findMatches({ table, conditions, among, ranges, without }: Question): Promise<Uint32Array> {
  const yielder = createYielder()
  const bits = allBits(table)
  for (const { bits: fulfilled } of conditions) {
    andBits(bits, fulfilled)
    if (yielder.due()) await yielder.yield()
  }
  for (const { ids, not } of among) keepAmong(bits, table, ids, not)
  for (const id of without) {
    const place = placeOf(table.ids, id)
    if (place !== -1) clearBit(bits, place)
  }
  for (const { keys, atLeast, atMost } of ranges) {
    andBits(bits, keys.has)
    const [least, most] = [atLeast === null ? null : partsOf(atLeast), atMost === null ? null : partsOf(atMost)]
    if (least && isBelow(keys.lowestLast, least)) {
      await eachStretch(bits, yielder, (start, end) => keepAtLeast(bits, start, end, keys.lasts, least))
    }
    if (most && isBelow(most, keys.highestFirst)) {
      await eachStretch(bits, yielder, (start, end) => keepAtMost(bits, start, end, keys.firsts, most))
    }
  }
  return bits
}

/** The objects that fulfil a condition of access; null: the result for some of them is not in memory. */
export async function findAccessible(table: ObjectTable, known: AccessSetCondition): Promise<MatchColumn | null> {
  const bits = await accessibleBits(table, known)
  return bits && { kind: 'matches', bits }
}

async function accessibleBits(table: ObjectTable, known: AccessSetCondition): Promise<Uint32Array | null> {
  if (known.is === 'sets') return bitsOfSets(table, table[known.kind], known.sets)
  if (known.is === 'member') return bitsOfLists(table, known.member.objects.lists)
  if (known.is === 'not') {
    const bits = await accessibleBits(table, known.of)
    const rest = allBits(table)
    if (bits)
      for (let index = 0; index < rest.length; index++) rest[index] = (rest[index] as number) & ~(bits[index] as number)
    return bits && rest
  }
  const all = []
  for (const each of known.of) {
    const bits = await accessibleBits(table, each)
    if (!bits) return null
    all.push(bits)
  }
  const [first, ...others] = all
  if (!first) return known.is === 'and' ? allBits(table) : newBits(table.ids.length)
  for (const bits of others) (known.is === 'and' ? andBits : orBits)(first, bits)
  return first
}

/** The objects of collections. */
async function bitsOfLists(table: ObjectTable, lists: readonly Float64Array[]): Promise<Uint32Array> {
  const yielder = createYielder()
  const bits = newBits(table.ids.length)
  for (const ids of lists) {
    for (let start = 0; start < ids.length; start += listedAtOnce) {
      setListed(bits, table.ids, ids, start, Math.min(ids.length, start + listedAtOnce))
      if (yielder.due()) await yielder.yield()
    }
  }
  return bits
}

/** Entries of a list that are looked up together. */
const listedAtOnce = 2048

function setListed(bits: Uint32Array, ids: Uint32Array, listed: Float64Array, start: number, end: number): void {
  for (let index = start; index < end; index++) {
    const place = placeOf(ids, listed[index] as number)
    if (place !== -1) setBit(bits, place)
  }
}

async function bitsOfSets(
  table: ObjectTable,
  { of, numbers }: SetColumn,
  sets: KnownSets,
): Promise<Uint32Array | null> {
  const fits = new Uint8Array(numbers.length)
  for (const [place, set] of numbers.entries()) {
    const among = isAmong(sets, set)
    if (among === null) return null
    fits[place] = among ? 1 : 0
  }
  const bits = allBits(table)
  if (fits.includes(0))
    await eachStretch(bits, createYielder(), (start, end) => keepFitting(bits, start, end, of, fits))
  return bits
}

function allBits({ ids }: ObjectTable): Uint32Array {
  const bits = newBits(ids.length).fill(-1)
  if (ids.length % 32 > 0) bits[bits.length - 1] = 2 ** (ids.length % 32) - 1
  return bits
}

function keepAmong(bits: Uint32Array, table: ObjectTable, ids: readonly number[], not: boolean): void {
  const listed = newBits(table.ids.length)
  for (const id of ids) {
    const place = placeOf(table.ids, id)
    if (place !== -1) setBit(listed, place)
  }
  for (let index = 0; index < bits.length; index++) {
    const word = listed[index] as number
    bits[index] = (bits[index] as number) & (not ? ~word : word)
  }
}

function andBits(bits: Uint32Array, others: Uint32Array): void {
  for (let index = 0; index < bits.length; index++) bits[index] = (bits[index] as number) & (others[index] as number)
}

function orBits(bits: Uint32Array, others: Uint32Array): void {
  for (let index = 0; index < bits.length; index++) bits[index] = (bits[index] as number) | (others[index] as number)
}

// The following three process tens of thousands of objects for a search, so each is a loop of its own without calls.

function keepFitting(bits: Uint32Array, start: number, end: number, setOf: SetColumn['of'], fits: Uint8Array): void {
  for (let index = start; index < end; index++) {
    let kept = 0
    for (let word = bits[index] as number; word !== 0; word &= word - 1) {
      const bit = word & -word
      if (fits[setOf[(index << 5) + 31 - Math.clz32(bit)] as number] === 1) kept |= bit
    }
    bits[index] = kept
  }
}

const partsOf = (value: bigint): Parts => [Number(value >> 32n), Number(value & 0xffffffffn)]

function keepAtLeast(bits: Uint32Array, start: number, end: number, parts: Uint32Array, [high, low]: Parts): void {
  for (let index = start; index < end; index++) {
    let kept = 0
    for (let word = bits[index] as number; word !== 0; word &= word - 1) {
      const bit = word & -word
      const place = (index << 6) + 2 * (31 - Math.clz32(bit))
      const first = parts[place] as number
      if (first > high || (first === high && (parts[place + 1] as number) >= low)) kept |= bit
    }
    bits[index] = kept
  }
}

function keepAtMost(bits: Uint32Array, start: number, end: number, parts: Uint32Array, [high, low]: Parts): void {
  for (let index = start; index < end; index++) {
    let kept = 0
    for (let word = bits[index] as number; word !== 0; word &= word - 1) {
      const bit = word & -word
      const place = (index << 6) + 2 * (31 - Math.clz32(bit))
      const first = parts[place] as number
      if (first < high || (first === high && (parts[place + 1] as number) <= low)) kept |= bit
    }
    bits[index] = kept
  }
}

async function eachStretch(
  bits: Uint32Array,
  yielder: Yielder,
  act: (start: number, end: number) => void,
): Promise<void> {
  for (let start = 0; start < bits.length; start += stretch) {
    act(start, Math.min(bits.length, start + stretch))
    if (yielder.due()) await yielder.yield()
  }
}

export function countBits(bits: Uint32Array): number {
  let count = 0
  for (let word of bits) {
    word -= (word >>> 1) & 0x55555555
    word = (word & 0x33333333) + ((word >>> 2) & 0x33333333)
    count += (((word + (word >>> 4)) & 0xf0f0f0f) * 0x1010101) >>> 24
  }
  return count
}

/** The number of matches with each number. */
export async function countNumbers(
  bits: Uint32Array,
  { placeOf: places, numbers }: NumberColumn,
): Promise<Map<number, number>> {
  const counts = new Int32Array(numbers.length)
  await eachStretch(bits, createYielder(), (start, end) => addNumbers(bits, start, end, places, counts))
  const counted = new Map<number, number>()
  for (let place = 1; place < counts.length; place++) {
    const count = counts[place] as number
    if (count > 0) counted.set(numbers[place] as number, count)
  }
  return counted
}

function addNumbers(bits: Uint32Array, start: number, end: number, places: Int32Array, counts: Int32Array): void {
  for (let index = start; index < end; index++) {
    for (let word = bits[index] as number; word !== 0; word &= word - 1) {
      const place = places[(index << 5) + 31 - Math.clz32(word & -word)] as number
      counts[place] = (counts[place] as number) + 1
    }
  }
}

/** Ids of the matches between two positions in the order. */
export async function idsInOrder(
  bits: Uint32Array,
  { ids }: ObjectTable,
  { places }: OrderColumn,
  from: number,
  to: number,
): Promise<number[]> {
  const yielder = createYielder()
  const found: number[] = []
  let passed = 0
  for (let start = 0; start < places.length && passed < to; start += passedAtOnce) {
    const end = Math.min(places.length, start + passedAtOnce)
    const there = countPlaces(bits, places, start, end)
    if (passed + there <= from) passed += there
    else {
      for (let index = start; index < end && passed < to; index++) {
        const place = places[index] as number
        if (hasBit(bits, place) && passed++ >= from) found.push(ids[place] as number)
      }
    }
    if (yielder.due()) await yielder.yield()
  }
  return found
}

/** Positions of an order that are skipped together, in a loop of its own without calls or branches. */
const passedAtOnce = 1024

function countPlaces(bits: Uint32Array, places: Uint32Array, start: number, end: number): number {
  let count = 0
  for (let index = start; index < end; index++) {
    const place = places[index] as number
    count += ((bits[place >>> 5] as number) >>> (place & 31)) & 1
  }
  return count
}
