import { badRequest } from '../platform/errors.ts'
import type { Form } from '../platform/http/form.ts'

/** `html` is for browsers, and the default; `events` is a stream. */
export type ResponseForm = 'html' | 'json' | 'events'

interface Asked {
  readonly headers: { readonly accept?: string | undefined }
  readonly query: unknown
}

/** The form that a request asks for: by the parameter `accept`, else by the header. */
export function wantedForm({ headers, query }: Asked): ResponseForm {
  const named = (query as Record<string, unknown> | null)?.accept
  if (named === 'application/json') return 'json'
  const types = (headers.accept ?? '').split(',').map((type) => type.split(';', 1)[0]?.trim().toLowerCase())
  const first = types.find(
    (type) => type === 'application/json' || type === 'text/html' || type === 'text/event-stream',
  )
  if (named !== 'text/html' && first === 'application/json') return 'json'
  return first === 'text/event-stream' ? 'events' : 'html'
}

/** Parameters of an address or a form, each once. @throws {AppError} */
export function parametersOf(values: unknown): Form {
  const form = new Map<string, string>()
  for (const [name, value] of Object.entries((values ?? {}) as Record<string, unknown>)) {
    if (typeof value !== 'string') throw badRequest(`The parameter ${name} is repeated.`, { name })
    if (value.includes('\0')) throw badRequest(`The parameter ${name} has a NUL character.`, { name })
    if (value !== '') form.set(name, value)
  }
  const accept = form.get('accept')
  if (accept !== undefined && accept !== 'application/json' && accept !== 'text/html') {
    throw badRequest('accept must be application/json or text/html.', { name: 'accept' })
  }
  return form
}
