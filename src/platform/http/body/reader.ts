import { parse as parseForm } from 'node:querystring'
import type { Readable } from 'node:stream'
import { createGunzip, createInflate } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError, badRequest } from '../../errors.ts'
import { callerOf } from '../../limits/callers.ts'
import type { Pace } from '../../limits/pace.ts'
import { whenClosed } from '../../limits/when-closed.ts'
import { escapesUtf8, utf8Text } from '../../values/utf8.ts'
import { declarationOf } from '../http.ts'
import { bodyBytes } from './drain.ts'
import type { BodyGate, BodyShare } from './gate.ts'
import { JsonReader } from './json-reader.ts'
import type { BodyLimits } from './limits.ts'
import { isStreamed } from './streamed.ts'

/** Assumed bytes of memory of a value, in addition to its sent bytes. */
const valueBytes = 64
/** Bytes that are read at once, and milliseconds after which other work has its turn. */
const sliceBytes = 64 * 1024
const turn = 10

/** Receives the bytes of a body chunk by chunk, and returns the parsed body. */
interface Sink {
  write(chunk: Buffer): void
  end(): unknown
  /** Values so far; they take memory in addition to the bytes. */
  readonly values: number
}

interface BodyReaderOptions {
  readonly gate: BodyGate
  readonly pace: Pace
  /** Seconds in which a body must arrive. */
  readonly arrival: number
}

/** Reads bodies as they arrive: within their limits, only when there is room in memory, and only at the minimum pace. */
export function createBodyReader({ gate, pace, arrival }: BodyReaderOptions) {
  const shares = new WeakMap<FastifyRequest, BodyShare>()

  async function read(request: FastifyRequest, payload: Readable, sinkOf: (limits: BodyLimits) => Sink) {
    if (isStreamed(request)) return payload
    const limits = limitsFor(request)
    const share = shares.get(request)
    if (!share) return undefined
    const source = unpacked(request, payload)
    const watch = watchPace(request.raw.socket, pace)
    const late = setTimeout(() => watch.onSlow(new AppError('RequestTimeout')), arrival * 1000)
    try {
      const sink = sinkOf(limits)
      const bytes = await pump(source, { limits, sink, share, watch })
      return bytes === 0 ? undefined : sink.end()
    } finally {
      watch.stop()
      clearTimeout(late)
      if (source !== payload) {
        payload.unpipe()
        source.destroy()
      }
    }
  }

  const json = (request: FastifyRequest, payload: Readable): Promise<unknown> =>
    read(request, payload, (limits) => new JsonReader(limits, { exact: isExact(request) }))

  return {
    /** A hook after the check of the caller: a request that announces too large a body is refused before reading. */
    admit(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void {
      if (isStreamed(request)) {
        done()
        return
      }
      const bytes = bodyBytes(request)
      const most = limitsFor(request).bytes
      // Without a length the size is unknown until the end.
      if (Number.isFinite(bytes) && bytes > most) {
        done(tooLarge(most))
        return
      }
      if (bytes > 0) {
        const share = gate.open(callerOf(request.actor, request.ip))
        shares.set(request, share)
        whenClosed(reply.raw, () => share.close())
      }
      done()
    },

    /** `undefined` for an empty body: many clients set a content type without a body. */
    json,

    /** Some clients send JSON with the content type of forms, which their library sets by default. */
    form: (request: FastifyRequest, payload: Readable): Promise<unknown> =>
      read(request, payload, (limits) =>
        takesJson(request) ? formOrJsonSink(limits, isExact(request)) : formSink(limits),
      ),

    /**
     * A body without a content type is read as JSON where JSON is accepted: many programs send it so.
     * @throws {AppError} `UnsupportedMediaType` unless the handler reads the body itself.
     */
    async other(request: FastifyRequest, payload: Readable): Promise<unknown> {
      if (isStreamed(request)) return payload
      if (!request.headers['content-type'] && takesJson(request)) return json(request, payload)
      throw new AppError('UnsupportedMediaType')
    },
  }
}

function takesJson({ routeOptions: { schema } }: FastifyRequest): boolean {
  return schema?.body !== undefined && (schema.consumes?.includes('application/json') ?? true)
}

const isExact = (request: FastifyRequest): boolean => declarationOf(request).exactNumbers === true

function limitsFor(request: FastifyRequest): BodyLimits {
  const limits = declarationOf(request).bodyLimits
  if (!limits) throw new Error(`${request.routeOptions.url} has no limits of its body`)
  return limits
}

interface Pumping {
  readonly limits: BodyLimits
  readonly sink: Sink
  readonly share: BodyShare
  readonly watch: Watch
}

/** Moves all bytes into the sink and returns their number. Bytes after a failure are ignored. */
function pump(source: Readable, { limits, sink, share, watch }: Pumping): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  let received = 0
  let values = 0
  let turnBegan = performance.now()

  /** Adds a slice; returns a promise when reading must pause. */
  function take(slice: Buffer): Promise<void> | null {
    received += slice.length
    if (received > limits.bytes) throw tooLarge(limits.bytes)
    sink.write(slice)
    const room = share.take(slice.length + (sink.values - values) * valueBytes)
    values = sink.values
    if (room) return watch.rest(room)
    return performance.now() - turnBegan < turn ? null : nextTurn()
  }

  async function nextTurn(): Promise<void> {
    await new Promise((next) => setImmediate(next))
    turnBegan = performance.now()
  }

  async function takeRest(chunk: Buffer, rest: Promise<void> | null): Promise<void> {
    await rest
    for (let at = sliceBytes; at < chunk.length; at += sliceBytes) await take(chunk.subarray(at, at + sliceBytes))
  }

  function onData(chunk: Buffer): void {
    try {
      const rest = take(chunk.subarray(0, sliceBytes))
      if (rest === null && chunk.length <= sliceBytes) return
      source.pause()
      takeRest(chunk, rest).then(() => source.resume(), reject)
    } catch (error) {
      reject(error)
    }
  }

  const onEnd = (): void => {
    source.off('close', onClose)
    resolve(received)
  }
  const onFailure = (cause?: Error): void => {
    const packed = cause && 'errno' in cause && String((cause as { code?: string }).code).startsWith('Z_')
    reject(badRequest(packed ? 'The body is not what its content encoding says.' : 'The body ended too early.'))
  }
  const onClose = (): void => onFailure()
  source.on('data', onData)
  source.once('end', onEnd)
  source.on('error', onFailure)
  source.once('close', onClose)
  watch.onSlow = reject
  return promise.finally(() => {
    source.off('data', onData)
    source.off('end', onEnd)
    source.off('close', onClose)
  })
}

interface Watch {
  onSlow: (error: AppError) => void
  /** Time in which the client is not to blame does not count. */
  rest(until: Promise<void>): Promise<void>
  stop(): void
}

function watchPace(socket: { bytesRead?: number }, { grace, leastRate }: Pace): Watch {
  let before = socket.bytesRead ?? 0
  let resting = 0
  let rested = false
  const look = (): void => {
    const now = socket.bytesRead ?? 0
    if (!rested && now - before < leastRate * grace) watch.onSlow(new AppError('RequestTimeout'))
    before = now
    rested = resting > 0
  }
  const timer = leastRate > 0 ? setInterval(look, grace * 1000) : undefined
  const watch: Watch = {
    onSlow: () => {},
    async rest(until) {
      resting++
      rested = true
      try {
        await until
      } finally {
        resting--
      }
    },
    stop: () => clearInterval(timer),
  }
  return watch
}

/** The body without its content encoding. The unpacked size counts, so that a small body cannot expand to a large one. */
function unpacked(request: FastifyRequest, payload: Readable): Readable {
  const encoding = String(request.headers['content-encoding'] ?? 'identity')
    .trim()
    .toLowerCase()
  if (encoding === 'identity') return payload
  if (encoding !== 'gzip' && encoding !== 'deflate') {
    const message = `The content encoding ${JSON.stringify(encoding.slice(0, 50))} is not supported; gzip and deflate are.`
    throw new AppError('UnsupportedMediaType', {}, { message })
  }
  const unpacker = encoding === 'gzip' ? createGunzip() : createInflate()
  payload.once('close', () => {
    if (!payload.readableEnded) unpacker.destroy()
  })
  return payload.pipe(unpacker)
}

/** Forms are small; a name that occurs more than once becomes a list. */
function formSink(limits: BodyLimits): Sink {
  const chunks: Buffer[] = []
  return {
    values: 0,
    write: (chunk) => void chunks.push(chunk),
    end: () => parseForm(formText(Buffer.concat(chunks)), '&', '=', { maxKeys: limits.values }),
  }
}

/** @throws {AppError} 400 for bytes, plain or escaped, that the parser would read as U+FFFD. */
function formText(bytes: Buffer): string {
  const text = utf8Text(bytes, 'The body')
  if (!escapesUtf8(text)) throw badRequest('The body has escaped bytes (%) that are not UTF-8.')
  return text
}

/** JSON when the first character that is not blank is that of JSON: no form of ours begins like that. */
function formOrJsonSink(limits: BodyLimits, exact: boolean): Sink {
  let sink: Sink | null = null
  return {
    get values() {
      return sink?.values ?? 0
    },
    write(chunk) {
      const first = chunk.find((byte) => !blanks.has(byte))
      if (sink === null && first === undefined) return
      sink ??= first === openBrace || first === openBracket ? new JsonReader(limits, { exact }) : formSink(limits)
      sink.write(chunk)
    },
    end: () => (sink ?? formSink(limits)).end(),
  }
}

const blanks = new Set([0x20, 0x09, 0x0a, 0x0d])
const openBrace = 0x7b
const openBracket = 0x5b

function tooLarge(bytes: number): AppError {
  return new AppError('PayloadTooLarge', { bytes }, { message: `The request body has more than ${bytes} bytes.` })
}
