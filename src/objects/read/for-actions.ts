import { textIn } from '../../platform/values/localized.ts'
import type { ActionObjects } from '../../transitions/service.ts'
import type { ReadService } from './read.ts'

/** The view of objects for mails and webhooks of transitions: with the rights of the user who set up the transition. */
export function objectsForActions(read: ReadService): ActionObjects {
  return {
    async describe(actor, ids, languages) {
      const shown = new Map<number, { text: string; uuid: string }>()
      for await (const object of read.stream(actor, ids, { format: 'short' })) {
        const { _system_object_id: id, _uuid: uuid } = object
        shown.set(id as number, { text: standardText(object, languages), uuid: `${uuid}` })
      }
      return shown
    },
    async render(actor, ids) {
      return Array.fromAsync(read.stream(actor, ids, { format: 'full', allFields: true }))
    },
  }
}

function standardText(hit: Readonly<Record<string, unknown>>, languages: readonly string[]): string {
  const { '1': first } = (hit._standard ?? {}) as { '1'?: { text?: Readonly<Record<string, string>> } }
  return textIn(first?.text ?? {}, languages)
}
