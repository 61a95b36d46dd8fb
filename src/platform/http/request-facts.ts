import type { FastifyRequest } from 'fastify'

/** A request of the interface in the form for external programs: without its credentials. */
export interface RequestFacts {
  readonly url: string
  readonly host: string
  readonly method: string
  readonly query: Readonly<Record<string, string | readonly string[]>>
  readonly header: Readonly<Record<string, string | readonly string[]>>
}

const secretHeaders = /^(authorization|cookie|proxy-authorization|x-[\w-]*authorization|x-[\w-]*browser-id)$/
const secretParameters = new Set(['access_token', 'refresh_token', 'client_secret', 'password'])
const longest = 4000

export function requestFacts(request: FastifyRequest): RequestFacts {
  const { headers, method, raw, host, protocol } = request
  const url = new URL(raw.url ?? '/', 'http://localhost')
  for (const name of secretParameters) url.searchParams.delete(name)
  const query: Record<string, string | string[]> = Object.create(null)
  for (const name of new Set(url.searchParams.keys())) {
    const values = url.searchParams.getAll(name)
    query[name] = values.length === 1 ? (values[0] ?? '') : values
  }
  const told = Object.entries(headers).filter(([name, value]) => {
    return value !== undefined && !secretHeaders.test(name) && String(value).length <= longest
  })
  return {
    url: `${protocol}://${host}${url.pathname}${url.search}`,
    host,
    method,
    query,
    header: Object.fromEntries(told) as Record<string, string | string[]>,
  }
}
