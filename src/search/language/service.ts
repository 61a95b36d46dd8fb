/**
 * Queries as texts: in the query language, or as people type them in a search bar. Each becomes a search request that the search
 * accepts unchanged. The elements of a request can also be converted back to a query.
 */
import type { Model } from '../../datamodel/model.ts'
import type { Actor } from '../../platform/actor.ts'
import { fieldsOf } from '../plan/fields.ts'
import { timeZoneOf } from '../request/moments.ts'
import { choice } from '../request/read.ts'
import type { SearchParseOptions, SearchRequest } from '../schema.ts'
import { elementsOf } from './elements.ts'
import { parseQuery } from './parse.ts'
import type { Note } from './syntax.ts'
import { readWords } from './words.ts'
import { queryOf } from './write.ts'

export const syntaxes = ['query', 'words'] as const

export interface ParsedQuery {
  readonly request: SearchRequest
  /** Explanations of how a text of a search bar was read, where the reading may surprise. */
  readonly notes: readonly Note[]
}

interface QueryLanguageDeps {
  readonly datamodel: { current(): Model }
  /** Throws the error that a search would be refused with. */
  readonly check: (actor: Actor, request: SearchRequest) => Promise<void>
  readonly clock: () => Date
}

export type QueryLanguage = ReturnType<typeof createQueryLanguage>

export function createQueryLanguage({ datamodel, check, clock }: QueryLanguageDeps) {
  const fields = () => fieldsOf(datamodel.current())

  function read({
    query,
    syntax = 'query',
    timezone,
  }: SearchParseOptions): Omit<ParsedQuery, 'request'> & Pick<SearchRequest, 'search'> {
    if (choice(syntax, syntaxes, 'syntax') === 'words') {
      const { search, notes } = readWords(query)
      return { search: [...search], notes }
    }
    const moment = { now: clock(), zone: timeZoneOf(timezone) }
    const search = elementsOf(parseQuery(query), { text: query, fields: fields(), clock: moment })
    return { search: [...search], notes: [] }
  }

  return {
    /** @throws {AppError} `QueryParse`, or the error that a search would be refused with. */
    async parse(actor: Actor, options: SearchParseOptions): Promise<ParsedQuery> {
      const { search, notes } = read(options)
      const { objecttypes, limit, offset, format, timezone } = options
      const request = { ...said({ objecttypes, limit, offset, format, timezone }), search }
      await check(actor, request)
      return { request, notes }
    },

    /** The elements of a request as a query. @throws {AppError} `ServerGeneric` for elements that no query can express. */
    write: (search: unknown): string => queryOf(search, fields()),
  }
}

function said<T extends object>(members: T): Partial<T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Partial<T>
}
