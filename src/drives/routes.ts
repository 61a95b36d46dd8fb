import type { FastifyReply, FastifyRequest } from 'fastify'
import { deliver } from '../files/service.ts'
import { AppError, badRequest } from '../platform/errors.ts'
import { bodyBytes } from '../platform/http/body/drain.ts'
import { streamedBody } from '../platform/http/body/streamed.ts'
import type { HttpApp } from '../platform/http/http.ts'
import { holdsIf, tokenAddress, tokenOf } from './if-header.ts'
import { indexPage } from './index-page.ts'
import type { DriveEntry, DriveFolder, Place } from './model.ts'
import { etagOf, lockDiscovery, multistatus, patched, type Shown } from './properties.ts'
import {
  assertTags,
  beginningOf,
  destinationOf,
  hrefOf,
  ifOf,
  secondsOf,
  sendXml,
  stepsOf,
  textOf,
} from './requests.ts'
import { type Drive, type DriveService, drivePath } from './service.ts'
import { readLockInfo, readPropfind, readProppatch } from './xml.ts'

const url = `${drivePath}/:key/*`
const rootUrl = `${drivePath}/:key`

const methods = 'OPTIONS, GET, HEAD, POST, PUT, DELETE, PROPFIND, PROPPATCH, MKCOL, MOVE, COPY, LOCK, UNLOCK'
interface Asked {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly drive: Drive
  /** The steps of the path below the drive. */
  readonly steps: readonly string[]
}

type Answer = (asked: Asked) => Promise<FastifyReply>

/** The verbs of WebDAV (specification, "WebDAV"; RFC 4918, class 1 and 2). */
export function registerDriveRoutes(http: HttpApp, { drives }: { drives: DriveService }): void {
  for (const method of ['PROPFIND', 'PROPPATCH', 'MKCOL', 'MOVE', 'COPY', 'LOCK', 'UNLOCK']) {
    http.addHttpMethod(method, { hasBody: true })
  }
  const verbs: readonly [names: readonly string[], writes: boolean, answer: Answer][] = [
    [['GET', 'HEAD', 'POST'], false, get],
    [['PUT'], true, put],
    [['DELETE'], true, remove],
    [['PROPFIND'], false, propfind],
    [['PROPPATCH'], true, proppatch],
    [['MKCOL'], true, mkcol],
    [['MOVE'], true, move],
    [['COPY'], false, copy],
    [['LOCK'], true, lock],
    [['UNLOCK'], true, unlock],
    [['OPTIONS'], false, options],
  ]
  for (const [names, writes, answer] of verbs) {
    for (const address of [rootUrl, url]) {
      http.route({
        method: [...names],
        url: address,
        exposeHeadRoute: false,
        config: {
          access: 'public',
          writes,
          body: names.every((name) => ['GET', 'HEAD', 'OPTIONS'].includes(name)) ? 'none' : 'stream',
          errors: ['WebdavNotEnabled', 'ResourceNotFound'],
        },
        compress: false,
        handler: async (request, reply) => {
          const { key } = request.params as { readonly key: string }
          reply.headers({ DAV: '1, 2', 'MS-Author-Via': 'DAV', 'Cache-Control': 'private, no-cache' })
          const drive = await drives.open(key, request.ip)
          return answer({ request, reply, drive, steps: stepsOf(request.url, key) })
        },
      })
    }
  }

  async function found({ drive, steps }: Asked): Promise<Place & { readonly entry: DriveEntry }> {
    const place = await drives.find(drive, steps)
    if (!place?.entry) throw new AppError('ResourceNotFound')
    return place as Place & { readonly entry: DriveEntry }
  }

  async function get(asked: Asked): Promise<FastifyReply> {
    const { request, reply, drive } = asked
    const { entry } = await found(asked)
    if (entry.kind === 'folder') return sendIndex(asked, entry)
    if (entry.kind === 'placeholder') return reply.headers({ ETag: '"empty"', 'Content-Length': 0 }).send()
    const gone = new AbortController()
    const delivery = await drives.content(drive.actor, entry, gone.signal)
    reply.raw.once('close', () => {
      gone.abort()
      delivery.end()
    })
    return deliver(request, reply, { ...delivery, fileName: entry.name, keep: 0 })
  }

  async function sendIndex({ reply, drive, steps }: Asked, folder: DriveFolder): Promise<FastifyReply> {
    const page = indexPage(steps.at(-1) ?? 'WebDAV', await drives.entriesOf(drive, folder), steps.length > 0)
    return reply.type('text/html; charset=utf-8').header('Referrer-Policy', 'no-referrer').send(page)
  }

  async function put(asked: Asked): Promise<FastifyReply> {
    const { request, reply, drive, steps } = asked
    const place = await drives.find(drive, steps)
    const upload = await drives.upload(drive, place)
    await assertMayWrite(asked, place as Place)
    if (request.headers['content-range'] !== undefined)
      throw badRequest('PUT takes whole files.', { header: 'Content-Range' })
    const content = await beginningOf(streamedBody(request))
    if (content === null) {
      await drives.announce(upload)
      return reply.status(upload.entry === null ? 201 : 204).send()
    }
    const ids = await drives.store(upload, { content, bytes: bodyBytes(request) }, request.deadline)
    if (ids.length > 0) reply.header('X-Svc-System-Object-Id', ids.map(String))
    return reply.status(upload.entry?.kind === 'file' ? 204 : 201).send()
  }

  async function remove(asked: Asked): Promise<FastifyReply> {
    const { reply, drive, request } = asked
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

  async function propfind(asked: Asked): Promise<FastifyReply> {
    const { request, reply, drive, steps } = asked
    const depth = request.headers.depth
    if (depth !== '0' && depth !== '1')
      throw badRequest('The header Depth must be 0 or 1.', { header: 'Depth', got: depth ?? '' })
    const wanted = readPropfind(await textOf(request))
    const place = await found(asked)
    const base = hrefOf(request, drivePath, steps, place.entry?.kind === 'folder')
    const own: Shown = { href: base, entry: place.entry, locks: await drives.locks.at(drives.lockable(place)) }
    const below = depth === '1' && place.entry.kind === 'folder' ? await drives.entriesOf(drive, place.entry) : []
    const shown = below.map((entry): Shown => {
      const href = `${base}${encodeURIComponent(entry.name)}${entry.kind === 'folder' ? '/' : ''}`
      return { href, entry, locks: [] }
    })
    return sendXml(reply.status(207), multistatus([own, ...shown], wanted))
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
    const { request, reply, drive, steps } = asked
    if (bodyBytes(request) > 0) throw new AppError('UnsupportedMediaType')
    const place = await drives.find(drive, steps)
    if (place && place.entry?.kind !== 'folder') await assertMayWrite(asked, place)
    await drives.makeFolder(drive, place)
    return reply.status(201).send()
  }

  async function move(asked: Asked): Promise<FastifyReply> {
    const { request, reply, drive, steps } = asked
    const [from, to] = [await drives.find(drive, steps), await drives.find(drive, destinationOf(request, drivePath))]
    if (from?.entry?.kind !== 'folder') throw new AppError('PathConflict')
    await assertMayWrite(asked, from)
    if (to) await drives.assertFree(to, ifOf(request).tokens)
    await drives.rename(drive, from, to)
    return reply.status(201).send()
  }

  async function copy({ reply }: Asked): Promise<FastifyReply> {
    return reply.status(405).header('Allow', methods.replace(', COPY', '')).send()
  }

  async function lock(asked: Asked): Promise<FastifyReply> {
    const { request, reply, drive, steps } = asked
    const seconds = secondsOf(request.headers.timeout)
    const depth = request.headers.depth ?? 'infinity'
    if (depth !== '0' && depth !== 'infinity')
      throw badRequest('The header Depth must be 0 or infinity.', { header: 'Depth' })
    const body = await textOf(request)
    const place = await drives.find(drive, steps)
    if (!place) throw new AppError('PathConflict')
    const href = hrefOf(request, drivePath, steps, place.entry?.kind === 'folder')
    if (body.trim() === '') {
      const refreshed = await drives.locks.refresh(drives.lockable(place), ifOf(request).tokens, seconds)
      if (!refreshed) throw new AppError('PreconditionFailed', { header: 'If' })
      return sendXml(reply.header('Lock-Token', `<${tokenAddress(refreshed.token)}>`), lockDiscovery(refreshed, href))
    }
    const { shared, owner } = readLockInfo(body)
    if (shared) throw new AppError('ResourceLocked', {}, { message: 'There are exclusive locks only.' })
    // A name that nothing has is taken at the same time (RFC 4918, 7.3).
    const announced = place.entry === null ? await drives.upload(drive, place) : null
    const taken = await drives.locks.take(drives.lockable(place), { deep: depth === 'infinity', owner, seconds })
    if (announced) await drives.announce(announced)
    reply.status(201).header('Lock-Token', `<${tokenAddress(taken.token)}>`)
    return sendXml(reply, lockDiscovery(taken, href))
  }

  async function unlock(asked: Asked): Promise<FastifyReply> {
    const { request, reply, drive, steps } = asked
    const header = request.headers['lock-token']
    if (typeof header !== 'string') throw badRequest('UNLOCK needs the header Lock-Token.', { header: 'Lock-Token' })
    const place = await drives.find(drive, steps)
    const token = tokenOf(header.trim().replace(/^<|>$/g, ''))
    if (!place?.entry || !(await drives.locks.release(drives.lockable(place), token)))
      throw new AppError('ResourceLocked')
    return reply.status(204).send()
  }

  async function options({ reply }: Asked): Promise<FastifyReply> {
    return reply.status(200).headers({ Allow: methods, 'Content-Length': 0 }).send()
  }

  /** The conditions of the header `If`, and the locks of others. @throws {AppError} `PreconditionFailed`, `ResourceLocked` */
  async function assertMayWrite({ request }: Asked, place: Place): Promise<void> {
    const header = ifOf(request)
    const held = await drives.locks.at(drives.lockable(place))
    const etag = place.entry === null ? null : etagOf(place.entry)
    if (!holdsIf(header, { tokens: held.map(({ token }) => token), etag }))
      throw new AppError('PreconditionFailed', { header: 'If' })
    assertTags(request, etag)
    await drives.assertFree(place, header.tokens)
  }
}
