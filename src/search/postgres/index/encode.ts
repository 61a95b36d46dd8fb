/** Encodes search documents in PostgreSQL's binary form of COPY, which needs no quoting and parsing. */
import { createHash, hash } from 'node:crypto'
import { hash53 } from '../../document/hash.ts'
import type { Arena } from '../document/arena.ts'
import type { IndexDocument } from '../document/draft.ts'
import type { AccessSets } from './access-sets.ts'
import type { FacetSets } from './facet-sets.ts'

const signature = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
const trailer = Buffer.of(0xff, 0xff)

export const documentColumns =
  'id, objecttype, deleted, created_at, modified_at, valid_until, facets, sort_keys, names, access, digest, shown, far_keys, lexemes, place, access_set, people_set, parents_hash, changed_at'
const documentFields = documentColumns.split(', ').length
export const nestedColumns = 'id, row, parent, lexemes'

export interface EncodedDocument {
  readonly id: number
  /** Hash of all stored data of the document, including nested rows. */
  readonly digest: string
  readonly shown: number
  readonly parentsHash: number
  /** Whether the object was changed after its creation. */
  readonly revised: boolean
  /** Hash of the access lexemes. */
  readonly place: number
  /** One row of search_document. */
  readonly row: Buffer
  /** Rows of search_nested. */
  readonly nested: readonly Buffer[]
}

/**
 * Passes a whole COPY stream of rows to `send`, which must be done with it when its promise settles. The memory is used again, but
 * not before that: another service in the process may be writing at the same time.
 */
export async function withCopyStream(rows: readonly Buffer[], send: (bytes: Buffer) => Promise<void>): Promise<void> {
  const length = rows.reduce((sum, row) => sum + row.length, signature.length + trailer.length)
  const stream = spare.length < length ? Buffer.allocUnsafeSlow(length + (1 << 20)) : spare
  spare = Buffer.alloc(0)
  let at = signature.copy(stream)
  for (const row of rows) at += row.copy(stream, at)
  at += trailer.copy(stream, at)
  await send(stream.subarray(0, at))
  spare = stream
}

let spare = Buffer.alloc(0)

let scratch = Buffer.allocUnsafeSlow(1 << 16)

/** Sets that documents share, by their numbers. */
export interface SharedSets {
  readonly facets: Pick<FacetSets, 'number'>
  readonly access: Pick<AccessSets, 'number'>
  readonly people: Pick<AccessSets, 'number'>
}

export function encode(document: IndexDocument, { facets, access, people }: SharedSets, arena: Arena): EncodedDocument {
  const nested = document.rows.map((row) => {
    const writer = new Writer(row.lexemes.length)
    writer.count(4)
    writer.bigint(document.id)
    writer.int(row.row)
    writer.int(row.parent)
    writer.bytes(row.lexemes)
    return arena.keep(writer.written())
  })
  const keyBytes = [...document.sortKeys, ...document.farKeys].reduce((sum, key) => sum + (key?.length ?? 0) + 4, 0)
  const writer = new Writer(document.lexemes.length + document.names.length + document.access.length + keyBytes)
  writer.count(documentFields)
  writer.bigint(document.id)
  writer.int(document.objecttype)
  writer.boolean(document.deleted)
  writer.moment(document.createdAt)
  writer.moment(document.modifiedAt)
  if (document.validUntil === null) writer.nothing()
  else writer.moment(document.validUntil * 1000)
  writer.array(int4, facetNumbers(document, facets), (number) => writer.int(number))
  writer.array(bytea, document.sortKeys.slice(1), (key) => writer.bytes(key))
  writer.bytes(document.names)
  writer.bytes(document.access)
  const digestAt = writer.skipUuid()
  writer.bigint(document.shown)
  writer.array(bytea, document.farKeys.slice(1), (key) => writer.bytes(key))
  writer.bytes(document.lexemes)
  const place = placeOf(document)
  writer.bigint(place)
  writer.int(access.number(document.shared))
  writer.int(people.number(document.people))
  writer.bigint(document.parentsHash)
  // The last field. Its value is not known before the batch is written (`stamp`).
  writer.bigint(0)
  const row = arena.keep(writer.written())
  const digest = digestOf(row, nested)
  row.write(digest, digestAt, 'hex')
  return {
    id: document.id,
    digest,
    shown: document.shown,
    parentsHash: document.parentsHash,
    place,
    revised: document.createdAt !== document.modifiedAt,
    row,
    nested,
  }
}

/** Writes the moment of the document's last change, in microseconds since 1970. */
export function stamp({ row }: EncodedDocument, changedAt: number): void {
  row.writeBigInt64BE(BigInt(changedAt - epoch), row.length - 8)
}

function placeOf({ objecttype, deleted, access }: IndexDocument): number {
  return hash53(`${objecttype} ${deleted} ${access.toString('latin1')}`)
}

function digestOf(row: Buffer, nested: readonly Buffer[]): string {
  if (nested.length === 0) return hash('md5', row)
  const all = createHash('md5').update(row)
  for (const each of nested) all.update(each)
  return all.digest('hex')
}

function facetNumbers(document: IndexDocument, sets: Pick<FacetSets, 'number'>): (number | undefined)[] {
  const numbers: (number | undefined)[] = []
  for (const set of document.facets) numbers[set.slot - 1] = sets.number(set)
  return numbers
}

/** Type numbers of PostgreSQL. */
const int4 = 23
const bytea = 17
/** 2000-01-01 in microseconds since 1970: the epoch of PostgreSQL. */
const epoch = 946_684_800_000_000

/** Writes fields one after the other into the shared buffer. */
class Writer {
  #at = 0

  constructor(bytes: number) {
    const needed = bytes + 16_384
    if (scratch.length < needed) scratch = Buffer.allocUnsafe(needed * 2)
  }

  /** The row; overwritten by the next one. */
  written(): Buffer {
    return scratch.subarray(0, this.#at)
  }

  count(fields: number): void {
    this.#at = scratch.writeInt16BE(fields, this.#at)
  }

  nothing(): void {
    this.#at = scratch.writeInt32BE(-1, this.#at)
  }

  int(value: number): void {
    this.#at = scratch.writeInt32BE(4, this.#at)
    this.#at = scratch.writeInt32BE(value, this.#at)
  }

  bigint(value: number): void {
    this.#at = scratch.writeInt32BE(8, this.#at)
    this.#long(value)
  }

  boolean(value: boolean): void {
    this.#at = scratch.writeInt32BE(1, this.#at)
    scratch[this.#at++] = value ? 1 : 0
  }

  /** Microseconds since 1970. */
  moment(value: number): void {
    this.bigint(value - epoch)
  }

  bytes(value: Buffer): void {
    this.#at = scratch.writeInt32BE(value.length, this.#at)
    this.#at += value.copy(scratch, this.#at)
  }

  /** Leaves room for a UUID; returns its position. */
  skipUuid(): number {
    this.#at = scratch.writeInt32BE(16, this.#at)
    scratch.fill(0, this.#at, this.#at + 16)
    this.#at += 16
    return this.#at - 16
  }

  /** A field whose length is known only after it is written. */
  field(write: (at: number) => number): void {
    const start = this.#at
    this.#at = write(start + 4)
    scratch.writeInt32BE(this.#at - start - 4, start)
  }

  array<T>(type: number, members: readonly (T | undefined)[], write: (member: T) => void): void {
    this.field((start) => {
      let at = scratch.writeInt32BE(members.length === 0 ? 0 : 1, start)
      at = scratch.writeInt32BE(1, at)
      at = scratch.writeInt32BE(type, at)
      if (members.length > 0) {
        at = scratch.writeInt32BE(members.length, at)
        at = scratch.writeInt32BE(1, at)
      }
      this.#at = at
      for (let i = 0; i < members.length; i++) {
        const member = members[i]
        if (member === undefined) this.nothing()
        else write(member)
      }
      return this.#at
    })
  }

  #long(value: number): void {
    const high = Math.floor(value / 4_294_967_296)
    this.#at = scratch.writeInt32BE(high, this.#at)
    this.#at = scratch.writeUInt32BE(value - high * 4_294_967_296, this.#at)
  }
}
