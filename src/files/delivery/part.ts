import type { SizedTask } from '../renditions/workshop/tasks.ts'
import { type PictureTransform, refuse } from './transform-request.ts'

interface Size {
  readonly width: number
  readonly height: number
}

/** The part of a picture and its size for a request. Pictures are never enlarged. @throws {AppError} for a part outside. */
export function partFor(
  whole: Size,
  { crop, fit, turn }: Pick<PictureTransform, 'crop' | 'fit' | 'turn'>,
): Pick<SizedTask, 'region' | 'width' | 'height'> {
  const region = regionOf(whole, crop)
  const shown = turned(region, turn)
  const at = (scale: number) => ({ region, ...scaled(region, Math.min(1, scale)) })
  switch (fit.mode) {
    case 'none':
      return at(1)
    case 'max':
      return at(fit.size / Math.max(shown.width, shown.height))
    case 'min':
      return at(fit.size / Math.min(shown.width, shown.height))
    case 'width':
      return at(fit.size / shown.width)
    case 'height':
      return at(fit.size / shown.height)
    case 'contain':
      return at(Math.min(fit.width / shown.width, fit.height / shown.height))
    case 'cover': {
      const shape = turned(fit, turn)
      const part = middle(region, shape)
      const { width, height } = shape.width <= part.width && shape.height <= part.height ? shape : part
      return { region: part, width, height }
    }
    case 'force': {
      const much = Math.max(1, fit.width / region.width, fit.height / region.height)
      return { region, ...scaled(fit, 1 / much) }
    }
  }
}

/** The size of a rectangle after it is turned. */
function turned({ width, height }: Size, turn: number): Size {
  if (turn % 180 === 0) return { width, height }
  if (turn % 90 === 0) return { width: height, height: width }
  const [sin, cos] = [Math.sin, Math.cos].map((of) => Math.abs(of((turn * Math.PI) / 180))) as [number, number]
  return { width: width * cos + height * sin, height: width * sin + height * cos }
}

function scaled({ width, height }: Size, scale: number): Size {
  return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) }
}

/** The largest part with that shape in the middle. */
function middle(region: SizedTask['region'], shape: Size): SizedTask['region'] {
  const scale = Math.min(region.width / shape.width, region.height / shape.height)
  const { width, height } = scaled(shape, scale)
  return {
    left: region.left + Math.floor((region.width - width) / 2),
    top: region.top + Math.floor((region.height - height) / 2),
    width: Math.min(width, region.width),
    height: Math.min(height, region.height),
  }
}

function regionOf(whole: Size, crop: PictureTransform['crop']): SizedTask['region'] {
  const { top = 0, left = 0, width = whole.width, height = whole.height } = crop ?? {}
  const right = Math.min(whole.width, left + width)
  const bottom = Math.min(whole.height, top + height)
  const [x, y] = [Math.max(0, left), Math.max(0, top)]
  if (right <= x || bottom <= y) throw refuse('crop', JSON.stringify(crop), 'nothing of the picture lies in it')
  return { left: x, top: y, width: right - x, height: bottom - y }
}
