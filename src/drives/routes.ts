import type { FastifyReply } from 'fastify'
import { deliver } from '../files/service.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import { bodyBytes } from '../platform/http/body/drain.ts'
import { streamedBody } from '../platform/http/body/streamed.ts'
import type { HttpApp } from '../platform/http/http.ts'
import { whenClosed } from '../platform/limits/when-closed.ts'
import type { DriveEntry, DriveFolder, Place } from './model.ts'
import { patched } from './properties.ts'
import { beginningOf, destinationOf, hrefOf, ifOf, isConditional, secondsOf, sendXml, textOf } from './requests.ts'
import { type Drive, type DriveService, drivePath } from './service.ts'
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
} from './verbs.ts'
import { readProppatch } from './xml.ts'

type Asked = ShareRequest<Drive>

/** Collections as folders of files. */
export function registerDriveRoutes(http: HttpApp, { drives }: { drives: DriveService }): void {
  for (const method of ['PROPFIND', 'PROPPATCH', 'MKCOL', 'MOVE', 'COPY', 'LOCK', 'UNLOCK']) {
    http.addHttpMethod(method, { hasBody: true })
  }
  const answers = { get, put, remove, propfind, proppatch, mkcol, move, lock, unlock }
  registerVerbs<Drive>(http, drivePath, drives.open, answers)

  async function found({ share: drive, steps }: Asked): Promise<Place & { readonly entry: DriveEntry }> {
    const place = await drives.find(drive, steps)
    if (!place?.entry) throw new AppError('ResourceNotFound')
    return place as Place & { readonly entry: DriveEntry }
  }

  async function get(asked: Asked): Promise<FastifyReply> {
    const { request, reply, share: drive } = asked
    const { entry } = await found(asked)
    if (entry.kind === 'folder') return sendIndex(asked, 'WebDAV', await drives.entriesOf(drive, entry))
    if (entry.kind === 'placeholder') return reply.headers({ ETag: '"empty"', 'Content-Length': 0 }).send()
    const gone = new AbortController()
    whenClosed(reply.raw, () => gone.abort())
    const delivery = await drives.content(drive.actor, entry, gone.signal)
    whenClosed(reply.raw, delivery.end)
    return deliver(request, reply, { ...delivery, fileName: entry.name, keep: 0 })
  }

  async function put(asked: Asked): Promise<FastifyReply> {
    const { request, reply, share: drive, steps } = asked
    const place = await drives.find(drive, steps)
    const upload = await drives.upload(drive, place)
    await assertMayWrite(asked, place as Place)
    assertWhole(request)
    const content = await beginningOf(streamedBody(request))
    if (content === null) {
      await drives.announce(upload)
      return reply.status(upload.entry === null ? 201 : 204).send()
    }
    const options = { deadline: request.deadline, conditional: isConditional(request) }
    const { ids, replaced } = await drives.store(upload, { content, bytes: bodyBytes(request) }, options)
    if (ids.length > 0) reply.header('X-Svc-System-Object-Id', ids.map(String))
    return reply.status(replaced ? 204 : 201).send()
  }

  async function remove(asked: Asked): Promise<FastifyReply> {
    const { reply, share: drive, request } = asked
    const place = await found(asked)
    await assertMayWrite(asked, place)
    if (place.entry.kind === 'folder') await removeFolder(drive, place)
    else await drives.remove(drive, place, request.deadline)
    return reply.status(204).send()
  }

  async function removeFolder(drive: Drive, { parent, entry }: Place): Promise<void> {
    const folder = entry as DriveFolder
    if (!parent || (await drives.entriesOf(drive, folder)).length > 0) throw new AppError('PathConflict')
    await drives.removeFolder(drive, folder)
  }

  function propfind(asked: Asked): Promise<FastifyReply> {
    const { share } = asked
    return answerPropfind(asked, drivePath, async () => {
      const place = await found(asked)
      const { entry } = place
      const locks = await drives.locks.at(drives.lockable(place))
      return { entry, locks, below: async () => (entry.kind === 'folder' ? drives.entriesOf(share, entry) : []) }
    })
  }

  async function proppatch(asked: Asked): Promise<FastifyReply> {
    const { request, reply, steps } = asked
    const names = readProppatch(await textOf(request))
    const place = await found(asked)
    await assertMayWrite(asked, place)
    return sendXml(
      reply.status(207),
      patched(
        { href: hrefOf(request, drivePath, steps, place.entry?.kind === 'folder'), entry: place.entry, locks: [] },
        names,
      ),
    )
  }

  async function mkcol(asked: Asked): Promise<FastifyReply> {
    const { request, reply, share: drive, steps } = asked
    assertBare(request)
    const place = await drives.find(drive, steps)
    if (place && place.entry?.kind !== 'folder') await assertMayWrite(asked, place)
    await drives.makeFolder(drive, place)
    return reply.status(201).send()
  }

  async function move(asked: Asked): Promise<FastifyReply> {
    const { request, reply, share: drive, steps } = asked
    const [from, to] = [await drives.find(drive, steps), await drives.find(drive, destinationOf(request, drivePath))]
    if (from?.entry?.kind !== 'folder') throw new AppError('PathConflict')
    await assertMayWrite(asked, from)
    if (to) await drives.assertFree(to, ifOf(request).tokens)
    await drives.rename(drive, from, to)
    return reply.status(201).send()
  }

  async function lock(asked: Asked): Promise<FastifyReply> {
    const { request, reply, share: drive, steps } = asked
    const depth = request.headers.depth ?? 'infinity'
    if (depth !== '0' && depth !== 'infinity')
      throw badRequest('The header Depth must be 0 or infinity.', { header: 'Depth' })
    const body = await textOf(request)
    const place = await drives.find(drive, steps)
    if (!place) throw new AppError('PathConflict')
    const href = hrefOf(request, drivePath, steps, place.entry?.kind === 'folder')
    const lockable = drives.lockable(place)
    const refreshed = await answerRefresh(asked, body, href, (...held) => drives.locks.refresh(lockable, ...held))
    if (refreshed) return refreshed
    const owner = ownerIn(body)
    // A lock on a name that does not exist also creates it (RFC 4918, 7.3).
    const announced = place.entry === null ? await drives.upload(drive, place) : null
    const seconds = secondsOf(request.headers.timeout)
    const taken = await drives.locks.take(lockable, { deep: depth === 'infinity', owner, seconds })
    if (announced) await drives.announce(announced)
    return sendLock(reply.status(201), taken, href)
  }

  async function unlock({ request, reply, share, steps }: Asked): Promise<FastifyReply> {
    const token = unlockedIn(request)
    const place = await drives.find(share, steps)
    if (!place?.entry || !(await drives.locks.release(drives.lockable(place), token)))
      throw new AppError('ResourceLocked')
    return reply.status(204).send()
  }

  /** Checks the conditions of the request, and the locks of others. @throws {AppError} `PreconditionFailed`, `ResourceLocked` */
  async function assertMayWrite({ request }: Asked, place: Place): Promise<void> {
    const held = await drives.locks.at(drives.lockable(place))
    await drives.assertFree(place, assertConditions(request, place.entry, held))
  }
}
