/** Small pictures of objects for a sheet. */

import type { Readable } from 'node:stream'
import { records, type Wire } from '../../../objects/service.ts'
import type { Actor } from '../../../platform/actor.ts'
import { badRequest } from '../../../platform/errors.ts'
import { isRecord } from '../../../platform/values/records.ts'
import type { SourceObject } from '../../source.ts'

/** Contents of versions, in this order; null: the actor may not see the version, or there is none. */
export type OpenPictures = (
  actor: Actor,
  wanted: readonly { readonly id: number; readonly version: string }[],
) => Promise<readonly ((() => Promise<Readable>) | null)[]>

export interface Thumbnail {
  readonly id: number
  readonly version: string
  readonly extension: string
  readonly width: number
  readonly height: number
  readonly row: number
  /** Of its entry. */
  readonly name: string
}

/** Pixels available for a picture. */
const [widest, highest] = [120, 90]
/** Picture formats that spreadsheet programs show. */
const shown: readonly unknown[] = ['jpg', 'jpeg', 'png', 'gif']
/** Bytes. */
const largest = 300_000
const mostPictures = 10_000

/** The smallest version of the object's preview picture; null: it has none. */
export function thumbnailOf({ wire }: SourceObject): Omit<Thumbnail, 'row' | 'name'> | null {
  const { _standard: standard } = wire
  const eas = isRecord(standard) && isRecord(standard.eas) ? standard.eas : {}
  for (const file of Object.values(eas).flatMap(records)) {
    const [best] = Object.entries(isRecord(file.versions) ? file.versions : {})
      .flatMap(([version, one]) => (isRecord(one) ? pictureIn(Number(file._id), version, one) : []))
      .sort((a, b) => a.size - b.size)
    if (best) return best
  }
  return null
}

function pictureIn(id: number, version: string, one: Wire) {
  const size = Number(one.filesize)
  const [width, height] = [Number(one.width), Number(one.height)]
  if (one.class !== 'image' || one._show_allowed !== true || !shown.includes(one.extension)) return []
  if (!(width > 0 && height > 0 && size > 0 && size <= largest)) return []
  const scale = Math.min(1, widest / width, highest / height)
  const extension = one.extension === 'jpeg' ? 'jpg' : String(one.extension)
  return [{ id, version, extension, width: width * scale, height: height * scale, size }]
}

/** @throws {AppError} when there are more pictures than a sheet may have */
export function numbered(picture: Omit<Thumbnail, 'row' | 'name'>, row: number, before: number): Thumbnail {
  if (before >= mostPictures) {
    throw badRequest(`a table has ${mostPictures} pictures at most`, { name: 'include_thumbnail', most: mostPictures })
  }
  return { ...picture, row, name: `image${before + 1}.${picture.extension}` }
}

/** Files that are requested together. */
const atATime = 100

export async function* contentsOf(
  open: OpenPictures,
  actor: Actor,
  pictures: readonly Thumbnail[],
): AsyncGenerator<Readable | null> {
  for (let start = 0; start < pictures.length; start += atATime) {
    for (const opened of await open(actor, pictures.slice(start, start + atATime))) {
      yield opened ? await opened() : null
    }
  }
}
