import type { JsonAnswer } from '../../platform/http/json-answer.ts'
import { parseExact } from '../../platform/values/exact-json.ts'
import type { ActionObjects } from '../../transitions/service.ts'
import type { ReadService } from './read.ts'

/** How mails and webhooks of transitions show objects: as whoever has set the transition may see them. */
export function objectsForActions(read: ReadService): ActionObjects {
  return {
    async describe(actor, ids, languages) {
      if (ids.length === 0) return new Map()
      const hits = await read.renderHits(actor, ids, { format: 'short' })
      return new Map(hitsOf(hits).map((hit) => [hit._system_object_id as number, standardText(hit, languages)]))
    },
    async render(actor, ids) {
      if (ids.length === 0) return []
      const hits = await read.renderHits(actor, ids, { format: 'full', allFields: true })
      return hitsOf(hits)
    },
  }
}

function hitsOf({ body }: JsonAnswer): Record<string, unknown>[] {
  return parseExact(Buffer.concat(body).toString()) as Record<string, unknown>[]
}

function standardText(hit: Readonly<Record<string, unknown>>, languages: readonly string[]): string {
  const { '1': first } = (hit._standard ?? {}) as { '1'?: { text?: Readonly<Record<string, string>> } }
  const text = first?.text ?? {}
  const language = languages.find((name) => text[name]) ?? Object.keys(text)[0]
  return language === undefined ? '' : (text[language] ?? '')
}
