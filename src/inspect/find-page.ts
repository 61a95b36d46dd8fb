import { badRequest } from '../platform/errors.ts'
import type { Form } from '../platform/http/form.ts'
import type { ConsolePage } from './model.ts'
import { notThere } from './query.ts'

export interface FoundPage {
  readonly page: ConsolePage
  readonly params: Readonly<Record<string, string>>
  /** The address below `/inspect/`, in the form for links. */
  readonly at: string
}

/** Parameters of all pages, and those of the interface that have no effect here. */
const everywhere: ReadonlySet<string> = new Set(['accept', 'done', 'access_token', 'cache_seconds', 'pretty', 'strict'])
const longestPart = 200

/** The parameters of all pages, for the description of the routes. */
export function pageNames(pages: readonly ConsolePage[]): readonly string[] {
  return [...new Set([...pages.flatMap(({ query }) => query), 'accept', 'done'])].sort()
}

/** @throws {AppError} `ResourceNotFound` where there is no such page, `ServerGeneric` for a parameter that it does not have. */
export function findPage(pages: readonly ConsolePage[], path: string, query: Form): FoundPage {
  const parts = partsOf(path)
  for (const page of pages) {
    const params = match(page.path === '' ? [] : page.path.split('/'), parts)
    if (!params) continue
    for (const name of query.keys()) {
      if (!everywhere.has(name) && !page.query.includes(name))
        throw badRequest(`This page of the console has no parameter ${name}.`, { name })
    }
    return { page, params, at: parts.map((part) => `${encodeURIComponent(part)}/`).join('') }
  }
  throw notThere({ path })
}

/** The parts of an address below `/inspect`; a slash at the end makes no difference. */
function partsOf(path: string): readonly string[] {
  const below = path.replace(/^\/inspect(?=\/|$)/, '')
  const parts = below.split('/').slice(1)
  if (parts.at(-1) === '') parts.pop()
  return parts.map((part) => {
    const text = decoded(part)
    if (text === null || text === '' || text.length > longestPart || text.includes('\0')) throw notThere({ path })
    return text
  })
}

function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part)
  } catch {
    return null
  }
}

function match(pattern: readonly string[], parts: readonly string[]): Record<string, string> | null {
  if (pattern.length !== parts.length) return null
  const params: Record<string, string> = {}
  for (const [index, step] of pattern.entries()) {
    const part = parts[index] ?? ''
    if (step.startsWith(':')) params[step.slice(1)] = part
    else if (step !== part) return null
  }
  return params
}
