import type { FastifyReply } from 'fastify'
import { deliver } from '../../files/service.ts'
import { AppError } from '../../platform/errors.ts'
import { bodyBytes } from '../../platform/http/body/drain.ts'
import { streamedBody } from '../../platform/http/body/streamed.ts'
import type { HttpApp } from '../../platform/http/http.ts'
import { patched } from '../properties.ts'
import { beginningOf, destinationOf, hrefOf, ifOf, secondsOf, sendXml, textOf } from '../requests.ts'
import {
  answerPropfind,
  answerRefresh,
  assertBare,
  assertConditions,
  assertWhole,
  ownerIn,
  registerVerbs,
  type ShareRequest,
  sendIndex,
  sendLock,
  unlockedIn,
} from '../verbs.ts'
import { readProppatch } from '../xml.ts'
import type { StagedEntry, StagedFile } from './model.ts'
import { type DropFolder, type HotfolderService, hotfolderPath, type Spot } from './service.ts'

type Asked = ShareRequest<DropFolder>

/** The share into which files are dropped. It shows files that wait to be imported, never the content of the collection. */
export function registerHotfolderRoutes(http: HttpApp, { hotfolder }: { hotfolder: HotfolderService }): void {
  const answers = { get, put, remove, propfind, proppatch, mkcol, move, lock, unlock }
  registerVerbs<DropFolder>(http, hotfolderPath, hotfolder.open, answers)

  async function found({ share: drop, steps }: Asked): Promise<Spot & { readonly entry: StagedEntry }> {
    const spot = await hotfolder.find(drop, steps)
    if (!spot.entry) throw new AppError('ResourceNotFound')
    return { ...spot, entry: spot.entry }
  }

  async function get(asked: Asked): Promise<FastifyReply> {
    const { entry } = await found(asked)
    if (entry.kind !== 'folder') return deliverStaged(asked, entry)
    return sendIndex(asked, 'Hotfolder', await hotfolder.list(asked.share, asked.steps))
  }

  function deliverStaged({ request, reply, share, steps }: Asked, entry: StagedFile) {
    const { etag, bytes: size, modifiedAt: createdAt, name: fileName } = entry
    return deliver(request, reply, {
      version: { sha256: etag.slice(1, -1), mimeType: 'application/octet-stream', createdAt },
      ready: async () => ({ size, store: { read: (_tag, range) => hotfolder.read(share, steps, range) } }),
      fileName,
      keep: 0,
      delivered: () => {},
    })
  }

  async function put(asked: Asked): Promise<FastifyReply> {
    const { request, reply, share: drop, steps } = asked
    const spot = await hotfolder.find(drop, steps)
    const most = await hotfolder.accept(drop, spot, bodyBytes(request))
    await assertMayWrite(asked, spot)
    assertWhole(request)
    const content = await beginningOf(streamedBody(request))
    if (content === null) await hotfolder.announce(drop, spot)
    else await hotfolder.drop(drop, spot, content, most)
    return reply.status(spot.entry === null ? 201 : 204).send()
  }

  async function remove(asked: Asked): Promise<FastifyReply> {
    const spot = await found(asked)
    await assertMayWrite(asked, spot)
    await hotfolder.remove(asked.share, spot)
    return asked.reply.status(204).send()
  }

  function propfind(asked: Asked): Promise<FastifyReply> {
    const { share, steps } = asked
    return answerPropfind(asked, hotfolderPath, async () => {
      const { entry } = await found(asked)
      const locks = await hotfolder.locks.at(hotfolder.lockable(share, steps))
      return { entry, locks, below: () => hotfolder.list(share, steps) }
    })
  }

  async function proppatch(asked: Asked): Promise<FastifyReply> {
    const { request, reply, steps } = asked
    const names = readProppatch(await textOf(request))
    const spot = await found(asked)
    await assertMayWrite(asked, spot)
    const href = hrefOf(request, hotfolderPath, steps, spot.entry.kind === 'folder')
    return sendXml(reply.status(207), patched({ href, entry: spot.entry, locks: [] }, names))
  }

  async function mkcol(asked: Asked): Promise<FastifyReply> {
    const { request, reply, share: drop, steps } = asked
    assertBare(request)
    const spot = await hotfolder.find(drop, steps)
    if (spot.entry === null) await assertMayWrite(asked, spot)
    await hotfolder.makeFolder(drop, spot)
    return reply.status(201).send()
  }

  async function move(asked: Asked): Promise<FastifyReply> {
    const { request, reply, share: drop, steps } = asked
    const from = await hotfolder.find(drop, steps)
    const to = await hotfolder.find(drop, destinationOf(request, hotfolderPath))
    await assertMayWrite(asked, from)
    await hotfolder.assertFree(drop, to.steps, ifOf(request).tokens)
    await hotfolder.move(drop, from, to)
    return reply.status(201).send()
  }

  /**
   * Only files can be locked: a locked file is not imported. A folder could not be locked together with all files that
   * come into it.
   */
  async function lock(asked: Asked): Promise<FastifyReply> {
    const { request, reply, share: drop, steps } = asked
    const body = await textOf(request)
    const spot = await hotfolder.find(drop, steps)
    if (spot.entry?.kind === 'folder') throw new AppError('PathConflict', {}, { message: 'Only files can be locked.' })
    const place = hotfolder.lockable(drop, steps)
    const href = hrefOf(request, hotfolderPath, steps, false)
    const refreshed = await answerRefresh(asked, body, href, (...held) => hotfolder.locks.refresh(place, ...held))
    if (refreshed) return refreshed
    const owner = ownerIn(body)
    await hotfolder.accept(drop, spot, 0)
    const seconds = secondsOf(request.headers.timeout)
    const taken = await hotfolder.locks.take(place, { deep: false, owner, seconds })
    // A lock on a name that does not exist also creates it (RFC 4918, 7.3).
    await hotfolder.announce(drop, spot)
    return sendLock(reply.status(201), taken, href)
  }

  async function unlock({ request, reply, share, steps }: Asked): Promise<FastifyReply> {
    const released = await hotfolder.locks.release(hotfolder.lockable(share, steps), unlockedIn(request))
    if (!released) throw new AppError('ResourceLocked')
    return reply.status(204).send()
  }

  /** Checks the conditions of the request, and the locks of others. @throws {AppError} `PreconditionFailed`, `ResourceLocked` */
  async function assertMayWrite({ request, share }: Asked, { steps, entry }: Spot): Promise<void> {
    const held = await hotfolder.locks.at(hotfolder.lockable(share, steps))
    await hotfolder.assertFree(share, steps, assertConditions(request, entry, held))
  }
}
