/**
 * An object as a manifest of IIIF Presentation 3: its files as canvases, its fields as metadata.
 * @see https://iiif.io/api/presentation/3.0/
 */
import type { BaseConfig } from '../../config/service.ts'
import type { Model } from '../../datamodel/model.ts'
import { type LocatedObject, type ObjectTree, treeInMask, type Wire } from '../../objects/service.ts'
import { AppError } from '../../platform/errors.ts'
import { deepLink } from '../../platform/values/deep-link.ts'
import { type FileWire, fileColumns } from '../files.ts'
import { type DeepLink, manifestFormat } from '../path.ts'
import { canvasesOf } from './canvases.ts'
import { metadataOf, titleOf } from './metadata.ts'
import { statementOf } from './statement.ts'
import { languageMap } from './texts.ts'

export const presentationContext = 'http://iiif.io/api/presentation/3/context.json'

export interface ManifestDeps {
  readonly externalUrl: string
  readonly datamodel: { current(): Pick<Model, 'objecttypes'> }
  readonly settings: () => Pick<BaseConfig, 'deep_link_access'>
  readonly languages: () => readonly string[]
  readonly formats: { find(name: string): unknown }
}

export interface ManifestRequest {
  readonly link: DeepLink
  readonly object: LocatedObject
  readonly wire: Wire
  readonly isStranger: boolean
}

/** Approximate limit of one manifest: the last document is included with all its pages. */
const mostCanvases = 10_000

export function createManifests({ externalUrl, datamodel, settings, languages, formats }: ManifestDeps) {
  /** @throws {AppError} `ResourceNotFound` where a viewer can show nothing */
  return ({ link, object, wire, isStranger }: ManifestRequest): Wire => {
    const base = addressOf(externalUrl, object, link)
    const originalOf = (file: FileWire): string => `${base}/file/id/${file._id}`
    const context = { externalUrl, base, isStranger, originalOf }
    const tree = treeInMask({ model: datamodel.current() }, wire, object.mask)
    const canvases: Wire[] = []
    for (const [index, file] of distinctFiles(object, tree).entries()) {
      if (canvases.length < mostCanvases) canvases.push(...canvasesOf(file, index + 1, context))
    }
    if (canvases.length === 0) {
      throw new AppError('ResourceNotFound', {}, { message: 'The object has no file that a viewer could show.' })
    }
    const title = languageMap([titleOf(wire)]) ?? { none: [object.uuid] }
    const summary = languageMap([titleOf(wire, '2')])
    const metadata = metadataOf(tree.fields, languages())
    const statement = statementOf(settings().deep_link_access.iiif_required_statement)
    const thumbnail = canvases.find((canvas) => canvas.thumbnail !== undefined)?.thumbnail
    return {
      '@context': presentationContext,
      id: `${base}/format/${manifestFormat}`,
      type: 'Manifest',
      label: title,
      ...(summary ? { summary } : {}),
      ...(metadata.length > 0 ? { metadata } : {}),
      ...(statement ? { requiredStatement: statement } : {}),
      ...(thumbnail ? { thumbnail } : {}),
      ...pagesOf(base, title),
      items: canvases,
    }
  }

  /** References to other documents of the object. */
  function pagesOf(base: string, label: Wire): Wire {
    const data = [
      ['json', 'application/json'],
      ['xml_native', 'application/xml'],
      ['lido', 'application/xml'],
      ['mods', 'application/xml'],
    ] as const
    return {
      ...(formats.find('html')
        ? { homepage: [{ id: `${base}/format/html`, type: 'Text', label, format: 'text/html' }] }
        : {}),
      seeAlso: data.map(([name, format]) => ({ id: `${base}/format/${name}`, type: 'Dataset', format })),
    }
  }
}

/** The address of the object by its uuid, whichever selector was used: it reveals no more than the manifest does. */
function addressOf(externalUrl: string, { uuid, mask }: LocatedObject, link: DeepLink): string {
  const version = link.version === null ? '' : `/version/${link.version}`
  const named = link.mask === null ? '' : `/mask/${encodeURIComponent(mask.name)}`
  return `${deepLink(externalUrl, uuid)}${version}${named}`
}

function distinctFiles({ mask }: LocatedObject, tree: ObjectTree): FileWire[] {
  const files = fileColumns(mask, tree).flatMap((column) => column.files)
  return [...new Map(files.map((file) => [file._id, file])).values()]
}
