/**
 * Sitemaps: the pages of the objects that callers without a token can open, for search engines. They list the objects that the user
 * `deep_link` sees at the moment, for every caller. See docs/sitemaps.md.
 */
import { createHash } from 'node:crypto'
import type { BaseConfig } from '../../config/service.ts'
import type { ReadableSql, ReadService } from '../../objects/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError } from '../../platform/errors.ts'
import type { Deadline } from '../../platform/limits/deadline.ts'
import type { RequestLimiter } from '../../platform/limits/request-limiter.ts'
import type { Db } from '../../platform/postgres/db.ts'
import { indexDocument, robotsText, urlElements, urlsBegin, urlsEnd } from './documents.ts'
import * as store from './store.ts'

export interface SitemapDeps {
  readonly db: Db
  readonly externalUrl: string
  readonly settings: () => Pick<BaseConfig, 'deep_link_access' | 'sitemaps'>
  /** The user that callers without a token are; null: there is none. */
  readonly stranger: () => Promise<Actor | null>
  /** Counts a request from an address as so many links. @throws {AppError} `QuotaExceeded` */
  readonly admit: (actor: null, address: string, links: number) => Promise<void>
  readonly read: Pick<ReadService, 'shownSql'>
  readonly heavyRequests: RequestLimiter
}

export interface SitemapRequest {
  readonly address: string
  /** Counted from 1; null: the list of all parts. */
  readonly part: number | null
  readonly deadline: Deadline
}

export interface Sitemap {
  /** Of HTTP; weak, since the bytes depend on how they are packed. */
  readonly tag: string
  /** Nothing is read before they are taken. */
  readonly pieces: () => AsyncIterable<string> | Iterable<string>
}

export type SitemapService = ReturnType<typeof createSitemaps>

/** Deep links that take about as much work: the index reads all objects, a part thousands of them. */
const linksOfIndex = 100
const linksOfPart = 10
/** Objects that are in memory at a time. */
const atATime = 5000

export function createSitemaps(deps: SitemapDeps) {
  const { externalUrl } = deps

  function isOn(): boolean {
    const { deep_link_access: links, sitemaps } = deps.settings()
    return links.enabled && sitemaps.enabled
  }

  return {
    robots: (): string => robotsText(externalUrl, isOn()),

    /** @throws {AppError} `ResourceNotFound` where there is nothing to be listed, `QuotaExceeded` */
    async sitemap({ address, part, deadline }: SitemapRequest): Promise<Sitemap> {
      if (!isOn()) throw notThere()
      await deps.admit(null, address, part === null ? linksOfIndex : linksOfPart)
      const actor = await deps.stranger()
      if (!actor) throw notThere()
      const shown = await deps.read.shownSql(actor)
      return deps.heavyRequests.run(deadline, () =>
        part === null ? indexOf(shown, deadline) : partOf(shown, part, deadline),
      )
    },
  }

  async function indexOf(shown: ReadableSql, deadline: Deadline): Promise<Sitemap> {
    const parts = await store.partsOf(deps.db.within(deadline), shown)
    if (parts.length === 0) throw notThere()
    const text = indexDocument(externalUrl, parts)
    return { tag: tagOf(text), pieces: () => [text] }
  }

  async function partOf(shown: ReadableSql, part: number, deadline: Deadline): Promise<Sitemap> {
    const state = await store.stateOf(deps.db.within(deadline), shown, part)
    if (state === null) throw notThere()
    return { tag: tagOf(`${externalUrl} ${state}`), pieces: () => piecesOf(shown, part, deadline) }
  }

  async function* piecesOf(shown: ReadableSql, part: number, deadline: Deadline): AsyncGenerator<string> {
    const q = deps.db.within(deadline)
    yield urlsBegin
    let behind: number | null = null
    for (;;) {
      const page: readonly store.ListedObject[] = await store.objectsBehind(q, shown, { part, behind, limit: atATime })
      yield urlElements(externalUrl, page)
      if (page.length < atATime) break
      behind = page.at(-1)?.id ?? null
    }
    yield urlsEnd
  }
}

const tagOf = (text: string): string => `W/"${createHash('sha256').update(text).digest('hex').slice(0, 32)}"`

const notThere = (): AppError => new AppError('ResourceNotFound', {}, { message: 'There is no such sitemap.' })
