import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { isTransferredStream, release, transfer } from '../../platform/memory/buffer-ownership.ts'
import { BlobMissing, type BlobStore, type Sha256 } from '../blobs/blob-store.ts'
import { receiveHashed } from '../blobs/receive-hashed.ts'

/** The result of checking a content. */
export type Fixity = 'ok' | 'damaged' | 'missing'

export interface Verifiable {
  readonly sha256: Sha256
  readonly size: number
}

/** Reads a content from its beginning to its end. @throws when the location as a whole cannot be read. */
export async function verify(store: Pick<BlobStore, 'read'>, { sha256, size }: Verifiable): Promise<Fixity> {
  const content = await contentOf(store, sha256)
  if (!content) return 'missing'
  const found = await hashOf(content)
  return found.sha256 === sha256 && found.size === size ? 'ok' : 'damaged'
}

/** The content; null where it is missing. @throws when it cannot be read for another reason. */
export async function contentOf(store: Pick<BlobStore, 'read'>, sha256: Sha256): Promise<Readable | null> {
  return store.read(sha256).catch((error: unknown) => {
    if (error instanceof BlobMissing) return null
    throw error
  })
}

async function hashOf(content: Readable): Promise<Verifiable> {
  const hash = createHash('sha256')
  let size = 0
  const isOwn = isTransferredStream(content)
  for await (const chunk of content as AsyncIterable<Buffer>) {
    hash.update(chunk)
    size += chunk.length
    if (isOwn) release([transfer(chunk)])
  }
  return { sha256: hash.digest('hex'), size }
}

/** Restores a damaged content from another location; false when the content there is damaged, too. */
export async function restore(
  from: Pick<BlobStore, 'read'>,
  to: Pick<BlobStore, 'receive' | 'remove'>,
  { sha256, size }: Verifiable,
): Promise<boolean> {
  const { received, sha256: found } = await receiveHashed(to, await from.read(sha256))
  if (received.size === size && found === sha256) {
    await received.keep(sha256)
    return true
  }
  await received.discard()
  return false
}
