/** The first part of an address, before the parameters of the picture. */
export interface ImageReference {
  readonly fileId: number
  readonly hash: string
  readonly objUuid: string | null
  readonly signature: string | null
  readonly version: string
  /** The segments of it, as written in the address. */
  readonly segments: readonly string[]
}

export type IiifAddress = ImageReference &
  (
    | { readonly wanted: 'base' | 'info' }
    | {
        readonly wanted: 'image'
        readonly region: string
        readonly size: string
        readonly rotation: string
        readonly quality: string
        readonly format: string
      }
  )

export interface ZoomAddress extends ImageReference {
  /** Longest side of the whole picture at this zoom. */
  readonly viewport: number
  readonly tile: number
  readonly x: number
  readonly y: number
  readonly sharpPixels: boolean
  readonly format: string
}

/** Side of a tile, unless the address has another. */
const usualTile = 256

/**
 * `{fileId}/{hash}[/obj_uuid/{uuid}][/{signature}]/{version}` and the request: nothing, `info.json`, or
 * `{region}/{size}/{rotation}/{quality}.{format}`. Null: no such address.
 */
export function readIiifAddress(path: string): IiifAddress | null {
  const segments = path.split('/')
  const lead = segments[2] === 'obj_uuid' ? 4 : 2
  const rest = segments.length - lead
  if (segments.at(-1) === 'info.json' && (rest === 2 || rest === 3))
    return withWish(segments.slice(0, -1), { wanted: 'info' })
  if (rest === 1 || rest === 2) return withWish(segments, { wanted: 'base' })
  if (rest !== 5 && rest !== 6) return null
  const [region = '', size = '', rotation = '', last = ''] = segments.slice(-4)
  // Any characters are accepted here: `readTransformRequest` checks format and quality.
  const dot = last.lastIndexOf('.')
  const [quality, format] = dot === -1 ? [last, ''] : [last.slice(0, dot), last.slice(dot + 1)]
  return withWish(segments.slice(0, -4), { wanted: 'image', region, size, rotation, quality, format })
}

/**
 * The same, and `zoom{viewport}[/size{tile}][/avoid_interpolation]/part{x}x{y}.{format}`.
 */
export function readZoomAddress(path: string): ZoomAddress | null {
  const segments = path.split('/')
  const [, x, y, format] = /^part(\d{1,6})x(\d{1,6})\.([a-z]+)$/.exec(segments.pop() ?? '') ?? []
  if (x === undefined || y === undefined || format === undefined) return null
  const sharpPixels = segments.at(-1) === 'avoid_interpolation'
  if (sharpPixels) segments.pop()
  const [, size] = /^size(\d{1,5})$/.exec(segments.at(-1) ?? '') ?? []
  if (size !== undefined) segments.pop()
  const [, viewport] = /^zoom(\d{1,6})$/.exec(segments.pop() ?? '') ?? []
  if (viewport === undefined) return null
  const tile = size === undefined ? usualTile : Number(size)
  return withWish(segments, { viewport: Number(viewport), tile, x: Number(x), y: Number(y), sharpPixels, format })
}

function withWish<T>(segments: readonly string[], wish: T): (ImageReference & T) | null {
  const [id = '', hash = '', ...rest] = segments
  const objUuid = rest[0] === 'obj_uuid' ? (rest[1] ?? '') : null
  const [first, second, ...more] = objUuid === null ? rest : rest.slice(2)
  if (!/^[1-9]\d{0,14}$/.test(id) || first === undefined || more.length > 0) return null
  const signature = second === undefined ? null : first
  return { fileId: Number(id), hash, objUuid, signature, version: second ?? first, segments, ...wish }
}
