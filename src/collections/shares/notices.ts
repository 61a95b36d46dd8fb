/** Mails requested by new grants: `send_email_notification`. */
import { badRequest } from '../../platform/errors.ts'
import type { StoredGrant } from '../../rights/service.ts'
import type { CollectionInput } from '../schema.ts'
import { namedUser } from './share-users.ts'

/** A new grant whose receivers are to be notified. */
export interface Notice {
  readonly grant: StoredGrant
  readonly text: string
  readonly path: string
}

const longest = 2000

type Members = Readonly<Record<string, unknown>>

function noticeOf(entry: unknown): unknown {
  return (entry as Members | null)?.send_email_notification ?? null
}

/** @throws {AppError} for a mail without possible recipients, or with an invalid text */
export function assertNotices(inputs: readonly CollectionInput[], placeOf: (index: number) => string): void {
  for (const [index, { _acl }] of inputs.entries()) {
    for (const [entry, grant] of (_acl ?? []).entries()) {
      const notice = noticeOf(grant)
      if (notice === null) continue
      const path = `${placeOf(index)}._acl[${entry}].send_email_notification`
      const text = (notice as Members).text
      if (typeof text !== 'string') throw badRequest(`${path}.text must be a text`, { path: `${path}.text` })
      if (text.length > longest)
        throw badRequest(`${path}.text has ${longest} characters at most`, { path: `${path}.text`, most: longest })
      if (namedUser(grant)?.type === 'collection')
        throw badRequest(`${path}: nobody is known who would get a link by mail`, { path })
    }
  }
}

/**
 * The notices of one collection. Only grants made by this request cause notices: the new ones are in the order in which
 * they were sent, and all others existed before.
 */
export function noticesOf(
  wire: readonly unknown[],
  { acl, grantsBefore }: { readonly acl: readonly StoredGrant[]; readonly grantsBefore: ReadonlySet<number> },
  place: string,
): Notice[] {
  const made = acl.filter(({ id }) => !grantsBefore.has(id)).values()
  return wire.flatMap((entry, index): Notice[] => {
    const id = (entry as Members | null)?._id
    if (typeof id === 'number' && grantsBefore.has(id)) return []
    const grant = made.next().value
    const notice = noticeOf(entry)
    if (!grant || notice === null) return []
    return [{ grant, text: String((notice as Members).text), path: `${place}._acl[${index}].send_email_notification` }]
  })
}
