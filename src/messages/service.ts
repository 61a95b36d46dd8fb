/**
 * Messages of administrators to the members of groups: texts that users must accept or read at sign-in, and texts that front ends
 * show. A *reader* is a user or guest with groups and a client; a *confirmation* records the version that a user has agreed to.
 */
import { anybodyGroupIds } from '../people/model.ts'
import type { Actor } from '../platform/actor.ts'
import { assertVersion } from '../platform/config/versions.ts'
import { AppError } from '../platform/errors.ts'
import { hasRight, type NeededRight, requireRight } from '../platform/http/system-right.ts'
import type { Tx } from '../platform/postgres/db.ts'
import { isOpen, type Message, type OwnMessage, type Reader } from './model.ts'
import { renderMessage, renderOwnMessage } from './render.ts'
import { type MessageDependencies, messageEvent, saveMessages } from './save.ts'
import type { MessageInput, MessageOutput, MessageQuery, OwnMessageOutput } from './schema.ts'
import * as store from './store.ts'

export type { Message, OwnMessage, Reader } from './model.ts'

export const manageMessages: NeededRight = { name: 'system.message' }

export type MessageService = ReturnType<typeof createMessageService>

export function createMessageService(deps: MessageDependencies) {
  const { db, events, principals } = deps

  async function render(actor: Actor, messages: readonly Message[]): Promise<MessageOutput[]> {
    const groupIds = messages.flatMap((message) => message.groupIds ?? [])
    const names = await principals.names(db, { userIds: [], groupIds }, actor.languages)
    return messages.map((message) => renderMessage(message, names))
  }

  return {
    /** A page of all messages, by id (READ-040). */
    async list(actor: Actor, page: MessageQuery): Promise<MessageOutput[]> {
      requireRight(actor, manageMessages)
      return render(actor, await store.listMessages(db, page))
    },

    /** @throws {AppError} `MessageNotFound` */
    async read(actor: Actor, id: number): Promise<MessageOutput[]> {
      requireRight(actor, manageMessages)
      const messages = await store.findMessages(db, [id])
      if (messages.length === 0) throw new AppError('MessageNotFound', { _id: id })
      return render(actor, messages)
    },

    /** For searches: managers of messages find all of them. */
    records: {
      access(actor: Actor) {
        requireRight(actor, manageMessages)
        return { condition: 'true', shown: {} }
      },
      async render(actor: Actor, ids: readonly number[]): Promise<ReadonlyMap<number, MessageOutput>> {
        const wire = await render(actor, await store.findMessages(db, ids))
        return new Map(wire.map((one) => [one.message._id, one]))
      },
    },

    /** Creates and updates messages, all or none. */
    async save(actor: Actor, inputs: readonly MessageInput[]): Promise<MessageOutput[]> {
      requireRight(actor, manageMessages)
      const ids = await saveMessages(deps, actor, inputs)
      const saved = new Map((await store.findMessages(db, ids)).map((message) => [message.id, message]))
      return render(
        actor,
        ids.map((id) => saved.get(id)).filter((message) => message !== undefined),
      )
    },

    /** @throws {AppError} `MessageNotFound` */
    remove(actor: Actor, id: number): Promise<void> {
      requireRight(actor, manageMessages)
      return db.transaction(async (tx) => {
        const [message] = await store.lockMessages(tx, [id], [])
        if (!message) throw new AppError('MessageNotFound', { _id: id })
        await store.deleteMessage(tx, id)
        await events.append(tx, [messageEvent('MESSAGE_DELETE', actor, message)])
      })
    },

    /** The current messages for the caller; a caller without a token counts as a guest. */
    async own(actor: Actor | null): Promise<OwnMessageOutput[]> {
      return (await store.messagesFor(db, readerOf(actor))).map(renderOwnMessage)
    },

    /**
     * Records that the caller has agreed to a message, or has seen it, in the version that was read.
     * @throws {AppError} `MessageNotFound` when it is not for the caller, `VersionMismatch` when it has changed since.
     */
    async confirm(actor: Actor, id: number, version: number): Promise<void> {
      const [message] = await store.messagesFor(db, readerOf(actor), { id })
      if (!message) throw new AppError('MessageNotFound', { _id: id })
      assertVersion(version, message.version, 'stored', { path: 'version' })
      await store.confirmMessages(db, actor.userId, [{ id, version }])
    },

    /** The messages that a user must read first at sign-in, by id. */
    async pending(reader: Reader): Promise<OwnMessage[]> {
      return (await store.messagesFor(db, reader, { atSignIn: true })).filter(isOpen)
    },

    /** Records the messages that a user has agreed to or seen at sign-in, in the versions that were shown. */
    confirmed: (userId: number, messages: readonly { id: number; version: number }[]): Promise<number> =>
      store.confirmMessages(db, userId, messages),

    /** Gives for each caller the messages whose text it may know: messages that are addressed to it, or all for managers. */
    async readable(ids: readonly number[]): Promise<(actor: Actor) => ReadonlySet<number>> {
      const found = await store.addresseesOf(db, ids)
      return (actor) => {
        if (hasRight(actor, manageMessages)) return new Set(ids)
        const own = found.filter(({ groupIds }) => groupIds?.some((id) => actor.groupIds.includes(id)) ?? true)
        return new Set(own.map(({ id }) => id))
      }
    },

    /** A group is being deleted: messages for its members alone must not become messages for everybody. */
    replaceGroup: (tx: Tx, from: number, to: number): Promise<void> => store.readdress(tx, from, to),
  }
}

function readerOf(actor: Actor | null): Reader {
  return {
    userId: actor?.userId ?? null,
    groupIds: actor?.groupIds ?? anybodyGroupIds,
    clientId: actor?.session?.clientId ?? null,
  }
}
