import { AppError } from '../../platform/errors.ts'
import type { RegionTask } from '../renditions/workshop/tasks.ts'

/** The IIIF Image API, versions 3.0 and 2.1.1: the parameters in an address, and the capabilities that the service declares. */

export interface Size {
  readonly width: number
  readonly height: number
}

export type IiifVersion = 2 | 3

/** The part to be cut out, and how it is shown. */
export type RenditionRequest = Omit<RegionTask, 'kind' | 'source' | 'sharpPixels'>

/** Most pixels of an answer. */
export const mostPixels = 16_000_000
const tileSide = 512

const formats: Readonly<Record<string, RenditionRequest['format']>> = {
  jpg: 'jpg',
  png: 'png',
  webp: 'webp',
  web: 'webp',
  gif: 'gif',
  tif: 'tif',
}
export const qualities = ['default', 'color', 'gray', 'bitonal'] as const

/** Names of formats in addresses. */
export const formatNames = Object.keys(formats)

/** @throws {AppError} `UrlParameterNotSupported` naming the wrong parameter. */
export function readTransformRequest(
  asked: { region: string; size: string; rotation: string; quality: string; format: string },
  whole: Size,
  version: IiifVersion,
): RenditionRequest {
  const format = Object.hasOwn(formats, asked.format) ? formats[asked.format] : undefined
  const quality = qualities.find((one) => one === asked.quality)
  if (!format) throw refuse('format', asked.format)
  if (!quality) throw refuse('quality', asked.quality)
  const region = readRegion(asked.region, whole)
  return { region, ...readSize(asked.size, region, version), ...readRotation(asked.rotation), quality, format }
}

type Region = RenditionRequest['region']

function readRegion(text: string, { width, height }: Size): Region {
  if (text === 'full') return { left: 0, top: 0, width, height }
  if (text === 'square') {
    const side = Math.min(width, height)
    return { left: Math.floor((width - side) / 2), top: Math.floor((height - side) / 2), width: side, height: side }
  }
  const [, percent, numbers = ''] = /^(pct:)?([\d.]+(?:,[\d.]+){3})$/.exec(text) ?? []
  const [x, y, w, h] = numbers.split(',').map((one) => number(one, percent === undefined))
  if (x == null || y == null || !w || !h) throw refuse('region', text)
  const [across, down] = percent === undefined ? [1, 1] : [width / 100, height / 100]
  const left = Math.round(x * across)
  const top = Math.round(y * down)
  // Parts outside the picture are cut off; a region completely outside of it is refused.
  const right = Math.min(width, Math.round((x + w) * across))
  const bottom = Math.min(height, Math.round((y + h) * down))
  if (right <= left || bottom <= top) throw refuse('region', text)
  return { left, top, width: right - left, height: bottom - top }
}

function readSize(text: string, region: Region, version: IiifVersion): Size {
  const [, upscale, rest = ''] = /^(\^?)(.+)$/.exec(text) ?? []
  const mayGrow = upscale === '^' || version === 2
  const ratio = region.width / region.height
  const fitted = (size: Size): Size => {
    const rounded = { width: Math.max(1, Math.round(size.width)), height: Math.max(1, Math.round(size.height)) }
    const tooLarge = !mayGrow && (rounded.width > region.width || rounded.height > region.height)
    if (tooLarge || rounded.width * rounded.height > mostPixels) throw refuse('size', text)
    return rounded
  }
  if (rest === 'max' || (text === 'full' && version === 2)) {
    const scale = Math.min(1, Math.sqrt(mostPixels / (region.width * region.height)))
    return {
      width: Math.max(1, Math.floor(region.width * scale)),
      height: Math.max(1, Math.floor(region.height * scale)),
    }
  }
  const [, percent] = /^pct:([\d.]+)$/.exec(rest) ?? []
  if (percent !== undefined) {
    const scale = (number(percent, false) ?? 0) / 100
    if (scale <= 0) throw refuse('size', text)
    return fitted({ width: region.width * scale, height: region.height * scale })
  }
  const [, within, w = '', h = ''] = /^(!?)(\d{0,6}),(\d{0,6})$/.exec(rest) ?? []
  const [width, height] = [Number(w), Number(h)]
  if ((w === '' && h === '') || (w !== '' && width === 0) || (h !== '' && height === 0)) throw refuse('size', text)
  if (within === '!') {
    if (w === '' || h === '') throw refuse('size', text)
    const most = mayGrow ? Number.POSITIVE_INFINITY : 1
    const scale = Math.min(width / region.width, height / region.height, most)
    return fitted({ width: region.width * scale, height: region.height * scale })
  }
  if (h === '') return fitted({ width, height: width / ratio })
  if (w === '') return fitted({ width: height * ratio, height })
  return fitted({ width, height })
}

function readRotation(text: string): { mirror: boolean; turn: number } {
  const [, mirror, degrees] = /^(!?)(\d{1,3}(?:\.\d{1,6})?)$/.exec(text) ?? []
  if (degrees === undefined || Number(degrees) > 360) throw refuse('rotation', text)
  return { mirror: mirror === '!', turn: Number(degrees) % 360 }
}

function number(text: string, whole: boolean): number | null {
  return (whole ? /^\d{1,7}$/ : /^(\d{1,7}(\.\d{0,10})?|\.\d{1,10})$/).test(text) ? Number(text) : null
}

function refuse(param: string, value: string): AppError {
  const message = `${param} of the address cannot be ${value.slice(0, 100)}.`
  return new AppError('UrlParameterNotSupported', { param, value: value.slice(0, 100) }, { message })
}

/** The version that a client wants: 3, unless it names the profile of the other one. */
export function wantedVersion(accept: string | undefined): IiifVersion {
  return accept?.includes('http://iiif.io/api/image/2/') && !accept.includes('http://iiif.io/api/image/3/') ? 2 : 3
}

const context = (version: IiifVersion): string => `http://iiif.io/api/image/${version}/context.json`

export function infoType(accept: string | undefined, version: IiifVersion): string {
  return accept?.includes('application/ld+json')
    ? `application/ld+json;profile="${context(version)}"`
    : 'application/json'
}

/** `info.json`. */
export function imageInfo(id: string, { width, height }: Size, version: IiifVersion): Record<string, unknown> {
  const scaleFactors: number[] = []
  for (let factor = 1; factor === 1 || Math.max(width, height) / (factor / 2) > tileSide; factor *= 2) {
    scaleFactors.push(factor)
  }
  const sizes = scaleFactors
    .map((factor) => ({ width: Math.ceil(width / factor), height: Math.ceil(height / factor) }))
    .filter((size) => size.width * size.height <= mostPixels)
    .toReversed()
  const tiles = [{ width: tileSide, height: tileSide, scaleFactors }]
  const common = { protocol: 'http://iiif.io/api/image', width, height }
  const features = ['mirroring', 'rotationArbitrary', 'rotationBy90s', 'regionSquare']
  const told = formatNames.filter((name) => formats[name] === name)
  if (version === 2) {
    const profile = { formats: told, qualities, maxArea: mostPixels, supports: [...features, 'sizeAboveFull'] }
    return {
      '@context': context(2),
      '@id': id,
      ...common,
      profile: ['http://iiif.io/api/image/2/level2.json', profile],
      sizes,
      tiles,
    }
  }
  return {
    '@context': context(3),
    id,
    type: 'ImageService3',
    ...common,
    profile: 'level2',
    maxArea: mostPixels,
    sizes,
    tiles,
    preferredFormats: ['jpg'],
    extraFormats: ['webp', 'gif', 'tif'],
    extraQualities: ['color', 'gray', 'bitonal'],
    extraFeatures: ['mirroring', 'rotationArbitrary', 'sizeUpscaling'],
  }
}
