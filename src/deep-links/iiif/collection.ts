/**
 * A collection as a collection of IIIF Presentation 3: the collections below it, and those objects of its list that
 * viewers can show. Long lists are split into parts, which are collections themselves.
 * @see https://iiif.io/api/presentation/3.0/#51-collection
 */
import type { CollectionOutput, ReadablePage } from '../../collections/service.ts'
import type { BaseConfig } from '../../config/service.ts'
import type { Model } from '../../datamodel/model.ts'
import { type ReadService, treeInMask, type Wire } from '../../objects/service.ts'
import type { Actor } from '../../platform/actor.ts'
import { AppError } from '../../platform/errors.ts'
import type { Deadline } from '../../platform/limits/deadline.ts'
import { deepLink } from '../../platform/values/deep-link.ts'
import { type FileWire, fileColumns } from '../files.ts'
import { manifestFormat } from '../path.ts'
import { canvasesOf } from './canvases.ts'
import { presentationContext } from './manifest.ts'
import { titleOf } from './metadata.ts'
import { statementOf } from './statement.ts'
import { languageMap, type Text } from './texts.ts'

export interface IiifCollectionDeps {
  readonly externalUrl: string
  readonly datamodel: { current(): Model }
  readonly settings: () => Pick<BaseConfig, 'deep_link_access' | 'file_url_expire'>
  readonly read: Pick<ReadService, 'versions'>
  readonly collections: {
    /** @throws {AppError} `ObjectNotFound`, `RightRequired` */
    read(actor: Actor, id: number): Promise<CollectionOutput>
    listBelow(actor: Actor, parentId: number, page: { limit: number; offset: number }): Promise<CollectionOutput[]>
    readonly lists: {
      readablePage(actor: Actor, id: number, page: { offset: number; limit: number }): Promise<ReadablePage>
    }
  }
}

export interface IiifCollectionRequest {
  readonly actor: Actor
  readonly isStranger: boolean
  readonly id: number
  /** The part of a long list, counted from 1; null: the collection itself. */
  readonly part: number | null
  readonly deadline: Deadline
}

/** Entries of a part, and most entries of a list without parts. */
const partSize = 500
/** The most collections below that are listed. */
const mostBelow = 1000

export function createIiifCollections(deps: IiifCollectionDeps) {
  const { externalUrl, settings, collections } = deps
  const addressOf = (id: number): string => `${externalUrl}/api/v1/collection/iiif/${id}`

  /** @throws {AppError} `ResourceNotFound` where viewers can show nothing, `ObjectNotFound`, `RightRequired` */
  return async (request: IiifCollectionRequest): Promise<Wire> => {
    const { actor, id, part } = request
    const { collection } = await collections.read(actor, id)
    const base = addressOf(id)
    const label = labelOf(collection)
    const items = part === null ? await itemsOf(request) : await partItems(request, part)
    // A part that is named is there, be it empty.
    if (items.length === 0 && part === null) throw nothingToShow()
    const summary = languageMap([collection.description])
    const statement = statementOf(settings().deep_link_access.iiif_required_statement)
    return {
      '@context': presentationContext,
      id: part === null ? base : `${base}?part=${part}`,
      type: 'Collection',
      label: part === null ? label : partLabel(part),
      ...(summary && part === null ? { summary } : {}),
      ...(statement ? { requiredStatement: statement } : {}),
      ...(part === null ? {} : { partOf: [{ id: base, type: 'Collection', label }] }),
      items,
    }
  }

  async function itemsOf(request: IiifCollectionRequest): Promise<Wire[]> {
    const { actor, id } = request
    const found = await collections.listBelow(actor, id, { limit: mostBelow, offset: 0 })
    const below = found.filter(({ _count, _has_children }) => _count > 0 || _has_children)
    const items = below.map(({ collection }) => ({
      id: addressOf(collection._id),
      type: 'Collection',
      label: labelOf(collection),
    }))
    const page = await collections.lists.readablePage(actor, id, { offset: 0, limit: partSize })
    if (page.count <= partSize) return [...items, ...(await manifestsOf(request, page.systemObjectIds))]
    const parts = Array.from({ length: Math.ceil(page.count / partSize) }, (_, index) => ({
      id: `${addressOf(id)}?part=${index + 1}`,
      type: 'Collection',
      label: partLabel(index + 1),
    }))
    return [...items, ...parts]
  }

  async function partItems(request: IiifCollectionRequest, part: number): Promise<Wire[]> {
    const page = { offset: (part - 1) * partSize, limit: partSize }
    const { systemObjectIds, count } = await collections.lists.readablePage(request.actor, request.id, page)
    if (page.offset >= count) throw nothingToShow()
    return manifestsOf(request, systemObjectIds)
  }

  /** Manifests of the objects with a file that the caller may see. */
  async function manifestsOf(
    { actor, isStranger, deadline }: IiifCollectionRequest,
    ids: readonly number[],
  ): Promise<Wire[]> {
    const { objecttypes } = deps.datamodel.current()
    const wanted = ids.map((systemObjectId) => ({ systemObjectId }))
    const options = { format: 'long', fileDays: settings().file_url_expire.deep_link_days } as const
    const items: Wire[] = []
    for await (const wire of deps.read.versions(actor, wanted, options, deadline)) {
      const mask = objecttypes.get(String(wire._objecttype))?.masks.get(String(wire._mask))
      if (!mask) continue
      const base = deepLink(externalUrl, String(wire._uuid))
      const originalOf = (file: FileWire): string => `${base}/file/id/${file._id}`
      const files = fileColumns(mask, treeInMask({ model: { objecttypes } }, wire, mask)).flatMap((one) => one.files)
      const canvas = firstOf(
        files,
        (file) => canvasesOf(file, 1, { externalUrl, base, isStranger, originalOf }).next().value,
      )
      if (!canvas) continue
      items.push({
        id: `${base}/format/${manifestFormat}`,
        type: 'Manifest',
        label: languageMap([titleOf(wire)]) ?? { none: [String(wire._uuid)] },
        ...(canvas.thumbnail ? { thumbnail: canvas.thumbnail } : {}),
      })
    }
    return items
  }
}

const nothingToShow = (): AppError =>
  new AppError('ResourceNotFound', {}, { message: 'The collection has nothing that a viewer could show.' })

function firstOf<T, R>(values: readonly T[], make: (value: T) => R | undefined): R | undefined {
  for (const value of values) {
    const made = make(value)
    if (made !== undefined) return made
  }
  return undefined
}

const partLabel = (part: number) => ({ none: [`${(part - 1) * partSize + 1} – ${part * partSize}`] })

function labelOf({ _id, displayname }: CollectionOutput['collection']) {
  return languageMap([displayname as Text]) ?? { none: [`#${_id}`] }
}
