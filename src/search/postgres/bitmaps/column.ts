/** Columns of all live objects of a type: lists in which each object has the same position. */

/** The objects themselves. All columns of a table have the state of one moment of the index. */
export interface ObjectTable {
  readonly type: number
  /** Moment of the last batch of the index that it has, in microseconds since 1970. */
  readonly asOf: number
  /** System object ids, ascending. */
  readonly ids: Uint32Array
  /** The access lexemes of each object: those that name no people, and those that name people (index/access-sets.ts). */
  readonly shared: SetColumn
  readonly people: SetColumn
}

/** By object: position of its set in `numbers`, the list of all sets that occur. */
export interface SetColumn {
  readonly of: Uint16Array | Int32Array
  readonly numbers: readonly number[]
}

/** Objects that fulfil a condition, as bits. */
export interface MatchColumn {
  readonly kind: 'matches'
  readonly bits: Uint32Array
}

/** By object: position of its number in `numbers`. The first position means "no number". */
export interface NumberColumn {
  readonly kind: 'numbers'
  readonly placeOf: Int32Array
  readonly numbers: readonly number[]
}

/** First and last part of sort keys, where there is one (key-ranges.ts): each as two numbers of 32 bits, the higher one first. */
export interface KeyColumn {
  readonly kind: 'keys'
  readonly has: Uint32Array
  readonly firsts: Uint32Array
  readonly lasts: Uint32Array
  /** The highest of the first parts and the lowest of the last ones: a range that reaches these excludes nothing. */
  readonly highestFirst: Parts
  readonly lowestLast: Parts
}

/** Numbers of 64 bits as pairs; a `bigint` would be an object for each, to be allocated and collected. */
export type Parts = readonly [high: number, low: number]

/** Whether the first one is less than the second one. */
export const isBelow = ([high, low]: Parts, [otherHigh, otherLow]: Parts): boolean =>
  high < otherHigh || (high === otherHigh && low < otherLow)

/** Positions of the objects, in an order of hits. */
export interface OrderColumn {
  readonly kind: 'order'
  readonly places: Uint32Array
}

/** Objects that have a lexeme: their positions, ascending. Where they are many, bits take less. */
export interface PlacesColumn {
  readonly kind: 'places'
  readonly places: Uint32Array
  /** Whether these are all of them: those of a lexeme that very many objects have are not read. */
  readonly whole: boolean
}
export type LexemeColumn = PlacesColumn | MatchColumn

export type Column = MatchColumn | NumberColumn | KeyColumn | OrderColumn | PlacesColumn

export function bytesOfColumn(column: Column): number {
  switch (column.kind) {
    case 'matches':
      return column.bits.byteLength
    case 'numbers':
      return column.placeOf.byteLength + 8 * column.numbers.length
    case 'keys':
      return (
        column.has.byteLength +
        column.firsts.byteLength +
        (column.lasts === column.firsts ? 0 : column.lasts.byteLength)
      )
    case 'order':
    case 'places':
      return column.places.byteLength
  }
}

const bytesOfSets = ({ of, numbers }: SetColumn): number => of.byteLength + 8 * numbers.length

export const bytesOfTable = ({ ids, shared, people }: ObjectTable): number =>
  ids.byteLength + bytesOfSets(shared) + bytesOfSets(people)

/** Bits for this number of objects, none set. */
export const newBits = (objects: number): Uint32Array => new Uint32Array((objects + 31) >>> 5)

export function setBit(bits: Uint32Array, place: number): void {
  bits[place >>> 5] = (bits[place >>> 5] as number) | (1 << (place & 31))
}

export function clearBit(bits: Uint32Array, place: number): void {
  bits[place >>> 5] = (bits[place >>> 5] as number) & ~(1 << (place & 31))
}

export const hasBit = (bits: Uint32Array, place: number): boolean =>
  ((bits[place >>> 5] as number) & (1 << (place & 31))) !== 0

/** The objects that occur in an order. */
export function matchesIn({ ids }: ObjectTable, { places }: OrderColumn): MatchColumn {
  const bits = newBits(ids.length)
  for (const place of places) setBit(bits, place)
  return { kind: 'matches', bits }
}

/** Position of an object; -1: it is missing. */
export function placeOf(ids: Uint32Array, id: number): number {
  let [start, end] = [0, ids.length]
  while (start < end) {
    const middle = (start + end) >>> 1
    if ((ids[middle] as number) < id) start = middle + 1
    else end = middle
  }
  return ids[start] === id ? start : -1
}
