/** What is said between the service and its processes that work on media. Only these shapes cross the line. */

import type { Tag } from './technical.ts'

/** `srgb`: colours of the web; `keep`: those of the source; else converted to a profile, which is embedded. */
export type ColourProfile =
  | 'srgb'
  | 'keep'
  | { /** One of libvips, or a path. */ readonly profile: string; readonly space: 'RGB' | 'CMYK' | 'GRAY' }

/** How a picture is made. */
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

/** What is drawn on a picture. */
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

/** What is to be read: a path, and what the content is, as far as that is known. */
export interface MediaSource {
  readonly path: string
  readonly extension: string
  /** Of a document, in place of the first one: which, and how large it is taken to be. */
  readonly page?: { readonly number: number; readonly width: number; readonly height: number }
}

/** Pages of one size that follow each other: width and height in points, and how many. */
export type PageRun = readonly [width: number, height: number, count: number]

/** Pixels of the longest side of pictures that are not written into a folder. */
const largestInline = 1000

/** Whether a picture comes with the answer: a small one, on which nothing is drawn. */
export function isInline({ recipe, size, resize_mode: mode, animated, marks }: PictureRecipe): boolean {
  return recipe === 'image' && mode === 'max' && size > 0 && size <= largestInline && !animated && marks === undefined
}

/** Makes pictures of a source, into a folder; without one those that come with the answer. */
export interface PicturesTask {
  readonly kind: 'pictures'
  readonly source: MediaSource
  readonly folder: string | null
  readonly recipes: readonly PictureRecipe[]
  /** What is told of the source: what its head says, and what it looks like, for which its pixels are needed. */
  readonly inspect: 'nothing' | 'head' | 'all'
}

/** A part of a picture in some size, as viewers ask for it. */
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

/** A picture, or a part of it, as a download asks for it. */
export interface SizedTask extends Pick<RegionTask, 'source' | 'region' | 'width' | 'height'> {
  readonly kind: 'sized'
  readonly format: RegionTask['format'] | 'bmp'
  readonly folder: string
  /** Of JPEG and WebP, 1 to 100. */
  readonly compression: number
  /** Pixels per inch that it says it has; null: nothing. */
  readonly density: number | null
  /** Mirrored first, then turned. */
  readonly mirror: DeriveTask['mirror']
  /** Degrees, clockwise. */
  readonly turn: number
  /** `srgb` without a profile: what is usual, and not said. */
  readonly colours: Pick<DeriveTask, 'colorspace' | 'profile'> | null
  readonly marks?: PictureMarks | undefined
}

/** What is written in a document. */
export interface TextTask {
  readonly kind: 'text'
  readonly source: MediaSource
  /** Characters that are wanted at most. */
  readonly most: number
}

/** What a file says of itself, as ExifTool reads it. */
export interface TagsTask {
  readonly kind: 'tags'
  readonly source: MediaSource
  readonly folder: string
}

/** Takes what a file says of itself out of it, but for what decides how it looks. */
export interface StripTask {
  readonly kind: 'strip'
  readonly source: MediaSource
  readonly folder: string
}

/** A value of a tag; those of lists come one after the other. */
export interface TagValue {
  /** With a language where the tag has several: `XMP-dc:Title-de-DE`. */
  readonly tag: string
  readonly value: string
}

/** What is written into a file. */
export interface MetadataToWrite {
  /** Tags that have nothing else from then on. */
  readonly emptied: readonly string[]
  readonly values: readonly TagValue[]
  /** Tags that ExifTool does not know. */
  readonly own: readonly { readonly path: string; readonly list: boolean; readonly l10n: boolean }[]
}

/** Writes metadata into a file. */
export interface WriteTask {
  readonly kind: 'write'
  readonly source: MediaSource
  readonly folder: string
  readonly metadata: MetadataToWrite
}

/** The largest picture that a file carries of itself. */
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

/** Formats that are written, by what files of them are called. */
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

/** Another original made of one. */
export interface DeriveTask {
  readonly kind: 'derive'
  readonly source: MediaSource
  readonly folder: string
  readonly format: DerivedFormat
  /** Degrees, clockwise. */
  readonly turn: number
  /** `x`: what is at the top comes to the bottom; `y`: what is on the left comes to the right. */
  readonly mirror: 'x' | 'y' | null
  /** Of the picture as it is by then. */
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

export type MadePicture = ({ readonly path: string } | { readonly content: Uint8Array }) & {
  readonly name: string
  readonly extension: string
  readonly mimeType: string
  readonly width: number
  readonly height: number
}

/** What is known of a source after a look at it: what `technical_metadata` says. */
export type Basics = Readonly<Record<string, unknown>>

export interface PicturesResult {
  readonly made: readonly MadePicture[]
  /** Names of those that the source is too small for. */
  readonly tooSmall: readonly string[]
  /** Why the others could not be made, by name. */
  readonly failed: Readonly<Record<string, string>>
  readonly basics: Basics | null
  /** What the source looks like, where it was looked at; see `perceptualHashOf`. */
  readonly perceptualHash?: bigint | null
}

export interface Results {
  readonly pictures: PicturesResult
  /** `cut`: there is more; `pages`, `sizes`: where the document has such. */
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

/** From a process to the service: what came of it, or why nothing did. */
export type Answer =
  | { readonly id: number; readonly result: Results[Task['kind']] }
  | { readonly id: number; readonly failure: Failure }

/** `unavailable`: what it takes is not installed; `unreadable`: the content is broken, too large or of another kind. */
export interface Failure {
  readonly kind: 'unavailable' | 'unreadable'
  readonly reason: string
  /** The program or package that is missing. */
  readonly needs?: string | undefined
  /** It took too long. */
  readonly late?: boolean | undefined
}
