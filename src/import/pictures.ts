import { createHash } from 'node:crypto'
import sharp from 'sharp'
import type { Progress } from '../platform/process/progress.ts'
import { type ServiceClient, ServiceError } from './client.ts'

/** Number of artworks of the demo that get a picture. */
const wanted = 24
/** Number of pictures in one request. */
const together = 6

interface Artwork {
  readonly artwork: { readonly _id: number; readonly _version: number; readonly title?: Record<string, string> }
}

/**
 * Draws pictures for the first artworks of the sample, which has none, and adds them as a client would: uploaded, then linked. Work
 * of an earlier start is not repeated.
 */
export async function addPictures(client: ServiceClient, progress: Progress, signal: AbortSignal): Promise<number> {
  const first = await withoutPicture(client)
  if (first.length > 0) progress.start('Pictures', first.length)
  for (let start = 0; start < first.length && !signal.aborted; start += together) {
    const some = first.slice(start, start + together)
    const files = await client.upload(await Promise.all(some.map(painted)))
    const objects = some.map(({ artwork: { _id, _version } }, index) => ({
      _objecttype: 'artwork',
      _mask: 'artwork',
      // As group editing (lists), this changes only this field.
      artwork: { _id: [_id], _version: [_version], image: [{ _id: files[index]?._id, preferred: true }] },
    }))
    await client.post('/db/artwork', objects, { await_index: 60 })
    progress.advance(some.length)
  }
  if (first.length > 0) progress.say(`painted pictures for ${first.length} artworks`)
  return first.length
}

/** Empty when some artworks have pictures, or when there is no column for them (data of an earlier release). */
async function withoutPicture(client: ServiceClient): Promise<readonly Artwork[]> {
  const search = (request: object) => client.post<{ count: number; objects: Artwork[] }>('/search', request)
  const having = { type: 'in', bool: 'must_not', fields: ['artwork.image'], in: [null] }
  try {
    const { count } = await search({ objecttypes: ['artwork'], search: [having], limit: 0 })
    if (count > 0) return []
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'SearchFieldUnknown') return []
    throw error
  }
  const sort = [{ field: 'artwork.tate_id', order: 'asc' }]
  return (await search({ objecttypes: ['artwork'], sort, limit: wanted, format: 'long' })).objects
}

/** A picture that is derived from the title: a sky, a sun and hills. */
async function painted({ artwork }: Artwork): Promise<{ name: string; content: Uint8Array<ArrayBuffer> }> {
  const title = Object.values(artwork.title ?? {})[0] ?? `${artwork._id}`
  const seed = createHash('sha256').update(title).digest()
  const byte = (at: number): number => seed[at % seed.length] ?? 0
  const [width, height] = byte(0) % 3 === 0 ? [1000, 1400] : [1500, 1000]
  const hue = Math.round((360 * byte(1)) / 256)
  const hills = [0, 1, 2, 3].map((row) => {
    const ground = height * (0.45 + 0.13 * row)
    const tops = [0, 1, 2, 3, 4, 5].map((place) => {
      const y = Math.round(ground - (byte(4 + row * 6 + place) / 256) * height * 0.16)
      return `L${Math.round((width * place) / 5)} ${y}`
    })
    const colour = `hsl(${(hue + 30 * row) % 360} ${35 + 8 * row}% ${62 - 13 * row}%)`
    return `<path d="M0 ${height} ${tops.join(' ')} L${width} ${height}Z" fill="${colour}"/>`
  })
  const [x, y] = [
    Math.round(width * (0.2 + 0.6 * (byte(2) / 256))),
    Math.round(height * (0.15 + 0.15 * (byte(3) / 256))),
  ]
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">
    <rect width="100%" height="100%" fill="hsl(${(hue + 180) % 360} 55% 84%)"/>
    <circle cx="${x}" cy="${y}" r="${Math.round(width / 14)}" fill="hsl(${(hue + 40) % 360} 90% 70%)"/>${hills.join('')}</svg>`
  const content = await sharp(Buffer.from(svg))
    .jpeg({ quality: 85 })
    .withExif({ IFD0: { Artist: 'Strongroom', ImageDescription: 'Painted for the demo', Copyright: 'CC0 1.0' } })
    .toBuffer()
  const name = title.replaceAll(/[^\p{L}\p{N} ]/gu, '').slice(0, 60)
  return { name: `${name || artwork._id}.jpg`, content: new Uint8Array(content) }
}
