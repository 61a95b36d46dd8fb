import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { isTransferred, release, transfer } from '../memory/buffer-ownership.ts'
import type { Yielder } from '../process/cooperative-yield.ts'

/**
 * An answer as JSON text in UTF-8, in pieces that need not be joined. The memory of large pieces is released when they are sent
 * (memory/buffer-ownership.ts): a function that keeps a piece must `retain` it.
 */
export type JsonBody = readonly Buffer[]

/** Number of elements of a list that are written at once. */
const group = 500
/** Approximate bytes of a piece. */
const pieceSize = 256 * 1024

/** Collects text in pieces. */
export class JsonWriter {
  readonly #pieces: Buffer[] = []
  #texts: string[] = []
  #length = 0
  #bytes = 0

  /** Bytes of the finished pieces. */
  get bytes(): number {
    return this.#bytes
  }

  add(text: string): void {
    this.#texts.push(text)
    this.#length += text.length
    if (this.#length >= pieceSize) this.#flush()
  }

  addBody(body: JsonBody): void {
    this.#flush()
    for (const piece of body) {
      this.#pieces.push(piece)
      this.#bytes += piece.length
    }
  }

  end(): JsonBody {
    this.#flush()
    return this.#pieces
  }

  #flush(): void {
    if (this.#length === 0) return
    const piece = transfer(Buffer.from(this.#texts.join('')))
    this.#texts = []
    this.#length = 0
    this.#pieces.push(piece)
    this.#bytes += piece.length
  }
}

/** Writes a value whose lists may be long: entries of objects down to `depth` one by one, lists in groups. */
export async function writeJson(writer: JsonWriter, value: unknown, yielder: Yielder, depth = 3): Promise<void> {
  if (yielder.due()) await yielder.yield()
  if (depth === 0 || typeof value !== 'object' || value === null) {
    writer.add(JSON.stringify(value) ?? 'null')
  } else if (Array.isArray(value)) {
    writer.add('[')
    for (let start = 0; start < value.length; start += group) {
      const text = JSON.stringify(value.slice(start, start + group))
      writer.add(`${start > 0 ? ',' : ''}${text.slice(1, -1)}`)
      if (yielder.due()) await yielder.yield()
    }
    writer.add(']')
  } else {
    let separator = '{'
    for (const [key, entry] of Object.entries(value)) {
      if (entry === undefined) continue
      writer.add(`${separator}${JSON.stringify(key)}:`)
      await writeJson(writer, entry, yielder, depth - 1)
      separator = ','
    }
    writer.add(separator === '{' ? '{}' : '}')
  }
}

/** A JSON answer. `short`: number of linked objects that are answered short because there was no room, though requested whole. */
export interface JsonAnswer {
  readonly body: JsonBody
  readonly short: number
}

export function sendJson(reply: FastifyReply, { body, short }: JsonAnswer): FastifyReply {
  reply.type('application/json; charset=utf-8')
  if (short > 0) reply.header('X-Svc-Truncated', `linked_objects=${short}`)
  const [first] = body
  // By then all of it has been sent. Without this, memory that waited for V8's collection was a hundred megabytes at 500 pages a
  // second.
  if (body.some(isTransferred)) reply.raw.once('finish', () => release(body))
  return reply.send(body.length === 1 ? first : new PiecesStream(body))
}

/** A finished answer in pieces, which stay in memory until the last one is read. */
export class PiecesStream extends Readable {
  readonly bytes: number
  readonly #pieces: Iterator<Buffer>

  constructor(pieces: JsonBody) {
    super()
    this.bytes = pieces.reduce((sum, piece) => sum + piece.length, 0)
    this.#pieces = pieces.values()
  }

  override _read(): void {
    const { done, value } = this.#pieces.next()
    this.push(done ? null : value)
  }
}
