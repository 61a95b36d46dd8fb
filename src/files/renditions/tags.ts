import { access } from 'node:fs/promises'
import { join } from 'node:path'
import type { ExifTool } from 'exiftool-vendored'
import { CannotMake } from './workshop/failure.ts'

export interface TagsOptions {
  /** Files that are read at the same time, each by a process of its own. */
  readonly most: number
  /** Seconds that one may take. */
  readonly seconds: number
}

export type Tags = ReturnType<typeof createTags>

/** Tags that hold a picture of the file itself, the best first. */
const embeddedTags = ['JpgFromRaw', 'PreviewImage', 'OtherImage', 'PageImage', 'PhotoshopThumbnail', 'ThumbnailImage']

/** What TIFF has in its first directory goes tag by tag, since its picture is described there, too. */
const stripped = [
  '-all=',
  '-CommonIFD0=',
  '--ICC_Profile:all',
  '-TagsFromFile',
  '@',
  '-ColorSpaceTags',
  '-Orientation',
  '-XResolution',
  '-YResolution',
  '-ResolutionUnit',
  '-overwrite_original',
]

const needed = 'exiftool-vendored'

/**
 * What files say of themselves, read by ExifTool, a program in Perl that comes in the package `exiftool-vendored`. It runs
 * in processes of its own, which are started when something is to be read.
 */
export function createTags({ most, seconds }: TagsOptions) {
  let opened: Promise<ExifTool> | null = null
  let closed = false

  function tool(): Promise<ExifTool> {
    opened ??= open()
    return opened
  }

  async function open(): Promise<ExifTool> {
    const library = await import('exiftool-vendored').catch((cause: unknown) => {
      throw new CannotMake('unavailable', `it needs the package ${needed}`, { cause, needs: needed })
    })
    const made = new library.ExifTool({ maxProcs: most, taskTimeoutMillis: 1000 * seconds, ignoreShebang: false })
    try {
      await made.version()
      return made
    } catch (cause) {
      await made.end(false).catch(() => {})
      throw new CannotMake('unavailable', `${needed} needs Perl on the machine`, { cause, needs: needed })
    }
  }

  return {
    /** All tags, `Group:Name` to what ExifTool gives. @throws {CannotMake} */
    async read(path: string): Promise<Record<string, unknown>> {
      const exiftool = await tool()
      try {
        const args = ['-G1', '-l', '-a', '-api', 'LargeFileSupport=1', '-fast']
        return await exiftool.readRaw(path, { readArgs: args })
      } catch (cause) {
        throw new CannotMake('unreadable', 'its metadata cannot be read', { cause })
      }
    },

    /**
     * Takes what the file at a path says of itself out of it, but for what decides how it looks: orientation, resolution,
     * colours. @throws {CannotMake}
     */
    async strip(path: string): Promise<void> {
      const exiftool = await tool()
      try {
        await exiftool.write(path, {}, { writeArgs: stripped, ignoreMinorErrors: true })
      } catch (cause) {
        throw new CannotMake('unreadable', 'its metadata cannot be taken out', { cause })
      }
    },

    /** The path of the largest picture that the file carries of itself. @throws {CannotMake} */
    async embedded(path: string, folder: string): Promise<string> {
      const exiftool = await tool()
      for (const tag of embeddedTags) {
        const to = join(folder, `${tag}.jpg`)
        const there = await exiftool
          .extractBinaryTag(tag, path, to)
          .then(() => access(to))
          .then(
            () => true,
            () => false,
          )
        if (there) return to
      }
      throw new CannotMake('unreadable', 'the file carries no picture of itself')
    },

    async close(): Promise<void> {
      if (closed) return
      closed = true
      await opened?.then(
        (exiftool) => exiftool.end(true),
        () => {},
      )
    },
  }
}
