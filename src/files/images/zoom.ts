import { AppError } from '../../platform/errors.ts'
import type { RegionTask } from '../renditions/workshop/tasks.ts'
import type { ZoomAddress } from './address.ts'
import type { Size } from './iiif.ts'

const formats = { jpg: 'jpg', png: 'png' } as const
const smallestTile = 16
const largestTile = 2048
/** How many times a pixel may be repeated in each direction. */
const largestZoom = 16

/** A tile of the picture at a zoom. @throws {AppError} `UrlParameterNotSupported`, `ResourceNotFound` beside the picture. */
export function tileOf(
  { viewport, tile, x, y, sharpPixels, format }: ZoomAddress,
  whole: Size,
): Omit<RegionTask, 'kind' | 'source'> {
  const refuse = (param: string, value: unknown): AppError =>
    new AppError('UrlParameterNotSupported', { param }, { message: `${param} of the address cannot be ${value}.` })
  const longest = Math.max(whole.width, whole.height)
  if (!Object.hasOwn(formats, format)) throw refuse('format', format)
  if (tile < smallestTile || tile > largestTile) throw refuse('zoom_tile_size', tile)
  if (viewport < 1 || viewport > largestZoom * longest) throw refuse('zoom_viewport', viewport)
  const scale = viewport / longest
  const [width, height] = [Math.max(1, Math.round(whole.width * scale)), Math.max(1, Math.round(whole.height * scale))]
  const [left, top] = [x * tile, y * tile]
  if (left >= width || top >= height) throw new AppError('ResourceNotFound', { part: `${x}x${y}` })
  const [right, bottom] = [Math.min(width, left + tile), Math.min(height, top + tile)]
  return {
    region: {
      left: Math.floor(left / scale),
      top: Math.floor(top / scale),
      width: Math.max(1, Math.min(whole.width - Math.floor(left / scale), Math.round((right - left) / scale))),
      height: Math.max(1, Math.min(whole.height - Math.floor(top / scale), Math.round((bottom - top) / scale))),
    },
    width: right - left,
    height: bottom - top,
    mirror: false,
    turn: 0,
    quality: 'default',
    format: formats[format as keyof typeof formats],
    sharpPixels,
  }
}
