import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import sharp, { type OutputInfo, type Sharp } from 'sharp'
import { CannotMake, reasonOf } from './failure.ts'
import { headOf, inspect, type PictureSource } from './inspect.ts'
import { drawMarks } from './marks.ts'
import { type Opened, openSource } from './open.ts'
import {
  type ColourProfile,
  isInline,
  type PictureRecipe,
  type PicturesResult,
  type PicturesTask,
  type RenderedPicture,
} from './tasks.ts'

/** Side of the tiles of a pyramid, in pixels. */
const tileSide = 512

const extensions: Readonly<Record<string, string>> = { jpeg: 'jpg', heif: 'avif', tiff: 'tif' }
const mimeTypes: Readonly<Record<string, string>> = {
  jpg: 'image/jpeg',
  png: 'image/png',
  webp: 'image/webp',
  avif: 'image/avif',
  tif: 'image/tiff',
  gif: 'image/gif',
}

/** Makes the pictures one after the other: a failure does not prevent the others. */
export async function makePictures(task: PicturesTask, pixels: number): Promise<PicturesResult> {
  const opened = await openSource(task.source, pixels)
  const longest = longestSide(opened)
  const transparent = await isTransparent(opened)
  const made: RenderedPicture[] = []
  // Watermarks and captions are no part of the source.
  const looks: PictureSource[] = []
  const tooSmall: string[] = []
  const failed: Record<string, string> = {}
  for (const recipe of task.recipes) {
    if (longest < recipe.size_minimum) {
      tooSmall.push(recipe.name)
      continue
    }
    try {
      const { picture, look } = await makePicture(opened, recipe, { folder: task.folder, transparent, pixels })
      made.push(picture)
      if (!recipe.marks) looks.push({ width: picture.width, open: look })
    } catch (error) {
      failed[recipe.name] = reasonOf(error)
    }
  }
  if (task.recipes.length > 0 && Object.keys(failed).length === task.recipes.length) {
    throw new CannotMake('unreadable', Object.values(failed)[0] ?? 'nothing could be made')
  }
  const told = { made, tooSmall, failed }
  if (task.inspect === 'nothing') return { ...told, basics: null }
  if (task.inspect === 'head') return { ...told, basics: headOf(opened) }
  return { ...told, ...(await inspect(opened, looks)) }
}

interface Making extends Pick<PicturesTask, 'folder'> {
  readonly transparent: boolean
  readonly pixels: number
}

interface Made {
  readonly picture: RenderedPicture
  /** The picture for the computation of the look. */
  readonly look: PictureSource['open']
}

async function makePicture(
  opened: Opened,
  recipe: PictureRecipe,
  { folder, transparent, pixels }: Making,
): Promise<Made> {
  const animated = recipe.animated && (opened.metadata.pages ?? 1) > 1
  const picture = opened.open(animated ? { animated: true } : {}).autoOrient()
  const plain = sized(picture, recipe)
  if (isInline(recipe)) {
    const { data, info } = await written(plain, recipe, transparent).toBuffer({ resolveWithObject: true })
    return {
      picture: { ...about(recipe, info, info.height), content: data },
      look: () => sharp(data, { failOn: 'none' }),
    }
  }
  if (folder === null) throw new Error(`there is no folder for ${recipe.name}`)
  const path = join(folder, recipe.name)
  const { marks } = recipe
  const whole = marks ? await drawMarks(plain.keepMetadata(), marks, { path: `${path}.tif`, pixels }) : plain
  const info = await written(whole, recipe, transparent).toFile(path)
  if (marks) await rm(`${path}.tif`)
  const height = animated ? (info.pageHeight ?? info.height) : info.height
  return { picture: { ...about(recipe, info, height), path }, look: () => sharp(path, { failOn: 'none' }) }
}

function about(
  { name }: PictureRecipe,
  { format, width }: OutputInfo,
  height: number,
): Omit<RenderedPicture, 'path' | 'content'> {
  const extension = extensions[format] ?? format
  return { name, extension, mimeType: mimeTypes[extension] ?? 'application/octet-stream', width, height }
}

function sized(picture: Sharp, { size, resize_mode }: PictureRecipe): Sharp {
  if (size === 0) return picture
  const none = { withoutEnlargement: true }
  if (resize_mode === 'width') return picture.resize({ width: size, ...none })
  if (resize_mode === 'height') return picture.resize({ height: size, ...none })
  return picture.resize({ width: size, height: size, fit: resize_mode === 'min' ? 'outside' : 'inside', ...none })
}

/** Whether any pixel is transparent: many pictures have an unused alpha channel. A page is drawn on white paper. */
async function isTransparent({ open, metadata, pages }: Opened): Promise<boolean> {
  if (metadata.hasAlpha !== true || pages !== null) return false
  const { data, info } = await open()
    .resize({ width: 512, height: 512, fit: 'inside', withoutEnlargement: true })
    .raw()
    .toBuffer({ resolveWithObject: true })
  const { width, height, channels } = info
  return !(await sharp(data, { raw: { width, height, channels } }).stats()).isOpaque
}

function written(picture: Sharp, recipe: PictureRecipe, transparent: boolean): Sharp {
  const { quality, colorprofile, strip } = recipe
  const coloured = colours(picture, colorprofile, strip)
  if (recipe.recipe === 'pyramid') {
    return coloured
      .flatten({ background: 'white' })
      .tiff({ tile: true, tileWidth: tileSide, tileHeight: tileSide, pyramid: true, compression: 'jpeg', quality })
  }
  const format = recipe.format === 'auto' ? (transparent ? 'png' : 'jpg') : recipe.format
  if (format === 'png') return coloured.png({ compressionLevel: 6 })
  if (format === 'webp') return coloured.webp({ quality })
  if (format === 'avif') return coloured.avif({ quality, effort: 2 })
  return coloured.flatten({ background: 'white' }).jpeg({ quality, progressive: true })
}

/** Pictures in CMYK, with 16 bits or with another profile become sRGB with 8 bits, unless they are to keep their profile. */
function colours(picture: Sharp, profile: PictureRecipe['colorprofile'], strip: boolean): Sharp {
  const coloured = profile === 'keep' ? picture.keepIccProfile() : converted(picture, profile)
  return strip ? coloured : coloured.keepExif().keepXmp()
}

/** The profile is embedded, except for that of the web, which is the default. */
export function converted(picture: Sharp, wanted: Exclude<ColourProfile, 'keep'>): Sharp {
  if (wanted === 'srgb') return picture.toColourspace('srgb')
  const { profile, space } = wanted
  if (space === 'CMYK') return picture.toColourspace('cmyk').withIccProfile(profile)
  return (space === 'GRAY' ? picture.toColourspace('b-w') : picture).withIccProfile(profile)
}

export function longestSide({ metadata }: Opened): number {
  return Math.max(metadata.width ?? 0, metadata.pageHeight ?? metadata.height ?? 0)
}
