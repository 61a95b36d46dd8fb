/** The messages between the service and its processes that work on media. Only these shapes are exchanged. */

import type { Tag } from './technical.ts'

/** `srgb`: colours of the web; `keep`: those of the source; any other: converted to a profile, which is embedded. */
export type ColourProfile =
  | 'srgb'
  | 'keep'
  | { /** A profile of libvips, or a path. */ readonly profile: string; readonly space: 'RGB' | 'CMYK' | 'GRAY' }

/** The parameters of a picture to be made. */
export interface PictureRecipe {
  readonly name: string
  readonly recipe: 'image' | 'pyramid'
  readonly format: 'auto' | 'jpg' | 'png' | 'webp' | 'avif'
  readonly size: number
  readonly resize_mode: 'max' | 'min' | 'width' | 'height'
  readonly size_minimum: number
  readonly quality: number
  readonly strip: boolean
  readonly colorprofile: ColourProfile
  readonly animated: boolean
  readonly marks?: PictureMarks | undefined
}

/** The marks drawn on a picture. */
export interface PictureMarks {
  readonly watermark: {
    readonly source: MediaSource
    readonly gravity: 'nw' | 'n' | 'ne' | 'w' | 'c' | 'e' | 'sw' | 's' | 'se'
    readonly dissolve: number
    readonly size: string
    readonly tile: boolean
  } | null
  readonly caption: {
    readonly text: string
    readonly size: string
    readonly padding: number | null
    readonly multiline: boolean
    readonly overlay: boolean
  } | null
}

/** The source to be read: a path, and the type of the content, as far as that is known. */
export interface MediaSource {
  readonly path: string
  readonly extension: string
  /** A page of a document, in place of the first one: its number, and the size assumed for it. */
  readonly page?: { readonly number: number; readonly width: number; readonly height: number }
}

/** Consecutive pages of one size: width and height in points, and their number. */
export type PageRun = readonly [width: number, height: number, count: number]

/** Longest side, in pixels, of pictures that are not written into a folder. */
const largestInline = 1000

/** Whether a picture is part of the answer: a small one without marks. */
export function isInline({ recipe, size, resize_mode: mode, animated, marks }: PictureRecipe): boolean {
  return recipe === 'image' && mode === 'max' && size > 0 && size <= largestInline && !animated && marks === undefined
}

/** Makes pictures of a source, into a folder; without a folder, they come with the answer. */
export interface PicturesTask {
  readonly kind: 'pictures'
  readonly source: MediaSource
  readonly folder: string | null
  readonly recipes: readonly PictureRecipe[]
  /** The metadata to be answered: that of its header, or its look as well, for which its pixels are needed. */
  readonly inspect: 'nothing' | 'head' | 'all'
}

/** A part of a picture in some size, for viewers. */
export interface RegionTask {
  readonly kind: 'region'
  readonly source: MediaSource
  readonly region: { readonly left: number; readonly top: number; readonly width: number; readonly height: number }
  readonly width: number
  readonly height: number
  readonly mirror: boolean
  readonly turn: number
  readonly quality: 'default' | 'color' | 'gray' | 'bitonal'
  readonly format: 'jpg' | 'png' | 'webp' | 'tif' | 'gif'
  /** Enlarged without smoothing. */
  readonly sharpPixels: boolean
}

/** A picture, or a part of it, for a download. */
export interface SizedTask extends Pick<RegionTask, 'source' | 'region' | 'width' | 'height'> {
  readonly kind: 'sized'
  readonly format: RegionTask['format'] | 'bmp'
  readonly folder: string
  /** Of JPEG and WebP, 1 to 100. */
  readonly compression: number
  /** Pixels per inch in its metadata; null: none. */
  readonly density: number | null
  /** Mirrored first, then turned. */
  readonly mirror: DeriveTask['mirror']
  /** Degrees, clockwise. */
  readonly turn: number
  /** `srgb` without a profile: this is the default, and not sent. */
  readonly colours: Pick<DeriveTask, 'colorspace' | 'profile'> | null
  readonly marks?: PictureMarks | undefined
}

/** Reads the text of a document. */
export interface TextTask {
  readonly kind: 'text'
  readonly source: MediaSource
  /** Most characters that are wanted. */
  readonly most: number
}

/** Reads the metadata of a file with ExifTool. */
export interface TagsTask {
  readonly kind: 'tags'
  readonly source: MediaSource
  readonly folder: string
}

/** Removes the metadata of a file, except for tags that decide how it looks. */
export interface StripTask {
  readonly kind: 'strip'
  readonly source: MediaSource
  readonly folder: string
}

/** A value of a tag; values of a list follow one another. */
export interface TagValue {
  /** With a language where the tag has several: `XMP-dc:Title-de-DE`. */
  readonly tag: string
  readonly value: string
}

/** Metadata to be written into a file. */
export interface MetadataToWrite {
  /** Tags whose old values are removed. */
  readonly emptied: readonly string[]
  readonly values: readonly TagValue[]
  /** Custom tags, which ExifTool does not know. */
  readonly own: readonly { readonly path: string; readonly list: boolean; readonly l10n: boolean }[]
}

/** Writes metadata into a file. */
export interface WriteTask {
  readonly kind: 'write'
  readonly source: MediaSource
  readonly folder: string
  readonly metadata: MetadataToWrite
}

/** Extracts the largest preview embedded in a file. */
export interface EmbeddedTask {
  readonly kind: 'embedded'
  readonly source: MediaSource
  readonly folder: string
}

export interface Crop {
  readonly top: number
  readonly left: number
  readonly width: number
  readonly height: number
}

/** Formats that can be written, by their file extensions. */
export const pictureFormats = {
  jpg: 'jpg',
  jpeg: 'jpg',
  png: 'png',
  tif: 'tif',
  tiff: 'tif',
  gif: 'gif',
  webp: 'webp',
  bmp: 'bmp',
} as const

export type DerivedFormat = 'jpg' | 'png' | 'tif' | 'gif' | 'webp' | 'avif'

/** Makes another original from one. */
export interface DeriveTask {
  readonly kind: 'derive'
  readonly source: MediaSource
  readonly folder: string
  readonly format: DerivedFormat
  /** Degrees, clockwise. */
  readonly turn: number
  /** `x`: top and bottom are exchanged; `y`: left and right are exchanged. */
  readonly mirror: 'x' | 'y' | null
  /** In the picture as turned and mirrored before. */
  readonly crop: Crop | null
  readonly colorspace: 'keep' | 'srgb' | 'cmyk' | 'gray'
  readonly profile: Exclude<ColourProfile, string> | null
}

export type Task =
  | PicturesTask
  | RegionTask
  | SizedTask
  | TextTask
  | DeriveTask
  | TagsTask
  | StripTask
  | WriteTask
  | EmbeddedTask

export type RenderedPicture = ({ readonly path: string } | { readonly content: Uint8Array }) & {
  readonly name: string
  readonly extension: string
  readonly mimeType: string
  readonly width: number
  readonly height: number
}

/** The known metadata of a source, as in `technical_metadata`. */
export type Basics = Readonly<Record<string, unknown>>

export interface PicturesResult {
  readonly made: readonly RenderedPicture[]
  /** Names of the pictures that the source is too small for. */
  readonly tooSmall: readonly string[]
  /** The reasons why others could not be made, by name. */
  readonly failed: Readonly<Record<string, string>>
  readonly basics: Basics | null
  /** The hash of the source's look, where it was computed; see `perceptualHashOf`. */
  readonly perceptualHash?: bigint | null
}

export interface Results {
  readonly pictures: PicturesResult
  /** `cut`: the text is longer; `pages`, `sizes`: for documents with pages. */
  readonly text: {
    readonly text: string
    readonly cut: boolean
    readonly pages: number | null
    readonly sizes: readonly PageRun[]
  }
  readonly region: { readonly content: Uint8Array; readonly mimeType: string }
  readonly sized: { readonly path: string; readonly mimeType: string }
  readonly derive: { readonly path: string; readonly width: number; readonly height: number }
  readonly tags: readonly Tag[]
  readonly strip: null
  readonly write: null
  readonly embedded: string
}

export type ResultOf<T extends Task> = Results[T['kind']]

/** From the service to a process. */
export interface Order {
  readonly id: number
  readonly task: Task
  readonly limits: {
    readonly pixels: number
    readonly seconds: number
    readonly memory: number
    readonly output: number
  }
}

/** From a process to the service: the result, or the reason why there is none. */
export type Answer =
  | { readonly id: number; readonly result: Results[Task['kind']] }
  | { readonly id: number; readonly failure: Failure }

/** `unavailable`: a needed program is not installed; `unreadable`: the content is broken, too large or of another kind. */
export interface Failure {
  readonly kind: 'unavailable' | 'unreadable'
  readonly reason: string
  /** The program or package that is missing. */
  readonly needs?: string | undefined
  /** It took too long. */
  readonly late?: boolean | undefined
}
