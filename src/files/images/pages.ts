/** Pages of documents as pictures: their number, and the size assumed for each. */
import { AppError } from '../../platform/errors.ts'
import type { FileVersion } from '../model.ts'
import type { PageRun } from '../renditions/workshop/tasks.ts'
import type { Size } from './iiif.ts'

/** Pixels of the longest side of a page. */
const longestSide = 3000

/** The page sizes of a version that is a document whose pages are known; empty for other versions. */
function pageSizes({ extension, metadata }: Pick<FileVersion, 'extension' | 'metadata'>): readonly Size[] {
  if (extension !== 'pdf' && extension !== 'ai') return []
  return sizesOf(metadata.page_sizes)
}

/** The sizes of pages in pixels, from `page_sizes` of the technical metadata, which are in points. */
export function sizesOf(runs: unknown): readonly Size[] {
  if (!Array.isArray(runs)) return []
  return (runs as readonly PageRun[]).flatMap(([width, height, count]) => {
    const scale = longestSide / Math.max(width, height, 1)
    const size = { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) }
    return Array.from({ length: count }, () => size)
  })
}

/** The name of a page in addresses, in place of the version: `original~2`. */
export const pageName = (version: string, number: number): string => `${version}~${number}`

/** The version and the page of a name. */
export function readPageName(name: string): { readonly version: string; readonly page: number | null } {
  const [, version, number] = /^(.+)~([1-9]\d{0,4})$/.exec(name) ?? []
  return version === undefined ? { version: name, page: null } : { version, page: Number(number) }
}

/** @throws {AppError} `ResourceNotFound` */
export function pageAt(version: FileVersion, page: number): Size {
  const size = pageSizes(version)[page - 1]
  if (size) return size
  throw new AppError('ResourceNotFound', { version: version.name, page }, { message: 'There is no such page.' })
}
