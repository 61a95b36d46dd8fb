/**
 * The verbs of WebDAV (specification, "WebDAV"; RFC 4918, class 1 and 2), as far as all kinds of shares answer them in
 * the same way.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError, badRequest } from '../platform/errors.ts'
import { bodyBytes } from '../platform/http/body/drain.ts'
import type { HttpApp } from '../platform/http/http.ts'
import { holdsIf, tokenAddress, tokenOf } from './if-header.ts'
import { indexPage } from './index-page.ts'
import type { Lock } from './locks.ts'
import { etagOf, lockDiscovery, multistatus, type Shown, type ShownEntry } from './properties.ts'
import { assertTags, hrefOf, ifOf, secondsOf, sendXml, stepsOf, textOf } from './requests.ts'
import { readLockInfo, readPropfind } from './xml.ts'

const methods = 'OPTIONS, GET, HEAD, POST, PUT, DELETE, PROPFIND, PROPPATCH, MKCOL, MOVE, COPY, LOCK, UNLOCK'

/** A request to an opened share. */
export interface ShareRequest<Share> {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly share: Share
  /** The steps of the path below the share. */
  readonly steps: readonly string[]
}

type Answer<Share> = (asked: ShareRequest<Share>) => Promise<FastifyReply>

export interface Verbs<Share> {
  readonly get: Answer<Share>
  readonly put: Answer<Share>
  readonly remove: Answer<Share>
  readonly propfind: Answer<Share>
  readonly proppatch: Answer<Share>
  readonly mkcol: Answer<Share>
  readonly move: Answer<Share>
  readonly lock: Answer<Share>
  readonly unlock: Answer<Share>
}

/** @param open opens the share of a key, for a caller at that address. */
export function registerVerbs<Share>(
  http: HttpApp,
  path: string,
  open: (key: string, address: string) => Promise<Share>,
  answers: Verbs<Share>,
): void {
  const verbs: readonly [names: readonly string[], writes: boolean, answer: Answer<Share>][] = [
    [['GET', 'HEAD', 'POST'], false, answers.get],
    [['PUT'], true, answers.put],
    [['DELETE'], true, answers.remove],
    [['PROPFIND'], false, answers.propfind],
    [['PROPPATCH'], true, answers.proppatch],
    [['MKCOL'], true, answers.mkcol],
    [['MOVE'], true, answers.move],
    [['COPY'], false, copy],
    [['LOCK'], true, answers.lock],
    [['UNLOCK'], true, answers.unlock],
    [['OPTIONS'], false, options],
  ]
  for (const [names, writes, answer] of verbs) {
    for (const address of [`${path}/:key`, `${path}/:key/*`]) {
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
          const share = await open(key, request.ip)
          return answer({ request, reply, share, steps: stepsOf(request.url, key) })
        },
      })
    }
  }
}

type Replying = Pick<ShareRequest<unknown>, 'reply'>

async function copy({ reply }: Replying): Promise<FastifyReply> {
  return reply.status(405).header('Allow', methods.replace(', COPY', '')).send()
}

async function options({ reply }: Replying): Promise<FastifyReply> {
  return reply.status(200).headers({ Allow: methods, 'Content-Length': 0 }).send()
}

interface Named {
  readonly name: string
  readonly kind: string
}

/** The entries of a folder, for browsers. */
export function sendIndex(
  { reply, steps }: ShareRequest<unknown>,
  title: string,
  entries: readonly Named[],
): FastifyReply {
  const page = indexPage(steps.at(-1) ?? title, entries, steps.length > 0)
  return reply.type('text/html; charset=utf-8').header('Referrer-Policy', 'no-referrer').send(page)
}

/** @throws {AppError} for an upload of a part of a file */
export function assertWhole({ headers }: FastifyRequest): void {
  if (headers['content-range'] !== undefined) throw badRequest('PUT takes whole files.', { header: 'Content-Range' })
}

/** @throws {AppError} `UnsupportedMediaType`: a MKCOL has no body */
export function assertBare(request: FastifyRequest): void {
  if (bodyBytes(request) > 0) throw new AppError('UnsupportedMediaType')
}

/** The answer to a PROPFIND: the entry, and with `Depth: 1` the entries of a folder. */
export async function answerPropfind(
  { request, reply, steps }: ShareRequest<unknown>,
  path: string,
  found: () => Promise<{
    readonly entry: ShownEntry
    readonly locks: readonly Lock[]
    /** The entries of the folder. */
    readonly below: () => Promise<readonly ShownEntry[]>
  }>,
): Promise<FastifyReply> {
  const { depth } = request.headers
  if (depth !== '0' && depth !== '1')
    throw badRequest('The header Depth must be 0 or 1.', { header: 'Depth', got: depth ?? '' })
  const wanted = readPropfind(await textOf(request))
  const { entry, locks, below } = await found()
  const base = hrefOf(request, path, steps, entry.kind === 'folder')
  const entries = depth === '1' && entry.kind === 'folder' ? await below() : []
  const shown = entries.map((one): Shown => {
    const href = `${base}${encodeURIComponent(one.name)}${one.kind === 'folder' ? '/' : ''}`
    return { href, entry: one, locks: [] }
  })
  return sendXml(reply.status(207), multistatus([{ href: base, entry, locks }, ...shown], wanted))
}

/** Renews the lock named by the request if there is no body; null: there is a body, which asks for a new lock. */
export async function answerRefresh(
  { request, reply }: ShareRequest<unknown>,
  body: string,
  href: string,
  refresh: (tokens: readonly string[], seconds: number) => Promise<Lock | null>,
): Promise<FastifyReply | null> {
  if (body.trim() !== '') return null
  const refreshed = await refresh(ifOf(request).tokens, secondsOf(request.headers.timeout))
  if (!refreshed) throw new AppError('PreconditionFailed', { header: 'If' })
  return sendLock(reply, refreshed, href)
}

/** The owner of a new lock. @throws {AppError} `ResourceLocked` for a shared one */
export function ownerIn(body: string): string {
  const { shared, owner } = readLockInfo(body)
  if (shared) throw new AppError('ResourceLocked', {}, { message: 'There are exclusive locks only.' })
  return owner
}

export function sendLock(reply: FastifyReply, lock: Lock, href: string): FastifyReply {
  return sendXml(reply.header('Lock-Token', `<${tokenAddress(lock.token)}>`), lockDiscovery(lock, href))
}

/** The lock that an UNLOCK names. @throws {AppError} */
export function unlockedIn({ headers }: FastifyRequest): string {
  const header = headers['lock-token']
  if (typeof header !== 'string') throw badRequest('UNLOCK needs the header Lock-Token.', { header: 'Lock-Token' })
  return tokenOf(header.trim().replace(/^<|>$/g, ''))
}

/** Checks the conditions of the request; answers the locks that it names. @throws {AppError} `PreconditionFailed` */
export function assertConditions(
  request: FastifyRequest,
  entry: ShownEntry | null,
  held: readonly { readonly token: string }[],
): readonly string[] {
  const header = ifOf(request)
  const etag = entry === null ? null : etagOf(entry)
  if (!holdsIf(header, { tokens: held.map(({ token }) => token), etag }))
    throw new AppError('PreconditionFailed', { header: 'If' })
  assertTags(request, etag)
  return header.tokens
}
