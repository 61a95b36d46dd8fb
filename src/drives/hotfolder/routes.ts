import type { FastifyReply, FastifyRequest } from 'fastify'
import { deliver } from '../../files/service.ts'
import { AppError, badRequest } from '../../platform/errors.ts'
import { bodyBytes } from '../../platform/http/body/drain.ts'
import { streamedBody } from '../../platform/http/body/streamed.ts'
import type { HttpApp } from '../../platform/http/http.ts'
import { holdsIf, tokenAddress, tokenOf } from '../if-header.ts'
import { indexPage } from '../index-page.ts'
import { etagOf, lockDiscovery, multistatus, patched, type Shown } from '../properties.ts'
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
} from '../requests.ts'
import { readLockInfo, readPropfind, readProppatch } from '../xml.ts'
import type { StagedEntry, StagedFile } from './model.ts'
import { type DropFolder, type HotfolderService, hotfolderPath, type Spot } from './service.ts'

const methods = 'OPTIONS, GET, HEAD, POST, PUT, DELETE, PROPFIND, PROPPATCH, MKCOL, MOVE, COPY, LOCK, UNLOCK'

interface Asked {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly drop: DropFolder
  readonly steps: readonly string[]
}

type Answer = (asked: Asked) => Promise<FastifyReply>

/** The share into which files are dropped; reading shows what waits to be imported, never what the collection has. */
export function registerHotfolderRoutes(http: HttpApp, { hotfolder }: { hotfolder: HotfolderService }): void {
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
    for (const address of [`${hotfolderPath}/:key`, `${hotfolderPath}/:key/*`]) {
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
          const drop = await hotfolder.open(key, request.ip)
          return answer({ request, reply, drop, steps: stepsOf(request.url, key) })
        },
      })
    }
  }

  async function found({ drop, steps }: Asked): Promise<Spot & { readonly entry: StagedEntry }> {
    const spot = await hotfolder.find(drop, steps)
    if (!spot.entry) throw new AppError('ResourceNotFound')
    return { ...spot, entry: spot.entry }
  }

  async function get(asked: Asked): Promise<FastifyReply> {
    const { request, reply, drop, steps } = asked
    const { entry } = await found(asked)
    if (entry.kind === 'folder') {
      const page = indexPage(steps.at(-1) ?? 'Hotfolder', await hotfolder.list(drop, steps), steps.length > 0)
      return reply.type('text/html; charset=utf-8').header('Referrer-Policy', 'no-referrer').send(page)
    }
    return deliverStaged(asked, request, entry)
  }

  function deliverStaged({ reply, drop, steps }: Asked, request: FastifyRequest, entry: StagedFile) {
    const { etag, bytes: size, modifiedAt: createdAt, name: fileName } = entry
    return deliver(request, reply, {
      version: { sha256: etag.slice(1, -1), mimeType: 'application/octet-stream', createdAt },
      ready: async () => ({ size, store: { read: (_tag, range) => hotfolder.read(drop, steps, range) } }),
      fileName,
      keep: 0,
      delivered: () => {},
    })
  }

  async function put(asked: Asked): Promise<FastifyReply> {
    const { request, reply, drop, steps } = asked
    const spot = await hotfolder.find(drop, steps)
    const most = await hotfolder.accept(drop, spot, bodyBytes(request))
    await assertMayWrite(asked, spot)
    if (request.headers['content-range'] !== undefined)
      throw badRequest('PUT takes whole files.', { header: 'Content-Range' })
    const content = await beginningOf(streamedBody(request))
    if (content === null) await hotfolder.announce(drop, spot)
    else await hotfolder.drop(drop, spot, content, most)
    return reply.status(spot.entry === null ? 201 : 204).send()
  }

  async function remove(asked: Asked): Promise<FastifyReply> {
    const spot = await found(asked)
    await assertMayWrite(asked, spot)
    await hotfolder.remove(asked.drop, spot)
    return asked.reply.status(204).send()
  }

  async function propfind(asked: Asked): Promise<FastifyReply> {
    const { request, reply, drop, steps } = asked
    const depth = request.headers.depth
    if (depth !== '0' && depth !== '1')
      throw badRequest('The header Depth must be 0 or 1.', { header: 'Depth', got: depth ?? '' })
    const wanted = readPropfind(await textOf(request))
    const { entry } = await found(asked)
    const base = hrefOf(request, hotfolderPath, steps, entry.kind === 'folder')
    const own: Shown = { href: base, entry, locks: await hotfolder.locks.at(hotfolder.lockable(drop, steps)) }
    const below = depth === '1' && entry.kind === 'folder' ? await hotfolder.list(drop, steps) : []
    const shown = below.map((one): Shown => {
      const href = `${base}${encodeURIComponent(one.name)}${one.kind === 'folder' ? '/' : ''}`
      return { href, entry: one, locks: [] }
    })
    return sendXml(reply.status(207), multistatus([own, ...shown], wanted))
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
    const { request, reply, drop, steps } = asked
    if (bodyBytes(request) > 0) throw new AppError('UnsupportedMediaType')
    const spot = await hotfolder.find(drop, steps)
    if (spot.entry === null) await assertMayWrite(asked, spot)
    await hotfolder.makeFolder(drop, spot)
    return reply.status(201).send()
  }

  async function move(asked: Asked): Promise<FastifyReply> {
    const { request, reply, drop, steps } = asked
    const from = await hotfolder.find(drop, steps)
    const to = await hotfolder.find(drop, destinationOf(request, hotfolderPath))
    await assertMayWrite(asked, from)
    await hotfolder.assertFree(drop, to.steps, ifOf(request).tokens)
    await hotfolder.move(drop, from, to)
    return reply.status(201).send()
  }

  async function copy({ reply }: Asked): Promise<FastifyReply> {
    return reply.status(405).header('Allow', methods.replace(', COPY', '')).send()
  }

  /** Of files alone: what is locked is not imported. A folder could not be locked with all that comes into it. */
  async function lock(asked: Asked): Promise<FastifyReply> {
    const { request, reply, drop, steps } = asked
    const seconds = secondsOf(request.headers.timeout)
    const body = await textOf(request)
    const spot = await hotfolder.find(drop, steps)
    if (spot.entry?.kind === 'folder') throw new AppError('PathConflict', {}, { message: 'Only files can be locked.' })
    const place = hotfolder.lockable(drop, steps)
    const href = hrefOf(request, hotfolderPath, steps, false)
    if (body.trim() === '') {
      const refreshed = await hotfolder.locks.refresh(place, ifOf(request).tokens, seconds)
      if (!refreshed) throw new AppError('PreconditionFailed', { header: 'If' })
      return sendXml(reply.header('Lock-Token', `<${tokenAddress(refreshed.token)}>`), lockDiscovery(refreshed, href))
    }
    const { shared, owner } = readLockInfo(body)
    if (shared) throw new AppError('ResourceLocked', {}, { message: 'There are exclusive locks only.' })
    await hotfolder.accept(drop, spot, 0)
    const taken = await hotfolder.locks.take(place, { deep: false, owner, seconds })
    // A name that nothing has is taken at the same time (RFC 4918, 7.3).
    await hotfolder.announce(drop, spot)
    reply.status(201).header('Lock-Token', `<${tokenAddress(taken.token)}>`)
    return sendXml(reply, lockDiscovery(taken, href))
  }

  async function unlock({ request, reply, drop, steps }: Asked): Promise<FastifyReply> {
    const header = request.headers['lock-token']
    if (typeof header !== 'string') throw badRequest('UNLOCK needs the header Lock-Token.', { header: 'Lock-Token' })
    const token = tokenOf(header.trim().replace(/^<|>$/g, ''))
    if (!(await hotfolder.locks.release(hotfolder.lockable(drop, steps), token))) throw new AppError('ResourceLocked')
    return reply.status(204).send()
  }

  async function options({ reply }: Asked): Promise<FastifyReply> {
    return reply.status(200).headers({ Allow: methods, 'Content-Length': 0 }).send()
  }

  /** The conditions of the request, and the locks of others. @throws {AppError} `PreconditionFailed`, `ResourceLocked` */
  async function assertMayWrite({ request, drop }: Asked, { steps, entry }: Spot): Promise<void> {
    const header = ifOf(request)
    const held = await hotfolder.locks.at(hotfolder.lockable(drop, steps))
    const etag = entry === null ? null : etagOf(entry)
    if (!holdsIf(header, { tokens: held.map(({ token }) => token), etag }))
      throw new AppError('PreconditionFailed', { header: 'If' })
    assertTags(request, etag)
    await hotfolder.assertFree(drop, steps, header.tokens)
  }
}
