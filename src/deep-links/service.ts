/**
 * Deep links: an address names an object, its version and a mask, and the wanted part: a document in some format, or one
 * of its files. Callers without a token are the system user `deep_link`. If a caller may not read the target, the answer
 * is the same whether or not it exists (decision 60). See docs/deep-links.md.
 */
import type { BaseConfig } from '../config/service.ts'
import type { Model } from '../datamodel/model.ts'
import type { FileService } from '../files/service.ts'
import type { FormatInfo, FormatOptions, FormatService } from '../formats/service.ts'
import { type LocatedObject, type ObjectVersion, type ReadService, treeInMask, type Wire } from '../objects/service.ts'
import type { Actor } from '../platform/actor.ts'
import { AppError } from '../platform/errors.ts'
import type { Deadline } from '../platform/limits/deadline.ts'
import type { RequestLimiter } from '../platform/limits/request-limiter.ts'
import { chooseFile } from './files.ts'
import { createIiifCollections, type IiifCollectionDeps } from './iiif/collection.ts'
import { createManifests, presentationContext } from './iiif/manifest.ts'
import { languagesFor } from './languages.ts'
import {
  type DeepLink,
  type Disposition,
  manifestFormat,
  type ObjectSelector,
  parseDeepLink,
  pathError,
} from './path.ts'

export { createFindByColumn } from './find-by-column.ts'
export { createSitemaps } from './sitemaps/service.ts'
export { createStrangerQuota } from './strangers.ts'

export interface DeepLinkDeps {
  readonly externalUrl: string
  readonly datamodel: { current(): Model }
  readonly settings: () => Pick<BaseConfig, 'deep_link_access' | 'file_url_expire'>
  /** Languages of data, best first. */
  readonly languages: () => readonly string[]
  /** Alternatives to the word `native` in names of formats. */
  readonly words: readonly string[]
  /** The user for callers without a token; null: there is none. */
  readonly stranger: () => Promise<Actor | null>
  /** Counts a request of a caller without an account. @throws {AppError} `QuotaExceeded` */
  readonly admit: (actor: Actor | null, address: string) => Promise<void>
  /** Ids of at most two objects with the value in the column, as far as the actor sees it. */
  readonly findByColumn: (
    actor: Actor,
    named: Extract<ObjectSelector, { by: 'column' }>,
    deadline: Deadline,
  ) => Promise<readonly number[]>
  readonly read: Pick<ReadService, 'locate' | 'versions'>
  readonly collections: IiifCollectionDeps['collections']
  readonly files: Pick<FileService, 'chosenVersion'>
  readonly formats: Pick<FormatService, 'find' | 'each'>
  /** The limiter for documents with linked objects. */
  readonly heavyRequests: RequestLimiter
}

export interface DeepLinkRequest {
  readonly actor: Actor | null
  readonly address: string
  /** As sent, without the query. */
  readonly path: string
  readonly disposition: Disposition | undefined
  /** As sent: pages for callers without a token are in these languages. */
  readonly acceptLanguage: string | undefined
  readonly deadline: Deadline
}

export interface CollectionLinkRequest extends Pick<DeepLinkRequest, 'actor' | 'address' | 'deadline'> {
  readonly id: number
  /** The part of a long list, counted from 1. */
  readonly part: number | null
}

/** A file is delivered by `files`; a document is complete here. */
export type DeepLinkAnswer = { readonly disposition: Disposition | null } & (
  | { readonly kind: 'file'; readonly actor: Actor; readonly file: FileAddress }
  | { readonly kind: 'document'; readonly document: Document }
)

export interface FileAddress {
  readonly fileId: number
  readonly hash: string
  readonly version: string
  readonly objUuid: string
}

export interface Document {
  readonly bytes: Buffer
  readonly contentType: string
  readonly name: string
  /** It is a page for people. */
  readonly isPage: boolean
}

export type DeepLinkService = ReturnType<typeof createDeepLinkService>

export function createDeepLinkService(deps: DeepLinkDeps) {
  const { settings, read } = deps
  const manifests = createManifests(deps)
  const iiifCollections = createIiifCollections(deps)

  /**
   * The caller for whom a link is opened.
   * @throws {AppError} `DeepLinkAccessDisabled`, `QuotaExceeded`, `ObjectInsufficientRights`
   */
  async function callerOf({ actor, address }: Pick<DeepLinkRequest, 'actor' | 'address'>): Promise<Actor> {
    if (!settings().deep_link_access.enabled) throw new AppError('DeepLinkAccessDisabled')
    await deps.admit(actor, address)
    const caller = actor ?? (await deps.stranger())
    if (!caller) throw new AppError('ObjectInsufficientRights')
    return caller
  }

  return {
    /**
     * Opens the target of a deep link, for its caller.
     * @throws {AppError} `DeepLinkAccessDisabled`, `DeepLinkAccessByIdDisabled`, `DeepLinkAccessByColumnDisabled`,
     * `ApiObjectPath`, `ObjectInsufficientRights`, `ObjectInsufficientAssetDownloadRight`, `ObjectGone`,
     * `ResourceNotFound`, `FileVersionNotAvailable`, `FileGroupNotAvailable`
     */
    async open(request: DeepLinkRequest): Promise<DeepLinkAnswer> {
      const actor = await callerOf(request)
      const link = parseDeepLink(request.path)
      const disposition = dispositionOf(link, request.disposition)
      const object = await locate(actor, link, request.deadline)
      const wanted = {
        systemObjectId: object.systemObjectId,
        ...(link.version === null ? {} : { version: link.version }),
      }
      if (link.file !== null || link.browser !== null) {
        return { kind: 'file', actor, file: await fileOf(actor, link, object, wanted, request.deadline), disposition }
      }
      const isStranger = request.actor === null
      const { acceptLanguage, deadline } = request
      const document = await documentOf({ actor, isStranger, link, object, wanted, acceptLanguage, deadline })
      return { kind: 'document', document, disposition }
    },

    /**
     * A collection for viewers.
     * @throws {AppError} `DeepLinkAccessDisabled`, `ObjectNotFound`, `RightRequired`, `ResourceNotFound`
     */
    async collection({ id, part, deadline, ...caller }: CollectionLinkRequest): Promise<Document> {
      const actor = await callerOf(caller)
      const isStranger = caller.actor === null
      const work = () => iiifCollections({ actor, isStranger, id, part, deadline })
      return presentation(await deps.heavyRequests.run(deadline, work), 'collection.json')
    },
  }

  /** The object of the link, if the caller may read it with the mask. */
  async function locate(actor: Actor, link: DeepLink, deadline: Deadline): Promise<LocatedObject> {
    const named = await systemIdOrUuid(actor, link.object, deadline)
    const found = await read.locate(actor, named, link.mask)
    if (found.kind === 'object') {
      if (link.version !== null && link.version > found.version) throw pathError('there is no such version')
      return found
    }
    if (found.kind === 'gone') throw new AppError('ObjectGone')
    const isSecret = 'systemObjectId' in named && !actor.isRoot
    if (found.kind === 'unknown' && !isSecret) throw pathError('there is no such object')
    if (found.kind !== 'no mask') throw new AppError('ObjectInsufficientRights', { right: 'read' })
    const { mask } = link
    if (mask !== null && actor.isRoot) throw pathError(`there is no mask ${mask}`)
    throw new AppError('ObjectInsufficientRights', { right: 'mask', ...(mask === null ? {} : { mask }) })
  }

  async function systemIdOrUuid(actor: Actor, selector: ObjectSelector, deadline: Deadline) {
    const access = settings().deep_link_access
    if (selector.by === 'uuid') return { uuid: selector.uuid }
    if (selector.by === 'id') {
      if (!access.allow_access_by_id) throw new AppError('DeepLinkAccessByIdDisabled')
      return { systemObjectId: selector.id }
    }
    if (!access.allow_access_by_column) throw new AppError('DeepLinkAccessByColumnDisabled')
    const [systemObjectId, ...more] = await deps.findByColumn(actor, selector, deadline)
    if (systemObjectId === undefined) throw pathError('no object has this value')
    if (more.length > 0) throw pathError('several objects have this value')
    return { systemObjectId }
  }

  async function readOne(
    actor: Actor,
    { mask }: LocatedObject,
    wanted: ObjectVersion,
    deadline: Deadline,
  ): Promise<Wire> {
    const options = { format: 'long_inheritance', mask, fileDays: settings().file_url_expire.deep_link_days } as const
    for await (const object of read.versions(actor, [wanted], options, deadline)) return object
    throw pathError('there is no such version')
  }

  async function fileOf(
    actor: Actor,
    link: DeepLink,
    object: LocatedObject,
    wanted: ObjectVersion,
    deadline: Deadline,
  ): Promise<FileAddress> {
    const wire = await readOne(actor, object, wanted, deadline)
    const chosen = chooseFile(link, object.mask, treeInMask({ model: deps.datamodel.current() }, wire, object.mask))
    if (chosen.kind === 'no column') throw pathError('there is no such column for files')
    const address = chosen.kind === 'file' ? await deps.files.chosenVersion(actor, chosen.id, link.fileVersion) : null
    if (!address) throw new AppError('ResourceNotFound', {}, { message: 'The object has no such file.' })
    return { ...address, objUuid: object.uuid }
  }

  interface Asked {
    readonly actor: Actor
    readonly isStranger: boolean
    readonly link: DeepLink
    readonly object: LocatedObject
    readonly wanted: ObjectVersion
    readonly acceptLanguage: string | undefined
    readonly deadline: Deadline
  }

  async function documentOf(asked: Asked): Promise<Document> {
    const { actor, link, object, wanted, deadline } = asked
    if (link.format === manifestFormat) {
      const wire = await readOne(actor, object, wanted, deadline)
      return presentation(manifests({ ...asked, wire }), 'manifest.json')
    }
    const format = formatOf(link.format ?? 'json')
    const work = () => write(asked, format)
    const merges = format.linked || settings().deep_link_access.merge_linked_objects !== 'none'
    return merges ? deps.heavyRequests.run(deadline, work) : work()
  }

  async function write(asked: Asked, format: FormatInfo): Promise<Document> {
    const { link, object, wanted, deadline } = asked
    const isPage = format.name === 'html'
    const actor = isPage ? visitorOf(asked) : asked.actor
    const { include_parents, merge_linked_objects, merge_max_depth } = settings().deep_link_access
    const options: FormatOptions = {
      allLanguages: !isPage,
      includeParents: include_parents,
      mergeLinkedObjects: merge_linked_objects,
      mergeMaxDepth: merge_max_depth,
      fileDays: settings().file_url_expire.deep_link_days,
      mask: object.mask.name,
    }
    const request = { format: format.name, objects: [wanted], options, deadline }
    for await (const { bytes } of deps.formats.each(actor, request)) {
      const name = `${object.uuid}${link.version === null ? '' : `.${link.version}`}.${format.extension}`
      return { bytes, contentType: format.contentType, name, isPage }
    }
    throw pathError('there is no such version')
  }

  /** A caller without an account gets the languages of the browser. */
  function visitorOf({ actor, isStranger, acceptLanguage }: Asked): Actor {
    return isStranger ? { ...actor, languages: languagesFor(acceptLanguage, deps.languages()) } : actor
  }

  /** @throws {AppError} `ApiObjectPath` for formats that deep links do not support */
  function formatOf(asked: string): FormatInfo {
    const alias = deps.words.some((word) => asked === `xml_${word}`)
    const name = alias ? 'xml_native' : asked
    const isOffered = offered.has(name) || name.startsWith('xslt/')
    const found = isOffered ? deps.formats.find(name) : null
    if (!found || (name.startsWith('xslt/') && !found.sheet?.use_for_api_objects)) {
      throw pathError(`there is no format ${asked}`)
    }
    return found
  }
}

/** A document of IIIF Presentation 3. */
function presentation(content: Wire, name: string): Document {
  const contentType = `application/ld+json;profile="${presentationContext}"`
  return { bytes: Buffer.from(JSON.stringify(content)), contentType, name, isPage: false }
}

/** Formats for one object, besides style sheets and IIIF. */
const offered = new Set(['json', 'xml_native', 'csv', 'html', 'dc', 'lido', 'mods'])

/** Where path and query differ, the download counts. */
function dispositionOf({ disposition }: DeepLink, asked: Disposition | undefined): Disposition | null {
  if (disposition === 'attachment' || asked === 'attachment') return 'attachment'
  return disposition ?? asked ?? null
}
