import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import sharp, { type OverlayOptions } from 'sharp'
import type { PictureMarks } from './tasks.ts'

export interface Size {
  readonly width: number
  readonly height: number
}

/**
 * The font comes with the service, since machines without a screen have no fonts. For letters missing in it, fonts of the
 * machine are used.
 */
const font = fileURLToPath(new URL('./fonts/DejaVuSans.ttf', import.meta.url))

/** Default height of letters, in percent of the picture's height. */
const usualPart = 4
const smallest = 8
const largest = 1000
/** Most of the picture's height that a text may take. */
const mostHeight = 0.5

interface Drawn {
  readonly overlays: readonly OverlayOptions[]
  /** Rows added below the picture. */
  readonly below: number
}

/** A text with its background: on the picture at its lower edge, or below it. Null where there is no text. */
export async function captionOf(
  { text, size, padding, multiline, overlay }: NonNullable<PictureMarks['caption']>,
  canvas: Size,
): Promise<Drawn | null> {
  const letters = lettersOf(size, canvas.height)
  const around = Math.min(padding ?? Math.round(letters / 2), Math.floor(canvas.width / 4))
  const room = Math.max(1, canvas.width - 2 * around)
  const drawn = await drawText(text, { letters, room, multiline, colour: overlay ? 'white' : 'black' })
  if (!drawn) return null
  const most = Math.max(1, Math.floor(canvas.height * mostHeight))
  const { content, width, height } = await cut(drawn, { width: room, height: most })
  const band = Math.min(height + 2 * around, overlay ? canvas.height : Number.POSITIVE_INFINITY)
  const top = overlay ? canvas.height - band : canvas.height
  const input = {
    input: content,
    left: Math.round((canvas.width - width) / 2),
    top: top + Math.round((band - height) / 2),
  }
  if (!overlay) return { overlays: [input], below: band }
  // A shade, so that white letters are readable on light pictures, too.
  const shade = { create: { width: canvas.width, height: band, channels: 4 as const, background: '#00000099' } }
  return { overlays: [{ input: shade, left: 0, top }, input], below: 0 }
}

/** Size of letters in pixels: a given number, or a part of the height. */
function lettersOf(size: string, height: number): number {
  const percent = size === '' ? usualPart : size.endsWith('%') ? Number.parseInt(size, 10) : null
  const wanted = percent === null ? Number.parseInt(size, 10) : Math.round((height * percent) / 100)
  return Math.max(smallest, Math.min(wanted, largest))
}

interface Picture extends Size {
  readonly content: Buffer
}

/** Letters on a transparent background; a text in one line gets smaller until it fits. */
async function drawText(
  text: string,
  { letters, room, multiline, colour }: { letters: number; room: number; multiline: boolean; colour: string },
): Promise<Picture | null> {
  const clean = multiline ? text : text.replaceAll(/\s+/g, ' ')
  if (clean.trim() === '') return null
  const markup = `<span foreground="${colour}">${escaped(clean.trim())}</span>`
  const draw = async (pixels: number): Promise<Picture> => {
    const lines = multiline ? { width: room, wrap: 'word-char' as const, align: 'centre' as const } : {}
    const { data, info } = await sharp({
      text: { text: markup, font: `DejaVu Sans ${pixels}`, fontfile: fontFile(), dpi: 72, rgba: true, ...lines },
    })
      .png()
      .toBuffer({ resolveWithObject: true })
    return { content: data, width: info.width, height: info.height }
  }
  const drawn = await draw(letters)
  if (drawn.width <= room) return drawn
  return draw(Math.max(smallest, Math.floor((letters * room) / drawn.width)))
}

function fontFile(): string {
  if (!existsSync(font)) throw new Error('the font of captions is missing')
  return font
}

async function cut(picture: Picture, most: Size): Promise<Picture> {
  if (picture.width <= most.width && picture.height <= most.height) return picture
  const [width, height] = [Math.min(picture.width, most.width), Math.min(picture.height, most.height)]
  return { content: await sharp(picture.content).extract({ left: 0, top: 0, width, height }).toBuffer(), width, height }
}

/** The text is Pango markup, in which these characters have a meaning. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
