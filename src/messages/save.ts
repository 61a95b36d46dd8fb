import type { EventLog, NewEvent } from '../events/service.ts'
import { type NamedBy, type Principals, type Reference, referenceOf, resolveReferences } from '../people/service.ts'
import type { Actor } from '../platform/actor.ts'
import { assertVersion, type ConventionOf } from '../platform/config/versions.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import type { Db, Tx } from '../platform/postgres/db.ts'
import { assertStorable } from '../platform/values/text.ts'
import { draftMessage } from './draft.ts'
import type { Message } from './model.ts'
import type { MessageInput } from './schema.ts'
import * as store from './store.ts'

export interface MessageDependencies {
  db: Db
  events: EventLog
  principals: Principals
  conventionOf: ConventionOf
}

interface Item {
  readonly input: MessageInput
  readonly path: string
  stored: Message | null
}

/** Creates and updates messages, all or none, with a constant number of statements. Returns ids in their order. */
export async function saveMessages(
  deps: MessageDependencies,
  actor: Actor,
  inputs: readonly MessageInput[],
): Promise<number[]> {
  assertStorable(inputs, 'body')
  return deps.db.transaction(async (tx) => {
    const items = await loadStored(deps, actor, inputs, tx)
    const drafts = items.map(({ input, stored, path }) => draftMessage(input, stored, path))
    const addressed = await addressees(actor, items, tx)
    const fresh = (await store.newMessageIds(tx, items.filter(({ stored }) => !stored).length)).values()
    const rows = drafts.map((draft, index): store.MessageRow => {
      const stored = items[index]?.stored
      return {
        ...draft,
        id: stored?.id ?? (fresh.next().value as number),
        version: (stored?.version ?? 0) + 1,
        for_everybody: addressed[index] === null,
      }
    })
    await store.writeMessages(
      tx,
      rows.map((row, index) => ({ row, groupIds: addressed[index] ?? [] })),
    )
    await deps.events.append(
      tx,
      rows.map((row, index) => messageEvent(items[index]?.stored ? 'MESSAGE_UPDATE' : 'MESSAGE_INSERT', actor, row)),
    )
    return rows.map((row) => row.id)
  })
}

export function messageEvent(
  type: 'MESSAGE_INSERT' | 'MESSAGE_UPDATE' | 'MESSAGE_DELETE',
  actor: Actor,
  message: Pick<store.MessageRow, 'id' | 'version' | 'title' | 'message' | 'reference'>,
): NewEvent {
  const { id, version, title, message: text, reference } = message
  const info = { title, message: text, reference }
  return { type, actor, basetype: 'message', schema: 'BASE', objectId: id, objectVersion: version, info }
}

/** Finds and locks the messages to be updated, by id or reference. */
async function loadStored(
  deps: MessageDependencies,
  actor: Actor,
  inputs: readonly MessageInput[],
  tx: Tx,
): Promise<Item[]> {
  const named = inputs.map(({ message }) => message._id ?? message['lookup:_id']?.reference.normalize('NFC') ?? null)
  const messages = await store.lockMessages(
    tx,
    named.filter((by) => typeof by === 'number'),
    named.filter((by) => typeof by === 'string'),
  )
  const seen = new Set<number>()
  return inputs.map((input, index) => {
    const by = named[index]
    const path = `[${index}]`
    if (by === null || by === undefined) {
      const version = input.message._version ?? 1
      if (version <= 1) return { input, path, stored: null }
      throw badRequest(`${path}.message is an update by its _version: it needs _id or lookup:_id`, { path, version })
    }
    const stored = messages.find(({ id, reference }) => id === by || reference === by)
    if (!stored) {
      const name = typeof by === 'number' ? { id: by } : { reference: by }
      throw new AppError('LookupNotFound', { path: `${path}.message`, basetype: 'message', ...name })
    }
    if (seen.has(stored.id)) throw badRequest(`${path}.message is in the request twice`, { path, _id: stored.id })
    seen.add(stored.id)
    const where = { path: `${path}.message._version` }
    assertVersion(input.message._version, stored.version, deps.conventionOf(actor), where)
    return { input, path, stored }
  })
}

/**
 * Groups of each message; null: for everybody. A group that the actor may not read is not found, unless the stored message already
 * has it.
 */
async function addressees(actor: Actor, items: readonly Item[], tx: Tx): Promise<(readonly number[] | null)[]> {
  const named = items.map(({ input, path }) =>
    (input._groups ?? []).map((entry, index): Reference => {
      const at = `${path}._groups[${index}].group`
      const reference = referenceOf('group', entry.group, at)
      if (!reference) throw badRequest(`${at} needs _id or lookup:_id`, { path: at })
      return reference
    }),
  )
  const stored = items.flatMap((item) => item.stored?.groupIds ?? [])
  const namedBy: NamedBy = { actor, userIds: [], groupIds: stored }
  const found = await resolveReferences(tx, named.flat(), namedBy)
  return items.map(({ input, stored }, index) => {
    if (input._groups === undefined) return stored ? stored.groupIds : null
    const ids = [...new Set(named[index]?.map((reference) => found.get(reference) as number))]
    return ids.length === 0 ? null : ids
  })
}
