import { join } from 'node:path'
import sharp, { type Sharp } from 'sharp'
import { CannotMake, reasonOf } from './failure.ts'
import { type Opened, openSource } from './open.ts'
import { converted } from './pictures.ts'
import type { Crop, DeriveTask, Results } from './tasks.ts'

/**
 * Derives another original: turned, mirrored and cut, in this order, from the upright picture; in another format or other
 * colours.
 */
export async function derive(task: DeriveTask, pixels: number): Promise<Results['derive']> {
  const opened = await openSource(task.source, pixels)
  try {
    const upright = (): Sharp => opened.open({ sequentialRead: false }).autoOrient().keepMetadata()
    const steps: ((picture: Sharp, size: Size) => Sharp)[] = []
    if (task.turn % 360 !== 0) steps.push((picture) => picture.rotate(task.turn, { background: backgroundOf(task) }))
    if (task.mirror !== null) steps.push((picture) => (task.mirror === 'x' ? picture.flip() : picture.flop()))
    const { crop } = task
    if (crop) steps.push((picture, size) => picture.extract(within(crop, size)))
    // One pipeline for each operation: otherwise libvips applies them in its own order.
    let picture = upright()
    for (const [index, step] of steps.entries()) {
      const path = join(task.folder, `step-${index}.tif`)
      const size = index === 0 ? upSize(opened) : sizeOf(await picture.metadata())
      await deep(step(picture, size), opened).tiff({ compression: 'none' }).toFile(path)
      picture = sharp(path, { limitInputPixels: pixels }).keepMetadata()
    }
    const path = join(task.folder, `derived.${task.format}`)
    const { width, height } = await written(coloured(picture, opened, task), task).toFile(path)
    return { path, width, height }
  } catch (error) {
    if (error instanceof CannotMake) throw error
    throw new CannotMake('unreadable', reasonOf(error), { cause: error })
  }
}

interface Size {
  readonly width: number
  readonly height: number
}

function sizeOf({ width, height }: { readonly width?: number; readonly height?: number }): Size {
  return { width: width ?? 1, height: height ?? 1 }
}

function upSize({ metadata }: Opened): Size {
  const { width, height } = sizeOf({ width: metadata.width, height: metadata.pageHeight ?? metadata.height })
  return (metadata.orientation ?? 1) >= 5 ? { width: height, height: width } : { width, height }
}

/** The part of the rectangle that is within the picture; one pixel where there is none. */
function within({ top, left, width, height }: Crop, size: Size): Crop {
  const [x, y] = [clamp(left, size.width - 1), clamp(top, size.height - 1)]
  const right = Math.min(left + width, size.width)
  const bottom = Math.min(top + height, size.height)
  if (right <= x || bottom <= y) return { left: x, top: y, width: 1, height: 1 }
  return { left: x, top: y, width: right - x, height: bottom - y }
}

function clamp(value: number, most: number): number {
  return Math.max(0, Math.min(value, most))
}

const transparentFormats = new Set(['png', 'webp', 'tif', 'gif', 'avif'])

/** The colour of the corners of a turned picture. */
function backgroundOf({ format }: DeriveTask): string {
  return transparentFormats.has(format) ? '#00000000' : '#000000'
}

/** Keeps sixteen bits where the format supports them. */
function deep(picture: Sharp, { metadata }: Opened): Sharp {
  if (metadata.depth !== 'ushort') return picture
  return picture.toColourspace(metadata.space === 'grey16' || metadata.space === 'b-w' ? 'grey16' : 'rgb16')
}

function coloured(picture: Sharp, opened: Opened, { colorspace, profile, format }: DeriveTask): Sharp {
  const keepsDepth = (format === 'png' || format === 'tif') && colorspace === 'keep' && profile === null
  return keepsDepth ? deep(picture, opened) : inColours(picture, { colorspace, profile })
}

/** The profile is embedded, even that of the web, because it was asked for. */
export function inColours(picture: Sharp, { colorspace, profile }: Pick<DeriveTask, 'colorspace' | 'profile'>): Sharp {
  if (colorspace === 'gray' && profile?.space !== 'GRAY') return picture.toColourspace('b-w')
  if (profile !== null) return converted(picture, profile)
  if (colorspace === 'cmyk') return picture.toColourspace('cmyk').withIccProfile('cmyk')
  return colorspace === 'srgb' ? picture.withIccProfile('srgb') : picture
}

function written(picture: Sharp, { format }: DeriveTask): Sharp {
  if (format === 'png') return picture.png({ compressionLevel: 6 })
  if (format === 'tif') return picture.tiff({ compression: 'lzw' })
  if (format === 'gif') return picture.gif()
  if (format === 'webp') return picture.webp({ quality: 92 })
  if (format === 'avif') return picture.avif({ quality: 80, effort: 2 })
  return picture.flatten({ background: 'black' }).jpeg({ quality: 92 })
}
