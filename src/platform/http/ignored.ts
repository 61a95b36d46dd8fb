import type { FastifyReply } from 'fastify'

/** Names in one header: it must pass every proxy. */
const mostNames = 20
const mostLetters = 200

const header = 'X-Svc-Ignored'

/**
 * Lists in the answer the parts of the request without effect: query parameters by name, parts of a body by path
 * (`0.artwork.titel`). Names are percent-encoded where a header needs it; `+3` at the end means three more.
 */
export function noteIgnored(reply: FastifyReply, names: readonly string[], more = 0): void {
  if (names.length === 0) return
  const before = reply.getHeader(header)
  const said = typeof before === 'string' ? before.split(', ') : []
  const open = said.at(-1)?.startsWith('+') ? Number(said.pop()) : 0
  const all = [...said, ...names.slice(0, mostNames).map(headerName)]
  const left = Math.max(0, all.length - mostNames) + Math.max(0, names.length - mostNames) + open + more
  reply.header(header, [...all.slice(0, mostNames), ...(left > 0 ? [`+${left}`] : [])].join(', '))
}

function headerName(name: string): string {
  const short = name.length > mostLetters ? `${name.slice(0, mostLetters)}…` : name
  // A plus would look like the count of omitted names; colons are part of field names and need no escape.
  return encodeURIComponent(short.toWellFormed()).replaceAll('%3A', ':')
}
