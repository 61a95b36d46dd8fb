import { type Agent, request } from 'node:http'
import { connect } from 'node:net'

/** JSON text that is no value: `1e400`, `NaN`, a comment. */
export class Raw {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** An object whose keys may occur twice. */
export class Pairs {
  readonly entries: readonly (readonly [string, unknown])[]
  constructor(entries: readonly (readonly [string, unknown])[]) {
    this.entries = entries
  }
}

export function jsonText(value: unknown): string {
  if (value instanceof Raw) return value.text
  if (value instanceof Pairs) {
    return `{${value.entries.map(([key, member]) => `${JSON.stringify(key)}:${jsonText(member)}`).join(',')}}`
  }
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  return jsonText(new Pairs(Object.entries(value)))
}

/** A request as it is sent. */
export interface WireRequest {
  method: string
  /** Path and query as they are sent. */
  target: string
  headers: Record<string, string>
  body?: Buffer
  /** Raw bytes for the socket, in place of all of the above. */
  bytes?: Buffer
}

export interface WireAnswer {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Buffer
  milliseconds: number
}

/** @throws {Error} when the connection ends without an answer. */
export function send(base: URL, agent: Agent, wire: WireRequest, timeout: number): Promise<WireAnswer> {
  return wire.bytes ? sendBytes(base, wire.bytes, timeout) : sendRequest(base, agent, wire, timeout)
}

function sendRequest(base: URL, agent: Agent, wire: WireRequest, timeout: number): Promise<WireAnswer> {
  const { method, target, headers, body } = wire
  const begun = performance.now()
  return new Promise((resolve, reject) => {
    const { hostname, port } = base
    const length = body || method === 'POST' || method === 'PUT' ? { 'content-length': `${body?.length ?? 0}` } : {}
    const out = request(
      { host: hostname, port, method, path: target, headers: { ...length, ...headers }, agent, timeout },
      (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk) => chunks.push(chunk))
        answer.on('error', reject)
        answer.on('end', () =>
          resolve({
            status: answer.statusCode ?? 0,
            headers: answer.headers,
            body: Buffer.concat(chunks),
            milliseconds: performance.now() - begun,
          }),
        )
      },
    )
    out.on('timeout', () => out.destroy(new Error(`no answer within ${timeout} ms`)))
    out.on('error', (error: NodeJS.ErrnoException) => {
      // A server may close an idle connection while a request is on its way: then the request has not been read (RFC
      // 9112, 9.3.1).
      if (out.reusedSocket && error.code === 'ECONNRESET') resolve(sendRequest(base, agent, wire, timeout))
      else reject(error)
    })
    out.end(body)
  })
}

function sendBytes(base: URL, bytes: Buffer, timeout: number): Promise<WireAnswer> {
  const begun = performance.now()
  return new Promise((resolve, reject) => {
    const socket = connect(Number(base.port), base.hostname)
    const chunks: Buffer[] = []
    socket.setTimeout(timeout, () => socket.destroy(new Error(`no answer within ${timeout} ms`)))
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // A server may close the connection during invalid HTTP while we still write.
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error)
    })
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('close', () => {
      const all = Buffer.concat(chunks)
      const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(all.toString('latin1'))?.[1] ?? 0)
      const split = all.indexOf('\r\n\r\n')
      const body = split < 0 ? Buffer.alloc(0) : all.subarray(split + 4)
      resolve({ status, headers: {}, body, milliseconds: performance.now() - begun })
    })
    socket.end(bytes)
  })
}

/** The request as a line that can be pasted; bytes that no shell can hold go through `base64`. */
export function curlLine(base: URL, { method, target, headers, body, bytes }: WireRequest): string {
  if (bytes) return `echo ${bytes.toString('base64')} | base64 -d | nc ${base.hostname} ${base.port}`
  const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
  const parts = ['curl', '-sS', '-i', '--globoff', '--path-as-is', '-X', method, quoted(`${base.origin}${target}`)]
  for (const [name, value] of Object.entries(headers)) parts.push('-H', quoted(`${name}: ${value}`))
  if (!body || body.length === 0) return parts.join(' ')
  const text = body.toString('utf8')
  const plain = !/[^\x20-\x7e]/.test(text) && body.length < 4000
  if (plain) return [...parts, '--data-binary', quoted(text)].join(' ')
  return `echo ${body.toString('base64')} | base64 -d | ${[...parts, '--data-binary', '@-'].join(' ')}`
}
