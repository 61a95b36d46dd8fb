import type { Queryable } from '../../../platform/postgres/db.ts'
import { type FileVersion, originalOf, type StoredFile, whoOf } from '../../model.ts'
import type { ProduceDeps } from '../make/produce.ts'
import { localPath } from '../sources/sources.ts'
import { CannotMake } from '../workshop/failure.ts'

/** The look of a picture. */
export interface PictureFingerprint {
  readonly blurhash: string | undefined
  /** Null: the picture shows too little to be compared. */
  readonly perceptualHash: bigint | null
}

/**
 * The look of a picture for which none was computed when its renditions were made. It is computed from the smallest
 * rendition, which takes little time. Undefined where it is known, or where the file has no usable picture.
 */
export async function missingFingerprint(
  { db, workers, locations }: Pick<ProduceDeps, 'db' | 'workers' | 'locations'>,
  file: StoredFile,
  folder: string,
  signal: AbortSignal,
): Promise<PictureFingerprint | undefined> {
  const small = smallestPicture(file)
  if (!small || (await isKnown(db, file))) return undefined
  try {
    const path = await localPath(small, locations.storeOf(small.locationId), folder)
    const source = { path, extension: small.extension }
    const task = { kind: 'pictures', source, folder, recipes: [], inspect: 'all' } as const
    const { basics, perceptualHash = null } = await workers.run(task, signal, whoOf(file))
    const blurhash = basics?.blurhash
    return { blurhash: typeof blurhash === 'string' ? blurhash : undefined, perceptualHash }
  } catch (error) {
    if (error instanceof CannotMake) return undefined
    throw error
  }
}

async function isKnown(from: Queryable, file: StoredFile): Promise<boolean> {
  const { rowCount } = await from.query(
    `select from file_likeness where file_id = $1 and made_of = decode($2, 'hex')`,
    [file.id, originalOf(file).sha256],
    'has-perceptual-hash',
  )
  return rowCount !== 0
}

/** Of renditions of the present original; uploaded versions may show something else. */
function smallestPicture(file: StoredFile): FileVersion | undefined {
  const original = originalOf(file)
  if (original.class !== 'image') return undefined
  const made = new Set(file.renditions.map(({ name }) => name))
  const width = ({ metadata }: FileVersion): number => Number(metadata.width ?? Number.POSITIVE_INFINITY)
  return file.versions
    .filter((one) => made.has(one.name) && one.class === 'image' && one.createdAt >= original.createdAt)
    .sort((a, b) => width(a) - width(b))[0]
}
