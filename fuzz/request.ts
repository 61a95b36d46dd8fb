import { jsonText, type WireRequest } from './wire.ts'

/** A request in parts, as seeds make it and mutations change it. */
export interface FuzzRequest {
  operationId: string
  method: string
  /** The path of the description, with its parameters in braces. */
  template: string
  path: Record<string, string>
  query: [string, string][]
  headers: Record<string, string>
  /** JSON, the fields of a form, or raw bytes; `undefined`: none. */
  body: unknown
  type: 'application/json' | 'application/x-www-form-urlencoded'
  /** Changes to the finished body or head, in order. */
  late: ((wire: WireRequest) => WireRequest)[]
}

export function wireOf(request: FuzzRequest): WireRequest {
  const path = request.template.replace(/\{([^}]+)\}/g, (_, name: string) => {
    const text = request.path[name] ?? ''
    return name === 'path' ? text.split('/').map(encoded).join('/') : encoded(text)
  })
  const query = request.query.map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join('&')
  const body = bodyOf(request)
  const wire: WireRequest = {
    method: request.method,
    target: query ? `${path}?${query}` : path,
    headers: {
      ...request.headers,
      ...(body ? { 'content-type': request.headers['content-type'] ?? request.type } : {}),
    },
    ...(body ? { body } : {}),
  }
  return request.late.reduce((sent, change) => change(sent), wire)
}

/** Percent encoding of any text; half a surrogate pair becomes three bytes that are not valid UTF-8. */
function encoded(text: string): string {
  return [...text]
    .map((letter) => {
      const code = letter.codePointAt(0) ?? 0
      if (code < 0xd800 || code > 0xdfff) return encodeURIComponent(letter)
      return `%${(0xe0 | (code >> 12)).toString(16)}%${(0x80 | ((code >> 6) & 63)).toString(16)}%${(0x80 | (code & 63)).toString(16)}`
    })
    .join('')
}

function bodyOf({ body, type }: FuzzRequest): Buffer | undefined {
  if (body === undefined) return undefined
  if (Buffer.isBuffer(body)) return body
  if (type === 'application/json') return Buffer.from(jsonText(body))
  if (typeof body !== 'object' || body === null) return Buffer.from(String(body))
  const fields = Object.entries(body).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map(
      (one) => `${encoded(name)}=${encoded(typeof one === 'object' ? jsonText(one) : String(one))}`,
    ),
  )
  return Buffer.from(fields.join('&'))
}
