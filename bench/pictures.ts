/** Files for the bench, and their records in the service. */
import { setTimeout as sleep } from 'node:timers/promises'
import sharp from 'sharp'
import type { Context } from './context.ts'

export interface Version {
  readonly status: string
  readonly url: string
  readonly iiif_url: string
  readonly reason?: string
}

export interface FileRecord {
  readonly _id: number
  readonly hash: string
  readonly versions: Readonly<Record<string, Version>>
}

/** A picture of coarse noise, as hard to compress as photographs of cameras. */
export async function noise(width: number, height: number, coarse: number, quality: number): Promise<Buffer> {
  const kind = { type: 'gaussian' as const, mean: 128, sigma: 24 }
  const size = { width: Math.round(width / coarse), height: Math.round(height / coarse) }
  const drawn = await sharp({ create: { ...size, channels: 3, background: 'gray', noise: kind } })
    .png()
    .toBuffer()
  return sharp(drawn, { limitInputPixels: false }).resize(width, height, { fit: 'fill' }).jpeg({ quality }).toBuffer()
}

/** Uploads a file and waits for its renditions. */
export async function stored(
  { client }: Pick<Context, 'client'>,
  name: string,
  content: Buffer,
  versions: readonly string[],
): Promise<FileRecord> {
  const [uploaded] = await client.upload([{ name, content: new Uint8Array(content) }])
  for (;;) {
    const record = await client.get<FileRecord>(`/eas/${uploaded?._id}`)
    const waiting = versions.filter((version) => record.versions[version]?.status !== 'done')
    if (waiting.length === 0) return record
    const failed = waiting.map((version) => record.versions[version]).find((version) => version?.status === 'failed')
    if (failed) throw new Error(`of ${name} something could not be made: ${failed.reason}`)
    await sleep(100)
  }
}

/** The path of an address; its origin is that of a front end. */
export function pathOf(url: string): string {
  const { pathname, search } = new URL(url)
  return pathname + search
}
